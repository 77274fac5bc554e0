/* app/audit.h: a record of calls: one line of JSON for each that ended, in a file.
 *
 *     {"time":"2026-01-15T10:30:00.000Z","who":"stdio","dialect":"mcp","provider":"exec",
 *      "verb":"tool","target":"lint","outcome":"ok","duration_ms":12.25,"bytes_in":40,
 *      "bytes_out":210}
 *
 * Besides these, where they say something: `error` (its name) and `code` (a provider's own number);
 * `arguments`, if that is switched on, where the values of members whose names look like secrets
 * are "***", or `arguments_left_out` if they are too long; `dropped`, the number of lines that were
 * lost before this one.
 *
 * Lines wait in memory and are written once a turn of the loop, whole. A file that is longer than
 * max_bytes is moved aside (FILE.1 … FILE.keep). A disk that is full, or a file that cannot be
 * written, is logged once; lines then wait for a better time, LIMIT_AUDIT_WAITING_BYTES of them,
 * and nothing else does. What still waits at the end is lost, counted, and logged. Thread: loop.
 */
#pragma once

#include "base/bytes.h"
#include "base/logsink.h"
#include "call/call.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Audit Audit;

typedef struct AuditConfig {
    IoLoop *loop;
    const char *path;   /* copied */
    size_t max_bytes;   /* of a file; 0: LIMIT_AUDIT_FILE_BYTES */
    uint32_t keep;      /* files of the past; 0: LIMIT_AUDIT_FILES */
    bool arguments;     /* those of calls, too */
    int64_t retry_ms;   /* until a file that could not be written is tried again; 0: a second */
    const LogSink *log; /* may be NULL */
} AuditConfig;

/* What is known of a call besides itself and its result. */
typedef struct AuditEnd {
    const char *verb;
    const char *provider;
    const char *outcome;
    uint64_t duration_ns;
    size_t bytes_in;
    size_t bytes_out;
} AuditEnd;

/* Made before doors, lines are written after their answers. A file that cannot be opened is no
 * failure: see above. 0, -ENOMEM, another negative errno. Gives *ret. */
int audit_new(Audit **ret, const AuditConfig *config);

/* No call follows: tries once more to write what waits; what cannot be written is lost. The number
 * of lost lines is final then. May come twice. */
void audit_finish(Audit *audit);

/* Finishes first. */
Audit *audit_free(Audit *audit);

/* A call begins: keeps what its line will say of its arguments (Call.asked_text). */
void audit_began(Audit *audit, Call *call);

/* It has ended. result NULL: it was taken back. */
void audit_ended(Audit *audit, const Call *call, const CallResult *result, const AuditEnd *end);

/* Now, what waits. */
void audit_flush(Audit *audit);

/* The file may have been moved by others: the next line opens it again by its name. What waits is
 * tried in it once more, and at once. */
void audit_reopen(Audit *audit);

/* Lines that were lost since the start. */
uint64_t audit_n_dropped(const Audit *audit);
