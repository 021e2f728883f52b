"""Photographs that become smaller by output.size, beside OpenCV's ways to make them smaller."""

import pathlib

import numpy
import pytest

from client import Reader
from test_output_size import smaller

WHITE = 65535


def psnr(a, b):
    return 10 * numpy.log10(1 / numpy.mean(((a - b) / WHITE) ** 2))


def grey(name):
    """A photograph in 16 bits, its sides cut to multiples of 32."""
    skimage = pytest.importorskip("skimage", reason="python3-skimage is not installed")
    from skimage import io  # pylint: disable=import-outside-toplevel
    picture = io.imread(pathlib.Path(skimage.__file__).parent / "data" / f"{name}.png")
    if picture.ndim == 3:
        picture = picture[..., :3] @ [0.299, 0.587, 0.114]
    height, width = (side // 32 * 32 for side in picture.shape)
    return numpy.rint(picture[:height, :width] * 257).astype("<u2")


def published(start, path, picture, size):
    path.write_bytes(picture.tobytes())
    height, width = picture.shape
    daemon = start("--set", "camera.format=Y16", "--set", "camera.loop=true",
                   "--set", f"output.size={size[0]}x{size[1]}",
                   source=f"file:{path}", size=f"{width}x{height}", fps="10")
    daemon.wait_for_socket("frames")
    with Reader(daemon) as reader:
        frame = reader.next()
    engine = daemon.ctl_json("status")["Engine"]
    daemon.stop()
    padded = engine.split(f"{width}x{height} in ")[1].split(",")[0].split("x")
    padded = [int(side) for side in padded]
    return numpy.frombuffer(frame.planes[0], "<u2").reshape(size[1], size[0]).astype(float), padded


@pytest.mark.parametrize("name", ["camera", "astronaut", "coffee", "chelsea"])
def test_photographs(start, tmp_path, name):
    cv2 = pytest.importorskip("cv2", reason="python3-opencv is not installed")
    picture = grey(name)
    size = picture.shape[1] // 2, picture.shape[0] // 2
    got, padded = published(start, tmp_path / "photograph.raw", picture, size)
    model = smaller(picture.astype(float), padded, size)
    ideal = smaller(picture.astype(float), padded, size, edge=0)
    limited = numpy.clip(model, 0, WHITE)
    peers = {
        "INTER_AREA": cv2.resize(picture.astype(float), size, interpolation=cv2.INTER_AREA),
        "INTER_LANCZOS4": cv2.resize(picture.astype(float), size, interpolation=cv2.INTER_LANCZOS4),
        "INTER_CUBIC": cv2.resize(picture.astype(float), size, interpolation=cv2.INTER_CUBIC)}
    ours = psnr(got, ideal)
    print(f"# figures: {name}: {psnr(got, limited):.1f} dB from the model; from the ideal low-pass "
          f"{ours:.1f} dB," + ",".join(f" {kind} {psnr(each, ideal):.1f}"
                                       for kind, each in peers.items()))
    assert psnr(got, limited) > 90
    assert ours > max(psnr(each, ideal) for each in peers.values())
