/* cli/validate_report.h: what `toolwire validate` prints about what it found.
 *
 * For people one line per finding, for programs one JSON object per line; the last line is the
 * summary in both. Findings are printed as they are found, so the input may be endless.
 */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "json/schema/schema.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct ValidateReport {
    FILE *out;     /* borrowed */
    bool as_json;  /* for programs */
    bool coloured; /* for people at a terminal */
    const char *file;
    bool is_framed;      /* messages are numbered */
    uint64_t n_messages; /* over all files */
    uint64_t n_invalid;
    uint64_t n_in_file; /* messages of the current file: the number of the current one */
    int r;              /* first failure to write the report itself */
    Bytes line;
} ValidateReport;

void validate_report_init(ValidateReport *report, FILE *out, bool as_json);
void validate_report_deinit(ValidateReport *report);

/* A new file begins; borrows its name until the next one. */
void validate_report_file(ValidateReport *report, const char *file, bool is_framed);

/* One message was checked, and is valid unless one of these follows. */
void validate_report_message(ValidateReport *report);

/* The current message is not JSON, or its framing is broken. */
void validate_report_broken(ValidateReport *report, const Diag *diag);

/* Whether the current message satisfies the schema could not be decided within the limits. */
void validate_report_undecided(ValidateReport *report);

/* The current message breaks the schema in one place. */
void validate_report_schema_error(ValidateReport *report, const SchemaError *error);

/* The current message is invalid; call once, after its findings. */
void validate_report_invalid(ValidateReport *report);

/* The last line. */
void validate_report_summary(ValidateReport *report);
