/* The file of a document: kept, refused, damaged, in use, read-only. */
#include "planner/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A user that is neither us nor root. */
#define STRANGER 65534

static char folder[64];
static char path[128];

static int folder_setup(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof(folder), "/tmp/tw-plan-XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/house.plan", folder);
    return 0;
}

static int folder_teardown(void **state)
{
    char journal[160];

    (void)state;
    (void)snprintf(journal, sizeof(journal), "%s-journal", path);
    (void)unlink(journal);
    (void)unlink(path);
    assert_int_equal(rmdir(folder), 0);
    return 0;
}

static void open_plan(Plan *plan)
{
    memset(plan, 0, sizeof(*plan));
    if (store_open(&plan->store, path, &plan->fault) != 0) {
        fail_msg("%s", plan->fault.text);
    }
}

static void refused(const char *words)
{
    Store store = {.db = NULL};
    Fault fault;

    assert_int_equal(store_open(&store, path, &fault), -1);
    assert_null(store.db);
    if (strstr(fault.text, words) == NULL || strstr(fault.text, path) == NULL) {
        fail_msg("'%s' does not say '%s' about %s", fault.text, words, path);
    }
}

static void write_at(off_t at, const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, n, at), (ssize_t)n);
    (void)close(fd);
}

static void document_is_kept_and_named_after_its_file(void **state)
{
    Plan plan;

    (void)state;
    open_plan(&plan);
    assert_int_equal(plan_number(&plan, "SELECT count(*) FROM document WHERE title = 'house'"), 1);
    (void)plan_wall(&plan, 0, 0, 9, 0);
    plan_select(&plan, 10);
    store_close(&plan.store);
    open_plan(&plan);
    assert_int_equal(plan_number(&plan, "SELECT count(*) FROM walls"), 1);
    assert_int_equal(plan_number(&plan, "SELECT element_id FROM selection"), 10);
    assert_int_equal(plan_revision(&plan), 3);
    store_close(&plan.store);
}

static void transaction_that_was_not_committed_is_gone(void **state)
{
    NewWall wall = {.start = {0, 0, 0}, .end = {9, 0, 0}, .height = 8};
    int64_t id = 0;
    Plan plan;

    (void)state;
    open_plan(&plan);
    plan_begin(&plan);
    assert_int_equal(model_create_wall(&plan.store, &wall, &id, &plan.fault), 0);
    store_close(&plan.store);
    open_plan(&plan);
    assert_int_equal(plan_number(&plan, "SELECT count(*) FROM walls"), 0);
    store_close(&plan.store);
}

static void text_is_not_a_document(void **state)
{
    char text[200];

    (void)state;
    memset(text, 'x', sizeof(text));
    write_at(0, text, sizeof(text));
    refused("file is not a database");
}

static void other_database_is_not_a_document(void **state)
{
    sqlite3 *db = NULL;

    (void)state;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE t (x)", NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(db);
    refused("not a plan");
}

static void newer_format_is_refused(void **state)
{
    Plan plan;

    (void)state;
    open_plan(&plan);
    assert_int_equal(store_run(&plan.store, &plan.fault, "PRAGMA user_version = 3", ""), 0);
    store_close(&plan.store);
    refused("format 3, of a newer program; this one knows format 2");
}

