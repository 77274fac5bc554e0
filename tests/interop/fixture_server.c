/* fixture_server.c: an MCP server that has one of everything, for foreign clients to try.
 *
 *   fixture_server [--page-size N] [--http ADDRESS]
 *
 * At standard input and output, or over HTTP, where it prints its address when it is ready.
 * What it offers is what suite.mjs expects, and server_v2.mjs offers the same on another library.
 * Every handler runs on the serving thread, so the counts need no lock.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <toolwire/toolwire.h>

typedef struct Fixture {
    TwServer *server;
    int n_cancelled; /* calls of `slow` that were stopped */
    int n_updates;   /* versions of test://watched */
} Fixture;

/* ---- Tools that answer at once ---------------------------------------------------------- */

static void tool_echo(TwCall *call, void *user)
{
    size_t n = 0;
    const char *message = tw_call_string_n(call, "message", &n);

    (void)user;
    tw_call_text_n(call, message, n);
}

static void tool_add(TwCall *call, void *user)
{
    TwJson *json = tw_json_new();

    (void)user;
    tw_json_object(json);
    tw_json_key(json, "sum");
    tw_json_double(json, tw_call_double(call, "a", 0) + tw_call_double(call, "b", 0));
    tw_json_end(json);
    tw_call_structured(call, tw_json_text(json));
    tw_json_free(json);
}

static void tool_progress(TwCall *call, void *user)
{
    int64_t steps = tw_call_int(call, "steps", 0);
    char message[64];

    (void)user;
    for (int64_t i = 1; i <= steps; i++) {
        snprintf(message, sizeof message, "step %lld of %lld", (long long)i, (long long)steps);
        tw_call_progress(call, (double)i, (double)steps, message);
    }
    tw_call_textf(call, "done %lld", (long long)steps);
}

static void tool_failing(TwCall *call, void *user)
{
    (void)user;
    tw_call_failed(call, "it failed");
}

static void tool_own_error(TwCall *call, void *user)
{
    (void)user;
    tw_call_error_json(call, 4242, "an error of its own", "{\"why\":\"asked for\"}");
}

static void tool_log(TwCall *call, void *user)
{
    (void)user;
    tw_call_log_json(call, TW_LOG_DEBUG, "fixture", "\"a record of level debug\"");
    tw_call_log_json(call, TW_LOG_WARNING, "fixture", "\"a record of level warning\"");
    tw_call_log_json(call, TW_LOG_ERROR, "fixture", "\"a record of level error\"");
    tw_call_text(call, "logged");
}

/* ---- Every kind of content -------------------------------------------------------------- */

static void tool_image(TwCall *call, void *user)
{
    (void)user;
    tw_call_image(call, "image/png", "\x89PNG", 4);
}

static void tool_audio(TwCall *call, void *user)
{
    (void)user;
    tw_call_audio(call, "audio/wav", "RIFF", 4);
}

static void tool_link(TwCall *call, void *user)
{
    (void)user;
    tw_call_link(call, "test://static", "static", "text/plain");
}

static void tool_embedded(TwCall *call, void *user)
{
    (void)user;
    tw_call_resource_text(call, "test://static", "text/plain", "static text");
}

/* ---- A tool that runs until it is stopped ----------------------------------------------- */

static void slow_cancelled(TwCall *call, void *user)
{
    Fixture *fixture = (Fixture *)user;

    fixture->n_cancelled++;
    tw_call_done(call);
}

static void tool_slow(TwCall *call, void *user)
{
    if (tw_call_keep(call) != TW_OK) {
        return;
    }
    tw_call_progress(call, 1, -1, "started");
    tw_call_on_cancel(call, slow_cancelled, user);
}

static void tool_cancelled_count(TwCall *call, void *user)
{
    const Fixture *fixture = (const Fixture *)user;

    tw_call_textf(call, "%d", fixture->n_cancelled);
}

/* ---- Tools that ask --------------------------------------------------------------------- */

#define FORM(field)                                                                                \
    "{\"type\":\"object\",\"properties\":{\"" field "\":{\"type\":\"string\"}},"                   \
    "\"required\":[\"" field "\"]}"

