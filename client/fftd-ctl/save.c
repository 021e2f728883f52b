#include "save.h"

#include <errno.h>
#include <string.h>

int save_begin(const struct ctl *ctl, struct output_file *ret, const char *path,
               enum output_kind kind)
{
    return output_open(ret, path, kind) < 0
               ? ctl_fail(ctl, EX_CANTCREAT, "cannot create %.1000s: %s", path, ret->why)
               : 0;
}

int save_end(const struct ctl *ctl, struct output_file *output, const char *path, int r)
{
    const bool to_stdout = output->file == stdout;
    if (r < 0)
        output_discard(output);
    else
        r = output_close(output);
    if (r == 0 || (to_stdout && r == -EPIPE))
        return 0;
    return ctl_fail(ctl, EX_IOERR, "cannot write %.1000s: %s", to_stdout ? "stdout" : path,
                    strerror(-r));
}

int save_picture(const struct ctl *ctl, const struct picture *picture, const char *path)
{
    struct output_file output;
    const int code = save_begin(ctl, &output, path, OUTPUT_WHOLE);
    if (code != 0)
        return code;
    errno = 0;
    return save_end(ctl, &output, path, picture_write_png(picture, output.file));
}
