"""The page of fftd-view in a Chromium without a screen. `make test-view-browser` runs this; its
screenshots are in build/view. It is skipped where chromium or python3-selenium is missing."""

import csv
import os
import pathlib
import re
import shutil
import signal
import time

import pytest

from accessibility import audit
from conftest import PATIENCE, wait_until
from test_gst_source import PROGRAM, helpers_of, start_pipeline
from test_view_http import QUIET, runtime_dir, view  # noqa: F401 (fixtures)
from test_view_pictures import duration_of

webdriver = pytest.importorskip("selenium.webdriver", reason="python3-selenium is missing")
Select = pytest.importorskip("selenium.webdriver.support.ui").Select
pytestmark = pytest.mark.skipif(not shutil.which("chromium") or not shutil.which("chromedriver"),
                                reason="chromium or chromium-driver is missing")

SHOTS = pathlib.Path(os.environ.get("FFTD_SHOTS", "build/view")).resolve()

def show_as(driver, width, dark, height=800):
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": height, "deviceScaleFactor": 1,
                            "mobile": width < 600})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})


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
        show_as(driver, width, dark)
        opened.append(driver)
        return driver

    yield open_browser
    for driver in opened:
        driver.quit()


def text_of(driver, identifier):
    return driver.execute_script("return document.getElementById(arguments[0]).textContent",
                                 identifier)


def alternative(driver, identifier):
    return driver.execute_script("return document.getElementById(arguments[0]).alt", identifier)


def has_picture(driver, identifier):
    return driver.execute_script(
        "return document.getElementById(arguments[0]).naturalWidth > 0", identifier)


def digest_of(driver):
    """Of the picture as it is on the screen: a canvas would get the first part of a stream."""
    return hash(driver.find_element("id", "picture").screenshot_as_png)


def stands_still(driver):
    """Whether the picture does not change within a second, in which the camera has 20."""
    before = digest_of(driver)
    time.sleep(1)
    return digest_of(driver) == before


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
    show_as(driver, width, dark,
            driver.execute_script("return document.documentElement.scrollHeight"))
    driver.save_screenshot(str(SHOTS / f"{prefix}{width}{'-dark' if dark else ''}.png"))


@pytest.mark.parametrize("width, dark", [(360, False), (1280, False), (1280, True)])
def test_the_page_fits_and_moves(start, view, browser, width, dark):
    start("--filter", "gaussian-blur:sigma=2", source="pattern:scene", size="640x480", fps="20")
    driver = browser(width, dark)
    open_page(driver, view())
    before = digest_of(driver)
    wait_until(lambda: digest_of(driver) != before, "another picture")
    assert not audit(driver)[0]
    wait_until(lambda: "gaussian-blur:sigma=2" in text_of(driver, "about"), "the filter")
    wait_until(lambda: "frames per second" in text_of(driver, "about"), "the rate")
    # Buttons and links that look like buttons are in one row.
    heights = driver.execute_script("""
        return ["pause", "snapshot", "clip"].map((id) => {
            const range = document.createRange();
            range.selectNodeContents(document.getElementById(id));
            const text = range.getBoundingClientRect(), box = range.startContainer
                .getBoundingClientRect();
            return text.top - box.top;
        });""")
    assert max(heights) - min(heights) < 0.5
    save_page(driver, "", width, dark)
    assert not complaints(driver), "the policy forbids something that the page does"


def test_what_is_pressed_shows_in_forced_colours(start, view, browser):
    """There the browser replaces the colours that show it elsewhere."""
    start(*QUIET, source="pattern:scene", size="320x240", fps="20")
    driver = browser(800)
    open_page(driver, view())
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "forced-colors", "value": "active"}]})

    def look(name):
        return driver.execute_script("""
            const button = document.getElementById(arguments[0]), css = getComputedStyle(button);
            const {width, height} = button.getBoundingClientRect();
            return [[width, height], css.color, css.borderTopWidth];""",
                                     name)
    size, _, border = look("pause")
    driver.find_element("id", "pause").click()
    assert driver.find_element("id", "pause").get_attribute("aria-pressed") == "true"
    pressed_size, pressed_colour, pressed_border = look("pause")
    assert pressed_colour == look("compare")[1], "the colours are not forced"
    assert look("compare")[2] == border != pressed_border
    assert pressed_size == size


