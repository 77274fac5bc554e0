#include "app/addin_session.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/tool_list.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/random.h"
#include "io/error_text.h"
#include "json/writer.h"

/* A connection that is silent for so long gives the memory of a large message back. */
#define SESSION_IDLE_MS 1000

/* Besides the answers of calls that run: one to the message that is being read, and pings. */
#define SESSION_FURTHER_MESSAGES 2

/* ---- what the pipe's session wants to know ---- */

/* Random without asking the system for each message: a keyed hash of a counter cannot be guessed
 * either. */
static void session_uuid(void *context, char ret[UUID_SIZE])
{
    AddinSession *s = context;
    Span counter = span_make((const char *)&s->n_ids, sizeof(s->n_ids));
    uint64_t halves[2];
    uint8_t bytes[16];

    s->n_ids++;
    halves[0] = hash_span(s->seeds[0], counter);
    halves[1] = hash_span(s->seeds[1], counter);
    memcpy(bytes, halves, sizeof(bytes));
    uuid_v4_from(bytes, ret);
}

static int64_t session_unix_ms(void *context)
{
    (void)context;
    return clock_now_ms();
}

static int64_t session_now_ms(void *context)
{
    (void)context;
    return clock_monotonic_ms();
}

/* A hub that has said that it understands more than the document is told that we do, too. */
static void session_write_understood(const AddinSession *s, JsonWriter *w)
{
    if (!pipe_addin_hub_understands(s->pipe, PIPE_TOOL_PROGRESS) && !s->hears_changes) {
        return;
    }
    json_write_key(w, SPAN(PIPE_UNDERSTANDS));
    json_write_raw(w, SPAN("[\"tool_cancel\"]"));
    if (s->pings_in_calls) {
        json_write_key(w, SPAN(PIPE_PINGS_IN_CALLS));
        json_write_bool(w, true);
    }
}

static int session_list(void *context, Bytes *out)
{
    AddinSession *s = context;
    JsonWriter writer;
    int listed;
    int r;

    s->has_listed = true;
    s->is_stale = false;
    s->is_announced = false;
    s->hears_changes = pipe_addin_hub_understands(s->pipe, PIPE_TOOLS_CHANGED);
    json_writer_init(&writer, out, JSON_STYLE_COMPACT);
    json_write_object(&writer);
    json_write_key(&writer, SPAN("name"));
    json_write_string(&writer, span_from_str(s->name));
    session_write_understood(s, &writer);
    json_write_key(&writer, SPAN("tools"));
    listed = tool_list_write(s->router, &writer);
    if (listed == 0 && router_count(s->router, ROUTER_RESOURCE) > 0) {
        json_write_key(&writer, SPAN("resources"));
        listed = tool_list_write_resources(s->router, &writer);
    }
    json_write_end_object(&writer);
    r = json_writer_finish(&writer);
    return listed != 0 ? err_pass(listed) : r;
}

static void session_told(void *context, Span code, Span message)
{
    AddinSession *s = context;

    logsink_write(s->log, LOGSINK_LEVEL_WARN, "addin", "the hub says %.*s: %.*s", (int)code.n,
                  code.n > 0 ? code.p : "", (int)message.n, message.n > 0 ? message.p : "");
}

/* ---- calls ---- */

static bool session_is_open(const AddinSession *s)
{
    return s->state == ADDIN_SESSION_OPEN && !s->is_over;
}

static void session_end_with(AddinSession *s, int r)
{
    addin_session_end(s, span_from_str(io_error_text(-r)));
}

/* Does too much wait for the hub? What the system takes does not wait. */
static bool session_is_behind(AddinSession *s)
{
    if (pipe_link_pending(&s->link) > LIMIT_OUTPUT_PAUSE_BYTES) {
        s->link.sink.flush(s->link.sink.context);
    }
    return pipe_link_pending(&s->link) > LIMIT_OUTPUT_PAUSE_BYTES;
}

