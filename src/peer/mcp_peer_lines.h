/* peer/mcp_peer_lines.h: what the two files of the wire that has lines share. Part of mcp_peer.
 * Thread: loop. */
#pragma once

#include "frame/ndjson.h"
#include "io/process.h"
#include "io/stream.h"
#include "peer/mcp_peer_impl.h"
#include "peer/mcp_peer_stderr.h"

#include <stdbool.h>
#include <stdint.h>

/* What a child that got TERM has to go before KILL: by then it has had the grace of close. */
#define PEER_TERM_MS 2000

typedef struct McpLines {
    McpPeer *peer;
    IoStream *stream;
    IoProcess *process;
    NdjsonReader reader;
    NdjsonWriter writer;
    McpPeerStderr words;
    bool has_output_ended;
    bool has_exited;
    bool is_gone;     /* the session was told that it ended */
    uint64_t n_stray; /* lines that were not even JSON */
    uint64_t n_odd;   /* messages that mean nothing to the session */
    uint64_t n_long;  /* messages longer than allowed */
    IoProcessExit exit;
    int64_t linger_end_ms;
    int64_t term_at_ms; /* closing: when asking is over */
} McpLines;

/* The end of the server, in mcp_peer_lines_end.c. It may have come: its output has ended, or it was
 * reaped, or is waited for no longer. */
void mcp_lines_look_at_end(McpLines *lines);
void mcp_lines_on_exit(void *context, IoProcessExit exit);
void mcp_lines_stderr_ended(void *context);

/* Whether there is nothing left to wait for when it is closed. */
bool mcp_lines_may_close(const McpLines *lines);

/* Of McpPeerWire. */
void mcp_lines_explain(const void *wire, McpClientEvent *event, char *text, size_t size);
void mcp_lines_tick(void *wire, int64_t now_ms);
