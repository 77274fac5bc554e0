#include "unit/router/fake.h"

#include "base/limits.h"
#include "support/alloc_testing.h"

#define COUNT_TOOL                                                                                 \
    "{\"name\":\"count\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"count\":{"         \
    "\"type\":\"integer\"},\"of\":{\"type\":\"string\"}},\"required\":[\"count\"]},"               \
    "\"outputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},"         \
    "\"required\":[\"n\"]}}"

static void tool_gets_its_arguments_byte_for_byte(void **state)
{
    World world;

    (void)state;
    world_init(&world, NULL);
    asker_ask(&world.asker, world.router, CALL_TOOL, "echo", "{ \"n\" : 1.50, \"n\":1e400 }");
    assert_int_equal(world.asker.kind, CALL_RESULT_TOOL);
    assert_string_equal(world.asker.content, "{ \"n\" : 1.50, \"n\":1e400 }");
    asker_ask(&world.asker, world.router, CALL_TOOL, "echo", NULL);
    assert_string_equal(world.asker.content, "null");
    world_deinit(&world);
}

/* The tool that was called last is remembered, and must be forgotten with its entry. */
static void a_tool_that_was_removed_after_a_call_is_unknown(void **state)
{
    World world;

    (void)state;
    world_init(&world, NULL);
    asker_ask(&world.asker, world.router, CALL_TOOL, "echo", NULL);
    assert_int_equal(world.asker.error, CALL_ERROR_NONE);
    assert_int_equal(router_remove(world.router, ROUTER_TOOL, SPAN("echo")), 0);
    asker_ask(&world.asker, world.router, CALL_TOOL, "echo", NULL);
    assert_int_equal(world.asker.error, CALL_ERROR_UNKNOWN_TOOL);
    world_deinit(&world);
}

static void unknown_names_have_an_error_for_each_kind(void **state)
{
    static const struct {
        CallVerb verb;
        CallError error;
    } cases[] = {
        {CALL_TOOL, CALL_ERROR_UNKNOWN_TOOL},         {CALL_PROMPT, CALL_ERROR_UNKNOWN_PROMPT},
        {CALL_READ, CALL_ERROR_UNKNOWN_RESOURCE},     {CALL_SUBSCRIBE, CALL_ERROR_UNKNOWN_RESOURCE},
        {CALL_COMPLETE, CALL_ERROR_UNKNOWN_RESOURCE},
    };
    static char long_name[10000];
    World world;

    (void)state;
    memset(long_name, 'n', sizeof(long_name) - 1);
    world_init(&world, NULL);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        asker_ask(&world.asker, world.router, cases[i].verb, "nobody", NULL);
        assert_int_equal(world.asker.kind, CALL_RESULT_ERROR);
        assert_int_equal(world.asker.error, cases[i].error);
        assert_non_null(strstr(world.asker.message, ": nobody"));
        asker_ask(&world.asker, world.router, cases[i].verb, long_name, NULL);
        assert_string_equal(world.asker.message, call_error_text(cases[i].error));
    }
    assert_int_equal(world.provider.n_started, 0);
    world_deinit(&world);
}

static void wrong_arguments_never_reach_the_provider(void **state)
{
    static const struct {
        const char *arguments;
        const char *message;
        const char *data;
    } cases[] = {
        {"{\"count\":\"many\"}", "arguments/count: expected integer, got string",
         "[{\"path\":\"/count\",\"message\":\"expected integer, got string\"}]"},
        {"{\"count\":1,\"of\":[]}", "arguments/of: expected string, got array",
         "[{\"path\":\"/of\",\"message\":\"expected string, got array\"}]"},
    };
    World world;

    (void)state;
    world_init(&world, NULL);
    assert_int_equal(fake_add(world.router, ROUTER_TOOL, COUNT_TOOL, &world.provider, NULL), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        asker_ask(&world.asker, world.router, CALL_TOOL, "count", cases[i].arguments);
        assert_int_equal(world.asker.error, CALL_ERROR_INVALID_ARGUMENTS);
        assert_string_equal(world.asker.message, cases[i].message);
        assert_string_equal(world.asker.data, cases[i].data);
    }
    /* No arguments are an empty object. */
    asker_ask(&world.asker, world.router, CALL_TOOL, "count", NULL);
    assert_int_equal(world.asker.error, CALL_ERROR_INVALID_ARGUMENTS);
    assert_true(strncmp(world.asker.message, "arguments: ", 11) == 0);
    assert_non_null(strstr(world.asker.message, "count"));
    assert_int_equal(world.provider.n_started, 0);
    world_deinit(&world);
}

