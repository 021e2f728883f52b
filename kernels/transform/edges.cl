/* The view of edges (daemon/filters/view.h has the maths). The store of the last inverse dispatch
 * stores rounded samples (pixel.cl), and the kernel `view` draws their edges. Kernels without
 * VIEW_EDGES have nothing of this.
 *
 * VIEW_TRACKS: three more kernels before it find which edges are kept. The pixels that may be form
 * sets: those that touch, by any chain of them. Each set is a tree, in which a pixel has the place
 * of another one with a lower number, and the root has its own. `find_edges` makes each pixel a
 * tree. `join_edges` joins those of neighbours, without a lock: a root gets a lower place by
 * atomic_min, and if it was none any more, what it had is joined as well (Y. Komura, GPU-based
 * cluster-labeling algorithm without the use of conventional iteration, Computer Physics
 * Communications 194, 2015). `mark_edges` marks the roots of sets with a strong edge. All is exact,
 * however long an edge is, because one dispatch begins when the one before has ended.
 *
 * Data:
 *   filtered   IMAGE_WIDTH x IMAGE_HEIGHT samples of 16 bits, rows without gaps
 *   places     VIEW_TRACKS, behind these, at a multiple of 4 bytes: for each pixel the number of a
 *              pixel of its set, with the highest bit set in the root of a set that is kept;
 *              EDGE_NONE: the pixel has no edge
 *   result     pixel.cl
 * Work-items: one for each pixel; the first dimension is rounded up to whole groups. Launched by
 * transform_frame_enqueue (daemon/transform/frame.c) as listed by draw.c. */

#if VIEW_EDGES

#if RESULT_MAX > 4095
typedef ulong strength; /* up to VIEW_EDGE_MAX RESULT_MAX^2 */
#else
typedef uint strength;
#endif

static inline void view_keep(global uchar *filtered, uint x, uint y, float value)
{
    ((global ushort *)filtered)[y * IMAGE_WIDTH + x] =
        convert_ushort_rte(clamp(value, 0.0f, (float)RESULT_MAX));
}

static inline int2 view_gradient(global const ushort *filtered, int x, int y)
{
    const int left = max(x - 1, 0), right = min(x + 1, IMAGE_WIDTH - 1);
    global const ushort *above = filtered + max(y - 1, 0) * IMAGE_WIDTH;
    global const ushort *here = filtered + y * IMAGE_WIDTH;
    global const ushort *below = filtered + min(y + 1, IMAGE_HEIGHT - 1) * IMAGE_WIDTH;
    const int falling = below[right] - above[left], rising = above[right] - below[left];
    return (int2)(falling + rising + 2 * (here[right] - here[left]),
                  falling - rising + 2 * (below[x] - above[x]));
}

static inline strength view_square(int value)
{
    const strength size = abs(value);
    return size * size;
}

static inline strength view_strength(global const ushort *filtered, int x, int y)
{
    if (x < 0 || y < 0 || x >= IMAGE_WIDTH || y >= IMAGE_HEIGHT)
        return 0;
    const int2 g = view_gradient(filtered, x, y);
    return view_square(g.x) + view_square(g.y);
}

/* An angle is below 22.5 degrees if its tangent is below sqrt(2) - 1. */
static inline int2 view_direction(int2 g)
{
    const strength sum = view_square((int)(abs(g.x) + abs(g.y)));
    if (sum < 2 * view_square(g.x))
        return (int2)(1, 0);
    if (sum < 2 * view_square(g.y))
        return (int2)(0, 1);
    return (int2)(1, (g.x > 0) == (g.y > 0) ? 1 : -1);
}

/* The strength of an edge that is where no stronger one is beside it; 0: there is none. */
static inline strength view_edge(global const ushort *filtered, int x, int y)
{
    const int2 g = view_gradient(filtered, x, y), step = view_direction(g);
    const strength here = view_square(g.x) + view_square(g.y);
    const bool is_edge = here > view_strength(filtered, x - step.x, y - step.y) &&
                         here >= view_strength(filtered, x + step.x, y + step.y);
    return is_edge ? here : 0;
}

#if VIEW_TRACKS

#define EDGE_NONE     0x7fffffffu
#define EDGE_IS_KEPT  0x80000000u
#define PLACES(drawn) ((global uint *)(drawn) + (IMAGE_WIDTH * IMAGE_HEIGHT + 1) / 2)

static inline uint edge_root(volatile global const uint *places, uint at)
{
    for (uint next; (next = places[at] & ~EDGE_IS_KEPT) != at;)
        at = next;
    return at;
}

static inline void edge_join(volatile global uint *places, uint a, uint b)
{
    while ((a = edge_root(places, a)) != (b = edge_root(places, b))) {
        const uint first = min(a, b), last = max(a, b);
        const uint before = atomic_min(&places[last], first);
        if (before == last)
            return;
        a = before;
        b = first;
    }
}

kernel void find_edges(global ushort *drawn)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= IMAGE_WIDTH)
        return;
    const uint at = y * IMAGE_WIDTH + x;
    const strength edge = view_edge(drawn, x, y);
    PLACES(drawn)[at] = edge > 0 && edge >= VIEW_LOW ? at : EDGE_NONE;
}

/* Each pixel is joined with the neighbours before it. */
kernel void join_edges(global ushort *drawn)
{
    const int x = get_global_id(0), y = get_global_id(1);
    volatile global uint *places = PLACES(drawn);
    const uint at = y * IMAGE_WIDTH + x;
    if (x >= IMAGE_WIDTH || places[at] == EDGE_NONE)
        return;
    if (x > 0 && places[at - 1] != EDGE_NONE)
        edge_join(places, at, at - 1);
    for (int dx = -1; dx <= 1 && y > 0; dx++)
        if (x + dx >= 0 && x + dx < IMAGE_WIDTH && places[at - IMAGE_WIDTH + dx] != EDGE_NONE)
            edge_join(places, at, at - IMAGE_WIDTH + dx);
}

kernel void mark_edges(global ushort *drawn)
{
    const int x = get_global_id(0), y = get_global_id(1);
    volatile global uint *places = PLACES(drawn);
    const uint at = y * IMAGE_WIDTH + x;
    if (x >= IMAGE_WIDTH || (places[at] & ~EDGE_IS_KEPT) == EDGE_NONE ||
        view_strength(drawn, x, y) < VIEW_HIGH)
        return;
    atomic_or(&places[edge_root(places, at)], EDGE_IS_KEPT);
}

static inline bool edge_is_kept(global const uint *places, uint at)
{
    return (places[at] & ~EDGE_IS_KEPT) != EDGE_NONE &&
           (places[edge_root(places, at)] & EDGE_IS_KEPT) != 0;
}

#endif

kernel void view(global const ushort *restrict drawn, global uchar *restrict result)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= IMAGE_WIDTH)
        return;
#if VIEW_TRACKS
    const strength edge = edge_is_kept((global const uint *)PLACES(drawn), y * IMAGE_WIDTH + x)
                              ? view_strength(drawn, x, y)
                              : 0;
#else
    const strength edge = view_edge(drawn, x, y);
#endif
    view_store(result, x, y, sqrt((float)edge * (1.0f / VIEW_EDGE_MAX)));
}

#endif
