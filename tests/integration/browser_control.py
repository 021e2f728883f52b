"""The page of fftd-view that changes filters, in a Chromium without a screen. browser_view.py has
the rest of the page."""

import os
import re

import numpy as np
import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from accessibility import audit
from browser_view import (SHOTS, browser, complaints, has_picture,  # noqa: F401 (fixtures)
                          save_page, show_as, text_of, wait_until)
from client import Reader
from test_stack import stacked
from test_view_http import QUIET, runtime_dir, view  # noqa: F401 (fixtures)

SIDE = 512  # px of the spectrum


@pytest.fixture
def moire(start):
    daemon = start("--filter", "none", source="pattern:moire", size="512x512", fps="15")
    daemon.wait_for_log("online")
    return daemon


def address_of(web):
    return next(word for word in web.log_path.read_text().split() if "#token=" in word)


def is_disabled(driver):
    return driver.execute_script("return document.getElementById('editor').disabled")


def open_page(driver, web):
    driver.get(address_of(web))
    wait_until(lambda: "online" in text_of(driver, "state"), "the camera's state")
    wait_until(lambda: has_picture(driver, "spectrum"), "a spectrum")
    wait_until(lambda: driver.find_element(By.ID, "undo").is_displayed() and
               not is_disabled(driver), "the editor")


def pick(driver, where, name):
    """Clicks a card of the kinds or the presets, as the hand does that has unfolded the lists."""
    card = wait_until(lambda: driver.find_elements(
        By.CSS_SELECTOR, f"#{where} button[data-name='{name}']"), "the card")[0]
    driver.execute_script("""
        for (let e = arguments[0]; e; e = e.parentElement)
            if (e.tagName === "DETAILS")
                e.open = true;
        arguments[0].scrollIntoView({block: "center"});""", card)
    card.click()


def chain_of(daemon):
    return daemon.ctl("filter", "show", "--raw").stdout.strip()


def stages_of(daemon):
    return daemon.ctl_json("filter", "show")["FilterStages"]


def wait_for_chain(daemon, wanted):
    def look():
        stages = stages_of(daemon)
        return (stages,) if wanted(stages) else None
    return wait_until(look, "the filter")[0]


def published(daemon):
    """The luma of the newest frame that the newest filter has made."""
    serial = daemon.ctl_json("status")["Serial"]
    with Reader(daemon) as reader:
        while (frame := reader.next()).filter_serial < serial:
            pass
    luma = np.frombuffer(frame.planes[0], np.uint8)[:frame.width * frame.height]
    return luma.reshape(frame.height, frame.width).astype(float)


def band_energy(luma, fx, fy, radius=0.01):
    """Of the frequencies within this distance, as the mean square of the picture's samples."""
    window = np.outer(np.hanning(luma.shape[0]), np.hanning(luma.shape[1]))
    spectrum = np.fft.fft2((luma - luma.mean()) * window)
    y, x = np.meshgrid(np.fft.fftfreq(luma.shape[0]), np.fft.fftfreq(luma.shape[1]), indexing="ij")
    return np.sum(np.abs(spectrum[np.hypot(x - fx, y - fy) < radius]) ** 2)


def strongest_peak(luma):
    """Away from the axes and from zero, as (fx, fy), as NumPy finds it in the frame."""
    window = np.outer(np.hanning(luma.shape[0]), np.hanning(luma.shape[1]))
    power = np.abs(np.fft.fft2((luma - luma.mean()) * window))
    y, x = np.meshgrid(np.fft.fftfreq(luma.shape[0]), np.fft.fftfreq(luma.shape[1]), indexing="ij")
    at = np.unravel_index(np.argmax(power * (np.hypot(x, y) > 0.1)), power.shape)
    return x[at], y[at]


def place_of(driver, fx, fy):
    """Offsets of a frequency from the middle of the spectrum on the screen, in px."""
    plane = driver.find_element(By.ID, "plane")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", plane)
    return plane, round((fx + 0.5 / SIDE) * plane.size["width"]), \
        round((fy + 0.5 / SIDE) * plane.size["height"])


def set_slider(driver, label, position):
    """Moves a slider as a hand does: two positions, and then it is let go."""
    driver.execute_script("""
        const slider = document.querySelector(
            `#stages input[type=range][aria-label^="${arguments[0]}"]`);
        for (const position of [arguments[1] - 1, arguments[1]]) {
            slider.value = position;
            slider.dispatchEvent(new Event("input", {bubbles: true}));
        }
        slider.dispatchEvent(new Event("change", {bubbles: true}));
    """, label, position)


@pytest.mark.parametrize("width", [360, 1280])
def test_clicking_a_peak_removes_it(moire, view, browser, width):
    driver = browser(width)
    open_page(driver, view("--control"))
    before = published(moire)
    fx, fy = strongest_peak(before)
    plane, x, y = place_of(driver, fx, fy)
    # As a hand does, some pixels beside it.
    ActionChains(driver).move_to_element_with_offset(plane, x + 2, y - 2).click().perform()
    stage, = wait_for_chain(moire, lambda stages: len(stages) == 1)
    assert stage["kind"] == "notch"
    assert abs(np.hypot(*np.subtract(stage["parameters"]["at"], (fx, fy)))) < 0.002 or \
        abs(np.hypot(*np.add(stage["parameters"]["at"], (fx, fy)))) < 0.002
    after = published(moire)
    ratio = band_energy(before, fx, fy) / band_energy(after, fx, fy)
    print(f"the band around {fx:.3f}/{fy:.3f} has {10 * np.log10(ratio):.1f} dB less energy")
    assert 10 * np.log10(ratio) >= 30
    wait_until(lambda: "Notch added" in text_of(driver, "plane-said"), "words about it")
    # Only that frequency has changed, so the mean is the same.
    assert np.abs(after.mean() - before.mean()) < 1
    SHOTS.mkdir(parents=True, exist_ok=True)
    wait_until(lambda: driver.find_elements(By.ID, "stage-0-width"), "the stage")
    for _ in range(2):  # the first one may be from before the notch
        shown = driver.execute_script("return document.getElementById('spectrum').src")
        wait_until(lambda shown=shown: driver.execute_script(
            "return document.getElementById('spectrum').src") != shown, "another spectrum")
    driver.execute_script("scrollTo(0, 0)")
    driver.save_screenshot(str(SHOTS / f"notch{width}.png"))
    assert not complaints(driver)


