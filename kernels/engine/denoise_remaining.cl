/* How much of its noise a joined frame has left (denoise_join.cl), for both passes and the next
 * frame. Without `temporal` it is all of it.
 *
 * Data: histories: denoise_motion.cl. Work-items: denoise.cl. */

#if PAST

#define PAST_PARAMETERS , global const float *history

/* Returns one of the numbers that a history has for each block of denoise_join.cl, interpolated
 * between the four blocks whose middles are around (y, x). numbers: REMAINING_AT, BIAS_AT, or
 * MISFIT_AT and the bands after it. */
static inline float number_at(global const float *history, uint numbers, float y, float x)
{
    global const float *cell =
        history + BATCH * PLANE_SIZE + get_group_id(2) * HISTORY_REST + numbers;
    const float row = clamp(y / REMAINING_HOP, 0.0f, REMAINING_ROWS - 1.0f);
    const float column = clamp(x / REMAINING_HOP, 0.0f, REMAINING_COLUMNS - 1.0f);
    const uint top = min((uint)row, REMAINING_ROWS - 2U);
    const uint left = min((uint)column, REMAINING_COLUMNS - 2U);
    const float down = row - top, right = column - left;
    cell += top * REMAINING_COLUMNS + left;
    return mix(mix(cell[0], cell[1], right),
               mix(cell[REMAINING_COLUMNS], cell[REMAINING_COLUMNS + 1], right), down);
}

/* Returns the mean of such a number over 32 x 32 samples around (y, x). */
static inline float mean_around(global const float *history, uint numbers, float y, float x)
{
    float sum = 0;
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++)
            sum += (2 - abs(j)) * (2 - abs(i)) *
                   number_at(history, numbers, y + j * REMAINING_HOP, x + i * REMAINING_HOP);
    return sum / 16;
}

static inline float remaining_at(global const float *history, float y, float x)
{
    return number_at(history, REMAINING_AT, y, x);
}

/* Returns the mean over a block of `side` samples, whose middle is at (y, x). */
static inline float remaining_over(global const float *history, uint side, float y, float x)
{
    return side <= 2 * REMAINING_HOP ? remaining_at(history, y, x)
                                     : mean_around(history, REMAINING_AT, y, x);
}

#else

#define PAST_PARAMETERS

#endif
