/* tests/unit/app/addin_door_rig.h: an add-in's door, and a place where its hub would be. */
#pragma once

#include "app/addin_door.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/hub.h"
#include "io/listener.h"
#include "providers/diagnostics.h"

#define BIG_BYTES 300000

/* Short waits, so that tests do not wait; long enough that nothing happens by itself. */
#define RETRY_MS     10
#define RETRY_MAX_MS 40

#define MAX_EVENTS 64
#define MAX_HELD   8

typedef struct Event {
    AddinState state;
    char why[256];
    int64_t retry_ms;
} Event;

/* A door of diagnostic tools, of `hold`, which answers when the test lets it, and of `big`. The hub
 * is in the same loop. */
typedef struct Fixture {
    char folder[64];
    char path[96];
    Hub *hub;
    Diagnostics *diagnostics;
    AddinDoor *door;
    IoListener *listener; /* of the hub; NULL: there is none */
    int accepted;         /* a connection that nobody took yet, or -1 */
    LogSink log;
    size_t n_logged;
    Event events[MAX_EVENTS];
    size_t n_events;
    size_t n_seen;
    Call *held[MAX_HELD]; /* in the order in which they began */
    size_t n_held;
    size_t n_started;
    size_t n_cancelled;
    size_t n_closed;
    AddinState shutdown_at; /* `changed` shuts the door down in this state */
    bool shuts_down;
    bool frees; /* `closed` frees the door */
    IoTask turn;
} Fixture;

/* ---- the fixture ---- */

static void on_log(void *context, const char *line, size_t n)
{
    Fixture *f = context;

    (void)line;
    (void)n;
    f->n_logged++;
}

static void on_changed(void *context, AddinState state, Span why, int64_t retry_ms)
{
    Fixture *f = context;
    Event *event = &f->events[f->n_events++];

    assert_true(f->n_events <= MAX_EVENTS);
    assert_int_equal(f->n_closed, 0);
    event->state = state;
    event->retry_ms = retry_ms;
    (void)snprintf(event->why, sizeof(event->why), "%.*s", (int)why.n, why.n > 0 ? why.p : "");
    if (!f->shuts_down) {
        io_loop_stop(hub_loop(f->hub));
    } else if (f->shutdown_at == state) {
        addin_door_shutdown(f->door);
    }
}

static void on_closed(void *context)
{
    Fixture *f = context;

    f->n_closed++;
    if (f->frees) {
        f->door = addin_door_free(f->door);
    }
    io_loop_stop(hub_loop(f->hub));
}

static void hold_start(void *context, Call *call)
{
    Fixture *f = context;

    assert_true(f->n_held < MAX_HELD);
    f->held[f->n_held++] = call;
    f->n_started++;
    io_loop_stop(hub_loop(f->hub));
}

/* The one that began as the i-th of those that still run. */
static Call *hold_take(Fixture *f, size_t i)
{
    Call *call = f->held[i];

    assert_true(i < f->n_held);
    f->n_held--;
    memmove(&f->held[i], &f->held[i + 1], (f->n_held - i) * sizeof(f->held[0]));
    return call;
}

static void hold_cancel(void *context, Call *call)
{
    Fixture *f = context;
    size_t i = 0;

    while (i < f->n_held && f->held[i] != call) {
        i++;
    }
    (void)hold_take(f, i);
    f->n_cancelled++;
    io_loop_stop(hub_loop(f->hub));
}

/* Answers at once, with more than it was asked. */
static void big_start(void *context, Call *call)
{
    static char text[BIG_BYTES];
    Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":\""), span_make(text, sizeof(text)),
                     SPAN("\"}")};
    CallResult result = CALL_RESULT_TOOL_PIECES(pieces, TW_ARRAY_SIZE(pieces));

    (void)context;
    memset(text, 'x', sizeof(text));
    call_finish(call, &result);
}

static const CallProvider big_provider = {.start = big_start};
static const CallProvider hold_provider = {.start = hold_start, .cancel = hold_cancel};

TW_UNUSED static void hold_let_go_saying(Fixture *f, size_t i, Span text)
{
    Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":\""), text, SPAN("\"}")};
    CallResult result = CALL_RESULT_TOOL_PIECES(pieces, TW_ARRAY_SIZE(pieces));

    call_finish(hold_take(f, i), &result);
}

TW_UNUSED static void hold_let_go(Fixture *f, size_t i)
{
    hold_let_go_saying(f, i, SPAN("let go"));
}

