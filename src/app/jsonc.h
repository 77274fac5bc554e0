/* app/jsonc.h: JSON as editors write it, with comments and commas before a closing bracket, made
 * JSON. Pure. What is taken out is replaced by blanks, line ends stay: every byte that is left has
 * its place, so that errors name the right line. A byte order mark goes, too. Thread: any. */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"

enum {
    JSONC_E_COMMENT = 1, /* a comment without an end; the Diag says where it begins */
};

/* Appends text without them to out: as many bytes. 0, -ENOMEM, BYTES_E_FULL as -E2BIG,
 * JSONC_E_COMMENT. */
int jsonc_to_json(Bytes *out, Span text, Diag *reterr_diag);
