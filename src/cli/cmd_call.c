/* `toolwire call`: calls one tool of a server and prints its result. */
#include "cli/cmd_call.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"
#include "cli/call_arguments.h"
#include "cli/peer_content.h"
#include "cli/peer_session.h"
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

/* The tool's inputSchema; node NULL if the server does not say. */
static int call_find_schema(PeerSession *session, Span name, JsonValue *ret)
{
    JsonValue tools;
    JsonValue member;
    int status =
        peer_session_list(session, SPAN("tools/list"), SPAN("tools"), SPAN("name"), &tools);

    *ret = JSON_VALUE_NULL;
    if (status != 0) {
        return status;
    }
    for (JsonIter it = json_iter(tools); json_iter_next(&it);) {
        if (json_get(it.value, SPAN("name"), &member) && json_string_equals(member, name)) {
            (void)json_get(it.value, SPAN("inputSchema"), ret);
        }
    }
    return 0;
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

static int call_print(PeerSession *session, JsonValue result, Arena *arena)
{
    JsonValue member;
    bool is_error = false;
    bool has_content = false;
    Diag diag = DIAG_NULL;
    int r = peer_content_check_call(result, &diag);

    (void)(json_get(result, SPAN("isError"), &member) && json_bool(member, &is_error));
    if (peer_session_args(session)->values[PEER_OPTION_JSON] != NULL) {
        peer_session_print_json(result);
    } else if (r == 0) {
        if (json_get(result, SPAN("content"), &member)) {
            for (JsonIter it = json_iter(member); json_iter_next(&it);) {
                peer_content_print(stdout, it.value, arena);
                has_content = true;
            }
        }
        if (!has_content && json_get(result, SPAN("structuredContent"), &member)) {
            peer_session_print_json(member);
        }
    }
    if (is_error) {
        (void)fflush(stdout);
        fprintf(stderr, "toolwire call: the tool failed\n");
    }
    if (r != 0) {
        return peer_session_malformed(session, &diag);
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