static void tool_ask_name(TwCall *call, void *user)
{
    (void)user;
    if (tw_call_answer(call, "who") == NULL) {
        tw_call_ask_form(call, "who", "What is your name?", FORM("name"));
    } else if (tw_call_answer_accepted(call, "who")) {
        tw_call_textf(call, "Hello, %s!", tw_call_answer_string(call, "who", "name", "nobody"));
    } else {
        tw_call_text(call, tw_call_answer_action(call, "who"));
    }
}

static void tool_ask_url(TwCall *call, void *user)
{
    (void)user;
    if (tw_call_answer(call, "page") == NULL) {
        tw_call_ask_url(call, "page", "Please open the page", "https://example.test/consent");
    } else {
        tw_call_text(call, tw_call_answer_action(call, "page"));
    }
}

/* The first answer reaches the last run through the state alone. */
static void tool_ask_twice(TwCall *call, void *user)
{
    const char *round = tw_call_state(call);
    char state[64];

    (void)user;
    if (round == NULL) {
        tw_call_ask_form(call, "first", "First?", FORM("first"));
        tw_call_set_state(call, "one");
    } else if (strncmp(round, "two", 3) != 0) {
        snprintf(state, sizeof state, "two %s",
                 tw_call_answer_string(call, "first", "first", "nothing"));
        tw_call_ask_form(call, "second", "Second?", FORM("second"));
        tw_call_set_state(call, state);
    } else {
        const char *second = tw_call_answer_string(call, "second", "second", "nothing");

        tw_call_textf(call, "%s %s", round, second);
    }
}

static void tool_sample(TwCall *call, void *user)
{
    TwJson *json;

    (void)user;
    if (tw_call_answer(call, "said") != NULL) {
        const char *text = tw_call_answer_string(call, "said", "/content/text", "nothing");

        tw_call_textf(call, "the model says: %s", text);
        return;
    }
    json = tw_json_new();
    tw_json_object(json);
    tw_json_key(json, "messages");
    tw_json_array(json);
    tw_json_object(json);
    tw_json_key(json, "role");
    tw_json_string(json, "user");
    tw_json_key(json, "content");
    tw_json_object(json);
    tw_json_key(json, "type");
    tw_json_string(json, "text");
    tw_json_key(json, "text");
    tw_json_string(json, tw_call_string(call, "prompt", ""));
    tw_json_end(json);
    tw_json_end(json);
    tw_json_end(json);
    tw_json_key(json, "maxTokens");
    tw_json_int(json, 100);
    tw_json_end(json);
    tw_call_ask_sample(call, "said", tw_json_text(json));
    tw_json_free(json);
}

static void tool_roots(TwCall *call, void *user)
{
    char text[256] = "";
    size_t n = 0;

    (void)user;
    if (tw_call_answer(call, "where") == NULL) {
        tw_call_ask_roots(call, "where");
        return;
    }
    for (int i = 0; n < sizeof text; i++) {
        char pointer[32];
        const char *uri;

        snprintf(pointer, sizeof pointer, "/roots/%d/uri", i);
        uri = tw_call_answer_string(call, "where", pointer, NULL);
        if (uri == NULL) {
            break;
        }
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i == 0 ? "" : " ", uri);
    }
    tw_call_text(call, text);
}

/* ---- Tools that change what the server has ---------------------------------------------- */

static void tool_added(TwCall *call, void *user)
{
    (void)user;
    tw_call_textf(call, "this is %s", tw_call_target(call));
}

static void tool_add_tool(TwCall *call, void *user)
{
    Fixture *fixture = (Fixture *)user;
    const char *name = tw_call_string(call, "name", "");
    TwTool tool = {.name = name, .description = name, .handler = tool_added};

    if (tw_server_add_tool(fixture->server, &tool) != TW_OK) {
        tw_call_failed(call, tw_server_message(fixture->server));
        return;
    }
    tw_call_textf(call, "added %s", name);
}

static void tool_update(TwCall *call, void *user)
{
    Fixture *fixture = (Fixture *)user;

    fixture->n_updates++;
    tw_server_resource_updated(fixture->server, "test://watched");
    tw_call_textf(call, "version %d", fixture->n_updates);
}

/* ---- Resources -------------------------------------------------------------------------- */

static void read_static(TwCall *call, void *user)
{
    (void)user;
    tw_call_resource_text(call, NULL, "text/plain", "static text");
}

