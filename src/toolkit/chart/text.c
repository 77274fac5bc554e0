#include "toolkit/chart/text.h"

#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/utf8.h"
#include "toolkit/shown.h"

typedef struct TextRange {
    uint32_t first;
    uint32_t last;
} TextRange;

/* Letters that take two columns on terminals: East Asian ones, and pictures. Blocks, where single
 * code points of them are not assigned. */
static const TextRange text_wide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},
    {0x23F0, 0x23F0},   {0x23F3, 0x23F3},   {0x25FD, 0x25FE},   {0x2614, 0x2615},
    {0x2648, 0x2653},   {0x267F, 0x267F},   {0x2693, 0x2693},   {0x26A1, 0x26A1},
    {0x26AA, 0x26AB},   {0x26BD, 0x26BE},   {0x26C4, 0x26C5},   {0x26CE, 0x26CE},
    {0x26D4, 0x26D4},   {0x26EA, 0x26EA},   {0x26F2, 0x26F3},   {0x26F5, 0x26F5},
    {0x26FA, 0x26FA},   {0x26FD, 0x26FD},   {0x2705, 0x2705},   {0x270A, 0x270B},
    {0x2728, 0x2728},   {0x274C, 0x274C},   {0x274E, 0x274E},   {0x2753, 0x2755},
    {0x2757, 0x2757},   {0x2795, 0x2797},   {0x27B0, 0x27B0},   {0x27BF, 0x27BF},
    {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2B55, 0x2B55},   {0x2E80, 0x303E},
    {0x3041, 0x4DBF},   {0x4E00, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},
    {0xFFE0, 0xFFE6},   {0x16FE0, 0x18CFF}, {0x1AFF0, 0x1B2FF}, {0x1F004, 0x1F004},
    {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F18E}, {0x1F191, 0x1F19A}, {0x1F200, 0x1F320},
    {0x1F32D, 0x1F335}, {0x1F337, 0x1F37C}, {0x1F37E, 0x1F393}, {0x1F3A0, 0x1F3CA},
    {0x1F3CF, 0x1F3D3}, {0x1F3E0, 0x1F3F0}, {0x1F3F4, 0x1F3F4}, {0x1F3F8, 0x1F43E},
    {0x1F440, 0x1F440}, {0x1F442, 0x1F4FC}, {0x1F4FF, 0x1F53D}, {0x1F54B, 0x1F54E},
    {0x1F550, 0x1F567}, {0x1F57A, 0x1F57A}, {0x1F595, 0x1F596}, {0x1F5A4, 0x1F5A4},
    {0x1F5FB, 0x1F64F}, {0x1F680, 0x1F6C5}, {0x1F6CC, 0x1F6CC}, {0x1F6D0, 0x1F6D2},
    {0x1F6D5, 0x1F6DF}, {0x1F6EB, 0x1F6EC}, {0x1F6F4, 0x1F6FC}, {0x1F7E0, 0x1F7F0},
    {0x1F90C, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
};

/* Marks upon the letter before, and what joins letters. */
static const TextRange text_zero[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489},   {0x0591, 0x05BD}, {0x0610, 0x061A}, {0x064B, 0x065F},
    {0x0670, 0x0670}, {0x093C, 0x093C},   {0x0941, 0x0948}, {0x094D, 0x094D}, {0x0E31, 0x0E31},
    {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E},   {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200D},
    {0x20D0, 0x20FF}, {0x302A, 0x302D},   {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
    {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF},
};

static bool text_in(const TextRange *ranges, size_t n, uint32_t code)
{
    size_t low = 0;
    size_t high = n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (code > ranges[middle].last) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < n && code >= ranges[low].first;
}

#define TEXT_IN(ranges, code) text_in((ranges), TW_ARRAY_SIZE(ranges), (code))

/* One letter as it is shown. */
typedef struct TextGlyph {
    char bytes[8];
    size_t n;
    size_t width;
} TextGlyph;

static uint32_t text_decode(const char *p, unsigned n)
{
    static const unsigned char lead_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t code = utf8_byte(p) & lead_bits[n];

    for (unsigned i = 1; i < n; i++) {
        code = code << 6 | (utf8_byte(p + i) & 0x3F);
    }
    return code;
}

