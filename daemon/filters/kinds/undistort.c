/* undistort: undoes the distortion of a lens in captured frames (warp.h).
 *
 * The radial and the tangential part of a rectilinear lens are those of Brown, Close-range camera
 * calibration, Photogrammetric Engineering 37(8) (1971). The divisor is that of Claus and
 * Fitzgibbon, CVPR (2005). A fish-eye lens is that of Kannala and Brandt, A generic camera model
 * and calibration method for conventional, wide-angle, and fish-eye lenses, PAMI 28(8) (2006).
 * Names and signs are those of OpenCV's calibrateCamera and fisheye::calibrate, whose files give
 * the numbers.
 */
#include <errno.h>
#include <math.h>

#include "filters/filter_shape.h"

enum { FX, FY, CX, CY, K1, K2, P1, P2, K3, K4, K5, K6, MODEL, ZOOM, SIZE, INTERPOLATION };

enum { RECTILINEAR, FISHEYE };
static const char *const models[] = {[RECTILINEAR] = "rectilinear", [FISHEYE] = "fisheye", NULL};

#define SAME_RATIO 0.01 /* two sizes whose proportions differ by more are of different modes */

/* Computes how many pixels of a frame there are for each pixel of the calibration's pictures. */
static int scale_of(const struct filter_stage *stage, const uint32_t size[2], double ret[2],
                    struct error *why)
{
    const struct filter_value *calibrated = &stage->value[SIZE];
    ret[0] = ret[1] = 1;
    if (isnan(calibrated->number))
        return 0;
    ret[0] = size[0] / calibrated->number;
    ret[1] = size[1] / calibrated->second;
    if (fabs(ret[0] / ret[1] - 1) > SAME_RATIO)
        return error_set(why, EINVAL,
                         "undistort: size = %g/%g does not have the proportions of the frames, "
                         "%ux%u: expected a calibration of this camera mode",
                         calibrated->number, calibrated->second, size[0], size[1]);
    return 0;
}

/* Moves a place on the plane at distance 1 from the lens to where the lens draws it. */
static void distort_rectilinear(const struct filter_stage *stage, double place[2])
{
    const double u = place[0], v = place[1], r2 = u * u + v * v;
    const double above =
        1 + r2 * (number(stage, K1) + r2 * (number(stage, K2) + r2 * number(stage, K3)));
    const double below =
        1 + r2 * (number(stage, K4) + r2 * (number(stage, K5) + r2 * number(stage, K6)));
    const double s = below > 0 ? above / below : NAN;
    const double p1 = number(stage, P1), p2 = number(stage, P2);
    place[0] = u * s + 2 * p1 * u * v + p2 * (r2 + 2 * u * u);
    place[1] = v * s + p1 * (r2 + 2 * v * v) + 2 * p2 * u * v;
}

/* The distance from the axis is a polynomial of the angle between the ray and the axis. */
static void distort_fisheye(const struct filter_stage *stage, double place[2])
{
    const double r = hypot(place[0], place[1]), angle = atan(r), a2 = angle * angle;
    const double distance =
        angle *
        (1 + a2 * (number(stage, K1) +
                   a2 * (number(stage, K2) + a2 * (number(stage, K3) + a2 * number(stage, K4)))));
    const double s = r > 0 ? distance / r : 1;
    place[0] *= s;
    place[1] *= s;
}

/* The middle of a pixel has whole coordinates, so frames are scaled about the corner at -0.5, -0.5.
 */
static int undistort_origin(const struct filter_stage *stage, const uint32_t size[2], double at[2],
                            struct error *why)
{
    double scale[2];
    const int r = scale_of(stage, size, scale, why);
    if (r < 0)
        return r;
    const double fx = scale[0] * number(stage, FX), fy = scale[1] * number(stage, FY);
    const double cx = scale[0] * (number(stage, CX) + 0.5) - 0.5;
    const double cy = scale[1] * (number(stage, CY) + 0.5) - 0.5;
    double place[2] = {(at[0] - cx) / (number(stage, ZOOM) * fx),
                       (at[1] - cy) / (number(stage, ZOOM) * fy)};
    if (number(stage, MODEL) == FISHEYE)
        distort_fisheye(stage, place);
    else
        distort_rectilinear(stage, place);
    at[0] = cx + fx * place[0];
    at[1] = cy + fy * place[1];
    return 0;
}

