/* fixture_tasks.c: tools that run as tasks, or may. */
#include "fixture.h"

#define FORM(field, type)                                                                          \
    "{\"type\":\"object\",\"properties\":{\"" field "\":{\"type\":\"" type "\"}},"                 \
    "\"required\":[\"" field "\"]}"

/* What a failing job takes before it fails. */
#define FAILING_MS 1000

/* How often a job that waits looks whether somebody still wants it. */
#define LOOK_MS 20

/* False: it was cancelled. */
static bool wait_for(const TwCall *call, long ms)
{
    for (; ms > 0 && !tw_call_is_cancelled(call); ms -= LOOK_MS) {
        fixture_wait_ms(ms < LOOK_MS ? ms : LOOK_MS);
    }
    return !tw_call_is_cancelled(call);
}

static void run_compute(TwCall *call)
{
    double seconds = tw_call_double(call, "seconds", 0);

    if (wait_for(call, (long)(seconds * 1000))) {
        tw_call_textf(call, "%s: computed for %g s", tw_call_string(call, "label", "job"), seconds);
    }
}

static void run_failing(TwCall *call)
{
    if (wait_for(call, FAILING_MS)) {
        tw_call_failed(call, "The job has failed.");
    }
}

static void tool_greet(TwCall *call, void *user)
{
    (void)user;
    tw_call_textf(call, "Hello, %s!", tw_call_string(call, "name", "stranger"));
}

static void tool_compute(TwCall *call, void *user)
{
    (void)user;
    fixture_work(call, run_compute);
}

static void tool_failing(TwCall *call, void *user)
{
    (void)user;
    fixture_work(call, run_failing);
}

static void tool_protocol_error(TwCall *call, void *user)
{
    (void)user;
    tw_call_error(call, -32603, "The job has broken.");
}

static void tool_confirm_delete(TwCall *call, void *user)
{
    (void)user;
    if (tw_call_answer(call, "confirm") == NULL) {
        tw_call_ask_form(call, "confirm", "Delete it?", FORM("confirm", "boolean"));
        return;
    }
    tw_call_textf(call, "%s %s", tw_call_string(call, "filename", "the file"),
                  tw_call_answer_bool(call, "confirm", "confirm", false) ? "deleted" : "kept");
}

static void tool_multi_input(TwCall *call, void *user)
{
    (void)user;
    if (tw_call_answer(call, "first") == NULL || tw_call_answer(call, "second") == NULL) {
        tw_call_ask_form(call, "first", "The first name?", FORM("name", "string"));
        tw_call_ask_form(call, "second", "The second name?", FORM("name", "string"));
        return;
    }
    tw_call_textf(call, "%s and %s", tw_call_answer_string(call, "first", "name", "nobody"),
                  tw_call_answer_string(call, "second", "name", "nobody"));
}

/* Asks before it is a task. */
static void tool_with_task(TwCall *call, void *user)
{
    (void)user;
    if (tw_call_answer(call, "user_name") == NULL) {
        tw_call_ask_form(call, "user_name", "What is your name?", FORM("name", "string"));
        return;
    }
    tw_call_textf(call, "Hello, %s!", tw_call_answer_string(call, "user_name", "name", "stranger"));
}

int fixture_add_tasks(Fixture *fixture)
{
    const TwTool tools[] = {
        {.name = "greet",
         .input_schema = "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}",
         .handler = tool_greet},
        {.name = "slow_compute",
         .input_schema = "{\"type\":\"object\",\"properties\":{\"seconds\":{\"type\":\"number\","
                         "\"minimum\":0,\"maximum\":3600},\"label\":{\"type\":\"string\"}}}",
         .handler = tool_compute,
         .task = TW_TASK_MAY},
        {.name = "failing_job", .handler = tool_failing, .task = TW_TASK_ALWAYS},
        {.name = "protocol_error_job", .handler = tool_protocol_error, .task = TW_TASK_MAY},
        {.name = "confirm_delete",
         .input_schema =
             "{\"type\":\"object\",\"properties\":{\"filename\":{\"type\":\"string\"}}}",
         .handler = tool_confirm_delete,
         .task = TW_TASK_MAY},
        {.name = "multi_input", .handler = tool_multi_input, .task = TW_TASK_MAY},
        {.name = "test_tool_with_task", .handler = tool_with_task, .task = TW_TASK_ASKED},
    };

    return fixture_add_all(fixture, tools, sizeof tools / sizeof tools[0]);
}
