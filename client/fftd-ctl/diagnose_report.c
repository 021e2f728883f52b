#include "diagnose_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "save.h"

#define SIDE 320u /* pixels of a small picture, at most; parts are shown at full size */

static void write_escaped(FILE *file, const char *text)
{
    for (; *text != '\0'; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", file);
            break;
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        default:
            putc(*text, file);
        }
}

static void write_base64(FILE *file, const uint8_t *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < count; i += 3) {
        const uint32_t group = (uint32_t)bytes[i] << 16 |
                               (i + 1 < count ? (uint32_t)bytes[i + 1] << 8 : 0) |
                               (i + 2 < count ? bytes[i + 2] : 0);
        putc(digits[group >> 18 & 63], file);
        putc(digits[group >> 12 & 63], file);
        putc(i + 1 < count ? digits[group >> 6 & 63] : '=', file);
        putc(i + 2 < count ? digits[group & 63] : '=', file);
    }
}

static int write_picture(FILE *file, const float *luma, uint32_t width, uint32_t height,
                         bool is_whole, const char *what)
{
    struct picture picture = {0};
    char *bytes = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&bytes, &size);
    int r = memory == NULL ? -ENOMEM
                           : picture_from_levels(&picture, luma, width, height, SIDE, is_whole);
    if (r == 0)
        r = picture_write_png(&picture, memory);
    if (memory != NULL && fclose(memory) != 0 && r == 0)
        r = -ENOMEM;
    if (r == 0) {
        fprintf(file, "<figure><img alt=\"%s\" src=\"data:image/png;base64,", what);
        write_base64(file, (const uint8_t *)bytes, size);
        fprintf(file, "\"><figcaption>%s</figcaption></figure>\n", what);
    }
    free(bytes);
    picture_free(&picture);
    return r;
}

static int write_finding(FILE *file, struct diagnosis *diagnosis,
                         const struct diagnosis_finding *finding)
{
    uint32_t width, height;
    diagnosis_size(diagnosis, &width, &height);
    const size_t count = (size_t)width * height;
    float *before = malloc(count * sizeof *before), *after = malloc(count * sizeof *after);
    int r = before == NULL || after == NULL ? -ENOMEM : 0;
    fprintf(file, "<section><h2>%s</h2>\n<p>", diagnosis_name(finding->kind));
    write_escaped(file, finding->text);
    fputs(".</p>\n", file);
    if (r == 0) {
        const bool has_after = diagnosis_preview(diagnosis, finding, before, after);
        const bool is_whole = diagnosis_is_of_all(finding->kind);
        r = write_picture(file, before, width, height, is_whole, "before");
        if (r == 0 && has_after)
            r = write_picture(file, after, width, height, is_whole, "after, about");
    }
    if (finding->stage[0] != '\0') {
        fputs("<pre>fftd-ctl filter set '", file);
        write_escaped(file, finding->stage);
        fputs("'</pre>\n", file);
    }
    fputs("<p>", file);
    write_escaped(file, finding->advice);
    fputs("</p></section>\n", file);
    free(before);
    free(after);
    return r;
}

static int write_page(FILE *file, struct diagnosis *diagnosis,
                      const struct diagnosis_result *result)
{
    int r = 0;
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">"
          "<meta name=\"viewport\" content=\"width=device-width\">\n"
          "<title>fftd: what is wrong with the picture</title>\n"
          "<style>body{font:16px sans-serif;max-width:46em;margin:1em auto;padding:0 1em}"
          "figure{display:inline-block;margin:0 .5em .5em 0}img{max-width:100%}"
          "pre{background:#eee;color:#000;padding:.5em;white-space:pre-wrap}</style>\n"
          "<h1>What is wrong with the picture</h1>\n",
          file);
    fprintf(file, "<p>From %u frames; the most annoying first.</p>\n", result->frames);
    if (result->count == 0)
        fputs("<p>Nothing was found.</p>\n", file);
    for (unsigned i = 0; i < result->count && r == 0; i++)
        r = write_finding(file, diagnosis, &result->finding[i]);
    if (result->chain[0] != '\0') {
        fputs("<h2>The chain for all of it</h2>\n<pre>fftd-ctl filter set '", file);
        write_escaped(file, result->chain);
        fputs("'</pre>\n", file);
    }
    fputs("</html>\n", file);
    return r;
}

int diagnose_write_report(const struct ctl *ctl, struct diagnosis *diagnosis,
                          const struct diagnosis_result *result)
{
    struct output_file output;
    const int code = save_begin(ctl, &output, ctl->report, OUTPUT_WHOLE);
    return code != 0
               ? code
               : save_end(ctl, &output, ctl->report, write_page(output.file, diagnosis, result));
}
