"""Shows each preset a picture with the problem that it is for, and measures what it makes of it."""

import pathlib
import shutil
import tempfile

import pytest

from conftest import BUILD, FAST_KERNELS
from test_filters import Filtered, half_diagonals

np = pytest.importorskip("numpy", reason="python3-numpy is not installed")
# pylint: disable-next=wrong-import-position
from moire import amplitude, amplitudes, luma  # noqa: E402

PRESETS = pathlib.Path(__file__).resolve().parents[2] / "config/presets"
WIDTH, HEIGHT = 240, 180
Y, X = np.mgrid[:HEIGHT, :WIDTH]

# These need more than one frame: the files that show recordings to them.
OF_RECORDINGS = {"mains-flicker": "test_deflicker.py", "interference": "test_auto_notch.py",
                 "fixed-pattern": "test_calibrate.py"}


def scene():
    """A picture with the spectrum of natural ones, and with edges; nothing in it clips."""
    random = np.random.default_rng(4)
    f = np.hypot(np.fft.fftfreq(HEIGHT)[:, None], np.fft.fftfreq(WIDTH))
    falloff = 1 / np.maximum(f, 1 / WIDTH) ** 1.3
    picture = np.fft.ifft2(np.fft.fft2(random.normal(size=(HEIGHT, WIDTH))) * falloff).real
    picture = 120 + 25 * picture / picture.std()
    picture[np.hypot(X - 70, Y - 60) < 30] += 30
    picture[(X > 150) & (X < 200) & (Y > 90) & (Y < 130)] -= 35
    return np.clip(picture, 45, 205)


