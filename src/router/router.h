/* router/router.h: what there is to call, and the way of a call to the one who has it.
 *
 * The registry holds tools, resources, resource templates and prompts by rank, and those of a rank
 * in the order in which they were added. Each is described by one JSON object in the form of the
 * newest MCP revision
 * (`{"name","title","description","icons","inputSchema","outputSchema","annotations","_meta"}`),
 * kept without white space and otherwise byte for byte; a door leaves out what its revision does
 * not know.
 *
 * router_dispatch admits a call (quota, name, arguments against the input schema) and starts its
 * provider, or ends it with a named error; it always leads to one CallDoor.finish. A result is
 * checked against the output schema on its way back. Performs no I/O and asks no system for the
 * time: router_advance tells it, and the clock that it is given. Thread: loop.
 */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "base/hash.h"
#include "base/span.h"
#include "call/call.h"
#include "router/quota.h"
#include "router/safety/safety.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ROUTER_E_EXISTS = 1, /* that name or URI is taken */
    ROUTER_E_FULL,       /* LIMIT_ROUTER_ENTRIES of that kind */
    ROUTER_E_MALFORMED,  /* the description or its schema is not what it must be; the Diag says */
    ROUTER_E_MISSING     /* there is nothing of that name */
};

typedef enum RouterKind {
    ROUTER_TOOL,
    ROUTER_RESOURCE,
    ROUTER_TEMPLATE,
    ROUTER_PROMPT,
    ROUTER_N_KINDS
} RouterKind;

typedef struct Router Router;
typedef struct RouterEntry RouterEntry;

/* Does a tool run as a task (CallLater)? */
typedef enum RouterLater {
    ROUTER_LATER_NEVER,
    ROUTER_LATER_MAY,    /* for those who take one */
    ROUTER_LATER_ALWAYS, /* only */
    /* Only, but it asks before there is a task: the call runs until it has asked, and is a task
     * when it comes again with the answers. */
    ROUTER_LATER_ASKED
} RouterLater;

/* One thing to be called. Copied by router_add. What the description must have:
 *
 *     tool        name (1 to 128 letters, digits, _ . / -), inputSchema of type "object"
 *     resource    uri, name
 *     template    uriTemplate (router/uritemplate.h says which expressions), name
 *     prompt      name; in each of its arguments, if any, a name
 */
typedef struct RouterSpec {
    RouterKind kind;
    Span json; /* the description; any white space */
    Span name; /* tool, with describe: its name */
    /* Tool, in place of json: appends the description of that name to out when a list or a call
     * first needs it, and its schemas are compiled for the first call: a process that is started
     * for other tools does not pay for it. What it appends is the program's own, and right; if it
     * is not, lists and calls are internal errors. 0, a negative errno, BYTES_E_FULL. */
    int (*describe)(void *context, Span name, Bytes *out);
    const CallProvider *provider;
    void *context;                  /* for the provider; borrowed until the entry is released */
    int64_t timeout_ms;             /* 0: the router's default */
    RouterLater later;              /* tool; the description says so, too (execution.taskSupport) */
    bool is_command;                /* tool: answers with the standard envelope (call/envelope.h),
                                       and passes the desk first; its output schema is merged */
    bool is_guarded;                /* of a command: whoever executes it has a desk of its own, so
                                       that ours only fills in the times */
    bool can_undo;                  /* of a command: its provider looks at the plan, undoes what it
                                       did where that says so (is_dry_run, needs_rollback) and sets
                                       is_undone; without it there is no dry run of what writes */
    bool is_relayed;                /* somebody else has it, who checks what comes and goes by his
                                       own rules: schemas and arguments are shown, not enforced */
    bool is_about_all;              /* tool: its answer depends on which tools there are, so that it
                                       waits at the gate (router_close_gate) as a list does */
    bool completes;                 /* prompt, template: the provider also answers CALL_COMPLETE */
    bool subscribes;                /* resource, template: the provider also answers CALL_SUBSCRIBE
                                       with CALL_RESULT_EMPTY; else the router does */
    Span prefix;                    /* template: URIs that begin so and that nothing has are read
                                       here, too, so that its provider says what is wrong with
                                       them; may be empty. Borrowed as context */
    void (*release)(void *context); /* may be NULL; called when no call uses the entry any more */
} RouterSpec;

