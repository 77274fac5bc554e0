/* The file: whose it is, of which version, who else has it, and what is wrong with it. */
#define _GNU_SOURCE

#include "unit/agent/store_rig.h"

#include <signal.h>
#include <sqlite3.h>

#include "agent/store_impl.h"
#include "support/files.h"
#include "support/sqlite_vfs.h"

static void sql_exec(const char *path, const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void assert_refused(const char *path, int outcome, const char *words)
{
    Diag diag = DIAG_NULL;
    int r = rig_try(path, &diag);

    if (r != outcome || strstr(diag.message, words) == NULL) {
        print_message("%d %s\n", r, diag.message);
    }
    assert_int_equal(r, outcome);
    assert_null(rig_store);
    assert_non_null(strstr(diag.message, words));
}

static void a_new_file_is_its_users_alone(void **state)
{
    mode_t mask = umask(0);

    (void)state;
    assert_int_equal(rig_try(scratch_path("new/deep/history.db"), NULL), 0);
    assert_int_equal(rig_append_text("c", false, "x"), 0);
    (void)umask(mask);
    assert_int_equal(scratch_mode(scratch_path("new/deep/history.db")), 0600);
    assert_int_equal(scratch_mode(scratch_path("new/deep/history.db-wal")), 0600);
    assert_int_equal(scratch_mode(scratch_path("new/deep")), 0700);
    rig_close();
    assert_int_equal(unlink(scratch_path("new/deep/history.db")), 0);
    assert_int_equal(rmdir(scratch_path("new/deep")), 0);
}

static void a_file_of_a_newer_version_is_left_alone(void **state)
{
    char sql[64];
    size_t n_before;
    size_t n_after;
    char *before;
    char *after;

    (void)state;
    rig_open();
    rig_close();
    (void)snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", store_file_n_migrations + 1);
    sql_exec(rig_path(), sql);
    before = files_read(rig_path(), &n_before);
    assert_refused(rig_path(), AGENT_STORE_E_NEWER, "a newer one wrote them");
    after = files_read(rig_path(), &n_after);
    assert_int_equal(n_after, n_before);
    assert_memory_equal(after, before, n_before);
    free(before);
    free(after);
}

static const char *rig_path_beside(const char *end)
{
    static char path[256];

    (void)snprintf(path, sizeof(path), "%s%s", rig_path(), end);
    return path;
}

/* Refused, and neither changed by a byte nor given company. */
static void assert_left_alone(const char *word)
{
    size_t n_before;
    size_t n_after;
    char *before = files_read(rig_path(), &n_before);
    char *after;

    assert_refused(rig_path(), AGENT_STORE_E_DAMAGED, word);
    after = files_read(rig_path(), &n_after);
    assert_int_equal(n_after, n_before);
    assert_memory_equal(after, before, n_before);
    free(before);
    free(after);
    assert_int_equal(access(rig_path_beside("-wal"), F_OK), -1);
    assert_int_equal(access(rig_path_beside("-shm"), F_OK), -1);
}

static void what_is_no_store_is_left_alone(void **state)
{
    (void)state;
    scratch_write(rig_path(), "This is a file of somebody's own, and of some length.", 0600);
    assert_refused(rig_path(), AGENT_STORE_E_DAMAGED, "it is not a database; move it aside");
    assert_int_equal(unlink(rig_path()), 0);
    sql_exec(rig_path(), "CREATE TABLE mine(x)");
    assert_left_alone("it is another program's database");
}

static void an_empty_file_is_no_new_store(void **state)
{
    (void)state;
    scratch_write(rig_path(), "", 0600);
    assert_left_alone("is empty");
    assert_int_equal(unlink(rig_path()), 0);
    scratch_write(rig_path_beside("-wal"), "a log", 0600);
    assert_refused(rig_path(), AGENT_STORE_E_DAMAGED, "but their log is");
    assert_int_equal(unlink(rig_path_beside("-wal")), 0);
    rig_open();
    rig_close();
}

static void a_damaged_file_is_told_apart(void **state)
{
    char page[4096];
    struct stat info;
    int fd;

    (void)state;
    rig_open();
    for (int i = 0; i < 50; i++) {
        assert_int_equal(rig_append_text("c", false, "some text that fills a page or two"), 0);
    }
    rig_close();
    fd = open(rig_path(), O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &info), 0);
    memset(page, 0xA5, sizeof(page));
    for (off_t at = 4096; at < info.st_size; at += 4096) {
        assert_int_equal(pwrite(fd, page, sizeof(page), at), sizeof(page));
    }
    assert_int_equal(close(fd), 0);
    assert_refused(rig_path(), AGENT_STORE_E_DAMAGED, "damaged");
}

