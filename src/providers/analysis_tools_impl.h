/* providers/analysis_tools_impl.h: what the files of this provider share. Private.
 *
 *     analysis_tools.c         jobs: waiting, running, told of, ended
 *     analysis_tools_args.c    what a call asks for
 *     analysis_tools_cursor.c  where its lists go on, and whether they are the same
 *     analysis_tools_run.c     the work, on its thread, and its answer
 *     analysis_tools_json.c    descriptions
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "call/call.h"
#include "providers/analysis.h"
#include "providers/analysis_tools.h"
#include "toolkit/churn/churn.h"
#include "toolkit/complexity/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An answer: above what a door sends by default, since that may be set higher. */
#define ANALYSIS_ANSWER_BYTES ((size_t)64 * 1024 * 1024)

/* Rows of a list in one answer, for whoever does not say: what an agent reads at once. */
#define ANALYSIS_DEFAULT_LIMIT 50

typedef struct AnalysisJob AnalysisJob;

/* What a call asks for; strings in the job's arena. */
typedef struct AnalysisAsked {
    AnalysisFiles files;
    ComplexityReportOptions report;
    ComplexityFormat complexity_format;
    AnalysisHistory history;
    ChurnFormat churn_format;
    Span format; /* its name */
    size_t limit;
    size_t offset;
    bool has_limit;     /* the caller's own */
    uint64_t arguments; /* what the lists depend on, as one number */
    uint64_t seen;      /* with a cursor: the number that the answer before had for its lists */
    bool has_cursor;
} AnalysisAsked;

typedef struct AnalysisTool {
    Span name;
    Span takes; /* its description, in two pieces: up to the input schema, and the rest */
    Span gives;
    /* Reads the arguments, which the schema allows, into the job. 0, -ENOMEM, ANALYSIS_E_OPTION
     * (job->diag). Thread: loop. */
    int (*ask)(AnalysisJob *job, JsonValue arguments);
    /* The work and its answer: job->content and job->structured. 0, a negative errno, BYTES_E_FULL
     * as -EFBIG, ANALYSIS_E_* (job->diag). Thread: any. */
    int (*run)(AnalysisJob *job);
    CallProvider provider;
} AnalysisTool;

#define ANALYSIS_N_TOOLS 3
extern const AnalysisTool analysis_tools_all[ANALYSIS_N_TOOLS];

struct AnalysisJob {
    AnalysisJob *next; /* of those that wait, or of those that run */
    AnalysisJob *prev;
    AnalysisTools *tools; /* NULL: they have gone */
    const AnalysisTool *tool;
    Call *call; /* NULL: nobody waits for it */
    bool is_running;

    AnalysisWatch watch;
    size_t last_done; /* for progress: see analysis_tools.c */
    size_t base;
    unsigned n_still;
    uint64_t look; /* the last one that told of it */

    Arena arena;
    AnalysisAsked asked;
    Bytes content;
    Bytes structured;
    int r;
    Diag diag;
};

/* Reads what the three tools take (analysis_tools_args.c). */
int analysis_ask_complexity(AnalysisJob *job, JsonValue arguments);
int analysis_ask_churn(AnalysisJob *job, JsonValue arguments);
int analysis_ask_hotspots(AnalysisJob *job, JsonValue arguments);

/* Does it (analysis_tools_run.c). */
int analysis_run_complexity(AnalysisJob *job);
int analysis_run_churn(AnalysisJob *job);
int analysis_run_hotspots(AnalysisJob *job);

/* Cursors (analysis_tools_cursor.c): a place in lists, and one number for the arguments and the
 * rows that they are of. Whoever comes with other arguments, or when the rows have changed, would
 * miss some or see them twice, and is refused. */

/* One number for all arguments but those that change no list; in any order. */
uint64_t analysis_cursor_arguments(JsonValue arguments);
/* Begins one for rows; each adds what a reader would see of it, in order. */
uint64_t analysis_cursor_begin(const AnalysisAsked *asked);
uint64_t analysis_cursor_row(uint64_t seen, Span path, uint64_t a, uint64_t b);
/* The text; 0 or -ENOMEM, BYTES_E_FULL. And what one says; false: it is none. */
int analysis_cursor_write(size_t offset, uint64_t seen, Bytes *out);
bool analysis_cursor_read(Span cursor, size_t *ret_offset, uint64_t *ret_seen);
/* 0, or ANALYSIS_E_OPTION if the call has a cursor of other lists (job->diag). */
int analysis_cursor_check(AnalysisJob *job, uint64_t seen);

/* CallProvider (analysis_tools.c). */
void analysis_start(AnalysisTools *tools, const AnalysisTool *tool, Call *call);
void analysis_cancel(void *context, Call *call);
