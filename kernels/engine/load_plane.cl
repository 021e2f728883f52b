/* Loads captured samples into planes of floats, calibrated, moved by a table, and corrected, for
 * what works on them before the transform (denoise.cl, stack.cl).
 *
 * Data: planes of IMAGE_WIDTH x IMAGE_HEIGHT floats in the units of samples, rows PLANE_PITCH
 * floats apart, planes of a batch PLANE_SIZE floats apart. Work-items: an item takes LANES samples
 * of a row at a time; the second dimension counts rows, the third one images (batch.cl). Launched
 * by denoiser_frame_enqueue (daemon/engine/denoiser/denoiser.c) and by daemon/engine/stack.c. */

kernel void load_plane(global const uchar *restrict image,
                       global float *restrict samples CAPTURED_PARAMETERS KERNEL_CORRECTION)
{
    const captured from = CAPTURED(image + get_global_id(2) * IMAGE_APART);
    const uint y = get_global_id(1);
    global float *row = samples + get_global_id(2) * PLANE_SIZE + y * PLANE_PITCH;
    uint x = get_global_id(0) * LANES;
#if LANES > 1
    for (; x + LANES <= IMAGE_WIDTH; x += get_global_size(0) * LANES) {
        real z = samples_load(from, 0, x, 0, true, y);
        CORRECT(real, z, x, y, READ_LANES)
        VSTORE(z, 0, row + x);
    }
    const uint step = 1;
#else
    const uint step = get_global_size(0);
#endif
    for (; x < IMAGE_WIDTH; x += step) {
        float z = sample_load(from, x, 0, y);
        CORRECT(float, z, x, y, READ_ONE)
        row[x] = z;
    }
}
