// Helpers that the modules of the page share.

export const element = (id) => document.getElementById(id);

export function make(tag, properties = {}, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
}

export function makeShape(name, attributes = {}, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes))
        made.setAttribute(key, value);
    made.append(...children);
    return made;
}

// In a narrow column a chain wraps only after a comma, not within a number or a name.
export const breakable = (text) =>
    (text.match(/[^,]+,?|,/g) ?? []).flatMap((part) => [part, make("wbr")]).slice(0, -1);

export const cameraPath = (name, what) => `camera/${encodeURIComponent(name)}/${what}`;

// A screen reader announces each assignment, so only changes are assigned.
export function setText(id, text) {
    if (element(id).textContent !== text)
        element(id).textContent = text;
}

// Makes the link offer the parts as a file.
export function offerFile(link, name, parts, type) {
    URL.revokeObjectURL(link.href);
    link.href = URL.createObjectURL(new Blob(parts, {type}));
    link.download = name;
}
