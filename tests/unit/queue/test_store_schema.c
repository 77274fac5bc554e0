/* Files: whose they are, of which version, who else has them, and what is wrong with them. */
#include "queue/store_sqlite.h"

#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/alloc_testing.h"
#include "support/files.h"
#include "support/queue_op.h"
#include "unit/queue/store_rig.h"

static int try_open(const char *path, Diag *diag)
{
    QueueConfig config = {.path = path};
    Store *store = NULL;
    int r;

    *diag = DIAG_NULL;
    r = store_open(&store, &config, diag);
    if (r != 0) {
        assert_null(store);
        assert_string_not_equal(diag->message, "");
    }
    (void)store_close(store);
    return r;
}

static void sql_exec(const char *path, const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int64_t sql_number(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    int64_t number;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    number = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return number;
}

/* The file without a store on it; what a process that ended in order leaves. */
static void rig_shut(Rig *rig)
{
    rig->store = store_close(rig->store);
}

static void fill(Rig *rig, int n)
{
    for (int i = 0; i < n; i++) {
        (void)RIG_ADD(rig, .params = SPAN("{\"some\":\"text that takes a little room\"}"));
    }
}

static int64_t jobs_in(const char *path)
{
    QueueConfig config = {.path = path};
    Diag diag = DIAG_NULL;
    Store *store = NULL;
    int64_t n;

    assert_int_equal(store_open(&store, &config, &diag), 0);
    n = store->tally.n[JOB_ENQUEUED];
    (void)store_close(store);
    return n;
}

static void a_new_file_is_its_users_alone(void **state)
{
    char log[128];
    struct stat about;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    assert_int_equal(stat(rig.path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    (void)snprintf(log, sizeof(log), "%s-wal", rig.path);
    assert_int_equal(stat(log, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    rig_shut(&rig);
    assert_int_equal(stat(log, &about), -1); /* an orderly end leaves one file */
    assert_int_equal(sql_number(rig.path, "PRAGMA user_version"), store_n_migrations);
    assert_int_equal(sql_number(rig.path, "PRAGMA application_id"), STORE_APPLICATION_ID);
    rig_deinit(&rig);
}

static void a_second_process_is_told_that_it_is_busy(void **state)
{
    int status = 0;
    pid_t child;
    Diag diag;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    child = fork();
    if (child == 0) {
        QueueConfig config = {.path = rig.path};
        Store *store = NULL;

        _exit(store_open(&store, &config, &diag) == QUEUE_E_BUSY ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    (void)rig_add_one(&rig); /* and nothing has happened to us */
    rig_shut(&rig);
    assert_int_equal(try_open(rig.path, &diag), 0);
    rig_deinit(&rig);
}

static void the_lock_of_a_process_that_was_killed_is_gone(void **state)
{
    int status = 0;
    pid_t child;
    Diag diag;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    rig_shut(&rig);
    child = fork();
    if (child == 0) {
        QueueConfig config = {.path = rig.path};
        Store *store = NULL;

        (void)store_open(&store, &config, &diag);
        (void)raise(SIGKILL);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(try_open(rig.path, &diag), 0);
    rig_deinit(&rig);
}

/* In a process of its own: what it found, as an exit status. */
static int read_and_write(const char *path, const char *copy)
{
    char vacuum[256];
    sqlite3 *db = NULL;
    sqlite3 *to = NULL;
    sqlite3_backup *backup;

    (void)snprintf(vacuum, sizeof(vacuum), "VACUUM INTO '%s.2'", copy);
    if (sqlite3_open(path, &db) != SQLITE_OK || sqlite3_open(copy, &to) != SQLITE_OK) {
        return 1;
    }
    backup = sqlite3_backup_init(to, "main", db, "main");
    if (backup == NULL || sqlite3_backup_step(backup, -1) != SQLITE_DONE ||
        sqlite3_backup_finish(backup) != SQLITE_OK) {
        return 2;
    }
    if (sqlite3_exec(db, vacuum, NULL, NULL, NULL) != SQLITE_OK) {
        return 3;
    }
    /* Nobody but the one who has it may write. */
    if (sqlite3_exec(db, "UPDATE meta SET n0 = 99", NULL, NULL, NULL) != SQLITE_BUSY) {
        return 4;
    }
    return sqlite3_close(to) == SQLITE_OK && sqlite3_close(db) == SQLITE_OK ? 0 : 5;
}

static void others_may_copy_it_while_it_is_used(void **state)
{
    char copy[128];
    char second[136];
    char path[96];
    char byte = 0;
    int wires[2];
    int status = 0;
    pid_t child;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    rig_shut(&rig);
    (void)snprintf(path, sizeof(path), "%s", rig.path);
    (void)snprintf(copy, sizeof(copy), "%s.copy", rig.path);
    (void)snprintf(second, sizeof(second), "%s.2", copy);
    assert_int_equal(pipe(wires), 0);
    child = fork(); /* before it is open here: SQLite knows its locks by process */
    if (child == 0) {
        _exit(read(wires[0], &byte, 1) == 1 ? read_and_write(path, copy) : 9);
    }
    rig_open(&rig);
    fill(&rig, 20);
    assert_int_equal(write(wires[1], &byte, 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    fill(&rig, 1); /* and it goes on */
    assert_int_equal(rig.store->tally.n[JOB_ENQUEUED], 21);
    assert_int_equal(jobs_in(copy), 20);
    assert_int_equal(jobs_in(second), 20);
    assert_int_equal(unlink(copy), 0);
    assert_int_equal(unlink(second), 0);
    assert_int_equal(close(wires[0]), 0);
    assert_int_equal(close(wires[1]), 0);
    rig_deinit(&rig);
}

static void a_newer_version_is_left_alone(void **state)
{
    Diag diag;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    rig_shut(&rig);
    sql_exec(rig.path, "PRAGMA user_version = 999");
    assert_int_equal(try_open(rig.path, &diag), QUEUE_E_NEWER);
    assert_non_null(strstr(diag.message, "999"));
    assert_int_equal(sql_number(rig.path, "PRAGMA user_version"), 999);
    rig_deinit(&rig);
}

static void every_older_version_is_brought_to_this_one(void **state)
{
    (void)state;
    for (int version = 0; version < store_n_migrations; version++) {
        char mark[96];
        RigId id;
        Rig rig;

        rig_init_file(&rig);
        rig_shut(&rig);
        assert_int_equal(unlink(rig.path), 0);
        for (int i = 0; i < version; i++) {
            sql_exec(rig.path, store_migrations[i]);
        }
        (void)snprintf(mark, sizeof(mark), "PRAGMA user_version = %d; PRAGMA application_id = %d",
                       version, version == 0 ? 0 : STORE_APPLICATION_ID);
        sql_exec(rig.path, mark);
        if (version > 0) { /* what is there stays there */
            sql_exec(
                rig.path,
                "INSERT INTO spec VALUES(1, 'old', NULL, '', NULL, NULL, NULL, NULL, 0, 1, 0,"
                " 5); INSERT INTO job VALUES(1, 0, 0, 0, 100, 0, 0, zeroblob(104), '', NULL, 1,"
                " NULL); UPDATE meta SET n0 = 1, next_id = 2");
        }
        rig_open(&rig);
        if (version > 0) {
            assert_int_equal(rig_claim(&rig, "", 1, 0), 1);
            assert_text(rig.op.jobs[0].method, "old");
        }
        id = RIG_ADD(&rig, .owner = SPAN("me"));
        assert_int_equal(rig_state(&rig, &id), JOB_ENQUEUED);
        OP_SET(rig_op(&rig, QUEUE_LIST), list.owner, SPAN("me"));
        assert_int_equal(rig_run(&rig), 0);
        assert_int_equal(rig.op.n_jobs, 1);
        rig_shut(&rig);
        assert_int_equal(sql_number(rig.path, "PRAGMA user_version"), store_n_migrations);
        rig_deinit(&rig);
    }
}

static void a_migration_that_fails_leaves_the_version_that_was(void **state)
{
    Diag diag;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    rig_shut(&rig);
    assert_int_equal(unlink(rig.path), 0);
    sql_exec(rig.path, store_migrations[0]);
    /* What the second would make is there already. */
    sql_exec(rig.path, "CREATE INDEX spec_owner ON spec(owner)");
    sql_exec(rig.path, "PRAGMA user_version = 1; PRAGMA application_id = 1953984817");
    assert_int_equal(STORE_APPLICATION_ID, 1953984817);
    assert_true(try_open(rig.path, &diag) != 0);
    assert_int_equal(sql_number(rig.path, "PRAGMA user_version"), 1);
    rig_deinit(&rig);
}

/* ---- what is no queue ---- */

static void write_file(const char *path, const char *text, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, n), n);
    assert_int_equal(close(fd), 0);
}

static void copy_file(const char *from, const char *to)
{
    size_t n = 0;
    char *bytes = files_read(from, &n);

    write_file(to, bytes, n);
    free(bytes);
}

static void what_is_no_database_is_not_touched(void **state)
{
    static const char text[] =
        "these are my notes, and no database at all, whatever you think; "
        "they are long enough to be looked at as a header of a hundred bytes";
    Diag diag;
    size_t n = 0;
    char *read;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    rig_shut(&rig);
    write_file(rig.path, text, sizeof(text));
    assert_int_equal(try_open(rig.path, &diag), QUEUE_E_DAMAGED);
    assert_non_null(strstr(diag.message, "not a database"));
    read = files_read(rig.path, &n);
    assert_int_equal(n, sizeof(text));
    assert_memory_equal(read, text, n);
    free(read);
    rig_deinit(&rig);
}

/* Refused, and neither changed by a byte nor given company. */
static void assert_left_alone(const char *path, const char *word)
{
    size_t n_before = 0;
    size_t n_after = 0;
    char *before = files_read(path, &n_before);
    char beside[128];
    char *after;
    Diag diag;

    assert_int_equal(try_open(path, &diag), QUEUE_E_DAMAGED);
    if (strstr(diag.message, word) == NULL || strstr(diag.message, path) == NULL) {
        fail_msg("%s", diag.message);
    }
    after = files_read(path, &n_after);
    assert_int_equal(n_after, n_before);
    assert_memory_equal(after, before, n_before);
    free(before);
    free(after);
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"-wal", "-shm", "-journal"};

        (void)snprintf(beside, sizeof(beside), "%s%s", path, names[i]);
        assert_int_equal(access(beside, F_OK), -1);
    }
}

static void another_programs_database_is_not_touched(void **state)
{
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    rig_shut(&rig);
    assert_int_equal(unlink(rig.path), 0);
    sql_exec(rig.path, "CREATE TABLE mine(x)");
    assert_left_alone(rig.path, "another program");
    sql_exec(rig.path, "PRAGMA journal_mode = WAL");
    assert_left_alone(rig.path, "another program");
    sql_exec(rig.path, "DROP TABLE mine; PRAGMA application_id = 7");
    assert_left_alone(rig.path, "another program");
    rig_deinit(&rig);
}

static void an_empty_file_is_no_new_queue(void **state)
{
    char log[112];
    Diag diag;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    (void)rig_add_one(&rig);
    rig_shut(&rig);
    assert_int_equal(truncate(rig.path, 0), 0);
    assert_left_alone(rig.path, "is empty");
    (void)snprintf(log, sizeof(log), "%s-wal", rig.path);
    write_file(log, "a log", 5);
    assert_int_equal(try_open(rig.path, &diag), QUEUE_E_DAMAGED);
    assert_non_null(strstr(diag.message, "log"));
    /* SQLite would remove the log of a file that is new. */
    assert_int_equal(unlink(rig.path), 0);
    assert_int_equal(try_open(rig.path, &diag), QUEUE_E_DAMAGED);
    assert_non_null(strstr(diag.message, log));
    assert_int_equal(access(log, F_OK), 0);
    assert_int_equal(access(rig.path, F_OK), -1);
    assert_int_equal(unlink(log), 0);
    assert_int_equal(try_open(rig.path, &diag), 0); /* and so one begins anew */
    rig_deinit(&rig);
}

/* As versions before left it: the file turned to a log, and all else in that log. */
static void a_queue_that_lies_in_its_log_is_ours(void **state)
{
    char log[112];
    char copy[112];
    Rig rig;
    sqlite3 *db = NULL;
    Diag diag;

    (void)state;
    rig_init_file(&rig);
    rig_shut(&rig);
    assert_int_equal(unlink(rig.path), 0);
    (void)snprintf(copy, sizeof(copy), "%s.old", rig.path);
    (void)snprintf(log, sizeof(log), "%s.old-wal", rig.path);
    assert_int_equal(sqlite3_open(copy, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, store_migrations[0], NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 1; PRAGMA application_id = 1953984817",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    copy_file(copy, rig.path);
    (void)snprintf(copy, sizeof(copy), "%s-wal", rig.path);
    copy_file(log, copy); /* while it is there: the end of the other moves it */
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(try_open(rig.path, &diag), 0);
    assert_int_equal(sql_number(rig.path, "PRAGMA user_version"), store_n_migrations);
    (void)snprintf(copy, sizeof(copy), "%s.old", rig.path);
    assert_int_equal(unlink(copy), 0);
    rig_deinit(&rig);
}

/* What somebody else is told: root may write everywhere, and so becomes nobody. */
static int try_open_as_another(const char *path)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        QueueConfig config = {.path = path};
        Diag diag = DIAG_NULL;
        Store *store = NULL;

        if (geteuid() == 0 && setuid(65534) != 0) {
            _exit(99);
        }
        _exit(store_open(&store, &config, &diag));
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_folder_that_cannot_be_written_is_said_to_be_so(void **state)
{
    char log[112];
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    rig_shut(&rig);
    assert_int_equal(chmod(rig.path, 0666), 0);
    assert_int_equal(chmod(rig.folder, 0555), 0);
    assert_int_equal(try_open_as_another(rig.path), QUEUE_E_READ_ONLY);
    assert_int_equal(chmod(rig.folder, 0777), 0);
    assert_int_equal(try_open_as_another(rig.path), 0);
    assert_int_equal(chmod(rig.path, 0444), 0);
    assert_int_equal(try_open_as_another(rig.path), QUEUE_E_READ_ONLY);
    assert_int_equal(unlink(rig.path), 0);
    (void)snprintf(log, sizeof(log), "%s-wal", rig.path);
    assert_int_equal(unlink(log), 0); /* of the one that did not close it */
    assert_int_equal(chmod(rig.folder, 0555), 0);
    assert_int_equal(try_open_as_another(rig.path), QUEUE_E_READ_ONLY);
    assert_int_equal(chmod(rig.folder, 0700), 0);
    rig_deinit(&rig);
}

static void a_folder_that_is_not_there_is_an_error(void **state)
{
    Diag diag;

    (void)state;
    assert_true(try_open("/nowhere/at/all/queue.db", &diag) != 0);
}

/* ---- damage ---- */

/* Puts other bytes at a place. */
static void garble(const char *path, off_t at, size_t n)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    char was;

    assert_true(fd >= 0);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(pread(fd, &was, 1, at + (off_t)i), 1);
        was = (char)(was ^ 0x5a);
        assert_int_equal(pwrite(fd, &was, 1, at + (off_t)i), 1);
    }
    assert_int_equal(close(fd), 0);
}

static void a_damaged_file_is_found_after_an_end_that_was_not_orderly(void **state)
{
    Diag diag;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    fill(&rig, 400);
    rig_shut(&rig);
    assert_int_equal(try_open(rig.path, &diag), 0);
    sql_exec(rig.path, "UPDATE meta SET is_open = 1"); /* as a crash leaves it */
    assert_int_equal(try_open(rig.path, &diag), 0);
    sql_exec(rig.path, "UPDATE meta SET is_open = 1");
    /* The heads of all pages but those of the schema and the counts. */
    for (off_t page = 8; page < 20; page++) {
        garble(rig.path, page * 4096, 64);
    }
    assert_int_equal(try_open(rig.path, &diag), QUEUE_E_DAMAGED);
    assert_non_null(strstr(diag.message, "damaged"));
    rig_deinit(&rig);
}

static void a_file_that_was_cut_is_found(void **state)
{
    Diag diag;
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    fill(&rig, 400);
    rig_shut(&rig);
    sql_exec(rig.path, "UPDATE meta SET is_open = 1");
    assert_int_equal(truncate(rig.path, 4096 * 9 + 100), 0);
    assert_int_equal(try_open(rig.path, &diag), QUEUE_E_DAMAGED);
    rig_deinit(&rig);
}

/* ---- the log ---- */

/* A copy of file and log as a process that is killed would leave them. */
typedef struct Crashed {
    char path[112];
    char log[128];
} Crashed;

static void crash(const Rig *rig, Crashed *ret)
{
    char log[112];

    (void)snprintf(log, sizeof(log), "%s-wal", rig->path);
    (void)snprintf(ret->path, sizeof(ret->path), "%s.crashed", rig->path);
    (void)snprintf(ret->log, sizeof(ret->log), "%s.crashed-wal", rig->path);
    copy_file(rig->path, ret->path);
    copy_file(log, ret->log);
}

static void crashed_remove(const Crashed *crashed)
{
    char index[128];

    (void)snprintf(index, sizeof(index), "%s-shm", crashed->path);
    (void)unlink(crashed->path);
    (void)unlink(crashed->log);
    (void)unlink(index);
}

static off_t log_size(const Crashed *crashed)
{
    struct stat about;

    assert_int_equal(stat(crashed->log, &about), 0);
    return about.st_size;
}

#define FRAME (4096 + 24)

static void a_log_that_was_cut_short_or_has_more_behind_it_loses_nothing_committed(void **state)
{
    Crashed crashed;
    off_t size;
    Rig rig;
    int fd;

    (void)state;
    rig_init_file(&rig);
    fill(&rig, 20);
    crash(&rig, &crashed);
    size = log_size(&crashed);
    assert_int_equal((size - 32) % FRAME, 0);

    /* Garbage behind. */
    fd = open(crashed.log, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(fd >= 0);
    for (int i = 0; i < 3 * FRAME + 7; i++) {
        assert_int_equal(write(fd, &(char){(char)(i * 31)}, 1), 1);
    }
    assert_int_equal(close(fd), 0);
    assert_int_equal(jobs_in(crashed.path), 20);

    /* Cut in its last commit: that one has not been. */
    crash(&rig, &crashed);
    assert_int_equal(truncate(crashed.log, size - 100), 0);
    assert_int_equal(jobs_in(crashed.path), 19);
    crash(&rig, &crashed);
    garble(crashed.log, size - FRAME + 200, 1);
    assert_int_equal(jobs_in(crashed.path), 19);
    crashed_remove(&crashed);
    rig_deinit(&rig);
}

static void a_log_that_is_bad_in_its_middle_is_not_taken_for_a_short_one(void **state)
{
    Crashed crashed;
    off_t size;
    Diag diag;
    Rig rig;
    int n_checked = 0;

    (void)state;
    rig_init_file(&rig);
    fill(&rig, 20);
    crash(&rig, &crashed);
    size = log_size(&crashed);
    /* Every frame but those of the last two commits: its head, its page. */
    for (off_t at = 32; at < size - 12 * FRAME; at += FRAME) {
        static const off_t places[] = {0, 5, 9, 17, 24, 24 + 4095};

        for (size_t i = 0; i < 6; i++) {
            crash(&rig, &crashed);
            garble(crashed.log, at + places[i], 1);
            if (try_open(crashed.path, &diag) != QUEUE_E_DAMAGED) {
                fail_msg("frame %d, byte %d", (int)((at - 32) / FRAME), (int)places[i]);
            }
            assert_non_null(strstr(diag.message, "log"));
            assert_int_equal(log_size(&crashed), size); /* it is left for whoever can mend it */
            n_checked++;
        }
    }
    assert_true(n_checked > 100);
    crash(&rig, &crashed);
    garble(crashed.log, 20, 1);
    assert_int_equal(try_open(crashed.path, &diag), QUEUE_E_DAMAGED);
    crashed_remove(&crashed);
    rig_deinit(&rig);
}

/* ---- settling ---- */

static void the_log_is_moved_when_it_is_long_and_sooner_when_nobody_waits(void **state)
{
    Rig rig;

    (void)state;
    rig_init_file(&rig);
    assert_false(store_settle(rig.store, true));
    while (rig.store->n_log_pages < rig.store->settle_pages) {
        fill(&rig, 1);
    }
    assert_false(store_settle(rig.store, false));
    assert_true(store_settle(rig.store, true));
    assert_int_equal(rig.store->n_log_pages, 0);
    assert_false(store_settle(rig.store, true));
    fill(&rig, 10);
    assert_true(rig.store->n_log_pages < 200); /* it begins anew, and does not grow on */
    rig_deinit(&rig);
}

/* ---- want of memory ---- */

static int sqlite_malloc_init(void *context)
{
    (void)context;
    return SQLITE_OK;
}

static void sqlite_malloc_shutdown(void *context)
{
    (void)context;
}

static void *sqlite_malloc(int n)
{
    return mem_alloc((size_t)n);
}

static void sqlite_free(void *p)
{
    mem_free(p);
}

static void *sqlite_realloc(void *p, int n)
{
    return mem_realloc(p, (size_t)n);
}

static int sqlite_size(void *p)
{
    return p == NULL ? 0 : (int)mem_size_of(p);
}

static int sqlite_roundup(int n)
{
    return (n + 7) & ~7;
}

static int scenario_op(Store *store, QueueOp *op)
{
    bool wrote;
    int r = store_begin(store, RIG_START);

    op->r = 0;
    if (r == 0) {
        r = store_run(store, op);
    }
    if (r == 0) {
        r = store_commit(store, &wrote);
    }
    store_rollback(store);
    return r != 0 ? r : op->r;
}

static int scenario(void *context)
{
    QueueConfig config = {.path = ":memory:"};
    Store *store = NULL;
    Diag diag = DIAG_NULL;
    QueueOp op;
    int r;

    (void)context;
    queue_op_init(&op);
    r = store_open(&store, &config, &diag);
    if (r == 0) {
        queue_op_set(&op, QUEUE_ENQUEUE,
                     &(QueueOrder){.spec = {.method = SPAN("m"), .idempotency_key = SPAN("k")}});
        r = scenario_op(store, &op);
    }
    if (r == 0) {
        queue_op_set(&op, QUEUE_CLAIM,
                     &(QueueOrder){.claim = {.max = 2, .lease_ms = 10, .worker = SPAN("w")}});
        r = scenario_op(store, &op);
    }
    if (r == 0) {
        RigId id = rig_id(&op.jobs[0]);

        queue_op_set(&op, QUEUE_ASK,
                     &(QueueOrder){.id = span_from_str(id.text), .asks = SPAN("{\"a\":1}")});
        op.fence = 1;
        r = scenario_op(store, &op);
        if (r == 0) {
            op.verb = QUEUE_LIST;
            r = scenario_op(store, &op);
        }
        if (r == 0) {
            op.verb = QUEUE_CANCEL;
            r = scenario_op(store, &op);
        }
    }
    queue_op_deinit(&op);
    (void)store_close(store);
    return r;
}

/* As test_oom_sweep, but SQLite can do without some of what it asks for. */
static void failed_allocations_leave_nothing_behind(void **state)
{
    size_t n_failed = 1;
    size_t n_short = 0;
    long live_before;

    (void)state;
    assert_int_equal(scenario(NULL), 0); /* what SQLite keeps for its life */
    live_before = alloc_testing()->n_live;
    for (size_t n = 0; n_failed > 0; n++) {
        int r;

        assert_true(n < 100000);
        alloc_testing_reset(n);
        r = scenario(NULL);
        n_failed = alloc_testing()->n_failed;
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        assert_true(r == 0 || r == -ENOMEM);
        assert_int_equal(alloc_testing()->n_live, live_before);
        n_short += r != 0 ? 1 : 0;
    }
    assert_true(n_short > 100);
}

int main(void)
{
    static const sqlite3_mem_methods memory = {
        sqlite_malloc,  sqlite_free,        sqlite_realloc,         sqlite_size,
        sqlite_roundup, sqlite_malloc_init, sqlite_malloc_shutdown, NULL};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_file_is_its_users_alone),
        cmocka_unit_test(a_second_process_is_told_that_it_is_busy),
        cmocka_unit_test(the_lock_of_a_process_that_was_killed_is_gone),
        cmocka_unit_test(others_may_copy_it_while_it_is_used),
        cmocka_unit_test(a_newer_version_is_left_alone),
        cmocka_unit_test(every_older_version_is_brought_to_this_one),
        cmocka_unit_test(a_migration_that_fails_leaves_the_version_that_was),
        cmocka_unit_test(what_is_no_database_is_not_touched),
        cmocka_unit_test(another_programs_database_is_not_touched),
        cmocka_unit_test(an_empty_file_is_no_new_queue),
        cmocka_unit_test(a_queue_that_lies_in_its_log_is_ours),
        cmocka_unit_test(a_folder_that_cannot_be_written_is_said_to_be_so),
        cmocka_unit_test(a_folder_that_is_not_there_is_an_error),
        cmocka_unit_test(a_damaged_file_is_found_after_an_end_that_was_not_orderly),
        cmocka_unit_test(a_file_that_was_cut_is_found),
        cmocka_unit_test(a_log_that_was_cut_short_or_has_more_behind_it_loses_nothing_committed),
        cmocka_unit_test(a_log_that_is_bad_in_its_middle_is_not_taken_for_a_short_one),
        cmocka_unit_test(the_log_is_moved_when_it_is_long_and_sooner_when_nobody_waits),
        cmocka_unit_test(failed_allocations_leave_nothing_behind),
    };

    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &memory) != SQLITE_OK ||
        sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) != SQLITE_OK) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
