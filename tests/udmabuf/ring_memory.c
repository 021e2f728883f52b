/* A client of the frames socket attacks the ring's memory through /dev/udmabuf, which makes a
 * writable DMA buffer of a memfd that its caller may only read. Runs on a kernel that has this
 * device (tests/udmabuf/boot.sh), as root. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/frames.h"

#define GREY   FFTD_FOURCC('R', '8', ' ', ' ')
#define NOBODY 65534
#define PAGE   4096

/* ---- the attacker ---- */

/* Each way takes a descriptor and the offset of the page to overwrite. It returns 0 if it has
 * overwritten the page, otherwise what refused it: an errno, or CANNOT_TRY. */
typedef int way_fn(int fd, uint64_t offset);

#define CANNOT_TRY 255

static int overwrite(int buffer)
{
    if (buffer < 0)
        return errno;
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, buffer, 0);
    if (page == MAP_FAILED)
        return errno;
    memset(page, 0xa5, PAGE);
    return 0;
}

static int create(int fd, uint64_t offset)
{
    const struct udmabuf_create request = {
        .memfd = (uint32_t)fd, .flags = UDMABUF_FLAGS_CLOEXEC, .offset = offset, .size = PAGE};
    const int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
    return device < 0 ? CANNOT_TRY : overwrite(ioctl(device, UDMABUF_CREATE, &request));
}

static int create_list(int fd, uint64_t offset)
{
    struct {
        struct udmabuf_create_list head;
        struct udmabuf_create_item item;
    } request = {.head = {.flags = UDMABUF_FLAGS_CLOEXEC, .count = 1},
                 .item = {.memfd = (uint32_t)fd, .offset = offset, .size = PAGE}};
    const int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
    return device < 0 ? CANNOT_TRY : overwrite(ioctl(device, UDMABUF_CREATE_LIST, &request));
}

static way_fn *const ways[] = {create, create_list};

/* Carries out the attack in a process of that user. */
static int attack_as(uid_t uid, way_fn *way, int fd, uint64_t offset)
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (setgroups(0, NULL) < 0 || setgid(uid) < 0 || setuid(uid) < 0)
            _exit(CANNOT_TRY);
        _exit(way(fd, offset));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* ---- the attacked ---- */

struct fixture {
    struct frames frames;
    struct ring *ring;
    int fd; /* as a client received it */
    const uint8_t *view;
    size_t bytes;
};

/* Attaches as a client does, and returns the ring's descriptor. */
static int attach(const struct frames *frames)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct fftd_message message = {
        .magic = FFTD_FRAMES_MAGIC, .kind = FFTD_REQUEST_ATTACH, .value = FFTD_RING_ABI};
    struct iovec iov = {&message, sizeof message};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct msghdr reply = {.msg_iov = &iov,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = sizeof control};
    int fd[2] = {-1, -1};
    const int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/frames", frames->dir);
    assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(send(client, &message, sizeof message, 0), sizeof message);
    assert_int_equal(recvmsg(client, &reply, MSG_CMSG_CLOEXEC), sizeof message);
    assert_int_equal(message.result, 0);
    assert_int_equal(reply.msg_controllen, CMSG_SPACE(sizeof fd));
    const struct cmsghdr *c = CMSG_FIRSTHDR(&reply);
    if (c != NULL)
        memcpy(fd, CMSG_DATA(c), sizeof fd);
    close(fd[1]);
    close(client);
    return fd[0];
}

static int setup(void **state)
{
    static struct fixture fixture;
    struct fixture *f = &fixture;
    struct stat about;
    frames_start(&f->frames, NULL, 1);
    f->ring = frames_ring(GREY, 64, 64, 6, 1, 1);
    frames_set_ring(&f->frames, f->ring);
    for (unsigned i = 0; i < 10; i++)
        frames_publish(f->ring);
    f->fd = attach(&f->frames);
    assert_int_equal(fstat(f->fd, &about), 0);
    f->bytes = (size_t)about.st_size;
    f->view = mmap(NULL, f->bytes, PROT_READ, MAP_SHARED, f->fd, 0);
    assert_ptr_not_equal(f->view, MAP_FAILED);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    munmap((void *)(uintptr_t)f->view, f->bytes);
    close(f->fd);
    frames_stop(&f->frames);
    frames_remove(&f->frames);
    ring_destroy(f->ring);
    return 0;
}

/* ---- the tests ---- */

/* Without this one the others mean nothing: it shows that this kernel lets the attack through to
 * memory that lacks only the seal against future writing. */
static void without_the_seal_anybody_overwrites_it(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
        char path[32];
        const int fd = memfd_create("unprotected", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
        const uint8_t *base = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        assert_ptr_not_equal(base, MAP_FAILED);
        assert_int_equal(fchmod(fd, 0400), 0);
        assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        const int reader = open(path, O_RDONLY | O_CLOEXEC);
        assert_true(reader >= 0);
        assert_int_equal(attack_as(NOBODY, ways[i], reader, PAGE), 0);
        assert_int_equal(base[PAGE - 1], 0);
        assert_int_equal(base[PAGE], 0xa5);
        munmap((void *)(uintptr_t)base, 2 * PAGE);
        close(reader);
        close(fd);
    }
}

/* Tries each way at each page of the ring. */
static void attack_ring(const struct fixture *f, uid_t uid)
{
    uint8_t *before = malloc(f->bytes);
    assert_non_null(before);
    memcpy(before, f->view, f->bytes);
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        for (uint64_t offset = 0; offset < f->bytes; offset += PAGE)
            assert_int_equal(attack_as(uid, ways[i], f->fd, offset), EINVAL);
    assert_memory_equal(f->view, before, f->bytes);
    free(before);
}

static void a_client_overwrites_no_page_of_the_ring(void **state)
{
    attack_ring(*state, NOBODY);
}

static void nor_does_root_with_a_clients_descriptor(void **state)
{
    attack_ring(*state, 0);
}

static void the_daemon_still_writes_it(void **state)
{
    const struct fixture *f = *state;
    const struct fftd_ring_header *header = (const struct fftd_ring_header *)f->view;
    const uint64_t newest = ring_newest(f->ring);
    frames_publish(f->ring);
    assert_int_equal(FFTD_NEWEST_SEQUENCE(header->newest), newest + 1);
    const uint8_t *slot =
        f->view + header->header_bytes + FFTD_NEWEST_SLOT(header->newest) * header->slot_stride;
    assert_true(frames_match(&header->format, slot + header->data_offset, newest + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_the_seal_anybody_overwrites_it),
        cmocka_unit_test(a_client_overwrites_no_page_of_the_ring),
        cmocka_unit_test(nor_does_root_with_a_clients_descriptor),
        cmocka_unit_test(the_daemon_still_writes_it),
    };
    if (access("/dev/udmabuf", F_OK) < 0 || geteuid() != 0) {
        printf("it takes root, and a kernel with /dev/udmabuf\n");
        return 77;
    }
    return cmocka_run_group_tests_name("ring_memory", tests, setup, teardown);
}
