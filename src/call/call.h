/* call/call.h: one call on its way from a door through the router to a provider and back.
 *
 * The words that doors, router and providers share, so that none of them knows the others:
 *
 *     door       fills the asker's part, hands the call to the router, and is told through CallDoor
 *     router     sets host and provider, guards limits and deadlines, is told through CallHost
 *     provider   answers with call_finish, at once or later
 *
 * Life: IDLE → RUNNING → IDLE. Every dispatch ends in exactly one CallDoor.finish, unless the door
 * itself cancels. A result of kind ASK also ends it: the door gathers the answers and dispatches
 * the call again, with `inputs` filled; the provider runs from its beginning and finds them there.
 * So one handler serves clients that are asked in the middle of a call and clients that repeat the
 * call with the answers, and nothing but the call has to survive in between.
 *
 * After finish, after cancel, and after CallProvider.cancel, the other side does not touch the call
 * again: whoever holds a pointer to it drops it there. Thread: loop.
 */
#pragma once

#include "base/arena.h"
#include "base/span.h"
#include "call/result.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Call Call;

typedef enum CallVerb {
    CALL_TOOL,       /* target: tool name; arguments */
    CALL_READ,       /* target: resource URI */
    CALL_PROMPT,     /* target: prompt name; arguments: object of strings */
    CALL_COMPLETE,   /* target: prompt name or URI template; completion */
    CALL_LIST_TOOLS, /* cursor, also in the three below */
    CALL_LIST_RESOURCES,
    CALL_LIST_TEMPLATES,
    CALL_LIST_PROMPTS,
    CALL_SUBSCRIBE, /* target: resource URI; only asks whether it exists */
    /* Tasks (CallLater). target: the task's id; but for LIST, which has a cursor. */
    CALL_TASK_GET,    /* how it stands */
    CALL_TASK_RESULT, /* its result, when there is one: waits; the end is the tool's own */
    CALL_TASK_UPDATE, /* inputs: answers to some of what it asks */
    CALL_TASK_CANCEL,
    CALL_LIST_TASKS,
    CALL_N_VERBS
} CallVerb;

/* May the answer come later, as a task that the asker comes back for? */
typedef enum CallLater {
    CALL_LATER_NEVER,  /* the asker waits for the answer */
    CALL_LATER_MAY,    /* as the tool wishes */
    CALL_LATER_ALWAYS, /* the asker wants a task */
    CALL_LATER_IS_TASK /* this is the work of a task: it runs now */
} CallLater;

/* What the asker can be asked for (Call.can). */
enum {
    CALL_CAN_FORM = 1u << CALL_ASK_FORM,
    CALL_CAN_URL = 1u << CALL_ASK_URL,
    CALL_CAN_SAMPLE = 1u << CALL_ASK_SAMPLE,
    CALL_CAN_ROOTS = 1u << CALL_ASK_ROOTS,
};

/* RFC 5424 severities, as MCP names them; a log record passes if its level is at least the call's.
 */
typedef enum CallLogLevel {
    CALL_LOG_DEBUG,
    CALL_LOG_INFO,
    CALL_LOG_NOTICE,
    CALL_LOG_WARNING,
    CALL_LOG_ERROR,
    CALL_LOG_CRITICAL,
    CALL_LOG_ALERT,
    CALL_LOG_EMERGENCY,
    CALL_LOG_NONE /* as a call's level: nothing passes */
} CallLogLevel;

typedef struct CallProgress {
    double progress; /* must grow from one report to the next */
    double total;    /* CALL_NO_TOTAL if unknown */
    Span message;    /* text; may be empty */
    Span spelt;      /* progress as somebody else spelt it, a number; empty: nobody did */
    Span spelt_total;
    Span members; /* `"name":value`… of his, which are not ours to understand; may be empty */
} CallProgress;

