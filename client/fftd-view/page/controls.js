// The camera's own controls, such as brightness and exposure, as the daemon lists them. A slider
// takes effect while it is moved. Below them is how to record what `dark` and `flat` need.
import * as filter from "./filter.js";
import {element, make, setText} from "./dom.js";

const INTERVAL_MS = 80;  // the least time between two values of a slider
const CALIBRATIONS = [
    ["dark", "Cover the lens. It takes out what the sensor shows without light.",
     "dark:image=dark.pfm"],
    ["flat", "Show an evenly lit surface. It takes out dark corners and dust.",
     "flat:image=flat.pfm"],
    ["stripes", "Let the picture pan. It takes out stripes and hot pixels.",
     "dark:image=stripes.pfm"],
];

let cameraName = null;
let daemonOption = "";
let shown = "";      // the names of the controls that have a row
let waiting = null;  // the newest values that have not been sent: {name: value}
let queue = Promise.resolve();

function said(text, isProblem = false) {
    setText("controls-said", text);
    element("controls-said").classList.toggle("problem", isProblem);
}

async function send() {
    await new Promise((done) => setTimeout(done, INTERVAL_MS));
    const asked = cameraName, changes = Object.entries(waiting || {});
    waiting = null;
    if (changes.length === 0)
        return;
    try {
        const {controls} = await filter.post("controls/set", {changes});
        if (asked !== cameraName)
            return;
        said("");
        show(controls);
    } catch (error) {
        if (asked !== cameraName)
            return;
        said(error.message, true);
        refresh(false);
    }
}

// Requests are sent in turn; only the newest value of each control waits.
function set(name, value) {
    const isQueued = waiting !== null;
    waiting = {...waiting, [name]: String(value)};
    if (!isQueued)
        queue = queue.then(send);
}

// Returns what a hand changes, and a function that shows a value there.
function makeInputs({name, label, type, minimum, maximum, step, menu = []}) {
    const text = label || name;
    if (type === "button") {
        const button = make("button", {type: "button", textContent: "Press"});
        button.addEventListener("click", () => set(name, true));
        return [[button], () => {}];
    }
    if (type === "boolean") {
        const box = make("input", {type: "checkbox"});
        box.addEventListener("change", () => set(name, box.checked));
        return [[box], (value) => { box.checked = value; }];
    }
    if (type === "menu") {
        const list = make("select", {}, ...menu.map(([value, entry]) =>
            make("option", {value, textContent: entry})));
        list.addEventListener("change", () => set(name, list.value));
        return [[list], (value) => { list.value = value; }];
    }
    if (type !== "integer") {
        const field = make("input", {type: "text", spellcheck: false});
        field.addEventListener("change", () => set(name, field.value));
        return [[field], (value) => { field.value = value; }];
    }
    const limits = {min: minimum, max: maximum, step: Math.max(1, step)};
    const slider = make("input", {type: "range", ...limits});
    const number = make("input", {type: "number", ...limits});
    slider.addEventListener("input", () => {
        number.value = slider.value;
        set(name, slider.value);
    });
    number.addEventListener("change", () => set(name, number.value));
    return [[slider, number], (value) => { slider.value = number.value = value; }];
}

function makeRow(control) {
    const {name, label, type, minimum, maximum} = control, text = label || name;
    const [inputs, write] = makeInputs(control);
    inputs.forEach((each, i) => {
        each.id = `control-${name}-${i}`;
        each.setAttribute("aria-label", type === "button" ? `Press ${text}` :
                                        i > 0 ? `${text}, as a number` : text);
    });
    const row = make("div", {className: "parameter"},
                     make("label", {htmlFor: inputs[0].id, textContent: text}), ...inputs);
    if (type === "integer")
        row.append(make("small", {textContent: `${minimum} to ${maximum}, ` +
                                               `default ${control.default}`}));
    row.show = ({value, read_only: isReadOnly, inactive}) => {
        const isHeld = inputs.includes(document.activeElement) && waiting !== null;
        if (value !== undefined && !isHeld)
            write(value);
        for (const each of inputs)
            each.disabled = isReadOnly || inactive;
        row.title = inactive ? "Another control rules this one." : "";
    };
    return row;
}

function show(controls) {
    const names = controls.map(({name}) => name).join("\n");
    if (names !== shown)
        element("controls-list").replaceChildren(...controls.map(makeRow));
    shown = names;
    controls.forEach((control, i) => element("controls-list").children[i].show(control));
    if (controls.length === 0)
        said("The camera has no controls.");
}

async function refresh(isSaid = true) {
    const asked = cameraName;
    try {
        const {controls} = await (await filter.ask("controls")).json();
        if (asked !== cameraName)
            return;
        if (isSaid)
            said("");
        show(controls);
    } catch (error) {
        if (isSaid)
            said(error.message, error.status !== 422);  // 422: the camera has none
    }
}

const quote = (word) => /^[\w./:-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

// For a terminal on the camera's machine.
export const commandFor = (command) => `fftd-ctl ${daemonOption} ${command}`;

// directory: of the daemon's sockets, if it has no name.
export function showCalibrations(name, directory) {
    daemonOption = directory ? `--runtime-dir ${quote(directory)}` : `--name ${name}`;
    element("calibrations").replaceChildren(...CALIBRATIONS.map(([kind, line, stage]) => {
        const button = make("button", {type: "button", textContent: "Use it"});
        button.setAttribute("aria-label", `Add ${stage}`);
        button.addEventListener("click", () => filter.change([["add", stage, "1"]]));
        return make("li", {}, make("p", {textContent: line}),
                    make("code", {textContent: commandFor(`calibrate ${kind}`)}), " ",
                    button);
    }));
}

// Called with the chosen camera.
export function update({name}) {
    if (name === cameraName)
        return;
    cameraName = name;
    waiting = null;
    shown = "";
    element("controls-list").replaceChildren();
    said("");
    element("calibrations").replaceChildren();
    if (element("controls").open)
        refresh();
}

element("controls").addEventListener("toggle", () => {
    if (element("controls").open)
        refresh();
});
