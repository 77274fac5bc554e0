/* An operation's order: a copy of what its submitter lent, texts and all, in one piece of memory
 * that is the operation's own. It is defined here alone, and nobody else can make or change one:
 * what the queue's thread reads cannot lie in memory that another thread frees. */
#include "queue/queue.h"

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/limits.h"

/* An operation that is used again keeps so much for its next order. */
#define OP_KEEP_BYTES ((size_t)16 * 1024)

/* It has at least so much: one that was set once can name a job and say a word about it without
 * more memory, so that whoever has claimed jobs can give them back when there is none. */
#define OP_ROOM_BYTES ((size_t)256)

struct QueueOwned {
    size_t n_room; /* for texts */
    QueueOrder order;
    _Alignas(Span) char texts[];
};

/* Where the texts of an order are. */
static const size_t op_texts[] = {
    offsetof(QueueOrder, id),
    offsetof(QueueOrder, owner),
    offsetof(QueueOrder, asks),
    offsetof(QueueOrder, inputs),
    offsetof(QueueOrder, spec.method),
    offsetof(QueueOrder, spec.params),
    offsetof(QueueOrder, spec.pool),
    offsetof(QueueOrder, spec.owner),
    offsetof(QueueOrder, spec.source),
    offsetof(QueueOrder, spec.rpc_id),
    offsetof(QueueOrder, spec.idempotency_key),
    offsetof(QueueOrder, spec.note),
    offsetof(QueueOrder, claim.pool),
    offsetof(QueueOrder, claim.worker),
    offsetof(QueueOrder, finish.code),
    offsetof(QueueOrder, finish.message),
    offsetof(QueueOrder, finish.result),
    offsetof(QueueOrder, list.owner),
    offsetof(QueueOrder, list.source),
    offsetof(QueueOrder, list.before),
};

/* Every Span that is added to an order is to be copied, too: whoever adds one comes by here. */
_Static_assert(sizeof(QueueSpec) == 8 * sizeof(Span) + 5 * sizeof(int64_t), "copy what is new");
_Static_assert(sizeof(QueueClaim) == 2 * sizeof(Span) + 6 * sizeof(int64_t), "copy what is new");
_Static_assert(sizeof(QueueFinish) == 3 * sizeof(Span) + 3 * sizeof(int64_t), "copy what is new");
_Static_assert(sizeof(QueueList) == 3 * sizeof(Span) + 3 * sizeof(int64_t), "copy what is new");
_Static_assert(sizeof(QueueOrder) == 4 * sizeof(Span) + sizeof(QueueSpec) + sizeof(QueueClaim) +
                                         sizeof(QueueFinish) + sizeof(QueueList),
               "copy what is new");

/* What its texts need; they are in memory already: no overflow. *ret_is_own: one of them is in the
 * order that the operation has now. */
static size_t op_measure(const QueueOp *op, const QueueOrder *order, bool *ret_is_own)
{
    uintptr_t own = op->owned == NULL ? 0 : (uintptr_t)op->owned->texts;
    size_t n_own = op->owned == NULL ? 0 : op->owned->n_room;
    size_t n = order->claim.n_methods * sizeof(Span);
    bool is_own = (uintptr_t)order->claim.methods - own < n_own;

    for (size_t i = 0; i < TW_ARRAY_SIZE(op_texts); i++) {
        const Span *text = (const Span *)(const void *)((const char *)order + op_texts[i]);

        if (text->n > 0) { /* most of them are empty */
            n += text->n;
            is_own = is_own || (uintptr_t)text->p - own < n_own;
        }
    }
    for (size_t i = 0; i < order->claim.n_methods; i++) {
        n += order->claim.methods[i].n;
    }
    *ret_is_own = is_own;
    return n;
}

static void op_copy(char **at, Span *text)
{
    if (text->n == 0) {
        text->p = NULL;
        return;
    }
    memcpy(*at, text->p, text->n);
    *text = span_make(*at, text->n);
    *at += text->n;
}

static void op_copy_methods(char **at, QueueClaim *claim)
{
    Span *methods = (Span *)(void *)*at;

    *at += claim->n_methods * sizeof(Span);
    for (size_t i = 0; i < claim->n_methods; i++) {
        methods[i] = claim->methods[i];
        op_copy(at, &methods[i]);
    }
    claim->methods = claim->methods == NULL ? NULL : methods;
}

/* Memory for the next order, which may be that of the last one. NULL: there is none. */
static QueueOwned *op_room(QueueOp *op, size_t n, bool may_reuse)
{
    QueueOwned *owned = op->owned;

    if (owned != NULL && may_reuse && owned->n_room >= n &&
        (owned->n_room <= OP_KEEP_BYTES || owned->n_room / 2 <= n)) {
        return owned;
    }
    n = n > OP_ROOM_BYTES ? n : OP_ROOM_BYTES;
    owned = mem_alloc(sizeof(*owned) + n);
    if (owned != NULL) {
        owned->n_room = n;
    }
    return owned;
}

void queue_op_set(QueueOp *op, QueueVerb verb, const QueueOrder *order)
{
    static const QueueOrder nothing = {.id = {NULL, 0}};
    QueueOwned *owned;
    bool is_own;
    size_t n;
    char *at;

    order = order != NULL ? order : &nothing;
    n = op_measure(op, order, &is_own);
    owned = op_room(op, n, !is_own && order != queue_op_order(op));
    op->verb = verb;
    op->has_no_memory = owned == NULL;
    if (owned == NULL) {
        return;
    }
    owned->order = *order;
    at = owned->texts;
    op_copy_methods(&at, &owned->order.claim);
    for (size_t i = 0; i < TW_ARRAY_SIZE(op_texts); i++) {
        op_copy(&at, (Span *)(void *)((char *)&owned->order + op_texts[i]));
    }
    if (owned != op->owned) {
        (void)mem_free(op->owned);
        op->owned = owned;
    }
}

const QueueOrder *queue_op_order(const QueueOp *op)
{
    static const QueueOrder nothing = {.id = {NULL, 0}};

    return op->owned == NULL || op->has_no_memory ? &nothing : &op->owned->order;
}

/* ---- life ---- */

void queue_op_init(QueueOp *op)
{
    *op = (QueueOp){.verb = QUEUE_N_VERBS};
    arena_init(&op->arena, LIMIT_QUEUE_OP_BYTES);
}

void queue_op_clear(QueueOp *op, size_t keep_bytes)
{
    Arena arena = op->arena;
    QueueOwned *owned = op->owned;

    if (owned != NULL && owned->n_room > keep_bytes) {
        owned = mem_free(owned);
    } else if (owned != NULL) {
        owned->order = (QueueOrder){.id = SPAN_NULL};
    }
    arena_reset(&arena, keep_bytes);
    *op = (QueueOp){.verb = QUEUE_N_VERBS, .arena = arena, .owned = owned};
}

void queue_op_deinit(QueueOp *op)
{
    op->owned = mem_free(op->owned);
    arena_deinit(&op->arena);
}
