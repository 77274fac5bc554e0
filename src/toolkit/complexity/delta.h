/* toolkit/complexity/delta.h: what has become of functions between two states of a project.
 *
 * Functions are told apart by path and name, and those of one name in one file by their order.
 * Thread: any, one at a time. */
#pragma once

#include "base/bytes.h"
#include "toolkit/complexity/report.h"
#include "json/writer.h"

typedef enum ComplexityChange {
    COMPLEXITY_ADDED,
    COMPLEXITY_REMOVED,
    COMPLEXITY_WORSE,  /* cyclomatic or cognitive has grown, and neither has shrunk by more */
    COMPLEXITY_BETTER, /* the sum of both has shrunk */
    COMPLEXITY_N_CHANGES
} ComplexityChange;

typedef struct ComplexityDeltaRow {
    ComplexityChange change;
    const ComplexityRow *before; /* NULL: added */
    const ComplexityRow *after;  /* NULL: removed */
} ComplexityDeltaRow;

typedef struct ComplexityDelta {
    ComplexityDeltaRow *rows; /* by change, then by how much, path, line; unchanged ones are not
                                 listed */
    size_t n_rows;
    size_t n_of[COMPLEXITY_N_CHANGES];
    size_t n_same;
    int64_t cyclomatic; /* sum after less sum before */
    int64_t cognitive;
    size_t limit; /* the rows that are written, as the later report's options say */
    size_t offset;
    Stop stop; /* likewise */
} ComplexityDelta;

#define COMPLEXITY_DELTA_NULL ((ComplexityDelta){.rows = NULL})

/* Both reports are finished, of the same variant, and borrowed until deinit. 0, -ENOMEM,
 * -ECANCELED: the later one was stopped. */
int complexity_delta_init(ComplexityDelta *delta, const ComplexityReport *before,
                          const ComplexityReport *after);
void complexity_delta_deinit(ComplexityDelta *delta);

const char *complexity_change_name(ComplexityChange change);

/* As members of an open object: since {added, removed, worse, better, unchanged, cyclomatic,
 * cognitive, rows[…], total, next_offset if there are more}; and as Markdown (0, -ENOMEM,
 * BYTES_E_FULL). */
void complexity_delta_write_members(const ComplexityDelta *delta, JsonWriter *w);
int complexity_delta_write_text(const ComplexityDelta *delta, Bytes *out);