/* Takes the first letter of what is left. */
static TextGlyph text_next(Span *left)
{
    ToolkitShown shown = toolkit_shown_next(left);
    TextGlyph glyph = {.n = shown.n, .width = shown.n};

    memcpy(glyph.bytes, shown.bytes, shown.n);
    /* Escapes are of ASCII letters. */
    if (utf8_byte(shown.bytes) >= 0x80) {
        uint32_t code = text_decode(shown.bytes, (unsigned)shown.n);

        glyph.width = TEXT_IN(text_zero, code) ? 0 : 1;
        glyph.width += TEXT_IN(text_wide, code) && glyph.width > 0 ? 1 : 0;
    }
    return glyph;
}

size_t chart_text_width(Span text)
{
    size_t width = 0;

    while (text.n > 0) {
        width += text_next(&text).width;
    }
    return width;
}

static int append_plain(Bytes *out, const TextGlyph *glyph)
{
    return bytes_append(out, glyph->bytes, glyph->n);
}

static int append_xml(Bytes *out, const TextGlyph *glyph)
{
    switch (glyph->bytes[0]) {
    case '<':
        return bytes_append_span(out, SPAN("&lt;"));
    case '>':
        return bytes_append_span(out, SPAN("&gt;"));
    case '&':
        return bytes_append_span(out, SPAN("&amp;"));
    case '"':
        return bytes_append_span(out, SPAN("&quot;"));
    case '\'':
        return bytes_append_span(out, SPAN("&#39;"));
    default:
        return append_plain(out, glyph);
    }
}

/* The beginning of the text, as much as takes at most `width` columns. */
static int append_start(Bytes *out, Span text, size_t width,
                        int (*append)(Bytes *out, const TextGlyph *glyph))
{
    size_t used = 0;
    int r = 0;

    while (text.n > 0 && r == 0) {
        TextGlyph glyph = text_next(&text);

        used += glyph.width;
        if (used > width) {
            break;
        }
        r = append(out, &glyph);
    }
    return r;
}

static int append_cut(Bytes *out, Span text, size_t width, ChartCut cut,
                      int (*append)(Bytes *out, const TextGlyph *glyph))
{
    size_t n = out->n;
    size_t whole = width == SIZE_MAX ? 0 : chart_text_width(text);
    int r = 0;

    if (whole <= width) {
        r = append_start(out, text, SIZE_MAX, append);
    } else if (width > 0 && cut == CHART_CUT_END) {
        /* The last column is for the mark that says so. */
        r = append_start(out, text, width - 1, append);
        r = r != 0 ? r : bytes_append_span(out, SPAN("\u2026"));
    } else if (width > 0) {
        while (whole > width - 1) {
            whole -= text_next(&text).width;
        }
        r = bytes_append_span(out, SPAN("\u2026"));
        r = r != 0 ? r : append_start(out, text, SIZE_MAX, append);
    }
    if (r != 0) {
        out->n = n;
    }
    return r;
}

int chart_text_append(Bytes *out, Span text, size_t width, ChartCut cut)
{
    return append_cut(out, text, width, cut, append_plain);
}

int chart_text_append_xml(Bytes *out, Span text, size_t width, ChartCut cut)
{
    return append_cut(out, text, width, cut, append_xml);
}

int chart_number_append(Bytes *out, double value, unsigned decimals)
{
    char digits[512]; /* the longest double has 309 before its point */
    int n = snprintf(digits, sizeof(digits), "%.*f", decimals < 16 ? (int)decimals : 16, value);
    size_t at = 0;
    size_t whole;
    int r = 0;

    if (n < 0 || (size_t)n >= sizeof(digits)) {
        return err_raise(-EINVAL);
    }
    whole = strcspn(digits, ".");
    at = digits[0] == '-' ? 1 : 0;
    r = bytes_append(out, digits, at);
    for (; at < whole && r == 0; at++) {
        r = bytes_append_byte(out, digits[at]);
        if (r == 0 && at + 1 < whole && (whole - at - 1) % 3 == 0) {
            r = bytes_append_byte(out, ',');
        }
    }
    return r != 0 ? r : bytes_append(out, digits + whole, (size_t)n - whole);
}
