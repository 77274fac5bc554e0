/* `toolwire bridge` between an MCP client and a parent, both played by the test.
 *
 *     test_bridge TOOLWIRE
 */
#include "e2e/callsock_peer.h"
#include "e2e/peer.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"

static const char *program;

#define ANY_TOOL                                                                                   \
    "{\"name\":\"any\",\"description\":\"takes anything\",\"input_schema\":{\"type\":\"object\"}}"
#define ADD_TOOL                                                                                   \
    "{\"name\":\"add\",\"description\":\"adds\",\"input_schema\":{\"type\":\"object\","            \
    "\"properties\":{\"a\":{\"type\":\"number\"}},\"required\":[\"a\"]}}"
#define REQUEST(name, arguments)                                                                   \
    "{\"method\":\"call_tool\",\"params\":{\"name\":\"" name "\",\"arguments\":" arguments "}}"
#define SAYING(text) "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}}"

/* A bridge with a parent that listens, and nobody connected yet. */
typedef struct Fixture {
    Place place;
    int listening;
    int wire; /* the bridge's connection; -1: none */
    Peer peer;
} Fixture;

static void fixture_start(Fixture *f, const char *const *flags)
{
    const char *arguments[16] = {"bridge", f->place.socket, f->place.schema};

    for (size_t i = 0; flags != NULL && flags[i] != NULL; i++) {
        arguments[3 + i] = flags[i];
    }
    peer_open(&f->peer, program, arguments);
}

static void fixture_init_with(Fixture *f, const char *schema, const char *const *flags)
{
    *f = (Fixture){.wire = -1};
    place_init(&f->place);
    place_write(f->place.schema, schema, 0600);
    f->listening = parent_listen(&f->place);
    fixture_start(f, flags);
}

static void fixture_init(Fixture *f, const char *const *flags)
{
    fixture_init_with(f, "[" ANY_TOOL "," ADD_TOOL "]", flags);
}

static void fixture_deinit(Fixture *f)
{
    assert_int_equal(peer_finish(&f->peer), 0);
    if (f->wire >= 0) {
        wire_expect_end(f->wire);
    }
    if (f->listening >= 0) {
        assert_true(parent_is_untouched(f->listening));
        assert_int_equal(close(f->listening), 0);
    }
    place_deinit(&f->place);
}

/* The client calls; the bridge connects if it must, and asks. */
static void is_asked(Fixture *f)
{
    peer_send(&f->peer, CALL("1", "any", "{}"));
    if (f->wire < 0) {
        f->wire = parent_accept(f->listening);
    }
    frame_expect(f->wire, REQUEST("any", "{}"));
}

/* The result of call `id` is an error of the tool, whose text holds these words. */
static void expect_failure(Fixture *f, const char *id, const char *words)
{
    char *line = peer_line(&f->peer);
    char start[64];

    assert_non_null(line);
    (void)snprintf(start, sizeof(start), "{\"jsonrpc\":\"2.0\",\"id\":%s,", id);
    if (strncmp(line, start, strlen(start)) != 0 || strstr(line, words) == NULL ||
        strstr(line, "\"isError\":true") == NULL) {
        fail_msg("wanted: %s…%s\n   got: %.2000s", start, words, line);
    }
    free(line);
}

static void is_served(Fixture *f)
{
    is_asked(f);
    frame_write_str(f->wire, SAYING("served"));
    peer_expect(&f->peer, TEXT("1", "served"));
}

/* As the gateway does: what the parent says in so many words is passed on, and nothing else. */
static void what_a_parent_says_of_errors_is_passed_as_it_came(void **state)
{
    static const char *const said[] = {"", ",\"isError\":false", ",\"isError\":true"};
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    for (size_t i = 0; i < TW_ARRAY_SIZE(said); i++) {
        char answer[128];
        char wanted[192];

        (void)snprintf(answer, sizeof(answer), "{\"result\":{\"content\":[]%s}}", said[i]);
        (void)snprintf(wanted, sizeof(wanted),
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]%s}}", said[i]);
        is_asked(&f);
        frame_write_str(f.wire, answer);
        peer_expect(&f.peer, wanted);
    }
    fixture_deinit(&f);
}

/* ---- starting ---- */

