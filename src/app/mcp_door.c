/* States: OPEN (reading) → DRAINING (input ended or shutdown: calls may finish) → CLOSING (nothing
 * left to answer: output is written) → CLOSED (the owner was told).
 *
 *     OPEN --end of input, shutdown--> DRAINING --no call left, or drain_ms over--> CLOSING
 *     CLOSING --output written--> CLOSED            any --stream or session failed--> CLOSED
 *     DRAINING --the client has gone--> CLOSED      a socket tells, see door_has_gone
 */
#include "app/mcp_door.h"

#include <errno.h>
#include <stdio.h>

#include "app/asker.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/random.h"
#include "frame/ndjson.h"
#include "io/descriptor_look.h"
#include "io/stream.h"
#include "io/watchdog.h"

typedef enum McpDoorState {
    MCP_DOOR_OPEN,
    MCP_DOOR_DRAINING,
    MCP_DOOR_CLOSING,
    MCP_DOOR_CLOSED
} McpDoorState;

/* Input that stops for so long gives the memory of a large message back. Small ones start no timer:
 * with none running the loop waits without a time limit, which costs the system less. */
#define MCP_DOOR_IDLE_MS 1000

/* Questions that a call asks are timed from the last moment that the session was told of. While
 * calls run and the client is silent, it is told this often. */
#define MCP_DOOR_TICK_MS 30000

/* While nothing is read, neither the end of input nor that of the client is met: they are looked
 * for this often. */
#define MCP_DOOR_LOOK_MS 1000

/* Room for a sentence with a number. */
#define DOOR_WORDS_BYTES 128

struct McpDoor {
    IoLoop *loop;
    Router *router;
    McpServer *session;
    IoStream *stream;
    int socket_fd;        /* the stream's; -1: input and output are two descriptors */
    IoTimer *timer;       /* end of the drain, deadlines of the session's questions */
    IoBeforeWait *settle; /* flushes answers that came outside input, and notices the end */
    NdjsonReader reader;
    JsonLook look; /* at a line that is too long, for its id */
    NdjsonWriter writer;
    char too_large[DOOR_WORDS_BYTES]; /* said of an answer that a line does not hold */
    RouterQuota quota;
    Asker asker;
    RouterListener listener;
    McpSink sink;
    McpDoorState state;
    bool logging;
    bool lists_change;
    bool expects_tools;
    bool expects_resources;
    bool expects_prompts;
    bool paused; /* the client does not read: lines wait in the reader */
    bool input_ended;
    bool is_wide;    /* a long message has come: the pipe was widened */
    bool is_overdue; /* its turn took too long: it is closed */
    const IoTurnName *turn;
    int64_t drain_ms;
    int64_t drain_end_ms;
    int64_t timer_ms; /* what the timer is set to */
    int64_t idle_ms;  /* when memory of large messages is to be given back; INT64_MAX: it was */
    int64_t last_input_ms;
    int64_t last_written_ms;
    const LogSink *log;
    void (*closed)(void *context, int r);
    void *context;
};

/* ---- the session's view: where its messages go, what there is ---- */

static int door_sink_begin(void *context, Bytes **ret)
{
    McpDoor *door = context;

    return ndjson_writer_begin(&door->writer, ret);
}

static int door_sink_commit(void *context)
{
    McpDoor *door = context;

    return ndjson_writer_commit(&door->writer);
}

/* Written now, while the lender waits; what the system does not take is copied after all. */
static int door_sink_commit_lent(void *context, BytesLent lent)
{
    McpDoor *door = context;
    int r = ndjson_writer_commit_lent(&door->writer, lent);

    if (r != 0) {
        return r;
    }
    io_stream_flush_now(door->stream);
    return err_pass(ndjson_writer_own(&door->writer));
}

static void door_sink_abort(void *context)
{
    McpDoor *door = context;

    ndjson_writer_abort(&door->writer);
}

/* What the system takes does not wait. */
static bool door_sink_is_behind(void *context, void *stream)
{
    McpDoor *door = context;

    (void)stream;
    if (ndjson_writer_pending(&door->writer) > LIMIT_OUTPUT_PAUSE_BYTES) {
        io_stream_flush_now(door->stream);
    }
    return ndjson_writer_pending(&door->writer) > LIMIT_OUTPUT_PAUSE_BYTES;
}

