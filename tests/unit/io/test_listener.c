#include "io/listener.h"

#include "support/cmocka.h"

#include <sys/resource.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "unit/io/scratch.h"

/* More than are accepted in one turn. */
#define N_CLIENTS 150

/* No test comes near this; one that does hangs. */
#define GUARD_MS 30000

typedef struct Door {
    IoLoop *loop;
    IoListener *listener;
    IoTimer *guard;
    int fds[N_CLIENTS];
    int n_accepted;
    int stop_at;  /* connections after which the loop stops */
    bool may_end; /* frees the listener at the first connection */
    int n_logged;
    int raise_at; /* log lines after which descriptors may be had again */
    struct rlimit limit;
    int64_t first_log_ms;
    int64_t last_log_ms;
} Door;

static void door_on_guard(void *context)
{
    (void)context;
    fail_msg("nothing happens any more");
}

static void door_on_accept(void *context, int fd)
{
    Door *door = context;

    assert_true(door->n_accepted < N_CLIENTS);
    door->fds[door->n_accepted++] = fd;
    if (door->may_end) {
        door->listener = io_listener_free(door->listener);
    }
    if (door->n_accepted == door->stop_at) {
        io_loop_stop(door->loop);
    }
}

static void door_on_log(void *context, const char *line, size_t n)
{
    Door *door = context;

    (void)line;
    (void)n;
    if (door->n_logged == 0) {
        door->first_log_ms = io_loop_now_ms(door->loop);
    }
    door->last_log_ms = io_loop_now_ms(door->loop);
    door->n_logged++;
    if (door->n_logged == door->raise_at) {
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &door->limit), 0);
    }
    if (door->raise_at == 0) {
        io_loop_stop(door->loop);
    }
}

static void door_open(Door *door, const LogSink *log)
{
    const IoListenerConfig config = {.loop = door->loop,
                                     .path = scratch_path("a.sock"),
                                     .accept = door_on_accept,
                                     .context = door,
                                     .log = log};

    assert_int_equal(io_listener_new(&door->listener, &config, NULL), 0);
}

static int setup(void **state)
{
    static Door door;

    door = (Door){.stop_at = 1};
    (void)scratch_setup(state);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_int_equal(io_loop_new(&door.loop), 0);
    assert_int_equal(io_timer_new(&door.guard, door.loop, true, door_on_guard, NULL), 0);
    io_timer_start_at(door.guard, io_loop_now_ms(door.loop) + GUARD_MS);
    *state = &door;
    return 0;
}

static int teardown(void **state)
{
    Door *door = *state;

    for (int i = 0; i < door->n_accepted; i++) {
        (void)close(door->fds[i]);
    }
    (void)io_listener_free(door->listener);
    (void)io_timer_free(door->guard);
    (void)io_loop_free(door->loop);
    assert_int_equal(alloc_testing()->n_live, 0);
    return scratch_teardown(state);
}

static int connect_to_door(void)
{
    int fd = -1;

    assert_int_equal(unix_socket_connect(scratch_path("a.sock"), &fd), 0);
    return fd;
}

