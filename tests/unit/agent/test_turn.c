/* A turn is told what the model and the tools do, and its orders are compared as one line of words:
 *
 *     call | token:Hi | use:t1=echo{} | start:t1 | result:t1=words | save:2 | done:0
 */
#include "agent/turn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/oom_sweep.h"

#include "base/compiler.h"
#include "base/limits.h"

#define START_MS 5000

typedef struct Rig {
    Turn turn;
    Arena arena;
    TurnTool *tools[8]; /* as they were started */
    size_t n_tools;
    char words[4096];
} Rig;

TW_PRINTF(2, 3) static void rig_add(Rig *rig, const char *format, ...)
{
    size_t n = strlen(rig->words);
    va_list list;

    va_start(list, format);
    (void)vsnprintf(rig->words + n, sizeof(rig->words) - n, format, list);
    va_end(list);
}

#define S(span) (int)(span).n, (span).p

static void rig_add_order(Rig *rig, const TurnOrder *order)
{
    switch (order->kind) {
    case TURN_CALL_MODEL:
        rig_add(rig, "call:%zu", rig->turn.n_messages);
        break;
    case TURN_TOKEN:
        rig_add(rig, "token:%.*s", S(order->text));
        break;
    case TURN_USE:
        rig_add(rig, "%s:%.*s=%.*s%.*s", order->needs_approval ? "ask" : "use", S(order->tool->id),
                S(order->tool->name), S(order->tool->input));
        break;
    case TURN_START:
        rig->tools[rig->n_tools++] = order->tool;
        rig_add(rig, "start:%.*s", S(order->tool->id));
        break;
    case TURN_PROGRESS:
        rig_add(rig, "progress:%.*s=%lld", S(order->tool->id), (long long)order->elapsed_ms);
        break;
    case TURN_RESULT:
        rig_add(rig, "result:%.*s=%.*s", S(order->tool->id), S(order->text));
        break;
    case TURN_STOP_MODEL:
        rig_add(rig, "stop-model");
        break;
    case TURN_STOP_TOOL:
        rig_add(rig, "stop:%.*s", S(order->tool->id));
        break;
    case TURN_SAVE:
        rig_add(rig, "save:%zu", order->n_messages);
        break;
    case TURN_DONE:
        rig_add(rig, "done:%d", (int)order->end);
        break;
    case TURN_FAILED:
        rig_add(rig, "failed:%.*s", S(order->text));
        break;
    }
}

/* Carries the orders out and says what they were. */
static const char *rig_orders(Rig *rig)
{
    TurnOrder order;

    rig->words[0] = '\0';
    while (turn_next(&rig->turn, &order)) {
        rig_add(rig, "%s", rig->words[0] == '\0' ? "" : " | ");
        rig_add_order(rig, &order);
    }
    return rig->words;
}

static void rig_begin(Rig *rig, const TurnLimits *limits)
{
    AgentBlock said = {.kind = AGENT_BLOCK_TEXT, .text = SPAN("Hello")};

    *rig = (Rig){.n_tools = 0};
    arena_init(&rig->arena, LIMIT_AGENT_TURN_BYTES);
    turn_init(&rig->turn, &rig->arena, limits, START_MS);
    turn_user(&rig->turn, &said, 1);
    assert_string_equal(rig_orders(rig), "call:1");
}

static void rig_drop(Rig *rig)
{
    turn_deinit(&rig->turn);
    arena_deinit(&rig->arena);
}

static const char *rig_text_at(Rig *rig, const char *text, int64_t now_ms)
{
    turn_on_model(&rig->turn, &(ModelEvent){.kind = MODEL_TEXT, .text = span_from_str(text)},
                  TURN_JUDGEMENT_NULL, now_ms);
    return rig_orders(rig);
}

static const char *rig_text(Rig *rig, const char *text)
{
    return rig_text_at(rig, text, START_MS);
}

static const char *rig_call(Rig *rig, const char *id, TurnVerdict verdict, bool is_shared)
{
    turn_on_model(
        &rig->turn,
        &(ModelEvent){
            .kind = MODEL_TOOL, .id = span_from_str(id), .name = SPAN("echo"), .input = SPAN("{}")},
        (TurnJudgement){.verdict = verdict, .is_shared = is_shared}, START_MS);
    return rig_orders(rig);
}

