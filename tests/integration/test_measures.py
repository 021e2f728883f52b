"""Tests of output.measures: what clients of a real daemon learn about the pictures of a recording
whose sharpness, noise and light are known."""

import math
import os
import pathlib
import re
import sys

import pytest

import test_auto_notch
import test_deflicker
from conftest import BUILD, FAST_KERNELS, PATIENCE, needs_every_frame
from gstreamer import finish, launch, plugin_dir  # pylint: disable=unused-import

numpy = pytest.importorskip("numpy", reason="python3-numpy is not installed")
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "client" / "python"))
os.environ.setdefault("LIBFFTD", str(BUILD / "libfftd.so.0"))

SIZE = WIDTH, HEIGHT = 256, 192
FRAMES = 4
NOISE = 6


@pytest.fixture(scope="session")
def fftd_module():
    if "san" in BUILD.name:
        pytest.skip("a sanitized library cannot be loaded into Python")
    import fftd  # pylint: disable=import-outside-toplevel
    return fftd


def scene():
    """Plain rectangles of random size that hide each other."""
    random = numpy.random.default_rng(3)
    picture = numpy.full((HEIGHT, WIDTH), 120.0)
    for _ in range(250):
        x, y = random.integers(0, WIDTH), random.integers(0, HEIGHT)
        width, height = (5 * random.pareto(1, 2) + 5).astype(int)
        picture[y:y + height, x:x + width] = random.uniform(50, 200)
    return picture


def blurred(picture, sigma):
    """The picture after a Gaussian blur, computed in the frequency plane."""
    f2 = (numpy.fft.fftfreq(HEIGHT)[:, None] ** 2 + numpy.fft.fftfreq(WIDTH)[None, :] ** 2)
    return numpy.fft.ifft2(numpy.fft.fft2(picture) * numpy.exp(-2 * (math.pi * sigma)**2 * f2)).real


def record(path, pictures):
    """Writes a clip in which each frame has other noise."""
    random = numpy.random.default_rng(4)
    with open(path, "wb") as file:
        file.write(b"YUV4MPEG2 W%d H%d F60:1 Cmono\n" % SIZE)
        for picture in pictures:
            noisy = picture + random.normal(0, NOISE, picture.shape)
            file.write(b"FRAME\n" + numpy.rint(noisy.clip(0, 255)).astype(numpy.uint8).tobytes())
    return path


def play(start, path, *arguments, env=None):
    daemon = start(*FAST_KERNELS, "--set", "output.measures=true", "--set", "camera.loop=true",
                   *arguments, source=f"file:{path}", size=None, fps=None, env=env)
    daemon.wait_for_socket("frames")
    return daemon


def measured(fftd_module, daemon, wanted=lambda measures: True):
    """Returns the first frame with such measures."""
    with fftd_module.Camera(str(daemon.runtime_dir)) as camera:
        for frame in camera:
            if frame.measures is not None and wanted(frame.measures):
                return frame


def test_measures_are_those_of_the_picture(start, fftd_module, tmp_path):
    picture = scene()
    # The filter changes what is published, and not what is measured.
    daemon = play(start, record(tmp_path / "clip.y4m", [picture] * FRAMES), "--filter",
                  "gaussian-blur:sigma=5 | gain:dc=0.5")
    frame = measured(fftd_module, daemon, lambda measures: not math.isnan(measures.shift_x))
    measures = frame.measures
    assert frame.flags & fftd_module.FLAG_MEASURES
    assert measures.noise == pytest.approx(NOISE, rel=0.1)
    assert measures.mean == pytest.approx(picture.mean(), abs=3)
    assert measures.clipped == 0
    assert 0.05 < measures.sharpness < 0.5
    assert abs(measures.shift_x) < 0.1 and abs(measures.shift_y) < 0.1
    # No stage looks for flicker or interference.
    assert math.isnan(measures.flicker_hz) and math.isnan(measures.flicker_depth)
    assert math.isnan(measures.peak_strength) and measures.peaks == 0
    assert "sharpness=" in repr(measures)

    stats = daemon.ctl_json("stats")["Measures"]
    assert stats["noise"] == pytest.approx(NOISE, rel=0.1)
    assert stats["mean"] == pytest.approx(picture.mean(), abs=3)
    assert stats["age"] >= 0
    assert not {"flicker_hz", "flicker_depth", "peaks", "peak_strength"} & stats.keys()
    shown = re.search(r"measures: sharpness ([\d.]+)", daemon.ctl("stats").stdout)
    assert float(shown[1]) == pytest.approx(stats["sharpness"], rel=0.2)  # of a later frame
    assert daemon.ctl_json("status")["Measures"].keys() >= {"sharpness", "noise", "clipped"}
    assert daemon.stop() == 0