static void one_message_that_cannot_be_read_is_left_out(void **state)
{
    (void)state;
    rig_open();
    assert_int_equal(rig_append_text("c", false, "one"), 0);
    assert_int_equal(rig_append_text("c", true, "two"), 0);
    assert_int_equal(rig_append_text("c", false, "three"), 0);
    rig_close();
    sql_exec(rig_path(), "UPDATE message SET content = '[{' WHERE content LIKE '%two%'");
    rig_open();
    rig_expect("c", 0, "u:one|u:three|(1 left out, first kept)");
}

/* In a child that is nobody in particular: root may write everywhere. */
static void what_cannot_be_written_is_said_so(void **state)
{
    pid_t pid;

    (void)state;
    rig_open();
    assert_int_equal(rig_append_text("c", false, "x"), 0);
    rig_close();
    assert_int_equal(chmod(scratch, 0555), 0);
    assert_int_equal(chmod(rig_path(), 0444), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        Diag diag = DIAG_NULL;
        int r;

        if (geteuid() == 0 && setuid(SCRATCH_STRANGER) != 0) {
            _exit(1);
        }
        r = rig_try(rig_path(), &diag);
        if (r != AGENT_STORE_E_READ_ONLY || strstr(diag.message, "cannot be written") == NULL) {
            (void)fprintf(stderr, "file: %d %s\n", r, diag.message);
            _exit(2);
        }
        r = rig_try(scratch_path("other.db"), &diag);
        if (r != AGENT_STORE_E_READ_ONLY || diag.message[0] == '\0') {
            (void)fprintf(stderr, "folder: %d %s\n", r, diag.message);
            _exit(3);
        }
        r = rig_try(scratch_path("folder/other.db"), &diag);
        _exit(r == AGENT_STORE_E_READ_ONLY ? 0 : 4);
    }
    scratch_reap(pid);
    assert_int_equal(chmod(scratch, 0700), 0);
}

static void a_full_disk_is_said_so_and_nothing_is_half(void **state)
{
    (void)state;
    rig_open();
    assert_int_equal(rig_append_text("c", false, "before"), 0);
    atomic_store(&sqlite_vfs.write_result, SQLITE_FULL);
    assert_int_equal(rig_append_text("c", false, "lost"), AGENT_STORE_E_FULL);
    atomic_store(&sqlite_vfs.write_result, SQLITE_IOERR_WRITE);
    assert_int_equal(rig_append_text("c", false, "lost"), -EIO);
    atomic_store(&sqlite_vfs.write_result, SQLITE_OK);
    assert_int_equal(rig_append_text("c", false, "after"), 0);
    rig_expect("c", 0, "u:before|u:after|");
}

static void an_acknowledged_append_has_reached_the_disk(void **state)
{
    size_t n_before;

    (void)state;
    rig_open();
    assert_int_equal(rig_append_text("c", false, "x"), 0);
    n_before = atomic_load(&sqlite_vfs.n_syncs);
    assert_int_equal(rig_append_text("c", false, "y"), 0);
    assert_true(atomic_load(&sqlite_vfs.n_syncs) > n_before);
    assert_int_equal(atomic_load(&sqlite_vfs.n_unsynced), 0);
}

/* ---- processes ---- */

/* A child that appends its own messages, one after the other, writes the number of each that was
 * acknowledged into the pipe, and does not end by itself. */
