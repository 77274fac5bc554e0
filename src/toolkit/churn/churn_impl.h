/* toolkit/churn/churn_impl.h: what the files of churn.h share. Thread: any, one at a time. */
#pragma once

#include "toolkit/churn/churn.h"
#include "toolkit/churn/history.h"
#include "toolkit/churn/log.h"

#include <stdatomic.h>

/* The runs of git, in this order, each of them at most once; a log that turned out to leave too
 * much open is read again, with lines. */
typedef enum ChurnPhase {
    CHURN_PHASE_LOG,
    CHURN_PHASE_LINES,
    CHURN_PHASE_TREE,
    CHURN_PHASE_END
} ChurnPhase;

/* Lines that the table did not know. */
typedef struct ChurnPending {
    uint32_t commit; /* number among the commits in churn->open */
    uint32_t change; /* number in it */
    uint32_t file;
    uint32_t author;
} ChurnPending;

/* A folder, at the end. */
typedef struct ChurnFolder {
    Span path; /* "" is the root */
    const ChurnFolderState *state;
    uint32_t n_authors;
    Span owner;       /* the author with most commits */
    double ownership; /* share of its commits */
} ChurnFolder;

/* Two files that change together, at the end. */
typedef struct ChurnCoChange {
    const ChurnFile *a; /* by path before b */
    const ChurnFile *b;
    uint32_t support;
    double share_of_a; /* of its commits */
    double share_of_b;
} ChurnCoChange;

struct Churn {
    ChurnOptions options;
    ChurnRepository repository;
    ChurnTable *table;
    int64_t elapsed_us;
    Arena arena; /* of copies of what was given, and of the result */

    ChurnPhase phase;
    bool has_lines; /* the log comes with lines */
    bool is_over;   /* too much is open: read again with lines */
    const char **argv;
    ChurnLog log;
    atomic_size_t n_read;

    bool in_commit;
    bool is_cut;
    uint32_t author;
    int64_t author_s;
    char id[64]; /* of the commit */
    size_t n_id;
    ChurnChange *changes; /* of the commit */
    size_t n_changes;
    size_t cap_changes;
    size_t next_lines; /* the change to which the next lines belong, at the earliest */

    Bytes open; /* commits with unknown lines, an id a line: the input of the second run */
    uint32_t n_open;
    uint32_t at_open; /* second run: the commit that is expected */
    ChurnPending *pending;
    size_t n_pending;
    size_t cap_pending;
    size_t at_pending;

    ChurnHistory history;
    size_t n_cut; /* commits at the end of a shallow clone, not counted */

    ChurnFile *files;
    size_t n_files;
    uint32_t *places;     /* by number in the history: place in files, CHURN_NONE for joined ones */
    ChurnAuthor *authors; /* of all files */
    uint32_t *by_files;   /* authors by the number of their files, then by name */
    ChurnFolder *folders;
    size_t n_folders;
    ChurnCoChange *co_changes;
    size_t n_co_changes;
    uint64_t additions;
    uint64_t deletions;
};

/* How many of these are told: the files from offset on, within limit. */
size_t churn_told_begin(const Churn *churn);
size_t churn_told_end(const Churn *churn);

/* "hotspot_files" and "stable_files": of the first ten those above 0.5, of the last ten, lowest
 * first, those below 0.1. Writes at most 10 to out; returns how many. */
size_t churn_hotspots(const Churn *churn, const ChurnFile *out[10]);
size_t churn_stable(const Churn *churn, const ChurnFile *out[10]);

/* argv of the present phase, into churn->argv. 0, -ENOMEM. */
int churn_make_argv(Churn *churn);

/* A record of a run. 0, -ENOMEM, CHURN_E_FORMAT. */
int churn_take(Churn *churn, const ChurnLogEvent *event, Diag *reterr_diag);

/* The commit that is being read is complete. 0, -ENOMEM. */
int churn_take_commit(Churn *churn);

/* ---- the formats: outcomes as churn_write ---- */
int churn_write_summary(const Churn *churn, Bytes *out);
int churn_write_markdown(const Churn *churn, Bytes *out);
int churn_write_csv(const Churn *churn, Bytes *out);

/* Text that others chose, as it can be shown (toolkit/shown.h), the bytes in `escaped` with a
 * backslash before them. */
int churn_append_shown(Bytes *out, Span text, const char *escaped);

/* Rounded to so many decimals. */
double churn_rounded(double value, unsigned decimals);

/* "2025-01-15T10:30:00Z". */
#define CHURN_TIME_SIZE 21
void churn_format_time(int64_t unix_s, char out[CHURN_TIME_SIZE]);
