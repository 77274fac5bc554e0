#include "dialect/pipe/hub.h"

#include <errno.h>
#include <stdlib.h>

#include "base/limits.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "unit/dialect/pipe/pipe_testing.h"

#define CALL(n, name, args)                                                                        \
    TEST_HEAD(n, "tool_call", "000") "{\"tool_name\":\"" name "\",\"args\":" args "}}\n"
#define RESULT(n, rest)                                                                            \
    SPAN("{\"type\":\"tool_result\",\"payload\":{\"call_id\":\"" TEST_ID(n) "\"," rest "}}")

typedef struct Owner Owner;

typedef struct Asked {
    Call call; /* first */
    Owner *owner;
    size_t n_ends;
    bool is_error;
    CallResultKind kind;
    CallError error;
    char structured[512]; /* of a resource the contents, of an error its message */
    char meta[128];
    bool drops;             /* does not look at what comes */
    struct Asked *leads_to; /* submitted when this one ends */
    size_t n_leads;         /* so often, besides */
    struct Asked *cancels;  /* cancelled when this one ends */
} Asked;

struct Owner {
    TestPipe pipe;
    PipeHub *hub;
    size_t n_listed;
    char listed[256]; /* "none" if the add-in knows no such tool */
    char told[256];
    JsonDoc doc;
    Arena arena;
};

static void owner_submit(Owner *owner, Asked *asked)
{
    pipe_hub_submit(owner->hub, &asked->call, SPAN("t"), owner->pipe.now_ms);
}

static void put(char *out, size_t size, Span text)
{
    assert_true(text.n < size);
    memcpy(out, text.p, text.n);
    out[text.n] = '\0';
}

static void asked_finish(Call *call, const CallResult *result)
{
    Asked *asked = (Asked *)call;

    asked->n_ends++;
    assert_null(call->provider_data);
    asked->is_error = result->is_error || result->kind == CALL_RESULT_ERROR;
    asked->kind = result->kind;
    asked->error = result->error;
    if (asked->drops) {
        return;
    }
    if (result->kind == CALL_RESULT_TOOL) {
        put(asked->structured, sizeof(asked->structured), result->structured);
        put(asked->meta, sizeof(asked->meta), result->meta.n > 0 ? result->meta : SPAN(""));
    } else if (result->kind == CALL_RESULT_RESOURCE) {
        put(asked->structured, sizeof(asked->structured),
            result->n_pieces > 0 ? result->pieces[0] : SPAN(""));
        put(asked->meta, sizeof(asked->meta), result->meta);
    } else {
        put(asked->structured, sizeof(asked->structured), result->message);
    }
    for (size_t i = 0; asked->leads_to != NULL && i < 1 + asked->n_leads; i++) {
        owner_submit(asked->owner, asked->leads_to);
    }
    if (asked->cancels != NULL) {
        pipe_hub_cancel(asked->owner->hub, &asked->cancels->call, asked->owner->pipe.now_ms);
    }
    /* Whatever was done meanwhile, the result is still there. */
    if (result->kind == CALL_RESULT_TOOL) {
        assert_span(result->structured, asked->structured);
    }
}

static const CallDoor door = {.finish = asked_finish};

static void asked_init(Asked *asked, Owner *owner)
{
    *asked = (Asked){.owner = owner};
    call_init(&asked->call);
    asked->call.door = &door;
}

static void asked_arguments(Asked *asked, const char *json)
{
    arena_reset(&asked->owner->arena, 0);
    assert_int_equal(
        json_parse(&asked->owner->doc, &asked->owner->arena, json, strlen(json), NULL, NULL), 0);
    asked->call.arguments = json_root(&asked->owner->doc);
}

static void owner_listed(void *context, JsonValue data)
{
    Owner *owner = context;

    owner->n_listed++;
    put(owner->listed, sizeof(owner->listed), data.node != NULL ? json_span(data) : SPAN("none"));
}

static void owner_told(void *context, Span code, Span message)
{
    Owner *owner = context;

    (void)snprintf(owner->told, sizeof(owner->told), "%.*s: %.*s", (int)code.n, code.p,
                   (int)message.n, message.p);
}

static void owner_open(Owner *owner, uint32_t max_bytes)
{
    PipeHubConfig config = {.seed = {1, 2},
                            .max_bytes = max_bytes,
                            .listed = owner_listed,
                            .told = owner_told,
                            .context = owner};

    *owner = (Owner){.hub = NULL};
    test_pipe_init(&owner->pipe);
    arena_init(&owner->arena, SIZE_MAX);
    config.sink = &owner->pipe.sink;
    config.source = &owner->pipe.source;
    assert_int_equal(pipe_hub_new(&owner->hub, &config, 0), 0);
}

static void owner_close(Owner *owner)
{
    owner->hub = pipe_hub_free(owner->hub);
    arena_deinit(&owner->arena);
    test_pipe_deinit(&owner->pipe);
}

