/* base/bytes.h: a growable byte buffer that cannot be created without its maximum.
 *
 * Appending past the maximum fails with BYTES_E_FULL and leaves the buffer as it was, so a peer
 * cannot make it grow further than its owner decided. Thread: any, one at a time.
 */
#pragma once

#include "base/compiler.h"
#include "base/span.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BYTES_E_FULL = 1, /* the append would pass max_bytes; nothing was appended */
};

typedef struct Bytes {
    char *data;
    size_t n;         /* bytes in use */
    size_t cap;       /* bytes allocated */
    size_t max_bytes; /* n never exceeds this */
} Bytes;

#define BYTES_NULL ((Bytes){NULL, 0, 0, 0})

/* A part of a message that was not appended but only lent: it belongs `at` bytes behind the
 * message's beginning, and stays its owner's. p NULL: nothing. Worth it from BYTES_LEND_MIN on:
 * below, a copy costs less than a write of its own. */
typedef struct BytesLent {
    size_t at;
    Span span;
} BytesLent;

#define BYTES_LENT_NULL ((BytesLent){0, {NULL, 0}})
#define BYTES_LEND_MIN  ((size_t)32 * 1024)

/* The same four bytes in the other order: what a length was meant to be if it was written with its
 * most significant byte at the wrong end. */
TW_INLINE uint32_t bytes_swap32(uint32_t n)
{
    return n >> 24 | (n >> 8 & 0xFF00u) | (n << 8 & 0xFF0000u) | n << 24;
}

/* Empty; allocates nothing yet. */
void bytes_init(Bytes *b, size_t max_bytes);

/* Releases the storage; b is then an empty buffer of maximum 0. May run twice. */
void bytes_deinit(Bytes *b);

/* Empties b and keeps its storage for the next use. */
TW_INLINE void bytes_clear(Bytes *b)
{
    b->n = 0;
}

/* As bytes_clear, but storage above keep_bytes is given back: one huge message must not pin its
 * memory. */
void bytes_clear_keep(Bytes *b, size_t keep_bytes);

/* Makes room for `extra` more bytes at b->data + b->n. 0, -ENOMEM, BYTES_E_FULL. */
int bytes_reserve(Bytes *b, size_t extra);

/* What bytes_append does when there is no room yet. */
int bytes_append_growing(Bytes *b, const void *p, size_t n);

/* Appends n bytes; borrows p until return. 0, -ENOMEM, BYTES_E_FULL. Inline, since messages are
 * put together from dozens of short pieces. */
TW_INLINE int bytes_append(Bytes *b, const void *p, size_t n)
{
    if (TW_LIKELY(n <= b->cap - b->n && n <= b->max_bytes - b->n)) {
        if (n > 0) {
            memcpy(b->data + b->n, p, n);
        }
        b->n += n;
        return 0;
    }
    return bytes_append_growing(b, p, n);
}

/* Appends a Span, one byte, or formatted text (without its NUL). Outcomes as bytes_append. */
TW_INLINE int bytes_append_span(Bytes *b, Span s)
{
    return bytes_append(b, s.p, s.n);
}
int bytes_append_byte(Bytes *b, char c);
TW_PRINTF(2, 3) int bytes_append_format(Bytes *b, const char *format, ...);

/* Drops the first n bytes (n <= b->n) and moves the rest to the front. */
void bytes_drop_front(Bytes *b, size_t n);

/* The content, borrowed until the next change. */
TW_INLINE Span bytes_span(const Bytes *b)
{
    return span_make(b->data, b->n);
}