/* A document as the program before this one left it. */
static void write_format_1(void)
{
    static const char *const script[] = {
        "CREATE TABLE elements (id INTEGER PRIMARY KEY AUTOINCREMENT, category TEXT NOT NULL)",
        "CREATE TABLE levels (id INTEGER PRIMARY KEY REFERENCES elements ON DELETE CASCADE,"
        " name TEXT NOT NULL UNIQUE, elevation REAL NOT NULL)",
        "CREATE TABLE views (id INTEGER PRIMARY KEY REFERENCES elements ON DELETE CASCADE,"
        " name TEXT NOT NULL, kind TEXT NOT NULL, level_id INTEGER REFERENCES levels)",
        "CREATE TABLE wall_types (id INTEGER PRIMARY KEY REFERENCES elements ON DELETE CASCADE,"
        " name TEXT NOT NULL UNIQUE, thickness REAL NOT NULL)",
        "CREATE TABLE walls (id INTEGER PRIMARY KEY REFERENCES elements ON DELETE CASCADE,"
        " start_x REAL NOT NULL, start_y REAL NOT NULL, end_x REAL NOT NULL, end_y REAL NOT NULL,"
        " base_z REAL NOT NULL, height REAL NOT NULL CHECK (height > 0),"
        " type_id INTEGER NOT NULL REFERENCES wall_types DEFERRABLE INITIALLY DEFERRED,"
        " level_id INTEGER NOT NULL REFERENCES levels DEFERRABLE INITIALLY DEFERRED,"
        " CHECK (start_x <> end_x OR start_y <> end_y))",
        "CREATE TABLE doors (id INTEGER PRIMARY KEY REFERENCES elements ON DELETE CASCADE,"
        " wall_id INTEGER NOT NULL REFERENCES walls DEFERRABLE INITIALLY DEFERRED,"
        " distance REAL NOT NULL, width REAL NOT NULL, hinge TEXT NOT NULL, side TEXT NOT NULL)",
        "CREATE TABLE rooms (id INTEGER PRIMARY KEY REFERENCES elements ON DELETE CASCADE,"
        " name TEXT NOT NULL, x REAL NOT NULL, y REAL NOT NULL, level_id INTEGER NOT NULL"
        " REFERENCES levels DEFERRABLE INITIALLY DEFERRED)",
        "CREATE TABLE room_points (room_id INTEGER NOT NULL REFERENCES rooms ON DELETE CASCADE,"
        " position INTEGER NOT NULL, x REAL NOT NULL, y REAL NOT NULL,"
        " PRIMARY KEY (room_id, position)) WITHOUT ROWID",
        "CREATE TABLE selection (element_id INTEGER PRIMARY KEY REFERENCES elements"
        " ON DELETE CASCADE)",
        "CREATE TABLE document (id INTEGER PRIMARY KEY CHECK (id = 1), title TEXT NOT NULL,"
        " revision INTEGER NOT NULL, active_view_id INTEGER NOT NULL REFERENCES views"
        " DEFERRABLE INITIALLY DEFERRED)",
        "CREATE VIEW dependents AS SELECT wall_id AS element_id, id AS dependent_id FROM doors"
        " UNION ALL SELECT level_id, id FROM walls",
        "CREATE VIEW named AS SELECT id, 'Wall' AS type_name, '' AS name, level_id FROM walls",
        "CREATE INDEX walls_by_level ON walls (level_id)",
        "CREATE INDEX walls_by_type ON walls (type_id)",
        "CREATE INDEX doors_by_wall ON doors (wall_id)",
        "CREATE INDEX rooms_by_level ON rooms (level_id)",
        "INSERT INTO elements VALUES (1, 'Levels'), (2, 'Views'), (3, 'Wall Types'), (4, 'Walls'),"
        " (5, 'Doors')",
        "INSERT INTO levels VALUES (1, 'Level 1', 0)",
        "INSERT INTO views VALUES (2, 'Level 1', 'FloorPlan', 1)",
        "INSERT INTO wall_types VALUES (3, 'Generic - 200mm', 0.656)",
        "INSERT INTO walls VALUES (4, 0, 0, 9, 0, 0, 8, 3, 1)",
        "INSERT INTO doors VALUES (5, 4, 4, 3, 'start', 'left')",
        "INSERT INTO document VALUES (1, 'old', 7, 2)",
        "PRAGMA application_id = 0x504c414e",
        "PRAGMA user_version = 1",
    };
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    for (size_t i = 0; i < sizeof(script) / sizeof(script[0]); i++) {
        assert_int_equal(sqlite3_exec(db, script[i], NULL, NULL, NULL), SQLITE_OK);
    }
    (void)sqlite3_close(db);
}

static void older_format_becomes_this_one(void **state)
{
    Plan plan;

    (void)state;
    write_format_1();
    open_plan(&plan);
    assert_int_equal(plan_number(&plan, "PRAGMA user_version"), 2);
    assert_int_equal(plan_revision(&plan), 7);
    assert_int_equal(plan_number(&plan, "SELECT count(*) FROM walls JOIN doors ON wall_id ="
                                        " walls.id JOIN elements ON elements.id = walls.id"
                                        " WHERE end_x = 9 AND distance = 4 AND mark IS NULL"),
                     1);
    assert_int_equal(plan_number(&plan, "SELECT length(guid) FROM document"), 32);
    assert_int_equal(plan_number(&plan, "SELECT count(*) FROM named WHERE id IN (4, 5)"), 2);
    /* References are checked as ever. */
    plan_begin(&plan);
    assert_int_equal(store_run(&plan.store, &plan.fault, "DELETE FROM walls", ""), 0);
    assert_int_equal(store_commit(&plan.store, &plan.fault), -1);
    store_close(&plan.store);
    open_plan(&plan);
    (void)plan_wall(&plan, 0, 0, 0, 9);
    store_close(&plan.store);
}

