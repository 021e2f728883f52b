// Find problems: fftd-view looks at the picture before the filter for some seconds, as
// `fftd-ctl diagnose` does. Each finding has a small picture before and after, and a button that
// adds the stages against it.
import * as filter from "./filter.js";
import {commandFor} from "./controls.js";
import {breakable, element, make, setText} from "./dom.js";

const ASK_MS = 500;

const said = (text) => setText("problems-said", text);

async function makePicture(label, file) {
    const bitmap = await createImageBitmap(file);
    const canvas = make("canvas", {width: bitmap.width, height: bitmap.height});
    canvas.getContext("2d").drawImage(bitmap, 0, 0);
    bitmap.close();
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", label);
    return make("figure", {}, canvas, make("figcaption", {className: "quiet", textContent: label}));
}

function makeButton(text, label, changes) {
    const button = make("button", {type: "button", textContent: text});
    button.setAttribute("aria-label", label);
    button.addEventListener("click", async () => {
        if (await filter.change(changes))
            said(`${label}: done. Undo takes it back.`);
    });
    return button;
}

// Commands are between backquotes, and here for the camera that is shown.
const makeSentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`.split("`")
    .flatMap((part, i) => i % 2 === 0 ? breakable(part) :
        [make("code", {textContent: commandFor(part.replace(/^fftd-ctl /, ""))})]);

async function makeFinding({kind, text, stage, advice}, number, parts) {
    const title = kind[0].toUpperCase() + kind.slice(1).replaceAll("-", " ");
    const item = make("li", {}, make("h3", {textContent: title}),
                      make("p", {}, ...makeSentence(text)));
    if (parts.has(`before${number}`))
        item.append(make("div", {className: "beside"},
                         await makePicture("Before", parts.get(`before${number}`)),
                         await makePicture("After, about", parts.get(`after${number}`))));
    if (advice)
        item.append(make("p", {className: "quiet"}, ...makeSentence(advice)));
    if (stage)
        item.append(make("code", {}, ...breakable(stage)), " ",
                    makeButton("Apply", `Add what helps against ${title.toLowerCase()}`,
                               filter.split(stage).map((each) => ["add", each])));
    return item;
}

async function show({findings, chain, frames}, parts) {
    const items = await Promise.all(findings.map((each, i) => makeFinding(each, i, parts)));
    element("problems").replaceChildren(...items);
    if (chain && findings.length > 1)
        element("problems-all").append(makeButton("Replace the filter by all of them",
                                                  "Replace the filter", [["replace", chain]]));
    said(findings.length > 0 ? `Found in ${frames} frames, the most annoying first:` :
        `Nothing was found in ${frames} frames.`);
}

async function ask(what, options) {
    return (await filter.ask(what, options)).formData();
}

async function search() {
    const progress = element("problems-progress"), button = element("find");
    clear();
    button.disabled = true;
    said("Looking for problems. Let the picture move a little, if it can.");
    progress.hidden = false;
    try {
        let parts = await ask("problems/search", {
            method: "POST", headers: {"Content-Type": "application/json"}, body: "{}"});
        let state = JSON.parse(parts.get("state"));
        while (state.doing) {
            Object.assign(progress, {value: state.done, max: state.total});
            setText("problems-doing", `${state.doing}: ${state.done} of ${state.total}`);
            await new Promise((done) => setTimeout(done, ASK_MS));
            parts = await ask("problems");
            state = JSON.parse(parts.get("state"));
        }
        await show(state, parts);
    } catch (error) {
        said(error.message);
    } finally {
        button.disabled = false;
        progress.hidden = true;
        setText("problems-doing", "");
    }
}

// What was found at another camera.
export function clear() {
    element("problems").replaceChildren();
    element("problems-all").replaceChildren();
    said("");
}

element("find").addEventListener("click", search);
