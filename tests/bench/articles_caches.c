/* Runs one of ARM's transpositions as a processor's program, for articles/caches.py, which counts
 * the cache misses of its kernel. clang compiles articles/arm.cl for the processor.
 *
 *     articles_caches KERNEL N     KERNEL is a name of `kernels` below, N a multiple of 4
 *
 * Work-items run one after another, along dimension 0 first, in groups of one row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What kernels call, with the name that clang gives it. */
size_t get_global_id(unsigned dimension) __asm__("_Z13get_global_idj");

static size_t id[2];

size_t get_global_id(unsigned dimension)
{
    return id[dimension];
}

void transpose_elements(const float *in, float *out, unsigned width, unsigned height);
void transpose(const float *in, float *out, unsigned width, unsigned height);
void transpose_4(const float *in, float *out, unsigned width, unsigned height);
void transpose_square(float *data, unsigned n);

static float *in, *out;
static unsigned n;

static void elements(void)
{
    transpose_elements(in, out, n, n);
}

static void blocks(void)
{
    transpose(in, out, n, n);
}

static void blocks_of_4(void)
{
    transpose_4(in, out, n, n);
}

static void in_place(void)
{
    transpose_square(in, n);
}

static const struct {
    const char *name;
    void (*run)(void);
    unsigned edge; /* of a work-item's block */
} kernels[] = {{"transpose_elements", elements, 1},
               {"transpose", blocks, 2},
               {"transpose_4", blocks_of_4, 4},
               {"transpose_square", in_place, 2}};

/* Whether number i of the result is that of a transposed counter. */
static int is_right(const float *result)
{
    for (size_t y = 0; y < n; y++)
        for (size_t x = 0; x < n; x++)
            if (result[2 * (x * n + y)] != (float)(y * n + x))
                return 0;
    return 1;
}

int main(int argc, char **argv)
{
    n = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    in = aligned_alloc(64, (size_t)n * n * 8);
    out = aligned_alloc(64, (size_t)n * n * 8);
    for (size_t k = 0; n > 0 && n % 4 == 0 && k < sizeof kernels / sizeof kernels[0]; k++) {
        if (strcmp(argv[1], kernels[k].name) != 0 || in == NULL || out == NULL)
            continue;
        for (size_t i = 0; i < (size_t)n * n; i++)
            in[2 * i] = in[2 * i + 1] = (float)i;
        for (id[1] = 0; id[1] < n / kernels[k].edge; id[1]++)
            for (id[0] = 0; id[0] < n / kernels[k].edge; id[0]++)
                kernels[k].run();
        return is_right(kernels[k].run == in_place ? in : out) ? 0 : 1;
    }
    fprintf(stderr, "articles_caches: expected the name of a transposition and a multiple of 4\n");
    return 64;
}