static McpOffer door_offer(void *context)
{
    const McpDoor *door = context;
    const Router *router = door->router;

    return (McpOffer){
        .tools = door->expects_tools || router_count(router, ROUTER_TOOL) > 0,
        .resources = door->expects_resources || router_count(router, ROUTER_RESOURCE) > 0 ||
                     router_count(router, ROUTER_TEMPLATE) > 0,
        .prompts = door->expects_prompts || router_count(router, ROUTER_PROMPT) > 0,
        .completions = door->expects_prompts || router_has_completions(router),
        .logging = door->logging,
        .lists_change = door->lists_change,
        .tasks = router_has_later(router),
        .lazy_tools = router_hides(router),
        .lists_tasks = true, /* whoever is at a pipe or a socket of ours is the same user */
    };
}

static bool door_is_tool(void *context, Span method)
{
    const McpDoor *door = context;

    return router_has_tool(door->router, method);
}

static void door_wants(void *context, Span uri, bool is_wanted)
{
    const McpDoor *door = context;

    router_want(door->router, uri, is_wanted);
}

static void door_forsakes(void *context, Span state)
{
    const McpDoor *door = context;

    router_forsake(door->router, &door->asker.call, state);
}

/* ---- the end ---- */

static void door_cancel_calls(McpDoor *door)
{
    Call *call;

    while ((call = mcp_server_first_call(door->session)) != NULL) {
        router_cancel(door->router, call);
        mcp_server_drop(door->session, call);
    }
}

/* Nobody is there any more. */
static void door_leave(McpDoor *door)
{
    door_cancel_calls(door);
    router_forsake(door->router, &door->asker.call, SPAN_NULL);
}

static void door_close(McpDoor *door, int r)
{
    if (door->state == MCP_DOOR_CLOSED) {
        return;
    }
    door->state = MCP_DOOR_CLOSED;
    door_leave(door);
    mcp_server_close(door->session);
    io_stream_pause(door->stream);
    door->closed(door->context, r);
}

/* Takes the steps towards the end that have become possible; the owner may free the door in the
 * last one, so nothing follows it. */
static void door_settle(McpDoor *door)
{
    int r = door->is_overdue ? -ETIMEDOUT : mcp_server_error(door->session);

    if (r != 0) {
        door_close(door, r);
        return;
    }
    if (door->state == MCP_DOOR_DRAINING && mcp_server_n_calls(door->session) == 0 &&
        !door->paused) {
        door->state = MCP_DOOR_CLOSING;
        mcp_server_close(door->session);
    }
    if (door->state == MCP_DOOR_CLOSING && ndjson_writer_pending(&door->writer) == 0) {
        door_close(door, 0);
    }
}

/* After the end of input: has the client closed the whole socket, so that nobody waits for the
 * answers? Of two pipes the one that ended says nothing about the other. */
static bool door_has_gone(const McpDoor *door)
{
    return door->state == MCP_DOOR_DRAINING && door->input_ended && door->socket_fd >= 0 &&
           io_fd_has_gone(door->socket_fd);
}

static void door_begin_drain(McpDoor *door)
{
    if (door->state != MCP_DOOR_OPEN) {
        return;
    }
    door->state = MCP_DOOR_DRAINING;
    door->drain_end_ms = io_loop_now_ms(door->loop) + door->drain_ms;
    mcp_server_shutdown(door->session);
}

/* ---- input ---- */

static void door_handle_events(McpDoor *door)
{
    McpEvent event;

    while (mcp_server_next(door->session, &event)) {
        if (event.kind == MCP_EVENT_CALL) {
            event.call->asker = &door->asker.call;
            router_dispatch(door->router, &door->quota, event.call);
        } else {
            router_cancel(door->router, event.call);
            mcp_server_drop(door->session, event.call);
        }
    }
}

/* A client that does not read its answers is not read from either. Whether it reads shows when the
 * stream writes, after the input was handled; settle goes on if it does. */