#define STRICT_TOOL                                                                                \
    "{\"name\":\"strict\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"period_days\":{}" \
    ","                                                                                            \
    "\"peri\\u006fd\":{},\"in\":{\"type\":\"object\",\"properties\":{\"deep\":{}},"                \
    "\"additionalProperties\":false}},\"additionalProperties\":false}}"

static void an_unknown_argument_is_told_with_the_nearest_known_one(void **state)
{
    static const char *const cases[][2] = {
        {"{\"period_day\":1}", "arguments/period_day: unknown property; did you mean "
                               "\"period_days\"?"},
        {"{\"perio\":1}", "arguments/perio: unknown property; did you mean \"period\"?"},
        {"{\"elsewhere\":1}", "arguments/elsewhere: unknown property"},
        {"{\"\":1}", "arguments/: unknown property"},
        /* Of what is deeper nothing is known here. */
        {"{\"in\":{\"period_day\":1}}", "arguments/in/period_day: unknown property"},
    };
    World world;

    (void)state;
    world_init(&world, NULL);
    assert_int_equal(fake_add(world.router, ROUTER_TOOL, STRICT_TOOL, &world.provider, NULL), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        asker_ask(&world.asker, world.router, CALL_TOOL, "strict", cases[i][0]);
        assert_int_equal(world.asker.error, CALL_ERROR_INVALID_ARGUMENTS);
        assert_string_equal(world.asker.message, cases[i][1]);
    }
    for (size_t n = 0; n < 20; n++) {
        alloc_testing_reset(n);
        asker_ask(&world.asker, world.router, CALL_TOOL, "strict", cases[0][0]);
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        assert_true(world.asker.error == CALL_ERROR_INVALID_ARGUMENTS ||
                    world.asker.error == CALL_ERROR_INTERNAL);
    }
    assert_int_equal(world.provider.n_started, 0);
    world_deinit(&world);
}

/* Says what is wrong with arguments as a tool's result, if it is set to. */
static bool wording_word(void *context, const CallResult *error, CallResult *ret)
{
    FakeProvider *provider = context;

    assert_int_equal(error->error, CALL_ERROR_INVALID_ARGUMENTS);
    assert_true(error->data.n > 0);
    if (provider->result == NULL) {
        return false;
    }
    *ret = *provider->result;
    return true;
}

static void wrong_arguments_are_said_in_the_words_of_the_provider(void **state)
{
    static const CallProvider wording = {.start = fake_start, .word = wording_word};
    static const Span piece = SPAN_INIT("wrong");
    const CallResult words = CALL_RESULT_TOOL_PIECES(&piece, 1);
    World world;

    (void)state;
    world_init(&world, NULL);
    assert_int_equal(router_add(world.router,
                                &(RouterSpec){.kind = ROUTER_TOOL,
                                              .json = SPAN(COUNT_TOOL),
                                              .provider = &wording,
                                              .context = &world.provider},
                                NULL),
                     0);
    asker_ask(&world.asker, world.router, CALL_TOOL, "count", "{\"count\":\"x\"}");
    assert_int_equal(world.asker.error, CALL_ERROR_INVALID_ARGUMENTS);
    world.provider.result = &words;
    asker_ask(&world.asker, world.router, CALL_TOOL, "count", "{\"count\":\"x\"}");
    assert_int_equal(world.asker.kind, CALL_RESULT_TOOL);
    assert_string_equal(world.asker.content, "wrong");
    assert_int_equal(world.provider.n_started, 0);
    world_deinit(&world);
}

/* Also where the answer is a task's, and so an error. */
static void wrong_arguments_of_a_command_are_said_in_one_way(void **state)
{
    static const CallProvider wording = {.start = fake_start, .word = wording_word};
    static const Span piece = SPAN_INIT("wrong");
    const CallResult words = CALL_RESULT_TOOL_PIECES(&piece, 1);
    World world;

    (void)state;
    world_init(&world, NULL);
    world.provider.result = &words;
    assert_int_equal(router_add(world.router,
                                &(RouterSpec){.kind = ROUTER_TOOL,
                                              .json = SPAN(COUNT_TOOL),
                                              .provider = &wording,
                                              .context = &world.provider,
                                              .is_command = true},
                                NULL),
                     0);
    asker_prepare(&world.asker, CALL_TOOL, "count", "{\"count\":\"x\"}");
    world.asker.call.later = CALL_LATER_IS_TASK;
    router_dispatch(world.router, NULL, &world.asker.call);
    assert_int_equal(world.asker.kind, CALL_RESULT_ERROR);
    assert_int_equal(world.asker.error, CALL_ERROR_INVALID_ARGUMENTS);
    asker_ask(&world.asker, world.router, CALL_TOOL, "count", "{\"count\":\"x\"}");
    assert_non_null(strstr(world.asker.structured, "INVALID_PARAMS"));
    world_deinit(&world);
}

