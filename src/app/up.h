/* app/up.h: the hub as a program that runs for long: every provider and every listener of a
 * configuration on one router. Reads its settings again when it is told to (SIGHUP) and when their
 * file changes, and restarts only what differs. Thread: loop.
 *
 *     config → hub → sources → HTTP door, socket for fronts → ready … reload … → drain → end
 */
#pragma once

#include "app/config.h"
#include "base/diag.h"
#include "base/logsink.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    UP_E_CONFIG = 1, /* the settings cannot be used; the Diag says why, as in all below */
    UP_E_TOOLS,      /* a tools file or a folder of templates cannot */
    UP_E_SOURCE,     /* the parent's schema, or the pipe */
    UP_E_PLACE,      /* a listener cannot be where it should, or a hub is there already */
};

/* What listens where. Borrowed until return. */
typedef struct UpFacts {
    const char *http;      /* "127.0.0.1:7410", "unix:/path"; NULL: HTTP is not served */
    const char *http_path; /* of MCP */
    bool needs_token;      /* of our own, from the token file */
    bool needs_access;     /* or access tokens of issuers */
    const char *pipe;      /* path; NULL: none */
    const char *socket;    /* for fronts; NULL: none */
    const char *queue;     /* the file of the durable queue; NULL: there is none */
    const char *config;    /* the file that was read, as `load` named it; NULL: embedded defaults */
    const char *state;     /* the folder that is configured; NULL: the user's */
    size_t n_tools;        /* that are known */
    size_t
        n_unlisted; /* servers whose tools are not known yet: they are asked when somebody lists */
} UpFacts;

typedef struct UpOptions {
    /* The settings, file and flags together: at the start, and for each reload. Gives *ret. 0, a
     * negative errno, CONFIG_E_*. */
    int (*load)(void *context, Config *ret, Diag *reterr_diag);
    /* It serves. May be NULL. */
    void (*ready)(void *context, const UpFacts *facts);
    /* Servers that were unlisted have listed their tools, or failed to: what is known now. Comes
     * when they have all been waited for, and again when the last of them has. May be NULL. */
    void (*listed)(void *context, const UpFacts *facts);
    void *context;
    bool diagnostics; /* offer echo, sleep and fail, too */
    const LogSink *log;
} UpOptions;

/* Serves until SIGTERM or SIGINT; calls in flight are given time to finish, unless a second one
 * comes. 0, a negative errno, UP_E_*.
 *
 * For a process that ends afterwards: the signals are blocked on return, so that one that comes
 * late does not spoil the exit status. */
int up_run(const UpOptions *options, Diag *reterr_diag);