static int undistort_check(const struct filter_stage *stage, struct error *why)
{
    const struct filter_value *size = &stage->value[SIZE];
    if (!isnan(size->number) && (size->number < 1 || size->second < 1))
        return error_set(why, EINVAL,
                         "undistort: size = %g/%g is not the size of a picture: expected its width "
                         "and height in pixels",
                         size->number, size->second);
    static const unsigned others[] = {P1, P2, K5, K6};
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++)
        if (number(stage, MODEL) == FISHEYE && number(stage, others[i]) != 0)
            return error_set(why, EINVAL,
                             "undistort: %s = %g, but model = fisheye has only k1 .. k4: expected "
                             "the coefficients of fisheye::calibrate, or model = rectilinear",
                             stage->kind->param[others[i]].name, number(stage, others[i]));
    return 0;
}

/* clang-format off */
#define MATRIX_PARAM(label, text, low)                                                             \
    {                                                                                              \
        .name = label, .unit = "px", .summary = text, .required = true, .min = low, .max = 1e5,    \
    }
#define COEFFICIENT(label, text, most)                                                             \
    {                                                                                              \
        .name = label, .summary = text, .min = -(most), .max = (most),                             \
    }
/* clang-format on */

static bool undistort_is_cubic(const struct filter_stage *stage)
{
    return number(stage, INTERPOLATION) == FILTER_BICUBIC;
}

const struct filter_kind filter_undistort = {
    .name = "undistort",
    .group = "light",
    .summary = "straightens what a lens has bent, with a calibration by OpenCV, before the filter",
    .formula = "H = 1; result(x, y) = captured(cx + fx (u s + 2 p1 u v + p2 (r^2 + 2 u^2)), "
               "cy + fy (v s + p1 (r^2 + 2 v^2) + 2 p2 u v)), u = (x - cx) / (zoom fx), "
               "v = (y - cy) / (zoom fy), r^2 = u^2 + v^2, "
               "s = (1 + k1 r^2 + k2 r^4 + k3 r^6) / (1 + k4 r^2 + k5 r^4 + k6 r^6); fisheye: "
               "s = t (1 + k1 t^2 + k2 t^4 + k3 t^6 + k4 t^8) / r, t = atan r",
    .param =
        {
            [FX] = MATRIX_PARAM("fx", "focal length along x, of the camera matrix", 1),
            [FY] = MATRIX_PARAM("fy", "focal length along y", 1),
            [CX] = MATRIX_PARAM("cx", "column of the optical axis", -100000),
            [CY] = MATRIX_PARAM("cy", "row of the optical axis", -100000),
            [K1] = COEFFICIENT("k1", "radial distortion; the coefficients are those of the file",
                               1000),
            [K2] = COEFFICIENT("k2", "radial distortion, fourth power", 1000),
            [P1] = COEFFICIENT("p1", "tangential distortion", 10),
            [P2] = COEFFICIENT("p2", "tangential distortion", 10),
            [K3] = COEFFICIENT("k3", "radial distortion, sixth power", 1000),
            [K4] = COEFFICIENT("k4", "of the divisor; fisheye: radial distortion", 1000),
            [K5] = COEFFICIENT("k5", "of the divisor, fourth power", 1000),
            [K6] = COEFFICIENT("k6", "of the divisor, sixth power", 1000),
            [MODEL] =
                {
                    .name = "model",
                    .summary = "of the lens; fisheye has k1 to k4 alone",
                    .type = FILTER_CHOICE,
                    .initial = RECTILINEAR,
                    .choices = models,
                },
            [ZOOM] =
                {
                    .name = "zoom",
                    .summary = "more than 1 shows less of the edges, less than 1 shows more",
                    .min = 0.1,
                    .max = 10,
                    .initial = 1,
                },
            [SIZE] =
                {
                    .name = "size",
                    .unit = "px",
                    .summary = "width/height of the calibration's pictures; not set: as the frames",
                    .type = FILTER_PAIR,
                    .max = 100000,
                    .initial = NAN,
                },
            [INTERPOLATION] = INTERPOLATION_PARAM,
        },
    .check = undistort_check,
    .origin = undistort_origin,
    .origin_is_cubic = undistort_is_cubic,
    .example = "undistort:fx=200,fy=200,cx=127.5,cy=95.5,k1=0.25",
};
