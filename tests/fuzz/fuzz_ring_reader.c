/* The client's reading of a ring made by somebody else: whatever its bytes say, before it is mapped
 * or while it is read, nothing outside it is touched.
 *
 * Input: edits of a sound ring, 4 bytes each: what is edited and when (1 byte), where (1 byte),
 * the new value (2 bytes, sign-extended, shifted by what the first byte says). */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../client/libfftd/read.h"

#define PAGE_BYTES 4096u
#define SLOTS      4u
#define RING_BYTES (PAGE_BYTES + SLOTS * PAGE_BYTES)

struct edit {
    uint8_t
        what; /* bit 0: after mapping; bits 1-2: header, or one of three slots; bits 3-5: shift */
    uint8_t where; /* in units of 4 bytes */
    int16_t value;
};

static const struct fftd_ring_header sound = {
    .magic = FFTD_RING_MAGIC,
    .abi = FFTD_RING_ABI,
    .header_bytes = PAGE_BYTES,
    .ring_bytes = RING_BYTES,
    .slot_count = SLOTS,
    .data_offset = 128,
    .slot_stride = PAGE_BYTES,
    .generation = 1,
    .format = {.fourcc = 1,
               .width = 32,
               .height = 16,
               .plane_count = 2,
               .plane = {{0, 32, 32, 16}, {512, 32, 32, 8}},
               .frame_bytes = 768},
    .newest = FFTD_NEWEST(4, 3),
    .state = FFTD_STATE_LIVE,
};

static int make_memfd(uint8_t **ret_base)
{
    int fd = memfd_create("fuzz", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, RING_BYTES) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) < 0)
        abort();
    *ret_base = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (*ret_base == MAP_FAILED)
        abort();
    return fd;
}

static void fill(uint8_t *base)
{
    memcpy(base, &sound, sizeof sound);
    for (unsigned i = 0; i < SLOTS; i++) {
        struct fftd_slot slot = {.lock = 2, .sequence = i + 1};
        memcpy(base + PAGE_BYTES + i * PAGE_BYTES, &slot, sizeof slot);
    }
}

static void apply(uint8_t *base, const struct edit *edit)
{
    uint32_t value = (uint32_t)(int32_t)edit->value << (edit->what >> 3 & 7) * 2;
    unsigned page = edit->what >> 1 & 3;
    memcpy(base + page * PAGE_BYTES + edit->where * 4u, &value, sizeof value);
}

static void apply_all(uint8_t *base, const uint8_t *data, size_t size, bool after)
{
    struct edit edit;
    for (size_t at = 0; at + sizeof edit <= size; at += sizeof edit) {
        memcpy(&edit, data + at, sizeof edit);
        if ((edit.what & 1) == after)
            apply(base, &edit);
    }
}

static void read_everything(struct fftd *camera)
{
    struct fftd_frame frame;
    if (read_has_news(camera) && fftd_frame(camera, &frame) == 0) {
        fftd_frame_checksum(&frame);
        fftd_frame_valid(camera, &frame);
    }
    camera->last = 0;
    for (unsigned i = 0; i < 8 && fftd_next(camera, &frame) == 0; i++) {
        fftd_frame_checksum(&frame);
        fftd_frame_valid(camera, &frame);
    }
    fftd_state(camera);
    fftd_epoch(camera);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fftd camera;
    uint8_t *base;
    int fd = make_memfd(&base);
    fill(base);
    apply_all(base, data, size, false);
    memset(&camera, 0, sizeof camera);
    camera.state = LINK_UP;
    if (map_open(&camera.map[0], fd) == 0) {
        camera.map[0].serial = camera.serial = 1;
        camera.current = &camera.map[0];
        read_everything(&camera);
        apply_all(base, data, size, true);
        read_everything(&camera);
        map_close(&camera.map[0]);
    }
    munmap(base, RING_BYTES);
    close(fd);
    return 0;
}
