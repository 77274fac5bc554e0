/* tests/unit/app/asker_rig.h: a watch of a router that only remembers who asked last. */
#pragma once

#include "router/router.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <unistd.h>

typedef struct SeenAsker {
    RouterWatch watch;
    size_t n_began;
    size_t n_ended;
    char dialect[32];
    char who[64];
} SeenAsker;

static void seen_began(void *context, Call *call)
{
    SeenAsker *seen = context;

    assert_non_null(call->asker);
    seen->n_began++;
}

static void seen_ended(void *context, const Call *call, const CallResult *result)
{
    SeenAsker *seen = context;

    (void)result;
    seen->n_ended++;
    (void)snprintf(seen->dialect, sizeof(seen->dialect), "%s", call->asker->dialect);
    (void)snprintf(seen->who, sizeof(seen->who), "%s", call->asker->who);
}

static void seen_asker_watch(SeenAsker *seen, Router *router)
{
    *seen = (SeenAsker){.watch = {.began = seen_began, .ended = seen_ended, .context = seen}};
    router_set_watch(router, &seen->watch);
}

/* Exactly n calls came and ended, the last of which was this process's. */
TW_UNUSED static void seen_asker_expect_self(const SeenAsker *seen, size_t n, const char *dialect)
{
    char expected[64];

    (void)snprintf(expected, sizeof(expected), "uid %ld pid %ld", (long)geteuid(), (long)getpid());
    assert_int_equal(seen->n_began, n);
    assert_int_equal(seen->n_ended, n);
    assert_string_equal(seen->dialect, dialect);
    assert_string_equal(seen->who, expected);
}
