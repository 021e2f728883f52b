"""What WCAG 2.2 demands of a page, as far as a program can see it in Chromium: contrasts, names of
controls, their size, the order of headings, and identifiers that occur once. Debian 12 has no
axe-core. Names are those of the browser's own accessibility tree."""

# Each rule returns words about what breaks it.
RULES = """
const problems = [];
const parse = (css) => {
    const [r, g, b, a = 1] = css.match(/[\\d.]+/g).map(Number);
    return {rgb: [r, g, b], a};
};
const over = (top, a, below) => top.map((c, i) => c * a + below[i] * (1 - a));
const level = (rgb) => {
    const [r, g, b] = rgb.map((c) => c / 255)
        .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => {
    const [dark, bright] = [level(a), level(b)].sort((x, y) => x - y);
    return (bright + 0.05) / (dark + 0.05);
};
const ancestors = (e) => e ? [e, ...ancestors(e.parentElement)] : [];
// The background colour behind the element's text, and the opacity of the text.
const behind = (e) => ancestors(e).reverse().reduce((below, each) => {
    const {rgb, a} = parse(getComputedStyle(each).backgroundColor);
    return over(rgb, a, below);
}, [255, 255, 255]);
const opacity = (e) => ancestors(e).reduce((o, each) => o * getComputedStyle(each).opacity, 1);
const words = (e) => `${e.tagName.toLowerCase()}${e.id ? "#" + e.id : ""} ` +
                     `"${(e.value || e.textContent || "").trim().slice(0, 40)}"`;
const isSeen = (e) => e.checkVisibility({visibilityProperty: true}) &&
                      !e.closest(":disabled, [aria-hidden=true]");

// 1.4.3: text, and what is in fields.
const checkText = (e) => {
    const css = getComputedStyle(e), {rgb, a} = parse(css.color);
    const size = parseFloat(css.fontSize);
    const least = size >= 24 || (size >= 18.66 && css.fontWeight >= 700) ? 3 : 4.5;
    const found = contrast(over(rgb, a * opacity(e), behind(e)), behind(e));
    if (found < least)
        problems.push(`contrast ${found.toFixed(2)} of ${words(e)}`);
};
let texts = 0;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
    const e = walker.currentNode.parentElement, range = document.createRange();
    range.selectNodeContents(walker.currentNode);
    if (walker.currentNode.data.trim() && range.getClientRects().length > 0 && isSeen(e)) {
        checkText(e);
        texts++;
    }
}
const controls = [...document.querySelectorAll("button, input, select, a[href], [tabindex='0']")]
    .filter(isSeen);
for (const e of controls) {
    if (e.matches("select, [type=text], [type=number]"))
        checkText(e);
    // 1.4.11: the edge of a control that has one.
    const css = getComputedStyle(e), edge = parse(css.borderTopColor);
    if (parseFloat(css.borderTopWidth) > 0 && css.borderTopStyle !== "none" &&
        !e.matches("[type=range], [type=checkbox]")) {
        const outside = behind(e.parentElement);
        const found = Math.max(contrast(over(edge.rgb, edge.a, outside), outside),
                               contrast(behind(e), outside));
        if (found < 3)
            problems.push(`contrast ${found.toFixed(2)} of the edge of ${words(e)}`);
    }
    // 2.5.8: links in text are left out. A label belongs to what it names.
    const boxes = [e, ...(e.labels || [])].map((part) => part.getBoundingClientRect());
    const isBig = boxes.some(({width, height}) => width >= 24 && height >= 24);
    if (!isBig && !e.matches("p a, .skip"))
        problems.push(`${words(e)} is smaller than 24 px`);
}
// 1.3.1
const headings = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].filter(isSeen);
headings.forEach((e, i) => {
    const depth = Number(e.tagName[1]), before = i > 0 ? Number(headings[i - 1].tagName[1]) : 0;
    if (depth > before + 1)
        problems.push(`${words(e)} is ${depth - before} levels below the heading before it`);
});
for (const landmark of ["main", "header", "nav[aria-label]", "h1"])
    if (document.querySelectorAll(landmark).length !== 1)
        problems.push(`there is not one ${landmark}`);
if (!document.documentElement.lang || !document.title)
    problems.push("the page has no language or no title");
// 4.1.2: labels and descriptions find what they name.
const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i)))
    problems.push(`the identifier ${id} occurs twice`);
for (const name of ["aria-labelledby", "aria-describedby", "for"])
    for (const e of document.querySelectorAll(`[${name}]`))
        for (const id of e.getAttribute(name).split(" "))
            if (!document.getElementById(id))
                problems.push(`${words(e)}: ${name} names ${id}, which is not there`);
// 1.4.10: what is scrolled within a box of its own may be wider than the window.
const isScrolled = (e) => ancestors(e.parentElement).some((each) =>
    getComputedStyle(each).overflowX === "auto");
const most = document.documentElement.clientWidth + 1;
for (const e of document.querySelectorAll("body *:not(.skip, svg *)"))
    if (e.getBoundingClientRect().right > most && !isScrolled(e))
        problems.push(`${words(e)} reaches beyond the window`);
for (const e of document.querySelectorAll("p, li, dd, button, label, summary, figcaption"))
    if (e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1 && !e.matches(".skip"))
        problems.push(`what is in ${words(e)} is wider than it`);
return {problems, texts, controls: controls.length};
"""

NAMED_ROLES = {"button", "link", "textbox", "spinbutton", "slider", "combobox", "checkbox", "radio",
               "listbox", "image", "img", "application", "region", "navigation", "heading"}


def nameless(driver):
    """Roles, with their properties, that a screen reader announces without a name."""
    driver.execute_cdp_cmd("Accessibility.enable", {})
    nodes = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    driver.execute_cdp_cmd("Accessibility.disable", {})
    asked = [node for node in nodes if not node["ignored"] and
             node.get("role", {}).get("value", "").lower() in NAMED_ROLES]
    assert len(asked) > 5, "the accessibility tree is not read"
    return [node["role"]["value"] for node in asked
            if not node.get("name", {}).get("value", "").strip()]


def audit(driver):
    """Returns (words about problems, number of texts, number of controls)."""
    found = driver.execute_script(RULES)
    return (found["problems"] + [f"a {role} has no name" for role in nameless(driver)],
            found["texts"], found["controls"])