static const char *rig_end(Rig *rig, ModelStop stop)
{
    turn_on_model(&rig->turn, &(ModelEvent){.kind = MODEL_END, .stop = stop}, TURN_JUDGEMENT_NULL,
                  START_MS);
    return rig_orders(rig);
}

static const char *rig_fail(Rig *rig, const char *words)
{
    turn_on_model(&rig->turn, &(ModelEvent){.kind = MODEL_FAILED, .text = span_from_str(words)},
                  TURN_JUDGEMENT_NULL, START_MS);
    return rig_orders(rig);
}

static const char *rig_ended(Rig *rig, size_t i, const char *text)
{
    turn_on_tool(&rig->turn, rig->tools[i], span_from_str(text), false, START_MS);
    return rig_orders(rig);
}

/* The messages as one line: "u:Hello | a:Hi+t1 | u:=t1(text)". */
static const char *rig_said(Rig *rig)
{
    rig->words[0] = '\0';
    for (size_t i = 0; i < rig->turn.n_messages; i++) {
        const AgentMessage *message = &rig->turn.messages[i];

        rig_add(rig, "%s%s", i == 0 ? "" : " | ", message->is_assistant ? "a:" : "u:");
        for (size_t k = 0; k < message->n_blocks; k++) {
            const AgentBlock *block = &message->blocks[k];

            if (block->kind == AGENT_BLOCK_TOOL_USE) {
                rig_add(rig, "+%.*s", S(block->id));
            } else if (block->kind == AGENT_BLOCK_TOOL_RESULT) {
                rig_add(rig, "=%.*s(%s%.*s)", S(block->id), block->is_error ? "!" : "",
                        S(block->text));
            } else {
                rig_add(rig, "%.*s", S(block->text));
            }
        }
    }
    return rig->words;
}

/* ---- the plain way ---- */

static void an_answer_streams_and_is_saved_before_done(void **state)
{
    Rig rig;

    (void)state;
    rig_begin(&rig, NULL);
    assert_string_equal(rig_text(&rig, "Hi"), "token:Hi");
    assert_string_equal(rig_text(&rig, " there"), "token: there");
    assert_string_equal(rig_end(&rig, MODEL_STOP_END), "save:2 | done:0");
    assert_string_equal(rig_said(&rig), "u:Hello | a:Hi there");
    assert_string_equal(rig_orders(&rig), "");
    rig_drop(&rig);
}

static void a_tool_runs_when_the_answer_has_ended_and_the_model_reads_its_result(void **state)
{
    Rig rig;

    (void)state;
    rig_begin(&rig, NULL);
    (void)rig_text(&rig, "Wait");
    assert_string_equal(rig_call(&rig, "t1", TURN_ALLOW, false), "");
    assert_string_equal(rig_end(&rig, MODEL_STOP_TOOLS), "use:t1=echo{} | start:t1");
    assert_true(turn_uses_tool(&rig.turn));
    assert_string_equal(rig_ended(&rig, 0, "out"), "save:3 | call:3");
    assert_false(turn_uses_tool(&rig.turn));
    (void)rig_text(&rig, "Done");
    assert_string_equal(rig_end(&rig, MODEL_STOP_END), "save:1 | done:0");
    assert_string_equal(rig_said(&rig), "u:Hello | a:Wait+t1 | u:=t1(out) | a:Done");
    rig_drop(&rig);
}

static void calls_run_in_their_order_and_those_that_only_look_beside_each_other(void **state)
{
    Rig rig;

    (void)state;
    rig_begin(&rig, NULL);
    (void)rig_call(&rig, "r1", TURN_ALLOW, true);
    (void)rig_call(&rig, "r2", TURN_ALLOW, true);
    (void)rig_call(&rig, "w3", TURN_ALLOW, false);
    (void)rig_call(&rig, "r4", TURN_ALLOW, true);
    assert_string_equal(rig_end(&rig, MODEL_STOP_TOOLS),
                        "use:r1=echo{} | start:r1 | use:r2=echo{} | start:r2");
    assert_string_equal(rig_ended(&rig, 1, "b"), "");
    assert_string_equal(rig_ended(&rig, 0, "a"), "use:w3=echo{} | start:w3");
    assert_string_equal(rig_ended(&rig, 2, "c"), "use:r4=echo{} | start:r4");
    assert_string_equal(rig_ended(&rig, 3, "d"), "save:3 | call:3");
    assert_string_equal(rig_said(&rig), "u:Hello | a:+r1+r2+w3+r4 | u:=r1(a)=r2(b)=w3(c)=r4(d)");
    rig_drop(&rig);
}

