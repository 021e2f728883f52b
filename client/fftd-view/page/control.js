// The part of the page that changes the filter, where fftd-view was started with --control.
import * as cards from "./cards.js";
import * as controls from "./controls.js";
import * as filter from "./filter.js";
import * as plane from "./plane.js";
import * as problems from "./problems.js";
import * as stages from "./stages.js";
import {element, offerFile, setText} from "./dom.js";
import {short} from "./tools.js";

const NOTCH_WIDTH = 0.02;      // like `fftd-ctl filter keep`
const SAVED = "fftd-presets";  // in this browser: {name: chain}

let tableOf = null;            // the camera whose table is shown
let isFetching = false;
let savedChain = null;         // the chain of which the page says where it was saved

filter.messages.error = (text) => setText("filter-error", text);

const saved = () => JSON.parse(localStorage.getItem(SAVED) || "{}");

// Says what a preset is for, and why it cannot be used yet. The path and line of its file are left
// out, because only its author needs them.
function describePreset(summary, problem) {
    const why = problem.replace(/^\S+:\d+: (filter: )?/, "");
    return problem ? `${summary} It cannot be used yet: ${why}` : summary;
}

function showPresets() {
    const mine = Object.entries(saved()).sort().map(([name, chain]) =>
        ({name, line: chain, group: "Saved in this browser", chain}));
    const theirs = stages.presets().map(({name, summary, filter: chain, problem}) =>
        ({name, line: describePreset(summary, problem), chain,
          group: stages.groupOf(cards.startOf(name, chain)), preset: `preset:${name}`}));
    cards.fill("presets", [...mine, ...theirs], ({preset, chain}) =>
        filter.change([["replace", preset || chain]], []));
}

async function fetchTable(name) {
    if (isFetching)
        return;
    isFetching = true;
    try {
        const table = await filter.fetchTable();
        stages.setTable(table);
        controls.showCalibrations(name, table.runtime_dir);
        tableOf = name;
        showPresets();
        show();
    } catch (error) {
        filter.messages.error(error.message);
    } finally {
        isFetching = false;
    }
}

// The changes that replace what adapts by what it has found, like `fftd-ctl filter keep`.
function changesToKeep({stages, adaptation: {waves = [], flicker = {}, noise = 0} = {}}) {
    const changes = [], at = stages.findIndex(({kind}) => kind === "auto-notch");
    stages.forEach(({kind, parameters}, i) => {
        if (kind === "wiener" && parameters.noise === 0 && noise > 0)
            changes.push(["set", String(i + 1), "noise", noise.toPrecision(3)]);
    });
    const notchOf = ({fx, fy}) => `notch:at=${short(fx)}/${short(fy)},width=${NOTCH_WIDTH}`;
    if (at >= 0 && waves.length > 0)
        changes.push(["remove", String(at + 1)],
                     ...waves.map((wave, i) => ["add", notchOf(wave), String(at + 1 + i)]));
    if (flicker.frequency > 0)
        changes.push(["set", "deflicker", "frequency", flicker.frequency.toFixed(3)],
                     ["set", "deflicker", "line-time", flicker.line_time_us.toFixed(3)]);
    return changes;
}

async function save() {
    filter.messages.error("");
    try {
        const done = await filter.save();
        if (!done)
            return;
        savedChain = filter.current() && filter.current().filter;
        setText("save-said", done.is_changed ? `The filter is saved in ${done.file}.` :
            "The daemon starts with this filter already.");
    } catch (error) {
        filter.messages.error(`Not saved: ${error.message}`);
        show();
    }
}

function show() {
    const isReady = filter.hasToken() && filter.current() !== null && tableOf !== null;
    element("token-form").hidden = filter.hasToken();
    element("editor").hidden = !filter.hasToken();
    element("editor").disabled = !isReady;
    element("undo").disabled = !filter.canUndo();
    element("redo").disabled = !filter.canRedo();
    element("keep").hidden = !isReady || changesToKeep(filter.current()).length === 0;
    element("restart").hidden = !isReady || !filter.current().stages.some(({kind}) =>
        kind === "stack");
    element("save").hidden = !isReady || !filter.current().can_save;
    if (!filter.current() || filter.current().filter !== savedChain)
        setText("save-said", "");
    plane.enable(isReady);
    plane.show();
    if (isReady)
        stages.show();
}

// Called with the chosen camera's entry in the list of cameras. isOn: filters may be changed.
export function update(camera, isOn) {
    element("filter").hidden = !isOn;
    if (tableOf !== null && tableOf !== camera.name) {
        tableOf = savedChain = null;
        problems.clear();
    }
    filter.update(camera);
    controls.update(camera);
    if (document.activeElement !== element("view"))
        element("view").value = camera.view || "picture";
    if (isOn && tableOf === null && filter.hasToken() && filter.current())
        fetchTable(camera.name);
}

filter.onChange(show);

element("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    filter.messages.error("");
    filter.setToken(element("token").value.trim().replace(/^.*token=/, ""));
    element("token").value = "";
    element("filter-heading").focus();
});

element("undo").addEventListener("click", filter.undo);
element("redo").addEventListener("click", filter.redo);
element("view").addEventListener("change", () => filter.setView(element("view").value));
element("keep").addEventListener("click", () => filter.change(changesToKeep(filter.current())));
element("restart").addEventListener("click", () => filter.change([["restart"]]));
element("save").addEventListener("click", save);

document.addEventListener("keydown", (event) => {
    const isText = event.target.matches("input:not([type=range]):not([type=checkbox])");
    if (!(event.ctrlKey || event.metaKey) || isText || !filter.current() || !filter.hasToken())
        return;
    const act = {z: filter.undo, Z: filter.redo, y: filter.redo}[event.key];
    if (act) {
        event.preventDefault();
        act();
    }
});

// A file for /etc/fftd/presets, in libconfig's syntax. A chain has no control characters.
function offerPreset(name, chain) {
    const text = `summary = "";\nfilter = "${chain.replace(/["\\]/g, "\\$&")}";\n`;
    const link = element("preset-file");
    offerFile(link, `${name}.conf`, [text], "text/plain");
    link.textContent = `Download ${name}.conf for /etc/fftd/presets`;
    link.hidden = false;
}

element("save-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = element("preset-name").value, chain = filter.current().filter;
    localStorage.setItem(SAVED, JSON.stringify({...saved(), [name]: chain}));
    showPresets();
    offerPreset(name, chain);
});
