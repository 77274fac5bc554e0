/* tests/unit/router/fake.h: the two ends of a router: an asker that remembers what it was told, and
 * a provider that does what its plan says. */
#pragma once

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "call/call.h"
#include "router/router.h"

typedef struct Asker {
    Call call;
    size_t n_finished;
    CallResultKind kind;
    CallError error;
    bool is_error;
    char message[4096];
    char data[8192];
    char content[8192]; /* pieces, or the keys of a list with blanks between them */
    char structured[4096];
    char cursor[64]; /* of the next page */
    int64_t retry_ms;
    size_t n_progress;
    bool poison; /* in finish, do as a door that uses the memory again at once */
    Router *cancels_in_progress;

    /* What it asked with. */
    char text[8192];
    Arena arena;
    JsonDoc doc;
} Asker;

static void fake_copy(char *out, size_t size, Span s)
{
    assert_true(s.n < size);
    if (s.n > 0) {
        memcpy(out, s.p, s.n);
    }
    out[s.n] = '\0';
}

static void fake_gather_list(Asker *asker, const CallResult *result)
{
    size_t n = 0;

    for (size_t i = 0; i < result->n_entries; i++) {
        JsonValue name = JSON_VALUE_NULL;
        Span key = SPAN_NULL;

        assert_true(json_get(result->entries[i], SPAN("name"), &name));
        assert_true(json_string_plain(name, &key));
        n += (size_t)snprintf(asker->content + n, sizeof(asker->content) - n, "%s%.*s",
                              i == 0 ? "" : " ", (int)key.n, key.p);
    }
}

static void fake_finish(Call *call, const CallResult *result)
{
    Asker *asker = (Asker *)call;
    size_t n = 0;

    assert_false(call->running);
    asker->n_finished++;
    asker->kind = result->kind;
    asker->error = result->error;
    asker->is_error = result->is_error;
    asker->retry_ms = result->retry_after_ms;
    fake_copy(asker->message, sizeof(asker->message), result->message);
    fake_copy(asker->data, sizeof(asker->data), result->data);
    fake_copy(asker->cursor, sizeof(asker->cursor), result->next_cursor);
    fake_copy(asker->structured, sizeof(asker->structured), result->structured);
    asker->content[0] = '\0';
    for (size_t i = 0; i < result->n_pieces; i++) {
        assert_true(n + result->pieces[i].n < sizeof(asker->content));
        fake_copy(asker->content + n, sizeof(asker->content) - n, result->pieces[i]);
        n += result->pieces[i].n;
    }
    if (result->kind == CALL_RESULT_LIST) {
        fake_gather_list(asker, result);
    }
    if (asker->poison) {
        Arena arena = call->kept_arena;

        memset(call, 0x5a, sizeof(*call));
        call->kept_arena = arena;
    }
}

static void fake_progress(Call *call, const CallProgress *progress)
{
    Asker *asker = (Asker *)call;

    (void)progress;
    asker->n_progress++;
    if (asker->cancels_in_progress != NULL) {
        router_cancel(asker->cancels_in_progress, call);
    }
}

static const CallDoor fake_door = {.finish = fake_finish, .progress = fake_progress};

static void asker_init(Asker *asker)
{
    memset(asker, 0, sizeof(*asker));
    call_init(&asker->call);
    arena_init(&asker->arena, 1 << 20);
}

static void asker_deinit(Asker *asker)
{
    call_deinit(&asker->call);
    arena_deinit(&asker->arena);
}

/* Makes the call anew; arguments: JSON, or NULL for none. */
static void asker_prepare(Asker *asker, CallVerb verb, const char *target, const char *arguments)
{
    asker->call.running = false;
    call_reset(&asker->call);
    asker->call.door = &fake_door;
    asker->call.verb = verb;
    asker->call.target = span_from_str(target);
    arena_reset(&asker->arena, SIZE_MAX);
    if (arguments != NULL) {
        fake_copy(asker->text, sizeof(asker->text), span_from_str(arguments));
        assert_int_equal(
            json_parse(&asker->doc, &asker->arena, asker->text, strlen(arguments), NULL, NULL), 0);
        asker->call.arguments = json_root(&asker->doc);
    }
}

