/* Everything that changes the state happens before the loop waits (door_on_settle); whatever is
 * told meanwhile only leaves a mark. So `changed` may shut the door down, and `closed` free it. */
#include "app/addin_door.h"

#include <errno.h>
#include <string.h>

#include "app/addin_renewal.h"
#include "app/addin_session.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "dialect/pipe/backoff.h"
#include "io/descriptor_look.h"
#include "io/error_text.h"
#include "io/unix_socket.h"

struct AddinDoor {
    AddinSession sessions[2];
    AddinSession *session; /* one of them: the connection */
    AddinRenewal renewal;  /* the other one is to follow it */
    AddinState state;
    RouterLimits limits;
    RouterQuota quota;
    IoLoop *loop;
    Router *router;
    PipeBackoff backoff;
    RouterListener listener;
    bool is_listening;
    bool is_draining;
    bool is_closed; /* the owner was told */
    bool is_marked; /* once more */
    IoTimer *timer;
    IoBeforeWait *settle;
    int64_t timer_ms; /* what the timer is set to */
    int64_t retry_ms; /* WAITING: until then */
    int64_t drain_ms;
    int64_t drain_end_ms;
    char *path;
    char *name;
    const LogSink *log;
    void (*changed)(void *context, AddinState state, Span why, int64_t retry_ms);
    void (*closed)(void *context);
    void *context;
};

/* ---- states ---- */

static void door_enter(AddinDoor *door, AddinState state, Span why, int64_t retry_ms)
{
    door->state = state;
    if (door->changed != NULL) {
        door->changed(door->context, state, why, retry_ms);
    }
}

static void door_wait(AddinDoor *door, Span why)
{
    int64_t wait_ms = pipe_backoff_next(&door->backoff);

    door->retry_ms = io_loop_now_ms(door->loop) + wait_ms;
    door_enter(door, ADDIN_WAITING, why, wait_ms);
}

static void door_stop(AddinDoor *door)
{
    io_timer_stop(door->timer);
    door_enter(door, ADDIN_STOPPED, SPAN_NULL, 0);
}

/* ---- connecting ---- */

/* Connected to a hub that may see what is called here. 0, a negative errno; the Diag says more. */
static int door_dial(const AddinDoor *door, int *ret_fd, Diag *reterr_diag)
{
    int fd = -1;
    int r = unix_socket_connect(door->path, &fd);

    if (r == -ENOENT || r == -ECONNREFUSED) {
        return diag_set(reterr_diag, r, "there is no hub at %s", door->path);
    }
    if (r == -EAGAIN) {
        return diag_set(reterr_diag, r, "the hub at %s does not accept", door->path);
    }
    if (r != 0) {
        return diag_set(reterr_diag, r, "%s: %s", door->path, io_error_text(-r));
    }
    /* Any user can listen in a folder like /tmp. */
    if (!unix_socket_peer_is_trusted(fd)) {
        io_fd_close(fd);
        return diag_set(reterr_diag, -EPERM,
                        "the hub at %s belongs to another user, and is not trusted", door->path);
    }
    *ret_fd = fd;
    return 0;
}

/* 0, a negative errno; the Diag says more. */
static int door_open_session(const AddinDoor *door, AddinSession *session, Diag *reterr_diag)
{
    int fd = -1;
    int r = door_dial(door, &fd, reterr_diag);

    if (r != 0) {
        return r;
    }
    r = addin_session_open(session, fd);
    if (r != 0) {
        io_fd_close(fd);
        return diag_set(reterr_diag, r, "%s", io_error_text(-r));
    }
    return 0;
}

static void door_connect(AddinDoor *door)
{
    Diag diag = DIAG_NULL;

    door_enter(door, ADDIN_CONNECTING, SPAN_NULL, 0);
    if (door->is_draining) {
        door_stop(door);
        return;
    }
    if (door_open_session(door, door->session, &diag) != 0) {
        door_wait(door, span_from_str(diag.message));
        return;
    }
    router_quota_init(&door->quota, &door->limits, io_loop_now_ms(door->loop));
    pipe_backoff_reset(&door->backoff);
    addin_renewal_end(&door->renewal);
    door_enter(door, ADDIN_CONNECTED, SPAN_NULL, 0);
}

/* ---- between events ---- */

static void door_drain(AddinDoor *door, int64_t now_ms)
{
    bool is_late = now_ms >= door->drain_end_ms;
    size_t n_late = 0;

    for (size_t i = 0; i < TW_ARRAY_SIZE(door->sessions); i++) {
        AddinSession *s = &door->sessions[i];

        if (s->state != ADDIN_SESSION_OPEN) {
            continue;
        }
        if (!s->is_draining) {
            addin_session_drain(s);
        }
        if (is_late || addin_session_is_idle(s)) {
            n_late += pipe_addin_running(s->pipe) + s->n_to_run;
            addin_session_end(s, SPAN_NULL);
        }
    }
    if (n_late > 0) {
        logsink_write(door->log, LOGSINK_LEVEL_WARN, "addin",
                      "%zu calls did not end in time and are cancelled", n_late);
    }
}

