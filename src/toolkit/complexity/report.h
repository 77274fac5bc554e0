/* toolkit/complexity/report.h: what the files of a project measure together, and how that is told.
 *
 *     complexity_report_init(&report, &options);
 *     complexity_report_add(&report, path, &file);          // each file, in any order
 *     complexity_report_skip(&report, path, reason, detail); // each that was not measured
 *     complexity_report_finish(&report);                    // sorts, sums, finds violations
 *     complexity_report_write(&report, COMPLEXITY_JSON, &out);
 *
 * The order in which files come does not show: everything is sorted by value and then by path and
 * line. Copies what it is given. Thread: any, one at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/span.h"
#include "base/stop.h"
#include "toolkit/complexity/measure.h"
#include "json/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ComplexityFormat {
    COMPLEXITY_SUMMARY,    /* Markdown: headings, averages, the worst five */
    COMPLEXITY_FULL,       /* and every violation, by file */
    COMPLEXITY_JSON,       /* the report */
    COMPLEXITY_SARIF,      /* 2.1.0 */
    COMPLEXITY_CSV,        /* a line a function */
    COMPLEXITY_CHECKSTYLE, /* XML */
    COMPLEXITY_MARKDOWN,   /* tables */
    COMPLEXITY_N_FORMATS
} ComplexityFormat;

/* False: no such format. */
bool complexity_format_parse(Span name, ComplexityFormat *ret);
const char *complexity_format_name(ComplexityFormat format);

/* Why a file is not measured. The names are for programs ("too-large"), the words for people. */
typedef enum ComplexitySkip {
    COMPLEXITY_SKIP_IGNORED, /* git ignores it: only counted, unless asked for */
    COMPLEXITY_SKIP_EXCLUDED,
    COMPLEXITY_SKIP_VENDORED,
    COMPLEXITY_SKIP_GENERATED,
    COMPLEXITY_SKIP_MINIFIED,
    COMPLEXITY_SKIP_BINARY,
    COMPLEXITY_SKIP_TOO_LARGE,
    COMPLEXITY_SKIP_TOO_COSTLY, /* the parser needed too long, or too much memory: the detail */
    COMPLEXITY_SKIP_LINK,       /* leads out of the project, or is a link to another file of it */
    COMPLEXITY_SKIP_UNREADABLE, /* the detail says why */
    COMPLEXITY_SKIP_SPECIAL,    /* a pipe, a socket, a device */
    /* Only of a file that was named by the caller. */
    COMPLEXITY_SKIP_NO_LANGUAGE,
    COMPLEXITY_SKIP_OTHER_TOOLCHAIN, /* the detail is its language */
    COMPLEXITY_SKIP_FAILED, /* the analyser crashed over it (providers/analysis_worker.h) */
    COMPLEXITY_N_SKIPS
} ComplexitySkip;

const char *complexity_skip_name(ComplexitySkip reason);

typedef struct ComplexityThresholds {
    uint32_t cyclomatic_warning; /* above it */
    uint32_t cyclomatic_error;
    uint32_t cognitive_warning;
    uint32_t cognitive_error;
} ComplexityThresholds;

/* 10, 20, 15, 30. */
extern const ComplexityThresholds complexity_thresholds_default;

/* A caller's maximum is the error threshold, and three quarters of it (1 at least) the warning. 0:
 * the default of that one stays. */
ComplexityThresholds complexity_thresholds(uint32_t max_cyclomatic, uint32_t max_cognitive);

typedef struct ComplexityReportOptions {
    ComplexityThresholds thresholds;
    bool modified;       /* cyclomatic values are those of the modified variant */
    bool ranks_files;    /* make top_files */
    size_t top_files;    /* how many; 0 with ranks_files: none, as the document says */
    size_t limit;        /* rows of each list in one answer; 0: all */
    size_t offset;       /* where the lists that limit cuts begin (the cursor) */
    bool increments;     /* show why */
    bool list_ignored;   /* name what git ignores too */
    const char *version; /* of the program, for SARIF; may be NULL; borrowed until deinit */
    int64_t elapsed_us;  /* told in the result; set before write; < 0: left out */
    Stop stop;           /* of all that takes longer the more there is */
} ComplexityReportOptions;

/* One function of the project. */
typedef struct ComplexityRow {
    Span path;
    const ComplexityFunction *function;
    uint32_t file;       /* index in files */
    uint32_t cyclomatic; /* of the variant that the report tells */
} ComplexityRow;

typedef struct ComplexityViolation {
    bool is_error;     /* else a warning */
    bool is_cognitive; /* else cyclomatic */
    uint32_t value;
    uint32_t threshold;
    ComplexityRow row;
} ComplexityViolation;

