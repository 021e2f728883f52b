"""Clips of photographs with known faults, for tests and figures of `fftd-ctl diagnose`.

A clip is a photograph of python3-skimage, opencv-doc, mate-backgrounds or
lomiri-wallpapers-16.04 that a camera looks at: still, panning or held in a hand, with a little
noise. Faults are put in where they arise: screens belong to the scene, blur and
shading to the lens, flicker to the light, and the rest to the sensor and its electronics. Each
fault's strength is drawn from a range, which is written beside it.
"""

import pathlib

import numpy as np

WIDTH, HEIGHT, FRAMES, RATE = 400, 300, 40, 30
SKIMAGE = pathlib.Path("/usr/lib/python3/dist-packages/skimage/data")
OPENCV = pathlib.Path("/usr/share/doc/opencv-doc/examples")
BACKGROUNDS = pathlib.Path("/usr/share/backgrounds")
# Photographs of at least 440 x 340 pixels, or nearly, that were chosen by eye before anything was
# measured with them. Left out are drawings, pages and sheets of one tone, what is itself out of
# focus or blurred by motion as a whole, and what has dark corners, lamps or a burnt-out ground.
# Backgrounds of flowers, birds and dogs that a lens has blurred are in.
PHOTOGRAPHS = [
    *(SKIMAGE / name for name in (
        "astronaut.png", "camera.png", "chelsea.png", "coffee.png", "rocket.jpg",
        "motorcycle_left.png", "brick.png", "grass.png", "gravel.png")),
    *(OPENCV / "data" / name for name in (
        "aero1.jpg", "aero3.jpg", "aloeL.jpg", "baboon.jpg", "basketball1.png", "board.jpg",
        "box_in_scene.png", "building.jpg", "butterfly.jpg", "chicky_512.png", "fruits.jpg",
        "graf1.png", "graf3.png", "home.jpg", "leuvenA.jpg", "leuvenB.jpg", "messi5.jpg",
        "rubberwhale1.png", "squirrel_cls.jpg")),
    OPENCV / "alphamat/input_images/plant.jpg",
    *(OPENCV / "text" / f"scenetext0{number}.jpg" for number in (1, 3, 4, 5, 6)),
    *(BACKGROUNDS / f"{name}.jpg" for name in (
        "Bridge_by_Sander_Klootwijk", "Dragonfly_by_Bolly", "Picture_0B_by_freespace",
        "Picture_1A_by_freespace", "Wine_by_Jakkub_Mede", "aitzgorri_by_Aitzol_Berasategi",
        "friends_by_Aitzol_Berasategi", "life_by_Aitzol_Berasategi",
        "picosdeeuropa_by_Aitzol_Berasategi", "seeding_by_Clements_Engelhardt")),
    *(BACKGROUNDS / "mate/nature" / f"{name}.jpg" for name in (
        "Dune", "FreshFlower", "Garden", "GreenMeadow", "LadyBird", "RainDrops", "Wood",
        "YellowFlower"))]
MARGIN = 20  # pixels by which a clip may pan to each side
FAULTS = ["periodic-noise", "screen", "flicker", "stripes", "hot-pixels", "shading", "defocus",
          "motion-blur", "noise", "shake", "clipping", "exposure"]
# What cannot be beside each other: of two blurs only the longer one can be told, a screen is
# blurred away, and a picture is not too dark and burnt out at once. In the dark, a fault that
# multiplies the light (or spreads it) is less than a grey level.
APART = [{"defocus", "motion-blur"}, {"screen", "defocus"}, {"screen", "motion-blur"},
         {"clipping", "exposure"}, {"exposure", "shading"}, {"exposure", "screen"},
         {"exposure", "flicker"}, {"exposure", "defocus"}, {"exposure", "motion-blur"}]


def photograph(path):
    from PIL import Image  # pylint: disable=import-outside-toplevel
    return Image.open(path).convert("L")


def draw_scene(random):
    """A part of a photograph, reduced and mirrored at random, with margins on all sides."""
    width, height = WIDTH + 2 * MARGIN, HEIGHT + 2 * MARGIN
    path = PHOTOGRAPHS[random.integers(len(PHOTOGRAPHS))]
    picture = photograph(path)
    # At full size, pictures of large cameras are soft, so they are made smaller at least by half.
    least = max(height / picture.height, width / picture.width)
    most = max(1 if picture.width < 1400 else 0.5, least)
    scale = np.exp(random.uniform(np.log(least), np.log(min(3 * least, most))))
    part = np.array([width, height]) / scale
    left, top = random.uniform(0, 1, 2) * np.maximum(picture.size - part, 0)
    box = (left, top, min(left + part[0], picture.width), min(top + part[1], picture.height))
    from PIL import Image  # pylint: disable=import-outside-toplevel
    picture = picture.resize((width, height), Image.BICUBIC, box)
    return path.stem, np.asarray(picture, float)[:, ::random.choice([-1, 1])]


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