static bool door_must_pause(const McpDoor *door)
{
    return ndjson_writer_pending(&door->writer) > LIMIT_OUTPUT_PAUSE_BYTES;
}

static void door_pause(McpDoor *door)
{
    door->paused = true;
    door->last_written_ms = io_loop_now_ms(door->loop);
    io_stream_pause(door->stream);
}

static void door_on_dropped(void *context, Span piece)
{
    McpDoor *door = context;

    json_look_feed(&door->look, piece);
}

/* A line that is too long has ended. */
static int door_refuse_line(McpDoor *door, int64_t now_ms)
{
    int r = mcp_server_receive_too_long(door->session, &door->look, now_ms);

    json_look_init(&door->look);
    return r;
}

/* The rest of a line that never got its newline: whole requests are served, since a file or a
 * `printf` often lacks the last one; half of one is answered like any other text that is not JSON.
 */
static void door_handle_rest(McpDoor *door)
{
    int64_t now_ms = io_loop_now_ms(door->loop);
    Span rest;
    int r = ndjson_reader_finish(&door->reader, &rest);

    if (r == NDJSON_E_INCOMPLETE) {
        (void)mcp_server_receive(door->session, rest, now_ms);
        door_handle_events(door);
    } else if (r == NDJSON_E_TOO_LONG) {
        (void)door_refuse_line(door, now_ms);
    }
}

/* Handles every line that is there. Failures stay in the session, where settle finds them, as does
 * a turn that took too long. */
static void door_handle_lines(McpDoor *door)
{
    int64_t now_ms = io_loop_now_ms(door->loop);
    Span line;
    int r;

    router_advance(door->router, now_ms);
    while ((r = ndjson_reader_next(&door->reader, &line)) != NDJSON_E_AGAIN) {
        door->is_overdue = door->is_overdue || io_turn_is_over(door->loop, door->turn);
        if (door->is_overdue) {
            door_pause(door);
            return;
        }
        if (r == 0) {
            r = mcp_server_receive(door->session, line, now_ms);
        } else {
            r = door_refuse_line(door, now_ms);
        }
        if (r != 0) {
            return;
        }
        door_handle_events(door);
        if (door_must_pause(door)) {
            door_pause(door);
            return;
        }
    }
    if (door->input_ended) {
        door_handle_rest(door);
        door_begin_drain(door);
    }
}

static void door_on_input(void *context)
{
    McpDoor *door = context;

    if (door->state == MCP_DOOR_CLOSED || door->paused) {
        return;
    }
    io_turn_begin(door->loop, door->turn);
    door_handle_lines(door);
    io_turn_end(door->loop);
    if (!door->is_wide && inq_unread(&door->reader.in).n >= IO_STREAM_READ_BYTES) {
        /* The beginning of a message that takes more than one read. */
        door->is_wide = true;
        io_stream_widen_input(door->stream);
    }
    door->last_input_ms = io_loop_now_ms(door->loop);
}

/* Goes on where door_pause stopped. */
static void door_resume(McpDoor *door)
{
    door->paused = false;
    io_stream_resume(door->stream);
    door_on_input(door);
}

static void door_on_end(void *context)
{
    McpDoor *door = context;

    door->input_ended = true;
    door_on_input(door);
    if (door_has_gone(door)) {
        door_close(door, 0);
    }
}

static void door_on_failed(void *context, int r)
{
    door_close(context, r);
}

static int door_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    McpDoor *door = context;

    return err_fold(ndjson_reader_reserve(&door->reader, want, ret_p, ret_n));
}

static void door_commit(void *context, size_t n)
{
    McpDoor *door = context;

    ndjson_reader_commit(&door->reader, n);
}

static size_t door_pull(void *context, Span *slices, size_t max)
{
    McpDoor *door = context;

    return ndjson_writer_pull(&door->writer, slices, max);
}

static void door_consumed(void *context, size_t n)
{
    McpDoor *door = context;

    ndjson_writer_consumed(&door->writer, n);
    if (n > 0) {
        door->last_written_ms = io_loop_now_ms(door->loop);
    }
}

