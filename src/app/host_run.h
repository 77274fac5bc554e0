/* app/host_run.h: a parent as a program: hub, providers, host, signals. Thread: loop. */
#pragma once

#include "app/config.h"
#include "base/diag.h"
#include "base/logsink.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    HOST_RUN_E_TOOLS = 1, /* the tools cannot be offered; the Diag says why */
    HOST_RUN_E_PARENT,    /* nor those of a parent of our own */
    HOST_RUN_E_PIPE,      /* the pipe cannot be there, or another live process has it */
    HOST_RUN_E_TEMPLATES, /* a folder of templates, or write_root, cannot be used */
    HOST_RUN_E_PLACE,     /* socket or schema cannot be there, or a live parent has it */
};

typedef struct HostRunOptions {
    const Config *config;
    bool diagnostics; /* offer echo, sleep and fail, too */
    bool toolkit;     /* offer the template tools, too */
    const char *socket_path;
    const char *schema_path;
    const LogSink *log;
    /* Bridges can connect from now on. May be NULL. */
    void (*ready)(void *context, size_t n_tools);
    void *context;
} HostRunOptions;

/* Serves until SIGTERM, SIGINT or SIGHUP; calls in flight are given time to finish, unless a second
 * one comes. Socket and schema file are gone when this returns. 0, a negative errno, HOST_RUN_E_*.
 *
 * For a process that ends afterwards: the three signals are blocked on return, so that one that
 * comes late does not spoil the exit status. */
int host_run(const HostRunOptions *options, Diag *reterr_diag);
