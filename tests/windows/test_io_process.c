/* Children: what they are given, what they say, how they end, and what they have started. */
#include "io/process.h"

#include "support/cmocka.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <windows.h>

#include "io/descriptor_look.h"
#include "io/place.h"
#include "io/windows/command_line.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "unit/io/pump.h"
#include "windows/scratch.h"

/* libuv's number */
#define TEST_SIGKILL 9

typedef struct Child {
    IoLoop *loop;
    IoProcess *process;
    Pump to;
    Pump from;
    IoProcessExit how;
    int n_exits;
    char *program;
} Child;

static void on_exited(void *context, IoProcessExit how)
{
    Child *child = context;

    child->how = how;
    child->n_exits++;
}

static int setup(void **state)
{
    Child *child = calloc(1, sizeof(*child));

    (void)scratch_setup(state);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_non_null(child);
    assert_int_equal(io_loop_new(&child->loop), 0);
    assert_int_equal(io_program_path(&child->program), 0);
    pump_init(&child->to, child->loop);
    pump_init(&child->from, child->loop);
    *state = child;
    return 0;
}

static int teardown(void **state)
{
    Child *child = *state;

    pump_deinit(&child->to);
    pump_deinit(&child->from);
    child->process = io_process_free(child->process);
    child->loop = io_loop_free(child->loop);
    child->program = mem_free(child->program);
    assert_int_equal(alloc_testing()->n_live, 0);
    free(child);
    return scratch_teardown(state);
}

static void start(Child *child, const IoProcessSpec *spec)
{
    IoProcessSpec full = *spec;
    Diag diag = DIAG_NULL;
    int fds[3];
    int r;

    full.inherit_stderr = true;
    r = io_process_spawn(&child->process, child->loop, &full, on_exited, child, &fds[0], &fds[1],
                         &fds[2], &diag);
    if (r != 0) {
        fail_msg("%d: %s", r, diag.message);
    }
    assert_int_equal(fds[2], -1);
    pump_open(&child->to, -1, fds[0]);
    pump_open(&child->from, fds[1], -1);
}

static void start_self(Child *child, const char *what, const char *argument)
{
    const char *argv[] = {child->program, what, argument, NULL};

    start(child, &(IoProcessSpec){.argv = argv});
}

static void assert_said(const Child *child, const char *text)
{
    assert_int_equal(child->from.in.n, strlen(text));
    assert_memory_equal(child->from.in.data, text, strlen(text));
}

static void output_and_exit_status_come(void **state)
{
    Child *child = *state;

    start_self(child, "say", "hello");
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_said(child, "hello");
    assert_int_equal(child->n_exits, 1);
    assert_int_equal(child->how.status, 7);
    assert_int_equal(child->how.signum, 0);
    assert_int_equal(child->from.n_ends, 1);
}

static void input_reaches_it_and_ends(void **state)
{
    Child *child = *state;
    size_t n = 1024 * 1024;

    start_self(child, "cat", "x");
    assert_int_equal(bytes_reserve(&child->to.out, n), 0);
    memset(child->to.out.data, 'y', n);
    child->to.out.n = n;
    io_stream_shut_output(child->to.stream);
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_int_equal(child->from.in.n, n);
    assert_int_equal(child->how.status, 0);
}

static void arguments_arrive_as_they_are(void **state)
{
    static const char *const words[] = {"",       "a b",        "\"",     "a\\",     "a b\\",
                                        "\\\\\"", "C:\\d d\\f", "%PATH%", "a\"b\\\""};
    Child *child = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(words); i++) {
        start_self(child, "say", words[i]);
        assert_int_equal(io_loop_run(child->loop), 0);
        assert_said(child, words[i]);
        child->process = io_process_free(child->process);
        pump_free_stream(&child->to);
        pump_free_stream(&child->from);
        bytes_drop_front(&child->from.in, child->from.in.n);
    }
}

static void the_command_line_is_utf_16(void **state)
{
    static const char *const argv[] = {"a", "\xc3\xa4 \xf0\x9f\x94\xa7", NULL};
    wchar_t *line = NULL;

    (void)state;
    assert_int_equal(win_command_line(&line, argv), 0);
    assert_int_equal(wcscmp(line, L"a \"\x00e4 \xd83d\xdd27\""), 0);
    line = mem_free(line);
}