static void wrong_use_is_explained(void **state)
{
    static const char *const none[] = {"bridge", NULL};
    static const char *const one[] = {"bridge", "/s", NULL};
    static const char *const three[] = {"bridge", "/s", "/j", "/x", NULL};
    static const char *const *const rows[] = {none, one, three};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        char *out;
        char *err;

        assert_int_equal(run_program(program, rows[i], &out, &err), 2);
        assert_string_equal(out, "");
        assert_non_null(strstr(err, "usage: toolwire bridge [OPTION...] SOCKET SCHEMA\n"));
        free(out);
        free(err);
    }
}

static void a_schema_file_that_cannot_be_used_is_explained(void **state)
{
    static const struct {
        const char *text; /* NULL: there is none */
        mode_t mode;
        const char *words;
    } rows[] = {
        {"[" ANY_TOOL "]", 0644, "chmod 600 "},
        {"[" ANY_TOOL "]", 0620, "chmod 600 "},
        {NULL, 0, "p.json"},
        {"[", 0600, "p.json:1:"},
        {"{}", 0600, "p.json:1:"},
        {"[{\"name\":\"x\"}]", 0600, "p.json:1: [0].input_schema"},
    };
    Place place;

    (void)state;
    place_init(&place);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        const char *arguments[] = {"bridge", place.socket, place.schema, NULL};
        char *out;
        char *err;

        (void)unlink(place.schema);
        if (rows[i].text != NULL) {
            place_write(place.schema, rows[i].text, rows[i].mode);
        }
        assert_int_equal(run_program(program, arguments, &out, &err), 1);
        assert_string_equal(out, "");
        if (strstr(err, rows[i].words) == NULL) {
            fail_msg("wanted: %s\n   got: %s", rows[i].words, err);
        }
        free(out);
        free(err);
    }
    place_deinit(&place);
}

