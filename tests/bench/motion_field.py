"""The field of motion beside OpenCV's optical flow and OpenPIV (if it is installed) on pairs of
pictures with known motion: errors in pixels, and the processor time of one pair of 320x240."""

import argparse
import subprocess
import time

import numpy

import cv2

try:
    from openpiv import filters, pyprocess, validation, windef
except ImportError:
    windef = None

KINDS = ["still", "pan", "rotation", "zoom", "parallax", "occlusion", "vortex", "shear"]
SIDE = 32
BORDER = 2  # blocks: what enters the picture there was not in the first one


def read_pair(program, kind, particles, seed):
    data = subprocess.run([program, str(kind), str(particles), str(seed)], check=True,
                          stdout=subprocess.PIPE).stdout
    width, height, columns, rows, ms = numpy.frombuffer(data, "<f8", 5)
    shape = (int(height), int(width))
    count = shape[0] * shape[1]
    pictures = [numpy.frombuffer(data, numpy.uint8, count, 40 + i * count).reshape(shape)
                for i in range(2)]
    blocks = numpy.frombuffer(data, "<f8", -1, 40 + 2 * count).reshape(int(rows), int(columns), 9)
    return pictures, blocks, ms


def of_blocks(flow, rows, columns):
    """The mean of a dense flow over the middle of each block."""
    ret = numpy.empty((rows, columns, 2))
    for row in range(rows):
        for column in range(columns):
            y, x = row * SIDE // 2 + SIDE // 2, column * SIDE // 2 + SIDE // 2
            ret[row, column] = flow[y - 4:y + 4, x - 4:x + 4].mean((0, 1))
    return ret


def dis(last, following, rows, columns):
    flow = cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM).calc(following, last, None)
    return of_blocks(-flow, rows, columns)


def farneback(last, following, rows, columns):
    flow = cv2.calcOpticalFlowFarneback(following, last, None, 0.5, 4, 21, 5, 7, 1.5, 0)
    return of_blocks(-flow, rows, columns)


def openpiv(last, following, rows, columns):
    """Windows of 64, 32 and 32 pixels with deformation, as OpenPIV's tutorials do it."""
    settings = windef.PIVSettings()
    settings.windowsizes = (64, 32, 32)
    settings.overlap = (32, 16, 16)
    settings.num_iterations = 3
    settings.deformation_method = "symmetric"
    settings.correlation_method = "linear"
    settings.normalized_correlation = True
    settings.subpixel_method = "gaussian"
    settings.interpolation_order = 3
    settings.sig2noise_validate = False
    settings.show_all_plots = settings.show_plot = False
    a, b = last.astype(numpy.int32), following.astype(numpy.int32)
    x, y, u, v, _ = windef.first_pass(a, b, settings)
    u = numpy.ma.masked_array(u, numpy.ma.nomask)
    v = numpy.ma.masked_array(v, numpy.ma.nomask)
    for i in (1, 2):
        u, v = filters.replace_outliers(
            u, v, validation.local_median_val(u, v, 2, 2), method="localmean", max_iter=10,
            kernel_size=2)
        u = numpy.ma.masked_array(u, numpy.ma.nomask)
        v = numpy.ma.masked_array(v, numpy.ma.nomask)
        x, y, u, v, _, _ = windef.multipass_img_deform(a, b, i, x, y, u, v, settings)
    u, v = filters.replace_outliers(
        u, v, validation.local_median_val(u, v, 2, 2), method="localmean", max_iter=10,
        kernel_size=2)
    ret = numpy.stack([numpy.ma.filled(u, 0), numpy.ma.filled(v, 0)], -1)
    return ret if ret.shape[:2] == (rows, columns) else None


def openpiv_once(last, following, rows, columns):
    """One pass: windows of 32 pixels in search areas of as many."""
    u, v, _ = pyprocess.extended_search_area_piv(
        last.astype(numpy.int32), following.astype(numpy.int32), window_size=SIDE,
        overlap=SIDE // 2, search_area_size=SIDE, sig2noise_method="peak2peak")
    return numpy.stack([u, v], -1)


def errors(found, blocks):
    true = blocks[..., 3:].reshape(*blocks.shape[:2], 3, 2)
    distance = numpy.linalg.norm(true - found[..., None, :], axis=-1)
    return numpy.nanmin(distance, -1)[BORDER:-BORDER, BORDER:-BORDER].ravel()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=9000)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    peers = {"fftd": None, "DIS": dis, "Farneback": farneback}
    if windef is not None:
        peers |= {"OpenPIV": openpiv, "OpenPIV, one pass": openpiv_once}
    times = {name: [] for name in peers}
    print("| scene | motion | " + " | ".join(peers) + " |")
    print("| --- " * (2 + len(peers)) + "|")
    for particles in (0, 1):
        for kind, name in enumerate(KINDS):
            found = {peer: [] for peer in peers}
            for i in range(options.pairs):
                pictures, blocks, ms = read_pair(options.program, kind, particles,
                                                 options.seed + 10 * i + kind)
                found["fftd"].append(errors(blocks[..., :2], blocks))
                times["fftd"].append(ms)
                for peer, function in peers.items():
                    if function is None:
                        continue
                    begin = time.thread_time()
                    vectors = function(*pictures, *blocks.shape[:2])
                    times[peer].append(1e3 * (time.thread_time() - begin))
                    found[peer].append(errors(vectors, blocks))
            cells = []
            for values in found.values():
                all_values = numpy.concatenate(values)
                rms = numpy.sqrt(numpy.mean(numpy.minimum(all_values, 5) ** 2))
                cells.append(f"{numpy.median(all_values):.3f}, {rms:.3f}")
            print(f"| {'particles' if particles else 'leaves'} | {name} | " + " | ".join(cells) +
                  " |", flush=True)
    print("| | ms | " + " | ".join(f"{numpy.median(ms):.1f}" for ms in times.values()) + " |")


main()
