/* This program is its own worker: the request says what it is to try. */
#define _GNU_SOURCE

#include "io/worker.h"

#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "support/alloc_testing.h"

#define WORKER_WORD "--worker"
#define MAX_REQUEST ((size_t)4 * 1024 * 1024)
#define MAX_MEMORY  ((size_t)1024 * 1024 * 1024)

static const char *const worker_argv[] = {"/proc/self/exe", WORKER_WORD, NULL};

/* ---- in the worker ---- */

/* 0: it was let through. */
static int attempt(Span what)
{
    char *const argv[] = {NULL};
    long r = 0;

    errno = 0;
    if (span_equals(what, SPAN("open"))) {
        r = open("/etc/passwd", O_RDONLY);
    } else if (span_equals(what, SPAN("make"))) {
        r = open("/tmp/toolwire-worker-was-here", O_CREAT | O_WRONLY, 0600);
    } else if (span_equals(what, SPAN("list"))) {
        r = open(".", O_RDONLY | O_DIRECTORY);
    } else if (span_equals(what, SPAN("stat"))) {
        struct stat info;

        r = stat("/etc/passwd", &info);
    } else if (span_equals(what, SPAN("unlink"))) {
        r = unlink("/tmp/toolwire-worker-is-not-there");
    } else if (span_equals(what, SPAN("socket"))) {
        r = socket(AF_INET, SOCK_STREAM, 0);
    } else if (span_equals(what, SPAN("unix socket"))) {
        r = socket(AF_UNIX, SOCK_STREAM, 0);
    } else if (span_equals(what, SPAN("fork"))) {
        r = fork();
    } else if (span_equals(what, SPAN("exec"))) {
        r = execve("/bin/true", argv, argv);
    } else if (span_equals(what, SPAN("signal"))) {
        r = kill(getppid(), 0);
    } else if (span_equals(what, SPAN("dup"))) {
        r = dup(0);
    } else if (span_equals(what, SPAN("limit"))) {
        struct rlimit limit = {.rlim_cur = 1 << 20, .rlim_max = 1 << 20};

        r = setrlimit(RLIMIT_NOFILE, &limit);
    } else if (span_equals(what, SPAN("code"))) {
        r = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
                    MAP_FAILED
                ? -1
                : 0;
    } else {
        r = 0;
    }
    return r < 0 ? errno : 0;
}

static void misbehave(Span what)
{
    if (span_equals(what, SPAN("crash"))) {
        (void)signal(SIGSEGV, SIG_DFL); /* sanitizers have their own */
        (void)raise(SIGSEGV);
        abort();
    }
    if (span_equals(what, SPAN("exit"))) {
        _exit(0);
    }
    while (span_equals(what, SPAN("loop"))) {
    }
    if (span_equals(what, SPAN("flood"))) {
        char noise[64];

        memset(noise, 0xff, sizeof(noise));
        (void)!write(0, noise, sizeof(noise));
    }
}

static int answer(void *context, Span request, Bytes *out)
{
    (void)context;
    misbehave(request);
    if (span_equals(request, SPAN("memory"))) {
        void *p = malloc(2 * MAX_MEMORY);
        int r = bytes_append_byte(out, p == NULL ? 'n' : 'y');

        free(p);
        return r;
    }
    if (request.n > 4 && memcmp(request.p, "try ", 4) == 0) {
        return bytes_append_format(out, "%d", attempt(span_make(request.p + 4, request.n - 4)));
    }
    return bytes_append_span(out, request);
}

/* ---- its owner ---- */

static bool is_asked(const void *context)
{
    return *(const bool *)context;
}

static int ask(IoWorker *worker, Span head, Span body, Bytes *out)
{
    IoWorkerLimits limits = {.max_us = 60000000};

    bytes_clear(out);
    return io_worker_ask(worker, head, body, &limits, out);
}

static IoWorker *start(void)
{
    IoWorker *worker = NULL;

    assert_int_equal(io_worker_start(&worker, worker_argv), 0);
    assert_non_null(worker);
    return worker;
}

static void an_answer_is_what_was_asked_for_whatever_its_length(void **state)
{
    IoWorker *worker = start();
    char *text = malloc(MAX_REQUEST);
    Bytes out;

    (void)state;
    bytes_init(&out, MAX_REQUEST);
    assert_non_null(text);
    memset(text, 'x', MAX_REQUEST);
    for (size_t n = 0; n <= MAX_REQUEST; n = n == 0 ? 1 : n * 16) {
        size_t n_head = n / 3;

        assert_int_equal(
            ask(worker, span_make(text, n_head), span_make(text + n_head, n - n_head), &out), 0);
        assert_int_equal(out.n, n);
        assert_true(n == 0 || memcmp(out.data, text, n) == 0);
    }
    free(text);
    bytes_deinit(&out);
    assert_null(io_worker_free(worker));
}