static void session_run(AddinSession *s, Call *call)
{
    if (s->is_draining && s->n_to_run == 0) {
        call_fail(call, CALL_ERROR_UNAVAILABLE, SPAN("the add-in is about to end"));
        return;
    }
    s->n_to_run -= s->is_draining ? 1 : 0;
    call->asker = &s->asker.call;
    router_dispatch(s->router, s->quota, call);
}

/* What neither the other connection uses, nor calls that are over and still end. */
static void session_set_room(AddinSession *s)
{
    const AddinSession *other = s->other;
    size_t n_others = (other != NULL && other->pipe != NULL ? pipe_addin_running(other->pipe) : 0) +
                      (s->ending != NULL ? s->ending(s->context) : 0);
    bool is_held = other != NULL && s->is_heir && s->max_running == 1;

    pipe_addin_set_max_running(
        s->pipe, is_held || n_others >= s->max_running ? 0 : s->max_running - n_others);
}

static Call *session_next(AddinSession *s)
{
    session_set_room(s);
    return pipe_addin_next(s->pipe);
}

/* Takes what may run now. The first one in any case if a message was received: its call borrows
 * from it. A call that ends while another one is being started leaves the rest to whoever takes
 * already. */
static void session_take(AddinSession *s, bool has_received)
{
    Call *call;

    if (s->is_taking) {
        return;
    }
    s->is_taking = true;
    while ((has_received || !session_is_behind(s)) && session_is_open(s) &&
           (call = session_next(s)) != NULL) {
        has_received = false;
        session_run(s, call);
    }
    s->is_taking = false;
    if (session_is_open(s) && pipe_addin_error(s->pipe) != 0) {
        session_end_with(s, pipe_addin_error(s->pipe));
    }
}

/* Hears the hub, or does not. */
static void session_set_reading(AddinSession *s)
{
    if (!session_is_open(s) || session_is_behind(s)) {
        pipe_link_pause(&s->link);
    } else {
        pipe_link_resume(&s->link);
    }
}

/* A call has been answered that did not end at once: the next one may run. What the answer made
 * necessary otherwise is done before the loop waits. */
static void session_wrote(void *context)
{
    session_take(context, false);
}

static void session_cancel_call(void *context, Call *call)
{
    AddinSession *s = context;

    router_cancel(s->router, call);
}

static bool session_leaves_unsaid(void *context)
{
    return session_is_behind(context);
}

static void session_cancel(AddinSession *s)
{
    Call *call;

    while (s->pipe != NULL && (call = pipe_addin_first(s->pipe)) != NULL) {
        router_cancel(s->router, call);
        pipe_addin_drop(s->pipe, call);
    }
}

/* ---- what the link tells ---- */

static void session_on_message(void *context, Span message)
{
    AddinSession *s = context;
    int r;

    s->touched_ms = io_loop_now_ms(s->loop);
    router_advance(s->router, s->touched_ms);
    if (!session_is_open(s)) {
        return;
    }
    session_set_room(s);
    r = pipe_addin_receive(s->pipe, message, s->touched_ms);
    if (r == 0) {
        session_take(s, true);
    } else if (r == PIPE_E_PROTOCOL) {
        addin_session_end(s, SPAN("the hub sent what is no message of the pipe"));
    } else {
        session_end_with(s, r);
    }
    session_set_reading(s);
}

static bool session_on_oversize(void *context, uint32_t declared, Span head)
{
    AddinSession *s = context;
    char words[ADDIN_SESSION_WHY_BYTES];
    uint32_t other;
    int r;

    (void)head;
    if (!session_is_open(s)) {
        return false;
    }
    other = pipe_addin_other_order(s->pipe, declared);
    if (other > 0) {
        logsink_write(s->log, LOGSINK_LEVEL_WARN, "addin",
                      "in the other byte order the length is %" PRIu32 ": on the pipe lengths are "
                      "little-endian (on the call socket they are big-endian)",
                      other);
    }
    r = pipe_addin_refuse_size(s->pipe, declared);
    if (r != 0) {
        session_end_with(s, r);
        return false;
    }
    (void)snprintf(words, sizeof(words), "the hub sent a message of %" PRIu32 " bytes", declared);
    addin_session_end(s, span_from_str(words));
    return false;
}

