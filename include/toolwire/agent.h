/* toolwire/agent.h: the shell of an agent: starts an agent as a child process, sends it what a
 * person says, and tells what it answers, token by token.
 *
 *     static void on_event(const TwAgentEvent *event, void *user)
 *     {
 *         if (event->kind == TW_AGENT_TOKEN) {
 *             fwrite(event->text, 1, event->n_text, stdout);
 *         }
 *     }
 *
 *     TwAgentClient *client = tw_agent_client_new(&(TwAgentClientOptions){.event = on_event});
 *     const char *argv[] = {"toolwire", "agent", NULL};
 *
 *     if (tw_agent_client_start(client, argv) != 0 ||
 *         tw_agent_client_say(client, &(TwAgentMessage){.message = "Hello"}) != 0) {
 *         fprintf(stderr, "%s\n", tw_agent_client_message(client));
 *     }
 *     tw_agent_client_free(client);
 *
 * Any program that speaks JSON lines as docs/agent.md has them is an agent. Several requests may be
 * open at once; their events carry the request's id, in whatever order they come. What an agent
 * prints beside its messages is skipped and told as TW_AGENT_LOG. One that ends is started again,
 * after a while that doubles until one answers; the requests that it had end with TW_AGENT_ERROR.
 *
 * Nothing is read between functions: events come inside start, say and wait. Thread: any, one at a
 * time, but for tw_agent_client_stop. The callback runs on the thread of the function, and may
 * send, approve, interrupt and stop, but not start, say, wait or free.
 */
#pragma once

#include <toolwire/api.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TW_BEGIN_C

typedef struct TwAgentClient TwAgentClient;

typedef enum TwAgentEventKind {
    TW_AGENT_READY = 0,         /* json: its capabilities, an array; text: its protocol's version */
    TW_AGENT_TOKEN = 1,         /* text: the next piece of the answer */
    TW_AGENT_TOOL_USE = 2,      /* tool_id, tool_name, json: its input */
    TW_AGENT_TOOL_PROGRESS = 3, /* elapsed_ms, text: what it says */
    TW_AGENT_TOOL_RESULT = 4,   /* json: its result; or is_error, and text: why */
    TW_AGENT_DONE = 5,          /* the request is over; json: data */
    TW_AGENT_STATUS = 6,        /* the request is over; json: data */
    TW_AGENT_ERROR = 7,         /* the request is over; text: why; error: TW_ERROR_* */
    TW_AGENT_LOG = 8,           /* text: a line that was no message, or an error of no request */
    TW_AGENT_ENDED = 9 /* text: how the agent ended; elapsed_ms: until the next is started */
} TwAgentEventKind;

/* Strings are borrowed until the callback returns, and "" (json: NULL) where there is nothing. */
typedef struct TwAgentEvent {
    TwAgentEventKind kind;
    int error;
    const char *id; /* of the request */
    const char *text;
    size_t n_text; /* a text may hold NUL */
    const char *json;
    const char *tool_id;
    const char *tool_name;
    bool is_error;
    bool approval_required; /* TOOL_USE: it waits for tw_agent_client_approve */
    int64_t elapsed_ms;
    void *reserved[4];
} TwAgentEvent;

/* Members that are not named are 0 or NULL, and mean the default. */
typedef struct TwAgentClientOptions {
    void (*event)(const TwAgentEvent *event, void *user);
    void *user;
    int64_t idle_ms;    /* silence about a request that ends it: 60 s */
    int64_t restart_ms; /* before an agent that ended is started again: 500 ms, doubled to 30 s */
    int64_t grace_ms;   /* what an agent gets to end, before it is made to: 6 s */
    bool no_restart;
    const char *const *environment; /* "NAME=value"…, NULL; NULL: ours */
    const char *folder;             /* NULL: ours */
    bool drop_stderr;               /* else it has ours */
    void *reserved[4];
} TwAgentClientOptions;

/* Gives a client without an agent; NULL if there is no memory, which all functions accept and
 * answer with TW_ERROR_ARGUMENT. options (copied) may be NULL. */
