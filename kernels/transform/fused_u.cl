/* Template, once for each stage along U in order: stages 0 to this one of `forward`, and stages
 * from this one to 0 of `inverse` (fused_kernels.cl). Constants: fused_stage.cl. Data and
 * work-items: fused.cl.
 *
 * The last group may have more lines than remain: the excess lines repeat the last one and are not
 * stored. */

static inline uint NAME(wanted_line_)(struct butterfly place)
{
    return (uint)get_group_id(0) * U_LINES + place.line;
}

#if IS_LAST

/* Returns the place along U of leg `leg` of a butterfly. */
static inline uint NAME(place_)(struct butterfly place, uint leg)
{
    return ROWS_FIRST ? leg * BUTTERFLIES + place.number : place.element + leg;
}

/* Returns whether any leg of a butterfly is in the band. `frequency` is that of leg 0. */
static inline bool NAME(has_band_)(uint frequency, uint band)
{
    bool has = false;
#pragma unroll
    for (uint j = 0; j < RADIX; j++)
        has |= is_in_band(frequency + j * BUTTERFLIES, band);
    return has;
}

/* Returns the index of leg `leg` of a butterfly in the spectrum. */
static inline uint NAME(spectrum_)(struct butterfly place, uint leg, uint line)
{
#if ROWS_FIRST && BUTTERFLIES % V_LINES == 0 /* legs are a constant number of panels apart */
    return spectrum_at(place.number, line) + leg * (BUTTERFLIES / V_LINES * SPECTRUM_PITCH);
#else
    return spectrum_at(NAME(place_)(place, leg), line);
#endif
}

#endif

static inline void NAME(forward_one_)(cplx *x, uint item, captured image, global stored *spectrum,
                                      global const int *map_x, global const int *map_y,
                                      global const float2 *twiddle, struct band band,
                                      local work_u_t *work CORRECTION_PARAMETER)
{
    const struct butterfly place = NAME(butterfly_)(item);
    const uint wanted = NAME(wanted_line_)(place), line = min(wanted, (uint)V_LANES - 1);
#if IS_LAST
    const uint frequency = band.frequencies[place.element];
    if (LANES > 1 && !NAME(has_band_)(frequency, band.count))
        return; /* with one lane it would gain nothing: the group waits for its other items */
#endif
#pragma unroll
    for (uint j = 0; j < RADIX; j++) {
#if STAGE == 0
        x[j] = packed_load(image, map_x, map_y, place.element, j * SPAN, is_leg_inside(j, SPAN),
                           line * LANES);
#else
        NAME(get_leg_)(x, j, work, place);
#endif
    }
#if STAGE == 0 && CORRECTIONS
    correct(x, RADIX, SPAN, place.element, line * LANES, correction);
#endif
#if STAGE == 0 && HAS_CURVE
    curve_apply(x, RADIX);
#endif
    DFT(x);
#pragma unroll
    for (uint j = 0; j < RADIX; j++) {
#if IS_LAST
        if (line == wanted && is_in_band(frequency + j * BUTTERFLIES, band.count))
            c_store(x[j], spectrum, NAME(spectrum_)(place, j, line));
#else
        x[j] = NAME(turn_)(x[j], j, twiddle, place);
        NAME(put_leg_)(x, j, work, place);
#endif
    }
}

static inline void NAME(inverse_one_)(cplx *x, uint item, global const stored *spectrum,
                                      captured image, global uchar *result,
                                      global const float2 *twiddle, struct band band,
                                      local work_u_t *work)
{
    const struct butterfly place = NAME(butterfly_)(item);
    const uint wanted = NAME(wanted_line_)(place), line = min(wanted, (uint)V_LANES - 1);
#if IS_LAST
    const uint frequency = band.frequencies[place.element];
#endif
#pragma unroll
    for (uint j = 0; j < RADIX; j++) {
#if IS_LAST
        x[j] = c_make(0, 0);
        if (is_in_band(frequency + j * BUTTERFLIES, band.count))
            x[j] = c_load(spectrum, NAME(spectrum_)(place, j, line));
#else
        NAME(get_leg_)(x, j, work, place);
        x[j] = NAME(turn_)(x[j], j, twiddle, place);
#endif
    }
#if IS_LAST && LANES > 1
    if (NAME(has_band_)(frequency, band.count)) /* zeros remain zeros */
#endif
        DFT(x);
#pragma unroll
    for (uint j = 0; j < RADIX; j++) {
#if STAGE == 0
        if (line == wanted)
            packed_store(result, image, place.element, j * SPAN, is_leg_inside(j, SPAN),
                         line * LANES, x[j]);
#else
        NAME(put_leg_)(x, j, work, place);
#endif
    }
}

/* Computes stages 0 to this one. */
static inline void NAME(forward_to_)(cplx *held, captured image, global stored *spectrum,
                                     global const int *map_x, global const int *map_y,
                                     global const float2 *twiddle, struct band band,
                                     local work_u_t *work CORRECTION_PARAMETER)
{
#if STAGE > 0
    NAME_PREVIOUS(forward_to_)
    (held, image, spectrum, map_x, map_y, twiddle, band, work CORRECTION_ARGUMENT);
    NAME(pass_to_)(held, work);
#endif
    EACH_ITEM(NAME(forward_one_)(x, item, image, spectrum, map_x, map_y, twiddle, band,
                                 work CORRECTION_ARGUMENT))
}

/* Computes stages from this one to 0. */
static inline void NAME(inverse_from_)(cplx *held, global const stored *spectrum, captured image,
                                       global uchar *result, global const float2 *twiddle,
                                       struct band band, local work_u_t *work)
{
    EACH_ITEM(NAME(inverse_one_)(x, item, spectrum, image, result, twiddle, band, work))
#if STAGE > 0
    NAME(pass_back_)(held, work);
    NAME_PREVIOUS(inverse_from_)(held, spectrum, image, result, twiddle, band, work);
#endif
}
