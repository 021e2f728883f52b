#include "problems.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <microhttpd.h>

#include "common/bus.h"
#include "common/json.h"
#include "common/reading.h"
#include "common/shot.h"
#include "core/clock.h"
#include "daemon_bus.h"
#include "diagnosis/intake.h"
#include "view_camera.h"

#define FRAMES      90u             /* three seconds at the usual rate */
#define PATIENCE_NS (10 * NS_PER_S) /* how long a camera is watched */
#define MOST_BYTES  (64u << 20)     /* at most for kept frames, at two bytes a pixel */

/* What the search's thread uses. */
struct search {
    struct daemon_bus bus;
    struct intake intake;
    char captured[16]; /* the name of the format of captured frames */
};

struct problems {
    pthread_mutex_t lock;
    /* The lock protects these. */
    const char *place; /* the camera's; NULL: there was no search */
    bool is_running, stopping;
    const char *doing;
    unsigned done, total;
    struct image *answer; /* what the last search answered; NULL while one runs */
    /* Belongs to the thread while it runs. Its thread is joined before another search. */
    struct search search;
};

/* ---- the thread ---- */

/* Notes the progress. Returns whether the search goes on. */
static bool report(struct problems *problems, const char *doing, unsigned done, unsigned total)
{
    pthread_mutex_lock(&problems->lock);
    problems->doing = doing;
    problems->done = done;
    problems->total = total;
    const bool goes_on = !problems->stopping;
    pthread_mutex_unlock(&problems->lock);
    return goes_on;
}

/* The program ends, and with it what the search has allocated. */
static void report_judging(void *context, unsigned done, unsigned total)
{
    if (!report(context, "judging", done, total))
        pthread_exit(NULL);
}

static int take_shot(struct search *search, sd_bus_error *error)
{
    struct shot shot = {0};
    sd_bus_message *reply = NULL;
    int r = sd_bus_call_method(search->bus.bus, NULL, bus_path(search->bus.bus), BUS_INTERFACE,
                               "Snapshot", error, &reply, NULL);
    if (r >= 0)
        r = shot_read(&shot, reply, true);
    sd_bus_message_unref(reply);
    if (r >= 0 && search->intake.diagnosis == NULL)
        r = intake_begin(&search->intake, &shot.before, search->captured, MOST_BYTES);
    if (r >= 0)
        r = intake_add(&search->intake, &shot.before, shot.sequence, shot.captured_ns);
    shot_finish(&shot);
    return r;
}

static int read_captured(struct search *search)
{
    sd_bus_message *properties = NULL;
    const int r = bus_get_all(search->bus.bus, &properties);
    if (r >= 0)
        reading_captured(properties, search->captured);
    sd_bus_message_unref(properties);
    return r;
}

static int watch(struct problems *problems, sd_bus_error *error)
{
    struct search *search = &problems->search;
    struct intake *intake = &search->intake;
    const int64_t begin_ns = clock_now_ns();
    int r = daemon_bus_open(&search->bus);
    if (r >= 0)
        r = read_captured(search);
    intake->wanted = FRAMES;
    while (r >= 0 && intake->got < intake->wanted &&
           (intake->got < INTAKE_FEWEST || clock_now_ns() - begin_ns < PATIENCE_NS))
        r = report(problems, "looking at frames", intake->got, intake->wanted)
                ? take_shot(search, error)
                : -ECANCELED;
    return r < 0 ? r : 0;
}

/* ---- the answer ---- */

/* Writes nothing if there is no picture after the stage. */
static int write_pictures(FILE *file, struct diagnosis *diagnosis,
                          const struct diagnosis_finding *finding, unsigned number)
{
    static const char *const names[] = {"before", "after"};
    struct picture picture[2] = {{0}};
    const int count = diagnosis_draw(diagnosis, finding, picture);
    int r = count < 0 ? count : 0;
    for (int i = 0; count == 2 && i < count && r == 0; i++) {
        fprintf(file,
                "--fftd\r\nContent-Disposition: form-data; name=\"%s%u\"; filename=\"%s%u.png\"\r\n"
                "Content-Type: image/png\r\n\r\n",
                names[i], number, names[i], number);
        r = picture_write_png(&picture[i], file);
        fputs("\r\n", file);
    }
    picture_free(&picture[0]);
    picture_free(&picture[1]);
    return r;
}

