"""Tests of the properties of the machine that all other tests assume."""

import pytest
import vivid


@pytest.mark.parametrize("kind", ["single", "multi"])
def test_vivid_delivers_30_frames_a_second(kind):
    with vivid.Vivid(kind) as camera:
        camera.set_format(640, 360, "NV12" if kind == "single" else "NM12")
        assert camera.measure_rate(frames=60) == pytest.approx(30, rel=0.1)
