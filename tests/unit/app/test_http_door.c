#include "unit/app/http_door_rig.h"

#include "support/alloc_testing.h"

/* ---- the eras ---- */

static void a_modern_call_is_answered_with_json(void **state)
{
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    client_asks(&c, "POST", "/mcp", MODERN_TOOL("echo"), CALL("1", "echo", "{\"message\":\"m\"}"));
    client_awaits(&c, "HTTP/1.1 200 ");
    client_awaits(&c, "application/json");
    client_awaits(&c, "\"text\":\"m\"");
    assert_int_equal(http_door_figures(f.door).n_sessions, 0);
    client_calls_echo(&c); /* on the same connection */
    client_asks(&c, "POST", "/mcp?x=1", MODERN_TOOL("echo"),
                CALL("1", "echo", "{\"message\":\"query\"}"));
    client_awaits(&c, "\"text\":\"query\"");
    client_close(&c);
    fixture_deinit(&f);
}

static void a_unix_socket_serves_as_well(void **state)
{
    Fixture f;
    Client c;

    (void)state;
    (void)alarm(WATCHDOG_S);
    assert_int_equal(fixture_open(&f, (HttpDoorConfig){.address = "unix:"}, NULL), 0);
    assert_memory_equal(http_door_address(f.door), "unix:/tmp/tw-http-", 18);
    client_open(&c, &f);
    client_calls_echo(&c);
    client_asks(&c, "POST", "/mcp", "Host: whatever\r\n" MODERN_TOOL("echo"),
                CALL("2", "echo", "{\"message\":\"m\"}"));
    client_awaits(&c, "HTTP/1.1 200 ");
    client_close(&c);
    fixture_deinit(&f);
}

static void a_legacy_session_has_a_stream_and_an_end(void **state)
{
    char session[1024];
    Fixture f;
    Client c;
    Client stream;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    client_open(&stream, &f);
    client_opens_session(&c, "", session);
    assert_int_equal(http_door_figures(f.door).n_sessions, 1);
    client_asks(&c, "POST", "/mcp", session, OLD_CALL("1", "echo", "{\"message\":\"old\"}"));
    client_awaits(&c, "\"text\":\"old\"");
    client_asks(&stream, "GET", "/mcp", session, "");
    client_awaits(&stream, "HTTP/1.1 200 ");
    client_awaits(&stream, "text/event-stream");
    assert_int_equal(http_door_figures(f.door).n_streams, 1);
    assert_int_equal(router_remove(hub_router(f.hub), ROUTER_TOOL, SPAN("big")), 0);
    client_awaits(&stream, "notifications/tools/list_changed");
    client_asks(&c, "DELETE", "/mcp", session, "");
    client_awaits(&c, "HTTP/1.1 20");
    client_awaits(&stream, "0\r\n\r\n"); /* the stream ends with its session */
    client_asks(&c, "POST", "/mcp", session, OLD_CALL("2", "echo", "{\"message\":\"late\"}"));
    client_awaits(&c, "HTTP/1.1 404 ");
    assert_int_equal(http_door_figures(f.door).n_sessions, 0);
    client_close(&stream);
    client_close(&c);
    fixture_deinit(&f);
}

static void a_session_outlives_the_connection_that_opened_it(void **state)
{
    char session[1024];
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    client_opens_session(&c, "", session);
    client_close(&c);
    await_connections(&f, 0);
    client_open(&c, &f);
    client_asks(&c, "POST", "/mcp", session, OLD_CALL("1", "echo", "{\"message\":\"old\"}"));
    client_awaits(&c, "\"text\":\"old\"");
    client_close(&c);
    fixture_deinit(&f);
}

