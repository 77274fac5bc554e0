/* dialect/pipe/sink.h: what a session of the pipe uses of its owner. */
#pragma once

#include "base/bytes.h"
#include "base/uuid.h"

#include <stdint.h>

typedef struct PipeSink {
    /* A buffer to append one message to; commit or abort follows. 0, or a negative errno, or a
     * positive outcome if there is no room for it. commit: positive if the message is too large; it
     * is then gone. */
    int (*begin)(void *context, Bytes **ret_bytes);
    int (*commit)(void *context);
    /* As commit, with a large part that was lent and not appended; borrowed until return. May be
     * NULL: then nothing is lent. */
    int (*commit_lent)(void *context, BytesLent lent);
    void (*abort)(void *context);
    /* What was committed should leave now, not at the end of the turn. May be NULL. */
    void (*flush)(void *context);
    void *context;
} PipeSink;

typedef struct PipeSource {
    void (*uuid)(void *context, char ret[UUID_SIZE]); /* version 4 */
    int64_t (*unix_ms)(void *context);                /* wall clock, for time stamps */
    /* A clock that is never set, for durations. May be NULL: then the wall clock. */
    int64_t (*now_ms)(void *context);
    void *context;
} PipeSource;
