/* app/economy.h: what a configuration says about how much of a model's context is used: few tools
 * listed and the others found by search (providers/lazy_tools.h), and results that are shortened
 * (providers/results.h). Thread: loop. */
#pragma once

#include "app/config.h"
#include "app/hub.h"
#include "base/diag.h"
#include "providers/lazy_tools.h"
#include "providers/results.h"

enum {
    ECONOMY_E_TOOLS = 1, /* another tool has a name that is needed; the Diag says which */
};

typedef struct Economy {
    LazyTools *lazy;  /* NULL: all tools are listed */
    Results *results; /* NULL: results are whole */
} Economy;

#define ECONOMY_NULL ((Economy){.lazy = NULL})

/* As the configuration says, from now on; before the tools are put in, or later. On failure nothing
 * is hidden and nothing shortened. Borrows hub until deinit. 0, -ENOMEM, ECONOMY_E_TOOLS. */
int economy_set(Economy *economy, Hub *hub, const Config *config, Diag *reterr_diag);

/* Do both say the same about it? */
bool economy_is_same(const Config *a, const Config *b);

/* After the doors, before the hub. May run twice. */
void economy_deinit(Economy *economy);
