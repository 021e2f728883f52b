/* Images alike: BATCH of them go through the same dispatches, and the second dimension of a
 * dispatch, in which a group is one item wide, says which one is an item's own.
 *
 * Data: in the frame that comes in as in the one that goes out, each begins IMAGE_APART bytes
 * behind the one before (the colours of a mosaic: 0, at the same place); each has a spectrum,
 * SPECTRUM_SIZE numbers behind the one before. The response and all tables are shared.
 *
 * Of one image alone nothing of this is left: its number is a constant. */

#if BATCH > 1
#define MY_NUMBER ((uint)get_group_id(1))
#else
#define MY_NUMBER 0u
#endif

/* What a kernel adds to its arguments before anything else. */
#define MY_IMAGE    (MY_NUMBER * IMAGE_APART)
#define MY_SPECTRUM ((size_t)MY_NUMBER * SPECTRUM_SIZE)
