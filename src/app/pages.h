/* app/pages.h: what the hub shows to browsers and to monitoring, beside MCP (HttpPage):
 *
 *     /healthz       {"status":"ok","version":"…","uptime_s":…}; open to everybody
 *     /metrics       figures for Prometheus (app/watch.h)
 *     /              the same for people, without scripts
 *     /favicon.ico   nothing, so that browsers do not ask in vain
 *
 * Performs no I/O. Thread: loop.
 */
#pragma once

#include "app/http_door.h"
#include "app/watch.h"
#include "providers/upstream.h"
#include "queue/queue.h"

#include <stdbool.h>
#include <stddef.h>

/* Something that listens, or was connected to. */
typedef struct PagesPlace {
    const char *what;  /* "MCP over HTTP" */
    const char *where; /* "http://127.0.0.1:7410/mcp" */
} PagesPlace;

/* The context of the pages (HttpDoorConfig.pages_context); all of it is borrowed, and may change
 * between two requests. */
typedef struct Pages {
    Watch *watch;
    Router *router;
    const HttpDoor *door; /* NULL: its figures are left out; set once the door is there */
    /* Adds those of doors that were there before it; may be NULL. */
    void (*add_figures)(void *context, HttpDoorFigures *figures);
    /* Figures of the queue; false: there is none. May be NULL. */
    bool (*add_jobs)(void *context, QueueFigures *figures);
    void *context; /* of add_figures and add_jobs */
    const PagesPlace *places;
    size_t n_places;
    Upstreams *const *upstreams; /* where they are, if there are any; may be NULL */
} Pages;

/* For HttpDoorConfig.pages. */
const HttpPage *pages_all(size_t *ret_n);