static void many_faults_are_listed_up_to_the_limit(void **state)
{
    char arguments[1024] = "{";
    size_t n = 1;
    size_t n_listed = 0;
    World world;

    (void)state;
    for (int i = 0; i < 50; i++) {
        n += (size_t)snprintf(arguments + n, sizeof(arguments) - n, "%s\"k%d\":1",
                              i == 0 ? "" : ",", i);
    }
    (void)snprintf(arguments + n, sizeof(arguments) - n, "}");
    world_init(&world, NULL);
    assert_int_equal(fake_add(world.router, ROUTER_TOOL,
                              "{\"name\":\"s\",\"inputSchema\":{\"type\":\"object\","
                              "\"additionalProperties\":{\"type\":\"string\"}}}",
                              &world.provider, NULL),
                     0);
    asker_ask(&world.asker, world.router, CALL_TOOL, "s", arguments);
    assert_non_null(strstr(world.asker.message, "arguments/k0: expected string, got number; "
                                                "arguments/k1: expected string, got number; "));
    assert_null(strstr(world.asker.message, "more"));
    for (const char *p = world.asker.data; (p = strstr(p, "\"path\"")) != NULL; p++) {
        n_listed++;
    }
    assert_int_equal(n_listed, LIMIT_SCHEMA_ERRORS);
    world_deinit(&world);
}

/* What the message has no room for is counted. */
static void faults_that_are_too_long_to_be_said_are_counted(void **state)
{
    char arguments[8192] = "{";
    size_t n = 1;
    World world;

    (void)state;
    for (int i = 0; i < 3; i++) {
        n += (size_t)snprintf(arguments + n, sizeof(arguments) - n, "%s\"k%02000d\":1",
                              i == 0 ? "" : ",", i);
    }
    (void)snprintf(arguments + n, sizeof(arguments) - n, "}");
    world_init(&world, NULL);
    assert_int_equal(fake_add(world.router, ROUTER_TOOL,
                              "{\"name\":\"s\",\"inputSchema\":{\"type\":\"object\","
                              "\"additionalProperties\":{\"type\":\"string\"}}}",
                              &world.provider, NULL),
                     0);
    asker_ask(&world.asker, world.router, CALL_TOOL, "s", arguments);
    assert_true(strlen(world.asker.message) < 4096);
    assert_non_null(strstr(world.asker.message, "got number; and 2 more"));
    world_deinit(&world);
}

/* The schema doubles its work with each level: it cannot be decided, and that is an error. */
static void arguments_that_cost_too_much_are_refused(void **state)
{
    char json[4096];
    size_t n = 0;
    World world;

    (void)state;
    n += (size_t)snprintf(json, sizeof(json),
                          "{\"name\":\"diamond\",\"inputSchema\":{\"type\":\"object\",\"$ref\":"
                          "\"#/$defs/d0\",\"$defs\":{");
    for (int i = 0; i < 40; i++) {
        n += (size_t)snprintf(json + n, sizeof(json) - n,
                              "\"d%d\":{\"allOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":"
                              "\"#/$defs/d%d\"}]},",
                              i, i + 1, i + 1);
    }
    (void)snprintf(json + n, sizeof(json) - n, "\"d40\":{\"minProperties\":0}}}}");
    world_init(&world, NULL);
    assert_int_equal(fake_add(world.router, ROUTER_TOOL, json, &world.provider, NULL), 0);
    asker_ask(&world.asker, world.router, CALL_TOOL, "diamond", "{\"a\":1}");
    assert_int_equal(world.asker.error, CALL_ERROR_INVALID_ARGUMENTS);
    assert_non_null(strstr(world.asker.message, "too much work"));
    world_deinit(&world);
}

