#include "app/mcp_listener.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/hub.h"
#include "frame/ndjson.h"
#include "io/stream.h"
#include "io/unix_socket.h"
#include "providers/diagnostics.h"
#include "support/oom_sweep.h"

static const McpIdentity identity = {.name = SPAN_INIT("t"), .version = SPAN_INIT("1")};

typedef struct Fixture {
    char folder[64];
    char path[96];
    Hub *hub;
    Diagnostics *diagnostics;
    McpListener *listener;
    bool frees; /* `closed` frees the listener */
    int n_closed;
} Fixture;

/* A client in the same loop, which stops whenever something has come. */
typedef struct Client {
    Fixture *f;
    IoStream *stream;
    NdjsonReader reader;
    NdjsonWriter writer;
    bool has_ended;
} Client;

/* ---- the listener ---- */

static void on_closed(void *context)
{
    Fixture *f = context;

    f->n_closed++;
    if (f->frees) {
        f->listener = mcp_listener_free(f->listener);
    }
    io_loop_stop(hub_loop(f->hub));
}

static int fixture_listen(Fixture *f, const RouterLimits *limits, Diag *reterr_diag)
{
    return mcp_listener_new(&f->listener,
                            &(McpListenerConfig){.door = {.loop = hub_loop(f->hub),
                                                          .router = hub_router(f->hub),
                                                          .identity = &identity,
                                                          .limits = limits,
                                                          .sealer = hub_sealer(f->hub),
                                                          .lists_change = true,
                                                          .drain_ms = 50},
                                                 .path = f->path,
                                                 .closed = on_closed,
                                                 .context = f},
                            reterr_diag);
}

static int fixture_init(Fixture *f, const RouterLimits *limits)
{
    static const char folder[] = "/tmp/tw-listener-XXXXXX";
    int r;

    *f = (Fixture){.n_closed = 0};
    memcpy(f->folder, folder, sizeof(folder));
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->path, sizeof(f->path), "%s/mcp.sock", f->folder);
    r = hub_new(&f->hub, NULL);
    if (r != 0) {
        return r;
    }
    r = diagnostics_new(&f->diagnostics, hub_router(f->hub), hub_loop(f->hub));
    return r != 0 ? r : fixture_listen(f, limits, NULL);
}

static void fixture_deinit(Fixture *f)
{
    f->listener = mcp_listener_free(f->listener);
    f->diagnostics = diagnostics_free(f->diagnostics);
    f->hub = hub_free(f->hub);
    assert_int_not_equal(access(f->path, F_OK), 0);
    assert_int_equal(rmdir(f->folder), 0);
}

/* ---- a client ---- */

static int client_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    return ndjson_reader_reserve(&((Client *)context)->reader, want, ret_p, ret_n);
}

static void client_commit(void *context, size_t n)
{
    ndjson_reader_commit(&((Client *)context)->reader, n);
}

static size_t client_pull(void *context, Span *slices, size_t max)
{
    return ndjson_writer_pull(&((Client *)context)->writer, slices, max);
}

static void client_consumed(void *context, size_t n)
{
    ndjson_writer_consumed(&((Client *)context)->writer, n);
}

static void client_on_input(void *context)
{
    io_loop_stop(hub_loop(((Client *)context)->f->hub));
}

static void client_on_end(void *context)
{
    ((Client *)context)->has_ended = true;
    client_on_input(context);
}

static void client_on_failed(void *context, int r)
{
    (void)r;
    client_on_end(context);
}

static const IoStreamOps client_ops = {
    .reserve = client_reserve,
    .commit = client_commit,
    .pull = client_pull,
    .consumed = client_consumed,
    .input = client_on_input,
    .end = client_on_end,
    .failed = client_on_failed,
};

static void client_open(Client *c, Fixture *f)
{
    int fd = -1;

    *c = (Client){.f = f};
    ndjson_reader_init(&c->reader, 1u << 20);
    ndjson_writer_init(&c->writer, 1u << 20, 1u << 20);
    assert_int_equal(unix_socket_connect(f->path, &fd), 0);
    assert_int_equal(io_stream_new(&c->stream, hub_loop(f->hub), fd, fd, &client_ops, c), 0);
}

static void client_close(Client *c)
{
    c->stream = io_stream_free(c->stream);
    ndjson_reader_deinit(&c->reader);
    ndjson_writer_deinit(&c->writer);
}

static void client_sends(Client *c, Span line)
{
    assert_int_equal(ndjson_writer_push(&c->writer, line), 0);
    io_stream_flush(c->stream);
}

/* Runs until a line has come that holds text. */
static void client_expects(Client *c, const char *text)
{
    char line[4096] = "";
    Span got = SPAN_NULL;

    while (ndjson_reader_next(&c->reader, &got) != 0) {
        assert_false(c->has_ended);
        assert_int_equal(io_loop_run(hub_loop(c->f->hub)), 0);
    }
    assert_true(got.n < sizeof(line));
    memcpy(line, got.p, got.n);
    if (strstr(line, text) == NULL) {
        fail_msg("wanted: %s\n   got: %s", text, line);
    }
}

static void client_expects_the_end(Client *c)
{
    while (!c->has_ended) {
        assert_int_equal(io_loop_run(hub_loop(c->f->hub)), 0);
    }
}

#define MODERN                                                                                     \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define CALL(id, tool, arguments)                                                                  \
    SPAN("{\"jsonrpc\":\"2.0\",\"id\":" id                                                         \
         ",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool "\",\"arguments\":" arguments   \
         "," MODERN "}}")

