// The page: asks /api/cameras once a second, shows the stream of the chosen camera, and fetches its
// spectrum at most once a second. It does nothing while the page is hidden, so that a forgotten tab
// costs nothing and the camera can pause.
import * as compare from "./compare.js";
import * as control from "./control.js";
import * as filter from "./filter.js";
import * as plots from "./plots.js";
import "./zoom.js";
import {breakable, cameraPath, element, make, setText} from "./dom.js";

const POLL_MS = 1000;
const SOON_MS = 250;  // while a change is not in force yet
const DELIVERING = ["online", "starting", "paused"];

// What a user of the page can do about each state.
const ADVICE = {
    absent: "",
    lost: "Check its cable. The picture comes back by itself.",
    stalled: "It sends no frames; fftd restarts it. If that lasts, unplug it and plug it in again.",
    refused: "It does not accept its settings: journalctl -u fftd@NAME says which.",
    failed: "See the log of its service: journalctl -u fftd@NAME.",
    finished: "The recording has ended.",
};

let chosen = decodeURIComponent(location.hash.slice(1));
let cameras = [];
let canChange = false;
let isPaused = false;
let shownStream = null;  // the name of the camera whose stream is shown
let shownStill = null;  // the name of the camera whose last picture is shown while paused
let shownSpectrum = null;  // the name of the camera whose spectrum is shown
let spectrumIsLoading = false;
let timer = null;  // of the next poll

function current() {
    return cameras.find((camera) => camera.name === chosen) || cameras[0];
}

function showList() {
    const names = cameras.map((camera) => camera.name);
    const list = element("cameras");
    const shown = [...list.querySelectorAll("a")].map((link) => link.textContent);
    if (names.join("\n") !== shown.join("\n"))
        list.replaceChildren(...names.map((name) =>
            make("li", {}, make("a", {href: `#${encodeURIComponent(name)}`, textContent: name}))));
    for (const link of list.querySelectorAll("a"))
        if (current() && link.textContent === current().name)
            link.setAttribute("aria-current", "page");
        else
            link.removeAttribute("aria-current");
}

function showState(text, isProblem) {
    setText("state", text);
    element("state").classList.toggle("problem", isProblem);
}

function describeState(camera) {
    const reason = camera.reason ? `: ${camera.reason}` : "";
    const advice = (ADVICE[camera.state] || "").replace("NAME", camera.name);
    return `Camera ${camera.name} is ${camera.state}${reason}.${advice ? " " + advice : ""}`;
}

function showAbout(camera) {
    const format = camera.format;
    const stacked = (camera.measures || []).find(({name}) => name === "stacked");
    const rows = [
        ["Source", camera.source],
        ["Format", format && format.width ? `${format.name} ${format.width}x${format.height}` : ""],
        ["Outputs", (camera.outputs || []).length > 1 ? camera.outputs.join(", ") : ""],
        ["Filter", camera.filter],
        ["Problem", camera.filter_problem],
        ["View", camera.view && camera.view !== "picture" ? camera.view : ""],
        ["Stack", stacked ? `${stacked.value} frames` : ""],
        ["Rate", camera.rate === undefined ? "" : `${camera.rate.toFixed(1)} frames per second`],
        ["Latency", camera.latency_p50_ms === undefined ? "" :
            `half below ${camera.latency_p50_ms.toFixed(1)} ms, ` +
            `99 % below ${camera.latency_p99_ms.toFixed(1)} ms, from capture to publication`],
    ].filter(([, value]) => value);
    const list = element("about");
    const terms = [...list.querySelectorAll("dt")];
    if (terms.map((term) => term.textContent).join() !== rows.map(([name]) => name).join())
        list.replaceChildren(...rows.flatMap(([name]) =>
            [make("dt", {textContent: name}), make("dd")]));
    list.querySelectorAll("dd").forEach((value, i) => {
        if (value.textContent !== rows[i][1])
            value.replaceChildren(...breakable(rows[i][1]));
    });
}

// Says that no picture has been made yet with the newest change, this page's or somebody else's, or
// why the change has failed. Returns whether it waits for one.
function showApplying() {
    const camera = current(), mine = filter.current();
    const isUnseen = mine !== null && mine.filter_serial > camera.filter_serial;
    const problem = camera.filter_problem;  // of the newest change that the list knows
    const isPending = isUnseen || (Boolean(camera.pending) && !problem);
    const why = camera.preparing || `the change ${camera.pending || "is being prepared"}`;
    setText("applying", isPending ? `Applying: ${why}` :
                        problem ? `The last change was not applied: ${problem}` : "");
    return isPending;
}

function stopStream() {
    // An empty image ends the connection; removing src alone does not in every browser.
    if (shownStream !== null)
        element("picture").removeAttribute("src");
    shownStream = null;
}