static void a_tool_may_end_inside_its_start(void **state)
{
    TurnOrder order;
    Rig rig;

    (void)state;
    rig_begin(&rig, NULL);
    (void)rig_call(&rig, "t1", TURN_ALLOW, false);
    turn_on_model(&rig.turn, &(ModelEvent){.kind = MODEL_END, .stop = MODEL_STOP_TOOLS},
                  TURN_JUDGEMENT_NULL, START_MS);
    assert_true(turn_next(&rig.turn, &order));
    assert_true(turn_next(&rig.turn, &order));
    assert_int_equal(order.kind, TURN_START);
    turn_on_tool(&rig.turn, order.tool, SPAN("now"), false, START_MS);
    assert_string_equal(rig_orders(&rig), "save:3 | call:3");
    rig_drop(&rig);
}

/* ---- calls that do not run ---- */

static void calls_that_cannot_run_have_an_error_and_the_turn_goes_on(void **state)
{
    Rig rig;

    (void)state;
    rig_begin(&rig, NULL);
    (void)rig_call(&rig, "t1", TURN_NO_TOOL, false);
    (void)rig_call(&rig, "t2", TURN_DENY, false);
    turn_on_model(&rig.turn,
                  &(ModelEvent){.kind = MODEL_TOOL,
                                .id = SPAN("t3"),
                                .name = SPAN("echo"),
                                .input = SPAN("{\"a\":"),
                                .is_bad_json = true},
                  (TurnJudgement){.verdict = TURN_ALLOW}, START_MS);
    assert_string_equal(rig_end(&rig, MODEL_STOP_TOOLS),
                        "use:t1=echo{} | result:t1=Tool not found: echo | "
                        "use:t2=echo{} | result:t2=this tool is not allowed here | "
                        "use:t3=echo{} | "
                        "result:t3=the arguments are not a JSON object: {\"a\": | "
                        "save:3 | call:3");
    assert_true(rig.turn.messages[2].blocks[2].is_error);
    rig_drop(&rig);
}

static void a_person_is_asked_and_says_yes_or_no(void **state)
{
    Rig rig;

    (void)state;
    rig_begin(&rig, NULL);
    (void)rig_call(&rig, "t1", TURN_ASK, false);
    (void)rig_call(&rig, "t2", TURN_ASK, false);
    assert_string_equal(rig_end(&rig, MODEL_STOP_TOOLS), "ask:t1=echo{}");
    assert_int_equal(turn_on_approval(&rig.turn, SPAN("t2"), true, START_MS), TURN_E_NOT_ASKED);
    assert_int_equal(turn_on_approval(&rig.turn, SPAN("t1"), true, START_MS), 0);
    assert_string_equal(rig_orders(&rig), "start:t1");
    assert_int_equal(turn_on_approval(&rig.turn, SPAN("t1"), true, START_MS), TURN_E_NOT_ASKED);
    assert_string_equal(rig_ended(&rig, 0, "x"), "ask:t2=echo{}");
    assert_int_equal(turn_on_approval(&rig.turn, SPAN("t2"), false, START_MS), 0);
    assert_string_equal(rig_orders(&rig),
                        "result:t2=the user did not allow this call | save:3 | call:3");
    rig_drop(&rig);
}

static void a_question_that_nobody_answers_is_a_no_in_the_end(void **state)
{
    TurnLimits limits = {.approval_ms = 60000};
    Rig rig;

    (void)state;
    rig_begin(&rig, &limits);
    (void)rig_call(&rig, "t1", TURN_ASK, false);
    (void)rig_end(&rig, MODEL_STOP_TOOLS);
    assert_int_equal(turn_next_deadline(&rig.turn), START_MS + LIMIT_AGENT_ALIVE_MS);
    turn_advance(&rig.turn, START_MS + LIMIT_AGENT_ALIVE_MS);
    assert_string_equal(rig_orders(&rig), "token:");
    turn_advance(&rig.turn, START_MS + 60000);
    assert_string_equal(rig_orders(&rig),
                        "result:t1=nobody allowed this call in time | save:3 | call:3");
    rig_drop(&rig);
}

