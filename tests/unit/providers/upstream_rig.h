/* The upstream provider in a router on a real loop, with children that do what a script says
 * (support/mcp_child.c), and somebody who asks. */
#pragma once

#include "providers/upstream.h"

#include "support/cmocka.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/random.h"
#include "providers/upstream_impl.h"
#include "support/alloc_testing.h"
#include "support/files.h"
#include "unit/io/scratch.h"

#define RIG_SERVERS 4
#define RIG_ASKERS  6

/* Nothing here takes as long; what does has failed. */
#define RIG_LIMIT_MS 20000

/* One who asks, and what he was told. */
typedef struct Asker {
    Call call; /* first: the door finds the asker by it */
    unsigned n_finished;
    unsigned n_progress;
    unsigned n_logged;
    CallResultKind kind;
    CallError error;
    int wire_code;
    bool is_error;
    bool may_have_run;
    size_t n_asks;
    CallAskKind ask_kind;
    bool takes_error;   /* the first question */
    char message[2048]; /* of an error, or of the first question */
    char key[64];       /* of the first question */
    char state[64];
    char text[65536]; /* pieces; of a list the names, with blanks between them */
    char meta[4096];
    Arena arena;
} Asker;

typedef struct Rig {
    IoLoop *loop;
    Router *router;
    Upstreams *upstreams;
    IoBeforeWait *hook;
    IoTimer *limit;
    IoTimer *tick;
    bool (*is_done)(void);
    bool is_late;
    UpstreamSpec specs[RIG_SERVERS];
    char *args[RIG_SERVERS][3];
    size_t n_specs;
    const char *state;
    Asker askers[RIG_ASKERS];
    RouterListener listener;
    unsigned n_changed[ROUTER_N_KINDS];
    unsigned n_updated;
    char log[65536];
    size_t n_log;
} Rig;

static Rig rig;

static const McpIdentity rig_identity = {.name = SPAN_INIT("rig"), .version = SPAN_INIT("1")};

/* ---- one who asks ---- */

TW_UNUSED static void rig_copy(char *out, size_t size, Span s)
{
    assert_true(s.n < size);
    if (s.n > 0) {
        memcpy(out, s.p, s.n);
    }
    out[s.n] = '\0';
}

TW_UNUSED static void asker_take_list(Asker *asker, const CallResult *result)
{
    size_t n = 0;

    for (size_t i = 0; i < result->n_entries; i++) {
        JsonValue name = JSON_VALUE_NULL;
        Span key = SPAN_NULL;

        assert_true(json_get(result->entries[i], SPAN("name"), &name) &&
                    json_string_plain(name, &key));
        n += (size_t)snprintf(asker->text + n, sizeof(asker->text) - n, "%s%.*s", i > 0 ? " " : "",
                              (int)key.n, key.p);
    }
}

TW_UNUSED static void asker_finish(Call *call, const CallResult *result)
{
    Asker *asker = (Asker *)(void *)call;
    size_t n = 0;

    asker->n_finished++;
    asker->kind = result->kind;
    asker->error = result->error;
    asker->wire_code = result->wire_code;
    asker->is_error = result->is_error;
    asker->may_have_run = call->may_have_run;
    asker->n_asks = result->n_asks;
    rig_copy(asker->message, sizeof(asker->message), result->message);
    rig_copy(asker->state, sizeof(asker->state), result->state);
    rig_copy(asker->meta, sizeof(asker->meta), result->meta);
    if (result->n_asks > 0) {
        asker->ask_kind = result->asks[0].kind;
        asker->takes_error = result->asks[0].takes_error;
        rig_copy(asker->message, sizeof(asker->message), result->asks[0].message);
        rig_copy(asker->key, sizeof(asker->key), result->asks[0].key);
    }
    asker->text[0] = '\0';
    for (size_t i = 0; i < result->n_pieces; i++) {
        rig_copy(asker->text + n, sizeof(asker->text) - n, result->pieces[i]);
        n += result->pieces[i].n;
    }
    if (result->kind == CALL_RESULT_LIST) {
        asker_take_list(asker, result);
    }
}

TW_UNUSED static void asker_progress(Call *call, const CallProgress *progress)
{
    (void)progress;
    ((Asker *)(void *)call)->n_progress++;
}

TW_UNUSED static void asker_log(Call *call, CallLogLevel level, Span logger, Span data)
{
    (void)level;
    (void)logger;
    (void)data;
    ((Asker *)(void *)call)->n_logged++;
}

static const CallDoor asker_door = {
    .finish = asker_finish, .progress = asker_progress, .log = asker_log};

/* ---- the loop ---- */

TW_UNUSED static void rig_advance(void)
{
    io_loop_update_now(rig.loop);
    router_advance(rig.router, io_loop_now_ms(rig.loop));
}

/* After every turn: is it so? */
TW_UNUSED static void rig_look(void *context)
{
    (void)context;
    rig_advance();
    if (rig.is_done != NULL && rig.is_done()) {
        rig.is_done = NULL;
        io_loop_stop(rig.loop);
    }
}

