/* What bodies say: members in the spellings of the real clients. */
#include "dialect/command/request_impl.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "json/look.h"

/* ---- members of a body ---- */

/* The first of the spellings (NULL-terminated) that is there, and is not null; NULL: none is. */
static const char *member(JsonValue object, const char *const *names, JsonValue *ret)
{
    for (; *names != NULL; names++) {
        if (json_get(object, span_from_str(*names), ret) && json_kind(*ret) != JSON_NULL) {
            return *names;
        }
    }
    return NULL;
}

/* A whole number of at least min; a string of digits is one, too. Nothing there: *ret stays. */
static int take_int(const Reading *in, JsonValue body, const char *const *names, int64_t min,
                    int64_t max, int64_t *ret)
{
    JsonValue value;
    const char *name = member(body, names, &value);
    Span text;
    int64_t n;

    if (name == NULL) {
        return 0;
    }
    if (!(json_int64(value, &n) == 0 ||
          (json_string_plain(value, &text) && text_parse_i64(text, &n) == 0))) {
        return command_refuse(in, 400, REQUEST_INVALID, "%s: expected a whole number", name);
    }
    if (n < min || n > max) {
        return command_refuse(in, 400, REQUEST_INVALID,
                              "%s: expected a number from %" PRId64 " to %" PRId64 ", got %" PRId64,
                              name, min, max, n);
    }
    *ret = n;
    return 0;
}

static int take_text(const Reading *in, JsonValue body, const char *const *names, size_t max,
                     Span *ret)
{
    JsonValue value;
    const char *name = member(body, names, &value);
    int r;

    if (name == NULL) {
        return 0;
    }
    if (json_kind(value) != JSON_STRING) {
        return command_refuse(in, 400, REQUEST_INVALID, "%s: expected a string, got %s", name,
                              json_kind_name(json_kind(value)));
    }
    r = json_string_exact(value, in->arena, ret);
    if (r != 0) {
        return err_fold(r);
    }
    if (ret->n > max) {
        return command_refuse(in, 400, REQUEST_INVALID, "%s: longer than %zu bytes", name, max);
    }
    return 0;
}

#define NAMES(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

static int take_bool(const Reading *in, JsonValue body, const char *const *names, bool *ret)
{
    JsonValue value;
    const char *name = member(body, names, &value);

    return name == NULL || json_bool(value, ret)
               ? 0
               : command_refuse(in, 400, REQUEST_INVALID, "%s: expected true or false", name);
}

/* timeoutSec counts seconds, and may have a fraction; timeoutMs milliseconds. */
static int take_timeout(const Reading *in, JsonValue body)
{
    JsonValue value;
    double seconds;
    int r = take_int(in, body, NAMES("timeoutMs", "timeout_ms"), 0, LIMIT_TIME_MS,
                     &in->request->timeout_ms);

    const char *name = r == 0 ? member(body, NAMES("timeoutSec", "timeout_sec"), &value) : NULL;

    if (name == NULL) {
        return r;
    }
    if (json_double(value, &seconds) != 0 || !(seconds >= 0) ||
        seconds > (double)LIMIT_TIME_MS / 1000) {
        return command_refuse(in, 400, REQUEST_INVALID, "%s: expected a number of seconds", name);
    }
    in->request->timeout_ms = (int64_t)(seconds * 1000);
    return 0;
}

/* An id of JSON-RPC: a string, a number; null counts as none. */
static int take_rpc_id(const Reading *in, JsonValue body)
{
    JsonValue id;

    if (!json_get(body, SPAN("id"), &id)) {
        return 0;
    }
    if (json_kind(id) != JSON_STRING && json_kind(id) != JSON_NUMBER &&
        json_kind(id) != JSON_NULL) {
        return command_refuse(in, 400, "INVALID_JSONRPC",
                              "id: expected a string, a number or null");
    }
    if (json_span(id).n > LIMIT_QUEUE_NAME_BYTES) {
        return command_refuse(in, 400, "INVALID_JSONRPC", "id: too long");
    }
    in->request->rpc_id = json_kind(id) == JSON_NULL ? SPAN_NULL : json_span(id);
    return 0;
}

/* Of a body that cannot be read: it is answered with its id all the same, if that can be found. */
static void look_for_rpc_id(const Reading *in, Span body)
{
    JsonLook look;
    JsonDoc doc;
    Span id;

    json_look_init(&look);
    json_look_feed(&look, body);
    id = json_look_id(&look);
    if (id.n == 0 || id.n > LIMIT_QUEUE_NAME_BYTES) {
        return;
    }
    id = arena_copy(in->arena, id);
    if (id.p != NULL && json_parse(&doc, in->arena, id.p, id.n, NULL, NULL) == 0 &&
        (json_kind(json_root(&doc)) == JSON_STRING || json_kind(json_root(&doc)) == JSON_NUMBER)) {
        in->request->rpc_id = id;
    }
}

