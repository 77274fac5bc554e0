/* A request is read in three steps: what its path says, what its query says, what its body says
 * (request_body.c). */
#include "dialect/command/request.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "dialect/command/query.h"
#include "dialect/command/request_impl.h"

/* Names of methods that one visit may ask for. */
#define REQUEST_MAX_METHODS 256

/* ---- refusals ---- */

int command_refuse(const Reading *in, unsigned status, const char *code, const char *format, ...)
{
    char text[256];
    va_list args;
    Span message;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    message = arena_copy(in->arena, span_from_str(text));
    if (message.p == NULL) {
        return err_raise(-ENOMEM);
    }
    *in->refusal = (CommandRefusal){
        .status = status, .code = code, .message = message, .rpc_id = in->request->rpc_id};
    return COMMAND_E_REFUSED;
}

/* ---- ids ---- */

bool command_split_id(Span text, Span *ret_id, bool *ret_has_fence, uint64_t *ret_fence)
{
    size_t dot = text.n;

    *ret_has_fence = false;
    *ret_fence = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '.') {
            dot = i;
            break;
        }
    }
    *ret_id = span_make(text.p, dot);
    if (dot < text.n) {
        if (text_parse_u64(span_make(text.p + dot + 1, text.n - dot - 1), ret_fence) != 0) {
            return false;
        }
        *ret_has_fence = true;
    }
    return dot > 0;
}

int command_take_job(const Reading *in, Span text, const char *field)
{
    CommandRequest *request = in->request;

    if (!command_split_id(text, &request->job, &request->has_fence, &request->fence)) {
        return command_refuse(in, 400, "E_BAD_ID", "%s: that is no id of a job", field);
    }
    return 0;
}

/* ---- queries ---- */

static int take_number(const Reading *in, const char *name, Span value, int64_t max, int64_t *ret)
{
    uint64_t n;

    if (text_parse_u64(value, &n) != 0 || n > (uint64_t)max) {
        return command_refuse(in, 400, REQUEST_INVALID, "%s: expected a number from 0 to %" PRId64,
                              name, max);
    }
    *ret = (int64_t)n;
    return 0;
}

/* "a,b;c" as its names. */
static int take_methods(const Reading *in, Span value)
{
    CommandRequest *request = in->request;
    Span *methods = arena_alloc(in->arena, REQUEST_MAX_METHODS * sizeof(*methods));
    size_t start = 0;
    size_t n = 0;

    if (methods == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i <= value.n; i++) {
        if (i < value.n && value.p[i] != ',' && value.p[i] != ';') {
            continue;
        }
        if (i > start) {
            if (n == REQUEST_MAX_METHODS) {
                return command_refuse(in, 400, REQUEST_INVALID, "methods: more than %d",
                                      REQUEST_MAX_METHODS);
            }
            methods[n++] = span_make(value.p + start, i - start);
        }
        start = i + 1;
    }
    request->methods = methods;
    request->n_methods = n;
    return 0;
}

static int take_parameter(const Reading *in, Span name, Span value)
{
    CommandRequest *request = in->request;
    int64_t limit;
    int r;

    if (span_equals(name, SPAN("waitMs")) || span_equals(name, SPAN("wait_ms"))) {
        return take_number(in, "waitMs", value, LIMIT_TIME_MS, &request->wait_ms);
    }
    if (span_equals(name, SPAN("olderMs")) || span_equals(name, SPAN("older_ms"))) {
        return take_number(in, "olderMs", value, LIMIT_TIME_MS, &request->older_ms);
    }
    if (span_equals(name, SPAN("leaseMs")) || span_equals(name, SPAN("lease_ms"))) {
        return take_number(in, "leaseMs", value, LIMIT_COMMAND_LEASE_MAX_MS, &request->lease_ms);
    }
    if (span_equals(name, SPAN("limit"))) {
        r = take_number(in, "limit", value, LIMIT_QUEUE_LIST_MAX, &limit);
        request->limit = r == 0 ? (size_t)limit : 0;
        return r;
    }
    if (span_equals(name, SPAN("jobId")) || span_equals(name, SPAN("job_id"))) {
        return command_take_job(in, value, "jobId");
    }
    /* What a JSON-RPC request that was fetched is called: its id. */
    if (request->verb == COMMAND_HEARTBEAT &&
        (span_equals(name, SPAN("rpcId")) || span_equals(name, SPAN("rpc_id")) ||
         span_equals(name, SPAN("id")))) {
        return command_take_job(in, value, "rpcId");
    }
    if (span_equals(name, SPAN("methods"))) {
        return take_methods(in, value);
    }
    if (span_equals(name, SPAN("worker")) || span_equals(name, SPAN("agentId"))) {
        request->worker = value;
        return value.n <= LIMIT_QUEUE_NAME_BYTES
                   ? 0
                   : command_refuse(in, 400, REQUEST_INVALID, "worker: longer than %zu bytes",
                                    LIMIT_QUEUE_NAME_BYTES);
    }
    if (span_equals(name, SPAN("state"))) {
        request->has_state = true;
        request->state = value;
    } else if (span_equals(name, SPAN("before"))) {
        request->before = value;
    }
    /* Others are left alone: the real client sends ?force=1 and ?timeout=, which mean nothing. */
    return 0;
}

