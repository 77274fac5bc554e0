/* sigpending, setenv */
#define _XOPEN_SOURCE 700

#include "io/child.h"

#include "support/cmocka.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "io/environment.h"
#include "io/loop.h"
#include "io/work.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "unit/io/scratch.h"

#define SHELL(script) ((const char *const[]){"sh", "-c", script, NULL})

typedef struct Heard {
    Bytes text;
    size_t n_bytes;
    size_t n_most;        /* stop after so many bytes; 0: never */
    atomic_bool *cancels; /* set when something is heard */
} Heard;

static int on_output(void *context, const char *p, size_t n)
{
    Heard *heard = context;
    size_t room = heard->text.max_bytes - heard->text.n;

    heard->n_bytes += n;
    if (bytes_append(&heard->text, p, n < room ? n : room) != 0) {
        return -1;
    }
    if (heard->cancels != NULL) {
        atomic_store(heard->cancels, true);
    }
    return heard->n_most > 0 && heard->n_bytes >= heard->n_most ? 7 : 0;
}

static IoChildSpec spec_of(const char *const *argv, Heard *heard)
{
    *heard = (Heard){.n_bytes = 0};
    bytes_init(&heard->text, 4096);
    return (IoChildSpec){.argv = argv, .output = on_output, .context = heard};
}

static void assert_text(Bytes *text, const char *expected)
{
    assert_int_equal(text->n, strlen(expected));
    if (text->n > 0) {
        assert_memory_equal(text->data, expected, text->n);
    }
    bytes_deinit(text);
}

/* The number that the text begins with. */
static long first_number(const Bytes *text)
{
    char digits[16] = "";

    memcpy(digits, text->data, text->n < sizeof(digits) - 1 ? text->n : sizeof(digits) - 1);
    return strtol(digits, NULL, 10);
}

static int setup(void **state)
{
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    return scratch_setup(state);
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(alloc_testing()->n_live, 0);
    /* Nobody is left to be reaped. */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(rmdir(scratch), 0);
    return 0;
}

static void output_errors_and_status_come_apart(void **state)
{
    Heard heard;
    IoChildSpec spec = spec_of(SHELL("echo out; echo err >&2; exit 3"), &heard);
    IoProcessExit how = {.status = 99};
    int before = scratch_next_fd();
    Bytes errors;

    (void)state;
    bytes_init(&errors, 100);
    assert_int_equal(io_child_run(&spec, &errors, &how, NULL), 0);
    assert_int_equal(how.status, 3);
    assert_int_equal(how.signum, 0);
    assert_text(&heard.text, "out\n");
    assert_text(&errors, "err\n");
    assert_int_equal(scratch_next_fd(), before);
}

static void a_signal_that_ended_it_is_told(void **state)
{
    Heard heard;
    IoChildSpec spec = spec_of(SHELL("kill -USR1 $$"), &heard);
    IoProcessExit how = {.status = 99};

    (void)state;
    assert_int_equal(io_child_run(&spec, NULL, &how, NULL), 0);
    assert_int_equal(how.status, -1);
    assert_int_equal(how.signum, SIGUSR1);
    bytes_deinit(&heard.text);
}

static void what_cannot_be_started_is_told_with_the_reason(void **state)
{
    static const char *const argv[] = {"no-such-program-here", NULL};
    Heard heard;
    IoChildSpec spec = spec_of(argv, &heard);
    IoProcessExit how = {.status = 99};
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(io_child_run(&spec, NULL, &how, &diag), IO_CHILD_E_CANNOT_START);
    assert_string_equal(diag.message,
                        "cannot start no-such-program-here: no such file or directory");
    assert_int_equal(how.status, 99);
    spec.argv = SHELL("true");
    spec.folder = "/no/such/folder";
    assert_int_equal(io_child_run(&spec, NULL, &how, &diag), IO_CHILD_E_CANNOT_START);
    assert_non_null(strstr(diag.message, "its folder /no/such/folder cannot be entered"));
    bytes_deinit(&heard.text);
}

static void folder_and_environment_are_the_childs(void **state)
{
    static const char *const extra[] = {"TW_CHILD=yes", "LC_ALL=C", NULL};
    const char **environment = NULL;
    Heard heard;
    IoChildSpec spec = spec_of(SHELL("pwd; echo $TW_CHILD $LC_ALL; cat"), &heard);
    IoProcessExit how = {.status = 99};
    char expected[200];

    (void)state;
    assert_int_equal(setenv("LC_ALL", "C.UTF-8", 1), 0);
    assert_int_equal(io_environment_with(extra, &environment), 0);
    spec.environment = environment;
    spec.folder = scratch;
    assert_int_equal(io_child_run(&spec, NULL, &how, NULL), 0);
    (void)snprintf(expected, sizeof(expected), "%s\nyes C\n", scratch);
    assert_text(&heard.text, expected);
    (void)mem_free(environment);
}