static int add_entry(Fixture *f, RouterKind kind, Span json, const CallProvider *provider)
{
    return router_add(
        hub_router(f->hub),
        &(RouterSpec){
            .kind = kind, .json = json, .provider = provider, .context = f, .timeout_ms = 60000},
        NULL);
}

static void on_accept(void *context, int fd)
{
    Fixture *f = context;

    if (f->accepted >= 0) {
        (void)close(f->accepted); /* it came to nothing, and there is another one now */
    }
    f->accepted = fd;
    io_loop_stop(hub_loop(f->hub));
}

TW_UNUSED static void hub_opens(Fixture *f)
{
    assert_int_equal(io_listener_new(&f->listener,
                                     &(IoListenerConfig){.loop = hub_loop(f->hub),
                                                         .path = f->path,
                                                         .accept = on_accept,
                                                         .context = f},
                                     NULL),
                     0);
}

TW_UNUSED static void hub_leaves(Fixture *f)
{
    f->listener = io_listener_free(f->listener);
}

/* Everything but the door and the hub. */
static int fixture_prepare(Fixture *f)
{
    static const char folder[] = "/tmp/tw-addin-XXXXXX";
    int r;

    *f = (Fixture){.accepted = -1};
    memcpy(f->folder, folder, sizeof(folder));
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->path, sizeof(f->path), "%s/CoreFxPipe_t", f->folder);
    f->log = (LogSink){.level = LOGSINK_LEVEL_WARN, .write_fn = on_log, .context = f};
    r = hub_new(&f->hub, NULL);
    if (r == 0) {
        r = diagnostics_new(&f->diagnostics, hub_router(f->hub), hub_loop(f->hub));
    }
    if (r == 0) {
        r = add_entry(f, ROUTER_TOOL,
                      SPAN("{\"name\":\"hold\",\"inputSchema\":{\"type\":\"object\"}}"),
                      &hold_provider);
    }
    if (r == 0) {
        r = add_entry(f, ROUTER_TOOL,
                      SPAN("{\"name\":\"big\",\"inputSchema\":{\"type\":\"object\"}}"),
                      &big_provider);
    }
    return r;
}

/* with: what is not the default. */
static int fixture_door(Fixture *f, const AddinDoorConfig *with)
{
    AddinDoorConfig config = *with;

    config.loop = hub_loop(f->hub);
    config.router = hub_router(f->hub);
    config.path = f->path;
    config.name = "Tester";
    if (config.retry_ms == 0) {
        config.retry_ms = RETRY_MS;
        config.retry_max_ms = RETRY_MAX_MS;
    }
    config.log = &f->log;
    config.changed = on_changed;
    config.closed = on_closed;
    config.context = f;
    return addin_door_new(&f->door, &config);
}

static void fixture_deinit(Fixture *f)
{
    f->door = addin_door_free(f->door);
    f->listener = io_listener_free(f->listener);
    if (f->accepted >= 0) {
        (void)close(f->accepted);
    }
    f->diagnostics = diagnostics_free(f->diagnostics);
    f->hub = hub_free(f->hub);
    assert_int_equal(f->n_held, 0);
    assert_int_not_equal(access(f->path, F_OK), 0);
    assert_int_equal(rmdir(f->folder), 0);
}

static void run(Fixture *f)
{
    assert_int_equal(io_loop_run(hub_loop(f->hub)), 0);
}

static void turn_end(IoTask *task)
{
    Fixture *f = (Fixture *)(void *)((char *)task - offsetof(Fixture, turn));

    io_loop_stop(hub_loop(f->hub));
}

/* One turn of the loop. */
TW_UNUSED static void turn(Fixture *f)
{
    f->turn.fn = turn_end;
    io_loop_post(hub_loop(f->hub), &f->turn);
    run(f);
}

/* Runs until the next change of state, which must be this one. */
static const Event *expect_state(Fixture *f, AddinState state)
{
    const Event *event = &f->events[f->n_seen];

    while (f->n_seen == f->n_events) {
        run(f);
    }
    f->n_seen++;
    if (event->state != state) {
        fail_msg("state %d, not %d: %s", (int)event->state, (int)state, event->why);
    }
    return event;
}

TW_UNUSED static void expect_waiting(Fixture *f, int64_t retry_ms)
{
    assert_int_equal(expect_state(f, ADDIN_WAITING)->retry_ms, retry_ms);
}

#define DEFAULTS (&(AddinDoorConfig){.loop = NULL})
