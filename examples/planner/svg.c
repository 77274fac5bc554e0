#include "svg.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool svg_reserve(Svg *svg, size_t more)
{
    size_t size = svg->size == 0 ? 4096 : svg->size;
    char *text;

    if (svg->is_failed || svg->n + more + 1 <= svg->size) {
        return !svg->is_failed;
    }
    while (size < svg->n + more + 1) {
        size *= 2;
    }
    text = realloc(svg->text, size);
    if (text == NULL) {
        svg->is_failed = true;
        return false;
    }
    svg->text = text;
    svg->size = size;
    return true;
}

static void svg_bytes(Svg *svg, const char *bytes, size_t n)
{
    if (svg_reserve(svg, n)) {
        memcpy(svg->text + svg->n, bytes, n);
        svg->n += n;
        svg->text[svg->n] = '\0';
    }
}

void svg_add(Svg *svg, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n >= 0 && svg_reserve(svg, (size_t)n)) {
        va_start(args, format);
        (void)vsnprintf(svg->text + svg->n, (size_t)n + 1, format, args);
        va_end(args);
        svg->n += (size_t)n;
    }
}

void svg_number(Svg *svg, double number)
{
    char text[40];
    size_t n;

    /* Rounded first, so that nothing becomes "-0". */
    number = round(number * 100) / 100;
    (void)snprintf(text, sizeof(text), "%.2f", number == 0 ? 0 : number);
    n = strlen(text);
    while (text[n - 1] == '0') {
        n--;
    }
    if (text[n - 1] == '.') {
        n--;
    }
    svg_bytes(svg, text, n);
}

void svg_attribute(Svg *svg, const char *name, double number)
{
    svg_add(svg, " %s=\"", name);
    svg_number(svg, number);
    svg_add(svg, "\"");
}

void svg_point(Svg *svg, Point point)
{
    svg_number(svg, point.x);
    svg_add(svg, ",");
    svg_number(svg, point.y);
}

/* Bytes of the UTF-8 character at text; 0 if there is none that XML may hold. */
static size_t character_length(const unsigned char *text)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = text[0] < 0x80   ? 1
               : text[0] < 0xc0 ? 0
               : text[0] < 0xe0 ? 2
               : text[0] < 0xf0 ? 3
                                : 4;
    unsigned code = n == 1 ? text[0] : n == 2 ? text[0] & 0x1fu : text[0] & (n == 3 ? 0x0fu : 7u);

    if (n == 0 || text[0] > 0xf4) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (text[i] & 0x3fu);
    }
    if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ||
        (code < 0x20 && code != '\t' && code != '\n' && code != '\r') || code == 0xfffe ||
        code == 0xffff) {
        return 0;
    }
    return n;
}

void svg_escaped(Svg *svg, const char *text)
{
    while (*text != '\0') {
        size_t n = character_length((const unsigned char *)text);

        switch (n == 0 ? '\0' : *text) {
        case '\0':
            svg_add(svg, "\xEF\xBF\xBD");
            n = 1;
            break;
        case '&':
            svg_add(svg, "&amp;");
            break;
        case '<':
            svg_add(svg, "&lt;");
            break;
        case '>':
            svg_add(svg, "&gt;");
            break;
        case '"':
            svg_add(svg, "&quot;");
            break;
        default:
            svg_bytes(svg, text, n);
            break;
        }
        text += n;
    }
}
