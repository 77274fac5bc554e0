#include "frame/inq.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

#define INQ_KEEP_BYTES ((size_t)(LIMIT_KEEP_BYTES))

/* Below this the block grows in one step: realloc's cost is per call. */
#define INQ_MIN_CAP 256

/* A small block grows instead of moving a tail of more than this fraction of what was read. */
#define INQ_GROW_SHARE 3

/* An unread tail is moved to the front unasked if it is at most this fraction of what was read. */
#define INQ_CARRY_SHARE 16

/* A block of this size is not worth being exchanged for a smaller one. */
#define INQ_SMALL_CAP 1024

/* What a read(2) of 64 KiB and more is written to should begin at a multiple of this. The kernel
 * copies pages with one string instruction, which on some processors is four times slower if the
 * target lies a few bytes behind a page's alignment, and malloc's large blocks all begin 16 bytes
 * behind it. */
#define INQ_ALIGN ((size_t)64)

/* The sum, or SIZE_MAX: a bound that does not fit is no bound. */
static size_t inq_add(size_t a, size_t b)
{
    size_t sum;

    return mem_size_add(a, b, &sum) ? sum : SIZE_MAX;
}

void inq_init(Inq *q, size_t max_message)
{
    *q = (Inq){.max_unread = inq_add(max_message, INQ_AHEAD_BYTES)};
}

void inq_deinit(Inq *q)
{
    q->block = mem_free(q->block);
    *q = INQ_NULL;
}

void inq_skip(Inq *q, size_t n)
{
    assert(n <= q->end - q->head);
    q->head += n;
}

void inq_trim(Inq *q)
{
    if (q->head != q->end) {
        return;
    }
    q->head = 0;
    q->end = 0;
    if (q->cap > INQ_KEEP_BYTES) {
        q->block = mem_free(q->block);
        q->data = NULL;
        q->cap = 0;
    }
}

/* With nothing unread, before n bytes are asked for. A large block goes back as soon as it was used
 * for little: not at once, or each message of a large kind would pay for fresh memory again. */
static void inq_start_over(Inq *q, size_t n)
{
    if (q->n_peak > 0 && q->n_peak <= INQ_KEEP_BYTES && n <= INQ_KEEP_BYTES) {
        inq_trim(q);
    }
    q->head = 0;
    q->end = 0;
    q->n_peak = 0;
}

/* Moves the unread bytes to the front if `times` as many have been read. With times >= 1 each byte
 * read pays for at most one byte moved; a tail longer than that is not moved, since it might be
 * once per message. */
static void inq_compact(Inq *q, size_t times)
{
    size_t n = q->end - q->head;
    size_t front = (INQ_ALIGN - n % INQ_ALIGN) % INQ_ALIGN; /* what follows is then aligned */

    if (q->head <= front || n > q->head / times) {
        return;
    }
    memmove(q->data + front, q->data + q->head, n);
    q->n_moved += n;
    q->head = front;
    q->end = front + n;
}

static int inq_resize(Inq *q, size_t cap)
{
    size_t shift = (size_t)(q->data - q->block);
    char *block = mem_realloc(q->block, inq_add(cap, INQ_ALIGN));

    if (block == NULL) {
        return err_raise(-ENOMEM);
    }
    q->n_moved += q->end;
    q->block = block;
    q->data = block + (INQ_ALIGN - (uintptr_t)block % INQ_ALIGN) % INQ_ALIGN;
    q->cap = cap;
    if (q->data != block + shift && q->end > 0) {
        memmove(q->data, block + shift, q->end);
    }
    return 0;
}

/* 0 when there was or could be made room without growing; 1 when the block has to grow. */
static int inq_find_room(Inq *q, size_t n)
{
    /* Starting over at the front keeps the part of the block that is in use small, and so in the
     * processor's cache; worth a copy if what has to be carried over is next to nothing. */
    if (q->head == q->end) {
        inq_start_over(q, n);
    } else {
        inq_compact(q, INQ_CARRY_SHARE);
    }
    if (n <= q->cap - q->end) {
        return 0;
    }
    /* Moving a tail about as long as what was read doubles the work of reading it. A block that may
     * be kept anyway is rather made larger, so that such a tail is moved more rarely. */
    inq_compact(q, q->cap <= INQ_KEEP_BYTES / 2 ? INQ_GROW_SHARE : 1);
    return n <= q->cap - q->end ? 0 : 1;
}

