/* dialect/callsock/sink.h: where a session puts the messages that it sends. Implemented by whoever
 * has the connection, as a rule by a Len32Writer (frame/len32.h). */
#pragma once

#include "base/bytes.h"

typedef struct CallsockSink {
    /* A buffer to append one message to; commit or abort follows. 0, or a negative errno, or a
     * positive outcome if there is no room for it. commit: positive if the message is too large;
     * it is then gone. */
    int (*begin)(void *context, Bytes **ret_bytes);
    int (*commit)(void *context);
    void (*abort)(void *context);
    void *context;
} CallsockSink;
