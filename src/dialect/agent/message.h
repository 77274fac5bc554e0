/* dialect/agent/message.h: the messages between a shell and an agent, read and written.
 *
 * A shell starts an agent as its child and writes requests to its stdin; the agent writes responses
 * to its stdout. Each message is one line (frame/ndjson.h) of at most LIMIT_AGENT_LINE_BYTES:
 *
 *     {"id":"req-1","kind":"user_message","message":"Hello"}
 *     {"type":"token","id":"req-1","token":"Hi","timestamp":1234567890001}
 *     {"type":"done","id":"req-1","timestamp":1234567890002}
 *
 * What is written has the names of the document (docs/agent.md); what is read may also have those
 * of other peers: tool_use_id, tool_name, tool_input, conversation_id, images as a JSON text inside
 * a string, an error without id.
 *
 * The write functions append one message without its newline, for ndjson_writer_begin … commit.
 * Text may hold anything: what is not UTF-8 becomes U+FFFD, and line ends are escaped. JSON is
 * spliced: the caller vouches that it is one value, and line ends in it, which can only be white
 * space, are left out. So no message is ever two lines. Performs no I/O. Thread: any.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The revision of the protocol that `ready` announces. */
#define AGENT_PROTOCOL_VERSION "1.0.0"

/* What reading may come to, besides 0 and -ENOMEM. The Diag's message is a sentence for people. */
enum {
    AGENT_MESSAGE_E_SYNTAX = 1, /* not JSON, or no object; the Diag has the byte */
    AGENT_MESSAGE_E_NO_ID,      /* a request without id: nobody can be answered */
    AGENT_MESSAGE_E_KIND,       /* a kind or type that is not known, or none */
    AGENT_MESSAGE_E_FIELD,      /* a member is missing or wrong; the Diag has its name */
};

/* ---- requests ---- */

typedef enum AgentKind {
    AGENT_KIND_USER_MESSAGE,
    AGENT_KIND_CLEAR_HISTORY,
    AGENT_KIND_GET_STATUS,
    /* Beyond the document, announced in `capabilities`. */
    AGENT_KIND_INTERRUPT,
    AGENT_KIND_LIST_CONVERSATIONS,
    AGENT_KIND_LOAD_CONVERSATION,
    AGENT_KIND_DELETE_CONVERSATION,
    AGENT_KIND_NEW_CONVERSATION,
    AGENT_KIND_TOOL_APPROVAL,
    AGENT_N_KINDS
} AgentKind;

/* "user_message", … */
const char *agent_kind_name(AgentKind kind);

/* A file to read (path), or content that came along (data). */
typedef struct AgentAttachment {
    Span path; /* empty if there is data */
    Span mime; /* may be empty */
    Span data; /* base64, as it came: not checked */
    Span name; /* of what is in data, for people; may be empty */
} AgentAttachment;

/* Texts are decoded, in the line or the arena; empty where a member is absent (or null). */
typedef struct AgentRequest {
    AgentKind kind;
    Span id;
    Span message; /* USER_MESSAGE: not empty, unless there are attachments */
    const AgentAttachment *attachments;
    size_t n_attachments;
    Span conversation_id; /* any kind; LOAD_ and DELETE_CONVERSATION: not empty */
    Span user_id;
    Span title;      /* NEW_CONVERSATION, or a message that begins one */
    Span request_id; /* INTERRUPT: the request to end; empty: all of them */
    Span tool_id;    /* TOOL_APPROVAL: not empty */
    bool approved;
} AgentRequest;

/* Reads a request; borrows line for as long as *ret is used. Whatever it comes to, ret->id is the
 * request's id if one can be read (of text that is not JSON: by looking for it), else empty: then
 * nobody can be answered. After an outcome nothing else of *ret is set.
 * 0, -ENOMEM, AGENT_MESSAGE_E_*. */
int agent_request_read(AgentRequest *ret, Arena *arena, Span line, Diag *reterr_diag);

/* Appends a request, with the members that its kind has. 0, -ENOMEM, BYTES_E_FULL; on failure out
 * is as it was. */
int agent_request_write(Bytes *out, const AgentRequest *request);

/* ---- responses ---- */

typedef enum AgentType {
    AGENT_TYPE_READY,
    AGENT_TYPE_TOKEN,
    AGENT_TYPE_TOOL_USE,
    AGENT_TYPE_TOOL_RESULT,
    AGENT_TYPE_DONE,
    AGENT_TYPE_ERROR,
    AGENT_TYPE_STATUS,
    AGENT_TYPE_TOOL_PROGRESS, /* beyond the document */
    AGENT_N_TYPES
} AgentType;