TW_UNUSED static void rig_on_limit(void *context)
{
    (void)context;
    rig.is_late = true;
    io_loop_stop(rig.loop);
}

/* Deadlines of the router, and what children write elsewhere, are no events of the loop. */
TW_UNUSED static void rig_on_tick(void *context)
{
    (void)context;
    io_timer_start_at(rig.tick, io_loop_now_ms(rig.loop) + 5);
}

TW_UNUSED static void rig_until(bool (*is_done)(void), const char *what, int line)
{
    rig_advance();
    if (is_done()) {
        return;
    }
    rig.is_done = is_done;
    rig.is_late = false;
    io_timer_start_at(rig.limit, io_loop_now_ms(rig.loop) + RIG_LIMIT_MS);
    io_timer_start_at(rig.tick, io_loop_now_ms(rig.loop) + 5);
    (void)io_loop_run(rig.loop);
    io_timer_stop(rig.limit);
    if (rig.is_late) {
        print_error("line %d: it does not come to be that %s; the log:\n%s", line, what, rig.log);
    }
    assert_false(rig.is_late);
}

#define UNTIL(function) rig_until(function, #function, __LINE__)

/* A few turns, in which things that must not happen would. */
static unsigned rig_n_turns;

TW_UNUSED static bool some_turns_have_passed(void)
{
    return ++rig_n_turns >= 10;
}

TW_UNUSED static void rig_pause(void)
{
    rig_n_turns = 0;
    UNTIL(some_turns_have_passed);
}

TW_UNUSED static bool first_is_answered(void)
{
    return rig.askers[0].n_finished > 0;
}

TW_UNUSED static bool second_is_answered(void)
{
    return rig.askers[1].n_finished > 0;
}

TW_UNUSED static bool both_are_answered(void)
{
    return first_is_answered() && second_is_answered();
}

/* ---- life ---- */

TW_UNUSED static void rig_log(void *context, const char *line, size_t n)
{
    (void)context;
    if (rig.n_log + n < sizeof(rig.log)) {
        memcpy(rig.log + rig.n_log, line, n);
        rig.n_log += n;
        rig.log[rig.n_log] = '\0';
    }
}

static const LogSink rig_sink = {.level = LOGSINK_LEVEL_DEBUG, .write_fn = rig_log};

TW_UNUSED static void rig_changed(RouterListener *listener, RouterKind kind)
{
    (void)listener;
    rig.n_changed[kind]++;
}

TW_UNUSED static void rig_updated(RouterListener *listener, Span uri)
{
    (void)listener;
    (void)uri;
    rig.n_updated++;
}

