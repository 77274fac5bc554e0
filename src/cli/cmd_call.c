/* `toolwire call`: calls one tool of a server and prints its result. */
#include "cli/cmd_call.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/call_arguments.h"
#include "cli/peer_content.h"
#include "cli/peer_session.h"
#include "cli/table.h"
#include "io/error_text.h"
#include "io/file.h"
#include "json/json.h"
#include "json/writer.h"

/* Are the operands one JSON object: written out, in a file, or on standard input? */
static bool call_is_document(const CliArgs *args)
{
    const char *word = args->n_operands == 2 ? args->operands[1] : "";

    return word[0] == '{' || word[0] == '@' || strcmp(word, "-") == 0;
}

/* The object, compact, since a message is one line. 0 or an exit status, the reason said. */
static int call_take_document(const CliArgs *args, Bytes *arguments, Arena *arena)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    const char *word = args->operands[1];
    Diag diag = DIAG_NULL;
    JsonDoc doc;
    JsonWriter w;
    int r;

    bytes_init(&text, LIMIT_MCP_RESPONSE_BYTES);
    if (word[0] == '{') {
        r = bytes_append_span(&text, span_from_str(word));
    } else {
        r = word[0] == '@' ? io_file_read(&text, word + 1) : io_file_read_fd(&text, fileno(stdin));
    }
    if (r != 0) {
        return cli_usage_error(args, "cannot read the arguments: %s",
                               r < 0 ? io_error_text(-r) : "they are too long");
    }
    r = json_parse(&doc, arena, text.data, text.n, NULL, &diag);
    if (r != 0) {
        return cli_usage_error(args, "the arguments are not JSON: %s",
                               r > 0 ? diag.message : "out of memory");
    }
    if (json_kind(json_root(&doc)) != JSON_OBJECT) {
        return cli_usage_error(args, "the arguments must be a JSON object");
    }
    json_writer_init(&w, arguments, JSON_STYLE_COMPACT);
    json_write_value(&w, json_root(&doc));
    return json_writer_finish(&w) == 0 ? 0 : cli_usage_error(args, "the arguments are too long");
}

/* The tool as the server lists it; node NULL: not at all. */
static int call_find_tool(PeerSession *session, Span name, JsonValue *ret_tools, JsonValue *ret)
{
    JsonValue member;
    int status =
        peer_session_list(session, SPAN("tools/list"), SPAN("tools"), SPAN("name"), ret_tools);

    *ret = JSON_VALUE_NULL;
    if (status != 0) {
        return status;
    }
    for (JsonIter it = json_iter(*ret_tools); json_iter_next(&it);) {
        if (json_get(it.value, SPAN("name"), &member) && json_string_equals(member, name)) {
            *ret = it.value;
        }
    }
    return 0;
}

/* The tool's inputSchema; node NULL if the server does not say. */
static int call_find_schema(PeerSession *session, Span name, JsonValue *ret)
{
    JsonValue tools;
    JsonValue tool;
    int status = call_find_tool(session, name, &tools, &tool);

    *ret = JSON_VALUE_NULL;
    if (status == 0 && tool.node != NULL) {
        (void)json_get(tool, SPAN("inputSchema"), ret);
    }
    return status;
}

static int call_take_words(PeerSession *session, const CliArgs *args, Bytes *arguments,
                           Arena *arena)
{
    char *const *words = args->operands + 1;
    size_t n = args->n_operands - 1;
    JsonValue schema = JSON_VALUE_NULL;
    Diag diag = DIAG_NULL;
    int r = 0;

    if (call_arguments_need_schema(words, n)) {
        r = call_find_schema(session, span_from_str(args->operands[0]), &schema);
    }
    if (r != 0) {
        return r;
    }
    r = call_arguments_build(arguments, arena, words, n, schema, false, &diag);
    if (r > 0) {
        return cli_usage_error(args, "%s", diag.message);
    }
    return r == 0 ? 0 : peer_session_no_memory(session);
}

/* The server has refused the call: if it lists no such tool, the nearest name is said, or else
 * which servers behind it are not there, since it may be theirs. */