// Describes the images, for people who do not see them and in place of a missing one.
function describeImages(camera) {
    const {name, state} = camera;
    element("picture").alt =
        shownStream !== null ? `Live filtered picture of camera ${name}` :
        shownStill !== null ? `Filtered picture of camera ${name} when the page was paused` :
        `No live picture: camera ${name} is ${state}`;
    element("spectrum").alt =
        shownSpectrum === null ? "No spectrum yet" :
        DELIVERING.includes(state) ? `Spectrum of the filtered picture of camera ${name}` :
        `Last spectrum of the filtered picture of camera ${name}, which is ${state}`;
}

// Removes the images of all cameras but the chosen one.
function dropOthers(name) {
    compare.dropOthers(name);
    if (shownStill !== null && shownStill !== name) {
        element("picture").removeAttribute("src");
        shownStill = null;
    }
    if (shownSpectrum !== null && shownSpectrum !== name) {
        element("spectrum").removeAttribute("src");
        shownSpectrum = null;
    }
}

function offer(id, source, name) {
    if (element(id).getAttribute("href") !== source)
        Object.assign(element(id), {href: source, download: name});
}

function showPicture(camera) {
    const image = element("picture");
    const delivers = DELIVERING.includes(camera.state);
    image.classList.toggle("stale", !delivers);
    element("spectrum").classList.toggle("stale", !delivers);
    offer("snapshot", cameraPath(camera.name, "snapshot.jpg"), `${camera.name}.jpg`);
    offer("clip", cameraPath(camera.name, `clip.mkv?seconds=${element("clip-seconds").value}`),
          `${camera.name}.mkv`);
    if (isPaused || !delivers || compare.isSwitchedOn() || shownStream === camera.name)
        return;
    if (camera.format && camera.format.width) {
        image.width = camera.format.width;
        image.height = camera.format.height;
    }
    image.src = `${cameraPath(camera.name, "stream.mjpeg")}?${Date.now()}`;
    shownStream = camera.name;
    shownStill = null;
}

async function showSpectrum(camera) {
    if (isPaused || spectrumIsLoading || !DELIVERING.includes(camera.state))
        return;
    spectrumIsLoading = true;
    try {
        const next = new Image();
        next.src = `${cameraPath(camera.name, "spectrum")}?${Date.now()}`;
        await next.decode();
        if (current().name === camera.name) {
            element("spectrum").src = next.src;
            shownSpectrum = camera.name;
            describeImages(current());
        }
    } catch {
        // The state says what is wrong.
    } finally {
        spectrumIsLoading = false;
    }
}

function show() {
    showList();
    const camera = current();
    if (!camera) {
        showState("fftd-view serves no camera.", true);
        return;
    }
    if (document.hidden) {
        stopStream();
        compare.update(null);
        return;
    }
    const delivers = DELIVERING.includes(camera.state);
    showState(describeState(camera), !delivers);
    if (shownStream !== null &&
        (shownStream !== camera.name || !delivers || compare.isSwitchedOn()))
        stopStream();
    dropOthers(camera.name);
    showAbout(camera);
    plots.show(camera.name);
    control.update(camera, canChange);
    showPicture(camera);
    describeImages(camera);
    showApplying();
    compare.update(!isPaused && delivers ? camera.name : null);
    showSpectrum(camera);
}

async function poll() {
    timer = null;
    if (!document.hidden)
        try {
            const answer = await fetch("api/cameras", {cache: "no-store"});
            if (!answer.ok)
                throw new Error(await answer.text());
            const listed = await answer.json();
            cameras = listed.cameras;
            canChange = listed.control;
            plots.add(cameras);
            show();
        } catch {
            showState("fftd-view does not answer. This page continues when it does.", true);
            stopStream();
            element("picture").alt = "No live picture: fftd-view does not answer";
        }
    timer = setTimeout(poll, current() && showApplying() ? SOON_MS : POLL_MS);
}

filter.onChange(() => {
    if (timer !== null && current() && showApplying()) {
        clearTimeout(timer);
        timer = setTimeout(poll, SOON_MS);
    }
});

element("picture").addEventListener("error", () => {
    // The stream has ended; the next poll starts another one if the camera delivers.
    shownStream = null;
    if (current())
        describeImages(current());
});

element("pause").addEventListener("click", () => {
    isPaused = !isPaused;
    element("pause").setAttribute("aria-pressed", String(isPaused));
    if (isPaused && shownStream !== null) {
        // The last picture stays visible.
        element("picture").src = `${cameraPath(shownStream, "snapshot.jpg")}?${Date.now()}`;
        shownStill = shownStream;
        shownStream = null;
    }
    show();
});

window.addEventListener("hashchange", () => {
    chosen = decodeURIComponent(location.hash.slice(1));
    show();
});
document.addEventListener("visibilitychange", () => show());
compare.onSwitch(show);
element("clip-seconds").addEventListener("change", show);
poll();
