/* `toolwire resources`: what a server lets read, and reading it. */
#include "cli/cmd_resources.h"

#include "base/arena.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "cli/peer_content.h"
#include "cli/peer_session.h"
#include "cli/table.h"
#include "json/json.h"
#include "json/writer.h"

static int resources_add(Table *table, JsonValue entries, Span uri_key, Arena *arena)
{
    int r = 0;

    for (JsonIter it = json_iter(entries); r == 0 && json_iter_next(&it);) {
        Span title = peer_content_text(it.value, SPAN("title"), arena);
        Span description = peer_content_text(it.value, SPAN("description"), arena);

        if (title.n == 0) {
            title = peer_content_text(it.value, SPAN("name"), arena);
        }
        /* The list that these lie in is replaced by the next one. */
        r = table_add(
            table, (Span[]){arena_copy(arena, peer_content_text(it.value, uri_key, arena)),
                            arena_copy(arena, peer_content_text(it.value, SPAN("mimeType"), arena)),
                            arena_copy(arena, title), arena_copy(arena, description)});
    }
    return r;
}

static int resources_list(PeerSession *session, Arena *arena)
{
    bool as_json = peer_session_args(session)->values[PEER_OPTION_JSON] != NULL;
    JsonValue entries;
    Table table;
    Span first;
    int status = peer_session_list(session, SPAN("resources/list"), SPAN("resources"), SPAN("uri"),
                                   &entries);

    table_init(&table, arena, 4);
    if (status != 0) {
        return status;
    }
    /* The next list takes the place of this one. */
    first = arena_copy(arena, json_span(entries));
    if (first.p == NULL) {
        return peer_session_no_memory(session);
    }
    if (!as_json && resources_add(&table, entries, SPAN("uri"), arena) != 0) {
        return peer_session_no_memory(session);
    }
    status = peer_session_list(session, SPAN("resources/templates/list"), SPAN("resourceTemplates"),
                               SPAN("uriTemplate"), &entries);
    if (status != 0) {
        return status;
    }
    if (as_json) {
        Span second = json_span(entries);

        printf("{\"resources\":%.*s,\"resourceTemplates\":%.*s}\n", (int)first.n, first.p,
               (int)second.n, second.p);
        return CLI_EXIT_DONE;
    }
    if (resources_add(&table, entries, SPAN("uriTemplate"), arena) != 0) {
        return peer_session_no_memory(session);
    }
    table_print(&table, stdout);
    if (table.n_rows == 0) {
        fprintf(stderr, "toolwire resources: the server has no resources\n");
    }
    return CLI_EXIT_DONE;
}

static int resources_print(PeerSession *session, JsonValue result, Arena *arena)
{
    bool as_json = peer_session_args(session)->values[PEER_OPTION_JSON] != NULL;
    Diag diag = DIAG_NULL;
    JsonValue contents;
    int r = 0;

    if (as_json) {
        peer_session_print_json(result);
    }
    if (peer_content_check_read(result, &diag) != 0) {
        return peer_session_malformed(session, true, &diag);
    }
    if (as_json) {
        return CLI_EXIT_DONE;
    }
    (void)json_get(result, SPAN("contents"), &contents);
    for (JsonIter it = json_iter(contents); r == 0 && json_iter_next(&it);) {
        r = peer_content_print_resource(stdout, it.value, arena);
    }
    if (r < 0) {
        return peer_session_no_memory(session);
    }
    if (r > 0) {
        fprintf(stderr, "toolwire resources: the server's blob is not base64\n");
        return CLI_EXIT_FAILED;
    }
    return CLI_EXIT_DONE;
}

static int resources_read(PeerSession *session, const char *uri, Arena *arena)
{
    CLEANUP(bytes_deinit) Bytes params = BYTES_NULL;
    JsonValue result;
    JsonWriter w;
    int status;

    bytes_init(&params, LIMIT_MCP_RESPONSE_BYTES);
    json_writer_init(&w, &params, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("uri"));
    json_write_string(&w, span_from_str(uri));
    json_write_end_object(&w);
    if (json_writer_finish(&w) != 0) {
        return peer_session_no_memory(session);
    }
    status = peer_session_request(session, SPAN("resources/read"), bytes_span(&params), &result);
    return status != 0 ? status : resources_print(session, result, arena);
}

static int resources_run(const CliArgs *args)
{
    CLEANUP(peer_session_closep) PeerSession *session = NULL;
    CLEANUP(arena_deinit) Arena arena = ARENA_NULL;
    int status;

    if (args->n_operands > 1) {
        return cli_usage_error(args, "one URI at most, but got '%s', too", args->operands[1]);
    }
    status = peer_session_open(&session, args);
    if (status != 0) {
        return status;
    }
    arena_init(&arena, SIZE_MAX);
    return args->n_operands == 1 ? resources_read(session, args->operands[0], &arena)
                                 : resources_list(session, &arena);
}

const CliCommand cmd_resources = {
    .name = "resources",
    .operands = "[URI]",
    .summary = "list the resources of an MCP server, or read one",
    .details = "With URI: its text, or its bytes if standard output is not a terminal.",
    .options = peer_options,
    .run = resources_run,
};
