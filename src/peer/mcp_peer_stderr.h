/* peer/mcp_peer_stderr.h: what a child says on its stderr: always read, so that it never blocks;
 * line by line to the log if that is at debug level; the last lines kept for the sentence that says
 * why it ended. Part of mcp_peer. Thread: loop.
 */
#pragma once

#include "base/bytes.h"
#include "base/logsink.h"
#include "frame/ndjson.h"
#include "io/loop.h"
#include "io/stream.h"

#include <stdbool.h>

typedef struct McpPeerStderr {
    IoStream *stream;    /* NULL: closed */
    NdjsonReader reader; /* if it is logged */
    Bytes chunk;         /* what is read, if it is not */
    const char *at;      /* where it is read to */
    Bytes tail;
    bool is_cut;    /* more was said before that */
    bool is_logged; /* line by line */
    const LogSink *log;
    bool has_ended;
    void (*ended)(void *context); /* comes once for each open, but not after close */
    void *context;
} McpPeerStderr;

void mcp_peer_stderr_init(McpPeerStderr *words, const LogSink *log, void (*ended)(void *context),
                          void *context);

/* Also closes; may run twice. */
void mcp_peer_stderr_deinit(McpPeerStderr *words);

/* Takes fd on success. 0, -ENOMEM, another negative errno. */
int mcp_peer_stderr_open(McpPeerStderr *words, IoLoop *loop, int fd);

/* The last lines, without an end. */
Span mcp_peer_stderr_tail(const McpPeerStderr *words);

/* Forgets what was said. */
void mcp_peer_stderr_close(McpPeerStderr *words);
