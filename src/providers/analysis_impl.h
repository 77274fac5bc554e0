/* providers/analysis_impl.h: what the files of the jobs share. Private.
 *
 *     analysis_place.c        the folder that is asked about
 *     analysis_git.c          git as a child, and what it says of a repository
 *     analysis_attributes.c   what decides how git counts lines
 *     analysis_kept.c         caches in the state folder
 *     analysis_ignore.c       exclude files above and beneath the folder
 *     analysis_files.c        which files are measured
 *     analysis_crew.c         measuring them on several threads
 *     analysis_worker.c       in a process of its own each
 *     analysis_since.c        only what has changed
 *     analysis_since_old.c    how that was before
 *     analysis_blob.c         whether a file is a blob of git
 *     analysis_alike.c        which file is which under another name
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/diag.h"
#include "base/span.h"
#include "io/folder.h"
#include "providers/analysis.h"
#include "providers/analysis_worker.h"
#include "toolkit/complexity/cache.h"
#include "toolkit/complexity/report.h"
#include "toolkit/ignore.h"
#include "toolkit/kind.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Has whoever waits given up? To be asked for every file, and every few thousand of what is less.
 */
TW_INLINE bool analysis_is_cancelled(const AnalysisWatch *watch)
{
    return atomic_load_explicit(&watch->cancel, memory_order_relaxed);
}

/* ---- the folder (analysis_place.c) ---- */

/* A folder, or one file in it. */
typedef struct AnalysisPlace {
    IoFolder *folder;
    char *file; /* its name; NULL: the folder itself is meant */
    char *root; /* what it lies beneath, without links; NULL: it may lie anywhere */
} AnalysisPlace;

#define ANALYSIS_PLACE_NULL ((AnalysisPlace){.folder = NULL})

/* root NULL: path means what it means to the system; else it is resolved beneath that folder, as
 * io/beneath.h does. 0, -ENOMEM, another negative errno, ANALYSIS_E_PATH. */
int analysis_place_open(AnalysisPlace *place, const char *root, const char *path,
                        Diag *reterr_diag);
void analysis_place_close(AnalysisPlace *place);

/* Is path the root or beneath it? Both are absolute and without links; names are compared whole.
 * root NULL: everything is. */
bool analysis_is_beneath(const char *root, const char *path);

/* base, a slash, and name. Gives *ret (mem_free). 0, -ENOMEM. */
int analysis_join(char **ret, const char *base, const char *name);

/* ---- git (analysis_git.c) ---- */

/* How git is run: in one folder, in no other repository than that folder's. */
typedef struct AnalysisGit {
    const char *folder;       /* borrowed */
    const char *root;         /* a repository outside of it is none; NULL: any will do; borrowed */
    const char **environment; /* owned */
    char *ceiling;            /* of the environment; owned */
    const atomic_bool *cancel;
} AnalysisGit;

#define ANALYSIS_GIT_NULL ((AnalysisGit){.folder = NULL})

/* Of the place only the root counts. 0, -ENOMEM. */
int analysis_git_init(AnalysisGit *git, const AnalysisPlace *place, const char *folder,
                      const atomic_bool *cancel);
void analysis_git_deinit(AnalysisGit *git);

/* One run of it. */
typedef struct AnalysisGitRun {
    const char *const *argv;
    Span input;
    /* As IoChildSpec.output; what it returns ends git, and is what the run returns. */
    int (*output)(void *context, const char *p, size_t n);
    void *context;
} AnalysisGitRun;

/* It has ended with status 0. 0, a negative errno, ANALYSIS_E_CANCELLED, ANALYSIS_E_GIT (git's own
 * words), or what output returned. */
int analysis_git_run(const AnalysisGit *git, const AnalysisGitRun *run, Diag *reterr_diag);

/* Appends what it prints. */
int analysis_git_read(const AnalysisGit *git, const char *const *argv, Bytes *out,
                      Diag *reterr_diag);

/* Hexadecimal digits of the longest hash, and more. */
#define ANALYSIS_ID_SIZE 72

typedef struct AnalysisRepository {
    char *root;   /* of the work tree, or the bare repository; absolute */
    char *prefix; /* "" or "src/io/" */
    char *common; /* the folder that all work trees share; absolute */
    bool is_bare;
    bool is_shallow;
    bool is_partial; /* not all objects are here, and none is fetched */
    bool has_work_tree;
    char head[ANALYSIS_ID_SIZE]; /* commit id of rev; empty: no commit yet */
    char base[ANALYSIS_ID_SIZE]; /* of a range, that of its older end; else empty */
} AnalysisRepository;

