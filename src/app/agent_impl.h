/* app/agent_impl.h: what the files of the agent runtime share. Private to app/agent*.
 *
 *     agent.c         composition, and the end
 *     agent_serve.c   lines of the shell to items
 *     agent_item.c    items: one for each open request, in the queue of their conversation
 *     agent_run.c     a user message: preparation, the turn's orders, the end
 *     agent_run_*.c   its attachments, its tools
 *     agent_ask.c     the requests about conversations and status
 *     agent_tell.c    responses
 */
#pragma once

#include "agent/store.h"
#include "agent/turn.h"
#include "app/agent.h"
#include "app/agent_link.h"
#include "app/agent_tools.h"
#include "app/agent_wire.h"
#include "app/hub.h"
#include "app/sources.h"
#include "base/map.h"
#include "dialect/agent/message.h"
#include "dialect/agent/server.h"
#include "providers/files.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Agent Agent;
typedef struct AgentCall AgentCall;
typedef struct AgentItem AgentItem;
typedef struct AgentTalk AgentTalk;

/* The conversation of messages that name none, at the start. */
#define AGENT_DEFAULT_TALK "default"

/* Why a request that the agent had no time for is an error. */
#define AGENT_CUT_WORDS "the agent is shutting down"

/* The folders that attachments may come from: the root, and those of the settings. */
#define AGENT_MAX_ROOTS 16

typedef enum AgentLife {
    AGENT_OPEN,
    AGENT_ENDING, /* no more requests; those that are open may end */
    AGENT_CUT,    /* they were told to end now */
    AGENT_GONE    /* the loop stops */
} AgentLife;

struct Agent {
    const AgentOptions *options;
    const Config *config;
    ConfigAgent settings; /* the configuration's, with the defaults filled in */
    const LogSink *log;
    Hub *hub;
    IoLoop *loop;
    Router *router;
    Sources sources;
    FilesProvider *files;              /* NULL: the system has none */
    IoBeneath *roots[AGENT_MAX_ROOTS]; /* the first is the files', if there are any */
    size_t n_roots;
    AgentLink *link;     /* NULL: the tools are our own */
    RouterListener gate; /* those of other MCP servers are there, or will not be for now */
    IoTask opened;       /* messages that waited for them go on */
    bool is_listening;
    AgentTools *tools;
    Model *model;
    AgentStore *store;
    Bytes history; /* how the history is kept, for people */
    bool is_history_kept;
    Bytes system; /* the prompt */
    AgentWire *wire;
    Arena secrets; /* that are not traced */
    AgentServer server;
    Arena arena;   /* the request at hand */
    Arena scratch; /* whatever is needed only now */
    Bytes data;    /* JSON of a response at hand */
    Map talks;     /* conversation id → AgentTalk, while it has items */
    Bytes current; /* the conversation of messages that name none */
    AgentItem *first;
    AgentItem *last;
    size_t n_items;
    AgentCall *spare_calls;
    RouterQuota quota;
    CallAsker asker;
    IoTimer *timer;
    int64_t timer_ms;
    int64_t began_ms;
    AgentLife life;
    int64_t end_ms; /* ENDING, CUT: when the next step is due */
    uint64_t n_ids; /* that were made up */
    int r;          /* how it ended */
};

/* ---- items (agent_item.c) ---- */

typedef enum AgentItemKind {
    AGENT_ITEM_RUN,
    AGENT_ITEM_ASK
} AgentItemKind;

typedef struct AgentItemOps {
    void (*begin)(AgentItem *item);
    /* Interrupted, or cut with an error of these words; begun or not. It ends soon. */
    void (*stop)(AgentItem *item, TurnEnd end, Span words);
    void (*free)(AgentItem *item); /* what is the kind's own */
} AgentItemOps;

/* One open request. */
struct AgentItem {
    const AgentItemOps *ops;
    AgentItemKind kind;
    Agent *agent;
    AgentTalk *talk; /* NULL: it waits for nobody */
    AgentItem *next_in_talk;
    AgentItem *next; /* of all */
    AgentItem *prev;
    Arena arena; /* what was asked */
    Span id;
    Span conversation;
    bool has_begun;
    bool was_stopped;
};

/* Fills in what items have in common; conversation: the request's, else the current one. 0,
 * -ENOMEM: then only agent_item_free may follow. */
int agent_item_init(AgentItem *item, Agent *agent, AgentItemKind kind, const AgentItemOps *ops,
                    const AgentRequest *request);
AgentItem *agent_item_free(AgentItem *item);

/* Begins it, now or, if is_queued, when those of its conversation that came before have ended. 0,
 * -ENOMEM (nothing has begun; the item is the caller's). */
int agent_item_submit(AgentItem *item, bool is_queued);

/* Interrupts the user message of that id, or cuts (FAILED) the request of that id; empty: all.
 * Returns how many there were. */
size_t agent_items_stop(Agent *agent, Span id, TurnEnd end, Span words);

/* Its last response was written: the id is free, the item goes, the next of its conversation
 * begins. */
void agent_item_end(AgentItem *item);

/* ---- user messages (agent_run.c) ---- */

int agent_run_new(AgentItem **ret, Agent *agent, const AgentRequest *request);

/* The hub's tools are there, or will not be. False: it did not wait for them. */
bool agent_run_on_link(AgentItem *item);
void agent_run_advance(AgentItem *item, int64_t now_ms);
int64_t agent_run_next_deadline(const AgentItem *item);
bool agent_run_uses_tool(const AgentItem *item);

/* 0, TURN_E_NOT_ASKED. */
int agent_run_approve(AgentItem *item, Span tool_id, bool is_approved);

/* Has a call of that id been made by a turn that is not over? */
bool agent_run_has_tool(const AgentItem *item, Span tool_id);

/* Frees a spare call; returns the next one. */
AgentCall *agent_run_drop_call(AgentCall *call);

/* ---- other requests (agent_ask.c) ---- */

int agent_ask_new(AgentItem **ret, Agent *agent, const AgentRequest *request);

/* ---- lines of the shell (agent_serve.c) ---- */

void agent_serve_line(Agent *agent, Span line);
void agent_serve_too_long(Agent *agent, Span beginning);

/* ---- responses (agent_tell.c) ----
 *
 * Each writes one line, or, if that cannot be, sees to it that the agent ends: a shell that takes
 * nothing has gone. */

void agent_tell_ready(Agent *agent);
void agent_tell_token(Agent *agent, Span id, Span token);
void agent_tell_tool_use(Agent *agent, Span id, const AgentTool *tool);

/* A result that is too long for a line is told as an error. */
void agent_tell_tool_result(Agent *agent, Span id, const AgentTool *tool);
void agent_tell_tool_progress(Agent *agent, Span id, const AgentTool *tool);
void agent_tell_done(Agent *agent, Span id, Span data);
void agent_tell_error(Agent *agent, Span id, Span words);
void agent_tell_status(Agent *agent, Span id, const AgentStatus *status);

/* False: the line was too long, and nothing was told. */
bool agent_tell_done_if_short(Agent *agent, Span id, Span data);

/* ---- life (agent.c) ---- */

/* Sets the timer to due_ms, unless it is set to an earlier time. */
void agent_schedule(Agent *agent, int64_t due_ms);

/* Something has ended: so may we. */
void agent_look_at_end(Agent *agent);

/* The shell has gone, or takes nothing: everything is cut. */
void agent_give_up(Agent *agent, int r);