static void structured_result_must_keep_the_output_schema(void **state)
{
    static const struct {
        const char *structured;
        bool is_error;
        CallError error;
        const char *message;
    } cases[] = {
        {"{\"n\":3}", false, CALL_ERROR_NONE, ""},
        {"", true, CALL_ERROR_NONE, ""},
        {"{\"n\":\"x\"}", true, CALL_ERROR_NONE, ""},
        {"", false, CALL_ERROR_BAD_RESULT,
         "structuredContent: missing, though the tool has an output schema"},
        {"{\"n\":\"x\"}", false, CALL_ERROR_BAD_RESULT,
         "structuredContent/n: expected integer, got string"},
        {"{\"n\":", false, CALL_ERROR_BAD_RESULT, "structuredContent: not JSON"},
    };
    World world;

    (void)state;
    world_init(&world, NULL);
    assert_int_equal(fake_add(world.router, ROUTER_TOOL, COUNT_TOOL, &world.provider, NULL), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        CallResult result = {.kind = CALL_RESULT_TOOL,
                             .structured = span_from_str(cases[i].structured),
                             .is_error = cases[i].is_error};

        world.provider.result = &result;
        asker_ask(&world.asker, world.router, CALL_TOOL, "count", "{\"count\":1}");
        assert_int_equal(world.asker.error, cases[i].error);
        assert_string_equal(world.asker.message, cases[i].message);
        assert_int_equal(world.asker.is_error, cases[i].is_error);
    }
    world_deinit(&world);
}

static void result_of_another_kind_is_a_bad_one(void **state)
{
    static const CallResult results[] = {
        {.kind = CALL_RESULT_PROMPT}, {.kind = CALL_RESULT_LIST}, {.kind = CALL_RESULT_EMPTY}};
    static const CallResult own = {
        .kind = CALL_RESULT_ERROR, .error = CALL_ERROR_OWN, .message = {"mine", 4}};
    static const CallResult ask = {.kind = CALL_RESULT_ASK};
    World world;

    (void)state;
    world_init(&world, NULL);
    for (size_t i = 0; i < TW_ARRAY_SIZE(results); i++) {
        world.provider.result = &results[i];
        asker_ask(&world.asker, world.router, CALL_TOOL, "echo", NULL);
        assert_int_equal(world.asker.error, CALL_ERROR_BAD_RESULT);
    }
    world.provider.result = &own;
    asker_ask(&world.asker, world.router, CALL_TOOL, "echo", NULL);
    assert_int_equal(world.asker.error, CALL_ERROR_OWN);
    assert_string_equal(world.asker.message, "mine");
    world.provider.result = &ask;
    asker_ask(&world.asker, world.router, CALL_TOOL, "echo", NULL);
    assert_int_equal(world.asker.kind, CALL_RESULT_ASK);
    world_deinit(&world);
}

static void prompt_arguments_are_strings_and_the_required_are_there(void **state)
{
    static const CallResult result = {.kind = CALL_RESULT_PROMPT};
    static const struct {
        const char *arguments;
        const char *message;
    } cases[] = {
        {"{\"who\":\"x\"}", ""},
        {"{\"who\":\"x\",\"how\":\"y\",\"new\":\"z\"}", ""},
        {"{\"wh\\u006f\":\"x\"}", ""},
        {NULL, "arguments: missing property \"who\""},
        {"{\"how\":\"y\"}", "arguments: missing property \"who\""},
        {"{\"who\":1}", "arguments/who: expected string, got number"},
        {"{\"who\":\"x\",\"a/b\":null}", "arguments/a~1b: expected string, got null"},
        {"[]", "arguments: expected object"},
    };
    World world;

    (void)state;
    world_init(&world, NULL);
    world.provider.result = &result;
    assert_int_equal(fake_add(world.router, ROUTER_PROMPT,
                              "{\"name\":\"hello\",\"arguments\":[{\"name\":\"who\",\"required\":"
                              "true},{\"name\":\"how\"}]}",
                              &world.provider, NULL),
                     0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        asker_ask(&world.asker, world.router, CALL_PROMPT, "hello", cases[i].arguments);
        assert_string_equal(world.asker.message, cases[i].message);
        assert_int_equal(world.asker.error, cases[i].message[0] == '\0'
                                                ? CALL_ERROR_NONE
                                                : CALL_ERROR_INVALID_ARGUMENTS);
    }
    assert_int_equal(world.provider.n_started, 3);
    world_deinit(&world);
}

