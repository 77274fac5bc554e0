#include "base/bytes.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* Below this a buffer grows in one step: most messages fit, and realloc's cost is per call. */
#define BYTES_MIN_CAP 256

void bytes_init(Bytes *b, size_t max_bytes)
{
    *b = (Bytes){.max_bytes = max_bytes};
}

void bytes_deinit(Bytes *b)
{
    b->data = mem_free(b->data);
    *b = BYTES_NULL;
}

void bytes_clear_keep(Bytes *b, size_t keep_bytes)
{
    b->n = 0;
    if (b->cap > keep_bytes) {
        b->data = mem_free(b->data);
        b->cap = 0;
    }
}

int bytes_reserve(Bytes *b, size_t extra)
{
    size_t cap;
    char *data;

    if (extra > b->max_bytes - b->n) {
        return BYTES_E_FULL;
    }
    if (extra <= b->cap - b->n) {
        return 0;
    }
    /* Doubling keeps appends linear in total; the maximum caps the last step, so no more is ever
     * held. */
    cap = b->cap < BYTES_MIN_CAP / 2 ? BYTES_MIN_CAP : b->cap;
    if (b->cap >= BYTES_MIN_CAP / 2) {
        cap = b->cap > b->max_bytes / 2 ? b->max_bytes : b->cap * 2;
    }
    if (cap < b->n + extra) {
        cap = b->n + extra;
    }
    if (cap > b->max_bytes) {
        cap = b->max_bytes;
    }
    data = mem_realloc(b->data, cap);
    if (data == NULL) {
        return err_raise(-ENOMEM);
    }
    b->data = data;
    b->cap = cap;
    return 0;
}

int bytes_append_growing(Bytes *b, const void *p, size_t n)
{
    int r = bytes_reserve(b, n);

    if (r != 0) {
        return r;
    }
    if (n > 0) {
        memcpy(b->data + b->n, p, n);
        b->n += n;
    }
    return 0;
}

int bytes_append_byte(Bytes *b, char c)
{
    return bytes_append(b, &c, 1);
}

int bytes_append_format(Bytes *b, const char *format, ...)
{
    va_list args;
    va_list again;
    char small[256];
    int n;
    int r = 0;

    va_start(args, format);
    va_copy(again, args);
    n = vsnprintf(small, sizeof(small), format, args);
    if (n < 0) {
        r = err_raise(-EINVAL);
    } else if ((size_t)n < sizeof(small)) {
        r = bytes_append(b, small, (size_t)n);
    } else if ((size_t)n > b->max_bytes - b->n) {
        /* Before the text is made: what cannot be kept must not cost its size in memory either. */
        r = BYTES_E_FULL;
    } else {
        /* vsnprintf wants room for its NUL, which is not part of the content. */
        char *large = mem_alloc((size_t)n + 1);

        if (large == NULL) {
            r = err_raise(-ENOMEM);
        } else {
            (void)vsnprintf(large, (size_t)n + 1, format, again);
            r = bytes_append(b, large, (size_t)n);
            (void)mem_free(large);
        }
    }
    va_end(again);
    va_end(args);
    return r;
}

void bytes_drop_front(Bytes *b, size_t n)
{
    assert(n <= b->n);
    b->n -= n;
    if (b->n > 0 && n > 0) {
        memmove(b->data, b->data + n, b->n);
    }
}