/* Told about changes. May leave while it is told; does not change the registry then. Each
 * function may be NULL. */
typedef struct RouterListener RouterListener;
struct RouterListener {
    void (*changed)(RouterListener *listener,
                    RouterKind kind); /* a list changed; also for several at once */
    void (*updated)(RouterListener *listener, Span uri); /* a resource's content changed */
    /* Of tools that stay in the list somebody who runs them has come, or gone; or a server has
     * listed all that it has. */
    void (*there)(RouterListener *listener);
    /* A task has come to another status; owner: whose it is, empty: everybody's. */
    void (*task)(RouterListener *listener, const CallTask *task, Span owner);
    void (*opened)(RouterListener *listener); /* the gate (router_close_gate) */
    bool only_shown; /* not told of changes among tools that are hidden (router_set_shown) */
    RouterListener *next;
    RouterListener *prev;
};

/* 0, -ENOMEM. Gives *ret. limits may be NULL. seed: random. */
int router_new(Router **ret, const RouterLimits *limits, HashSeed seed);

/* Other times for the calls that begin from now on. limits may be NULL: the defaults. */
void router_set_times(Router *router, const RouterLimits *limits);

/* Ends every running call with CALL_ERROR_CANCELLED first. */
Router *router_free(Router *router);

/* The time has come to now_ms (monotonic): ends calls whose deadline has passed. Called before the
 * first dispatch too, since deadlines count from the last time told. */
void router_advance(Router *router, int64_t now_ms);

/* A source of the time between two advances: calls begin, and progress is reported, in the middle
 * of a turn of the owner's loop, which may have slept before it. Without one, the time of the last
 * advance counts. Borrows context for the life of the router. */
void router_set_clock(Router *router, int64_t (*now_ms)(void *context), void *context);

/* When router_advance must be called next; INT64_MAX if no call runs. May be earlier than the first
 * deadline, after a call has ended or reported progress: calling router_advance then does no harm.
 */
int64_t router_next_deadline(const Router *router);

/* Where what is added from now on stands in the lists: behind all of a lesser rank. So a source
 * that is replaced has its old place again. At first, and for those who come and go, it is the
 * last. */
#define ROUTER_RANK_LAST 255u
void router_set_rank(Router *router, unsigned rank);

/* 0, -ENOMEM, ROUTER_E_EXISTS, ROUTER_E_FULL, ROUTER_E_MALFORMED (the Diag's field says where).
 * Listeners are told. On failure release is not called: the context is still the caller's. */
int router_add(Router *router, const RouterSpec *spec, Diag *reterr_diag);

/* key: name, URI or URI template. Calls that run go on. 0, ROUTER_E_MISSING. */
int router_remove(Router *router, RouterKind kind, Span key);

/* Which tools stand in lists for askers that want few of them (Call.only_shown); the others are
 * hidden there, and can be called all the same. shows NULL: none is hidden, as at the start.
 * Listeners are told. Borrows context until it is replaced. 0, -ENOMEM: nothing has changed. */
int router_set_shown(Router *router, bool (*shows)(void *context, Span name), void *context);
bool router_hides(const Router *router);

/* Between begin and end listeners are told once a kind, at the end. Nestable. */
void router_batch_begin(Router *router);
void router_batch_end(Router *router);

/* fn adds resources and prompts that take time to make, when they are first needed: before a list
 * of them, a read, a prompt, a completion or a subscription, or when router_fill is called; once,
 * unless it is set again. Listeners are not told of them, since nobody has seen the lists without
 * them. fn NULL: nothing is left to be made. Borrows context until then. */
void router_set_filler(Router *router, void (*fn)(void *context), void *context);
void router_fill(Router *router);

/* While the gate is closed, what is about to be added is waited for: lists, and calls of what is
 * not there, are held (their time runs) until it is opened. At first it is open. knocked (may be
 * NULL) is told once of the first who waits, so that nothing need be made before: it may open the
 * gate later, not at once. Borrows context until it is open. */
void router_close_gate(Router *router, void (*knocked)(void *context), void *context);
void router_open_gate(Router *router);

/* Somebody needs all that there is and makes no call: as if one were held. True: the gate is
 * closed, and listeners will be told when it opens. */
