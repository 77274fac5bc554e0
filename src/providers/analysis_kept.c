/* Where caches of the analyser lie (analysis_impl.h): a file for each project, named by a hash. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "io/keep.h"
#include "providers/analysis_impl.h"

/* Two hashes with keys of their own: constant, since what they find was written by another run.
 * Who chooses two files of one hash gets the measures of one for the other, in his own project. */
static const HashSeed kept_seeds[2] = {{0x746f6f6c77697265U, 0x616e616c79736973U},
                                       {0x636f6e74656e7420U, 0x686173682d313238U}};

/* "/analysis/", kind, '-', 32 digits, and what is behind them. */
#define KEPT_NAME_SIZE 96

void analysis_hash(Span content, uint8_t ret[16])
{
    for (size_t i = 0; i < 2; i++) {
        uint64_t hash = hash_span(kept_seeds[i], content);

        for (size_t k = 0; k < 8; k++) {
            ret[i * 8 + k] = (uint8_t)(hash >> (8 * k));
        }
    }
}

int analysis_kept_path(char **ret, const char *state, const char *kind, Span key)
{
    CLEANUP(mem_freep) char *own = NULL;
    char name[KEPT_NAME_SIZE];
    uint8_t hash[16];
    int n;
    int r = state == NULL ? io_keep_folder(&own) : 0;

    if (r != 0) {
        return r;
    }
    analysis_hash(key, hash);
    n = snprintf(name, sizeof(name), "analysis/%s-", kind);
    for (size_t i = 0; i < sizeof(hash) && n > 0 && (size_t)n + 3 < sizeof(name); i++) {
        n += snprintf(name + n, sizeof(name) - (size_t)n, "%02x", hash[i]);
    }
    return err_pass(analysis_join(ret, state == NULL ? own : state, name));
}
