"""The page of fftd-view in a Chromium without a screen. `make test-view-browser` runs this; its
screenshots are in build/view. It is skipped where chromium or python3-selenium is missing."""

import os
import pathlib
import shutil
import time

import pytest

from conftest import PATIENCE
from test_view_http import QUIET, runtime_dir, view  # noqa: F401 (fixtures)

webdriver = pytest.importorskip("selenium.webdriver", reason="python3-selenium is missing")
pytestmark = pytest.mark.skipif(not shutil.which("chromium") or not shutil.which("chromedriver"),
                                reason="chromium or chromium-driver is missing")

SHOTS = pathlib.Path(os.environ.get("FFTD_SHOTS", "build/view")).resolve()

# Elements that reach beyond the window's right edge.
TOO_WIDE = """
return [...document.querySelectorAll("body *:not(.skip)")]
    .filter((e) => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .map((e) => e.outerHTML.slice(0, 80));
"""
# Texts whose contrast with the background is below 4.5 : 1 (WCAG 2.1, 1.4.3).
CONTRASTS = """
const level = (css) => {
    const parts = css.match(/[\\d.]+/g).map(Number).slice(0, 3).map((c) => c / 255)
        .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
};
const background = (e) => {
    for (; e; e = e.parentElement) {
        const css = getComputedStyle(e).backgroundColor;
        if (!/, 0\\)$|transparent/.test(css)) return css;
    }
    return "rgb(255, 255, 255)";
};
return [...document.querySelectorAll("h1, h2, p, a, button, figcaption, dt, dd")]
    .filter((e) => e.textContent.trim())
    .map((e) => {
        const [a, b] = [level(getComputedStyle(e).color), level(background(e))];
        return [e.textContent.slice(0, 40), (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
    }).filter(([, contrast]) => contrast < 4.5);
"""


@pytest.fixture
def browser(tmp_path):
    """browser(width, dark=...) opens one."""
    opened = []

    def open_browser(width, dark=False):
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                         f"--user-data-dir={tmp_path / f'browser{len(opened)}'}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options=options,
                                  service=webdriver.ChromeService("/usr/bin/chromedriver")
                                  if hasattr(webdriver, "ChromeService") else None)
        driver.set_page_load_timeout(PATIENCE)
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                               {"width": width, "height": 800, "deviceScaleFactor": 1,
                                "mobile": width < 600})
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        opened.append(driver)
        return driver

    yield open_browser
    for driver in opened:
        driver.quit()


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.1)
    return value


def text_of(driver, identifier):
    return driver.execute_script("return document.getElementById(arguments[0]).textContent",
                                 identifier)


def has_picture(driver, identifier):
    return driver.execute_script(
        "return document.getElementById(arguments[0]).naturalWidth > 0", identifier)


def digest_of(driver):
    """Of the picture as it is on the screen: a canvas would get the first part of a stream."""
    return hash(driver.find_element("id", "picture").screenshot_as_png)


def open_page(driver, web):
    driver.get(f"http://127.0.0.1:{web.port}/")
    wait_until(lambda: "online" in text_of(driver, "state"), "the camera's state")
    wait_until(lambda: has_picture(driver, "picture"), "a picture")
    wait_until(lambda: has_picture(driver, "spectrum"), "a spectrum")


def complaints(driver):
    """What the browser logged, but for answers about a camera that publishes nothing yet."""
    return [entry["message"] for entry in driver.get_log("browser")
            if "status of 503" not in entry["message"]]


def save_page(driver, prefix, width, dark):
    """A screenshot of the whole page."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    height = driver.execute_script("return document.documentElement.scrollHeight")
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": height, "deviceScaleFactor": 1,
                            "mobile": width < 600})
    driver.save_screenshot(str(SHOTS / f"{prefix}{width}{'-dark' if dark else ''}.png"))


@pytest.mark.parametrize("width, dark", [(360, False), (1280, False), (1280, True)])
def test_the_page_fits_and_moves(start, view, browser, width, dark):
    start("--filter", "gaussian-blur:sigma=2", source="pattern:scene", size="640x480", fps="20")
    driver = browser(width, dark)
    open_page(driver, view())
    before = digest_of(driver)
    wait_until(lambda: digest_of(driver) != before, "another picture")
    assert not driver.execute_script(TOO_WIDE)
    assert not driver.execute_script(CONTRASTS)
    assert "gaussian-blur:sigma=2" in text_of(driver, "about")
    assert "frames per second" in text_of(driver, "about")
    save_page(driver, "", width, dark)
    assert not complaints(driver), "the policy forbids something that the page does"


def test_the_page_with_the_keyboard_alone(start, view, browser):
    start(*QUIET, source="pattern:scene", size="320x240", fps="20")
    driver = browser(800)
    web = view("--name", "other")
    open_page(driver, web)
    seen = []
    for _ in range(6):
        driver.switch_to.active_element.send_keys("\ue004")  # Tab
        active = driver.switch_to.active_element
        seen.append(active.text or active.get_attribute("id"))
        if active.get_attribute("id") == "pause":
            break
    assert seen[:3] == ["Skip to the picture", "front", "other"] and seen[-1] == "Pause"
    driver.switch_to.active_element.send_keys("\ue007")  # Enter
    assert driver.switch_to.active_element.get_attribute("aria-pressed") == "true"
    time.sleep(1)
    before = digest_of(driver)
    time.sleep(1)
    assert digest_of(driver) == before, "a paused picture moves"
    driver.switch_to.active_element.send_keys("\ue007")
    wait_until(lambda: digest_of(driver) != before, "another picture")
    for image in ("picture", "spectrum"):
        assert "camera front" in driver.execute_script(
            "return document.getElementById(arguments[0]).alt", image)


def test_the_page_when_the_daemon_ends_and_comes_back(start, view, browser):
    daemon = start(*QUIET, source="pattern:scene", size="320x240", fps="20")
    driver = browser(800)
    web = view()
    open_page(driver, web)
    daemon.process.kill()
    daemon.wait()
    wait_until(lambda: "systemctl start fftd@front" in text_of(driver, "state"), "the advice")
    start(*QUIET, source="pattern:scene", size="320x240", fps="20")
    wait_until(lambda: "online" in text_of(driver, "state"), "the state")
    before = digest_of(driver)
    wait_until(lambda: digest_of(driver) != before, "a picture that moves")
