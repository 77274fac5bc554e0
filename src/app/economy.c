#include "app/economy.h"

#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "io/loop.h"

static int64_t economy_now_ms(void *context)
{
    return io_loop_now_ms(context);
}

static int economy_random(uint8_t *p, size_t n)
{
    return random_fill(p, n);
}

int economy_set(Economy *economy, Hub *hub, const Config *config, Diag *reterr_diag)
{
    Router *router = hub_router(hub);
    int r = 0;

    router_batch_begin(router);
    economy_deinit(economy);
    /* In front of all others, also when a reload brings them. */
    router_set_rank(router, 0);
    if (config->lazy_tools) {
        r = lazy_tools_new(&economy->lazy, router, (const char *const *)config->lazy_always,
                           reterr_diag);
    }
    if (r == 0 && config->result_bytes > 0) {
        r = results_new(&economy->results,
                        &(ResultsConfig){.router = router,
                                         .max_bytes = config->result_bytes,
                                         .now_ms = economy_now_ms,
                                         .random = economy_random,
                                         .context = hub_loop(hub)},
                        reterr_diag);
    }
    if (r != 0) {
        economy_deinit(economy);
    }
    router_set_rank(router, ROUTER_RANK_LAST);
    router_batch_end(router);
    return r > 0 ? ECONOMY_E_TOOLS : err_pass(r);
}

static bool economy_same_list(char *const *a, char *const *b)
{
    size_t i = 0;

    if (a == NULL || b == NULL) {
        return a == b;
    }
    while (a[i] != NULL && b[i] != NULL && strcmp(a[i], b[i]) == 0) {
        i++;
    }
    return a[i] == NULL && b[i] == NULL;
}

bool economy_is_same(const Config *a, const Config *b)
{
    return a->result_bytes == b->result_bytes && a->lazy_tools == b->lazy_tools &&
           economy_same_list(a->lazy_always, b->lazy_always);
}

void economy_deinit(Economy *economy)
{
    economy->lazy = lazy_tools_free(economy->lazy);
    economy->results = results_free(economy->results);
}
