// Pointing at the spectrum: a click on a peak adds a notch there. A stroke with one of the tools
// adds another stage, or a part of a mask. A cursor does the same with the keyboard.
import * as filter from "./filter.js";
import * as mask from "./mask.js";
import * as stages from "./stages.js";
import {element, makeShape} from "./dom.js";
import {SIDE, decibelsAt, nearestPeak, peaks, toFrequency} from "./peaks.js";
import {TOOLS, outlineOf, short, stageOf} from "./tools.js";

const WIDTH = 0.02;         // the cursor's initial width, cycles/pixel
const DRAG_PX = 4;          // a shorter movement is a click

const plane = element("plane");
const toolList = element("tool");
const LEGEND = element("readout").textContent;  // shown while the pointer is elsewhere
let cursor = {x: SIDE / 2, y: SIDE / 2};  // px
let width = WIDTH;
let stroke = null;          // {from, to, isClick, width, x, y}; x and y: px of the screen
let isEnabled = false;
let peak = -1;              // the index in peaks() of the cursor's peak

const isPainting = () => toolList.value === "mask";
const tool = () => TOOLS[toolList.value];
const frequencyOf = ({x, y}) => ({fx: toFrequency(x), fy: toFrequency(y)});

// ---- drawing ----

function draw(shape, className, attributes) {
    element("overlay").append(makeShape(shape, {class: className, ...attributes}));
}

function drawStage(className, kind, parameters) {
    for (const [shape, attributes] of outlineOf(kind, parameters))
        draw(shape, className, attributes);
}

function drawWave({fx, fy}) {
    const r = 0.014;
    for (const [x, y] of [[fx, fy], [-fx, -fy]])
        draw("path", "wave", {d: `M${x - r} ${y}L${x} ${y - r}L${x + r} ${y}L${x} ${y + r}Z`});
}

export function show() {
    const state = filter.current();
    const overlay = element("overlay");
    const half = 0.5 / SIDE;  // frequencies are at the middle of their pixels
    overlay.setAttribute("viewBox", `${-0.5 - half} ${-0.5 - half} 1 1`);
    overlay.replaceChildren();
    for (const {kind, parameters} of state ? state.stages : [])
        drawStage("stage", kind, parameters);
    for (const wave of state && state.adaptation && state.adaptation.waves || [])
        drawWave(wave);
    if (stroke && !isPainting())
        drawStage("stage drawn", tool().kind, tool().parametersOf(stroke));
    if (isEnabled && document.activeElement === plane) {
        const {fx, fy} = frequencyOf(cursor);
        draw("path", "cursor", {d: `M${fx - 0.03} ${fy}h0.06M${fx} ${fy - 0.03}v0.06`});
        draw("circle", "cursor", {cx: fx, cy: fy, r: width / 2});
    }
}

// ---- strokes ----

// A frequency in words, with the period and the angle of its wave.
function describe({fx, fy}, digits = 5) {
    const f = Math.hypot(fx, fy), angle = Math.round(Math.atan2(fy, fx) * 180 / Math.PI);
    return `${short(fx, digits)}/${short(fy, digits)} cycles/pixel` +
        (f > 0 ? `, period ${Number((1 / f).toPrecision(3))} px at ${angle}\u00b0` : "");
}

function levelAt(pixel) {
    const level = decibelsAt(pixel);
    return level === null ? "" : `, ${Math.round(level)} dB`;
}

function say(text) {
    element("plane-said").textContent = text;
}

function begin(pixel) {
    const from = !isPainting() && tool().isAtPeak ? nearestPeak(pixel) : frequencyOf(pixel);
    stroke = {from, to: frequencyOf(pixel), isClick: true, width};
    if (isPainting())
        mask.begin(from, width);
}

function goOn(pixel) {
    const to = frequencyOf(pixel);
    if (isPainting())
        mask.paint(stroke.to, to, width);
    stroke = {...stroke, to, isClick: false};
}

async function finish() {
    const done = stroke;
    stroke = null;
    if (isPainting()) {
        mask.end();
        say("Painted. The mask is offered as a file below.");
        return;
    }
    const text = stageOf(tool(), done), [kind, parameters] = text.split(":");
    if (await stages.add(text))
        say(`${kind[0].toUpperCase()}${kind.slice(1)} added: ` +
            `${tool().isAtPeak ? describe(done.from) : parameters}.`);
}

