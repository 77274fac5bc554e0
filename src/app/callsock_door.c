#include "app/callsock_door.h"

#include <string.h>

#include "app/callsock_links.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "io/descriptor_look.h"
#include "io/error_text.h"
#include "io/listener.h"

struct CallsockDoor {
    IoListener *listener; /* NULL once it is shut */
    IoTimer *timer;       /* end of the drain, ticks of the links */
    IoBeforeWait *settle;
    CallsockLinks links;
    bool is_closed; /* the owner was told */
    int64_t drain_end_ms;
    int64_t tick_ms;  /* when the links are looked at; INT64_MAX: not at all */
    int64_t timer_ms; /* what the timer is set to */
    void (*closed)(void *context);
    void *context;
};

static void door_on_accept(void *context, int fd)
{
    CallsockDoor *door = context;
    int r = callsock_links_add(&door->links, fd);

    if (r != 0) {
        io_fd_close(fd);
        logsink_write(door->links.log, LOGSINK_LEVEL_WARN, "callsock", "a bridge is refused: %s",
                      io_error_text(-r));
    }
}

static void door_schedule(CallsockDoor *door)
{
    int64_t due_ms = door->links.is_draining && !door->is_closed ? door->drain_end_ms : INT64_MAX;

    if (door->links.wants_tick && door->tick_ms == INT64_MAX) {
        door->tick_ms = io_loop_now_ms(door->links.loop) + CALLSOCK_LINKS_TICK_MS;
    }
    due_ms = door->tick_ms < due_ms ? door->tick_ms : due_ms;
    if (due_ms != door->timer_ms) {
        door->timer_ms = due_ms;
        io_timer_start_at(door->timer, due_ms);
    }
}

/* The owner may free the door in the last step, so nothing follows it. */
static void door_on_settle(void *context)
{
    CallsockDoor *door = context;

    callsock_links_settle(&door->links);
    door_schedule(door);
    if (door->links.is_draining && door->links.n == 0 && !door->is_closed) {
        door->is_closed = true;
        door->closed(door->context);
    }
}

static void door_on_timer(void *context)
{
    CallsockDoor *door = context;
    int64_t now_ms = io_loop_now_ms(door->links.loop);
    size_t n_cancelled = 0;

    door->timer_ms = INT64_MAX;
    if (now_ms >= door->tick_ms) {
        door->tick_ms = INT64_MAX;
        callsock_links_tick(&door->links, now_ms);
    }
    if (door->links.is_draining && now_ms >= door->drain_end_ms) {
        n_cancelled = callsock_links_give_up(&door->links);
    }
    if (n_cancelled > 0) {
        logsink_write(door->links.log, LOGSINK_LEVEL_WARN, "callsock",
                      "%zu calls did not end in time and are cancelled", n_cancelled);
    }
}

static int door_open(CallsockDoor *door, const char *path, Diag *reterr_diag)
{
    IoLoop *loop = door->links.loop;
    int r = io_timer_new(&door->timer, loop, true, door_on_timer, door);

    if (r != 0) {
        return err_pass(r);
    }
    r = io_before_wait_new(&door->settle, loop, door_on_settle, door);
    if (r != 0) {
        return err_pass(r);
    }
    return io_listener_new(&door->listener,
                           &(IoListenerConfig){.loop = loop,
                                               .path = path,
                                               .accept = door_on_accept,
                                               .context = door,
                                               .log = door->links.log},
                           reterr_diag);
}

/* Written in place, member by member: gcc 14 does not end (-O1 and above, its pass tree-sra) on a
 * CallsockLinks that is returned by value and put into a larger initialiser. */
static void door_init_links(CallsockLinks *links, const CallsockDoorConfig *config)
{
    *links = (CallsockLinks){
        .loop = config->loop,
        .router = config->router,
        .max_bytes = config->max_bytes != 0 ? config->max_bytes : LIMIT_CALLSOCK_MESSAGE_BYTES,
        .drain_ms = config->drain_ms <= 0              ? LIMIT_DRAIN_MS
                    : config->drain_ms > LIMIT_TIME_MS ? LIMIT_TIME_MS
                                                       : config->drain_ms,
        .log = config->log,
    };
    if (config->limits != NULL) {
        links->limits = *config->limits;
    }
    if (links->limits.rate_burst == 0 && links->limits.rate_per_s == 0) {
        links->limits.rate_off = true;
    }
}

int callsock_door_new(CallsockDoor **ret, const CallsockDoorConfig *config, Diag *reterr_diag)
{
    CallsockDoor *door = mem_alloc_array(1, sizeof(*door));
    int r;

    if (door == NULL) {
        return err_raise(-ENOMEM);
    }
    *door = (CallsockDoor){
        .tick_ms = INT64_MAX,
        .timer_ms = INT64_MAX,
        .closed = config->closed,
        .context = config->context,
    };
    door_init_links(&door->links, config);
    r = door_open(door, config->path, reterr_diag);
    if (r != 0) {
        callsock_door_free(door);
        return r;
    }
    *ret = door;
    return 0;
}

CallsockDoor *callsock_door_free(CallsockDoor *door)
{
    if (door == NULL) {
        return NULL;
    }
    door->listener = io_listener_free(door->listener);
    callsock_links_deinit(&door->links);
    door->settle = io_before_wait_free(door->settle);
    door->timer = io_timer_free(door->timer);
    return mem_free(door);
}

void callsock_door_shutdown(CallsockDoor *door)
{
    if (door->links.is_draining) {
        return;
    }
    door->drain_end_ms = io_loop_now_ms(door->links.loop) + door->links.drain_ms;
    /* Who comes now finds nobody, and does not wait for an answer that never comes. */
    door->listener = io_listener_free(door->listener);
    callsock_links_drain(&door->links);
}

size_t callsock_door_connections(const CallsockDoor *door)
{
    return door->links.n;
}
