/* frame/http1_split.h: the head of a message, cut into its first line and its fields in one go; for
 * http1.c.
 *
 * Takes only what is complete and right. What it does not take is looked at line by line, which
 * finds out what is wrong with it, or that there is more to come. Thread: any.
 */
#pragma once

#include "base/span.h"
#include "frame/http1.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Http1Split {
    Http1Field *fields; /* room for n_room of them, and as many marks */
    uint8_t *marks;
    size_t n_room;
    size_t n_fields;
    uint64_t name_bits; /* as in Http1Head */
    size_t n_first;     /* bytes of the first line, without its CRLF */
    size_t n;           /* of the head, with the empty line */
} Http1Split;

/* Whether `bytes` begin with a head that can be split; fields are then spans of them, and what the
 * first line says is not looked at, but that it has no control character. What is wanted for it is
 * set by the caller; the rest is set in any case. */
bool http1_split(Http1Split *split, Span bytes);

/* The bytes of the head lie there now, instead of at `before`. */
void http1_split_move(Http1Split *split, const char *before, const char *now);