function cancel() {
    if (stroke && isPainting())
        mask.end();
    stroke = null;
    show();
}

// ---- the pointer ----

function pixelOf(event) {
    const box = plane.getBoundingClientRect();
    const px = (part) => Math.max(0, Math.min(SIDE - 1, Math.floor(part * SIDE)));
    return {x: px((event.clientX - box.left) / box.width),
            y: px((event.clientY - box.top) / box.height)};
}

plane.addEventListener("pointerdown", (event) => {
    if (event.button !== 0)
        return;
    cursor = pixelOf(event);
    if (!isEnabled) {
        say(`Peak at ${describe(nearestPeak(cursor))}${levelAt(cursor)}.`);
        return;
    }
    begin(cursor);
    Object.assign(stroke, {x: event.clientX, y: event.clientY});
    plane.setPointerCapture(event.pointerId);
    show();
});

plane.addEventListener("pointermove", (event) => {
    const at = pixelOf(event);
    element("readout").textContent = `${describe(frequencyOf(at), 3)}${levelAt(at)}`;
    if (!stroke || !plane.hasPointerCapture(event.pointerId) ||
        (stroke.isClick &&
         Math.hypot(event.clientX - stroke.x, event.clientY - stroke.y) < DRAG_PX))
        return;
    goOn(at);
    show();
});

plane.addEventListener("pointerup", (event) => {
    if (!stroke || !plane.hasPointerCapture(event.pointerId))
        return;
    finish();
    show();
});

plane.addEventListener("pointercancel", cancel);
plane.addEventListener("pointerleave", () => { element("readout").textContent = LEGEND; });

// ---- the keyboard ----

function moveCursor(dx, dy) {
    const clip = (px) => Math.max(0, Math.min(SIDE - 1, px));
    cursor = {x: clip(cursor.x + dx), y: clip(cursor.y + dy)};
    if (stroke)
        goOn(cursor);
    sayCursor("Cursor");
}

function sayCursor(what) {
    say(`${what} at ${describe(frequencyOf(cursor))}${levelAt(cursor)}, width ${width}.`);
}

function goToPeak(by) {
    const found = peaks();
    if (found.length === 0) {
        say("No peak rises 10 dB over what is around it.");
        return;
    }
    peak = (peak + by + found.length) % found.length;
    cursor = {x: found[peak].x, y: found[peak].y};
    sayCursor(`Peak ${peak + 1} of ${found.length}`);
}

function widen(by) {
    width = Number(Math.max(0.004, Math.min(0.5, width * by)).toPrecision(3));
    sayCursor("Cursor");
}

// Makes a stroke from the cursor's first position to its second.
function mark() {
    if (stroke) {
        finish();
    } else {
        begin(cursor);
        say("The stroke begins here. Move the cursor, and press Space again at its end.");
    }
}

function click() {
    if (!stroke)
        begin(cursor);
    finish();
}

const KEYS = {
    ArrowLeft: (far) => moveCursor(-far, 0),
    ArrowRight: (far) => moveCursor(far, 0),
    ArrowUp: (far) => moveCursor(0, -far),
    ArrowDown: (far) => moveCursor(0, far),
    Enter: click,
    " ": mark,
    Escape: cancel,
    n: () => goToPeak(1),
    N: () => goToPeak(-1),
    "+": () => widen(1.25),
    "-": () => widen(0.8),
};

plane.addEventListener("keydown", (event) => {
    const act = KEYS[event.key];
    if (!isEnabled || !act || event.ctrlKey || event.altKey || event.metaKey)
        return;
    event.preventDefault();
    act(event.shiftKey ? 10 : 1);
    show();
});
plane.addEventListener("focus", show);
plane.addEventListener("blur", cancel);

toolList.addEventListener("change", () => {
    cancel();
    mask.show(isPainting());
});

export function enable(isOn) {
    isEnabled = isOn;
    element("plane-help").hidden = !isOn;
    element("tools").hidden = !isOn;
    mask.show(isOn && isPainting());
    plane.classList.toggle("active", isOn);
    const attributes = {tabindex: "0", role: "application", "aria-labelledby": "spectrum-heading",
                        "aria-describedby": "plane-help"};
    for (const [key, value] of Object.entries(attributes))
        if (isOn)
            plane.setAttribute(key, value);
        else
            plane.removeAttribute(key);
}