typedef struct ComplexityFileRow {
    Span path;
    ComplexityFile file;
    uint32_t max_cyclomatic;
    uint64_t sum_cyclomatic;
    uint64_t sum_cognitive;
    double avg_cognitive;   /* of its functions; 0 without any */
    double halstead_effort; /* sum of its functions' */
    double total_score;     /* complexity_score */
} ComplexityFileRow;

typedef struct ComplexitySkipped {
    Span path;
    ComplexitySkip reason;
    Span detail; /* may be empty */
} ComplexitySkipped;

typedef struct ComplexitySummary {
    size_t total_files; /* measured */
    size_t total_functions;
    uint64_t lines;
    uint64_t code_lines;
    uint64_t comment_lines;
    double avg_cyclomatic;
    double avg_cognitive;
    uint32_t median_cyclomatic; /* sorted[floor(0.5 n)]; likewise 0.9 and 0.99 */
    uint32_t median_cognitive;
    uint32_t p90_cyclomatic;
    uint32_t p90_cognitive;
    uint32_t p99_cyclomatic;
    uint32_t p99_cognitive;
    uint32_t max_cyclomatic;
    uint32_t max_cognitive;
    double technical_debt_hours; /* (30 min a point over an error threshold + 15 min a point over a
                                    warning threshold) / 60; the points of a violation are counted
                                    at the threshold it is told for */
    size_t n_errors;             /* violations */
    size_t n_warnings;
    size_t n_skipped[COMPLEXITY_N_SKIPS];
    size_t n_with_parse_errors; /* files */
} ComplexitySummary;

typedef struct ComplexityReport {
    ComplexityReportOptions options;
    Arena arena;
    ComplexitySummary summary;
    ComplexityFileRow *files; /* after finish: by path */
    size_t n_files;
    size_t cap_files;
    ComplexityFileRow **ranked; /* by score, then path */
    ComplexityRow *functions;   /* by cognitive + cyclomatic, worst first, then path and place */
    size_t n_functions;
    ComplexityViolation *violations; /* errors first, then value, path, place */
    size_t n_violations;
    ComplexityRow *hotspots; /* cyclomatic above the warning, worst first, at most 10 */
    size_t n_hotspots;
    ComplexitySkipped *skipped; /* by path */
    size_t n_skipped; /* of the list: what git ignores is only counted, unless asked for */
    size_t cap_skipped;
} ComplexityReport;

/* What a report may hold: some ten million functions. Beyond it, -ENOMEM. */
#define COMPLEXITY_REPORT_BYTES ((size_t)2 * 1024 * 1024 * 1024)

#define COMPLEXITY_REPORT_NULL ((ComplexityReport){.files = NULL})

/* Copies the options. */
void complexity_report_init(ComplexityReport *report, const ComplexityReportOptions *options);

/* Takes COMPLEXITY_REPORT_NULL too; may run twice. */
void complexity_report_deinit(ComplexityReport *report);

/* Each path once. 0, -ENOMEM, -ECANCELED. */
int complexity_report_add(ComplexityReport *report, Span path, const ComplexityFile *file);
int complexity_report_skip(ComplexityReport *report, Span path, ComplexitySkip reason, Span detail);

/* Once, behind the last of them and before anything is read or written. 0, -ENOMEM, -ECANCELED: the
 * report can only be deinit'ed then. */
int complexity_report_finish(ComplexityReport *report);

/* 40 min(max_cyclomatic, 50)/50 + 40 min(avg_cognitive, 100)/100 + 10 min(n_functions, 100)/100,
 * rounded to two decimals. */
double complexity_score(uint32_t max_cyclomatic, double avg_cognitive, size_t n_functions);

/* Appends the report. 0, -ENOMEM, -ECANCELED, BYTES_E_FULL; on failure out is as it was. */
int complexity_report_write(const ComplexityReport *report, ComplexityFormat format, Bytes *out);

/* The JSON of the report as members of an object that the caller has opened: summary, violations,
 * hotspots, functions, files, top_files (if ranked), skipped, rules, totals, and next_offset if one
 * of the lists goes on behind this answer. limit and offset are for violations, functions, files
 * and skipped alike. */
void complexity_report_write_members(const ComplexityReport *report, JsonWriter *w);

/* What the tool that ours follows called "report", as one member of an object that the caller has
 * opened: {summary, violations, hotspots, files}, the same rows as above. */
void complexity_report_write_report(const ComplexityReport *report, JsonWriter *w);
