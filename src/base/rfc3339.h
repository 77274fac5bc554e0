/* base/rfc3339.h: time stamps as text. Pure arithmetic on the proleptic Gregorian calendar. Thread:
 * any. */
#pragma once

#include "base/span.h"

#include <stdint.h>

enum {
    RFC3339_E_SYNTAX = 1, /* not of the form that RFC 3339 describes */
    RFC3339_E_RANGE       /* of that form, but there is no such date, time or offset */
};

/* 24 characters and a NUL. */
#define RFC3339_SIZE 25

/* 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z: all that four digits of a year can say. */
#define RFC3339_MIN_MS (-62167219200000)
#define RFC3339_MAX_MS 253402300799999

/* Writes 2025-01-15T10:30:00.000Z. A time outside the range above becomes its nearer end. */
void rfc3339_format(int64_t unix_ms, char out[RFC3339_SIZE]);

/* Reads any valid form: T, t or a space between date and time (the RFC's note in 5.6 allows the
 * space, and databases write it), Z or z or an offset, any number of digits of a fraction, of which
 * the first three count. 0, RFC3339_E_SYNTAX, RFC3339_E_RANGE.
 *
 * Second 60 is accepted where the RFC (5.7) allows it, as 23:59:60 UTC at the end of a month, and
 * read as POSIX does, as the second that follows. An offset can carry a time past either end of the
 * range above; it is still returned. */
int rfc3339_parse(Span s, int64_t *ret_unix_ms);