#define ANALYSIS_REPOSITORY_NULL ((AnalysisRepository){.root = NULL})

/* rev NULL: HEAD, which need not be there; "A..B" is a range, and an end that is left out HEAD.
 * With a root, its work tree and its own folders must lie beneath that (ANALYSIS_E_PATH); objects
 * that it borrows may lie anywhere. 0, a negative errno, ANALYSIS_E_*. */
int analysis_repository_init(AnalysisRepository *repository, const AnalysisGit *git,
                             const char *rev, Diag *reterr_diag);
/* Puts it in front of what git says (ANALYSIS_E_GIT) if the clone is partial. Returns r. */
int analysis_repository_explain(const AnalysisRepository *repository, int r, Diag *diag);
void analysis_repository_deinit(AnalysisRepository *repository);

/* A hash of the attributes that git reads here, and of what its settings make of them
 * (analysis_attributes.c): as long as it is the same, two blobs have the same number of lines added
 * and deleted. 0, a negative errno, ANALYSIS_E_*. */
int analysis_attributes(const AnalysisGit *git, const AnalysisRepository *repository,
                        uint8_t ret[16]);

/* ---- what is kept (analysis_kept.c) ---- */

/* Its file in the state folder: kind and the hash of key. Gives *ret (mem_free). 0, -ENOMEM,
 * -ENOENT: there is no such folder. state may be NULL. */
int analysis_kept_path(char **ret, const char *state, const char *kind, Span key);

/* 128 bits, the same at every run. */
void analysis_hash(Span content, uint8_t ret[16]);

/* ---- files (analysis_files.c, analysis_ignore.c) ---- */

typedef enum AnalysisState {
    ANALYSIS_TO_DO,
    ANALYSIS_KNOWN,    /* `what` is from the cache */
    ANALYSIS_MEASURED, /* `what` is new */
    ANALYSIS_NOT_OURS, /* of another language, as its content shows */
} AnalysisState;

/* A file to measure. */
typedef struct AnalysisFound {
    Span path; /* in the folder; NUL-terminated */
    uint64_t size;
    ComplexityStamp stamp; /* zero: nothing is kept of it */
    AnalysisState state;
    bool has_hash;
    bool is_fleeting; /* `what` must not be kept */
    uint8_t hash[16];
    ComplexityCached what;
} AnalysisFound;

/* What excludes files, from the top of the work tree down. */
typedef struct AnalysisIgnore {
    IgnoreRules *rules; /* NULL: nothing is ignored */
    const AnalysisPlace *place;
    Bytes path; /* of the folder in the work tree ("" or "src/"), and scratch behind it */
    size_t n_prefix;
    Bytes text; /* scratch */
} AnalysisIgnore;

/* 0, -ENOMEM, ANALYSIS_E_CANCELLED. */
int analysis_ignore_init(AnalysisIgnore *ignore, const AnalysisPlace *place,
                         const atomic_bool *cancel);
void analysis_ignore_deinit(AnalysisIgnore *ignore);

/* Enters a folder ("" or "src/") that has a .gitignore. *ret_pushed: ignore_rules_pop when leaving
 * it. 0, -ENOMEM. */
int analysis_ignore_enter(AnalysisIgnore *ignore, IoFolder *folder, Span path, bool *ret_pushed);
int analysis_ignore_match(AnalysisIgnore *ignore, Span path, bool is_folder, bool *ret);

typedef struct AnalysisWalk {
    const AnalysisFiles *files;
    const AnalysisPlace *place;
    AnalysisWatch *watch;
    ComplexityReport *report; /* gets what is skipped */
    Arena arena;              /* of the paths */
    AnalysisFound *found;
    size_t n;
    size_t cap;
} AnalysisWalk;

void analysis_walk_init(AnalysisWalk *walk, const AnalysisFiles *files, const AnalysisPlace *place,
                        AnalysisWatch *watch, ComplexityReport *report);
void analysis_walk_deinit(AnalysisWalk *walk);

/* Finds all files of the place. 0, a negative errno, ANALYSIS_E_CANCELLED, ANALYSIS_E_PATH. */
int analysis_walk_run(AnalysisWalk *walk, Diag *reterr_diag);

/* Is a file asked for, by its name? If not, why; or it is silent: nobody would have expected it. */
typedef struct AnalysisVerdict {
    bool is_wanted;
    bool is_silent;
    ComplexitySkip reason;
    char detail[96];
} AnalysisVerdict;

AnalysisVerdict analysis_judge(const AnalysisFiles *files, Span path);

/* Of a kind that is not measured. */
ComplexitySkip analysis_skip_reason(ToolkitKind kind);

/* What is kept of the file system's words. Zero while it may change once more and have the same
 * ones. */