static void read_blob(TwCall *call, void *user)
{
    (void)user;
    tw_call_resource_blob(call, NULL, "application/octet-stream", "\0\1\2\xff", 4);
}

static void read_watched(TwCall *call, void *user)
{
    const Fixture *fixture = (const Fixture *)user;

    tw_call_textf(call, "version %d", fixture->n_updates);
}

static void read_item(TwCall *call, void *user)
{
    (void)user;
    tw_call_textf(call, "item %s", tw_call_variable(call, "id"));
}

/* ---- Prompts and completion ------------------------------------------------------------- */

static void prompt_simple(TwCall *call, void *user)
{
    (void)user;
    tw_call_description(call, "Always the same");
    tw_call_text(call, "A simple prompt");
}

static void prompt_greet(TwCall *call, void *user)
{
    const char *name = tw_call_string(call, "name", "");

    (void)user;
    tw_call_description(call, "Greets somebody");
    tw_call_textf(call, "Greet %s in a %s style", name, tw_call_string(call, "style", "plain"));
    tw_call_role(call, "assistant");
    tw_call_textf(call, "Hello, %s", name);
}

static void propose(TwCall *call, const char *value)
{
    const char *typed = tw_call_typed(call);

    if (strncmp(value, typed, strlen(typed)) == 0) {
        tw_call_value(call, value);
    }
}

static void complete_item(TwCall *call, void *user)
{
    (void)user;
    if (strcmp(tw_call_completing(call), "id") == 0) {
        propose(call, "alpha");
        propose(call, "alps");
        propose(call, "beta");
    }
}

static void complete_greet(TwCall *call, void *user)
{
    bool for_bob = strcmp(tw_call_string(call, "name", ""), "Bob") == 0;

    (void)user;
    if (strcmp(tw_call_completing(call), "style") == 0) {
        propose(call, "formal");
        propose(call, "friendly");
        propose(call, for_bob ? "fraternal" : "funny");
    }
}

/* ---- All of it -------------------------------------------------------------------------- */

#define PROPERTY(name, type) "\"" name "\":{\"type\":\"" type "\"}"
#define OBJECT(required, ...)                                                                      \
    "{\"type\":\"object\",\"properties\":{" __VA_ARGS__ "},\"required\":[" required "]}"
#define NONE "{\"type\":\"object\",\"properties\":{}}"

static int add_tools(Fixture *fixture)
{
    const unsigned harmless =
        TW_TOOL_READ_ONLY | TW_TOOL_NOT_DESTRUCTIVE | TW_TOOL_IDEMPOTENT | TW_TOOL_CLOSED_WORLD;
    const TwTool tools[] = {
        {.name = "echo",
         .title = "Echo",
         .input_schema = OBJECT("\"message\"", PROPERTY("message", "string")),
         .annotations = harmless,
         .handler = tool_echo},
        {.name = "add",
         .input_schema = OBJECT("\"a\",\"b\"", PROPERTY("a", "number") "," PROPERTY("b", "number")),
         .output_schema = OBJECT("\"sum\"", PROPERTY("sum", "number")),
         .handler = tool_add},
        {.name = "progress",
         .input_schema = OBJECT("\"steps\"", PROPERTY("steps", "integer")),
         .handler = tool_progress},
        {.name = "slow", .handler = tool_slow},
        {.name = "cancelled_count", .handler = tool_cancelled_count},
        {.name = "ask_name", .handler = tool_ask_name},
        {.name = "ask_url", .handler = tool_ask_url},
        {.name = "ask_twice", .handler = tool_ask_twice},
        {.name = "sample",
         .input_schema = OBJECT("\"prompt\"", PROPERTY("prompt", "string")),
         .handler = tool_sample},
        {.name = "roots", .handler = tool_roots},
        {.name = "image", .handler = tool_image},
        {.name = "audio", .handler = tool_audio},
        {.name = "link", .handler = tool_link},
        {.name = "embedded", .handler = tool_embedded},
        {.name = "failing", .handler = tool_failing},
        {.name = "own_error", .handler = tool_own_error},
        {.name = "log", .handler = tool_log},
        {.name = "add_tool",
         .input_schema = OBJECT("\"name\"", PROPERTY("name", "string")),
         .handler = tool_add_tool},
        {.name = "update", .handler = tool_update},
    };
    int r = TW_OK;

    for (size_t i = 0; r == TW_OK && i < sizeof tools / sizeof tools[0]; i++) {
        TwTool tool = tools[i];

        tool.description = tool.name;
        tool.input_schema = tool.input_schema == NULL ? NONE : tool.input_schema;
        tool.user = fixture;
        r = tw_server_add_tool(fixture->server, &tool);
    }
    return r;
}

