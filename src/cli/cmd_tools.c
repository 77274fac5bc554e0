/* `toolwire tools`: a table of what a server offers, or one tool in full. */
#include "cli/cmd_tools.h"

#include "base/arena.h"
#include "base/bytes.h"
#include "cli/peer_content.h"
#include "cli/peer_session.h"
#include "cli/table.h"
#include "cli/tools_tokens.h"
#include "json/json.h"

enum {
    OPTION_TOKENS = PEER_N_OPTIONS,
};

static const CliOption tools_options[] = {
    PEER_OPTIONS,
    [OPTION_TOKENS] = {"tokens", NULL, "show what the list costs a model, tool by tool"},
    {NULL, NULL, NULL},
};

/* What a tool says of itself; hints, which nobody checks. */
static Span tool_hint(JsonValue tool)
{
    JsonValue annotations;
    JsonValue member;
    bool flag = false;

    if (!json_get(tool, SPAN("annotations"), &annotations)) {
        return SPAN_NULL;
    }
    if (json_get(annotations, SPAN("readOnlyHint"), &member) && json_bool(member, &flag) && flag) {
        return SPAN("read-only");
    }
    if (json_get(annotations, SPAN("destructiveHint"), &member) && json_bool(member, &flag) &&
        flag) {
        return SPAN("destructive");
    }
    return SPAN_NULL;
}

/* The description, or where there is none the title. */
static Span tool_meaning(JsonValue tool, Arena *arena)
{
    Span text = peer_content_text(tool, SPAN("description"), arena);

    return text.n > 0 ? text : peer_content_text(tool, SPAN("title"), arena);
}

static int tools_print_table(PeerSession *session, JsonValue tools, Arena *arena)
{
    Table table;

    table_init(&table, arena, 3);
    for (JsonIter it = json_iter(tools); json_iter_next(&it);) {
        Span cells[] = {peer_content_text(it.value, SPAN("name"), arena), tool_hint(it.value),
                        tool_meaning(it.value, arena)};

        if (table_add(&table, cells) != 0) {
            return peer_session_no_memory(session);
        }
    }
    table_print(&table, stdout);
    if (table.n_rows == 0) {
        fprintf(stderr, "toolwire tools: the server has no tools\n");
    }
    return CLI_EXIT_DONE;
}

static bool tool_requires(JsonValue schema, JsonValue key)
{
    JsonValue required;

    if (json_get(schema, SPAN("required"), &required)) {
        for (JsonIter it = json_iter(required); json_iter_next(&it);) {
            if (json_kind(it.value) == JSON_STRING && json_string_same(it.value, key)) {
                return true;
            }
        }
    }
    return false;
}

/* One type as a word, several as they are written; choices instead, where there are some. */
static Span argument_type(JsonValue schema, Arena *arena)
{
    JsonValue member;

    if (json_get(schema, SPAN("enum"), &member) || json_get(schema, SPAN("const"), &member)) {
        return json_span(member);
    }
    if (!json_get(schema, SPAN("type"), &member)) {
        return SPAN("any");
    }
    return json_kind(member) == JSON_STRING ? peer_content_text(schema, SPAN("type"), arena)
                                            : json_span(member);
}

static int tool_print_arguments(JsonValue tool, Arena *arena)
{
    JsonValue schema;
    JsonValue properties;
    Table table;
    int r = 0;

    table_init(&table, arena, 4);
    if (json_get(tool, SPAN("inputSchema"), &schema) &&
        json_get(schema, SPAN("properties"), &properties)) {
        for (JsonIter it = json_iter(properties); r == 0 && json_iter_next(&it);) {
            Span name = SPAN_NULL;

            (void)json_string(it.key, arena, &name);
            r = table_add(
                &table,
                (Span[]){name, argument_type(it.value, arena),
                         tool_requires(schema, it.key) ? SPAN("required") : SPAN("optional"),
                         peer_content_text(it.value, SPAN("description"), arena)});
        }
    }
    if (table.n_rows > 0) {
        printf("\nArguments:\n");
        table_print(&table, stdout);
    } else {
        printf("\nArguments: none\n");
    }
    return r;
}

