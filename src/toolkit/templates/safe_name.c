/* Names that come from outside and become part of a path. */
#include <string.h>

#include "toolkit/templates/parameters.h"

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
    return name.p[name.n - 1] != '.' && name.p[name.n - 1] != ' ';
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
