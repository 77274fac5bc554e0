/* cli/cmd_analyze_job.h: long work on another thread, while this one draws how far it is and
 * listens for Ctrl-C. */
#pragma once

#include "base/diag.h"
#include "cli/cli.h"
#include "providers/analysis.h"

/* What a shell says of a program that Ctrl-C has ended. */
#define ANALYZE_EXIT_INTERRUPTED 130

typedef struct AnalyzeJob {
    const CliArgs *args;
    AnalysisWatch watch;
    Diag diag;
    int (*run)(struct AnalyzeJob *job); /* 0, a negative errno, ANALYSIS_E_* */
    void *context;
    const char *begins; /* with what, for the time before anything is counted */
} AnalyzeJob;

/* Runs it, and explains on stderr why it failed. 0 or an exit status. Thread: main. */
int analyze_job_run(AnalyzeJob *job);

/* A line of how far the job is, for a terminal of so many columns: of how many files, or, where
 * total is 0, how many commits, or what it begins with. Appends to out. 0, -ENOMEM, BYTES_E_FULL.
 */
int analyze_job_line(Bytes *out, const AnalyzeJob *job, size_t columns);
