#include "dialect/pipe/addin.h"

#include <errno.h>
#include <stdlib.h>

#include "base/limits.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "unit/dialect/pipe/pipe_testing.h"

#define CALL(id, name)                                                                             \
    SPAN("{\"id\":\"" id "\",\"type\":\"tool_call\",\"payload\":{\"tool_name\":\"" name            \
         "\",\"args\":{\"a\":1.0}}}")
#define DONE(n, id, ms)                                                                            \
    TEST_HEAD(n, "tool_result", "000")                                                             \
    "{\"call_id\":\"" id "\",\"success\":true,\"data\":{\"n\":1},\"error\":null,"                  \
    "\"duration_ms\":" ms "}}\n"
#define FAILED(n, id, code, message)                                                               \
    TEST_HEAD(n, "tool_result", "000")                                                             \
    "{\"call_id\":\"" id "\",\"success\":false,\"data\":{},\"error\":{\"code\":\"" code            \
    "\",\"message\":\"" message "\"},\"duration_ms\":0}}\n"

typedef struct Owner {
    TestPipe pipe;
    PipeAddin *addin;
    size_t n_wrote;
    bool frees; /* ends the session when an answer was written */
    int list_fails;
    int64_t clock_ms;
    char told[128];
} Owner;

static int owner_list(void *context, Bytes *out)
{
    Owner *owner = context;
    int r = bytes_append_span(out, SPAN("{\"name\":\"x\",\"tools\":[]}"));

    return r != 0 ? r : owner->list_fails;
}

static void owner_wrote(void *context)
{
    Owner *owner = context;

    owner->n_wrote++;
    if (owner->frees) {
        owner->addin = pipe_addin_free(owner->addin);
    }
}

static void owner_told(void *context, Span code, Span message)
{
    Owner *owner = context;

    (void)snprintf(owner->told, sizeof(owner->told), "%.*s: %.*s", (int)code.n, code.p,
                   (int)message.n, message.p);
}

static int64_t owner_clock(void *context)
{
    TestPipe *pipe = context;

    return ((Owner *)(void *)pipe)->clock_ms;
}

static void owner_open(Owner *owner, uint32_t max_bytes, size_t max_running)
{
    PipeAddinConfig config = {.seed = {1, 2},
                              .max_bytes = max_bytes,
                              .max_running = max_running,
                              .list = owner_list,
                              .wrote = owner_wrote,
                              .told = owner_told,
                              .context = owner};

    *owner = (Owner){.addin = NULL};
    test_pipe_init(&owner->pipe);
    owner->pipe.source.now_ms = owner_clock;
    config.sink = &owner->pipe.sink;
    config.source = &owner->pipe.source;
    assert_int_equal(pipe_addin_new(&owner->addin, &config, 0), 0);
}

static void owner_close(Owner *owner)
{
    owner->addin = pipe_addin_free(owner->addin);
    test_pipe_deinit(&owner->pipe);
}

static void owner_receive(Owner *owner, Span message)
{
    assert_int_equal(pipe_addin_receive(owner->addin, message, 0), 0);
}

/* The call that the message became, fetched, and after that nothing is fetched; as the router
 * does, it is kept. */
static Call *owner_call(Owner *owner, Span message)
{
    Call *call;

    owner_receive(owner, message);
    call = pipe_addin_next(owner->addin);
    if (call != NULL) {
        assert_int_equal(call_keep_arguments(call), 0);
    }
    assert_null(pipe_addin_next(owner->addin));
    return call;
}

static void finish_done(Call *call)
{
    CallResult result = {.kind = CALL_RESULT_TOOL, .structured = SPAN("{\"n\":1}")};

    call_finish(call, &result);
}

static void a_message_becomes_a_call_once(void **state)
{
    Owner owner;
    Call *call;

    (void)state;
    owner_open(&owner, 0, 0);
    assert_null(pipe_addin_next(owner.addin));
    owner_receive(&owner, CALL("1", "t"));
    assert_int_equal(pipe_addin_waiting(owner.addin), 1);
    assert_null(pipe_addin_first(owner.addin));
    call = pipe_addin_next(owner.addin);
    assert_int_equal(call->verb, CALL_TOOL);
    assert_span(call->target, "t");
    assert_span(json_span(call->arguments), "{\"a\":1.0}");
    assert_int_equal(call->can, 0);
    assert_int_equal(pipe_addin_waiting(owner.addin), 0);
    assert_int_equal(pipe_addin_running(owner.addin), 1);
    assert_ptr_equal(pipe_addin_first(owner.addin), call);
    finish_done(call);
    assert_null(pipe_addin_next(owner.addin));
    assert_int_equal(pipe_addin_running(owner.addin), 0);
    assert_sent(&owner.pipe, DONE("01", "1", "0"));
    owner_close(&owner);
    assert_null(pipe_addin_free(NULL));
}

