#include "io/watchdog.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#ifndef _WIN32
#include <pthread.h>
#include <time.h>
#endif

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "io/loop_internal.h"

#if !defined(_WIN32) && !defined(__APPLE__)
#define WATCHDOG_HAS_CPU_CLOCK 1
#else
#define WATCHDOG_HAS_CPU_CLOCK 0
#endif

/* Looks within turn_ms. */
#define WATCHDOG_LOOKS 4

/* Names of turns that are kept: as many servers as a hub may have, and more. */
#define WATCHDOG_MAX_NAMES 1024

/* How long the loop may not have come round for a second signal to end the process at once. */
#define WATCHDOG_SECOND_MS 1000

/* All but loop and `asked` (both set before the thread begins, or atomic) is the thread's. */
struct IoWatchdog {
    IoLoop *loop;
    IoWatchdogConfig config;
    int signals[IO_WATCHDOG_SIGNALS];
    _Atomic int64_t end_ms;
    uv_thread_t thread;
    uv_loop_t uv;
    uv_async_t wake; /* a turn has begun while it slept; or it is to stop */
    uv_timer_t look;
    uv_signal_t on_signal[IO_WATCHDOG_SIGNALS];
    atomic_bool must_stop;
    bool is_running;
#if WATCHDOG_HAS_CPU_CLOCK
    clockid_t cpu; /* of the loop's thread */
    bool has_cpu;
#endif
    int64_t looked_ms; /* clock of the last look */
    int64_t seen_ms;   /* what the looks have seen pass */
    uint32_t turn;     /* the last one seen */
    int64_t turn_from_ms;
    bool has_told;
    bool is_resting; /* a look has found nothing: the next one may be the last */
    unsigned n_signals;
    int signum;
    int64_t signalled_ms; /* of seen_ms */
    int64_t answered_ms;  /* of seen_ms: when the loop was last known to come round */
};

/* ---- turns: on the loop's thread ---- */

const IoTurnName *io_turn_name(IoLoop *loop, const char *text)
{
    static const IoTurnName unnamed = {.text = "a peer"};
    size_t size = strlen(text) + 1;
    IoTurnName *name;

    for (name = loop->first_turn_name; name != NULL; name = name->next) {
        if (strcmp(name->text, text) == 0) {
            return name;
        }
    }
    name = loop->first_turn_name != NULL && loop->first_turn_name->n >= WATCHDOG_MAX_NAMES
               ? NULL
               : mem_alloc(sizeof(*name) + size);
    if (name == NULL) {
        return &unnamed;
    }
    name->next = loop->first_turn_name;
    name->n = name->next == NULL ? 1 : name->next->n + 1; /* with it */
    name->text = memcpy(name + 1, text, size);
    loop->first_turn_name = name;
    return name;
}

void io_turn_begin(IoLoop *loop, const IoTurnName *name)
{
    uint32_t number;

    if (loop->turn_depth++ > 0) {
        return;
    }
    number = atomic_load_explicit(&loop->turn_number, memory_order_relaxed);
    atomic_store_explicit(&loop->turn_number, number + 1, memory_order_relaxed);
    atomic_store_explicit(&loop->turn, name, memory_order_release);
    /* Should the watchdog fall asleep at this very moment, its last look, a period later, sees the
     * turn. */
    if (atomic_load_explicit(&loop->watchdog_rests, memory_order_relaxed)) {
        atomic_store_explicit(&loop->watchdog_rests, false, memory_order_relaxed);
        (void)uv_async_send(&loop->watchdog->wake);
    }
}

void io_turn_end(IoLoop *loop)
{
    if (--loop->turn_depth == 0) {
        atomic_store_explicit(&loop->turn, NULL, memory_order_relaxed);
    }
}

bool io_turn_is_over(const IoLoop *loop, const IoTurnName *name)
{
    return atomic_load_explicit(&loop->turn_over, memory_order_relaxed) ==
               atomic_load_explicit(&loop->turn_number, memory_order_relaxed) &&
           atomic_load_explicit(&loop->turn, memory_order_relaxed) == name;
}

/* ---- looks: on the watchdog's thread ---- */

/* What the loop's thread has run; or, where nobody counts that, what the looks have seen pass. */
static int64_t dog_spent_ms(const IoWatchdog *dog)
{
#if WATCHDOG_HAS_CPU_CLOCK
    struct timespec spent;

    if (dog->has_cpu && clock_gettime(dog->cpu, &spent) == 0) {
        return (int64_t)spent.tv_sec * 1000 + spent.tv_nsec / 1000000;
    }
#endif
    return dog->seen_ms;
}

