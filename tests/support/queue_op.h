/* tests/support/queue_op.h: one member of an operation's order, set by itself. */
#pragma once

#include "queue/queue.h"

/* OP_SET(&op, claim.max, 2): the rest of the order stays as it is. */
#define OP_SET(operation, member, ...)                                                             \
    do {                                                                                           \
        QueueOp *op_set_op = (operation);                                                          \
        QueueOrder op_set_order = *queue_op_order(op_set_op);                                      \
        op_set_order.member = __VA_ARGS__;                                                         \
        queue_op_set(op_set_op, op_set_op->verb, &op_set_order);                                   \
    } while (0)
