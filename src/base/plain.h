/* base/plain.h: a stranger's text without what would do something to a terminal.
 *
 * Escape sequences (CSI, OSC and their like, also in their one-letter forms U+0080 to U+009F) and
 * control characters are left out; line feeds and tabs stay. Text may come in pieces, cut anywhere:
 * the filter remembers. A line feed ends a sequence that has no end, so that little is swallowed.
 * Thread: any, one at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/span.h"

typedef enum PlainState {
    PLAIN_TEXT,
    PLAIN_LEAD,       /* 0xC2 was read: with the next byte it is a letter, or a control */
    PLAIN_ESCAPE,     /* ESC was read */
    PLAIN_CSI,        /* up to its final letter */
    PLAIN_STRING,     /* up to BEL or ESC \ */
    PLAIN_STRING_LEAD /* 0xC2 inside: the next byte may end it */
} PlainState;

typedef struct Plain {
    PlainState state;
} Plain;

#define PLAIN_NULL ((Plain){PLAIN_TEXT})

/* Appends what may be shown. 0, -ENOMEM, BYTES_E_FULL (some of it may have been appended). */
int plain_feed(Plain *plain, Span text, Bytes *out);
