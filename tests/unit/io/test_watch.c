#include "io/watch.h"

#include "support/cmocka.h"

#include <time.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "unit/io/scratch.h"

/* No test comes near this; one that does hangs. */
#define GUARD_MS 30000

typedef struct Watcher {
    IoLoop *loop;
    IoTimer *guard;
    IoTimer *scribbler;
    IoWatch *watch;
    const char *path;
    int n_told;
    int n_missing;
    int n_scribbled;
    bool may_end; /* frees the watch when told */
} Watcher;

static void watcher_on_guard(void *context)
{
    (void)context;
    fail_msg("nothing is told any more");
}

static void watcher_on_change(void *context)
{
    Watcher *watcher = context;

    watcher->n_told++;
    if (watcher->may_end) {
        watcher->watch = io_watch_free(watcher->watch);
    }
    io_loop_stop(watcher->loop);
}

static void watcher_on_pause(void *context)
{
    Watcher *watcher = context;

    io_loop_stop(watcher->loop);
}

static int setup(void **state)
{
    static char path[SCRATCH_PATH_SIZE];
    static Watcher watcher;

    (void)scratch_setup(state);
    (void)snprintf(path, sizeof(path), "%s", scratch_path("schema.json"));
    watcher = (Watcher){.path = path};
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_int_equal(io_loop_new(&watcher.loop), 0);
    /* In the foreground, since a watch keeps no loop running. */
    assert_int_equal(io_timer_new(&watcher.guard, watcher.loop, false, watcher_on_guard, NULL), 0);
    *state = &watcher;
    return 0;
}

static int teardown(void **state)
{
    Watcher *watcher = *state;

    (void)io_watch_free(watcher->watch);
    (void)io_timer_free(watcher->scribbler);
    (void)io_timer_free(watcher->guard);
    (void)io_loop_free(watcher->loop);
    assert_int_equal(alloc_testing()->n_live, 0);
    return scratch_teardown(state);
}

static void watch_path(Watcher *watcher, const char *path)
{
    assert_int_equal(io_watch_new(&watcher->watch, watcher->loop, path, watcher_on_change, watcher),
                     0);
}

/* Runs until the next change is told; in all there must have been n. */
static void run_until_told(Watcher *watcher, int n)
{
    io_timer_start_at(watcher->guard, io_loop_now_ms(watcher->loop) + GUARD_MS);
    assert_int_equal(io_loop_run(watcher->loop), 0);
    io_timer_stop(watcher->guard);
    assert_int_equal(watcher->n_told, n);
}

/* So that size and names stay the same and only the times tell. */
static void rewrite(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(fd), 0);
}

static void every_way_of_changing_a_file_is_told(void **state)
{
    Watcher *watcher = *state;

    scratch_write(watcher->path, "1", 0600);
    watch_path(watcher, watcher->path);
    scratch_write(watcher->path, "22", 0600);
    run_until_told(watcher, 1);
    rewrite(watcher->path, "33");
    run_until_told(watcher, 2);
    scratch_write(scratch_path("new"), "44", 0600);
    assert_int_equal(rename(scratch_path("new"), watcher->path), 0);
    run_until_told(watcher, 3);
    assert_int_equal(unlink(watcher->path), 0);
    scratch_write(watcher->path, "55", 0600);
    run_until_told(watcher, 4);
    /* As private files come: by a link. */
    scratch_write(scratch_path("new"), "66", 0600);
    assert_int_equal(unlink(watcher->path), 0);
    assert_int_equal(link(scratch_path("new"), watcher->path), 0);
    assert_int_equal(unlink(scratch_path("new")), 0);
    run_until_told(watcher, 5);
}

/* Size, inode and the time of writing are as before: the time of the change is not. */
static void a_change_that_hides_its_time_is_told(void **state)
{
    Watcher *watcher = *state;
    struct timespec times[2];
    struct timespec before;
    struct stat info;

    scratch_write(watcher->path, "1", 0600);
    assert_int_equal(stat(watcher->path, &info), 0);
    watch_path(watcher, watcher->path);
    times[0] = info.st_atim;
    times[1] = info.st_mtim;
    /* Until the file system's clock, which ticks every few milliseconds, has moved on. */
    do {
        before = info.st_ctim;
        rewrite(watcher->path, "2");
        assert_int_equal(utimensat(AT_FDCWD, watcher->path, times, 0), 0);
        assert_int_equal(stat(watcher->path, &info), 0);
    } while (info.st_ctim.tv_sec == before.tv_sec && info.st_ctim.tv_nsec == before.tv_nsec);
    run_until_told(watcher, 1);
}

