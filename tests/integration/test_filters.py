"""Checks whole frames, every kind of filter, against models in double precision that are written
from the formulas of the manual and share no code with the daemon."""

import os
import pathlib
import re
import shutil
import sys
import tempfile

import pytest

from conftest import BUILD, FAST_KERNELS, PATIENCE, Daemon

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "client" / "python"))
os.environ.setdefault("LIBFFTD", str(BUILD / "libfftd.so.0"))
np = pytest.importorskip("numpy", reason="python3-numpy is not installed")

WIDTH, HEIGHT = 90, 62


# ---- models: H of each kind, for arrays of frequencies in cycles per pixel ----

def cut(shape, d, order=2):
    """A lowpass at d times its cutoff; half of the power is left at d = 1."""
    with np.errstate(over="ignore"):
        return {"ideal": lambda: (d <= 1) * 1.0,
                "butterworth": lambda: (1 + d ** (2 * order)) ** -0.5,
                "gaussian": lambda: 2 ** (-d ** 2 / 2)}[shape]()


def cut_out(shape, d, order=2):
    """The highpass of the same shape."""
    with np.errstate(divide="ignore"):
        return {"ideal": lambda: (d > 1) * 1.0,
                "butterworth": lambda: (1 + d ** (-2.0 * order)) ** -0.5,
                "gaussian": lambda: 1 - (1 - 0.5 ** 0.5) ** (d ** 2)}[shape]()


def mean_is(gain, h):
    """Sets the gain of frequency 0."""
    h = h.copy()
    h[0, 0] = gain
    return h


def band(fx, fy, low, high):
    f = np.hypot(fx, fy)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.abs((f ** 2 - low * high) / (f * (high - low)))


def gaussian(fx, fy, sigma):
    return np.exp(-2 * np.pi ** 2 * sigma ** 2 * (fx ** 2 + fy ** 2))


def notch(fx, fy, x, y, width):
    nearest = np.inf
    for sign in (1, -1):
        for px in (-1, 0, 1):
            for py in (-1, 0, 1):
                nearest = np.minimum(nearest, np.hypot(fx - sign * x - px, fy - sign * y - py))
    return cut_out("gaussian", nearest / (width / 2))


