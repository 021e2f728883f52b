"""Photographs that become smaller by output.size, beside OpenCV's ways to make them smaller, and
their distance from the ideal low-pass."""

import pathlib
import sys

import numpy
import pytest

from client import Reader
from test_output_size import smaller
from test_outputs import ctl_json, of

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import outputs_peers  # noqa: E402  pylint: disable=wrong-import-position

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


def padded_size(status, width, height):
    padded = status["Engine"].split(f"{width}x{height} in ")[1].split(",")[0].split("x")
    return [int(side) for side in padded]


def published(start, path, picture, size):
    path.write_bytes(picture.tobytes())
    height, width = picture.shape
    daemon = start("--set", "camera.format=Y16", "--set", "camera.loop=true",
                   "--set", f"output.size={size[0]}x{size[1]}",
                   source=f"file:{path}", size=f"{width}x{height}", fps="10")
    daemon.wait_for_socket("frames")
    with Reader(daemon) as reader:
        frame = reader.next()
    padded = padded_size(daemon.ctl_json("status"), width, height)
    daemon.stop()
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


def scene(name):
    """In 8 bits."""
    if name == "noise":
        return outputs_peers.noise(outputs_peers.WIDTH, outputs_peers.HEIGHT)
    return (grey(name) // 257).astype(numpy.uint8)


@pytest.mark.parametrize("ratio", [2, 4])
@pytest.mark.parametrize("name", ["noise", "camera", "astronaut", "coffee", "chelsea"])
def test_published_frames_are_the_ideal_low_pass(start, tmp_path, name, ratio):
    """With the narrowest edge and 16 bits an output is the ideal low-pass of the padded picture.
    The figures printed besides are for 8 bits, for the default edge, and for a picture that is
    mirrored for ever instead of padded."""
    picture = scene(name)
    (tmp_path / "scene.raw").write_bytes(picture.tobytes())
    height, width = picture.shape
    size = width // ratio, height // ratio
    cases = [(depth, edge) for depth in ('"auto"', 16) for edge in ('"auto"', "0.001")]
    groups = ", ".join(f'{{ name = "o{i}"; size = "{size[0]}x{size[1]}"; depth = {depth}; '
                       f'edge = {edge}; }}' for i, (depth, edge) in enumerate(cases))
    daemon = start("--set", "camera.format=GREY", "--set", "camera.loop=true", "--set",
                   f"outputs=( {groups} )", source=f"file:{tmp_path / 'scene.raw'}",
                   size=f"{width}x{height}", fps="10")
    for i, (depth, edge) in enumerate(cases):
        daemon.wait_for_socket(f"outputs/o{i}/frames")
        with Reader(of(daemon, f"o{i}")) as reader:
            samples = numpy.frombuffer(reader.next().planes[0], "<u2" if depth == 16 else "u1")
        got = samples.reshape(size[1], size[0]) * (255 / WHITE if depth == 16 else 1)
        padded = padded_size(ctl_json(daemon, f"o{i}", "status"), width, height)
        ideal = smaller(picture.astype(float), padded, size, edge=0)
        distance = outputs_peers.psnr(got, ideal)
        mirrored = outputs_peers.psnr(got, outputs_peers.ideal(picture, size))
        print(f"# figures: {name}, 1/{ratio}, depth {depth}, edge {edge}: {distance:.1f} dB; "
              f"{mirrored:.1f} dB if the picture were mirrored for ever")
        if depth == 16 and edge == "0.001":
            assert distance > 60