static void tools_are_listed_without_touching_the_parent(void **state)
{
    char *line;
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    peer_send(&f.peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
    peer_expect(&f.peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"any\","
                         "\"description\":\"takes anything\",\"inputSchema\":{\"type\":\"object\"}}"
                         ",{\"name\":\"add\",\"description\":\"adds\",\"inputSchema\":{\"type\":"
                         "\"object\",\"properties\":{\"a\":{\"type\":\"number\"}},\"required\":"
                         "[\"a\"]}}]}}");
    peer_send(&f.peer, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{"
                       "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                       "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
    line = peer_line(&f.peer);
    assert_non_null(line);
    assert_non_null(strstr(line, "\"toolwire-bridge\""));
    assert_non_null(strstr(line, "\"any\""));
    free(line);
    /* Nor do arguments that the schema refuses reach it. */
    peer_send(&f.peer, CALL("3", "add", "{\"a\":\"x\"}"));
    expect_failure(&f, "3", "expected number, got string");
    assert_true(parent_is_untouched(f.listening));
    fixture_deinit(&f);
}

/* ---- calls ---- */

#define MANY                                                                                       \
    "{\"n\":9007199254740993,\"x\":1.0,\"e\":1E+2,\"u\":\"\\u00e9\",\"z\":{\"b\":1,\"a\":[ ]}}"

static void everything_passes_byte_for_byte(void **state)
{
    static const char result[] =
        "{\"content\":[{\"type\":\"image\",\"data\":\"AA==\",\"mimeType\":\"image/"
        "png\",\"x-y\":1.0}"
        ",{\"type\":\"text\",\"text\":\"\\u00e9\"}],\"structuredContent\":{\"n\":9007199254740993,"
        "\"x\":1.0},\"isError\":true,\"_meta\":{\"k\":1.50},\"x-extra\":{\"b\":[1.0,2]},\"more\":"
        "9007199254740993}";
    char response[sizeof(result) + 32];
    char *line;
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    f.peer.watch.ours = 0; /* it knows no members but those of the revision */
    peer_send(&f.peer, CALL("\"id-9007199254740993\"", "any", MANY));
    f.wire = parent_accept(f.listening);
    frame_expect(f.wire, REQUEST("any", MANY));
    (void)snprintf(response, sizeof(response), "{\"result\":%s}", result);
    frame_write_str(f.wire, response);
    line = peer_line(&f.peer);
    assert_non_null(line);
    assert_non_null(strstr(line, "\"id\":\"id-9007199254740993\""));
    assert_non_null(strstr(line, "{\"type\":\"image\",\"data\":\"AA==\",\"mimeType\":\"image/png\","
                                 "\"x-y\":1.0},{\"type\":\"text\",\"text\":\"\\u00e9\"}"));
    assert_non_null(strstr(line, "\"structuredContent\":{\"n\":9007199254740993,\"x\":1.0}"));
    assert_non_null(strstr(line, "\"isError\":true"));
    assert_non_null(strstr(line, "\"_meta\":{\"k\":1.50}"));
    assert_non_null(strstr(line, "\"x-extra\":{\"b\":[1.0,2]},\"more\":9007199254740993"));
    free(line);
    fixture_deinit(&f);
}

static void the_connection_is_kept_and_calls_queue_for_it(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    is_served(&f);
    is_served(&f);
    peer_send(&f.peer, CALL("1", "any", "{\"i\":1}"));
    peer_send(&f.peer, CALL("2", "any", "{\"i\":2}"));
    peer_send(&f.peer, CALL("3", "any", "{\"i\":3}"));
    /* The client is served meanwhile, and the answer shows that all three have been taken. */
    peer_send(&f.peer, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}");
    peer_expect(&f.peer, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}");
    frame_expect(f.wire, REQUEST("any", "{\"i\":1}"));
    assert_true(parent_is_untouched(f.wire)); /* the next one waits for the answer */
    frame_write_str(f.wire, SAYING("one"));
    peer_expect(&f.peer, TEXT("1", "one"));
    frame_expect(f.wire, REQUEST("any", "{\"i\":2}"));
    frame_write_str(f.wire, SAYING("two"));
    frame_expect(f.wire, REQUEST("any", "{\"i\":3}"));
    frame_write_str(f.wire, SAYING("three"));
    peer_expect(&f.peer, TEXT("2", "two"));
    peer_expect(&f.peer, TEXT("3", "three"));
    fixture_deinit(&f);
}

#define CANCEL(id)                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":" id "}}"

static void a_cancelled_call_is_dropped_or_its_answer_discarded(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    is_served(&f);
    peer_send(&f.peer, CALL("1", "any", "{\"i\":1}"));
    peer_send(&f.peer, CALL("2", "any", "{\"i\":2}"));
    peer_send(&f.peer, CALL("3", "any", "{\"i\":3}"));
    frame_expect(f.wire, REQUEST("any", "{\"i\":1}"));
    peer_send(&f.peer, CANCEL("2"));
    peer_send(&f.peer, CANCEL("1"));
    peer_send(&f.peer, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}");
    peer_expect(&f.peer, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}");
    frame_write_str(f.wire, SAYING("late"));
    frame_expect(f.wire, REQUEST("any", "{\"i\":3}"));
    frame_write_str(f.wire, SAYING("three"));
    peer_expect(&f.peer, TEXT("3", "three"));
    fixture_deinit(&f);
}

/* ---- the contract's errors ---- */

static void a_parent_that_is_not_there_is_said_and_found_later(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    assert_int_equal(close(f.listening), 0);
    f.listening = -1;
    peer_send(&f.peer, CALL("1", "any", "{}"));
    expect_failure(&f, "1", "cannot connect to the parent at "); /* refused */
    assert_int_equal(unlink(f.place.socket), 0);
    peer_send(&f.peer, CALL("1", "any", "{}"));
    expect_failure(&f, "1", "start the program that owns these tools"); /* no such file */
    f.listening = parent_listen(&f.place);
    is_served(&f);
    fixture_deinit(&f);
}

static void errors_of_the_parent_are_shown_with_their_type(void **state)
{
    char *line;
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    is_asked(&f);
    frame_write_str(f.wire, "{\"error\":{\"message\":\"no such row\",\"type\":\"KeyError\"}}");
    expect_failure(&f, "1", "no such row (type: KeyError)");
    is_asked(&f);
    frame_write_str(
        f.wire, "{\"error\":{\"message\":\"Unknown tool: any\",\"type\":\"ToolNotFoundError\"}}");
    line = peer_line(&f.peer);
    assert_non_null(line);
    assert_non_null(strstr(line, "Unknown tool: any"));
    assert_non_null(strstr(line, "-32602"));
    free(line);
    is_served(&f);
    fixture_deinit(&f);
}

/* What the parent says is wrong, and the bridge lives on. */
static void bad_answers_have_their_outcome_and_the_next_call_is_served(void **state)
{
    static const struct {
        const char *name;
        Span bytes;
        const char *words;
        bool is_closed; /* by the bridge */
        bool hangs_up;  /* the parent does */
    } rows[] = {
        {"invalid JSON", SPAN_INIT("\0\0\0\5hello"), "Invalid JSON", true, false},
        {"nothing", SPAN_INIT("\0\0\0\0"), "Invalid JSON", true, false},
        {"no object", SPAN_INIT("\0\0\0\2[]"), "expected an object", true, false},
        {"one byte over the limit", SPAN_INIT("\0\xa0\0\1"), "10485761 bytes", true, false},
        {"the largest length", SPAN_INIT("\xff\xff\xff\xff"), "4294967295 bytes", true, false},
        {"neither", SPAN_INIT("\0\0\0\2{}"), "missing both 'result' and 'error' fields", false,
         false},
        {"both", SPAN_INIT("\0\0\0\x18{\"result\":{},\"error\":{}}"),
         "both 'result' and 'error' fields", false, false},
        {"a frame that ends early", SPAN_INIT("\0\0\0\x10{\"res"), "may have been done", false,
         true},
        {"a header that ends early", SPAN_INIT("\0\0"), "may have been done", false, true},
        {"the end", SPAN_INIT(""), "may have been done", false, true},
    };
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        print_message("%s\n", rows[i].name);
        is_asked(&f);
        wire_write(f.wire, rows[i].bytes.p, rows[i].bytes.n);
        if (rows[i].hangs_up) {
            assert_int_equal(close(f.wire), 0);
            f.wire = -1;
        }
        expect_failure(&f, "1", rows[i].words);
        if (rows[i].is_closed) {
            wire_expect_end(f.wire);
            f.wire = -1;
        }
        is_served(&f);
    }
    fixture_deinit(&f);
}

static void empty_content_is_passed_on(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    is_asked(&f);
    frame_write_str(f.wire, "{\"result\":{\"content\":[]}}");
    peer_expect(&f.peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}");
    is_served(&f);
    fixture_deinit(&f);
}

static void a_lost_call_is_never_sent_again(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    peer_send(&f.peer, CALL("1", "any", "{\"i\":1}"));
    peer_send(&f.peer, CALL("2", "any", "{\"i\":2}"));
    f.wire = parent_accept(f.listening);
    frame_expect(f.wire, REQUEST("any", "{\"i\":1}"));
    assert_int_equal(close(f.wire), 0);
    expect_failure(&f, "1", "may have been done: check before calling again");
    /* The one that was not sent is, on a new connection. */
    f.wire = parent_accept(f.listening);
    frame_expect(f.wire, REQUEST("any", "{\"i\":2}"));
    frame_write_str(f.wire, SAYING("two"));
    peer_expect(&f.peer, TEXT("2", "two"));
    fixture_deinit(&f);
}

static void an_answer_too_many_reaches_nobody(void **state)
{
    static const char both[] = "\0\0\0\x35" SAYING("one") "\0\0\0\x37" SAYING("ghost");
    Fixture f;

    (void)state;
    assert_int_equal(strlen(SAYING("one")), 0x35);
    assert_int_equal(strlen(SAYING("ghost")), 0x37);
    fixture_init(&f, NULL);
    peer_send(&f.peer, CALL("1", "any", "{\"i\":1}"));
    peer_send(&f.peer, CALL("2", "any", "{\"i\":2}"));
    peer_send(&f.peer, CALL("3", "any", "{\"i\":3}"));
    peer_send(&f.peer, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}");
    peer_expect(&f.peer, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}");
    f.wire = parent_accept(f.listening);
    frame_expect(f.wire, REQUEST("any", "{\"i\":1}"));
    wire_write(f.wire, both, sizeof(both) - 1);
    peer_expect(&f.peer, TEXT("1", "one"));
    wire_expect_end(f.wire);
    f.wire = parent_accept(f.listening);
    frame_expect(f.wire, REQUEST("any", "{\"i\":2}"));
    frame_write_str(f.wire, SAYING("two"));
    peer_expect(&f.peer, TEXT("2", "two"));
    frame_expect(f.wire, REQUEST("any", "{\"i\":3}"));
    frame_write_str(f.wire, SAYING("three"));
    peer_expect(&f.peer, TEXT("3", "three"));
    fixture_deinit(&f);
}

/* It stops reading before it answers, so that no request can reach it in between. */
static void a_parent_may_close_after_each_answer_though_calls_wait(void **state)
{
    enum {
        N_CALLS = 20
    };
    char text[256];
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    for (int i = 0; i < N_CALLS; i++) {
        (void)snprintf(text, sizeof(text), CALL("%d", "any", "{\"i\":%d}"), i, i);
        peer_send(&f.peer, text);
    }
    peer_send(&f.peer, "{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"ping\"}");
    peer_expect(&f.peer, "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}");
    for (int i = 0; i < N_CALLS; i++) {
        f.wire = parent_accept(f.listening);
        (void)snprintf(text, sizeof(text), REQUEST("any", "{\"i\":%d}"), i);
        frame_expect(f.wire, text);
        assert_int_equal(shutdown(f.wire, SHUT_RD), 0);
        (void)snprintf(text, sizeof(text), SAYING("said %d"), i);
        frame_write_str(f.wire, text);
        assert_int_equal(close(f.wire), 0);
        (void)snprintf(text, sizeof(text), TEXT("%d", "said %d"), i, i);
        peer_expect(&f.peer, text);
    }
    f.wire = -1;
    fixture_deinit(&f);
}

static void a_parent_that_never_answers_ends_at_the_deadline(void **state)
{
    static const char *const flags[] = {"--call-timeout-ms", "50", NULL};
    Fixture f;

    (void)state;
    fixture_init(&f, flags);
    is_asked(&f);
    expect_failure(&f, "1", "50 ms");
    frame_write_str(f.wire, SAYING("too late"));
    /* The next calls have the same 50 ms, which a loaded machine may use up. */
    assert_int_equal(close(f.wire), 0);
    f.wire = -1;
    peer_send(&f.peer, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}");
    peer_expect(&f.peer, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}");
    fixture_deinit(&f);
}

/* ---- sizes ---- */

/* An MCP call of `any` whose request to the parent has n bytes; free() it. */
static char *call_of_size(size_t n)
{
    static const char head[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
        "\"name\":\"any\",\"arguments\":{\"s\":\"";
    static const char tail[] = "\"}}}";
    size_t n_text = n - (sizeof(REQUEST("any", "{\"s\":\"\"}")) - 1);
    char *line = malloc(sizeof(head) + n_text + sizeof(tail));

    assert_non_null(line);
    memcpy(line, head, sizeof(head) - 1);
    memset(line + sizeof(head) - 1, 'x', n_text);
    memcpy(line + sizeof(head) - 1 + n_text, tail, sizeof(tail));
    return line;
}

static void a_request_at_the_limit_passes_and_one_byte_more_is_not_sent(void **state)
{
    char *line = call_of_size(LIMIT_CALLSOCK_MESSAGE_BYTES + 1);
    char *got;
    size_t n;
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    f.peer.watch.ours = 0; /* it does not look into requests of more than 1 MiB */
    peer_send(&f.peer, line);
    expect_failure(&f, "1", "arguments are too large");
    assert_true(parent_is_untouched(f.listening));
    free(line);
    line = call_of_size(LIMIT_CALLSOCK_MESSAGE_BYTES);
    peer_send(&f.peer, line);
    free(line);
    f.wire = parent_accept(f.listening);
    got = frame_read(f.wire, &n);
    assert_int_equal(n, LIMIT_CALLSOCK_MESSAGE_BYTES);
    free(got);
    frame_write_str(f.wire, SAYING("large"));
    peer_expect(&f.peer, TEXT("1", "large"));
    fixture_deinit(&f);
}

/* The answer to a call whose result fills a frame of the call socket; free() it. */
static char *answer_to_full_frame(Fixture *f)
{
    static const char head[] = "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"";
    static const char tail[] = "\"}]}}";
    char *response = malloc(LIMIT_CALLSOCK_MESSAGE_BYTES);
    char *line;

    assert_non_null(response);
    memset(response, 'y', LIMIT_CALLSOCK_MESSAGE_BYTES);
    memcpy(response, head, sizeof(head) - 1);
    memcpy(response + LIMIT_CALLSOCK_MESSAGE_BYTES - (sizeof(tail) - 1), tail, sizeof(tail) - 1);
    is_asked(f);
    frame_write(f->wire, response, LIMIT_CALLSOCK_MESSAGE_BYTES);
    line = peer_line(&f->peer);
    assert_non_null(line);
    free(response);
    return line;
}

static void a_response_at_the_limit_arrives_where_lines_may_be_as_long(void **state)
{
    static const char *const flags[] = {"--max-line-bytes", "11MiB", NULL};
    char *line;
    Fixture f;

    (void)state;
    fixture_init(&f, flags);
    line = answer_to_full_frame(&f);
    assert_true(strlen(line) > LIMIT_CALLSOCK_MESSAGE_BYTES);
    assert_null(strstr(line, "isError"));
    free(line);
    is_served(&f);
    fixture_deinit(&f);
}

/* Clients are known that close the session at 10 MiB. */
static void a_response_that_no_line_holds_is_refused_by_name(void **state)
{
    char *line;
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    line = answer_to_full_frame(&f);
    assert_non_null(strstr(line, "\"isError\":true"));
    assert_non_null(strstr(line, "a line to this client may have 10420224 bytes (max_line_bytes, "
                                 "--max-line-bytes)"));
    free(line);
    is_served(&f);
    fixture_deinit(&f);
}

/* ---- a schema file that changes ---- */

static void a_changed_schema_file_is_announced(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    is_served(&f);
    place_write(f.place.schema, "[" ADD_TOOL "]", 0600);
    peer_expect(&f.peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    peer_send(&f.peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
    peer_expect(&f.peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"add\","
                         "\"description\":\"adds\",\"inputSchema\":{\"type\":\"object\","
                         "\"properties\":{\"a\":{\"type\":\"number\"}},\"required\":[\"a\"]}}]}}");
    peer_send(&f.peer, CALL("2", "add", "{\"a\":1}"));
    frame_expect(f.wire, REQUEST("add", "{\"a\":1}"));
    frame_write_str(f.wire, SAYING("1"));
    peer_expect(&f.peer, TEXT("2", "1"));
    fixture_deinit(&f);
}

/* A client that was told of no tools would not ask again. */
static void tools_may_come_later(void **state)
{
    Fixture f;

    (void)state;
    fixture_init_with(&f, "[]", NULL);
    peer_send(&f.peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
    peer_expect(&f.peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[]}}");
    place_write(f.place.schema, "[" ANY_TOOL "]", 0600);
    peer_expect(&f.peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    is_served(&f);
    fixture_deinit(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_use_is_explained),
        cmocka_unit_test(what_a_parent_says_of_errors_is_passed_as_it_came),
        cmocka_unit_test(a_schema_file_that_cannot_be_used_is_explained),
        cmocka_unit_test(tools_are_listed_without_touching_the_parent),
        cmocka_unit_test(everything_passes_byte_for_byte),
        cmocka_unit_test(the_connection_is_kept_and_calls_queue_for_it),
        cmocka_unit_test(a_cancelled_call_is_dropped_or_its_answer_discarded),
        cmocka_unit_test(a_parent_that_is_not_there_is_said_and_found_later),
        cmocka_unit_test(errors_of_the_parent_are_shown_with_their_type),
        cmocka_unit_test(bad_answers_have_their_outcome_and_the_next_call_is_served),
        cmocka_unit_test(empty_content_is_passed_on),
        cmocka_unit_test(a_lost_call_is_never_sent_again),
        cmocka_unit_test(an_answer_too_many_reaches_nobody),
        cmocka_unit_test(a_parent_may_close_after_each_answer_though_calls_wait),
        cmocka_unit_test(a_parent_that_never_answers_ends_at_the_deadline),
        cmocka_unit_test(a_request_at_the_limit_passes_and_one_byte_more_is_not_sent),
        cmocka_unit_test(a_response_at_the_limit_arrives_where_lines_may_be_as_long),
        cmocka_unit_test(a_response_that_no_line_holds_is_refused_by_name),
        cmocka_unit_test(a_changed_schema_file_is_announced),
        cmocka_unit_test(tools_may_come_later),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: test_bridge TOOLWIRE\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
