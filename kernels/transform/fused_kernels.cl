/* The kernels of the fused technique; data and work-items: fused.cl. Launched by
 * transform_frame_enqueue (daemon/transform/frame.c). U_LAST and V_LAST are the last stages;
 * U_LEGS_HELD and V_LEGS_HELD are the most legs that an item holds in registers between stages
 * (HELD), or 1. */

#define LAST_U(function) PASTE(function, PASTE(u_, U_LAST))
#define LAST_V(function) PASTE(function, PASTE(v_, V_LAST))
#define LAST_L(function) PASTE(function, PASTE(l_, L_LAST))

#if !IS_SMALLER && !IS_APART

kernel __attribute__((reqd_work_group_size(U_GROUP, 1, 1))) void
forward(global const uchar *restrict image, global stored *restrict spectrum,
        global const int *restrict map_x, global const int *restrict map_y,
        global const float2 *restrict twiddle, global const ushort *restrict frequencies, uint band,
        local work_u_t *work KERNEL_CORRECTION CAPTURED_PARAMETERS)
{
    cplx held[U_LEGS_HELD];
    LAST_U(forward_to_)
    (held, CAPTURED(image + image_offset()), spectrum + spectrum_offset(), map_x, map_y, twiddle,
     (struct band){frequencies, band}, work CORRECTION_ARGUMENT);
}

#endif

#if !IS_LARGER

/* Where IS_APART, both may be one buffer. */
#if IS_APART
#define OWN_RESTRICT
#else
#define OWN_RESTRICT restrict
#endif

#if IS_SMALLER
#define LARGER_PARAMETERS                                                                          \
    global const stored *restrict larger, global const uint2 *restrict origins,                    \
        global const float2 *restrict larger_twiddle, global const ushort *restrict crop,          \
        local work_l_t *lines,
#elif IS_APART
#define LARGER_PARAMETERS global const stored *loaded,
#else
#define LARGER_PARAMETERS
#endif

#if COMPLETES
#define COMPLETE_PARAMETERS global const stored *restrict completed, uint completed_count,
#else
#define COMPLETE_PARAMETERS
#endif

kernel __attribute__((reqd_work_group_size(V_GROUP, 1, 1))) void
middle(LARGER_PARAMETERS COMPLETE_PARAMETERS global stored *OWN_RESTRICT spectrum,
       global const uint2 *restrict places, uint band, global const stored *restrict response,
       global const float2 *restrict twiddle, local work_v_t *work POWERS_PARAMETER)
{
    const struct pairs pairs = {places, band};
    cplx held[V_LEGS_HELD];
    spectrum += spectrum_offset();
#if COMPLETES
    completed += complete_offset();
    const bool is_complete = is_group_complete(band, completed_count);
#endif
#if IS_SMALLER
    const struct pairs from = {origins, band};
    larger += image_number() * (size_t)LARGER_SIZE;
#if COMPLETES
    if (is_complete)
        complete_load(completed, band, crop, work);
    else
#endif
    {
#if LANES > 1
        lines_load(larger, from, lines);
#endif
        LAST_L(forward_to_)(held, larger, from, larger_twiddle, crop, lines, work);
        sync_group();
    }
#endif
#if IS_APART
    loaded += spectrum_offset();
#else
    global const stored *const loaded = spectrum;
#endif
#if COMPLETES && !IS_SMALLER
    if (is_complete)
        LAST_V(weigh_completed_)(held, spectrum, completed, pairs, WEIGHTS, work);
    else
#endif
    {
#if LANES > 1 && !IS_SMALLER
        lines_load(loaded, pairs, work);
#endif
        LAST_V(forward_to_)(held, spectrum, loaded, pairs, WEIGHTS, twiddle, work);
    }
    LAST_V(inverse_from_)(held, spectrum, pairs, twiddle, work);
#if LANES > 1
    lines_store(spectrum, pairs, work);
#endif
}

/* `image` is read only for the bytes that the filter does not change (KEEP_OTHERS). */
kernel __attribute__((reqd_work_group_size(U_GROUP, 1, 1))) void
inverse(global const stored *restrict spectrum, global const uchar *restrict image,
        global uchar *restrict result, global const float2 *restrict twiddle,
        global const ushort *restrict frequencies, uint band,
        local work_u_t *work CAPTURED_PARAMETERS)
{
    cplx held[U_LEGS_HELD];
    LAST_U(inverse_from_)
    (held, spectrum + spectrum_offset(), CAPTURED(image + image_offset()), result + image_offset(),
     twiddle, (struct band){frequencies, band}, work);
}

#endif
