"""The front end of OpenVX's example as one chain: a mosaic, its luma, undistorted, smoothed, and
its edges, each compared with a model of the graph (tests/bench/articles/front_end.py)."""

import pathlib
import sys

import numpy
import pytest

from client import Reader

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench/articles"))
import front_end  # noqa: E402  pylint: disable=wrong-import-position


@pytest.fixture(scope="module")
def mosaic():
    return front_end.mosaic_of(front_end.scene())


@pytest.mark.parametrize("technique", ["fused", "staged"])
def test_each_step_is_that_of_the_graph(start, tmp_path, mosaic, technique, record_property):
    recording = tmp_path / "mosaic.raw"
    recording.write_bytes(mosaic.tobytes())
    daemon = start(*front_end.ARGUMENTS, "--set", f"engine.technique={technique}",
                   source=f"file:{recording}", size=None, fps=None)
    expected, rounding = front_end.model(mosaic), front_end.model(mosaic, rounds_each=True)
    figures = []
    with Reader(daemon) as reader:
        for step, (chain, view) in front_end.STEPS.items():
            daemon.ctl("filter", "set", chain)
            serial = daemon.change("view", view)
            frame = reader.take_until(lambda frame, least=serial: frame.filter_serial >= least)[-1]
            got = numpy.frombuffer(frame.planes[0], numpy.uint8).reshape(mosaic.shape)
            shares = [front_end.share_equal(got, wanted[step]) for wanted in (expected, rounding)]
            figures.append(f"{step}: {100 * shares[0]:.3f} %, {100 * shares[1]:.2f} % with nodes "
                           "that round")
            # Levels near half a step may be rounded either way, and decide whether an edge is kept.
            assert shares[0] > 0.999, figures
            if view == "picture":
                assert numpy.abs(got - expected[step]).max() <= 1
                assert numpy.abs(got - rounding[step]).max() <= 2
            else:
                assert 0.02 < (got > 0).mean() < 0.5
    record_property("figures", "; ".join(figures))
    print("\n".join(figures))
