/* toolkit/churn/churn.h: how often, by whom and how much the files of a repository change.
 *
 * Reads what `git log` prints, piece by piece, and keeps what its files come to, not the history.
 * Somebody else runs git, with the arguments that are made here:
 *
 *     churn_new(&churn, &options, &repository, table);
 *     for each run that churn_next_run gives:
 *         run ARGV in the folder that is asked about, input to its stdin, its output to churn_feed;
 *         it must end with 0; churn_end_run
 *     churn_finish(churn);
 *     churn_write(churn, CHURN_JSON, &out);
 *
 * Lines added and deleted are counted by git, which takes nine tenths of its time for it. They are
 * the same for the same two blobs, as long as the repository's attributes say the same of them, so
 * a ChurnTable remembers them: with a table that knows
 * something, the first run is `git log --raw`, and the second, if there is one, is over the commits
 * with pairs that are not known yet; with an empty one a single run gives both. A last, short run
 * (`git ls-tree`) happens if it is not clear whether a file that others renamed meanwhile is still
 * there under its old name.
 *
 * Counted are all commits but merges, by committer time; dates are told by author time, in UTC.
 * What is kept grows with the number of files, authors and folders, not with the number of commits;
 * but if folders are asked for and renames followed, some bytes for every change, 64 MiB at most.
 * Thread: any, one at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "base/hash.h"
#include "base/span.h"
#include "json/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CHURN_E_FORMAT = 1, /* that is not what git prints; the Diag names the byte */
};

/* ---- lines added and deleted, by pair of blobs ---- */

typedef struct ChurnTable ChurnTable;

/* Empty; keeps at most max_pairs (those of the newest commits seen). 0, -ENOMEM. Gives *ret. */
int churn_table_new(ChurnTable **ret, size_t max_pairs);
ChurnTable *churn_table_free(ChurnTable *table);

/* What churn_table_write wrote; damaged data leaves it empty, and what does not fit is left out
 * (the oldest). 0, -ENOMEM. */
int churn_table_read(ChurnTable *table, Span data);

/* Appends. 0, -ENOMEM, BYTES_E_FULL. */
int churn_table_write(const ChurnTable *table, Bytes *out);

/* Whether something was learned since it was made or read. */
bool churn_table_changed(const ChurnTable *table);
size_t churn_table_size(const ChurnTable *table);

/* ---- the analysis ---- */

typedef struct ChurnOptions {
    int64_t since_s;     /* committer time, seconds since 1970; INT64_MIN: from the beginning */
    int64_t until_s;     /* INT64_MAX: to the end */
    int64_t now_s;       /* told as generated_at */
    int64_t period_days; /* told in the result; 0: since_s was given another way */
    const char *rev; /* NULL: HEAD; told in the result. Of a range, the repository has both ends */
    const char *const *paths; /* NULL-terminated pathspecs relative to the folder; NULL: all of the
                                 folder that is asked about */
    bool no_renames;
    size_t limit; /* files in one answer; 0: all */
    size_t offset;
    size_t n_pairs;          /* co-change pairs to tell; 0: none */
    size_t max_commit_files; /* a commit of more files makes no pairs; 0: 30 */
    bool directories;        /* roll up by folder */
    bool without_lines;      /* commits and authors only: one run of --raw */
    bool without_blobs;      /* the clone has not all of them: without_lines, and a renamed file is
                                the same only if its content is; told in the notes */
    HashSeed seed; /* from random_fill: the authors of a repository choose its file names */
} ChurnOptions;

/* What was found out about the repository, for the result. */
typedef struct ChurnRepository {
    Span root;   /* of the work tree, or the bare repository */
    Span prefix; /* of the folder that was asked about, "" or "src/io/" */
    bool is_bare;
    bool is_shallow; /* the history is cut: said in the result */
    Span head;       /* commit id; empty: no commit yet */
    Span base;       /* commit id: without what it has behind it, of "A..B"; empty: all */
} ChurnRepository;

typedef struct Churn Churn;

