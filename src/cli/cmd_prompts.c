/* `toolwire prompts`: a server's prompts, and getting one. */
#include "cli/cmd_prompts.h"

#include "base/arena.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "cli/call_arguments.h"
#include "cli/peer_content.h"
#include "cli/peer_session.h"
#include "cli/table.h"
#include "json/json.h"
#include "json/writer.h"

/* "city, [units]": brackets around what may be left out. */
static Span prompt_arguments(JsonValue prompt, Arena *arena)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    JsonValue arguments;
    JsonValue member;
    int r = 0;

    bytes_init(&text, SIZE_MAX);
    if (!json_get(prompt, SPAN("arguments"), &arguments)) {
        return SPAN_NULL;
    }
    for (JsonIter it = json_iter(arguments); r == 0 && json_iter_next(&it);) {
        bool is_required = false;
        Span name = peer_content_text(it.value, SPAN("name"), arena);

        (void)(json_get(it.value, SPAN("required"), &member) && json_bool(member, &is_required));
        r = bytes_append_format(&text, "%s%s%.*s%s", text.n > 0 ? ", " : "", is_required ? "" : "[",
                                (int)name.n, name.n > 0 ? name.p : "", is_required ? "" : "]");
    }
    return arena_copy(arena, bytes_span(&text));
}

static int prompts_list(PeerSession *session, Arena *arena)
{
    JsonValue prompts;
    Table table;
    int status =
        peer_session_list(session, SPAN("prompts/list"), SPAN("prompts"), SPAN("name"), &prompts);

    if (status != 0) {
        return status;
    }
    if (peer_session_args(session)->values[PEER_OPTION_JSON] != NULL) {
        printf("{\"prompts\":%.*s}\n", (int)json_span(prompts).n, json_span(prompts).p);
        return CLI_EXIT_DONE;
    }
    table_init(&table, arena, 3);
    for (JsonIter it = json_iter(prompts); json_iter_next(&it);) {
        Span meaning = peer_content_text(it.value, SPAN("description"), arena);

        if (meaning.n == 0) {
            meaning = peer_content_text(it.value, SPAN("title"), arena);
        }
        if (table_add(&table, (Span[]){peer_content_text(it.value, SPAN("name"), arena),
                                       prompt_arguments(it.value, arena), meaning}) != 0) {
            return peer_session_no_memory(session);
        }
    }
    table_print(&table, stdout);
    if (table.n_rows == 0) {
        fprintf(stderr, "toolwire prompts: the server has no prompts\n");
    }
    return CLI_EXIT_DONE;
}

static int prompts_print(PeerSession *session, JsonValue result, Arena *arena)
{
    bool as_json = peer_session_args(session)->values[PEER_OPTION_JSON] != NULL;
    Diag diag = DIAG_NULL;
    JsonValue messages;

    if (as_json) {
        peer_session_print_json(result);
    }
    if (peer_content_check_get(result, &diag) != 0) {
        return peer_session_malformed(session, true, &diag);
    }
    if (as_json) {
        return CLI_EXIT_DONE;
    }
    (void)json_get(result, SPAN("messages"), &messages);
    for (JsonIter it = json_iter(messages); json_iter_next(&it);) {
        JsonValue content;

        table_print_safe(stdout, peer_content_text(it.value, SPAN("role"), arena), false);
        printf(": ");
        if (json_get(it.value, SPAN("content"), &content)) {
            (void)peer_content_print(stdout, content, arena);
        }
    }
    return CLI_EXIT_DONE;
}

static int prompts_get(PeerSession *session, Span arguments, Arena *arena)
{
    const CliArgs *args = peer_session_args(session);
    CLEANUP(bytes_deinit) Bytes params = BYTES_NULL;
    JsonValue result;
    JsonWriter w;
    int status;

    bytes_init(&params, LIMIT_MCP_RESPONSE_BYTES);
    json_writer_init(&w, &params, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("name"));
    json_write_string(&w, span_from_str(args->operands[0]));
    if (args->n_operands > 1) {
        json_write_key(&w, SPAN("arguments"));
        json_write_raw(&w, arguments);
    }
    json_write_end_object(&w);
    if (json_writer_finish(&w) != 0) {
        return peer_session_no_memory(session);
    }
    status = peer_session_request(session, SPAN("prompts/get"), bytes_span(&params), &result);
    return status != 0 ? status : prompts_print(session, result, arena);
}

static int prompts_run(const CliArgs *args)
{
    CLEANUP(peer_session_closep) PeerSession *session = NULL;
    CLEANUP(arena_deinit) Arena arena = ARENA_NULL;
    CLEANUP(bytes_deinit) Bytes arguments = BYTES_NULL;
    Diag diag = DIAG_NULL;
    int status;
    int r = 0;

    arena_init(&arena, SIZE_MAX);
    bytes_init(&arguments, LIMIT_MCP_RESPONSE_BYTES);
    if (args->n_operands > 1) {
        r = call_arguments_build(&arguments, &arena, args->operands + 1, args->n_operands - 1,
                                 JSON_VALUE_NULL, true, &diag);
    }
    if (r != 0) {
        return cli_usage_error(args, "%s", r > 0 ? diag.message : "out of memory");
    }
    status = peer_session_open(&session, args);
    if (status != 0) {
        return status;
    }
    return args->n_operands > 0 ? prompts_get(session, bytes_span(&arguments), &arena)
                                : prompts_list(session, &arena);
}

const CliCommand cmd_prompts = {
    .name = "prompts",
    .operands = "[PROMPT [NAME=VALUE...]]",
    .summary = "list the prompts of an MCP server, or get one",
    .details = "With PROMPT: its messages, made with these arguments.",
    .options = peer_options,
    .run = prompts_run,
};
