/* tests/unit/router/command_rig.h: a router with a desk, commands of one provider, and someone who
 * asks and reads envelopes. */
#pragma once

#include "unit/router/fake.h"

#include "router/router.h"
#include "router/safety/safety.h"

/* What the provider of commands does. */
typedef struct CommandRunner {
    const char *structured; /* its answer; NULL: text */
    const char *text;       /* the content of its text block, JSON */
    bool is_error;
    CallError error;  /* not NONE: it ends so */
    bool waits;       /* keeps the call */
    bool takes;       /* its arguments, so that no copy is kept */
    bool undoes;      /* what the plan says */
    bool has_failure; /* it tells one while it runs */
    SafetyDesk *desk; /* where it does */
    SafetyMode mode;  /* of the last plan that it saw */
    SafetyVerdict verdict;
    int64_t *now_us; /* it takes 1.5 ms */
    Call *call;
    size_t n_started;
    size_t n_cancelled;
} CommandRunner;

static void runner_tell_failure(CommandRunner *runner, SafetyPlan *plan)
{
    int64_t ids[] = {7};

    if (runner->has_failure) {
        SafetyFailure failure = {.id = SPAN("Planner.OverlappingWalls"),
                                 .message = SPAN("two walls overlap"),
                                 .element_ids = ids,
                                 .n_element_ids = 1,
                                 .can_delete = true};

        assert_int_equal(safety_failure(runner->desk, plan, &failure, &runner->verdict), 0);
    }
}

static void runner_answer(CommandRunner *runner, Call *call)
{
    Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":"), SPAN_NULL, SPAN("}")};
    CallResult result = {.kind = CALL_RESULT_TOOL, .is_error = runner->is_error};

    if (runner->error != CALL_ERROR_NONE) {
        call_fail(call, runner->error, SPAN_NULL);
        return;
    }
    if (runner->structured != NULL) {
        result.structured = span_from_str(runner->structured);
    } else {
        pieces[1] = span_from_str(runner->text);
        result.pieces = pieces;
        result.n_pieces = 3;
        result.content_kinds = CALL_CONTENT_TEXT;
    }
    call_finish(call, &result);
}

static void runner_start(void *context, Call *call)
{
    CommandRunner *runner = context;
    SafetyPlan *plan = router_call_plan(call);

    runner->n_started++;
    assert_non_null(plan);
    runner->mode = plan->mode;
    runner_tell_failure(runner, plan);
    if (runner->undoes && (plan->is_dry_run || plan->needs_rollback)) {
        plan->is_undone = true;
    }
    if (runner->now_us != NULL) {
        *runner->now_us += 1500;
    }
    call->took_arguments = runner->takes;
    if (runner->waits) {
        runner->call = call;
        return;
    }
    runner_answer(runner, call);
}

static void runner_cancel(void *context, Call *call)
{
    CommandRunner *runner = context;

    assert_ptr_equal(runner->call, call);
    runner->call = NULL;
    runner->n_cancelled++;
}

static const CallProvider runner_provider = {
    .name = "runner", .start = runner_start, .cancel = runner_cancel};

/* The one that waits answers now. */
TW_UNUSED static void runner_go_on(CommandRunner *runner)
{
    Call *call = runner->call;

    runner->call = NULL;
    runner_answer(runner, call);
}

typedef struct CommandRig {
    Router *router;
    SafetyDesk *desk;
    CommandRunner runner;
    Asker asker;
    int64_t now_us;
    uint8_t last_random;
    Arena arena; /* what reading an envelope takes */
} CommandRig;

static int rig_random(void *context, uint8_t *ret, size_t n)
{
    CommandRig *rig = context;

    memset(ret, ++rig->last_random, n);
    return 0;
}

static int64_t rig_now_us(void *context)
{
    const CommandRig *rig = context;

    return rig->now_us;
}

static int64_t rig_now_ms(void *context)
{
    return rig_now_us(context) / 1000;
}

static int64_t rig_wall_ms(void *context)
{
    (void)context;
    return 1700000000000;
}

static void rig_show(CommandRig *rig, int64_t view_id)
{
    assert_int_equal(safety_desk_show(rig->desk, &(SafetyDocument){.guid = SPAN("G-1"),
                                                                   .path = SPAN("/plans/a.rvt"),
                                                                   .title = SPAN("Plan A"),
                                                                   .view_id = view_id,
                                                                   .view_name = SPAN("Level 1"),
                                                                   .view_type = SPAN("FloorPlan")}),
                     0);
}