/* Both directions at once, more than any pipe holds. */
static void much_input_comes_back_as_much_output(void **state)
{
    size_t n = 3 * 1024 * 1024;
    char *input = malloc(n);
    Heard heard;
    IoChildSpec spec = spec_of(SHELL("cat"), &heard);
    IoProcessExit how = {.status = 99};

    (void)state;
    assert_non_null(input);
    memset(input, 'x', n);
    spec.input = span_make(input, n);
    assert_int_equal(io_child_run(&spec, NULL, &how, NULL), 0);
    assert_int_equal(how.status, 0);
    assert_int_equal(heard.n_bytes, n);
    bytes_deinit(&heard.text);
    free(input);
}

static void input_that_is_not_read_is_no_fault(void **state)
{
    size_t n = 1024 * 1024;
    char *input = calloc(1, n);
    Heard heard;
    IoChildSpec spec = spec_of(SHELL("exec <&-; echo done"), &heard);
    IoProcessExit how = {.status = 99};
    sigset_t pending;

    (void)state;
    assert_non_null(input);
    spec.input = span_make(input, n);
    (void)signal(SIGPIPE, SIG_DFL);
    assert_int_equal(io_child_run(&spec, NULL, &how, NULL), 0);
    assert_text(&heard.text, "done\n");
    assert_int_equal(sigpending(&pending), 0);
    assert_int_equal(sigismember(&pending, SIGPIPE), 0);
    free(input);
}

static void of_many_errors_the_beginning_is_kept(void **state)
{
    Heard heard;
    IoChildSpec spec =
        spec_of(SHELL("echo 0123456789 >&2; head -c 300000 /dev/zero >&2; echo end"), &heard);
    IoProcessExit how = {.status = 99};
    Bytes errors;

    (void)state;
    bytes_init(&errors, 4);
    assert_int_equal(io_child_run(&spec, &errors, &how, NULL), 0);
    assert_text(&heard.text, "end\n");
    assert_text(&errors, "0123");
}

static void whoever_has_heard_enough_ends_the_child(void **state)
{
    Heard heard;
    IoChildSpec spec = spec_of(SHELL("while :; do echo y; done"), &heard);
    IoProcessExit how = {.status = 99};

    (void)state;
    heard.n_most = 10;
    assert_int_equal(io_child_run(&spec, NULL, &how, NULL), IO_CHILD_E_STOPPED);
    assert_int_equal(how.status, 99);
    bytes_deinit(&heard.text);
}

/* One that prints for ever, one that prints no more, one that has closed everything and pays no
 * attention to TERM; each with a grandchild. */