def test_dragging_makes_a_notch_wide(moire, view, browser):
    driver = browser(1280)
    open_page(driver, view("--control"))
    plane, x, y = place_of(driver, 0.25, 0.1)
    ActionChains(driver).move_to_element_with_offset(plane, x, y).click_and_hold() \
        .move_by_offset(round(0.05 * plane.size["width"]), 0).release().perform()
    stage, = wait_for_chain(moire, lambda stages: len(stages) == 1)
    assert stage["parameters"]["width"] == pytest.approx(0.1, abs=0.03)


def stroke(driver, tool, *places):
    """Drags the pointer over the spectrum, from one frequency to the next."""
    Select(driver.find_element(By.ID, "tool")).select_by_value(tool)
    plane, x, y = place_of(driver, *places[0])
    hand = ActionChains(driver).move_to_element_with_offset(plane, x, y).click_and_hold()
    for place in places[1:]:
        hand.move_to_element_with_offset(plane, *place_of(driver, *place)[1:])
    hand.release().perform()


def test_strokes_make_rings_and_sectors(moire, view, browser):
    driver = browser(1280)
    open_page(driver, view("--control"))
    stroke(driver, "ring", (0.1, 0), (0.2, 0))
    ring, = wait_for_chain(moire, lambda stages: len(stages) == 1)
    assert ring["kind"] == "bandstop"
    assert ring["parameters"]["low"] == pytest.approx(0.1, abs=0.005)
    assert ring["parameters"]["high"] == pytest.approx(0.2, abs=0.005)
    # From 30 to 60 degrees.
    stroke(driver, "direction", (0.26, 0.15), (0.15, 0.26))
    sector = wait_for_chain(moire, lambda stages: len(stages) == 2)[1]
    assert sector["kind"] == "directional" and sector["parameters"]["keep"] == "outside"
    assert sector["parameters"]["angle"] == pytest.approx(45, abs=1.5)
    assert sector["parameters"]["width"] == pytest.approx(30, abs=3)
    assert sector["parameters"]["above"] == pytest.approx(0.15, abs=0.005)
    # Two circles, two lines.
    wait_until(lambda: len(driver.find_elements(By.CSS_SELECTOR, "#overlay .stage")) == 4,
               "outlines")
    # The same with the keyboard: from the middle, 20 px and 40 px to the left.
    Select(driver.find_element(By.ID, "tool")).select_by_value("ring")
    driver.refresh()
    wait_until(lambda: driver.find_element(By.ID, "tool").is_displayed(), "the editor")
    wait_until(lambda: has_picture(driver, "spectrum"), "a spectrum")
    Select(driver.find_element(By.ID, "tool")).select_by_value("ring")
    driver.execute_script("document.getElementById('plane').focus()")
    shifted = [Keys.SHIFT, Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.NULL]
    driver.switch_to.active_element.send_keys(*shifted, Keys.SPACE, *shifted, Keys.SPACE)
    ring = wait_for_chain(moire, lambda stages: len(stages) == 3)[2]
    assert ring["parameters"]["low"] == pytest.approx(20 / SIDE, abs=1e-4)
    assert ring["parameters"]["high"] == pytest.approx(40 / SIDE, abs=1e-4)
    assert not complaints(driver)