/* The connection stands: must another one follow it? */
static void door_renew(AddinDoor *door, int64_t now_ms)
{
    AddinRenewal *renewal = &door->renewal;
    AddinSession *to = &door->sessions[door->session == &door->sessions[0] ? 1 : 0];
    Diag diag = DIAG_NULL;

    if (addin_renewal_is_due(renewal, door->session, now_ms)) {
        if (door_open_session(door, to, &diag) == 0) {
            addin_renewal_begin(renewal, door->session, to, now_ms);
        } else {
            addin_renewal_fail(renewal, now_ms);
        }
    }
    addin_renewal_advance(renewal, now_ms);
}

/* The connection has ended, and there is no other. */
static void door_settle_closed(AddinDoor *door)
{
    if (door->is_draining) {
        door_stop(door);
        return;
    }
    door_enter(door, ADDIN_DISCONNECTED, span_from_str(door->session->why), 0);
    if (door->is_draining) {
        door_stop(door);
    } else {
        door_wait(door, SPAN_NULL);
    }
}

static void door_finish(AddinDoor *door, int64_t now_ms)
{
    AddinRenewal *renewal = &door->renewal;

    for (size_t i = 0; i < TW_ARRAY_SIZE(door->sessions); i++) {
        AddinSession *s = &door->sessions[i];

        if (door->is_draining && now_ms >= door->drain_end_ms) {
            s->is_lost = true; /* there is no time left for what the hub has not read */
        }
        addin_session_finish(s, now_ms);
    }
    if (renewal->to != NULL && renewal->to->state == ADDIN_SESSION_CLOSED) {
        addin_renewal_fail(renewal, now_ms);
    }
    if (renewal->to != NULL && door->session->state == ADDIN_SESSION_CLOSED) {
        door->session = renewal->to;
        addin_renewal_end(renewal);
        door->is_marked = true; /* calls may have waited for the end of the old one */
    }
    if (door->session->state == ADDIN_SESSION_CLOSED) {
        door_settle_closed(door);
    }
}

static void door_settle_connected(AddinDoor *door, int64_t now_ms)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(door->sessions); i++) {
        addin_session_settle(&door->sessions[i], now_ms);
    }
    if (door->is_draining) {
        door_drain(door, now_ms);
    } else {
        door_renew(door, now_ms);
    }
    door_finish(door, now_ms);
}

static void door_settle_state(AddinDoor *door, int64_t now_ms)
{
    switch (door->state) {
    case ADDIN_CONNECTED:
        door_settle_connected(door, now_ms);
        break;
    case ADDIN_CONNECTING: /* only at the beginning */
    case ADDIN_DISCONNECTED:
    case ADDIN_WAITING:
        if (door->is_draining) {
            door_stop(door);
        } else if (now_ms >= door->retry_ms) {
            door_connect(door);
        }
        break;
    case ADDIN_STOPPED:
        break;
    }
}

