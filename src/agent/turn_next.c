/* What a turn wants done next. Nothing is queued: each order follows from the state, and the order
 * moves the state on. */
#include "agent/turn.h"

#include "agent/turn_impl.h"
#include "base/limits.h"

static bool turn_order(TurnOrder *ret, TurnOrderKind kind, TurnTool *tool, Span text)
{
    *ret = (TurnOrder){.kind = kind, .tool = tool, .text = text};
    return true;
}

static bool turn_save(Turn *turn, TurnOrder *ret)
{
    (void)turn_order(ret, TURN_SAVE, NULL, SPAN_NULL);
    ret->messages = turn->messages + turn->n_saved;
    ret->n_messages = turn->n_messages - turn->n_saved;
    turn->n_saved = turn->n_messages;
    return true;
}

/* ---- the model ---- */

static bool turn_call_model(Turn *turn, TurnOrder *ret)
{
    turn->state = TURN_ASKING;
    turn->is_model_running = true;
    turn->alive_ms = turn->now_ms + LIMIT_AGENT_ALIVE_MS;
    return turn_order(ret, TURN_CALL_MODEL, NULL, SPAN_NULL);
}

static bool turn_sign_of_life(Turn *turn, TurnOrder *ret)
{
    if (turn->now_ms < turn->alive_ms) {
        return false;
    }
    turn->alive_ms = turn->now_ms + LIMIT_AGENT_ALIVE_MS;
    return turn_order(ret, TURN_TOKEN, NULL, SPAN(""));
}

/* ---- tools ---- */

/* Those before it have ended, or they and it change nothing. */
static bool turn_may_begin(const Turn *turn, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        const TurnTool *before = &turn->tools[i];

        if (before->state != TURN_TOOL_ENDED && !(before->is_shared && turn->tools[at].is_shared)) {
            return false;
        }
    }
    return true;
}

/* The result of a call that never runs. */
static Span turn_why_not(Turn *turn, const TurnTool *tool)
{
    Bytes words;
    Span copy;

    if (!tool->is_bad_json && tool->verdict == TURN_DENY) {
        return SPAN("this tool is not allowed here");
    }
    bytes_init(&words, LIMIT_AGENT_RESULT_BYTES);
    if (tool->is_bad_json) {
        (void)bytes_append_format(&words, "the arguments are not a JSON object: %.*s",
                                  (int)(tool->text.n < 400 ? tool->text.n : 400), tool->text.p);
    } else {
        (void)bytes_append_format(&words, "Tool not found: %.*s", (int)tool->name.n, tool->name.p);
    }
    copy = arena_copy(turn->arena, bytes_span(&words));
    bytes_deinit(&words);
    return copy.p != NULL ? copy : SPAN("this call cannot be made");
}

static bool turn_begin_tool(Turn *turn, TurnTool *tool, TurnOrder *ret)
{
    bool can_run = !tool->is_bad_json && tool->verdict <= TURN_ASK;

    (void)turn_order(ret, TURN_USE, tool, SPAN_NULL);
    if (!can_run) {
        tool->text = turn_why_not(turn, tool);
        tool->is_error = true;
        tool->state = TURN_TOOL_REFUSED;
    } else if (tool->verdict == TURN_ASK) {
        tool->state = TURN_TOOL_ASKED;
        tool->began_ms = turn->now_ms;
        turn->alive_ms = turn->now_ms + LIMIT_AGENT_ALIVE_MS;
        ret->needs_approval = true;
    } else {
        tool->state = TURN_TOOL_READY;
    }
    return true;
}

static bool turn_tell_progress(const Turn *turn, TurnTool *tool, TurnOrder *ret)
{
    if (turn->now_ms < tool->tell_ms) {
        return false;
    }
    tool->tell_ms = turn->now_ms + LIMIT_AGENT_PROGRESS_MS;
    (void)turn_order(ret, TURN_PROGRESS, tool, SPAN_NULL);
    ret->elapsed_ms = turn->now_ms - tool->began_ms;
    return true;
}

static bool turn_step_tool(Turn *turn, size_t i, TurnOrder *ret)
{
    TurnTool *tool = &turn->tools[i];

    switch (tool->state) {
    case TURN_TOOL_NEW:
        return turn_may_begin(turn, i) && turn_begin_tool(turn, tool, ret);
    case TURN_TOOL_READY:
        tool->state = TURN_TOOL_RUNNING;
        tool->began_ms = turn->now_ms;
        tool->tell_ms = turn->now_ms + LIMIT_AGENT_PROGRESS_MS;
        return turn_order(ret, TURN_START, tool, SPAN_NULL);
    case TURN_TOOL_RUNNING:
        return turn_tell_progress(turn, tool, ret);
    case TURN_TOOL_REFUSED:
        tool->state = TURN_TOOL_ENDED;
        return turn_order(ret, TURN_RESULT, tool, tool->text);
    case TURN_TOOL_ASKED:
        return turn_sign_of_life(turn, ret);
    case TURN_TOOL_ENDED:
    default:
        return false;
    }
}

