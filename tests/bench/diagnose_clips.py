"""Clips of photographs with known faults, for tests and figures of `fftd-ctl diagnose`.

A clip is a photograph of scikit-image that a camera looks at: still, panning or held in a hand,
with a little noise. Faults are put in where they arise: screens belong to the scene, blur and
shading to the lens, flicker to the light, and the rest to the sensor and its electronics. Each
fault's strength is drawn from a range, which is written beside it.
"""

import pathlib

import numpy as np

WIDTH, HEIGHT, FRAMES, RATE = 400, 300, 40, 30
# Those that are photographs, of at least 440 x 340 pixels, and neither blurred nor unevenly lit
# themselves: no microscope's, no scanned page, and not the moon.
PHOTOGRAPHS = ["astronaut.png", "camera.png", "chelsea.png", "coffee.png", "rocket.jpg",
               "motorcycle_left.png", "motorcycle_right.png", "brick.png", "grass.png",
               "gravel.png"]
MARGIN = 20  # pixels by which a clip may pan to each side
FAULTS = ["periodic-noise", "screen", "flicker", "stripes", "hot-pixels", "shading", "defocus",
          "motion-blur", "noise", "shake", "clipping", "exposure"]
# What cannot be beside each other: of two blurs only the longer one can be told; a screen is
# blurred away; and a picture that is cut off or dark hides the rest.
APART = [{"defocus", "motion-blur"}, {"screen", "defocus"}, {"screen", "motion-blur"},
         {"clipping", "exposure"}, {"exposure", "shading"}, {"exposure", "screen"},
         {"exposure", "flicker"}, {"clipping", "flicker"}, {"exposure", "defocus"},
         {"exposure", "motion-blur"}]


def photograph(name):
    """As luma."""
    import skimage  # pylint: disable=import-outside-toplevel
    import skimage.io  # pylint: disable=import-outside-toplevel
    picture = skimage.io.imread(pathlib.Path(skimage.__file__).parent / "data" / name)
    return picture[..., :3] @ [0.299, 0.587, 0.114] if picture.ndim == 3 else picture.astype(float)


def draw_scene(random):
    """A photograph, reduced a little and mirrored at random, with margins on all sides."""
    from skimage.transform import rescale  # pylint: disable=import-outside-toplevel
    width, height = WIDTH + 2 * MARGIN, HEIGHT + 2 * MARGIN
    name = random.choice(PHOTOGRAPHS)
    picture = photograph(name)
    if picture.shape[0] < height or picture.shape[1] < width:
        picture = np.pad(picture, [(0, max(0, height - picture.shape[0])),
                                   (0, max(0, width - picture.shape[1]))], mode="reflect")
    least = max(height / picture.shape[0], width / picture.shape[1])
    scale = random.uniform(max(least, 0.6), 1)
    if scale < 0.98:
        picture = rescale(picture, scale, order=3, anti_aliasing=True)
    top = random.integers(0, max(picture.shape[0] - height, 0) + 1)
    left = random.integers(0, max(picture.shape[1] - width, 0) + 1)
    picture = picture[top:top + height, left:left + width]
    picture = np.pad(picture, [(0, height - picture.shape[0]), (0, width - picture.shape[1])],
                     mode="edge")
    return name, picture[:, ::random.choice([-1, 1])]


def draw_path(random, kind):
    """Where the frame is in the scene, in pixels from its middle, for each frame."""
    time = np.arange(FRAMES) / RATE
    if kind == "still":
        return np.zeros((FRAMES, 2))
    if kind == "pan":  # 3 to 24 pixels a second
        angle, speed = random.uniform(0, 2 * np.pi), random.uniform(3, 24)
        path = speed * (time[:, None] - time.mean()) * [np.cos(angle), np.sin(angle)]
    else:  # slow waves of a hand, of up to 6 pixels
        path = sum(random.uniform(1, 3) * np.sin(2 * np.pi * (random.uniform(0.2, 0.6) *
                                                             time[:, None] + random.random(2)))
                   for _ in range(2))
    return np.clip(path, -MARGIN + 2, MARGIN - 2)