ComplexityStamp analysis_stamp(const IoFolderStamp *stamp, int64_t now_ms);

/* Adds a file. 0, -ENOMEM. */
int analysis_walk_add(AnalysisWalk *walk, Span path, const IoFolderStamp *stamp);

/* ---- measuring (analysis_crew.c) ---- */

/* Of what is longer, one is measured at a time: the tree of a large one may take hundreds of
 * megabytes. */
#define ANALYSIS_LARGE_BYTES ((size_t)1024 * 1024)

/* Measures a text that was read, into arena. Used by one thread at a time. */
typedef struct AnalysisMeter {
    AnalysisWorker worker;
    Arena arena;
    Bytes text;
} AnalysisMeter;

int analysis_meter_init(AnalysisMeter *meter);
void analysis_meter_deinit(AnalysisMeter *meter);
/* What a thread that ends does with its meter (analysis_worker_rest). */
void analysis_meter_rest(AnalysisMeter *meter);

/* *ret_is_ours false: it is of no language that is asked for, as *ret says.
 * *ret_is_fleeting: it may be otherwise next time. 0, -ENOMEM, ANALYSIS_E_CANCELLED. */
int analysis_measure(AnalysisMeter *meter, const AnalysisFiles *files, AnalysisWatch *watch,
                     bool increments, Span path, Span text, ComplexityCached *ret,
                     bool *ret_is_ours, bool *ret_is_fleeting);

/* Threads for so many pieces of work. */
size_t analysis_threads(const AnalysisFiles *files, size_t n_work);

/* Measures what is to be done, looks into the cache (may be NULL) first and puts it there after,
 * and adds all to the walk's report. has_kept: the cache was read from a file. 0, a negative errno,
 * ANALYSIS_E_CANCELLED. */
int analysis_crew_run(AnalysisWalk *walk, ComplexityCache *cache, bool has_kept);

/* ---- since a revision (analysis_since.c, analysis_since_old.c) ---- */

/* Finds what has changed, measures both states and adds them to walk->report and before. 0, a
 * negative errno, ANALYSIS_E_*. */
int analysis_since(AnalysisWalk *walk, ComplexityReport *before, Diag *reterr_diag);

/* Is the text the blob of this id (in hexadecimal digits)? Its lines may end with CR LF where those
 * of the blob end with LF. scratch holds 64 bytes more than the text. 0, -ENOMEM, -EIO. */
int analysis_blob_is(Span text, Span id, Bytes *scratch, bool *ret);

/* The lines of a text, for comparing it with others. */
typedef struct AnalysisLine {
    uint64_t hash;
    size_t n_bytes;
} AnalysisLine;

typedef struct AnalysisLines {
    AnalysisLine *lines; /* by hash */
    size_t n;
    uint64_t n_bytes;
} AnalysisLines;

#define ANALYSIS_LINES_NULL ((AnalysisLines){.lines = NULL})

/* 0, -ENOMEM. */
int analysis_lines_init(AnalysisLines *lines, Span text);
void analysis_lines_deinit(AnalysisLines *lines);

#define ANALYSIS_NOT_ALIKE SIZE_MAX

/* ret[i]: which of `to` from[i] became: more than half of the bytes of the longer one are in lines
 * of both; the most alike first, each at most once. 0, -ENOMEM. */
int analysis_alike(const AnalysisLines *from, size_t n_from, const AnalysisLines *to, size_t n_to,
                   size_t *ret);

/* A file as it was. */
typedef struct AnalysisOld {
    Span path;           /* its present one */
    Span name;           /* its path then, which says its language */
    Span blob;           /* id */
    bool is_gone;        /* there is no file of this name any more */
    bool is_large;       /* it waits until all others are measured */
    bool is_ours;        /* the rest is set by analysis_olds_read: `what` is its measure */
    AnalysisLines lines; /* of one that is gone */
    ComplexityCached what;
} AnalysisOld;

typedef struct AnalysisOlds {
    const AnalysisGit *git;
    AnalysisWalk *walk; /* for its files and its watch */
    AnalysisOld *olds;
    size_t n;
    size_t cap;
    AnalysisMeter *meters; /* hold what was measured */
    size_t n_meters;
} AnalysisOlds;

/* Copies *old; its spans stay the caller's until deinit. 0, -ENOMEM. */
int analysis_olds_add(AnalysisOlds *olds, const AnalysisOld *old);

/* Reads and measures them. 0, a negative errno, ANALYSIS_E_*. */
int analysis_olds_read(AnalysisOlds *olds, Diag *reterr_diag);
void analysis_olds_deinit(AnalysisOlds *olds);
