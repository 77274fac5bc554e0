/* The loop and what hangs on it: timers, wakes, posts, watches on files and on the parent. */
#include "io/loop.h"

#include "support/cmocka.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <windows.h>

#include "io/environment.h"
#include "io/error_text.h"
#include "io/file.h"
#include "io/place.h"
#include "io/program.h"
#include "io/wake.h"
#include "io/watch.h"
#include "support/alloc_testing.h"
#include "windows/scratch.h"

typedef struct Counter {
    IoLoop *loop;
    int n;
    int stop_at;
} Counter;

static void count(void *context)
{
    Counter *counter = context;

    counter->n++;
    if (counter->n == counter->stop_at) {
        io_loop_stop(counter->loop);
    }
}

static int setup(void **state)
{
    Counter *counter = calloc(1, sizeof(*counter));

    (void)scratch_setup(state);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_non_null(counter);
    assert_int_equal(io_loop_new(&counter->loop), 0);
    *state = counter;
    return 0;
}

static int teardown(void **state)
{
    Counter *counter = *state;

    counter->loop = io_loop_free(counter->loop);
    assert_int_equal(alloc_testing()->n_live, 0);
    free(counter);
    return scratch_teardown(state);
}

static void an_idle_loop_ends_at_once(void **state)
{
    Counter *counter = *state;

    assert_int_equal(io_loop_run(counter->loop), 0);
}

static void a_timer_fires_once_and_not_early(void **state)
{
    Counter *counter = *state;
    IoTimer *timer = NULL;
    int64_t due_ms = io_loop_now_ms(counter->loop) + 30;

    assert_int_equal(io_timer_new(&timer, counter->loop, false, count, counter), 0);
    io_timer_start_at(timer, due_ms);
    assert_int_equal(io_loop_run(counter->loop), 0);
    assert_int_equal(counter->n, 1);
    assert_true(io_loop_now_ms(counter->loop) >= due_ms);
    timer = io_timer_free(timer);
}

typedef struct Posted {
    IoTask task; /* first */
    Counter *counter;
} Posted;

static void posted_run(IoTask *task)
{
    Posted *posted = (Posted *)task;

    count(posted->counter);
    io_loop_release(posted->counter->loop);
}

static DWORD WINAPI post_from_thread(void *context)
{
    Posted *posted = context;

    io_loop_post(posted->counter->loop, &posted->task);
    return 0;
}

static void another_thread_posts_while_the_loop_is_held(void **state)
{
    Counter *counter = *state;
    Posted posted = {.task = {.fn = posted_run}, .counter = counter};
    HANDLE thread;

    io_loop_hold(counter->loop);
    thread = CreateThread(NULL, 0, post_from_thread, &posted, 0, NULL);
    assert_non_null(thread);
    assert_int_equal(io_loop_run(counter->loop), 0);
    assert_int_equal(counter->n, 1);
    (void)WaitForSingleObject(thread, INFINITE);
    (void)CloseHandle(thread);
}

static DWORD WINAPI wake_from_thread(void *context)
{
    io_wake_send(context);
    return 0;
}

static void another_thread_wakes_a_loop_that_waits(void **state)
{
    Counter *counter = *state;
    IoWake *wake = NULL;
    HANDLE thread;

    counter->stop_at = 1;
    assert_int_equal(io_wake_new(&wake, counter->loop, count, counter), 0);
    io_loop_hold(counter->loop);
    thread = CreateThread(NULL, 0, wake_from_thread, wake, 0, NULL);
    assert_int_equal(io_loop_run(counter->loop), 0);
    assert_int_equal(counter->n, 1);
    (void)WaitForSingleObject(thread, INFINITE);
    (void)CloseHandle(thread);
    io_loop_release(counter->loop);
    wake = io_wake_free(wake);
}

static void on_signal(void *context, int signum)
{
    (void)context;
    (void)signum;
}

static void the_signals_of_windows_can_be_waited_for(void **state)
{
    static const int signums[] = {SIGINT, SIGBREAK, SIGTERM, 1 /* libuv's SIGHUP */};
    Counter *counter = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(signums); i++) {
        IoSignal *wait = NULL;

        assert_int_equal(io_signal_new(&wait, counter->loop, signums[i], on_signal, counter), 0);
        assert_int_equal(io_loop_run(counter->loop), 0); /* keeps no loop running */
        wait = io_signal_free(wait);
    }
}

