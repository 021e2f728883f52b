// Lists of kinds and of presets, by what they are for. Each card has a line about it, and the
// response of its chain as the daemon computes it: zero in the middle, white is kept, black removed.
// Where that has nothing to show, it has a picture of what the first stage's kind does (kinds/*.png,
// which `make docs-filters` writes and view.mk makes a module of).
import pictures from "./pictures.js";
import * as filter from "./filter.js";
import {element, make} from "./dom.js";

const SIDE = 21;            // points of a response, like SIDE in changer.c
const MOST = 64;            // responses of one request
const FLAT = 0.02;          // a response that differs by less has nothing to show

// What kinds are for, by the `group` of each. A preset is for what its first stage is for.
const GROUPS = {
    patterns: "Patterns, lines and interference",
    noise: "Noise and bad pixels",
    blur: "Blur and sharpness",
    light: "Light, lens and sensor",
    edges: "Edges and fine detail",
    motion: "Motion and place",
    analysis: "For programs that look",
};
// Presets of recorded images, which have no chain before these are recorded: their first stage.
const RECORDED = {"fixed-pattern": "dark"};
const kindOf = (chain) => chain.split(/[: ]/)[0];
export const startOf = (name, chain) => chain || RECORDED[name] || "";
export const groupOf = (kinds, chain) =>
    GROUPS[kinds.find(({name}) => name === kindOf(chain))?.group] || "Others";

async function drawPicture(canvas, kind) {
    const bytes = Uint8Array.from(atob(pictures[kind] || ""), (each) => each.charCodeAt(0));
    if (bytes.length === 0)
        return;
    const bitmap = await createImageBitmap(new Blob([bytes], {type: "image/png"}));
    Object.assign(canvas, {width: bitmap.width, height: bitmap.height});
    canvas.getContext("2d").drawImage(bitmap, 0, 0);
    canvas.classList.add("drawn");
}

// The half that is missing is the other one, turned by 180 degrees.
async function draw(canvas, half, chain) {
    const all = [...half, ...half.slice(0, SIDE * (SIDE - 1) / 2).reverse()];
    const most = Math.max(...all), least = Math.min(...all);
    if (all.length !== SIDE * SIDE || most - least < FLAT) {
        await drawPicture(canvas, kindOf(chain));
        return;
    }
    const context = canvas.getContext("2d"), image = context.createImageData(SIDE, SIDE);
    all.forEach((value, i) => {
        image.data.fill(255 * value / Math.max(1, most), 4 * i, 4 * i + 3);
        image.data[4 * i + 3] = 255;
    });
    context.putImageData(image, 0, 0);
    canvas.classList.add("drawn");
}

// cards: [{name, line, group, chain}]. pick(card) is called when one is chosen.
export function fill(id, cards, pick) {
    const buttons = new Map(cards.map((card) => {
        const canvas = make("canvas", {width: SIDE, height: SIDE});
        const button = make("button", {type: "button", className: "card"}, canvas,
                            make("strong", {textContent: card.name}),
                            make("span", {className: "quiet", textContent: card.line}));
        button.dataset.name = card.name;
        canvas.setAttribute("aria-hidden", "true");
        button.addEventListener("click", () => pick(card));
        return [card, button];
    }));
    const groups = [...new Set(cards.map(({group}) => group))];
    const order = [...Object.values(GROUPS), ...groups];
    groups.sort((a, b) => order.indexOf(a) - order.indexOf(b));
    element(id).replaceChildren(...groups.map((group) => {
        const inside = cards.filter((card) => card.group === group);
        return make("details", {}, make("summary", {textContent: `${group} (${inside.length})`}),
                    make("ul", {className: "cards"},
                         ...inside.map((card) => make("li", {}, buttons.get(card)))));
    }));
    drawAll(cards, buttons);
}

async function drawAll(cards, buttons) {
    const canvasOf = (card) => buttons.get(card).querySelector("canvas");
    const known = cards.filter(({chain}) => chain);
    try {
        for (const card of cards.filter(({chain}) => !chain))
            await drawPicture(canvasOf(card), startOf(card.name, ""));
        for (let i = 0; i < known.length; i += MOST) {
            const some = known.slice(i, i + MOST);
            const responses = await filter.fetchResponses(some.map(({chain}) => chain));
            await Promise.all(responses.map((half, k) =>
                draw(canvasOf(some[k]), half, some[k].chain)));
        }
    } catch {
        // The lists are useful without them.
    }
}