static void resource_is_found_before_templates_and_they_in_order(void **state)
{
    static const CallResult result = {.kind = CALL_RESULT_RESOURCE};
    FakeProvider exact = {.plan = FAKE_ECHO, .result = &result};
    FakeProvider first = {.plan = FAKE_ECHO, .result = &result};
    FakeProvider second = {.plan = FAKE_ECHO, .result = &result};
    World world;

    (void)state;
    world_init(&world, NULL);
    assert_int_equal(fake_add(world.router, ROUTER_TEMPLATE,
                              "{\"uriTemplate\":\"u:{name}\",\"name\":\"1\"}", &first, NULL),
                     0);
    assert_int_equal(fake_add(world.router, ROUTER_TEMPLATE,
                              "{\"uriTemplate\":\"u:{+name}\",\"name\":\"2\"}", &second, NULL),
                     0);
    assert_int_equal(
        fake_add(world.router, ROUTER_RESOURCE, "{\"uri\":\"u:x\",\"name\":\"x\"}", &exact, NULL),
        0);
    asker_ask(&world.asker, world.router, CALL_READ, "u:x", NULL);
    assert_int_equal(exact.n_started, 1);
    asker_ask(&world.asker, world.router, CALL_READ, "u:y%20z", NULL);
    assert_string_equal(first.variable, "y z");
    asker_ask(&world.asker, world.router, CALL_READ, "u:y/z", NULL);
    assert_string_equal(second.variable, "y/z");
    assert_int_equal(world.asker.kind, CALL_RESULT_RESOURCE);
    asker_ask(&world.asker, world.router, CALL_READ, "v:x", NULL);
    assert_int_equal(world.asker.error, CALL_ERROR_UNKNOWN_RESOURCE);
    asker_ask(&world.asker, world.router, CALL_SUBSCRIBE, "u:x", NULL);
    assert_int_equal(world.asker.kind, CALL_RESULT_EMPTY);
    asker_ask(&world.asker, world.router, CALL_SUBSCRIBE, "u:other", NULL);
    assert_int_equal(world.asker.kind, CALL_RESULT_EMPTY);
    assert_int_equal(exact.n_started + first.n_started + second.n_started, 3);
    world_deinit(&world);
}

/* What nothing has goes to the template that answers for such URIs; only what is read does. */
static void a_prefix_answers_for_what_nothing_has(void **state)
{
    static const CallResult result = {.kind = CALL_RESULT_RESOURCE};
    FakeProvider fake = {.plan = FAKE_ECHO, .result = &result};
    World world;

    (void)state;
    world_init(&world, NULL);
    assert_int_equal(router_add(world.router,
                                &(RouterSpec){.kind = ROUTER_TEMPLATE,
                                              .json = SPAN("{\"uriTemplate\":\"t://{a}\","
                                                           "\"name\":\"t\"}"),
                                              .provider = &fake_provider,
                                              .context = &fake,
                                              .prefix = SPAN("t:")},
                                NULL),
                     0);
    asker_ask(&world.asker, world.router, CALL_READ, "t://a/b", NULL);
    assert_int_equal(world.asker.kind, CALL_RESULT_RESOURCE);
    asker_ask(&world.asker, world.router, CALL_READ, "t:", NULL);
    assert_int_equal(fake.n_started, 2);
    asker_ask(&world.asker, world.router, CALL_READ, "t", NULL);
    assert_int_equal(world.asker.error, CALL_ERROR_UNKNOWN_RESOURCE);
    asker_ask(&world.asker, world.router, CALL_SUBSCRIBE, "t://a/b", NULL);
    assert_int_equal(world.asker.error, CALL_ERROR_UNKNOWN_RESOURCE);
    world_deinit(&world);
}

/* Adds a resource when it is asked to. */
typedef struct Filling {
    Router *router;
    FakeProvider *provider;
    int n_filled;
} Filling;

static void fill(void *context)
{
    Filling *filling = context;

    filling->n_filled++;
    assert_int_equal(fake_add(filling->router, ROUTER_RESOURCE, "{\"uri\":\"u:x\",\"name\":\"x\"}",
                              filling->provider, NULL),
                     0);
}

static int n_told;

static void count_change(RouterListener *listener, RouterKind kind)
{
    (void)listener;
    (void)kind;
    n_told++;
}