def weights(fx, fy, kernel, anchor=(0, 0)):
    """The transform of a kernel around its middle element, moved by the anchor."""
    kernel = np.array(kernel, float)
    h = 0
    for (y, x), weight in np.ndenumerate(kernel):
        h = h + weight * np.exp(-2j * np.pi * (fx * (x - kernel.shape[1] // 2 - anchor[0]) +
                                               fy * (y - kernel.shape[0] // 2 - anchor[1])))
    return h


def wedge(fx, fy, angle, width):
    degrees = np.degrees(np.arctan2(fy, fx))
    off = np.abs((degrees - angle + 90) % 180 - 90)
    return mean_is(1, cut("gaussian", off / (width / 2)))


def disk(fx, fy, radius):
    """The transform of a disk, summed over its rows, whose transforms are known."""
    turn = (np.arange(400)[:, None, None] + 0.5) * np.pi / 400
    y, half = radius * np.cos(turn), radius * np.sin(turn)
    rows = half * np.sinc(2 * half * fx) * np.cos(2 * np.pi * fy * y)
    return (rows * np.sin(turn)).sum(0) / (half * np.sin(turn)).sum()


def restore(fx, fy, blur, noise, falloff=3):
    return mean_is(1, blur / (blur ** 2 + noise * (np.hypot(fx, fy) / 0.1) ** falloff))


# ---- images: the pixels, and the bytes of a file ----

def as_pgm(pixels, white=255):
    kind = ">u2" if white > 255 else "u1"
    return b"P5\n%d %d\n%d\n" % (*pixels.shape[::-1], white) + pixels.astype(kind).tobytes()


def as_pfm(pixels):
    return b"Pf\n%d %d\n-1.0\n" % pixels.shape[::-1] + pixels[::-1].astype("<f4").tobytes()


def as_text(pixels):
    return "\n".join(" ".join(map(repr, row)) for row in pixels.tolist()).encode()


def make_images():
    """Of each format, even and odd sizes; the largest kernel is larger than the picture."""
    random = np.random.default_rng(5)
    y, x = np.mgrid[-127:128, -127:128]
    spread = np.rint(65535 * np.exp(-(x ** 2 + y ** 2) / 900.0))
    psf = np.rint(255 * np.exp(-(x ** 2 + x * y + 2 * y ** 2) / 5.0))[120:135, 121:134]
    lump = random.integers(0, 256, (6, 4))
    signed = random.normal(0, 0.2, (5, 8)).astype("f4").astype(float)
    hill = np.exp(-(x ** 2 + 2 * y ** 2) / 9.0)[122:133, 123:132].round(6)
    drawn = np.repeat(np.repeat(random.integers(0, 256, (8, 6)), 4, 0), 6, 1)[:31]
    emboss = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2.0]])
    return {"spread.pgm": (spread / 65535, as_pgm(spread, 65535)),
            "psf.pgm": (psf / 255, as_pgm(psf)), "lump.pgm": (lump / 255, as_pgm(lump)),
            "drawn.pgm": (drawn / 255, as_pgm(drawn)), "hill.txt": (hill, as_text(hill)),
            "signed.pfm": (signed, as_pfm(signed)), "emboss.txt": (emboss, as_text(emboss))}


IMAGES = make_images()


def write_images(directory):
    directory.mkdir(exist_ok=True)
    for name, (_, data) in IMAGES.items():
        (directory / name).write_bytes(data)


def image(fx, fy, name, anchor=(0, 0)):
    """The transform of an image around its middle pixel, by one matrix product along each axis."""
    pixels = IMAGES[name][0] if isinstance(name, str) else name
    turns = [np.exp(-2j * np.pi * np.multiply.outer(f, np.arange(length) - length // 2 - at))
             for f, length, at in ((fy[:, 0], pixels.shape[0], anchor[1]),
                                   (fx[0], pixels.shape[1], anchor[0]))]
    return turns[0] @ pixels @ turns[1].T


def mask(fx, fy, name):
    """Each pixel is a tent as wide as two, on the circle of frequencies."""
    pixels = IMAGES[name][0]

    def tents(f, length):
        off = f[:, None] * length + length // 2 - np.arange(length)
        return np.clip(1 - np.abs((off + length / 2) % length - length / 2), 0, None)

    def drawn(sign):
        return tents(sign * fy[:, 0], pixels.shape[0]) @ pixels @ \
            tents(sign * fx[0], pixels.shape[1]).T
    return (drawn(1) + drawn(-1)) / 2


def restore_spread(fx, fy, name, noise):
    blur = image(fx, fy, name) / IMAGES[name][0].sum()
    return mean_is(1, blur.conj() / (np.abs(blur) ** 2 + noise * (np.hypot(fx, fy) / 0.1) ** 3))


def match(fx, fy, name, gain=2, dc=0):
    """A perfect match has the picture's standard deviation."""
    template = (IMAGES[name][0] - IMAGES[name][0].mean()) / IMAGES[name][0].std()
    return mean_is(dc, gain * image(fx, fy, template).conj() / template.size)


MODELS = {
    "none": lambda x, y: 1 + 0 * x,
    "lowpass:cutoff=0.1": lambda x, y: cut("gaussian", np.hypot(x, y) / 0.1),
    "lowpass:shape=ideal,cutoff=0.2": lambda x, y: cut("ideal", np.hypot(x, y) / 0.2),
    "highpass:shape=butterworth,cutoff=0.1,order=3,dc=1":
        lambda x, y: mean_is(1, cut_out("butterworth", np.hypot(x, y) / 0.1, 3)),
    "bandpass:shape=butterworth,low=0.1,high=0.3,dc=1":
        lambda x, y: mean_is(1, cut("butterworth", band(x, y, 0.1, 0.3))),
    "bandstop:low=0.1,high=0.3":
        lambda x, y: mean_is(1, cut_out("gaussian", band(x, y, 0.1, 0.3))),
    "notch:at=0.21/-0.13,width=0.05": lambda x, y: notch(x, y, 0.21, -0.13, 0.05),
    "gaussian-blur:sigma=2.5": lambda x, y: gaussian(x, y, 2.5),
    "box-blur:radius=3": lambda x, y: weights(x, y, np.ones((7, 7)) / 49).real,
    "sharpen:amount=1.5,sigma=2": lambda x, y: 1 + 1.5 * (1 - gaussian(x, y, 2)),
    "highboost:base=0.7,boost=1.5,cutoff=0.15":
        lambda x, y: 0.7 + 1.5 * cut_out("gaussian", np.hypot(x, y) / 0.15),
    "laplacian:gain=0.5,dc=1":
        lambda x, y: mean_is(1, 0.5 * weights(x, y, [[0, -1, 0], [-1, 4, -1], [0, -1, 0]]).real),
    "directional:angle=30,width=40": lambda x, y: wedge(x, y, 30, 40),
    "auto-notch": lambda x, y: 1 + 0 * x,  # test_auto_notch.py has periodic noise
    "deflicker": lambda x, y: 1 + 0 * x,  # test_deflicker.py has light that flickers
    "gain:dc=0.8,ac=1.3": lambda x, y: mean_is(0.8, 1.3 + 0 * x),
    "wiener:size=1.2,noise=0.02,falloff=0":
        lambda x, y: restore(x, y, gaussian(x, y, 1.2), 0.02, 0),
    "wiener:blur=disk,size=2.5": lambda x, y: restore(x, y, disk(x, y, 2.5), 0.002),
    "wiener:blur=motion,size=5,angle=-30,noise=0.01,falloff=2":
        lambda x, y: restore(x, y, np.sinc(5 * (x * 3 ** 0.5 / 2 - y / 2)), 0.01, 2),
    "convolve:kernel=1 2 1/2 4 2/1 2 1,normalise=sum":
        lambda x, y: weights(x, y, np.outer([1, 2, 1], [1, 2, 1]) / 16),
    "convolve:kernel=1 2 -3 0.5/0 4 5 -1,anchor=1/-2":
        lambda x, y: weights(x, y, [[1, 2, -3, 0.5], [0, 4, 5, -1]], (1, -2)),
    "convolve:kernel=2 1 0/1 1 -1/0 -1 -2,correlate=true":
        lambda x, y: np.conj(weights(x, y, [[2, 1, 0], [1, 1, -1], [0, -1, -2]])),
    "convolve:image=spread.pgm,normalise=sum":
        lambda x, y: image(x, y, "spread.pgm") / IMAGES["spread.pgm"][0].sum(),
    "convolve:image=lump.pgm,normalise=sum,anchor=-2/9":
        lambda x, y: image(x, y, "lump.pgm", (-2, 9)) / IMAGES["lump.pgm"][0].sum(),
    "convolve:image=signed.pfm,correlate=true | gain:dc=0.5":
        lambda x, y: mean_is(0.5 * IMAGES["signed.pfm"][0].sum(),
                             np.conj(image(x, y, "signed.pfm"))),
    "convolve:image=emboss.txt | gaussian-blur:sigma=1":
        lambda x, y: image(x, y, "emboss.txt") * gaussian(x, y, 1),
    "mask:image=drawn.pgm,gain=1.3": lambda x, y: 1.3 * mask(x, y, "drawn.pgm"),
    "mask:image=lump.pgm | shift:by=3/1":
        lambda x, y: mask(x, y, "lump.pgm") * np.exp(-2j * np.pi * (3 * x + y)),
    "wiener:blur=image,image=psf.pgm":
        lambda x, y: restore_spread(x, y, "psf.pgm", 0.002),
    "wiener:blur=image,image=lump.pgm,noise=0.05":
        lambda x, y: restore_spread(x, y, "lump.pgm", 0.05),
    "match:image=hill.txt,gain=3,dc=0.5": lambda x, y: match(x, y, "hill.txt", 3, 0.5),
    "match:image=lump.pgm": lambda x, y: match(x, y, "lump.pgm"),
    "gradient:sigma=0.8,gain=2":
        lambda x, y: mean_is(1, 2 * 2j * np.pi * x * gaussian(x, y, 0.8)),
    "gradient:along=y,dc=0.5":
        lambda x, y: mean_is(0.5, 2j * np.pi * y * gaussian(x, y, 1)),
    "shift:by=7/-3": lambda x, y: np.exp(-2j * np.pi * (7 * x - 3 * y)),
    "shift:by=-0.5/2.25": lambda x, y: np.exp(-2j * np.pi * (-0.5 * x + 2.25 * y)),
    "shift:by=2.5/0 | gradient:along=y | gaussian-blur:sigma=1":
        lambda x, y: (np.exp(-2j * np.pi * 2.5 * x) * gaussian(x, y, 1) *
                      mean_is(1, 2j * np.pi * y * gaussian(x, y, 1))),
}


LIGHT = {"srgb": (0.055, 0.04045, 12.92, 2.4), "gamma": (0, 256 ** (-1 / 0.8), 256, 1.8),
         "bt709": (0.09929682680944, 4.5 * 0.018053968510807, 4.5, 1 / 0.45)}


def light(encoding):
    offset, cut, divisor, power = LIGHT[encoding]
    return (lambda s: 255 * np.where(s / 255 <= cut, s / 255 / divisor,
                                     ((s / 255 + offset) / (1 + offset)) ** power),
            lambda v: 255 * np.where(v / 255 <= cut / divisor, v / 255 * divisor,
                                     (1 + offset) * (v / 255) ** (1 / power) - offset))


LOGARITHM = (lambda s: 255 * np.log(1 + s) / np.log(256), lambda v: 256 ** (v / 255) - 1)

# Chains that filter a function of the samples: that function and its inverse.
CURVES = {
    "homomorphic": LOGARITHM,
    "highboost:base=0.5,boost=1,cutoff=0.05 | homomorphic": LOGARITHM,
    "linear-light": light("srgb"),
    "linear-light | gaussian-blur:sigma=2.5": light("srgb"),
    "linear-light:encoding=bt709 | gaussian-blur:sigma=2.5": light("bt709"),
    "linear-light:encoding=gamma,gamma=1.8 | gaussian-blur:sigma=2.5": light("gamma"),
}
MODELS |= {chain: MODELS.get(chain.rpartition(" | ")[2], MODELS["none"]) for chain in CURVES}
MODELS["highboost:base=0.5,boost=1,cutoff=0.05 | homomorphic"] = \
    lambda x, y: 0.5 + cut_out("gaussian", np.hypot(x, y) / 0.05)


def half_diagonals(picture):
    """The distance of each pixel from the middle; 1 is a corner."""
    height, width = picture.shape
    y, x = np.mgrid[:height, :width]
    return np.hypot(x + 0.5 - width / 2, y + 0.5 - height / 2) / (np.hypot(width, height) / 2)


# What is done to captured samples, and the filter after that.
CORRECTIONS = {
    "vignette:a=0.6,b=-0.2": (lambda p: p * (1 + 0.6 * half_diagonals(p) ** 2 -
                                             0.2 * half_diagonals(p) ** 4), "none"),
    "gain:dc=0.8,ac=1.3 | vignette:a=0,b=1": (lambda p: p * (1 + half_diagonals(p) ** 4),
                                              "gain:dc=0.8,ac=1.3"),
}


def model(picture, chain, padded):
    """The filtered picture: extended on all sides by reflection, transformed, multiplied."""
    pad = [whole - part for whole, part in zip(padded, picture.shape)]
    around = [(each // 2, each - each // 2) for each in pad]
    bend, unbend = CURVES.get(chain, (lambda s: s, lambda v: v))
    wide = np.pad(bend(picture.astype(float)), around, "reflect")
    wide = np.roll(wide, [-before for before, _ in around], (0, 1))
    fy, fx = np.meshgrid(*(np.fft.fftfreq(length) for length in padded), indexing="ij")
    # -0.5 and 0.5 are the same frequency, where H is the mean of both.
    h = sum(MODELS[chain](x, y) for x in (fx, np.where(fx == -0.5, 0.5, fx))
            for y in (fy, np.where(fy == -0.5, 0.5, fy))) / 4
    out = np.fft.ifft2(np.fft.fft2(wide) * h)
    assert np.abs(out.imag).max() < 1e-9
    out = unbend(np.clip(out.real, 0, 255)) if chain in CURVES else out.real
    return out[:picture.shape[0], :picture.shape[1]]


# ---- the daemon ----

def write_clip(path, picture):
    path.write_bytes(b"YUV4MPEG2 W%d H%d F60:1 Ip A1:1 Cmono\nFRAME\n" % picture.shape[::-1] +
                     picture.tobytes())


def random_picture():
    """Edges, a wave and noise; parts of it are black and white."""
    random = np.random.default_rng(7)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    picture = (90 + 60 * (x > 40) + 40 * (y > 25) + 25 * np.sin(0.8 * x + 0.5 * y) +
               random.normal(0, 20, (HEIGHT, WIDTH)))
    picture[:8, :20] = 255 * (x[:8, :20] % 4 < 2)
    return np.clip(np.rint(picture), 0, 255).astype(np.uint8)


class Filtered:
    """A daemon that repeats one picture, and a reader of it."""

    def __init__(self, directory, log, picture, module, arguments=()):
        clip = directory / "clip.y4m"
        write_clip(clip, picture)
        write_images(directory / "images")
        self.daemon = Daemon(directory / "run", log,
                             ["--source", f"file:{clip}", "--set", "camera.loop=true",
                              "--set", f"engine.cache_dir={directory}/cache", *arguments],
                             {**os.environ, "FFTD_IMAGE_DIR": str(directory / "images")})
        self.daemon.wait_for_socket("frames")
        self.camera = module.Camera(str(self.daemon.runtime_dir))

    def frame(self, chain):
        """A frame of this filter, and the size to which its engine pads."""
        serial = self.daemon.ctl_json("filter", "set", chain)["Serial"]
        for frame in self.camera.frames():
            if frame.filter_serial == serial:
                planes = frame.copy()
                if planes is not None:
                    break
        engine = self.daemon.ctl_json("status")["Engine"]
        width, height = map(int, re.search(r" in (\d+)x(\d+)", engine).groups())
        return planes[0], (height, width)

    def close(self):
        self.camera.close()
        self.daemon.process.kill()
        self.daemon.process.wait()
        self.daemon.log_file.close()


@pytest.fixture(scope="module")
def fftd_module():
    if "san" in BUILD.name:
        pytest.skip("a sanitized library cannot be loaded into Python")
    import fftd  # pylint: disable=import-outside-toplevel
    return fftd


@pytest.fixture(scope="module")
def filtered(fftd_module, tmp_path_factory):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="fftd-test-"))
    each = Filtered(directory, tmp_path_factory.mktemp("log") / "log", random_picture(),
                    fftd_module, ["--set", "engine.margin=20", *FAST_KERNELS])
    yield each
    each.close()
    shutil.rmtree(directory)


def test_every_kind_has_a_model(filtered):
    kinds = {kind["name"] for kind in filtered.daemon.ctl_json("filter", "kinds")}
    assert kinds == {re.split("[: ]", chain)[0] for chain in MODELS | CORRECTIONS} - {"none"}


@pytest.mark.parametrize("chain", MODELS)
def test_frames_match_the_model(filtered, chain):
    got, padded = filtered.frame(chain)
    wanted = np.clip(model(random_picture(), chain, padded), 0, 255)
    # Rounded to the nearest; floats cannot tell which one that is in the middle between two.
    worst = np.abs(got - wanted).max()
    print(f"{chain}: {worst:.4f} grey levels")
    assert worst < 0.505


@pytest.mark.parametrize("chain", CORRECTIONS)
def test_corrected_frames_match_the_model(filtered, chain):
    correct, rest = CORRECTIONS[chain]
    got, padded = filtered.frame(chain)
    wanted = np.clip(model(correct(random_picture()), rest, padded), 0, 255)
    worst = np.abs(got - wanted).max()
    print(f"{chain}: {worst:.4f} grey levels")
    assert worst < 0.505


# ---- presets that undo something ----

def disk_blur(picture):
    """A defocused lens: 3 pixels' radius, in steps of a twelfth of a pixel."""
    fine = 12
    y, x = np.mgrid[-3 * fine:3 * fine + 1, -3 * fine:3 * fine + 1] / fine
    kernel = {}
    for dx, dy in zip(x[x ** 2 + y ** 2 <= 9], y[x ** 2 + y ** 2 <= 9]):
        at = round(dx), round(dy)
        kernel[at] = kernel.get(at, 0) + 1
    total = sum(kernel.values())
    return sum(np.roll(picture, (dy, dx), (0, 1)) * weight / total
               for (dx, dy), weight in kernel.items())


def motion_blur(picture):
    """9 pixels sideways during the exposure."""
    return sum(np.roll(picture, shift, 1) for shift in range(-4, 5)) / 9


def psnr(picture, reference):
    inside = (slice(16, -16), slice(16, -16))  # what came from beyond the edges is unknown
    return 10 * np.log10(255 ** 2 / np.mean((picture[inside] - reference[inside]) ** 2.0))


@pytest.mark.parametrize("preset, blur", [("defocus", disk_blur), ("motion-deblur", motion_blur)])
def test_presets_undo_blurs(fftd_module, tmp_path, preset, blur):
    random = np.random.default_rng(3)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="fftd-test-"))
    y, x = np.mgrid[:120, :160]
    sharp = (100 + 60 * (np.hypot(x - 60, y - 60) < 25) + 50 * ((x // 9 + y // 13) % 3 == 0) +
             30 * np.sin(x * x / 400))
    blurred = np.clip(np.rint(blur(sharp) + random.normal(0, 1, sharp.shape)), 0, 255)
    filtered = Filtered(directory, tmp_path / "log", blurred.astype(np.uint8), fftd_module,
                        ["--set", "engine.margin=20", *FAST_KERNELS])
    try:
        restored, _ = filtered.frame(f"preset:{preset}")
    finally:
        filtered.close()
        shutil.rmtree(directory)
    before, after = psnr(blurred, sharp), psnr(restored.astype(float), sharp)
    print(f"{preset}: {before:.1f} dB before, {after:.1f} dB after")
    assert after > before + 3


# ---- a preset for light that is uneven ----

def evenness(picture, measure):
    """The least of eight columns' measures in relation to the greatest."""
    each = [measure(part) for part in np.array_split(picture.astype(float), 8, 1)]
    return min(each) / max(each)


def test_flatten_illumination(fftd_module, tmp_path):
    """A texture lit from one side: afterwards its brightness and its contrast are even."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="fftd-test-"))
    y, x = np.mgrid[:240, :320]
    texture = 150 + 60 * ((x // 5 + y // 7) % 2)
    shaded = np.rint(texture * (0.65 + 0.35 * np.cos(np.pi * x / 320))).astype(np.uint8)
    filtered = Filtered(directory, tmp_path / "log", shaded, fftd_module, FAST_KERNELS)
    try:
        flat, _ = filtered.frame("preset:flatten-illumination")
    finally:
        filtered.close()
        shutil.rmtree(directory)
    for name, measure in ("brightness", np.mean), ("contrast", np.std):
        before, after = evenness(shaded, measure), evenness(flat, measure)
        print(f"# figures: evenness of {name}: {before:.2f} before, {after:.2f} after")
        assert after > 0.7 > 0.5 > before
    assert abs(np.log1p(flat).mean() - np.log1p(shaded).mean()) < 0.1


def test_the_preset_for_dark_corners(fftd_module, tmp_path):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="fftd-test-"))
    y, x = np.mgrid[:120, :160]
    even = 130 + 50 * ((x // 9 + y // 13) % 3 == 0) + 30 * np.sin(x * x / 400)
    radius = half_diagonals(even)
    dark = np.rint(even / (1 + 0.4 * radius ** 2 + 0.1 * radius ** 4))  # a lens slightly different
    filtered = Filtered(directory, tmp_path / "log", dark.astype(np.uint8), fftd_module,
                        FAST_KERNELS)
    try:
        corrected, _ = filtered.frame("preset:vignette")
    finally:
        filtered.close()
        shutil.rmtree(directory)
    before, after = psnr(dark, even), psnr(corrected.astype(float), even)
    print(f"# figures: vignette {before:.1f} dB before, {after:.1f} dB after")
    assert after > before + 15