/* ---- tests ---- */

static void clients_are_served_side_by_side(void **state)
{
    Client slow;
    Client quick;
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f, NULL), 0);
    client_open(&slow, &f);
    client_open(&quick, &f);
    client_sends(&slow, CALL("1", "sleep", "{\"ms\":600000}"));
    client_sends(&quick, CALL("1", "echo", "{\"message\":\"hello\"}"));
    client_expects(&quick, "\"text\":\"hello\"");
    assert_int_equal(mcp_listener_n_clients(f.listener), 2);
    client_close(&quick);
    client_close(&slow);
    fixture_deinit(&f);
}

static void one_that_goes_leaves_the_others_alone(void **state)
{
    Client gone;
    Client stays;
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f, NULL), 0);
    client_open(&stays, &f);
    client_open(&gone, &f);
    client_sends(&gone, SPAN("this is not JSON"));
    client_expects(&gone, "-32700");
    client_close(&gone);
    while (mcp_listener_n_clients(f.listener) != 1) {
        client_sends(&stays, CALL("1", "echo", "{\"message\":\"still here\"}"));
        client_expects(&stays, "still here");
    }
    assert_int_equal(f.n_closed, 0);
    client_close(&stays);
    fixture_deinit(&f);
}

/* The limits are copied: what config pointed to may be gone when a client comes. */
static void limits_are_of_each_client(void **state)
{
    RouterLimits limits = {.rate_burst = 1, .rate_per_s = 1};
    Client first;
    Client second;
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f, &limits), 0);
    limits = (RouterLimits){.rate_off = true};
    client_open(&first, &f);
    client_open(&second, &f);
    client_sends(&first, CALL("1", "echo", "{\"message\":\"one\"}"));
    client_expects(&first, "\"text\":\"one\"");
    client_sends(&first, CALL("2", "echo", "{\"message\":\"two\"}"));
    client_expects(&first, "\"id\":2,\"error\"");
    client_sends(&second, CALL("1", "echo", "{\"message\":\"other\"}"));
    client_expects(&second, "\"text\":\"other\"");
    client_close(&first);
    client_close(&second);
    fixture_deinit(&f);
}

static void shutdown_lets_nobody_in_and_ends_those_inside(void **state)
{
    Client busy;
    Client idle;
    int fd = -1;
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f, NULL), 0);
    client_open(&busy, &f);
    client_open(&idle, &f);
    client_sends(&idle, CALL("1", "echo", "{\"message\":\"in\"}"));
    client_expects(&idle, "\"text\":\"in\"");
    client_sends(&busy, CALL("1", "sleep", "{\"ms\":600000}"));
    client_sends(&busy, CALL("2", "echo", "{\"message\":\"in\"}"));
    client_expects(&busy, "\"text\":\"in\"");
    mcp_listener_shutdown(f.listener);
    mcp_listener_shutdown(f.listener);
    assert_int_equal(f.n_closed, 0);
    assert_int_not_equal(unix_socket_connect(f.path, &fd), 0);
    client_expects_the_end(&idle);
    client_expects_the_end(&busy);
    assert_int_equal(mcp_listener_n_clients(f.listener), 0);
    assert_int_equal(f.n_closed, 1);
    client_close(&busy);
    client_close(&idle);
    fixture_deinit(&f);
}

static void shutdown_without_clients_is_told_later(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f, NULL), 0);
    f.frees = true;
    mcp_listener_shutdown(f.listener);
    assert_int_equal(f.n_closed, 0);
    assert_int_equal(io_loop_run(hub_loop(f.hub)), 0);
    assert_int_equal(f.n_closed, 1);
    fixture_deinit(&f);
}

static void the_last_client_may_take_the_listener_along(void **state)
{
    Client client;
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f, NULL), 0);
    f.frees = true;
    client_open(&client, &f);
    client_sends(&client, CALL("1", "echo", "{\"message\":\"in\"}"));
    client_expects(&client, "\"text\":\"in\"");
    mcp_listener_shutdown(f.listener);
    client_expects_the_end(&client);
    assert_int_equal(f.n_closed, 1);
    assert_null(f.listener);
    client_close(&client);
    fixture_deinit(&f);
}

static void a_socket_that_is_served_is_not_taken_over(void **state)
{
    McpListener *first;
    Diag diag = DIAG_NULL;
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f, NULL), 0);
    first = f.listener;
    assert_int_equal(fixture_listen(&f, NULL, &diag), UNIX_SOCKET_E_LIVE);
    assert_non_null(strstr(diag.message, f.path));
    assert_ptr_equal(f.listener, first);
    fixture_deinit(&f);
}

static int open_once(void *context)
{
    Fixture f;
    int r = fixture_init(&f, NULL);

    (void)context;
    fixture_deinit(&f);
    return r;
}

static void no_allocation_may_fail_unnoticed(void **state)
{
    (void)state;
    test_oom_sweep(open_once, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_are_served_side_by_side),
        cmocka_unit_test(one_that_goes_leaves_the_others_alone),
        cmocka_unit_test(limits_are_of_each_client),
        cmocka_unit_test(shutdown_lets_nobody_in_and_ends_those_inside),
        cmocka_unit_test(shutdown_without_clients_is_told_later),
        cmocka_unit_test(the_last_client_may_take_the_listener_along),
        cmocka_unit_test(a_socket_that_is_served_is_not_taken_over),
        cmocka_unit_test(no_allocation_may_fail_unnoticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
