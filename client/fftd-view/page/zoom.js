// The picture as a whole, or larger: at a scale, or the part of it over which a rectangle is drawn.
// What does not fit is scrolled within the frame.
import {element} from "./dom.js";

const DRAG_PX = 8;          // a shorter movement draws no rectangle

const frame = element("frame"), picture = element("picture"), list = element("zoom");
const marquee = element("marquee");
let scale = 0;              // px of the screen for each pixel; 0: the whole picture
let drag = null;            // where a rectangle begins, in the window: {x, y}

const pixels = (axis) => Number(picture.getAttribute(axis));
// The picture, or the comparison in its place.
const shown = () => [...frame.children].find((e) => !e.hidden && e !== marquee);

// Shows the picture at this scale. `middle`: what is in the middle, in parts of the picture's sides.
function zoom(next, middle) {
    if (next > 0 && scale === 0)
        frame.style.height = `${frame.getBoundingClientRect().height}px`;
    scale = next;
    if (scale === 0)
        frame.style.height = "";
    frame.classList.toggle("zoomed", scale > 0);
    frame.classList.toggle("large", scale * devicePixelRatio >= 2);
    frame.style.setProperty("--width", `${scale * pixels("width")}px`);
    // The arrow keys scroll what has the focus.
    if (scale > 0)
        frame.setAttribute("tabindex", "0");
    else
        frame.removeAttribute("tabindex");
    frame.scrollTo(middle.x * frame.scrollWidth - frame.clientWidth / 2,
                   middle.y * frame.scrollHeight - frame.clientHeight / 2);
}

// What is in the middle of the frame, in parts of the picture's sides.
const middleNow = () => ({x: (frame.scrollLeft + frame.clientWidth / 2) / frame.scrollWidth,
                          y: (frame.scrollTop + frame.clientHeight / 2) / frame.scrollHeight});

list.addEventListener("change", () => zoom(Number(list.value) / devicePixelRatio, middleNow()));

// ---- a rectangle ----

function rectangle(event) {
    const box = frame.getBoundingClientRect();
    const clip = (at, low, high) => Math.max(low, Math.min(high, at));
    const x = clip(event.clientX, box.left, box.right);
    const y = clip(event.clientY, box.top, box.bottom);
    return {left: Math.min(x, drag.x), top: Math.min(y, drag.y),
            width: Math.abs(x - drag.x), height: Math.abs(y - drag.y)};
}

// A finger scrolls instead, and over a comparison the pointer moves the boundary.
frame.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch" || event.target !== picture)
        return;
    drag = {x: event.clientX, y: event.clientY};
    frame.setPointerCapture(event.pointerId);
});

frame.addEventListener("pointermove", (event) => {
    if (!drag)
        return;
    const {left, top, width, height} = rectangle(event), box = frame.getBoundingClientRect();
    Object.assign(marquee.style, {left: `${left - box.left + frame.scrollLeft}px`,
                                  top: `${top - box.top + frame.scrollTop}px`,
                                  width: `${width}px`, height: `${height}px`});
    marquee.hidden = width < DRAG_PX || height < DRAG_PX;
});

frame.addEventListener("pointerup", (event) => {
    const isDrawn = drag && !marquee.hidden;
    marquee.hidden = true;
    if (isDrawn) {
        const {left, top, width, height} = rectangle(event);
        const box = shown().getBoundingClientRect();
        const now = box.width / pixels("width");
        list.value = "region";
        zoom(now * Math.min(frame.clientWidth / width, frame.clientHeight / height),
             {x: (left + width / 2 - box.left) / box.width,
              y: (top + height / 2 - box.top) / box.height});
    }
    drag = null;
});
frame.addEventListener("pointercancel", () => {
    drag = null;
    marquee.hidden = true;
});