static void variables_are_sorted_and_windows_is_found(void **state)
{
    static const char *const environment[] = {"zz=1", "b=2", "A=3", "SYSTEMROOT=x", NULL};
    static const wchar_t expected[] = L"A=3\0b=2\0";
    wchar_t *block = NULL;
    const wchar_t *at;
    int n_roots = 0;

    (void)state;
    assert_int_equal(win_environment_block(&block, environment), 0);
    assert_memory_equal(block, expected, sizeof(expected) - sizeof(wchar_t));
    for (at = block; *at != L'\0'; at += wcslen(at) + 1) {
        n_roots += _wcsnicmp(at, L"SystemRoot=", 11) == 0;
        if (at[wcslen(at) + 1] == L'\0') {
            assert_int_equal(wcscmp(at, L"zz=1"), 0);
        }
    }
    assert_int_equal(n_roots, 1); /* ours is not put beside theirs */
    block = mem_free(block);
    assert_int_equal(win_environment_block(&block, NULL), 0);
    assert_null(block);
}

static void it_gets_its_environment_and_folder(void **state)
{
    Child *child = *state;
    const char *argv[] = {child->program, "where", "TW_WORD", NULL};
    const char *environment[] = {"zz=1", "TW_WORD=so", NULL};
    char expected[MAX_PATH + 16];

    (void)snprintf(expected, sizeof(expected), "%s|so|no|root", scratch);
    assert_int_equal(_putenv("TW_OTHER=ours"), 0);
    start(child, &(IoProcessSpec){.argv = argv, .environment = environment, .folder = scratch});
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_said(child, expected);
}

static void a_name_is_looked_up_in_its_path(void **state)
{
    Child *child = *state;
    const char *argv[] = {"tw-test-child", "say", "found", NULL};
    char path[SCRATCH_PATH_SIZE];
    const char *environment[] = {path, NULL};

    assert_true(CopyFileA(child->program, scratch_path("tw-test-child.exe"), TRUE));
    (void)snprintf(path, sizeof(path), "Path=C:\\nowhere;;\"%s\"", scratch);
    start(child, &(IoProcessSpec){.argv = argv, .environment = environment});
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_said(child, "found");
}

static void assert_refused(Child *child, const IoProcessSpec *spec, const char *why)
{
    Diag diag = DIAG_NULL;
    int fds[3];

    assert_int_equal(io_process_spawn(&child->process, child->loop, spec, on_exited, child, &fds[0],
                                      &fds[1], &fds[2], &diag),
                     IO_PROCESS_E_CANNOT_START);
    assert_null(child->process);
    if (strstr(diag.message, why) == NULL) {
        fail_msg("%s", diag.message);
    }
}

static void what_cannot_start_is_told_with_the_reason(void **state)
{
    Child *child = *state;
    const char *nobody[] = {"tw-no-such-program", NULL};
    const char *batch[] = {scratch_path("run.cmd"), "a&b", NULL};
    const char *text[] = {scratch_path("text.exe"), NULL};
    const char *own[] = {child->program, NULL};

    scratch_write(scratch_path("run.cmd"), "@echo off\r\n");
    scratch_write(scratch_path("text.exe"), "no program");
    assert_refused(child, &(IoProcessSpec){.argv = nobody}, "no such program in PATH");
    assert_refused(child, &(IoProcessSpec){.argv = batch}, "batch file");
    assert_refused(child, &(IoProcessSpec){.argv = text}, "cannot start");
    assert_refused(child, &(IoProcessSpec){.argv = own, .folder = "C:\\nowhere"},
                   "cannot be entered");
}

static void one_that_does_not_end_is_killed(void **state)
{
    Child *child = *state;

    start_self(child, "stay", "x");
    io_process_end(child->process, 100);
    io_process_end(child->process, 100);
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_int_equal(child->n_exits, 1);
    assert_int_equal(child->how.status, -1);
    assert_true(child->how.signum == TEST_SIGKILL || child->how.signum == SIGTERM);
}