static void durations_are_measured_from_dispatch_to_end(void **state)
{
    Owner owner;
    Call *call;

    (void)state;
    owner_open(&owner, 0, 1);
    owner.clock_ms = 1000;
    call = owner_call(&owner, CALL("1", "t"));
    assert_null(owner_call(&owner, CALL("2", "t")));
    owner.clock_ms = 1045;
    finish_done(call);
    assert_sent(&owner.pipe, DONE("01", "1", "45"));
    /* Waiting is not counted. */
    owner.clock_ms = 1050;
    call = pipe_addin_next(owner.addin);
    owner.clock_ms = 1057;
    finish_done(call);
    assert_sent(&owner.pipe, DONE("01", "2", "7"));
    /* The wall clock does, if there is no other. */
    owner.pipe.source.now_ms = NULL;
    call = owner_call(&owner, CALL("3", "t"));
    finish_done(call);
    assert_sent(&owner.pipe, DONE("01", "3", "0"));
    owner_close(&owner);
}

static void the_owner_is_told_of_answers_that_come_after_dispatch_only(void **state)
{
    Owner owner;

    (void)state;
    owner_open(&owner, 0, 0);
    owner_receive(&owner, CALL("1", "t"));
    finish_done(pipe_addin_next(owner.addin));
    assert_int_equal(owner.n_wrote, 0);
    finish_done(owner_call(&owner, CALL("1", "t")));
    assert_int_equal(owner.n_wrote, 1);
    owner.frees = true;
    finish_done(owner_call(&owner, CALL("1", "t")));
    assert_null(owner.addin);
    owner_close(&owner);
}

static void as_many_run_as_may_and_the_others_wait_in_order(void **state)
{
    Owner owner;
    Call *calls[2];
    char *third = strdup(CALL("3", "third").p);
    char *last = strdup("{\"id\":\"4\",\"type\":\"tool_call\",\"payload\":{\"tool_name\":"
                        "\"last\",\"args\":{\"other\":[2]}}}");
    Call *call;

    (void)state;
    owner_open(&owner, 0, 2);
    calls[0] = owner_call(&owner, CALL("1", "first"));
    calls[1] = owner_call(&owner, CALL("2", "second"));
    /* What waits does not need its message. */
    assert_null(owner_call(&owner, span_from_str(third)));
    free(third);
    assert_null(owner_call(&owner, span_from_str(last)));
    free(last);
    assert_int_equal(pipe_addin_running(owner.addin), 2);
    assert_int_equal(pipe_addin_waiting(owner.addin), 2);
    finish_done(calls[1]);
    call = pipe_addin_next(owner.addin);
    assert_span(call->target, "third");
    assert_span(json_span(call->arguments), "{\"a\":1.0}");
    assert_null(pipe_addin_next(owner.addin));
    finish_done(call);
    call = pipe_addin_next(owner.addin);
    assert_span(call->target, "last");
    assert_span(json_span(call->arguments), "{\"other\":[2]}");
    finish_done(call);
    finish_done(calls[0]);
    assert_sent(&owner.pipe, DONE("01", "2", "0") DONE("02", "3", "0") DONE("03", "4", "0")
                                 DONE("04", "1", "0"));
    owner_close(&owner);
}

/* A place is free, but others came before, though the owner has not asked yet. */
static void nobody_overtakes_those_who_wait(void **state)
{
    Owner owner;
    char *text = strdup(CALL("3", "third").p);
    Call *call;

    (void)state;
    owner_open(&owner, 0, 1);
    call = owner_call(&owner, CALL("1", "first"));
    assert_null(owner_call(&owner, CALL("2", "second")));
    finish_done(call);
    owner_receive(&owner, span_from_str(text));
    free(text);
    call = pipe_addin_next(owner.addin);
    assert_span(call->target, "second");
    finish_done(call);
    call = pipe_addin_next(owner.addin);
    assert_span(call->target, "third");
    finish_done(call);
    owner_close(&owner);
}

