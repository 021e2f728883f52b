"""What other programs make of the clips of stack.py: OpenCV's ECC and astroalign, each of which
finds where a frame is on the first one; OpenCV then moves it there. The same for a path that is
known; and the mean of frames that were all taken from the place of the first one, which no
registration and no interpolation can take anything from."""
import time

import cv2
import numpy as np

try:
    import astroalign
except ImportError:
    astroalign = None


def true_places(clip, number, points):
    """Where frame `number` shows these places of the first one."""
    dx, dy, angle = clip.path[number]
    middle = np.array([clip.width - 1, clip.height - 1]) / 2
    u, v = (points - middle).T
    cos, sin = np.cos(angle), np.sin(angle)
    return np.stack([dx + cos * u - sin * v, dy + sin * u + cos * v], axis=1) + middle


def move(frame, matrix):
    """Samples a frame at the places that a matrix gives for those of the first one."""
    return cv2.warpAffine(frame, matrix, frame.shape[::-1], borderMode=cv2.BORDER_REPLICATE,
                          flags=cv2.INTER_LANCZOS4 | cv2.WARP_INVERSE_MAP)


class Ecc:
    """Begins with what it found for the frame before; a blur of 5 pixels is its default."""

    def __init__(self, first):
        self.first = first
        self.matrix = np.eye(2, 3, dtype=np.float32)

    def find(self, frame):
        criteria = cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 100, 1e-6
        self.matrix = cv2.findTransformECC(self.first, frame, self.matrix, cv2.MOTION_EUCLIDEAN,
                                           criteria, None, 5)[1]
        return self.matrix.copy()


class Astroalign:
    def __init__(self, first, sigma):
        self.first, self.sigma = first.astype(float), sigma

    def find(self, frame):
        found = astroalign.find_transform(frame.astype(float), self.first,
                                          detection_sigma=self.sigma)[0]
        return np.linalg.inv(found.params)[:2]


class Known:
    def __init__(self, clip):
        self.clip, self.number = clip, 0

    def find(self, _):
        self.number += 1
        origin, right, down = true_places(self.clip, self.number, np.eye(3, 2, -1))
        return np.stack([right - origin, down - origin, origin], axis=1)


def stack(clip, frames, peer):
    """Returns the mean, the rms of registration in pixels, the frames left out, and ms a frame."""
    total, count, errors = frames[0].astype(np.float32), 1, []
    points = np.mgrid[:clip.width:9j, :clip.height:9j].reshape(2, -1).T
    start = time.process_time()
    for number, frame in enumerate(frames[1:], 1):
        try:
            matrix = peer.find(frame.astype(np.float32))
        except (cv2.error, ValueError, RuntimeError):
            continue
        total += move(frame.astype(np.float32), matrix)
        count += 1
        found = points @ matrix[:, :2].T + matrix[:, 2]
        errors.append(np.mean(np.sum((found - true_places(clip, number, points)) ** 2, axis=1)))
    ms = 1000 * (time.process_time() - start) / (len(frames) - 1)
    rms = np.sqrt(np.mean(errors)) if errors else np.nan
    return total / count, rms, len(frames) - count, ms


def stacks(clip, frames):
    """Yields the name and what `stack` returns for each peer."""
    still = [clip.add_noise(clip.clean.copy()) for _ in frames]
    yield "exactly registered", (np.mean(still, axis=0), 0, 0, np.nan)
    yield "known path, Lanczos", stack(clip, frames, Known(clip))
    first = frames[0].astype(np.float32)
    yield "OpenCV ECC", stack(clip, frames, Ecc(first))
    for sigma in (5, 2) if astroalign is not None else ():
        yield f"astroalign, sigma {sigma}", stack(clip, frames, Astroalign(first, sigma))
