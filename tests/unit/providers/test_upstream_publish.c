/* What servers have, as it is offered: names, overrides, what is left out, what is mended. */
#include "unit/providers/upstream_rig.h"

static void own_start(void *context, Call *call)
{
    CallResult done = {.kind = CALL_RESULT_TOOL};

    (void)context;
    call_finish(call, &done);
}

static const CallProvider own_provider = {.name = "own", .start = own_start};

static void own_add(const char *name)
{
    char json[256];

    (void)snprintf(json, sizeof(json), "{\"name\":\"%s\",\"inputSchema\":{\"type\":\"object\"}}",
                   name);
    assert_int_equal(router_add(rig.router,
                                &(RouterSpec){.kind = ROUTER_TOOL,
                                              .json = span_from_str(json),
                                              .provider = &own_provider},
                                NULL),
                     0);
}

static const char *description(const char *tool)
{
    static char text[4096];

    rig_copy(text, sizeof(text), router_tool_description(rig.router, span_from_str(tool)));
    return text;
}

/* Each answers with the name under which it was called. */
#define MIRROR                                                                                     \
    "on tools/call\n"                                                                              \
    "ok {'content':[{'type':'text','text':'x'}],'saw':$PARAMS}\n"

static void of_two_with_one_name_the_second_gets_the_name_of_its_server(void **state)
{
    (void)state;
    (void)rig_server("a", "lists same mine\n"
                          "on tools/call same\n"
                          "text of a\n");
    (void)rig_server("b", "lists same\n"
                          "on tools/call same\n"
                          "text of b\n");
    rig_start();
    assert_string_equal(rig_tools(), "same mine b__same");
    assert_has(rig_call("same"), "of a");
    assert_has(rig_call("b__same"), "of b");
    assert_int_equal(rig_status(0).n_renamed, 0);
    assert_int_equal(rig_status(1).n_renamed, 1);
    assert_has(rig.log, "b: its tool same is called b__same here");
    assert_has(rig.log, "warn  upstream: b: others have the names of 1 of its tools: same is "
                        "b__same (a has that name)\n");
}

/* And the server's tool the one that it got, whatever becomes of ours. */
static void a_tool_of_our_own_keeps_its_name(void **state)
{
    (void)state;
    own_add("echo");
    (void)rig_server("a", "lists echo late\n");
    rig_start();
    assert_string_equal(rig_tools(), "a__echo late echo");
    assert_int_equal(router_remove(rig.router, ROUTER_TOOL, SPAN("echo")), 0);
    rig_pause();
    assert_string_equal(rig_tools(), "a__echo late");
    assert_has(rig.log, "a: others have the names of 1 of its tools: echo is a__echo (the hub has "
                        "that name)\n");
}

static void prefixes_are_as_the_settings_say(void **state)
{
    static char dash[] = "-";
    static char word[] = "w";
    UpstreamSpec *spec;

    (void)state;
    spec = rig_server("a", "lists one\n");
    spec->prefixing = UPSTREAM_PREFIX_ALWAYS;
    spec->separator = dash;
    spec = rig_server("b", "lists two\n");
    spec->prefixing = UPSTREAM_PREFIX_ALWAYS;
    spec->prefix = word;
    rig_server("c", "lists three four\n")->prefixing = UPSTREAM_PREFIX_NEVER;
    (void)rig_server("d", "lists three\n");
    rig_start();
    /* Who takes no other name has it, if nobody else is like that. */
    assert_string_equal(rig_tools(), "a-one w__two three four d__three");
    assert_int_equal(rig_status(2).n_left_out, 0);
    assert_has(rig.log, "warn  upstream: d: others have the names of 1 of its tools: three is "
                        "d__three (c has that name)\n");
    assert_null(strstr(rig.log, "c: others have"));
}

