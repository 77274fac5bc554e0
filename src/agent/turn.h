/* agent/turn.h: one message of a person, through the model and its tools, to the end of the answer.
 *
 *     turn_init, turn_user…
 *     turn_next until false: carry each order out
 *     an event of the model, the end of a tool, an approval, a deadline → turn_on_*, turn_advance
 *                                                                       → turn_next until false
 *
 *     ASKING --text--> tokens     ASKING --end, tools were called--> USING
 *     USING --every call has its result, rounds are left--> ASKING
 *     ASKING --end, nothing was called--> ENDING        USING --no round is left--> ENDING
 *     any --the model failed, stop--> ENDING --told--> OVER
 *
 * Calls of one answer run in their order, and those that only look (is_shared) beside each other.
 * A call that cannot run (unknown, denied, not JSON) has an error as its result, and the model goes
 * on with it. What was said is kept as messages, for the next call of the model and for the
 * history, and is whole at every TURN_SAVE: each use of a tool has its result. Performs no I/O,
 * asks nobody for the time. Thread: any, one at a time.
 */
#pragma once

#include "agent/model.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TURN_E_NOT_ASKED = 1, /* no call of that id waits for an approval */
};

/* What is to become of a call of the model. */
typedef enum TurnVerdict {
    TURN_ALLOW,
    TURN_ASK,    /* the person is asked first */
    TURN_DENY,   /* by the settings */
    TURN_NO_TOOL /* there is no such tool */
} TurnVerdict;

typedef struct TurnJudgement {
    TurnVerdict verdict;
    bool is_shared; /* changes nothing: may run beside others of its kind */
} TurnJudgement;

#define TURN_JUDGEMENT_NULL ((TurnJudgement){.verdict = TURN_NO_TOOL})

typedef enum TurnToolState {
    TURN_TOOL_NEW,     /* nobody has been told of it */
    TURN_TOOL_ASKED,   /* waits for the person */
    TURN_TOOL_READY,   /* is started next */
    TURN_TOOL_RUNNING, /* started */
    TURN_TOOL_REFUSED, /* has an error of ours for a result, which is told next */
    TURN_TOOL_ENDED
} TurnToolState;

/* One call. Spans are in the turn's arena. */
typedef struct TurnTool {
    Span id;
    Span name;
    Span input; /* a JSON object */
    TurnVerdict verdict;
    bool is_shared;
    bool is_bad_json;
    bool is_error;
    TurnToolState state;
    int64_t began_ms; /* RUNNING: since when; ASKED: since when */
    int64_t tell_ms;  /* RUNNING: when a word of progress is due */
    Span text;        /* REFUSED, ENDED: what the model reads */
    void *owner;      /* of whoever runs it */
} TurnTool;

/* How a turn ended. */
typedef enum TurnEnd {
    TURN_END_ANSWERED,
    TURN_END_LENGTH,  /* the answer was cut by the model's limit */
    TURN_END_REFUSED, /* the model would not answer */
    TURN_END_ROUNDS,  /* max_rounds of tools, and it wanted more */
    TURN_END_INTERRUPTED,
    TURN_END_FAILED /* with an error */
} TurnEnd;

typedef enum TurnOrderKind {
    TURN_CALL_MODEL, /* with turn_messages behind the history */
    TURN_TOKEN,      /* text; empty: a sign of life */
    TURN_USE,        /* tool, needs_approval: tell the shell */
    TURN_START,      /* tool: call it, then turn_on_tool; within the order, or later */
    TURN_PROGRESS,   /* tool, elapsed_ms: tell the shell */
    TURN_RESULT,     /* tool, text: tell the shell this error; results of tools that ran are told by
                        whoever ran them */
    TURN_STOP_MODEL, /* nothing of it is wanted any more */
    TURN_STOP_TOOL,  /* tool: likewise; no turn_on_tool may follow */
    TURN_SAVE,       /* messages: what was said since the last save */
    TURN_DONE,       /* end */
    TURN_FAILED      /* text: the words of the error */
} TurnOrderKind;

typedef struct TurnOrder {
    TurnOrderKind kind;
    Span text; /* borrowed, as all here, until the next turn_on_*, advance, stop or deinit */
    TurnTool *tool;
    bool needs_approval;
    int64_t elapsed_ms;
    TurnEnd end;
    const AgentMessage *messages; /* SAVE; their blocks are in the arena */
    size_t n_messages;
} TurnOrder;

/* Times and counts: 0 means the default, LIMIT_AGENT_… */
typedef struct TurnLimits {
    unsigned max_rounds;
    int64_t approval_ms;
    int64_t turn_ms;
} TurnLimits;

typedef enum TurnState {
    TURN_NEW,
    TURN_ASKING,
    TURN_USING,
    TURN_ENDING,
    TURN_OVER
} TurnState;

typedef struct Turn {
    TurnLimits limits;
    TurnState state;
    TurnEnd end;
    Arena *arena; /* what was said; borrowed */
    Bytes text;   /* of the answer that comes in */
    Span token;   /* has yet to be told; borrowed from the event */
    bool has_token;
    AgentMessage *messages; /* in the arena */
    size_t n_messages;
    size_t cap_messages;
    size_t n_saved;
    TurnTool *tools; /* of the round at hand; in the arena */
    size_t n_tools;
    size_t cap_tools;
    unsigned n_rounds; /* that are over */
    bool is_model_running;
    bool is_saved;    /* the last TURN_SAVE was ordered */
    Span words;       /* of the error */
    int64_t now_ms;   /* as last told */
    int64_t end_ms;   /* the whole turn's */
    int64_t alive_ms; /* ASKING: when a sign of life is due */
} Turn;

/* limits may be NULL. Borrows arena until deinit: what was said lies there, and stays until its
 * owner resets it. Allocates nothing yet. */
void turn_init(Turn *turn, Arena *arena, const TurnLimits *limits, int64_t now_ms);
void turn_deinit(Turn *turn);

/* What the person said; copied. Once, before the first turn_next. Without memory the turn fails. */
void turn_user(Turn *turn, const AgentBlock *blocks, size_t n_blocks);

/* An event of the model; borrowed until turn_next has returned false. judgement: of a MODEL_TOOL.
 */
void turn_on_model(Turn *turn, const ModelEvent *event, TurnJudgement judgement, int64_t now_ms);

/* A call has ended; text: what the model reads, copied. */
void turn_on_tool(Turn *turn, TurnTool *tool, Span text, bool is_error, int64_t now_ms);

/* A tool said that it gets on: no word of ours is due for a second. */
void turn_on_progress(TurnTool *tool, int64_t now_ms);

/* The person's word on the call of that id. 0, TURN_E_NOT_ASKED. */
int turn_on_approval(Turn *turn, Span tool_id, bool is_approved, int64_t now_ms);

/* Ends the turn early: INTERRUPTED, or FAILED with words (copied). Does nothing when it is over. */
void turn_stop(Turn *turn, TurnEnd end, Span words);

/* When turn_advance is due; INT64_MAX: never. It may be too early, but not time after time. */
int64_t turn_next_deadline(const Turn *turn);
void turn_advance(Turn *turn, int64_t now_ms);

/* The next thing to be done; false: wait. */
bool turn_next(Turn *turn, TurnOrder *ret);

/* A call runs, or waits for the person. */
bool turn_uses_tool(const Turn *turn);
