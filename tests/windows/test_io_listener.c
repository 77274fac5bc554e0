/* Named pipes in the place of sockets: listening, connecting, who is there. */
#include "io/listener.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdlib.h>
#include <windows.h>

#include "io/descriptor_look.h"
#include "io/pipe_place.h"
#include "io/place.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "unit/io/pump.h"
#include "windows/scratch.h"

#define N_CLIENTS  5
#define N_MESSAGES 200
#define N_SERVED   16

/* A server that echoes. */
typedef struct Door {
    IoLoop *loop;
    IoListener *listener;
    Pump served[N_SERVED];
    int n_served;
    bool is_closed_after_one;
} Door;

/* Sends one message after the other, each when the last came back. */
typedef struct Client {
    Pump pump; /* first */
    int n_sent;
    int *n_busy; /* clients that are not through */
} Client;

static void door_on_accept(void *context, int fd)
{
    Door *door = context;
    Pump *pump = &door->served[door->n_served++];

    assert_true(door->n_served <= N_SERVED);
    pump_init(pump, door->loop);
    pump->echo = true;
    pump_open(pump, fd, fd);
    if (door->is_closed_after_one) {
        door->listener = io_listener_free(door->listener);
    }
}

static int door_open(Door *door, const char *path, Diag *diag)
{
    IoListenerConfig config = {
        .loop = door->loop, .path = path, .accept = door_on_accept, .context = door};

    return io_listener_new(&door->listener, &config, diag);
}

static void door_setup(Door *door)
{
    *door = (Door){.loop = NULL};
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_int_equal(io_loop_new(&door->loop), 0);
}

static void door_teardown(Door *door)
{
    door->listener = io_listener_free(door->listener);
    for (int i = 0; i < door->n_served; i++) {
        pump_deinit(&door->served[i]);
    }
    door->loop = io_loop_free(door->loop);
    assert_int_equal(alloc_testing()->n_live, 0);
}

static void client_send(Client *client)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%04d", client->n_sent++);
    pump_put(&client->pump, text, 4);
}

static void client_on_input(Pump *pump)
{
    Client *client = (Client *)pump;

    if (pump->in.n < (size_t)client->n_sent * 4) {
        return;
    }
    if (client->n_sent < N_MESSAGES) {
        client_send(client);
        io_stream_flush(pump->stream);
    } else if (--*client->n_busy == 0) {
        io_loop_stop(pump->loop);
    }
}

static void client_open(Client *client, IoLoop *loop, const char *path, int *n_busy)
{
    int fd = -1;

    *client = (Client){.n_busy = n_busy};
    pump_init(&client->pump, loop);
    client->pump.on_input = client_on_input;
    assert_int_equal(unix_socket_connect(path, &fd), 0);
    pump_open(&client->pump, fd, fd);
    client_send(client);
}

static void five_clients_are_served_at_once(void **state)
{
    static Client clients[N_CLIENTS];
    static Door door;
    const char *path = scratch_pipe("door");
    Diag diag = DIAG_NULL;
    int n_busy = N_CLIENTS;

    (void)state;
    door_setup(&door);
    assert_int_equal(door_open(&door, path, &diag), 0);
    for (int i = 0; i < N_CLIENTS; i++) {
        client_open(&clients[i], door.loop, path, &n_busy);
    }
    assert_int_equal(io_loop_run(door.loop), 0);
    assert_int_equal(n_busy, 0);
    assert_int_equal(door.n_served, N_CLIENTS);
    for (int i = 0; i < N_CLIENTS; i++) {
        assert_int_equal(clients[i].pump.in.n, (size_t)N_MESSAGES * 4);
        assert_memory_equal(clients[i].pump.in.data + (size_t)(N_MESSAGES - 1) * 4, "0199", 4);
        assert_int_equal(clients[i].pump.n_failures, 0);
        pump_deinit(&clients[i].pump);
    }
    door_teardown(&door);
}

