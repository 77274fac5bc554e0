/* agent/script_impl.h: what the files of the script share. Private to agent/script*. */
#pragma once

#include "agent/script.h"

/* Where a conversation stands. */
typedef struct AgentScriptPlace {
    Span message;                /* of the user: the newest text */
    size_t n_after;              /* answers that followed it: rounds of tools */
    const AgentMessage *results; /* the newest message, if it has results of tools; else NULL */
} AgentScriptPlace;

/* The steps that an answer is put together from. */
typedef struct AgentScriptAnswer {
    Arena *arena;
    AgentScriptStep *steps;
    size_t n;
    size_t cap;
} AgentScriptAnswer;

/* Appends a copy of the step. 0, -ENOMEM. */
int agent_script_add(AgentScriptAnswer *answer, const AgentScriptStep *step);

/* All results of that message, as one text in the arena. */
int agent_script_results(Arena *arena, const AgentMessage *results, Span *ret);

/* What a command says. 0, -ENOMEM. */
int agent_script_command(AgentScriptAnswer *answer, const AgentScriptPlace *place,
                         const ModelRequest *request);
