/* app/agent_run_impl.h: what the files of a user message share. Private to app/agent_run*. */
#pragma once

#include "app/agent_impl.h"

typedef struct AgentRun AgentRun;
typedef struct RunAttach RunAttach;

/* A user message. What it waits for before its turn: the tools of a hub, what was said before, what
 * is attached. After it: until all is saved. */
struct AgentRun {
    AgentItem item;
    Span message;
    Span title;
    const AgentAttachment *attachments; /* in the item's arena */
    size_t n_attachments;
    bool is_linking;
    bool is_loading;
    RunAttach *attach;  /* while a thread reads them */
    AgentBlock *blocks; /* what the person says, in the item's arena */
    size_t n_blocks;
    AgentStoreOp load;
    Turn turn;
    bool has_turn;
    ModelRun *model;
    AgentCall *calls;
    size_t n_saving;
    bool is_stepping;
    bool has_ended; /* end and words are known */
    TurnEnd end;
    Span words;
};

/* A call of a tool; pooled. */
struct AgentCall {
    Call call;
    Arena arena; /* the arguments' index */
    AgentRun *run;
    TurnTool *tool;
    int64_t told_ms; /* when progress was last told */
    AgentCall *next;
    AgentCall *prev;
};

/* ---- agent_run.c ---- */

/* Carries out what the turn wants; the run may be gone on return. */
void agent_run_step(AgentRun *run);

/* One thing less is waited for. The run may be gone on return. */
void agent_run_prepare(AgentRun *run);

/* ---- agent_run_attach.c ---- */

/* Begins to read the attachments; sets run->attach until it is done. The run's blocks are filled
 * then, or it has ended. 0, a negative errno. */
int agent_run_attach(AgentRun *run);

/* ---- agent_run_tools.c ---- */

/* Starts a tool; it may have ended on return. */
void agent_run_start_tool(AgentRun *run, TurnTool *tool);
void agent_run_stop_tool(AgentRun *run, TurnTool *tool);
void agent_run_tell_use(const AgentRun *run, const TurnTool *tool, bool needs_approval);
