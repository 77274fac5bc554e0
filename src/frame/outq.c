#include "frame/outq.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

#define OUTQ_KEEP_BYTES ((size_t)(LIMIT_KEEP_BYTES))

/* The storage of a larger message is given back as soon as it was sent: the answer to it may be as
 * large, and need not find it in its way. Beside moving such a message, getting memory is cheap. */
#define OUTQ_KEEP_LARGE_BYTES ((size_t)4 * 1024 * 1024)

/* Enough for a large message (header, body, end) in flight while the next one is queued. */
#define OUTQ_MIN_SLOTS 8

/* The i-th segment in use; i = n_used is the first free slot. */
static OutqSegment *outq_segment(const Outq *q, size_t i)
{
    return &q->slots[(q->first + i) & (q->n_slots - 1)];
}

/* All of the segment, consumed or not. */
static Span outq_content(const OutqSegment *s)
{
    return s->lent.p != NULL ? s->lent : bytes_span(&s->bytes);
}

void outq_init(Outq *q, size_t max_pending)
{
    *q = (Outq){.max_pending = max_pending};
}

void outq_deinit(Outq *q)
{
    for (size_t i = 0; i < q->n_slots; i++) {
        bytes_deinit(&q->slots[i].bytes);
    }
    q->slots = mem_free(q->slots);
    *q = OUTQ_NULL;
}

void outq_trim(Outq *q)
{
    for (size_t i = q->n_used; i < q->n_slots && q->n_kept > OUTQ_KEEP_BYTES; i++) {
        OutqSegment *s = outq_segment(q, i);

        q->n_kept -= s->bytes.cap;
        bytes_deinit(&s->bytes);
    }
}

/* Makes sure of n free slots. The segments' structs move, their bytes do not. */
static int outq_reserve_slots(Outq *q, size_t n)
{
    size_t n_slots = q->n_slots == 0 ? OUTQ_MIN_SLOTS : q->n_slots;
    OutqSegment *slots;

    if (TW_LIKELY(q->n_slots - q->n_used >= n)) {
        return 0;
    }
    while (n_slots - q->n_used < n) {
        n_slots *= 2;
    }
    slots = mem_alloc_array(n_slots, sizeof(*slots));
    if (slots == NULL) {
        return err_raise(-ENOMEM);
    }
    /* Free slots come along behind the used ones: their storage is counted in n_kept. */
    for (size_t i = 0; i < q->n_slots; i++) {
        slots[i] = *outq_segment(q, i);
    }
    (void)mem_free(q->slots);
    q->slots = slots;
    q->n_slots = n_slots;
    q->first = 0;
    return 0;
}

/* Takes the first free slot, with whatever storage it kept, into use. */
static OutqSegment *outq_use_slot(Outq *q)
{
    OutqSegment *s = outq_segment(q, q->n_used);

    q->n_kept -= s->bytes.cap;
    q->n_used++;
    s->head = 0;
    s->fixed = false;
    s->bytes.n = 0;
    /* The queue bounds the sum; a bound of the single segment is set only while a caller appends to
     * it. */
    s->bytes.max_bytes = SIZE_MAX;
    return s;
}

/* Empties a slot that is no longer in use, keeping its storage if there is not enough of that
 * already. The storage of a large message is kept beyond that (but not of a huge one), for another
 * one that may follow; if a small one takes its place, or trim is called first, it is given back.
 */
static void outq_retire(Outq *q, OutqSegment *s)
{
    bool is_large = s->bytes.n > OUTQ_KEEP_BYTES && s->bytes.cap <= OUTQ_KEEP_LARGE_BYTES;
    size_t more = is_large ? s->bytes.cap : 0;

    if (q->n_kept + s->bytes.cap > OUTQ_KEEP_BYTES + more) {
        bytes_deinit(&s->bytes);
    }
    if (s->lent.p != NULL) {
        s->lent = SPAN_NULL;
        q->n_lent--;
    }
    s->bytes.n = 0;
    s->head = 0;
    q->n_kept += s->bytes.cap;
}