static int read_query(const Reading *in, Span query)
{
    CommandQuery it = command_query(query);
    Span name;
    Span value;
    int r;

    while ((r = command_query_next(&it, in->arena, &name, &value)) == 0) {
        int taken = take_parameter(in, name, value);

        if (taken != 0) {
            return taken;
        }
    }
    if (r == COMMAND_QUERY_E_MALFORMED) {
        return command_refuse(in, 400, REQUEST_INVALID,
                              "the query is malformed: a %% needs two hex digits, and UTF-8");
    }
    return r < 0 ? err_pass(r) : 0;
}

/* ---- the head ---- */

bool command_etag_matches(Span etags, Span etag)
{
    size_t start = 0;

    for (size_t i = 0; etags.n > 0 && i <= etags.n; i++) {
        Span one;

        if (i < etags.n && etags.p[i] != ',') {
            continue; /* our own tags have no comma in them */
        }
        one = text_trim(span_make(etags.p + start, i - start));
        start = i + 1;
        if (span_starts_with(one, SPAN("W/"))) {
            one = span_make(one.p + 2, one.n - 2);
        }
        if (one.n > 0 && (span_equals(one, SPAN("*")) || span_equals(one, etag))) {
            return true;
        }
    }
    return false;
}

/* The head goes before the answer. */
static int take_etags(const Reading *in, const Http1Head *head)
{
    Span value;

    if (http1_head_find(head, SPAN("if-none-match"), &value) == 0 || value.n == 0) {
        return 0;
    }
    in->request->etags = arena_copy(in->arena, value);
    return in->request->etags.p == NULL ? err_raise(-ENOMEM) : 0;
}

/* A page of another site can make a browser GET and POST here, without an Origin that would tell;
 * browsers say so in this field, and no page can change it. */
static bool is_from_elsewhere(const Http1Head *head)
{
    Span site;

    return http1_head_find(head, SPAN("sec-fetch-site"), &site) > 0 &&
           !span_equals(site, SPAN("same-origin")) && !span_equals(site, SPAN("none"));
}

/* What stands in the path behind its name. */
static int take_rest(const Reading *in, const CommandRoute *route)
{
    Span rest;
    int r = command_query_decode(route->rest, false, in->arena, &rest);

    if (r == COMMAND_QUERY_E_MALFORMED) {
        return command_refuse(in, 400, REQUEST_INVALID,
                              "the path is malformed: a %% needs two hex digits, and UTF-8");
    }
    if (r != 0) {
        return err_fold(r);
    }
    if (route->verb != COMMAND_RPC) {
        return command_take_job(in, rest, "the path");
    }
    in->request->method = rest;
    return command_check_method(in, "the path");
}

int command_read(const CommandRoute *route, const Http1Head *head, Span body, Arena *arena,
                 CommandRequest *ret, CommandRefusal *ret_refusal)
{
    Reading in = {.arena = arena, .request = ret, .refusal = ret_refusal};
    int r = 0;

    *ret = (CommandRequest){.verb = route->verb};
    if (command_has_effect(route->verb) && is_from_elsewhere(head)) {
        return command_refuse(&in, 403, "FORBIDDEN",
                              "Sec-Fetch-Site: not from another site's page");
    }
    r = take_etags(&in, head);
    if (r == 0 && route->rest.n > 0) {
        r = take_rest(&in, route);
    }
    if (r == 0) {
        r = read_query(&in, head->query);
    }
    /* A sign of life may say all in its URL. */
    if (r == 0 &&
        (command_needs_json(route->verb) || (route->verb == COMMAND_HEARTBEAT && body.n > 0))) {
        r = command_read_body(&in, head, body);
    }
    if (r == 0 && route->verb == COMMAND_HEARTBEAT && ret->job.n == 0) {
        r = command_refuse(&in, 400, REQUEST_INVALID,
                           "rpcId: expected the id that pending_request gave, or jobId the job's");
    }
    if (r == 0 && route->verb == COMMAND_RESULT && ret->job.n == 0) {
        r = command_refuse(&in, 400, REQUEST_INVALID, "jobId: it is missing");
    }
    return r;
}
