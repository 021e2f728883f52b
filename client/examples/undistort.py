#!/usr/bin/python3
"""Writes the `undistort` stage of a filter for a calibration file of OpenCV.

    undistort.py FILE [NAME=VALUE...]      for example zoom=1.2

    fftd-ctl filter add "$(undistort.py camera.yml)"
    fftd-ctl filter add "$(undistort.py camera.yml model=fisheye)"

FILE is what cv2.FileStorage writes (YAML, XML or JSON) with the results of cv2.calibrateCamera, or
with model=fisheye of cv2.fisheye.calibrate: camera_matrix, distortion_coefficients and, if they are
there, image_width and image_height.
Needs Python's OpenCV.
"""

import sys

import cv2

NAMES = ("k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6")  # in the order of OpenCV
FISHEYE_NAMES = ("k1", "k2", "k3", "k4")


def read(storage, name):
    matrix = storage.getNode(name).mat()
    if matrix is None:
        sys.exit(f"undistort.py: the file has no {name}: expected the results of calibrateCamera")
    return matrix


def stage(path, is_fisheye):
    """The stage, as a list of NAME=VALUE."""
    storage = cv2.FileStorage(path, cv2.FILE_STORAGE_READ)
    if not storage.isOpened():
        sys.exit(f"undistort.py: cannot read {path}: expected a file of cv2.FileStorage")
    matrix = read(storage, "camera_matrix")
    coefficients = read(storage, "distortion_coefficients").ravel().tolist()
    names = FISHEYE_NAMES if is_fisheye else NAMES
    if is_fisheye and len(coefficients) != len(names):
        sys.exit(f"undistort.py: the file has {len(coefficients)} coefficients: expected "
                 f"{len(names)}, the results of fisheye.calibrate")
    if any(coefficients[len(names):]):
        sys.exit("undistort.py: the file has coefficients of a thin prism or a tilted sensor: "
                 f"expected at most {len(NAMES)}, without CALIB_THIN_PRISM_MODEL and "
                 "CALIB_TILTED_MODEL")
    values = {"fx": matrix[0, 0], "fy": matrix[1, 1], "cx": matrix[0, 2], "cy": matrix[1, 2],
              **dict(zip(names, coefficients))}
    parts = [f"{name}={value:.12g}" for name, value in values.items()]
    size = [storage.getNode(f"image_{side}") for side in ("width", "height")]
    if not any(each.empty() for each in size):
        parts.append(f"size={size[0].real():g}/{size[1].real():g}")
    return parts


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__.strip())
    print("undistort:" + ",".join(stage(sys.argv[1], "model=fisheye" in sys.argv) +
                                   sys.argv[2:]))