/* All is done before the loop waits. */
static void session_on_settle(void *context)
{
    (void)context;
}

static void session_on_ended(void *context, Span why)
{
    AddinSession *s = context;

    addin_session_end(s, why);
    s->is_lost = true;
}

static void session_on_drained(void *context)
{
    AddinSession *s = context;

    if (session_is_open(s)) {
        session_take(s, false);
        session_set_reading(s);
    }
}

static const PipeLinkOps session_link_ops = {
    .message = session_on_message,
    .oversize = session_on_oversize,
    .settle = session_on_settle,
    .ended = session_on_ended,
    .drained = session_on_drained,
};

/* ---- life ---- */

int addin_session_init(AddinSession *s)
{
    uint8_t random[2][16];
    uint32_t max_bytes = s->max_bytes != 0 ? s->max_bytes : LIMIT_PIPE_MESSAGE_BYTES;
    size_t n_messages = s->max_running + SESSION_FURTHER_MESSAGES;
    size_t max_output;
    int r;

    s->state = ADDIN_SESSION_CLOSED;
    s->trim_ms = INT64_MAX;
    s->source = (PipeSource){
        .uuid = session_uuid, .unix_ms = session_unix_ms, .now_ms = session_now_ms, .context = s};
    if (!mem_size_mul(n_messages, (size_t)max_bytes + LEN32_HEADER_BYTES, &max_output) ||
        !mem_size_add(max_output, LIMIT_OUTPUT_PAUSE_BYTES, &max_output)) {
        max_output = SIZE_MAX;
    }
    pipe_link_init(&s->link, s->loop, max_bytes, max_output, &session_link_ops, s);
    r = random_fill(random, sizeof(random));
    if (r != 0) {
        return err_pass(r);
    }
    s->seeds[0] = hash_seed_from(random[0]);
    s->seeds[1] = hash_seed_from(random[1]);
    return 0;
}

void addin_session_deinit(AddinSession *s)
{
    s->is_over = true; /* no call begins because another one has ended */
    session_cancel(s);
    s->pipe = pipe_addin_free(s->pipe);
    pipe_link_deinit(&s->link);
    s->state = ADDIN_SESSION_CLOSED;
}

int addin_session_open(AddinSession *s, int fd)
{
    int64_t now_ms = io_loop_now_ms(s->loop);
    int r = pipe_addin_new(&s->pipe,
                           &(PipeAddinConfig){.sink = &s->link.sink,
                                              .source = &s->source,
                                              .seed = s->seeds[1],
                                              .max_bytes = s->max_bytes,
                                              .max_running = s->max_running,
                                              .ping_interval_ms = s->ping_interval_ms,
                                              .pong_timeout_ms = s->pong_timeout_ms,
                                              .list = session_list,
                                              .wrote = session_wrote,
                                              .cancel = session_cancel_call,
                                              .is_behind = session_leaves_unsaid,
                                              .told = session_told,
                                              .context = s},
                           now_ms);

    if (r != 0) {
        return err_pass(r);
    }
    r = pipe_link_open(&s->link, fd);
    if (r != 0) {
        s->pipe = pipe_addin_free(s->pipe);
        return err_pass(r);
    }
    s->state = ADDIN_SESSION_OPEN;
    asker_init_peer(&s->asker, "pipe", fd);
    s->is_over = false;
    s->is_lost = false;
    s->is_due = false;
    s->has_listed = false;
    s->hears_changes = false;
    s->is_stale = false;
    s->is_announced = false;
    s->touched_ms = now_ms;
    s->why[0] = '\0';
    return 0;
}

void addin_session_end(AddinSession *s, Span why)
{
    if (!session_is_open(s)) {
        return;
    }
    s->is_over = true;
    (void)snprintf(s->why, sizeof(s->why), "%.*s", (int)why.n, why.n > 0 ? why.p : "");
    pipe_link_pause(&s->link);
}

