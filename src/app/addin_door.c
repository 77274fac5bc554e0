/* Everything that changes the state happens before the loop waits (door_on_settle); whatever is
 * told meanwhile only leaves a mark. So `changed` may shut the door down, and `closed` free it. */
#include "app/addin_door.h"

#include <errno.h>
#include <string.h>

#include "app/addin_session.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "dialect/pipe/backoff.h"
#include "io/descriptor_look.h"
#include "io/error_text.h"
#include "io/unix_socket.h"

struct AddinDoor {
    AddinSession session;
    AddinState state;
    PipeBackoff backoff;
    RouterListener listener;
    bool is_listening;
    bool has_changed; /* what the hub was told is no longer true */
    bool is_renewing; /* for that reason the connection ends */
    bool is_draining;
    bool is_cancelling; /* the drain is over */
    bool is_closed;     /* the owner was told */
    bool is_marked;     /* once more */
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

    door->retry_ms = io_loop_now_ms(door->session.loop) + wait_ms;
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

static void door_connect(AddinDoor *door)
{
    Diag diag = DIAG_NULL;
    int fd = -1;
    int r;

    door_enter(door, ADDIN_CONNECTING, SPAN_NULL, 0);
    if (door->is_draining) {
        door_stop(door);
        return;
    }
    r = door_dial(door, &fd, &diag);
    if (r == 0) {
        r = addin_session_open(&door->session, fd);
        if (r != 0) {
            io_fd_close(fd);
            (void)diag_set(&diag, r, "%s", io_error_text(-r));
        }
    }
    if (r != 0) {
        door_wait(door, span_from_str(diag.message));
        return;
    }
    pipe_backoff_reset(&door->backoff);
    /* The hub asks anew. */
    door->has_changed = false;
    door_enter(door, ADDIN_CONNECTED, SPAN_NULL, 0);
}

/* ---- between events ---- */

static void door_drain(AddinDoor *door, int64_t now_ms)
{
    AddinSession *s = &door->session;

    if (!s->is_draining) {
        addin_session_drain(s);
    }
    if (now_ms >= door->drain_end_ms && !door->is_cancelling) {
        size_t n = pipe_addin_running(s->pipe) + s->n_to_run;

        door->is_cancelling = true;
        if (n > 0) {
            logsink_write(door->log, LOGSINK_LEVEL_WARN, "addin",
                          "%zu calls did not end in time and are cancelled", n);
        }
        addin_session_end(s, SPAN_NULL);
    } else if (addin_session_is_idle(s)) {
        addin_session_end(s, SPAN_NULL);
    }
}

/* The connection stands: must it end? */
static void door_settle_open(AddinDoor *door, int64_t now_ms)
{
    AddinSession *s = &door->session;

    if (door->is_draining) {
        door_drain(door, now_ms);
    } else if (door->has_changed && !s->has_listed) {
        door->has_changed = false; /* nobody has been told otherwise */
    } else if (door->has_changed && !s->is_over && addin_session_is_idle(s)) {
        door->is_renewing = true;
        addin_session_end(s, SPAN("what is offered has changed"));
    }
}

/* The connection has ended. */
static void door_settle_closed(AddinDoor *door)
{
    bool is_renewing = door->is_renewing;

    door->is_renewing = false;
    if (!door->is_draining) {
        door_enter(door, ADDIN_DISCONNECTED, span_from_str(door->session.why), 0);
    }
    if (door->is_draining) {
        door_stop(door);
    } else if (is_renewing) {
        door_connect(door);
    } else {
        door_wait(door, SPAN_NULL);
    }
}

static void door_settle_connected(AddinDoor *door, int64_t now_ms)
{
    AddinSession *s = &door->session;

    addin_session_settle(s, now_ms);
    if (s->state == ADDIN_SESSION_OPEN) {
        door_settle_open(door, now_ms);
    }
    if (door->is_draining && now_ms >= door->drain_end_ms) {
        s->is_lost = true; /* there is no time left for what the hub has not read */
    }
    addin_session_finish(s, now_ms);
    if (s->state == ADDIN_SESSION_CLOSED) {
        door_settle_closed(door);
    }
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

static void door_schedule(AddinDoor *door)
{
    int64_t due_ms =
        door->state == ADDIN_WAITING ? door->retry_ms : addin_session_deadline(&door->session);

    if (door->is_draining && door->drain_end_ms < due_ms) {
        due_ms = door->drain_end_ms;
    }
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
        door_settle_state(door, io_loop_now_ms(door->session.loop));
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

    if (kind == ROUTER_TOOL || kind == ROUTER_RESOURCE) {
        door->has_changed = true;
    }
}

/* ---- life ---- */

/* Times of the configuration: 0, or less, is the default. */
static int64_t door_time(int64_t ms, int64_t otherwise)
{
    return ms <= 0 ? otherwise : ms < LIMIT_TIME_MS ? ms : LIMIT_TIME_MS;
}

static void door_configure(AddinDoor *door, const AddinDoorConfig *config)
{
    AddinSession *s = &door->session;

    s->loop = config->loop;
    s->router = config->router;
    s->log = config->log;
    s->max_bytes = config->max_bytes;
    s->ping_interval_ms = door_time(config->ping_interval_ms, LIMIT_PIPE_PING_MS);
    s->pong_timeout_ms = door_time(config->pong_timeout_ms, LIMIT_PIPE_PONG_MS);
    if (config->limits != NULL) {
        s->limits = *config->limits;
    }
    s->limits.rate_off =
        s->limits.rate_off || (s->limits.rate_burst == 0 && s->limits.rate_per_s == 0);
    s->max_running = config->one_at_a_time          ? 1
                     : s->limits.max_in_flight != 0 ? s->limits.max_in_flight
                                                    : LIMIT_PIPE_CALLS;
    /* Calls beyond it wait in the session; the router need not refuse any. */
    s->limits.max_in_flight = (uint32_t)s->max_running;
    door->state = ADDIN_CONNECTING;
    door->listener = (RouterListener){.changed = door_on_changed};
    door->timer_ms = INT64_MAX;
    door->drain_ms = door_time(config->drain_ms, LIMIT_DRAIN_MS);
    door->log = config->log;
    door->changed = config->changed;
    door->closed = config->closed;
    door->context = config->context;
    pipe_backoff_init(&door->backoff, door_time(config->retry_ms, LIMIT_PIPE_RETRY_MS),
                      door_time(config->retry_max_ms, LIMIT_PIPE_RETRY_MAX_MS));
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
    int r = addin_session_init(&door->session);

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
    door->session.name = door->name;
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
        router_unlisten(door->session.router, &door->listener);
    }
    addin_session_deinit(&door->session);
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
        door->drain_end_ms = io_loop_now_ms(door->session.loop) + door->drain_ms;
    }
}

AddinState addin_door_state(const AddinDoor *door)
{
    return door->state;
}