def test_a_painted_mask_removes_a_peak(start, view, browser, tmp_path, monkeypatch):
    images, downloads = tmp_path / "images", tmp_path / "downloads"
    images.mkdir()
    monkeypatch.setenv("FFTD_IMAGE_DIR", str(images))
    daemon = start("--filter", "none", source="pattern:moire", size="512x512", fps="15")
    daemon.wait_for_log("online")
    driver = browser(1280)
    driver.execute_cdp_cmd("Page.setDownloadBehavior",
                           {"behavior": "allow", "downloadPath": str(downloads)})
    open_page(driver, view("--control"))
    before = published(daemon)
    fx, fy = strongest_peak(before)
    stroke(driver, "mask", (fx, fy - 0.03), (fx, fy), (fx, fy + 0.03))
    name = driver.find_element(By.ID, "mask-name")
    name.clear()
    name.send_keys("screen")
    # Before the file is there, the daemon's words say what is missing.
    driver.find_element(By.ID, "mask-use").click()
    wait_until(lambda: "screen.pgm" in text_of(driver, "filter-error"), "the daemon's words")
    driver.find_element(By.ID, "mask-file").click()
    file = downloads / "screen.pgm"
    wait_until(lambda: file.exists() and file.stat().st_size == 15 + SIDE * SIDE, "the mask")
    mask = np.frombuffer(file.read_bytes()[15:], np.uint8).reshape(SIDE, SIDE)
    assert (mask[1:, 1:] == mask[:0:-1, :0:-1]).all(), "it is another one at opposite frequencies"
    assert 0 < np.mean(mask < 128) < 0.01 and mask[SIDE // 2, SIDE // 2] == 255
    file.rename(images / "screen.pgm")
    driver.find_element(By.ID, "mask-use").click()
    stage, = wait_for_chain(daemon, lambda stages: len(stages) == 1)
    assert stage["kind"] == "mask" and stage["parameters"]["image"] == "screen.pgm"
    ratio = band_energy(before, fx, fy) / band_energy(published(daemon), fx, fy)
    print(f"the band around {fx:.3f}/{fy:.3f} has {10 * np.log10(ratio):.1f} dB less energy")
    assert 10 * np.log10(ratio) >= 30
    # A painted stroke can be undone.
    driver.find_element(By.ID, "mask-undo").click()
    wait_until(lambda: not driver.find_element(By.ID, "mask-file").is_displayed(), "an empty mask")
    assert not driver.find_element(By.ID, "mask-use").is_enabled()
    assert not [said for said in complaints(driver) if "status of 422" not in said]


def test_sliders_undo_and_redo(start, view, browser):
    daemon = start("--filter", "gaussian-blur:sigma=2")
    daemon.wait_for_log("online")
    driver = browser(1280)
    open_page(driver, view("--control"))
    number = driver.find_element(By.ID, "stage-0-sigma")
    assert float(number.get_attribute("value")) == 2
    set_slider(driver, "sigma", 700)
    sigma, = {stage["parameters"]["sigma"] for stage in wait_for_chain(
        daemon, lambda stages: stages[0]["parameters"]["sigma"] not in (2, None))}
    wait_until(lambda: float(number.get_attribute("value")) ==
               stages_of(daemon)[0]["parameters"]["sigma"], "the last value")
    assert sigma > 2
    last = chain_of(daemon)
    # Both positions of the slider are one step.
    driver.find_element(By.ID, "undo").click()
    wait_until(lambda: chain_of(daemon) == "gaussian-blur:sigma=2", "the filter before")
    wait_until(lambda: not driver.find_element(By.ID, "undo").is_enabled(), "nothing to undo")
    driver.find_element(By.ID, "redo").click()
    wait_until(lambda: chain_of(daemon) == last, "the filter after")
    number.clear()
    number.send_keys("9999", Keys.ENTER)
    wait_until(lambda: "9999" in text_of(driver, "filter-error"), "the daemon's words")
    assert chain_of(daemon) == last
    wait_until(lambda: float(number.get_attribute("value")) ==
               stages_of(daemon)[0]["parameters"]["sigma"], "the value in use")


def test_a_change_is_applying_until_it_is_in_force(start, view, browser):
    daemon = start("--filter", "gaussian-blur:sigma=2", fps="2")
    daemon.wait_for_log("online")
    driver = browser(1280)
    open_page(driver, view("--control"))
    driver.execute_script("""
        const strip = document.getElementById("applying");
        window.seen = [];
        new MutationObserver(() => window.seen.push(strip.textContent))
            .observe(strip, {childList: true, characterData: true, subtree: true});""")
    pick(driver, "kinds", "median")
    wait_for_chain(daemon, lambda stages: len(stages) == 2)

    def seen():
        texts = driver.execute_script("return window.seen")
        return len(texts) >= 2 and not texts[-1] and texts
    texts = wait_until(seen, "the end")
    assert all(text.startswith("Applying: ") for text in texts[:-1]), texts
    assert not any(text.startswith("Applying: is ") for text in texts), "no subject"
    status = daemon.ctl_json("status")
    assert status["PublishedSerial"] == status["Serial"], "it was too early to say nothing"


FAKE_FAILURE = """
    const real = window.fetch;
    window.fetch = async (target, options) => {
        const answer = await real(target, options);
        if (target !== "api/cameras")
            return answer;
        const listed = await answer.json();
        Object.assign(listed.cameras[0], {pending: "cannot be used: it is too large",
                                          filter_problem: "it is too large"});
        return new Response(JSON.stringify(listed));
    };"""


def test_a_change_that_failed_is_not_applying(start, view, browser):
    """A daemon that has no filter to go back to keeps the serial of the one that failed, so that
    fftd-view has a reason for both. It is played by a fetch() of the page."""
    start("--filter", "none").wait_for_log("online")
    driver = browser(800)
    open_page(driver, view("--control"))
    driver.execute_script(FAKE_FAILURE)
    wait_until(lambda: "it is too large" in text_of(driver, "applying"), "the reason")
    assert text_of(driver, "applying") == "The last change was not applied: it is too large"


def test_stages_and_presets(start, view, browser):
    daemon = start("--filter", "gaussian-blur:sigma=2 | sharpen:amount=0.5,sigma=1")
    daemon.wait_for_log("online")
    driver = browser(1280)
    open_page(driver, view("--control"))

    def kinds_are(*kinds):
        wait_for_chain(daemon, lambda stages: [stage["kind"] for stage in stages] == list(kinds))

    def press(label):
        wait_until(lambda: driver.find_elements(By.CSS_SELECTOR, f"[aria-label='{label}']:enabled"),
                   label)[0].click()

    press("Move 2. sharpen up")
    kinds_are("sharpen", "gaussian-blur")
    wait_until(lambda: driver.find_elements(By.CSS_SELECTOR, "[aria-label='Move 1. sharpen down']"),
               "the new order")
    driver.find_element(By.ID, "stage-0-on").click()
    kinds_are("gaussian-blur")
    wait_until(lambda: driver.find_elements(By.CSS_SELECTOR, "#stage-0-on:not(:checked)"),
               "a stage that is off")
    driver.find_element(By.ID, "stage-0-on").click()
    kinds_are("sharpen", "gaussian-blur")
    pick(driver, "kinds", "lowpass")
    kinds_are("sharpen", "gaussian-blur", "lowpass")
    wait_until(lambda: driver.switch_to.active_element.get_attribute("id") == "stage-2-on",
               "the focus at the new stage")
    press("Remove 2. gaussian-blur")
    kinds_are("sharpen", "lowpass")
    mine = chain_of(daemon)
    driver.find_element(By.ID, "preset-name").send_keys("mine", Keys.ENTER)
    wait_until(lambda: "mine.conf" in text_of(driver, "preset-file"), "the preset's file")
    pick(driver, "presets", "moire")
    kinds_are("bandstop")
    wait_until(lambda: driver.find_elements(By.ID, "stage-0-high"), "the preset in the page")
    pick(driver, "presets", "mine")
    wait_until(lambda: chain_of(daemon) == mine, "the saved preset")
    assert not complaints(driver)


def test_kinds_and_presets_are_grouped(start, view, browser, tmp_path, monkeypatch):
    """Each has a line about it, and a picture: of its response, as the daemon has computed it, or
    of what its kind does."""
    daemon = start("--filter", "none")
    daemon.wait_for_log("online")
    driver = browser(1280)
    open_page(driver, view("--control"))
    wait_until(lambda: driver.execute_script("""
        const cards = [...document.querySelectorAll("#kinds .card, #presets .card")];
        return document.querySelector("#presets .card") &&
            cards.every((card) => card.querySelector("canvas.drawn"));"""), "a picture of each")

    def groups(where):
        return dict(driver.execute_script("""
            return [...document.querySelectorAll(`#${arguments[0]} details`)].map((group) =>
                [group.querySelector("summary").textContent,
                 [...group.querySelectorAll("button")].map((e) => e.dataset.name)]);""", where))
    kinds, presets = groups("kinds"), groups("presets")
    assert sorted(sum(kinds.values(), [])) == \
        sorted(kind["name"] for kind in daemon.ctl_json("filter", "kinds"))
    assert not any(title.startswith("Others") for title in kinds), "cards.js lacks a group"
    assert {"moire", "interference"} <= set(presets["Patterns, lines and interference (6)"])
    assert all(len(names) == int(title.split("(")[1][:-1]) for title, names in kinds.items())
    # In the middle of its picture a lowpass is white, and in the corner black.
    middle, corner = driver.execute_script("""
        const canvas = document.querySelector("#kinds [data-name=lowpass] canvas");
        const {data} = canvas.getContext("2d").getImageData(0, 0, 21, 21);
        return [data[4 * (10 * 21 + 10)], data[0]];""")
    assert middle == 255 and corner < 20
    # A median has no response. Left of the middle its picture has noise, and right of it less.
    noise, rest = driver.execute_script("""
        const canvas = document.querySelector("#kinds [data-name=median] canvas");
        const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const x = (i) => i / 4 % canvas.width - canvas.width / 2;
        return [(i) => x(i) < 0, (i) => x(i) > 0].map((isIn) => {
            const levels = Array.from(data).filter((_, i) => i % 4 === 0 && isIn(i));
            const mean = levels.reduce((a, b) => a + b) / levels.length;
            return Math.sqrt(levels.reduce((a, b) => a + (b - mean) ** 2, 0) / levels.length);
        });""")
    assert rest < 0.7 * noise
    # Its images are missing, but what it is for is known.
    assert driver.execute_script("""
        return document.querySelector("#presets [data-name=fixed-pattern]").closest("details")
            .querySelector("summary").textContent""").startswith("Light, lens and sensor")

    def line(name):
        return driver.execute_script("return document.querySelector(`#presets "
                                     "[data-name=${arguments[0]}] .quiet`).textContent", name)
    assert line("moire").startswith("Removes nine tenths of patterns")
    assert line("fixed-pattern").startswith("Removes the fixed pattern of a camera, as ")
    assert "It cannot be used yet: dark: unknown image dark.pfm" in line("fixed-pattern")
    driver.execute_script(
        "for (const e of document.querySelectorAll('#editor details')) e.open = true")
    for width, dark in ((360, False), (1280, True)):
        show_as(driver, width, dark)
        assert not audit(driver)[0], (width, dark)
        save_page(driver, "cards-", width, dark)
    # The picture that stays in view ends where the charts begin.
    show_as(driver, 1280, False)
    driver.execute_script("scrollTo(0, document.documentElement.scrollHeight)")
    assert driver.execute_script("""
        const box = (id) => document.getElementById(id).getBoundingClientRect();
        return box("look").top < 0 && box("look").bottom <= box("history").top;""")
    # What needs a file asks for it first.
    show_as(driver, 1280, False)
    pick(driver, "kinds", "match")
    field = wait_until(lambda: driver.find_elements(By.ID, "new-image"), "the question")[0]
    field.send_keys("missing.png", Keys.ENTER)
    wait_until(lambda: "missing.png" in text_of(driver, "filter-error"), "the daemon's words")
    assert field.is_displayed()
    assert not [said for said in complaints(driver) if "status of 422" not in said]


def test_a_stack_begins_again(start, view, browser):
    daemon = start("--set", "engine.planes=luma-only", "--filter", "none", source="pattern:scene",
                   size="320x240")
    daemon.wait_for_log("online")
    driver = browser(1280)
    open_page(driver, view("--control"))
    button = driver.find_element(By.ID, "restart")
    assert not button.is_displayed(), "there is no stack"
    daemon.ctl("filter", "set", "stack:frames=4096")
    wait_until(lambda: stacked(daemon)[0] >= 30, "a stack of 30 frames")
    wait_until(button.is_displayed, "the button")
    serial = daemon.ctl_json("status")["Serial"]
    button.click()
    wait_until(lambda: daemon.ctl_json("status")["PublishedSerial"] == serial + 1, "another stack")
    frames, of_filter = stacked(daemon)
    assert 1 <= frames <= of_filter
    assert chain_of(daemon).startswith("stack:frames=4096,")
    assert not complaints(driver)


def test_a_view_is_chosen(start, view, browser):
    daemon = start("--filter", "gain:ac=0", "--set", "output.motion=32")
    daemon.wait_for_log("online")
    driver = browser(1280)
    open_page(driver, view("--control"))
    views = Select(driver.find_element(By.ID, "view"))
    views.select_by_visible_text("what the filter removes")
    wait_until(lambda: daemon.ctl_json("view")["PublishedView"] == "difference", "the view")
    # Somebody else's choice is shown, and every view can be chosen.
    for option in views.options:
        name = option.get_attribute("value")
        daemon.ctl("view", name)
        driver.execute_script("document.activeElement.blur()")
        wait_until(lambda name=name: driver.find_element(By.ID, "view").get_attribute("value") ==
                   name, "the other view")
    assert not complaints(driver)


def test_two_browsers_see_each_others_changes(start, view, browser):
    daemon = start("--filter", "gaussian-blur:sigma=2")
    daemon.wait_for_log("online")
    web = view("--control")
    one, other = browser(800), browser(800)
    for driver in (one, other):
        open_page(driver, web)
    set_slider(one, "sigma", 600)
    wait_until(lambda: stages_of(daemon)[0]["parameters"]["sigma"] ==
               float(other.find_element(By.ID, "stage-0-sigma").get_attribute("value")) != 2,
               "the value in the other browser")
    pick(other, "kinds", "notch")
    wait_until(lambda: one.find_elements(By.ID, "stage-1-width"), "the stage in the first one")
    # What the other one did can be undone here.
    one.find_element(By.ID, "undo").click()
    wait_until(lambda: not other.find_elements(By.ID, "stage-1-width"), "the stage is gone there")
    assert len(stages_of(daemon)) == 1


def test_with_the_keyboard_alone(moire, view, browser):
    driver = browser(800)
    open_page(driver, view("--control"))
    before = published(moire)

    def focused():
        return driver.switch_to.active_element

    for _ in range(10):
        focused().send_keys(Keys.TAB)
        if focused().get_attribute("id") == "plane":
            break
    assert focused().get_attribute("id") == "plane"
    focused().send_keys("n")
    said = wait_until(lambda: "Peak 1 of" in text_of(driver, "plane-said") and
                      text_of(driver, "plane-said"), "a peak")
    fx, fy = map(float, said.split(" at ")[1].split(" ")[0].split("/"))
    focused().send_keys("+")
    focused().send_keys(Keys.ARROW_RIGHT, Keys.ARROW_LEFT, Keys.ENTER)
    stage, = wait_for_chain(moire, lambda stages: len(stages) == 1)
    assert stage["parameters"]["width"] == 0.025
    after = published(moire)
    assert 10 * np.log10(band_energy(before, fx, fy) / band_energy(after, fx, fy)) >= 30
    focused().send_keys(Keys.CONTROL, "z")
    wait_for_chain(moire, lambda stages: not stages)
    focused().send_keys(Keys.CONTROL, Keys.SHIFT, "z")
    wait_for_chain(moire, lambda stages: len(stages) == 1)
    wait_until(lambda: driver.find_elements(By.CSS_SELECTOR, "#stages input[type=range]"),
               "a slider")
    # Every control behind it is reached, can be named, and a slider is moved.
    names, moved = [], False
    for _ in range(30):
        focused().send_keys(Keys.TAB)
        names.append(driver.execute_script("""
            const e = document.activeElement;
            return e.id + ":" + (e.getAttribute("aria-label") || e.textContent ||
                                 [...(e.labels || [])].map((l) => l.textContent).join());"""))
        if names[-1].startswith("preset-name"):
            break
        if not moved and focused().get_attribute("type") == "range" and ":width" in names[-1]:
            focused().send_keys(Keys.ARROW_RIGHT)
            wait_for_chain(moire, lambda stages: stages[0]["parameters"]["width"] > 0.025)
            moved = True
    assert moved
    assert names[-1].startswith("preset-name:Save") and all(len(n.split(":")[1]) > 1 for n in names)


def test_a_stage_has_the_focus_when_it_moves(start, view, browser):
    daemon = start("--filter", "gaussian-blur:sigma=2 | gain:ac=2 | sharpen:amount=1,sigma=1")
    daemon.wait_for_log("online")
    driver = browser(800)
    open_page(driver, view("--control"))
    button = driver.find_element(By.CSS_SELECTOR, "[aria-label='Move 1. gaussian-blur down']")
    driver.execute_script("arguments[0].focus()", button)
    for number in (2, 3):
        driver.switch_to.active_element.send_keys(Keys.ENTER)
        wait_until(lambda n=number: f"{n}. gaussian-blur" in driver.execute_script("""
            const active = document.activeElement;
            return active.getAttribute("aria-label") ||
                   active.closest("li")?.querySelector("legend").textContent || "";"""),
                   "the focus")
    assert [stage["kind"] for stage in stages_of(daemon)] == ["gain", "sharpen", "gaussian-blur"]


def test_the_daemon_ends_and_comes_back(start, view, browser):
    daemon = start(*QUIET, "--filter", "gaussian-blur:sigma=2")
    daemon.wait_for_log("online")
    driver = browser(800)
    open_page(driver, view("--control"))
    daemon.process.kill()
    daemon.wait()
    wait_until(lambda: is_disabled(driver), "the editor's end")
    wait_until(lambda: "systemctl start fftd@front" in text_of(driver, "state"), "the advice")
    again = start(*QUIET, "--filter", "gaussian-blur:sigma=5")
    wait_until(lambda: driver.find_elements(By.ID, "stage-0-sigma"), "the editor")
    wait_until(lambda: driver.find_element(By.ID, "stage-0-sigma").get_attribute("value") == "5",
               "the filter of the new daemon")
    set_slider(driver, "sigma", 300)
    wait_for_chain(again, lambda stages: stages[0]["parameters"]["sigma"] != 5)


def test_without_the_token_nothing_can_be_changed(start, view, browser):
    daemon = start("--filter", "gaussian-blur:sigma=2")
    daemon.wait_for_log("online")
    driver = browser(800)
    web = view("--control")
    driver.get(f"http://127.0.0.1:{web.port}/#front")
    token = wait_until(lambda: driver.find_element(By.ID, "token"), "the question")
    wait_until(token.is_displayed, "the question")
    assert not driver.find_element(By.ID, "editor").is_displayed()
    token.send_keys("0" * 32, Keys.ENTER)
    wait_until(lambda: "token" in text_of(driver, "filter-error"), "the refusal")
    wait_until(token.is_displayed, "the question")
    token.send_keys(address_of(web), Keys.ENTER)
    wait_until(lambda: driver.find_elements(By.ID, "stage-0-sigma"), "the editor")
    driver.get(f"http://127.0.0.1:{view().port}/")
    wait_until(lambda: "online" in text_of(driver, "state"), "the state")
    assert not driver.find_element(By.ID, "filter").is_displayed()
    assert not driver.find_element(By.ID, "plane").get_attribute("tabindex")


def test_the_page_is_accessible(start, view, browser):
    """All of it at once: every kind of field, a comparison, a mask, charts and an error."""
    daemon = start("--filter", "bandstop:low=0.2,high=0.33 | notch:at=0.25/0.1,width=0.02 | "
                   "auto-notch", "--set", "output.measures=true", source="pattern:scene",
                   size="320x240", fps="10")
    daemon.wait_for_log("online")
    driver = browser(1280)
    open_page(driver, view("--control"))
    Select(driver.find_element(By.ID, "tool")).select_by_value("mask")
    driver.find_element(By.ID, "compare").click()
    wait_until(lambda: "before the filter" in driver.find_element(By.ID, "comparison")
               .get_attribute("aria-label"), "a comparison")
    wait_until(lambda: len(driver.find_elements(By.CSS_SELECTOR, ".chart")) > 5, "charts")
    is_on, is_off = (driver.find_element(By.ID, each).value_of_css_property("background-color")
                     for each in ("compare", "pause"))
    assert is_on != is_off, "a button that is pressed looks like one that is not"
    low = driver.find_element(By.ID, "stage-0-low")
    low.clear()
    low.send_keys("9999", Keys.ENTER)
    wait_until(lambda: text_of(driver, "filter-error"), "an error")
    for width, dark in ((360, False), (360, True), (1280, False), (1280, True)):
        show_as(driver, width, dark)
        problems, texts, controls = audit(driver)
        assert not problems, (width, dark)
        assert texts > 80 and controls > 40
        save_page(driver, "control-", width, dark)
    # The check itself finds what is wrong.
    driver.execute_script("""
        document.querySelector("main").insertAdjacentHTML("beforeend", `
            <p class=bad id=state>Faint words.</p><button class=bad></button><h6>Deep</h6>
            <label for=nothing>Of nothing</label><div id=wide>Wide</div>
            <p id=narrow>Anunbrokenword</p>`);
        for (const e of document.querySelectorAll(".bad")) {
            e.style.cssText = "color: #555a60; padding: 0; min-height: 0; height: 9px; " +
                              "border-color: #2a2f35";
        }
        document.getElementById("wide").style.width = "200vw";
        document.getElementById("narrow").style.width = "3rem";""")
    found = " ".join(audit(driver)[0])
    for words in ("of p#state", "edge of button", "smaller than 24 px", "levels below",
                  "identifier state occurs twice", "names nothing", "beyond the window",
                  '"Anunbrokenword" is wider', "a button has no name"):
        assert words in found, found
    assert not [said for said in complaints(driver) if "status of 422" not in said]


def test_problems_are_found_and_mended(moire, view, browser):
    driver = browser(1280)
    open_page(driver, view("--control"))
    driver.find_element(By.ID, "find").click()
    wait_until(lambda: driver.find_element(By.ID, "problems-progress").is_displayed(), "progress")
    wait_until(lambda: re.match(r"(looking at frames|judging): \d+ of \d+",
                                text_of(driver, "problems-doing")), "words about it")
    wait_until(lambda: driver.find_element(By.ID, "find").is_enabled(), "the end of the search")
    titles = [each.text for each in driver.find_elements(By.CSS_SELECTOR, "#problems h3")]
    assert titles[0] == "Screen", "the scene has two waves that cross each other"
    assert text_of(driver, "problems-said").startswith("Found in 90 frames")
    before, after = driver.execute_script("""
        return [...document.querySelectorAll("#problems li:first-child canvas")].map((canvas) => {
            const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, 40);
            const steps = [];
            for (let i = 4; i < data.length; i += 4)
                steps.push(Math.abs(data[i] - data[i - 4]));
            return steps.reduce((sum, step) => sum + step, 0) / steps.length;
        });""")
    assert after < before / 2, "the sky is smoother without the screen"
    assert not audit(driver)[0]
    save_page(driver, "problems-", 1280, False)
    show_as(driver, 390, False, 844)
    assert not audit(driver)[0]
    apply = driver.find_element(By.CSS_SELECTOR, "#problems li:first-child button")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", apply)
    apply.click()
    wait_for_chain(moire, lambda stages: [each["kind"] for each in stages] == ["notch", "notch"])
    wait_until(lambda: "Undo takes it back" in text_of(driver, "problems-said"), "words about it")
    if len(titles) > 1:
        both = driver.find_element(By.CSS_SELECTOR, "#problems-all button")
        driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", both)
        both.click()
        wait_for_chain(moire, lambda stages: len(stages) > 2)
        show_as(driver, 1280, False)
        driver.find_element(By.ID, "undo").click()
        wait_for_chain(moire, lambda stages: len(stages) == 2)
    assert not complaints(driver)


def test_commands_and_chains_can_be_read_and_pasted(start, view, browser, tmp_path):
    """What diagnose says of a camera with stripes: a chain that is longer than a line, and the
    command that records them, for this camera and without signs around it."""
    random = np.random.default_rng(5)
    scene = 110 + 40 * np.kron(random.random((15, 20)), np.ones((16, 16)))
    stripes = random.normal(0, 4, 320)
    path = tmp_path / "stripes.y4m"
    with open(path, "wb") as file:
        file.write(b"YUV4MPEG2 W320 H240 F30:1 Cmono\n")
        for frame in range(60):
            seen = np.roll(scene, (2 * frame, 3 * frame), (0, 1)) + stripes
            file.write(b"FRAME\n" + np.clip(np.round(seen + random.normal(0, 1, scene.shape)),
                                            0, 255).astype(np.uint8).tobytes())
    daemon = start("--filter", "none", "--set", "camera.loop=true", source=f"file:{path}",
                   size=None, fps=None)
    daemon.wait_for_log("online")
    driver, web = browser(390), view("--control")
    open_page(driver, web)
    driver.find_element(By.ID, "find").click()
    wait_until(lambda: re.match("Found in|Nothing was", text_of(driver, "problems-said")),
               "the end of the search")
    item, = [each for each in driver.find_elements(By.CSS_SELECTOR, "#problems li")
             if each.find_element(By.TAG_NAME, "h3").text == "Stripes"]
    commands = [each.text for each in item.find_elements(By.TAG_NAME, "code")]
    assert commands[0] == "fftd-ctl --name front calibrate stripes"
    assert commands[-1].startswith("directional:") and "`" not in item.text
    # A part between two places where a line may end has one box.
    assert driver.execute_script("""
        const code = [...arguments[0].querySelectorAll("code")].at(-1);
        return code.getClientRects().length > 1 && [...code.childNodes].every((part) => {
            const range = document.createRange();
            range.selectNode(part);
            return range.getClientRects().length <= 1;
        });""", item), "a number or a name is on two lines"
    # A file has no controls, which is no fault.
    controls = driver.find_element(By.ID, "controls")
    driver.execute_script("arguments[0].open = true", controls)
    wait_until(lambda: "has no controls" in text_of(driver, "controls-said"), "words about it")
    assert "problem" not in driver.find_element(By.ID, "controls-said").get_attribute("class")
    # The refusal that was asked for is in the browser's log.
    assert all("422" in each for each in complaints(driver))
    # That fftd-view does not answer is one.
    driver.execute_script("arguments[0].open = false", controls)
    web.stop()
    driver.execute_script("arguments[0].open = true", controls)
    wait_until(lambda: "does not answer" in text_of(driver, "controls-said"), "words about that")
    assert "problem" in driver.find_element(By.ID, "controls-said").get_attribute("class")


def test_a_filter_is_saved_where_the_daemon_allows_it(start, view, browser, tmp_path):
    daemon = start("--filter", "gain:ac=1", "--set", "control.allow_save=true", size="512x512",
                   fps="15", env={"STATE_DIRECTORY": str(tmp_path / "state")})
    daemon.wait_for_log("online")
    file = daemon.ctl_json("status")["SavedFile"]
    driver, web = browser(800), view("--control")
    open_page(driver, web)

    def save():
        wait_until(lambda: driver.find_element(By.ID, "save").is_displayed(), "the button")
        driver.find_element(By.ID, "save").click()

    def said(part, text):
        wait_until(lambda: text in text_of(driver, part), text)
    daemon.ctl("filter", "set", "gain:ac=0.5")
    wait_until(lambda: "ac=0.5" in text_of(driver, "about"), "the change")
    wait_until(lambda: web.cameras()["front"]["pending"] == "", "a frame with it")
    save()
    said("save-said", f"The filter is saved in {file}.")
    assert daemon.ctl_json("status")["SavedKeys"] == ["filter"]
    save()
    said("save-said", "starts with this filter already")
    daemon.ctl("filter", "set", "gain:ac=0.25")
    wait_until(lambda: text_of(driver, "save-said") == "", "a filter that is not saved")
    # A file cannot be written where a file is.
    os.rename(tmp_path / "state", tmp_path / "elsewhere")
    (tmp_path / "state").touch()
    save()
    said("filter-error", "Not saved: ")
    assert str(tmp_path / "state") in text_of(driver, "filter-error")
    assert text_of(driver, "save-said") == ""
    assert not audit(driver)[0]


FAKE_CONTROLS = """
    const list = [
        {name: "brightness", label: "Brightness", type: "integer", minimum: 0, maximum: 255,
         step: 1, default: 128, value: 100},
        {name: "auto_exposure", label: "Auto exposure", type: "menu", value: 1,
         menu: [[0, "Auto"], [1, "Manual"]]},
        {name: "exposure_time", label: "Exposure time", type: "integer", minimum: 1, maximum: 5000,
         step: 1, default: 156, value: 156},
        {name: "horizontal_flip", label: "Horizontal flip", type: "boolean", value: false},
        {name: "focus", label: "Focus once", type: "button"}];
    window.sent = [];
    const real = window.fetch;
    window.fetch = async (target, options) => {
        if (!String(target).includes("/controls"))
            return real(target, options);
        for (const [name, value] of options.body ? JSON.parse(options.body).changes : []) {
            window.sent.push([name, value]);
            if (value === "7")
                return new Response("7 is not good\\n", {status: 422});
            const control = list.find((each) => each.name === name);
            control.value = control.type === "boolean" ? value === "true" : Number(value);
        }
        list[2].inactive = list[1].value === 0;
        return new Response(JSON.stringify({controls: list}));
    };"""


def test_controls_of_the_camera(start, view, browser):
    """The daemon's scene has none, which the page says. Then a camera that has some is played by a
    fetch() of the page; test_view_control.py has what fftd-view answers."""
    daemon = start("--filter", "none", size="512x512", fps="15")
    daemon.wait_for_log("online")
    driver = browser(1400)
    open_page(driver, view("--control"))

    def unfold(name):
        summary = driver.find_element(By.CSS_SELECTOR, f"#{name} > summary")
        driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", summary)
        summary.click()
        return summary

    def part(name):
        return driver.find_element(By.ID, f"control-{name}-0")

    def sent():
        return driver.execute_script("return window.sent")
    summary = unfold("controls")
    wait_until(lambda: "has no controls" in text_of(driver, "controls-said"), "why there are none")
    summary.click()
    driver.execute_script(FAKE_CONTROLS)
    summary.click()
    wait_until(lambda: driver.find_elements(By.ID, "control-focus-0"), "the controls")
    assert text_of(driver, "controls-said") == ""
    assert part("brightness").get_attribute("value") == "100"
    driver.execute_script("""
        const slider = document.getElementById("control-brightness-0");
        for (const value of [110, 120, 130]) {
            slider.value = value;
            slider.dispatchEvent(new Event("input", {bubbles: true}));
        }""")
    wait_until(lambda: sent() == [["brightness", "130"]], "the newest value alone")
    Select(part("auto_exposure")).select_by_visible_text("Auto")
    wait_until(lambda: not part("exposure_time").is_enabled(), "a control that another one rules")
    part("horizontal_flip").click()
    part("focus").click()
    wait_until(lambda: sent()[1:] == [["auto_exposure", "0"], ["horizontal_flip", "true"],
                                      ["focus", "true"]], "what was set")
    number = driver.find_element(By.ID, "control-brightness-1")
    number.send_keys(Keys.CONTROL, "a", Keys.NULL, "7", Keys.TAB)
    wait_until(lambda: "7 is not good" in text_of(driver, "controls-said"), "the reason")
    wait_until(lambda: number.get_attribute("value") == "130", "the value that is in force")
    unfold("calibrate")
    assert "fftd-ctl --name front calibrate stripes" in text_of(driver, "calibrations")
    assert not audit(driver)[0]
    save_page(driver, "controls-", 1400, False)
    show_as(driver, 1400, False, 900)
    driver.execute_script("document.getElementById('controls').scrollIntoView()")
    driver.save_screenshot(str(SHOTS / "controls-1400x900.png"))
    show_as(driver, 390, False, 844)
    assert not audit(driver)[0]
    driver.execute_script("document.getElementById('controls').scrollIntoView()")
    driver.save_screenshot(str(SHOTS / "controls-390x844.png"))
    # Nothing is recorded yet.
    driver.find_element(By.CSS_SELECTOR, "#calibrations button").click()
    wait_until(lambda: "dark.pfm" in text_of(driver, "filter-error"), "the daemon's reason")
    assert chain_of(daemon) == "none"
    # The refusals that were asked for are in the browser's log.
    assert all("422" in each for each in complaints(driver))


def test_nothing_is_saved_where_the_daemon_does_not_allow_it(moire, view, browser):
    driver = browser(800)
    open_page(driver, view("--control"))
    assert not driver.find_element(By.ID, "save").is_displayed()


def test_what_auto_notch_has_found_is_drawn_and_kept(start, view, browser, tmp_path):
    """A wave of the camera's electronics, and its place on the spectrum."""
    y, x = np.mgrid[:240, :320]
    path = tmp_path / "wave.y4m"
    random = np.random.default_rng(2)
    with open(path, "wb") as file:
        file.write(b"YUV4MPEG2 W320 H240 F30:1 Cmono\n")
        scene = 110 + 30 * np.kron(random.random((15, 20)), np.ones((16, 16)))
        for frame in range(60):
            rolled = np.roll(scene, frame, 1)
            wave = 12 * np.cos(2 * np.pi * (0.21 * x + 0.13 * y))
            noise = random.normal(0, 1, scene.shape)
            file.write(b"FRAME\n" +
                       np.clip(rolled + wave + noise, 0, 255).astype(np.uint8).tobytes())
    daemon = start("--filter", "auto-notch", "--set", "camera.loop=true", source=f"file:{path}",
                   size=None, fps=None)
    daemon.wait_for_log("online")
    driver = browser(800)
    open_page(driver, view("--control"))
    found = wait_until(lambda: driver.execute_script(
        "return [...document.querySelectorAll('#overlay .wave')].map((e) => e.getAttribute('d'))"),
        "the wave")
    places = [[float(part) for part in d[1:].split("L")[0].split()] for d in found]
    assert any(abs(abs(fx + 0.014) - 0.21) < 0.005 and abs(abs(fy) - 0.13) < 0.005
               for fx, fy in places), places
    # It is kept as `fftd-ctl filter keep` does. That the button comes and goes moves no other one.
    others = [driver.find_element(By.ID, each) for each in ("undo", "redo", "find")]
    before = [each.location for each in others]
    driver.find_element(By.ID, "keep").click()
    notch, = wait_for_chain(daemon, lambda stages: stages[0]["kind"] == "notch")
    assert notch["parameters"]["width"] == 0.02
    assert np.abs(notch["parameters"]["at"]) == pytest.approx([0.21, 0.13], abs=0.002)
    wait_until(lambda: not driver.find_element(By.ID, "keep").is_displayed(), "nothing to keep")
    assert [each.location for each in others] == before
    daemon.ctl("filter", "set", "auto-notch")
    wait_until(lambda: daemon.ctl_json("filter", "show")["Adaptation"]["waves"], "the wave again")
    daemon.ctl("filter", "keep")
    again, = stages_of(daemon)
    assert again["kind"] == "notch" and again["parameters"]["width"] == 0.02
    assert np.abs(again["parameters"]["at"]) == pytest.approx([0.21, 0.13], abs=0.002)


SLOW_CONTROLS = """
    const quick = window.fetch;
    window.answered = 0;
    window.fetch = async (target, options) => {
        const answer = await quick(target, options);
        if (String(target).includes("/controls/set")) {
            await new Promise((done) => { window.goOn = done; });
            setTimeout(() => window.answered++, 500);
        }
        return answer;
    };"""


def test_controls_of_another_camera_do_not_appear(start, view, browser):
    """They are answered after the other camera, which is absent, was chosen."""
    daemon = start("--filter", "none", size="64x64", fps="15")
    daemon.wait_for_log("online")
    driver = browser(1400)
    open_page(driver, view("--control", "--name", "other"))
    driver.execute_script(FAKE_CONTROLS)
    driver.execute_script(SLOW_CONTROLS)
    driver.execute_script("document.getElementById('controls').open = true")
    wait_until(lambda: driver.find_elements(By.ID, "control-focus-0"), "the controls")
    driver.execute_script("document.getElementById('control-focus-0').click()")
    wait_until(lambda: driver.execute_script("return Boolean(window.goOn)"), "the request")
    driver.execute_script("document.getElementById('controls').open = false")
    driver.execute_script("location.hash = 'other'")
    wait_until(lambda: text_of(driver, "state").startswith("Camera other is absent"), "the state")
    driver.execute_script("window.goOn()")
    wait_until(lambda: driver.execute_script("return window.answered"), "the answer")
    assert not driver.find_elements(By.ID, "control-focus-0")
