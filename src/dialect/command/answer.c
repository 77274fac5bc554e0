#include "dialect/command/answer.h"

#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/rfc3339.h"
#include "call/record.h"
#include "json/json.h"
#include "json/writer.h"

/* What reading a result back takes: its index, 16 bytes for each value. */
#define ANSWER_ARENA_BYTES ((size_t)32 * LIMIT_QUEUE_BODY_BYTES)

#define US_PER_MS 1000
#define US_PER_S  1000000

static void write_text(JsonWriter *w, const char *key, Span text)
{
    json_write_key(w, span_from_str(key));
    json_write_exact(w, text);
}

/* As text, or null where there is none: the row's way. */
static void write_text_or_null(JsonWriter *w, const char *key, Span text)
{
    json_write_key(w, span_from_str(key));
    if (text.n > 0) {
        json_write_exact(w, text);
    } else {
        json_write_null(w);
    }
}

/* JSON as it came, or null where there is none. */
static void write_raw_or_null(JsonWriter *w, const char *key, Span json)
{
    json_write_key(w, span_from_str(key));
    json_write_raw(w, json.n > 0 ? json : SPAN("null"));
}

static void write_int(JsonWriter *w, const char *key, int64_t value)
{
    json_write_key(w, span_from_str(key));
    json_write_int(w, value);
}

/* Null where there is none. */
static void write_port(JsonWriter *w, const char *key, unsigned port)
{
    json_write_key(w, span_from_str(key));
    if (port > 0) {
        json_write_uint(w, port);
    } else {
        json_write_null(w);
    }
}

static void write_ok(JsonWriter *w, bool is_ok)
{
    json_write_key(w, SPAN("ok"));
    json_write_bool(w, is_ok);
}

static void write_rpc_start(JsonWriter *w, Span rpc_id)
{
    json_write_object(w);
    write_text(w, "jsonrpc", SPAN("2.0"));
    write_raw_or_null(w, "id", rpc_id);
}