static void a_connection_is_handed_over_ready_to_use(void **state)
{
    Door *door = *state;
    char letter = 0;
    int client;

    door_open(door, NULL);
    client = connect_to_door();
    assert_int_equal(io_loop_run(door->loop), 0);
    assert_int_equal(door->n_accepted, 1);
    assert_int_equal(fcntl(door->fds[0], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(fcntl(door->fds[0], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    assert_int_equal(write(client, "x", 1), 1);
    assert_int_equal(read(door->fds[0], &letter, 1), 1);
    assert_int_equal(letter, 'x');
    (void)close(client);
}

static void a_crowd_is_accepted_over_several_turns(void **state)
{
    Door *door = *state;
    int clients[N_CLIENTS];

    door_open(door, NULL);
    for (int i = 0; i < N_CLIENTS; i++) {
        clients[i] = connect_to_door();
    }
    door->stop_at = N_CLIENTS;
    assert_int_equal(io_loop_run(door->loop), 0);
    assert_int_equal(door->n_accepted, N_CLIENTS);
    for (int i = 0; i < N_CLIENTS; i++) {
        (void)close(clients[i]);
    }
}

static void the_owner_may_free_it_at_a_connection(void **state)
{
    Door *door = *state;
    int clients[2];

    door_open(door, NULL);
    clients[0] = connect_to_door();
    clients[1] = connect_to_door();
    door->may_end = true;
    door->stop_at = 0;
    assert_int_equal(io_loop_run(door->loop), 0); /* ends by itself */
    assert_int_equal(door->n_accepted, 1);
    assert_false(scratch_exists(scratch_path("a.sock")));
    (void)close(clients[0]);
    (void)close(clients[1]);
}

static void free_removes_the_name_and_lets_the_loop_end(void **state)
{
    Door *door = *state;
    int next_fd = scratch_next_fd();

    door_open(door, NULL);
    assert_true(unix_socket_is_live(scratch_path("a.sock")));
    door->listener = io_listener_free(door->listener);
    assert_int_equal(scratch_count(false), 0);
    assert_int_equal(io_loop_run(door->loop), 0);
    assert_int_equal(scratch_next_fd(), next_fd);
    assert_null(io_listener_free(NULL));
}

static void a_name_in_use_is_refused_with_words(void **state)
{
    Door *door = *state;
    const IoListenerConfig config = {
        .loop = door->loop, .path = scratch_path("a.sock"), .accept = door_on_accept};
    IoListener *second = NULL;
    Diag diag = DIAG_NULL;

    door_open(door, NULL);
    assert_int_equal(io_listener_new(&second, &config, &diag), UNIX_SOCKET_E_LIVE);
    assert_null(second);
    assert_non_null(strstr(diag.message, "serves"));
    /* It was asked whether it lives, which looks like a connection. */
    assert_int_equal(io_loop_run(door->loop), 0);
    assert_int_equal(door->n_accepted, 1);
}

static void want_of_descriptors_pauses_accepting_and_no_more(void **state)
{
    Door *door = *state;
    LogSink log = {.level = LOGSINK_LEVEL_DEBUG, .write_fn = door_on_log, .context = door};
    struct rlimit none;
    int client;

    door_open(door, &log);
    client = connect_to_door();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &door->limit), 0);
    none = door->limit;
    none.rlim_cur = (rlim_t)scratch_next_fd();
    door->raise_at = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(io_loop_run(door->loop), 0);
    assert_int_equal(door->n_logged, 3);
    assert_int_equal(door->n_accepted, 1);
    /* It did not just spin: two whole pauses lie between the first line and the last. */
    assert_true(door->last_log_ms - door->first_log_ms >= 100);
    (void)close(client);
}

static void freed_in_a_pause_it_stays_silent(void **state)
{
    Door *door = *state;
    LogSink log = {.level = LOGSINK_LEVEL_DEBUG, .write_fn = door_on_log, .context = door};
    struct rlimit none;
    int client;

    door_open(door, &log);
    client = connect_to_door();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &door->limit), 0);
    none = door->limit;
    none.rlim_cur = (rlim_t)scratch_next_fd();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(io_loop_run(door->loop), 0); /* the log stops it */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &door->limit), 0);
    door->listener = io_listener_free(door->listener);
    assert_int_equal(io_loop_run(door->loop), 0);
    assert_int_equal(door->n_accepted, 0);
    (void)close(client);
}

static void a_stranger_is_closed_at_once(void **state)
{
    Door *door = *state;
    LogSink log = {.level = LOGSINK_LEVEL_DEBUG, .write_fn = door_on_log, .context = door};
    pid_t pid;

    if (geteuid() != 0) {
        skip();
    }
    door_open(door, &log);
    assert_int_equal(chmod(scratch, 0755), 0);
    assert_int_equal(chmod(scratch_path("a.sock"), 0666), 0);
    pid = fork();
    if (pid == 0) {
        char letter;
        int fd = -1;
        bool done = setuid(SCRATCH_STRANGER) == 0 &&
                    unix_socket_connect(scratch_path("a.sock"), &fd) == 0 &&
                    fcntl(fd, F_SETFL, 0) == 0 && read(fd, &letter, 1) == 0;

        _exit(done ? 0 : 1);
    }
    assert_int_equal(io_loop_run(door->loop), 0); /* the log stops it */
    assert_int_equal(door->n_logged, 1);
    assert_int_equal(door->n_accepted, 0);
    scratch_reap(pid);
}

static int open_once(void *context)
{
    Door *door = context;
    const IoListenerConfig config = {
        .loop = door->loop, .path = scratch_path("a.sock"), .accept = door_on_accept};
    IoListener *listener = NULL;
    int r = io_listener_new(&listener, &config, NULL);

    (void)io_listener_free(listener);
    assert_int_equal(scratch_count(false), 0);
    assert_int_equal(io_loop_run(door->loop), 0); /* what was freed closes */
    return r;
}

static void no_allocation_may_fail_unnoticed(void **state)
{
    Door *door = *state;

    test_oom_sweep(open_once, door);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_connection_is_handed_over_ready_to_use),
        TEST(a_crowd_is_accepted_over_several_turns),
        TEST(the_owner_may_free_it_at_a_connection),
        TEST(free_removes_the_name_and_lets_the_loop_end),
        TEST(a_name_in_use_is_refused_with_words),
        TEST(want_of_descriptors_pauses_accepting_and_no_more),
        TEST(freed_in_a_pause_it_stays_silent),
        TEST(a_stranger_is_closed_at_once),
        TEST(no_allocation_may_fail_unnoticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