/* The segment to append n more bytes to: the last one unless it is being written or full, else a
 * new one. One free slot must be there. */
static OutqSegment *outq_open(Outq *q, size_t n)
{
    OutqSegment *s;

    if (q->n_used > q->n_shown) {
        OutqSegment *last = outq_segment(q, q->n_used - 1);

        if (n <= last->bytes.cap - last->bytes.n) {
            return last;
        }
        /* Growing copies what is there; a large message is better off with room of exactly its
         * size. */
        if (!last->fixed && last->bytes.n < OUTQ_SEGMENT_BYTES && n <= OUTQ_COPY_BYTES) {
            return last;
        }
    }
    s = outq_use_slot(q);
    s->fixed = n > OUTQ_COPY_BYTES;
    return s;
}

static void outq_put(OutqSegment *s, Span span)
{
    if (span.n > 0) {
        memcpy(s->bytes.data + s->bytes.n, span.p, span.n);
        s->bytes.n += span.n;
    }
}

/* Puts all three, for which there is room. The sizes of prefix and suffix are known at hand: copies
 * of constant size become single stores, where a call would cost as much as the message. */
static void outq_put_message(OutqSegment *s, Span prefix, Span body, Span suffix)
{
    if (prefix.n == 4) {
        memcpy(s->bytes.data + s->bytes.n, prefix.p, 4);
        s->bytes.n += 4;
    } else {
        outq_put(s, prefix);
    }
    outq_put(s, body);
    if (suffix.n == 1) {
        s->bytes.data[s->bytes.n++] = suffix.p[0];
    } else {
        outq_put(s, suffix);
    }
}

/* Undoes the use of the last segment if nothing was put into it. */
static void outq_drop_empty(Outq *q)
{
    OutqSegment *last = q->n_used == 0 ? NULL : outq_segment(q, q->n_used - 1);

    if (last != NULL && last->bytes.n == 0) {
        q->n_used--;
        outq_retire(q, last);
    }
}

/* Bytes of the three parts, or SIZE_MAX, which no queue has room for. */
static size_t outq_total(Span prefix, size_t n_body, Span suffix)
{
    size_t n;

    if (!mem_size_add(prefix.n, n_body, &n) || !mem_size_add(n, suffix.n, &n)) {
        return SIZE_MAX;
    }
    return n;
}

int outq_push(Outq *q, Span prefix, Span body, Span suffix)
{
    size_t n = outq_total(prefix, body.n, suffix);
    OutqSegment *s;
    int r;

    assert(!q->composing);
    if (n > q->max_pending - q->n_pending) {
        return OUTQ_E_FULL;
    }
    if (TW_LIKELY(q->n_used > q->n_shown)) {
        s = outq_segment(q, q->n_used - 1);
        if (TW_LIKELY(n <= s->bytes.cap - s->bytes.n)) {
            outq_put_message(s, prefix, body, suffix);
            q->n_pending += n;
            return 0;
        }
    }
    r = outq_reserve_slots(q, 1);
    if (r != 0) {
        return err_pass(r);
    }
    s = outq_open(q, n);
    r = bytes_reserve(&s->bytes, n);
    if (r != 0) {
        outq_drop_empty(q);
        return err_fold(r);
    }
    outq_put_message(s, prefix, body, suffix);
    q->n_pending += n;
    /* A message of no bytes at all must not leave an empty segment for pull to show. */
    outq_drop_empty(q);
    return 0;
}

/* Makes the free slot at position i (counted as in outq_segment) hold room for n bytes. */
static int outq_prepare_slot(Outq *q, size_t i, size_t n)
{
    OutqSegment *s = outq_segment(q, i);
    size_t cap = s->bytes.cap;
    int r;

    s->bytes.max_bytes = SIZE_MAX;
    r = bytes_reserve(&s->bytes, n);
    q->n_kept += s->bytes.cap - cap;
    return r;
}

/* Exchanges storage: the queue gets the content, the caller an empty buffer with what the slot had
 * kept. */
