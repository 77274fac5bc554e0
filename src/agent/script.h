/* agent/script.h: what stands in for a language model: steps that are written down, or commands.
 * Performs no I/O.
 *
 * A script is lines of JSON, a step each (docs/agent-models.md has the form). Which of them answer
 * a request depends on nothing but the request: on the newest message of the user, and on how many
 * answers followed it. Without a script the user's message is the command: /tools, /call, /echo,
 * /slow, /fail. Thread: any; a script that was read may be used by many.
 */
#pragma once

#include "agent/model.h"
#include "base/arena.h"
#include "base/diag.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    AGENT_SCRIPT_E_MALFORMED = 1, /* the Diag names line and field */
};

/* A script. Tests and demonstrations have a few hundred lines. */
#define AGENT_SCRIPT_MAX_BYTES ((size_t)4 * 1024 * 1024)

typedef enum AgentScriptKind {
    AGENT_SCRIPT_USER,    /* what follows answers messages that hold `text` */
    AGENT_SCRIPT_TEXT,    /* says text, `times` times */
    AGENT_SCRIPT_MESSAGE, /* says the user's message */
    AGENT_SCRIPT_RESULT,  /* says what the tools of the last round gave */
    AGENT_SCRIPT_TOOL,    /* calls `text` with `input` */
    AGENT_SCRIPT_WAIT,    /* says nothing for pause_ms */
    AGENT_SCRIPT_FAIL,    /* fails, with text */
    AGENT_SCRIPT_END      /* ends, with stop */
} AgentScriptKind;

typedef struct AgentScriptStep {
    AgentScriptKind kind;
    Span text;
    Span input;       /* as the model would write it: bad JSON too */
    uint64_t times;   /* TEXT */
    int64_t pause_ms; /* WAIT; TEXT, MESSAGE, RESULT: before each word but the first */
    bool is_again;    /* TOOL: also in every further round */
    ModelStop stop;   /* END */
} AgentScriptStep;

typedef struct AgentScript {
    Arena arena; /* everything below */
    AgentScriptStep *steps;
    size_t n_steps;
} AgentScript;

#define AGENT_SCRIPT_NULL ((AgentScript){.steps = NULL})

/* Copies what it needs of text. 0, -ENOMEM, AGENT_SCRIPT_E_MALFORMED; deinit in any case. */
int agent_script_init(AgentScript *script, Span text, Diag *reterr_diag);
void agent_script_deinit(AgentScript *script);

/* The steps of one answer, of the kinds TEXT to END without MESSAGE and RESULT; the last is FAIL or
 * END. script NULL: commands. They are in the arena, or the script's; nothing points into the
 * request. 0, -ENOMEM. */
int agent_script_answer(const AgentScript *script, Arena *arena, const ModelRequest *request,
                        const AgentScriptStep **ret_steps, size_t *ret_n);

/* The first word of text with the blanks around it: what is said at once. */
Span agent_script_word(Span text);