static void pings_are_answered_at_once_while_a_tool_runs(void **state)
{
    Owner owner;
    Call *call;

    (void)state;
    owner_open(&owner, 0, 1);
    test_pipe_lend(&owner.pipe);
    call = owner_call(&owner, CALL("1", "t"));
    owner_receive(&owner, SPAN("{\"type\":\"ping\"}"));
    assert_int_equal(owner.pipe.n_flushed, 1);
    assert_sent(&owner.pipe, TEST_HEAD("01", "pong", "000") "{}}\n");
    finish_done(call);
    owner_close(&owner);
}

static void too_many_that_wait_are_refused(void **state)
{
    Owner owner;
    Call *call;

    (void)state;
    owner_open(&owner, 0, 1);
    call = owner_call(&owner, CALL("r", "t"));
    for (int i = 0; i < LIMIT_PIPE_WAITING; i++) {
        char text[128];

        (void)snprintf(text, sizeof(text),
                       "{\"id\":\"%d\",\"type\":\"tool_call\",\"payload\":{\"tool_name\":\"t\"}}",
                       i);
        assert_null(owner_call(&owner, span_from_str(text)));
    }
    assert_int_equal(owner.pipe.n_sent, 0);
    assert_null(owner_call(&owner, CALL("x", "t")));
    assert_sent(&owner.pipe, FAILED("01", "x", "HANDLER_ERROR", "too many calls wait"));
    assert_int_equal(pipe_addin_waiting(owner.addin), LIMIT_PIPE_WAITING);
    finish_done(call);
    assert_non_null(pipe_addin_next(owner.addin));
    test_pipe_clear(&owner.pipe);
    assert_null(owner_call(&owner, CALL("x", "t")));
    assert_int_equal(owner.pipe.n_sent, 0);
    pipe_addin_drop(owner.addin, pipe_addin_first(owner.addin));
    owner_close(&owner);
}

/* Nor may they be too large together. */
static void large_ones_that_wait_are_refused_sooner(void **state)
{
    static const char head[] =
        "{\"id\":\"%d\",\"type\":\"tool_call\",\"payload\":{\"tool_name\":\"t\",\"args\":{\"a\":\"";
    size_t n = LIMIT_PIPE_MESSAGE_BYTES;
    char *text = calloc(1, n + 1);
    Owner owner;
    Call *call;

    (void)state;
    owner_open(&owner, 0, 1);
    call = owner_call(&owner, CALL("r", "t"));
    for (int i = 0; i < 5; i++) {
        int n_head;

        memset(text, 'x', n);
        n_head = snprintf(text, n, head, i);
        text[n_head] = 'x';
        memcpy(text + n - 4, "\"}}}", 4);
        assert_int_equal(owner.pipe.n_sent, 0);
        assert_null(owner_call(&owner, span_make(text, n)));
    }
    assert_sent(&owner.pipe, FAILED("01", "4", "HANDLER_ERROR", "too many calls wait"));
    assert_int_equal(pipe_addin_waiting(owner.addin), 4);
    finish_done(call);
    /* What runs does not wait. */
    call = pipe_addin_next(owner.addin);
    test_pipe_clear(&owner.pipe);
    memcpy(text, "{\"id\":\"5\"", 9);
    assert_null(owner_call(&owner, span_make(text, n)));
    assert_int_equal(owner.pipe.n_sent, 0);
    finish_done(call);
    owner_close(&owner);
    free(text);
}

static void an_id_in_use_is_refused(void **state)
{
    Owner owner;
    Call *call;

    (void)state;
    owner_open(&owner, 0, 0);
    call = owner_call(&owner, CALL("1", "t"));
    assert_null(owner_call(&owner, CALL("1", "u")));
    assert_sent(&owner.pipe,
                TEST_HEAD("01", "error",
                          "000") "{\"code\":\"PIPE_PROTOCOL_ERROR\",\"message\":\"id: a call of "
                                 "this id is running already\",\"call_id\":\"1\"}}\n");
    finish_done(call);
    assert_sent(&owner.pipe, DONE("01", "1", "0"));
    finish_done(owner_call(&owner, CALL("1", "t")));
    owner_close(&owner);
}