/* All have ended: the model reads the results, unless it had its rounds. */
static bool turn_end_round(Turn *turn, TurnOrder *ret)
{
    turn_close_round(turn);
    if (turn->n_rounds >= turn->limits.max_rounds) {
        turn_begin_end(turn, TURN_END_ROUNDS, SPAN_NULL);
    }
    if (turn->state != TURN_USING) {
        return turn_next(turn, ret); /* NOLINT(misc-no-recursion): once, the state is ENDING */
    }
    turn->state = TURN_NEW; /* a model call is next */
    return turn_save(turn, ret);
}

static bool turn_next_using(Turn *turn, TurnOrder *ret)
{
    bool have_all_ended = true;

    for (size_t i = 0; i < turn->n_tools; i++) {
        if (turn_step_tool(turn, i, ret)) {
            return true;
        }
        have_all_ended = have_all_ended && turn->tools[i].state == TURN_TOOL_ENDED;
    }
    return have_all_ended && turn_end_round(turn, ret);
}

/* ---- the end ---- */

/* Calls of a round that is cut short: the running ones are stopped, and whatever the shell has seen
 * begin is seen to end. */
static bool turn_cut_tool(const Turn *turn, TurnTool *tool, TurnOrder *ret)
{
    Span words = turn->end == TURN_END_INTERRUPTED ? SPAN("interrupted") : SPAN("cut short");

    switch (tool->state) {
    case TURN_TOOL_RUNNING:
        tool->state = TURN_TOOL_REFUSED;
        tool->text = words;
        tool->is_error = true;
        return turn_order(ret, TURN_STOP_TOOL, tool, SPAN_NULL);
    case TURN_TOOL_ASKED:
    case TURN_TOOL_READY:
        tool->text = words;
        tool->is_error = true;
        tool->state = TURN_TOOL_ENDED;
        return turn_order(ret, TURN_RESULT, tool, tool->text);
    case TURN_TOOL_REFUSED:
        tool->state = TURN_TOOL_ENDED;
        return turn_order(ret, TURN_RESULT, tool, tool->text);
    case TURN_TOOL_NEW:
        tool->text = words;
        tool->is_error = true;
        tool->state = TURN_TOOL_ENDED;
        return false;
    case TURN_TOOL_ENDED:
    default:
        return false;
    }
}

/* What stands in the history where an answer should: two messages of the person in a row would look
 * as if the first had been ignored. */
static Span turn_note(const Turn *turn)
{
    switch (turn->end) {
    case TURN_END_ROUNDS:
        return SPAN("(stopped: too many rounds of tools)");
    case TURN_END_INTERRUPTED:
        return SPAN("(interrupted)");
    case TURN_END_FAILED:
        return SPAN("(the answer failed)");
    case TURN_END_ANSWERED:
    case TURN_END_LENGTH:
    case TURN_END_REFUSED:
    default:
        return SPAN("(no answer)");
    }
}

static void turn_close(Turn *turn)
{
    /* Calls of an answer that did not end were not made, and are not kept. Those of a round that
     * did not end are in the last message, and have their results by now. */
    bool is_inside_round = turn->n_tools > 0 && turn->n_messages > 0 &&
                           turn->messages[turn->n_messages - 1].is_assistant;
    AgentBlock *blocks = NULL;
    AgentMessage *message;

    if (is_inside_round) {
        turn_close_round(turn);
    }
    turn_close_answer(turn, false);
    if (turn->n_messages > 0 && turn->messages[turn->n_messages - 1].is_assistant) {
        return;
    }
    if (turn->end == TURN_END_FAILED && turn->n_rounds == 0) {
        turn->n_messages = 0; /* nothing came of it: the person may just say it again */
        return;
    }
    message = turn_add_message(turn, true, 1, &blocks);
    if (message != NULL) {
        blocks[0] = (AgentBlock){.kind = AGENT_BLOCK_TEXT, .text = turn_note(turn)};
        message->n_blocks = 1;
    }
}

static bool turn_next_ending(Turn *turn, TurnOrder *ret)
{
    if (turn->is_model_running) {
        turn->is_model_running = false;
        return turn_order(ret, TURN_STOP_MODEL, NULL, SPAN_NULL);
    }
    for (size_t i = 0; i < turn->n_tools; i++) {
        while (turn->tools[i].state != TURN_TOOL_ENDED) {
            if (turn_cut_tool(turn, &turn->tools[i], ret)) {
                return true;
            }
        }
    }
    if (!turn->is_saved) {
        turn->is_saved = true;
        turn_close(turn);
        if (turn->n_messages > turn->n_saved) {
            return turn_save(turn, ret);
        }
    }
    turn->state = TURN_OVER;
    (void)turn_order(ret, turn->end == TURN_END_FAILED ? TURN_FAILED : TURN_DONE, NULL,
                     turn->words);
    ret->end = turn->end;
    return true;
}

bool turn_next(Turn *turn, TurnOrder *ret)
{
    if (turn->has_token) {
        turn->has_token = false;
        return turn_order(ret, TURN_TOKEN, NULL, turn->token);
    }
    switch (turn->state) {
    case TURN_NEW:
        return turn_call_model(turn, ret);
    case TURN_ASKING:
        return turn_sign_of_life(turn, ret);
    case TURN_USING:
        return turn_next_using(turn, ret);
    case TURN_ENDING:
        return turn_next_ending(turn, ret);
    case TURN_OVER:
    default:
        return false;
    }
}