static void damaged_document_is_refused(void **state)
{
    char garbage[4096];
    struct stat st;
    Plan plan;

    (void)state;
    open_plan(&plan);
    for (int i = 0; i < 200; i++) {
        (void)plan_wall(&plan, 0, 0, 9, i + 1);
    }
    store_close(&plan.store);
    /* Every page but the first, which says what it is. */
    assert_int_equal(stat(path, &st), 0);
    memset(garbage, 0xa5, sizeof(garbage));
    for (off_t at = 4096; at < st.st_size; at += 4096) {
        write_at(at, garbage, sizeof(garbage));
    }
    refused("damaged");
}

static void document_that_contradicts_itself_is_refused(void **state)
{
    Plan plan;

    (void)state;
    open_plan(&plan);
    store_close(&plan.store);
    /* The header's number of free pages. */
    write_at(36, "\0\0\0\5", 4);
    refused("damaged");
}

static void damage_is_told_while_it_is_used(void **state)
{
    char garbage[4096];
    struct stat st;
    int64_t n = 0;
    Plan plan;

    (void)state;
    open_plan(&plan);
    (void)plan_wall(&plan, 0, 0, 9, 0);
    store_close(&plan.store);
    open_plan(&plan);
    assert_int_equal(store_run(&plan.store, &plan.fault, "PRAGMA cache_size = 0", ""), 0);
    assert_int_equal(sqlite3_db_release_memory(plan.store.db), SQLITE_OK);
    assert_int_equal(stat(path, &st), 0);
    memset(garbage, 0xa5, sizeof(garbage));
    for (off_t at = 4096; at < st.st_size; at += 4096) {
        write_at(at, garbage, sizeof(garbage));
    }
    assert_int_equal(
        store_number(&plan.store, &plan.fault, &n, "SELECT count(*) FROM walls, doors", ""), -1);
    assert_string_equal(plan.fault.code, FAULT_API);
    assert_non_null(strstr(plan.fault.text, "damaged"));
    store_close(&plan.store);
}

static void folder_that_is_not_there_is_told(void **state)
{
    Store store = {.db = NULL};
    Fault fault;
    char nowhere[160];

    (void)state;
    (void)snprintf(nowhere, sizeof(nowhere), "%s/nowhere/house.plan", folder);
    assert_int_equal(store_open(&store, nowhere, &fault), -1);
    assert_non_null(strstr(fault.text, "cannot be opened: unable to open database file"));
    assert_int_equal(store_open(&store, folder, &fault), -1);
}

static void document_in_use_is_told(void **state)
{
    sqlite3 *db = NULL;
    Plan plan;

    (void)state;
    open_plan(&plan);
    (void)sqlite3_busy_timeout(plan.store.db, 0);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(store_begin(&plan.store, "a.test", &plan.fault), -1);
    assert_string_equal(plan.fault.code, FAULT_TRANSACTION);
    assert_non_null(strstr(plan.fault.text, "Another program is using the document"));
    assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(db);
    (void)plan_wall(&plan, 0, 0, 9, 0);
    store_close(&plan.store);
}

/* Root may write anywhere, so somebody else does this. */
static void read_only_document_is_read_and_not_written(void **state)
{
    NewWall wall = {.start = {0, 0, 0}, .end = {9, 0, 0}, .height = 8};
    bool is_root = geteuid() == 0;
    int64_t id = 0;
    Plan plan;

    (void)state;
    open_plan(&plan);
    (void)plan_wall(&plan, 0, 0, 9, 0);
    store_close(&plan.store);
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(is_root ? seteuid(STRANGER) : 0, 0);
    open_plan(&plan);
    assert_true(plan.store.read_only);
    assert_int_equal(plan_number(&plan, "SELECT count(*) FROM walls"), 1);
    plan_begin(&plan);
    plan_refused(&plan, model_create_wall(&plan.store, &wall, &id, &plan.fault), FAULT_TRANSACTION,
                 "The document is read-only.");
    store_close(&plan.store);
    assert_int_equal(is_root ? seteuid(0) : 0, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(document_is_kept_and_named_after_its_file),
        TEST(transaction_that_was_not_committed_is_gone),
        TEST(text_is_not_a_document),
        TEST(other_database_is_not_a_document),
        TEST(older_format_becomes_this_one),
        TEST(newer_format_is_refused),
        TEST(damaged_document_is_refused),
        TEST(document_that_contradicts_itself_is_refused),
        TEST(damage_is_told_while_it_is_used),
        TEST(folder_that_is_not_there_is_told),
        TEST(document_in_use_is_told),
        TEST(read_only_document_is_read_and_not_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
