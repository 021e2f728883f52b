#include "core/similarity.h"

#include <complex.h>
#include <math.h>

/* A place z = x + iy is moved to factor * z + shift. */
static double complex factor_of(const struct similarity *s)
{
    return exp(s->log_zoom) * cexp(I * s->angle_rad);
}

static double complex shift_of(const struct similarity *s)
{
    return s->dx + I * s->dy;
}

bool similarity_is_none(const struct similarity *s)
{
    return s->dx == 0 && s->dy == 0 && s->angle_rad == 0 && s->log_zoom == 0;
}

void similarity_move(const struct similarity *s, double place[2])
{
    const double complex moved = factor_of(s) * (place[0] + I * place[1]) + shift_of(s);
    place[0] = creal(moved);
    place[1] = cimag(moved);
}

struct similarity similarity_join(const struct similarity *first, const struct similarity *second)
{
    const double complex shift = factor_of(second) * shift_of(first) + shift_of(second);
    return (struct similarity){.dx = creal(shift),
                               .dy = cimag(shift),
                               .angle_rad = first->angle_rad + second->angle_rad,
                               .log_zoom = first->log_zoom + second->log_zoom};
}

struct similarity similarity_inverse(const struct similarity *s)
{
    const double complex shift = -shift_of(s) / factor_of(s);
    return (struct similarity){.dx = creal(shift),
                               .dy = cimag(shift),
                               .angle_rad = -s->angle_rad,
                               .log_zoom = -s->log_zoom};
}