static void the_list_is_answered_here(void **state)
{
    PipeAddinConfig config = {.max_bytes = 0};
    Owner owner;
    PipeAddin *plain;

    (void)state;
    owner_open(&owner, 0, 0);
    assert_null(owner_call(&owner, CALL("1", PIPE_LIST_TOOLS)));
    assert_sent(&owner.pipe,
                TEST_HEAD("01", "tool_result",
                          "000") "{\"call_id\":\"1\",\"success\":true,\"data\":{\"name\":\"x\","
                                 "\"tools\":[]},\"error\":null,\"duration_ms\":0}}\n");
    owner.list_fails = -EIO;
    assert_null(owner_call(&owner, CALL("2", PIPE_LIST_TOOLS)));
    assert_sent(&owner.pipe, FAILED("01", "2", "HANDLER_ERROR", "internal error"));
    /* Where nobody gives it, it is a tool like any other. */
    config.sink = &owner.pipe.sink;
    config.source = &owner.pipe.source;
    assert_int_equal(pipe_addin_new(&plain, &config, 0), 0);
    assert_int_equal(pipe_addin_receive(plain, CALL("1", PIPE_LIST_TOOLS), 0), 0);
    call_fail(pipe_addin_next(plain), CALL_ERROR_UNKNOWN_TOOL, SPAN_NULL);
    assert_sent(&owner.pipe, TEST_HEAD("01", "error", "000") "{\"code\":\"TOOL_NOT_FOUND\","
                                                             "\"message\":\"No handler registered "
                                                             "for tool 'toolwire.list_tools'\","
                                                             "\"call_id\":\"1\"}}\n");
    assert_null(pipe_addin_free(plain));
    owner_close(&owner);
}

#define READ(id, args)                                                                             \
    SPAN("{\"id\":\"" id "\",\"type\":\"tool_call\",\"payload\":{\"tool_name\":"                   \
         "\"toolwire.read_resource\"" args "}}")
#define READ_URI(id, uri) READ(id, ",\"args\":{\"uri\":\"" uri "\"}")

static void finish_contents(Call *call, Span elements)
{
    CallResult result = {.kind = CALL_RESULT_RESOURCE, .pieces = &elements, .n_pieces = 1};

    call_finish(call, &result);
}

static void a_question_for_a_resource_becomes_a_call_that_reads(void **state)
{
    Owner owner;
    Call *call;

    (void)state;
    owner_open(&owner, 0, 0);
    owner_receive(&owner, READ_URI("1", "plan:\\/\\/svg"));
    call = pipe_addin_next(owner.addin);
    assert_int_equal(call->verb, CALL_READ);
    assert_span(call->target, "plan://svg");
    assert_null(call->arguments.node);
    finish_contents(call, SPAN("{\"uri\":\"plan://svg\",\"text\":\"<svg/>\"}"));
    assert_sent(&owner.pipe,
                TEST_HEAD("01", "tool_result", "000") "{\"call_id\":\"1\",\"success\":true,"
                                                      "\"data\":{\"contents\":[{\"uri\":"
                                                      "\"plan://svg\",\"text\":\"<svg/>\"}]},"
                                                      "\"error\":null,\"duration_ms\":0}}\n");
    call_fail(owner_call(&owner, READ_URI("2", "plan://no")), CALL_ERROR_UNKNOWN_RESOURCE,
              SPAN("no such plan"));
    assert_sent(&owner.pipe, FAILED("01", "2", "RESOURCE_NOT_FOUND", "no such plan"));
    /* The place serves tools again. */
    call = owner_call(&owner, CALL("3", "t"));
    assert_int_equal(call->verb, CALL_TOOL);
    finish_done(call);
    assert_sent(&owner.pipe, DONE("01", "3", "0"));
    owner_close(&owner);
}

static void one_that_waits_does_not_need_its_message(void **state)
{
    char *message = strdup(READ_URI("2", "plan:\\/\\/svg").p);
    Owner owner;
    Call *call;

    (void)state;
    owner_open(&owner, 0, 1);
    call = owner_call(&owner, CALL("1", "t"));
    assert_null(owner_call(&owner, span_from_str(message)));
    free(message);
    assert_null(owner_call(&owner, CALL("3", "t")));
    finish_done(call);
    call = pipe_addin_next(owner.addin);
    assert_int_equal(call->verb, CALL_READ);
    assert_span(call->target, "plan://svg");
    finish_contents(call, SPAN("{}"));
    finish_done(pipe_addin_next(owner.addin));
    owner_close(&owner);
}