/* ---- limits ---- */

static void after_its_rounds_the_model_is_not_called_again(void **state)
{
    TurnLimits limits = {.max_rounds = 2};
    Rig rig;

    (void)state;
    rig_begin(&rig, &limits);
    (void)rig_call(&rig, "t1", TURN_ALLOW, false);
    (void)rig_end(&rig, MODEL_STOP_TOOLS);
    assert_string_equal(rig_ended(&rig, 0, "1"), "save:3 | call:3");
    (void)rig_call(&rig, "t2", TURN_ALLOW, false);
    (void)rig_end(&rig, MODEL_STOP_TOOLS);
    assert_string_equal(rig_ended(&rig, 1, "2"), "save:3 | done:3");
    assert_string_equal(rig_said(&rig), "u:Hello | a:+t1 | u:=t1(1) | a:+t2 | u:=t2(2) | "
                                        "a:(stopped: too many rounds of tools)");
    rig_drop(&rig);
}

static void ten_rounds_unless_it_is_said(void **state)
{
    Rig rig;

    (void)state;
    rig_begin(&rig, NULL);
    for (int i = 0; i < 9; i++) {
        (void)rig_call(&rig, "t", TURN_DENY, false);
        assert_non_null(strstr(rig_end(&rig, MODEL_STOP_TOOLS), "call:"));
    }
    (void)rig_call(&rig, "t", TURN_DENY, false);
    assert_non_null(strstr(rig_end(&rig, MODEL_STOP_TOOLS), "done:3"));
    rig_drop(&rig);
}

static void how_the_model_stopped_is_told(void **state)
{
    Rig rig;

    (void)state;
    rig_begin(&rig, NULL);
    (void)rig_text(&rig, "Half");
    assert_string_equal(rig_end(&rig, MODEL_STOP_LENGTH), "save:2 | done:1");
    rig_drop(&rig);
    rig_begin(&rig, NULL);
    assert_string_equal(rig_end(&rig, MODEL_STOP_REFUSED), "save:2 | done:2");
    assert_string_equal(rig_said(&rig), "u:Hello | a:(no answer)");
    rig_drop(&rig);
}

static void too_many_calls_at_once_are_an_error(void **state)
{
    Rig rig;

    (void)state;
    rig_begin(&rig, NULL);
    for (int i = 0; i < LIMIT_AGENT_ROUND_TOOLS; i++) {
        assert_string_equal(rig_call(&rig, "t", TURN_ALLOW, true), "");
    }
    assert_string_equal(rig_call(&rig, "t", TURN_ALLOW, true),
                        "stop-model | failed:the model called too many tools at once");
    rig_drop(&rig);
}

static void a_long_result_is_cut_between_characters(void **state)
{
    static char text[LIMIT_AGENT_RESULT_BYTES + 8];
    Span read;
    Rig rig;

    (void)state;
    memset(text, 'x', sizeof(text));
    memcpy(text + LIMIT_AGENT_RESULT_BYTES - 1, "\xC3\xA4", 2); /* one letter across the limit */
    rig_begin(&rig, NULL);
    (void)rig_call(&rig, "t1", TURN_ALLOW, false);
    (void)rig_end(&rig, MODEL_STOP_TOOLS);
    turn_on_tool(&rig.turn, rig.tools[0], span_make(text, sizeof(text)), false, START_MS);
    (void)rig_orders(&rig);
    read = rig.turn.messages[2].blocks[0].text;
    assert_int_equal(read.p[LIMIT_AGENT_RESULT_BYTES - 2], 'x');
    assert_int_equal(read.p[LIMIT_AGENT_RESULT_BYTES - 1], '\n');
    assert_true(span_ends_with(read, SPAN("too long]")));
    rig_drop(&rig);
}

/* ---- failures and the end ---- */