def test_the_page_with_the_keyboard_alone(start, view, browser):
    start(*QUIET, source="pattern:scene", size="320x240", fps="20")
    driver = browser(800)
    web = view("--name", "other")
    open_page(driver, web)
    seen = []
    for _ in range(12):
        driver.switch_to.active_element.send_keys("\ue004")  # Tab
        active = driver.switch_to.active_element
        seen.append(active.text or active.get_attribute("id"))
        if active.get_attribute("id") == "pause":
            break
    assert seen[:3] == ["Skip to the picture", "front", "other"] and seen[-1] == "Pause"
    driver.switch_to.active_element.send_keys("\ue007")  # Enter
    assert driver.switch_to.active_element.get_attribute("aria-pressed") == "true"
    assert alternative(driver, "picture") == \
        "Filtered picture of camera front when the page was paused"
    wait_until(lambda: stands_still(driver), "a picture that does not move")
    assert stands_still(driver), "a paused picture moves"
    before = digest_of(driver)
    driver.switch_to.active_element.send_keys("\ue007")
    wait_until(lambda: digest_of(driver) != before, "another picture")
    assert alternative(driver, "picture") == "Live filtered picture of camera front"
    assert alternative(driver, "spectrum") == "Spectrum of the filtered picture of camera front"


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


def test_no_image_of_another_camera_stays(start, view, browser):
    """The other camera is absent, and the last pictures of this one are not its."""
    start(*QUIET, source="pattern:scene", size="320x240", fps="20")
    driver = browser(800)
    open_page(driver, view("--name", "other"))
    driver.find_element("id", "pause").click()
    driver.execute_script("location.hash = 'other'")
    wait_until(lambda: text_of(driver, "state").startswith("Camera other is absent"), "the state")
    wait_until(lambda: not has_picture(driver, "picture"), "no picture")
    assert not has_picture(driver, "spectrum")
    assert alternative(driver, "picture") == "No live picture: camera other is absent"
    assert alternative(driver, "spectrum") == "No spectrum yet"


def test_no_comparison_of_another_camera_stays(start, view, browser):
    """The same with the picture before and after the filter, which is a canvas."""
    start("--set", "output.watch_unfiltered=true", source="pattern:scene", size="320x240",
          fps="20")
    driver = browser(800)
    open_page(driver, view("--name", "other"))
    driver.find_element("id", "compare").click()

    def is_drawn():
        return driver.execute_script("""
            const canvas = document.getElementById("comparison");
            const copy = document.createElement("canvas");
            Object.assign(copy, {width: canvas.width, height: canvas.height});
            const pixels = copy.getContext("2d", {willReadFrequently: true});
            pixels.drawImage(canvas, 0, 0);
            const {data} = pixels.getImageData(0, 0, copy.width, copy.height);
            return data.some((value) => value > 0);""")

    wait_until(is_drawn, "a pair of pictures")
    driver.execute_script("location.hash = 'other'")
    wait_until(lambda: text_of(driver, "state").startswith("Camera other is absent"), "the state")
    wait_until(lambda: not is_drawn(), "no pictures")
    assert "front" not in driver.find_element("id", "comparison").get_attribute("aria-label")
    driver.execute_script("location.hash = 'front'")
    wait_until(is_drawn, "a pair of pictures")
    assert not complaints(driver)


@pytest.mark.parametrize("width, height", [(1400, 900), (390, 844)])
def test_the_picture_stays_in_view(start, view, browser, width, height):
    """While everything else is scrolled past it."""
    start(*QUIET, "--set", "output.measures=true", source="pattern:scene", size="640x480", fps="20")
    driver = browser(width)
    show_as(driver, width, False, height)
    open_page(driver, view())
    wait_until(lambda: len(driver.find_elements("css selector", ".chart")) > 4, "charts")

    def box_of(identifier):
        return driver.execute_script("""
            const {top, bottom, left, right} =
                document.getElementById(arguments[0]).getBoundingClientRect();
            return {top, bottom, left, right};""", identifier)
    picture, plane = box_of("picture"), box_of("plane")
    if width > 1000:
        assert picture["right"] < plane["left"] and plane["bottom"] < height, "they are beside it"
    else:
        assert picture["bottom"] - picture["top"] < height / 2, "it leaves room for the rest"
        assert not driver.find_element("id", "plane-help").is_displayed()
        # Two charts side by side; a name and its value may take two lines.
        bottoms = [chart.rect["y"] + chart.rect["height"]
                   for chart in driver.find_elements("css selector", "#charts figure")[:2]]
        assert bottoms[0] == bottoms[1]
    last = "plane-said" if width > 1000 else "charts"
    driver.execute_script("document.getElementById(arguments[0]).scrollIntoView({block: 'end'})",
                          last)
    picture = box_of("picture")
    assert picture["top"] >= 0 and picture["bottom"] <= height
    SHOTS.mkdir(parents=True, exist_ok=True)
    driver.save_screenshot(str(SHOTS / f"scrolled{width}.png"))


