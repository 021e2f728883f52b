#include "estimators/periodic_texture.h"

#include <math.h>
#include <stdlib.h>

#define MOST_MULTIPLE  5
/* The kth harmonic has at most FALL / k of the amplitude: that of stripes whose bright part is the
 * share d of a period has |sin(pi k d)| / (k sin(pi d)), and 1 / sin(0.15 pi) = 2.2 is the most
 * from 15 to 85 %. */
#define FALL           2.2
/* The least share of a line's amplitude that its relations must have. Chosen on the clips of
 * tests/unit/periodic_texture.c, where waves of 0.7 % must not count, and harmonics of 20 % must.
 */
#define LEAST_SHARE    0.03
/* What the third of three related lines must have of the second. Waves that are cut off have
 * products of up to about 4 %. */
#define LEAST_PRODUCT  0.06
/* The least amplitude of four lines that are the corners of a parallelogram, relative to the
 * strongest. Chosen on the default clips of tests/unit/periodic.c, where 0.2 to 0.5 make no
 * difference; with 0.7, a checkerboard that pans is taken for waves. */
#define LEAST_CORNER   0.4
/* Two lines that mirror each other: the least share of the amplitude that the weaker one has, and
 * how many times dx they are apart. The lines of weaves differed by 3 % at most where they were
 * taken for waves. */
#define LEAST_MIRRORED 0.8
#define FAR_MIRRORED   20
/* The least amplitude of each of two known lines, relative to the line that they are to explain. A
 * bent or uneven line is stronger than its products with others. Chosen on the clips of
 * tests/unit/periodic.c.
 */
#define LEAST_PARENT   0.5
/* As far as the alias of a harmonic was found there; the pixels of a camera weaken those beyond. */
#define MOST_ALIAS     16
/* How many times as far a line may be off the sum of two bent ones. */
#define BENT           3
/* How much more a line may be off for each multiple above one. It was chosen, and doubles the
 * chance relations of independent waves that tests/unit/periodic_texture.c counts. */
#define MULTIPLE_DOUBT 0.3

static double apart(double a, double b)
{
    const double d = a - b;
    return fabs(d - round(d));
}

bool texture_is_same(struct sheet_frequency a, struct sheet_frequency b, double dx, double dy)
{
    return (apart(a.fx, b.fx) < dx && apart(a.fy, b.fy) < dy) ||
           (apart(a.fx, -b.fx) < dx && apart(a.fy, -b.fy) < dy);
}

/* Returns whether c is m a + n b. */
static bool is_sum(struct sheet_frequency c, int m, struct sheet_frequency a, int n,
                   struct sheet_frequency b, double dx, double dy)
{
    const struct sheet_frequency sum = {m * a.fx + n * b.fx, m * a.fy + n * b.fy};
    const double doubt = 1 + MULTIPLE_DOUBT * (abs(m) + abs(n) - 1);
    return texture_is_same(c, sum, doubt * dx, doubt * dy);
}

static bool is_harmonic(const struct texture_line *a, const struct texture_line *b, double dx,
                        double dy)
{
    for (int k = 2; k <= MOST_MULTIPLE; k++)
        if (b->amplitude < FALL / k * a->amplitude && is_sum(b->f, k, a->f, 0, a->f, dx, dy))
            return true;
    return false;
}

/* Returns whether one of the three is the sum or the difference of the others, or of one and twice
 * another.
 */
static bool are_sum(struct sheet_frequency a, struct sheet_frequency b, struct sheet_frequency c,
                    double dx, double dy)
{
    for (int sign = -1; sign <= 1; sign += 2)
        if (is_sum(c, 1, a, sign, b, dx, dy) || is_sum(c, 2, a, sign, b, dx, dy) ||
            is_sum(c, 1, a, 2 * sign, b, dx, dy) || is_sum(a, 2, c, sign, b, dx, dy) ||
            is_sum(a, 1, c, 2 * sign, b, dx, dy) || is_sum(b, 2, a, sign, c, dx, dy) ||
            is_sum(b, 1, a, 2 * sign, c, dx, dy))
            return true;
    return false;
}

/* Returns whether two lines mirror each other about an axis and are as strong, as both lines of the
 * product of two sines are. Waves closer together than 3/width are left out: a single one beside an
 * axis may look like two. */