static void the_oldest_clients_have_two_paths(void **state)
{
    const char *at;
    char path[128];
    Fixture f;
    Client stream;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&stream, &f);
    client_open(&c, &f);
    client_asks(&stream, "GET", "/sse", "Accept: text/event-stream\r\n", "");
    client_awaits(&stream, "event: endpoint\n");
    at = client_awaits(&stream, "data: /messages?");
    client_awaits(&stream, "\n\n");
    (void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(at + 6, "\r\n"), at + 6);
    client_asks(&c, "POST", path, ACCEPT, INITIALIZE("2024-11-05"));
    client_awaits(&c, "HTTP/1.1 202 ");
    client_awaits(&stream, "event: message\n");
    client_awaits(&stream, "\"protocolVersion\":\"2024-11-05\"");
    client_asks(&c, "POST", path, ACCEPT, INITIALIZED);
    client_awaits(&c, "HTTP/1.1 202 ");
    client_asks(&c, "POST", path, ACCEPT, OLD_CALL("1", "echo", "{\"message\":\"oldest\"}"));
    client_awaits(&stream, "\"text\":\"oldest\"");
    client_close(&c);
    client_close(&stream);
    fixture_deinit(&f);
}

static void eras_alternate_on_one_connection(void **state)
{
    char session[1024];
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    client_calls_echo(&c);
    client_opens_session(&c, "", session);
    client_calls_echo(&c);
    client_asks(&c, "POST", "/mcp", session, OLD_CALL("1", "echo", "{\"message\":\"old\"}"));
    client_awaits(&c, "\"text\":\"old\"");
    client_calls_echo(&c);
    client_close(&c);
    fixture_deinit(&f);
}

static void listeners_are_told_of_changes(void **state)
{
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    client_asks(&c, "POST", "/mcp", MODERN("subscriptions/listen"), LISTEN);
    client_awaits(&c, "text/event-stream");
    client_awaits(&c, "notifications/subscriptions/acknowledged");
    assert_int_equal(router_remove(hub_router(f.hub), ROUTER_TOOL, SPAN("big")), 0);
    client_awaits(&c, "notifications/tools/list_changed");
    client_awaits(&c, "subscriptionId\":7");
    client_close(&c);
    await_connections(&f, 0);
    assert_int_equal(http_door_figures(f.door).n_streams, 0);
    fixture_deinit(&f);
}

static void readers_are_told_of_updates(void **state)
{
    char session[1024];
    Fixture f;
    Client c;
    Client legacy;
    Client stream;

    (void)state;
    fixture_init(&f);
    assert_int_equal(router_add(hub_router(f.hub),
                                &(RouterSpec){.kind = ROUTER_RESOURCE,
                                              .json = SPAN("{\"uri\":\"test://a\",\"name\":\"a\"}"),
                                              .provider = &hold_provider,
                                              .context = &f},
                                NULL),
                     0);
    client_open(&c, &f);
    client_asks(&c, "POST", "/mcp", MODERN("subscriptions/listen"),
                "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"subscriptions/listen\",\"params\":{"
                "\"notifications\":{\"resourceSubscriptions\":[\"test://a\"]}," META "}}");
    client_awaits(&c, "acknowledged");
    client_open(&legacy, &f);
    client_open(&stream, &f);
    client_opens_session(&legacy, "", session);
    client_asks(&stream, "GET", "/mcp", session, "");
    client_awaits(&stream, "text/event-stream");
    client_asks(&legacy, "POST", "/mcp", session,
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\",\"params\":{"
                "\"uri\":\"test://a\"}}");
    client_awaits(&legacy, "\"result\":{}");
    router_resource_updated(hub_router(f.hub), SPAN("test://a"));
    client_awaits(&c, "notifications/resources/updated");
    client_awaits(&stream, "notifications/resources/updated");
    client_close(&c);
    client_close(&legacy);
    client_close(&stream);
    fixture_deinit(&f);
}

/* ---- clients that go, or do not read ---- */

static void a_modern_client_that_disconnects_cancels(void **state)
{
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    client_asks(&c, "POST", "/mcp", MODERN_TOOL("hold"), CALL("1", "hold", "{}"));
    await_held(&f, 1);
    client_close(&c);
    await_connections(&f, 0);
    assert_int_equal(f.n_cancelled, 1);
    fixture_deinit(&f);
}

