#include "providers/diagnostics.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"

/* A longer sleep is of no use to anybody: the hard maximum of every call is shorter. */
#define DIAGNOSTICS_MAX_SLEEP_MS 3600000

/* How often a sleeper that has somebody to tell reports. */
#define DIAGNOSTICS_REPORTS 10

struct Diagnostics {
    Router *router;
    IoLoop *loop;
    size_t n_added; /* tools that are ours: a name may have been taken */
};

/* One sleeping call. */
typedef struct Sleeper {
    Call *call;
    IoTimer *timer;
    IoLoop *loop;
    int64_t start_ms;
    int64_t ms;
} Sleeper;

static Sleeper *sleeper_free(Sleeper *sleeper)
{
    if (sleeper != NULL) {
        sleeper->timer = io_timer_free(sleeper->timer);
    }
    return mem_free(sleeper);
}

/* ---- echo ---- */

static void echo_start(void *context, Call *call)
{
    JsonValue message;
    bool found = json_get(call->arguments, SPAN("message"), &message);

    (void)context;
    if (!found) {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN("the schema let arguments without message pass"));
        return;
    }
    {
        const Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":"), json_span(message), SPAN("}")};
        CallResult result = CALL_RESULT_TOOL_PIECES(pieces, 3);

        call_finish(call, &result);
    }
}

/* ---- sleep ---- */

static void sleeper_schedule(Sleeper *sleeper, int64_t now_ms)
{
    int64_t end_ms = sleeper->start_ms + sleeper->ms;
    int64_t step_ms = sleeper->ms / DIAGNOSTICS_REPORTS;
    int64_t due_ms = end_ms;

    if (sleeper->call->wants_progress && step_ms > 0 && now_ms + step_ms < end_ms) {
        due_ms = now_ms + step_ms;
    }
    io_timer_start_at(sleeper->timer, due_ms);
}

static void sleeper_wake(Sleeper *sleeper)
{
    Call *call = sleeper->call;
    char text[64];
    int n = snprintf(text, sizeof(text), "{\"type\":\"text\",\"text\":\"slept %lld ms\"}",
                     (long long)sleeper->ms);
    const Span pieces[] = {span_make(text, (size_t)n)};
    CallResult result = CALL_RESULT_TOOL_PIECES(pieces, 1);

    sleeper_free(sleeper);
    call_finish(call, &result);
}

static void sleeper_on_timer(void *context)
{
    Sleeper *sleeper = context;
    int64_t now_ms = io_loop_now_ms(sleeper->loop);
    int64_t passed_ms = now_ms - sleeper->start_ms;

    if (passed_ms >= sleeper->ms) {
        sleeper_wake(sleeper);
        return;
    }
    call_report(sleeper->call,
                &(CallProgress){.progress = (double)passed_ms, .total = (double)sleeper->ms});
    sleeper_schedule(sleeper, now_ms);
}

static void sleep_start(void *context, Call *call)
{
    Diagnostics *diagnostics = context;
    Sleeper *sleeper = mem_alloc_array(1, sizeof(*sleeper));
    JsonValue ms;

    if (sleeper == NULL) {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN("out of memory"));
        return;
    }
    *sleeper = (Sleeper){
        .call = call, .loop = diagnostics->loop, .start_ms = io_loop_now_ms(diagnostics->loop)};
    if (!json_get(call->arguments, SPAN("ms"), &ms) || json_int64(ms, &sleeper->ms) != 0 ||
        io_timer_new(&sleeper->timer, diagnostics->loop, false, sleeper_on_timer, sleeper) != 0) {
        sleeper_free(sleeper);
        call_fail(call, CALL_ERROR_INTERNAL, SPAN("cannot start a timer"));
        return;
    }
    call->provider_data = sleeper;
    sleeper_schedule(sleeper, sleeper->start_ms);
}

static void sleep_cancel(void *context, Call *call)
{
    (void)context;
    call->provider_data = sleeper_free(call->provider_data);
}

/* ---- fail ---- */

/* A protocol error; its message is text, not JSON. */
static void fail_with_code(Call *call, JsonValue code, const JsonValue *message)
{
    CLEANUP(mem_freep) char *decoded = NULL;
    Span text = SPAN("failed as asked");
    int64_t number = 0;

    (void)json_int64(code, &number); /* the schema has seen to it */
    if (message != NULL) {
        decoded = mem_alloc(message->node->size);
        if (decoded != NULL) {
            text = span_make(decoded, json_string_decode(*message, decoded));
        }
    }
    call_finish(call, &(CallResult){.kind = CALL_RESULT_ERROR,
                                    .error = CALL_ERROR_OWN,
                                    .wire_code = (int)number,
                                    .message = text});
}

