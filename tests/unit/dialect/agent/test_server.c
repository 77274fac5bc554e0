#include "dialect/agent/server.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>

#include "frame/ndjson.h"
#include "support/guard.h"
#include "support/oom_sweep.h"
#include "unit/dialect/agent/span_testing.h"

typedef struct Rig {
    AgentServer server;
    Arena arena;
    Bytes out;
    AgentRequest request;
    Diag diag;
} Rig;

static void rig_init(Rig *rig, size_t max_open)
{
    *rig = (Rig){.diag = DIAG_NULL};
    agent_server_init(&rig->server, (HashSeed){1, 2}, max_open);
    arena_init(&rig->arena, SIZE_MAX);
    bytes_init(&rig->out, 4096);
}

static void rig_deinit(Rig *rig)
{
    agent_server_deinit(&rig->server);
    arena_deinit(&rig->arena);
    bytes_deinit(&rig->out);
}

static int receive(Rig *rig, Span line)
{
    bytes_clear(&rig->out);
    return agent_server_receive(&rig->server, &rig->request, &rig->arena, line, 5, &rig->out,
                                &rig->diag);
}

static void an_id_is_open_until_its_end(void **state)
{
    static const Span line = SPAN_INIT("{\"id\":\"a\",\"kind\":\"get_status\"}");
    Rig rig;
    int owner;

    (void)state;
    rig_init(&rig, 8);
    assert_int_equal(receive(&rig, line), 0);
    assert_int_equal(rig.out.n, 0);
    assert_null(agent_server_get(&rig.server, SPAN("a")));
    agent_server_set(&rig.server, SPAN("a"), &owner);
    assert_ptr_equal(agent_server_get(&rig.server, SPAN("a")), &owner);
    assert_int_equal(receive(&rig, line), AGENT_SERVER_E_REFUSED);
    assert_span(bytes_span(&rig.out),
                "{\"type\":\"error\",\"id\":\"a\",\"error\":\"Duplicate request id: a request with "
                "this id is still running\",\"timestamp\":5}");
    assert_ptr_equal(agent_server_get(&rig.server, SPAN("a")), &owner);
    agent_server_end(&rig.server, SPAN("a"));
    agent_server_end(&rig.server, SPAN("a"));
    assert_int_equal(receive(&rig, line), 0);
    rig_deinit(&rig);
    agent_server_deinit(&rig.server);
}

static void too_many_are_refused(void **state)
{
    Rig rig;

    (void)state;
    rig_init(&rig, 1);
    assert_int_equal(receive(&rig, SPAN("{\"id\":\"a\",\"kind\":\"get_status\"}")), 0);
    assert_int_equal(receive(&rig, SPAN("{\"id\":\"b\",\"kind\":\"get_status\"}")),
                     AGENT_SERVER_E_REFUSED);
    assert_string_equal(rig.diag.message, "Too many requests at once");
    rig_deinit(&rig);
}

static void a_full_buffer_is_told_and_nothing_is_open(void **state)
{
    Rig rig;

    (void)state;
    rig_init(&rig, 8);
    rig.out.max_bytes = 10;
    assert_int_equal(receive(&rig, SPAN("{\"id\":\"a\",\"kind\":\"x\"}")), BYTES_E_FULL);
    assert_int_equal(rig.out.n, 0);
    assert_int_equal(rig.server.open.n, 0);
    rig_deinit(&rig);
}

/* All that comes of an input, cut in two anywhere: requests and answers, in a log. */
static void play_split(Span input, size_t split, Bytes *log)
{
    NdjsonReader reader;
    GuardBuffer parts[2];
    Rig rig;

    rig_init(&rig, 8);
    bytes_clear(log);
    ndjson_reader_init(&reader, 60);
    parts[0] = guard_copy(input.p, split);
    parts[1] = guard_copy(input.p + split, input.n - split);
    for (size_t i = 0; i < 2; i++) {
        Span line;
        int r;

        assert_int_equal(ndjson_reader_feed(&reader, parts[i].p, parts[i].n), 0);
        while ((r = ndjson_reader_next(&reader, &line)) != NDJSON_E_AGAIN) {
            if (r == NDJSON_E_TOO_LONG) {
                assert_int_equal(bytes_append_format(log, "too long\n"), 0);
                continue;
            }
            r = receive(&rig, line);
            assert_int_equal(bytes_append_format(
                                 log, "%d %s %.*s %.*s\n", r, r == 0 ? "" : rig.diag.message,
                                 r == 0 ? (int)rig.request.id.n : 0, r == 0 ? rig.request.id.p : "",
                                 (int)rig.out.n, rig.out.n > 0 ? rig.out.data : ""),
                             0);
        }
        guard_free(&parts[i]);
    }
    ndjson_reader_deinit(&reader);
    rig_deinit(&rig);
}

static void where_a_stream_is_cut_makes_no_difference(void **state)
{
    static const Span input =
        SPAN_INIT("{\"id\":\"a\",\"kind\":\"user_message\",\"message\":\"x\"}\r\n"
                  "\n{\"id\":\"b\",\"kind\":\"get_status\"}\n"
                  "{\"id\":\"c\",\"kind\":\"user_message\",\"message\":\"far too long for it\"}\n"
                  "{\"id\":\"a\",\"kind\":\"get_status\"}\nnoise\n"
                  "{\"id\":\"e\\u0065\",\"kind\":\"\"}\n{\"id\":\"f\",,\n");
    Bytes whole;
    Bytes log;

    (void)state;
    bytes_init(&whole, 4096);
    bytes_init(&log, 4096);
    play_split(input, input.n, &whole);
    assert_non_null(strstr(whole.data, "too long"));
    for (size_t i = 0; i < input.n; i++) {
        play_split(input, i, &log);
        assert_int_equal(log.n, whole.n);
        assert_memory_equal(log.data, whole.data, log.n);
    }
    bytes_deinit(&whole);
    bytes_deinit(&log);
}

static int scenario(void *context)
{
    static const Span lines[] = {SPAN_INIT("{\"id\":\"a\",\"kind\":\"get_status\"}"),
                                 SPAN_INIT("{\"id\":\"a\",\"kind\":\"get_status\"}"),
                                 SPAN_INIT("{\"id\":\"b\",\"kind\":\"x\"}"), SPAN_INIT("{")};
    Rig rig;
    int r = 0;

    (void)context;
    rig_init(&rig, 8);
    for (size_t i = 0; r >= 0 && i < TW_ARRAY_SIZE(lines); i++) {
        r = receive(&rig, lines[i]);
        assert_in_range(r < 0 ? 0 : r, 0, AGENT_SERVER_E_REFUSED);
    }
    rig_deinit(&rig);
    return r < 0 ? r : 0;
}

static void every_failed_allocation_is_survived(void **state)
{
    (void)state;
    test_oom_sweep(scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_is_open_until_its_end),
        cmocka_unit_test(too_many_are_refused),
        cmocka_unit_test(a_full_buffer_is_told_and_nothing_is_open),
        cmocka_unit_test(where_a_stream_is_cut_makes_no_difference),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
