/* providers/results.h: results that are too long for a model, kept for those who want all of them.
 *
 * What a tool answers beyond max_bytes is kept here, and the asker gets the beginning, a sentence
 * that says so, and a link to toolwire://results/ID, which is read as a resource, whole or in
 * pieces (?offset=N&length=M, in bytes; no character is cut), or by the tool read_result, for
 * clients whose model cannot read resources. Who may read it is who got it (Call.owner); besides,
 * an ID cannot be guessed. Kept in memory, for answers may hold what should not lie on a disk:
 * LIMIT_RESULTS_COUNT of them, LIMIT_RESULTS_BYTES together, for LIMIT_RESULTS_MS; beyond that the
 * oldest of the one who has most goes first.
 *
 * Blocks that fit are left as they are, in order. Text that does not is cut, and all of it is one
 * resource; a picture, a sound or an embedded resource becomes a resource of its own.
 * structuredContent beyond max_bytes is kept as JSON and left out, unless the tool has an output
 * schema: then it is sent whole, since a client would refuse what does not satisfy it. Everything
 * else of a result stays as it is. Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "router/router.h"

#include <stddef.h>
#include <stdint.h>

#define RESULTS_URI "toolwire://results/"

enum {
    RESULTS_E_EXISTS = 1, /* another tool is called read_result; the Diag says so */
};

typedef struct Results Results;

typedef struct ResultsConfig {
    Router *router;
    size_t max_bytes;                    /* of a result */
    int64_t (*now_ms)(void *context);    /* monotonic */
    int (*random)(uint8_t *p, size_t n); /* 0, a negative errno */
    void *context;
} ResultsConfig;

/* Borrows what config points to until free. 0, -ENOMEM, RESULTS_E_EXISTS. Gives *ret. */
int results_new(Results **ret, const ResultsConfig *config, Diag *reterr_diag);

/* Results are whole from now on; what was kept is gone. */
Results *results_free(Results *results);
