/* Implements `filter save`: the running chain goes into a preset, or into the configuration that
 * the daemon reads at its next start. A daemon that may save for its clients does so itself.
 *
 * Otherwise the configuration's text is edited (config_text.h), because libconfig keeps no
 * comments. fftd then says what the new text means; it is written only if that is exactly what the
 * old one means with the chain as an option. So no mistake of the editing, and nothing that the
 * daemon says, can change another key. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "await.h"
#include "commands.h"
#include "common/reading.h"
#include "common/config_text.h"
#include "core/clock.h"
#include "daemon.h"
#include "save.h"
#include "tools.h"

#define MAX_FILE_BYTES (256 * 1024) /* as fftd */
#define KEYS           2            /* that can be saved */

/* How else somebody can save who may not write the file. */
#define ALLOWING       "; with control.allow_save = true there the daemon saves for you"

/* ---- a preset ---- */

static int write_preset(const struct ctl *ctl, const char *path, const char *summary,
                        const char *chain)
{
    struct output_file output;
    /* An existing file is never overwritten, because it may be the only copy of a preset. */
    const int code = save_begin(ctl, &output, path, OUTPUT_NEW);
    if (code != 0)
        return code;
    fputs("summary = ", output.file);
    config_text_quote(output.file, summary);
    fputs(";\nfilter = ", output.file);
    config_text_quote(output.file, chain);
    fputs(";\n", output.file);
    return save_end(ctl, &output, path, 0);
}

static int save_preset(const struct ctl *ctl)
{
    sd_bus_message *properties = NULL;
    int code = daemon_ask(ctl, &properties, NULL);
    if (code == 0)
        code = write_preset(ctl, ctl->argv[1], ctl->argc > 2 ? ctl->argv[2] : "",
                            bus_text(properties, "Filter"));
    sd_bus_message_unref(properties);
    return code == 0 ? ctl_finish_silently(ctl) : code;
}

/* ---- which file ---- */

/* Returns whether the daemon runs as this user. Sockets that systemd has made are root's, whoever
 * the daemon runs as. */
static bool is_own_daemon(sd_bus *bus)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    return geteuid() != 0 &&
           getsockopt(sd_bus_get_fd(bus), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           peer.uid == geteuid();
}

/* The daemon says which file it reads. Another user's daemon is not believed, since it could name
 * any file that only this user may write: then it must be the file of the service. */
static int find_file(const struct ctl *ctl, sd_bus *bus, sd_bus_message *properties,
                     char path[PATH_MAX])
{
    char expected[PATH_MAX] = "";
    const char *told = bus_text(properties, "ConfigFile");
    if (ctl->runtime_dir == NULL)
        snprintf(expected, sizeof expected, "/etc/fftd/%s.conf", ctl->name);
    const char *file = ctl->config != NULL ? ctl->config : told;
    if (*file == '\0')
        return ctl_fail(ctl, EX_CONFIG,
                        "filter save: the daemon reads no configuration: start it with `fftd "
                        "--config FILE`, or save the chain as a preset with `filter save FILE`");
    if (ctl->config == NULL && strcmp(told, expected) != 0 && !is_own_daemon(bus))
        return ctl_fail(ctl, EX_NOPERM,
                        "filter save: the daemon says that it reads %s, and could name any file: "
                        "name the file with --config FILE if that is true",
                        told);
    return snprintf(path, PATH_MAX, "%s", file) < PATH_MAX
               ? 0
               : ctl_fail(ctl, EX_USAGE, "filter save: the path of the file is too long");
}

/* ---- editing ---- */

struct saving {
    const struct ctl *ctl;
    const char *path;
    struct stat st; /* the file as it was read */
    char *text;     /* what it holds; later the edited text */
    struct {
        const char *key, *value;
    } item[KEYS];
    unsigned count;
};

static int fail_file(const struct saving *saving, const char *what, int negative_errno)
{
    const bool is_denied = negative_errno == -EACCES || negative_errno == -EPERM;
    return ctl_fail(saving->ctl, is_denied ? EX_NOPERM : EX_NOINPUT, "cannot %s %s: %s%s", what,
                    saving->path,
                    negative_errno == -ELOOP ? "it is a link: name the file that it leads to"
                                             : strerror(-negative_errno),
                    is_denied ? ALLOWING : "");
}