static void of_two_that_take_no_other_name_the_first_has_it(void **state)
{
    (void)state;
    rig_server("c", "lists three four\n")->prefixing = UPSTREAM_PREFIX_NEVER;
    rig_server("d", "lists three\n")->prefixing = UPSTREAM_PREFIX_NEVER;
    rig_start();
    assert_string_equal(rig_tools(), "three four");
    assert_int_equal(rig_status(1).n_left_out, 1);
    assert_has(rig.askers[0].meta, "\"name\":\"d\",\"state\":\"ready\",\"leftOut\":1");
    assert_has(rig.log, "d: others have the names of 1 of its tools: three is left out (c has that "
                        "name)\n");
}

static bool clash_is_there(void)
{
    return router_has_tool(rig.router, SPAN("b__same"));
}

/* A client has listed it, and a second server brings another of the same name. */
static void a_name_stays_when_a_second_server_has_the_same(void **state)
{
    size_t n_log;

    (void)state;
    (void)rig_server("b", "caps {'tools':{'listChanged':true}}\n"
                          "lists other\n"
                          "lists same other\n"
                          "on tools/call other\n"
                          "note tools/list_changed\n"
                          "text x\n");
    (void)rig_server("a", "lists same\n"
                          "on tools/call same\n"
                          "text of a\n");
    rig_start();
    assert_string_equal(rig_tools(), "other same");
    assert_string_equal(rig_call("a__same"), "unknown tool: a__same; it is now called same");
    (void)rig_call("other");
    UNTIL(clash_is_there);
    assert_has(rig_call("same"), "of a");
    assert_string_equal(rig_tools(), "b__same other same");
    assert_string_equal(rig_call("nobodys"), "unknown tool: nobodys");
    assert_string_equal(rig_call("a__nobodys"), "unknown tool: a__nobodys");
    assert_has(rig.log, "b: others have the names of 1 of its tools: same is b__same (a has that "
                        "name)\n");
    /* It is said once. */
    n_log = rig.n_log;
    upstreams_publish(rig.upstreams);
    assert_int_equal(rig.n_log, n_log);
}

static void allow_and_deny_are_by_the_names_of_the_server(void **state)
{
    static char get[] = "get_*";
    static char all[] = "*_all";
    char *allow[] = {get, NULL};
    char *deny[] = {all, NULL};
    UpstreamSpec *spec;

    (void)state;
    spec = rig_server("a", "lists get_x get_all set_x\n");
    spec->allow = allow;
    spec->deny = deny;
    rig_start();
    assert_string_equal(rig_tools(), "get_x");
    assert_int_equal(rig_status(0).n_left_out, 0); /* nobody wanted them */
    assert_has(rig_call("set_x"), "set_x");
    assert_int_equal(rig.askers[0].error, CALL_ERROR_UNKNOWN_TOOL);
}

static bool first_call_is_late(void)
{
    return rig.askers[0].n_finished > 0 && rig.askers[0].error == CALL_ERROR_TIMEOUT;
}

static void the_settings_may_say_other_words_and_times_of_a_tool(void **state)
{
    static char one[] = "one";
    static char words[] = "Mine.";
    UpstreamTool tool = {.name = one, .description = words, .timeout_ms = 30};
    UpstreamSpec *spec;

    (void)state;
    spec = rig_server("a", "on tools/list\n"
                           "ok {'tools':[{'name':'one','description':'Theirs.','inputSchema':{"
                           "'type':'object'}}]}\n"
                           "on tools/call\n");
    spec->tools = &tool;
    spec->n_tools = 1;
    rig_start();
    (void)rig_tools();
    assert_has(description("one"), "\"description\":\"Mine.\"");
    assert_null(strstr(description("one"), "Theirs"));
    (void)rig_begin(0, "one", "{}");
    UNTIL(first_call_is_late);
}