TW_UNUSED static void rig_add(CommandRig *rig, const char *json, bool is_guarded, bool can_undo)
{
    assert_int_equal(router_add(rig->router,
                                &(RouterSpec){.kind = ROUTER_TOOL,
                                              .json = span_from_str(json),
                                              .provider = &runner_provider,
                                              .context = &rig->runner,
                                              .is_command = true,
                                              .is_guarded = is_guarded,
                                              .can_undo = can_undo},
                                NULL),
                     0);
}

#define PLAIN_COMMAND(name) "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\"}}"

/* Commands: move_walls and delete_walls, which can be undone, send_mail, which cannot, get_walls,
 * and far.delete_walls, which is guarded elsewhere. */
static void rig_init(CommandRig *rig)
{
    memset(rig, 0, sizeof(*rig));
    rig->now_us = 5000000;
    rig->router = fake_router(NULL);
    assert_int_equal(
        safety_desk_new(&rig->desk, &(SafetyConfig){.random = rig_random, .context = rig}), 0);
    rig->runner = (CommandRunner){.structured = "{\"n\":1}", .desk = rig->desk};
    asker_init(&rig->asker);
    arena_init(&rig->arena, SIZE_MAX);
    router_set_clock(rig->router, rig_now_ms, rig);
    router_set_stopwatch(rig->router, rig_now_us, rig_wall_ms, rig);
    router_set_desk(rig->router, rig->desk);
    rig_show(rig, 11);
    rig_add(rig, PLAIN_COMMAND("move_walls"), false, true);
    rig_add(rig, PLAIN_COMMAND("delete_walls"), false, true);
    rig_add(rig, PLAIN_COMMAND("send_mail"), false, false);
    rig_add(rig, PLAIN_COMMAND("get_walls"), false, false);
    rig_add(rig, PLAIN_COMMAND("far.delete_walls"), true, false);
}

static void rig_deinit(CommandRig *rig)
{
    rig->router = router_free(rig->router);
    rig->desk = safety_desk_free(rig->desk);
    asker_deinit(&rig->asker);
    arena_deinit(&rig->arena);
}

/* The value at that pointer of the last envelope, as it is written; "" if there is none. The text
 * block must say the same as the structured content. */
static const char *rig_at(CommandRig *rig, const char *pointer)
{
    JsonValue root;
    JsonValue text;
    JsonValue value;
    JsonDoc doc;
    JsonDoc content;
    Span said;

    assert_int_equal(rig->asker.kind, CALL_RESULT_TOOL);
    arena_reset(&rig->arena, SIZE_MAX);
    assert_int_equal(json_parse(&doc, &rig->arena, rig->asker.structured,
                                strlen(rig->asker.structured), NULL, NULL),
                     0);
    root = json_root(&doc);
    {
        char *array = arena_alloc(&rig->arena, strlen(rig->asker.content) + 3);

        (void)snprintf(array, strlen(rig->asker.content) + 3, "[%s]", rig->asker.content);
        assert_int_equal(json_parse(&content, &rig->arena, array, strlen(array), NULL, NULL), 0);
    }
    assert_int_equal(json_pointer(json_root(&content), SPAN("/0/text"), &text), 0);
    assert_int_equal(json_string(text, &rig->arena, &said), 0);
    assert_true(span_equals(said, span_from_str(rig->asker.structured)));
    if (json_pointer(root, span_from_str(pointer), &value) != 0) {
        return "";
    }
    return arena_copy(&rig->arena, json_span(value)).p;
}

/* It is an envelope, with all seven members; isError is the contrary of ok. */
static void rig_check_envelope(CommandRig *rig, const char *code)
{
    static const char *const members[][2] = {
        {"/warnings", "["}, {"/nextActions", "["}, {"/timings", "{"},
        {"/context", "{"},  {"/msg", "\""},        {"/code", "\""},
    };
    char quoted[64];

    (void)snprintf(quoted, sizeof(quoted), "\"%s\"", code);
    assert_string_equal(rig_at(rig, "/code"), quoted);
    assert_string_equal(rig_at(rig, "/ok"), strcmp(code, "OK") == 0 ? "true" : "false");
    assert_int_equal(rig->asker.is_error, strcmp(code, "OK") != 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(members); i++) {
        assert_true(rig_at(rig, members[i][0])[0] == members[i][1][0]);
    }
    assert_true(strlen(rig_at(rig, "/msg")) > 2);
    assert_string_not_equal(rig_at(rig, "/timings/queueWaitMs"), "");
    assert_string_not_equal(rig_at(rig, "/timings/revitMs"), "");
    assert_string_not_equal(rig_at(rig, "/timings/totalMs"), "");
}

TW_UNUSED static void rig_ask(CommandRig *rig, const char *name, const char *arguments,
                              const char *code)
{
    asker_ask(&rig->asker, rig->router, CALL_TOOL, name, arguments);
    rig_check_envelope(rig, code);
}
