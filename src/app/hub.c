#include "app/hub.h"

#include <stdint.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "router/seal.h"

struct Hub {
    IoLoop *loop;
    Router *router;
    SafetyDesk *desk;       /* the router's */
    IoTimer *timer;         /* at the router's next deadline */
    IoBeforeWait *schedule; /* sets it, once a turn */
    int64_t scheduled_ms;   /* what the timer is set to */
    RouterSealKey seal_key;
    McpSealer sealer;
};

static int hub_seal(void *context, const Span *pieces, size_t n, uint8_t ret_code[32])
{
    Hub *hub = context;

    return router_seal(&hub->seal_key, pieces, n, ret_code);
}

static int64_t hub_now_ms(void *context)
{
    const Hub *hub = context;

    return io_loop_now_ms(hub->loop);
}

/* Not the loop's, which stands still during a turn: a command may take less than that. */
static int64_t hub_now_us(void *context)
{
    (void)context;
    return (int64_t)(clock_monotonic_ns() / 1000);
}

static int64_t hub_wall_ms(void *context)
{
    (void)context;
    return clock_now_ms();
}

static int hub_random(void *context, uint8_t *ret, size_t n)
{
    (void)context;
    return random_fill(ret, n);
}

static void hub_on_timer(void *context)
{
    Hub *hub = context;

    hub->scheduled_ms = INT64_MAX;
    router_advance(hub->router, io_loop_now_ms(hub->loop));
}

/* Calls come and go many times a turn; the timer is moved at most once. */
static void hub_on_before_wait(void *context)
{
    Hub *hub = context;
    int64_t due_ms = router_next_deadline(hub->router);

    if (due_ms != hub->scheduled_ms) {
        hub->scheduled_ms = due_ms;
        io_timer_start_at(hub->timer, due_ms);
    }
}

static int hub_init(Hub *hub, const RouterLimits *limits)
{
    uint8_t random[16];
    int r = random_fill(random, sizeof(random));

    if (r != 0) {
        return err_pass(r);
    }
    r = router_seal_key_init(&hub->seal_key);
    if (r != 0) {
        return err_pass(r);
    }
    r = io_loop_new(&hub->loop);
    if (r != 0) {
        return err_pass(r);
    }
    r = router_new(&hub->router, limits, hash_seed_from(random));
    if (r != 0) {
        return err_pass(r);
    }
    router_set_clock(hub->router, hub_now_ms, hub);
    router_set_stopwatch(hub->router, hub_now_us, hub_wall_ms, NULL);
    r = safety_desk_new(&hub->desk, &(SafetyConfig){.random = hub_random});
    if (r != 0) {
        return err_pass(r);
    }
    router_set_desk(hub->router, hub->desk);
    r = io_timer_new(&hub->timer, hub->loop, true, hub_on_timer, hub);
    if (r != 0) {
        return err_pass(r);
    }
    return err_pass(io_before_wait_new(&hub->schedule, hub->loop, hub_on_before_wait, hub));
}

int hub_new(Hub **ret, const RouterLimits *limits)
{
    Hub *hub = mem_alloc_array(1, sizeof(*hub));
    int r;

    if (hub == NULL) {
        return err_raise(-ENOMEM);
    }
    hub->scheduled_ms = INT64_MAX;
    hub->sealer = (McpSealer){.seal = hub_seal, .context = hub};
    r = hub_init(hub, limits);
    if (r != 0) {
        hub_free(hub);
        return err_pass(r);
    }
    *ret = hub;
    return 0;
}

Hub *hub_free(Hub *hub)
{
    if (hub == NULL) {
        return NULL;
    }
    hub->schedule = io_before_wait_free(hub->schedule);
    hub->timer = io_timer_free(hub->timer);
    hub->router = router_free(hub->router);
    hub->desk = safety_desk_free(hub->desk);
    hub->loop = io_loop_free(hub->loop);
    return mem_free(hub);
}

IoLoop *hub_loop(Hub *hub)
{
    return hub->loop;
}

Router *hub_router(Hub *hub)
{
    return hub->router;
}

SafetyDesk *hub_desk(const Hub *hub)
{
    return hub->desk;
}

const McpSealer *hub_sealer(const Hub *hub)
{
    return &hub->sealer;
}