static void outq_swap(Outq *q, Bytes *body)
{
    OutqSegment *s = outq_use_slot(q);
    Bytes kept = s->bytes;

    kept.max_bytes = body->max_bytes;
    if (kept.cap > kept.max_bytes) {
        bytes_deinit(&kept);
        kept.max_bytes = body->max_bytes;
    }
    s->fixed = true;
    s->bytes = *body;
    s->bytes.max_bytes = SIZE_MAX;
    *body = kept;
}

int outq_push_taken(Outq *q, Span prefix, Bytes *body, Span suffix)
{
    size_t n = outq_total(prefix, body->n, suffix);
    bool own_suffix = suffix.n > body->cap - body->n;
    OutqSegment *s;
    int r;

    assert(!q->composing);
    if (body->n <= OUTQ_COPY_BYTES) {
        r = outq_push(q, prefix, bytes_span(body), suffix);
        if (r == 0) {
            bytes_clear(body);
        }
        return r;
    }
    if (n > q->max_pending - q->n_pending) {
        return OUTQ_E_FULL;
    }
    r = outq_reserve_slots(q, 3);
    if (r != 0) {
        return err_pass(r);
    }
    /* Everything that can fail comes before the first byte is queued. */
    s = outq_open(q, prefix.n);
    r = bytes_reserve(&s->bytes, prefix.n);
    if (r == 0 && own_suffix) {
        r = outq_prepare_slot(q, q->n_used + (s->bytes.n + prefix.n > 0), suffix.n);
    }
    if (r != 0) {
        outq_drop_empty(q);
        return err_fold(r);
    }
    outq_put(s, prefix);
    outq_drop_empty(q);
    outq_swap(q, body);
    outq_put(own_suffix ? outq_use_slot(q) : outq_segment(q, q->n_used - 1), suffix);
    q->n_pending += n;
    return 0;
}

int outq_begin(Outq *q, size_t n_prefix, Bytes **ret_bytes)
{
    size_t room = q->max_pending - q->n_pending;
    OutqSegment *s;
    int r;

    assert(!q->composing);
    if (n_prefix > room) {
        return OUTQ_E_FULL;
    }
    r = outq_reserve_slots(q, 1);
    if (r != 0) {
        return err_pass(r);
    }
    /* The size is not known yet; most messages are small and belong behind the others. */
    s = outq_open(q, OUTQ_COPY_BYTES);
    r = bytes_reserve(&s->bytes, n_prefix);
    if (r != 0) {
        outq_drop_empty(q);
        return err_fold(r);
    }
    q->start = s->bytes.n;
    q->n_prefix = n_prefix;
    q->composing = true;
    s->bytes.n += n_prefix;
    /* Exactly what is left of the queue's maximum, which counts no bytes before `start` a second
     * time. */
    s->bytes.max_bytes = room > SIZE_MAX - q->start ? SIZE_MAX : q->start + room;
    *ret_bytes = &s->bytes;
    return 0;
}

Span outq_composed(const Outq *q)
{
    const OutqSegment *s;
    size_t from = q->start + q->n_prefix;

    assert(q->composing);
    s = outq_segment(q, q->n_used - 1);
    return span_make(s->bytes.data == NULL ? NULL : s->bytes.data + from, s->bytes.n - from);
}

int outq_commit(Outq *q, Span prefix, Span suffix)
{
    OutqSegment *s;
    int r;

    assert(q->composing && prefix.n == q->n_prefix);
    s = outq_segment(q, q->n_used - 1);
    r = bytes_append_span(&s->bytes, suffix);
    if (r != 0) {
        outq_abort(q);
        return r == BYTES_E_FULL ? OUTQ_E_FULL : err_pass(r);
    }
    if (prefix.n > 0) {
        memcpy(s->bytes.data + q->start, prefix.p, prefix.n);
    }
    q->n_pending += s->bytes.n - q->start;
    q->composing = false;
    s->bytes.max_bytes = SIZE_MAX;
    outq_drop_empty(q);
    return 0;
}

