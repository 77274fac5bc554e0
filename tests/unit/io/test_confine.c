/* nftw, syscall */
#define _GNU_SOURCE

#include "io/confine.h"

#include "support/cmocka.h"

#include <ftw.h>
#include <signal.h>
#include <stdio.h>

#include "base/bytes.h"
#include "io/child.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "unit/io/scratch.h"

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

static int root_fd = -1;

static int setup(void **state)
{
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    (void)scratch_setup(state);
    assert_int_equal(mkdir(scratch_path("root"), 0700), 0);
    assert_int_equal(mkdir(scratch_path("lent"), 0700), 0);
    scratch_write(scratch_path("root/in"), "inside\n", 0600);
    scratch_write(scratch_path("lent/l"), "lent\n", 0600);
    scratch_write(scratch_path("secret"), "out\n", 0600);
    root_fd = open(scratch_path("root"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(root_fd >= 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(close(root_fd), 0);
    assert_int_equal(alloc_testing()->n_live, 0);
    assert_int_equal(nftw(scratch, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    return 0;
}

static IoConfine *make(const char *const *read_folders, bool allow_network)
{
    IoConfine *confine = NULL;
    Diag diag = DIAG_NULL;
    int r = io_confine_new(&confine,
                           &(IoConfineSpec){.write_fd = root_fd,
                                            .read_folders = read_folders,
                                            .allow_network = allow_network},
                           &diag);

    if (r == IO_CONFINE_E_UNAVAILABLE) {
        print_message("skipped: %s\n", diag.message);
        skip();
    }
    assert_int_equal(r, 0);
    return confine;
}

static int take(void *context, const char *p, size_t n)
{
    return bytes_append(context, p, n);
}

/* Runs a line of shell in the root, confined; returns its exit status, and what it printed. */
static int run(const IoConfine *confine, const char *line, char *out, size_t n_out)
{
    const char *const argv[] = {"/bin/sh", "-c", line, NULL};
    IoProcessExit how = {.status = -2};
    Diag diag = DIAG_NULL;
    Bytes printed;
    Bytes errors;
    int r;

    bytes_init(&printed, 10000);
    bytes_init(&errors, 10000);
    r = io_child_run(&(IoChildSpec){.argv = argv,
                                    .folder = scratch_path("root"),
                                    .output = take,
                                    .context = &printed,
                                    .confine = confine,
                                    .ends_group = true},
                     &errors, &how, &diag);
    if (r != 0) {
        print_message("%s: %s\n", line, diag.message);
    }
    assert_int_equal(r, 0);
    (void)snprintf(out, n_out, "%.*s", (int)printed.n, printed.data != NULL ? printed.data : "");
    bytes_deinit(&printed);
    bytes_deinit(&errors);
    return how.status;
}

static void assert_can(const IoConfine *confine, const char *line, const char *printed)
{
    char out[1000];

    assert_int_equal(run(confine, line, out, sizeof(out)), 0);
    assert_string_equal(out, printed);
}

static void assert_cannot(const IoConfine *confine, const char *line)
{
    char out[1000];
    int status = run(confine, line, out, sizeof(out));

    if (status == 0) {
        print_message("could: %s\n", line);
    }
    assert_int_not_equal(status, 0);
    assert_string_equal(out, "");
}

static void everything_beneath_the_folder_is_free(void **state)
{
    IoConfine *confine = make(NULL, false);

    (void)state;
    assert_can(confine, "cat in", "inside\n");
    assert_can(confine, "echo new > out && cat out && mkdir d && mv out d/ && ls d && rm -r d",
               "new\nout\n");
    assert_can(confine, "ln -s in link && cat link && rm link", "inside\n");
    assert_can(confine, "printf '#!/bin/sh\\necho ran\\n' > s && sh s && rm s", "ran\n");
    assert_can(confine, "echo lost > /dev/null; head -c 2 /dev/zero | wc -c", "2\n");
    (void)io_confine_free(confine);
}

static void nothing_outside_is_read_or_written(void **state)
{
    IoConfine *confine = make(NULL, false);

    (void)state;
    assert_cannot(confine, "cat /etc/passwd");
    assert_cannot(confine, "cat ../secret");
    assert_cannot(confine, "ls ..");
    assert_cannot(confine, "ls /tmp /home /root /proc /etc");
    assert_cannot(confine, "cat /proc/self/environ");
    assert_cannot(confine, "cat /proc/$PPID/environ");
    assert_cannot(confine, "ln -s ../secret l; cat l");
    assert_cannot(confine, "ln ../secret hard");
    assert_cannot(confine, "echo x > ../secret");
    assert_cannot(confine, "echo x >> ../secret");
    assert_cannot(confine, "echo x > ../new");
    assert_cannot(confine, "echo x > /tmp/toolwire-must-not-be-there");
    assert_cannot(confine, "mkdir ../new");
    assert_cannot(confine, "rm ../secret");
    assert_cannot(confine, "mv in ../moved");
    assert_cannot(confine, "mv ../secret moved");
    assert_cannot(confine, "truncate -s 0 ../secret");
    assert_cannot(confine, "cat ../lent/l");
    (void)io_confine_free(confine);
    assert_true(scratch_exists(scratch_path("secret")));
    assert_false(scratch_exists(scratch_path("new")));
    assert_true(scratch_exists(scratch_path("root/in")));
}

static void what_is_lent_is_read_and_not_written(void **state)
{
    const char *const lent[] = {scratch_path("lent"), scratch_path("not there"), NULL};
    IoConfine *confine = make(lent, false);

    (void)state;
    assert_can(confine, "cat ../lent/l", "lent\n");
    assert_cannot(confine, "echo x > ../lent/l");
    assert_cannot(confine, "rm ../lent/l");
    (void)io_confine_free(confine);
}

static void permissions_times_and_owners_outside_stay(void **state)
{
    IoConfine *confine = make(NULL, false);
    struct stat before;
    struct stat after;

    (void)state;
    assert_int_equal(stat(scratch_path("secret"), &before), 0);
    assert_cannot(confine, "chmod 777 ../secret");
    assert_cannot(confine, "touch -d 2001-01-01 ../secret");
    assert_cannot(confine, "chown 1 ../secret");
    assert_int_equal(stat(scratch_path("secret"), &after), 0);
    assert_int_equal(after.st_mode, before.st_mode);
    assert_int_equal(after.st_uid, before.st_uid);
    assert_int_equal(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
    /* By a descriptor they change, which was opened beneath the folder. */
    assert_can(confine, "cp -p in copy && touch new && ls", "copy\nin\nnew\n");
    (void)io_confine_free(confine);
}

/* Tries for a socket; 0: it has one. */
#define SOCKET_LINE "perl -MSocket -e 'socket(my $s, %s, SOCK_STREAM, 0) or exit 1'"

#ifdef __x86_64__
#define PRCTL_NUMBER "157"
#else
#define PRCTL_NUMBER "167"
#endif

#define PAIR_LINE(type)                                                                            \
    "perl -MSocket -e 'socketpair(my $a, my $b, AF_UNIX, " type ", 0) or exit 1'"

static void sockets_are_made_only_where_that_is_allowed(void **state)
{
    IoConfine *without = make(NULL, false);
    IoConfine *with = make(NULL, true);
    static const char *const families[] = {"AF_INET", "AF_INET6"};
    static const char *const others[] = {"AF_UNIX", "16"}; /* netlink */

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(families); i++) {
        char line[200];

        (void)snprintf(line, sizeof(line), SOCKET_LINE, families[i]);
        assert_cannot(without, line);
        assert_can(with, line, "");
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(others); i++) {
        char line[200];

        (void)snprintf(line, sizeof(line), SOCKET_LINE, others[i]);
        assert_cannot(without, line);
        assert_cannot(with, line);
    }
    for (int i = 0; i < 2; i++) {
        assert_can(i == 0 ? without : with, PAIR_LINE("SOCK_STREAM"), "");
        /* An end of these could be connected to whoever listens. */
        assert_cannot(i == 0 ? without : with, PAIR_LINE("SOCK_DGRAM"));
    }
    (void)io_confine_free(without);
    (void)io_confine_free(with);
}

static void there_is_no_way_around_the_filter(void **state)
{
    IoConfine *confine = make(NULL, false);

    (void)state;
    /* io_uring_setup without its arguments: EFAULT where it is allowed, EPERM (1) here. */
    assert_can(confine, "perl -e 'syscall(425, 1, 0); print $!+0'", "1");
    (void)io_confine_free(confine);
}

static void of_roots_powers_only_those_over_files_are_left(void **state)
{
    IoConfine *confine = make(NULL, false);

    (void)state;
    if (geteuid() != 0) {
        (void)io_confine_free(confine);
        print_message("skipped: only root has capabilities to lose\n");
        skip();
    }
    /* prctl(PR_CAPBSET_READ): of CAP_FSETID, CAP_KILL, CAP_NET_RAW and CAP_SYS_ADMIN. */
    assert_can(confine,
               "perl -e 'print join \" \", map { "
               "syscall(" PRCTL_NUMBER ", 23, $_, 0, 0, 0) } 4, 5, 13, 21'",
               "1 0 0 0");
    (void)io_confine_free(confine);
}

static void programs_are_read_and_not_written(void **state)
{
    IoConfine *confine = make(NULL, false);

    (void)state;
    assert_can(confine, "test -r /usr/bin/env && echo read", "read\n");
    assert_cannot(confine, "echo x > /usr/toolwire-must-not-be-there");
    assert_cannot(confine, "mkdir /usr/toolwire-must-not-be-there");
    assert_false(scratch_exists("/usr/toolwire-must-not-be-there"));
    (void)io_confine_free(confine);
}

static void nothing_leaves_the_group_or_outlives_the_child(void **state)
{
    IoConfine *confine = make(NULL, false);
    char out[100];
    pid_t pid;

    (void)state;
    assert_cannot(confine, "perl -MPOSIX -e 'fork and exit 1; POSIX::setsid() > 0 and print 1'");
    assert_int_equal(run(confine, "sleep 1000 & echo $!", out, sizeof(out)), 0);
    pid = (pid_t)strtol(out, NULL, 10);
    assert_true(pid > 0);
    /* Killed, and reaped by whoever inherited it, before long. */
    while (kill(pid, 0) == 0) {
        char path[64];
        char state_of[64] = "";
        FILE *status;

        (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        status = fopen(path, "re");
        if (status != NULL) {
            (void)!fscanf(status, "%*d %*s %63s", state_of);
            (void)fclose(status);
        }
        if (state_of[0] == 'Z' || state_of[0] == 'X' || state_of[0] == '\0') {
            break;
        }
        (void)usleep(1000);
    }
    (void)io_confine_free(confine);
}

static void signals_do_not_reach_those_who_are_free(void **state)
{
    IoConfine *confine = make(NULL, false);
    char line[100];

    (void)state;
    /* Which version the kernel has: landlock_create_ruleset. */
    if (syscall(444, NULL, (size_t)0, 1u) < 6) {
        (void)io_confine_free(confine);
        print_message("skipped: this kernel's landlock does not know signals\n");
        skip();
    }
    (void)snprintf(line, sizeof(line), "kill -0 %d 2>/dev/null", (int)getpid());
    assert_cannot(confine, line);
    (void)io_confine_free(confine);
}

static int sweep(void *context)
{
    IoConfine *confine = NULL;
    int r = io_confine_new(&confine, &(IoConfineSpec){.write_fd = root_fd}, NULL);

    (void)context;
    (void)io_confine_free(confine);
    return r;
}

static void memory_may_end_anywhere(void **state)
{
    int next_fd = scratch_next_fd();

    (void)state;
    (void)io_confine_free(make(NULL, false));
    test_oom_sweep(sweep, NULL);
    assert_int_equal(scratch_next_fd(), next_fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(everything_beneath_the_folder_is_free, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_outside_is_read_or_written, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_lent_is_read_and_not_written, setup, teardown),
        cmocka_unit_test_setup_teardown(permissions_times_and_owners_outside_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(sockets_are_made_only_where_that_is_allowed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(there_is_no_way_around_the_filter, setup, teardown),
        cmocka_unit_test_setup_teardown(of_roots_powers_only_those_over_files_are_left, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(programs_are_read_and_not_written, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_leaves_the_group_or_outlives_the_child, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(signals_do_not_reach_those_who_are_free, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_may_end_anywhere, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
