/* Groups: validation, counting, timing in turns, and the JSON lines.
 *
 * The load of a machine changes from second to second, so that all pipelines of a group take turns,
 * in rounds that go there and back. In each turn a pipeline filters one frame that does not count,
 * because the caches are full of another's data, and then as many frames back to back as its share
 * of the time allows. The turns of one round are a pair of any two pipelines: the ratios of pairs
 * are what write.py judges. */
#include "private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS      15 /* at least: fewer pairs say little about a ratio */
#define MOST_ROUNDS 31
#define MAX_FRAMES  64

static double now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec * 1e-6;
}

/* Reports a pipeline that has failed, now or while it was built. */
static void report(struct pipeline *p, int r, const struct error *why)
{
    if (r < 0)
        pipeline_fail(p, "%s", why->text);
    if (p->state != STATE_FAILED)
        return;
    p->group->bench->failed++;
    fprintf(stderr, "articles: %s: %s\n", p->name, p->why.text);
}

static void free_group(struct group *group)
{
    while (group->count > 0)
        pipeline_free(group->list[--group->count]);
}

/* ---- counting ---- */

struct counts {
    double read, written;
};

static int count_one(struct pipeline *p, struct counts *ret, struct error *why)
{
    struct bench *bench = p->group->bench;
    cl_uint counted[2] = {0, 0};
    cl_int code = clEnqueueWriteBuffer(bench->queue, bench->counters, CL_TRUE, 0, sizeof counted,
                                       counted, 0, NULL, NULL);
    const int r = code == CL_SUCCESS ? pipeline_run(p, 1, why) : 0;
    if (r == 0 && code == CL_SUCCESS)
        code = clEnqueueReadBuffer(bench->queue, bench->counters, CL_TRUE, 0, sizeof counted,
                                   counted, 0, NULL, NULL);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "reading the counters");
    /* The counters are in units of 4 bytes. */
    *ret = (struct counts){.read = 4. * counted[0], .written = 4. * counted[1]};
    return r;
}

static void count_group(struct bench *bench, struct counts *counts, unsigned max,
                        void (*build)(struct group *group, const void *context),
                        const void *context)
{
    struct group group = {.bench = bench, .counting = true};
    struct error why;
    build(&group, context);
    for (unsigned i = 0; i < group.count && i < max; i++)
        if (pipeline_has_ended(group.list[i]) || !isnan(group.list[i]->moved_bytes) ||
            count_one(group.list[i], &counts[i], &why) < 0)
            counts[i] = (struct counts){NAN, NAN};
    free_group(&group);
}

/* ---- timing ---- */

static void take_turn(struct pipeline *p, double share_ms)
{
    const double wanted = share_ms / p->fastest_ms;
    const unsigned frames = wanted >= MAX_FRAMES ? MAX_FRAMES : wanted < 1 ? 1 : (unsigned)wanted;
    struct error why;
    int r = frames > 1 ? pipeline_run(p, 1, &why) : 0; /* one long frame warms its own caches */
    const double begun = now_ms();
    if (r == 0)
        r = pipeline_run(p, frames, &why);
    const double ms = (now_ms() - begun) / frames;
    if (r < 0) {
        report(p, r, &why);
        return;
    }
    if (p->sample_count < MAX_SAMPLES)
        p->samples_ms[p->sample_count++] = ms;
    if (ms < p->fastest_ms)
        p->fastest_ms = ms;
}

