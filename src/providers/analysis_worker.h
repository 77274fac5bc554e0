/* providers/analysis_worker.h: measuring in a process of its own.
 *
 * Grammars are code of others, made for text that people write; what strangers write may crash
 * them, or worse. So a program that can be started again as a worker (analysis_worker_main) says
 * so, and from then on every thread that measures has such a child, which is given texts and gives
 * measures: it has no files, no network and no more memory than it needs (io/worker.h). When it
 * ends over a text, that one is left out, and another child goes on. A program that says nothing
 * measures in its own process: so do tests, and it is so on Windows.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/span.h"
#include "toolkit/complexity/measure.h"

enum {
    /* Beside COMPLEXITY_E_*: */
    ANALYSIS_WORKER_E_FAILED = 100, /* the analyser ended over this text, and would again */
    ANALYSIS_WORKER_E_LOST,         /* it was ended by somebody else, or too often */
};

/* What the program is started with, and what it looks for before anything else. */
#define ANALYSIS_WORKER_WORD "--analysis-worker"

/* For all analyses of this process: argv of the program that calls analysis_worker_main; borrowed
 * for good. Once, before the first analysis. */
void analysis_worker_use(const char *const *argv);

/* The worker, until its owner has gone. 0, or a negative errno. */
int analysis_worker_main(void);

/* What measures texts for one thread at a time: a child, or a meter of this process. */
typedef struct AnalysisWorker {
    struct IoWorker *child; /* NULL: none was needed yet, or it has ended */
    ComplexityMeter *meter; /* NULL: children measure */
    Bytes answer;
    size_t n_failed; /* children that ended over a text */
} AnalysisWorker;

/* 0, -ENOMEM, or what random_fill returns. */
int analysis_worker_init(AnalysisWorker *worker);
void analysis_worker_deinit(AnalysisWorker *worker);

/* Ends the child, which dies with the thread that needed it first: before that thread ends. Another
 * one is started when it is needed. */
void analysis_worker_rest(AnalysisWorker *worker);

/* As complexity_measure; and ANALYSIS_WORKER_E_*, or another negative errno: it cannot be started.
 */
int analysis_worker_measure(AnalysisWorker *worker, const ComplexityLanguage *language, Span text,
                            const ComplexityOptions *options, Arena *arena, ComplexityFile *ret);