/* By looking every two seconds alone this many would not be found before the guard's time. */
static void changes_are_told_by_events_where_there_are_some(void **state)
{
    Watcher *watcher = *state;

    watch_path(watcher, watcher->path);
    io_timer_start_at(watcher->guard, io_loop_now_ms(watcher->loop) + GUARD_MS);
    for (int i = 1; i <= GUARD_MS / 2000 + 1; i++) {
        scratch_write(watcher->path, i % 2 == 0 ? "1" : "22", 0600);
        assert_int_equal(io_loop_run(watcher->loop), 0);
        assert_int_equal(watcher->n_told, i);
    }
    io_timer_stop(watcher->guard);
}

static void changes_in_a_row_are_told_once(void **state)
{
    Watcher *watcher = *state;

    watch_path(watcher, watcher->path);
    for (int i = 0; i < 50; i++) {
        scratch_write(watcher->path, i % 2 == 0 ? "1" : "22", 0600);
    }
    run_until_told(watcher, 1);
    /* Had there been another one to tell, it would have come before this. */
    scratch_write(watcher->path, "333", 0600);
    run_until_told(watcher, 2);
}

static void on_scribble(void *context)
{
    Watcher *watcher = context;

    watcher->n_scribbled++;
    scratch_write(watcher->path, watcher->n_scribbled % 2 == 0 ? "1" : "22", 0600);
    io_timer_start_at(watcher->scribbler, io_loop_now_ms(watcher->loop) + 5);
}

static void a_file_that_never_rests_is_told_of_all_the_same(void **state)
{
    Watcher *watcher = *state;

    watch_path(watcher, watcher->path);
    assert_int_equal(io_timer_new(&watcher->scribbler, watcher->loop, true, on_scribble, watcher),
                     0);
    io_timer_start_at(watcher->scribbler, 0);
    run_until_told(watcher, 1);
    run_until_told(watcher, 2);
    assert_true(watcher->n_scribbled > 2);
}

static void what_happens_to_others_is_not_told(void **state)
{
    Watcher *watcher = *state;
    char letter;
    int fd;

    scratch_write(watcher->path, "1", 0600);
    watch_path(watcher, watcher->path);
    scratch_write(scratch_path("other"), "1", 0600);
    scratch_write(scratch_path("schema.json.new"), "1", 0600);
    fd = open(watcher->path, O_RDONLY);
    assert_int_equal(read(fd, &letter, 1), 1);
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(scratch_path("other")), 0);
    scratch_write(watcher->path, "22", 0600);
    run_until_told(watcher, 1);
}

/* Removing tells nothing; so the next thing told is that it is back. */
static void a_file_is_told_of_when_it_is_back(void **state)
{
    Watcher *watcher = *state;
    struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};

    scratch_write(watcher->path, "1", 0600);
    watch_path(watcher, watcher->path);
    assert_int_equal(unlink(watcher->path), 0);
    /* Longer than a change needs to be told. */
    assert_int_equal(
        io_timer_new(&watcher->scribbler, watcher->loop, false, watcher_on_pause, watcher), 0);
    io_timer_start_at(watcher->scribbler, io_loop_now_ms(watcher->loop) + 200);
    assert_int_equal(io_loop_run(watcher->loop), 0);
    assert_int_equal(watcher->n_told, 0);
    scratch_write(watcher->path, "1", 0600);
    run_until_told(watcher, 1);
    /* Times that go backwards are a change too. */
    assert_int_equal(utimensat(AT_FDCWD, watcher->path, long_ago, 0), 0);
    run_until_told(watcher, 2);
}

static void watcher_on_missing(void *context)
{
    Watcher *watcher = context;

    watcher->n_missing++;
    io_loop_stop(watcher->loop);
}

static void run_until_missing(Watcher *watcher, int n)
{
    io_timer_start_at(watcher->guard, io_loop_now_ms(watcher->loop) + GUARD_MS);
    assert_int_equal(io_loop_run(watcher->loop), 0);
    io_timer_stop(watcher->guard);
    assert_int_equal(watcher->n_missing, n);
}

