// A mask that is painted over the spectrum by hand, for the filter kind `mask`. The daemon reads
// masks only from files, so the page offers the mask as a file.
import * as stages from "./stages.js";
import {element, offerFile} from "./dom.js";
import {SIDE} from "./peaks.js";

const context = element("mask").getContext("2d");
const values = new Uint8ClampedArray(SIDE * SIDE).fill(255);  // white: what stays
// Black is shown in a colour that no spectrum has. White leaves the spectrum visible.
const COLOUR = [255, 64, 160];
const image = context.createImageData(SIDE, SIDE);
let strokes = [];  // each a list of {fx, fy, width}

const toPixel = (f) => SIDE / 2 + f * SIDE;

// The brush is black in the middle, half at its edge and white beyond, so that it does not ring.
function paintAt(x, y, radius) {
    const reach = Math.ceil(1.5 * radius);
    for (let v = Math.round(y) - reach; v <= y + reach; v++)
        for (let u = Math.round(x) - reach; u <= x + reach; u++) {
            const part = Math.hypot(u - x, v - y) / radius - 0.5;
            const t = Math.max(0, Math.min(1, part));
            const i = v * SIDE + u;
            if (u >= 0 && u < SIDE && v >= 0 && v < SIDE)
                values[i] = Math.min(values[i], 255 * t * t * (3 - 2 * t));
        }
}

// The spectrum of a real picture has the same magnitude at opposite frequencies.
function paintPoint({fx, fy, width}) {
    for (const sign of [1, -1])
        paintAt(toPixel(sign * fx), toPixel(sign * fy), Math.max(1, width / 2 * SIDE));
}

function draw() {
    for (let i = 0; i < values.length; i++) {
        const at = 4 * i;
        image.data[at] = COLOUR[0];
        image.data[at + 1] = COLOUR[1];
        image.data[at + 2] = COLOUR[2];
        image.data[at + 3] = 0.8 * (255 - values[i]);
    }
    context.putImageData(image, 0, 0);
}

function repaint() {
    values.fill(255);
    strokes.flat().forEach(paintPoint);
    draw();
    offerMask();
}

const fileName = () => `${element("mask-name").value}.pgm`;

function offerMask() {
    const link = element("mask-file");
    const isNamed = element("mask-name").checkValidity();
    for (const id of ["mask-undo", "mask-clear"])
        element(id).disabled = strokes.length === 0;
    link.hidden = element("mask-use").disabled = strokes.length === 0 || !isNamed;
    if (link.hidden)
        return;
    offerFile(link, fileName(), [`P5\n${SIDE} ${SIDE}\n255\n`, values],
              "image/x-portable-graymap");
    link.textContent = `First download ${fileName()} and copy it to /etc/fftd/images`;
}

// Draws as many dots between two positions of the pointer as make a line.
export function paint(from, to, width) {
    const length = Math.hypot(to.fx - from.fx, to.fy - from.fy);
    const count = Math.ceil(length / Math.max(width / 4, 1 / SIDE));
    for (let i = count > 0 ? 1 : 0; i <= count; i++) {
        const part = count > 0 ? i / count : 0;
        const point = {fx: from.fx + part * (to.fx - from.fx),
                       fy: from.fy + part * (to.fy - from.fy), width};
        strokes.at(-1).push(point);
        paintPoint(point);
    }
    draw();
}

export function begin(at, width) {
    strokes.push([]);
    paint(at, at, width);
}

export const end = offerMask;

export function show(isOn) {
    element("mask").hidden = element("mask-form").hidden = !isOn;
}

element("mask-undo").addEventListener("click", () => {
    strokes.pop();
    repaint();
});
element("mask-clear").addEventListener("click", () => {
    strokes = [];
    repaint();
});
element("mask-name").addEventListener("input", offerMask);
element("mask-form").addEventListener("submit", (event) => {
    event.preventDefault();
    stages.add(`mask:image=${fileName()}`);
});
