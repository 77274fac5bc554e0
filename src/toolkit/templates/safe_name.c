/* Names that come from outside and become part of a path. */
#include <string.h>

#include "base/text.h"
#include "toolkit/templates/parameters.h"

/* Names that Windows takes for a device, whatever follows a dot: "nul", "NUL.txt", "com1 .c". */
static bool name_is_device(Span name)
{
    static const char *const devices[] = {"con", "prn", "aux", "nul", "conin$", "conout$"};
    static const char *const ports[] = {"com", "lpt"};
    /* The digits that Latin-1 has raised count as digits there. */
    static const char *const raised[] = {"\xC2\xB9", "\xC2\xB2", "\xC2\xB3"};
    const char *dot = memchr(name.p, '.', name.n);
    Span stem = text_trim(span_make(name.p, dot != NULL ? (size_t)(dot - name.p) : name.n));
    Span digit;

    for (size_t i = 0; i < TW_ARRAY_SIZE(devices); i++) {
        if (text_equals_nocase(stem, span_from_str(devices[i]))) {
            return true;
        }
    }
    if (stem.n < 4 || (!text_equals_nocase(span_make(stem.p, 3), span_from_str(ports[0])) &&
                       !text_equals_nocase(span_make(stem.p, 3), span_from_str(ports[1])))) {
        return false;
    }
    digit = span_make(stem.p + 3, stem.n - 3);
    return (digit.n == 1 && digit.p[0] >= '0' && digit.p[0] <= '9') ||
           text_is_one_of(digit, raised, TW_ARRAY_SIZE(raised), NULL);
}

bool template_name_is_safe(Span name)
{
    if (name.n == 0 || name.n > TEMPLATE_NAME_MAX) {
        return false;
    }
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];

        if (c < 0x20 || c == 0x7F || c == '/' || c == '\\' || c == ':') {
            return false;
        }
    }
    /* Windows drops dots and blanks at the end, so that ".. " would be "..". */
    return name.p[name.n - 1] != '.' && name.p[name.n - 1] != ' ' && !name_is_device(name);
}

bool template_path_is_safe(Span path)
{
    if (path.n > TEMPLATE_PATH_MAX) {
        return false;
    }
    for (Span rest = path;;) {
        const char *slash = rest.n > 0 ? memchr(rest.p, '/', rest.n) : NULL;
        size_t n = slash != NULL ? (size_t)(slash - rest.p) : rest.n;

        if (!template_name_is_safe(span_make(rest.p, n))) {
            return false;
        }
        if (slash == NULL) {
            return true;
        }
        rest = span_make(slash + 1, rest.n - n - 1);
    }
}