static void owner_receive(Owner *owner, Span message)
{
    assert_int_equal(pipe_hub_receive(owner->hub, message, owner->pipe.now_ms), 0);
}

static void answers_find_their_calls_in_any_order(void **state)
{
    Owner owner;
    Asked asked[3];

    (void)state;
    owner_open(&owner, 0);
    for (int i = 0; i < 3; i++) {
        asked_init(&asked[i], &owner);
        asked_arguments(&asked[i], "{\"a\":1.0}");
        owner_submit(&owner, &asked[i]);
        assert_true(asked[i].call.took_arguments);
    }
    assert_int_equal(pipe_hub_pending(owner.hub), 3);
    assert_sent(&owner.pipe, CALL("01", "t", "{\"a\":1.0}") CALL("02", "t", "{\"a\":1.0}")
                                 CALL("03", "t", "{\"a\":1.0}"));
    owner.pipe.now_ms = 20;
    owner_receive(&owner, RESULT("02", "\"success\":true,\"data\":{\"n\":2},\"duration_ms\":7"));
    assert_int_equal(asked[1].n_ends, 1);
    assert_string_equal(asked[1].structured, "{\"n\":2}");
    assert_string_equal(asked[1].meta, "{\"duration_ms\":7,\"waited_ms\":20}");
    owner_receive(&owner, RESULT("03", "\"success\":false,\"error\":{\"code\":\"A\"}"));
    assert_true(asked[2].is_error);
    owner_receive(&owner, RESULT("01", "\"success\":true"));
    assert_int_equal(asked[0].n_ends, 1);
    assert_int_equal(pipe_hub_pending(owner.hub), 0);
    assert_int_equal(pipe_hub_counts(owner.hub).late, 0);
    owner_close(&owner);
}

static void results_that_nobody_waits_for_are_counted(void **state)
{
    Owner owner;
    Asked asked;

    (void)state;
    owner_open(&owner, 0);
    asked_init(&asked, &owner);
    owner_submit(&owner, &asked);
    owner_receive(&owner, RESULT("99", "\"success\":true"));
    assert_int_equal(asked.n_ends, 0);
    owner_receive(&owner, RESULT("01", "\"success\":true"));
    owner_receive(&owner, RESULT("01", "\"success\":true"));
    owner_receive(&owner, SPAN("{\"type\":\"error\",\"payload\":{\"call_id\":\"x\"}}"));
    assert_int_equal(asked.n_ends, 1);
    assert_int_equal(pipe_hub_counts(owner.hub).late, 3);
    /* One that was taken back. */
    asked.n_ends = 0;
    owner_submit(&owner, &asked);
    pipe_hub_cancel(owner.hub, &asked.call, 0);
    assert_int_equal(pipe_hub_pending(owner.hub), 0);
    owner_receive(&owner, RESULT("02", "\"success\":true"));
    assert_int_equal(asked.n_ends, 0);
    assert_int_equal(pipe_hub_counts(owner.hub).late, 4);
    /* One that is not out is not found. */
    pipe_hub_cancel(owner.hub, &asked.call, 0);
    owner_close(&owner);
}

static void an_error_message_ends_its_call(void **state)
{
    Owner owner;
    Asked asked;

    (void)state;
    owner_open(&owner, 0);
    asked_init(&asked, &owner);
    owner_submit(&owner, &asked);
    owner_receive(&owner, SPAN("{\"type\":\"error\",\"payload\":{\"code\":\"C\",\"message\":\"m\","
                               "\"call_id\":\"" TEST_ID("01") "\"}}"));
    assert_true(asked.is_error);
    assert_string_equal(asked.structured, "{\"error\":{\"code\":\"C\",\"message\":\"m\"}}");
    /* Another is only told. */
    owner_receive(&owner,
                  SPAN("{\"type\":\"error\",\"payload\":{\"code\":\"C\",\"message\":\"m\"}}"));
    assert_string_equal(owner.told, "C: m");
    assert_int_equal(pipe_hub_counts(owner.hub).errors, 1);
    owner_close(&owner);
}

static void a_result_that_cannot_be_read_ends_its_call(void **state)
{
    Owner owner;
    Asked asked;

    (void)state;
    owner_open(&owner, 0);
    asked_init(&asked, &owner);
    owner_submit(&owner, &asked);
    test_pipe_clear(&owner.pipe);
    owner_receive(&owner, RESULT("01", "\"success\":7"));
    assert_sent(
        &owner.pipe,
        TEST_HEAD("01", "error",
                  "000") "{\"code\":\"PIPE_PROTOCOL_ERROR\",\"message\":\"payload.success: "
                         "expected boolean, got number\",\"call_id\":\"" TEST_ID("01") "\"}}\n");
    assert_string_equal(asked.structured,
                        "{\"error\":{\"code\":\"PIPE_PROTOCOL_ERROR\",\"message\":\"the add-in's "
                        "answer is wrong: payload.success: expected boolean, got number\"}}");
    assert_true(asked.call.may_have_run);
    assert_int_equal(pipe_hub_counts(owner.hub).bad, 1);
    owner_close(&owner);
}