def detailed():
    return (100 + 60 * (np.hypot(X - 60, Y - 60) < 25) + 50 * ((X // 9 + Y // 13) % 3 == 0) +
            30 * np.sin(X * X / 400))


def noise(sigma, shape=(HEIGHT, WIDTH)):
    return np.random.default_rng(3).normal(0, sigma, shape)


def wave(fx, fy, amplitude):
    return amplitude * np.cos(2 * np.pi * (fx * X + fy * Y))


def convolved(picture, h):
    """With the response h(fx, fy); the picture is periodic."""
    fy, fx = np.meshgrid(np.fft.fftfreq(HEIGHT), np.fft.fftfreq(WIDTH), indexing="ij")
    return np.fft.ifft2(np.fft.fft2(picture) * h(fx, fy)).real


def smoothed(picture, sigma):
    return convolved(picture, lambda x, y: np.exp(-2 * (np.pi * sigma) ** 2 * (x ** 2 + y ** 2)))


def defocused(picture):
    """By a disk of 3 pixels' radius, in steps of a twelfth of a pixel."""
    fine = 12
    y, x = np.mgrid[-3 * fine:3 * fine + 1, -3 * fine:3 * fine + 1] / fine
    kernel = {}
    for dx, dy in zip(x[x ** 2 + y ** 2 <= 9], y[x ** 2 + y ** 2 <= 9]):
        at = round(dx), round(dy)
        kernel[at] = kernel.get(at, 0) + 1
    total = sum(kernel.values())
    return sum(np.roll(picture, (dy, dx), (0, 1)) * weight / total
               for (dx, dy), weight in kernel.items())


def moved(picture):
    """9 pixels sideways during the exposure."""
    return sum(np.roll(picture, shift, 1) for shift in range(-4, 5)) / 9


def darkened(picture):
    """By a lens a little different from the one that the preset is for."""
    radius = half_diagonals(picture)
    return picture / (1 + 0.4 * radius ** 2 + 0.1 * radius ** 4)


def pulses():
    """LEDs that are off for a fifth of each pulse, 17 rows long, in a room with other light."""
    return 1 - 0.25 * smoothed((Y % 17 < 3.4) * 1.0, 1.5)


def screened(picture):
    """Printed with a screen of 45 degrees and 6 pixels, and seen by a lens."""
    turn = 2 * np.pi / 6 / 2 ** 0.5
    screen = np.cos(turn * (X + Y)) + np.cos(turn * (X - Y))
    tone = np.argsort(np.argsort(screen.ravel())).reshape(screen.shape) / screen.size
    return smoothed(40 + 170 * (tone < (picture - 40) / 170), 0.8)


# What the camera sees, what it should be, and by how much that is nearer afterwards, in dB.
NEARER = {
    "moire": (lambda: scene() + wave(0.26, 0.05, 12) + wave(-0.1, 0.24, 10), scene, 3),
    "halftone-screen": (lambda: screened(scene()), scene, 10),
    "row-noise": (lambda: scene() + noise(6, (HEIGHT, 1)), scene, 4),
    "column-noise": (lambda: scene() + noise(6, (1, WIDTH)), scene, 4),
    "checkerboard": (lambda: scene() + wave(0.5, 0.5, 8), scene, 10),
    "interlace-lines": (lambda: scene() + wave(0, 0.5, 8), scene, 5),
    "led-banding": (lambda: scene() * pulses(), lambda: scene() * pulses().mean(), 5),
    "defocus": (lambda: defocused(detailed()) + noise(1), detailed, 3),
    "motion-deblur": (lambda: moved(detailed()) + noise(1), detailed, 3),
    "vignette": (lambda: darkened(detailed()), detailed, 15),
    "sharpen": (lambda: smoothed(detailed(), 0.6), detailed, 2),
    "unsharp": (lambda: smoothed(detailed(), 0.9), detailed, 2),
    "sharpen-strong": (lambda: smoothed(detailed(), 1.2), detailed, 2),
    "denoise-light": (lambda: scene() + noise(8), scene, 3),
    "denoise-strong": (lambda: scene() + noise(25), scene, 8),
    "smooth-noise": (lambda: scene() + noise(12), scene, 4),
}


class Seen:
    """One picture, as a daemon's camera delivers it."""

    def __init__(self, module, tmp_path):
        self.module, self.tmp_path = module, tmp_path

    def through(self, preset, picture):
        captured = np.clip(np.rint(picture), 0, 255).astype("u1")
        directory = pathlib.Path(tempfile.mkdtemp(prefix="fftd-test-"))
        filtered = Filtered(directory, self.tmp_path / "log", captured, self.module,
                            FAST_KERNELS)
        try:
            return captured.astype(float), filtered.frame(f"preset:{preset}")[0].astype(float)
        finally:
            filtered.close()
            shutil.rmtree(directory)


@pytest.fixture
def seen(tmp_path):
    if "san" in BUILD.name:
        pytest.skip("a sanitized library cannot be loaded into Python")
    import fftd  # pylint: disable=import-outside-toplevel
    return Seen(fftd, tmp_path)


def psnr_db(picture, reference):
    inside = np.s_[16:-16, 16:-16]  # what came from beyond the edges is unknown
    return 10 * np.log10(255 ** 2 / np.mean((picture[inside] - reference[inside]) ** 2))


def test_every_preset_is_shown_a_picture():
    here = {name[len("test_"):].replace("_", "-") for name in globals() if name.startswith("test_")}
    names = {path.stem for path in PRESETS.glob("*.conf")}
    assert names == (NEARER.keys() | OF_RECORDINGS.keys() | here) & names
    for preset, file in OF_RECORDINGS.items():
        assert preset in (pathlib.Path(__file__).parent / file).read_text()


@pytest.mark.parametrize("preset", NEARER)
def test_pictures_come_nearer(seen, preset):
    picture, wanted, least = NEARER[preset]
    captured, result = seen.through(preset, picture())
    before, after = psnr_db(captured, wanted()), psnr_db(result, wanted())
    print(f"# figures: {preset} {before:.1f} dB before, {after:.1f} dB after")
    assert after > before + least


@pytest.mark.parametrize("period", [3, 3.5, 4, 5])
def test_moire(seen, period):
    """It removes what its summary says, in any direction."""
    directions = np.radians([0, 33, 90, 140])
    waves = [(np.cos(angle) / period, np.sin(angle) / period) for angle in directions]
    captured, result = seen.through("moire", 128 + sum(wave(*each, 20) for each in waves))
    for each in waves:
        assert amplitude(result, *each) < 0.12 * amplitude(captured, *each)


def test_moire_of_the_scene(start, seen):
    """Of the scene that README.md shows it with, it leaves no wave."""
    daemon = start("--filter", "none", "--set", "camera.format=GREY", size="320x240")
    daemon.wait_for_socket("frames")
    with seen.module.Camera(str(daemon.runtime_dir)) as camera:
        before = amplitudes(luma(camera, 1))
        serial = daemon.change("filter", "preset", "moire")
        after = amplitudes(luma(camera, serial))
    print(f"# figures: waves of {before.round(1)} before, {after.round(1)} after")
    assert before.min() > 10
    assert all(after < 0.12 * before)


def test_uneven_light(seen):
    """A texture lit from one side: afterwards its brightness and its contrast are even."""
    texture = 150 + 60 * ((X // 5 + Y // 7) % 2)
    shaded, flat = seen.through("uneven-light", texture * (0.65 + 0.35 * np.cos(np.pi * X / WIDTH)))
    for name, measure in ("brightness", np.mean), ("contrast", np.std):
        before, after = (min(each) / max(each) for each in (
            list(map(measure, np.array_split(picture, 8, 1))) for picture in (shaded, flat)))
        print(f"# figures: evenness of {name}: {before:.2f} before, {after:.2f} after")
        assert after > 0.6 > 0.5 > before
    assert abs(np.log1p(flat).mean() - np.log1p(shaded).mean()) < 0.2


def test_edges(seen):
    """Lines on black, at the outline of a disk and nowhere else."""
    distance = np.hypot(X - 120, Y - 90) - 50
    _, drawn = seen.through("edges", 80 + 100 * (distance < 0))
    assert drawn[(distance > -2) & (distance < -1)].min() > 20
    assert drawn[abs(distance) > 8].max() <= 1


def test_relief(seen):
    """Slopes that rise to the right are bright, those that fall are dark, and all else is grey."""
    captured, drawn = seen.through("relief", 60 + 3 * np.clip(40 - abs(X - 120), 0, 30))
    grey, middle = captured.mean(), drawn.mean(0)
    assert middle[100] == pytest.approx(grey + 9, abs=1)
    assert middle[140] == pytest.approx(grey - 9, abs=1)
    assert middle[[40, 120]] == pytest.approx(grey, abs=1)


def test_fine_texture(seen):
    """Stripes stay, and what changes slowly is gone."""
    slow = 50 * np.cos(2 * np.pi * X / 120)
    captured, result = seen.through("fine-texture", 128 + slow + wave(0.3, 0.1, 20))
    assert amplitude(result, 0.3, 0.1) == pytest.approx(amplitude(captured, 0.3, 0.1), rel=0.03)
    assert amplitude(result, 1 / 120, 0) < 0.03 * amplitude(captured, 1 / 120, 0)
    assert result.mean() == pytest.approx(captured.mean(), abs=10)  # that of the mirrored picture


def test_soft_focus(seen):
    """Fine detail keeps 60 % of its contrast, and what is large keeps all."""
    captured, result = seen.through("soft-focus", 128 + 40 * np.cos(2 * np.pi * X / 120) +
                                    wave(0.3, 0.1, 20))
    assert amplitude(result, 0.3, 0.1) == pytest.approx(0.6 * amplitude(captured, 0.3, 0.1),
                                                        rel=0.03)
    assert amplitude(result, 1 / 120, 0) > 0.95 * amplitude(captured, 1 / 120, 0)
