#include "format.h"

#include <stdio.h>
#include <string.h>

/* "PLAN" in the file's header, by which file(1) and we know a document. */
#define APPLICATION_ID 0x504c414e

#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

/* A wall of no length is what the checks find (check.h), and not the table: only so it can be told
 * as what it is, and mended. */
#define WALLS_TABLE(name)                                                                          \
    "CREATE TABLE " name " ("                                                                      \
    " id INTEGER PRIMARY KEY REFERENCES elements ON DELETE CASCADE,"                               \
    " start_x REAL NOT NULL, start_y REAL NOT NULL,"                                               \
    " end_x REAL NOT NULL, end_y REAL NOT NULL,"                                                   \
    " base_z REAL NOT NULL,"                                                                       \
    " height REAL NOT NULL CHECK (height > 0),"                                                    \
    " type_id INTEGER NOT NULL REFERENCES wall_types DEFERRABLE INITIALLY DEFERRED,"               \
    " level_id INTEGER NOT NULL REFERENCES levels DEFERRABLE INITIALLY DEFERRED)"

/* What a document is, wherever its file lies and however it is called. */
#define NEW_GUID "lower(hex(randomblob(16)))"

#define DISMISSED_TABLE                                                                            \
    "CREATE TABLE dismissed ("                                                                     \
    " warning TEXT NOT NULL,"                                                                      \
    " first_id INTEGER NOT NULL REFERENCES elements ON DELETE CASCADE,"                            \
    " second_id INTEGER NOT NULL REFERENCES elements ON DELETE CASCADE,"                           \
    " PRIMARY KEY (warning, first_id, second_id)) WITHOUT ROWID"

/* Every element has a row in `elements`, so that ids are unique in a document and never used again;
 * the other tables say what it is. References are checked at the commit (DEFERRED), which is what
 * makes a commit fail. Lengths are feet. */
