/* The routes: which paths exist, with which method, and what answers them. */
#ifndef FFTD_VIEW_ROUTER_H
#define FFTD_VIEW_ROUTER_H

#include "request.h"

/* Finds what a path asks for. A path matches a route if each of its segments, between slashes, is
 * the route's; nothing is unescaped. Returns false if there is none. */
bool router_find(struct target *ret, const struct server *server, const char *path);

#endif