static int read_text(struct saving *saving)
{
    const int fd = open(saving->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail_file(saving, "read", -errno);
    int r = fstat(fd, &saving->st) < 0            ? -errno
            : !S_ISREG(saving->st.st_mode)        ? -EINVAL
            : saving->st.st_size > MAX_FILE_BYTES ? -EFBIG
                                                  : 0;
    saving->text = r == 0 ? malloc((size_t)saving->st.st_size + 1) : NULL;
    if (r == 0 && saving->text == NULL)
        r = -ENOMEM;
    const ssize_t n = r == 0 ? read(fd, saving->text, (size_t)saving->st.st_size) : 0;
    if (n < 0)
        r = -errno;
    if (r == 0)
        saving->text[n] = '\0';
    close(fd);
    return r < 0 ? fail_file(saving, "read", r) : 0;
}

/* Lets fftd print what a configuration means; with_items: with the values as options. */
static int ask_meaning(const struct saving *saving, const char *path, bool with_items, char **ret)
{
    /* Values that the daemon has saved must not hide those of this file. */
    char *args[5 + 2 * KEYS + 1] = {"fftd", "--check", "--set=control.allow_save=false"};
    char *set[KEYS] = {NULL}, *file = NULL;
    unsigned count = 3;
    bool is_made = asprintf(&file, "--config=%s", path) >= 0;
    args[count++] = file;
    for (unsigned i = 0; is_made && with_items && i < saving->count; i++) {
        is_made = asprintf(&set[i], "--set=%s=%s", saving->item[i].key, saving->item[i].value) >= 0;
        args[count++] = set[i];
    }
    const int code = is_made ? tools_run(saving->ctl, args, ret)
                             : ctl_fail(saving->ctl, EX_OSERR, "out of memory");
    free(file);
    for (unsigned i = 0; i < KEYS; i++)
        free(set[i]);
    return code;
}

/* The same for a text that has no file yet. */
static int ask_meaning_of_text(const struct saving *saving, char **ret)
{
    char path[40];
    const size_t length = strlen(saving->text);
    const int fd = memfd_create("fftd.conf", 0); /* for fftd, too */
    if (fd < 0 || write(fd, saving->text, length) != (ssize_t)length) {
        if (fd >= 0)
            close(fd);
        return ctl_fail(saving->ctl, EX_OSERR, "out of memory");
    }
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    const int code = ask_meaning(saving, path, false, ret);
    close(fd);
    return code;
}

static int edit(struct saving *saving)
{
    int r = 0;
    for (unsigned i = 0; r == 0 && i < saving->count; i++) {
        char *edited = NULL;
        r = config_text_set(&edited, saving->text, saving->item[i].key, saving->item[i].value);
        if (r == 0) {
            free(saving->text);
            saving->text = edited;
        }
    }
    return r == 0 ? 0
                  : ctl_fail(saving->ctl, EX_CONFIG, "cannot edit %s: %s", saving->path,
                             r == -EINVAL ? "expected KEY = VALUE; and GROUP = { ... };"
                                          : strerror(-r));
}

/* Replaces the file, unless somebody has changed it since it was read. */
static int write_text(const struct saving *saving)
{
    struct output_file output;
    struct stat now;
    int r = output_open(&output, saving->path, OUTPUT_PRIVATE);
    if (r < 0)
        return ctl_fail(saving->ctl, r == -EACCES || r == -EPERM ? EX_NOPERM : EX_CANTCREAT,
                        "cannot replace %s: %s%s", saving->path, output.why,
                        r == -EACCES || r == -EPERM ? ALLOWING : "");
    fputs(saving->text, output.file);
    r = output_keep(&output, &saving->st);
    const bool is_same = r == 0 && lstat(saving->path, &now) == 0 &&
                         now.st_ino == saving->st.st_ino && now.st_size == saving->st.st_size &&
                         now.st_mtim.tv_sec == saving->st.st_mtim.tv_sec &&
                         now.st_mtim.tv_nsec == saving->st.st_mtim.tv_nsec;
    if (r == 0 && is_same)
        r = output_close(&output);
    else
        output_discard(&output);
    if (r < 0)
        return ctl_fail(
            saving->ctl, r == -EPERM ? EX_NOPERM : EX_IOERR, "cannot replace %s: %s", saving->path,
            r == -EPERM ? "only root and its owner can, since it keeps its owner" : strerror(-r));
    return is_same ? 0
                   : ctl_fail(saving->ctl, EX_TEMPFAIL, "%s has changed meanwhile: try again",
                              saving->path);
}

/* Edits the text, checks that it means what is wanted, and replaces the file. */
static int change_text(struct saving *saving, const char *wanted)
{
    char *after = NULL;
    int code = edit(saving);
    if (code == 0)
        code = ask_meaning_of_text(saving, &after);
    if (code == 0 && strcmp(after, wanted) != 0)
        code =
            ctl_fail(saving->ctl, EX_SOFTWARE,
                     "cannot edit %s: other keys would change; nothing was written", saving->path);
    if (code == 0)
        code = write_text(saving);
    free(after);
    return code;
}

/* Returns 0 or an exit code. *ret_changed: the file did not have these values already. */
static int save_text(struct saving *saving, bool *ret_changed)
{
    char *before = NULL, *wanted = NULL;
    int code = read_text(saving);
    if (code == 0)
        code = ask_meaning(saving, saving->path, false, &before);
    if (code == 0)
        code = ask_meaning(saving, saving->path, true, &wanted);
    *ret_changed = code == 0 && strcmp(before, wanted) != 0;
    if (*ret_changed)
        code = change_text(saving, wanted);
    free(before);
    free(wanted);
    free(saving->text);
    return code;
}

/* ---- the command ---- */

/* A chain that cannot be made is not kept. */
static int wait_for_chain(const struct ctl *ctl, sd_bus *bus, sd_bus_message **properties)
{
    char why[READING_WHY_BYTES];
    struct ctl silent = *ctl;
    const uint64_t serial = bus_u64(*properties, "Serial");
    silent.silent = true;
    if (!reading_is_pending(*properties, serial, why))
        return 0;
    const int code = await_change(&silent, bus, serial, clock_now_us());
    *properties = sd_bus_message_unref(*properties);
    return code != 0 ? code : daemon_get_all(ctl, bus, properties);
}

static bool is_overridden(sd_bus_message *properties, const char *key)
{
    const char *name;
    bool is_found = false;
    if (bus_find_entries(properties, "Overrides", "as"))
        while (!is_found && sd_bus_message_read(properties, "s", &name) > 0)
            is_found = strcmp(name, key) == 0;
    return is_found;
}

static int report(const struct saving *saving, sd_bus_message *properties, bool changed)
{
    const char *file = bus_text(properties, "SavedFile");
    if (saving->ctl->config != NULL && *file != '\0')
        fprintf(stderr,
                "fftd-ctl: %s goes before the configuration where it has one of its values\n",
                file);
    const struct ctl *ctl = saving->ctl;
    struct json json = {.file = stdout};
    for (unsigned i = 0; i < saving->count; i++)
        if (is_overridden(properties, saving->item[i].key))
            fprintf(stderr,
                    "fftd-ctl: the daemon was started with an option for %s, which it uses instead "
                    "of the file\n",
                    saving->item[i].key);
    if (ctl->json) {
        json_open(&json, NULL, '{');
        json_text(&json, "File", saving->path);
        json_bool(&json, "Changed", changed);
        for (unsigned i = 0; i < saving->count; i++)
            json_text(&json, saving->item[i].key, saving->item[i].value);
        json_close(&json, '}');
    } else {
        printf("filter %" PRIu64 "%s %s %s\n", bus_u64(properties, "Serial"),
               saving->count > 1 ? " and the camera's controls are" : " is",
               changed ? "saved in" : "already in", saving->path);
    }
    return ctl_finish(ctl);
}

/* Lets the daemon save in its own file. */
static int save_by_daemon(struct saving *saving, sd_bus *bus, bool *ret_changed,
                          char path[PATH_MAX])
{
    sd_bus_message *call = NULL, *reply = NULL;
    const char *file = "";
    int changed = 0, r = bus_new_call(bus, &call, "Save");
    if (r >= 0)
        r = sd_bus_message_append(call, "as", saving->count, saving->item[0].key,
                                  saving->item[1].key);
    int code = daemon_send(saving->ctl, bus, r, call, &reply);
    if (code == 0 && sd_bus_message_read(reply, "sb", &file, &changed) < 0)
        code = ctl_fail(saving->ctl, EX_PROTOCOL, "filter save: unexpected reply");
    snprintf(path, PATH_MAX, "%s", file);
    *ret_changed = changed != 0;
    sd_bus_message_unref(reply);
    return code;
}

static int save_config(const struct ctl *ctl, sd_bus *bus, sd_bus_message **properties)
{
    char path[PATH_MAX];
    struct saving saving = {.ctl = ctl, .path = path, .count = 1};
    bool changed = false;
    int code = wait_for_chain(ctl, bus, properties);
    if (code != 0)
        return code;
    /* Texts belong to the message, and stay where they are while it is read. */
    saving.item[0].key = "filter";
    saving.item[0].value = bus_text(*properties, "Filter");
    if (ctl->all) {
        saving.item[1].key = "camera.controls";
        saving.item[1].value = bus_text(*properties, "Controls");
        saving.count = 2;
    }
    if (ctl->config == NULL && *bus_text(*properties, "SavedFile") != '\0')
        code = save_by_daemon(&saving, bus, &changed, path);
    else if ((code = find_file(ctl, bus, *properties, path)) == 0)
        code = save_text(&saving, &changed);
    return code != 0 ? code : report(&saving, *properties, changed);
}

int filter_save(const struct ctl *ctl)
{
    sd_bus *bus = NULL;
    sd_bus_message *properties = NULL;
    if (ctl->argc > 1)
        return save_preset(ctl);
    int code = daemon_open(ctl, &bus);
    /* A file has the filters of named outputs within a list, which config_text.h does not edit. */
    if (code == 0 && *bus_output(bus_path(bus)) != '\0')
        code = ctl_fail(ctl, EX_USAGE,
                        "filter save: expected the output main; edit `outputs` in the file to keep "
                        "the filter of %s, or save it as a preset",
                        bus_output(bus_path(bus)));
    if (code == 0)
        code = daemon_get_all(ctl, bus, &properties);
    if (code == 0)
        code = save_config(ctl, bus, &properties);
    sd_bus_message_unref(properties);
    sd_bus_unref(bus);
    return code;
}
