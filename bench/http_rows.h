/* bench/http_rows.h: what the rows of bench_http have in common, and those of large answers. */
#pragma once

#include <stddef.h>

#include "http_side.h"
#include "report.h"
#include "rows.h"

#define HTTP_LARGE_BYTES ((size_t)10 * 1024 * 1024)

enum {
    HTTP_FLOOR,
    HTTP_OURS,
    HTTP_N_SIDES
};

/* The program. */
const char *http_toolwire(const RowSetup *setup);

/* Starts both on the last core, the floor with the answer that ours gives to an echo of this text;
 * the driver is on the first from now on. extra: flags, or NULL. */
void http_sides_start(HttpSide *ours, HttpSide *floor, const RowSetup *setup, PeerEra era,
                      const char *text, const char *const *extra);

/* Memory while a large answer is read slowly. */
void http_row_slow(const Row *row, const RowSetup *setup, Report *report);

/* Requests to the durable queue; row->size: clients. */
void http_row_enqueue(const Row *row, const RowSetup *setup, Report *report);
void http_row_job(const Row *row, const RowSetup *setup, Report *report);

/* Calls that are not durable while the queue writes. */
void http_row_beside(const Row *row, const RowSetup *setup, Report *report);

/* The time of a large echo. */
void http_row_fast(const Row *row, const RowSetup *setup, Report *report);