static const IoStreamOps door_stream_ops = {
    .reserve = door_reserve,
    .commit = door_commit,
    .pull = door_pull,
    .consumed = door_consumed,
    .input = door_on_input,
    .end = door_on_end,
    .failed = door_on_failed,
};

/* ---- time ---- */

/* The time for an orderly end is over. A client that does not read cannot hold us either: what is
 * pending for it is given up. */
static void door_end_drain(McpDoor *door)
{
    size_t n = mcp_server_n_calls(door->session);

    if (n > 0) {
        logsink_write(door->log, LOGSINK_LEVEL_WARN, "mcp",
                      "%zu calls did not end in time and are cancelled", n);
    }
    door->paused = false;
    door_cancel_calls(door);
    if (io_stream_is_waiting(door->stream)) {
        door_close(door, 0);
    }
}

/* Gives the memory of large messages back, unless there was input a moment ago. */
static void door_trim(McpDoor *door, int64_t now_ms)
{
    if (now_ms - door->last_input_ms < MCP_DOOR_IDLE_MS) {
        door->idle_ms = door->last_input_ms + MCP_DOOR_IDLE_MS;
        return;
    }
    door->idle_ms = INT64_MAX;
    ndjson_reader_trim(&door->reader);
    outq_trim(&door->writer.out);
}

static void door_on_timer(void *context)
{
    McpDoor *door = context;
    int64_t now_ms = io_loop_now_ms(door->loop);

    door->timer_ms = INT64_MAX;
    mcp_server_advance(door->session, now_ms);
    door_handle_events(door);
    if (now_ms >= door->idle_ms) {
        door_trim(door, now_ms);
    }
    if (door_has_gone(door)) {
        door_close(door, 0);
    } else if (door->state != MCP_DOOR_OPEN && now_ms >= door->drain_end_ms) {
        door_end_drain(door);
    } else if (door->paused && now_ms - door->last_written_ms >= door->drain_ms &&
               io_stream_has_hung_up(door->stream)) {
        /* It has closed its end and reads nothing either: nobody is there. */
        door_close(door, 0);
    }
}

static int64_t door_next_deadline(const McpDoor *door)
{
    int64_t due_ms = mcp_server_next_deadline(door->session);

    if (mcp_server_n_calls(door->session) > 0) {
        int64_t tick_ms = io_loop_now_ms(door->loop) + MCP_DOOR_TICK_MS;

        due_ms = tick_ms < due_ms ? tick_ms : due_ms;
    }
    if (door->paused || (door->input_ended && door->socket_fd >= 0)) {
        int64_t look_ms = io_loop_now_ms(door->loop) + MCP_DOOR_LOOK_MS;

        due_ms = look_ms < due_ms ? look_ms : due_ms;
    }
    if (door->state == MCP_DOOR_DRAINING || door->state == MCP_DOOR_CLOSING) {
        due_ms = door->drain_end_ms < due_ms ? door->drain_end_ms : due_ms;
    }
    return door->idle_ms < due_ms ? door->idle_ms : due_ms;
}

/* Writes what is there. Where that lets a paused door go on, it goes on: each round handles at
 * least one line that waits in the reader, and ends when they are used up or the system takes no
 * more. */
static void door_flush(McpDoor *door)
{
    if (ndjson_writer_pending(&door->writer) > 0) {
        io_stream_flush(door->stream);
    }
    while (door->paused && !door_must_pause(door) && !door->is_overdue) {
        door_resume(door);
        io_stream_flush(door->stream);
    }
}

static void door_on_settle(void *context)
{
    McpDoor *door = context;
    int64_t due_ms;

    if (door->state == MCP_DOOR_CLOSED) {
        return;
    }
    door_flush(door);
    if (door->idle_ms == INT64_MAX &&
        (door->reader.in.cap > LIMIT_KEEP_BYTES || outq_keeps_much(&door->writer.out))) {
        door->idle_ms = io_loop_now_ms(door->loop) + MCP_DOOR_IDLE_MS;
    }
    due_ms = door_next_deadline(door);
    /* Moving a timer for every message would cost more than the message: an idle time that only
     * grew is looked at when the timer fires. */
    if (due_ms < door->timer_ms) {
        door->timer_ms = due_ms;
        io_timer_start_at(door->timer, due_ms);
    }
    door_settle(door);
}

