/* A camera as a video source of PipeWire: the node that programs of a desktop find and link to.
 *
 * The node exists while the camera's format is known and a PipeWire server runs. Frames are read
 * only while a link takes them; otherwise the ring is closed, so that the camera can pause. The
 * node waits for a missing or lost daemon or server. A node whose daemon is lost keeps its links,
 * and continues when the daemon returns: programs of a desktop forget a camera that goes.
 *
 * The node drives the graph. Each frame begins a cycle, in which consumers get the filled buffer
 * and give others back. A frame is copied once, into memory that PipeWire has allocated, and queued
 * only if it is still valid after the copy. At most one frame waits, so that a slow consumer gets
 * new frames.
 *
 * Threads: the loop's, which also watches the ring's descriptor. The second thread of libpipewire
 * only moves buffers. */
#ifndef FFTD_PIPEWIRE_NODE_H
#define FFTD_PIPEWIRE_NODE_H

struct node;
struct pw_loop;

struct node_options {
    const char *camera;      /* a name for fftd_open */
    const char *name;        /* node.name, for programs */
    const char *description; /* node.description, for people */
};

/* Creates a node that connects while the loop runs. The options' texts must stay valid. Everything
 * runs in the loop's thread. Messages on stderr say what the node waits for. 0 or -errno. */
int node_create(struct node **ret, struct pw_loop *loop, const struct node_options *options);

/* Removes the node; never waits for a consumer. NULL is allowed. */
void node_destroy(struct node *node);

#endif