static void that_a_file_has_gone_is_told_once(void **state)
{
    Watcher *watcher = *state;

    watch_path(watcher, watcher->path);
    io_watch_tell_missing(watcher->watch, watcher_on_missing, watcher);
    /* It was not there to begin with. */
    scratch_write(watcher->path, "1", 0600);
    run_until_told(watcher, 1);
    assert_int_equal(watcher->n_missing, 0);
    assert_int_equal(unlink(watcher->path), 0);
    run_until_missing(watcher, 1);
    /* The next thing told is that it is back, and then that it has gone again. */
    scratch_write(watcher->path, "22", 0600);
    run_until_told(watcher, 2);
    assert_int_equal(watcher->n_missing, 1);
    assert_int_equal(unlink(watcher->path), 0);
    run_until_missing(watcher, 2);
    assert_int_equal(watcher->n_told, 2);
}

/* No event tells of either: the clock does. */
static void what_the_system_has_no_event_for_is_found_by_looking(void **state)
{
    Watcher *watcher = *state;
    char folder[SCRATCH_PATH_SIZE];
    char path[SCRATCH_PATH_SIZE + 8];

    (void)snprintf(folder, sizeof(folder), "%s", scratch_path("later"));
    (void)snprintf(path, sizeof(path), "%s/a.json", folder);
    watch_path(watcher, path);
    assert_int_equal(mkdir(folder, 0700), 0);
    scratch_write(path, "1", 0600);
    run_until_told(watcher, 1);
    watcher->watch = io_watch_free(watcher->watch);

    assert_int_equal(symlink(path, watcher->path), 0);
    watch_path(watcher, watcher->path);
    scratch_write(path, "22", 0600);
    run_until_told(watcher, 2);
    assert_int_equal(unlink(path), 0);
}

static void the_owner_may_free_it_when_told(void **state)
{
    Watcher *watcher = *state;

    watcher->may_end = true;
    watch_path(watcher, watcher->path);
    scratch_write(watcher->path, "1", 0600);
    run_until_told(watcher, 1);
    assert_null(watcher->watch);
    scratch_write(watcher->path, "22", 0600);
    assert_int_equal(io_loop_run(watcher->loop), 0);
    assert_int_equal(watcher->n_told, 1);
    assert_null(io_watch_free(NULL));
}

static void a_watch_does_not_keep_the_loop_running(void **state)
{
    Watcher *watcher = *state;

    watch_path(watcher, watcher->path);
    assert_int_equal(io_loop_run(watcher->loop), 0);
    scratch_write(watcher->path, "1", 0600);
    assert_int_equal(io_loop_run(watcher->loop), 0);
    assert_int_equal(watcher->n_told, 0);
}

static void a_bare_name_is_watched_in_the_working_folder(void **state)
{
    Watcher *watcher = *state;
    char before[4096];

    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(scratch), 0);
    watch_path(watcher, "schema.json");
    scratch_write("schema.json", "1", 0600);
    run_until_told(watcher, 1);
    assert_int_equal(chdir(before), 0);
}

static int watch_once(void *context)
{
    Watcher *watcher = context;
    IoWatch *watch = NULL;
    int r = io_watch_new(&watch, watcher->loop, watcher->path, watcher_on_change, watcher);

    (void)io_watch_free(watch);
    assert_int_equal(io_loop_run(watcher->loop), 0); /* what was freed closes */
    return r;
}

static void no_allocation_may_fail_unnoticed(void **state)
{
    Watcher *watcher = *state;

    test_oom_sweep(watch_once, watcher);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_way_of_changing_a_file_is_told),
        TEST(a_change_that_hides_its_time_is_told),
        TEST(changes_are_told_by_events_where_there_are_some),
        TEST(changes_in_a_row_are_told_once),
        TEST(a_file_that_never_rests_is_told_of_all_the_same),
        TEST(what_happens_to_others_is_not_told),
        TEST(a_file_is_told_of_when_it_is_back),
        TEST(that_a_file_has_gone_is_told_once),
        TEST(what_the_system_has_no_event_for_is_found_by_looking),
        TEST(the_owner_may_free_it_when_told),
        TEST(a_watch_does_not_keep_the_loop_running),
        TEST(a_bare_name_is_watched_in_the_working_folder),
        TEST(no_allocation_may_fail_unnoticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