static void time_group(struct group *group, double seconds)
{
    unsigned runnable = 0;
    for (unsigned i = 0; i < group->count; i++)
        runnable += !pipeline_has_ended(group->list[i]);
    if (runnable == 0)
        return;
    const double begun = now_ms(), share_ms = seconds * 1e3 / ROUNDS / runnable;
    for (unsigned round = 0;
         round < ROUNDS || (round < MOST_ROUNDS && now_ms() - begun < seconds * 1e3); round++)
        for (unsigned i = 0; i < group->count; i++) {
            struct pipeline *p = group->list[round % 2 == 0 ? i : group->count - 1 - i];
            if (!pipeline_has_ended(p))
                take_turn(p, share_ms);
        }
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- JSON ---- */

static void put_text(FILE *file, const char *key, const char *text)
{
    fprintf(file, ", \"%s\": \"", key);
    for (; *text != '\0'; text++)
        if (*text == '"' || *text == '\\')
            fprintf(file, "\\%c", *text);
        else
            fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
    fputc('"', file);
}

static void put_number(FILE *file, const char *key, double number)
{
    if (isfinite(number))
        fprintf(file, ", \"%s\": %.7g", key, number);
    else
        fprintf(file, ", \"%s\": null", key);
}

static double median(const struct pipeline *p)
{
    double sorted[MAX_SAMPLES];
    memcpy(sorted, p->samples_ms, p->sample_count * sizeof *sorted);
    qsort(sorted, p->sample_count, sizeof *sorted, ascending);
    return p->sample_count > 0 ? sorted[p->sample_count / 2] : NAN;
}

static void write_line(const struct group_head *head, const struct pipeline *p)
{
    static const char *const states[] = {"ok", "refused", "failed"};
    const bool ok = p->state == STATE_OK;
    FILE *file = p->group->bench->json;
    if (file == NULL)
        return;
    fprintf(file, "{\"row\": %u", head->row);
    put_text(file, "group", head->name);
    put_number(file, "x", head->x);
    put_text(file, "technique", p->name);
    put_text(file, "state", states[p->state]);
    if (!ok)
        put_text(file, "why", p->why.text);
    fprintf(file, ", \"turns_ms\": [");
    for (unsigned i = 0; i < p->sample_count; i++)
        fprintf(file, "%s%.5g", i > 0 ? ", " : "", p->samples_ms[i]);
    fprintf(file, "], \"dispatches\": %u", pipeline_dispatches(p));
    put_number(file, "read_bytes", p->read_bytes);
    put_number(file, "written_bytes", p->written_bytes);
    put_number(file, "moved_bytes",
               isnan(p->moved_bytes) ? p->read_bytes + p->written_bytes : p->moved_bytes);
    put_number(file, "error", ok ? p->error : NAN);
    put_number(file, "equal", ok ? p->equal : NAN);
    fprintf(file, ", \"count\": %zu", p->result.count);
    if (ok && p->differences != NULL)
        put_text(file, "differences", p->differences);
    fprintf(file, "}\n");
    fflush(file);
}

static void print_group(const struct group_head *head, const struct group *group)
{
    printf("%u. %s\n", head->row, head->name);
    for (unsigned i = 0; i < group->count; i++) {
        const struct pipeline *p = group->list[i];
        if (p->state != STATE_OK)
            printf("   %-58s %s: %s\n", p->name, p->state == STATE_REFUSED ? "refused" : "failed",
                   p->why.text);
        else if (p->sample_count == 0)
            printf("   %-58s right, error %.2g\n", p->name, p->error);
        else
            printf("   %-58s %10.4f ms  %7.3f  error %.2g\n", p->name, median(p),
                   median(p) / median(group->list[0]), p->error);
    }
    fflush(stdout);
}

bool bench_wants(const struct bench *bench, const struct group_head *head)
{
    return (head->simulated || !bench->simulated) &&
           strncmp(head->name, bench->group, strlen(bench->group)) == 0;
}

void bench_group(struct bench *bench, const struct group_head *head,
                 void (*build)(struct group *group, const void *context), const void *context)
{
    const bool timed = !bench->untimed && !head->untimed;
    struct group group = {.bench = bench};
    struct counts counts[sizeof group.list / sizeof group.list[0]] = {{0}};
    if (!bench_wants(bench, head))
        return;
    bench->measured++;
    if (head->counted)
        count_group(bench, counts, sizeof counts / sizeof counts[0], build, context);
    build(&group, context);
    for (unsigned i = 0; i < group.count; i++) {
        struct pipeline *p = group.list[i];
        struct error why = {""};
        if (bench->simulated) {
            printf("technique: %u|%s|%.7g|%s\n", head->row, head->name, head->x, p->name);
            fflush(stdout);
        }
        int r = pipeline_has_ended(p) ? 0 : pipeline_validate(p, &why);
        const double begun = now_ms();
        if (!pipeline_has_ended(p) && r == 0 && timed)
            r = pipeline_run(p, 1, &why);
        p->fastest_ms = now_ms() - begun;
        report(p, r, &why);
        if (head->counted) {
            p->read_bytes = counts[i].read;
            p->written_bytes = counts[i].written;
        }
    }
    if (timed)
        time_group(&group, bench->seconds);
    for (unsigned i = 0; i < group.count; i++)
        write_line(head, group.list[i]);
    print_group(head, &group);
    free_group(&group);
}

void bench_figures(struct bench *bench, const struct group_head *head, const struct figure *figure,
                   unsigned count, int r, const struct error *why)
{
    struct group group = {.bench = bench};
    bench->measured++;
    for (unsigned i = 0; i < count; i++) {
        if (r == 0 && figure[i].count == 0)
            continue;
        struct pipeline *p = pipeline_new(&group, "%s", figure[i].name);
        if (r < 0) {
            report(p, r, why);
            break;
        }
        p->sample_count = figure[i].count < MAX_SAMPLES ? figure[i].count : MAX_SAMPLES;
        memcpy(p->samples_ms, figure[i].ms, p->sample_count * sizeof *figure[i].ms);
    }
    for (unsigned i = 0; i < group.count; i++)
        write_line(head, group.list[i]);
    print_group(head, &group);
    free_group(&group);
}