def test_before_and_after_with_a_boundary(start, view, browser):
    daemon = start("--filter", "gain:ac=0", "--set", "output.watch_unfiltered=true",
                   source="pattern:scene", size="320x240", fps="20")
    driver = browser(800)
    open_page(driver, view())
    driver.find_element("id", "compare").click()

    def contrasts():
        """Of luma left and right of the middle; None before there is a picture."""
        return driver.execute_script("""
            const canvas = document.getElementById("comparison");
            if (!canvas.ariaLabel.includes("before the filter")) return null;
            const copy = document.createElement("canvas");
            Object.assign(copy, {width: canvas.width, height: canvas.height});
            const pixels = copy.getContext("2d", {willReadFrequently: true});
            pixels.drawImage(canvas, 0, 0);
            const contrast = (x, width) => {
                const {data} = pixels.getImageData(x, 0, width, copy.height);
                const luma = Array.from({length: data.length / 4}, (_, i) =>
                    0.299 * data[4 * i] + 0.587 * data[4 * i + 1] + 0.114 * data[4 * i + 2]);
                return luma.reduce((a, b) => Math.max(a, b)) -
                       luma.reduce((a, b) => Math.min(a, b));
            };
            const eighth = canvas.width / 8;
            return [contrast(eighth, eighth), contrast(6 * eighth, eighth)];""")

    left, right = wait_until(contrasts, "a pair of pictures")
    assert left > 50 and right < 10
    assert not driver.find_element("id", "picture").is_displayed()
    # The live picture's stream has ended; the spectrum is still shown.
    assert driver.execute_script("return !document.getElementById('picture').hasAttribute('src')")
    slider = driver.find_element("id", "boundary")
    slider.send_keys("\ue011")  # Home: everything is after the filter
    left, right = contrasts()
    assert left < 10 and right < 10
    # While a key is held everything is before it.
    keys = webdriver.ActionChains(driver)
    keys.key_down("\ue032").perform()  # F2
    assert "before the filter" in wait_until(
        lambda: min(contrasts()) > 50 and driver.find_element("id", "comparison")
        .get_attribute("aria-label"), "the picture before")
    keys.key_up("\ue032").perform()
    assert max(contrasts()) < 10
    slider.send_keys("\ue010")  # End
    assert min(contrasts()) > 50
    webdriver.ActionChains(driver).move_to_element(driver.find_element("id", "comparison")) \
        .click().perform()
    assert abs(int(slider.get_attribute("value")) - 50) <= 1
    assert slider.get_attribute("aria-valuetext").startswith(slider.get_attribute("value"))
    assert not complaints(driver)
    driver.find_element("id", "compare").click()
    wait_until(lambda: has_picture(driver, "picture"), "the live picture")
    assert not driver.find_element("id", "comparison").is_displayed()
    # The live picture gives way as long as the button is held.
    hand = webdriver.ActionChains(driver)
    hand.click_and_hold(driver.find_element("id", "hold")).perform()
    wait_until(lambda: driver.find_element("id", "comparison").is_displayed(),
               "the picture before")
    assert min(contrasts()) > 50
    hand.release().perform()
    wait_until(lambda: driver.find_element("id", "picture").is_displayed(), "the live picture")
    assert not driver.find_element("id", "comparison").is_displayed()
    # Whoever may not see unfiltered pictures is told so.
    daemon.stop()
    start(*QUIET, source="pattern:scene", size="320x240", fps="20")
    driver.find_element("id", "compare").click()
    wait_until(lambda: "output.watch_unfiltered" in text_of(driver, "comparison-said"),
               "the daemon's words")