def window(scene, at):
    from scipy.ndimage import shift  # pylint: disable=import-outside-toplevel
    if not at.any():
        return scene[MARGIN:-MARGIN, MARGIN:-MARGIN].copy()
    return shift(scene, -at[::-1], order=3, mode="nearest")[MARGIN:-MARGIN, MARGIN:-MARGIN]


def spread(picture, blur, size, angle=0):
    """Convolves with a disk of a radius or a line of a length."""
    side = 2 * int(np.ceil(size)) + 3
    fine = 8
    y, x = (np.mgrid[:side * fine, :side * fine] + 0.5) / fine - side / 2
    if blur == "disk":
        point = np.hypot(x, y) <= size
    else:
        along, across = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
        point = (abs(along) <= size / 2) & (abs(across) <= 0.5)
    point = point.reshape(side, fine, side, fine).sum((1, 3)).astype(float)
    from scipy.signal import fftconvolve  # pylint: disable=import-outside-toplevel
    margin = side // 2
    wide = np.pad(picture, margin, mode="reflect")
    return fftconvolve(wide, point / point.sum(), mode="valid")


def draw_faults(random):
    while True:
        faults = list(random.choice(FAULTS, random.integers(1, 4), replace=False))
        if not any(pair <= set(faults) for pair in APART):
            return faults