int command_check_method(const Reading *in, const char *field)
{
    Span method = in->request->method;

    if (method.n == 0 || method.n > LIMIT_QUEUE_NAME_BYTES) {
        return command_refuse(in, 400, "E_NO_METHOD", "%s: it is empty or too long", field);
    }
    for (size_t i = 0; i < method.n; i++) {
        if ((unsigned char)method.p[i] < 0x20 || method.p[i] == 0x7f) {
            return command_refuse(in, 400, REQUEST_INVALID,
                                  "%s: it has a control character at byte %zu", field, i);
        }
    }
    return 0;
}

/* How much of a name is said. */
static int shown(Span name)
{
    return (int)(name.n < 64 ? name.n : 64);
}

static int take_method(const Reading *in, JsonValue body)
{
    CommandRequest *request = in->request;
    Span named = request->method; /* by the path */
    JsonValue value;
    int r;

    if (!json_get(body, SPAN("method"), &value)) {
        return request->method.n > 0
                   ? 0
                   : command_refuse(in, 400, "E_NO_METHOD", "method: it is missing");
    }
    if (json_kind(value) != JSON_STRING) {
        return command_refuse(in, 400, "INVALID_JSONRPC", "method: expected a string, got %s",
                              json_kind_name(json_kind(value)));
    }
    r = json_string_exact(value, in->arena, &request->method);
    if (r != 0) {
        return err_fold(r);
    }
    r = command_check_method(in, "method");
    if (r == 0 && named.n > 0 && !span_equals(named, request->method)) {
        return command_refuse(in, 400, "INVALID_JSONRPC",
                              "method: the path names '%.*s', the body '%.*s'", shown(named),
                              named.p, shown(request->method), request->method.p);
    }
    return r;
}

/* An array has no names: which tool would know what they mean? */
static int take_params(const Reading *in, JsonValue body)
{
    JsonValue params;

    if (!json_get(body, SPAN("params"), &params) || json_kind(params) == JSON_NULL) {
        return 0;
    }
    if (json_kind(params) != JSON_OBJECT) {
        return command_refuse(in, 400, REQUEST_INVALID, "params: expected an object, got %s",
                              json_kind_name(json_kind(params)));
    }
    in->request->params = params;
    return 0;
}

/* ---- bodies ---- */

/* Has it no member but these? Most have not, and need not be looked through for each of the others
 * in each of its spellings. */
static bool has_only(JsonValue body, const char *const *names)
{
    size_t n = 0;
    JsonValue value;

    for (; *names != NULL; names++) {
        n += json_get(body, span_from_str(*names), &value);
    }
    return n == json_count(body);
}

static int read_enqueue(const Reading *in, JsonValue body)
{
    CommandRequest *request = in->request;
    int r = take_rpc_id(in, body);

    request->beside = body;
    if (r == 0) {
        r = take_method(in, body);
    }
    if (r == 0) {
        r = take_params(in, body);
    }
    if (r == 0 && has_only(body, NAMES("jsonrpc", "id", "method", "params"))) {
        return 0;
    }
    if (r == 0) {
        r = take_int(in, body, NAMES("priority"), -1000000, 1000000, &request->priority);
    }
    if (r == 0) {
        r = take_timeout(in, body);
    }
    if (r == 0) {
        r = take_int(in, body, NAMES("delayMs", "delay_ms"), 0, LIMIT_TIME_MS, &request->delay_ms);
    }
    if (r == 0) {
        r = take_int(in, body, NAMES("maxAttempts", "max_attempts"), 1, 1000,
                     &request->max_attempts);
    }
    if (r == 0) {
        r = take_int(in, body, NAMES("waitMs", "wait_ms"), 0, LIMIT_TIME_MS, &request->wait_ms);
    }
    if (r == 0) {
        r = take_bool(in, body, NAMES("idempotent"), &request->is_idempotent);
    }
    if (r == 0) {
        r = take_text(in, body, NAMES("idempotencyKey", "idempotency_key"), LIMIT_QUEUE_NAME_BYTES,
                      &request->idempotency_key);
    }
    return r;
}

/* /rpc takes JSON-RPC 2.0, also without its version; /rpc/{method} also the params alone, which may
 * have a member `method` of their own: it is the path that counts. */
