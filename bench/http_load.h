/* bench/http_load.h: many clients of one server at once, each with a connection that it keeps and
 * one request at a time: the next one is sent as soon as the last is answered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http_side.h"

typedef struct HttpLoad HttpLoad;

typedef struct HttpLoadResult {
    size_t n_calls;   /* requests that were answered well */
    size_t n_refused; /* answered otherwise, or not at all; its client does not come back */
    uint64_t ns;
} HttpLoadResult;

enum {
    HTTP_LOAD_STAGES = 3
};

/* What a client asks for, in stages, again and again. */
typedef struct HttpLoadKind {
    size_t n_stages;
    const char *wanted[HTTP_LOAD_STAGES]; /* in the answer to each */
    /* A request; free() it. `answer`: to the stage before; NULL: there was none. A kind with one
     * stage is asked once. */
    char *(*request)(const HttpSide *side, const char *session, size_t stage, const char *answer,
                     size_t *ret_n);
    bool has_session;
} HttpLoadKind;

/* Calls of echo. */
extern const HttpLoadKind http_load_echo;

/* Connects them, one after another, and opens their sessions. */
HttpLoad *http_load_new(const HttpSide *side, const HttpLoadKind *kind, size_t n_clients);
void http_load_free(HttpLoad *load);

/* All of them at once, for so long; calls that are open then are waited for. Up to max_samples
 * times of calls, in microseconds. */
HttpLoadResult http_load_run(HttpLoad *load, uint64_t for_ns, double *samples, size_t max_samples,
                             size_t *ret_n_samples);
