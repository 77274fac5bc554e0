/* Askers that open more sessions than they need, and those who must not suffer for it. */
#include "dialect/mcp/http.h"

#include "unit/dialect/mcp/http_rig.h"

#include "base/limits.h"
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_BYTES 64

#define ACCEPT "Content-Type: application/json\nAccept: application/json, text/event-stream\n"
#define PING   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define INITIALIZE                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"2025-06-18\",\"capabilities\":{}}}"

static HttpRig *rig_new(size_t max_sessions, size_t max_sessions_each)
{
    HttpRig *rig = malloc(sizeof(*rig));

    http_rig_init(rig);
    rig->config.max_sessions = max_sessions;
    rig->config.max_sessions_each = max_sessions_each;
    assert_int_equal(http_rig_open(rig), 0);
    return rig;
}

static void rig_free(HttpRig *rig)
{
    http_rig_close(rig);
    free(rig);
}

/* The status; the session's id, as a field, in id. */
static unsigned open_session(HttpRig *rig, HttpAsker *asker, char id[ID_BYTES])
{
    HttpX *x = http_rig_send_as(rig, asker, "POST", "/mcp", ACCEPT, INITIALIZE);
    const char *value = http_rig_field(x, "Mcp-Session-Id");

    assert_true(x->is_complete);
    assert_int_equal(value != NULL, x->status == 200);
    (void)snprintf(id, ID_BYTES, "Mcp-Session-Id: %s\n", value == NULL ? "" : value);
    return x->status;
}

static unsigned ping(HttpRig *rig, HttpAsker *asker, const char *id)
{
    char fields[200];

    (void)snprintf(fields, sizeof(fields), ACCEPT "%s", id);
    return http_rig_send_as(rig, asker, "POST", "/mcp", fields, PING)->status;
}

static void listen_to(HttpRig *rig, HttpAsker *asker, const char *id)
{
    char fields[200];
    HttpX *x;

    (void)snprintf(fields, sizeof(fields), "Accept: text/event-stream\n%s", id);
    x = http_rig_send_as(rig, asker, "GET", "/mcp", fields, "");
    assert_true(x->status == 200 && x->is_streaming);
}

static void who_opens_too_many_ends_its_own(void **state)
{
    HttpRig *rig = rig_new(10, 3);
    char alice[ID_BYTES];
    char bob[5][ID_BYTES];

    (void)state;
    assert_int_equal(open_session(rig, &rig->alice, alice), 200);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(open_session(rig, &rig->bob, bob[i]), 200);
    }
    assert_int_equal(ping(rig, &rig->bob, bob[0]), 200);
    for (size_t i = 3; i < 5; i++) {
        assert_int_equal(open_session(rig, &rig->bob, bob[i]), 200);
    }
    assert_int_equal(mcp_http_n_sessions(rig->http), 4);
    assert_int_equal(ping(rig, &rig->alice, alice), 200);
    assert_int_equal(ping(rig, &rig->bob, bob[0]), 200);
    assert_int_equal(ping(rig, &rig->bob, bob[1]), 404);
    assert_int_equal(ping(rig, &rig->bob, bob[2]), 404);
    assert_int_equal(ping(rig, &rig->bob, bob[3]), 200);
    assert_int_equal(ping(rig, &rig->bob, bob[4]), 200);
    /* Where something is under way in all of them there is no other. */
    listen_to(rig, &rig->bob, bob[0]);
    listen_to(rig, &rig->bob, bob[3]);
    listen_to(rig, &rig->bob, bob[4]);
    assert_int_equal(open_session(rig, &rig->bob, bob[1]), 503);
    assert_int_equal(mcp_http_n_sessions(rig->http), 4);
    rig_free(rig);
}

static void a_flood_of_one_asker_does_not_end_the_sessions_of_others(void **state)
{
    HttpRig *rig = rig_new(0, 0);
    char alice[ID_BYTES];
    char bob[ID_BYTES];

    (void)state;
    assert_int_equal(open_session(rig, &rig->alice, alice), 200);
    for (size_t i = 0; i < 4100; i++) {
        assert_int_equal(open_session(rig, &rig->bob, bob), 200);
    }
    assert_true(mcp_http_n_sessions(rig->http) < 1000);
    assert_int_equal(ping(rig, &rig->alice, alice), 200);
    rig_free(rig);
}