typedef struct CallCompletion {
    bool is_prompt;    /* target is a prompt's name, else a URI template or URI */
    Span argument;     /* whose value is being typed */
    Span value;        /* what has been typed */
    JsonValue context; /* object of arguments already chosen; node NULL if none */
} CallCompletion;

/* A value taken out of the URI that was read. */
typedef struct CallVariable {
    Span name;
    Span value;
} CallVariable;

/* Who asks, for those who watch. The door's; outlives its calls. */
typedef struct CallAsker {
    const char *dialect; /* "mcp", "callsock", … */
    const char *who;     /* what is known of it: "stdio", "127.0.0.1:51234 alice"; text */
    bool is_lasting;     /* it is one for all calls of a connection, whose end is told
                            (router_forsake); else it may be gone when its call has ended */
    uint64_t session;    /* whose calls have different askers, and are one client's all the same;
                            0: nobody knows */
    bool is_model;       /* a language model reads what it gets: long results may be shortened */
} CallAsker;

/* In the `_meta` of a list of tools: the request has it true, and the answer an array with one name
 * for each tool, of the server that has it, or null. */
#define CALL_META_ORIGINS "toolwire/origins"

/* How the call reaches the one who asked. Implemented by dialects. */
typedef struct CallDoor {
    /* The end of one dispatch; borrows result until return. The call is the door's again. */
    void (*finish)(Call *call, const CallResult *result);
    void (*progress)(Call *call, const CallProgress *progress);
    /* data: one JSON value; logger: text, may be empty. Only called if the level passes. */
    void (*log)(Call *call, CallLogLevel level, Span logger, Span data);
    /* The asker may be let go, to come back for the answer. May be NULL. */
    void (*detach)(Call *call);
} CallDoor;

/* How it reaches the router. Implemented there, used through the functions below. */
typedef struct CallHost {
    void (*finish)(Call *call, const CallResult *result);
    void (*progress)(Call *call, const CallProgress *progress);
} CallHost;

/* Whoever has the tool, resource or prompt. */
typedef struct CallProvider {
    const char *name; /* of its sort, for those who watch: "exec" */
    /* Begins the work and ends it with call_finish, before it returns or later. */
    void (*start)(void *context, Call *call);
    /* The call is over for its asker (cancelled, deadline, disconnect): stop the work, forget the
     * call before returning, and do not call call_finish. May be NULL if start always finishes. */
    void (*cancel)(void *context, Call *call);
    /* How this provider says an error that was found for it: arguments that the schema refuses,
     * before a start; a deadline that passed, after cancel; a result of its own that breaks the
     * output schema (CALL_ERROR_BAD_RESULT), inside call_finish. *ret is borrowed until the next
     * question. False: it has no words of its own for it. May be NULL. */
    bool (*word)(void *context, const CallResult *error, CallResult *ret);
    /* Is somebody there who could run it now? For work that can wait. May be NULL: always. */
    bool (*is_there)(void *context);
    /* Whose it is, where a provider has what several others have: a name, text; borrowed until
     * anything is added or taken out. May be NULL: its own. */
    Span (*origin)(void *context);
} CallProvider;

/* arguments, inputs, completion.context; target, completion.argument and value, state. */
#define CALL_N_KEPT_VALUES 3
#define CALL_N_KEPT_SPANS  4

struct Call {
    /* The asker's part, set by the door. */
    const CallDoor *door;
    const CallAsker *asker; /* may be NULL */
    CallVerb verb;
    Span target;         /* decoded */
    JsonValue arguments; /* an object; node NULL if none. Borrowed, as target, completion, inputs
                            and state, until the provider's start returns; if the call then still
                            runs the router keeps a copy (call_keep_arguments) */
    JsonValue meta; /* of a tool's request, for what commands expect; node NULL if none. Borrowed
                       until the call is dispatched */
    CallCompletion completion;
    Span cursor;
    bool has_cursor;
    bool only_shown;    /* of a list of tools: without those that the router hides */
    bool wants_origins; /* of a list of tools: it says whose each of them is */
    bool wants_progress;
    CallLogLevel log_level;
    unsigned can;       /* CALL_CAN_* */
    bool names_missing; /* the asker's protocol has an error that says what it would have to be
                           asked for: a question beyond `can` ends the call with that */
    int64_t timeout_ms; /* 0: the entry's, else the router's default */
    CallLater later;
    int64_t later_ms; /* how long the asker wants the task to be kept; 0: not said; < 0: for ever */
    int64_t waited_us; /* of a task's work: how long it waited for its turn */
    Span owner;        /* whose tasks these are, text; empty: everybody's. Borrowed as target; the
                          door's for the life of its session */
    JsonValue inputs;  /* object: key of an ask → the answer; node NULL if none */
    Span state;        /* what the provider gave with its last ask */