/* Borrows table (may be NULL: nothing is remembered) until free, copies the rest. 0, -ENOMEM. Gives
 * *ret. */
int churn_new(Churn **ret, const ChurnOptions *options, const ChurnRepository *repository,
              ChurnTable *table);
Churn *churn_free(Churn *churn);

/* The next run of git, and what goes to its stdin. Borrowed until churn_end_run. */
typedef struct ChurnRun {
    const char *const *argv; /* NULL-terminated, argv[0] is "git" */
    Span input;
} ChurnRun;

/* *ret_is_one false: no more runs. 0, -ENOMEM. */
int churn_next_run(Churn *churn, ChurnRun *ret, bool *ret_is_one);

/* What git printed, cut anywhere; borrows p until return. 0, -ENOMEM, CHURN_E_FORMAT; after a
 * failure nothing but free may follow. */
int churn_feed(Churn *churn, const char *p, size_t n, Diag *reterr_diag);
int churn_end_run(Churn *churn, Diag *reterr_diag);

/* Sorts and scores. 0, -ENOMEM. */
int churn_finish(Churn *churn);

/* Told in the result; without it, or below 0, left out. */
void churn_set_elapsed(Churn *churn, int64_t elapsed_us);
int64_t churn_elapsed(const Churn *churn); /* < 0: was not told */

/* Commits read so far, for progress. Thread: any. */
size_t churn_n_commits(const Churn *churn);

/* ---- what came out ---- */

typedef struct ChurnAuthor {
    Span name;        /* by the mailmap */
    uint32_t commits; /* to this file */
    uint64_t changes; /* lines */
} ChurnAuthor;

typedef struct ChurnFile {
    Span path;             /* relative to the repository's root, its present name */
    const Span *old_names; /* newest first */
    size_t n_old_names;
    uint32_t commits;
    uint32_t binary_commits;
    uint64_t additions;
    uint64_t deletions;
    double churn_score; /* min(1, 0.6 commits/max + 0.4 changes/max changes); told in single
                           precision, and not at all without lines */
    double robust_rank; /* 0…1: mean of the ranks by commits and by changes; one huge file does not
                           flatten it. Without lines: the rank by commits */
    int64_t first_seen_s; /* author time */
    int64_t last_modified_s;
    const ChurnAuthor *authors; /* most commits first, then by name */
    size_t n_authors;
    double ownership; /* the first author's share of its commits */
    bool is_deleted;  /* its last change took it away; a merge may have brought it back */
    const char *flag; /* "lock", "generated", "vendored", "minified", or NULL */
} ChurnFile;

/* Were lines counted? If not, a file's additions, deletions and churn_score mean nothing. */
bool churn_has_lines(const Churn *churn);

/* What churn_new was told, copied. Borrowed until free. */
const ChurnRepository *churn_repository(const Churn *churn);

/* What a reader has to know, a sentence or two each; returns how many. */
typedef struct ChurnNote {
    char text[200];
} ChurnNote;
#define CHURN_MAX_NOTES 8
size_t churn_notes(const Churn *churn, ChurnNote out[CHURN_MAX_NOTES]);

/* By churn_score, then path. */
size_t churn_n_files(const Churn *churn);
const ChurnFile *churn_file_at(const Churn *churn, size_t i);

/* By path; NULL if it has not changed. */
const ChurnFile *churn_file_find(const Churn *churn, Span path);

typedef enum ChurnFormat {
    CHURN_SUMMARY,
    CHURN_JSON,
    CHURN_MARKDOWN,
    CHURN_CSV,
    CHURN_N_FORMATS
} ChurnFormat;

/* False: no such format. */
bool churn_format_parse(Span name, ChurnFormat *ret);

/* Appends. 0, -ENOMEM, BYTES_E_FULL. */
int churn_write(const Churn *churn, ChurnFormat format, Bytes *out);

/* The analysis as members of an open object: generated_at, period_days, repository_root, shallow,
 * summary, files, directories, co_changes, notes, next_offset… */
void churn_write_members(const Churn *churn, JsonWriter *w);
