// The chain as an editable list of stages. The daemon has the table of the kinds, with their
// parameters, limits and units.
import * as cards from "./cards.js";
import * as filter from "./filter.js";
import {element, make} from "./dom.js";

const STEPS = 1000;  // in a slider
const EDITING_MS = 1000;

let table = {kinds: [], presets: []};
let shown = null;           // the stages for which the list was built
let focusNext = null;       // {index, part}: what gets the focus when the list is built
let edited = {input: null, at: 0};
let gestures = 0;

const kindOf = (name) => table.kinds.find((kind) => kind.name === name);
export const groupOf = (chain) => cards.groupOf(table.kinds, chain);

export function setTable(next) {
    table = next;
    shown = null;
    showKinds();
}

export const presets = () => table.presets;

// ---- sliders ----

// A range that spans orders of magnitude is divided into equal ratios.
const isLogarithmic = (about) => about.minimum > 0 && about.maximum / about.minimum >= 100;

function toPosition(value, about) {
    const part = isLogarithmic(about) ?
        Math.log(value / about.minimum) / Math.log(about.maximum / about.minimum) :
        (value - about.minimum) / (about.maximum - about.minimum);
    return Math.round(STEPS * part);
}

function fromPosition(position, about) {
    const part = position / STEPS;
    const value = isLogarithmic(about) ?
        about.minimum * (about.maximum / about.minimum) ** part :
        about.minimum + (about.maximum - about.minimum) * part;
    return Math.min(Math.max(Number(value.toPrecision(4)), about.minimum), about.maximum);
}

// A slider and a field for the same number. give(value, isLast) receives each value as text.
function makeNumber(id, labelText, about, give) {
    const number = make("input", {type: "number", id, min: about.minimum, max: about.maximum,
                                  step: "any"});
    const slider = make("input", {type: "range", min: 0, max: STEPS, step: 1});
    slider.setAttribute("aria-label", labelText);
    const describe = () => slider.setAttribute("aria-valuetext", `${number.value} ${about.unit}`);
    const set = (value) => {
        number.value = value === undefined ? "" : Number(Number(value).toPrecision(7));
        slider.value = value === undefined ? 0 : toPosition(Number(value), about);
        describe();
    };
    const giveSlider = (isLast) => {
        number.value = fromPosition(Number(slider.value), about);
        describe();
        give(number.value, isLast, slider);
    };
    slider.addEventListener("input", () => giveSlider(false));
    slider.addEventListener("change", () => giveSlider(true));
    number.addEventListener("change", () => {
        slider.value = toPosition(Number(number.value), about);
        describe();
        give(number.value, true, number);
    });
    const label = make("label", {htmlFor: id, textContent: labelText});
    return {nodes: [label, slider, number], inputs: [slider, number], set,
            get: () => number.value};
}

function makePair(id, labelText, about, give) {
    const halves = ["x", "y"].map((axis) => makeNumber(
        `${id}-${axis}`, `${labelText}, ${axis}`, about,
        (_, isLast, input) => give(get(), isLast, input)));
    const get = () => halves.map((half) => half.get() || "0").join("/");
    return {nodes: halves.flatMap((half) => half.nodes),
            inputs: halves.flatMap((half) => half.inputs), get,
            set: (value) => halves.forEach((half, i) => half.set(value ? value[i] : undefined))};
}

function makeField(id, labelText, input, give) {
    input.id = id;
    input.addEventListener("change", () => give(input.value, true, input));
    return {nodes: [make("label", {htmlFor: id, textContent: labelText}), input], inputs: [input],
            get: () => input.value, set: (value) => { input.value = value ?? ""; }};
}

function makeCheckbox(id, labelText, give) {
    const input = make("input", {type: "checkbox", id});
    const get = () => String(input.checked);
    input.addEventListener("change", () => give(get(), true, input));
    return {nodes: [make("label", {htmlFor: id, textContent: labelText}), input], inputs: [input],
            get, set: (value) => { input.checked = String(value) === "true"; }};
}