static int read_rpc(const Reading *in, JsonValue body)
{
    CommandRequest *request = in->request;
    JsonValue value;
    bool is_versioned = json_get(body, SPAN("jsonrpc"), &value);
    int r;

    if (request->method.n > 0 && !is_versioned && !json_get(body, SPAN("params"), &value)) {
        request->params = body;
        return 0;
    }
    r = take_rpc_id(in, body);
    if (r == 0 && is_versioned && json_get(body, SPAN("jsonrpc"), &value) &&
        !json_string_equals(value, SPAN("2.0"))) {
        return command_refuse(in, 400, "INVALID_JSONRPC", "jsonrpc: expected \"2.0\"");
    }
    request->is_notification = is_versioned && !json_get(body, SPAN("id"), &value);
    return r != 0 ? r : read_enqueue(in, body);
}

/* `id` of a posted answer or a sign of life is what was handed out; the other names may say it,
 * too. It binds an answer to its lease: without that, whoever was thought dead could answer for its
 * successor. */
static int take_handed_id(const Reading *in, JsonValue body)
{
    static const char *const names[] = {"id", "rpcId", "rpc_id", "jobId", "job_id"};
    CommandRequest *request = in->request;
    int64_t fence = -1;
    int r = 0;

    for (size_t i = 0; i < TW_ARRAY_SIZE(names) && !request->has_fence && r == 0; i++) {
        JsonValue value;
        Span text;

        if (!json_get(body, span_from_str(names[i]), &value) || json_kind(value) != JSON_STRING) {
            continue;
        }
        r = json_string(value, in->arena, &text);
        r = r != 0 ? err_fold(r) : command_take_job(in, text, names[i]);
    }
    if (r == 0) {
        r = take_int(in, body, NAMES("fence"), 0, INT64_MAX, &fence);
    }
    if (r == 0 && fence >= 0 && request->job.n > 0) {
        request->has_fence = true;
        request->fence = (uint64_t)fence;
    }
    return r;
}

static int read_posted(const Reading *in, JsonValue body)
{
    CommandRequest *request = in->request;
    JsonValue version;
    int r = take_handed_id(in, body);

    if (r == 0 && !request->has_fence) {
        return command_refuse(in, 400, REQUEST_INVALID,
                              "id: expected the id that pending_request gave, with its lease");
    }
    if (r != 0) {
        return r;
    }
    request->is_error =
        json_get(body, SPAN("error"), &request->result) && json_kind(request->result) != JSON_NULL;
    if (!request->is_error && !json_get(body, SPAN("result"), &request->result)) {
        return command_refuse(in, 400, "INVALID_JSONRPC",
                              "result: there is neither a result nor an error");
    }
    if (json_get(body, SPAN("jsonrpc"), &version)) {
        request->result = body; /* whoever reads it knows what stands around a payload */
    }
    return 0;
}

static int read_beat(const Reading *in, JsonValue body)
{
    int r = take_handed_id(in, body);

    return r != 0 ? r
                  : take_int(in, body, NAMES("leaseMs", "lease_ms"), 1, LIMIT_COMMAND_LEASE_MAX_MS,
                             &in->request->lease_ms);
}

static bool is_json_type(const Http1Head *head)
{
    Span type;

    if (http1_head_find(head, SPAN("content-type"), &type) != 1) {
        return false;
    }
    for (size_t i = 0; i < type.n; i++) {
        if (type.p[i] == ';') {
            type.n = i;
            break;
        }
    }
    return text_equals_nocase(text_trim(type), SPAN("application/json"));
}

int command_read_body(const Reading *in, const Http1Head *head, Span body)
{
    Diag diag = DIAG_NULL;
    JsonDoc doc;
    JsonValue root;
    int r;

    if (!is_json_type(head)) {
        return command_refuse(in, 415, "UNSUPPORTED_MEDIA_TYPE",
                              "Content-Type: expected application/json");
    }
    if (body.n == 0 && in->request->method.n > 0) {
        return 0; /* the path says it all */
    }
    r = json_parse(&doc, in->arena, body.p, body.n, NULL, &diag);
    if (r < 0) {
        return err_pass(r);
    }
    if (r != 0) {
        look_for_rpc_id(in, body);
        return command_refuse(in, 400, "INVALID_JSON", "%s at byte %zu", diag.message, diag.offset);
    }
    root = json_root(&doc);
    if (json_kind(root) != JSON_OBJECT) {
        return command_refuse(in, 400, "INVALID_JSONRPC", "expected one object, got %s",
                              json_kind_name(json_kind(root)));
    }
    switch (in->request->verb) {
    case COMMAND_ENQUEUE:
        return read_enqueue(in, root);
    case COMMAND_RPC:
        return read_rpc(in, root);
    case COMMAND_POST_RESULT:
        return read_posted(in, root);
    case COMMAND_HEARTBEAT:
        return read_beat(in, root);
    default:
        return 0;
    }
}
