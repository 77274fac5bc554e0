/* How long the peer of a connection (http_connection.c) may take for what. */
#include "io/http_impl.h"

#include "base/alloc.h"
#include "base/limits.h"

/* After so long a silence memory is given back. */
#define CONNECTION_TRIM_MS 1000

/* What the peer is to be timed for. */
static HttpPhase connection_phase(const HttpConnection *c)
{
    if (c->is_lingering) {
        return HTTP_PHASE_LINGER;
    }
    switch (c->input) {
    case HTTP_INPUT_HEAD:
        /* While it takes its answers it is timed for that. */
        if (c->has_waiting || http_connection_pending(c) > 0) {
            return HTTP_PHASE_WORK;
        }
        return http_connection_unread(c) > 0 ? HTTP_PHASE_HEAD : HTTP_PHASE_IDLE;
    case HTTP_INPUT_BODY:
    case HTTP_INPUT_DROP:
        return HTTP_PHASE_BODY;
    case HTTP_INPUT_DONE:
    case HTTP_INPUT_OVER:
    default:
        return HTTP_PHASE_WORK;
    }
}

/* How long a phase in which the peer sends may last, if it is never silent. */
static int64_t connection_phase_most(const HttpConnection *c)
{
    int64_t slow_ms = c->server->limits.slow_ms;

    return c->phase == HTTP_PHASE_LINGER && slow_ms > LIMIT_HTTP_LINGER_MAX_MS
               ? LIMIT_HTTP_LINGER_MAX_MS
               : slow_ms;
}

void http_connection_set_phase(HttpConnection *c)
{
    HttpPhase phase = connection_phase(c);
    int64_t now_ms = http_connection_now(c);
    bool is_owing = http_connection_pending(c) > 0 && !http1_writer_is_streaming(&c->writer);

    if (c->phase != phase) {
        c->phase = phase;
        c->phase_ms = now_ms;
        c->body_end_ms = now_ms + connection_phase_most(c);
    }
    if (c->is_owing != is_owing) {
        c->is_owing = is_owing;
        c->take_end_ms = now_ms + c->server->limits.slow_ms;
    }
}

/* Never ahead by more than slow_ms, so that no hurry pays for idling later. */
void http_connection_earn(const HttpConnection *c, int64_t *end_ms, size_t n)
{
    const IoHttpLimits *limits = &c->server->limits;
    int64_t most_ms = http_connection_now(c) + limits->slow_ms;
    uint64_t earned_ms;

    if (__builtin_mul_overflow((uint64_t)n, 1000, &earned_ms)) {
        earned_ms = UINT64_MAX;
    }
    earned_ms /= limits->slow_bytes_per_s;
    *end_ms = *end_ms >= most_ms || earned_ms >= (uint64_t)(most_ms - *end_ms)
                  ? most_ms
                  : *end_ms + (int64_t)earned_ms;
}

/* How long a phase may last; INT64_MAX: for ever. */
static int64_t connection_phase_limit(const HttpConnection *c)
{
    const IoHttpLimits *limits = &c->server->limits;

    switch (c->phase) {
    case HTTP_PHASE_IDLE:
        return limits->idle_ms;
    case HTTP_PHASE_HEAD:
        return limits->head_ms;
    case HTTP_PHASE_BODY:
        return limits->body_ms;
    case HTTP_PHASE_LINGER:
        return limits->body_ms < LIMIT_HTTP_LINGER_MS ? limits->body_ms : LIMIT_HTTP_LINGER_MS;
    case HTTP_PHASE_WORK:
    default:
        return INT64_MAX;
    }
}

static int64_t connection_phase_due(const HttpConnection *c)
{
    int64_t limit_ms = connection_phase_limit(c);
    int64_t due_ms = limit_ms == INT64_MAX ? INT64_MAX : c->phase_ms + limit_ms;

    bool is_sending = c->phase == HTTP_PHASE_BODY || c->phase == HTTP_PHASE_LINGER;

    return is_sending && c->body_end_ms < due_ms ? c->body_end_ms : due_ms;
}

static int64_t connection_stall_due(const HttpConnection *c)
{
    int64_t due_ms;

    if (http_connection_pending(c) == 0) {
        return INT64_MAX;
    }
    due_ms = c->written_ms + c->server->limits.stall_ms;
    return c->is_owing && c->take_end_ms < due_ms ? c->take_end_ms : due_ms;
}

int64_t http_connection_due(const HttpConnection *c)
{
    int64_t due_ms = connection_phase_due(c);
    int64_t stall_ms = connection_stall_due(c);
    int64_t trim_ms = c->has_memory || c->is_paused ? c->active_ms + CONNECTION_TRIM_MS : INT64_MAX;

    due_ms = stall_ms < due_ms ? stall_ms : due_ms;
    due_ms = c->has_ended && c->x.is_open && c->look_ms < due_ms ? c->look_ms : due_ms;
    return trim_ms < due_ms ? trim_ms : due_ms;
}

/* Nothing has happened for a while. */
static void connection_trim(HttpConnection *c, int64_t now_ms)
{
    if (c->is_paused && io_stream_has_hung_up(c->stream)) {
        http_connection_close(c);
        return;
    }
    c->active_ms = now_ms;
    http1_reader_trim(&c->reader);
    if (outq_keeps_much(&c->writer.out)) {
        io_http_server_freed(c->server);
    }
    if (http_connection_pending(c) == 0) {
        size_t max_pending = c->writer.out.max_pending;

        /* All of it: most of those who are silent now stay so, and they are many. */
        outq_deinit(&c->writer.out);
        outq_init(&c->writer.out, max_pending);
        c->has_memory = false;
    }
}

void http_connection_expire(HttpConnection *c, int64_t now_ms)
{
    if (c->has_ended && c->x.is_open && now_ms >= c->look_ms) {
        http_server_mark(c->server, c);
    }
    if (now_ms >= connection_stall_due(c)) {
        http_connection_close(c);
        return;
    }
    if (now_ms >= connection_phase_due(c)) {
        switch (c->phase) {
        case HTTP_PHASE_HEAD:
            http_connection_refuse(c, 408, "the head of the request took too long");
            return;
        case HTTP_PHASE_BODY:
            http_connection_refuse(c, 408, "the body of the request took too long");
            return;
        default:
            http_connection_close(c);
            return;
        }
    }
    if ((c->has_memory || c->is_paused) && now_ms >= c->active_ms + CONNECTION_TRIM_MS) {
        connection_trim(c, now_ms);
    }
}

/* ---- the system's memory ---- */

void io_http_server_freed(IoHttpServer *server)
{
    int64_t now_ms = io_loop_now_ms(server->loop);
    int64_t last_ms;

    if (server->is_dead) {
        return;
    }
    server->freed_ms = server->freed_ms == INT64_MAX ? now_ms : server->freed_ms;
    last_ms = server->freed_ms + LIMIT_HTTP_TRIM_MAX_MS;
    server->trim_ms = now_ms + LIMIT_HTTP_TRIM_MS;
    server->trim_ms = server->trim_ms < last_ms ? server->trim_ms : last_ms;
    http_server_expect(server, server->trim_ms);
}

void http_server_trim(IoHttpServer *server, int64_t now_ms)
{
    if (now_ms >= server->trim_ms) {
        server->freed_ms = INT64_MAX;
        server->trim_ms = INT64_MAX;
        mem_trim();
    }
}