static void more_clients_than_slots_come_one_after_the_other(void **state)
{
    static Door door;
    const char *path = scratch_pipe("door");
    Diag diag = DIAG_NULL;
    static Client clients[N_SERVED];
    int n_open = 0;

    (void)state;
    door_setup(&door);
    assert_int_equal(door_open(&door, path, &diag), 0);
    /* All slots taken: the next is told to try again, and gets in after a turn of the loop. */
    while (n_open < N_SERVED) {
        int fd = -1;
        int r = unix_socket_connect(path, &fd);

        if (r == -EAGAIN) {
            int n_busy = n_open;

            assert_true(n_open > 1);
            for (int i = 0; i < n_open; i++) {
                clients[i].n_busy = &n_busy;
                clients[i].n_sent = N_MESSAGES - 1;
                bytes_drop_front(&clients[i].pump.in, clients[i].pump.in.n);
                assert_int_equal(bytes_reserve(&clients[i].pump.in, (size_t)N_MESSAGES * 4), 0);
                clients[i].pump.in.n = (size_t)(N_MESSAGES - 1) * 4;
                client_send(&clients[i]);
            }
            assert_int_equal(io_loop_run(door.loop), 0);
            continue;
        }
        assert_int_equal(r, 0);
        pump_init(&clients[n_open].pump, door.loop);
        clients[n_open].pump.on_input = client_on_input;
        pump_open(&clients[n_open].pump, fd, fd);
        n_open++;
    }
    for (int i = 0; i < n_open; i++) {
        pump_deinit(&clients[i].pump);
    }
    door_teardown(&door);
}

static void the_listener_may_be_freed_by_whom_it_calls(void **state)
{
    static Door door;
    static Client client;
    const char *path = scratch_pipe("door");
    Diag diag = DIAG_NULL;
    int n_busy = 1;
    int fd = -1;

    (void)state;
    door_setup(&door);
    door.is_closed_after_one = true;
    assert_int_equal(door_open(&door, path, &diag), 0);
    client_open(&client, door.loop, path, &n_busy);
    assert_int_equal(io_loop_run(door.loop), 0);
    assert_int_equal(client.n_sent, N_MESSAGES);
    /* Its connection lives, but nobody new gets in. */
    assert_int_not_equal(unix_socket_connect(path, &fd), 0);
    pump_deinit(&client.pump);
    door_teardown(&door);
}

static void both_ends_know_and_trust_each_other(void **state)
{
    static Door door;
    static Client client;
    const char *path = scratch_pipe("door");
    Diag diag = DIAG_NULL;
    int n_busy = 1;
    long uid = 0;
    long pid = 0;
    int fd = -1;

    (void)state;
    door_setup(&door);
    assert_int_equal(door_open(&door, path, &diag), 0);
    assert_int_equal(unix_socket_connect(path, &fd), 0);
    assert_int_equal(unix_socket_peer_ids(fd, &uid, &pid), 0);
    assert_int_equal(pid, io_program_pid());
    assert_int_equal(uid, unix_socket_own_uid());
    assert_true(unix_socket_peer_is_trusted(fd));
    assert_false(io_fd_has_gone(fd));
    io_fd_close(fd);
    assert_false(unix_socket_peer_is_trusted(-1));
    assert_int_equal(unix_socket_peer_ids(-1, NULL, NULL), -ENOTCONN);
    client_open(&client, door.loop, path, &n_busy);
    assert_int_equal(io_loop_run(door.loop), 0);
    pump_deinit(&client.pump);
    door_teardown(&door);
}

static void a_name_without_a_server_is_not_there(void **state)
{
    const char *path = scratch_pipe("nobody");
    int fd = -1;

    (void)state;
    assert_int_equal(unix_socket_connect(path, &fd), -ENOENT);
    assert_int_equal(unix_socket_connect("", &fd), -ENOENT);
    assert_false(unix_socket_is_live(path));
    assert_false(unix_socket_is_there(path));
    assert_false(unix_socket_is_other(path));
    assert_false(unix_socket_remove_left(path));
}

static void a_pipe_is_where_windows_has_them(void **state)
{
    Diag diag = DIAG_NULL;
    char *path = NULL;

    (void)state;
    assert_int_equal(io_pipe_place(&path, "MyHub", &diag), 0);
    assert_string_equal(path, "\\\\.\\pipe\\MyHub");
    path = mem_free(path);
    assert_int_equal(io_pipe_place(&path, "\\\\.\\PIPE\\MyHub", &diag), 0);
    assert_string_equal(path, "\\\\.\\pipe\\MyHub");
    path = mem_free(path);
    assert_int_equal(io_pipe_place(&path, "C:\\hub", &diag), PIPE_PLACE_E_NAME);
    assert_int_equal(io_pipe_place(&path, "", &diag), PIPE_PLACE_E_NAME);
}