static void nothing_can_be_reached_from_a_worker(void **state)
{
    static const char *const tries[] = {"open",   "make",        "list", "stat", "unlink",
                                        "socket", "unix socket", "fork", "exec", "signal",
                                        "dup",    "limit",       "code"};
    const Span refused = SPAN("1"); /* EPERM, by the filter */
    IoWorker *worker = start();
    Bytes out;

    (void)state;
    assert_int_equal(EPERM, 1);
    bytes_init(&out, 100);
    for (size_t i = 0; i < TW_ARRAY_SIZE(tries); i++) {
        assert_int_equal(ask(worker, SPAN("try "), span_from_str(tries[i]), &out), 0);
        if (!span_equals(bytes_span(&out), refused)) {
            fail_msg("%s: %.*s in place of EPERM", tries[i], (int)out.n, out.data);
        }
    }
    /* The question itself is one that can be answered with 0. */
    assert_int_equal(ask(worker, SPAN("try "), SPAN("nothing"), &out), 0);
    assert_true(span_equals(bytes_span(&out), SPAN("0")));
    bytes_deinit(&out);
    assert_null(io_worker_free(worker));
}

static void memory_is_limited(void **state)
{
    IoWorker *worker = start();
    Bytes out;

    (void)state;
    if (TW_IS_SANITIZED) {
        (void)io_worker_free(worker);
        skip();
    }
    bytes_init(&out, 100);
    assert_int_equal(ask(worker, SPAN("memory"), SPAN(""), &out), 0);
    assert_true(span_equals(bytes_span(&out), SPAN("n")));
    bytes_deinit(&out);
    assert_null(io_worker_free(worker));
}

static void one_that_ends_is_told_from_one_that_answers(void **state)
{
    static const struct {
        const char *request;
        int r;
    } cases[] = {
        {"crash", IO_WORKER_E_ENDED}, {"exit", IO_WORKER_E_ENDED}, {"flood", IO_WORKER_E_ENDED}};
    Bytes out;

    (void)state;
    bytes_init(&out, 100);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        IoWorker *worker = start();

        assert_int_equal(ask(worker, SPAN("well"), SPAN(""), &out), 0);
        assert_int_equal(ask(worker, span_from_str(cases[i].request), SPAN(""), &out), cases[i].r);
        assert_null(io_worker_free(worker));
    }
    bytes_deinit(&out);
}

static void one_that_does_not_come_back_is_killed_in_time(void **state)
{
    IoWorkerLimits limits = {.max_us = 30000};
    IoWorker *worker = start();
    Bytes out;

    (void)state;
    bytes_init(&out, 100);
    assert_int_equal(io_worker_ask(worker, SPAN("loop"), SPAN(""), &limits, &out),
                     IO_WORKER_E_LATE);
    assert_null(io_worker_free(worker));
    bytes_deinit(&out);
}

static void one_that_is_not_wanted_any_more_is_killed(void **state)
{
    bool stops = true;
    IoWorkerLimits limits = {.max_us = 60000000, .stop = {is_asked, &stops}};
    IoWorker *worker = start();
    Bytes out;

    (void)state;
    bytes_init(&out, 100);
    assert_int_equal(io_worker_ask(worker, SPAN("loop"), SPAN(""), &limits, &out),
                     IO_WORKER_E_CANCELLED);
    assert_null(io_worker_free(worker));
    bytes_deinit(&out);
}

static void a_program_that_is_not_there_is_an_error(void **state)
{
    static const char *const argv[] = {"/nonexistent/program", NULL};
    IoWorker *worker = NULL;

    (void)state;
    assert_int_equal(io_worker_start(&worker, argv), -ENOENT);
    assert_null(worker);
    assert_null(io_worker_free(NULL));
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(alloc_testing()->n_live, 0);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(an_answer_is_what_was_asked_for_whatever_its_length, teardown),
        cmocka_unit_test_teardown(nothing_can_be_reached_from_a_worker, teardown),
        cmocka_unit_test_teardown(memory_is_limited, teardown),
        cmocka_unit_test_teardown(one_that_ends_is_told_from_one_that_answers, teardown),
        cmocka_unit_test_teardown(one_that_does_not_come_back_is_killed_in_time, teardown),
        cmocka_unit_test_teardown(one_that_is_not_wanted_any_more_is_killed, teardown),
        cmocka_unit_test_teardown(a_program_that_is_not_there_is_an_error, teardown),
    };

    if (argc == 2 && strcmp(argv[1], WORKER_WORD) == 0) {
        return io_worker_serve(&(IoWorkerServe){
                   .max_request = MAX_REQUEST, .max_memory = MAX_MEMORY, .answer = answer}) == 0
                   ? 0
                   : 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