bool router_knock(Router *router);

/* fn sees each call of a tool when it is routed, behind the gate, and may let it be one of another
 * tool: target and arguments, which are of what the call has already or in its kept_arena. NULL:
 * nobody, as at the start. Borrows context. */
void router_set_alias(Router *router, void (*fn)(void *context, Call *call), void *context);

/* Something to be said in the `_meta` of every list of that kind, one JSON object, or nothing.
 * Borrowed until the next question. fn NULL: nothing. Borrows context. */
void router_set_list_meta(Router *router, Span (*fn)(void *context, RouterKind kind),
                          void *context);

/* What may be said beside "unknown tool" or "unknown prompt": where the name has gone, as text that
 * goes on behind it. Borrowed until the next question; empty: nobody knows. fn NULL: nothing.
 * Borrows context. */
void router_set_unknown(Router *router, Span (*fn)(void *context, RouterKind kind, Span name),
                        void *context);

size_t router_count(const Router *router, RouterKind kind);
bool router_has_completions(const Router *router);

/* A tool by name, for doors that accept a tool's name as a method. */
bool router_has_tool(const Router *router, Span name);

/* Tells every listener that a resource's content changed. */
void router_resource_updated(Router *router, Span uri);

/* Somebody wants to be told of that resource, or does not any more; counted. Beyond
 * LIMIT_ROUTER_ENTRIES URIs, or without memory, it is not known that they are wanted. */
void router_want(Router *router, Span uri, bool is_wanted);

/* fn is told of the first who wants a resource, and when the last one has gone: for providers that
 * must subscribe somewhere to hear of updates. It does not come back to these functions but
 * router_next_wanted. NULL: nobody, as at the start. Borrows context. */
void router_set_wanted(Router *router, void (*fn)(void *context, Span uri, bool is_wanted),
                       void *context);
bool router_next_wanted(const Router *router, size_t *cursor, Span *ret_uri);

/* Who answers for that URI, by a resource or a template, and its context, if he answers
 * CALL_SUBSCRIBE (RouterSpec.subscribes). NULL: nobody does. */
const CallProvider *router_subscriber(const Router *router, Span uri, void **ret_context);

/* Nobody will come back with the answers to a question: to the one that was asked with that state;
 * or, state empty, to any that the asker was asked. For providers that keep something for them. */
void router_forsake(const Router *router, const CallAsker *asker, Span state);

/* Who is told of that. NULL: nobody, as at the start. Borrows context. */
void router_set_forsaken(Router *router,
                         void (*fn)(void *context, const CallAsker *asker, Span state),
                         void *context);

/* Tells every listener that somebody who runs tools of the list has come, or gone (is_there). */
void router_there_changed(Router *router);

/* Tells every listener how a task stands; borrows it until return. */
void router_task_changed(Router *router, const CallTask *task, Span owner);

/* Who takes calls whose answer comes later: those of tools that run as tasks, from askers that take
 * one (it ends them with CALL_RESULT_TASK as soon as the task cannot be lost), and what is asked
 * about tasks (CALL_TASK_*, CALL_LIST_TASKS). A task's work comes back as a call of its own, with
 * CALL_LATER_IS_TASK. Without one there are no tasks, and tools that may run as one just run.
 * Borrowed until it is replaced; provider NULL: nobody, as at the start. */
void router_set_later(Router *router, const CallProvider *provider, void *context);
bool router_has_later(const Router *router);

/* How the tool of a running call may run; for the one who takes them. */
RouterLater router_call_later(const Call *call);
int64_t router_call_timeout_ms(const Call *call); /* of its tool; 0: the router's default */

void router_listen(Router *router, RouterListener *listener);
void router_unlisten(Router *router, RouterListener *listener);

/* Takes the call until its finish, which may come before this returns. quota may be NULL (no
 * limits); it is the asker's, and outlives the call. Lists and subscriptions are answered here; the
 * rest by the entry's provider. A door is done with a result before it dispatches another call from
 * inside its finish. */
void router_dispatch(Router *router, RouterQuota *quota, Call *call);

/* The asker wants no answer any more: stops the work. No finish follows; the call is the door's
 * again. Does nothing if the call does not run. */
void router_cancel(Router *router, Call *call);

