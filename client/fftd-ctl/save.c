#include "save.h"

#include <errno.h>
#include <string.h>

#include "common/output.h"

int save_picture(const struct ctl *ctl, const struct picture *picture, const char *path)
{
    struct output_file output;
    const bool to_stdout = strcmp(path, "-") == 0;
    int r = output_open(&output, path, OUTPUT_WHOLE);
    if (r < 0)
        return ctl_fail(ctl, EX_CANTCREAT, "cannot create %s: %s", path, output.why);
    errno = 0;
    r = picture_write_png(picture, output.file);
    if (r < 0)
        output_discard(&output);
    else if (!to_stdout)
        r = output_close(&output);
    if (r < 0 && !(to_stdout && r == -EPIPE))
        return ctl_fail(ctl, EX_IOERR, "%s: %s", to_stdout ? "stdout" : path, strerror(-r));
    return EX_OK;
}
