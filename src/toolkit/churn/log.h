/* toolkit/churn/log.h: what `git log -z` prints, cut into records. Performs no I/O.
 *
 *     header   01 commit 02 author-time 02 committer-time 02 [decoration 02] author NUL
 *     raw      [LF] :mode mode blob blob status NUL path NUL [path NUL]
 *     lines    [LF] added TAB deleted TAB path NUL, or … TAB NUL old NUL new NUL
 *
 * The first record behind a header has the LF. Where a record begins, its first byte says what it
 * is; a name is only read where one must stand, up to its NUL, so neither an author nor a file can
 * pretend to be a record. Use: feed, then next until CHURN_LOG_E_AGAIN; at the end, finish.
 * Thread: any, one at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CHURN_LOG_E_AGAIN = 1, /* no complete record any more: feed more */
    CHURN_LOG_E_FORMAT,    /* that is not what git prints; Diag */
};

typedef enum ChurnLogForm {
    CHURN_LOG_PLAIN,
    CHURN_LOG_DECORATED, /* with a decoration in each header */
    CHURN_LOG_NAMES,     /* no log: names, each with a NUL behind it (git ls-tree -z) */
} ChurnLogForm;

typedef enum ChurnLogKind {
    CHURN_LOG_COMMIT,
    CHURN_LOG_RAW,
    CHURN_LOG_LINES,
    CHURN_LOG_NAME
} ChurnLogKind;

/* Spans are borrowed until the next feed or deinit. */
typedef struct ChurnLogEvent {
    ChurnLogKind kind;

    Span id;             /* commit: 40 or 64 hexadecimal digits */
    int64_t author_s;    /* the committer's, if git could not read it; 0, if neither */
    int64_t committer_s; /* likewise */
    bool is_cut;         /* the history ends here only because the clone is shallow */
    Span author;

    Span blobs; /* raw: both modes and both blobs, as printed */
    char status;
    bool is_submodule; /* before or after */

    uint64_t added; /* lines; 0 if binary */
    uint64_t deleted;
    bool is_binary;

    Span path; /* raw, lines, name */
    Span old;  /* raw, lines: of a rename or copy; else p is NULL */
} ChurnLogEvent;

typedef struct ChurnLog {
    ChurnLogForm form;
    bool in_commit; /* a header has been seen */
    bool at_first;  /* the last record was a header */
    Span unread;    /* of what was fed last, or of rest */
    Bytes rest;     /* of earlier pieces, and what was fed behind it */
    uint64_t offset;
} ChurnLog;

/* Allocates nothing yet. */
void churn_log_init(ChurnLog *log, ChurnLogForm form);

/* May run twice. */
void churn_log_deinit(ChurnLog *log);

/* Borrows p until next has said AGAIN; before that, nothing more may be fed. 0, -ENOMEM. */
int churn_log_feed(ChurnLog *log, const char *p, size_t n);

/* 0, -ENOMEM, CHURN_LOG_E_*. */
int churn_log_next(ChurnLog *log, ChurnLogEvent *ret, Diag *reterr_diag);

/* Nothing more will come. 0; CHURN_LOG_E_FORMAT: the end of a record is missing. */
int churn_log_finish(const ChurnLog *log, Diag *reterr_diag);