/* "ready", … */
const char *agent_type_name(AgentType type);

typedef enum AgentState {
    AGENT_STATE_IDLE,
    AGENT_STATE_THINKING,
    AGENT_STATE_USING_TOOL,
    AGENT_STATE_SHUTTING_DOWN,
    AGENT_N_STATES
} AgentState;

/* "idle", … */
const char *agent_state_name(AgentState state);

typedef struct AgentTool {
    Span id;                /* of this use of the tool */
    Span name;              /* of the tool */
    Span input;             /* JSON; TOOL_USE. Empty is written as {} */
    bool approval_required; /* TOOL_USE: it runs when the shell says so by tool_approval */
    Span result;            /* JSON; TOOL_RESULT of one that worked. Empty is written as null */
    Span error;             /* text; TOOL_RESULT of one that failed: instead of result */
    int64_t elapsed_ms;     /* TOOL_PROGRESS: since the tool began */
    Span message;           /* TOOL_PROGRESS: text; may be empty */
    Span progress;          /* TOOL_PROGRESS: JSON numbers, as a tool told them; may be empty */
    Span total;
} AgentTool;

typedef struct AgentStatus {
    AgentState state;
    uint64_t conversation_length; /* messages */
    int64_t uptime_ms;
    Span members; /* what there is beyond the document: `"model":"x","tools":12`, JSON members
                   * without braces; may be empty */
} AgentStatus;

/* Each appends a message. id is that of the request; wall_ms the milliseconds since 1970. 0,
 * -ENOMEM, BYTES_E_FULL; on failure out is as it was. */
int agent_write_ready(Bytes *out, Span version, const Span *capabilities, size_t n_capabilities,
                      int64_t wall_ms);

/* A token may be empty: it says that the agent is still there, and a shell shows nothing. An agent
 * that waits for its model sends one every LIMIT_AGENT_ALIVE_MS, and tool_progress while it waits
 * for a tool, since shells give up after a minute of silence. */
int agent_write_token(Bytes *out, Span id, Span token, int64_t wall_ms);
int agent_write_tool_use(Bytes *out, Span id, const AgentTool *tool, int64_t wall_ms);
int agent_write_tool_result(Bytes *out, Span id, const AgentTool *tool, int64_t wall_ms);
int agent_write_tool_progress(Bytes *out, Span id, const AgentTool *tool, int64_t wall_ms);

/* The end of every request that worked, but for get_status, which its status ends. data: a JSON
 * object; empty: none. Its members, by kind:
 *
 *     user_message         conversationId, stopReason: end, length, rounds (too many), interrupted
 *     new_conversation     conversationId, title
 *     load_conversation    conversationId, title, messageCount, messages: [{role, content}]
 *     delete_conversation  conversationId
 *     list_conversations   conversations: [{id, title, createdAt, updatedAt, messageCount}]
 *     interrupt            interrupted: how many requests
 */
int agent_write_done(Bytes *out, Span id, Span data, int64_t wall_ms);

/* id empty: an error that is about no request, or about one whose id could not be read; it is then
 * left out. */
int agent_write_error(Bytes *out, Span id, Span words, int64_t wall_ms);
int agent_write_status(Bytes *out, Span id, const AgentStatus *status, int64_t wall_ms);

/* A response as the shell reads it. Texts are decoded, JSON is as it came. */
typedef struct AgentResponse {
    AgentType type;
    Span id;            /* empty if absent: READY, and errors of some agents */
    Span token;         /* TOKEN */
    Span error;         /* ERROR: words for people, never empty */
    AgentTool tool;     /* TOOL_* */
    bool is_tool_error; /* TOOL_RESULT: tool.error instead of tool.result */
    Span version;       /* READY; may be empty */
    Span capabilities;  /* READY: JSON array; empty if absent */
    Span state;         /* STATUS: text */
    uint64_t conversation_length;
    int64_t uptime_ms;
    Span data;         /* JSON, of any type that has it; empty if absent */
    int64_t timestamp; /* milliseconds since 1970; 0 if absent or no whole number */
} AgentResponse;

/* Reads a response; borrows line for as long as *ret is used. ret->id as above. 0, -ENOMEM,
 * AGENT_MESSAGE_E_SYNTAX, _KIND, _FIELD; a response without id is none of them. */
int agent_response_read(AgentResponse *ret, Arena *arena, Span line, Diag *reterr_diag);