/* Clients refuse a whole list for one description that is wrong. */
static void bad_descriptions_are_mended_or_left_out(void **state)
{
    (void)state;
    (void)rig_server(
        "a", "on tools/list\n"
             "ok {'tools':[{'name':'noschema'},{'name':'badschema','inputSchema':[]},{"
             "'name':'untyped','inputSchema':{'properties':{'k':{}}}},{'name':'badout',"
             "'inputSchema':{'type':'object'},'outputSchema':7,'annotations':'x','title':3},{"
             "'name':'task','inputSchema':{'type':'object'},'execution':{"
             "'taskSupport':'required'}},{'title':'nameless'},7,null,{'name':'twice',"
             "'inputSchema':{'type':'object'}},{'name':'twice','inputSchema':{"
             "'type':'object'}}]}\n");
    rig_start();
    assert_string_equal(rig_tools(), "noschema badschema untyped badout task twice");
    assert_has(description("noschema"), "\"inputSchema\":{\"type\":\"object\"}");
    assert_has(description("badschema"), "\"inputSchema\":{\"type\":\"object\"}");
    assert_has(description("untyped"),
               "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"k\":{}}}");
    assert_null(strstr(description("badout"), "outputSchema"));
    assert_null(strstr(description("task"), "execution"));
    assert_has(rig.log, "the tool badout goes without outputSchema");
    assert_has(rig.log, "has no name and is left out");
    assert_has(rig.log, "the tool twice is listed twice");
    assert_int_equal(rig_status(0).n_left_out, 1);
}

/* URIs stay as they are: the first in the settings has it. */
static void of_two_with_one_uri_the_first_has_it(void **state)
{
#define RESOURCE(text)                                                                             \
    "caps {'resources':{}}\n"                                                                      \
    "on resources/list\n"                                                                          \
    "ok {'resources':[{'uri':'a://1','name':'" text "'}]}\n"                                       \
    "on resources/templates/list\n"                                                                \
    "ok {'resourceTemplates':[{'uriTemplate':'" text "://{x}','name':'t" text "'}]}\n"             \
    "on resources/read\n"                                                                          \
    "ok {'contents':[{'uri':'a://1','text':'content of " text "'}]}\n"

    (void)state;
    (void)rig_server("a", RESOURCE("first"));
    (void)rig_server("b", RESOURCE("second"));
    rig_start();
    assert_string_equal(rig_ask(CALL_LIST_RESOURCES, ""), "first");
    assert_string_equal(rig_ask(CALL_LIST_TEMPLATES, ""), "tfirst tsecond");
    assert_has(rig_ask(CALL_READ, "a://1"), "content of first");
    assert_has(rig_ask(CALL_READ, "second://x"), "content of second");
    assert_int_equal(rig_status(1).n_left_out, 1);
#undef RESOURCE
}

/* The server hears its own name for the tool, and the arguments as they came. */
static void a_renamed_tool_is_called_by_its_own_name(void **state)
{
    (void)state;
    rig_server("a", "lists one\n" MIRROR)->prefixing = UPSTREAM_PREFIX_ALWAYS;
    rig_start();
    (void)rig_tools();
    (void)rig_begin(0, "a__one", "{\"n\":1.50,\"big\":9007199254740993}");
    UNTIL(first_is_answered);
    assert_int_equal(
        rig_seen(0, "\"name\":\"one\",\"arguments\":{\"n\":1.50,\"big\":9007199254740993}"), 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(of_two_with_one_name_the_second_gets_the_name_of_its_server),
        TEST(a_tool_of_our_own_keeps_its_name),
        TEST(prefixes_are_as_the_settings_say),
        TEST(of_two_that_take_no_other_name_the_first_has_it),
        TEST(a_name_stays_when_a_second_server_has_the_same),
        TEST(allow_and_deny_are_by_the_names_of_the_server),
        TEST(the_settings_may_say_other_words_and_times_of_a_tool),
        TEST(bad_descriptions_are_mended_or_left_out),
        TEST(of_two_with_one_uri_the_first_has_it),
        TEST(a_renamed_tool_is_called_by_its_own_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