static void who_has_the_most_makes_room(void **state)
{
    HttpRig *rig = rig_new(4, 3);
    HttpAsker carol = {.who = 7};
    char alice[ID_BYTES];
    char bob[3][ID_BYTES];
    char carols[ID_BYTES];

    (void)state;
    assert_int_equal(open_session(rig, &rig->alice, alice), 200);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(open_session(rig, &rig->bob, bob[i]), 200);
    }
    assert_int_equal(open_session(rig, &carol, carols), 200);
    assert_int_equal(mcp_http_n_sessions(rig->http), 4);
    assert_int_equal(ping(rig, &rig->alice, alice), 200);
    assert_int_equal(ping(rig, &rig->bob, bob[0]), 404);
    assert_int_equal(ping(rig, &rig->bob, bob[1]), 200);
    assert_int_equal(ping(rig, &carol, carols), 200);
    /* Bob has the most again, and it is his own that goes. */
    assert_int_equal(open_session(rig, &rig->bob, bob[0]), 200);
    assert_int_equal(ping(rig, &rig->bob, bob[2]), 404);
    assert_int_equal(ping(rig, &rig->bob, bob[1]), 200);
    assert_int_equal(ping(rig, &rig->alice, alice), 200);
    assert_int_equal(ping(rig, &carol, carols), 200);
    rig_free(rig);
    assert_int_equal(carol.n_holds, 0);
}

/* As without credentials, where each connection is an asker of its own. */
static void of_many_with_one_session_the_idle_that_was_used_longest_ago_makes_room(void **state)
{
    enum {
        N = 50
    };
    static HttpAsker askers[2 * N];
    static char ids[2 * N][ID_BYTES];
    HttpRig *rig = rig_new(N, 3);

    (void)state;
    for (int i = 0; i < N; i++) {
        askers[i] = (HttpAsker){.who = 100 + i};
        assert_int_equal(open_session(rig, &askers[i], ids[i]), 200);
    }
    listen_to(rig, &askers[0], ids[0]);                   /* in use */
    assert_int_equal(ping(rig, &askers[1], ids[1]), 200); /* used last */
    for (int i = N; i < 2 * N - 2; i++) {
        askers[i] = (HttpAsker){.who = 100 + i};
        assert_int_equal(open_session(rig, &askers[i], ids[i]), 200);
        assert_int_equal(mcp_http_n_sessions(rig->http), N);
        /* The third was the first to be idle, then the fourth. */
        assert_int_equal(ping(rig, &askers[i - N + 2], ids[i - N + 2]), 404);
    }
    assert_int_equal(ping(rig, &askers[1], ids[1]), 200);
    assert_int_equal(ping(rig, &askers[0], ids[0]), 200);
    rig_free(rig);
    for (int i = 0; i < 2 * N - 2; i++) {
        assert_int_equal(askers[i].n_holds, 0);
    }
}

/* Whoever opens a connection for each session has one of each, as a client has. */
static void a_flood_of_connections_ends_no_session_that_somebody_uses(void **state)
{
    enum {
        N_CLIENTS = 20,
        N_ALL = 200
    };
    static HttpAsker askers[N_ALL];
    static char ids[N_ALL][ID_BYTES];
    HttpRig *rig = rig_new(40, 3);

    (void)state;
    for (int i = 0; i < N_ALL; i++) {
        askers[i] = (HttpAsker){.who = 100 + i};
        assert_int_equal(open_session(rig, &askers[i], ids[i]), 200);
        if (i < N_CLIENTS) {
            assert_int_equal(ping(rig, &askers[i], ids[i]), 200);
        }
    }
    assert_int_equal(mcp_http_n_sessions(rig->http), 40);
    for (int i = 0; i < N_CLIENTS; i++) {
        assert_int_equal(ping(rig, &askers[i], ids[i]), 200);
    }
    /* Where all use theirs, those who come together do not end each other's. */
    for (int i = N_ALL - 20; i < N_ALL; i++) {
        assert_int_equal(ping(rig, &askers[i], ids[i]), 200);
    }
    for (int i = 50; i < 55; i++) {
        assert_int_equal(open_session(rig, &askers[i], ids[i]), 200);
    }
    for (int i = 50; i < 55; i++) {
        assert_int_equal(ping(rig, &askers[i], ids[i]), 200);
    }
    assert_int_equal(ping(rig, &askers[0], ids[0]), 404);
    rig_free(rig);
}

