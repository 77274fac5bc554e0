/* providers/exec_run.h: one command from its start to its end: input in, output collected.
 *
 *     IDLE → start → RUNNING → done → IDLE
 *                       ├─ end → ENDING → idle
 *                       └─ output that cannot be kept → done → ENDING → idle
 *
 * Whatever is left of the command's process group when it is over is ended, TERM and then KILL; the
 * owner does not wait for that. A run is used again and again and keeps its storage. Thread: loop.
 */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "base/limits.h"
#include "io/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ExecRun ExecRun;

enum {
    EXEC_RUN_E_TOO_LARGE = 1, /* more output than max_output_bytes; the command was ended */
};

/* The end of stderr that is kept: a stack trace, not a log. */
#define EXEC_RUN_TAIL_BYTES ((size_t)4096)

/* What a command gets between TERM and KILL. */
#define EXEC_RUN_GRACE_MS 2000

/* How long after its exit a command's output may stay open: what is still in the pipes comes at
 * once, and a process that it left behind with its output may keep it open for ever. */
#define EXEC_RUN_LINGER_MS 500

/* How a run tells its owner, who must not free it from inside. */
typedef struct ExecRunOps {
    /* It has ended, or its output cannot be kept; results may be read until return. */
    void (*done)(void *context, ExecRun *run);
    /* It may be started again, or freed. Always the last. */
    void (*idle)(void *context, ExecRun *run);
} ExecRunOps;

/* Input and output of one command; equality passes. */
typedef struct ExecRunLimits {
    size_t max_input_bytes;
    size_t max_output_bytes;
} ExecRunLimits;

/* 0, -ENOMEM. Borrows ops and context until free. Gives *ret. */
int exec_run_new(ExecRun **ret, IoLoop *loop, ExecRunLimits limits, const ExecRunOps *ops,
                 void *context);

/* Kills what still runs, and ends what it has left behind; nothing is called any more. */
ExecRun *exec_run_free(ExecRun *run);

/* Empty: what the command is to read. Filled before start. */
Bytes *exec_run_input(ExecRun *run);

/* Starts the command, which is killed if the calling thread ends before it (io/process.h,
 * dies_with_thread); borrows spec until return. 0, -ENOMEM, another errno,
 * IO_PROCESS_E_CANNOT_START; unless 0 the run is still idle, and nothing is called. */
int exec_run_start(ExecRun *run, const IoProcessSpec *spec, Diag *reterr_diag);

/* Nobody wants its result any more: ends the command. Only idle follows, perhaps at once. */
void exec_run_end(ExecRun *run);

/* For `done`: 0 if it has ended and all its output is there; else why not: a negative errno,
 * EXEC_RUN_E_TOO_LARGE. */
int exec_run_failure(const ExecRun *run);

/* How it ended, and what it said. */
IoProcessExit exec_run_exit(const ExecRun *run);
Span exec_run_output(const ExecRun *run);

/* For `done`: an answer was made of what it said, which is not needed any more. Gives back what a
 * long output took. */
void exec_run_forget(ExecRun *run);

/* The last bytes of stderr, beginning with a whole character; *ret_is_cut: there was more. */
Span exec_run_tail(const ExecRun *run, bool *ret_is_cut);

/* The owner's: its list of runs, and whom each is for. */
typedef struct ExecRunLink {
    ExecRun *next;
    ExecRun *prev;
    void *call;
    const void *tool;
    bool is_ending; /* its call was taken back, and it has not gone yet */
} ExecRunLink;
ExecRunLink *exec_run_link(ExecRun *run);
