"""Dark and flat frames, recorded by fftd-ctl from a camera with a fixed pattern, and what they
correct; compared with what knows the pattern."""

import os
import pathlib
import subprocess

import numpy as np
import pytest

from conftest import BUILD, FAST_KERNELS, PATIENCE, needs_every_frame

WIDTH, HEIGHT = 160, 120
FRAMES = 64
NOISE = 1.5  # grey levels, of each sample
RANDOM = np.random.default_rng(21)


def make_sensor():
    """Offsets of columns, rows and pixels with hot ones among them; gains of lens and pixels."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    dark = (12 + RANDOM.normal(0, 3, WIDTH) + RANDOM.normal(0, 2, (HEIGHT, 1)) +
            RANDOM.normal(0, 1, (HEIGHT, WIDTH))).clip(1)
    hot = np.zeros(dark.shape, bool)
    hot[RANDOM.integers(2, HEIGHT - 2, 30), RANDOM.integers(2, WIDTH - 2, 30)] = True
    dark[hot] += 90
    radius2 = ((x - WIDTH / 2) ** 2 + (y - HEIGHT / 2) ** 2) / (WIDTH ** 2 + HEIGHT ** 2) * 4
    gain = (1 - 0.4 * radius2) * RANDOM.normal(1, 0.02, dark.shape)
    return dark, hot, gain


DARK, HOT, GAIN = make_sensor()


def scene():
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    return 60 + 45 * np.sin(x / 11) * np.cos(y / 9) + 40 * (np.hypot(x - 90, y - 50) < 30)


def captured(light):
    noisy = light * GAIN + DARK + RANDOM.normal(0, NOISE, DARK.shape)
    return np.clip(np.rint(noisy), 0, 255).astype(np.uint8)


def replaced(picture, bad):
    """Bad pixels as the mean of the good ones beside them."""
    around = [(np.roll(picture, by, axis), np.roll(~bad, by, axis))
              for by in (-1, 1) for axis in (0, 1)]
    total = sum(np.where(good, each, 0) for each, good in around)
    count = sum(good.astype(int) for _, good in around)
    return np.where(bad & (count > 0), total / np.maximum(count, 1), picture)


def write_clip(path, pictures):
    path.write_bytes(b"YUV4MPEG2 W%d H%d F60:1 Ip A1:1 Cmono\n" % (WIDTH, HEIGHT) +
                     b"".join(b"FRAME\n" + each.tobytes() for each in pictures))
    return f"file:{path}"


def read_pfm(path):
    kind, size, scale, pixels = path.read_bytes().split(b"\n", 3)
    width, height = map(int, size.split())
    assert (kind, float(scale)) == (b"Pf", -1)
    return np.frombuffer(pixels, "<f4").reshape(height, width)[::-1]


def psnr(picture, reference):
    return 10 * np.log10(255 ** 2 / np.mean((picture - reference) ** 2))


@pytest.fixture
def camera(start, tmp_path):
    """camera(pictures...) is a daemon that repeats them; images are found in tmp_path."""
    count = 0

    def open_camera(*pictures):
        nonlocal count
        count += 1
        daemon = start("--set", "camera.loop=true", "--set", f"engine.cache_dir={tmp_path}/cache",
                       "--set", "output.slots=64", *FAST_KERNELS, size=None, fps=None,
                       source=write_clip(tmp_path / f"clip{count}.y4m", pictures),
                       env={"FFTD_IMAGE_DIR": str(tmp_path)})
        daemon.wait_for_socket("frames")
        # A snapshot does not wait as long as the kernels may take to compile.
        daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "online", "frames")
        return daemon
    return open_camera


def newest(daemon, path):
    """A whole frame of the filter that was set last, by way of a file."""
    serial = daemon.ctl_json("filter", "show")["Serial"]
    daemon.wait_until(lambda: daemon.ctl_json("stats")["PublishedSerial"] >= serial, "the filter")
    daemon.ctl("frames", "--raw", "-n", "1", "-o", path)
    return np.fromfile(path, np.uint8).reshape(HEIGHT, WIDTH).astype(float)


def test_recorded_frames_correct_as_well_as_the_truth(camera, tmp_path):
    for kind, light in ("dark", 0), ("flat", 150):
        daemon = camera(*(captured(light) for _ in range(FRAMES)))
        told = daemon.ctl_json("calibrate", kind, "-n", str(FRAMES), "-o", tmp_path)
        assert (told["Frames"], told["Image"]) == (FRAMES, f"{kind}.pfm")
        assert told["Warnings"] == []
        daemon.stop()
    # The frames are noisy alike; frames that were missed or taken twice leave a little more.
    assert np.std(255 * read_pfm(tmp_path / "dark.pfm") - DARK) < 2 * NOISE / FRAMES ** 0.5 + 0.1

    view = captured(scene())
    daemon = camera(view)
    before = newest(daemon, tmp_path / "frame")
    assert (before == view).all()
    daemon.ctl("filter", "preset", "fixed-pattern")
    got = newest(daemon, tmp_path / "frame")
    level = np.mean(GAIN[~HOT])  # the flat frame keeps the mean brightness
    truth = np.rint(np.clip(replaced((view - DARK) * level / GAIN, HOT), 0, 255))
    clean = scene() * level
    uncorrected, corrected, oracle = (psnr(each, clean) for each in (view, got, truth))
    print(f"# figures: calibrated {uncorrected:.2f} dB before, {corrected:.2f} dB after, "
          f"{oracle:.2f} dB with the true pattern")
    assert corrected > uncorrected + 15
    assert corrected > oracle - 0.5


def textured(random):
    """Noise of many scales, larger than the picture, so that it can pan."""
    big = np.zeros((512, 512))
    for size in 2, 4, 8, 16, 32, 64:
        cells = random.normal(0, 2 * size ** 0.5, (512 // size, 512 // size))
        big += np.kron(cells, np.ones((size, size)))
    return 120 + big


def find_stripes(camera, tmp_path, name, big, random):
    """Compares the stripes and hot pixels that are found while a camera pans over a picture with
    those that it has."""
    pattern = random.normal(0, 3.1, WIDTH) + random.normal(0, 3.1, (HEIGHT, 1))
    hot = np.zeros(pattern.shape, bool)
    hot[random.integers(0, HEIGHT, 20), random.integers(0, WIDTH, 20)] = True

    def view(i):
        y, x = (int((whole - part) * (0.5 - 0.5 * np.cos(i / period))) for whole, part, period in
                zip(big.shape, (HEIGHT, WIDTH), (17, 23)))
        return big[y:y + HEIGHT, x:x + WIDTH]
    frames = [np.clip(np.rint(view(i) + pattern + 60 * hot + random.normal(0, 1, pattern.shape)),
                      0, 255).astype(np.uint8) for i in range(2 * FRAMES)]
    daemon = camera(*frames)
    told = daemon.ctl_json("calibrate", "stripes", "-n", str(2 * FRAMES), "-o", tmp_path)
    assert told["Warnings"] == [] and 2 < 255 * told["Columns"] < 4
    daemon.stop()
    image = read_pfm(tmp_path / "stripes.pfm")
    left = np.std((pattern - 255 * image)[image < 1])
    print(f"# figures: {name}: {np.std(pattern):.2f} grey levels of columns and rows before, "
          f"{left:.2f} after; {np.sum(hot & (image == 1))} of {hot.sum()} hot pixels found, "
          f"{np.sum(~hot & (image == 1))} others")
    assert left < 1.2
    assert told["BadPixels"] == np.sum(image == 1)
    assert np.sum(hot & (image < 1)) <= 2 and np.sum(~hot & (image == 1)) <= 2

    daemon = camera(frames[0])
    # The image alone has all that the stage needs, and keeps the mean brightness.
    assert told["Stage"] == "dark:image=stripes.pfm"
    daemon.ctl("filter", "set", told["Stage"])
    off = newest(daemon, tmp_path / "frame") - view(0)
    inside = (frames[0] > 0) & (frames[0] < 255) & (~hot | (image == 1))
    assert abs(off[inside].mean()) < 1 and off[inside].std() < 1.7  # with noise of 1
    still = daemon.ctl_json("calibrate", "stripes", "still", "-n", "4", "-o", tmp_path)
    assert any("hardly moved" in each for each in still["Warnings"])


@needs_every_frame
def test_stripes_are_found_while_the_scene_moves(camera, tmp_path):
    random = np.random.default_rng(4)
    find_stripes(camera, tmp_path, "noise", textured(random), random)


def test_unsteady_and_overexposed_light_is_reported(camera, tmp_path):
    daemon = camera(*(captured(200 + 40 * (i % 2)) for i in range(10)))
    done = daemon.ctl("calibrate", "flat", "lamp", "-n", "20", "-o", tmp_path)
    assert "are white" in done.stderr and "varied by" in done.stderr
    assert f"{tmp_path}/lamp.pfm" in done.stdout and "flat:image=lamp.pfm" in done.stdout
    dark = daemon.ctl_json("calibrate", "dark", "-n", "2", "-o", tmp_path / "bright.pfm")
    assert any("covered lens" in each for each in dark["Warnings"])
    assert read_pfm(tmp_path / "bright.pfm").mean() > 0.5
    # The stage names an image, and not the file that -o has named.
    said = daemon.ctl("calibrate", "dark", "-n", "2", "-o", tmp_path / "bright.pfm").stdout
    assert "/dark.pfm and run" in said and "image=dark.pfm" in said


def test_wrong_use_is_refused(camera, tmp_path):
    daemon = camera(captured(100))
    for code, *arguments in ((64, "grey"), (64, "dark", "a/b"), (64, "dark", "x", "y"),
                             (64, "dark", "-n", "20000"), (64, "dark", ".hidden"),
                             (73, "dark", "-n", "1", "-o", "/nowhere/dark.pfm")):
        assert daemon.ctl("calibrate", *arguments, check=False).returncode == code, arguments
    assert not list(tmp_path.glob("*.pfm"))


def as_pfm(picture):
    height, width = picture.shape
    return b"Pf\n%d %d\n-1.0\n" % (width, height) + picture.astype("<f4").tobytes()


BAD = {
    "small.pfm": (as_pfm(np.full((100, 120), 0.1)), "120x100 pixels: expected 160x120"),
    "nan.pfm": (as_pfm(np.full((HEIGHT, WIDTH), np.nan)), "is nan: expected"),
    "inf.pfm": (as_pfm(np.full((HEIGHT, WIDTH), np.inf)), "is inf: expected"),
    "units.pfm": (as_pfm(np.full((HEIGHT, WIDTH), 16.0)), "is 16: expected "),
    "empty.pfm": (b"", "is empty"),
    "cut.pfm": (as_pfm(np.zeros((HEIGHT, WIDTH)))[:-7], "is truncated"),
    "huge.pfm": (b"Pf\n8192 8192\n-1.0\n", "8192x8192 pixels: expected"),
    "text.pfm": (b"no picture\n", "is not a number"),
}


def test_images_that_do_not_fit_change_nothing(camera, tmp_path):
    for name, (content, _) in BAD.items():
        (tmp_path / name).write_bytes(content)
    daemon = camera(captured(100))
    daemon.ctl("filter", "set", "gaussian-blur:sigma=1")
    shown = daemon.ctl("filter", "show", "--raw").stdout
    for name, (_, expected) in BAD.items():
        for chain in f"dark:image={name}", f"gain | flat:image={name}":
            done = daemon.ctl("filter", "set", chain, check=False)
            assert done.returncode == 65 and expected in done.stderr, done.stderr
            assert daemon.ctl("filter", "show", "--raw").stdout == shown
    assert daemon.ctl_json("status")["State"] == "online"


def test_a_reload_to_another_size_changes_nothing(start, tmp_path):
    """The file names both a camera of another size and a filter: neither is used."""
    (tmp_path / "dark.pfm").write_bytes(as_pfm(np.full((HEIGHT, WIDTH), 0.1)))
    config = tmp_path / "cam.conf"

    def write(size, chain):
        config.write_text('camera = { source = "pattern:moire"; size = "%dx%d"; };\n'
                          'filter = "%s";\n' % (*size, chain))
    write((WIDTH, HEIGHT), "dark:image=dark.pfm")
    daemon = start("--config", config, *FAST_KERNELS, source=None, size=None, fps=None,
                   env={"FFTD_IMAGE_DIR": str(tmp_path)})
    daemon.wait_until(lambda: daemon.ctl_json("status")["State"] == "online", "frames")
    write((128, 96), "dark:image=dark.pfm,hot=1")
    done = daemon.ctl("reload", check=False)
    assert done.returncode != 0
    assert "dark.pfm has 160x120 pixels: expected 128x96" in done.stderr
    status = daemon.ctl_json("status")
    assert (status["State"], status["Format"]["width"]) == ("online", WIDTH)
    assert "hot=0.1" in daemon.ctl("filter", "show", "--raw").stdout


def test_a_start_with_another_size_says_so(start, tmp_path):
    (tmp_path / "small.pfm").write_bytes(BAD["small.pfm"][0])
    daemon = start("--filter", "dark:image=small.pfm", *FAST_KERNELS,
                   env={"FFTD_IMAGE_DIR": str(tmp_path)})
    assert daemon.wait() != 0
    assert "small.pfm has 120x100 pixels: expected 160x120" in daemon.log


def test_a_new_recording_is_read_again(camera, tmp_path):
    daemon = camera(np.full((HEIGHT, WIDTH), 100, np.uint8))
    for level, expected in (0.1, 74.5), (0.2, 49):
        (tmp_path / "part").write_bytes(as_pfm(np.full((HEIGHT, WIDTH), level)))
        os.replace(tmp_path / "part", tmp_path / "dark.pfm")
        daemon.ctl("filter", *(("set", "dark:image=dark.pfm") if level == 0.1 else
                               ("edit", "set", "dark.image=dark.pfm")))
        assert abs(newest(daemon, tmp_path / "frame").mean() - expected) < 1


def test_an_image_elsewhere_has_to_be_moved(start, tmp_path):
    """A daemon finds images only in its directory of images, which the stage does not name."""
    env = {"FFTD_IMAGE_DIR": str(tmp_path / "images")}
    daemon = start(env=env)
    daemon.wait_for_log("online")

    def calibrating(*arguments):
        return [BUILD / "fftd-ctl", "--runtime-dir", daemon.runtime_dir, "calibrate", "dark",
                *arguments]

    def calibrate(*arguments):
        return subprocess.run(calibrating("-n", "2", *arguments), env={**os.environ, **env},
                              capture_output=True, text=True, timeout=PATIENCE, check=True).stdout

    # 10000 frames would take minutes, so this ends in time only if it is refused before the first.
    failed = subprocess.run(calibrating("-n", "10000"), env={**os.environ, **env},
                            capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert failed.returncode == 73 and f"move it to {tmp_path / 'images'}" in failed.stderr
    (tmp_path / "images").mkdir()
    said = calibrate()
    assert "move it to" not in said
    for_it = f"fftd-ctl --runtime-dir '{daemon.runtime_dir}'"
    assert f"to use the image, run `{for_it} filter add dark:image=dark.pfm`\n" in said
    assert f"to use the image, move it to {tmp_path / 'images/dark.pfm'} and run" in \
        calibrate("-o", str(tmp_path))