static void an_add_in_tells_what_it_offers(void **state)
{
    Owner owner;

    (void)state;
    owner_open(&owner, 0);
    assert_int_equal(pipe_hub_list(owner.hub, 0), 0);
    assert_sent(&owner.pipe, CALL("01", "toolwire.list_tools",
                                  "{\"understands\":[\"tool_progress\",\"tools_changed\"]}"));
    assert_int_equal(pipe_hub_pending(owner.hub), 0);
    owner_receive(&owner, RESULT("01", "\"success\":true,\"data\":{\"tools\":[]}"));
    assert_string_equal(owner.listed, "{\"tools\":[]}");
    /* Real ones know no such tool, and say so in this way or that. */
    assert_int_equal(pipe_hub_list(owner.hub, 0), 0);
    owner_receive(&owner, RESULT("01", "\"success\":false,\"data\":{\"x\":1},\"error\":{\"code\":"
                                       "\"TOOL_NOT_FOUND\"}"));
    assert_string_equal(owner.listed, "none");
    assert_int_equal(owner.n_listed, 2);
    assert_int_equal(pipe_hub_list(owner.hub, 0), 0);
    owner_receive(&owner, SPAN("{\"type\":\"error\",\"payload\":{\"code\":\"TOOL_NOT_FOUND\","
                               "\"call_id\":\"" TEST_ID("02") "\"}}"));
    assert_int_equal(owner.n_listed, 3);
    assert_int_equal(pipe_hub_list(owner.hub, 0), 0);
    owner_receive(&owner, RESULT("03", "\"data\":1"));
    assert_int_equal(owner.n_listed, 4);
    /* Of one that has gone nothing is told. */
    assert_int_equal(pipe_hub_list(owner.hub, 0), 0);
    pipe_hub_lost(owner.hub, SPAN_NULL);
    assert_int_equal(owner.n_listed, 4);
    assert_int_equal(pipe_hub_list(owner.hub, 0), -ENOTCONN);
    owner_close(&owner);
}

static void everything_fails_at_once_when_the_add_in_has_gone(void **state)
{
    Owner owner;
    Asked asked[3];

    (void)state;
    owner_open(&owner, 0);
    for (int i = 0; i < 3; i++) {
        asked_init(&asked[i], &owner);
    }
    asked[0].leads_to = &asked[2];
    owner_submit(&owner, &asked[0]);
    owner_submit(&owner, &asked[1]);
    pipe_hub_lost(owner.hub, SPAN("no pong"));
    assert_string_equal(asked[1].structured,
                        "{\"error\":{\"code\":\"PIPE_DISCONNECTED\",\"message\":\"Lost connection "
                        "to the add-in (no pong); the call may have been done: check before "
                        "calling again\"}}");
    /* What follows finds nobody. */
    assert_int_equal(asked[2].n_ends, 1);
    assert_non_null(strstr(asked[2].structured, "ADAPTER_NOT_AVAILABLE"));
    assert_int_equal(pipe_hub_pending(owner.hub), 0);
    assert_int_equal(owner.pipe.n_sent, 2);
    owner_close(&owner);
    assert_int_equal(asked[0].n_ends, 1);
}

static void what_is_out_fails_when_the_hub_is_freed(void **state)
{
    Owner owner;
    Asked asked;

    (void)state;
    owner_open(&owner, 0);
    asked_init(&asked, &owner);
    owner_submit(&owner, &asked);
    owner_close(&owner);
    assert_int_equal(asked.n_ends, 1);
    assert_non_null(strstr(asked.structured, "Lost connection to the add-in; "));
    assert_null(pipe_hub_free(NULL));
}

static void the_end_of_a_call_may_submit_and_cancel_others(void **state)
{
    Owner owner;
    Asked asked[4];

    (void)state;
    owner_open(&owner, 0);
    for (int i = 0; i < 4; i++) {
        asked_init(&asked[i], &owner);
    }
    asked[0].leads_to = &asked[2];
    asked[0].cancels = &asked[1];
    owner_submit(&owner, &asked[0]);
    owner_submit(&owner, &asked[1]);
    owner_receive(&owner, RESULT("01", "\"success\":true"));
    assert_int_equal(pipe_hub_pending(owner.hub), 1);
    assert_int_equal(asked[1].n_ends, 0);
    owner_receive(&owner, RESULT("03", "\"success\":true"));
    assert_int_equal(asked[2].n_ends, 1);
    /* A loss whose first end cancels the second. */
    asked[0].leads_to = NULL;
    owner_submit(&owner, &asked[0]);
    owner_submit(&owner, &asked[1]);
    pipe_hub_lost(owner.hub, SPAN_NULL);
    assert_int_equal(asked[0].n_ends, 2);
    assert_int_equal(asked[1].n_ends, 0);
    owner_close(&owner);
}

