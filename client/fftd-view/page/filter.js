// The filter of the chosen camera: its present and past chains, and changes of it.
//
// The daemon decides what a change makes of the filter. Each change names the serial of the filter
// for which it was made, so that it is never applied on top of another browser's change that this
// page has not shown. Changes are sent in turn; only the newest value of a slider waits.
import {cameraPath} from "./dom.js";

const INTERVAL_MS = 80;  // the least time between two values of a slider
const STALE_MS = 3000;   // how long the list of cameras may be older than an answer
const MOST_UNDO = 100;

let token = takeToken();
let name = null;         // the camera's name
let now = null;          // {filter, stages, filter_serial, ...}; null: not known
let off = [];            // stages that are switched off: {index, text, kind, parameters}
let found;               // what stages have found, as only changers learn it
let isAsking = false;
let answeredAt = 0;
let lastGesture = null;  // the changes of one gesture are undone at once
let queue = Promise.resolve();
let queued = 0;
let waiting = null;      // the newest value of a slider: {changes, gesture}
let past = [], future = [];
const listeners = [];

// Texts that the page shows; the page sets these.
export const messages = {error: () => {}};

function takeToken() {
    const found = /^#token=([0-9a-f]+)$/.exec(location.hash);
    if (found) {
        sessionStorage.setItem("fftd-token", found[1]);
        history.replaceState(null, "", location.pathname);
    }
    return sessionStorage.getItem("fftd-token") || "";
}

export function setToken(text) {
    token = text;
    sessionStorage.setItem("fftd-token", text);
    notify();
}

export const hasToken = () => token !== "";
export const authorization = () => token ? {Authorization: `Bearer ${token}`} : {};
export const current = () => now;
export const switchedOff = () => off;
export const canUndo = () => past.length > 0;
export const canRedo = () => future.length > 0;
export const onChange = (listener) => listeners.push(listener);

function notify() {
    for (const listener of listeners)
        listener();
}

// The stages of a chain, as text.
export function split(chain) {
    return chain === "none" || chain === "" ? [] : chain.split(" | ");
}

const kindsOf = (state) => state ? state.stages.map((stage) => stage.kind).join() : null;

// Asks for something of the camera. An error has the server's text.
export async function ask(what, options = {}) {
    let answer;
    try {
        answer = await fetch(cameraPath(name, what), {
            cache: "no-store", ...options,
            headers: {...options.headers, ...authorization()},
        });
    } catch {
        throw new Error("fftd-view does not answer.");
    }
    if (answer.status === 401) {
        token = "";
        sessionStorage.removeItem("fftd-token");
    }
    if (!answer.ok)
        throw Object.assign(new Error((await answer.text()).trim()), {status: answer.status});
    return answer;
}

const request = async (what, options) => (await ask(what, options)).json();

// The kinds of filters, and the presets: {kinds, presets: [{name, summary, filter, problem}]}.
export const fetchTable = () => request("filters");

export const post = (what, body) => request(what, {
    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)});

// The responses of chains, each as in cards.js; empty for a chain that cannot be used.
export const fetchResponses = async (chains) =>
    (await post("responses", {changes: chains.map((chain) => [chain])})).responses;

// Lets all readers of the camera get a view of the filtered picture.
export async function setView(view) {
    try {
        await post("view", {changes: [[view]]});
        messages.error("");
    } catch (error) {
        messages.error(error.message);
    }
}

// Saves the running filter for every start of the daemon: {file, is_changed}; false if the filter
// has changed meanwhile, which is said.
export const save = () => enqueue(() => post("save", {}));

// Adopts the new state of the filter. gesture: null, or the gesture that the change belongs to.
function adopt(state, nextOff, gesture) {
    if (now && (state.filter !== now.filter || nextOff !== off)) {
        if (gesture === null || gesture !== lastGesture) {
            past = [...past, {chain: now.filter, off}].slice(-MOST_UNDO);
            future = [];
        }
        lastGesture = gesture;
    }
    now = state;
    off = nextOff;
    notify();
}

// The list of cameras withholds what adaptive stages have found, because it needs no token.
async function askFound() {
    if (isAsking || !hasToken())
        return;
    const asked = name;
    isAsking = true;
    try {
        const {adaptation} = await request("found");
        if (asked === name)
            found = adaptation;
    } catch {
        found = undefined;  // the state says what is wrong
    } finally {
        isAsking = false;
    }
}

// Called with the camera's entry in the list of cameras.
export function update(listed) {
    const isWithheld = listed.adaptation && listed.adaptation.withheld;
    const camera = isWithheld ? {...listed, adaptation: found} : listed;
    if (isWithheld)
        askFound();
    if (camera.name !== name) {
        name = camera.name;
        found = undefined;
        now = lastGesture = waiting = null;
        off = [];
        past = [];
        future = [];
    }
    const isOlder = now && camera.filter_serial < now.filter_serial &&
        Date.now() - answeredAt < STALE_MS;
    if (camera.stages === undefined) {
        now = null;
        notify();
    } else if (queued === 0 && !isOlder) {
        adopt(camera, off, null);
    }
}

// Returns whether the daemon has made the changes.
async function send(changes, finish) {
    const asked = name, before = now;
    try {
        const state = await post("filter", {changes, serial: before.filter_serial});
        if (asked !== name)
            return false;
        answeredAt = Date.now();
        messages.error("");
        if (state.filter_serial !== undefined)
            finish({...before, ...state});
        return true;
    } catch (error) {
        messages.error(error.status === 409 ?
            "Somebody else has changed the filter. It is shown as it is now; try again." :
            error.message);
        notify();
        return false;
    }
}

// Runs the work after all earlier work, if the filter still has the same stages.
function enqueue(work) {
    const kinds = kindsOf(now);
    queued++;
    const done = queue.then(async () => {
        if (!now || kindsOf(now) !== kinds) {
            messages.error("The filter has changed meanwhile; try again.");
            return false;
        }
        return work();
    }).finally(() => queued--);
    queue = done.catch(() => {});
    return done;
}

// Changes the filter. Returns whether it is done.
export function change(changes, nextOff = off) {
    return enqueue(() => send(changes, (state) => adopt(state, nextOff, null)));
}

// Changes only which stages are switched off, which the daemon does not know.
export function forget(nextOff) {
    return enqueue(() => adopt(now, nextOff, null));
}

// Changes values in quick succession. gesture: names the gesture that they belong to.
export function changeLive(changes, gesture) {
    const isQueued = waiting !== null;
    waiting = {changes, gesture};
    if (isQueued)
        return;
    enqueue(async () => {
        const next = waiting;
        waiting = null;
        await send(next.changes, (state) => adopt(state, off, next.gesture));
        await new Promise((done) => setTimeout(done, INTERVAL_MS));
    });
}

function step(from, isUndo) {
    return enqueue(() => {
        const to = from().at(-1);
        return to && send([["replace", to.chain]], (state) => {
            const left = {chain: now.filter, off};
            if (isUndo) {
                past = past.slice(0, -1);
                future = [...future, left];
            } else {
                future = future.slice(0, -1);
                past = [...past, left];
            }
            now = state;
            off = to.off;
            lastGesture = null;
            notify();
        });
    });
}

export const undo = () => step(() => past, true);
export const redo = () => step(() => future, false);
