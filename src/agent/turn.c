/* What happens to a turn: events in, messages kept. The orders are in turn_next.c. */
#include "agent/turn.h"

#include <string.h>

#include "agent/turn_impl.h"
#include "base/error.h"
#include "base/limits.h"

static const Span turn_no_memory = SPAN_INIT("out of memory");

void turn_init(Turn *turn, Arena *arena, const TurnLimits *limits, int64_t now_ms)
{
    TurnLimits given = limits != NULL ? *limits : (TurnLimits){.max_rounds = 0};

    *turn = (Turn){
        .limits = {.max_rounds = given.max_rounds > 0 ? given.max_rounds : LIMIT_AGENT_ROUNDS,
                   .approval_ms =
                       given.approval_ms > 0 ? given.approval_ms : LIMIT_AGENT_APPROVAL_MS,
                   .turn_ms = given.turn_ms > 0 ? given.turn_ms : LIMIT_AGENT_TURN_MS},
        .state = TURN_NEW,
        .end = TURN_END_ANSWERED,
        .now_ms = now_ms};
    turn->end_ms = now_ms + turn->limits.turn_ms;
    turn->arena = arena;
    bytes_init(&turn->text, LIMIT_MODEL_ANSWER_BYTES);
}

void turn_deinit(Turn *turn)
{
    bytes_deinit(&turn->text);
    *turn = (Turn){.state = TURN_OVER};
}

void turn_begin_end(Turn *turn, TurnEnd end, Span words)
{
    if (turn->state >= TURN_ENDING) {
        return;
    }
    turn->state = TURN_ENDING;
    turn->end = end;
    turn->words = words;
}

/* ---- what was said ---- */

/* An empty span stays one; ret.p NULL: no memory. */
static Span turn_copy(Turn *turn, Span s)
{
    return arena_copy(turn->arena, s);
}

AgentMessage *turn_add_message(Turn *turn, bool is_assistant, size_t n_blocks,
                               AgentBlock **ret_blocks)
{
    AgentBlock *blocks = arena_alloc_array(turn->arena, n_blocks, sizeof(*blocks));
    AgentMessage *messages = turn->messages;

    if (turn->n_messages == turn->cap_messages) {
        size_t cap = turn->cap_messages == 0 ? 4 : 2 * turn->cap_messages;

        messages = arena_grow(turn->arena, messages, turn->cap_messages * sizeof(*messages),
                              cap * sizeof(*messages));
        if (messages != NULL) {
            turn->messages = messages;
            turn->cap_messages = cap;
        }
    }
    if (blocks == NULL || messages == NULL) {
        turn_begin_end(turn, TURN_END_FAILED, turn_no_memory);
        return NULL;
    }
    messages += turn->n_messages++;
    *messages = (AgentMessage){.is_assistant = is_assistant, .blocks = blocks};
    *ret_blocks = blocks;
    return messages;
}

static bool turn_copy_block(Turn *turn, AgentBlock *to, const AgentBlock *from)
{
    *to = (AgentBlock){.kind = from->kind,
                       .text = turn_copy(turn, from->text),
                       .mime = turn_copy(turn, from->mime),
                       .is_error = from->is_error};
    return to->text.p != NULL && to->mime.p != NULL;
}

void turn_user(Turn *turn, const AgentBlock *blocks, size_t n_blocks)
{
    AgentBlock *copies = NULL;
    AgentMessage *message = turn_add_message(turn, false, n_blocks, &copies);

    for (size_t i = 0; message != NULL && i < n_blocks; i++) {
        if (!turn_copy_block(turn, &copies[i], &blocks[i])) {
            turn_begin_end(turn, TURN_END_FAILED, turn_no_memory);
            return;
        }
        message->n_blocks++;
    }
}

void turn_close_answer(Turn *turn, bool with_tools)
{
    size_t n_tools = with_tools ? turn->n_tools : 0;
    bool has_text = turn->text.n > 0;
    AgentBlock *blocks = NULL;
    AgentMessage *message;

    if (!has_text && n_tools == 0) {
        return;
    }
    message = turn_add_message(turn, true, n_tools + (has_text ? 1 : 0), &blocks);
    if (message == NULL) {
        return;
    }
    if (has_text) {
        blocks[0] = (AgentBlock){.kind = AGENT_BLOCK_TEXT,
                                 .text = turn_copy(turn, bytes_span(&turn->text))};
        if (blocks[0].text.p == NULL) {
            turn->n_messages--;
            turn_begin_end(turn, TURN_END_FAILED, turn_no_memory);
            return;
        }
        message->n_blocks++;
    }
    for (size_t i = 0; i < n_tools; i++) {
        const TurnTool *tool = &turn->tools[i];

        blocks[message->n_blocks++] = (AgentBlock){
            .kind = AGENT_BLOCK_TOOL_USE, .id = tool->id, .name = tool->name, .input = tool->input};
    }
    bytes_clear(&turn->text);
}