/* ---- changes ---- */

static McpDoor *door_from_listener(RouterListener *listener)
{
    return (McpDoor *)((char *)listener - offsetof(McpDoor, listener));
}

static void door_on_changed(RouterListener *listener, RouterKind kind)
{
    static const McpListKind lists[ROUTER_N_KINDS] = {
        [ROUTER_TOOL] = MCP_LIST_TOOLS,
        [ROUTER_RESOURCE] = MCP_LIST_RESOURCES,
        [ROUTER_TEMPLATE] = MCP_LIST_RESOURCES,
        [ROUTER_PROMPT] = MCP_LIST_PROMPTS,
    };

    mcp_server_list_changed(door_from_listener(listener)->session, lists[kind]);
}

static void door_on_updated(RouterListener *listener, Span uri)
{
    mcp_server_resource_updated(door_from_listener(listener)->session, uri);
}

static void door_on_task(RouterListener *listener, const CallTask *task, Span owner)
{
    mcp_server_task_changed(door_from_listener(listener)->session, task, owner);
}

/* ---- life ---- */

/* How long a client may take to answer a question: a call that waits for it is still a call, and
 * ends when the longest of them must. 0: the session's default. */
static int64_t door_question_ms(const McpDoorConfig *config)
{
    int64_t max_ms = config->limits == NULL ? 0 : config->limits->call_timeout_max_ms;

    return max_ms > 0 && max_ms < LIMIT_MCP_STATE_MS ? max_ms : 0;
}

static size_t door_max_line(const McpDoorConfig *config)
{
    return config->max_line_bytes != 0 ? config->max_line_bytes : LIMIT_MCP_LINE_BYTES;
}

/* What a message may have: a response, in a line. */
static size_t door_max_message(const McpDoorConfig *config)
{
    size_t max_response =
        config->max_response_bytes != 0 ? config->max_response_bytes : LIMIT_MCP_RESPONSE_BYTES;
    size_t max_line = door_max_line(config) - 1;

    return max_response < max_line ? max_response : max_line;
}

/* What is said of an answer that does not fit; NULL: the session has words. */
static const char *door_say_too_large(McpDoor *door, const McpDoorConfig *config)
{
    if (door_max_message(config) == config->max_response_bytes) {
        return NULL;
    }
    (void)snprintf(door->too_large, sizeof(door->too_large),
                   "the result is too large: a line to this client may have %zu bytes "
                   "(max_line_bytes, --max-line-bytes)",
                   door_max_line(config));
    return door->too_large;
}

static int door_init_session(McpDoor *door, const McpDoorConfig *config)
{
    uint8_t random[16];
    int r = random_fill(random, sizeof(random));

    if (r != 0) {
        return err_pass(r);
    }
    return err_pass(
        mcp_server_new(&door->session, &(McpServerConfig){
                                           .identity = config->identity,
                                           .offer = door_offer,
                                           .is_tool = door_is_tool,
                                           .wants = door_wants,
                                           .forsakes = door_forsakes,
                                           .context = door,
                                           .sink = &door->sink,
                                           .sealer = config->sealer,
                                           .seed = hash_seed_from(random),
                                           .max_request_bytes = config->max_request_bytes,
                                           .max_response_bytes = door_max_message(config),
                                           .too_large = door_say_too_large(door, config),
                                           .max_open = 2 * door->quota.max_in_flight,
                                           .state_ttl_ms = door_question_ms(config),
                                       }));
}

/* The answers of all calls that may be open, twice as many as may run, each as long as it may be:
 * calls are not read any more long before, so this much can only come together if a client asks for
 * it and then does not read, and a result that is there is not thrown away for want of room. */
static size_t door_output_max(uint32_t max_in_flight, size_t max_response)
{
    size_t n;

    if (!mem_size_mul(2 * (size_t)max_in_flight + 1, max_response + 1, &n) ||
        !mem_size_add(n, LIMIT_OUTPUT_PAUSE_BYTES, &n)) {
        return SIZE_MAX;
    }
    return n;
}

