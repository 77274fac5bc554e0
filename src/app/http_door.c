/* States: OPEN → DRAINING (shutdown: nobody is let in, calls may finish) → CLOSED (the owner was
 * told).
 *
 *     OPEN --shutdown--> DRAINING --no connection and no call left--> CLOSED
 *
 * When drain_ms are over, calls are cancelled; a moment later connections are closed.
 */
#include "app/http_door.h"

#include <stdio.h>

#include "app/http_door_internal.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/random.h"

/* Questions that a call asks are timed from the last moment that MCP was told of. While there are
 * clients, and all of them are silent, it is told this often. */
#define HTTP_DOOR_TICK_MS 30000

/* What clients get to read that their calls were cancelled. */
#define HTTP_DOOR_LAST_MS 500

/* ---- connections and requests ---- */

static int door_on_open(void *context, const IoHttpPeer *peer, void **ret_user)
{
    HttpLink *link = mem_alloc_array(1, sizeof(*link));

    if (link == NULL) {
        return err_raise(-ENOMEM);
    }
    link->door = context;
    (void)snprintf(link->address, sizeof(link->address), "%s", peer->address);
    (void)snprintf(link->local, sizeof(link->local), "%s", peer->local);
    *ret_user = link;
    return 0;
}

static void door_on_close(void *context, void *user)
{
    HttpDoor *door = context;
    HttpLink *link = user;

    link->asker = http_askers_unref(&door->askers, link->asker);
    mem_free(link);
}

static void door_on_head(void *context, IoHttpExchange *x)
{
    HttpDoor *door = context;
    HttpLink *link = io_http_user(x);

    door->figures.n_requests++;
    link->is_mcp = false;
    link->is_side = false;
    link->names_origin = false;
    link->is_mcp = http_door_admit(door, link, x) && !link->is_side;
}

static void door_on_request(void *context, IoHttpExchange *x, Span body)
{
    HttpDoor *door = context;
    HttpLink *link = io_http_user(x);
    int64_t now_ms = io_loop_now_ms(door->loop);

    door->figures.bytes_in += body.n;
    router_advance(door->router, now_ms);
    if (link->is_side) {
        const HttpSide *side = door->config.side;

        side->request(side->context, x, body,
                      door->needs_auth ? span_from_str(link->asker->grant.owner) : SPAN_NULL,
                      link->address);
        return;
    }
    door->asking = link;
    mcp_http_request(door->http, link->path, io_http_head(x), body, x, link->asker, now_ms);
    door->asking = NULL;
}

static void door_on_gone(void *context, IoHttpExchange *x)
{
    HttpDoor *door = context;
    const HttpLink *link = io_http_user(x);

    if (link->is_mcp) {
        mcp_http_gone(door->http, x, io_loop_now_ms(door->loop));
    } else if (link->is_side) {
        door->config.side->gone(door->config.side->context, x);
    }
}

static void door_on_refused(void *context, void *user, unsigned status, size_t n_bytes, bool is_new)
{
    HttpDoor *door = context;

    (void)user;
    door->figures.n_requests += is_new;
    http_door_count(door, status, n_bytes);
}

static const IoHttpOps door_ops = {
    .open = door_on_open,
    .close = door_on_close,
    .head = door_on_head,
    .request = door_on_request,
    .gone = door_on_gone,
    .refused = door_on_refused,
};

/* ---- changes ---- */

static HttpDoor *door_from_listener(RouterListener *listener)
{
    return (HttpDoor *)((char *)listener - offsetof(HttpDoor, listener));
}

static void door_on_changed(RouterListener *listener, RouterKind kind)
{
    static const McpListKind lists[ROUTER_N_KINDS] = {
        [ROUTER_TOOL] = MCP_LIST_TOOLS,
        [ROUTER_RESOURCE] = MCP_LIST_RESOURCES,
        [ROUTER_TEMPLATE] = MCP_LIST_RESOURCES,
        [ROUTER_PROMPT] = MCP_LIST_PROMPTS,
    };

    mcp_http_list_changed(door_from_listener(listener)->http, lists[kind]);
}