def test_a_blurred_recording_is_less_sharp(start, fftd_module, tmp_path):
    picture = scene()
    sharpness = []
    for sigma in (0, 1, 2, 4):
        path = record(tmp_path / f"{sigma}.y4m", [blurred(picture, sigma)] * FRAMES)
        daemon = play(start, path)
        sharpness.append(measured(fftd_module, daemon).measures.sharpness)
        assert daemon.stop() == 0
    assert sharpness == sorted(sharpness, reverse=True)
    assert sharpness[0] > 2 * sharpness[3] > 0


def test_a_covered_camera_is_dark(start, fftd_module, tmp_path):
    path = tmp_path / "dark.y4m"
    path.write_bytes(b"YUV4MPEG2 W%d H%d F60:1 Cmono\nFRAME\n" % SIZE + bytes(WIDTH * HEIGHT))
    daemon = play(start, path)
    frame = measured(fftd_module, daemon)
    measures = frame.measures
    assert (measures.mean, measures.clipped, measures.sharpness) == (0, 1, 0)
    assert frame.picture_state == "covered"
    assert "picture_state 3 covered" in daemon.ctl("stats").stdout
    assert math.isnan(measures.noise)
    # What was not measured is not said.
    assert "noise" not in daemon.ctl_json("stats")["Measures"]
    assert "fftd_noise_ratio" not in daemon.ctl("stats", "--openmetrics").stdout
    assert daemon.stop() == 0


def test_measures_are_of_this_frame_or_of_an_earlier_one(start, fftd_module, tmp_path):
    """Frame n of the recording has the brightness 20 + 8 n."""
    daemon = play(start, record(tmp_path / "clip.y4m",
                                [numpy.full((HEIGHT, WIDTH), 20.0 + 8 * n) for n in range(25)]))
    seen = 0
    numbers = {}  # of the frames in the recording, by their numbers in the ring
    with fftd_module.Camera(str(daemon.runtime_dir)) as camera:
        for frame in camera.frames(every=True):
            numbers[frame.sequence] = frame.source_sequence
            if frame.measures is None or frame.sequence - frame.measures.age not in numbers:
                continue
            mean = frame.image.mean()
            if not frame.valid:
                continue
            # How many frames earlier the measured brightness was, in the loop of 25. A busy daemon
            # skips frames of the recording.
            earlier = round((mean - frame.measures.mean) / 8) % 25
            measured = numbers[frame.sequence - frame.measures.age]
            assert earlier == (frame.source_sequence - measured) % 25
            seen += 1
            if seen == 30:
                break
    assert daemon.stop() == 0


def test_without_the_key_nothing_is_measured(start, fftd_module):
    daemon = start(*FAST_KERNELS)
    daemon.wait_for_socket("frames")
    with fftd_module.Camera(str(daemon.runtime_dir)) as camera:
        for frame in camera:
            assert frame.measures is None
            assert frame.flags & fftd_module.FLAG_MEASURES == 0
            if frame.sequence > 20:
                break
    assert daemon.ctl_json("stats")["Measures"] == {}
    assert "measures" not in daemon.ctl("stats").stdout
    threads = daemon.of_threads("comm")
    assert "camera\n" in threads and "observer\n" not in threads


