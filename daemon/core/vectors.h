/* For functions whose loops the compiler turns into vector instructions (most of them with -O3 in
 * the Makefile). */
#ifndef FFTD_CORE_VECTORS_H
#define FFTD_CORE_VECTORS_H

/* Before a function: longer vectors where the processor has them. With those that all processors
 * have, factor_multiply takes three times as long. */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) &&                 \
    !defined(__SANITIZE_ADDRESS__)
#define VECTORS __attribute__((target_clones("avx2", "sse4.2", "default")))
#else
#define VECTORS
#endif

/* Before a function without floating-point arithmetic, whose result is the same with any vectors:
 * AVX-512, too. Older compilers do not know the name x86-64-v4. */
#if __GNUC__ >= 12 && defined(__x86_64__) && !defined(__clang__) &&                                \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define LONG_VECTORS __attribute__((target_clones("arch=x86-64-v4", "avx2", "sse4.2", "default")))
#else
#define LONG_VECTORS VECTORS
#endif

/* Before a function that such a function calls: it is compiled for the same vectors. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* FLOATS numbers that are computed side by side, for loops in which compilers would keep arrays of
 * sums in memory. Every processor can compute them, in as many parts as it needs. Functions take
 * pointers to them, because how they are passed by value depends on the processor. */
#define FLOATS        8u
typedef float floats __attribute__((vector_size(4 * FLOATS)));
typedef float floats_anywhere __attribute__((vector_size(4 * FLOATS), aligned(4), may_alias));
#define FLOATS_AT(at) (*(floats_anywhere *)(at))

typedef int ints __attribute__((vector_size(4 * FLOATS)));

/* Makes a vector of numbers of a and b, given by their indices. Those of a are 0 .. FLOATS - 1, and
 * those of b follow. */
#ifdef __clang__
#define FLOATS_OF(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define FLOATS_OF(a, b, ...) __builtin_shuffle(a, b, (ints){__VA_ARGS__})
#endif

/* Returns a where a condition holds, such as a > b, and 0 elsewhere. */
#define FLOATS_IF(condition, a) ((floats)((condition) & (ints)(a)))

#endif
