/* The median of nine samples, which the load of captured samples takes (pixel.cl). Kernels without
 * MEDIAN have nothing of this.
 *
 * Data: nine samples, or vectors of them, in an array, whose order changes; the median is the fifth
 * afterwards. The 19 exchanges are those of N. Devillard, Fast median search: an ANSI C
 * implementation, 1998, and the fewest that are known.
 * Work-items: as those of the kernels that load (fused.cl, staged.cl, denoise_first.cl). */

#if MEDIAN

#define ORDER(type, v, a, b)                                                                       \
    {                                                                                              \
        const type less = min(v[a], v[b]);                                                         \
        v[b] = max(v[a], v[b]);                                                                    \
        v[a] = less;                                                                               \
    }

#define MEDIAN_OF_NINE(type, v)                                                                    \
    ORDER(type, v, 1, 2)                                                                           \
    ORDER(type, v, 4, 5)                                                                           \
    ORDER(type, v, 7, 8)                                                                           \
    ORDER(type, v, 0, 1)                                                                           \
    ORDER(type, v, 3, 4)                                                                           \
    ORDER(type, v, 6, 7)                                                                           \
    ORDER(type, v, 1, 2)                                                                           \
    ORDER(type, v, 4, 5)                                                                           \
    ORDER(type, v, 7, 8)                                                                           \
    ORDER(type, v, 0, 3)                                                                           \
    ORDER(type, v, 5, 8)                                                                           \
    ORDER(type, v, 4, 7)                                                                           \
    ORDER(type, v, 3, 6)                                                                           \
    ORDER(type, v, 1, 4)                                                                           \
    ORDER(type, v, 2, 5)                                                                           \
    ORDER(type, v, 4, 7)                                                                           \
    ORDER(type, v, 4, 2)                                                                           \
    ORDER(type, v, 6, 4)                                                                           \
    ORDER(type, v, 4, 2)

#endif