static void what_takes_time_is_added_when_it_is_needed(void **state)
{
    static const CallResult result = {.kind = CALL_RESULT_RESOURCE};
    RouterListener listener = {.changed = count_change};
    FakeProvider fake = {.plan = FAKE_ECHO, .result = &result};
    Filling filling = {.provider = &fake};
    World world;

    (void)state;
    n_told = 0;
    world_init(&world, NULL);
    filling.router = world.router;
    router_listen(world.router, &listener);
    router_set_filler(world.router, fill, &filling);
    asker_ask(&world.asker, world.router, CALL_LIST_TOOLS, "", NULL);
    assert_int_equal(filling.n_filled, 0);
    asker_ask(&world.asker, world.router, CALL_READ, "u:x", NULL);
    assert_int_equal(world.asker.kind, CALL_RESULT_RESOURCE);
    asker_ask(&world.asker, world.router, CALL_LIST_RESOURCES, "", NULL);
    router_fill(world.router);
    assert_int_equal(filling.n_filled, 1);
    assert_int_equal(n_told, 0); /* nobody had seen the list without it */
    assert_int_equal(router_remove(world.router, ROUTER_RESOURCE, SPAN("u:x")), 0);
    assert_int_equal(n_told, 1);
    router_unlisten(world.router, &listener);
    world_deinit(&world);
}

static void complete(World *world, bool is_prompt, const char *target, const char *argument)
{
    asker_prepare(&world->asker, CALL_COMPLETE, target, NULL);
    world->asker.call.completion =
        (CallCompletion){.is_prompt = is_prompt, .argument = span_from_str(argument)};
    router_dispatch(world->router, NULL, &world->asker.call);
}

static void completion_is_asked_of_those_who_complete(void **state)
{
    static const Span piece = {"\"v\"", 3};
    static const CallResult result = {
        .kind = CALL_RESULT_COMPLETION, .pieces = &piece, .n_pieces = 1};
    World world;

    (void)state;
    world_init(&world, NULL);
    world.provider.result = &result;
    assert_int_equal(fake_add(world.router, ROUTER_PROMPT,
                              "{\"name\":\"p\",\"arguments\":[{\"name\":\"a\"}]}", &world.provider,
                              NULL),
                     0);
    assert_int_equal(fake_add(world.router, ROUTER_TEMPLATE,
                              "{\"uriTemplate\":\"u:{b}\",\"name\":\"1\"}", &world.provider, NULL),
                     0);
    complete(&world, true, "p", "a");
    assert_string_equal(world.asker.content, "\"v\"");
    complete(&world, true, "p", "b");
    assert_int_equal(world.asker.error, CALL_ERROR_INVALID_ARGUMENTS);
    complete(&world, true, "q", "a");
    assert_int_equal(world.asker.error, CALL_ERROR_UNKNOWN_PROMPT);
    /* The template does not complete: an empty list, for its text and for a URI of it. */
    complete(&world, false, "u:{b}", "b");
    assert_int_equal(world.asker.kind, CALL_RESULT_COMPLETION);
    assert_string_equal(world.asker.content, "");
    complete(&world, false, "u:x", "b");
    assert_int_equal(world.asker.kind, CALL_RESULT_COMPLETION);
    complete(&world, false, "u:x", "c");
    assert_int_equal(world.asker.error, CALL_ERROR_INVALID_ARGUMENTS);
    complete(&world, false, "v:x", "b");
    assert_int_equal(world.asker.error, CALL_ERROR_UNKNOWN_RESOURCE);
    assert_int_equal(world.provider.n_started, 1);
    world_deinit(&world);
}