TW_UNUSED static void asker_ask(Asker *asker, Router *router, CallVerb verb, const char *target,
                                const char *arguments)
{
    size_t n_before = asker->n_finished;

    asker_prepare(asker, verb, target, arguments);
    router_dispatch(router, NULL, &asker->call);
    assert_int_equal(asker->n_finished, n_before + 1);
}

typedef enum FakePlan {
    FAKE_ECHO,  /* answers at once with the arguments, or else with its own result */
    FAKE_WAIT,  /* keeps the call */
    FAKE_REPORT /* reports progress at once, then as WAIT */
} FakePlan;

typedef struct FakeProvider {
    FakePlan plan;
    const CallResult *result; /* NULL: the arguments */
    Call *call;               /* kept; NULL when there is none */
    size_t n_started;
    size_t n_cancelled;
    size_t n_released;
    char variable[64]; /* {name} of the last call, if it had one */
    char meta[256];    /* of the last call; "": none */
} FakeProvider;

static void fake_start(void *context, Call *call)
{
    FakeProvider *provider = context;
    Span value;

    provider->n_started++;
    fake_copy(provider->meta, sizeof(provider->meta),
              call->meta.node == NULL ? SPAN_NULL : json_span(call->meta));
    if (router_call_variable(call, SPAN("name"), &value)) {
        fake_copy(provider->variable, sizeof(provider->variable), value);
    }
    if (provider->plan != FAKE_ECHO) {
        provider->call = call;
        if (provider->plan == FAKE_REPORT) {
            call_report(call, &(CallProgress){.progress = 1});
        }
        return;
    }
    if (provider->result != NULL) {
        call_finish(call, provider->result);
    } else {
        Span piece = call->arguments.node == NULL ? SPAN("null") : json_span(call->arguments);
        CallResult result = CALL_RESULT_TOOL_PIECES(&piece, 1);

        call_finish(call, &result);
    }
}

static void fake_cancel(void *context, Call *call)
{
    FakeProvider *provider = context;

    assert_ptr_equal(provider->call, call);
    provider->call = NULL;
    provider->n_cancelled++;
}

static void fake_release(void *context)
{
    FakeProvider *provider = context;

    provider->n_released++;
}

static const CallProvider fake_provider = {
    .name = "fake", .start = fake_start, .cancel = fake_cancel};

static const HashSeed fake_seed = {11, 22};

static int fake_add(Router *router, RouterKind kind, const char *json, FakeProvider *provider,
                    Diag *diag)
{
    return router_add(router,
                      &(RouterSpec){.kind = kind,
                                    .json = span_from_str(json),
                                    .provider = &fake_provider,
                                    .context = provider,
                                    .completes = kind == ROUTER_PROMPT,
                                    .release = fake_release},
                      diag);
}

TW_UNUSED static Router *fake_router(const RouterLimits *limits)
{
    Router *router = NULL;

    assert_int_equal(router_new(&router, limits, fake_seed), 0);
    return router;
}

TW_UNUSED static void fake_add_tool(Router *router, const char *name, FakeProvider *provider)
{
    char json[256];

    (void)snprintf(json, sizeof(json), "{\"name\":\"%s\",\"inputSchema\":{\"type\":\"object\"}}",
                   name);
    assert_int_equal(fake_add(router, ROUTER_TOOL, json, provider, NULL), 0);
}

/* A router with one tool, "echo", and someone who asks. */
typedef struct World {
    Router *router;
    FakeProvider provider;
    Asker asker;
} World;

TW_UNUSED static void world_init(World *world, const RouterLimits *limits)
{
    world->router = fake_router(limits);
    world->provider = (FakeProvider){.plan = FAKE_ECHO};
    asker_init(&world->asker);
    fake_add_tool(world->router, "echo", &world->provider);
}

TW_UNUSED static void world_deinit(World *world)
{
    world->router = router_free(world->router);
    assert_null(world->provider.call);
    asker_deinit(&world->asker);
}
