/* bench/http_load.h: many clients of one server at once, each with a connection that it keeps and
 * one call at a time: the next one is sent as soon as the last is answered.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "http_side.h"

typedef struct HttpLoad HttpLoad;

typedef struct HttpLoadResult {
    size_t n_calls;   /* that were answered well */
    size_t n_refused; /* answered otherwise, or not at all; its client does not come back */
    uint64_t ns;
} HttpLoadResult;

/* Connects them, one after another, and opens their sessions. */
HttpLoad *http_load_new(const HttpSide *side, size_t n_clients);
void http_load_free(HttpLoad *load);

/* All of them at once, for so long; calls that are open then are waited for. Up to max_samples
 * times of calls, in microseconds. */
HttpLoadResult http_load_run(HttpLoad *load, uint64_t for_ns, double *samples, size_t max_samples,
                             size_t *ret_n_samples);