static void door_on_updated(RouterListener *listener, Span uri)
{
    mcp_http_resource_updated(door_from_listener(listener)->http, uri);
}

static void door_on_task(RouterListener *listener, const CallTask *task, Span owner)
{
    mcp_http_task_changed(door_from_listener(listener)->http, task, owner);
}

/* ---- time and the end ---- */

static void door_let_loop_go(HttpDoor *door)
{
    if (door->is_held) {
        door->is_held = false;
        io_loop_release(door->loop);
    }
}

static void door_on_stopped(void *context)
{
    HttpDoor *door = context;

    door->is_stopped = true; /* settle, in this turn or the next, goes on */
}

/* The time for an orderly end is over: first for calls, then for those who do not read that. */
static void door_end_drain(HttpDoor *door, int64_t now_ms)
{
    size_t n = mcp_http_n_calls(door->http);

    if (door->is_cancelled) {
        door->server = io_http_server_free(door->server);
        door->is_stopped = true;
        return;
    }
    if (n > 0) {
        logsink_write(door->config.log, LOGSINK_LEVEL_WARN, "http",
                      "%zu calls did not end in time and are cancelled", n);
    }
    door->is_cancelled = true;
    door->drain_end_ms = now_ms + HTTP_DOOR_LAST_MS;
    mcp_http_cancel_all(door->http);
}

static void door_on_timer(void *context)
{
    HttpDoor *door = context;
    int64_t now_ms = io_loop_now_ms(door->loop);

    door->timer_ms = INT64_MAX;
    mcp_http_advance(door->http, now_ms);
    if (door->state == HTTP_DOOR_DRAINING && now_ms >= door->drain_end_ms) {
        door_end_drain(door, now_ms);
    }
}

static int64_t door_next_deadline(const HttpDoor *door)
{
    int64_t due_ms = mcp_http_next_deadline(door->http);

    /* Calls are not counted here, every turn: that takes a look at each session. */
    if (mcp_http_n_sessions(door->http) > 0 ||
        (door->server != NULL && io_http_server_n_connections(door->server) > 0)) {
        int64_t tick_ms = io_loop_now_ms(door->loop) + HTTP_DOOR_TICK_MS;

        due_ms = tick_ms < due_ms ? tick_ms : due_ms;
    }
    if (door->state == HTTP_DOOR_DRAINING) {
        due_ms = door->drain_end_ms < due_ms ? door->drain_end_ms : due_ms;
    }
    return due_ms;
}

/* Sessions that have ended leave memory behind. */
static void door_note_sessions(HttpDoor *door)
{
    size_t n = mcp_http_n_sessions(door->http);

    if (n < door->n_sessions && door->server != NULL) {
        io_http_server_freed(door->server);
    }
    door->n_sessions = n;
}

/* The owner may free the door when it is told of the end, so nothing follows that. */
static void door_on_settle(void *context)
{
    HttpDoor *door = context;
    int64_t due_ms;

    if (door->state == HTTP_DOOR_CLOSED) {
        return;
    }
    http_askers_sweep(&door->askers);
    door_note_sessions(door);
    if (door->state == HTTP_DOOR_DRAINING && door->is_stopped &&
        mcp_http_n_calls(door->http) == 0) {
        door->state = HTTP_DOOR_CLOSED;
        io_timer_stop(door->timer);
        door_let_loop_go(door);
        door->config.closed(door->config.context);
        return;
    }
    due_ms = door_next_deadline(door);
    /* A time that only grew is looked at when the timer fires: moving it for every message would
     * cost more than the message. */
    if (due_ms < door->timer_ms) {
        door->timer_ms = due_ms;
        io_timer_start_at(door->timer, due_ms);
    }
}

