#include "io/database_file.h"

#include "support/cmocka.h"

#include <errno.h>

#include "support/alloc_testing.h"
#include "support/files.h"
#include "support/oom_sweep.h"
#include "unit/io/scratch.h"

#define OURS 0x74776f31u

/* A header of 100 bytes and the begin of a first page, as SQLite writes them. */
static void head_make(uint8_t head[DATABASE_FILE_HEAD_BYTES], uint8_t version, uint32_t application,
                      uint8_t n_tables)
{
    memset(head, 0, DATABASE_FILE_HEAD_BYTES);
    memcpy(head, "SQLite format 3", 16);
    head[63] = version;
    for (int i = 0; i < 4; i++) {
        head[68 + i] = (uint8_t)(application >> (24 - 8 * i));
    }
    head[100] = 13;
    head[104] = n_tables;
}

static DatabaseFileKind judge(const uint8_t *head, size_t n)
{
    DatabaseFileKind kind = DATABASE_FILE_OTHER;

    assert_int_equal(database_file_judge(scratch_path("q.db"), head, n, OURS, &kind), 0);
    return kind;
}

static void the_first_page_says_whose_it_is(void **state)
{
    uint8_t head[DATABASE_FILE_HEAD_BYTES];

    (void)state;
    head_make(head, 0, 0, 0);
    assert_int_equal(judge(head, sizeof(head)), DATABASE_FILE_BLANK);
    assert_int_equal(judge(head, sizeof(head) - 1), DATABASE_FILE_OTHER);
    assert_int_equal(judge(head, 0), DATABASE_FILE_EMPTY);
    head_make(head, 0, 0, 1);
    assert_int_equal(judge(head, sizeof(head)), DATABASE_FILE_FOREIGN);
    head_make(head, 7, 0, 0);
    assert_int_equal(judge(head, sizeof(head)), DATABASE_FILE_FOREIGN);
    head_make(head, 0, OURS + 1, 0);
    assert_int_equal(judge(head, sizeof(head)), DATABASE_FILE_FOREIGN);
    head_make(head, 7, OURS, 9);
    assert_int_equal(judge(head, sizeof(head)), DATABASE_FILE_OURS);
    head[0] = 's';
    assert_int_equal(judge(head, sizeof(head)), DATABASE_FILE_OTHER);
}

/* ---- the log ---- */

#define PAGE 512

typedef struct Log {
    uint8_t bytes[32 + 4 * (24 + PAGE)];
    size_t n;
} Log;

static void log_begin(Log *log)
{
    static const uint8_t header[32] = {0x37, 0x7f, 0x06, 0x82, 0, 0x2d, 0xe2, 0x18, 0, 0, 2, 0,
                                       0,    0,    0,    0,    1, 2,    3,    4,    5, 6, 7, 8};

    *log = (Log){.n = sizeof(header)};
    memcpy(log->bytes, header, sizeof(header));
}

static void log_add(Log *log, uint8_t page, uint8_t salt, const uint8_t *head)
{
    uint8_t *frame = log->bytes + log->n;

    frame[3] = page;
    memcpy(frame + 8, log->bytes + 16, 8);
    frame[8] = salt;
    memcpy(frame + 24, head, DATABASE_FILE_HEAD_BYTES);
    log->n += 24 + PAGE;
}

static void log_write(const Log *log, size_t n)
{
    int fd = open(scratch_path("q.db-wal"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, log->bytes, n), n);
    assert_int_equal(close(fd), 0);
}

static void a_first_page_in_the_log_is_newer(void **state)
{
    uint8_t blank[DATABASE_FILE_HEAD_BYTES];
    uint8_t ours[DATABASE_FILE_HEAD_BYTES];
    uint8_t foreign[DATABASE_FILE_HEAD_BYTES];
    Log log;

    (void)state;
    head_make(blank, 0, 0, 0);
    head_make(ours, 3, OURS, 6);
    head_make(foreign, 0, 0, 2);
    log_begin(&log);
    log_add(&log, 2, 1, foreign);
    log_write(&log, log.n);
    assert_int_equal(judge(blank, sizeof(blank)), DATABASE_FILE_BLANK); /* another page */
    log_add(&log, 1, 1, ours);
    log_write(&log, log.n);
    assert_int_equal(judge(blank, sizeof(blank)), DATABASE_FILE_OURS);
    log_write(&log, log.n - 1); /* half of it: was not written to its end */
    assert_int_equal(judge(blank, sizeof(blank)), DATABASE_FILE_BLANK);
    log_add(&log, 1, 9, foreign);
    log_write(&log, log.n); /* left by an earlier log */
    assert_int_equal(judge(blank, sizeof(blank)), DATABASE_FILE_OURS);
    log_begin(&log);
    log_add(&log, 1, 1, foreign);
    log_write(&log, log.n);
    assert_int_equal(judge(blank, sizeof(blank)), DATABASE_FILE_FOREIGN);
    log.bytes[0] = 0;
    log_write(&log, log.n);
    assert_int_equal(judge(blank, sizeof(blank)), DATABASE_FILE_BLANK); /* no log */
}

static void a_log_without_a_byte_is_none(void **state)
{
    (void)state;
    assert_false(database_file_has_log(scratch_path("q.db")));
    scratch_write(scratch_path("q.db-wal"), "", 0600);
    assert_false(database_file_has_log(scratch_path("q.db")));
    scratch_write(scratch_path("q.db-wal"), "x", 0600);
    assert_true(database_file_has_log(scratch_path("q.db")));
}

/* ---- new ones ---- */

static void a_new_one_is_whole_and_replaces_nothing(void **state)
{
    const char *path = scratch_path("q.db");
    struct stat info;
    size_t n = 0;
    char *bytes;

    (void)state;
    assert_int_equal(database_file_make(path, OURS), 0);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    bytes = files_read(path, &n);
    assert_int_equal(n, 4096);
    assert_int_equal(judge((const uint8_t *)bytes, DATABASE_FILE_HEAD_BYTES), DATABASE_FILE_OURS);
    free(bytes);
    scratch_write(path, "somebody's", 0600);
    assert_int_equal(database_file_make(path, OURS), -EEXIST);
    bytes = files_read(path, &n);
    assert_string_equal(bytes, "somebody's");
    free(bytes);
    assert_int_equal(scratch_count(false), 1); /* nothing else is left */
}

static int make_and_judge(void *context)
{
    uint8_t blank[DATABASE_FILE_HEAD_BYTES];
    DatabaseFileKind kind;
    int r;

    (void)context;
    head_make(blank, 0, 0, 0);
    (void)unlink(scratch_path("q.db"));
    r = database_file_make(scratch_path("q.db"), OURS);
    return r != 0 ? r
                  : database_file_judge(scratch_path("q.db"), blank, sizeof(blank), OURS, &kind);
}

static void failed_allocations_leave_nothing_behind(void **state)
{
    (void)state;
    scratch_write(scratch_path("q.db-wal"), "x", 0600);
    test_oom_sweep(make_and_judge, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_page_says_whose_it_is, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(a_first_page_in_the_log_is_newer, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(a_log_without_a_byte_is_none, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(a_new_one_is_whole_and_replaces_nothing, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(failed_allocations_leave_nothing_behind, scratch_setup,
                                        scratch_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