static void a_question_without_a_uri_is_answered_here(void **state)
{
    const Span rows[] = {READ("1", ""), READ("1", ",\"args\":{}"),
                         READ("1", ",\"args\":{\"uri\":7}"), READ("1", ",\"args\":{\"uri\":null}")};
    Owner owner;

    (void)state;
    owner_open(&owner, 0, 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        assert_null(owner_call(&owner, rows[i]));
        assert_sent(&owner.pipe,
                    FAILED("01", "1", "SCHEMA_VALIDATION_FAILED",
                           "Argument validation failed: arguments/uri: expected string"));
    }
    owner_close(&owner);
}

static void without_a_list_reading_is_a_tool_like_any_other(void **state)
{
    PipeAddinConfig config = {.max_bytes = 0};
    Owner owner;
    PipeAddin *plain;
    Call *call;

    (void)state;
    owner_open(&owner, 0, 0);
    config.sink = &owner.pipe.sink;
    config.source = &owner.pipe.source;
    assert_int_equal(pipe_addin_new(&plain, &config, 0), 0);
    assert_int_equal(pipe_addin_receive(plain, READ_URI("1", "a:b"), 0), 0);
    call = pipe_addin_next(plain);
    assert_int_equal(call->verb, CALL_TOOL);
    assert_span(call->target, PIPE_READ_RESOURCE);
    assert_span(json_span(call->arguments), "{\"uri\":\"a:b\"}");
    finish_done(call);
    assert_sent(&owner.pipe, DONE("01", "1", "0"));
    assert_int_equal(pipe_addin_receive(plain, READ("2", ""), 0), 0);
    finish_done(pipe_addin_next(plain));
    assert_sent(&owner.pipe, DONE("01", "2", "0"));
    assert_null(pipe_addin_free(plain));
    owner_close(&owner);
}

static void a_resource_over_the_limit_becomes_a_failure(void **state)
{
    char *text = calloc(1, 100000);
    Owner owner;

    (void)state;
    memset(text, '7', 100000);
    owner_open(&owner, 50000, 0);
    /* The second is seen before it is written. */
    for (size_t n = 50000; n <= 100000; n += 50000) {
        finish_contents(owner_call(&owner, READ_URI("1", "a:b")), span_make(text, n));
        assert_int_equal(owner.pipe.n_ids, n == 50000 ? 2 : 1);
        owner.pipe.n_ids = 0;
        assert_true(test_pipe_said(&owner.pipe,
                                   "{\"code\":\"PIPE_MESSAGE_TOO_LARGE\",\"message\":\"the "
                                   "resource does not fit into the 50000 bytes of a message\"}"));
        test_pipe_clear(&owner.pipe);
    }
    test_pipe_lend(&owner.pipe);
    finish_contents(owner_call(&owner, READ_URI("1", "a:b")), span_make(text, 49000));
    assert_int_equal(owner.pipe.n_lent, 1);
    assert_int_equal(pipe_addin_error(owner.addin), 0);
    owner_close(&owner);
    free(text);
}

/* Ends a call with an answer of exactly n bytes. */
static void finish_sized(Owner *owner, size_t n)
{
    size_t n_data =
        n - (sizeof(TEST_HEAD("01", "tool_result",
                              "000") "{\"call_id\":\"1\",\"success\":true,\"data\":,\"error\":null,"
                                     "\"duration_ms\":0}}") -
             1);
    char *data = calloc(1, n_data);
    CallResult result = {.kind = CALL_RESULT_TOOL, .structured = span_make(data, n_data)};

    memset(data, '7', n_data);
    call_finish(owner_call(owner, CALL("1", "t")), &result);
    free(data);
}

static void an_answer_over_the_limit_becomes_a_failure(void **state)
{
    Owner owner;

    (void)state;
    for (int lends = 0; lends < 2; lends++) {
        owner_open(&owner, 0, 0);
        if (lends == 1) {
            test_pipe_lend(&owner.pipe);
        }
        finish_sized(&owner, 16777216);
        assert_int_equal(owner.pipe.sent.n, 16777217);
        assert_int_equal(owner.pipe.n_lent, lends);
        test_pipe_clear(&owner.pipe);
        finish_sized(&owner, 16777217);
        assert_sent(&owner.pipe,
                    FAILED("02", "1", "PIPE_MESSAGE_TOO_LARGE",
                           "the result does not fit into the 16777216 bytes of a message; ask the "
                           "tool for less at once"));
        /* Seen before it is written. */
        finish_sized(&owner, 20000000);
        assert_sent(&owner.pipe,
                    FAILED("01", "1", "PIPE_MESSAGE_TOO_LARGE",
                           "the result does not fit into the 16777216 bytes of a message; ask the "
                           "tool for less at once"));
        assert_int_equal(pipe_addin_error(owner.addin), 0);
        owner_close(&owner);
    }
}

