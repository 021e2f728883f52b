// The picture before and after the filter, of the same frame, with a boundary that can be moved.
// Each pair costs the daemon a copy of both frames, so the page requests only a few per second, and
// only while the comparison is switched on.
import * as filter from "./filter.js";
import {element, cameraPath, setText} from "./dom.js";

const INTERVAL_MS = 200;  // the least time between two pairs
const RETRY_MS = 1000;

const canvas = element("comparison"), slider = element("boundary");
const context = canvas.getContext("2d");
let isOn = false;
let isHeld = false;  // only the picture before the filter is shown, for as long as a key is held
let isFetching = false;
let shown = null;  // {name, before, after}
let chosen = null; // the camera's name; a pair of another one is not shown
let wanted = null; // the same; null: there is nothing to fetch now

export const isSwitchedOn = () => isOn;
const isAsked = () => isOn || isHeld;

const say = (text) => setText("comparison-said", text);

function draw() {
    if (!shown) {
        context.clearRect(0, 0, canvas.width, canvas.height);
        canvas.setAttribute("aria-label", "No picture yet");
        return;
    }
    const {before, after} = shown, {width, height} = after;
    if (canvas.width !== width || canvas.height !== height)
        Object.assign(canvas, {width, height});
    const at = isHeld ? width : Math.round(width * slider.value / 100);
    const line = Math.max(2, width / 320);
    context.drawImage(after, 0, 0);
    if (at > 0)
        context.drawImage(before, 0, 0, at, height, 0, 0, at, height);
    if (!isHeld) {
        context.fillStyle = "#000";
        context.fillRect(at - line, 0, 2 * line, height);
        context.fillStyle = "#fff";
        context.fillRect(at - line / 2, 0, line, height);
    }
    slider.setAttribute("aria-valuetext", `${slider.value} % before the filter, on the left`);
    canvas.setAttribute("aria-label", `Camera ${shown.name} ` + (isHeld ? "before the filter" :
        "before the filter on the left of the boundary and after it on the right"));
}

async function fetchPair(name) {
    const answer = await fetch(cameraPath(name, "comparison"), {
        cache: "no-store", headers: filter.authorization()});
    if (!answer.ok)
        throw new Error((await answer.text()).trim());
    const parts = await answer.formData();
    const [before, after] = await Promise.all(
        ["before", "after"].map((part) => createImageBitmap(parts.get(part))));
    return {name, before, after};
}

function replace(pair) {
    shown?.before.close();
    shown?.after.close();
    shown = pair;
}

async function work() {
    if (isFetching)
        return;
    isFetching = true;
    while (isAsked() && wanted !== null) {
        let pause = INTERVAL_MS;
        try {
            const pair = await fetchPair(wanted);
            replace(pair.name === chosen ? pair : null);
            say("");
            show();
        } catch (error) {
            say(error.message);
            pause = RETRY_MS;
        }
        await new Promise((done) => setTimeout(done, pause));
    }
    isFetching = false;
}

// name: the camera's name; null: nothing is shown, for example while the page is hidden.
export function update(name) {
    wanted = name;
    work();
}

// Called with the name of the chosen camera: removes the pair of another one.
export function dropOthers(name) {
    chosen = name;
    if (!shown || shown.name === name)
        return;
    replace(null);
    show();
}

// The page shows either the comparison or the live picture.
function show() {
    if (!isAsked())
        replace(null);
    canvas.hidden = !isOn && shown === null;
    element("picture").hidden = !canvas.hidden;
    element("comparison-controls").hidden = !isOn;
    draw();
}

export function onSwitch(listener) {
    element("compare").addEventListener("click", () => {
        isOn = !isOn;
        element("compare").setAttribute("aria-pressed", String(isOn));
        say("");
        show();
        listener();
    });
}

// ---- while a key or the button is held ----

function hold(isDown) {
    if (isHeld === isDown)
        return;
    isHeld = isDown;
    element("hold").classList.toggle("held", isHeld);
    say("");
    show();
    work();
}

const isHoldKey = ({key, target}) =>
    key === "F2" || (target === element("hold") && (key === " " || key === "Enter"));

document.addEventListener("keydown", (event) => hold(isHeld || isHoldKey(event)));
document.addEventListener("keyup", (event) => hold(isHeld && !isHoldKey(event)));
for (const name of ["pointerup", "pointercancel", "blur"])
    window.addEventListener(name, () => hold(false));
element("hold").addEventListener("pointerdown", () => hold(true));

slider.addEventListener("input", draw);

function point(event) {
    const box = canvas.getBoundingClientRect();
    slider.value = 100 * (event.clientX - box.left) / box.width;
    draw();
}

canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    point(event);
});
canvas.addEventListener("pointermove", (event) => {
    if (canvas.hasPointerCapture(event.pointerId))
        point(event);
});
