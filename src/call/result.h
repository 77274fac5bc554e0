/* call/result.h: how a call ends. Filled by whoever answers, read by the door that asked.
 *
 * A CallResult owns nothing: every span is borrowed until call_finish returns. JSON is handed over
 * in the form in which it is sent, so that a door splices it and never writes it again; it must be
 * valid, compact (no raw newline) and complete. The big parts come in pieces, so that an answer
 * that quotes its arguments needs no copy of them:
 *
 *     Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":"), json_span(message), SPAN("}")};
 *     CallResult result = CALL_RESULT_TOOL_PIECES(pieces, 3);
 *
 * call/answer.h builds results for those who have no JSON at hand. Thread: any.
 */
#pragma once

#include "base/span.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a call has no result. Each door maps them to its wire by one table. */
typedef enum CallError {
    CALL_ERROR_NONE,
    CALL_ERROR_UNKNOWN_TOOL,
    CALL_ERROR_UNKNOWN_PROMPT,
    CALL_ERROR_UNKNOWN_RESOURCE,  /* wire_code: a number of the provider's own for it, and data its
                                     own, with the uri; where the protocol lets it choose */
    CALL_ERROR_INVALID_ARGUMENTS, /* message: all that is wrong; data: [{"path","message"}…] */
    CALL_ERROR_INVALID_CURSOR,
    CALL_ERROR_RATE,        /* over the rate; retry_after_ms says when to come back */
    CALL_ERROR_BUSY,        /* too many calls of this session in flight */
    CALL_ERROR_TIMEOUT,     /* the deadline passed; the work was told to stop */
    CALL_ERROR_CANCELLED,   /* the asker took it back, or the hub stops */
    CALL_ERROR_UNAVAILABLE, /* the program that has the tool is not there */
    CALL_ERROR_BAD_RESULT,  /* the provider broke its own output schema */
    CALL_ERROR_TOO_LARGE,   /* the result exceeds what the door may send */
    CALL_ERROR_CANNOT_ASK,  /* the tool needs input that this asker cannot give */
    CALL_ERROR_NEEDS_LATER, /* the tool runs only as a task, and this asker takes none */
    CALL_ERROR_NEVER_LATER, /* the asker wants a task, and the tool does not run as one */
    CALL_ERROR_UNKNOWN_TASK,
    CALL_ERROR_TASK_OVER, /* the task has ended: it cannot be cancelled any more */
    CALL_ERROR_DROPPED,   /* the task has ended as it says, and its result was not kept */
    CALL_ERROR_INTERNAL,
    CALL_ERROR_RAISED, /* the tool ended in an exception: message, error_type */
    CALL_ERROR_OWN,    /* the provider's own: wire_code, message and data are as it said */
    CALL_N_ERRORS
} CallError;

typedef enum CallResultKind {
    CALL_RESULT_ERROR,      /* error, message, data, error_type, retry_after_ms, wire_code */
    CALL_RESULT_TOOL,       /* pieces: elements of `content`; structured, beside, is_error, meta,
                               members */
    CALL_RESULT_RESOURCE,   /* pieces: elements of `contents`; ttl_ms, is_private */
    CALL_RESULT_PROMPT,     /* pieces: elements of `messages`; description */
    CALL_RESULT_COMPLETION, /* pieces: elements of `values`; total, has_more */
    CALL_RESULT_LIST,       /* entries, next_cursor */
    CALL_RESULT_EMPTY,      /* done, nothing to say (subscribe) */
    CALL_RESULT_ASK,        /* asks, state: input is needed before it can go on */
    CALL_RESULT_TASK,       /* tasks[0]: the work goes on as a task; or how a task stands */
    CALL_RESULT_TASKS,      /* tasks, next_cursor */
} CallResultKind;

/* Kinds of content block that the pieces hold: doors of older revisions must replace some. */
enum {
    CALL_CONTENT_TEXT = 1u << 0,
    CALL_CONTENT_IMAGE = 1u << 1,
    CALL_CONTENT_AUDIO = 1u << 2,
    CALL_CONTENT_RESOURCE = 1u << 3,
    CALL_CONTENT_LINK = 1u << 4,
    CALL_CONTENT_UNKNOWN = 1u << 5, /* the provider passed JSON on without looking */
};

/* What a provider may ask of the one who called. */
typedef enum CallAskKind {
    CALL_ASK_FORM,   /* message, schema: fill in a form */
    CALL_ASK_URL,    /* message, url: consent to open a page */
    CALL_ASK_SAMPLE, /* params: a whole sampling/createMessage params object */
    CALL_ASK_ROOTS,  /* the folders that the asker works in */
} CallAskKind;