/* Content counts as structured content does. */
static void content_over_the_limit_becomes_a_failure(void **state)
{
    char text[600] = {0};
    Span piece = span_make(text, sizeof(text));
    CallResult result = CALL_RESULT_TOOL_PIECES(&piece, 1);
    Owner owner;

    (void)state;
    owner_open(&owner, 500, 0);
    memset(text, '7', sizeof(text));
    call_finish(owner_call(&owner, CALL("1", "t")), &result);
    assert_sent(&owner.pipe, FAILED("01", "1", "PIPE_MESSAGE_TOO_LARGE",
                                    "the result does not fit into the 500 bytes of a message; ask "
                                    "the tool for less at once"));
    owner_close(&owner);
}

static void calls_of_a_hub_that_has_gone_are_dropped(void **state)
{
    Owner owner;
    Call *call;

    (void)state;
    owner_open(&owner, 0, 2);
    assert_non_null(owner_call(&owner, CALL("1", "t")));
    assert_non_null(owner_call(&owner, CALL("2", "t")));
    assert_null(owner_call(&owner, CALL("3", "t")));
    while ((call = pipe_addin_first(owner.addin)) != NULL) {
        pipe_addin_drop(owner.addin, call);
    }
    assert_int_equal(pipe_addin_running(owner.addin), 0);
    assert_int_equal(owner.pipe.n_sent, 0);
    assert_int_equal(owner.n_wrote, 0);
    /* What still waits goes with the session. */
    assert_int_equal(pipe_addin_waiting(owner.addin), 1);
    owner_close(&owner);
}

static void progress_and_logs_are_not_sent_to_a_hub_of_the_document(void **state)
{
    CallProgress progress = {.progress = 1, .total = CALL_NO_TOTAL};
    Owner owner;
    Call *call;

    (void)state;
    owner_open(&owner, 0, 0);
    call = owner_call(&owner, CALL("1", "t"));
    call->door->progress(call, &progress);
    call->door->log(call, CALL_LOG_EMERGENCY, SPAN_NULL, SPAN("1"));
    assert_int_equal(owner.pipe.n_sent, 0);
    finish_done(call);
    owner_close(&owner);
}

static void what_no_hub_should_say_is_counted(void **state)
{
    Owner owner;
    PipeAddinCounts counts;

    (void)state;
    owner_open(&owner, 0, 0);
    owner_receive(&owner, SPAN("{\"type\":\"tool_result\",\"payload\":{\"call_id\":\"1\","
                               "\"success\":true}}"));
    owner_receive(&owner, SPAN("{\"type\":\"new\"}"));
    owner_receive(&owner, SPAN("{\"type\":\"error\",\"payload\":{\"code\":\"C\",\"message\":\"m\","
                               "\"call_id\":\"1\"}}"));
    assert_string_equal(owner.told, "C: m");
    /* One without an id is not answered: nobody waits for it. */
    assert_int_equal(owner.pipe.n_sent, 0);
    owner_receive(&owner, SPAN("{\"type\":\"tool_call\",\"id\":\"1\",\"payload\":{}}"));
    counts = pipe_addin_counts(owner.addin);
    assert_int_equal(counts.late, 1);
    assert_int_equal(counts.unknown, 1);
    assert_int_equal(counts.errors, 1);
    assert_int_equal(counts.bad, 1);
    owner_close(&owner);
}

