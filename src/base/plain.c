#include "base/plain.h"

#include <stdbool.h>

#define BYTE_BEL  0x07u
#define BYTE_ESC  0x1Bu
#define BYTE_DEL  0x7Fu
#define BYTE_LEAD 0xC2u /* of U+0080 to U+00BF */
#define BYTE_CSI  0x9Bu /* behind the lead byte */
#define BYTE_ST   0x9Cu

/* What begins a string: DCS, SOS, OSC, PM, APC, as a letter behind ESC or as a control. */
static bool plain_begins_string(unsigned c)
{
    return c == 'P' || c == 'X' || c == ']' || c == '^' || c == '_';
}

static PlainState plain_after_escape(unsigned c)
{
    if (c == '[') {
        return PLAIN_CSI;
    }
    if (plain_begins_string(c)) {
        return PLAIN_STRING;
    }
    /* Letters between, such as in ESC ( B, are followed by the one that ends it. */
    return c >= 0x20 && c < 0x30 ? PLAIN_ESCAPE : PLAIN_TEXT;
}

static PlainState plain_after_control(unsigned c)
{
    if (c == BYTE_CSI) {
        return PLAIN_CSI;
    }
    return plain_begins_string(c - 0x40) ? PLAIN_STRING : PLAIN_TEXT;
}

static PlainState plain_in_string(unsigned c)
{
    if (c == BYTE_BEL) {
        return PLAIN_TEXT;
    }
    /* ESC \ is the end, and ESC with anything else is a new sequence: the end, too. */
    return c == BYTE_ESC ? PLAIN_ESCAPE : c == BYTE_LEAD ? PLAIN_STRING_LEAD : PLAIN_STRING;
}

/* What follows a byte inside a sequence, none of which is shown. */
static PlainState plain_inside(PlainState state, unsigned c)
{
    switch (state) {
    case PLAIN_ESCAPE:
        return c == BYTE_ESC ? PLAIN_ESCAPE : plain_after_escape(c);
    case PLAIN_CSI:
        return c == BYTE_ESC ? PLAIN_ESCAPE : c >= 0x40 && c <= 0x7E ? PLAIN_TEXT : PLAIN_CSI;
    case PLAIN_STRING_LEAD:
        return c == BYTE_ST ? PLAIN_TEXT : plain_in_string(c);
    default:
        return plain_in_string(c);
    }
}

/* One byte outside of any sequence; keeps the state for the next. */
static int plain_text(Plain *plain, unsigned c, Bytes *out)
{
    const char byte = (char)c;

    plain->state = c == BYTE_ESC ? PLAIN_ESCAPE : c == BYTE_LEAD ? PLAIN_LEAD : PLAIN_TEXT;
    if (plain->state != PLAIN_TEXT || (c < 0x20 && c != '\n' && c != '\t') || c == BYTE_DEL) {
        return 0;
    }
    return bytes_append(out, &byte, 1);
}

/* The byte behind a lead: a control of two bytes, or the rest of a letter; or anything, behind a
 * lead that was none. */
static int plain_behind_lead(Plain *plain, unsigned c, Bytes *out)
{
    const char lead = (char)BYTE_LEAD;
    int r;

    if (c >= 0x80 && c < 0xA0) {
        plain->state = plain_after_control(c);
        return 0;
    }
    r = bytes_append(out, &lead, 1);
    return r != 0 ? r : plain_text(plain, c, out);
}

int plain_feed(Plain *plain, Span text, Bytes *out)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < text.n; i++) {
        unsigned c = (unsigned char)text.p[i];

        if (plain->state == PLAIN_LEAD) {
            r = plain_behind_lead(plain, c, out);
        } else if (plain->state == PLAIN_TEXT || c == '\n') {
            r = plain_text(plain, c, out);
        } else {
            plain->state = plain_inside(plain->state, c);
        }
    }
    return r;
}
