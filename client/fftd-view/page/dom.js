// Helpers that the modules of the page share.

export const SVG = "http://www.w3.org/2000/svg";

export const element = (id) => document.getElementById(id);

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
