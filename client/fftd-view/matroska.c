#include "matroska.h"

#include <string.h>

/* Sizes and numbers have 8 bytes, so that space for a size can be reserved before it is known. */
#define SIZE_BYTES   8
#define SIZE_MARK    (UINT64_C(1) << 56)
#define SIZE_UNKNOWN (SIZE_MARK - 1)

enum {
    EBML = 0x1a45dfa3,
    EBML_READ_VERSION = 0x42f7,
    DOC_TYPE = 0x4282,
    DOC_TYPE_VERSION = 0x4287,
    DOC_TYPE_READ_VERSION = 0x4285,
    SEGMENT = 0x18538067,
    INFO = 0x1549a966,
    TIMESTAMP_SCALE = 0x2ad7b1,
    MUXING_APP = 0x4d80,
    WRITING_APP = 0x5741,
    TRACKS = 0x1654ae6b,
    TRACK_ENTRY = 0xae,
    TRACK_NUMBER = 0xd7,
    TRACK_UID = 0x73c5,
    TRACK_TYPE = 0x83,
    FLAG_LACING = 0x9c,
    CODEC_ID = 0x86,
    VIDEO = 0xe0,
    PIXEL_WIDTH = 0xb0,
    PIXEL_HEIGHT = 0xba,
    CLUSTER = 0x1f43b675,
    TIMESTAMP = 0xe7,
    SIMPLE_BLOCK = 0xa3,
};

#define TRACK          1
#define TRACK_MARK     0x80 /* marks a track number of one byte */
#define TYPE_VIDEO     1
#define NS_PER_MS      1000000
#define BLOCK_KEYFRAME 0x80
#define BLOCK_HEAD     4 /* the track, a time relative to the cluster's, and flags */

static uint8_t *put(uint8_t *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = bytes; i-- > 0;)
        *at++ = (uint8_t)(value >> (8 * i));
    return at;
}

static uint8_t *put_id(uint8_t *at, uint32_t id)
{
    return put(at, id, id > 0xffffff ? 4 : id > 0xffff ? 3 : id > 0xff ? 2 : 1);
}

static uint8_t *put_head(uint8_t *at, uint32_t id, uint64_t bytes)
{
    return put(put_id(at, id), SIZE_MARK | bytes, SIZE_BYTES);
}

static uint8_t *put_number(uint8_t *at, uint32_t id, uint64_t value)
{
    return put(put_head(at, id, sizeof value), value, sizeof value);
}

static uint8_t *put_text(uint8_t *at, uint32_t id, const char *text)
{
    at = put_head(at, id, strlen(text));
    memcpy(at, text, strlen(text));
    return at + strlen(text);
}

/* Completes an element whose contents begin at `contents`. */
static void put_size(uint8_t *contents, const uint8_t *end)
{
    put(contents - SIZE_BYTES, SIZE_MARK | (uint64_t)(end - contents), SIZE_BYTES);
}

static uint8_t *put_info(uint8_t *at)
{
    uint8_t *info = at = put_head(at, INFO, 0);
    at = put_number(at, TIMESTAMP_SCALE, NS_PER_MS);
    at = put_text(at, MUXING_APP, "fftd-view");
    at = put_text(at, WRITING_APP, "fftd-view " FFTD_VERSION);
    put_size(info, at);
    return at;
}

static uint8_t *put_tracks(uint8_t *at, uint32_t width, uint32_t height)
{
    uint8_t *tracks = at = put_head(at, TRACKS, 0);
    uint8_t *entry = at = put_head(at, TRACK_ENTRY, 0);
    at = put_number(at, TRACK_NUMBER, TRACK);
    at = put_number(at, TRACK_UID, TRACK);
    at = put_number(at, TRACK_TYPE, TYPE_VIDEO);
    at = put_number(at, FLAG_LACING, 0);
    at = put_text(at, CODEC_ID, "V_MJPEG");
    uint8_t *video = at = put_head(at, VIDEO, 0);
    at = put_number(at, PIXEL_WIDTH, width);
    at = put_number(at, PIXEL_HEIGHT, height);
    put_size(video, at);
    put_size(entry, at);
    put_size(tracks, at);
    return at;
}

size_t matroska_begin(uint8_t *to, uint32_t width, uint32_t height)
{
    uint8_t *at = put_head(to, EBML, 0);
    uint8_t *ebml = at;
    at = put_number(at, EBML_READ_VERSION, 1);
    at = put_text(at, DOC_TYPE, "matroska");
    at = put_number(at, DOC_TYPE_VERSION, 4);
    at = put_number(at, DOC_TYPE_READ_VERSION, 2);
    put_size(ebml, at);
    at = put_head(at, SEGMENT, SIZE_UNKNOWN);
    return (size_t)(put_tracks(put_info(at), width, height) - to);
}

/* Each picture is a cluster of its own, because a block's time has only 16 bits. */
size_t matroska_frame(uint8_t *to, uint64_t time_ms, size_t picture_bytes)
{
    const size_t block_bytes = BLOCK_HEAD + picture_bytes;
    uint8_t *cluster = put_head(to, CLUSTER, 0);
    uint8_t *at = put_number(cluster, TIMESTAMP, time_ms);
    at = put_head(at, SIMPLE_BLOCK, block_bytes);
    put_size(cluster, at + block_bytes);
    at = put(at, TRACK_MARK | TRACK, 1);
    at = put(at, 0, 2);
    at = put(at, BLOCK_KEYFRAME, 1);
    return (size_t)(at - to);
}