void http_door_shutdown(HttpDoor *door)
{
    if (door->state != HTTP_DOOR_OPEN) {
        return;
    }
    door->state = HTTP_DOOR_DRAINING;
    door->drain_end_ms = io_loop_now_ms(door->loop) + door->config.drain_ms;
    mcp_http_shutdown(door->http);
    if (door->config.side != NULL) {
        door->config.side->shutdown(door->config.side->context, door, door->drain_end_ms);
    }
    io_http_server_stop(door->server, door_on_stopped);
}

const HttpDoor *http_door_of(const IoHttpExchange *x)
{
    const HttpLink *link = io_http_user(x);

    return link->door;
}

unsigned http_door_port(const HttpDoor *door)
{
    return door->server == NULL ? 0 : io_http_server_port(door->server);
}

/* ---- life ---- */

/* How long a client may take to answer a question, as in app/mcp_door.c. 0: the default. */
static int64_t door_question_ms(const HttpDoorConfig *config)
{
    int64_t max_ms = config->limits == NULL ? 0 : config->limits->call_timeout_max_ms;

    return max_ms > 0 && max_ms < LIMIT_MCP_STATE_MS ? max_ms : 0;
}

static uint32_t door_max_open(const HttpDoorConfig *config)
{
    uint32_t n = config->limits == NULL ? 0 : config->limits->max_in_flight;

    return 2 * (n != 0 ? n : LIMIT_CALLS_IN_FLIGHT);
}

static int door_init_mcp(HttpDoor *door, HashSeed seed)
{
    const HttpDoorConfig *config = &door->config;

    return err_pass(
        mcp_http_new(&door->http, &(McpHttpConfig){
                                      .server =
                                          {
                                              .identity = config->identity,
                                              .offer = http_door_offer,
                                              .is_tool = http_door_is_tool,
                                              .wants = http_door_wants,
                                              .forsakes = http_door_forsakes,
                                              .context = door,
                                              .sealer = hub_sealer(config->hub),
                                              .seed = seed,
                                              .max_request_bytes = config->max_request_bytes,
                                              .max_response_bytes = config->max_response_bytes,
                                              .max_open = door_max_open(config),
                                              .state_ttl_ms = door_question_ms(config),
                                          },
                                      .wire = &http_door_wire,
                                      .owner = &http_door_owner,
                                      .context = door,
                                      .seed = seed,
                                      .old_post_path = SPAN(HTTP_DOOR_OLD_POST_PATH),
                                  }));
}

static int door_init_server(HttpDoor *door, bool is_loopback, Diag *reterr_diag)
{
    const HttpDoor *from = door->config.from;
    int r = io_http_server_new(&door->server,
                               &(IoHttpConfig){
                                   .loop = door->loop,
                                   .address = door->config.address,
                                   .from = from == NULL ? NULL : from->server,
                                   .ops = &door_ops,
                                   .context = door,
                                   .limits = door->config.http,
                                   .log = door->config.log,
                               },
                               reterr_diag);

    if (r != 0) {
        return r;
    }
    (void)snprintf(door->address, sizeof(door->address), "%s",
                   io_http_server_address(door->server));
    door->config.from = NULL;
    io_loop_hold(door->loop);
    door->is_held = true;
    return err_pass(http_door_guard_init(door, is_loopback));
}

/* Nobody listens wider than this machine without a way to tell who asks. */
static int door_check_address(const HttpDoor *door, bool *ret_is_loopback, Diag *reterr_diag)
{
    int r =
        io_http_address_check(span_from_str(door->config.address), ret_is_loopback, reterr_diag);

    if (r != 0 || *ret_is_loopback || door->needs_auth) {
        return r;
    }
    return diag_set(reterr_diag, IO_HTTP_E_PLACE,
                    "%s can be reached from other machines: %s, or listen on "
                    "127.0.0.1 or a Unix socket",
                    door->config.address,
                    door->config.token_hint != NULL ? door->config.token_hint
                                                    : "give --token-file");
}