int command_write_enqueued(const CommandJob *job, bool is_known, Bytes *out)
{
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    write_ok(&w, true);
    write_text(&w, "jobId", job->id);
    write_text(&w, "state", span_from_str(job->state));
    json_write_key(&w, SPAN("known"));
    json_write_bool(&w, is_known);
    write_int(&w, "serverPid", job->server_pid);
    write_port(&w, "serverPort", job->server_port);
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

int command_write_queued(const CommandJob *job, Bytes *out)
{
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    write_rpc_start(&w, job->rpc_id);
    json_write_key(&w, SPAN("result"));
    json_write_object(&w);
    write_ok(&w, true);
    json_write_key(&w, SPAN("queued"));
    json_write_bool(&w, true);
    write_text(&w, "jobId", job->id);
    json_write_end_object(&w);
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

/* ---- the payload ---- */

bool command_is_gone(const CommandJob *job)
{
    return job->is_dropped && job->result == NULL &&
           span_equals(span_from_str(job->state), SPAN("SUCCEEDED"));
}

/* Refused before its tool began: by the schema, say. */
static bool is_refused(const CallResult *result)
{
    return result != NULL && result->kind == CALL_RESULT_ERROR &&
           (result->error == CALL_ERROR_INVALID_ARGUMENTS ||
            result->error == CALL_ERROR_UNKNOWN_TOOL || result->error == CALL_ERROR_RATE ||
            result->error == CALL_ERROR_BUSY || result->error == CALL_ERROR_UNAVAILABLE);
}

/* From its enqueueing to its last start, and to its end. */
static EnvelopeTimes job_times(const CommandJob *job, const Envelope *envelope)
{
    EnvelopeTimes times = {.run_us = is_refused(job->result) ? 0 : envelope->run_us};
    int64_t end_us = job->finished_us > 0 ? job->finished_us : job->enqueued_us;

    times.total_us = end_us > job->enqueued_us ? end_us - job->enqueued_us : 0;
    /* One that never started has only waited. */
    times.queue_us = job->started_us > 0 ? job->started_us - job->enqueued_us : times.total_us;
    if (times.queue_us < 0) {
        times.queue_us = 0;
    }
    if (times.queue_us > times.total_us) {
        times.queue_us = times.total_us;
    }
    return times;
}

/* What is said of a job of whose end nothing was recorded but its row. Of one that answered, its
 * row does not say what: a caller must not take it for an empty answer. */
static void envelope_of_row(const CommandJob *job, Envelope *ret)
{
    if (command_is_gone(job)) {
        *ret = (Envelope){.code = span_from_str(envelope_code_name(ENVELOPE_RESULT_DROPPED)),
                          .run_us = -1};
        return;
    }
    *ret = (Envelope){.is_ok = span_equals(job->code, SPAN("OK")),
                      .code = job->code.n > 0 ? job->code : span_from_str(job->state),
                      .message = job->message,
                      .run_us = -1};
}

static int write_payload(const CommandJob *job, Bytes *out)
{
    Arena arena;
    Envelope envelope;
    EnvelopeTimes times;
    int r = 0;

    arena_init(&arena, ANSWER_ARENA_BYTES);
    if (job->result != NULL) {
        r = envelope_of_result(job->result, &arena, &envelope);
    } else {
        envelope_of_row(job, &envelope);
    }
    if (r == 0) {
        if (span_equals(envelope.context, SPAN("{}"))) {
            envelope.context = SPAN_NULL; /* whoever made it did not know the method */
        }
        times = job_times(job, &envelope);
        r = envelope_write(&envelope, &times, job->method, out);
    }
    arena_deinit(&arena);
    return r;
}

int command_write_payload(const CommandJob *job, Bytes *out)
{
    return write_payload(job, out);
}

/* What the router puts around a payload: {"jsonrpc","id","method","jobId","result":payload}. */
static void write_routed(JsonWriter *w, const CommandJob *job, Span payload)
{
    write_rpc_start(w, job->rpc_id);
    write_text(w, "method", job->method);
    if (job->id.n > 0) {
        write_text(w, "jobId", job->id);
    }
    json_write_key(w, SPAN("result"));
    json_write_raw(w, payload);
    json_write_end_object(w);
}

static int write_reply(const CommandJob *job, Span payload, Bytes *out)
{
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    write_rpc_start(&w, job->rpc_id);
    json_write_key(&w, SPAN("result"));
    write_routed(&w, job, payload);
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

int command_write_reply(const CommandJob *job, Bytes *out)
{
    Bytes payload;
    int r;

    bytes_init(&payload, out->max_bytes);
    r = write_payload(job, &payload);
    if (r == 0) {
        r = write_reply(job, bytes_span(&payload), out);
    }
    bytes_deinit(&payload);
    return r;
}

/* ---- rows ---- */

static void write_seconds(JsonWriter *w, const char *key, int64_t us)
{
    json_write_key(w, span_from_str(key));
    if (us > 0) {
        json_write_int(w, us / US_PER_S);
    } else {
        json_write_null(w);
    }
}

static void write_moment(JsonWriter *w, const char *key, int64_t us)
{
    char text[RFC3339_SIZE];

    json_write_key(w, span_from_str(key));
    if (us > 0) {
        rfc3339_format(us / US_PER_MS, text);
        json_write_string(w, span_from_str(text));
    } else {
        json_write_null(w);
    }
}

/* How it ended: result_json, the whole reply as text, and result, the reply's `result`. Of both the
 * payload is at result.result, counted from the reply or from the row. */
static int write_row_result(JsonWriter *w, const CommandJob *job)
{
    Bytes payload;
    Bytes reply;
    int r = 0;

    bytes_init(&payload, w->out->max_bytes);
    bytes_init(&reply, w->out->max_bytes);
    if (job->is_over) {
        r = write_payload(job, &payload);
    }
    if (job->is_over && r == 0) {
        r = write_reply(job, bytes_span(&payload), &reply);
    }
    write_text_or_null(w, "result_json", bytes_span(&reply));
    json_write_key(w, SPAN("result"));
    if (job->is_over && r == 0) {
        write_routed(w, job, bytes_span(&payload));
    } else {
        json_write_null(w);
    }
    bytes_deinit(&payload);
    bytes_deinit(&reply);
    return r;
}

static int write_row(JsonWriter *w, const CommandJob *job, bool with_bodies)
{
    int r = 0;

    json_write_object(w);
    write_ok(w, true);
    write_text(w, "jobId", job->id);
    write_text(w, "job_id", job->id);
    write_text(w, "method", job->method);
    write_text(w, "state", span_from_str(job->state));
    if (with_bodies) {
        write_text_or_null(w, "params_json", job->params);
    }
    write_raw_or_null(w, "rpc_id", job->rpc_id);
    write_text_or_null(w, "idempotency_key", job->idempotency_key);
    write_text_or_null(w, "pool", job->pool);
    write_text_or_null(w, "worker", job->worker);
    write_int(w, "priority", job->priority);
    write_seconds(w, "enqueue_ts", job->enqueued_us);
    write_seconds(w, "start_ts", job->started_us);
    write_seconds(w, "heartbeat_ts", job->beat_us);
    write_seconds(w, "finish_ts", job->finished_us);
    write_moment(w, "enqueuedAt", job->enqueued_us);
    write_moment(w, "startedAt", job->started_us);
    write_moment(w, "finishedAt", job->finished_us);
    json_write_key(w, SPAN("timeout_sec"));
    json_write_double(w, (double)job->timeout_ms / 1000);
    write_int(w, "attempts", job->n_attempts);
    write_int(w, "max_attempts", job->max_attempts);
    write_port(w, "target_port", job->server_port);
    write_text_or_null(w, "error_code", span_equals(job->code, SPAN("OK")) ? SPAN_NULL : job->code);
    write_text_or_null(w, "error_msg",
                       span_equals(job->code, SPAN("OK")) ? SPAN_NULL : job->message);
    if (with_bodies) {
        r = write_row_result(w, job);
    }
    json_write_end_object(w);
    return r;
}

int command_write_job(const CommandJob *job, bool with_bodies, Bytes *out)
{
    JsonWriter w;
    int written;
    int r;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    r = write_row(&w, job, with_bodies);
    written = json_writer_finish(&w);
    return r != 0 ? r : written;
}

int command_write_jobs(const CommandJob *jobs, size_t n, Span next, Bytes *out)
{
    static const char *const names[] = {"jobs", "items"}; /* ours, and the real server's */
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    write_ok(&w, true);
    for (size_t k = 0; k < TW_ARRAY_SIZE(names); k++) {
        json_write_key(&w, span_from_str(names[k]));
        json_write_array(&w);
        for (size_t i = 0; i < n; i++) {
            (void)write_row(&w, &jobs[i], false); /* what fails is the writer's */
        }
        json_write_end_array(&w);
    }
    write_text_or_null(&w, "next", next);
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

int command_write_purged(uint64_t n, Bytes *out)
{
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    write_ok(&w, true);
    json_write_key(&w, SPAN("purged"));
    json_write_uint(&w, n);
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

int command_write_done(const CommandJob *job, int64_t lease_ms, Bytes *out)
{
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    write_ok(&w, true);
    write_text(&w, "jobId", job->id);
    write_text(&w, "state", span_from_str(job->state));
    if (lease_ms > 0) {
        write_int(&w, "leaseMs", lease_ms);
    }
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

/* "ID.FENCE". Not by snprintf: every job that is fetched has one, and that took as long as the rest
 * of its answer. */
static Span handed_id(Span id, uint64_t fence, char *text, size_t size)
{
    char digits[20];
    size_t at = sizeof(digits);
    size_t n = id.n;

    do {
        digits[--at] = (char)('0' + fence % 10);
        fence /= 10;
    } while (fence > 0);
    if (n > size - sizeof(digits) - 1) {
        n = size - sizeof(digits) - 1;
    }
    if (n > 0) {
        memcpy(text, id.p, n);
    }
    text[n++] = '.';
    memcpy(text + n, digits + at, sizeof(digits) - at);
    return span_make(text, n + sizeof(digits) - at);
}

int command_write_pending(const CommandJob *job, uint64_t fence, int64_t lease_ms, Bytes *out)
{
    char id[160];
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    write_text(&w, "jsonrpc", SPAN("2.0"));
    write_text(&w, "id", handed_id(job->id, fence, id, sizeof(id)));
    write_text(&w, "method", job->method);
    json_write_key(&w, SPAN("params"));
    json_write_raw(&w, job->params.n > 0 ? job->params : SPAN("{}"));
    write_text(&w, "jobId", job->id);
    write_int(&w, "leaseMs", lease_ms);
    write_int(&w, "attempt", job->n_attempts);
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

/* ---- refusals ---- */

/* What JSON-RPC itself has a number for; 0: nothing. */
static int rpc_code(const char *code)
{
    Span name = span_from_str(code);

    return span_equals(name, SPAN("INVALID_JSON"))      ? -32700
           : span_equals(name, SPAN("INVALID_JSONRPC")) ? -32600
           : span_equals(name, SPAN("E_NO_METHOD"))     ? -32600
                                                        : 0;
}

int command_write_refusal(const char *code, Span message, Span method, Span rpc_id,
                          Span next_actions, bool as_rpc, Bytes *out)
{
    Envelope envelope = {.code = span_from_str(code),
                         .message = message,
                         .next_actions = next_actions,
                         .run_us = -1};
    EnvelopeTimes times = {.run_us = -1};
    Bytes payload;
    JsonWriter w;
    int r;

    if (!as_rpc) {
        return envelope_write(&envelope, &times, method, out);
    }
    bytes_init(&payload, out->max_bytes);
    r = envelope_write(&envelope, &times, method, &payload);
    if (r == 0) {
        json_writer_init(&w, out, JSON_STYLE_COMPACT);
        write_rpc_start(&w, rpc_id);
        if (rpc_code(code) != 0) {
            json_write_key(&w, SPAN("error"));
            json_write_object(&w);
            write_int(&w, "code", rpc_code(code));
            write_text(&w, "message", message);
            json_write_key(&w, SPAN("data"));
            json_write_raw(&w, bytes_span(&payload));
            json_write_end_object(&w);
        } else {
            json_write_key(&w, SPAN("result"));
            write_rpc_start(&w, rpc_id);
            write_text(&w, "method", method);
            json_write_key(&w, SPAN("result"));
            json_write_raw(&w, bytes_span(&payload));
            json_write_end_object(&w);
        }
        json_write_end_object(&w);
        r = json_writer_finish(&w);
    }
    bytes_deinit(&payload);
    return r;
}

/* ---- what an application posted ---- */

int command_record_posted(JsonValue answer, bool is_error, Arena *arena, Bytes *out, Span *ret_code,
                          Span *ret_message)
{
    EnvelopeTimes times = {.run_us = -1};
    CallResult result = {.kind = CALL_RESULT_TOOL};
    Envelope envelope;
    Bytes payload;
    int r = envelope_read(answer, arena, &envelope);

    if (r != 0) {
        return r;
    }
    if (is_error) {
        envelope.is_ok = false;
        if (envelope.code.n == 0 || span_equals(envelope.code, SPAN("OK"))) {
            envelope.code = span_from_str(envelope_code_name(ENVELOPE_ERROR));
        }
        if (span_equals(envelope.message, SPAN("OK"))) {
            envelope.message = SPAN_NULL;
        }
    }
    /* What it measured itself is kept; the other times are known when the job is shown. */
    times.total_us = envelope.run_us > 0 ? envelope.run_us : 0;
    bytes_init(&payload, out->max_bytes);
    r = envelope_write(&envelope, &times, SPAN_NULL, &payload);
    if (r == 0) {
        result.structured = bytes_span(&payload);
        result.is_error = !envelope.is_ok;
        r = call_record_write(&result, out);
    }
    bytes_deinit(&payload);
    *ret_code =
        envelope.code.n > 0
            ? envelope.code
            : span_from_str(envelope_code_name(envelope.is_ok ? ENVELOPE_OK : ENVELOPE_ERROR));
    *ret_message = envelope.message;
    return r;
}