static int door_init(McpDoor *door, const McpDoorConfig *config)
{
    size_t max_response = door_max_message(config);
    int r;

    router_quota_init(&door->quota, config->limits, io_loop_now_ms(door->loop));
    asker_init_pair(&door->asker, "mcp", config->in_fd, config->out_fd);
    door->asker.call.is_model = true;
    ndjson_reader_init(&door->reader, config->max_request_bytes != 0 ? config->max_request_bytes
                                                                     : LIMIT_MCP_REQUEST_BYTES);
    json_look_init(&door->look);
    ndjson_reader_watch(&door->reader, door_on_dropped, door);
    ndjson_writer_init(&door->writer, max_response,
                       door_output_max(door->quota.max_in_flight, max_response));
    r = door_init_session(door, config);
    if (r != 0) {
        return err_pass(r);
    }
    r = io_timer_new(&door->timer, door->loop, true, door_on_timer, door);
    if (r != 0) {
        return err_pass(r);
    }
    r = io_before_wait_new(&door->settle, door->loop, door_on_settle, door);
    if (r != 0) {
        return err_pass(r);
    }
    r = io_stream_new(&door->stream, door->loop, config->in_fd, config->out_fd, &door_stream_ops,
                      door);
    if (r != 0) {
        return err_pass(r);
    }
    door->socket_fd = config->in_fd == config->out_fd ? config->in_fd : -1;
    return 0;
}

int mcp_door_new(McpDoor **ret, const McpDoorConfig *config)
{
    McpDoor *door = mem_alloc_array(1, sizeof(*door));
    int r;

    if (door == NULL) {
        return err_raise(-ENOMEM);
    }
    *door = (McpDoor){
        .loop = config->loop,
        .router = config->router,
        .socket_fd = -1,
        .reader = NDJSON_READER_NULL,
        .writer = NDJSON_WRITER_NULL,
        .listener = {.changed = door_on_changed,
                     .updated = door_on_updated,
                     .task = door_on_task,
                     .only_shown = true},
        .logging = config->logging,
        .lists_change = config->lists_change,
        .expects_tools = config->expects_tools,
        .expects_resources = config->expects_resources,
        .expects_prompts = config->expects_prompts,
        .drain_ms = config->drain_ms <= 0              ? LIMIT_DRAIN_MS
                    : config->drain_ms > LIMIT_TIME_MS ? LIMIT_TIME_MS
                                                       : config->drain_ms,
        .timer_ms = INT64_MAX,
        .idle_ms = INT64_MAX,
        .turn = io_turn_name(config->loop, "an MCP client"),
        .log = config->log,
        .closed = config->closed,
        .context = config->context,
    };
    door->sink = (McpSink){.begin = door_sink_begin,
                           .commit = door_sink_commit,
                           .commit_lent = door_sink_commit_lent,
                           .abort = door_sink_abort,
                           .is_behind = door_sink_is_behind,
                           .context = door};
    r = door_init(door, config);
    if (r != 0) {
        mcp_door_free(door);
        return err_pass(r);
    }
    router_listen(door->router, &door->listener);
    *ret = door;
    return 0;
}

McpDoor *mcp_door_free(McpDoor *door)
{
    if (door == NULL) {
        return NULL;
    }
    if (door->stream != NULL) {
        router_unlisten(door->router, &door->listener);
    }
    if (door->session != NULL) {
        door_leave(door);
    }
    door->stream = io_stream_free(door->stream);
    door->settle = io_before_wait_free(door->settle);
    door->timer = io_timer_free(door->timer);
    door->session = mcp_server_free(door->session);
    ndjson_writer_deinit(&door->writer);
    ndjson_reader_deinit(&door->reader);
    return mem_free(door);
}

void mcp_door_shutdown(McpDoor *door)
{
    /* Reading goes on: the client may still take calls back, and answer questions. */
    door_begin_drain(door);
}

bool mcp_door_is_ending(const McpDoor *door)
{
    return door->state != MCP_DOOR_OPEN || door->input_ended || io_stream_has_hung_up(door->stream);
}
