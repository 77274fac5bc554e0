#include "toolkit/shown.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/utf8.h"

typedef struct ShownRange {
    uint32_t first;
    uint32_t last;
} ShownRange;

/* Controls, ends of lines, marks of direction, and what XML cannot say. */
static const ShownRange shown_hidden[] = {
    {0x0000, 0x001F}, {0x007F, 0x009F}, {0x061C, 0x061C}, {0x200E, 0x200F},
    {0x2028, 0x202E}, {0x2066, 0x2069}, {0xFFFE, 0xFFFF},
};

static uint32_t shown_decode(const char *p, unsigned n)
{
    static const unsigned char lead_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t code = utf8_byte(p) & lead_bits[n];

    for (unsigned i = 1; i < n; i++) {
        code = code << 6 | (utf8_byte(p + i) & 0x3F);
    }
    return code;
}

static bool shown_is_hidden(uint32_t code)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(shown_hidden); i++) {
        if (code >= shown_hidden[i].first && code <= shown_hidden[i].last) {
            return true;
        }
    }
    return false;
}

/* Would a backslash in front of this be read together with it? */
static bool shown_takes_backslash(Span text)
{
    unsigned n = text.n > 0 ? utf8_sequence(text.p, text.p + text.n) : 0;

    if (text.n == 0) {
        return false;
    }
    return n == 0 || strchr("\\xu", *text.p) != NULL || shown_is_hidden(shown_decode(text.p, n));
}

ToolkitShown toolkit_shown_next(Span *left)
{
    unsigned n = utf8_sequence(left->p, left->p + left->n);
    const char *p = left->p;
    ToolkitShown shown = {.n = n};
    uint32_t code = n > 0 ? shown_decode(p, n) : utf8_byte(p);

    *left = span_make(p + (n > 0 ? n : 1), left->n - (n > 0 ? n : 1));
    if (n == 0 || shown_is_hidden(code)) {
        shown.n = (size_t)snprintf(shown.bytes, sizeof(shown.bytes),
                                   n == 0 || code < 0x80 ? "\\x%02x" : "\\u%04x", code & 0xFFFF);
    } else if (*p == '\\' && shown_takes_backslash(*left)) {
        memcpy(shown.bytes, "\\\\", 2);
        shown.n = 2;
    } else {
        memcpy(shown.bytes, p, n);
    }
    return shown;
}