static void a_model_that_fails_leaves_no_trace_unless_something_was_said(void **state)
{
    Rig rig;

    (void)state;
    rig_begin(&rig, NULL);
    assert_string_equal(rig_fail(&rig, "429 slow down"), "failed:429 slow down");
    rig_drop(&rig);

    rig_begin(&rig, NULL);
    (void)rig_text(&rig, "Half");
    (void)rig_call(&rig, "t1", TURN_ALLOW, false);
    assert_string_equal(rig_fail(&rig, "cut"), "save:2 | failed:cut");
    assert_string_equal(rig_said(&rig), "u:Hello | a:Half");
    rig_drop(&rig);

    rig_begin(&rig, NULL);
    (void)rig_call(&rig, "t1", TURN_DENY, false);
    (void)rig_end(&rig, MODEL_STOP_TOOLS);
    assert_string_equal(rig_fail(&rig, "cut"), "save:1 | failed:cut");
    assert_non_null(strstr(rig_said(&rig), "| a:(the answer failed)"));
    rig_drop(&rig);
}

static void an_interrupt_ends_the_answer_and_keeps_what_was_said(void **state)
{
    Rig rig;

    (void)state;
    rig_begin(&rig, NULL);
    (void)rig_text(&rig, "Half");
    turn_stop(&rig.turn, TURN_END_INTERRUPTED, SPAN_NULL);
    assert_string_equal(rig_orders(&rig), "stop-model | save:2 | done:4");
    assert_string_equal(rig_said(&rig), "u:Hello | a:Half");
    assert_string_equal(rig_text(&rig, "more"), "");
    turn_stop(&rig.turn, TURN_END_FAILED, SPAN("again"));
    assert_string_equal(rig_orders(&rig), "");
    rig_drop(&rig);
}

static void an_interrupt_stops_tools_and_gives_each_call_a_result(void **state)
{
    Rig rig;

    (void)state;
    rig_begin(&rig, NULL);
    (void)rig_call(&rig, "t1", TURN_ALLOW, true);
    (void)rig_call(&rig, "t2", TURN_ASK, true);
    (void)rig_call(&rig, "t3", TURN_ALLOW, false);
    assert_string_equal(rig_end(&rig, MODEL_STOP_TOOLS),
                        "use:t1=echo{} | start:t1 | ask:t2=echo{}");
    turn_stop(&rig.turn, TURN_END_INTERRUPTED, SPAN_NULL);
    assert_string_equal(rig_orders(&rig), "stop:t1 | result:t1=interrupted | "
                                          "result:t2=interrupted | save:4 | done:4");
    assert_string_equal(rig_said(&rig), "u:Hello | a:+t1+t2+t3 | "
                                        "u:=t1(!interrupted)=t2(!interrupted)=t3(!interrupted) | "
                                        "a:(interrupted)");
    rig_drop(&rig);
}

static void the_end_of_the_agent_is_an_error_in_its_words(void **state)
{
    Rig rig;

    (void)state;
    rig_begin(&rig, NULL);
    turn_stop(&rig.turn, TURN_END_FAILED, SPAN("the agent shuts down"));
    assert_string_equal(rig_orders(&rig), "stop-model | failed:the agent shuts down");
    rig_drop(&rig);
}

static void a_turn_ends_when_its_time_is_over(void **state)
{
    TurnLimits limits = {.turn_ms = 1000};
    Rig rig;

    (void)state;
    rig_begin(&rig, &limits);
    assert_int_equal(turn_next_deadline(&rig.turn), START_MS + 1000);
    turn_advance(&rig.turn, START_MS + 1000);
    assert_string_equal(rig_orders(&rig), "stop-model | failed:the request took too long");
    assert_true(turn_next_deadline(&rig.turn) == INT64_MAX);
    rig_drop(&rig);
}

/* ---- signs of life ---- */

static void a_silent_model_gives_signs_of_life_and_a_token_is_one(void **state)
{
    Rig rig;

    (void)state;
    rig_begin(&rig, NULL);
    (void)rig_text_at(&rig, "x", START_MS + 1000);
    turn_advance(&rig.turn, START_MS + LIMIT_AGENT_ALIVE_MS);
    assert_string_equal(rig_orders(&rig), "");
    assert_int_equal(turn_next_deadline(&rig.turn), START_MS + 1000 + LIMIT_AGENT_ALIVE_MS);
    turn_advance(&rig.turn, START_MS + 1000 + LIMIT_AGENT_ALIVE_MS);
    assert_string_equal(rig_orders(&rig), "token:");
    rig_drop(&rig);
}

