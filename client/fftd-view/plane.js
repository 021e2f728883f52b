// The spectrum as a place to point at: a click on a peak adds a notch there, a drag makes it wide,
// and a cursor does the same with the keyboard.
import * as filter from "./filter.js";
import * as stages from "./stages.js";

const SIDE = 512;           // px of the spectrum; zero is at SIDE / 2
const NEAR_PX = 5;          // a peak so near to the pointer is meant
const APART_PX = 6;         // between two peaks
const RISE = 28;            // of a peak over what is around it: 10 dB of 90 in 255 steps
const MOST_PEAKS = 12;
const WIDTH = 0.02;         // of a notch that was not drawn, cycles/pixel
const DRAG_PX = 4;          // a movement below that is a click
const SVG = "http://www.w3.org/2000/svg";

const plane = document.getElementById("plane");
const image = document.getElementById("spectrum");
const canvas = document.createElement("canvas");
canvas.width = canvas.height = SIDE;
const context = canvas.getContext("2d", {willReadFrequently: true});
let levels = null;          // of the image's pixels, row by row; null: to be read
let cursor = {x: SIDE / 2, y: SIDE / 2};  // px
let width = WIDTH;
let drag = null;            // {at, width, x, y}
let isEnabled = false;
let peak = -1;              // the one that the cursor is at, of peaks()

image.addEventListener("load", () => { levels = null; });

function readLevels() {
    if (levels || !image.naturalWidth)
        return levels;
    context.drawImage(image, 0, 0, SIDE, SIDE);
    const {data} = context.getImageData(0, 0, SIDE, SIDE);
    levels = Uint8Array.from({length: SIDE * SIDE}, (_, i) => data[4 * i]);
    return levels;
}

const level = (x, y) => levels[((y + SIDE) % SIDE) * SIDE + (x + SIDE) % SIDE];
const toFrequency = (px) => (px - SIDE / 2) / SIDE;

// Between the pixels, by the parabola through the level at a maximum and its neighbours.
function refine(before, at, after) {
    const bend = before - 2 * at + after;
    return bend < 0 ? Math.max(-0.5, Math.min(0.5, (before - after) / (2 * bend))) : 0;
}

// The brightest pixel near this one, as a frequency.
function nearestPeak({x, y}) {
    let best = {x, y};
    if (!readLevels())
        return {fx: toFrequency(x), fy: toFrequency(y)};
    for (let v = Math.max(0, y - NEAR_PX); v <= Math.min(SIDE - 1, y + NEAR_PX); v++)
        for (let u = Math.max(0, x - NEAR_PX); u <= Math.min(SIDE - 1, x + NEAR_PX); u++)
            if (level(u, v) > level(best.x, best.y))
                best = {x: u, y: v};
    const dx = refine(level(best.x - 1, best.y), level(best.x, best.y), level(best.x + 1, best.y));
    const dy = refine(level(best.x, best.y - 1), level(best.x, best.y), level(best.x, best.y + 1));
    const clip = (f) => Math.max(-0.5, Math.min(0.5, f));
    return {fx: clip(toFrequency(best.x + dx)), fy: clip(toFrequency(best.y + dy))};
}

// Whether no pixel near this one is brighter, and how far it rises over those around it.
function riseAt(x, y) {
    const at = level(x, y);
    let around = 0;
    for (let v = -APART_PX; v <= APART_PX; v++)
        for (let u = -APART_PX; u <= APART_PX; u++) {
            if (level(x + u, y + v) > at)
                return 0;
            if (Math.max(Math.abs(u), Math.abs(v)) === APART_PX)
                around += level(x + u, y + v);
        }
    return at - around / (8 * APART_PX);
}

// The strongest peaks of one half; the other half is the same.
function peaks() {
    const found = [];
    if (!readLevels())
        return found;
    for (let y = 0; y <= SIDE / 2; y++)
        for (let x = 0; x < SIDE; x++) {
            const isFar = Math.hypot(x - SIDE / 2, y - SIDE / 2) > 3 * APART_PX;
            const isInHalf = y < SIDE / 2 || x > SIDE / 2;
            if (isFar && isInHalf && level(x, y) >= level(x - 1, y) && level(x, y) > 2 * RISE) {
                const rise = riseAt(x, y);
                if (rise >= RISE)
                    found.push({x, y, rise});
            }
        }
    return found.sort((a, b) => b.rise - a.rise).slice(0, MOST_PEAKS);
}

// ---- drawing ----

function draw(shape, className, attributes) {
    const made = document.createElementNS(SVG, shape);
    made.setAttribute("class", className);
    for (const [key, value] of Object.entries(attributes))
        made.setAttribute(key, value);
    document.getElementById("overlay").append(made);
}