// The controls of one parameter.
function makeParameter(id, about, give) {
    const labelText = about.name;
    const select = () => make("select", {}, ...about.choices.map((choice) =>
        make("option", {value: choice, textContent: choice})));
    const made = about.type === "number" ? makeNumber(id, labelText, about, give) :
        about.type === "pair" ? makePair(id, labelText, about, give) :
        about.type === "choice" ? makeField(id, labelText, select(), give) :
        about.type === "boolean" ? makeCheckbox(id, labelText, give) :
        makeField(id, labelText, make("input", {type: "text"}), give);
    const words = about.unit ? `${about.summary}, in ${about.unit}` : about.summary;
    const hint = make("small", {id: `${id}-hint`, textContent: words});
    for (const input of made.inputs)
        input.setAttribute("aria-describedby", hint.id);
    return {...made, row: make("div", {className: "parameter"}, ...made.nodes, hint), about};
}

// ---- the list ----

// The stages, with switched-off ones at their positions: {stage, text, number} or {stage, text,
// offAt}. number counts from 1, like the daemon's.
function listed() {
    const state = filter.current();
    const texts = filter.split(state.filter);
    const list = state.stages.map((stage, i) => ({stage, text: texts[i], number: i + 1}));
    filter.switchedOff().forEach((stage, offAt) =>
        list.splice(Math.min(stage.index, list.length), 0, {stage, text: stage.text, offAt}));
    return list;
}

function giveParameter(number, about) {
    return (value, isLast, input) => {
        edited = {input, at: Date.now()};
        filter.changeLive([["set", String(number), about.name, value]],
                          `${gestures} ${number} ${about.name}`);
        gestures += isLast;
    };
}

const numbersBefore = (list, index) =>
    list.slice(0, index).filter((item) => item.number !== undefined).length;

// Other stages move by one when a stage is switched on or off, so positions count in this list.
function switchStage(list, index) {
    const item = list[index];
    focusNext = {index, part: "on"};
    if (item.number !== undefined)
        return filter.change([["remove", String(item.number)]],
                             [...filter.switchedOff(), {...item.stage, text: item.text, index}]
                                 .sort((a, b) => a.index - b.index));
    return filter.change([["add", item.text, String(numbersBefore(list, index) + 1)]],
                         filter.switchedOff().filter((_, i) => i !== item.offAt));
}

function removeStage(list, index) {
    const item = list[index];
    focusNext = {index: Math.min(index, list.length - 2), part: "remove"};
    const nextOff = filter.switchedOff().filter((_, i) => i !== item.offAt)
        .map((stage) => ({...stage, index: stage.index - (stage.index > index)}));
    return item.number === undefined ? filter.forget(nextOff) :
        filter.change([["remove", String(item.number)]], nextOff);
}

function moveStage(list, index, by) {
    focusNext = {index: index + by, part: by < 0 ? "up" : "down"};
    return filter.change([["move", String(list[index].number), String(list[index].number + by)]]);
}

function makeButton(part, text, label, isEnabled, act) {
    const button = make("button", {type: "button", textContent: text, disabled: !isEnabled});
    button.dataset.part = part;
    button.setAttribute("aria-label", label);
    button.addEventListener("click", act);
    return button;
}

function makeStage(list, index) {
    const {stage, number} = list[index];
    const title = `${index + 1}. ${stage.kind}`;
    const isOn = number !== undefined, kind = kindOf(stage.kind);
    const on = make("input", {type: "checkbox", id: `stage-${index}-on`, checked: isOn});
    on.dataset.part = "on";
    on.addEventListener("change", () => switchStage(list, index));
    const canMove = isOn && filter.switchedOff().length === 0;
    const parameters = !isOn || !kind ? [] : kind.parameters.map((about) =>
        makeParameter(`stage-${index}-${about.name}`, about, giveParameter(number, about)));
    const item = make("li", {}, make("fieldset", {},
        make("legend", {textContent: title}),
        make("div", {className: "buttons"},
            make("label", {htmlFor: on.id, className: "check"}, on, " on"),
            makeButton("up", "\u2191", `Move ${title} up`, canMove && index > 0,
                       () => moveStage(list, index, -1)),
            makeButton("down", "\u2193", `Move ${title} down`, canMove && index < list.length - 1,
                       () => moveStage(list, index, 1)),
            makeButton("remove", "Remove", `Remove ${title}`, true,
                       () => removeStage(list, index))),
        ...parameters.map((parameter) => parameter.row)));
    return {item, parameters};
}