@needs_every_frame
def test_what_filters_find_is_measured(start, fftd_module, tmp_path):
    """One thread takes measures and finds what filters that adapt remove."""
    parser = pytest.importorskip("prometheus_client.openmetrics.parser",
                                 reason="python3-prometheus-client is not installed")
    random = numpy.random.default_rng(9)
    picture = 0.75 * test_auto_notch.draw_scene()
    test_auto_notch.write_recording(tmp_path / "clip.y4m", [
        picture * test_deflicker.light_of(i) + test_auto_notch.waves_of(i) +
        random.normal(0, 1, picture.shape) for i in range(test_auto_notch.FRAMES)])
    daemon = play(start, tmp_path / "clip.y4m", "--filter", "auto-notch:threshold=1 | deflicker")
    strongest = test_auto_notch.WAVES[0][2]
    measured(fftd_module, daemon, lambda found: found.peaks == 2 and
             found.flicker_hz == pytest.approx(test_deflicker.LIGHT_HZ, abs=0.3) and
             found.flicker_depth == pytest.approx(test_deflicker.DEPTH, abs=0.03) and
             found.peak_strength == pytest.approx(strongest, rel=0.1))

    def is_measured():
        """Whether both ways to read measures show what was put in. Frames that a busy machine
        delivers late disturb the estimate for a while."""
        stats = daemon.ctl_json("stats")["Measures"]
        families = {family.name: family.samples[0].value
                    for family in parser.text_string_to_metric_families(
                        daemon.ctl("stats", "--openmetrics").stdout) if family.samples}
        return all(key in stats and family in families and
                   stats[key] == pytest.approx(value, rel=0.1) and
                   families[family] == pytest.approx(value / unit, rel=0.1)
                   for key, family, value, unit in (
                       ("flicker_hz", "fftd_flicker_hertz", test_deflicker.LIGHT_HZ, 1),
                       ("flicker_depth", "fftd_flicker_depth_ratio", test_deflicker.DEPTH, 1),
                       ("peaks", "fftd_interference_peaks", 2, 1),
                       ("peak_strength", "fftd_interference_amplitude_ratio", strongest, 255)))

    daemon.wait_until(is_measured, "flicker and waves are in stats")
    threads = daemon.of_threads("comm")
    assert threads.count("observer\n") == 1
    assert daemon.stop() == 0