static void a_legacy_client_that_disconnects_does_not(void **state)
{
    char session[1024];
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    client_opens_session(&c, "", session);
    client_asks(&c, "POST", "/mcp", session, OLD_CALL("1", "hold", "{}"));
    await_held(&f, 1);
    client_close(&c);
    await_connections(&f, 0);
    assert_int_equal(f.n_cancelled, 0);
    hold_let_go(&f); /* its quota is still there, too */
    client_open(&c, &f);
    client_calls_echo(&c);
    client_close(&c);
    fixture_deinit(&f);
}

static void who_does_not_read_is_closed_and_others_are_served(void **state)
{
    Fixture f;
    Client slow;
    Client other;
    size_t n_in_memory;

    (void)state;
    (void)alarm(WATCHDOG_S);
    assert_int_equal(fixture_open(&f, (HttpDoorConfig){.http = {.stall_ms = 50}}, NULL), 0);
    client_open(&slow, &f);
    client_open(&other, &f);
    n_in_memory = (size_t)alloc_testing()->n_live;
    for (int i = 0; i < 8; i++) {
        client_asks(&slow, "POST", "/mcp", MODERN_TOOL("big"), CALL("1", "big", "{}"));
    }
    do {
        client_calls_echo(&other);
    } while (http_door_figures(f.door).n_connections > 1);
    assert_in_range((size_t)alloc_testing()->n_live, 0, n_in_memory + 64);
    client_awaits_end(&slow);
    assert_true(slow.n < (size_t)8 * BIG_BYTES);
    client_close(&slow);
    client_close(&other);
    fixture_deinit(&f);
}

static void an_asker_has_its_own_places(void **state)
{
    RouterLimits limits = {.max_in_flight = 1};
    char session[1024];
    Fixture f;
    Client c;
    Client again;
    Client other;

    (void)state;
    (void)alarm(WATCHDOG_S);
    assert_int_equal(fixture_open(&f, (HttpDoorConfig){.limits = &limits}, NULL), 0);
    client_open(&c, &f);
    client_open(&again, &f);
    client_open(&other, &f);
    client_opens_session(&c, "", session);
    client_asks(&c, "POST", "/mcp", session, OLD_CALL("1", "hold", "{}"));
    await_held(&f, 1);
    /* The session's place is taken, whatever connection it uses. */
    client_asks(&again, "POST", "/mcp", session, OLD_CALL("2", "echo", "{\"message\":\"m\"}"));
    client_awaits(&again, "-32003");
    client_calls_echo(&other);
    hold_let_go(&f);
    client_awaits(&c, "let go");
    client_close(&c);
    client_close(&again);
    client_close(&other);
    fixture_deinit(&f);
}

static void the_rate_of_a_connection_is_counted_over_its_requests(void **state)
{
    RouterLimits limits = {.rate_burst = 1, .rate_per_s = 1};
    Fixture f;
    Client c;

    (void)state;
    (void)alarm(WATCHDOG_S);
    assert_int_equal(fixture_open(&f, (HttpDoorConfig){.limits = &limits}, NULL), 0);
    client_open(&c, &f);
    /* Several at once: however slow this machine is, a token is not earned between all of them. */
    for (int i = 0; i < 20; i++) {
        client_asks(&c, "POST", "/mcp", MODERN_TOOL("echo"),
                    CALL("1", "echo", "{\"message\":\"m\"}"));
    }
    client_awaits(&c, "-32003");
    client_close(&c);
    client_open(&c, &f);
    client_calls_echo(&c);
    client_close(&c);
    fixture_deinit(&f);
}

/* ---- what cannot be read ---- */