int outq_commit_lent(Outq *q, Span prefix, Span suffix, BytesLent lent)
{
    OutqSegment *s = outq_segment(q, q->n_used - 1);
    size_t at = q->start + q->n_prefix + lent.at;
    size_t n_message = s->bytes.n - q->start;
    OutqSegment *behind;
    Span tail;
    int r;

    assert(q->composing && prefix.n == q->n_prefix && lent.at > 0 && at <= s->bytes.n);
    if (!mem_size_add(n_message, suffix.n, &n_message) ||
        !mem_size_add(n_message, lent.span.n, &n_message) ||
        n_message > q->max_pending - q->n_pending) {
        outq_abort(q);
        return OUTQ_E_FULL;
    }
    /* Everything that can fail comes first: two slots, and room for what stands behind. */
    r = outq_reserve_slots(q, 2);
    s = outq_segment(q, q->n_used - 1);
    tail = span_make(s->bytes.data + at, s->bytes.n - at);
    assert(tail.n + suffix.n > 0); /* so that what is pushed next finds a segment of ours */
    if (r == 0) {
        r = outq_prepare_slot(q, q->n_used + 1, tail.n + suffix.n);
    }
    if (r != 0) {
        outq_abort(q);
        return err_fold(r);
    }
    if (prefix.n > 0) {
        memcpy(s->bytes.data + q->start, prefix.p, prefix.n);
    }
    s->bytes.n = at;
    s->bytes.max_bytes = SIZE_MAX;
    q->composing = false;
    outq_use_slot(q)->lent = lent.span;
    q->n_lent++;
    behind = outq_use_slot(q);
    outq_put(behind, tail);
    outq_put(behind, suffix);
    q->n_pending += n_message;
    return 0;
}

int outq_own(Outq *q)
{
    assert(!q->composing && q->n_shown == 0);
    for (size_t i = 0; q->n_lent > 0 && i < q->n_used; i++) {
        OutqSegment *s = outq_segment(q, i);
        Span left;
        int r;

        if (s->lent.p == NULL) {
            continue;
        }
        left = span_make(s->lent.p + s->head, s->lent.n - s->head);
        r = bytes_reserve(&s->bytes, left.n);
        if (r != 0) {
            /* Not a byte of a lender's memory may be looked at any more, and what could follow
             * would stand in the middle of a message. */
            outq_consumed(q, q->n_pending);
            q->max_pending = 0;
            return err_fold(r);
        }
        s->lent = SPAN_NULL;
        s->head = 0;
        s->fixed = true;
        q->n_lent--;
        outq_put(s, left);
    }
    return 0;
}

void outq_abort(Outq *q)
{
    OutqSegment *s;

    if (!q->composing) {
        return;
    }
    s = outq_segment(q, q->n_used - 1);
    s->bytes.n = q->start;
    s->bytes.max_bytes = SIZE_MAX;
    q->composing = false;
    outq_drop_empty(q);
}

size_t outq_pull(Outq *q, Span *slices, size_t max)
{
    size_t n = q->n_used < max ? q->n_used : max;

    assert(!q->composing && q->n_shown == 0);
    for (size_t i = 0; i < n; i++) {
        const OutqSegment *s = outq_segment(q, i);

        Span content = outq_content(s);

        slices[i] = span_make(content.p + s->head, content.n - s->head);
    }
    q->n_shown = n;
    return n;
}

void outq_consumed(Outq *q, size_t n)
{
    assert(!q->composing && n <= q->n_pending);
    q->n_pending -= n;
    while (n > 0) {
        OutqSegment *s = outq_segment(q, 0);
        size_t left = outq_content(s).n - s->head;

        if (n < left) {
            s->head += n;
            break;
        }
        n -= left;
        /* Out of the ring first: retire counts the storage of free slots only. */
        q->first = (q->first + 1) & (q->n_slots - 1);
        q->n_used--;
        outq_retire(q, s);
    }
    if (q->n_used == 0) {
        /* Start over at the slot whose storage is warm, instead of giving each slot its own in
         * turn. */
        q->first = 0;
    }
    q->n_shown = 0;
}