/* The end of a call whose result still lies in the arena leads to a failure that is built there,
 * too. */
static void a_failure_inside_of_an_end_spoils_nothing(void **state)
{
    Owner owner;
    Asked asked[2];
    char *large = calloc(1, 600);

    (void)state;
    owner_open(&owner, 500);
    asked_init(&asked[0], &owner);
    asked_init(&asked[1], &owner);
    asked[0].leads_to = &asked[1];
    asked[0].n_leads = 1;
    memset(large, 'x', 599);
    memcpy(large, "{\"a\":\"", 6);
    memcpy(large + 597, "\"}", 2);
    asked_arguments(&asked[1], large);
    owner_submit(&owner, &asked[0]);
    owner_receive(&owner, RESULT("01", "\"success\":true,\"data\":[1]"));
    assert_string_equal(asked[0].structured, "{\"result\":[1]}");
    assert_string_equal(asked[1].structured,
                        "{\"error\":{\"code\":\"PIPE_MESSAGE_TOO_LARGE\",\"message\":\"the "
                        "arguments are too large: a message to the add-in may have 500 bytes; pass "
                        "less at once\"}}");
    owner_close(&owner);
    free(large);
}

/* Submits a call whose message has exactly n bytes. */
static void submit_sized(Owner *owner, Asked *asked, size_t n)
{
    size_t n_args = n - (sizeof(CALL("01", "t", "")) - 2);
    char *args = calloc(1, n_args + 1);

    memset(args, 'x', n_args);
    memcpy(args, "{\"a\":\"", 6);
    memcpy(args + n_args - 2, "\"}", 2);
    asked_arguments(asked, args);
    owner_submit(owner, asked);
    free(args);
}

static void the_limit_s_equality_passes(void **state)
{
    Owner owner;
    Asked asked;

    (void)state;
    for (int lends = 0; lends < 2; lends++) {
        owner_open(&owner, 0);
        if (lends == 1) {
            test_pipe_lend(&owner.pipe);
        }
        asked_init(&asked, &owner);
        submit_sized(&owner, &asked, 20000000);
        /* Seen before it is written. */
        assert_int_equal(asked.n_ends, 1);
        assert_int_equal(owner.pipe.sent.cap, 0);
        asked.n_ends = 0;
        submit_sized(&owner, &asked, 16777217);
        assert_int_equal(asked.n_ends, 1);
        assert_non_null(strstr(asked.structured, "PIPE_MESSAGE_TOO_LARGE"));
        assert_int_equal(owner.pipe.n_sent, 0);
        assert_int_equal(pipe_hub_pending(owner.hub), 0);
        assert_false(asked.call.took_arguments);
        submit_sized(&owner, &asked, 16777216);
        assert_int_equal(owner.pipe.sent.n, 16777217);
        assert_int_equal(owner.pipe.n_lent, lends);
        assert_int_equal(pipe_hub_pending(owner.hub), 1);
        owner_close(&owner);
    }
}

/* A complaint that did not fit into a message would look like an add-in that does not read. */
static void what_an_add_in_says_at_length_is_not_echoed(void **state)
{
    static const struct {
        const char *before;
        const char *after;
        const char *answer;
    } rows[] = {
        {"{\"id\":\"", "\",\"type\":\"chat\"}",
         "{\"code\":\"PIPE_PROTOCOL_ERROR\",\"message\":\"type: unknown 'chat'\"}}\n"},
        {"{\"type\":\"tool_result\",\"payload\":{\"success\":7,\"call_id\":\"", "\"}}",
         "{\"code\":\"PIPE_PROTOCOL_ERROR\",\"message\":\"payload.success: "},
        {"{\"type\":\"tool_call\",\"payload\":{\"tool_name\":\"t\"},\"id\":\"", "\"}",
         "{\"code\":\"TOOL_NOT_FOUND\",\"message\":\"No handler registered for tool 't'\"}}\n"},
        {"{\"type\":\"tool_call\",\"id\":\"7\",\"payload\":{\"tool_name\":\"", "\"}}",
         "{\"code\":\"TOOL_NOT_FOUND\",\"message\":\"No handler registered for tool 'xxx"},
    };
    size_t n = LIMIT_PIPE_MESSAGE_BYTES - 100;
    char *filler = malloc(n);

    (void)state;
    memset(filler, 'x', n);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        Owner owner;
        Bytes message;

        owner_open(&owner, 0);
        bytes_init(&message, SIZE_MAX);
        assert_int_equal(bytes_append_span(&message, span_from_str(rows[i].before)), 0);
        assert_int_equal(bytes_append(&message, filler, n), 0);
        assert_int_equal(bytes_append_span(&message, span_from_str(rows[i].after)), 0);
        assert_int_equal(pipe_hub_receive(owner.hub, bytes_span(&message), 0), 0);
        assert_int_equal(owner.pipe.n_sent, 1);
        assert_in_range(owner.pipe.sent.n, 1, 500);
        assert_true(test_pipe_said(&owner.pipe, rows[i].answer));
        bytes_deinit(&message);
        owner_close(&owner);
    }
    free(filler);
}