static const char *const tables[] = {
    "CREATE TABLE elements ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " category TEXT NOT NULL CHECK (category IN"
    "  ('Levels', 'Views', 'Wall Types', 'Walls', 'Doors', 'Rooms')),"
    " mark TEXT CHECK (length(mark) BETWEEN 1 AND 100))",

    "CREATE TABLE levels ("
    " id INTEGER PRIMARY KEY REFERENCES elements ON DELETE CASCADE,"
    " name TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 100),"
    " elevation REAL NOT NULL)",

    "CREATE TABLE views ("
    " id INTEGER PRIMARY KEY REFERENCES elements ON DELETE CASCADE,"
    " name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 100),"
    " kind TEXT NOT NULL CHECK (kind IN ('FloorPlan', 'ThreeD')),"
    " level_id INTEGER REFERENCES levels DEFERRABLE INITIALLY DEFERRED,"
    " UNIQUE (name, kind))",

    "CREATE TABLE wall_types ("
    " id INTEGER PRIMARY KEY REFERENCES elements ON DELETE CASCADE,"
    " name TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 100),"
    " thickness REAL NOT NULL CHECK (thickness > 0))",

    WALLS_TABLE("walls"),

    /* distance: along the wall, from its start to the middle of the door. */
    "CREATE TABLE doors ("
    " id INTEGER PRIMARY KEY REFERENCES elements ON DELETE CASCADE,"
    " wall_id INTEGER NOT NULL REFERENCES walls DEFERRABLE INITIALLY DEFERRED,"
    " distance REAL NOT NULL,"
    " width REAL NOT NULL CHECK (width > 0),"
    " hinge TEXT NOT NULL CHECK (hinge IN ('start', 'end')),"
    " side TEXT NOT NULL CHECK (side IN ('left', 'right')))",

    /* A room without points is bounded by the walls around (x, y). */
    "CREATE TABLE rooms ("
    " id INTEGER PRIMARY KEY REFERENCES elements ON DELETE CASCADE,"
    " name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 100),"
    " x REAL NOT NULL, y REAL NOT NULL,"
    " level_id INTEGER NOT NULL REFERENCES levels DEFERRABLE INITIALLY DEFERRED)",

    "CREATE TABLE room_points ("
    " room_id INTEGER NOT NULL REFERENCES rooms ON DELETE CASCADE,"
    " position INTEGER NOT NULL,"
    " x REAL NOT NULL, y REAL NOT NULL,"
    " PRIMARY KEY (room_id, position)) WITHOUT ROWID",

    "CREATE TABLE selection ("
    " element_id INTEGER PRIMARY KEY REFERENCES elements ON DELETE CASCADE)",

    "CREATE TABLE document ("
    " id INTEGER PRIMARY KEY CHECK (id = 1),"
    " title TEXT NOT NULL,"
    " revision INTEGER NOT NULL,"
    " active_view_id INTEGER NOT NULL REFERENCES views DEFERRABLE INITIALLY DEFERRED,"
    " guid TEXT)",

    /* Warnings that somebody has let go; the smaller id first. */
    DISMISSED_TABLE,
};

/* Made again when a table that they speak of is. */
static const char *const views[] = {
    /* What goes when an element goes. */
    "CREATE VIEW dependents AS"
    " SELECT wall_id AS element_id, id AS dependent_id FROM doors"
    " UNION ALL SELECT level_id, id FROM walls"
    " UNION ALL SELECT level_id, id FROM rooms"
    " UNION ALL SELECT level_id, id FROM views WHERE level_id IS NOT NULL",

    /* What every element has in common. */
    "CREATE VIEW named AS"
    " SELECT id, 'Level' AS type_name, name, NULL AS level_id FROM levels"
    " UNION ALL SELECT id, 'WallType', name, NULL FROM wall_types"
    " UNION ALL SELECT id, CASE kind WHEN 'FloorPlan' THEN 'ViewPlan' ELSE 'View3D' END, name,"
    "  level_id FROM views"
    " UNION ALL SELECT walls.id, 'Wall', wall_types.name, level_id FROM walls"
    "  JOIN wall_types ON wall_types.id = type_id"
    " UNION ALL SELECT doors.id, 'FamilyInstance', 'Single-Flush', level_id FROM doors"
    "  JOIN walls ON walls.id = wall_id"
    " UNION ALL SELECT id, 'Room', name, level_id FROM rooms",

    "CREATE INDEX walls_by_level ON walls (level_id)",
    "CREATE INDEX walls_by_type ON walls (type_id)",
    "CREATE INDEX doors_by_wall ON doors (wall_id)",
    "CREATE INDEX rooms_by_level ON rooms (level_id)",
};

/* What a new document has; ids follow from the order. */
static const char *const first_elements[] = {
    "INSERT INTO elements (category) VALUES ('Levels'), ('Levels'), ('Views'), ('Views'), "
    "('Views'),"
    " ('Wall Types'), ('Wall Types'), ('Wall Types'), ('Wall Types')",
    "INSERT INTO levels VALUES (1, 'Level 1', 0), (2, 'Level 2', 10)",
    "INSERT INTO views VALUES (3, 'Level 1', 'FloorPlan', 1), (4, 'Level 2', 'FloorPlan', 2),"
    " (5, '{3D}', 'ThreeD', NULL)",
    "INSERT INTO wall_types VALUES (6, 'Generic - 200mm', 200 / 304.8),"
    " (7, 'Generic - 300mm', 300 / 304.8), (8, 'Generic - 140mm Masonry', 140 / 304.8),"
    " (9, 'Interior - 79mm Partition', 79 / 304.8)",
};

/* The file's name without folder and ".plan". */
static void title_of(const char *path, char *title, size_t size)
{
    const char *name = "Untitled";
    size_t n;

    if (path != NULL) {
        const char *slash = strrchr(path, '/');

        name = slash != NULL ? slash + 1 : path;
    }
    n = strlen(name);
    if (n > 5 && strcmp(name + n - 5, ".plan") == 0) {
        n -= 5;
    }
    (void)snprintf(title, size, "%.*s", (int)n, name);
}

static int run_all(Store *store, const char *const *statements, size_t n, Fault *fault)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++) {
        r = store_run(store, fault, statements[i], "");
    }
    return r;
}

static int format_set_version(Store *store, Fault *fault)
{
    char pragma[80];

    (void)snprintf(pragma, sizeof(pragma), "PRAGMA user_version = %d", STORE_FORMAT);
    return store_run(store, fault, pragma, "");
}