static void a_sink_that_takes_nothing_ends_the_connection(void **state)
{
    Owner owner;

    (void)state;
    owner_open(&owner, 0, 0);
    owner.pipe.begin_fails = 1;
    finish_done(owner_call(&owner, CALL("1", "t")));
    assert_int_equal(pipe_addin_error(owner.addin), -ENOBUFS);
    owner.pipe.begin_fails = 0;
    owner.pipe.commit_fails = -EPIPE;
    finish_done(owner_call(&owner, CALL("1", "t")));
    assert_int_equal(pipe_addin_error(owner.addin), -ENOBUFS);
    assert_int_equal(pipe_addin_receive(owner.addin, SPAN("{\"type\":\"ping\"}"), 0), -EPIPE);
    /* Nothing more is read, and no ping sent. */
    owner_receive(&owner, SPAN("{\"type\":\"ping\"}"));
    assert_int_equal(pipe_addin_deadline(owner.addin), INT64_MAX);
    assert_true(pipe_addin_advance(owner.addin, 1000000));
    owner_close(&owner);
    owner_open(&owner, 0, 0);
    owner.pipe.commit_fails = -EIO;
    assert_true(pipe_addin_advance(owner.addin, 30000));
    assert_int_equal(pipe_addin_error(owner.addin), -EIO);
    owner_close(&owner);
    /* One without room for a ping is found dead. */
    owner_open(&owner, 0, 0);
    owner.pipe.commit_fails = 1;
    assert_true(pipe_addin_advance(owner.addin, 30000));
    assert_int_equal(pipe_addin_error(owner.addin), 0);
    assert_false(pipe_addin_advance(owner.addin, 40000));
    owner_close(&owner);
}

static void a_ping_of_the_owner_is_answered_by_its_own_pong(void **state)
{
    Owner owner;

    (void)state;
    owner_open(&owner, 0, 0);
    owner_receive(&owner, SPAN("{\"type\":\"pong\"}")); /* of nothing */
    assert_true(pipe_addin_advance(owner.addin, 30000));
    assert_int_equal(owner.pipe.n_sent, 1);
    assert_true(pipe_addin_ping(owner.addin, 30001));
    assert_int_equal(owner.pipe.n_sent, 2);
    assert_false(pipe_addin_is_ponged(owner.addin));
    owner_receive(&owner, SPAN("{\"type\":\"pong\"}"));
    assert_false(pipe_addin_is_ponged(owner.addin));
    owner_receive(&owner, SPAN("{\"type\":\"pong\"}"));
    assert_true(pipe_addin_is_ponged(owner.addin));
    /* One that is left unanswered is as bad as any other. */
    assert_true(pipe_addin_ping(owner.addin, 31000));
    assert_int_equal(pipe_addin_deadline(owner.addin), 31000 + LIMIT_PIPE_PONG_MS);
    assert_true(pipe_addin_advance(owner.addin, 31000 + LIMIT_PIPE_PONG_MS - 1));
    assert_false(pipe_addin_advance(owner.addin, 31000 + LIMIT_PIPE_PONG_MS));
    owner_close(&owner);
    owner_open(&owner, 0, 0);
    owner.pipe.commit_fails = 1; /* no room: it was not sent, and another one can be */
    assert_false(pipe_addin_ping(owner.addin, 0));
    owner.pipe.commit_fails = 0;
    assert_true(pipe_addin_ping(owner.addin, 0));
    owner.pipe.commit_fails = -EIO;
    assert_false(pipe_addin_ping(owner.addin, 0));
    assert_int_equal(pipe_addin_error(owner.addin), -EIO);
    owner_close(&owner);
}

static void how_many_run_may_change(void **state)
{
    Owner owner;
    Call *call;

    (void)state;
    owner_open(&owner, 0, 2);
    pipe_addin_set_max_running(owner.addin, 0);
    assert_null(owner_call(&owner, CALL("1", "t")));
    assert_null(owner_call(&owner, CALL("2", "u")));
    assert_int_equal(pipe_addin_waiting(owner.addin), 2);
    pipe_addin_set_max_running(owner.addin, 1);
    call = pipe_addin_next(owner.addin);
    assert_span(call->target, "t");
    assert_null(pipe_addin_next(owner.addin));
    finish_done(call);
    call = pipe_addin_next(owner.addin);
    assert_span(call->target, "u");
    finish_done(call);
    owner_close(&owner);
}

static void after_a_message_that_is_none_nothing_is_read(void **state)
{
    Owner owner;

    (void)state;
    owner_open(&owner, 0, 0);
    assert_int_equal(pipe_addin_receive(owner.addin, SPAN("7"), 0), PIPE_E_PROTOCOL);
    assert_int_equal(owner.pipe.n_sent, 1);
    owner_receive(&owner, SPAN("{\"type\":\"ping\"}"));
    assert_int_equal(owner.pipe.n_sent, 1);
    owner_close(&owner);
    owner_open(&owner, 0, 0);
    assert_int_equal(pipe_addin_refuse_size(owner.addin, UINT32_MAX), 0);
    owner_receive(&owner, SPAN("{\"type\":\"ping\"}"));
    assert_int_equal(owner.pipe.n_sent, 1);
    owner_close(&owner);
}