static void any_path_is_a_name(void **state)
{
    const char *path = scratch_path("host.sock");
    UnixSocket s = UNIX_SOCKET_NULL;
    Diag diag = DIAG_NULL;
    char *name = NULL;
    int fd = -1;

    (void)state;
    assert_int_equal(unix_socket_listen(&s, path, &diag), 0);
    assert_true(unix_socket_is_there(path));
    assert_false(scratch_exists(path));
    assert_int_equal(unix_socket_name(&name, path), 0);
    assert_int_equal(strncmp(name, "\\\\.\\pipe\\", 9), 0);
    assert_string_equal(name + 9, path);
    assert_true(io_place_is_pipe_name(name));
    assert_int_equal(unix_socket_connect(name, &fd), 0);
    name = mem_free(name);
    io_fd_close(fd);
    unix_socket_unlisten(&s);
    unix_socket_unlisten(&s);
    assert_false(unix_socket_is_live(path));
}

static void a_name_that_cannot_be_is_refused_with_words(void **state)
{
    UnixSocket s = UNIX_SOCKET_NULL;
    Diag diag = DIAG_NULL;
    char longest[400];

    (void)state;
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    memcpy(longest, "\\\\.\\pipe\\", 9);
    assert_int_equal(unix_socket_listen(&s, longest, &diag), UNIX_SOCKET_E_PLACE);
    assert_non_null(strstr(diag.message, "choose a shorter one"));
    assert_int_equal(unix_socket_listen(&s, "\\\\.\\pipe\\", &diag), UNIX_SOCKET_E_PLACE);
    assert_non_null(strstr(diag.message, "add a name"));
    longest[UNIX_SOCKET_PATH_MAX] = '\0';
    assert_int_equal(unix_socket_listen(&s, longest, &diag), 0);
    unix_socket_unlisten(&s);
}

static void a_second_owner_is_refused_and_told_who_it_is(void **state)
{
    const char *path = scratch_pipe("owned");
    ScratchChild child = scratch_child_start("serve", path);
    UnixSocket s = UNIX_SOCKET_NULL;
    Diag diag = DIAG_NULL;
    char pid[32];
    long peer = 0;
    int fd = -1;

    (void)state;
    assert_string_equal(scratch_child_line(&child), "ready");
    (void)snprintf(pid, sizeof(pid), "process %lu ", (unsigned long)child.pid);
    assert_int_equal(unix_socket_listen(&s, path, &diag), UNIX_SOCKET_E_LIVE);
    assert_non_null(strstr(diag.message, pid));
    assert_int_equal(s.fd, -1);
    assert_int_equal(scratch_child_end(&child), 0);
    /* The name went with its process. */
    assert_int_equal(unix_socket_listen(&s, path, &diag), 0);
    assert_int_equal(unix_socket_connect(path, &fd), 0);
    assert_int_equal(unix_socket_peer_ids(fd, NULL, &peer), 0);
    assert_int_equal(peer, io_program_pid());
    io_fd_close(fd);
    unix_socket_unlisten(&s);
}

static int scenario_listener(void *context)
{
    Door door = {.loop = NULL};
    int r = io_loop_new(&door.loop);

    if (r == 0) {
        r = door_open(&door, context, NULL);
    }
    door.listener = io_listener_free(door.listener);
    door.loop = io_loop_free(door.loop);
    /* Without memory it is not known whether somebody serves the name. */
    return r;
}

static void memory_that_runs_out_is_reported(void **state)
{
    char path[SCRATCH_PATH_SIZE];

    (void)state;
    (void)snprintf(path, sizeof(path), "%s", scratch_pipe("oom"));
    test_oom_sweep(scenario_listener, path);
}

/* Serves until its input ends: one instance, and one more for the one who comes to look. */
static int child_serve(const char *path)
{
    UnixSocket s = UNIX_SOCKET_NULL;

    if (unix_socket_listen(&s, path, NULL) != 0) {
        return 1;
    }
    scratch_child_wait();
    unix_socket_unlisten(&s);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_clients_are_served_at_once),
        cmocka_unit_test(more_clients_than_slots_come_one_after_the_other),
        cmocka_unit_test(the_listener_may_be_freed_by_whom_it_calls),
        cmocka_unit_test(both_ends_know_and_trust_each_other),
        cmocka_unit_test(a_name_without_a_server_is_not_there),
        cmocka_unit_test(a_pipe_is_where_windows_has_them),
        cmocka_unit_test_setup_teardown(any_path_is_a_name, scratch_setup, scratch_teardown),
        cmocka_unit_test(a_name_that_cannot_be_is_refused_with_words),
        cmocka_unit_test(a_second_owner_is_refused_and_told_who_it_is),
        cmocka_unit_test(memory_that_runs_out_is_reported),
    };

    if (argc > 2 && strcmp(argv[1], "serve") == 0) {
        return child_serve(argv[2]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