static void what_nobody_comes_back_to_ends_sooner(void **state)
{
    HttpRig *rig = rig_new(10, 3);
    char alice[ID_BYTES];
    char bob[2][ID_BYTES];

    (void)state;
    assert_int_equal(open_session(rig, &rig->bob, bob[0]), 200);
    assert_int_equal(open_session(rig, &rig->alice, alice), 200);
    assert_int_equal(open_session(rig, &rig->bob, bob[1]), 200);
    assert_int_equal(ping(rig, &rig->alice, alice), 200);
    listen_to(rig, &rig->bob, bob[1]);
    http_rig_advance(rig, LIMIT_MCP_HTTP_SESSION_FRESH_MS - 1);
    assert_int_equal(mcp_http_n_sessions(rig->http), 3);
    http_rig_advance(rig, 1);
    assert_int_equal(mcp_http_n_sessions(rig->http), 2);
    assert_int_equal(ping(rig, &rig->bob, bob[0]), 404);
    assert_int_equal(ping(rig, &rig->bob, bob[1]), 200);
    assert_int_equal(ping(rig, &rig->alice, alice), 200);
    rig_free(rig);
}

static void nobody_loses_a_session_to_one_who_has_more(void **state)
{
    HttpRig *rig = rig_new(3, 3);
    char alice[ID_BYTES];
    char bob[3][ID_BYTES];

    (void)state;
    assert_int_equal(open_session(rig, &rig->alice, alice), 200);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(open_session(rig, &rig->bob, bob[i]), 200);
        listen_to(rig, &rig->bob, bob[i]);
    }
    assert_int_equal(open_session(rig, &rig->bob, bob[2]), 503);
    assert_int_equal(ping(rig, &rig->alice, alice), 200);
    rig_free(rig);
}

static void old_streams_count(void **state)
{
    HttpRig *rig = rig_new(10, 2);
    char bob[ID_BYTES];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(http_rig_send_as(rig, &rig->bob, "GET", "/sse", "", "")->status, 200);
    }
    assert_int_equal(http_rig_send_as(rig, &rig->bob, "GET", "/sse", "", "")->status, 503);
    assert_int_equal(open_session(rig, &rig->bob, bob), 503);
    assert_int_equal(http_rig_send_as(rig, &rig->alice, "GET", "/sse", "", "")->status, 200);
    rig_free(rig);
}

/* ---- the rate ---- */

/* Bob only after a second and a half. */
static int64_t admit(void *context, void *asker)
{
    const HttpRig *rig = context;

    return asker == &rig->bob ? 1500 : 0;
}

static void who_is_not_admitted_yet_is_told_when(void **state)
{
    HttpRig *rig = rig_new(10, 2);
    char id[ID_BYTES];
    HttpX *x;

    (void)state;
    rig->owner.admit = admit;
    x = http_rig_send_as(rig, &rig->bob, "POST", "/mcp", ACCEPT, INITIALIZE);
    assert_true(x->status == 429 && x->is_complete);
    assert_string_equal(http_rig_field(x, "Retry-After"), "2");
    assert_null(http_rig_field(x, "Mcp-Session-Id"));
    assert_string_equal(http_rig_text(x),
                        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32003,\"message\":"
                        "\"too many sessions at once\",\"data\":{\"retryAfterMs\":1500}}}");
    x = http_rig_send_as(rig, &rig->bob, "GET", "/sse", "", "");
    assert_true(x->status == 429 && x->is_complete);
    assert_int_equal(mcp_http_n_sessions(rig->http), 0);
    /* Whoever opens none is not asked. */
    assert_int_equal(ping(rig, &rig->bob, ""), 200);
    assert_int_equal(open_session(rig, &rig->alice, id), 200);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_opens_too_many_ends_its_own),
        cmocka_unit_test(a_flood_of_one_asker_does_not_end_the_sessions_of_others),
        cmocka_unit_test(who_has_the_most_makes_room),
        cmocka_unit_test(of_many_with_one_session_the_idle_that_was_used_longest_ago_makes_room),
        cmocka_unit_test(a_flood_of_connections_ends_no_session_that_somebody_uses),
        cmocka_unit_test(what_nobody_comes_back_to_ends_sooner),
        cmocka_unit_test(nobody_loses_a_session_to_one_who_has_more),
        cmocka_unit_test(old_streams_count),
        cmocka_unit_test(who_is_not_admitted_yet_is_told_when),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