static void dog_look_at_turn(IoWatchdog *dog)
{
    IoLoop *loop = dog->loop;
    const IoTurnName *name = atomic_load_explicit(&loop->turn, memory_order_acquire);
    uint32_t number = atomic_load_explicit(&loop->turn_number, memory_order_relaxed);
    int64_t spent_ms = dog_spent_ms(dog);

    if (name == NULL || number != dog->turn) {
        dog->is_resting = dog->is_resting && name == NULL && number == dog->turn;
        dog->turn = number;
        dog->turn_from_ms = spent_ms;
        dog->has_told = false;
        return;
    }
    dog->is_resting = false;
    if (spent_ms - dog->turn_from_ms >= dog->config.turn_ms && !dog->has_told) {
        dog->has_told = true;
        atomic_store_explicit(&loop->turn_over, number, memory_order_relaxed);
        logsink_write(dog->config.log, LOGSINK_LEVEL_WARN, "loop",
                      "the turn of %s takes longer than %lld ms, and nobody else is served: it is "
                      "to end",
                      name->text, (long long)dog->config.turn_ms);
    }
}

static void dog_end_process(const IoWatchdog *dog, const char *why)
{
    logsink_write(dog->config.log, LOGSINK_LEVEL_ERROR, "loop",
                  "signal %d asked for the end, and %s: the process is ended as it is", dog->signum,
                  why);
    _Exit(128 + dog->signum);
}

static void dog_look_at_end(IoWatchdog *dog)
{
    IoLoop *loop = dog->loop;
    uint32_t asked = atomic_load_explicit(&loop->asked, memory_order_relaxed);
    int64_t quiet_ms;

    if (dog->n_signals == 0) {
        return;
    }
    if (atomic_load_explicit(&loop->answered, memory_order_relaxed) == asked) {
        dog->answered_ms = dog->seen_ms;
        atomic_store_explicit(&loop->asked, asked + 1, memory_order_relaxed);
        (void)uv_async_send(&loop->async);
    }
    quiet_ms = dog->seen_ms - dog->answered_ms;
    if (quiet_ms >= dog->config.quiet_ms) {
        dog_end_process(dog, "the loop does not come round");
    } else if (dog->n_signals > 1 && quiet_ms >= WATCHDOG_SECOND_MS) {
        dog_end_process(dog, "was repeated while the loop does not come round");
    } else if (dog->seen_ms - dog->signalled_ms >=
               atomic_load_explicit(&dog->end_ms, memory_order_relaxed)) {
        dog_end_process(dog, "it has not come in time");
    }
}

static uint64_t dog_period_ms(const IoWatchdog *dog)
{
    return (uint64_t)(dog->config.turn_ms / WATCHDOG_LOOKS) + 1;
}

static void dog_look(uv_timer_t *timer)
{
    IoWatchdog *dog = timer->data;
    int64_t now_ms = (int64_t)uv_now(&dog->uv);
    int64_t passed_ms = now_ms - dog->looked_ms;
    int64_t most_ms = 2 * (int64_t)dog_period_ms(dog);
    bool was_resting = dog->is_resting;

    dog->looked_ms = now_ms;
    dog->seen_ms += passed_ms < most_ms ? passed_ms : most_ms;
    dog->is_resting = true;
    dog_look_at_turn(dog);
    dog_look_at_end(dog);
    dog->is_resting = dog->is_resting && dog->n_signals == 0;
    if (dog->is_resting && was_resting) {
        (void)uv_timer_stop(&dog->look);
    }
    atomic_store_explicit(&dog->loop->watchdog_rests, dog->is_resting, memory_order_relaxed);
}

static void dog_start_looking(IoWatchdog *dog)
{
    dog->is_resting = false;
    if (uv_is_active((uv_handle_t *)&dog->look) == 0) {
        uv_update_time(&dog->uv);
        dog->looked_ms = (int64_t)uv_now(&dog->uv);
        (void)uv_timer_start(&dog->look, dog_look, dog_period_ms(dog), dog_period_ms(dog));
    }
}

/* On the watchdog's thread: whether it takes the signals that it watches for. */
static void dog_mask(const IoWatchdog *dog, bool takes)
{
#ifndef _WIN32
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < dog->config.n_signals; i++) {
        (void)sigaddset(&set, dog->signals[i]);
    }
    (void)pthread_sigmask(takes ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
#else
    (void)dog;
    (void)takes;
#endif
}

static void dog_on_wake(uv_async_t *wake)
{
    IoWatchdog *dog = wake->data;

    if (!atomic_load(&dog->must_stop)) {
        dog_start_looking(dog);
        return;
    }
    /* Without a handle the signal has its default effect, which would kill a process that is about
     * to end well. */
    if (dog->is_running) {
        dog_mask(dog, false);
    }
    for (size_t i = 0; i < dog->config.n_signals; i++) {
        uv_close((uv_handle_t *)&dog->on_signal[i], NULL);
    }
    uv_close((uv_handle_t *)&dog->look, NULL);
    uv_close((uv_handle_t *)&dog->wake, NULL);
}

