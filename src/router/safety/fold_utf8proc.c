#include "router/safety/fold.h"

#include <utf8proc.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"

#define FOLD_NFKC (UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT)

/* Capital I with a dot: its simple mapping is "i", which only Turkish means. */
#define FOLD_DOTTED_I 0x130

int safety_fold_unicode(Span text, Bytes *out)
{
    CLEANUP(mem_freep) utf8proc_int32_t *points = NULL;
    const utf8proc_uint8_t *p = (const utf8proc_uint8_t *)text.p;
    utf8proc_ssize_t n = utf8proc_decompose(p, (utf8proc_ssize_t)text.n, NULL, 0, FOLD_NFKC);

    if (n < 0) {
        return err_raise(-ENOTRECOVERABLE);
    }
    points = mem_alloc_array((size_t)n + 1, sizeof(*points));
    if (points == NULL) {
        return err_raise(-ENOMEM);
    }
    n = utf8proc_decompose(p, (utf8proc_ssize_t)text.n, points, n, FOLD_NFKC);
    if (n >= 0) {
        n = utf8proc_normalize_utf32(points, n, FOLD_NFKC);
    }
    if (n < 0) {
        return err_raise(-ENOTRECOVERABLE);
    }
    for (utf8proc_ssize_t i = 0; i < n; i++) {
        utf8proc_int32_t c = points[i];
        char sequence[4];
        int r;

        c = c == FOLD_DOTTED_I ? c : utf8proc_tolower(c);
        r = bytes_append(out, sequence, utf8_encode((uint32_t)c, sequence));
        if (r != 0) {
            return r;
        }
    }
    return 0;
}