/* 0, a negative errno, IO_HTTP_E_PLACE. */
static int door_init(HttpDoor *door, Diag *reterr_diag)
{
    uint8_t random[16];
    bool is_loopback;
    HashSeed seed;
    int r = random_fill(random, sizeof(random));

    if (r != 0) {
        return err_pass(r);
    }
    r = door_check_address(door, &is_loopback, reterr_diag);
    if (r != 0) {
        return r;
    }
    seed = hash_seed_from(random);
    http_askers_init(&door->askers, door->config.limits, door->needs_auth, seed);
    r = door_init_mcp(door, seed);
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
    return door_init_server(door, is_loopback, reterr_diag);
}

static void door_fill_config(HttpDoor *door, const HttpDoorConfig *config)
{
    HttpDoorConfig *own = &door->config;

    *own = *config;
    own->path = config->path != NULL ? config->path : "/mcp";
    own->max_request_bytes =
        config->max_request_bytes != 0 ? config->max_request_bytes : LIMIT_MCP_REQUEST_BYTES;
    own->max_response_bytes =
        config->max_response_bytes != 0 ? config->max_response_bytes : LIMIT_MCP_RESPONSE_BYTES;
    own->drain_ms = config->drain_ms <= 0              ? LIMIT_DRAIN_MS
                    : config->drain_ms > LIMIT_TIME_MS ? LIMIT_TIME_MS
                                                       : config->drain_ms;
    own->http.max_body_bytes = own->max_request_bytes;
    if (own->http.max_pending_bytes == 0 &&
        !mem_size_mul(2, own->max_response_bytes, &own->http.max_pending_bytes)) {
        own->http.max_pending_bytes = SIZE_MAX;
    }
}

int http_door_new(HttpDoor **ret, const HttpDoorConfig *config, Diag *reterr_diag)
{
    HttpDoor *door = mem_alloc_array(1, sizeof(*door));
    int r;

    if (door == NULL) {
        return err_raise(-ENOMEM);
    }
    *door = (HttpDoor){
        .loop = hub_loop(config->hub),
        .router = hub_router(config->hub),
        .listener = {.changed = door_on_changed,
                     .updated = door_on_updated,
                     .task = door_on_task,
                     .only_shown = true},
        .needs_auth = config->auth != NULL && http_auth_is_needed(config->auth),
        .timer_ms = INT64_MAX,
    };
    door_fill_config(door, config);
    r = door_init(door, reterr_diag);
    if (r != 0) {
        http_door_free(door);
        return r;
    }
    router_listen(door->router, &door->listener);
    door->is_listening = true;
    *ret = door;
    return 0;
}

HttpDoor *http_door_free(HttpDoor *door)
{
    if (door == NULL) {
        return NULL;
    }
    if (door->is_listening) {
        router_unlisten(door->router, &door->listener);
    }
    if (door->http != NULL) {
        mcp_http_cancel_all(door->http);
    }
    door->server = io_http_server_free(door->server);
    door_let_loop_go(door);
    door->settle = io_before_wait_free(door->settle);
    door->timer = io_timer_free(door->timer);
    door->http = mcp_http_free(door->http);
    http_askers_deinit(&door->askers);
    http_door_guard_deinit(door);
    return mem_free(door);
}

const char *http_door_address(const HttpDoor *door)
{
    return door->address;
}

const char *http_door_path(const HttpDoor *door)
{
    return door->config.path;
}

HttpDoorFigures http_door_figures(const HttpDoor *door)
{
    HttpDoorFigures figures = door->figures;

    figures.n_connections = door->server == NULL ? 0 : io_http_server_n_connections(door->server);
    figures.n_sessions = mcp_http_n_sessions(door->http);
    figures.n_streams = mcp_http_n_streams(door->http);
    return figures;
}