static int add_resources(Fixture *fixture)
{
    const TwResource resources[] = {
        {.uri = "test://static",
         .name = "static",
         .mime_type = "text/plain",
         .handler = read_static},
        {.uri = "test://blob",
         .name = "blob",
         .mime_type = "application/octet-stream",
         .handler = read_blob},
        {.uri = "test://watched",
         .name = "watched",
         .mime_type = "text/plain",
         .handler = read_watched,
         .user = fixture},
    };
    const TwResourceTemplate item = {.uri_template = "test://item/{id}",
                                     .name = "item",
                                     .mime_type = "text/plain",
                                     .handler = read_item,
                                     .complete = complete_item};
    int r = TW_OK;

    for (size_t i = 0; r == TW_OK && i < sizeof resources / sizeof resources[0]; i++) {
        r = tw_server_add_resource(fixture->server, &resources[i]);
    }
    return r == TW_OK ? tw_server_add_template(fixture->server, &item) : r;
}

static int add_prompts(Fixture *fixture)
{
    const TwPromptArgument arguments[] = {
        {.name = "name", .required = true}, {.name = "style"}, {.name = NULL}};
    const TwPrompt simple = {
        .name = "simple", .description = "Always the same", .handler = prompt_simple};
    const TwPrompt greet = {.name = "greet",
                            .description = "Greets somebody",
                            .arguments = arguments,
                            .handler = prompt_greet,
                            .complete = complete_greet};
    int r = tw_server_add_prompt(fixture->server, &simple);

    return r == TW_OK ? tw_server_add_prompt(fixture->server, &greet) : r;
}

static void on_ready(void *user, const char *address)
{
    (void)user;
    printf("%s\n", address);
    (void)fflush(stdout);
}

static int fixture_serve(Fixture *fixture, size_t page_size, const char *address)
{
    const TwServerOptions options = {.instructions = "Call echo.", .page_size = page_size};
    int r = tw_server_set_options(fixture->server, &options);

    if (r == TW_OK) {
        r = add_tools(fixture);
    }
    if (r == TW_OK) {
        r = add_resources(fixture);
    }
    if (r == TW_OK) {
        r = add_prompts(fixture);
    }
    if (r != TW_OK) {
        return r;
    }
    return address == NULL ? tw_server_serve_stdio(fixture->server)
                           : tw_server_serve_http(fixture->server, address,
                                                  &(TwHttpOptions){.ready = on_ready});
}

/* 0, or -1 if the arguments are not those of the usage line. */
static int parse_arguments(int argc, char **argv, size_t *ret_page_size, const char **ret_address)
{
    unsigned long page_size = 0;
    const char *address = NULL;

    for (int i = 1; i < argc; i += 2) {
        char *end = NULL;

        if (i + 1 == argc) {
            return -1;
        }
        if (strcmp(argv[i], "--http") == 0) {
            address = argv[i + 1];
            continue;
        }
        errno = 0;
        page_size = strtoul(argv[i + 1], &end, 10);
        if (strcmp(argv[i], "--page-size") != 0 || errno != 0 || end == argv[i + 1] ||
            *end != '\0') {
            return -1;
        }
    }
    *ret_page_size = page_size;
    *ret_address = address;
    return 0;
}

int main(int argc, char **argv)
{
    Fixture fixture = {.server = NULL};
    const char *address = NULL;
    size_t page_size = 0;
    int r;

    if (parse_arguments(argc, argv, &page_size, &address) != 0) {
        fputs("usage: fixture_server [--page-size N] [--http ADDRESS]\n", stderr);
        return 2;
    }
    fixture.server = tw_server_new("fixture", "1.0.0");
    r = fixture_serve(&fixture, page_size, address);
    if (r != TW_OK) {
        fprintf(stderr, "fixture_server: %s: %s\n", tw_error_text(r),
                tw_server_message(fixture.server));
    }
    tw_server_free(fixture.server);
    return r == TW_OK ? 0 : 1;
}
