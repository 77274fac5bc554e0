#include "io/unix_socket.h"

#include "support/cmocka.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "unit/io/scratch.h"

#define N_RACERS 4
#define N_ROUNDS 60
#define N_CHURNS 150

static UnixSocket listen_at(const char *path)
{
    UnixSocket s = UNIX_SOCKET_NULL;
    Diag diag = DIAG_NULL;
    int r = unix_socket_listen(&s, path, &diag);

    if (r != 0) {
        fail_msg("%d: %s", r, diag.message);
    }
    return s;
}

/* Refused with that outcome and words that contain `words`; nothing is left behind. */
static void assert_refused(const char *path, int outcome, const char *words)
{
    UnixSocket s = UNIX_SOCKET_NULL;
    Diag diag = DIAG_NULL;
    int n_before = scratch_count(false);
    int next_fd = scratch_next_fd();

    assert_int_equal(unix_socket_listen(&s, path, &diag), outcome);
    assert_int_equal(diag.code, outcome);
    if (strstr(diag.message, words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", diag.message, words);
    }
    assert_int_equal(s.fd, -1);
    assert_int_equal(scratch_count(false), n_before);
    assert_int_equal(scratch_next_fd(), next_fd);
    assert_int_equal(unix_socket_listen(&s, path, NULL), outcome);
}

static void a_listening_socket_is_reached_by_its_path(void **state)
{
    UnixSocket s = listen_at(scratch_path("a.sock"));
    int client = -1;
    int server;

    (void)state;
    assert_int_equal(scratch_count(false), 1);
    assert_int_equal(unix_socket_connect(s.path, &client), 0);
    server = accept(s.fd, NULL, NULL);
    assert_true(server >= 0);
    assert_int_equal(write(client, "x", 1), 1);
    assert_int_equal(fcntl(client, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(fcntl(client, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    assert_int_equal(fcntl(s.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(fcntl(s.fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    (void)close(server);
    (void)close(client);
    unix_socket_unlisten(&s);
    assert_int_equal(s.fd, -1);
    assert_int_equal(scratch_count(false), 0);
    unix_socket_unlisten(&s);
}

static void its_mode_does_not_depend_on_the_umask(void **state)
{
    static const mode_t masks[] = {0, 022, 077};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(masks); i++) {
        mode_t before = umask(masks[i]);
        UnixSocket s = listen_at(scratch_path("a.sock"));

        assert_int_equal(umask(before), masks[i]);
        assert_int_equal(scratch_mode(s.path), 0600);
        unix_socket_unlisten(&s);
    }
}

static void a_relative_path_is_one_of_the_working_folder(void **state)
{
    char before[4096];
    UnixSocket s;

    (void)state;
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(scratch), 0);
    scratch_dead_socket("a.sock");
    s = listen_at("a.sock");
    assert_true(unix_socket_is_live(scratch_path("a.sock")));
    unix_socket_unlisten(&s);
    assert_int_equal(scratch_count(false), 0);
    assert_int_equal(chdir(before), 0);
}

/* A folder in the scratch one whose path has n bytes. */
static void make_folder(char *ret, size_t n)
{
    size_t at = (size_t)snprintf(ret, SCRATCH_PATH_SIZE, "%s/", scratch);

    memset(ret + at, 'f', n - at);
    ret[n] = '\0';
    assert_int_equal(mkdir(ret, 0700), 0);
}

static void a_path_may_be_as_long_as_the_system_can_connect_to(void **state)
{
    char path[SCRATCH_PATH_SIZE];
    UnixSocket s;

    (void)state;
    /* One letter for the name: the private folder's own path is then too long to bind. */
    make_folder(path, UNIX_SOCKET_PATH_MAX - 2);
    memcpy(path + UNIX_SOCKET_PATH_MAX - 2, "/s", 3);
    assert_int_equal(strlen(path), UNIX_SOCKET_PATH_MAX);
    s = listen_at(path);
    assert_true(unix_socket_is_live(path));
    unix_socket_unlisten(&s);
    scratch_dead_socket(path);
    s = listen_at(path);
    unix_socket_unlisten(&s);
    memcpy(path + UNIX_SOCKET_PATH_MAX - 2, "/so", 4);
    assert_refused(path, UNIX_SOCKET_E_PLACE, "may be 107 bytes long, this one has 108");
    assert_false(unix_socket_remove_left(path));
    path[UNIX_SOCKET_PATH_MAX - 2] = '\0';
    assert_int_equal(rmdir(path), 0);
}

static void what_a_dead_process_left_is_replaced(void **state)
{
    const char *path = scratch_path("a.sock");
    UnixSocket s;

    (void)state;
    scratch_dead_socket(path);
    s = listen_at(path);
    assert_int_equal(scratch_count(false), 1);
    assert_true(unix_socket_is_live(path));
    unix_socket_unlisten(&s);
}

static void a_live_socket_keeps_its_name(void **state)
{
    UnixSocket s = listen_at(scratch_path("a.sock"));
    char words[64];

    (void)state;
    (void)snprintf(words, sizeof(words), "process %ld serves", (long)getpid());
    assert_refused(s.path, UNIX_SOCKET_E_LIVE, words);
    assert_int_equal(scratch_inode(s.path), s.inode);
    assert_true(unix_socket_is_live(s.path));
    unix_socket_unlisten(&s);
}

static void a_socket_that_is_busy_or_of_another_kind_is_live(void **state)
{
    const char *path = scratch_path("a.sock");
    int server = scratch_bind(path, SOCK_DGRAM);
    int clients[16];
    int n = 0;

    (void)state;
    assert_refused(path, UNIX_SOCKET_E_LIVE, "another process serves");
    assert_true(unix_socket_is_live(path));
    (void)close(server);
    assert_int_equal(unlink(path), 0);
    server = scratch_bind(path, SOCK_STREAM);
    assert_int_equal(listen(server, 0), 0);
    while (n < 16 && unix_socket_connect(path, &clients[n]) == 0) {
        n++;
    }
    assert_in_range(n, 1, 15);
    assert_int_equal(unix_socket_connect(path, &clients[n]), -EAGAIN);
    assert_true(unix_socket_is_live(path));
    assert_refused(path, UNIX_SOCKET_E_LIVE, "another process serves");
    while (n > 0) {
        (void)close(clients[--n]);
    }
    (void)close(server);
}

static void what_is_no_socket_is_never_removed(void **state)
{
    const char *path = scratch_path("a.sock");
    const char *dead = scratch_path("dead.sock");

    (void)state;
    scratch_write(path, "precious", 0600);
    assert_refused(path, UNIX_SOCKET_E_PLACE, "is no socket");
    assert_false(unix_socket_remove_left(path));
    assert_false(unix_socket_is_live(path));
    assert_int_equal(unlink(path), 0);

    assert_int_equal(mkdir(path, 0700), 0);
    assert_refused(path, UNIX_SOCKET_E_PLACE, "is no socket");
    assert_int_equal(rmdir(path), 0);

    scratch_dead_socket(dead);
    assert_int_equal(symlink(dead, path), 0);
    assert_refused(path, UNIX_SOCKET_E_PLACE, "is no socket");
    assert_false(unix_socket_remove_left(path));
    assert_true(scratch_exists(path));
    assert_true(scratch_exists(dead));
    assert_int_equal(unlink(path), 0);

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(path, UNIX_SOCKET_E_PLACE, "is no socket");
    assert_true(scratch_exists(path));
}

static void a_path_that_cannot_be_is_refused_with_words(void **state)
{
    (void)state;
    assert_refused(scratch_path("none/a.sock"), UNIX_SOCKET_E_PLACE, "there is no such folder");
    assert_refused("/dev/null/a.sock", UNIX_SOCKET_E_PLACE, "there is no such folder");
    assert_refused("", UNIX_SOCKET_E_PLACE, "add a file name");
    assert_refused("/tmp/", UNIX_SOCKET_E_PLACE, "add a file name");
    assert_refused("/tmp/..", UNIX_SOCKET_E_PLACE, "is no socket");
}

static void a_dead_socket_of_another_user_stays(void **state)
{
    const char *path = scratch_path("a.sock");

    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    scratch_dead_socket(path);
    assert_int_equal(chown(path, SCRATCH_STRANGER, SCRATCH_STRANGER), 0);
    assert_refused(path, UNIX_SOCKET_E_PLACE, "another user");
    assert_false(unix_socket_remove_left(path));
    assert_true(scratch_exists(path));
}

static void a_name_that_has_become_anothers_stays(void **state)
{
    UnixSocket s = listen_at(scratch_path("a.sock"));
    UnixSocket other;
    ino_t inode;

    (void)state;
    assert_int_equal(unlink(s.path), 0);
    other = listen_at(s.path);
    inode = scratch_inode(other.path);
    unix_socket_unlisten(&s);
    assert_int_equal(scratch_inode(other.path), inode);
    assert_true(unix_socket_is_live(other.path));
    unix_socket_unlisten(&other);
    assert_int_equal(scratch_count(false), 0);
}

static void connecting_says_why_it_failed(void **state)
{
    char path[200];
    int fd = -1;

    (void)state;
    memset(path, 'x', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(unix_socket_connect(path, &fd), -ENAMETOOLONG);
    assert_int_equal(unix_socket_connect("", &fd), -ENOENT);
    assert_int_equal(unix_socket_connect(scratch_path("none"), &fd), -ENOENT);
    scratch_dead_socket(scratch_path("dead"));
    assert_int_equal(unix_socket_connect(scratch_path("dead"), &fd), -ECONNREFUSED);
    assert_int_equal(fd, -1);
    assert_false(unix_socket_is_live(scratch_path("none")));
    assert_false(unix_socket_is_live(scratch_path("dead")));
    assert_false(unix_socket_is_live(scratch_path("dead/below")));
    assert_true(unix_socket_is_live(path)); /* not known */
}

static void only_dead_sockets_are_removed(void **state)
{
    UnixSocket s = listen_at(scratch_path("live"));

    (void)state;
    scratch_dead_socket(scratch_path("dead"));
    assert_true(unix_socket_remove_left(scratch_path("dead")));
    assert_false(unix_socket_remove_left(scratch_path("dead")));
    assert_false(unix_socket_remove_left(s.path));
    assert_int_equal(scratch_count(false), 1);
    unix_socket_unlisten(&s);
}

/* Somebody holds the lock for ever: a free name can be had all the same, nothing is removed. */
static void a_folder_that_stays_locked_is_not_waited_for_for_ever(void **state)
{
    int lock_fd = open(scratch, O_RDONLY | O_DIRECTORY);
    UnixSocket s = listen_at(scratch_path("free.sock"));
    UnixSocket other = UNIX_SOCKET_NULL;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(flock(lock_fd, LOCK_EX), 0);
    scratch_dead_socket(scratch_path("dead.sock"));
    assert_int_equal(unix_socket_listen(&other, scratch_path("dead.sock"), &diag),
                     UNIX_SOCKET_E_PLACE);
    assert_non_null(strstr(diag.message, "remove it by hand"));
    assert_int_equal(unix_socket_listen(&other, s.path, &diag), UNIX_SOCKET_E_LIVE);
    assert_false(unix_socket_remove_left(scratch_path("dead.sock")));
    assert_int_equal(scratch_count(false), 2);
    (void)close(lock_fd);
    unix_socket_unlisten(&s);
}

static void want_of_descriptors_leaves_nothing_behind(void **state)
{
    const char *path = scratch_path("a.sock");
    UnixSocket s = UNIX_SOCKET_NULL;
    int next_fd = scratch_next_fd();
    struct rlimit before;
    int n_failures = 0;

    (void)state;
    scratch_dead_socket(path);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (rlim_t n = 0; s.fd < 0; n++) {
        struct rlimit limit = {.rlim_cur = (rlim_t)next_fd + n, .rlim_max = before.rlim_max};
        int r;

        assert_true(n < 10);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        r = unix_socket_listen(&s, path, NULL);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(scratch_count(false), 1);
        if (r != 0) {
            n_failures++;
            /* Not knowing whether it lives is as if it did. */
            assert_true(r == -EMFILE || r == UNIX_SOCKET_E_LIVE);
            assert_int_equal(scratch_next_fd(), next_fd);
        }
    }
    assert_in_range(n_failures, 3, 9);
    unix_socket_unlisten(&s);
}

static void the_peer_is_known(void **state)
{
    int pair[2];
    int lone = socket(AF_UNIX, SOCK_STREAM, 0);
    long uid = 12345;
    long pid = 0;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(unix_socket_peer_ids(pair[0], &uid, &pid), 0);
    assert_int_equal(uid, geteuid());
    assert_int_equal(pid, getpid());
    assert_true(unix_socket_peer_is_trusted(pair[0]));
    uid = 12345;
    assert_int_equal(unix_socket_peer_ids(lone, &uid, NULL), -ENOTCONN);
    assert_int_equal(uid, 12345);
    assert_false(unix_socket_peer_is_trusted(lone));
    assert_int_equal(unix_socket_peer_ids(-1, &uid, NULL), -EBADF);
    assert_false(unix_socket_peer_is_trusted(-1));
    (void)close(pair[0]);
    (void)close(pair[1]);
    (void)close(lone);
}

/* The child becomes a stranger and tells whom it trusts; so does the parent, who is root. */
static void root_is_trusted_and_strangers_are_not(void **state)
{
    UnixSocket s;
    int client = -1;
    int server;
    pid_t pid;

    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(chmod(scratch, 0755), 0);
    s = listen_at(scratch_path("a.sock"));
    assert_int_equal(chmod(s.path, 0666), 0);
    pid = fork();
    if (pid == 0) {
        bool done = setuid(SCRATCH_STRANGER) == 0 && unix_socket_connect(s.path, &client) == 0 &&
                    unix_socket_peer_is_trusted(client);

        _exit(done ? 0 : 1);
    }
    scratch_reap(pid);
    server = accept(s.fd, NULL, NULL);
    assert_true(server >= 0);
    assert_false(unix_socket_peer_is_trusted(server));
    (void)close(server);
    unix_socket_unlisten(&s);
}

/* Of those who start at once on a dead name exactly one has it, and keeps it. `go` ends when all
 * may start, `stop` when the winner may die. */
static void racer(const char *path, int go, int stop, int report)
{
    UnixSocket s = UNIX_SOCKET_NULL;
    char letter;
    int r;

    (void)read(go, &letter, 1);
    r = unix_socket_listen(&s, path, NULL);
    letter = r == 0 ? 'w' : r == UNIX_SOCKET_E_LIVE ? 'l' : 'x';
    (void)write(report, &letter, 1);
    (void)read(stop, &letter, 1);
    /* Dead without a farewell: the next round's leftover. */
    _exit(0);
}

static pid_t start_racer(const char *path, int go[2], int stop[2], int report[2])
{
    pid_t pid = fork();

    if (pid == 0) {
        (void)close(go[1]);
        (void)close(stop[1]);
        racer(path, go[0], stop[0], report[1]);
    }
    assert_true(pid > 0);
    return pid;
}

static void race_once(const char *path)
{
    pid_t pids[N_RACERS];
    int go[2];
    int stop[2];
    int report[2];
    int n_winners = 0;
    long pid = 0;
    long uid;
    int fd = -1;
    bool is_found = false;

    assert_int_equal(pipe(go) | pipe(stop) | pipe(report), 0);
    for (int i = 0; i < N_RACERS; i++) {
        pids[i] = start_racer(path, go, stop, report);
    }
    (void)close(go[0]);
    (void)close(go[1]);
    for (int i = 0; i < N_RACERS; i++) {
        char letter = '?';

        assert_int_equal(read(report[0], &letter, 1), 1);
        assert_true(letter == 'w' || letter == 'l');
        n_winners += letter == 'w';
    }
    assert_int_equal(n_winners, 1);
    assert_int_equal(unix_socket_connect(path, &fd), 0);
    assert_int_equal(unix_socket_peer_ids(fd, &uid, &pid), 0);
    (void)close(fd);
    (void)close(stop[0]);
    (void)close(stop[1]);
    for (int i = 0; i < N_RACERS; i++) {
        is_found = is_found || pids[i] == pid;
        scratch_reap(pids[i]);
    }
    assert_true(is_found);
    (void)close(report[0]);
    (void)close(report[1]);
}

static void of_many_that_start_at_once_one_gets_the_name(void **state)
{
    const char *path = scratch_path("a.sock");

    (void)state;
    scratch_dead_socket(path);
    for (int i = 0; i < N_ROUNDS; i++) {
        race_once(path);
        assert_int_equal(scratch_count(false), 1);
    }
}

/* Takes the name again and again; while it has it, the name must lead here. 0 if all went well. */
static int churn(const char *path, int seed)
{
    int n_taken = 0;

    for (int i = 0; n_taken < N_CHURNS; i++) {
        UnixSocket s = UNIX_SOCKET_NULL;
        struct stat info;
        int r = unix_socket_listen(&s, path, NULL);

        /* PLACE: on a busy machine the lock may be out of reach for long. */
        if (r == UNIX_SOCKET_E_LIVE || r == UNIX_SOCKET_E_PLACE) {
            continue;
        }
        if (r != 0) {
            return 2;
        }
        n_taken++;
        for (int k = 0; k < 20; k++) {
            if (lstat(path, &info) != 0 || info.st_ino != s.inode) {
                return 3;
            }
        }
        if ((i + seed) % 3 == 0) {
            unix_socket_unlisten(&s);
        } else {
            (void)close(s.fd); /* dead, with its name left behind */
        }
    }
    return 0;
}

static void nobody_loses_a_name_to_those_who_clean_up(void **state)
{
    const char *path = scratch_path("a.sock");
    pid_t pids[N_RACERS];
    pid_t tester = getpid();
    pid_t cleaner;

    (void)state;
    for (int i = 0; i < N_RACERS; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            _exit(churn(path, i));
        }
    }
    cleaner = fork();
    if (cleaner == 0) {
        while (getppid() == tester) {
            (void)unix_socket_remove_left(path);
        }
        _exit(0);
    }
    for (int i = 0; i < N_RACERS; i++) {
        scratch_reap(pids[i]);
    }
    assert_int_equal(kill(cleaner, SIGKILL), 0);
    assert_int_equal(waitpid(cleaner, NULL, 0), cleaner);
    assert_true(scratch_count(false) <= 1);
}

static void names_tell_sockets_from_other_things(void **state)
{
    const char *path = scratch_path("s");

    (void)state;
    assert_false(unix_socket_is_there(path));
    assert_false(unix_socket_is_other(path));
    scratch_dead_socket(path);
    assert_true(unix_socket_is_there(path));
    assert_false(unix_socket_is_other(path));
    scratch_write(scratch_path("f"), "x", 0600);
    assert_true(unix_socket_is_there(scratch_path("f")));
    assert_true(unix_socket_is_other(scratch_path("f")));
}

static void its_name_is_its_absolute_path(void **state)
{
    char *name = NULL;

    (void)state;
    assert_int_equal(unix_socket_name(&name, "/a/b.sock"), 0);
    assert_string_equal(name, "/a/b.sock");
    name = mem_free(name);
    assert_int_equal(unix_socket_name(&name, "b.sock"), 0);
    assert_int_equal(name[0], '/');
    assert_non_null(strstr(name, "/b.sock"));
    name = mem_free(name);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_listening_socket_is_reached_by_its_path),
        TEST(names_tell_sockets_from_other_things),
        TEST(its_name_is_its_absolute_path),
        TEST(its_mode_does_not_depend_on_the_umask),
        TEST(a_relative_path_is_one_of_the_working_folder),
        TEST(a_path_may_be_as_long_as_the_system_can_connect_to),
        TEST(what_a_dead_process_left_is_replaced),
        TEST(a_live_socket_keeps_its_name),
        TEST(a_socket_that_is_busy_or_of_another_kind_is_live),
        TEST(what_is_no_socket_is_never_removed),
        TEST(a_path_that_cannot_be_is_refused_with_words),
        TEST(a_dead_socket_of_another_user_stays),
        TEST(a_name_that_has_become_anothers_stays),
        TEST(connecting_says_why_it_failed),
        TEST(only_dead_sockets_are_removed),
        TEST(a_folder_that_stays_locked_is_not_waited_for_for_ever),
        TEST(want_of_descriptors_leaves_nothing_behind),
        TEST(the_peer_is_known),
        TEST(root_is_trusted_and_strangers_are_not),
        TEST(of_many_that_start_at_once_one_gets_the_name),
        TEST(nobody_loses_a_name_to_those_who_clean_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
