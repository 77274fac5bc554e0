/* app/addin_run.h: an add-in as a program: hub, providers, door, signals. Thread: loop. */
#pragma once

#include "app/addin_door.h"
#include "app/config.h"
#include "base/diag.h"
#include "base/logsink.h"

#include <stdbool.h>
#include <stdint.h>

/* The pipe of an add-in that was told no other. */
#define PIPE_DEFAULT_NAME CONFIG_PIPE_NAME

enum {
    ADDIN_RUN_E_TOOLS = 1, /* the tools cannot be offered; the Diag says why */
    ADDIN_RUN_E_PARENT,    /* nor those of a parent that the configuration names */
    ADDIN_RUN_E_TEMPLATES, /* a folder of templates, or write_root, cannot be used */
};

typedef struct AddinRunOptions {
    const Config *config; /* its `pipe` is a hub's, and not used */
    bool diagnostics;     /* offer echo, sleep and fail, too */
    bool toolkit;         /* offer the template tools, too */
    const char *path;     /* the rest as in AddinDoorConfig */
    const char *name;
    bool one_at_a_time;
    int64_t ping_interval_ms;
    int64_t pong_timeout_ms;
    int64_t retry_ms;
    int64_t retry_max_ms;
    const LogSink *log;
    void (*changed)(void *context, AddinState state, Span why, int64_t retry_ms);
    void *context;
} AddinRunOptions;

/* Offers its tools to the hub until SIGTERM, SIGINT or SIGHUP; calls in flight are given time to
 * finish, unless a second one comes. 0, a negative errno, ADDIN_RUN_E_*.
 *
 * For a process that ends afterwards: the three signals are blocked on return, so that one that
 * comes late does not spoil the exit status. */
int addin_run(const AddinRunOptions *options, Diag *reterr_diag);
