/* How a server ends that is a child process or a Unix socket.
 *
 * It has ended when its output and its stderr have ended and it was reaped; where only one of them
 * comes, the others are waited for a moment, so that the reason can be told.
 */
#include "peer/mcp_peer_lines.h"

#include <stdio.h>

/* How long the exit may lag behind the end of the output, or the other way round: a grandchild may
 * hold the output open for ever. */
#define PEER_LINGER_MS 500

/* The session says that the server ended; we know how. size: the session's text has at most 512
 * bytes, the last words 1024. */
void mcp_lines_explain(const void *wire, McpClientEvent *event, char *text, size_t size)
{
    const McpLines *lines = wire;
    Span tail = mcp_peer_stderr_tail(&lines->words);
    int n;

    if (!lines->is_gone) {
        return;
    }
    n = snprintf(text, size, "%.*s", (int)event->text.n, event->text.p);
    if (lines->has_exited && lines->exit.signum != 0) {
        n += snprintf(text + n, size - (size_t)n, " (signal %d)", lines->exit.signum);
    } else if (lines->has_exited) {
        n += snprintf(text + n, size - (size_t)n, " (exit status %d)", lines->exit.status);
    }
    if (tail.n > 0) {
        n += snprintf(text + n, size - (size_t)n, "; it said: %.*s", (int)tail.n, tail.p);
    }
    event->text = span_make(text, (size_t)n);
}

/* Its output has ended, it was reaped, or it was waited for. */
static bool lines_has_ended(const McpLines *lines)
{
    bool is_reaped = lines->process == NULL || lines->has_exited;
    bool is_heard = lines->words.stream == NULL || lines->words.has_ended;

    return (lines->has_output_ended && is_reaped && is_heard) ||
           io_loop_now_ms(lines->peer->config.loop) >= lines->linger_end_ms;
}

void mcp_lines_look_at_end(McpLines *lines)
{
    if (lines->peer->state == PEER_CLOSED || lines->is_gone ||
        (!lines->has_output_ended && !lines->has_exited)) {
        return;
    }
    if (lines->linger_end_ms == INT64_MAX && lines->peer->state == PEER_OPEN) {
        lines->linger_end_ms = io_loop_now_ms(lines->peer->config.loop) + PEER_LINGER_MS;
    }
    if (lines->peer->state == PEER_OPEN && lines_has_ended(lines)) {
        lines->linger_end_ms = INT64_MAX;
        lines->is_gone = true;
        mcp_client_peer_ended(lines->peer->client, io_loop_now_ms(lines->peer->config.loop));
        mcp_peer_pump(lines->peer);
    }
    mcp_peer_set_timer(lines->peer);
}

void mcp_lines_stderr_ended(void *context)
{
    mcp_lines_look_at_end(context);
}

/* Closing is over as soon as a child was reaped; a socket, when the other side has closed it. */
bool mcp_lines_may_close(const McpLines *lines)
{
    return lines->process != NULL ? lines->has_exited : lines->has_output_ended;
}

void mcp_lines_tick(void *wire, int64_t now_ms)
{
    McpLines *lines = wire;

    if (lines->peer->state == PEER_OPEN) {
        mcp_lines_look_at_end(lines);
    }
    if (lines->peer->state != PEER_CLOSING) {
        return;
    }
    if (mcp_lines_may_close(lines) || (lines->process == NULL && now_ms >= lines->term_at_ms)) {
        mcp_peer_finish_close(lines->peer);
        return;
    }
    if (now_ms >= lines->term_at_ms) {
        io_process_end(lines->process, PEER_TERM_MS);
        lines->term_at_ms = INT64_MAX;
    }
}

void mcp_lines_on_exit(void *context, IoProcessExit exit)
{
    McpLines *lines = context;

    lines->has_exited = true;
    lines->exit = exit;
    if (lines->peer->state == PEER_CLOSING) {
        mcp_peer_finish_close(lines->peer);
        return;
    }
    mcp_lines_look_at_end(lines);
}
