/* cli/chat_view.h: what a person sees of a conversation.
 *
 * Tokens go to stdout as they come; all else to stderr: what the agent does, with a spinner and the
 * seconds, where that is a terminal, and nothing of it in a pipe. On a terminal no text of the
 * agent can move the cursor. One write per wake-up. Thread: loop.
 */
#pragma once

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/limits.h"
#include "base/plain.h"
#include "base/span.h"
#include "dialect/agent/message.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tools that are shown at once; a turn that runs more shows the first. */
#define CHAT_VIEW_TOOLS 16

typedef struct ChatViewTool {
    char id[LIMIT_AGENT_ID_BYTES + 1]; /* cut, if longer; "" : free */
    char line[256];                    /* name and input, plain */
    int64_t began_ms;
} ChatViewTool;

typedef struct ChatView {
    IoLoop *loop;
    IoTimer *timer;       /* of the spinner */
    IoBeforeWait *settle; /* sends what gathered */
    bool is_json;         /* messages as they are, and nothing else */
    bool is_lively;       /* stderr is a terminal that can do more than print */
    bool is_coloured;     /* stderr */
    bool is_out_terminal; /* stdout */
    bool is_line_begun;   /* stdout does not stand at the beginning of a line */
    bool has_status;      /* a status line stands on the terminal */
    bool is_busy;         /* a turn runs */
    Plain plain;
    Bytes text;
    ChatViewTool tools[CHAT_VIEW_TOOLS];
    int64_t began_ms; /* the turn, or what came last of it */
    unsigned n_frames;
} ChatView;

/* 0, -ENOMEM, another errno. deinit in any case. */
int chat_view_init(ChatView *view, IoLoop *loop, bool is_json);
void chat_view_deinit(ChatView *view);

/* A turn begins and ends; end also ends the line of the answer. */
void chat_view_begin(ChatView *view);
void chat_view_end(ChatView *view);

/* What comes between. */
void chat_view_response(ChatView *view, const AgentResponse *response);

/* The person has answered whether this tool may run: its time begins now. */
void chat_view_tool_answered(ChatView *view, Span id);

/* A line of the agent, for is_json. */
void chat_view_line(ChatView *view, Span line);

/* A sentence for the person; always on stderr. */
TW_PRINTF(2, 3) void chat_view_say(ChatView *view, const char *format, ...);

/* Nothing stands on the terminal that would be in the way of a question; all is written. */
void chat_view_clear(ChatView *view);

/* What of a stranger's text may be shown, with " …" where it is cut; borrowed until the next. */
const char *chat_view_plain(ChatView *view, Span text, size_t max);