# pylint: disable=too-many-locals,too-many-branches,too-many-statements
def make_clip(random, faults):
    """Returns frames as bytes, the same without the faults, the photograph and the truth."""
    name, scene = draw_scene(random)
    scene = 20 + scene * 0.8  # not cut off
    path = draw_path(random, random.choice(["still", "pan", "hand"]))
    sigma = random.uniform(0.3, 1.5)
    truth, shot = {}, 0
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    clean_scene = scene.copy()
    if "screen" in faults:
        f, angle = random.uniform(0.14, 0.33), random.uniform(10, 80)
        v, u = np.mgrid[:scene.shape[0], :scene.shape[1]]
        fx, fy = f * np.cos(np.radians(angle)), f * np.sin(np.radians(angle))
        # Dots that grow with the tone, as a lens of a little less than a pixel's blur sees them.
        dots = (np.cos(2 * np.pi * (fx * u + fy * v)) + np.cos(2 * np.pi * (fx * v - fy * u))) / 2
        printed = 255 / (1 + np.exp(-4 * ((scene - 128) / 128 - dots)))
        from scipy.ndimage import gaussian_filter  # pylint: disable=import-outside-toplevel
        strength = random.uniform(0.1, 0.4)  # of the dots; the rest is tone, as in a soft print
        scene = scene + strength * (gaussian_filter(printed, 0.7) - scene)
        truth["screen"] = {"period_px": 1 / f}
    if "defocus" in faults:
        radius = random.uniform(2.5, 6)
        scene = spread(scene, "disk", radius)
        truth["defocus"] = {"size_px": radius}
    if "motion-blur" in faults:
        length, angle = random.uniform(7, 20), random.uniform(0, 180)
        scene = spread(scene, "line", length, np.radians(angle))
        truth["motion-blur"] = {"size_px": length, "angle_deg": angle}
    if "shake" in faults:
        rms = random.uniform(1.5, 4)
        path = path + random.normal(0, rms / np.sqrt(2), path.shape)
        path = np.clip(path, -MARGIN + 2, MARGIN - 2)
        truth["shake"] = {"rms_px": rms}
    gain = np.ones((HEIGHT, WIDTH))
    if "shading" in faults:
        corner = random.uniform(0.3, 0.55)
        bend = random.uniform(0, 1)
        total = 1 / corner - 1
        r2 = ((x - WIDTH / 2) ** 2 + (y - HEIGHT / 2) ** 2) / (WIDTH ** 2 + HEIGHT ** 2) * 4
        gain = 1 / (1 + total * (bend * r2 + (1 - bend) * r2 ** 2))
        truth["shading"] = {"corner": corner}
    exposure = 1.0
    if "clipping" in faults:  # 20 to 40 % of the picture is white
        exposure = 255 / np.quantile(scene[MARGIN:-MARGIN, MARGIN:-MARGIN] * gain,
                                     random.uniform(0.6, 0.8))
        truth["clipping"] = {}
    if "exposure" in faults:
        exposure = random.uniform(12, 30) / scene.mean()
        truth["exposure"] = {}
    light = np.ones((FRAMES, HEIGHT))
    if "flicker" in faults:
        hertz = random.choice([100, 120])
        depth, line_s = random.uniform(0.06, 0.4), random.uniform(40e-6, 105e-6)
        start = random.random()
        seconds = np.arange(FRAMES)[:, None] / (RATE * 0.997) + line_s * np.arange(HEIGHT)
        light = 1 + depth * np.sin(2 * np.pi * (hertz * seconds + start))
        truth["flicker"] = {"frequency_hz": hertz, "depth": depth}
    if "noise" in faults:
        # Noise hides the zeros of a blur.
        sigma = random.uniform(5, 8 if {"defocus", "motion-blur"} & set(faults) else 16)
        if random.random() < 0.5:
            shot = sigma ** 2 / 120 * random.uniform(0.5, 1)
            sigma = np.sqrt(max(sigma ** 2 - 120 * shot, 1))
        truth["noise"] = {"sigma": float(np.hypot(sigma, np.sqrt(120 * shot)))}
    fixed = np.zeros((HEIGHT, WIDTH))
    if "stripes" in faults:
        columns, rows = random.uniform(1.5, 5), random.choice([0, 1]) * random.uniform(1.5, 4)
        fixed += random.normal(0, columns, WIDTH) + random.normal(0, rows, HEIGHT)[:, None]
        truth["stripes"] = {"columns": columns, "rows": rows}
    if "hot-pixels" in faults:
        count = random.integers(30, 300)
        fixed.flat[random.choice(WIDTH * HEIGHT, count, replace=False)] += \
            random.choice([-1, 1, 1, 1], count) * random.uniform(40, 150, count)
        truth["hot-pixels"] = {"pixels": int(count)}
    waves = []
    if "periodic-noise" in faults:
        for _ in range(random.integers(1, 4)):
            f, angle = random.uniform(0.07, 0.45), random.uniform(0, np.pi)
            waves.append((f * np.cos(angle), f * np.sin(angle), random.uniform(2, 12),
                          random.choice([0, 1]), random.choice([0, 0.02]) / WIDTH))
        truth["periodic-noise"] = {"waves": len(waves)}
    frames, clean = [], []
    for index in range(FRAMES):
        wanted = exposure * window(clean_scene, path[index] if "shake" not in faults
                                   else np.zeros(2))
        frame = exposure * gain * window(scene, path[index]) * light[index][:, None]
        frame = frame + random.normal(0, 1, frame.shape) * np.sqrt(
            sigma ** 2 + shot * np.clip(frame, 0, None)) + fixed
        for fx, fy, amplitude, is_random, drift in waves:
            fx = fx + drift * index
            start = random.random() if is_random else 0
            frame = frame + amplitude * np.cos(2 * np.pi * (fx * x + fy * y + start))
        frames.append(np.clip(np.rint(frame), 0, 255).astype(np.uint8))
        clean.append(np.clip(wanted, 0, 255))
    return frames, clean, name, truth


def write_y4m(path, frames):
    height, width = frames[0].shape
    path.write_bytes(b"YUV4MPEG2 W%d H%d F%d:1 Ip A1:1 Cmono XCOLORRANGE=FULL\n" %
                     (width, height, RATE) + b"".join(b"FRAME\n" + f.tobytes() for f in frames))
