/* Batches: BATCH images of the same shape share the dispatches. The last dimension of each
 * dispatch counts the images, and a work-group is one item wide in that dimension.
 *
 * Data: in the input frame and in the result, each image begins IMAGE_APART bytes after the
 * previous one (0 for the colours of a mosaic, which share their samples). Each image has its own
 * spectrum; spectra are SPECTRUM_SIZE numbers apart. All images share the response and the tables.
 *
 * For a single image the image number is the constant 0, so the compiler removes this arithmetic.
 * Every kernel that transform_frame_enqueue (daemon/transform/frame.c) launches uses these
 * functions. */

#if STAGED
/* In the staged technique the third dimension counts the blocks of all images (staged.cl). */
static inline uint slices(void)
{
    return (uint)get_num_groups(2) / BATCH;
}

static inline uint slice_number(void)
{
    return BATCH > 1 ? (uint)get_group_id(2) % slices() : (uint)get_group_id(2);
}
#endif

static inline uint image_number(void)
{
#if BATCH > 1 && STAGED
    return (uint)get_group_id(2) / slices();
#elif BATCH > 1 && DIRECT
    return (uint)get_group_id(2);
#elif BATCH > 1
    return (uint)get_group_id(1);
#else
    return 0;
#endif
}

/* Offsets that a kernel adds to its pointers to images (in bytes) and to spectra (in numbers). */
static inline uint image_offset(void)
{
    return image_number() * IMAGE_APART;
}

#if !DIRECT
static inline size_t spectrum_offset(void)
{
    return (size_t)image_number() * SPECTRUM_SIZE;
}
#endif
