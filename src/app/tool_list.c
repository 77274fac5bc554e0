#include "app/tool_list.h"

#include "base/error.h"
#include "base/limits.h"
#include "call/call.h"
#include "dialect/pipe/message.h"

/* Walks one of the router's lists, page by page, as any door does. */
typedef struct ListWalk {
    Call call;
    const Router *router;
    JsonWriter *writer;
    void (*write)(const Router *router, JsonWriter *writer, JsonValue entry);
    Bytes cursor; /* of the next page; empty: this was the last */
    int r;
} ListWalk;

/* The members that a tool may have, besides name and description, which it always has. */
static const struct {
    Span in_router;
    Span in_file;
} tool_members[] = {
    {SPAN_INIT("title"), SPAN_INIT("title")},
    {SPAN_INIT("inputSchema"), SPAN_INIT("input_schema")},
    {SPAN_INIT("outputSchema"), SPAN_INIT("output_schema")},
    {SPAN_INIT("annotations"), SPAN_INIT("annotations")},
    {SPAN_INIT("icons"), SPAN_INIT("icons")},
};

/* A tool's name needs no escape. */
static Span list_tool_name(JsonValue tool)
{
    JsonValue value;
    Span name;

    return json_get(tool, SPAN("name"), &value) && json_string_plain(value, &name) ? name
                                                                                   : SPAN_NULL;
}

/* How long a call may take, where the tool says so itself: whoever passes calls on waits as long.
 */
static void list_write_timeout(const Router *router, JsonWriter *w, JsonValue tool)
{
    int64_t timeout_ms = router_tool_timeout_ms(router, list_tool_name(tool));

    if (timeout_ms > 0) {
        json_write_key(w, SPAN("timeout_ms"));
        json_write_int(w, timeout_ms);
    }
}

/* Whoever passes a command on knows by its `_meta` that its answers are envelopes, and that it is
 * guarded where it runs. */
static void list_write_meta(JsonWriter *w, JsonValue tool, bool is_command)
{
    JsonValue meta = JSON_VALUE_NULL;
    bool has_meta = json_get(tool, SPAN("_meta"), &meta) && json_kind(meta) == JSON_OBJECT;

    if (!has_meta && !is_command) {
        return;
    }
    json_write_key(w, SPAN("_meta"));
    json_write_object(w);
    if (has_meta) {
        for (JsonIter it = json_iter(meta); json_iter_next(&it);) {
            if (!is_command || !json_string_equals(it.key, SPAN(PIPE_META_COMMAND))) {
                json_write_raw(w, json_span(it.key));
                w->r = w->r != 0 ? w->r : bytes_append_byte(w->out, ':');
                json_write_value(w, it.value);
            }
        }
    }
    if (is_command) {
        json_write_key(w, SPAN(PIPE_META_COMMAND));
        json_write_string(w, SPAN(PIPE_COMMAND_GUARDED));
    }
    json_write_end_object(w);
}

/* Descriptions are kept without white space (router/router.h), so their parts can be spliced. */
static void list_write_tool(const Router *router, JsonWriter *w, JsonValue tool)
{
    JsonValue value;

    json_write_object(w);
    if (json_get(tool, SPAN("name"), &value)) {
        json_write_key(w, SPAN("name"));
        json_write_raw(w, json_span(value));
    }
    json_write_key(w, SPAN("description"));
    if (json_get(tool, SPAN("description"), &value)) {
        json_write_raw(w, json_span(value));
    } else {
        json_write_string(w, SPAN(""));
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(tool_members); i++) {
        if (json_get(tool, tool_members[i].in_router, &value)) {
            json_write_key(w, tool_members[i].in_file);
            json_write_raw(w, json_span(value));
        }
    }
    list_write_timeout(router, w, tool);
    list_write_meta(w, tool, router_tool_is_command(router, list_tool_name(tool)));
    json_write_end_object(w);
}

static void list_write_resource(const Router *router, JsonWriter *w, JsonValue resource)
{
    (void)router;
    json_write_raw(w, json_span(resource));
}

static void list_on_finish(Call *call, const CallResult *result)
{
    ListWalk *walk = (ListWalk *)(void *)((char *)call - offsetof(ListWalk, call));

    bytes_clear(&walk->cursor);
    if (result->kind != CALL_RESULT_LIST) {
        walk->r = err_raise(-ENOMEM); /* nothing else keeps a router from listing */
        return;
    }
    for (size_t i = 0; i < result->n_entries; i++) {
        walk->write(walk->router, walk->writer, result->entries[i]);
    }
    walk->r = err_fold(bytes_append_span(&walk->cursor, result->next_cursor));
}

/* Not a peer: we want to know what there is. */
static const CallAsker list_asker = {.dialect = "internal", .who = "toolwire"};

static const CallDoor list_door = {.finish = list_on_finish};

static int list_write(Router *router, JsonWriter *writer, CallVerb verb,
                      void (*write)(const Router *router, JsonWriter *writer, JsonValue entry))
{
    ListWalk walk = {.router = router, .writer = writer, .write = write};

    call_init(&walk.call);
    bytes_init(&walk.cursor, LIMIT_KEEP_BYTES);
    json_write_array(writer);
    do {
        Span cursor = bytes_span(&walk.cursor);

        call_reset(&walk.call);
        walk.call.door = &list_door;
        walk.call.asker = &list_asker;
        walk.call.verb = verb;
        walk.call.cursor = cursor;
        walk.call.has_cursor = cursor.n > 0;
        router_dispatch(router, NULL, &walk.call);
    } while (walk.r == 0 && walk.cursor.n > 0);
    json_write_end_array(writer);
    bytes_deinit(&walk.cursor);
    call_deinit(&walk.call);
    return err_pass(walk.r);
}

int tool_list_write(Router *router, JsonWriter *writer)
{
    return err_pass(list_write(router, writer, CALL_LIST_TOOLS, list_write_tool));
}

int tool_list_write_resources(Router *router, JsonWriter *writer)
{
    return err_pass(list_write(router, writer, CALL_LIST_RESOURCES, list_write_resource));
}
