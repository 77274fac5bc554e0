#include "io/append_file.h"

#include "support/cmocka.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/files.h"
#include "support/oom_sweep.h"

/* A folder, and the file in it. */
typedef struct Place {
    char folder[32];
    char path[64];
} Place;

static void place_make(Place *place)
{
    (void)snprintf(place->folder, sizeof(place->folder), "/tmp/tw-append-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    (void)snprintf(place->path, sizeof(place->path), "%s/log", place->folder);
}

/* PATH, or PATH.number. */
static void place_name(const Place *place, unsigned number, char out[80])
{
    if (number == 0) {
        (void)snprintf(out, 80, "%s", place->path);
    } else {
        (void)snprintf(out, 80, "%s.%u", place->path, number);
    }
}

static void place_remove(const Place *place)
{
    for (unsigned i = 0; i < 10; i++) {
        char name[80];

        place_name(place, i, name);
        (void)unlink(name);
    }
    assert_int_equal(rmdir(place->folder), 0);
}

static void expect_file(const Place *place, unsigned number, const char *content)
{
    char name[80];
    size_t n;
    char *text;

    place_name(place, number, name);
    if (content == NULL) {
        assert_int_not_equal(access(name, F_OK), 0);
        return;
    }
    text = files_read(name, &n);
    assert_string_equal(text, content);
    free(text);
}

static void put_file(const Place *place, unsigned number, const char *content)
{
    char name[80];
    FILE *f;

    place_name(place, number, name);
    f = fopen(name, "w");
    assert_non_null(f);
    assert_true(fputs(content, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void a_new_file_is_for_us_alone(void **state)
{
    mode_t mask = umask(0);
    AppendFile file = APPEND_FILE_NULL;
    struct stat info;
    Place place;

    (void)state;
    place_make(&place);
    assert_int_equal(append_file_open(&file, place.path), 0);
    (void)umask(mask);
    assert_int_equal(stat(place.path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_true(file.is_regular);
    assert_int_equal(file.n_bytes, 0);
    append_file_close(&file);
    append_file_close(&file);
    place_remove(&place);
}

static void lines_follow_what_is_there(void **state)
{
    AppendFile file = APPEND_FILE_NULL;
    Place place;

    (void)state;
    place_make(&place);
    put_file(&place, 0, "one\n");
    assert_int_equal(append_file_open(&file, place.path), 0);
    assert_int_equal(file.n_bytes, 4);
    assert_int_equal(append_file_write(&file, SPAN("two\nthree\n")), 0);
    assert_int_equal(file.n_bytes, 14);
    append_file_close(&file);
    expect_file(&place, 0, "one\ntwo\nthree\n");
    place_remove(&place);
}

static void half_a_line_that_was_left_gets_its_end(void **state)
{
    AppendFile file = APPEND_FILE_NULL;
    Place place;

    (void)state;
    place_make(&place);
    put_file(&place, 0, "one\nha");
    assert_int_equal(append_file_open(&file, place.path), 0);
    assert_true(file.is_torn);
    assert_int_equal(append_file_write(&file, SPAN("two\n")), 0);
    assert_int_equal(append_file_write(&file, SPAN("three\n")), 0);
    assert_int_equal(file.n_bytes, 17);
    append_file_close(&file);
    expect_file(&place, 0, "one\nha\ntwo\nthree\n");
    place_remove(&place);
}

/* The system takes a part and then no more, as a disk that becomes full. */
static void what_does_not_fit_leaves_no_half(void **state)
{
    AppendFile file = APPEND_FILE_NULL;
    struct rlimit before;
    struct rlimit small;
    Place place;

    (void)state;
    place_make(&place);
    assert_int_equal(append_file_open(&file, place.path), 0);
    assert_int_equal(append_file_write(&file, SPAN("one\n")), 0);
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 10;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(append_file_write(&file, SPAN("two\nthree\nfour\n")), -EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(signal(SIGXFSZ, SIG_DFL) != SIG_ERR);
    assert_false(file.is_torn);
    assert_int_equal(file.n_bytes, 4);
    expect_file(&place, 0, "one\n");
    assert_int_equal(append_file_write(&file, SPAN("five\n")), 0);
    append_file_close(&file);
    expect_file(&place, 0, "one\nfive\n");
    place_remove(&place);
}

static void a_device_is_no_file_and_may_be_full(void **state)
{
    AppendFile file = APPEND_FILE_NULL;

    (void)state;
    assert_int_equal(append_file_open(&file, "/dev/full"), 0);
    assert_false(file.is_regular);
    assert_int_equal(append_file_write(&file, SPAN("one\n")), -ENOSPC);
    append_file_close(&file);
}

static void folders_and_pipes_are_refused(void **state)
{
    AppendFile file = APPEND_FILE_NULL;
    Place place;

    (void)state;
    place_make(&place);
    assert_int_equal(append_file_open(&file, place.folder), -EISDIR);
    assert_int_equal(mkfifo(place.path, 0600), 0);
    assert_int_equal(append_file_open(&file, place.path), -EINVAL);
    assert_int_equal(file.fd, -1);
    assert_int_equal(append_file_open(&file, "/nowhere/at/all"), -ENOENT);
    place_remove(&place);
}

static void old_files_move_up_and_the_oldest_goes(void **state)
{
    Place place;

    (void)state;
    place_make(&place);
    put_file(&place, 0, "a\n");
    assert_int_equal(append_file_shift(place.path, 2), 0);
    expect_file(&place, 0, NULL);
    expect_file(&place, 1, "a\n");
    put_file(&place, 0, "b\n");
    assert_int_equal(append_file_shift(place.path, 2), 0);
    expect_file(&place, 1, "b\n");
    expect_file(&place, 2, "a\n");
    put_file(&place, 0, "c\n");
    assert_int_equal(append_file_shift(place.path, 2), 0);
    expect_file(&place, 0, NULL);
    expect_file(&place, 1, "c\n");
    expect_file(&place, 2, "b\n");
    expect_file(&place, 3, NULL);
    /* Nothing there: nothing to do. */
    assert_int_equal(append_file_shift(place.path, 2), 0);
    place_remove(&place);
}

static void a_file_that_cannot_move_stays(void **state)
{
    char name[80];
    Place place;

    (void)state;
    place_make(&place);
    put_file(&place, 0, "a\n");
    place_name(&place, 1, name);
    assert_int_equal(mkdir(name, 0700), 0);
    assert_int_equal(append_file_shift(place.path, 1), -EISDIR);
    expect_file(&place, 0, "a\n");
    assert_int_equal(rmdir(name), 0);
    place_remove(&place);
}

static int shift_scenario(void *context)
{
    (void)context;
    return append_file_shift("/nowhere/at/all", 2);
}

static void without_memory_nothing_moves(void **state)
{
    (void)state;
    test_oom_sweep(shift_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_file_is_for_us_alone),
        cmocka_unit_test(lines_follow_what_is_there),
        cmocka_unit_test(half_a_line_that_was_left_gets_its_end),
        cmocka_unit_test(what_does_not_fit_leaves_no_half),
        cmocka_unit_test(a_device_is_no_file_and_may_be_full),
        cmocka_unit_test(folders_and_pipes_are_refused),
        cmocka_unit_test(old_files_move_up_and_the_oldest_goes),
        cmocka_unit_test(a_file_that_cannot_move_stays),
        cmocka_unit_test(without_memory_nothing_moves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
