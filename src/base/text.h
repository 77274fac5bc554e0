/* base/text.h: what people type: numbers with units, names with slips of the finger. Thread: any.
 */
#pragma once

#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TEXT_E_SYNTAX = 1, /* not a number, or a unit that is not known */
    TEXT_E_RANGE       /* a number that does not fit */
};

/* Names longer than this are never found to be similar. */
#define TEXT_NAME_MAX 64

/* All of s as a decimal number, without sign, blanks or anything else (i64: with an optional '-').
 * 0, TEXT_E_SYNTAX, TEXT_E_RANGE. */
int text_parse_u64(Span s, uint64_t *ret);
int text_parse_i64(Span s, int64_t *ret);

/* "250ms", "30s", "5m", "2h", "1d"; without a unit milliseconds, as in configuration keys that end
 * in _ms. Whole numbers only. 0, TEXT_E_SYNTAX, TEXT_E_RANGE. */
int text_parse_duration_ms(Span s, int64_t *ret_ms);

/* "4096", "64KiB", "1MiB", "2GiB" and, in powers of 1000, "64kB", "1MB", "2GB"; units in any case,
 * "B" allowed. Whole numbers only. 0, TEXT_E_SYNTAX, TEXT_E_RANGE. */
int text_parse_size(Span s, uint64_t *ret_bytes);

/* Equality where ASCII letters have no case. */
bool text_equals_nocase(Span a, Span b);

/* Without the blanks (space, tab, CR, LF) at both ends. */
Span text_trim(Span s);

/* Whether s is exactly one of n names; *ret_index (optional) is then which. */
bool text_is_one_of(Span s, const char *const *names, size_t n, size_t *ret_index);

/* How many letters must be inserted, dropped, changed or swapped with their neighbour to turn a
 * into b, case not counting. SIZE_MAX if one is longer than TEXT_NAME_MAX. */
size_t text_edit_distance(Span a, Span b);

/* The one of n names that s was probably meant to be, for "did you mean"; NULL if none is near:
 * more than a third of the letters differ. Of equally near ones the first. */
const char *text_nearest(Span s, const char *const *names, size_t n);
