/* Lines along V that a load has completed for its results (COMPLETES), with several lanes: where
 * they are, and how a smaller picture takes its part of them. Data and work-items: fused.cl. */

#if IS_SMALLER
#define COMPLETE_LENGTH L_LENGTH
#else
#define COMPLETE_LENGTH V_LENGTH
#endif

static inline size_t complete_offset(void)
{
    return (size_t)image_number() * COMPLETE_SIZE;
}

/* Returns the index of element e of a group of completed pairs, as many as the load has lanes. */
static inline uint complete_at(uint group, uint e)
{
    return group * COMPLETE_LENGTH + e;
}

/* Returns whether the load has completed all pairs of the work-group. */
static inline bool is_group_complete(uint band, uint completed_count)
{
    const uint end = ((uint)get_group_id(0) + 1) * V_LINES * LANES;
    return min(end, band) <= completed_count;
}

#if IS_SMALLER
/* Loads what the smaller picture has of completed pairs. */
static inline void complete_load(global const stored *completed, uint band,
                                 global const ushort *crop, local work_t *work)
{
    for (uint c = get_local_id(0); c < V_LINES; c += V_GROUP) {
        const uint group = (uint)get_group_id(0) * V_LINES + c;
        for (uint e = 0; e < L_LENGTH && group * LANES < band; e++) {
            const uint at = crop[e];
            if (at < V_LENGTH)
                work_put(work, lane_at(c, at, V_UNIT),
                         c_load_part(completed, complete_at(group / LARGER_PARTS, e),
                                     group % LARGER_PARTS, LARGER_PARTS));
        }
    }
    sync_group();
}
#endif
