/* A camera as a video source of PipeWire: the node that programs of a desktop find and link to.
 *
 * The node exists once the camera's format is known and while there is a PipeWire server. Frames
 * are read only while somebody's link takes them; otherwise the ring is closed, so that the camera
 * can pause. Whatever is missing or lost (the daemon, the server), the node waits for it; a node
 * whose daemon is lost stays, with its links, and continues when the daemon is back. */
#ifndef FFTD_PIPEWIRE_NODE_H
#define FFTD_PIPEWIRE_NODE_H

struct node;
struct pw_loop;

struct node_options {
    const char *camera;      /* as for fftd_open */
    const char *name;        /* node.name, for programs */
    const char *description; /* node.description, for people */
};

/* Starts with everything missing; the loop does the rest. The options' texts must stay. All calls
 * are made in the loop's thread. Says on stderr what it waits for. 0 or -errno. */
int node_create(struct node **ret, struct pw_loop *loop, const struct node_options *options);

/* Removes the node; never waits for a consumer. NULL is allowed. */
void node_destroy(struct node *node);

#endif