void turn_close_round(Turn *turn)
{
    AgentBlock *blocks = NULL;
    AgentMessage *message = turn_add_message(turn, false, turn->n_tools, &blocks);

    if (message == NULL) {
        turn->n_messages--; /* the uses, which have no results then */
        turn->n_tools = 0;
        return;
    }
    for (size_t i = 0; i < turn->n_tools; i++) {
        const TurnTool *tool = &turn->tools[i];

        blocks[message->n_blocks++] = (AgentBlock){.kind = AGENT_BLOCK_TOOL_RESULT,
                                                   .id = tool->id,
                                                   .name = tool->name,
                                                   .text = tool->text,
                                                   .is_error = tool->is_error};
    }
    turn->n_tools = 0;
    turn->n_rounds++;
}

/* ---- events of the model ---- */

static void turn_take_text(Turn *turn, Span text)
{
    int r = bytes_append_span(&turn->text, text);

    if (r != 0) {
        turn_begin_end(turn, TURN_END_FAILED,
                       r == BYTES_E_FULL ? SPAN("the answer is longer than allowed")
                                         : turn_no_memory);
        return;
    }
    turn->token = text;
    turn->has_token = true;
}

static bool turn_grow_tools(Turn *turn)
{
    size_t cap = turn->cap_tools == 0 ? 4 : 2 * turn->cap_tools;
    TurnTool *tools = arena_grow(turn->arena, turn->tools, turn->cap_tools * sizeof(*tools),
                                 cap * sizeof(*tools));

    if (tools == NULL) {
        return false;
    }
    turn->tools = tools;
    turn->cap_tools = cap;
    return true;
}

/* Calls are gathered until the answer has ended: only then is it certain that they are wanted. */
static void turn_take_tool(Turn *turn, const ModelEvent *event, TurnJudgement judgement)
{
    TurnTool *tool;

    if (turn->n_tools == LIMIT_AGENT_ROUND_TOOLS) {
        turn_begin_end(turn, TURN_END_FAILED, SPAN("the model called too many tools at once"));
        return;
    }
    if (turn->n_tools == turn->cap_tools && !turn_grow_tools(turn)) {
        turn_begin_end(turn, TURN_END_FAILED, turn_no_memory);
        return;
    }
    tool = &turn->tools[turn->n_tools];
    *tool = (TurnTool){.id = turn_copy(turn, event->id),
                       .name = turn_copy(turn, event->name),
                       /* What is no JSON is neither told nor kept: the error quotes it. */
                       .input = event->is_bad_json ? SPAN("{}") : turn_copy(turn, event->input),
                       .text = event->is_bad_json ? turn_copy(turn, event->input) : SPAN(""),
                       .verdict = judgement.verdict,
                       .is_shared = judgement.is_shared,
                       .is_bad_json = event->is_bad_json,
                       .state = TURN_TOOL_NEW};
    if (tool->id.p == NULL || tool->name.p == NULL || tool->input.p == NULL ||
        tool->text.p == NULL) {
        turn_begin_end(turn, TURN_END_FAILED, turn_no_memory);
        return;
    }
    turn->n_tools++;
}

static void turn_take_end(Turn *turn, ModelStop stop)
{
    turn->is_model_running = false;
    if (turn->n_tools > 0) {
        turn_close_answer(turn, true);
        if (turn->state == TURN_ASKING) {
            turn->state = TURN_USING;
        }
        return;
    }
    turn_begin_end(turn,
                   stop == MODEL_STOP_LENGTH    ? TURN_END_LENGTH
                   : stop == MODEL_STOP_REFUSED ? TURN_END_REFUSED
                                                : TURN_END_ANSWERED,
                   SPAN_NULL);
}

static void turn_take_failure(Turn *turn, Span words)
{
    Span copy = turn_copy(turn, words);

    turn->is_model_running = false;
    turn_begin_end(turn, TURN_END_FAILED, copy.p != NULL ? copy : turn_no_memory);
}

void turn_on_model(Turn *turn, const ModelEvent *event, TurnJudgement judgement, int64_t now_ms)
{
    turn->now_ms = now_ms;
    if (turn->state != TURN_ASKING) {
        return;
    }
    turn->alive_ms = now_ms + LIMIT_AGENT_ALIVE_MS;
    switch (event->kind) {
    case MODEL_TEXT:
        turn_take_text(turn, event->text);
        break;
    case MODEL_TOOL:
        turn_take_tool(turn, event, judgement);
        break;
    case MODEL_END:
        turn_take_end(turn, event->stop);
        break;
    case MODEL_FAILED:
        turn_take_failure(turn, event->text);
        break;
    case MODEL_RETRY:
    default:
        break;
    }
}