static void child_append(int fd, const char *id, int n_max)
{
    rig_store = NULL;
    if (io_loop_new(&rig_loop) != 0 || rig_try(rig_path(), NULL) != 0) {
        _exit(1);
    }
    for (int i = 0; i < n_max; i++) {
        char text[24];

        (void)snprintf(text, sizeof(text), "%d", i);
        if (rig_append_text(id, false, text) != 0 || write(fd, &i, sizeof(i)) != sizeof(i)) {
            _exit(2);
        }
    }
    if (n_max == INT32_MAX) {
        _exit(3);
    }
    rig_close();
    _exit(0);
}

static pid_t start_child(const char *id, int n_max, int *ret_fd)
{
    int fds[2];
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(fds[0]);
        child_append(fds[1], id, n_max);
    }
    assert_int_equal(close(fds[1]), 0);
    *ret_fd = fds[0];
    return pid;
}

static void what_was_acknowledged_survives_a_kill(void **state)
{
    AgentStoreOp op = AGENT_STORE_OP_NULL;
    int last = -1;

    (void)state;
    for (int round = 0; round < 5; round++) {
        char id[16];
        int number;
        int status;
        int fd;
        pid_t pid;

        (void)snprintf(id, sizeof(id), "c%d", round);
        pid = start_child(id, INT32_MAX, &fd);
        /* At some moment between two acknowledgements, another one each time. */
        for (int i = 0; i < 5 + 7 * round; i++) {
            assert_int_equal(read(fd, &last, sizeof(last)), sizeof(last));
        }
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        while (read(fd, &number, sizeof(number)) == sizeof(number)) {
            last = number;
        }
        assert_int_equal(close(fd), 0);
        rig_open();
        op.verb = AGENT_STORE_LOAD;
        op.conversation = span_from_str(id);
        assert_int_equal(rig_run(&op), 0);
        assert_true(op.n_loaded >= (size_t)last + 1);
        assert_true(op.n_loaded <= (size_t)last + 2); /* one may be on disk and not told of */
        for (size_t i = 0; i < op.n_loaded; i++) {
            char text[24];

            (void)snprintf(text, sizeof(text), "%zu", i);
            assert_true(span_equals(op.loaded[i].blocks[0].text, span_from_str(text)));
        }
        agent_store_op_deinit(&op);
        rig_close();
    }
}

/* They make the file together, too. */
static void two_processes_write_into_one_store(void **state)
{
    AgentStoreOp op = AGENT_STORE_OP_NULL;
    enum {
        N = 60
    };
    int fds[2];
    pid_t pids[2];
    size_t n_each = 0;

    (void)state;
    pids[0] = start_child("shared", N, &fds[0]);
    pids[1] = start_child("shared", N, &fds[1]);
    for (int i = 0; i < 2; i++) {
        int number;

        while (read(fds[i], &number, sizeof(number)) == sizeof(number)) {
        }
        assert_int_equal(close(fds[i]), 0);
        scratch_reap(pids[i]);
    }
    rig_open();
    op.verb = AGENT_STORE_LOAD;
    op.conversation = SPAN("shared");
    assert_int_equal(rig_run(&op), 0);
    assert_int_equal(op.n_loaded, 2 * N);
    assert_int_equal(op.conversations[0].n_messages, 2 * N);
    /* The messages of each are in its order. */
    for (size_t i = 0; i < op.n_loaded; i++) {
        char text[24];

        (void)snprintf(text, sizeof(text), "%zu", n_each);
        n_each += span_equals(op.loaded[i].blocks[0].text, span_from_str(text));
    }
    assert_int_equal(n_each, N);
    agent_store_op_deinit(&op);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_new_file_is_its_users_alone, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_file_of_a_newer_version_is_left_alone, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(what_is_no_store_is_left_alone, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(an_empty_file_is_no_new_store, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_damaged_file_is_told_apart, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(one_message_that_cannot_be_read_is_left_out, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_is_said_so, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_full_disk_is_said_so_and_nothing_is_half, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(an_acknowledged_append_has_reached_the_disk, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(what_was_acknowledged_survives_a_kill, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(two_processes_write_into_one_store, rig_setup,
                                        rig_teardown),
    };

    assert_int_equal(sqlite_vfs_install(), SQLITE_OK);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