static void an_add_in_that_does_not_read_gets_no_more(void **state)
{
    Owner owner;
    Asked asked;

    (void)state;
    owner_open(&owner, 0);
    asked_init(&asked, &owner);
    owner.pipe.begin_fails = 1;
    owner_submit(&owner, &asked);
    assert_non_null(strstr(asked.structured, "ADAPTER_NOT_AVAILABLE"));
    owner.pipe.begin_fails = 0;
    owner.pipe.commit_fails = 1;
    owner_submit(&owner, &asked);
    assert_int_equal(asked.n_ends, 2);
    assert_non_null(strstr(asked.structured, "ADAPTER_NOT_AVAILABLE"));
    assert_int_equal(pipe_hub_error(owner.hub), 0);
    assert_int_equal(pipe_hub_list(owner.hub, 0), -ENOBUFS);
    /* Its pings cannot be answered: that is the end. */
    assert_int_equal(pipe_hub_receive(owner.hub, SPAN("{\"type\":\"ping\"}"), 0), -ENOBUFS);
    owner_close(&owner);
}

static void a_ping_without_room_is_as_good_as_one_without_answer(void **state)
{
    Owner owner;

    (void)state;
    owner_open(&owner, 0);
    owner.pipe.commit_fails = 1;
    assert_true(pipe_hub_advance(owner.hub, 30000));
    assert_int_equal(pipe_hub_error(owner.hub), 0);
    assert_false(pipe_hub_advance(owner.hub, 40000));
    owner_close(&owner);
}

static void a_failure_to_send_ends_the_connection(void **state)
{
    Owner owner;
    Asked asked;

    (void)state;
    owner_open(&owner, 0);
    asked_init(&asked, &owner);
    owner.pipe.commit_fails = -EPIPE;
    owner_submit(&owner, &asked);
    assert_non_null(strstr(asked.structured, "PIPE_DISCONNECTED"));
    assert_int_equal(pipe_hub_error(owner.hub), -EPIPE);
    /* Nothing more is tried, or read. */
    owner.pipe.commit_fails = 0;
    owner_submit(&owner, &asked);
    assert_int_equal(owner.pipe.n_sent, 0);
    owner_receive(&owner, SPAN("{\"type\":\"ping\"}"));
    assert_int_equal(owner.pipe.n_sent, 0);
    assert_int_equal(pipe_hub_deadline(owner.hub), INT64_MAX);
    assert_true(pipe_hub_advance(owner.hub, 1000000));
    owner_close(&owner);
    /* A ping that cannot be sent, likewise. */
    owner_open(&owner, 0);
    owner.pipe.begin_fails = -EIO;
    assert_true(pipe_hub_advance(owner.hub, 30000));
    assert_int_equal(pipe_hub_error(owner.hub), -EIO);
    owner_close(&owner);
}

static void messages_that_are_none_end_the_connection(void **state)
{
    static const char *const rows[] = {"", "7", "{\"type\":1}", "{\"type\":\"\xff\"}"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        Owner owner;
        Asked asked;

        owner_open(&owner, 0);
        asked_init(&asked, &owner);
        assert_int_equal(pipe_hub_receive(owner.hub, span_from_str(rows[i]), 0), PIPE_E_PROTOCOL);
        assert_int_equal(owner.pipe.n_sent, 1);
        assert_true(test_pipe_said(&owner.pipe, "PIPE_PROTOCOL_ERROR"));
        owner_submit(&owner, &asked);
        assert_non_null(strstr(asked.structured, "ADAPTER_NOT_AVAILABLE"));
        owner_close(&owner);
    }
}

static void a_frame_over_the_limit_is_refused_with_words(void **state)
{
    Owner owner;

    (void)state;
    owner_open(&owner, 0);
    assert_int_equal(pipe_hub_refuse_size(owner.hub, UINT32_MAX), 0);
    assert_sent(&owner.pipe,
                TEST_HEAD("01", "error",
                          "000") "{\"code\":\"PIPE_MESSAGE_TOO_LARGE\",\"message\":\"Message "
                                 "exceeds max size: 4294967295 bytes declared, at most "
                                 "16777216\"}}\n");
    owner_close(&owner);
}