static int64_t min_ms(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void door_schedule(AddinDoor *door)
{
    int64_t due_ms = door->state == ADDIN_WAITING ? door->retry_ms : INT64_MAX;

    for (size_t i = 0; i < TW_ARRAY_SIZE(door->sessions); i++) {
        due_ms = min_ms(due_ms, addin_session_deadline(&door->sessions[i]));
    }
    due_ms =
        min_ms(due_ms, door->is_draining ? door->drain_end_ms
                                         : addin_renewal_deadline(&door->renewal, door->session));
    /* Moving a timer costs more than a message: one that fires too early is set again then. */
    if (due_ms < door->timer_ms) {
        door->timer_ms = due_ms;
        io_timer_start_at(door->timer, due_ms);
    }
}

/* The owner may free the door in the last step, so nothing follows it. */
static void door_on_settle(void *context)
{
    AddinDoor *door = context;

    do {
        door->is_marked = false;
        door_settle_state(door, io_loop_now_ms(door->loop));
    } while (door->is_marked);
    if (door->state != ADDIN_STOPPED) {
        door_schedule(door);
    } else if (!door->is_closed) {
        door->is_closed = true;
        if (door->closed != NULL) {
            door->closed(door->context);
        }
    }
}

/* Only wakes the loop. */
static void door_on_timer(void *context)
{
    AddinDoor *door = context;

    door->timer_ms = INT64_MAX;
}

static void door_on_changed(RouterListener *listener, RouterKind kind)
{
    AddinDoor *door = (AddinDoor *)(void *)((char *)listener - offsetof(AddinDoor, listener));

    if (kind != ROUTER_TOOL && kind != ROUTER_RESOURCE) {
        return;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(door->sessions); i++) {
        door->sessions[i].is_stale = door->sessions[i].has_listed;
    }
}

/* ---- life ---- */

/* Times of the configuration: 0, or less, is the default. */
static int64_t door_time(int64_t ms, int64_t otherwise)
{
    return ms <= 0 ? otherwise : ms < LIMIT_TIME_MS ? ms : LIMIT_TIME_MS;
}

static void door_configure_session(AddinDoor *door, AddinSession *s, const AddinDoorConfig *config)
{
    s->loop = config->loop;
    s->router = config->router;
    s->log = config->log;
    s->max_bytes = config->max_bytes;
    s->pings_in_calls = config->pings_in_calls;
    s->quota = &door->quota;
    s->ending = config->ending;
    s->context = config->context;
    s->max_running = door->limits.max_in_flight;
    s->ping_interval_ms = door_time(config->ping_interval_ms, LIMIT_PIPE_PING_MS);
    s->pong_timeout_ms = door_time(config->pong_timeout_ms, LIMIT_PIPE_PONG_MS);
}

/* Calls beyond max_in_flight wait in the session; the router need not refuse any. */
static void door_set_limits(AddinDoor *door, const AddinDoorConfig *config)
{
    RouterLimits *limits = &door->limits;

    if (config->limits != NULL) {
        *limits = *config->limits;
    }
    limits->rate_off = limits->rate_off || (limits->rate_burst == 0 && limits->rate_per_s == 0);
    limits->max_in_flight = config->one_at_a_time        ? 1
                            : limits->max_in_flight != 0 ? limits->max_in_flight
                                                         : LIMIT_PIPE_CALLS;
}

static void door_configure(AddinDoor *door, const AddinDoorConfig *config)
{
    int64_t retry_ms = door_time(config->retry_ms, LIMIT_PIPE_RETRY_MS);
    int64_t retry_max_ms = door_time(config->retry_max_ms, LIMIT_PIPE_RETRY_MAX_MS);

    door_set_limits(door, config);
    for (size_t i = 0; i < TW_ARRAY_SIZE(door->sessions); i++) {
        door_configure_session(door, &door->sessions[i], config);
    }
    door->session = &door->sessions[0];
    door->loop = config->loop;
    door->router = config->router;
    door->state = ADDIN_CONNECTING;
    door->listener = (RouterListener){.changed = door_on_changed};
    door->timer_ms = INT64_MAX;
    door->drain_ms = door_time(config->drain_ms, LIMIT_DRAIN_MS);
    door->log = config->log;
    door->changed = config->changed;
    door->closed = config->closed;
    door->context = config->context;
    pipe_backoff_init(&door->backoff, retry_ms, retry_max_ms);
    addin_renewal_init(&door->renewal, retry_ms, retry_max_ms);
}

static int door_copy(char **ret, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = mem_alloc(size);

    if (copy == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(copy, text, size);
    *ret = copy;
    return 0;
}

static int door_open(AddinDoor *door, const AddinDoorConfig *config)
{
    int r = 0;

    for (size_t i = 0; i < TW_ARRAY_SIZE(door->sessions) && r == 0; i++) {
        r = addin_session_init(&door->sessions[i]);
    }
    if (r == 0) {
        r = door_copy(&door->path, config->path);
    }
    if (r == 0) {
        r = door_copy(&door->name, config->name);
    }
    if (r == 0) {
        r = io_timer_new(&door->timer, config->loop, false, door_on_timer, door);
    }
    if (r == 0) {
        r = io_before_wait_new(&door->settle, config->loop, door_on_settle, door);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(door->sessions); i++) {
        door->sessions[i].name = door->name;
    }
    return err_pass(r);
}

int addin_door_new(AddinDoor **ret, const AddinDoorConfig *config)
{
    AddinDoor *door = mem_alloc_array(1, sizeof(*door));
    int r;

    if (door == NULL) {
        return err_raise(-ENOMEM);
    }
    door_configure(door, config);
    r = door_open(door, config);
    if (r != 0) {
        addin_door_free(door);
        return err_pass(r);
    }
    router_listen(config->router, &door->listener);
    door->is_listening = true;
    *ret = door;
    return 0;
}

AddinDoor *addin_door_free(AddinDoor *door)
{
    if (door == NULL) {
        return NULL;
    }
    if (door->is_listening) {
        router_unlisten(door->router, &door->listener);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(door->sessions); i++) {
        addin_session_deinit(&door->sessions[i]);
    }
    door->settle = io_before_wait_free(door->settle);
    door->timer = io_timer_free(door->timer);
    door->path = mem_free(door->path);
    door->name = mem_free(door->name);
    return mem_free(door);
}

void addin_door_shutdown(AddinDoor *door)
{
    if (!door->is_draining) {
        door->is_draining = true;
        door->is_marked = true;
        door->drain_end_ms = io_loop_now_ms(door->loop) + door->drain_ms;
    }
}

AddinState addin_door_state(const AddinDoor *door)
{
    return door->state;
}