static void a_tool_that_runs_is_told_once_a_second(void **state)
{
    Rig rig;

    (void)state;
    rig_begin(&rig, NULL);
    (void)rig_call(&rig, "t1", TURN_ALLOW, false);
    (void)rig_end(&rig, MODEL_STOP_TOOLS);
    assert_int_equal(turn_next_deadline(&rig.turn), START_MS + 1000);
    turn_advance(&rig.turn, START_MS + 999);
    assert_string_equal(rig_orders(&rig), "");
    turn_advance(&rig.turn, START_MS + 1000);
    assert_string_equal(rig_orders(&rig), "progress:t1=1000");
    turn_on_progress(rig.tools[0], START_MS + 1500); /* a word of the tool's own */
    turn_advance(&rig.turn, START_MS + 2000);
    assert_string_equal(rig_orders(&rig), "");
    turn_advance(&rig.turn, START_MS + 2500);
    assert_string_equal(rig_orders(&rig), "progress:t1=2500");
    rig_drop(&rig);
}

/* ---- memory ---- */

static bool ends_in_uses(const AgentMessage *message)
{
    return message->is_assistant &&
           message->blocks[message->n_blocks - 1].kind == AGENT_BLOCK_TOOL_USE;
}

/* Without memory the turn fails, in words, and what it keeps stays whole. */
static int turn_without_memory(void *context)
{
    Rig rig = {.n_tools = 0};
    AgentBlock said = {.kind = AGENT_BLOCK_TEXT, .text = SPAN("Hello")};
    bool has_failed;

    (void)context;
    arena_init(&rig.arena, LIMIT_AGENT_TURN_BYTES);
    turn_init(&rig.turn, &rig.arena, NULL, START_MS);
    turn_user(&rig.turn, &said, 1);
    (void)rig_orders(&rig);
    for (int round = 0; round < 5; round++) {
        (void)rig_text(&rig, "text that is long enough to need some room of its own");
        for (int i = 0; i < 5; i++) {
            (void)rig_call(&rig, "t", TURN_DENY, false);
        }
        (void)rig_end(&rig, MODEL_STOP_TOOLS);
    }
    (void)rig_end(&rig, MODEL_STOP_END);
    assert_int_equal(rig.turn.state, TURN_OVER);
    has_failed = rig.turn.end == TURN_END_FAILED;
    for (size_t i = 0; i < rig.turn.n_messages; i++) {
        if (ends_in_uses(&rig.turn.messages[i])) {
            assert_true(i + 1 < rig.turn.n_messages);
            assert_int_equal(rig.turn.messages[i + 1].blocks[0].kind, AGENT_BLOCK_TOOL_RESULT);
        }
    }
    rig_drop(&rig);
    return has_failed ? -ENOMEM : 0;
}

static void a_turn_without_memory_fails_in_words(void **state)
{
    (void)state;
    test_oom_sweep(turn_without_memory, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_streams_and_is_saved_before_done),
        cmocka_unit_test(a_tool_runs_when_the_answer_has_ended_and_the_model_reads_its_result),
        cmocka_unit_test(calls_run_in_their_order_and_those_that_only_look_beside_each_other),
        cmocka_unit_test(a_tool_may_end_inside_its_start),
        cmocka_unit_test(calls_that_cannot_run_have_an_error_and_the_turn_goes_on),
        cmocka_unit_test(a_person_is_asked_and_says_yes_or_no),
        cmocka_unit_test(a_question_that_nobody_answers_is_a_no_in_the_end),
        cmocka_unit_test(after_its_rounds_the_model_is_not_called_again),
        cmocka_unit_test(ten_rounds_unless_it_is_said),
        cmocka_unit_test(how_the_model_stopped_is_told),
        cmocka_unit_test(too_many_calls_at_once_are_an_error),
        cmocka_unit_test(a_long_result_is_cut_between_characters),
        cmocka_unit_test(a_model_that_fails_leaves_no_trace_unless_something_was_said),
        cmocka_unit_test(an_interrupt_ends_the_answer_and_keeps_what_was_said),
        cmocka_unit_test(an_interrupt_stops_tools_and_gives_each_call_a_result),
        cmocka_unit_test(the_end_of_the_agent_is_an_error_in_its_words),
        cmocka_unit_test(a_turn_ends_when_its_time_is_over),
        cmocka_unit_test(a_silent_model_gives_signs_of_life_and_a_token_is_one),
        cmocka_unit_test(a_tool_that_runs_is_told_once_a_second),
        cmocka_unit_test(a_turn_without_memory_fails_in_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