static void a_pong_leaves_at_once(void **state)
{
    Owner owner;

    (void)state;
    owner_open(&owner, 0);
    test_pipe_lend(&owner.pipe);
    owner_receive(&owner, SPAN("{\"type\":\"ping\"}"));
    assert_int_equal(owner.pipe.n_flushed, 1);
    assert_sent(&owner.pipe, TEST_HEAD("01", "pong", "000") "{}}\n");
    owner_close(&owner);
}

/* More than are kept for the next. */
static void any_number_may_be_out(void **state)
{
    enum {
        N = LIMIT_PIPE_CALLS + 50
    };
    static Asked asked[N];
    Owner owner;

    (void)state;
    owner_open(&owner, 0);
    for (int i = 0; i < N; i++) {
        asked_init(&asked[i], &owner);
        owner_submit(&owner, &asked[i]);
    }
    assert_int_equal(pipe_hub_pending(owner.hub), N);
    for (int i = 0; i < N; i++) {
        char text[160];

        (void)snprintf(text, sizeof(text),
                       "{\"type\":\"tool_result\",\"payload\":{\"call_id\":"
                       "\"00000000-0000-4000-8000-%012d\",\"success\":true}}",
                       i + 1);
        owner_receive(&owner, span_from_str(text));
        assert_int_equal(asked[i].n_ends, 1);
    }
    owner_close(&owner);
}

static void asked_init_read(Asked *asked, Owner *owner, const char *uri)
{
    asked_init(asked, owner);
    asked->call.verb = CALL_READ;
    asked->call.target = span_from_str(uri);
}

#define READ(n, uri)                                                                               \
    TEST_HEAD(n, "tool_call", "000")                                                               \
    "{\"tool_name\":\"toolwire.read_resource\",\"args\":{\"uri\":\"" uri "\"}}}\n"

static void a_resource_is_read_by_a_tool(void **state)
{
    Owner owner;
    Asked asked;

    (void)state;
    owner_open(&owner, 0);
    asked_init_read(&asked, &owner, "plan://svg");
    asked_arguments(&asked, "{\"not\":\"sent\"}");
    owner_submit(&owner, &asked);
    assert_sent(&owner.pipe, READ("01", "plan://svg"));
    assert_int_equal(pipe_hub_pending(owner.hub), 1);
    assert_true(asked.call.took_arguments);
    owner.pipe.now_ms = 20;
    owner_receive(&owner, RESULT("01", "\"success\":true,\"data\":{\"contents\":[{\"uri\":"
                                       "\"plan://svg\",\"text\":\"<svg/>\"}]},\"duration_ms\":7"));
    assert_int_equal(asked.n_ends, 1);
    assert_int_equal(asked.kind, CALL_RESULT_RESOURCE);
    assert_string_equal(asked.structured, "{\"uri\":\"plan://svg\",\"text\":\"<svg/>\"}");
    assert_string_equal(asked.meta, "{\"duration_ms\":7,\"waited_ms\":20}");
    assert_int_equal(pipe_hub_pending(owner.hub), 0);
    owner_close(&owner);
}

static void assert_read_fails(const Asked *asked, CallError error, const char *words)
{
    assert_int_equal(asked->n_ends, 1);
    assert_int_equal(asked->kind, CALL_RESULT_ERROR);
    assert_string_equal(asked->structured, words);
    assert_int_equal(asked->error, error);
}

static void a_resource_that_cannot_be_had_is_an_error(void **state)
{
    Owner owner;
    Asked asked;

    (void)state;
    owner_open(&owner, 0);
    asked_init_read(&asked, &owner, "a:b");
    owner_submit(&owner, &asked);
    owner_receive(&owner, RESULT("01", "\"success\":false,\"error\":{\"code\":"
                                       "\"RESOURCE_NOT_FOUND\",\"message\":\"no a:b\"}"));
    assert_read_fails(&asked, CALL_ERROR_UNKNOWN_RESOURCE, "RESOURCE_NOT_FOUND: no a:b");
    asked_init_read(&asked, &owner, "a:b");
    owner_submit(&owner, &asked);
    owner_receive(&owner, SPAN("{\"type\":\"error\",\"payload\":{\"code\":\"TOOL_NOT_FOUND\","
                               "\"message\":\"m\",\"call_id\":\"" TEST_ID("02") "\"}}"));
    assert_read_fails(&asked, CALL_ERROR_UNKNOWN_RESOURCE, "TOOL_NOT_FOUND: m");
    asked_init_read(&asked, &owner, "a:b");
    owner_submit(&owner, &asked);
    owner_receive(&owner, RESULT("03", "\"success\":true,\"data\":{\"n\":1}"));
    assert_read_fails(&asked, CALL_ERROR_BAD_RESULT,
                      "PIPE_PROTOCOL_ERROR: the add-in's answer is no resource: data.contents: "
                      "expected array, got nothing");
    asked_init_read(&asked, &owner, "a:b");
    owner_submit(&owner, &asked);
    owner_receive(&owner, RESULT("04", "\"success\":7"));
    assert_read_fails(&asked, CALL_ERROR_BAD_RESULT,
                      "PIPE_PROTOCOL_ERROR: the add-in's answer is wrong: payload.success: "
                      "expected boolean, got number");
    owner_close(&owner);
}

