/* The front as a program: finds its hub, joins it to standard input and output, and ends as a
 * server would (app/serve.c). */
#include "app/front.h"

#include <errno.h>

#include "app/end_signals.h"
#include "app/hub_place.h"
#include "base/alloc.h"
#include "base/error.h"
#include "io/descriptor_look.h"
#include "io/place.h"
#include "io/private_file.h"
#include "io/stdio.h"
#include "io/unix_socket.h"
#include "providers/upstream_chain.h"

/* How soon an orphan notices, as in app/serve.c. */
#define FRONT_PARENT_PERIOD_MS 2000

/* How often a hub is tried, a millisecond apart, that has no room for one more at the moment. */
#define FRONT_CONNECT_TRIES 2000

/* Standard error. */
#define FRONT_LAST_STANDARD 2

typedef struct FrontRun {
    IoLoop *loop;
    Front *front;
    IoSignal *signals[END_SIGNALS_N];
    IoParentWatch *parent;
    int r; /* how it ended */
} FrontRun;

/* It says nothing but this. */
static const LogSink front_log = {.level = LOGSINK_LEVEL_WARN, .write_fn = logsink_stderr_write};

/* ---- the hub ---- */

static int front_connect(int *ret_fd, const char *path)
{
    int n_tries = 0;
    int fd = -1;
    int r;

    /* One look, where mostly nothing is. */
    if (!unix_socket_is_there(path)) {
        return FRONT_E_NO_HUB;
    }
    while ((r = unix_socket_connect(path, &fd)) == -EAGAIN && ++n_tries < FRONT_CONNECT_TRIES) {
        io_place_nap();
    }
    if (r != 0) {
        return FRONT_E_NO_HUB;
    }
    /* Under /tmp anybody can have made it. And where a standard descriptor was free, there is no
     * client to be a front for. */
    if (!unix_socket_peer_is_trusted(fd) || fd <= FRONT_LAST_STANDARD) {
        io_fd_close(fd);
        return FRONT_E_NO_HUB;
    }
    *ret_fd = fd;
    return 0;
}

/* Where no hub has ever been: one look, before the many that resolve the state folder. */
static bool front_is_in_vain(void)
{
    CLEANUP(mem_freep) char *folder = NULL;

    return !UNIX_SOCKET_HALF_ENDS || private_folder_runtime_path(&folder, NULL) != 0 ||
           !io_place_exists(folder);
}

int front_find(int *ret_fd, const char *state_folder, const char *config)
{
    CLEANUP(mem_freep) char *path = NULL;
    long pid = 0;
    int fd = -1;
    int r = front_is_in_vain() ? FRONT_E_NO_HUB : hub_place(&path, state_folder, NULL);

    if (r != 0) {
        return r == -ENOMEM ? err_pass(r) : FRONT_E_NO_HUB;
    }
    r = front_connect(&fd, path);
    if (r != 0) {
        return r;
    }
    if (config != NULL && !hub_place_has(path, config)) {
        io_fd_close(fd);
        return FRONT_E_NO_HUB;
    }
    if (unix_socket_peer_ids(fd, NULL, &pid) == 0 && upstream_chain_has(pid)) {
        io_fd_close(fd);
        return FRONT_E_WITHIN;
    }
    *ret_fd = fd;
    return 0;
}

/* ---- life ---- */

static void run_on_closed(void *context, int r)
{
    FrontRun *run = context;

    run->r = r;
    io_loop_stop(run->loop);
}

static void run_on_signal(void *context, int signum)
{
    FrontRun *run = context;

    (void)signum;
    if (front_is_ending(run->front)) {
        io_loop_stop(run->loop);
        return;
    }
    front_end(run->front);
}

static void run_on_orphaned(void *context)
{
    FrontRun *run = context;

    front_end(run->front);
}

/* Takes hub_fd. */
static int run_join(FrontRun *run, int hub_fd)
{
    int in_fd = -1;
    int out_fd = -1;
    int r = io_stdio_claim(&in_fd, &out_fd);

    if (r != 0) {
        io_fd_close(hub_fd);
        return err_pass(r);
    }
    r = front_new(&run->front, &(FrontConfig){.loop = run->loop,
                                              .in_fd = in_fd,
                                              .out_fd = out_fd,
                                              .hub_fd = hub_fd,
                                              .closed = run_on_closed,
                                              .context = run});
    for (size_t i = 0; r == 0 && i < END_SIGNALS_N; i++) {
        r = io_signal_new(&run->signals[i], run->loop, end_signals[i], run_on_signal, run);
    }
    return err_pass(r != 0 ? r
                           : io_parent_watch_new(&run->parent, run->loop, FRONT_PARENT_PERIOD_MS,
                                                 run_on_orphaned, run));
}

static int run_until_closed(FrontRun *run, int hub_fd)
{
    int r = io_loop_new(&run->loop);

    if (r != 0) {
        io_fd_close(hub_fd);
        return err_pass(r);
    }
    r = run_join(run, hub_fd);
    if (r != 0) {
        return err_pass(r);
    }
    end_signals_watch(run->loop, &front_log, END_TAKES_ITS_TIME, 0); /* the hub's time */
    end_signals_unblock();
    io_loop_hold(run->loop);
    r = io_loop_run(run->loop);
    io_loop_release(run->loop);
    return r != 0 ? err_pass(r) : run->r;
}

int front_stdio(int hub_fd, Diag *reterr_diag)
{
    FrontRun run = {.r = 0};
    int r;

    io_ignore_sigpipe();
    end_signals_block(); /* until somebody listens */
    r = run_until_closed(&run, hub_fd);
    end_signals_block();
    run.parent = io_parent_watch_free(run.parent);
    for (size_t i = 0; i < END_SIGNALS_N; i++) {
        run.signals[i] = io_signal_free(run.signals[i]);
    }
    run.front = front_free(run.front);
    run.loop = io_loop_free(run.loop);
    return r == FRONT_E_LOST
               ? diag_set(reterr_diag, r,
                          "the hub has gone; start again to go on with it, or without")
               : r;
}