static void opening_sessions_counts_against_the_rate(void **state)
{
    RouterLimits limits = {.rate_burst = 2, .rate_per_s = 1};
    char fields[1024];
    Fixture f;
    Client flood;
    Client other;

    (void)state;
    (void)alarm(WATCHDOG_S);
    assert_int_equal(fixture_open(&f, (HttpDoorConfig){.limits = &limits}, NULL), 0);
    client_open(&flood, &f);
    client_open(&other, &f);
    client_opens_session(&flood, "", fields);
    client_opens_session(&flood, "", fields);
    client_asks(&flood, "POST", "/mcp", ACCEPT, INITIALIZE("2025-11-25"));
    client_awaits(&flood, "HTTP/1.1 429 ");
    client_awaits(&flood, "Retry-After: 1\r\n");
    client_awaits(&flood, "-32003");
    assert_int_equal(http_door_figures(f.door).n_sessions, 2);
    client_opens_session(&other, "", fields);
    client_close(&flood);
    client_close(&other);
    fixture_deinit(&f);
}

static void what_is_not_json_is_refused(void **state)
{
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    client_asks(&c, "POST", "/mcp", ACCEPT, "{\"jsonrpc\":");
    client_awaits(&c, "HTTP/1.1 400 ");
    client_awaits(&c, "-32700");
    client_asks(&c, "POST", "/mcp", "Content-Type: text/plain\r\n", CALL("1", "echo", "{}"));
    client_awaits(&c, "HTTP/1.1 415 ");
    assert_int_equal(http_door_figures(f.door).n_refused, 2);
    client_calls_echo(&c);
    client_close(&c);
    fixture_deinit(&f);
}

