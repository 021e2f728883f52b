// Turns a stroke over the spectrum, from one frequency to another, into a stage of some kind, and
// outlines such stages. stroke: {from, to, isClick, width}; width is the cursor's, for a click.

const LEAST = 0.004;  // the least width, cycles/pixel
export const short = (f, digits = 5) => Number(f.toFixed(digits));
const clip = (f, least, most) => Math.max(least, Math.min(most, f));
const radiusOf = ({fx, fy}) => Math.hypot(fx, fy);
const degreesOf = ({fx, fy}) => Math.atan2(fy, fx) * 180 / Math.PI;

function notchOf({from, to, isClick, width}) {
    const drawn = isClick ? width : 2 * Math.hypot(to.fx - from.fx, to.fy - from.fy);
    return {at: [short(from.fx), short(from.fy)],
            width: Number(clip(drawn, LEAST, 0.5).toPrecision(3))};
}

// A band from one radius to the other; a click makes a ring of the cursor's width.
function ringOf({from, to, isClick, width}) {
    const radii = isClick ? [radiusOf(from) - width / 2, radiusOf(from) + width / 2] :
        [radiusOf(from), radiusOf(to)];
    const low = clip(Math.min(...radii), 0.001, 0.5 - LEAST);
    return {low: short(low), high: short(clip(Math.max(...radii), low + LEAST, 0.5))};
}

// A sector from one direction to the other, for frequencies above half of the nearer end's.
function directionOf({from, to, isClick, width}) {
    const nearest = Math.max(LEAST, Math.min(radiusOf(from), radiusOf(to)));
    const turn = ((degreesOf(to) - degreesOf(from)) % 180 + 270) % 180 - 90;
    const drawn = isClick ? 2 * Math.atan(width / 2 / nearest) * 180 / Math.PI : Math.abs(turn);
    const middle = degreesOf(from) + (isClick ? 0 : turn / 2);
    return {angle: short((middle + 540) % 360 - 180), width: short(clip(drawn, 1, 180)),
            keep: "outside", above: short(clip(nearest / 2, 0, 0.5))};
}

export const TOOLS = {
    notch: {kind: "notch", isAtPeak: true, parametersOf: notchOf},
    ring: {kind: "bandstop", parametersOf: ringOf},
    direction: {kind: "directional", parametersOf: directionOf},
};

// The stage as text.
export function stageOf(tool, stroke) {
    const parameters = Object.entries(tool.parametersOf(stroke)).map(([name, value]) =>
        `${name}=${Array.isArray(value) ? value.join("/") : value}`);
    return `${tool.kind}:${parameters.join(",")}`;
}

const circle = (cx, cy, r) => ["circle", {cx, cy, r}];

const OUTLINES = {
    notch: ({at: [fx, fy], width}) => [1, -1].map((sign) =>
        circle(sign * fx, sign * fy, Math.max(width / 2, 0.006))),
    bandstop: ({low, high}) => [circle(0, 0, low), circle(0, 0, high)],
    directional: ({angle, width}) => [-1, 1].map((side) => {
        const radians = (angle + side * width / 2) * Math.PI / 180;
        const x = 0.71 * Math.cos(radians), y = 0.71 * Math.sin(radians);
        return ["path", {d: `M${-x} ${-y}L${x} ${y}`}];
    }),
};

// SVG shapes, in cycles per pixel: [name, attributes]; none for kinds without an outline.
export const outlineOf = (kind, parameters) => OUTLINES[kind] ? OUTLINES[kind](parameters) : [];