static void freeing_a_running_one_kills_it(void **state)
{
    Child *child = *state;
    HANDLE process;
    DWORD status = 0;

    start_self(child, "stay", "x");
    process = OpenProcess(SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION, FALSE,
                          (DWORD)io_process_pid(child->process));
    assert_non_null(process);
    child->process = io_process_free(child->process);
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_int_equal(child->n_exits, 0);
    assert_int_equal(WaitForSingleObject(process, 30000), WAIT_OBJECT_0);
    assert_true(GetExitCodeProcess(process, &status));
    assert_int_not_equal(status, 0);
    (void)CloseHandle(process);
}

/* The grandchild's pid, which its parent says. */
static HANDLE open_grandchild(const Child *child)
{
    char text[32] = {0};
    HANDLE process;

    assert_true(child->from.in.n > 0 && child->from.in.n < sizeof(text));
    memcpy(text, child->from.in.data, child->from.in.n);
    process = OpenProcess(SYNCHRONIZE, FALSE, (DWORD)strtoul(text, NULL, 10));
    assert_non_null(process);
    return process;
}

static void stop_on_input(Pump *pump)
{
    io_loop_stop(pump->loop);
}

static void what_it_has_started_dies_with_it(void **state)
{
    Child *child = *state;
    HANDLE grandchild;

    child->from.on_input = stop_on_input;
    start_self(child, "breed", "x");
    assert_int_equal(io_loop_run(child->loop), 0);
    grandchild = open_grandchild(child);
    assert_int_equal(WaitForSingleObject(grandchild, 0), WAIT_TIMEOUT);
    child->process = io_process_free(child->process);
    assert_int_equal(io_loop_run(child->loop), 0);
    assert_int_equal(WaitForSingleObject(grandchild, 30000), WAIT_OBJECT_0);
    (void)CloseHandle(grandchild);
}

static void what_an_exited_one_has_left_is_retired(void **state)
{
    Child *child = *state;
    HANDLE grandchild;

    start_self(child, "leave", "x");
    while (child->n_exits == 0 || child->from.in.n == 0) {
        child->from.on_input = stop_on_input;
        assert_int_equal(io_loop_run(child->loop), 0);
    }
    grandchild = open_grandchild(child);
    assert_int_equal(child->how.status, 0);
    assert_int_equal(WaitForSingleObject(grandchild, 0), WAIT_TIMEOUT);
    pump_free_stream(&child->from);
    pump_free_stream(&child->to);
    child->process = io_process_retire(child->process, 100);
    child->loop = io_loop_free(child->loop);
    assert_int_equal(WaitForSingleObject(grandchild, 30000), WAIT_OBJECT_0);
    (void)CloseHandle(grandchild);
}

/* We are killed, and can end nothing: the system does. */
static void what_we_have_started_dies_with_us(void **state)
{
    ScratchChild us = scratch_child_start("own", "x");
    HANDLE grandchild;

    (void)state;
    grandchild = OpenProcess(SYNCHRONIZE, FALSE, (DWORD)strtoul(scratch_child_line(&us), NULL, 10));
    assert_non_null(grandchild);
    assert_int_equal(WaitForSingleObject(grandchild, 0), WAIT_TIMEOUT);
    assert_true(TerminateProcess(us.process, 0));
    assert_int_equal(WaitForSingleObject(grandchild, 30000), WAIT_OBJECT_0);
    (void)CloseHandle(grandchild);
    (void)scratch_child_end(&us);
}

static void signals_have_names(void **state)
{
    (void)state;
    assert_string_equal(io_process_signal_name(TEST_SIGKILL), "KILL");
    assert_null(io_process_signal_name(99));
}

static int scenario_start(void *context)
{
    Child *child = context;
    const char *argv[] = {child->program, "stay", "x", NULL};
    const char *environment[] = {"A=1", NULL};
    IoProcessSpec spec = {.argv = argv, .environment = environment, .folder = scratch};
    IoProcess *process = NULL;
    IoLoop *loop = NULL;
    int fds[3];
    int r = io_loop_new(&loop);

    if (r != 0) {
        return r;
    }
    r = io_process_spawn(&process, loop, &spec, on_exited, child, &fds[0], &fds[1], &fds[2], NULL);
    if (r == 0) {
        process = io_process_free(process);
        for (int i = 0; i < 3; i++) {
            io_fd_close(fds[i]);
        }
    }
    loop = io_loop_free(loop);
    return r;
}

