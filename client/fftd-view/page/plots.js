// Charts of the last minutes: rate, latency, and measures of the picture before the filter if the
// daemon takes them. The values arrive with the list of cameras, once a second. A file for a
// spreadsheet has those of the last hour.
import {element, make, makeShape, offerFile} from "./dom.js";

const SHOWN_S = 120;
const KEPT_S = 3600;
const GAP_S = 5;    // values that are further apart are not joined: the page was hidden
const FIRST = ["Rate", "Latency", "Sharpness", "Noise"];  // those that are always open

// By name: {last, units: {TITLE: unit}, rows: [{at_s, TITLE: value, ...}]}. A row lacks, or has as
// null, what is not known.
const cameras = new Map();
let chosen = "";            // the name of the camera that is shown
let shown = "";             // the camera and the titles for which the lists were built

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

// Called with the list of cameras.
export function add(listed) {
    const at_s = Date.now() / 1000;
    for (const camera of listed) {
        const kept = cameras.get(camera.name) || {last: null, units: {}, rows: []};
        const row = {at_s};
        for (const {title, unit, value} of valuesOf(camera, kept.last)) {
            kept.units[title] = unit;
            row[title] = value;
        }
        kept.rows.push(row);
        while (at_s - kept.rows[0].at_s >= KEPT_S)
            kept.rows.shift();
        kept.last = camera.rate === undefined ? null : camera;
        cameras.set(camera.name, kept);
    }
}

// ---- drawing ----

// The lines of a chart that is SHOWN_S wide, with the newest value at the right. The least value is
// at y = 1 and the greatest at y = 0.
function pathOf(rows, title, least, most) {
    const newest_s = rows.at(-1).at_s;
    let path = "", last_s = -Infinity;
    for (const row of rows) {
        const value = row[title] ?? null;
        if (value === null) {
            last_s = -Infinity;
            continue;
        }
        const x = (SHOWN_S - (newest_s - row.at_s)).toFixed(2);
        const y = (most > least ? 1 - (value - least) / (most - least) : 0.5).toFixed(4);
        // A value between two gaps is a point.
        path += row.at_s - last_s < GAP_S ? `L${x} ${y}` : `M${x} ${y}h0`;
        last_s = row.at_s;
    }
    return path;
}

function makeChart(title) {
    // The caption and the scale have the same information as text.
    const svg = makeShape("svg", {viewBox: `0 -0.05 ${SHOWN_S} 1.1`, preserveAspectRatio: "none",
                                  "aria-hidden": "true"}, makeShape("path"));
    const caption = make("figcaption", {}, make("strong", {textContent: title}), " ", make("span"));
    const scale = make("div", {className: "scale"}, make("small"), make("small"));
    const time = make("div", {className: "time"}, make("small", {textContent: `-${SHOWN_S} s`}),
                      make("small", {textContent: "now"}));
    return make("figure", {className: "chart"}, caption, scale, svg, time);
}

function showChart(figure, title, unit, rows) {
    const known = rows.map((row) => row[title] ?? null).filter((value) => value !== null);
    const least = Math.min(...known), most = Math.max(...known), now = rows.at(-1)[title] ?? null;
    figure.querySelector("span").textContent =
        now === null ? "not known now" : unit ? `${format(now)} ${unit}` : format(now);
    const [top, bottom] = figure.querySelectorAll(".scale small");
    top.textContent = known.length > 0 ? format(most) : "";
    bottom.textContent = most > least ? format(least) : "";
    figure.querySelector("path").setAttribute("d", pathOf(rows, title, least, most));
}

export function show(name) {
    const {rows = [], units = {}} = cameras.get(name) || {};
    const recent = rows.filter((row) => rows.at(-1).at_s - row.at_s < SHOWN_S);
    // Without a value in that time, the daemon no longer takes the measure.
    const titles = Object.keys(units).filter((title) =>
        title in recent.at(-1) || recent.some((row) => (row[title] ?? null) !== null));
    const isFirst = (title) => FIRST.includes(title);
    const more = titles.filter((title) => !isFirst(title));
    const sorted = [...titles.filter(isFirst), ...more];
    const wanted = [name, ...sorted].join("\n");
    chosen = name;
    if (wanted !== shown) {
        element("charts").replaceChildren(...sorted.filter(isFirst).map(makeChart));
        element("more-charts").replaceChildren(...more.map(makeChart));
        shown = wanted;
    }
    document.querySelectorAll(".chart").forEach((figure, i) =>
        showChart(figure, sorted[i], units[sorted[i]], recent));
    element("history").hidden = titles.length === 0;
    element("no-measures").hidden = titles.length > 2;
    element("more").hidden = more.length === 0;
}

// ---- the file ----

function csvOf(name) {
    const {rows, units} = cameras.get(name);
    const titles = Object.keys(units);
    const head = ["time", ...titles.map((title) =>
        units[title] ? `${title} (${units[title]})` : title)];
    return [head, ...rows.map((row) => [new Date(1000 * row.at_s).toISOString(),
                                        ...titles.map((title) => row[title] ?? "")])]
        .map((cells) => cells.join(",") + "\r\n").join("");
}

element("csv").addEventListener("click", () => {
    const link = make("a");
    offerFile(link, `${chosen}.csv`, [csvOf(chosen)], "text/csv");
    link.click();
});