static void what_is_too_long_is_refused_before_it_comes(void **state)
{
    char text[1200];
    Fixture f;
    Client c;

    (void)state;
    (void)alarm(WATCHDOG_S);
    assert_int_equal(fixture_open(&f, (HttpDoorConfig){.max_request_bytes = 1000}, NULL), 0);
    client_open(&c, &f);
    /* Nothing of the body is sent. */
    client_sends(&c,
                 "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n" ACCEPT "\r\n");
    client_awaits(&c, "HTTP/1.1 413 ");
    client_awaits(&c, "\"error\"");
    client_close(&c);
    /* One that does not say how long it is. */
    client_open(&c, &f);
    memset(text, ' ', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    client_sends(&c,
                 "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n" ACCEPT
                 "\r\n4af\r\n");
    client_sends(&c, text);
    client_awaits(&c, "HTTP/1.1 413 ");
    client_close(&c);
    client_open(&c, &f);
    client_calls_echo(&c);
    client_close(&c);
    assert_int_equal(http_door_figures(f.door).bytes_in,
                     strlen(CALL("1", "echo", "{\"message\":\"m\"}")));
    fixture_deinit(&f);
}

/* ---- accounts ---- */

static void connections_leave_nothing_behind(void **state)
{
    Fixture f;
    Client c;
    long n_live = 0;

    (void)state;
    fixture_init(&f);
    for (int i = 0; i < 20; i++) {
        client_open(&c, &f);
        client_calls_echo(&c);
        client_close(&c);
        await_connections(&f, 0);
        run_turn(&f);
        if (i == 4) {
            n_live = alloc_testing()->n_live;
        }
    }
    assert_int_equal(alloc_testing()->n_live, n_live);
    fixture_deinit(&f);
}

static void figures_count(void **state)
{
    HttpDoorFigures figures;
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    client_calls_echo(&c);
    client_asks(&c, "GET", "/nowhere", "", "");
    client_awaits(&c, "HTTP/1.1 404 ");
    figures = http_door_figures(f.door);
    assert_int_equal(figures.n_requests, 2);
    assert_int_equal(figures.n_refused, 1);
    assert_int_equal(figures.bytes_in, strlen(CALL("1", "echo", "{\"message\":\"m\"}")));
    assert_true(figures.bytes_out > 50);
    assert_int_equal(figures.n_connections, 1);
    assert_int_equal(figures.n_streams, 0);
    client_close(&c);
    fixture_deinit(&f);
}

/* What is refused before it gets to the door, or while its body comes, is a request, too. */
static void what_the_transport_refuses_counts(void **state)
{
    static const struct {
        const char *text;
        const char *status;
        unsigned n_refused;
    } cases[] = {
        {"nonsense\r\n\r\n", "HTTP/1.1 400 ", 1},
        {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 ", 1},
        {"GET / HTTP/1.1\r\nHost: localhost\r\nA:", "HTTP/1.1 408 ", 1},
        {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n" ACCEPT "\r\n{",
         "HTTP/1.1 408 ", 1},
        {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n" ACCEPT
         "\r\n3e9\r\n{",
         "HTTP/1.1 413 ", 1},
        {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n" ACCEPT
         "\r\nx\r\n",
         "HTTP/1.1 400 ", 1},
        {"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 404 ", 1},
        /* We cannot do that: no refusal. */
        {"FROB / HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 501 ", 0},
    };
    HttpDoorFigures before;
    HttpDoorFigures after = {.n_requests = 0};
    Fixture f;
    Client c;

    (void)state;
    (void)alarm(WATCHDOG_S);
    assert_int_equal(fixture_open(&f,
                                  (HttpDoorConfig){.max_request_bytes = 1000,
                                                   .http = {.head_ms = 50, .body_ms = 50}},
                                  NULL),
                     0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        before = after;
        client_open(&c, &f);
        client_sends(&c, cases[i].text);
        client_awaits(&c, cases[i].status);
        client_close(&c);
        after = http_door_figures(f.door);
        assert_int_equal(after.n_requests, before.n_requests + 1);
        assert_int_equal(after.n_refused, before.n_refused + cases[i].n_refused);
        assert_true(after.bytes_out > before.bytes_out);
    }
    fixture_deinit(&f);
}

static void a_head_that_is_too_long_counts(void **state)
{
    char field[HTTP1_MAX_HEAD_BYTES + 1];
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    memset(field, 'a', sizeof(field) - 1);
    field[sizeof(field) - 1] = '\0';
    client_open(&c, &f);
    client_sends(&c, "GET / HTTP/1.1\r\nHost: localhost\r\nA: ");
    client_sends(&c, field);
    client_awaits(&c, "HTTP/1.1 431 ");
    client_close(&c);
    assert_int_equal(http_door_figures(f.door).n_requests, 1);
    assert_int_equal(http_door_figures(f.door).n_refused, 1);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_modern_call_is_answered_with_json),
        cmocka_unit_test(a_unix_socket_serves_as_well),
        cmocka_unit_test(a_legacy_session_has_a_stream_and_an_end),
        cmocka_unit_test(a_session_outlives_the_connection_that_opened_it),
        cmocka_unit_test(the_oldest_clients_have_two_paths),
        cmocka_unit_test(eras_alternate_on_one_connection),
        cmocka_unit_test(listeners_are_told_of_changes),
        cmocka_unit_test(readers_are_told_of_updates),
        cmocka_unit_test(a_modern_client_that_disconnects_cancels),
        cmocka_unit_test(a_legacy_client_that_disconnects_does_not),
        cmocka_unit_test(who_does_not_read_is_closed_and_others_are_served),
        cmocka_unit_test(an_asker_has_its_own_places),
        cmocka_unit_test(the_rate_of_a_connection_is_counted_over_its_requests),
        cmocka_unit_test(opening_sessions_counts_against_the_rate),
        cmocka_unit_test(what_is_not_json_is_refused),
        cmocka_unit_test(what_is_too_long_is_refused_before_it_comes),
        cmocka_unit_test(connections_leave_nothing_behind),
        cmocka_unit_test(figures_count),
        cmocka_unit_test(what_the_transport_refuses_counts),
        cmocka_unit_test(a_head_that_is_too_long_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
