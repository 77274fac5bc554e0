/* providers/analysis_tools_impl.h: what the files of this provider share. Private.
 *
 *     analysis_tools.c         jobs: waiting, running, told of, ended
 *     analysis_tools_args.c    what a call asks for
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
    bool has_limit; /* the caller's own */
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

/* CallProvider (analysis_tools.c). */
void analysis_start(AnalysisTools *tools, const AnalysisTool *tool, Call *call);
void analysis_cancel(void *context, Call *call);
