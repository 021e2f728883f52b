"""What a chain of `convolve` makes of a picture, from its definition: no code of the daemon's."""

import re

import numpy

PADDING = {"mirror": "reflect", "replicate": "edge", "wrap": "wrap", "constant": "constant"}


def write_clip(path, size, seed, colour=False, count=1, frames_kept=None):
    """Writes a clip of one picture that is repeated, and returns the picture. Its samples are far
    from the ends of the range, so that few results are clipped."""
    width, height = size
    y, x = numpy.mgrid[:height, :width]
    scene = 80 + 0.3 * x + 40 * ((x // 16 + y // 12) % 2)
    scene += numpy.random.default_rng(seed).uniform(-45, 45, scene.shape)
    picture = numpy.rint(scene).astype(numpy.uint8)
    frame = b"FRAME\n" + picture.tobytes()
    if colour:
        frame += bytes([100]) * (width * height // 4) + bytes([150]) * (width * height // 4)
    clip = b"YUV4MPEG2 W%d H%d F30:1 C%s\n" % (width, height, b"420" if colour else b"mono")
    clip += frame * count
    path.write_bytes(clip if frames_kept is None else clip[:frames_kept])
    return picture


def kernel_of(chain):
    """The one kernel that all stages are together, or None if the chain has others."""
    kernel = numpy.ones((1, 1))
    if chain == "none":
        return kernel
    for stage in chain.split(" | "):
        found = re.fullmatch(r"convolve:kernel=([-0-9. /]+)"
                             r"(?:,anchor=0/0,normalise=none,correlate=false)?", stage)
        if not found:
            return None
        rows = numpy.array([[float(value) for value in row.split()]
                            for row in found[1].split("/")])
        if rows.shape[0] % 2 == 0 or rows.shape[1] % 2 == 0:
            return None
        whole = numpy.zeros((kernel.shape[0] + rows.shape[0] - 1,
                             kernel.shape[1] + rows.shape[1] - 1))
        for (row, column), value in numpy.ndenumerate(rows):
            whole[row:row + kernel.shape[0], column:column + kernel.shape[1]] += value * kernel
        kernel = whole
    return kernel


def filtered(picture, chain, border="mirror", border_value=0.0):
    """What a reader should get, before it is rounded; None if the chain has other stages."""
    kernel = kernel_of(chain)
    if kernel is None:
        return None
    reach_y, reach_x = kernel.shape[0] // 2, kernel.shape[1] // 2
    options = {"constant_values": 255 * border_value} if border == "constant" else {}
    wide = numpy.pad(picture.astype(float), ((reach_y, reach_y), (reach_x, reach_x)),
                     mode=PADDING[border], **options)
    height, width = picture.shape
    result = numpy.zeros(picture.shape)
    for (row, column), value in numpy.ndenumerate(kernel):
        result += value * wide[2 * reach_y - row:2 * reach_y - row + height,
                               2 * reach_x - column:2 * reach_x - column + width]
    return numpy.clip(result, 0, 255)