static void our_own_failures_to_read_are_errors(void **state)
{
    Owner owner;
    Asked asked;

    (void)state;
    owner_open(&owner, 300);
    {
        char uri[302];

        memset(uri, 'u', sizeof(uri));
        uri[300] = '\0'; /* with what is around it too long */
        asked_init_read(&asked, &owner, uri);
        owner_submit(&owner, &asked);
        assert_read_fails(&asked, CALL_ERROR_TOO_LARGE,
                          "PIPE_MESSAGE_TOO_LARGE: the URI is too large: a message to the add-in "
                          "may have 300 bytes; pass less at once");
        uri[300] = 'u'; /* seen before it is written */
        uri[301] = '\0';
        assert_int_equal(owner.pipe.n_ids, 1);
        asked_init_read(&asked, &owner, uri);
        owner_submit(&owner, &asked);
        assert_int_equal(asked.error, CALL_ERROR_TOO_LARGE);
        assert_int_equal(owner.pipe.n_ids, 1);
    }
    owner.pipe.begin_fails = 1;
    asked_init_read(&asked, &owner, "a:b");
    owner_submit(&owner, &asked);
    assert_read_fails(&asked, CALL_ERROR_UNAVAILABLE,
                      "ADAPTER_NOT_AVAILABLE: the add-in does not read what it is sent; the call "
                      "has not run: call again when it has done its work");
    owner.pipe.begin_fails = 0;
    asked_init_read(&asked, &owner, "a:b");
    owner_submit(&owner, &asked);
    assert_int_equal(asked.n_ends, 0);
    pipe_hub_lost(owner.hub, SPAN("why"));
    assert_read_fails(&asked, CALL_ERROR_UNAVAILABLE,
                      "PIPE_DISCONNECTED: Lost connection to the add-in (why): read again when it "
                      "is back");
    asked_init_read(&asked, &owner, "a:b");
    owner_submit(&owner, &asked);
    assert_read_fails(&asked, CALL_ERROR_UNAVAILABLE,
                      "ADAPTER_NOT_AVAILABLE: the add-in is not connected: start the application, "
                      "then read again");
    owner_close(&owner);
    owner_open(&owner, 0);
    owner.pipe.commit_fails = -EPIPE;
    asked_init_read(&asked, &owner, "a:b");
    owner_submit(&owner, &asked);
    assert_read_fails(
        &asked, CALL_ERROR_UNAVAILABLE,
        "PIPE_DISCONNECTED: the call could not be sent to the add-in; it has not run: "
        "call again");
    owner_close(&owner);
}

/* The message can be read, and then there is no memory for what it says. */
static void an_answer_that_finds_no_memory_ends_its_call(void **state)
{
    static const char head[] = "{\"type\":\"tool_result\",\"payload\":{\"call_id\":\"" TEST_ID(
        "01") "\",\"success\":true,\"data\":\"";
    size_t n = 100000;
    char *text = calloc(1, n);
    size_t n_told = 0;

    (void)state;
    memset(text, 'x', n);
    memcpy(text, head, sizeof(head) - 1);
    memcpy(text + n - 3, "\"}}", 3);
    for (size_t i = 0; i < 8; i++) {
        Owner owner;
        Asked asked;
        int r;

        owner_open(&owner, 0);
        asked_init(&asked, &owner);
        owner_submit(&owner, &asked);
        alloc_testing_reset(i);
        /* Too much to be kept by the test. */
        asked.structured[0] = '\0';
        asked.drops = true;
        r = pipe_hub_receive(owner.hub, span_make(text, n), 0);
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        assert_int_equal(r, asked.n_ends == 1 ? 0 : -ENOMEM);
        n_told += asked.is_error ? 1 : 0;
        owner_close(&owner);
        assert_int_equal(asked.n_ends, 1);
    }
    assert_true(n_told > 0);
    free(text);
}