static void dog_on_signal(uv_signal_t *signal, int signum)
{
    IoWatchdog *dog = signal->data;

    atomic_store_explicit(&dog->loop->watchdog_rests, false, memory_order_relaxed);
    dog_start_looking(dog);
    if (dog->n_signals++ == 0) {
        dog->signum = signum;
        dog->signalled_ms = dog->seen_ms;
        dog->answered_ms = dog->seen_ms;
    }
    dog_look_at_end(dog);
}

static void dog_run(void *context)
{
    IoWatchdog *dog = context;

    dog->is_running = true;
#ifdef __linux__
    (void)prctl(PR_SET_NAME, "watchdog"); /* for those who look at the threads */
#endif
    dog_mask(dog, true);
    (void)uv_run(&dog->uv, UV_RUN_DEFAULT);
}

/* ---- beginning and end ---- */

/* The thread takes no signal but those that it watches for, from its first instruction on: a signal
 * that another part of the program waits for in pselect() must arrive on the thread that waits. */
static int dog_start_thread(IoWatchdog *dog)
{
    int r;
#ifndef _WIN32
    sigset_t all;
    sigset_t before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
#endif
    r = io_uv_result(uv_thread_create(&dog->thread, dog_run, dog));
#ifndef _WIN32
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
#endif
    return r == 0 ? 0 : err_raise(r);
}

static int dog_open(IoWatchdog *dog)
{
    int r = io_uv_result(uv_async_init(&dog->uv, &dog->wake, dog_on_wake));

    if (r != 0) {
        return err_raise(r);
    }
    (void)uv_timer_init(&dog->uv, &dog->look);
    dog->wake.data = dog;
    dog->look.data = dog;
    for (size_t i = 0; i < dog->config.n_signals; i++) {
        dog->signals[i] = dog->config.signals[i];
        (void)uv_signal_init(&dog->uv, &dog->on_signal[i]); /* as in loop.c */
        dog->on_signal[i].data = dog;
    }
    for (size_t i = 0; i < dog->config.n_signals && r == 0; i++) {
        r = io_uv_result(uv_signal_start(&dog->on_signal[i], dog_on_signal, dog->signals[i]));
    }
#if WATCHDOG_HAS_CPU_CLOCK
    dog->has_cpu = pthread_getcpuclockid(pthread_self(), &dog->cpu) == 0;
#endif
    r = r != 0 ? r : dog_start_thread(dog);
    if (r != 0) { /* the handles close as the thread would close them */
        atomic_store(&dog->must_stop, true);
        (void)uv_async_send(&dog->wake);
        (void)uv_run(&dog->uv, UV_RUN_DEFAULT);
        return err_raise(r);
    }
    return 0;
}

int io_watchdog_start(IoLoop *loop, const IoWatchdogConfig *config)
{
    IoWatchdog *dog;
    int r;

    if (config->n_signals > IO_WATCHDOG_SIGNALS || loop->watchdog != NULL) {
        return err_raise(-EINVAL);
    }
    dog = mem_alloc_array(1, sizeof(*dog));
    if (dog == NULL) {
        return err_raise(-ENOMEM);
    }
    dog->loop = loop;
    dog->config = *config;
    dog->config.turn_ms = config->turn_ms > 0 ? config->turn_ms : LIMIT_TURN_MS;
    dog->config.quiet_ms = config->quiet_ms > 0 ? config->quiet_ms : LIMIT_END_QUIET_MS;
    atomic_init(&dog->end_ms, config->end_ms);
    r = io_uv_result(uv_loop_init(&dog->uv));
    if (r == 0) {
        r = dog_open(dog);
        if (r == 0) {
            loop->watchdog = dog;
            atomic_store(&loop->watchdog_rests, true);
            return 0;
        }
        (void)uv_loop_close(&dog->uv);
    }
    (void)mem_free(dog);
    return err_pass(r);
}

void io_watchdog_set_end_ms(IoLoop *loop, int64_t end_ms)
{
    if (loop->watchdog != NULL) {
        atomic_store_explicit(&loop->watchdog->end_ms, end_ms, memory_order_relaxed);
    }
}

void io_watchdog_stop(IoLoop *loop)
{
    IoWatchdog *dog = loop->watchdog;

    atomic_store(&loop->watchdog_rests, false);
    if (dog != NULL) {
        atomic_store(&dog->must_stop, true);
        (void)uv_async_send(&dog->wake);
        (void)uv_thread_join(&dog->thread);
        (void)uv_loop_close(&dog->uv);
        loop->watchdog = mem_free(dog);
    }
    while (loop->first_turn_name != NULL) {
        IoTurnName *name = loop->first_turn_name;

        loop->first_turn_name = name->next;
        (void)mem_free(name);
    }
}