static int format_create(Store *store, const char *path, Fault *fault)
{
    char pragma[80];
    char title[256];
    int r;

    title_of(path, title, sizeof(title));
    r = run_all(store, tables, N_OF(tables), fault);
    if (r == 0) {
        r = run_all(store, views, N_OF(views), fault);
    }
    if (r == 0) {
        r = run_all(store, first_elements, N_OF(first_elements), fault);
    }
    if (r == 0) {
        r = store_run(store, fault, "INSERT INTO document VALUES (1, ?, 1, 3, " NEW_GUID ")", "s",
                      title);
    }
    (void)snprintf(pragma, sizeof(pragma), "PRAGMA application_id = %d", APPLICATION_ID);
    if (r == 0) {
        r = store_run(store, fault, pragma, "");
    }
    return r == 0 ? format_set_version(store, fault) : r;
}

/* From format 1: elements get marks, and walls may be of no length for a while. References are not
 * checked meanwhile (store_open), since the table of walls is another one for a moment. */
static const char *const from_1[] = {
    "DROP VIEW dependents",
    "DROP VIEW named",
    "ALTER TABLE elements ADD COLUMN mark TEXT CHECK (length(mark) BETWEEN 1 AND 100)",
    WALLS_TABLE("walls_2"),
    "INSERT INTO walls_2 SELECT * FROM walls",
    "DROP TABLE walls",
    "ALTER TABLE walls_2 RENAME TO walls",
    "DROP INDEX doors_by_wall",
    "DROP INDEX rooms_by_level",
    "ALTER TABLE document ADD COLUMN guid TEXT",
    "UPDATE document SET guid = " NEW_GUID,
    DISMISSED_TABLE,
};

static int format_upgrade(Store *store, int64_t format, Fault *fault)
{
    int r = 0;

    if (format >= STORE_FORMAT) {
        return 0;
    }
    if (store->read_only) {
        return fault_set(
            fault, FAULT_API,
            "The document has format %lld, of an older program, and cannot be written; "
            "this one needs format %d.",
            (long long)format, STORE_FORMAT);
    }
    r = run_all(store, from_1, N_OF(from_1), fault);
    if (r == 0) {
        r = run_all(store, views, N_OF(views), fault);
    }
    return r == 0 ? format_set_version(store, fault) : r;
}

/* 0, -1; a damaged file may also fail in the middle of the check. */
static int format_intact(Store *store, Fault *fault)
{
    sqlite3_stmt *statement = NULL;
    int r = store_query(store, fault, &statement, "PRAGMA quick_check(1)", "");

    if (r == 0) {
        r = store_step(store, fault, statement);
    }
    if (r == 1) {
        const char *words = (const char *)sqlite3_column_text(statement, 0);

        if (words == NULL || strcmp(words, "ok") != 0) {
            r = fault_set(fault, FAULT_API, "The document is damaged: %s.",
                          words != NULL ? words : "it cannot be checked");
        }
    }
    (void)sqlite3_finalize(statement);
    return r < 0 ? -1 : 0;
}

int format_check(Store *store, const char *path, Fault *fault)
{
    int64_t application = 0;
    int64_t format = 0;
    int64_t n_tables = 0;
    int r = store_run(store, fault, store->read_only ? "BEGIN" : "BEGIN IMMEDIATE", "");

    if (r == 0) {
        r = store_number(store, fault, &n_tables, "SELECT count(*) FROM sqlite_master", "");
    }
    if (r == 0) {
        r = store_number(store, fault, &application, "PRAGMA application_id", "");
    }
    if (r == 0) {
        r = store_number(store, fault, &format, "PRAGMA user_version", "");
    }
    if (r == 0 && n_tables == 0) {
        r = format_create(store, path, fault);
    } else if (r == 0 && application != APPLICATION_ID) {
        r = fault_set(fault, FAULT_API, "This is a database, but not a plan.");
    } else if (r == 0 && format > STORE_FORMAT) {
        r = fault_set(fault, FAULT_API,
                      "The document has format %lld, of a newer program; this one "
                      "knows format %d.",
                      (long long)format, STORE_FORMAT);
    } else if (r == 0) {
        r = format_intact(store, fault);
        if (r == 0) {
            r = format_upgrade(store, format, fault);
        }
    }
    if (r == 0) {
        return store_run(store, fault, "COMMIT", "");
    }
    if (sqlite3_get_autocommit(store->db) == 0) {
        (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    }
    return -1;
}
