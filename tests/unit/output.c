/* Where a program writes what its user names: into files of its own, and not into what another user
 * may have planted there. tests/integration/test_attacks.py has the attacks on the programs. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/root.h"

#include "common/output.h"

#define OTHER 65534 /* a user who is neither root nor this one */

static char dir[64];

static const char *path_of(const char *name)
{
    static char path[4][PATH_MAX];
    static unsigned next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", dir, name);
    return path[next];
}

static int setup(void **state)
{
    (void)state;
    umask(022);
    snprintf(dir, sizeof dir, "/tmp/fftd-test-XXXXXX");
    return mkdtemp(dir) != NULL ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st, (void)type, (void)where;
    return remove(path);
}

static int teardown(void **state)
{
    (void)state;
    return nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* Anybody may create files there, as in /tmp. */
static void make_shared(void)
{
    assert_int_equal(chmod(dir, 01777), 0);
}

static void give_away(const char *name)
{
    assert_int_equal(lchown(path_of(name), OTHER, OTHER), 0);
}

static void put_text(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void check_text(const char *name, const char *expected)
{
    char text[64] = "";
    FILE *file = fopen(path_of(name), "r");
    assert_non_null(file);
    const size_t length = fread(text, 1, sizeof text - 1, file);
    assert_int_equal(length, strlen(expected));
    assert_string_equal(text, expected);
    fclose(file);
}

static struct stat about(const char *name)
{
    struct stat st;
    assert_int_equal(lstat(path_of(name), &st), 0);
    return st;
}

static unsigned count_files(void)
{
    unsigned count = 0;
    DIR *list = opendir(dir);
    assert_non_null(list);
    while (readdir(list) != NULL)
        count++;
    closedir(list);
    return count - 2; /* without . and .. */
}

static int write_to(const char *path, enum output_kind kind)
{
    struct output_file output;
    const int r = output_open(&output, path, kind);
    if (r < 0) {
        assert_true(output.why[0] != '\0');
        return r;
    }
    fputs("new", output.file);
    return output_close(&output);
}

static void check_refused(const char *path, enum output_kind kind, int error, const char *words)
{
    struct output_file output;
    assert_int_equal(output_open(&output, path, kind), error);
    if (strstr(output.why, words) == NULL)
        fail_msg("%s: expected %s", output.why, words);
}

static const enum output_kind replacing[] = {OUTPUT_WHOLE, OUTPUT_PRIVATE, OUTPUT_STREAM};

/* ---- what works ---- */

static void a_file_is_replaced(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        put_text("file", "the old text");
        assert_int_equal(link(path_of("file"), path_of("link")), 0);
        const ino_t inode = about("file").st_ino;
        assert_int_equal(write_to(path_of("file"), replacing[i]), 0);
        check_text("file", "new");
        check_text("link", "the old text");
        assert_true(about("file").st_ino != inode);
        assert_int_equal(about("file").st_mode & 07777,
                         replacing[i] == OUTPUT_PRIVATE ? 0600 : 0644);
        assert_int_equal(unlink(path_of("link")), 0);
        assert_int_equal(count_files(), 1);
    }
}

static void a_whole_file_has_its_name_only_at_the_end(void **state)
{
    (void)state;
    struct output_file output;
    put_text("file", "old");
    assert_int_equal(output_open(&output, path_of("file"), OUTPUT_WHOLE), 0);
    fputs("new", output.file);
    fflush(output.file);
    check_text("file", "old");
    output_discard(&output);
    check_text("file", "old");
    assert_int_equal(count_files(), 1);
}

static void a_new_file_replaces_none(void **state)
{
    (void)state;
    assert_int_equal(write_to(path_of("file"), OUTPUT_NEW), 0);
    check_text("file", "new");
    put_text("file", "old");
    assert_int_equal(write_to(path_of("file"), OUTPUT_NEW), -EEXIST);
    assert_int_equal(symlink("nowhere", path_of("link")), 0);
    assert_int_equal(write_to(path_of("link"), OUTPUT_NEW), -EEXIST);
    check_text("file", "old");
    struct output_file output;
    assert_int_equal(output_open(&output, path_of("part"), OUTPUT_NEW), 0);
    output_discard(&output);
    assert_int_equal(count_files(), 2);
}

/* Only a file of one's own with one name, and nothing behind a link. */
static void a_file_is_continued(void **state)
{
    (void)state;
    put_text("old", "older text");
    assert_int_equal(write_to(path_of("old"), OUTPUT_CONTINUED), 0);
    check_text("old", "newer text");
    assert_int_equal(count_files(), 1);
    assert_int_equal(write_to(path_of("none"), OUTPUT_CONTINUED), -ENOENT);
    assert_int_equal(symlink("old", path_of("link")), 0);
    assert_int_equal(write_to(path_of("link"), OUTPUT_CONTINUED), -EPERM);
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    assert_int_equal(write_to(path_of("pipe"), OUTPUT_CONTINUED), -EPERM);
    char other[PATH_MAX];
    strcpy(other, path_of("other"));
    assert_int_equal(link(path_of("old"), other), 0);
    assert_int_equal(write_to(path_of("old"), OUTPUT_CONTINUED), -EPERM);
    check_text("old", "newer text");
}

static void a_planted_file_is_not_continued(void **state)
{
    (void)state;
    root_or_skip();
    make_shared();
    put_text("old", "older text");
    give_away("old");
    assert_int_equal(write_to(path_of("old"), OUTPUT_CONTINUED), -EPERM);
    check_text("old", "older text");
}

static void a_path_has_any_form(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "folder/file", "folder//file",  "./folder/./file", "folder/../folder/file",
        "link/file",   "absolute/file", "twice/file"};
    char target[PATH_MAX];
    assert_int_equal(mkdir(path_of("folder"), 0700), 0);
    assert_int_equal(symlink("folder", path_of("link")), 0);
    snprintf(target, sizeof target, "%s/folder/", dir);
    assert_int_equal(symlink(target, path_of("absolute")), 0);
    assert_int_equal(symlink("./link/../folder", path_of("twice")), 0);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        assert_int_equal(write_to(path_of(paths[i]), replacing[i % 3]), 0);
        check_text("folder/file", "new");
        assert_int_equal(unlink(path_of("folder/file")), 0);
    }
    char *before = getcwd(NULL, 0);
    assert_non_null(before);
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(write_to("file", OUTPUT_WHOLE), 0);
    assert_int_equal(write_to("../file-that-is-new", OUTPUT_NEW), 0);
    assert_int_equal(unlink("../file-that-is-new"), 0);
    assert_int_equal(chdir(before), 0);
    free(before);
    check_text("file", "new");
}

