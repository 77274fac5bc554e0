/* Which hub a front finds. What it does then is shown by test_front.c and tests/e2e/front.sh. */
/* nftw */
#define _XOPEN_SOURCE 700
#include "support/cmocka.h"

#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/front.h"
#include "app/hub_place.h"
#include "base/alloc.h"
#include "io/unix_socket.h"

/* A user that is neither us nor root. */
#define STRANGER 65534

typedef struct Rig {
    char folder[64];
    char state[80];
    char *path; /* of the hub's socket */
    UnixSocket socket;
    PrivateFile note;
} Rig;

static int setup(void **state)
{
    static Rig rig;

    rig = (Rig){.socket = UNIX_SOCKET_NULL, .note = PRIVATE_FILE_NULL};
    (void)snprintf(rig.folder, sizeof(rig.folder), "/tmp/tw-front-XXXXXX");
    assert_non_null(mkdtemp(rig.folder));
    (void)snprintf(rig.state, sizeof(rig.state), "%s/state", rig.folder);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", rig.folder, 1), 0);
    assert_int_equal(hub_place_make(&rig.path, rig.state, NULL), 0);
    *state = &rig;
    return 0;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info;
    (void)kind;
    (void)at;
    return remove(path);
}

static int teardown(void **state)
{
    Rig *rig = *state;

    unix_socket_unlisten(&rig->socket);
    private_file_remove(&rig->note);
    rig->path = mem_free(rig->path);
    return nftw(rig->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* What front_find says; a connection is closed again. */
static int find(const Rig *rig, const char *config)
{
    int fd = -1;
    int r = front_find(&fd, rig->state, config);

    assert_int_equal(r == 0, fd >= 0);
    if (r == 0) {
        assert_int_equal(close(fd), 0);
    }
    return r;
}

static void hub_that_listens_is_found(void **state)
{
    Rig *rig = *state;
    int fd = -1;

    assert_int_equal(find(rig, NULL), FRONT_E_NO_HUB);
    assert_int_equal(unix_socket_listen(&rig->socket, rig->path, NULL), 0);
    assert_int_equal(find(rig, NULL), 0);
    assert_int_equal(front_find(&fd, rig->folder, NULL), FRONT_E_NO_HUB); /* another state */
}

static void socket_of_a_dead_hub_is_none(void **state)
{
    Rig *rig = *state;

    assert_int_equal(unix_socket_listen(&rig->socket, rig->path, NULL), 0);
    assert_int_equal(close(rig->socket.fd), 0);
    rig->socket = UNIX_SOCKET_NULL;
    assert_int_equal(access(rig->path, F_OK), 0);
    assert_int_equal(find(rig, NULL), FRONT_E_NO_HUB);
}

static void settings_that_are_asked_for_must_be_the_hubs(void **state)
{
    Rig *rig = *state;

    assert_int_equal(unix_socket_listen(&rig->socket, rig->path, NULL), 0);
    assert_int_equal(find(rig, "/a.json"), FRONT_E_NO_HUB);
    assert_int_equal(hub_place_tell(&rig->note, rig->path, "/a.json", NULL), 0);
    assert_int_equal(find(rig, "/a.json"), 0);
    assert_int_equal(find(rig, "/b.json"), FRONT_E_NO_HUB);
    assert_int_equal(find(rig, NULL), 0);
    assert_int_equal(hub_place_tell(&rig->note, rig->path, NULL, NULL), 0);
    assert_int_equal(find(rig, "/a.json"), FRONT_E_NO_HUB);
}

static void nothing_is_looked_for_without_runtime_folder(void **state)
{
    Rig *rig = *state;
    char folder[80];

    (void)snprintf(folder, sizeof(folder), "%s/none", rig->folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", folder, 1), 0);
    assert_int_equal(find(rig, NULL), FRONT_E_NO_HUB);
}

/* Listens as another user, where everybody may, and says so. Never returns. */
static _Noreturn void be_a_stranger(const char *path, int ready_fd)
{
    UnixSocket listening = UNIX_SOCKET_NULL;
    bool done = setuid(STRANGER) == 0 && unix_socket_listen(&listening, path, NULL) == 0 &&
                chmod(path, 0777) == 0;

    (void)alarm(60); /* should the test end without us */
    (void)!write(ready_fd, done ? "y" : "n", 1);
    for (;;) {
        (void)pause();
    }
}

static void hub_of_another_user_is_none(void **state)
{
    Rig *rig = *state;
    char folder[80];
    char answer = 0;
    int ready[2];
    int fd = -1;
    pid_t pid;

    if (geteuid() != 0) {
        skip();
    }
    (void)snprintf(folder, sizeof(folder), "%s/toolwire", rig->folder);
    assert_int_equal(chmod(rig->folder, 0711), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        be_a_stranger(rig->path, ready[1]);
    }
    assert_int_equal(read(ready[0], &answer, 1), 1);
    assert_int_equal(answer, 'y');
    assert_int_equal(chmod(rig->folder, 0700), 0); /* ours again, as far as that is looked at */
    assert_int_equal(unix_socket_connect(rig->path, &fd), 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(find(rig, NULL), FRONT_E_NO_HUB);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(close(ready[0]), 0);
    assert_int_equal(close(ready[1]), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(hub_that_listens_is_found),
        TEST(socket_of_a_dead_hub_is_none),
        TEST(settings_that_are_asked_for_must_be_the_hubs),
        TEST(nothing_is_looked_for_without_runtime_folder),
        TEST(hub_of_another_user_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