/* The one member of an answer that is a refusal (takes_error): the error, as JSON-RPC has it. */
#define CALL_ANSWER_ERROR "toolwire/error"

typedef struct CallAsk {
    Span key; /* the provider's name for the answer; unique in the call */
    CallAskKind kind;
    bool takes_error; /* a refusal is an answer, too; else it ends the call */
    Span message;     /* text, not JSON */
    Span schema;      /* JSON object */
    Span url;         /* text */
    Span params;      /* JSON object */
} CallAsk;

/* A call that outlives its request (CALL_RESULT_TASK), as MCP names what becomes of it. */
typedef enum CallTaskStatus {
    CALL_TASK_WORKING,
    CALL_TASK_INPUT_REQUIRED,
    CALL_TASK_COMPLETED, /* the tool has answered, be it that it failed */
    CALL_TASK_FAILED,    /* there is no answer of the tool: the error says why */
    CALL_TASK_CANCELLED
} CallTaskStatus;

typedef struct CallTask {
    Span id;
    CallTaskStatus status;
    Span message;       /* text for people; may be empty */
    int64_t created_us; /* since 1970, as the next */
    int64_t updated_us;
    int64_t ttl_ms;  /* how long it is kept, from its creation; < 0: without end */
    int64_t poll_ms; /* how often to ask; 0: not said */
    /* COMPLETED, FAILED: how it ended; NULL: not said here. Of kind TOOL or ERROR. */
    const struct CallResult *result;
    bool is_error;       /* COMPLETED: the tool's answer is that it failed */
    const CallAsk *asks; /* INPUT_REQUIRED: what has no answer yet */
    size_t n_asks;
} CallTask;

#define CALL_NO_TOTAL (-1.0)

typedef struct CallResult {
    CallResultKind kind;

    /* JSON array elements with their commas, without the brackets. */
    const Span *pieces;
    size_t n_pieces;
    JsonValue elements;     /* the one piece, parsed, with its brackets: where whoever answers has
                               read it, nobody need do so again. node NULL: nobody has */
    uint32_t content_kinds; /* CALL_CONTENT_* */
    Span structured;        /* one JSON value, or empty */
    Span meta;              /* one JSON object for `_meta`, or empty */
    Span members;           /* tool: further members of the result, `"name":value` with commas in
                               between; none of the above. Passed on as they are */
    Span beside;            /* tool: members of the result for clients that know no structured
                               content, written as `members`; for others structured has the same */
    bool is_error;          /* tool: it ran and failed */
    bool is_interrupted;    /* a failure, on its way between two processes: Call.may_have_run */
    bool says_no_error;     /* tool: whoever ran it said in so many words that it did not fail */
    bool is_private;        /* resource: must not be shared between users by a cache */
    int64_t ttl_ms;         /* resource: how long it stays fresh; 0 not at all */
    Span description;       /* prompt: text, not JSON; p NULL: there is none */
    int64_t total;          /* completion: how many there are; < 0 unknown */
    bool has_more;

    const JsonValue *entries; /* list: canonical descriptions (router/router.h) */
    size_t n_entries;
    Span next_cursor; /* text; empty if this is the last page */

    CallError error;
    Span message;    /* text, a sentence for people */
    Span data;       /* one JSON value, or empty */
    Span error_type; /* RAISED: UTF-8 text, the exception's class; may be empty. Of a tool's result:
                        it is no answer of the tool's own, its program failed; message has the same
                        words as its content, for doors whose protocol has an error for that */
    int wire_code;   /* 0: none, unless it is relayed */
    bool is_relayed; /* OWN: another server's answer to the request: an error of the protocol there,
                        and so here; else a tool's own error is a report of the tool */
    int64_t retry_after_ms;

    const CallTask *tasks;
    size_t n_tasks;

    const CallAsk *asks;
    size_t n_asks;
    Span state; /* text that the provider wants to see again with the answers; may be empty */
} CallResult;

#define CALL_RESULT_NULL ((CallResult){.kind = CALL_RESULT_EMPTY})

/* A tool's result that holds text blocks only. */
#define CALL_RESULT_TOOL_PIECES(p, n)                                                              \
    ((CallResult){.kind = CALL_RESULT_TOOL,                                                        \
                  .pieces = (p),                                                                   \
                  .n_pieces = (n),                                                                 \
                  .content_kinds = CALL_CONTENT_TEXT})

/* Does the error have a number of the provider's (wire_code)? */
bool call_result_has_code(const CallResult *result);

/* "unknown_tool" …: for programs. They are in files and logs, and so do not change. */
extern const char *const call_error_names[CALL_N_ERRORS];

/* "unknown tool", "deadline passed"…: what to say where a provider gave no message. */
const char *call_error_text(CallError error);