def window_sums(picture, shape):
    """Returns the sum of each window of that shape."""
    total = numpy.pad(picture.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    rows, columns = shape
    return (total[rows:, columns:] - total[:-rows, columns:] - total[rows:, :-columns]
            + total[:-rows, :-columns])


def correlation(picture, template):
    """The correlation coefficient of the template and of each window of the picture."""
    rest = template - template.mean()
    spectrum = numpy.fft.rfft2(picture) * numpy.fft.rfft2(rest, picture.shape).conj()
    sums = window_sums(picture, template.shape)
    product = numpy.fft.irfft2(spectrum, picture.shape)[:sums.shape[0], :sums.shape[1]]
    variation = window_sums(picture ** 2, template.shape) - sums ** 2 / template.size
    return product / numpy.sqrt(numpy.maximum(variation * (rest ** 2).sum(), 1e-9))


def best_place(picture, template):
    """The place and the score of the best match."""
    scores = correlation(picture, template)
    y, x = numpy.unravel_index(scores.argmax(), scores.shape)
    return x + template.shape[1] // 2, y + template.shape[0] // 2, scores[y, x]


def test_the_place_of_a_template_is_measured(start, fftd_module, tmp_path):
    """Of a part of the first picture; in the others it is elsewhere, and more and more blurred."""
    parser = pytest.importorskip("prometheus_client.openmetrics.parser",
                                 reason="python3-prometheus-client is not installed")
    pictures = [blurred(numpy.roll(scene(), (-7 * n, 11 * n), (0, 1)), n / 2) for n in range(4)]
    template = numpy.rint(pictures[0][80:97, 60:80])
    (tmp_path / "part.pgm").write_bytes(b"P5 20 17 255 " + template.astype(numpy.uint8).tobytes())
    # In an order in which no regular choice of frames leaves one out.
    order = (0, 1, 2, 3, 1, 0, 3)
    daemon = play(start, record(tmp_path / "clip.y4m", [pictures[n] for n in order]), "--filter",
                  "match:image=part.pgm", env={"FFTD_IMAGE_DIR": str(tmp_path)})
    clip = numpy.frombuffer((tmp_path / "clip.y4m").read_bytes()[-7 * (WIDTH * HEIGHT + 6):], "u1")
    expected = [best_place(frame[6:].reshape(HEIGHT, WIDTH).astype(float), template)
                for frame in clip.reshape(7, -1)]
    assert [place[:2] for place in expected] == [(70 + 11 * n, 88 - 7 * n) for n in order]
    unseen = set(range(4))
    with fftd_module.Camera(str(daemon.runtime_dir)) as camera:
        for frame in camera:
            if frame.match is None:
                continue
            assert frame.measures is not None
            # Each frame has other noise, and so another score.
            distances = [abs(frame.match.score - place[2]) for place in expected]
            number = distances.index(min(distances))
            assert frame.match.score == pytest.approx(expected[number][2], abs=1e-4)
            assert frame.match.x == pytest.approx(expected[number][0], abs=0.5)
            assert frame.match.y == pytest.approx(expected[number][1], abs=0.5)
            unseen.discard(order[number])
            if not unseen:
                break
    stats = daemon.ctl_json("stats")["Measures"]
    families = {family.name: family for family in parser.text_string_to_metric_families(
        daemon.ctl("stats", "--openmetrics").stdout)}
    axes = {sample.labels["axis"] for sample in families["fftd_match_position_pixels"].samples}
    assert axes == {"x", "y"}
    assert 0 < families["fftd_match_score_ratio"].samples[0].value <= 1
    assert 69 < stats["match_x"] < 104 and 66 < stats["match_y"] < 89
    assert "match_score" in daemon.ctl("stats").stdout

    # Without the filter there is no template.
    serial = daemon.change("filter", "set", "none")
    with fftd_module.Camera(str(daemon.runtime_dir)) as camera:
        for frame in camera:
            if frame.filter_serial >= serial and frame.match is None:
                break
    assert daemon.stop() == 0


TEMPLATES = 16


def write_templates(folder, picture):
    """Parts of the picture, of random sizes and from random places. Returns their chain, of which
    the picture shows nothing, and their pixels."""
    random = numpy.random.default_rng(16)
    names, templates = [], []
    for i in range(TEMPLATES):
        columns, rows = random.integers(20, 64, 2)
        x, y = random.integers(0, WIDTH - columns), random.integers(0, HEIGHT - rows)
        part = picture[y:y + rows, x:x + columns] * 0.7 + 20
        templates.append(numpy.rint(part + random.normal(0, 2, part.shape)).clip(0, 255))
        names.append(f"t{i}.pgm")
        (folder / names[-1]).write_bytes(b"P5 %d %d 255 " % (columns, rows)
                                         + templates[-1].astype(numpy.uint8).tobytes())
    return " | ".join(f"match:image={name},show=false" for name in names), names, templates


def is_at(match, expected):
    """Returns whether place and score of a match are those that double precision gives."""
    return (abs(match.x - expected[0]) <= 0.5 and abs(match.y - expected[1]) <= 0.5
            and abs(match.score - expected[2]) < 1e-4)


def test_sixteen_templates_are_found_as_in_double_precision(start, fftd_module, tmp_path):
    parser = pytest.importorskip("prometheus_client.openmetrics.parser",
                                 reason="python3-prometheus-client is not installed")
    chain, names, templates = write_templates(tmp_path, scene())
    # A second output looks for one of the templates, and a third one for none.
    daemon = play(start, record(tmp_path / "clip.y4m", [scene()] * 3), "--filter", chain, "--set",
                  f'outputs=( {{ name = "one"; filter = "match:image={names[5]}"; '
                  '}, { name = "none"; } )', env={"FFTD_IMAGE_DIR": str(tmp_path)})
    clip = numpy.frombuffer((tmp_path / "clip.y4m").read_bytes()[-3 * (WIDTH * HEIGHT + 6):], "u1")
    pictures = [frame[6:].reshape(HEIGHT, WIDTH) for frame in clip.reshape(3, -1)]
    expected = [[best_place(picture.astype(float), template) for template in templates]
                for picture in pictures]
    unseen = {0, 1, 2}
    with fftd_module.Camera(str(daemon.runtime_dir)) as camera:
        for frame in camera:
            # Without a filter that changes it, the picture is the captured one.
            planes = frame.copy()
            if planes is None or not frame.matches:
                continue  # overwritten meanwhile; nothing is measured yet
            assert any((planes[0] == picture).all() for picture in pictures)
            assert len(frame.matches) == TEMPLATES and frame.match.x == frame.matches[0].x
            fits = [all(map(is_at, frame.matches, each)) for each in expected]
            assert any(fits), (frame.matches, expected)
            unseen.discard(fits.index(True))
            if not unseen:
                break
    with fftd_module.Camera(str(daemon.runtime_dir / "outputs/one")) as camera:
        for frame in camera:
            if frame.matches:
                assert any(is_at(frame.match, each[5]) for each in expected)
                assert len(frame.matches) == 1
                break
    with fftd_module.Camera(str(daemon.runtime_dir / "outputs/none")) as camera:
        for frame in camera:
            if frame.measures is not None:
                assert frame.match is None and not frame.matches
                break
    stats = daemon.ctl_json("stats")
    assert [match[0] for match in stats["Matches"]] == names
    assert stats["Measures"]["match_score"] == pytest.approx(stats["Matches"][0][3])
    assert daemon.ctl("stats").stdout.count("template t") == TEMPLATES
    families = {family.name: family for family in parser.text_string_to_metric_families(
        daemon.ctl("stats", "--openmetrics").stdout)}
    scores = families["fftd_template_score_ratio"].samples
    assert [sample.labels["template"] for sample in scores] == names
    assert all(0.5 < sample.value <= 1 for sample in scores)

    # An error in a template is reported, and changes nothing.
    (tmp_path / "large.pgm").write_bytes(b"P5 256 9 255 " + bytes(range(256)) * 9)
    for stage, reason in (
            ("match:image=t1.pgm,show=false",
             "the chain has 17 templates: expected at most 16 `match`"),
            ("match:image=absent.pgm", "absent.pgm"),
            ("match:image=large.pgm,show=false",
             "image large.pgm has 256x9 pixels: expected at most 255x255")):
        refused = daemon.ctl("filter", "add", stage, check=False)
        assert refused.returncode == os.EX_DATAERR and reason in refused.stderr, refused.stderr
    refused = daemon.ctl("filter", "set", "match:image=t1.pgm | match:image=t2.pgm", check=False)
    assert "stage 2: the picture shows the template of stage 1 already: expected " \
        "match:show=false" in refused.stderr
    assert daemon.ctl_json("status")["Serial"] == 1
    assert daemon.stop() == 0


def test_of_what_is_not_there_nothing_is_found(start, fftd_module, tmp_path):
    daemon = play(start, record(tmp_path / "clip.y4m", [scene()] * FRAMES), "--filter",
                  "auto-notch | deflicker")
    measures = measured(fftd_module, daemon).measures
    assert (measures.flicker_hz, measures.flicker_depth) == (0, 0)
    assert (measures.peaks, measures.peak_strength) == (0, 0)
    assert daemon.stop() == 0


def test_the_gstreamer_element_posts_them(start, launch, tmp_path):
    daemon = play(start, record(tmp_path / "clip.y4m", [scene()] * FRAMES))
    pipeline = f"fftdsrc camera={daemon.runtime_dir} num-buffers=30"
    said = finish(launch(f"{pipeline} measures=true ! fakesink", "-m"))
    posted = [line for line in said.splitlines() if "fftd-measures" in line]
    assert posted, said
    assert "sharpness=(double)0." in posted[0] and "age=(uint)" in posted[0]
    assert "match-x" not in posted[0]
    assert "fftd-measures" not in finish(launch(f"{pipeline} ! fakesink", "-m"))


def test_metrics_have_the_units_of_prometheus(start, tmp_path):
    parser = pytest.importorskip("prometheus_client.openmetrics.parser",
                                 reason="python3-prometheus-client is not installed")
    daemon = play(start, record(tmp_path / "clip.y4m", [scene()] * FRAMES))
    daemon.wait_until(lambda: "shift_x" in daemon.ctl_json("stats")["Measures"], "a shift")
    text = daemon.ctl("stats", "--openmetrics").stdout
    families = {family.name: family for family in parser.text_string_to_metric_families(text)}
    noise, = families["fftd_noise_ratio"].samples
    assert noise.value == pytest.approx(NOISE / 255, rel=0.1)
    assert families["fftd_noise_ratio"].unit == "ratio"
    assert families["fftd_sharpness_cycles_per_pixel"].unit == "cycles_per_pixel"
    assert {sample.labels["axis"] for sample in families["fftd_shift_pixels"].samples} == {"x", "y"}
    assert all(family.documentation for family in families.values())


def test_measures_as_csv(start):
    daemon = start("--set", "output.measures=true")
    daemon.wait_until(lambda: daemon.ctl_json("stats")["Measures"], "measures")
    lines = daemon.ctl("stats", "--csv", "--watch=0.05", "-n", "3").stdout.splitlines()
    names = lines[0].split(",")
    assert names[:5] == ["time", "frame", "rate", "filter", "sharpness"] and len(lines) == 4
    rows = [dict(zip(names, line.split(","), strict=True)) for line in lines[1:]]
    assert all(float(row["sharpness"]) > 0 and float(row["mean"]) > 0 for row in rows)
    assert rows == sorted(rows, key=lambda row: (row["time"], int(row["frame"])))
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", row["time"])
               for row in rows)
    assert daemon.ctl("stats", "--csv", "--json", check=False).returncode == 64


def test_csv_without_measures(start):
    """It says what is missing, once, and leaves the columns empty."""
    daemon = start()
    daemon.wait_for_log("online")
    done = daemon.ctl("stats", "--csv", "--watch=0.05", "-n", "2")
    assert done.stderr.count("output.measures = true when the daemon starts") == 1
    assert all(line.endswith(16 * ",") for line in done.stdout.splitlines()[1:])