def windows(scene, path):
    """What the camera sees of a scene, frame by frame."""
    from scipy.ndimage import shift, spline_filter  # pylint: disable=import-outside-toplevel
    splines = spline_filter(scene, order=3, mode="nearest")
    inner = (slice(MARGIN, -MARGIN),) * 2
    return [shift(splines, -at[::-1], order=3, mode="nearest", prefilter=False)[inner]
            if at.any() else scene[inner] for at in path]


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
def make_clip(random, faults, wants_clean=False):
    """Returns frames as bytes, the same without the faults (but shaken, and as dark or burnt out),
    the photograph's name and the truth."""
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
        truth["screen"] = {"period_px": 1 / f, "fx": fx, "fy": fy}
    if "defocus" in faults:
        radius = random.uniform(2, 6)
        scene = spread(scene, "disk", radius)
        truth["defocus"] = {"size_px": radius}
    if "motion-blur" in faults:
        length, angle = random.uniform(6, 20), random.uniform(0, 180)
        scene = spread(scene, "line", length, np.radians(angle))
        truth["motion-blur"] = {"size_px": length, "angle_deg": angle}
    if "shake" in faults:
        rms = random.uniform(1.5, 4)
        path = path + random.normal(0, rms / np.sqrt(2), path.shape)
        path = np.clip(path, -MARGIN + 2, MARGIN - 2)
        truth["shake"] = {"rms_px": rms}
    gain = np.ones((HEIGHT, WIDTH))
    if "shading" in faults:
        corner = random.uniform(0.3, 0.65)
        bend = random.uniform(0, 1)
        total = 1 / corner - 1
        r2 = ((x - WIDTH / 2) ** 2 + (y - HEIGHT / 2) ** 2) / (WIDTH ** 2 + HEIGHT ** 2) * 4
        gain = 1 / (1 + total * (bend * r2 + (1 - bend) * r2 ** 2))
        truth["shading"] = {"corner": corner, "a": total * bend,
                            "b": total * (1 - bend)}
    exposure = 1.0
    if "clipping" in faults:  # 15 to 40 % of the picture is white
        exposure = 255 / np.quantile(scene[MARGIN:-MARGIN, MARGIN:-MARGIN] * gain,
                                     random.uniform(0.6, 0.85))
        truth["clipping"] = {}
    if "exposure" in faults:
        exposure = random.uniform(12, 32) / scene.mean()
        truth["exposure"] = {}
    light = np.ones((FRAMES, HEIGHT))
    if "flicker" in faults:
        hertz = random.choice([100, 120, random.uniform(130, 400)])
        depth, line_s = random.uniform(0.05, 0.4), random.uniform(40e-6, 105e-6)
        start = random.random()
        seconds = np.arange(FRAMES)[:, None] / (RATE * 0.997) + line_s * np.arange(HEIGHT)
        light = 1 + depth * np.sin(2 * np.pi * (hertz * seconds + start))
        truth["flicker"] = {"frequency_hz": hertz, "depth": depth}
    if "noise" in faults:
        sigma = random.uniform(4, 16)
        if random.random() < 0.5:
            shot = sigma ** 2 / 120 * random.uniform(0.5, 1)
            sigma = np.sqrt(max(sigma ** 2 - 120 * shot, 1))
        truth["noise"] = {"sigma": float(np.hypot(sigma, np.sqrt(120 * shot))),
                          "floor": float(sigma), "shot": float(shot)}
    fixed = np.zeros((HEIGHT, WIDTH))
    if "stripes" in faults:
        columns, rows = random.uniform(1.5, 5), random.choice([0, 1]) * random.uniform(1.5, 4)
        fixed += random.normal(0, columns, WIDTH) + random.normal(0, rows, HEIGHT)[:, None]
        truth["stripes"] = {"columns": columns, "rows": rows}
    if "hot-pixels" in faults:
        count = random.integers(12, 300)
        fixed.flat[random.choice(WIDTH * HEIGHT, count, replace=False)] += \
            random.choice([-1, 1, 1, 1], count) * random.uniform(40, 150, count)
        truth["hot-pixels"] = {"pixels": int(count)}
    waves = []
    if "periodic-noise" in faults:
        for _ in range(random.integers(1, 4)):
            f, angle = random.uniform(0.07, 0.45), random.uniform(0, np.pi)
            waves.append((f * np.cos(angle), f * np.sin(angle), random.uniform(2, 12),
                          random.choice([0, 1]), random.choice([0, 0.02]) / WIDTH))
        truth["periodic-noise"] = {"waves": len(waves), "at": [wave[:2] for wave in waves]}
    frames, clean = [], []
    for index, seen in enumerate(windows(scene, path)):
        frame = exposure * gain * seen * light[index][:, None]
        frame = frame + random.normal(0, 1, frame.shape) * np.sqrt(
            sigma ** 2 + shot * np.clip(frame, 0, None)) + fixed
        for fx, fy, amplitude, is_random, drift in waves:
            fx = fx + drift * index
            start = random.random() if is_random else 0
            frame = frame + amplitude * np.cos(2 * np.pi * (fx * x + fy * y + start))
        frames.append(np.clip(np.rint(frame), 0, 255).astype(np.uint8))
    if wants_clean:
        clean = [np.clip(exposure * seen, 0, 255) for seen in windows(clean_scene, path)]
    return frames, clean, name, truth


def write_y4m(path, frames):
    height, width = frames[0].shape
    path.write_bytes(b"YUV4MPEG2 W%d H%d F%d:1 Ip A1:1 Cmono XCOLORRANGE=FULL\n" %
                     (width, height, RATE) + b"".join(b"FRAME\n" + f.tobytes() for f in frames))