static void what_is_no_place_for_a_file_is_refused(void **state)
{
    (void)state;
    char longest[PATH_MAX + 16];
    assert_int_equal(symlink("loop", path_of("loop")), 0);
    put_text("file", "old");
    for (size_t i = 0; i < 3; i++) {
        check_refused(dir, replacing[i], -EISDIR, "directory");
        check_refused(path_of("."), replacing[i], -EISDIR, "directory");
        check_refused(path_of("none/"), replacing[i], -ENOENT, "No such file");
        check_refused(path_of("none/file"), replacing[i], -ENOENT, "No such file");
        check_refused(path_of("file/file"), replacing[i], -ENOTDIR, "Not a directory");
        check_refused(path_of("loop/file"), replacing[i], -ELOOP, "symbolic links");
        check_refused("", replacing[i], -EISDIR, "directory");
        memset(longest, 'x', sizeof longest);
        longest[sizeof longest - 1] = '\0';
        check_refused(longest, replacing[i], -ENAMETOOLONG, "too long");
        longest[NAME_MAX + 1] = '\0';
        check_refused(longest, replacing[i], -ENAMETOOLONG, "too long");
    }
    assert_int_equal(count_files(), 2);
}

static void the_longest_name_is_a_name(void **state)
{
    (void)state;
    char name[NAME_MAX + 1];
    memset(name, 'x', sizeof name);
    name[NAME_MAX] = '\0';
    assert_int_equal(write_to(path_of(name), OUTPUT_WHOLE), 0);
    check_text(name, "new");
}