static void call_explain(PeerSession *session, Arena *arena)
{
    const char *name = peer_session_args(session)->operands[0];
    const char *nearest;
    const char **names;
    JsonValue tools;
    JsonValue tool;
    size_t n = 0;

    if (call_find_tool(session, span_from_str(name), &tools, &tool) != 0 || tool.node != NULL) {
        return;
    }
    names = arena_alloc_array(arena, json_count(tools) + 1, sizeof(*names));
    for (JsonIter it = json_iter(tools); names != NULL && json_iter_next(&it);) {
        Span text = arena_copy(arena, peer_content_text(it.value, SPAN("name"), arena));

        names[n] = text.p;
        n += text.n > 0 ? 1 : 0;
    }
    nearest = names == NULL ? NULL : text_nearest(span_from_str(name), names, n);
    if (nearest != NULL) {
        fprintf(stderr, "toolwire call: there is no tool '");
        table_print_safe(stderr, span_from_str(name), false);
        fprintf(stderr, "'; did you mean '");
        table_print_safe(stderr, span_from_str(nearest), false);
        fprintf(stderr, "'?\n");
        return;
    }
    peer_session_tell_servers_of(session, name);
    (void)peer_session_list(session, SPAN("tools/list"), SPAN("tools"), SPAN("name"), &tools);
}

static int call_print(PeerSession *session, JsonValue result, Arena *arena)
{
    JsonValue member;
    bool is_error = false;
    bool has_text = false;
    Diag diag = DIAG_NULL;
    int r = peer_content_check_call(result, &diag);

    (void)(json_get(result, SPAN("isError"), &member) && json_bool(member, &is_error));
    if (peer_session_args(session)->values[PEER_OPTION_JSON] != NULL) {
        peer_session_print_json(result);
    } else if (r == 0) {
        if (json_get(result, SPAN("content"), &member)) {
            for (JsonIter it = json_iter(member); json_iter_next(&it);) {
                has_text = peer_content_print(stdout, it.value, arena) || has_text;
            }
        }
        /* A result in both forms says the same in words. */
        if (!has_text && json_get(result, SPAN("structuredContent"), &member)) {
            peer_session_print_json(member);
        }
    }
    if (is_error) {
        (void)fflush(stdout);
        fprintf(stderr, "toolwire call: the tool failed\n");
    }
    if (r != 0) {
        return peer_session_malformed(session, true, &diag);
    }
    return is_error ? CLI_EXIT_FAILED : CLI_EXIT_DONE;
}

static int call_tool(PeerSession *session, Span arguments, Arena *arena)
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
    json_write_key(&w, SPAN("arguments"));
    json_write_raw(&w, arguments);
    json_write_end_object(&w);
    if (json_writer_finish(&w) != 0) {
        return peer_session_no_memory(session);
    }
    status = peer_session_request(session, SPAN("tools/call"), bytes_span(&params), &result);
    if (status != 0 && peer_session_is_refused(session)) {
        call_explain(session, arena);
    }
    return status != 0 ? status : call_print(session, result, arena);
}

static int call_run(const CliArgs *args)
{
    CLEANUP(peer_session_closep) PeerSession *session = NULL;
    CLEANUP(arena_deinit) Arena arena = ARENA_NULL;
    CLEANUP(bytes_deinit) Bytes arguments = BYTES_NULL;
    int status = 0;

    if (args->n_operands == 0) {
        return cli_usage_error(args, "which tool? 'toolwire tools' lists them");
    }
    arena_init(&arena, SIZE_MAX);
    bytes_init(&arguments, LIMIT_MCP_RESPONSE_BYTES);
    if (call_is_document(args)) {
        status = call_take_document(args, &arguments, &arena);
    }
    status = status != 0 ? status : peer_session_open(&session, args);
    if (status == 0) {
        peer_session_tell_servers(session, false);
    }
    if (status == 0 && !call_is_document(args)) {
        status = call_take_words(session, args, &arguments, &arena);
    }
    return status != 0 ? status : call_tool(session, bytes_span(&arguments), &arena);
}

const CliCommand cmd_call = {
    .name = "call",
    .operands = "TOOL [NAME=VALUE... | JSON | @FILE | -]",
    .summary = "call a tool of an MCP server",
    .details = "NAME=VALUE: the type is what the tool's schema says; NAME:=JSON forces it. Or all\n"
               "arguments as one JSON object: written out, in FILE, or on standard input (-).\n"
               "Exit status: 0 done, 1 the tool or the server failed, 2 wrong use.",
    .options = peer_options,
    .run = call_run,
};
