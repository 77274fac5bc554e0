/* dialect/callsock/sink.h: where a session puts the messages that it sends. Implemented by whoever
 * has the connection, as a rule by a Len32Writer (frame/len32.h). */
#pragma once

#include "base/bytes.h"

#include <stdbool.h>

typedef struct CallsockSink {
    /* A buffer to append one message to; commit or abort follows. 0, or a negative errno, or a
     * positive outcome if there is no room for it. commit: positive if the message is too large;
     * it is then gone. */
    int (*begin)(void *context, Bytes **ret_bytes);
    int (*commit)(void *context);
    /* As commit, with a large part that was lent and not appended; borrowed until return. May be
     * NULL: then nothing is lent. */
    int (*commit_lent)(void *context, BytesLent lent);
    void (*abort)(void *context);
    /* What was committed should leave now, not at the end of the turn. May be NULL. */
    void (*flush)(void *context);
    /* Does much wait that the peer has not read? Then what is not needed is not sent. May be NULL.
     */
    bool (*is_behind)(void *context);
    void *context;
} CallsockSink;