static void own_pipes_and_devices_are_written_into(void **state)
{
    (void)state;
    char got[8] = "", descriptor[32];
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    assert_int_equal(symlink("pipe", path_of("link")), 0);
    assert_int_equal(symlink("link", path_of("twice")), 0);
    assert_int_equal(symlink("/dev/null", path_of("null")), 0);
    const char *const names[] = {"pipe", "link", "twice"};
    make_shared(); /* they are this user's own */
    for (size_t i = 0; i < 9; i++) {
        const int reader = open(path_of("pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        assert_true(reader >= 0);
        assert_int_equal(write_to(path_of(names[i % 3]), replacing[i / 3]), 0);
        assert_int_equal(read(reader, got, sizeof got), 3);
        close(reader);
        assert_int_equal(write_to("/dev/null", replacing[i / 3]), 0);
        assert_int_equal(write_to(path_of("null"), replacing[i / 3]), 0);
    }
    assert_true(S_ISLNK(about("null").st_mode) && S_ISLNK(about("twice").st_mode));
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    for (size_t i = 0; i < 2; i++) { /* as `-o >(program)` of a shell */
        snprintf(descriptor, sizeof descriptor, i == 0 ? "/dev/fd/%d" : "/proc/self/fd/%d",
                 ends[1]);
        assert_int_equal(write_to(descriptor, OUTPUT_WHOLE), 0);
        assert_int_equal(read(ends[0], got, sizeof got), 3);
    }
    close(ends[0]);
    close(ends[1]);
    check_refused(descriptor, OUTPUT_WHOLE, -EBADF, "Bad file descriptor");
    assert_int_equal(count_files(), 4);
}

static void a_link_to_a_file_is_replaced(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        put_text("file", "old");
        assert_int_equal(symlink("file", path_of("link")), 0);
        assert_int_equal(write_to(path_of("link"), replacing[i]), 0);
        check_text("file", "old");
        check_text("link", "new");
        assert_int_equal(unlink(path_of("link")), 0);
        assert_int_equal(symlink("nowhere", path_of("link")), 0);
        assert_int_equal(write_to(path_of("link"), replacing[i]), 0);
        check_text("link", "new");
        assert_int_equal(unlink(path_of("link")), 0);
        assert_int_equal(count_files(), 1);
    }
}

static void a_redirected_stderr_is_not_replaced(void **state)
{
    (void)state;
    struct stat before, after;
    put_text("log", "");
    const int log = open(path_of("log"), O_WRONLY | O_CLOEXEC), own = dup(STDERR_FILENO);
    assert_true(log >= 0 && own >= 0);
    assert_int_equal(lstat("/dev/stderr", &before), 0);
    dup2(log, STDERR_FILENO);
    const int r = write_to("/dev/stderr", OUTPUT_WHOLE);
    dup2(own, STDERR_FILENO);
    close(own);
    close(log);
    assert_int_equal(r, 0);
    check_text("log", "new");
    assert_int_equal(lstat("/dev/stderr", &after), 0);
    assert_true(after.st_ino == before.st_ino);
}

/* ---- what another user planted ---- */

static void a_planted_pipe_is_refused(void **state)
{
    (void)state;
    root_or_skip();
    make_shared();
    assert_int_equal(mkfifo(path_of("pipe"), 0666), 0);
    give_away("pipe");
    assert_int_equal(symlink("pipe", path_of("own-link")), 0);
    for (size_t i = 0; i < 3; i++) { /* without a reader, opening it would wait */
        check_refused(path_of("pipe"), replacing[i], -EPERM, "pipe is a pipe of user 65534");
        check_refused(path_of("own-link"), replacing[i], -EPERM, "pipe is a pipe of user 65534");
    }
    assert_true(S_ISFIFO(about("pipe").st_mode));
}

static void planted_links_are_replaced(void **state)
{
    (void)state;
    root_or_skip();
    make_shared();
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0); /* of this user */
    put_text("file", "old");
    static const char *const targets[] = {"pipe", "file", "/dev/null", "nowhere"};
    for (size_t i = 0; i < 12; i++) {
        assert_int_equal(symlink(targets[i % 4], path_of("link")), 0);
        give_away("link");
        assert_int_equal(write_to(path_of("link"), replacing[i / 4]), 0);
        assert_true(S_ISREG(about("link").st_mode) && about("link").st_uid == 0);
        check_text("link", "new");
        assert_int_equal(unlink(path_of("link")), 0);
    }
    check_text("file", "old");
    assert_int_equal(count_files(), 2);
}

static void planted_directories_are_refused(void **state)
{
    (void)state;
    root_or_skip();
    make_shared();
    assert_int_equal(mkdir(path_of("theirs"), 0777), 0);
    assert_int_equal(mkdir(path_of("mine"), 0700), 0);
    assert_int_equal(symlink("mine", path_of("link")), 0);
    assert_int_equal(symlink("link", path_of("own-link")), 0);
    give_away("theirs");
    give_away("link");
    static const enum output_kind kinds[] = {OUTPUT_WHOLE, OUTPUT_PRIVATE, OUTPUT_NEW,
                                             OUTPUT_STREAM};
    for (size_t i = 0; i < 4; i++) {
        check_refused(path_of("theirs/file"), kinds[i], -EPERM,
                      "theirs is a directory of user 65534");
        check_refused(path_of("mine/../theirs/file"), kinds[i], -EPERM, "theirs is a directory");
        check_refused(path_of("link/file"), kinds[i], -EPERM, "link is a link of user 65534");
        check_refused(path_of("own-link/file"), kinds[i], -EPERM, "link is a link of user 65534");
    }
    assert_int_equal(count_files(), 4);
}