static void want_of_memory_ends_every_kind_of_call_once(void **state)
{
    static const CallResult bad = {.kind = CALL_RESULT_TOOL, .structured = {"{\"n\":\"x\"}", 9}};
    static const struct {
        CallVerb verb;
        const char *target;
        const char *arguments;
    } cases[] = {
        {CALL_TOOL, "none", NULL},
        {CALL_TOOL, "count", "{\"count\":\"x\"}"},
        {CALL_TOOL, "count", "{\"count\":1}"},
        {CALL_READ, "u:x", NULL},
        {CALL_PROMPT, "p", NULL},
        {CALL_LIST_TOOLS, "", NULL},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        for (size_t fail_at = 0;; fail_at++) {
            size_t n_failed;
            World world;

            world_init(&world, NULL);
            world.provider.result = &bad;
            router_set_page_size(world.router, 1);
            assert_int_equal(fake_add(world.router, ROUTER_TOOL, COUNT_TOOL, &world.provider, NULL),
                             0);
            assert_int_equal(fake_add(world.router, ROUTER_TEMPLATE,
                                      "{\"uriTemplate\":\"u:{name}\",\"name\":\"t\"}",
                                      &world.provider, NULL),
                             0);
            assert_int_equal(fake_add(world.router, ROUTER_PROMPT,
                                      "{\"name\":\"p\",\"arguments\":[{\"name\":\"a\",\"required\":"
                                      "true}]}",
                                      &world.provider, NULL),
                             0);
            asker_prepare(&world.asker, cases[i].verb, cases[i].target, cases[i].arguments);
            alloc_testing_reset(fail_at);
            router_dispatch(world.router, NULL, &world.asker.call);
            n_failed = alloc_testing()->n_failed;
            alloc_testing_reset(ALLOC_TESTING_NEVER);
            assert_int_equal(world.asker.n_finished, 1);
            world_deinit(&world);
            if (n_failed == 0) {
                assert_true(fail_at > 0);
                break;
            }
        }
    }
}

static void synchronous_calls_allocate_nothing(void **state)
{
    static const CallResult counted = {.kind = CALL_RESULT_TOOL, .structured = {"{\"n\":3}", 7}};
    size_t n_calls = 0;
    World world;

    (void)state;
    world_init(&world, NULL);
    assert_int_equal(fake_add(world.router, ROUTER_TOOL, COUNT_TOOL, &world.provider, NULL), 0);
    assert_int_equal(fake_add(world.router, ROUTER_TEMPLATE,
                              "{\"uriTemplate\":\"u:{name}\",\"name\":\"t\"}", &world.provider,
                              NULL),
                     0);
    router_set_page_size(world.router, 1);
    for (int i = 0; i < 1010; i++) {
        if (i == 10) {
            n_calls = alloc_testing()->n_calls;
        }
        world.provider.result = NULL;
        asker_ask(&world.asker, world.router, CALL_TOOL, "echo", "{\"a\":[1,2,3],\"b\":\"x\"}");
        assert_int_equal(world.asker.kind, CALL_RESULT_TOOL);
        world.provider.result = &counted;
        asker_ask(&world.asker, world.router, CALL_TOOL, "count", "{\"count\":3}");
        assert_int_equal(world.asker.kind, CALL_RESULT_TOOL);
        world.provider.result = &(CallResult){.kind = CALL_RESULT_RESOURCE};
        asker_ask(&world.asker, world.router, CALL_READ, "u:x", NULL);
        assert_int_equal(world.asker.kind, CALL_RESULT_RESOURCE);
        asker_ask(&world.asker, world.router, CALL_LIST_TOOLS, "", NULL);
        assert_string_equal(world.asker.content, "echo");
    }
    assert_int_equal(alloc_testing()->n_calls, n_calls);
    world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tool_gets_its_arguments_byte_for_byte),
        cmocka_unit_test(a_tool_that_was_removed_after_a_call_is_unknown),
        cmocka_unit_test(unknown_names_have_an_error_for_each_kind),
        cmocka_unit_test(an_unknown_argument_is_told_with_the_nearest_known_one),
        cmocka_unit_test(wrong_arguments_never_reach_the_provider),
        cmocka_unit_test(wrong_arguments_are_said_in_the_words_of_the_provider),
        cmocka_unit_test(wrong_arguments_of_a_command_are_said_in_one_way),
        cmocka_unit_test(many_faults_are_listed_up_to_the_limit),
        cmocka_unit_test(faults_that_are_too_long_to_be_said_are_counted),
        cmocka_unit_test(arguments_that_cost_too_much_are_refused),
        cmocka_unit_test(structured_result_must_keep_the_output_schema),
        cmocka_unit_test(result_of_another_kind_is_a_bad_one),
        cmocka_unit_test(prompt_arguments_are_strings_and_the_required_are_there),
        cmocka_unit_test(resource_is_found_before_templates_and_they_in_order),
        cmocka_unit_test(a_prefix_answers_for_what_nothing_has),
        cmocka_unit_test(what_takes_time_is_added_when_it_is_needed),
        cmocka_unit_test(completion_is_asked_of_those_who_complete),
        cmocka_unit_test(want_of_memory_ends_every_kind_of_call_once),
        cmocka_unit_test(synchronous_calls_allocate_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
