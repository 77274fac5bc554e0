/* providers/analysis.h: the code analyser's jobs, for tools and for people.
 *
 * A job is one blocking call on a work thread: it walks a folder, measures its files on all cores,
 * runs git, and gives a report. Whoever waits for it may look at its counts, and raise its flag to
 * stop it: it ends within 50 ms. Nothing of a loop is touched. Thread: any, one job at a time on
 * each AnalysisWatch.
 */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"
#include "toolkit/churn/churn.h"
#include "toolkit/complexity/delta.h"
#include "toolkit/complexity/report.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ANALYSIS_E_CANCELLED = 1,
    ANALYSIS_E_PATH,   /* there is no such folder or file, it cannot be read, or it (or its git
                          folder) is outside of the root; Diag */
    ANALYSIS_E_OPTION, /* an option cannot be; Diag names it as field */
    ANALYSIS_E_GIT,    /* no git, no repository, no such revision, damaged objects; the Diag's field
                          is "repository" or "revision" in the second and third case */
};

/* Shared with whoever waits. Zeroed at the beginning. */
typedef struct AnalysisWatch {
    atomic_bool cancel;
    atomic_size_t done;       /* files measured, or commits read */
    atomic_size_t total;      /* files found; 0: not known */
    atomic_size_t read;       /* files of the folder that were opened: the others were known */
    atomic_size_t large;      /* texts of more than 1 MiB that are being measured */
    atomic_size_t most_large; /* so many of them at once; 1 at most, since their trees are large */
} AnalysisWatch;

typedef struct AnalysisFiles {
    const char *path;    /* folder or file */
    const char *root;    /* path is seen from here and leads nowhere else; NULL: anywhere */
    Span toolchain;      /* empty: auto */
    const Span *include; /* globs; none: all */
    size_t n_include;
    const Span *exclude;
    size_t n_exclude;
    bool all;          /* vendored, generated and minified files too */
    bool no_ignore;    /* what git ignores, too */
    const char *since; /* a revision: only files that changed, and a delta; NULL: all */
    size_t threads;    /* at most, and no more than there are cores; 0: all cores */
    bool no_cache;
    const char *state; /* folder of the cache; NULL: io_keep_folder */
    int64_t now_ms;    /* since 1970; 0: the clock's */
} AnalysisFiles;

/* Measures. report is init'ed by the caller (with its options) and finished here; before (may be
 * NULL unless since): the state at the revision, likewise. The flag of watch, which is borrowed as
 * long as the reports are, stops writing them as well. 0, a negative errno, ANALYSIS_E_*. */
int analysis_complexity(const AnalysisFiles *files, AnalysisWatch *watch, ComplexityReport *report,
                        ComplexityReport *before, Diag *reterr_diag);

typedef struct AnalysisHistory {
    const char *path;
    const char *root; /* as of AnalysisFiles; nor is a repository outside of it read */
    ChurnOptions options;
    bool no_cache;
    const char *state;
} AnalysisHistory;

/* The period of so many days (0: from the beginning) that ends with until_s, which is set before;
 * without it (INT64_MAX), now. A day is 86,400 seconds; `days` of them are counted, to the second.
 */
void analysis_set_period(ChurnOptions *options, int64_t now_s, int64_t days);

/* Gives *ret (churn_free), finished. 0, a negative errno, ANALYSIS_E_*. */
int analysis_churn(const AnalysisHistory *history, AnalysisWatch *watch, Churn **ret,
                   Diag *reterr_diag);

/* The folder of path (its own, if it is one) as seen from the root of its repository: "" or
 * "src/io/". root as of AnalysisFiles. Gives *ret (mem_free). 0, a negative errno,
 * ANALYSIS_E_*. */
int analysis_prefix(const char *root, const char *path, AnalysisWatch *watch, char **ret,
                    Diag *reterr_diag);

/* A file that is complicated and often changed. */
typedef struct AnalysisHotspot {
    const ComplexityFileRow *file;
    const ChurnFile *churn;
    double score; /* robust_rank of the churn × rank of the file's cognitive sum, 0…1 */
} AnalysisHotspot;

typedef struct AnalysisHotspots {
    AnalysisHotspot *rows; /* by score, then path; only files that are in both */
    size_t n;
    size_t offset;              /* where the rows of an answer begin; set before writing */
    size_t n_unchanged;         /* measured, and no commit of the window touched them */
    size_t n_without_functions; /* measured and changed, but there is no function in them */
    const ComplexityReport *report;
    const Churn *churn;
} AnalysisHotspots;

#define ANALYSIS_HOTSPOTS_NULL ((AnalysisHotspots){.rows = NULL})

/* Borrows both until deinit; prefix: of the measured folder within the repository
 * (analysis_prefix). 0, -ENOMEM. */
int analysis_hotspots(AnalysisHotspots *ret, const ComplexityReport *report, const Churn *churn,
                      Span prefix);
void analysis_hotspots_deinit(AnalysisHotspots *hotspots);

/* What a reader has to know: the history's notes, and why there is little or nothing. Returns how
 * many. */
#define ANALYSIS_MAX_NOTES (CHURN_MAX_NOTES + 2)
size_t analysis_hotspots_notes(const AnalysisHotspots *hotspots, ChurnNote out[ANALYSIS_MAX_NOTES]);

/* At most limit rows, 0: all. 0, -ENOMEM, BYTES_E_FULL. */
int analysis_hotspots_write_text(const AnalysisHotspots *hotspots, size_t limit, Bytes *out);

/* Members of an open object: hotspots, total_hotspots, next_offset (if there are more), what was
 * left out and why, shallow, notes, elapsed_ms. */
void analysis_hotspots_write_members(const AnalysisHotspots *hotspots, size_t limit, JsonWriter *w);