/* As without fs.protected_hardlinks: the owner is this user, and the name is of another one. */
static void other_names_of_own_pipes_and_links_are_planted(void **state)
{
    (void)state;
    make_shared();
    assert_int_equal(mkdir(path_of("mine"), 0700), 0);
    assert_int_equal(mkfifo(path_of("mine/pipe"), 0600), 0);
    assert_int_equal(symlink("/dev/null", path_of("mine/null")), 0);
    assert_int_equal(symlink("mine", path_of("mine/link")), 0);
    assert_int_equal(link(path_of("mine/pipe"), path_of("pipe")), 0);
    assert_int_equal(link(path_of("mine/null"), path_of("null")), 0);
    assert_int_equal(link(path_of("mine/link"), path_of("link")), 0);
    for (size_t i = 0; i < 3; i++) {
        check_refused(path_of("pipe"), replacing[i], -EPERM, "with several names");
        check_refused(path_of("link/file"), replacing[i], -EPERM, "with several names");
    }
    assert_int_equal(write_to(path_of("null"), OUTPUT_WHOLE), 0);
    check_text("null", "new");
}

/* What a user has in a directory that nobody else may write was not planted: root may use it. */
static void the_directory_of_another_user_can_be_used(void **state)
{
    (void)state;
    root_or_skip();
    assert_int_equal(mkdir(path_of("theirs"), 0755), 0);
    assert_int_equal(mkdir(path_of("theirs/folder"), 0755), 0);
    assert_int_equal(symlink("folder", path_of("theirs/link")), 0);
    assert_int_equal(mkfifo(path_of("theirs/pipe"), 0600), 0);
    give_away("theirs");
    give_away("theirs/folder");
    give_away("theirs/link");
    give_away("theirs/pipe");
    assert_int_equal(write_to(path_of("theirs/link/file"), OUTPUT_WHOLE), 0);
    check_text("theirs/folder/file", "new");
    const int reader = open(path_of("theirs/pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_int_equal(write_to(path_of("theirs/pipe"), OUTPUT_STREAM), 0);
    close(reader);
}

static void a_directory_is_made(void **state)
{
    (void)state;
    char why[OUTPUT_WHY_BYTES];
    for (unsigned i = 0; i < 2; i++) { /* it may exist */
        assert_int_equal(output_make_directory(path_of("folder"), why), 0);
        assert_int_equal(output_make_directory(path_of("other//"), why), 0);
    }
    assert_true(S_ISDIR(about("folder").st_mode) && S_ISDIR(about("other").st_mode));
    assert_int_equal(output_make_directory("/", why), 0);
    char longest[PATH_MAX + 1] = {0};
    memset(longest, '/', PATH_MAX);
    assert_int_equal(output_make_directory(longest, why), -ENAMETOOLONG);
    assert_int_equal(output_make_directory(path_of("none/folder"), why), -ENOENT);
    assert_string_equal(why, "No such file or directory");
}

static void no_directory_is_made_behind_a_planted_link(void **state)
{
    (void)state;
    char why[OUTPUT_WHY_BYTES];
    root_or_skip();
    make_shared();
    assert_int_equal(mkdir(path_of("mine"), 0700), 0);
    assert_int_equal(symlink("mine", path_of("link")), 0);
    give_away("link");
    assert_int_equal(output_make_directory(path_of("link/folder"), why), -EPERM);
    assert_non_null(strstr(why, "link is a link of user 65534"));
    assert_int_equal(rmdir(path_of("mine")), 0); /* it is empty */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_replaced),
        TEST(a_whole_file_has_its_name_only_at_the_end),
        TEST(a_new_file_replaces_none),
        TEST(a_file_is_continued),
        TEST(a_planted_file_is_not_continued),
        TEST(a_path_has_any_form),
        TEST(what_is_no_place_for_a_file_is_refused),
        TEST(the_longest_name_is_a_name),
        TEST(own_pipes_and_devices_are_written_into),
        TEST(a_link_to_a_file_is_replaced),
        TEST(a_redirected_stderr_is_not_replaced),
        TEST(a_planted_pipe_is_refused),
        TEST(planted_links_are_replaced),
        TEST(planted_directories_are_refused),
        TEST(other_names_of_own_pipes_and_links_are_planted),
        TEST(the_directory_of_another_user_can_be_used),
        TEST(a_directory_is_made),
        TEST(no_directory_is_made_behind_a_planted_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
