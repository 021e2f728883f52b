// The spectrum's picture as numbers, and its peaks.
import {element} from "./dom.js";

export const SIDE = 512;    // px, of the spectrum's picture; frequency zero is at SIDE / 2
const NEAR_PX = 5;          // a click this close to a peak selects the peak
const APART_PX = 6;         // the least distance between two peaks
const RISE = 28;            // the least height of a peak over its surroundings: 10 dB of 90
const MOST_PEAKS = 12;

const image = element("spectrum");
const canvas = document.createElement("canvas");
canvas.width = canvas.height = SIDE;
const context = canvas.getContext("2d", {willReadFrequently: true});
let levels = null;          // the image's pixels, row by row; null: not read yet

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
export const toFrequency = (px) => (px - SIDE / 2) / SIDE;

// Finds the maximum between the pixels, by a parabola through a maximum and its neighbours.
function refine(before, at, after) {
    const bend = before - 2 * at + after;
    return bend < 0 ? Math.max(-0.5, Math.min(0.5, (before - after) / (2 * bend))) : 0;
}

// Returns the brightest pixel near this one, as a frequency.
export function nearestPeak({x, y}) {
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

// Returns whether no pixel near this one is brighter, and how far it rises above those around it.
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

// Returns the strongest peaks of one half; the other half has the same.
export function peaks() {
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

// Returns dB below the strongest frequency that the picture can show; null: no picture yet.
export const decibelsAt = ({x, y}) => readLevels() ? (level(x, y) / 255 - 1) * 90 : null;
