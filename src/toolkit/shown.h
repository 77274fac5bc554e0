/* toolkit/shown.h: names that strangers chose, letter by letter, as text that can be shown.
 *
 * Paths and authors are anybody's bytes. What would end a line, move a cursor or turn the direction
 * of writing is written with a backslash, and so is what is not UTF-8:
 *
 *     U+0001   \x01      U+2028   \u2028      the byte FF   \xff
 *     U+0085   \u0085    (a byte that is no letter and a letter of that number differ)
 *
 * A backslash is doubled where it could be read as the beginning of one of these, and only there:
 * two names never become the same text. Thread: any.
 */
#pragma once

#include "base/span.h"

#include <stddef.h>

/* A letter as it is shown: itself, or an escape, which is of ASCII letters. */
typedef struct ToolkitShown {
    char bytes[8];
    size_t n;
} ToolkitShown;

/* Takes the first letter of *left, which must not be empty. */
ToolkitShown toolkit_shown_next(Span *left);