function focusPart(next) {
    const item = element("stages").children[next.index];
    const part = item && item.querySelector(`[data-part=${next.part}]`);
    if (part && !part.disabled)
        part.focus();
    else if (item)
        item.querySelector("input, button:enabled").focus();
    else
        element("add").querySelector("summary").focus();
}

export function show() {
    if (!filter.current()) {
        shown = null;
        element("stages").replaceChildren();
        return;
    }
    const list = listed();
    const built = list.map(({stage, number}) => `${stage.kind} ${number}`).join();
    if (shown === null || shown.built !== built) {
        const made = list.map((_, index) => makeStage(list, index));
        shown = {built, made};
        element("stages").replaceChildren(...made.map(({item}) => item));
        element("no-stages").hidden = made.length > 0;
        if (focusNext)
            focusPart(focusNext);
        focusNext = null;
    }
    shown.made.forEach(({parameters}, index) => {
        for (const parameter of parameters)
            if (!(parameter.inputs.includes(edited.input) && Date.now() - edited.at < EDITING_MS))
                parameter.set(list[index].stage.parameters[parameter.about.name]);
    });
}

// ---- a new stage ----

// Values that a new stage begins with, where its kind has no default; others are in the middle.
const FIRST = {cutoff: 0.2, low: 0.15, high: 0.35, at: [0.25, 0], by: [5, 0], sigma: 2, radius: 2};
const NARROW = {"cycles/pixel": 0.02, degrees: 10};

let newStage = null;        // {kind, parameters} whose required parameters are asked for

function firstValue(about) {
    const middle = about.minimum !== undefined && fromPosition(STEPS / 2, about);
    return about.name === "width" ? NARROW[about.unit] : FIRST[about.name] ??
        (about.type === "number" ? middle : about.type === "choice" ? about.choices[0] : "");
}

const textOf = (value) => Array.isArray(value) ? value.join("/") : value;
const required = (kind) => kind.parameters.filter((about) => about.required);

function chainOf(kind, valueOf) {
    const values = required(kind).map((about) => `${about.name}=${valueOf(about)}`).join(",");
    return kind.name + (values ? `:${values}` : "");
}

// A stage whose required parameters all have a number to begin with is added at once.
function pick(card) {
    const kind = kindOf(card.name);
    const isAsked = required(kind).some((about) => !(about.name in FIRST || about.name === "width" ||
                                                     about.name === "angle"));
    element("new-stage").hidden = !isAsked;
    if (!isAsked) {
        focusNext = {index: listed().length, part: "on"};
        add(card.chain);
        return;
    }
    newStage = {kind, parameters: required(kind).map((about) =>
        makeParameter(`new-${about.name}`, about, () => {}))};
    newStage.parameters.forEach(({about, set}) => set(firstValue(about)));
    element("new-parameters").replaceChildren(...newStage.parameters.map(({row}) => row));
    element("new-kind").textContent = `New stage: ${kind.name}`;
    element("new-kind").focus();
}

function showKinds() {
    cards.fill("kinds", table.kinds.map((kind) => ({
        name: kind.name, line: kind.summary, group: groupOf(kind.name),
        chain: chainOf(kind, (about) => textOf(firstValue(about)))})), pick);
    element("new-stage").hidden = true;
}

// Adds a stage as text at the end.
export function add(text) {
    return filter.change([["add", text]]);
}

element("new-stage").addEventListener("submit", async (event) => {
    event.preventDefault();
    const {kind, parameters} = newStage;
    focusNext = {index: listed().length, part: "on"};
    element("new-stage").hidden = await add(chainOf(kind, (about) =>
        parameters.find((each) => each.about === about).get()));
});