static bool are_mirrored(const struct texture_line *a, const struct texture_line *b, double dx,
                         double dy)
{
    const struct sheet_frequency mirrored = {a->f.fx, -a->f.fy};
    return fmin(a->amplitude, b->amplitude) > LEAST_MIRRORED * fmax(a->amplitude, b->amplitude) &&
           texture_is_same(b->f, mirrored, dx, dy) &&
           !texture_is_same(a->f, b->f, FAR_MIRRORED * dx, FAR_MIRRORED * dy);
}

static void join(const struct texture_line *line, const unsigned *member, unsigned members,
                 bool *is_member)
{
    double least = INFINITY, most = 0, sum = 0;
    for (unsigned i = 0; i < members; i++) {
        least = fmin(least, line[member[i]].amplitude);
        most = fmax(most, line[member[i]].amplitude);
        sum += line[member[i]].amplitude;
    }
    const bool is_product = members == 3 && least < LEAST_PRODUCT * (sum - least - most);
    for (unsigned i = 0; i < members; i++) {
        const double amplitude = line[member[i]].amplitude;
        is_member[member[i]] |= is_product ? amplitude <= least : least >= LEAST_SHARE * amplitude;
    }
}

void texture_relate(const struct texture_line *line, unsigned count, double dx, double dy,
                    bool *is_member)
{
    for (unsigned i = 1; i < count; i++) {
        if (is_harmonic(&line[0], &line[i], dx, dy) || is_harmonic(&line[i], &line[0], dx, dy) ||
            are_mirrored(&line[0], &line[i], dx, dy))
            join(line, (unsigned[]){0, i}, 2, is_member);
        for (unsigned j = i + 1; j < count; j++)
            if (are_sum(line[0].f, line[i].f, line[j].f, dx, dy))
                join(line, (unsigned[]){0, i, j}, 3, is_member);
    }
}

/* Returns whether the frequencies of line[0] and three others add up to zero with some choice of
 * signs, as the corners of a parallelogram do, and whether none is much weaker than another. */
static bool are_corners(const struct texture_line *line, const unsigned other[3], double dx,
                        double dy)
{
    const double doubt = 1 + 2 * MULTIPLE_DOUBT;
    double least = line[0].amplitude, most = line[0].amplitude;
    for (unsigned i = 0; i < 3; i++) {
        least = fmin(least, line[other[i]].amplitude);
        most = fmax(most, line[other[i]].amplitude);
    }
    for (int m = -1; m <= 1 && least >= LEAST_CORNER * most; m += 2)
        for (int n = -1; n <= 1; n += 2) {
            const struct sheet_frequency a = line[0].f, b = line[other[0]].f, c = line[other[1]].f;
            const struct sheet_frequency sum = {a.fx + m * b.fx + n * c.fx,
                                                a.fy + m * b.fy + n * c.fy};
            if (texture_is_same(line[other[2]].f, sum, doubt * dx, doubt * dy))
                return true;
        }
    return false;
}

void texture_relate_corners(const struct texture_line *line, unsigned count, double dx, double dy,
                            bool *is_member)
{
    for (unsigned i = 1; i < count; i++)
        for (unsigned j = i + 1; j < count; j++)
            for (unsigned k = j + 1; k < count; k++)
                if (are_corners(line, (unsigned[]){i, j, k}, dx, dy))
                    is_member[0] = is_member[i] = is_member[j] = is_member[k] = true;
}

bool texture_explains(const struct texture_line *known, unsigned count, struct texture_line line,
                      double dx, double dy)
{
    for (unsigned i = 0; i < count; i++) {
        const struct texture_line *a = &known[i];
        for (int k = 2; k <= MOST_ALIAS; k++)
            if (line.amplitude < FALL / k * a->amplitude &&
                texture_is_same(line.f, (struct sheet_frequency){k * a->f.fx, k * a->f.fy},
                                (1 + 0.1 * k) * dx, (1 + 0.1 * k) * dy))
                return true;
        if (a->amplitude < LEAST_PARENT * line.amplitude)
            continue;
        for (unsigned j = 0; j < i; j++) {
            const struct texture_line *b = &known[j];
            if (b->amplitude < LEAST_PARENT * line.amplitude)
                continue;
            for (int sign = -1; sign <= 1; sign += 2)
                if (is_sum(line.f, 1, a->f, sign, b->f, BENT * dx, BENT * dy) ||
                    is_sum(line.f, 2, a->f, sign, b->f, dx, dy) ||
                    is_sum(line.f, 2, b->f, sign, a->f, dx, dy))
                    return true;
        }
    }
    return false;
}