static void cancelling_ends_the_whole_group(void **state)
{
    static const char *const scripts[] = {
        "sleep 1000 & echo $!; while :; do echo y; done",
        "sleep 1000 & echo $!; wait",
        "trap '' TERM; sleep 1000 & echo $!; exec >&- 2>&-; while :; do wait; done",
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(scripts); i++) {
        atomic_bool cancel = false;
        Heard heard;
        IoChildSpec spec = spec_of(SHELL(scripts[i]), &heard);
        IoProcessExit how = {.status = 99};
        long pid;

        spec.cancel = &cancel;
        heard.cancels = &cancel;
        assert_int_equal(io_child_run(&spec, NULL, &how, NULL), IO_CHILD_E_CANCELLED);
        pid = first_number(&heard.text);
        assert_true(pid > 1);
        /* Killed: gone, or a zombie of whoever inherits it. */
        while (kill((pid_t)pid, 0) == 0) {
            char path[64];
            char stat_text[256] = "";
            FILE *file;

            (void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
            file = fopen(path, "r");
            if (file == NULL) {
                break;
            }
            assert_non_null(fgets(stat_text, sizeof(stat_text), file));
            (void)fclose(file);
            if (strstr(stat_text, ") Z") != NULL) {
                break;
            }
        }
        bytes_deinit(&heard.text);
    }
}

static void one_that_is_cancelled_before_does_not_run_long(void **state)
{
    atomic_bool cancel = true;
    Heard heard;
    IoChildSpec spec = spec_of(SHELL("while :; do echo y; done"), &heard);
    IoProcessExit how = {.status = 99};

    (void)state;
    spec.cancel = &cancel;
    assert_int_equal(io_child_run(&spec, NULL, &how, NULL), IO_CHILD_E_CANCELLED);
    bytes_deinit(&heard.text);
}

/* The grandchild holds stdout; what the child has printed is all there. */
static void what_a_child_leaves_behind_is_not_waited_for(void **state)
{
    Heard heard;
    IoChildSpec spec = spec_of(SHELL("sleep 1000 & echo $!"), &heard);
    IoProcessExit how = {.status = 99};
    long pid;

    (void)state;
    assert_int_equal(io_child_run(&spec, NULL, &how, NULL), 0);
    assert_int_equal(how.status, 0);
    pid = first_number(&heard.text);
    assert_true(pid > 1);
    assert_int_equal(kill((pid_t)pid, SIGKILL), 0); /* it was left alone */
    bytes_deinit(&heard.text);
}

/* ---- beside a loop that has children of its own ---- */

#define CROWD 4

static void on_crowd(void *context, size_t i)
{
    atomic_int *n_good = context;

    for (int round = 0; round < 5; round++) {
        Heard heard;
        IoChildSpec spec = spec_of(SHELL("echo out; exit 5"), &heard);
        IoProcessExit how = {.status = 99};
        int r = io_child_run(&spec, NULL, &how, NULL);

        (void)i;
        if (r == 0 && how.status == 5 && heard.n_bytes == 4) {
            atomic_fetch_add(n_good, 1);
        }
        bytes_deinit(&heard.text);
    }
}

typedef struct Beside {
    atomic_int n_good;
    int n_exits;
    int n_done;
} Beside;

static void on_beside(void *context)
{
    Beside *beside = context;

    io_work_fan(CROWD, on_crowd, &beside->n_good);
}

static void on_beside_done(void *context)
{
    Beside *beside = context;

    beside->n_done++;
}

static void on_exit_of_loop_child(void *context, IoProcessExit how)
{
    Beside *beside = context;

    assert_int_equal(how.status, 6);
    beside->n_exits++;
}

static void children_of_threads_and_of_a_loop_do_not_mix(void **state)
{
    static const char *const argv[] = {"sh", "-c", "exit 6", NULL};
    IoProcessSpec spec = {.argv = argv};
    Beside beside = {.n_exits = 0};
    IoProcess *processes[8];
    IoLoop *loop = NULL;

    (void)state;
    assert_int_equal(io_loop_new(&loop), 0);
    assert_int_equal(io_work_start(loop, on_beside, on_beside_done, &beside), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(processes); i++) {
        int fds[3];

        assert_int_equal(io_process_spawn(&processes[i], loop, &spec, on_exit_of_loop_child,
                                          &beside, &fds[0], &fds[1], &fds[2], NULL),
                         0);
        for (int j = 0; j < 3; j++) {
            assert_int_equal(close(fds[j]), 0);
        }
    }
    assert_int_equal(io_loop_run(loop), 0);
    assert_int_equal(beside.n_exits, 8);
    assert_int_equal(beside.n_done, 1);
    assert_int_equal(atomic_load(&beside.n_good), CROWD * 5);
    for (size_t i = 0; i < TW_ARRAY_SIZE(processes); i++) {
        (void)io_process_free(processes[i]);
    }
    (void)io_loop_free(loop);
}

static int sweep(void *context)
{
    static const char *const extra[] = {"A=b", NULL};
    const char **environment = NULL;
    Heard heard;
    IoChildSpec spec = spec_of(SHELL("echo out; echo err >&2"), &heard);
    IoProcessExit how = {.status = 99};
    Bytes errors;
    int r = io_environment_with(extra, &environment);

    (void)context;
    bytes_init(&errors, 100);
    if (r == 0) {
        spec.environment = environment;
        r = io_child_run(&spec, &errors, &how, NULL);
        /* Our own output function had no memory. */
        r = r == IO_CHILD_E_STOPPED ? -ENOMEM : r;
    }
    bytes_deinit(&heard.text);
    bytes_deinit(&errors);
    (void)mem_free(environment);
    return r;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    test_oom_sweep(sweep, NULL);
}

#define CHILD_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHILD_TEST(output_errors_and_status_come_apart),
        CHILD_TEST(a_signal_that_ended_it_is_told),
        CHILD_TEST(what_cannot_be_started_is_told_with_the_reason),
        CHILD_TEST(folder_and_environment_are_the_childs),
        CHILD_TEST(much_input_comes_back_as_much_output),
        CHILD_TEST(input_that_is_not_read_is_no_fault),
        CHILD_TEST(of_many_errors_the_beginning_is_kept),
        CHILD_TEST(whoever_has_heard_enough_ends_the_child),
        CHILD_TEST(cancelling_ends_the_whole_group),
        CHILD_TEST(one_that_is_cancelled_before_does_not_run_long),
        CHILD_TEST(what_a_child_leaves_behind_is_not_waited_for),
        CHILD_TEST(children_of_threads_and_of_a_loop_do_not_mix),
        CHILD_TEST(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
