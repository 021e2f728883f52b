/* The messages between a gst: source (capture/gst.c) and its helper process (daemon/gstreamer).
 * Each packet of a SOCK_SEQPACKET socket is one struct gst_link_message.
 *
 *     daemon                  helper
 *     LINK_OPEN        ->                    the pipeline, and the format that it should deliver
 *                      <-     LINK_LOADED    GStreamer is loaded; the pipeline is built next
 *                      <-     LINK_FORMAT    it delivers frames of this format
 *     LINK_START       ->                    with the descriptor of the memory for frames
 *                      <-     LINK_FRAME     a frame is in buffer `index`
 *     LINK_RELEASE     ->                    the buffer is free again
 *     LINK_STOP        ->                    LINK_START may follow, with other memory
 *                      <-     LINK_END        the last message; the text has the reason
 *
 * The memory has `index` frames (LINK_START), one after another, each with the layout that
 * format_layout gives LINK_FORMAT's fourcc and size without padding. LINK_FRAME and LINK_RELEASE
 * carry the number of the start that they belong to. The daemon checks whatever the helper sends.
 */
#ifndef FFTD_CORE_GST_LINK_H
#define FFTD_CORE_GST_LINK_H

#include <stdint.h>

/* The descriptor of the socket in the helper. */
#define GST_LINK_FD    3

/* Another number whenever the messages change. */
#define GST_LINK_MAGIC 0x31475446u

#define GST_LINK_TEXT  512

enum gst_link_kind {
    LINK_OPEN = 1,
    LINK_LOADED,
    LINK_FORMAT,
    LINK_START,
    LINK_FRAME,
    LINK_RELEASE,
    LINK_STOP,
    LINK_END,
};

/* The part of a format from which the layout follows. */
struct gst_link_format {
    uint32_t fourcc;                                 /* LINK_OPEN: 0: any */
    uint32_t width, height;                          /* LINK_OPEN: 0: any */
    uint32_t rate_num, rate_den;                     /* 0/1: any, or unknown */
    uint8_t primaries, transfer, matrix, full_range; /* as struct fftd_format; LINK_FORMAT */
};

struct gst_link_message {
    uint32_t magic;
    uint32_t kind; /* enum gst_link_kind */
    struct gst_link_format format;
    uint32_t live;       /* LINK_FORMAT: it does not wait, as a camera does not */
    uint32_t loop;       /* LINK_OPEN: begin again at the end */
    uint32_t start;      /* LINK_START and later: counts the starts */
    uint32_t index;      /* a buffer; LINK_START: the number of buffers */
    int32_t err;         /* LINK_END: a positive errno; ENODATA: the stream has ended */
    uint64_t sequence;   /* LINK_FRAME: of this start, from 0; gaps are frames that were dropped */
    int64_t captured_ns; /* LINK_FRAME: CLOCK_MONOTONIC */
    char text[GST_LINK_TEXT]; /* LINK_OPEN: the pipeline; LINK_END: the reason */
};

#endif