def test_the_picture_is_enlarged(start, view, browser):
    start(*QUIET, source="pattern:scene", size="640x480", fps="20")
    driver = browser(390)
    show_as(driver, 390, False, 844)
    open_page(driver, view())
    zoom = Select(driver.find_element("id", "zoom"))

    def look():
        """The picture's width on the screen, its part in the middle of the frame, and the frame."""
        return driver.execute_script("""
            const frame = document.getElementById("frame").getBoundingClientRect();
            const box = document.getElementById("picture").getBoundingClientRect();
            return [box.width, (frame.left + frame.width / 2 - box.left) / box.width,
                    (frame.top + frame.height / 2 - box.top) / box.height, frame.height];""")
    whole = look()
    assert whole[0] < 390
    for percent in (100, 200):
        zoom.select_by_visible_text(f"{percent} %")
        width, x, y, height = look()
        assert width == 640 * percent / 100 and height == whole[3]
        assert (x, y) == pytest.approx((0.5, 0.5), abs=0.01)
    # The keyboard moves what is seen, and so does a finger.
    driver.execute_script("document.getElementById('frame').focus()")
    driver.switch_to.active_element.send_keys("\ue014")  # right
    wait_until(lambda: look()[1] > 0.5, "another part")
    assert not audit(driver)[0]
    zoom.select_by_visible_text("fit")
    assert look() == whole
    # A region that is drawn fills the frame.
    show_as(driver, 1400, False, 900)
    whole = look()
    picture = driver.find_element("id", "picture")
    across, down = picture.size["width"], picture.size["height"]
    webdriver.ActionChains(driver).move_to_element_with_offset(picture, 0, 0).click_and_hold() \
        .move_by_offset(round(across / 4), round(down / 4)).release().perform()
    width, x, y, height = look()
    assert width == pytest.approx(4 * whole[0], rel=0.02) and height == whole[3]
    assert (x, y) == pytest.approx((0.625, 0.625), abs=0.01)
    assert driver.find_element("id", "zoom").get_attribute("value") == "region"
    assert not complaints(driver)