function drawNotch(className, [fx, fy], notchWidth) {
    for (const sign of [1, -1])
        draw("circle", className, {cx: sign * fx, cy: sign * fy,
                                   r: Math.max(notchWidth / 2, 0.006)});
}

function drawWave({fx, fy}) {
    const r = 0.014;
    for (const [x, y] of [[fx, fy], [-fx, -fy]])
        draw("path", "wave", {d: `M${x - r} ${y}L${x} ${y - r}L${x + r} ${y}L${x} ${y + r}Z`});
}

export function show() {
    const state = filter.current();
    const overlay = document.getElementById("overlay");
    const half = 0.5 / SIDE;  // frequencies are at the middle of their pixels
    overlay.setAttribute("viewBox", `${-0.5 - half} ${-0.5 - half} 1 1`);
    overlay.replaceChildren();
    for (const {kind, parameters} of state ? state.stages : [])
        if (kind === "notch")
            drawNotch("notch", parameters.at, parameters.width);
    for (const wave of state && state.adaptation && state.adaptation.waves || [])
        drawWave(wave);
    if (drag)
        drawNotch("notch drawn", [drag.at.fx, drag.at.fy], drag.width);
    if (isEnabled && document.activeElement === plane) {
        const x = toFrequency(cursor.x), y = toFrequency(cursor.y);
        draw("path", "cursor", {d: `M${x - 0.03} ${y}h0.06M${x} ${y - 0.03}v0.06`});
        draw("circle", "cursor", {cx: x, cy: y, r: width / 2});
    }
}

// ---- notches ----

const short = (f) => Number(f.toFixed(5));

function say(text) {
    document.getElementById("plane-said").textContent = text;
}

async function notch({fx, fy}, notchWidth) {
    const at = `${short(fx)}/${short(fy)}`;
    if (await stages.add(`notch:at=${at},width=${Number(notchWidth.toPrecision(3))}`))
        say(`Notch added at ${at} cycles per pixel.`);
}

// ---- the pointer ----

function pixelOf(event) {
    const box = plane.getBoundingClientRect();
    const px = (part) => Math.max(0, Math.min(SIDE - 1, Math.floor(part * SIDE)));
    return {x: px((event.clientX - box.left) / box.width),
            y: px((event.clientY - box.top) / box.height)};
}

plane.addEventListener("pointerdown", (event) => {
    if (!isEnabled || event.button !== 0)
        return;
    cursor = pixelOf(event);
    drag = {at: nearestPeak(cursor), width, x: event.clientX, y: event.clientY};
    plane.setPointerCapture(event.pointerId);
    show();
});

plane.addEventListener("pointermove", (event) => {
    if (!drag || Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < DRAG_PX)
        return;
    const {x, y} = pixelOf(event);
    const radius = Math.hypot(toFrequency(x) - drag.at.fx, toFrequency(y) - drag.at.fy);
    drag.width = Math.max(0.004, Math.min(0.5, 2 * radius));
    show();
});

plane.addEventListener("pointerup", () => {
    if (!drag)
        return;
    notch(drag.at, drag.width);
    drag = null;
    show();
});

plane.addEventListener("pointercancel", () => {
    drag = null;
    show();
});

// ---- the keyboard ----

function moveCursor(dx, dy) {
    const clip = (px) => Math.max(0, Math.min(SIDE - 1, px));
    cursor = {x: clip(cursor.x + dx), y: clip(cursor.y + dy)};
    sayCursor("Cursor");
}

function sayCursor(what) {
    const brightness = readLevels() ?
        `, ${Math.round((level(cursor.x, cursor.y) / 255 - 1) * 90)} dB` : "";
    say(`${what} at ${short(toFrequency(cursor.x))}/${short(toFrequency(cursor.y))} ` +
        `cycles per pixel${brightness}, width ${width}.`);
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

const KEYS = {
    ArrowLeft: (far) => moveCursor(-far, 0),
    ArrowRight: (far) => moveCursor(far, 0),
    ArrowUp: (far) => moveCursor(0, -far),
    ArrowDown: (far) => moveCursor(0, far),
    Enter: () => notch(nearestPeak(cursor), width),
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
plane.addEventListener("blur", show);

export function enable(isOn) {
    isEnabled = isOn;
    document.getElementById("plane-help").hidden = !isOn;
    plane.classList.toggle("active", isOn);
    const attributes = {tabindex: "0", role: "application", "aria-labelledby": "spectrum-heading",
                        "aria-describedby": "plane-help"};
    for (const [key, value] of Object.entries(attributes))
        if (isOn)
            plane.setAttribute(key, value);
        else
            plane.removeAttribute(key);
}
