"""Filters frames of 8 bits with a plugin of VapourSynth. tests/bench/denoise_peers.py runs it.

    PYTHON -c "$(cat tests/bench/denoise_vapoursynth.py)" METHOD WIDTH HEIGHT NUMBER... <in >out

METHOD is vbm3d (bm3dcpu; sigma, radius), mdegrain (mvtools; threshold, 1: search in a blurred clip)
or dfttest2 (sigma, frames). Writes the processor seconds of all threads to the standard error,
without what starting takes. Needs a VapourSynth with interfaces 3 and 4 (R74 to R78 with the
plugins of 2026), and its plugins where it finds them.
"""

import sys
import time

import numpy
import vapoursynth as vs

core = vs.core
FULL = {"range_in_s": "full", "range_s": "full"}


def vbm3d(clip, sigma, radius):
    """Both steps: hard thresholds, and Wiener's filter with their result as the reference."""
    clip = core.resize.Point(clip, format=vs.GRAYS, **FULL)
    settings = {"sigma": [sigma], "radius": int(radius), "block_step": 4}
    basic = core.bm3dcpu.BM3Dv2(clip, **settings)
    return core.bm3dcpu.BM3Dv2(clip, ref=basic, **settings)


def mdegrain(clip, threshold, is_blurred):
    """Three frames on each side."""
    kernel = [1, 2, 1, 2, 4, 2, 1, 2, 1]
    seen = core.std.Convolution(clip, kernel) if is_blurred else clip
    search = core.mv.Super(seen)
    vectors = [core.mv.Analyse(search, isb=is_back, delta=delta, blksize=16, overlap=8)
               for delta in (1, 2, 3) for is_back in (True, False)]
    return core.mv.Degrain3(clip, core.mv.Super(clip), *vectors, thsad=round(threshold),
                            thscd1=16000)


def dfttest2(clip, sigma, frames):
    import dfttest2 as plugin  # pylint: disable=import-outside-toplevel,import-error
    return plugin.DFTTest(clip, sigma=sigma, tbsize=int(frames),
                          backend=plugin.Backend.CPU())


def main():
    method, width, height, *numbers = sys.argv[1:]
    width, height = int(width), int(height)
    frames = numpy.frombuffer(sys.stdin.buffer.read(), numpy.uint8).reshape(-1, height, width)

    def fill(n, f):
        result = f.copy()
        numpy.copyto(numpy.asarray(result[0]), frames[n])
        return result

    blank = core.std.BlankClip(format=vs.GRAY8, width=width, height=height, length=len(frames))
    clip = core.std.ModifyFrame(blank, blank, fill)
    clip = {"vbm3d": vbm3d, "mdegrain": mdegrain, "dfttest2": dfttest2}[method](
        clip, *map(float, numbers))
    if clip.format.id != vs.GRAY8:
        clip = core.resize.Point(clip, format=vs.GRAY8, dither_type="none", **FULL)
    begun = time.process_time()
    results = [numpy.asarray(frame[0]).copy() for frame in clip.frames()]
    print(time.process_time() - begun, file=sys.stderr)
    sys.stdout.buffer.write(numpy.array(results).tobytes())


main()