def test_the_frequency_at_the_pointer(start, view, browser):
    start(*QUIET, source="pattern:moire", size="512x512", fps="20")
    driver = browser(1400)
    open_page(driver, view())
    plane = driver.find_element("id", "plane")
    legend = text_of(driver, "readout")
    hand = webdriver.ActionChains(driver)
    # 0.25 to the right of the middle, 0.25 below it.
    hand.move_to_element_with_offset(plane, plane.size["width"] // 4,
                                     plane.size["height"] // 4).perform()
    said = text_of(driver, "readout")
    assert re.match(r"0\.2[45]\d*/0\.2[45]\d* cycles/pixel, period 2\.8\d px at 45\u00b0, -\d+ dB$",
                    said), said
    # A click near the wave of the scene keeps what is said.
    hand.move_to_element_with_offset(plane, round(0.21 * plane.size["width"]) + 2,
                                     round(0.13 * plane.size["height"])).click().perform()
    said = text_of(driver, "plane-said")
    found = re.match(r"Peak at (\S+)/(\S+) cycles/pixel, period 4\.0\d px at 32\u00b0", said)
    assert found and float(found[1]) == pytest.approx(0.21, abs=0.001), said
    assert float(found[2]) == pytest.approx(0.13, abs=0.001), said
    hand.move_to_element(driver.find_element("id", "pause")).perform()
    assert text_of(driver, "readout") == legend


def test_charts_over_time(start, view, browser, tmp_path):
    """Words, a unit and a line for each; the last value is the daemon's."""
    daemon = start(*QUIET, "--set", "output.measures=true", source="pattern:scene", size="320x240",
                   fps="20")
    driver = browser(800)
    open_page(driver, view())

    def charts():
        return {title: (now, span, line) for title, now, span, line in driver.execute_script("""
            return [...document.querySelectorAll(".chart")].map((figure) =>
                ["strong", "span", ".scale"].map((part) =>
                    [...figure.querySelector(part).childNodes].map((e) => e.textContent).join(" "))
                    .concat(figure.querySelector("path").getAttribute("d")));""")}

    def are_drawn():
        shown = charts()
        return {"Rate", "Latency", "Sharpness", "Noise", "Shift x"} <= set(shown) and \
            all(line.count("L") >= 2 for _, _, line in shown.values()) and shown
    shown = wait_until(are_drawn, "lines")
    assert shown["Rate"][0].endswith(" frames/s") and shown["Latency"][0].endswith(" ms")
    assert float(shown["Latency"][0].split()[0]) > 0
    assert shown["Shift x"][0].endswith(" px/frame")
    most, least = map(float, shown["Latency"][1].split())
    assert 0 < least < most, "the scale"
    assert list(shown)[:4] == ["Rate", "Latency", "Sharpness", "Noise"]
    # The others are folded.
    assert driver.execute_script("""
        return [...document.querySelectorAll(".chart")].map((figure) => figure.checkVisibility());
        """) == [True] * 4 + [False] * (len(shown) - 4)
    assert float(shown["Mean"][0]) == pytest.approx(
        daemon.ctl_json("stats")["Measures"]["mean"], abs=20)
    driver.execute_cdp_cmd("Page.setDownloadBehavior",
                           {"behavior": "allow", "downloadPath": str(tmp_path)})
    driver.find_element("id", "csv").click()
    file = tmp_path / "front.csv"
    wait_until(file.exists, "the file")
    rows = list(csv.DictReader(file.open(newline="")))
    assert rows[-1]["time"] > rows[0]["time"] and len(rows) >= 3
    assert float(rows[-1]["Latency (ms)"]) > 0 and float(rows[-1]["Sharpness (cycles/pixel)"]) > 0
    # A second without the daemon is a gap.
    daemon.process.kill()
    daemon.wait()
    wait_until(lambda: charts()["Rate"][0] == "not known now", "the gap")
    start(*QUIET, source="pattern:scene", size="320x240", fps="20")
    wait_until(lambda: charts()["Rate"][2].count("M") == 2 and
               charts()["Mean"][0] == "not known now", "a second line")
    assert not complaints(driver)


def test_a_clip_is_downloaded(start, view, browser, tmp_path):
    start(*QUIET, source="pattern:scene", size="320x240", fps="20")
    driver = browser(800)
    driver.execute_cdp_cmd("Page.setDownloadBehavior",
                           {"behavior": "allow", "downloadPath": str(tmp_path)})
    open_page(driver, view())
    Select(driver.find_element("id", "clip-seconds")).select_by_value("2")
    driver.find_element("id", "clip").click()
    file = tmp_path / "front.mkv"
    wait_until(file.exists, "the clip")
    assert 1.5 < duration_of(file) <= 2
    # The picture goes on.
    before = digest_of(driver)
    wait_until(lambda: digest_of(driver) != before, "a picture that moves")
    driver.find_element("id", "snapshot").click()
    picture = tmp_path / "front.jpg"
    wait_until(lambda: picture.exists() and picture.read_bytes().startswith(b"\xff\xd8"),
               "the picture")


@pytest.mark.skipif(not PROGRAM.exists(), reason="fftd-gst was not built")
def test_the_page_when_the_camera_is_lost_and_comes_back(start, view, browser, tmp_path):
    """The pipeline of this camera needs a file, as a camera needs its cable."""
    cable = tmp_path / "cable"
    cable.touch()
    daemon = start_pipeline(start, source=f"gst:filesrc location={cable} ! fakesink "
                            "videotestsrc is-live=true pattern=ball", size="320x240", fps="20")
    driver = browser(360)
    open_page(driver, view())
    cable.unlink()
    for helper in helpers_of(daemon):
        os.kill(helper, signal.SIGKILL)
    wait_until(lambda: "Check its cable. The picture comes back by itself." in
               text_of(driver, "state"), "the advice")
    state = text_of(driver, "state")
    assert state.startswith("Camera front is lost: ")
    assert "problem" in driver.find_element("id", "state").get_attribute("class")
    # The last pictures are marked as stale.
    assert all("stale" in driver.find_element("id", image).get_attribute("class")
               for image in ("picture", "spectrum"))
    assert alternative(driver, "picture") == "No live picture: camera front is lost"
    assert alternative(driver, "spectrum") == \
        "Last spectrum of the filtered picture of camera front, which is lost"
    assert not audit(driver)[0]
    save_page(driver, "lost-", 360, False)
    cable.touch()
    wait_until(lambda: "online" in text_of(driver, "state"), "the state")
    assert "problem" not in driver.find_element("id", "state").get_attribute("class")
    before = digest_of(driver)
    wait_until(lambda: digest_of(driver) != before, "a picture that moves")
    assert "stale" not in driver.find_element("id", "picture").get_attribute("class")
    assert alternative(driver, "picture") == "Live filtered picture of camera front"
    assert not complaints(driver)