static void calls_in_a_row_allocate_nothing(void **state)
{
    Owner owner;

    (void)state;
    owner_open(&owner, 0, 1);
    for (int i = 0; i < 100; i++) {
        Call *call;

        if (i == 3) {
            alloc_testing_reset(ALLOC_TESTING_NEVER);
        }
        call = owner_call(&owner, CALL("1", "t"));
        assert_null(owner_call(&owner, CALL("2", "t")));
        assert_null(owner_call(&owner, CALL("3", PIPE_LIST_TOOLS)));
        assert_null(owner_call(&owner, READ_URI("4", "a:\\/b")));
        finish_done(call);
        finish_done(pipe_addin_next(owner.addin));
        finish_contents(pipe_addin_next(owner.addin), SPAN("{}"));
        owner_receive(&owner, SPAN("{\"type\":\"ping\"}"));
        test_pipe_clear(&owner.pipe);
    }
    assert_int_equal(alloc_testing()->n_calls, 0);
    owner_close(&owner);
}

static int serve_one(void *context)
{
    Owner owner = {.addin = NULL};
    PipeAddinConfig config = {.max_running = 1, .list = owner_list, .context = &owner};
    Call *call = NULL;
    int r;

    (void)context;
    test_pipe_init(&owner.pipe);
    config.sink = &owner.pipe.sink;
    config.source = &owner.pipe.source;
    r = pipe_addin_new(&owner.addin, &config, 0);
    if (r == 0) {
        r = pipe_addin_receive(owner.addin, CALL("1", "t"), 0);
    }
    if (r == 0) {
        call = pipe_addin_next(owner.addin);
        r = pipe_addin_receive(owner.addin, CALL("2", "t"), 0);
    }
    if (r == 0) {
        r = pipe_addin_receive(owner.addin, READ_URI("3", "a:\\/b"), 0);
    }
    if (call != NULL) {
        finish_done(call);
        r = r == 0 ? pipe_addin_error(owner.addin) : r;
    }
    if (r == 0) {
        r = pipe_addin_receive(owner.addin, CALL("4", PIPE_LIST_TOOLS), 0);
    }
    if (r == 0) {
        /* A list that finds no memory is told as a failure. */
        r = test_pipe_said(&owner.pipe, "internal error") ? -ENOMEM : 0;
    }
    owner.addin = pipe_addin_free(owner.addin);
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
        cmocka_unit_test(a_message_becomes_a_call_once),
        cmocka_unit_test(durations_are_measured_from_dispatch_to_end),
        cmocka_unit_test(the_owner_is_told_of_answers_that_come_after_dispatch_only),
        cmocka_unit_test(as_many_run_as_may_and_the_others_wait_in_order),
        cmocka_unit_test(nobody_overtakes_those_who_wait),
        cmocka_unit_test(pings_are_answered_at_once_while_a_tool_runs),
        cmocka_unit_test(too_many_that_wait_are_refused),
        cmocka_unit_test(large_ones_that_wait_are_refused_sooner),
        cmocka_unit_test(an_id_in_use_is_refused),
        cmocka_unit_test(the_list_is_answered_here),
        cmocka_unit_test(a_question_for_a_resource_becomes_a_call_that_reads),
        cmocka_unit_test(one_that_waits_does_not_need_its_message),
        cmocka_unit_test(a_question_without_a_uri_is_answered_here),
        cmocka_unit_test(without_a_list_reading_is_a_tool_like_any_other),
        cmocka_unit_test(a_resource_over_the_limit_becomes_a_failure),
        cmocka_unit_test(an_answer_over_the_limit_becomes_a_failure),
        cmocka_unit_test(content_over_the_limit_becomes_a_failure),
        cmocka_unit_test(calls_of_a_hub_that_has_gone_are_dropped),
        cmocka_unit_test(progress_and_logs_are_not_sent_to_a_hub_of_the_document),
        cmocka_unit_test(what_no_hub_should_say_is_counted),
        cmocka_unit_test(a_sink_that_takes_nothing_ends_the_connection),
        cmocka_unit_test(a_ping_of_the_owner_is_answered_by_its_own_pong),
        cmocka_unit_test(how_many_run_may_change),
        cmocka_unit_test(after_a_message_that_is_none_nothing_is_read),
        cmocka_unit_test(calls_in_a_row_allocate_nothing),
        cmocka_unit_test(want_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