TW_API TwAgentClient *tw_agent_client_new(const TwAgentClientOptions *options);

/* Ends the agent politely: closes its input, waits grace_ms, then ends the process. */
TW_API void tw_agent_client_free(TwAgentClient *client);

/* Starts the agent (argv[0] is looked up in PATH; no shell), and waits until it is ready.
 * TW_ERROR_START, TW_ERROR_CLOSED (it ended before), TW_ERROR_TIMEOUT (it said nothing for
 * idle_ms), TW_ERROR_CANCELLED, TW_ERROR_BUSY (there is one), TW_ERROR_ARGUMENT, TW_ERROR_MEMORY.
 */
TW_API int tw_agent_client_start(TwAgentClient *client, const char *const *argv);

/* A sentence about the last failure; "" if there was none. Borrowed until the next function. */
TW_API const char *tw_agent_client_message(const TwAgentClient *client);

/* A file that goes with a message: path, or base64 data. mime may be NULL. */
typedef struct TwAgentAttachment {
    const char *path;
    const char *data;
    const char *mime;
    const char *name;
    void *reserved[2];
} TwAgentAttachment;

typedef struct TwAgentMessage {
    const char *message;
    const char *conversation; /* NULL: the agent's default */
    const char *user;
    const char *title;
    const TwAgentAttachment *attachments;
    size_t n_attachments;
    void *reserved[4];
} TwAgentMessage;

/* Room for the id of a request, its NUL included. */
#define TW_AGENT_ID_SIZE 40

/* Sends what a person says, and returns; ret_id (may be NULL) is the request's id. TW_ERROR_CLOSED,
 * TW_ERROR_FULL (too many are open, or the message is longer than 10 MiB), TW_ERROR_ARGUMENT,
 * TW_ERROR_MEMORY. */
TW_API int tw_agent_client_send(TwAgentClient *client, const TwAgentMessage *message,
                                char ret_id[TW_AGENT_ID_SIZE]);

/* The same, and handles events until it is over. Besides: TW_ERROR_REMOTE (the agent answered with
 * an error), TW_ERROR_TIMEOUT (silence), TW_ERROR_CLOSED (the agent ended), TW_ERROR_CANCELLED. */
TW_API int tw_agent_client_say(TwAgentClient *client, const TwAgentMessage *message);

typedef enum TwAgentVerb {
    TW_AGENT_CLEAR_HISTORY = 1,
    TW_AGENT_GET_STATUS = 2,
    TW_AGENT_INTERRUPT = 3, /* target: the request, or NULL: all */
    TW_AGENT_LIST_CONVERSATIONS = 4,
    TW_AGENT_LOAD_CONVERSATION = 5,   /* target: the conversation */
    TW_AGENT_DELETE_CONVERSATION = 6, /* target: the conversation */
    TW_AGENT_NEW_CONVERSATION = 7     /* target: its title, or NULL */
} TwAgentVerb;

/* Sends another request; target may be NULL where it is not named above: for CLEAR_HISTORY and
 * GET_STATUS it is a conversation. As tw_agent_client_send. */
TW_API int tw_agent_client_ask(TwAgentClient *client, TwAgentVerb verb, const char *target,
                               char ret_id[TW_AGENT_ID_SIZE]);

/* Lets a tool run that waits for it, or not. As tw_agent_client_send. */
TW_API int tw_agent_client_approve(TwAgentClient *client, const char *tool_id, bool is_approved);

/* Handles events until no request is open: 0; or until timeout_ms have passed: TW_ERROR_TIMEOUT; or
 * tw_agent_client_stop: TW_ERROR_CANCELLED. TW_ERROR_CLOSED, TW_ERROR_ARGUMENT. */
TW_API int tw_agent_client_wait(TwAgentClient *client, int64_t timeout_ms);

/* How many requests are open. */
TW_API size_t tw_agent_client_open(const TwAgentClient *client);

/* Ends start, say or wait, if one runs; the requests stay open. Thread: any. */
TW_API void tw_agent_client_stop(TwAgentClient *client);

TW_END_C