static void calls_in_a_row_allocate_nothing(void **state)
{
    Owner owner;
    Asked asked[8];

    (void)state;
    owner_open(&owner, 0);
    for (int i = 0; i < 8; i++) {
        asked_init(&asked[i], &owner);
    }
    for (int i = 3; i < 5; i++) {
        asked_init_read(&asked[i], &owner, "a:b");
    }
    for (int round = 0; round < 50; round++) {
        if (round == 3) {
            alloc_testing_reset(ALLOC_TESTING_NEVER);
        }
        for (int i = 0; i < 8; i++) {
            owner_submit(&owner, &asked[i]);
        }
        test_pipe_clear(&owner.pipe);
        owner_receive(&owner, RESULT("01", "\"success\":true,\"data\":{\"a\":[1,2]}"));
        owner_receive(&owner, RESULT("02", "\"success\":false,\"error\":{\"code\":\"A\"}"));
        owner_receive(&owner, RESULT("03", "\"success\":true,\"data\":\"s\""));
        owner_receive(&owner, RESULT("04", "\"success\":true,\"data\":{\"contents\":[{\"uri\":"
                                           "\"a:b\",\"text\":\"\",\"blob\":null}]}"));
        owner_receive(&owner, RESULT("05", "\"success\":false"));
        for (int i = 5; i < 8; i++) {
            pipe_hub_cancel(owner.hub, &asked[i].call, 0);
        }
        owner_receive(&owner, RESULT("06", "\"success\":true"));
        owner_receive(&owner, SPAN("{\"type\":\"ping\"}"));
        test_pipe_clear(&owner.pipe);
    }
    assert_int_equal(alloc_testing()->n_calls, 0);
    owner_close(&owner);
}

/* The OOM sweep wants a negative errno from whatever failed. */
static int serve_one(void *context)
{
    Owner owner = {.hub = NULL};
    Asked asked;
    PipeHubConfig config = {.max_bytes = 0};
    int r;

    (void)context;
    test_pipe_init(&owner.pipe);
    config.sink = &owner.pipe.sink;
    config.source = &owner.pipe.source;
    asked_init(&asked, &owner);
    r = pipe_hub_new(&owner.hub, &config, 0);
    if (r == 0) {
        owner_submit(&owner, &asked);
        r = pipe_hub_error(owner.hub);
    }
    if (r == 0) {
        r = pipe_hub_list(owner.hub, 0);
    }
    if (r == 0) {
        r = pipe_hub_receive(owner.hub, RESULT("01", "\"success\":true,\"data\":[1]"), 0);
    }
    if (r == 0) {
        assert_int_equal(asked.n_ends, 1);
        r = asked.is_error ? -ENOMEM : pipe_hub_receive(owner.hub, SPAN("{\"type\":\"x\"}"), 0);
    }
    if (r == 0) {
        asked_init_read(&asked, &owner, "a:b");
        owner_submit(&owner, &asked);
        r = pipe_hub_error(owner.hub);
    }
    if (r == 0) {
        r = pipe_hub_receive(owner.hub,
                             RESULT("03", "\"success\":true,\"data\":{\"contents\":[\n]}"), 0);
    }
    if (r == 0) {
        assert_int_equal(asked.n_ends, 1);
        r = asked.is_error ? -ENOMEM : 0;
    }
    owner.hub = pipe_hub_free(owner.hub);
    assert_true(asked.n_ends <= 1);
    test_pipe_deinit(&owner.pipe);
    return r;
}

static void want_of_memory_is_told(void **state)
{
    (void)state;
    test_oom_sweep(serve_one, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_find_their_calls_in_any_order),
        cmocka_unit_test(results_that_nobody_waits_for_are_counted),
        cmocka_unit_test(an_error_message_ends_its_call),
        cmocka_unit_test(a_result_that_cannot_be_read_ends_its_call),
        cmocka_unit_test(an_add_in_tells_what_it_offers),
        cmocka_unit_test(everything_fails_at_once_when_the_add_in_has_gone),
        cmocka_unit_test(what_is_out_fails_when_the_hub_is_freed),
        cmocka_unit_test(the_end_of_a_call_may_submit_and_cancel_others),
        cmocka_unit_test(a_failure_inside_of_an_end_spoils_nothing),
        cmocka_unit_test(the_limit_s_equality_passes),
        cmocka_unit_test(what_an_add_in_says_at_length_is_not_echoed),
        cmocka_unit_test(an_add_in_that_does_not_read_gets_no_more),
        cmocka_unit_test(a_ping_without_room_is_as_good_as_one_without_answer),
        cmocka_unit_test(a_failure_to_send_ends_the_connection),
        cmocka_unit_test(messages_that_are_none_end_the_connection),
        cmocka_unit_test(a_frame_over_the_limit_is_refused_with_words),
        cmocka_unit_test(a_pong_leaves_at_once),
        cmocka_unit_test(any_number_may_be_out),
        cmocka_unit_test(a_resource_is_read_by_a_tool),
        cmocka_unit_test(a_resource_that_cannot_be_had_is_an_error),
        cmocka_unit_test(our_own_failures_to_read_are_errors),
        cmocka_unit_test(an_answer_that_finds_no_memory_ends_its_call),
        cmocka_unit_test(calls_in_a_row_allocate_nothing),
        cmocka_unit_test(want_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