static void a_living_parent_is_no_news(void **state)
{
    Counter *counter = *state;
    IoParentWatch *watch = NULL;

    assert_int_equal(io_parent_watch_new(&watch, counter->loop, 10, count, counter), 0);
    assert_int_equal(io_loop_run(counter->loop), 0);
    assert_int_equal(counter->n, 0);
    watch = io_parent_watch_free(watch);
}

/* We start a parent, it starts a child; the parent ends, and the child tells us through a file. */
static void the_end_of_the_parent_is_noticed(void **state)
{
    const char *path = scratch_path("told");
    ScratchChild parent = scratch_child_start("parent", path);
    char text[16] = "";

    (void)state;
    assert_string_equal(scratch_child_line(&parent), "ready");
    assert_false(scratch_exists(path));
    assert_int_equal(scratch_child_end(&parent), 0);
    for (int i = 0; i < 3000 && text[0] == '\0'; i++) {
        io_place_nap();
        if (scratch_exists(path)) { /* which it is before its text is */
            scratch_read(path, text, sizeof(text));
        }
    }
    assert_string_equal(text, "gone");
}

/* ---- files ---- */

static void a_change_of_a_file_is_told_once(void **state)
{
    Counter *counter = *state;
    const char *path = scratch_path("watched");
    IoWatch *watch = NULL;
    IoTimer *guard = NULL;

    scratch_write(path, "one");
    counter->stop_at = 1;
    assert_int_equal(io_watch_new(&watch, counter->loop, path, count, counter), 0);
    assert_int_equal(io_timer_new(&guard, counter->loop, false, count, counter), 0);
    io_timer_start_at(guard, io_loop_now_ms(counter->loop) + 20000);
    scratch_write(path, "one two");
    assert_int_equal(io_loop_run(counter->loop), 0);
    assert_int_equal(counter->n, 1);
    assert_true(io_loop_now_ms(counter->loop) > 0);
    /* Replaced by another of its name, in other letters. */
    scratch_write(scratch_path("new"), "three");
    counter->stop_at = 2;
    assert_true(
        MoveFileExA(scratch_path("new"), scratch_path("WATCHED"), MOVEFILE_REPLACE_EXISTING));
    assert_int_equal(io_loop_run(counter->loop), 0);
    assert_int_equal(counter->n, 2);
    guard = io_timer_free(guard);
    watch = io_watch_free(watch);
}

static void a_file_is_read_as_it_lies_there(void **state)
{
    Bytes out;

    (void)state;
    scratch_write(scratch_path("a \xc3\xa4.txt"), "x");
    scratch_write(scratch_path("b"), "line\r\nline\n\x1a more");
    bytes_init(&out, 100);
    assert_int_equal(io_file_read(&out, scratch_path("b")), 0);
    assert_int_equal(out.n, 17);
    assert_memory_equal(out.data, "line\r\nline\n\x1a more", 17);
    assert_int_equal(io_file_read(&out, scratch_path("none")), -ENOENT);
    assert_int_equal(io_file_read(&out, scratch), -EISDIR);
    assert_int_equal(out.n, 17);
    bytes_deinit(&out);
    bytes_init(&out, 5);
    assert_int_equal(io_file_read(&out, scratch_path("b")), BYTES_E_FULL);
    bytes_deinit(&out);
}

static void assert_absolute(const char *path, bool is_absolute)
{
    if (io_place_is_absolute(path) != is_absolute) {
        fail_msg("%s", path);
    }
}