/* ---- events of tools and people ---- */

/* What is longer would fill the model's context with one result; whoever wants the rest can ask for
 * less at a time. */
static Span turn_copy_result(Turn *turn, Span text)
{
    static const Span mark = SPAN_INIT("\n[the rest was cut off: the result is too long]");
    size_t n = text.n;
    char *copy;

    if (n <= LIMIT_AGENT_RESULT_BYTES) {
        return turn_copy(turn, text);
    }
    n = LIMIT_AGENT_RESULT_BYTES;
    while (n > 0 && ((unsigned char)text.p[n] & 0xC0u) == 0x80u) {
        n--; /* not inside a character */
    }
    copy = arena_alloc(turn->arena, n + mark.n);
    if (copy == NULL) {
        return SPAN_NULL;
    }
    memcpy(copy, text.p, n);
    memcpy(copy + n, mark.p, mark.n);
    return span_make(copy, n + mark.n);
}

void turn_on_tool(Turn *turn, TurnTool *tool, Span text, bool is_error, int64_t now_ms)
{
    turn->now_ms = now_ms;
    if (tool->state != TURN_TOOL_RUNNING) {
        return;
    }
    tool->state = TURN_TOOL_ENDED;
    tool->is_error = is_error;
    tool->text = turn_copy_result(turn, text);
    if (tool->text.p == NULL) {
        tool->text = turn_no_memory;
        tool->is_error = true;
    }
}

void turn_on_progress(TurnTool *tool, int64_t now_ms)
{
    tool->tell_ms = now_ms + LIMIT_AGENT_PROGRESS_MS;
}

static void turn_refuse(TurnTool *tool, Span words)
{
    tool->state = TURN_TOOL_REFUSED;
    tool->text = words;
    tool->is_error = true;
}

int turn_on_approval(Turn *turn, Span tool_id, bool is_approved, int64_t now_ms)
{
    turn->now_ms = now_ms;
    for (size_t i = 0; turn->state == TURN_USING && i < turn->n_tools; i++) {
        TurnTool *tool = &turn->tools[i];

        if (tool->state != TURN_TOOL_ASKED || !span_equals(tool->id, tool_id)) {
            continue;
        }
        if (is_approved) {
            tool->state = TURN_TOOL_READY;
        } else {
            turn_refuse(tool, SPAN("the user did not allow this call"));
        }
        return 0;
    }
    return TURN_E_NOT_ASKED;
}

void turn_stop(Turn *turn, TurnEnd end, Span words)
{
    Span copy = turn_copy(turn, words);

    turn_begin_end(turn, end, copy.p != NULL ? copy : turn_no_memory);
}

/* ---- time ---- */

static int64_t turn_tool_deadline(const Turn *turn, const TurnTool *tool)
{
    if (tool->state == TURN_TOOL_RUNNING) {
        return tool->tell_ms;
    }
    if (tool->state == TURN_TOOL_ASKED) {
        int64_t due_ms = tool->began_ms + turn->limits.approval_ms;

        return turn->alive_ms < due_ms ? turn->alive_ms : due_ms;
    }
    return INT64_MAX;
}

int64_t turn_next_deadline(const Turn *turn)
{
    int64_t due_ms = turn->end_ms;

    if (turn->state >= TURN_ENDING) {
        return INT64_MAX;
    }
    if (turn->state == TURN_ASKING && turn->alive_ms < due_ms) {
        due_ms = turn->alive_ms;
    }
    for (size_t i = 0; turn->state == TURN_USING && i < turn->n_tools; i++) {
        int64_t tool_ms = turn_tool_deadline(turn, &turn->tools[i]);

        due_ms = tool_ms < due_ms ? tool_ms : due_ms;
    }
    return due_ms;
}

/* The orders that the time brings are found by turn_next; here is what it ends. */
void turn_advance(Turn *turn, int64_t now_ms)
{
    turn->now_ms = now_ms;
    if (now_ms >= turn->end_ms) {
        turn_begin_end(turn, TURN_END_FAILED, SPAN("the request took too long"));
        return;
    }
    for (size_t i = 0; turn->state == TURN_USING && i < turn->n_tools; i++) {
        TurnTool *tool = &turn->tools[i];

        if (tool->state == TURN_TOOL_ASKED && now_ms >= tool->began_ms + turn->limits.approval_ms) {
            turn_refuse(tool, SPAN("nobody allowed this call in time"));
        }
    }
}

bool turn_uses_tool(const Turn *turn)
{
    return turn->state == TURN_USING;
}
