// Small charts of the last minutes: rate, latency, and measures of the picture before the filter if
// the daemon takes them. The values arrive with the list of cameras, once a second.
import {element, make, makeShape} from "./dom.js";

const KEPT_S = 120;
const GAP_S = 5;    // values that are further apart are not joined: the page was hidden

// By name: {last, charts: Map of title to {unit, values: [{at_s, value}]}}; null: it is not known.
const cameras = new Map();
let shown = "";             // the camera and the titles for which the list was built

const format = (value) => String(Number(value.toPrecision(3)));

// Returns the mean of the frames since the last call, because the daemon counts from its start.
function meanLatency(camera, last) {
    const frames = last ? camera.latency_frames - last.latency_frames : 0;
    return frames > 0 ? (camera.latency_sum_ms - last.latency_sum_ms) / frames : null;
}

function valuesOf(camera, last) {
    return camera.rate === undefined ? [] : [
        {title: "Rate", unit: "frames/s", value: camera.rate},
        {title: "Latency", unit: "ms", value: meanLatency(camera, last)},
        ...camera.measures.map(({name, unit, value}) =>
            ({title: name[0].toUpperCase() + name.slice(1).replace("_", " "), unit, value})),
    ];
}

// Called with an entry of the list of cameras.
export function add(listed) {
    const at_s = Date.now() / 1000;
    for (const camera of listed) {
        const kept = cameras.get(camera.name) || {last: null, charts: new Map()};
        const values = valuesOf(camera, kept.last);
        for (const {title, unit} of values)
            if (!kept.charts.has(title))
                kept.charts.set(title, {unit, values: []});
        for (const [title, chart] of kept.charts) {
            const value = values.find((each) => each.title === title)?.value ?? null;
            chart.values = [...chart.values, {at_s, value}]
                .filter((each) => at_s - each.at_s < KEPT_S);
            // The daemon no longer takes this measure.
            if (chart.values.every((each) => each.value === null) &&
                !values.some((each) => each.title === title))
                kept.charts.delete(title);
        }
        kept.last = camera.rate === undefined ? null : camera;
        cameras.set(camera.name, kept);
    }
}

// ---- drawing ----

// The lines of a chart that is KEPT_S wide, with the newest value at the right. The least value is
// at y = 1 and the greatest at y = 0.
function pathOf(values, least, most) {
    const newest_s = values.at(-1).at_s;
    let path = "", last_s = -Infinity;
    for (const {at_s, value} of values) {
        if (value === null) {
            last_s = -Infinity;
            continue;
        }
        const x = (KEPT_S - (newest_s - at_s)).toFixed(2);
        const y = (most > least ? 1 - (value - least) / (most - least) : 0.5).toFixed(4);
        // A value between two gaps is a point.
        path += at_s - last_s < GAP_S ? `L${x} ${y}` : `M${x} ${y}h0`;
        last_s = at_s;
    }
    return path;
}

function makeChart(title) {
    // The caption has the same information as text.
    const svg = makeShape("svg", {viewBox: `0 -0.05 ${KEPT_S} 1.1`, preserveAspectRatio: "none",
                                  "aria-hidden": "true"}, makeShape("path"));
    return make("figure", {}, make("figcaption", {}, make("strong", {textContent: title}), " ",
                                   make("span"), make("small")), svg);
}

function showChart(figure, {unit, values}) {
    const known = values.map(({value}) => value).filter((value) => value !== null);
    const least = Math.min(...known), most = Math.max(...known), now = values.at(-1).value;
    const seconds = Math.max(1, Math.round(values.at(-1).at_s - values[0].at_s));
    const withUnit = (text) => unit ? `${text} ${unit}` : text;
    figure.querySelector("span").textContent =
        now === null ? "not known now" : withUnit(format(now));
    figure.querySelector("small").textContent = known.length === 0 ? "" :
        `${format(least)} to ${withUnit(format(most))} in the last ${seconds} s`;
    figure.querySelector("path").setAttribute("d", pathOf(values, least, most));
}

export function show(name) {
    const charts = [...(cameras.get(name)?.charts || [])];
    const list = element("charts");
    const wanted = [name, ...charts.map(([title]) => title)].join("\n");
    if (wanted !== shown) {
        list.replaceChildren(...charts.map(([title]) => makeChart(title)));
        shown = wanted;
    }
    charts.forEach(([, chart], i) => showChart(list.children[i], chart));
    element("history").hidden = charts.length === 0;
    element("no-measures").hidden = charts.length > 2;
}