static void paths_are_those_of_windows(void **state)
{
    char *path = NULL;

    (void)state;
    assert_absolute("C:\\a", true);
    assert_absolute("c:/a", true);
    assert_absolute("\\a", true);
    assert_absolute("\\\\server\\share", true);
    assert_absolute("C:a", false);
    assert_absolute("a\\b", false);
    assert_absolute("", false);
    assert_int_equal(io_place_folder_length("C:\\a\\b"), 5);
    assert_int_equal(io_place_folder_length("C:a"), 2);
    assert_int_equal(io_place_folder_length("a/b\\c"), 4);
    assert_int_equal(io_place_folder_length("a"), 0);
    assert_true(io_place_is_pipe_name("\\\\.\\PIPE\\x"));
    assert_true(io_place_is_pipe_name("//./pipe/x"));
    assert_false(io_place_is_pipe_name("\\\\.\\pipes\\x"));
    assert_true(io_place_is_same_name("A.txt", "a.TXT"));
    assert_false(io_place_is_same_name("A.txt", "b.txt"));
    assert_int_equal(io_place_absolute(&path, "\\\\.\\pipe\\x"), 0);
    assert_string_equal(path, "\\\\.\\pipe\\x");
    path = mem_free(path);
    assert_int_equal(io_place_absolute(&path, "x.json"), 0);
    assert_absolute(path, true);
    path = mem_free(path);
    assert_int_equal(io_place_real(&path, scratch_path("none")), -ENOENT);
    assert_int_equal(io_place_real(&path, scratch_path(".\\.")), 0);
    assert_string_equal(path, scratch);
    path = mem_free(path);
    assert_true(io_place_exists(scratch));
    assert_false(io_place_is_file(scratch));
}

static void errors_have_words(void **state)
{
    (void)state;
    assert_string_equal(io_error_text(ECONNREFUSED), "connection refused");
    assert_string_equal(io_error_text(ENOENT), "no such file or directory");
    assert_string_equal(io_error_text(12345), "unknown error");
}

static void the_environment_and_the_program_are_ours(void **state)
{
    char *path = NULL;
    bool is_found = false;

    (void)state;
    assert_int_equal(_putenv("TW_TEST_PROGRAM=so"), 0);
    for (const char *const *at = io_environment(); *at != NULL; at++) {
        is_found = is_found || strcmp(*at, "TW_TEST_PROGRAM=so") == 0;
    }
    assert_true(is_found);
    assert_int_equal(io_program_path(&path), 0);
    assert_non_null(strstr(path, "test_windows_io_loop.exe"));
    path = mem_free(path);
}

/* ---- children ---- */

static int child_parent(const char *path)
{
    STARTUPINFOA info = {.cb = sizeof(info)};
    PROCESS_INFORMATION made;
    char line[1024];
    char event_name[64];
    char *program = NULL;
    HANDLE event;

    (void)snprintf(event_name, sizeof(event_name), "tw-io-%lu",
                   (unsigned long)GetCurrentProcessId());
    event = CreateEventA(NULL, TRUE, FALSE, event_name);
    if (event == NULL || io_program_path(&program) != 0) {
        return 1;
    }
    (void)snprintf(line, sizeof(line), "\"%s\" orphan \"%s\" %s", program, path, event_name);
    if (!CreateProcessA(program, line, NULL, NULL, FALSE, 0, NULL, NULL, &info, &made) ||
        WaitForSingleObject(event, 30000) != WAIT_OBJECT_0) {
        return 2;
    }
    scratch_child_wait();
    return 0;
}

static int child_orphan(const char *path, const char *event_name)
{
    Counter counter = {.stop_at = 1};
    IoParentWatch *watch = NULL;
    HANDLE event = OpenEventA(EVENT_MODIFY_STATE, FALSE, event_name);
    FILE *file;

    if (event == NULL || io_loop_new(&counter.loop) != 0 ||
        io_parent_watch_new(&watch, counter.loop, 10, count, &counter) != 0) {
        return 1;
    }
    (void)SetEvent(event);
    io_loop_hold(counter.loop);
    (void)io_loop_run(counter.loop);
    file = fopen(path, "wb");
    if (file != NULL) {
        (void)fputs("gone", file);
        (void)fclose(file);
    }
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(an_idle_loop_ends_at_once),
        TEST(a_timer_fires_once_and_not_early),
        TEST(another_thread_posts_while_the_loop_is_held),
        TEST(another_thread_wakes_a_loop_that_waits),
        TEST(the_signals_of_windows_can_be_waited_for),
        TEST(a_living_parent_is_no_news),
        TEST(the_end_of_the_parent_is_noticed),
        TEST(a_change_of_a_file_is_told_once),
        TEST(a_file_is_read_as_it_lies_there),
        TEST(paths_are_those_of_windows),
        TEST(errors_have_words),
        TEST(the_environment_and_the_program_are_ours),
    };

    if (argc > 2 && strcmp(argv[1], "parent") == 0) {
        return child_parent(argv[2]);
    }
    if (argc > 3 && strcmp(argv[1], "orphan") == 0) {
        return child_orphan(argv[2], argv[3]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