static void memory_that_runs_out_is_reported(void **state)
{
    Child child = {.program = NULL};

    (void)scratch_setup(state);
    assert_int_equal(io_program_path(&child.program), 0);
    test_oom_sweep(scenario_start, &child);
    child.program = mem_free(child.program);
    (void)scratch_teardown(state);
}

/* ---- in the child ---- */

static int child_cat(void)
{
    static char bytes[65536];
    HANDLE in = GetStdHandle(STD_INPUT_HANDLE);
    HANDLE out = GetStdHandle(STD_OUTPUT_HANDLE);
    DWORD n = 0;

    while (ReadFile(in, bytes, sizeof(bytes), &n, NULL) && n > 0) {
        if (!WriteFile(out, bytes, n, &n, NULL)) {
            return 1;
        }
    }
    return 0;
}

static int child_where(const char *variable)
{
    char folder[MAX_PATH];
    const char *value = getenv(variable);

    (void)GetCurrentDirectoryA(sizeof(folder), folder);
    (void)printf("%s|%s|%s|%s", folder, value == NULL ? "" : value,
                 getenv("TW_OTHER") == NULL ? "no" : "ours",
                 getenv("SYSTEMROOT") == NULL ? "lost" : "root");
    return 0;
}

static DWORD child_breed(void)
{
    STARTUPINFOA info = {.cb = sizeof(info)};
    PROCESS_INFORMATION made;
    char line[1024];
    char *program = NULL;

    if (io_program_path(&program) != 0) {
        return 0;
    }
    (void)snprintf(line, sizeof(line), "\"%s\" stay x", program);
    if (!CreateProcessA(program, line, NULL, NULL, FALSE, DETACHED_PROCESS, NULL, NULL, &info,
                        &made)) {
        return 0;
    }
    (void)printf("%lu\n", (unsigned long)made.dwProcessId);
    (void)fflush(stdout);
    return made.dwProcessId;
}

static int child_own(void)
{
    IoLoop *loop = NULL;
    IoProcess *process = NULL;
    char *program = NULL;
    const char *argv[] = {NULL, "stay", "x", NULL};
    IoProcessSpec spec = {.argv = argv};
    int fds[3];

    if (io_program_path(&program) != 0 || io_loop_new(&loop) != 0) {
        return 1;
    }
    argv[0] = program;
    if (io_process_spawn(&process, loop, &spec, on_exited, NULL, &fds[0], &fds[1], &fds[2], NULL) !=
        0) {
        return 2;
    }
    (void)printf("%d\n", io_process_pid(process));
    (void)fflush(stdout);
    Sleep(60000);
    return 3;
}

static int child_main(const char *what, const char *argument)
{
    if (strcmp(what, "say") == 0) {
        (void)fputs(argument, stdout);
        return 7;
    }
    if (strcmp(what, "cat") == 0) {
        return child_cat();
    }
    if (strcmp(what, "where") == 0) {
        return child_where(argument);
    }
    if (strcmp(what, "leave") == 0) {
        return child_breed() == 0 ? 1 : 0;
    }
    if (strcmp(what, "own") == 0) {
        return child_own();
    }
    if (strcmp(what, "breed") == 0) {
        (void)child_breed();
    }
    Sleep(60000);
    return 9;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(output_and_exit_status_come),
        TEST(input_reaches_it_and_ends),
        TEST(arguments_arrive_as_they_are),
        cmocka_unit_test(the_command_line_is_utf_16),
        cmocka_unit_test(variables_are_sorted_and_windows_is_found),
        TEST(it_gets_its_environment_and_folder),
        TEST(a_name_is_looked_up_in_its_path),
        TEST(what_cannot_start_is_told_with_the_reason),
        TEST(one_that_does_not_end_is_killed),
        TEST(freeing_a_running_one_kills_it),
        TEST(what_it_has_started_dies_with_it),
        TEST(what_an_exited_one_has_left_is_retired),
        cmocka_unit_test(what_we_have_started_dies_with_us),
        cmocka_unit_test(signals_have_names),
        cmocka_unit_test(memory_that_runs_out_is_reported),
    };

    if (argc > 2) {
        return child_main(argv[1], argv[2]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