static int tool_print(PeerSession *session, JsonValue tool, Arena *arena)
{
    Span title = peer_content_text(tool, SPAN("title"), arena);
    Span description = peer_content_text(tool, SPAN("description"), arena);
    Span hint = tool_hint(tool);

    table_print_safe(stdout, peer_content_text(tool, SPAN("name"), arena), false);
    if (title.n > 0) {
        printf(" - ");
        table_print_safe(stdout, title, false);
    }
    if (hint.n > 0) {
        printf(" (%.*s)", (int)hint.n, hint.p);
    }
    printf("\n");
    if (description.n > 0) {
        printf("\n");
        table_print_safe(stdout, description, true);
        printf("\n");
    }
    return tool_print_arguments(tool, arena) == 0 ? CLI_EXIT_DONE : peer_session_no_memory(session);
}

static int tools_say_none(const PeerSession *session, const char *name)
{
    CLEANUP(bytes_deinit) Bytes words = BYTES_NULL;

    bytes_init(&words, SIZE_MAX);
    return bytes_append_format(&words, "the server has no tool '%s'", name) == 0
               ? peer_session_say(session, bytes_span(&words))
               : peer_session_no_memory(session);
}

static int tools_show(PeerSession *session, JsonValue tools, const char *name, Arena *arena)
{
    const CliArgs *args = peer_session_args(session);
    bool as_json = args->values[PEER_OPTION_JSON] != NULL;

    if (name == NULL && as_json) {
        Span json = json_span(tools);

        printf("{\"tools\":%.*s}\n", (int)json.n, json.p);
        return CLI_EXIT_DONE;
    }
    if (name == NULL) {
        return tools_print_table(session, tools, arena);
    }
    for (JsonIter it = json_iter(tools); json_iter_next(&it);) {
        JsonValue member;

        if (json_get(it.value, SPAN("name"), &member) &&
            json_string_equals(member, span_from_str(name))) {
            if (as_json) {
                peer_session_print_json(it.value);
                return CLI_EXIT_DONE;
            }
            return tool_print(session, it.value, arena);
        }
    }
    return tools_say_none(session, name);
}

static int tools_run(const CliArgs *args)
{
    CLEANUP(peer_session_closep) PeerSession *session = NULL;
    CLEANUP(arena_deinit) Arena arena = ARENA_NULL;
    bool counts = args->values[OPTION_TOKENS] != NULL;
    JsonValue origins = JSON_VALUE_NULL;
    JsonValue tools;
    int status;

    if (args->n_operands > 0 && counts) {
        return cli_usage_error(args, "--tokens is about all tools, but got '%s'",
                               args->operands[0]);
    }
    if (args->n_operands > 1) {
        return cli_usage_error(args, "one TOOL at most, but got '%s', too", args->operands[1]);
    }
    status = peer_session_open(&session, args);
    if (status != 0) {
        return status;
    }
    arena_init(&arena, SIZE_MAX);
    status = counts ? peer_session_list_tools(session, &tools, &origins)
                    : peer_session_list(session, SPAN("tools/list"), SPAN("tools"), SPAN("name"),
                                        &tools);
    if (status != 0) {
        return status;
    }
    if (counts) {
        return tools_tokens_show(session, tools, origins, &arena);
    }
    return tools_show(session, tools, args->n_operands == 1 ? args->operands[0] : NULL, &arena);
}

const CliCommand cmd_tools = {
    .name = "tools",
    .operands = "[TOOL]",
    .summary = "list the tools of an MCP server, or show one",
    .details = "COMMAND is cut into words as a shell would cut it, but no shell runs:\n"
               "  toolwire tools --server 'node server.js quiet'\n"
               "With TOOL: all that the server says of it, and its arguments.\n"
               "Tokens are estimated; a model's own tokenizer differs by a few per cent.",
    .options = tools_options,
    .run = tools_run,
};
