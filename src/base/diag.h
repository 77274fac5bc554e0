/* base/diag.h: words for people about input that is wrong.
 *
 * Travels beside the error code as an optional last parameter (`Diag *reterr_diag`, may be NULL),
 * is written only on failure, and owns nothing. Thread: any.
 */
#pragma once

#include "base/compiler.h"

#include <stddef.h>
#include <stdint.h>

#define DIAG_NO_OFFSET SIZE_MAX

/* Long enough for a sentence and the value it quotes; longer text is cut, and ends in "...". */
#define DIAG_MESSAGE_SIZE 240
#define DIAG_FIELD_SIZE   120

typedef struct Diag {
    int code;        /* the outcome that the function returned */
    size_t offset;   /* byte in the input, or DIAG_NO_OFFSET */
    uint32_t line;   /* from 1; 0 when unknown */
    uint32_t column; /* in bytes, from 1; 0 when unknown */
    char field[DIAG_FIELD_SIZE];
    char message[DIAG_MESSAGE_SIZE];
} Diag;

#define DIAG_NULL ((Diag){.offset = DIAG_NO_OFFSET})

/* Fills *d (may be NULL: then does nothing) with a code and a sentence, and returns code. */
TW_PRINTF(3, 4) int diag_set(Diag *d, int code, const char *format, ...);

/* Adds the place: the offset, and line and column counted in the n bytes of text. */
void diag_set_place(Diag *d, const char *text, size_t n, size_t offset);

/* Adds the name or pointer of the field concerned; cut if too long. */
TW_PRINTF(2, 3) void diag_set_field(Diag *d, const char *format, ...);

/* Puts text in front of the message, such as the file and line it is about; what no longer fits is
 * cut at the end. */
TW_PRINTF(2, 3) void diag_prefix(Diag *d, const char *format, ...);