    /* The router's part. */
    const CallHost *host;
    void *router;
    void *entry; /* RouterEntry */
    void *quota; /* RouterQuota */
    const CallProvider *provider;
    void *provider_context;
    Call *next; /* among the running calls */
    Call *prev;
    const CallVariable *variables; /* of the resource template that was found; in kept_arena */
    size_t n_variables;
    int64_t granted_ms;       /* what the call has from its start, and from each progress report */
    int64_t deadline_ms;      /* moves with progress */
    int64_t hard_deadline_ms; /* does not */
    double last_progress;
    void *command;      /* what is known of a command that runs */
    uint64_t began_ns;  /* the watch's, as the two that follow */
    size_t asked_bytes; /* of arguments and answers: the call may forget them before it ends */
    Span asked_text;    /* what a record keeps of them; in kept_arena */
    bool *ret_finished; /* set by the router while start runs */
    bool running;

    /* The provider's part. */
    void *provider_data;
    bool took_arguments; /* set before start returns: it needs them no more, so that no copy is kept
                          */
    bool may_have_run;   /* set before the call fails: whoever ran it has gone, and nobody knows how
                            far it came. Work that waits on disk is then not begun again unasked */

    /* Copies of what the asker lent, pooled with the call, and which of the values and spans above
     * are such copies (call_keep_arguments). */
    Arena kept_arena;
    const JsonNode *kept_values[CALL_N_KEPT_VALUES];
    const char *kept_spans[CALL_N_KEPT_SPANS];
};

/* A call without asker or work. */
void call_init(Call *call);
void call_deinit(Call *call);

/* Forgets the last use and keeps the storage. */
void call_reset(Call *call);

/* Ends the call; borrows result until return. The caller forgets the call. Without a host it goes
 * to the door at once, as progress does. */
void call_finish(Call *call, const CallResult *result);

/* Ends it with an error; message may be empty: then call_error_text. */
void call_fail(Call *call, CallError error, Span message);

/* Tells the asker how far the work is; moves the deadline. A report that does not grow is dropped.
 */
void call_report(Call *call, const CallProgress *progress);

/* Sends a log record to the asker if its level passes. */
void call_log(Call *call, CallLogLevel level, Span logger, Span data);

/* The work will take long, and the asker need not hold its connection until it is done: where its
 * door knows a way, the asker is told to come back. Nothing else changes. */
void call_detach(Call *call);

/* The answer to an ask of that key; false if there is none yet. */
bool call_input(const Call *call, Span key, JsonValue *ret);

/* Copies what the asker lent (target, arguments, completion, inputs, state; not the cursor, which
 * nobody needs later) into the call, so that it stays until call_reset. What is a copy already is
 * not copied again, so that a door may call it before it asks a question, and the router after.
 * Arguments that the provider took are forgotten.
 * 0, -ENOMEM: some may be copies then, all are valid as before. */
int call_keep_arguments(Call *call);

/* The same for meta, of a call that has yet to be looked at. */
int call_keep_meta(Call *call);

/* "debug" … "emergency"; NULL for CALL_LOG_NONE. */
const char *call_log_level_name(CallLogLevel level);
bool call_log_level_parse(Span s, CallLogLevel *ret);
