/* An operation's order is a copy, whatever becomes of what it was made of. */
#include "queue/queue.h"

#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/queue_op.h"

#define N_TEXTS 22
#define N_BYTES 24

/* Memory of its own for each text, which is freed: a sanitizer sees whoever still reads it. */
static char *lent[N_TEXTS];
static size_t n_lent;

static Span lend(void)
{
    char *text = malloc(N_BYTES);

    assert_non_null(text);
    assert_true(n_lent < N_TEXTS);
    memset(text, 'a' + (int)n_lent, N_BYTES);
    lent[n_lent++] = text;
    return span_make(text, N_BYTES);
}

static void take_back(void)
{
    for (size_t i = 0; i < n_lent; i++) {
        memset(lent[i], '#', N_BYTES);
        free(lent[i]);
    }
    n_lent = 0;
}

static void assert_is(Span text, size_t i)
{
    assert_int_equal(text.n, N_BYTES);
    for (size_t k = 0; k < N_BYTES; k++) {
        assert_int_equal(text.p[k], 'a' + (int)i);
    }
}

static void set_all(QueueOp *op)
{
    Span methods[2];
    QueueOrder order = {
        .id = lend(),
        .owner = lend(),
        .asks = lend(),
        .inputs = lend(),
    };

    order.spec = (QueueSpec){.method = lend(), .params = lend(), .priority = 7};
    order.spec.pool = lend();
    order.spec.owner = lend();
    order.spec.source = lend();
    order.spec.rpc_id = lend();
    order.spec.idempotency_key = lend();
    order.spec.note = lend();
    order.claim = (QueueClaim){.pool = lend(), .max = 3, .methods = methods, .n_methods = 2};
    order.claim.worker = lend();
    order.finish = (QueueFinish){.state = JOB_FAILED, .code = lend()};
    order.finish.message = lend();
    order.finish.result = lend();
    order.list = (QueueList){.owner = lend(), .limit = 9};
    order.list.source = lend();
    order.list.before = lend();
    methods[0] = lend();
    methods[1] = lend();
    queue_op_set(op, QUEUE_LIST, &order);
    memset(methods, 0, sizeof(methods));
    take_back();
}

static void assert_all(const QueueOp *op)
{
    const QueueOrder *order = queue_op_order(op);
    const Span texts[N_TEXTS] = {
        order->id,
        order->owner,
        order->asks,
        order->inputs,
        order->spec.method,
        order->spec.params,
        order->spec.pool,
        order->spec.owner,
        order->spec.source,
        order->spec.rpc_id,
        order->spec.idempotency_key,
        order->spec.note,
        order->claim.pool,
        order->claim.worker,
        order->finish.code,
        order->finish.message,
        order->finish.result,
        order->list.owner,
        order->list.source,
        order->list.before,
        order->claim.methods[0],
        order->claim.methods[1],
    };

    for (size_t i = 0; i < N_TEXTS; i++) {
        assert_is(texts[i], i);
    }
    assert_int_equal(op->verb, QUEUE_LIST);
    assert_int_equal(order->spec.priority, 7);
    assert_int_equal(order->claim.max, 3);
    assert_int_equal(order->finish.state, JOB_FAILED);
    assert_int_equal(order->list.limit, 9);
}

static void every_text_is_copied(void **state)
{
    QueueOp op;

    (void)state;
    queue_op_init(&op);
    set_all(&op);
    assert_all(&op);
    queue_op_deinit(&op);
}

static void an_order_may_be_made_of_the_last_one(void **state)
{
    QueueOp op;

    (void)state;
    queue_op_init(&op);
    set_all(&op);
    for (int i = 0; i < 3; i++) {
        QueueOrder order = *queue_op_order(&op);

        queue_op_set(&op, QUEUE_LIST, &order);
        assert_all(&op);
    }
    OP_SET(&op, id, SPAN_NULL);
    assert_int_equal(queue_op_order(&op)->id.n, 0);
    assert_is(queue_op_order(&op)->owner, 1);
    queue_op_deinit(&op);
}

static void memory_is_used_again_but_not_kept_for_ever(void **state)
{
    static char body[1024 * 1024];
    const QueueOrder *before;
    QueueOp op;

    (void)state;
    queue_op_init(&op);
    queue_op_set(&op, QUEUE_GET, &(QueueOrder){.id = SPAN("the first one")});
    before = queue_op_order(&op);
    queue_op_set(&op, QUEUE_GET, &(QueueOrder){.id = SPAN("a second")});
    assert_ptr_equal(queue_op_order(&op), before);
    assert_true(span_equals(queue_op_order(&op)->id, SPAN("a second")));
    queue_op_set(&op, QUEUE_ENQUEUE, &(QueueOrder){.spec.params = {body, sizeof(body)}});
    before = queue_op_order(&op);
    queue_op_set(&op, QUEUE_GET, &(QueueOrder){.id = SPAN("small")});
    assert_ptr_not_equal(queue_op_order(&op), before);
    queue_op_clear(&op, 4096);
    assert_int_equal(op.verb, QUEUE_N_VERBS);
    assert_int_equal(queue_op_order(&op)->id.n, 0);
    queue_op_deinit(&op);
}

static void nothing_is_an_order_too(void **state)
{
    QueueOp op;

    (void)state;
    queue_op_init(&op);
    assert_int_equal(queue_op_order(&op)->id.n, 0);
    queue_op_set(&op, QUEUE_COUNT, NULL);
    assert_int_equal(op.verb, QUEUE_COUNT);
    assert_int_equal(queue_op_order(&op)->list.limit, 0);
    /* No method at all is not every method. */
    queue_op_set(&op, QUEUE_CLAIM,
                 &(QueueOrder){.claim = {.methods = &SPAN("none of them"), .n_methods = 0}});
    assert_non_null(queue_op_order(&op)->claim.methods);
    queue_op_deinit(&op);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_text_is_copied),
        cmocka_unit_test(an_order_may_be_made_of_the_last_one),
        cmocka_unit_test(memory_is_used_again_but_not_kept_for_ever),
        cmocka_unit_test(nothing_is_an_order_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