TW_UNUSED static int rig_remove_one(const char *path, const struct stat *info, int type,
                                    struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

TW_UNUSED static int rig_setup(void **state)
{
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    memset(&rig, 0, sizeof(rig));
    io_ignore_sigpipe();
    (void)scratch_setup(state);
    assert_int_equal(io_loop_new(&rig.loop), 0);
    assert_int_equal(router_new(&rig.router, NULL, (HashSeed){1, 2}), 0);
    assert_int_equal(io_before_wait_new(&rig.hook, rig.loop, rig_look, NULL), 0);
    assert_int_equal(io_timer_new(&rig.limit, rig.loop, false, rig_on_limit, NULL), 0);
    assert_int_equal(io_timer_new(&rig.tick, rig.loop, true, rig_on_tick, NULL), 0);
    rig.listener = (RouterListener){.changed = rig_changed, .updated = rig_updated};
    router_listen(rig.router, &rig.listener);
    for (size_t i = 0; i < RIG_ASKERS; i++) {
        call_init(&rig.askers[i].call);
        arena_init(&rig.askers[i].arena, 1 << 20);
    }
    rig_advance();
    return 0;
}

TW_UNUSED static void rig_stop(void)
{
    rig.upstreams = upstreams_free(rig.upstreams);
}

TW_UNUSED static int rig_teardown(void **state)
{
    (void)state;
    rig_stop();
    router_unlisten(rig.router, &rig.listener);
    rig.router = router_free(rig.router);
    rig.limit = io_timer_free(rig.limit);
    rig.tick = io_timer_free(rig.tick);
    rig.hook = io_before_wait_free(rig.hook);
    rig.loop = io_loop_free(rig.loop);
    for (size_t i = 0; i < RIG_ASKERS; i++) {
        call_deinit(&rig.askers[i].call);
        arena_deinit(&rig.askers[i].arena);
    }
    for (size_t i = 0; i < rig.n_specs; i++) {
        for (size_t k = 0; k < 2; k++) {
            free(rig.args[i][k]);
        }
    }
    assert_int_equal(nftw(scratch, rig_remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    return 0;
}

/* Names one more server; what the settings say of it can be changed until rig_start. */
TW_UNUSED static UpstreamSpec *rig_server(const char *name, const char *script)
{
    static char command[] = TW_MCP_CHILD;
    size_t i = rig.n_specs++;
    char file[64];

    assert_true(i < RIG_SERVERS);
    (void)snprintf(file, sizeof(file), "%s.script", name);
    scratch_write(scratch_path(file), script, 0600);
    rig.args[i][0] = strdup(scratch_path(file));
    (void)snprintf(file, sizeof(file), "%s.seen", name);
    rig.args[i][1] = strdup(scratch_path(file));
    rig.args[i][2] = NULL;
    rig.specs[i] = (UpstreamSpec){.name = (char *)(uintptr_t)name,
                                  .command = command,
                                  .args = rig.args[i],
                                  .era = MCP_CLIENT_LEGACY};
    return &rig.specs[i];
}

TW_UNUSED static void rig_start(void)
{
    assert_int_equal(upstreams_new(&rig.upstreams, &(UpstreamsConfig){.router = rig.router,
                                                                      .loop = rig.loop,
                                                                      .log = &rig_sink,
                                                                      .identity = &rig_identity,
                                                                      .specs = rig.specs,
                                                                      .n_specs = rig.n_specs,
                                                                      .state = rig.state}),
                     0);
}

/* ---- asking ---- */

TW_UNUSED static Asker *rig_prepare(size_t i, CallVerb verb, const char *target)
{
    Asker *asker = &rig.askers[i];
    static const CallAsker who[RIG_ASKERS] = {
        {.dialect = "t", .who = "a"}, {.dialect = "t", .who = "b"}, {.dialect = "t", .who = "c"},
        {.dialect = "t", .who = "d"}, {.dialect = "t", .who = "e"}, {.dialect = "t", .who = "f"}};

    assert_false(asker->call.running);
    call_reset(&asker->call);
    arena_reset(&asker->arena, 0);
    asker->call.door = &asker_door;
    asker->call.asker = &who[i];
    asker->call.verb = verb;
    asker->call.target = span_from_str(target);
    asker->call.log_level = CALL_LOG_NONE;
    asker->n_finished = 0;
    asker->n_progress = 0;
    asker->n_logged = 0;
    asker->may_have_run = false;
    return asker;
}

TW_UNUSED static JsonValue rig_json(Asker *asker, const char *text)
{
    JsonDoc doc;

    assert_int_equal(json_parse(&doc, &asker->arena, text, strlen(text), NULL, NULL), 0);
    return json_root(&doc);
}

TW_UNUSED static void rig_send(Asker *asker)
{
    rig_advance();
    router_dispatch(rig.router, NULL, &asker->call);
}

TW_UNUSED static Asker *rig_begin(size_t i, const char *tool, const char *arguments)
{
    Asker *asker = rig_prepare(i, CALL_TOOL, tool);

    asker->call.arguments = rig_json(asker, arguments);
    rig_send(asker);
    return asker;
}

/* The names of a list, or the content of a result, or of an error its message. */
TW_UNUSED static const char *rig_ask(CallVerb verb, const char *target)
{
    Asker *asker = rig_prepare(0, verb, target);

    rig_send(asker);
    UNTIL(first_is_answered);
    return asker->kind == CALL_RESULT_ERROR ? asker->message : asker->text;
}

TW_UNUSED static const char *rig_call(const char *tool)
{
    return rig_ask(CALL_TOOL, tool);
}

TW_UNUSED static const char *rig_tools(void)
{
    return rig_ask(CALL_LIST_TOOLS, "");
}

/* The answers to the questions of its last call: by their keys, all the same. */
TW_UNUSED static void rig_answer(Asker *asker, const char *answer)
{
    char state[64];
    char text[1024];
    const char *target = "ask";
    size_t i = (size_t)(asker - rig.askers);

    (void)snprintf(state, sizeof(state), "%s", asker->state);
    (void)snprintf(text, sizeof(text), "{\"%s\":%s}", asker->key, answer);
    asker = rig_prepare(i, CALL_TOOL, target);
    asker->call.can = CALL_CAN_FORM;
    asker->call.inputs = rig_json(asker, text);
    asker->call.state = arena_copy(&asker->arena, span_from_str(state));
    rig_send(asker);
}

/* ---- looking ---- */

TW_UNUSED static UpstreamStatus rig_status(size_t i)
{
    return upstreams_status(rig.upstreams, i);
}

/* How often the word stands in what the server has read, its starts ("start\n") too. */
TW_UNUSED static size_t rig_seen(size_t server, const char *word)
{
    size_t n = 0;
    size_t n_text;
    char *text;

    if (!scratch_exists(rig.args[server][1])) {
        return 0;
    }
    text = files_read(rig.args[server][1], &n_text);
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        n++;
    }
    free(text);
    return n;
}

TW_UNUSED static size_t rig_starts(size_t server)
{
    return rig_seen(server, "start\n");
}

TW_UNUSED static bool rig_logged(const char *words)
{
    return strstr(rig.log, words) != NULL;
}

#define assert_has(text, words)                                                                    \
    do {                                                                                           \
        const char *text_it_has = (text);                                                          \
                                                                                                   \
        if (strstr(text_it_has, words) == NULL) {                                                  \
            print_error("not there: %s\nin: %s\n", words, text_it_has);                            \
            fail();                                                                                \
        }                                                                                          \
    } while (false)