void addin_session_drain(AddinSession *s)
{
    s->is_draining = true;
    s->n_to_run = s->pipe != NULL ? pipe_addin_waiting(s->pipe) : 0;
}

bool addin_session_is_idle(const AddinSession *s)
{
    size_t n_to_run = s->is_draining ? s->n_to_run : pipe_addin_waiting(s->pipe);

    return pipe_addin_running(s->pipe) == 0 && n_to_run == 0 && pipe_link_pending(&s->link) == 0;
}

bool addin_session_ping(AddinSession *s, int64_t now_ms)
{
    bool is_sent = session_is_open(s) && pipe_addin_ping(s->pipe, now_ms);

    if (is_sent) {
        pipe_link_flush(&s->link);
    }
    return is_sent;
}

bool addin_session_is_ponged(const AddinSession *s)
{
    return session_is_open(s) && pipe_addin_is_ponged(s->pipe);
}

/* ---- between events ---- */

/* What is due is done a turn late: a tool may have kept the loop for so long that a pong has come
 * meanwhile, and it must be read before its absence is judged. */
static void session_settle_pings(AddinSession *s, int64_t now_ms)
{
    if (now_ms < pipe_addin_deadline(s->pipe) || !s->is_due) {
        s->is_due = now_ms >= pipe_addin_deadline(s->pipe);
        return;
    }
    s->is_due = false;
    if (!pipe_addin_advance(s->pipe, now_ms)) {
        addin_session_end(s, SPAN("the hub did not answer a ping in time"));
        s->is_lost = true; /* it would not read the rest either */
    }
}

/* Tells the hub that what it was told is no longer true, if it understands that; then it asks
 * again.
 */
static void session_settle_list(AddinSession *s)
{
    if (s->is_stale && s->hears_changes && !s->is_announced && !s->is_draining) {
        s->is_announced = pipe_addin_tell_changed(s->pipe);
    }
}

static void session_settle_memory(AddinSession *s, int64_t now_ms)
{
    if (now_ms >= s->trim_ms) {
        s->trim_ms = INT64_MAX;
        if (now_ms - s->touched_ms >= SESSION_IDLE_MS) {
            pipe_link_trim(&s->link);
        }
    }
    if (s->trim_ms == INT64_MAX && pipe_link_keeps_much(&s->link)) {
        s->trim_ms = now_ms + SESSION_IDLE_MS;
    }
}

void addin_session_settle(AddinSession *s, int64_t now_ms)
{
    if (!session_is_open(s)) {
        return;
    }
    session_take(s, false); /* the other connection may have made room */
    session_settle_list(s);
    session_settle_pings(s, now_ms);
    if (pipe_addin_error(s->pipe) != 0) {
        session_end_with(s, pipe_addin_error(s->pipe));
    }
    pipe_link_flush(&s->link);
    session_set_reading(s);
    session_settle_memory(s, now_ms);
}

void addin_session_finish(AddinSession *s, int64_t now_ms)
{
    if (s->state == ADDIN_SESSION_OPEN && s->is_over) {
        session_cancel(s);
        s->pipe = pipe_addin_free(s->pipe);
        s->state = ADDIN_SESSION_ENDING;
        s->close_by_ms = now_ms + ADDIN_SESSION_LINGER_MS;
    }
    if (s->state == ADDIN_SESSION_ENDING &&
        (s->is_lost || pipe_link_pending(&s->link) == 0 || now_ms >= s->close_by_ms)) {
        pipe_link_close(&s->link);
        s->trim_ms = INT64_MAX;
        s->state = ADDIN_SESSION_CLOSED;
    }
}

int64_t addin_session_deadline(const AddinSession *s)
{
    int64_t due_ms;

    if (s->state != ADDIN_SESSION_OPEN) {
        return s->state == ADDIN_SESSION_ENDING ? s->close_by_ms : INT64_MAX;
    }
    due_ms = pipe_addin_deadline(s->pipe);
    return s->trim_ms < due_ms ? s->trim_ms : due_ms;
}