static void fail_start(void *context, Call *call)
{
    JsonValue code;
    JsonValue message = JSON_VALUE_NULL;
    bool has_message = false;

    (void)context;
    if (call->arguments.node != NULL) {
        has_message = json_get(call->arguments, SPAN("message"), &message);
        if (json_get(call->arguments, SPAN("code"), &code)) {
            fail_with_code(call, code, has_message ? &message : NULL);
            return;
        }
    }
    {
        const Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":"),
                               has_message ? json_span(message) : SPAN("\"failed as asked\""),
                               SPAN("}")};
        CallResult result = CALL_RESULT_TOOL_PIECES(pieces, 3);

        result.is_error = true;
        call_finish(call, &result);
    }
}

/* ---- the table ---- */

static const CallProvider echo_provider = {
    .name = "diagnostics", .start = echo_start, .cancel = NULL};
static const CallProvider sleep_provider = {
    .name = "diagnostics", .start = sleep_start, .cancel = sleep_cancel};
static const CallProvider fail_provider = {
    .name = "diagnostics", .start = fail_start, .cancel = NULL};

#define DIAGNOSTICS_TEXT_OF(number) #number
#define DIAGNOSTICS_TEXT(number)    DIAGNOSTICS_TEXT_OF(number)

static const struct {
    Span name;
    const CallProvider *provider;
    Span json;
} diagnostics_tools[] = {
    {SPAN_INIT("echo"), &echo_provider,
     SPAN_INIT(
         "{\"name\":\"echo\",\"title\":\"Echo\",\"description\":\"Gives the message back.\","
         "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\"}},"
         "\"required\":[\"message\"],\"additionalProperties\":false},"
         "\"annotations\":{\"readOnlyHint\":true,\"idempotentHint\":true,"
         "\"openWorldHint\":false}}")},
    {SPAN_INIT("sleep"), &sleep_provider,
     SPAN_INIT(
         "{\"name\":\"sleep\",\"title\":\"Sleep\",\"description\":\"Answers after so many "
         "milliseconds; reports progress to those who asked for it.\","
         "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"ms\":{\"type\":\"integer\","
         "\"minimum\":0,\"maximum\":" DIAGNOSTICS_TEXT(
             DIAGNOSTICS_MAX_SLEEP_MS) "}},"
                                       "\"required\":[\"ms\"],\"additionalProperties\":false},"
                                       "\"annotations\":{\"readOnlyHint\":true,\"idempotentHint\":"
                                       "true,"
                                       "\"openWorldHint\":false}}")},
    {SPAN_INIT("fail"), &fail_provider,
     SPAN_INIT(
         "{\"name\":\"fail\",\"title\":\"Fail\",\"description\":\"Fails: as a tool's error, or, "
         "with a code, as an error of the protocol.\","
         "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"integer\","
         "\"minimum\":-2147483648,\"maximum\":2147483647},\"message\":{\"type\":\"string\"}},"
         "\"additionalProperties\":false},"
         "\"annotations\":{\"readOnlyHint\":true,\"openWorldHint\":false}}")},
};

Span diagnostics_taken(const Router *router)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(diagnostics_tools); i++) {
        if (router_has_tool(router, diagnostics_tools[i].name)) {
            return diagnostics_tools[i].name;
        }
    }
    return SPAN_NULL;
}

int diagnostics_new(Diagnostics **ret, Router *router, IoLoop *loop)
{
    Diagnostics *diagnostics = mem_alloc_array(1, sizeof(*diagnostics));
    int r = 0;

    if (diagnostics == NULL) {
        return err_raise(-ENOMEM);
    }
    *diagnostics = (Diagnostics){.router = router, .loop = loop};
    router_batch_begin(router);
    while (diagnostics->n_added < TW_ARRAY_SIZE(diagnostics_tools)) {
        size_t i = diagnostics->n_added;

        r = router_add(router,
                       &(RouterSpec){.kind = ROUTER_TOOL,
                                     .json = diagnostics_tools[i].json,
                                     .provider = diagnostics_tools[i].provider,
                                     .context = diagnostics},
                       NULL);
        if (r != 0) {
            break;
        }
        diagnostics->n_added++;
    }
    router_batch_end(router);
    if (r != 0) {
        diagnostics_free(diagnostics);
        return r == ROUTER_E_EXISTS ? err_raise(-EEXIST) : err_fold(r);
    }
    *ret = diagnostics;
    return 0;
}

Diagnostics *diagnostics_free(Diagnostics *diagnostics)
{
    if (diagnostics == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < diagnostics->n_added; i++) {
        (void)router_remove(diagnostics->router, ROUTER_TOOL, diagnostics_tools[i].name);
    }
    return mem_free(diagnostics);
}
