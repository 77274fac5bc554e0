/* io/database_file.h: whose a file of SQLite's is, found out before SQLite has it; and new ones.
 *
 * SQLite takes an empty file for a new database, removes a log that lies beside one, and writes to
 * any database that it is told to keep a log for. So a store looks at the first page itself before
 * it says anything to SQLite, and makes its file whole, under its name only when it is: nobody ever
 * finds an empty one that we have left. Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum DatabaseFileKind {
    DATABASE_FILE_OURS,    /* has the number of the application */
    DATABASE_FILE_BLANK,   /* nobody's number, and no table: nothing is lost if it becomes ours */
    DATABASE_FILE_FOREIGN, /* another program's database */
    DATABASE_FILE_OTHER,   /* no database */
    DATABASE_FILE_EMPTY    /* no byte: somebody has emptied it */
} DatabaseFileKind;

/* What of the file is looked at: its header, and the first words of its first page. */
#define DATABASE_FILE_HEAD_BYTES 112

/* Judges the first n bytes of the file at path, DATABASE_FILE_HEAD_BYTES if it has so many. A first
 * page in the log beside it (PATH-wal) is newer, and is read here. The caller reads the file, by
 * the descriptor that SQLite has: closing another one would let SQLite's locks of this process go.
 * 0 or a negative errno. */
int database_file_judge(const char *path, const uint8_t *head, size_t n, uint32_t application,
                        DatabaseFileKind *ret);

/* Makes a database without a table, with the application's number, for this user alone. 0, -EEXIST:
 * somebody has just made it, another negative errno. */
int database_file_make(const char *path, uint32_t application);

/* Is there a log beside path with something in it? */
bool database_file_has_log(const char *path);
