/* Template, once for each dispatch: its forward and its inverse kernel, or the kernel in the
 * middle.
 *
 * Constants: AXIS, KERNEL_AXIS (columns_ or rows_), ALONG_V, FIRST (its first stage), COUNT (of
 * stages: 1 to 3, in the middle 1 or 2), SECOND and THIRD (its other stages), RADIX_1 to RADIX_3 (1
 * if there is no such stage), LEAST_RADIX (the smallest of them), SPAN (of the last stage),
 * IS_MIDDLE, CROSSING (it moves lines to or from the spectrum) and IS_WIDE (with one stage: groups
 * are several items wide along the second dimension). All kernels take the same arguments, even if
 * unused. Data, work-items and the host function that launches them: staged.cl. */

/* spectrum and lines are not `restrict`: a compiler could assume then that nothing changes them at
 * a barrier, where other items do. */
#define PARAMETERS                                                                                 \
    global stored *spectrum, global stored *lines, global const stored *restrict response,         \
        uint band, global const uchar *restrict image,                                             \
        global uchar *restrict result KERNEL_CORRECTION CAPTURED_PARAMETERS POWERS_PARAMETER

/* clang-format off */
#define FRAME                                                                                      \
    {spectrum + spectrum_offset(), lines + image_number() * (size_t)LINES_SIZE, WEIGHTS, band,     \
     CAPTURED(image + image_offset()), result + image_offset() CORRECTION_ARGUMENT}
/* clang-format on */

#define LEGS (RADIX_1 * RADIX_2 * RADIX_3)

/* The item's first element, and where it is in bytes. */
#define POSITION                                                                                   \
    const uint slice = slice_number(), first = slice * (LEGS * SPAN) + place;                      \
    const uint at = slice * (LEGS * SPAN * ROW) + place * ROW + across * CPLX_BYTES

#if COUNT == 1

#define ITEM                                                                                       \
    const uint across = item_number(0, true), place = item_number(1, IS_WIDE);                     \
    POSITION
#define RUN(call, radix, below) call(&frame, first, place, across, at)
#define SYNCHRONIZE

#else

/* Where lines are moved, neighbouring groups are neighbours along the spectrum's rows, so that they
 * share cache lines. */
#if CROSSING
#define ACROSS ((uint)get_group_id(1) * (uint)get_local_size(0) + (uint)get_local_id(0))
#define PLACE  ((uint)get_group_id(0))
#else
#define ACROSS item_number(0, true)
#define PLACE  ((uint)get_group_id(1))
#endif

#define ITEM                                                                                       \
    const uint across = ACROSS, place = PLACE, item = (uint)get_local_id(1);                       \
    POSITION

/* Computes the item's butterfly of a stage; `below` is the product of the radices of the dispatch's
 * later stages. A stage of a larger radix has fewer butterflies than the group has items. */
#define RUN(call, radix, below)                                                                    \
    if ((radix) == LEAST_RADIX || item < LEGS / (radix)) {                                         \
        const uint block = quotient(item, below, LEGS / (radix)), p = item - block * (below);      \
        const uint q = block * ((radix) * (below)) + p;                                            \
        call(&frame, first + q * SPAN, place + p * SPAN, across, at + q * (SPAN * ROW));           \
    }
#define SYNCHRONIZE barrier(CLK_GLOBAL_MEM_FENCE)

#endif

#if IS_MIDDLE

kernel void rows_middle(PARAMETERS)
{
    const struct frame frame = FRAME;
    ITEM;
#if COUNT == 1
    RUN(STAGE_1(middle_one_), RADIX_1, 1);
#else
    RUN(STAGE_1(forward_one_), RADIX_1, RADIX_2);
    SYNCHRONIZE;
    RUN(STAGE_2(middle_one_), RADIX_2, 1);
    SYNCHRONIZE;
    RUN(STAGE_1(inverse_one_), RADIX_1, RADIX_2);
#endif
}

#else

kernel void KERNEL_NAME(forward_)(PARAMETERS)
{
    const struct frame frame = FRAME;
    ITEM;
    RUN(STAGE_1(forward_one_), RADIX_1, RADIX_2 * RADIX_3);
#if COUNT > 1
    SYNCHRONIZE;
    RUN(STAGE_2(forward_one_), RADIX_2, RADIX_3);
#endif
#if COUNT > 2
    SYNCHRONIZE;
    RUN(STAGE_3(forward_one_), RADIX_3, 1);
#endif
}

kernel void KERNEL_NAME(inverse_)(PARAMETERS)
{
    const struct frame frame = FRAME;
    ITEM;
#if COUNT > 2
    RUN(STAGE_3(inverse_one_), RADIX_3, 1);
    SYNCHRONIZE;
#endif
#if COUNT > 1
    RUN(STAGE_2(inverse_one_), RADIX_2, RADIX_3);
    SYNCHRONIZE;
#endif
    RUN(STAGE_1(inverse_one_), RADIX_1, RADIX_2 * RADIX_3);
}

#endif

#undef PARAMETERS
#undef FRAME
#undef LEGS
#undef ITEM
#undef POSITION
#undef RUN
#undef SYNCHRONIZE
#undef ACROSS
#undef PLACE