static void write_findings(struct json *json, const struct diagnosis_result *result)
{
    json_open(json, NULL, '{');
    json_integer(json, "frames", result->frames);
    json_text(json, "chain", result->chain);
    json_open(json, "findings", '[');
    for (unsigned i = 0; i < result->count; i++) {
        const struct diagnosis_finding *finding = &result->finding[i];
        json_open(json, NULL, '{');
        json_text(json, "kind", diagnosis_name(finding->kind));
        json_number(json, "annoyance", finding->annoyance);
        json_text(json, "text", finding->text);
        json_text(json, "stage", finding->stage);
        json_text(json, "advice", finding->advice);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

/* Writes the state alone, or with the pictures of a result. NULL: out of memory. */
static struct image *write_answer(const struct problems *problems, struct diagnosis *diagnosis,
                                  const struct diagnosis_result *result)
{
    struct image *answer = NULL;
    char *text = NULL;
    size_t bytes = 0;
    int r = 0;
    struct json json = {.file = open_memstream(&text, &bytes)};
    if (json.file == NULL)
        return NULL;
    fputs("--fftd\r\nContent-Disposition: form-data; name=\"state\"\r\n\r\n", json.file);
    if (result != NULL) {
        write_findings(&json, result);
    } else {
        json_open(&json, NULL, '{');
        json_text(&json, "doing", problems->doing);
        json_integer(&json, "done", problems->done);
        json_integer(&json, "total", problems->total);
        json_close(&json, '}');
    }
    fputs("\r\n", json.file);
    for (unsigned i = 0; result != NULL && r == 0 && i < result->count; i++)
        r = write_pictures(json.file, diagnosis, &result->finding[i], i);
    fputs("--fftd--\r\n", json.file);
    if (fclose(json.file) == 0 && r == 0)
        answer = image_create(text, bytes);
    free(text);
    return answer;
}

static struct image *explain(const struct search *search, int error, const sd_bus_error *said)
{
    if (error == -EINVAL)
        return image_error(MHD_HTTP_SERVICE_UNAVAILABLE,
                           "the frames cannot be judged: expected 64 .. 8192 pixels a side, and no "
                           "change of their size meanwhile");
    return daemon_bus_error(&search->bus, error, said);
}

static void *run(void *userdata)
{
    struct problems *problems = userdata;
    struct search *search = &problems->search;
    struct diagnosis_result *result = calloc(1, sizeof *result);
    sd_bus_error error = SD_BUS_ERROR_NULL;
    int r = result == NULL ? -ENOMEM : watch(problems, &error);
    daemon_bus_close(&search->bus);
    if (r == 0)
        r = diagnosis_finish(search->intake.diagnosis, result, report_judging, problems);
    struct image *answer = r < 0 ? explain(search, r, &error)
                                 : write_answer(problems, search->intake.diagnosis, result);
    if (answer == NULL)
        answer = image_error(MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
    sd_bus_error_free(&error);
    diagnosis_destroy(search->intake.diagnosis);
    intake_finish(&search->intake);
    free(result);
    pthread_mutex_lock(&problems->lock);
    problems->answer = answer;
    problems->is_running = false;
    pthread_mutex_unlock(&problems->lock);
    return NULL;
}

/* ---- from other threads ---- */

int problems_create(struct problems **ret)
{
    struct problems *problems = calloc(1, sizeof *problems);
    if (problems == NULL)
        return -ENOMEM;
    pthread_mutex_init(&problems->lock, NULL);
    *ret = problems;
    return 0;
}

/* Waits for the end of the thread of the last search, if there was one. */
static void join(struct problems *problems)
{
    if (problems->place == NULL)
        return;
    pthread_join(problems->search.bus.thread, NULL);
    daemon_bus_finish(&problems->search.bus);
    problems->place = NULL;
}

void problems_destroy(struct problems *problems)
{
    if (problems == NULL)
        return;
    pthread_mutex_lock(&problems->lock);
    problems->stopping = true;
    pthread_mutex_unlock(&problems->lock);
    if (problems->place != NULL)
        daemon_bus_stop(&problems->search.bus);
    join(problems);
    image_unref(problems->answer);
    pthread_mutex_destroy(&problems->lock);
    free(problems);
}

/* The lock is held. */
static struct image *get(struct problems *problems, const char *place)
{
    char text[128];
    if (problems->place == place)
        return problems->is_running       ? write_answer(problems, NULL, NULL)
               : problems->answer != NULL ? image_ref(problems->answer)
                                          : NULL;
    if (problems->is_running)
        snprintf(text, sizeof text, "problems of camera %.64s are looked for now: try again later",
                 camera_name_of(problems->place));
    else
        snprintf(text, sizeof text, "nobody has looked for problems of this camera yet");
    return image_error(MHD_HTTP_CONFLICT, text);
}

struct image *problems_start(struct problems *problems, const char *place)
{
    int r = 0;
    pthread_mutex_lock(&problems->lock);
    if (!problems->is_running) {
        join(problems);
        image_unref(problems->answer);
        problems->answer = NULL;
        problems->search = (struct search){0};
        problems->doing = "looking at frames";
        problems->done = 0;
        problems->total = FRAMES;
        problems->is_running = true;
        /* The thread waits for the lock before it says anything. */
        r = daemon_bus_start(&problems->search.bus, place, "control", run, problems);
        problems->is_running = r == 0;
        problems->place = r == 0 ? place : NULL;
    }
    struct image *answer =
        r < 0 ? image_error(MHD_HTTP_SERVICE_UNAVAILABLE, "no thread can be started now")
              : get(problems, place);
    pthread_mutex_unlock(&problems->lock);
    return answer;
}

struct image *problems_get(struct problems *problems, const char *place)
{
    pthread_mutex_lock(&problems->lock);
    struct image *answer = get(problems, place);
    pthread_mutex_unlock(&problems->lock);
    return answer;
}