int inq_reserve(Inq *q, size_t n)
{
    size_t cap;

    if (n > q->max_unread - (q->end - q->head)) {
        return INQ_E_FULL;
    }
    if (inq_find_room(q, n) == 0) {
        return 0;
    }
    cap = q->cap < INQ_MIN_CAP / 2 ? INQ_MIN_CAP : inq_add(q->cap, q->cap);
    /* Fewer bytes are dead than unread here, or they had been compacted: twice max_unread always
     * suffices. */
    if (cap / 2 > q->max_unread) {
        cap = inq_add(q->max_unread, q->max_unread);
    }
    /* Doubling must not lead past what is kept between messages if it need not: the block would go
     * back and be allocated again for each of them. */
    if (cap > INQ_KEEP_BYTES && q->end + n <= INQ_KEEP_BYTES) {
        cap = INQ_KEEP_BYTES;
    }
    if (cap < q->end + n) {
        cap = q->end + n;
    }
    return inq_resize(q, cap);
}

int inq_reserve_exact(Inq *q, size_t n)
{
    if (n > q->max_unread - (q->end - q->head)) {
        return INQ_E_FULL;
    }
    return inq_find_room(q, n) == 0 ? 0 : inq_resize(q, q->end + n);
}

size_t inq_room(const Inq *q)
{
    size_t room = q->cap - q->end;
    size_t allowed = q->max_unread - (q->end - q->head);

    return room < allowed ? room : allowed;
}

void inq_commit(Inq *q, size_t n)
{
    size_t n_unread = q->end - q->head + n;

    assert(n <= inq_room(q));
    q->end += n;
    if (n_unread > q->n_peak) {
        q->n_peak = n_unread;
    }
}

int inq_append(Inq *q, const void *p, size_t n)
{
    int r;

    if (n == 0) {
        return 0;
    }
    r = inq_reserve(q, n);
    if (r != 0) {
        return r;
    }
    memcpy(q->data + q->end, p, n);
    inq_commit(q, n);
    return 0;
}

/* q gets the storage of `from`, with its own unread bytes in it; `from` has none then. */
static void inq_move_into(Inq *q, Inq *from)
{
    Span unread = inq_unread(q);

    if (unread.n > 0) {
        memcpy(from->data, unread.p, unread.n);
        q->n_moved += unread.n;
    }
    (void)mem_free(q->block);
    q->block = from->block;
    q->data = from->data;
    q->cap = from->cap;
    q->head = 0;
    q->end = unread.n;
    from->block = NULL;
    from->data = NULL;
    from->cap = 0;
}

void inq_take_storage(Inq *q, Inq *store)
{
    if (q->cap < store->cap) {
        inq_move_into(q, store);
    }
}

/* The block of q, which is given up, becomes that of `store` if it serves it better. */
static void inq_give_block(const Inq *q, Inq *store)
{
    if (q->cap > store->cap && q->cap <= INQ_KEEP_BYTES) {
        (void)mem_free(store->block);
        store->block = q->block;
        store->data = q->data;
        store->cap = q->cap;
    } else {
        (void)mem_free(q->block);
    }
}

void inq_return_storage(Inq *q, Inq *store)
{
    size_t n = q->end - q->head;
    Inq own = {.max_unread = q->max_unread};
    Inq given = *q;

    if (n == 0) {
        inq_give_block(q, store);
        q->block = NULL;
        q->data = NULL;
        q->cap = 0;
        q->head = 0;
        q->end = 0;
        return;
    }
    /* A block that is half full, or small, is kept: moving it would gain little. */
    if (q->cap <= INQ_SMALL_CAP || n > q->cap / 2 || inq_reserve_exact(&own, n) != 0) {
        return;
    }
    q->block = NULL; /* so that it is not freed with the move */
    inq_move_into(q, &own);
    inq_give_block(&given, store);
}