/* The description of the entry that a running call uses, and, for a resource found by a template,
 * the value of one of its variables (decoded; borrowed until the call ends); false if there is
 * none. */
JsonValue router_call_description(const Call *call);
bool router_call_variable(const Call *call, Span name, Span *ret);

/* Where commands are checked before they start (router/safety/safety.h). Borrowed; NULL: commands
 * run unchecked, and have their envelope all the same. Commands find what was decided about them,
 * while they run: NULL for what is no command. */
void router_set_desk(Router *router, SafetyDesk *desk);
SafetyPlan *router_call_plan(const Call *call);

/* Adds the command get_context, also as help.get_context: the document in front as the router's
 * desk knows it, and its token. The router must have its desk. 0, -ENOMEM, ROUTER_E_EXISTS,
 * ROUTER_E_FULL. */
int router_add_get_context(Router *router, Diag *reterr_diag);

/* Finer clocks for the times of commands: microseconds that never go back, and milliseconds since
 * 1970. Without them the times are those of router_set_clock, and 0. Borrows context. */
void router_set_stopwatch(Router *router, int64_t (*now_us)(void *context),
                          int64_t (*wall_ms)(void *context), void *context);

/* The i-th tool, i less than router_count: its name, and its description (node NULL: no memory to
 * make it). Borrowed until it is removed. */
Span router_tool_name_at(const Router *router, size_t i);
JsonValue router_tool_at(Router *router, size_t i);

/* Is that tool a command (RouterSpec.is_command)? For those who pass its description on. */
bool router_tool_is_command(const Router *router, Span name);

/* Is there such a tool, and somebody who could run it now (CallProvider.is_there)? */
bool router_tool_is_there(const Router *router, Span name);

/* The sort of an entry's provider ("exec"), NULL if there is no such entry; and a tool's own time
 * (0: it has none, or there is no such tool). For those who begin a call that nobody waits for. */
const char *router_provider(const Router *router, RouterKind kind, Span key);
int64_t router_tool_timeout_ms(const Router *router, Span name);

/* The params of a request as they are kept until it is carried out: with the context token that it
 * expects beside them (safety/expected.h), for commands and for what is no tool of ours; other
 * tools do not know it. params, beside: objects, or node NULL. *ret: JSON, borrowed or in the
 * arena. 0, -ENOMEM. */
int router_command_params(const Router *router, Span method, JsonValue params, JsonValue beside,
                          Arena *arena, Span *ret);

/* The description of a tool, JSON; borrowed until the tool is removed. Empty if there is none, or
 * no memory to make it. */
Span router_tool_description(Router *router, Span name);

/* Results for models: whoever is set here may give another one in place of a tool's, before MCP
 * askers get it, be it at once or as the end of a task; the watch has seen the one that was given.
 * owner: as Call.owner. has_schema: the tool has, or may have, an output schema. What is given is
 * borrowed until the next question. */
typedef struct RouterShorten {
    const CallResult *(*shorten)(void *context, Span owner, const CallResult *result,
                                 bool has_schema);
    void *context;
} RouterShorten;

/* Borrowed until it is replaced; NULL: results are as they are. */
void router_set_shorten(Router *router, const RouterShorten *shorten);

/* Told of each call as it comes in and as it ends, however that comes: measures, and keeps a record
 * (app/watch.h). ended: result NULL if the asker took the call back. Both are called while the call
 * is the router's, and change nothing of it but what is the watch's. */
typedef struct RouterWatch {
    void (*began)(void *context, Call *call);
    void (*ended)(void *context, const Call *call, const CallResult *result);
    void *context;
} RouterWatch;

/* Borrowed until it is replaced; NULL: nobody watches. */
void router_set_watch(Router *router, const RouterWatch *watch);

/* The sort of its provider: "exec"; "router" for what the router answers itself, or refuses. */
const char *router_call_provider(const Call *call);

/* The sort of the provider of the i-th entry of that kind; i is less than router_count. */
const char *router_provider_at(const Router *router, RouterKind kind, size_t i);

/* Steps through the calls whose provider has yet to answer: after NULL begins, NULL is the end. */
const Call *router_next_running(const Router *router, const Call *after);

/* Entries of a page of a list; 0: all. For tests and for lists of thousands. */
void router_set_page_size(Router *router, size_t n_entries);
