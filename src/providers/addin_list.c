#include "providers/addin_list.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "dialect/pipe/message.h"
#include "io/error_text.h"
#include "providers/tools_file.h"

/* How the names begin that the pipe has for itself. */
#define LIST_OWN_PREFIX "toolwire."

/* Decoded strings of one description; bounded by the message. */
#define LIST_ARENA_BYTES (TOOLS_FILE_MAX_BYTES * 2)

/* A member of the kind that it must be of; false if there is none. */
static bool list_member(JsonValue data, Span name, JsonKind kind, JsonValue *ret)
{
    return data.node != NULL && json_kind(data) == JSON_OBJECT && json_get(data, name, ret) &&
           json_kind(*ret) == kind;
}

bool addin_list_name(JsonValue data, char ret_name[ADDIN_NAME_SIZE])
{
    CLEANUP(arena_deinit) Arena arena = ARENA_NULL;
    JsonValue value;
    Span name;
    size_t n;

    arena_init(&arena, LIST_ARENA_BYTES);
    if (!list_member(data, SPAN("name"), JSON_STRING, &value) ||
        json_string(value, &arena, &name) != 0 || name.n == 0) {
        return false;
    }
    n = name.n < ADDIN_NAME_SIZE ? name.n : ADDIN_NAME_SIZE - 1;
    /* Not in the middle of a character. */
    while (n < name.n && n > 0 && ((unsigned char)name.p[n] & 0xC0u) == 0x80u) {
        n--;
    }
    memcpy(ret_name, name.p, n);
    ret_name[n] = '\0';
    return ret_name[0] != '\0';
}

/* One description on its way. */
typedef struct ListReader {
    AddinEntries *entries;
    AddinOffers *offers;
    const LogSink *log;
    Arena arena;
    size_t n;       /* looked at */
    size_t n_bytes; /* likewise */
} ListReader;

static void list_say(const ListReader *reader, const char *kind, size_t index, Span name,
                     const char *why)
{
    if (addin_offers_may_say(reader->offers)) {
        logsink_write(reader->log, LOGSINK_LEVEL_WARN, "pipe",
                      "%s: %s [%zu]%s%.*s%s is left out: %s", reader->offers->name, kind, index,
                      name.n > 0 ? " \"" : "", (int)name.n, name.n > 0 ? name.p : "",
                      name.n > 0 ? "\"" : "", why);
    }
}

#define LIST_TOO_MANY  "there are too many"
#define LIST_TOO_LARGE "its description has over 256 KiB, or they have over 1 MiB together"

/* Why the entries did not take it (r as from addin_entries_offer). */
static const char *list_reason(int r)
{
    return r == ADDIN_ENTRIES_E_TWICE   ? "it is there twice"
           : r == ADDIN_ENTRIES_E_FULL  ? LIST_TOO_MANY
           : r == ADDIN_ENTRIES_E_LARGE ? LIST_TOO_LARGE
                                        : io_error_text(-r);
}

/* The text of a member, for use and for the log; empty if there is none. */
static Span list_text(ListReader *reader, JsonValue object, Span member)
{
    JsonValue value;
    Span text = SPAN_NULL;

    if (list_member(object, member, JSON_STRING, &value) &&
        json_string(value, &reader->arena, &text) != 0) {
        return SPAN_NULL;
    }
    return text;
}

/* A file of one tool, read with the rules for what programs wrote. 0, -ENOMEM,
 * TOOLS_FILE_E_MALFORMED. */
static int list_parse_tool(ToolsFile *ret, const ListReader *reader, JsonValue value,
                           Diag *reterr_diag)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    int r;

    bytes_init(&text, TOOLS_FILE_MAX_BYTES);
    r = bytes_append_byte(&text, '[');
    if (r == 0) {
        r = bytes_append_span(&text, json_span(value));
    }
    if (r == 0) {
        r = bytes_append_byte(&text, ']');
    }
    if (r != 0) {
        return r > 0 ? diag_set(reterr_diag, TOOLS_FILE_E_MALFORMED, "too long") : err_pass(r);
    }
    return tools_file_parse(ret, reader->offers->name, &text, TOOLS_FILE_SCHEMA, reterr_diag);
}

/* Is it a command? "guarded": the add-in checks its calls; true: nobody does yet. */
static void list_read_command(JsonValue tool, AddinDescription *description)
{
    JsonValue meta;
    JsonValue value;

    if (!list_member(tool, SPAN("_meta"), JSON_OBJECT, &meta) ||
        !json_get(meta, SPAN(PIPE_META_COMMAND), &value)) {
        return;
    }
    description->is_guarded = json_string_equals(value, SPAN(PIPE_COMMAND_GUARDED));
    description->is_command = description->is_guarded || json_kind(value) == JSON_TRUE;
}

static void list_offer_tool(ListReader *reader, size_t index, JsonValue value)
{
    CLEANUP(tools_file_deinit) ToolsFile file = TOOLS_FILE_NULL;
    AddinDescription description = {.kind = ROUTER_TOOL};
    Span name = list_text(reader, value, SPAN("name"));
    Diag diag = DIAG_NULL;
    int r = list_parse_tool(&file, reader, value, &diag);

    if (r != 0) {
        list_say(reader, "tool", index, name, r > 0 ? diag.message : io_error_text(-r));
        return;
    }
    if (span_starts_with(file.tools[0].name, SPAN(LIST_OWN_PREFIX))) {
        list_say(reader, "tool", index, name,
                 "names that begin with " LIST_OWN_PREFIX " are the pipe's own");
        return;
    }
    description.key = file.tools[0].name;
    description.json = file.tools[0].json;
    description.timeout_ms = file.tools[0].timeout_ms;
    list_read_command(value, &description);
    r = addin_entries_offer(reader->entries, reader->offers, &description);
    if (r != 0) {
        list_say(reader, "tool", index, name, list_reason(r));
    }
}

static void list_offer_resource(ListReader *reader, size_t index, JsonValue value)
{
    Span uri = list_text(reader, value, SPAN("uri"));
    int r;

    if (uri.n == 0) {
        list_say(reader, "resource", index, SPAN_NULL, "it has no uri");
        return;
    }
    r = addin_entries_offer(
        reader->entries, reader->offers,
        &(AddinDescription){.kind = ROUTER_RESOURCE, .key = uri, .json = json_span(value)});
    if (r != 0) {
        list_say(reader, "resource", index, uri, list_reason(r));
    }
}

typedef struct ListKind {
    const char *name;
    void (*offer)(ListReader *reader, size_t index, JsonValue value);
} ListKind;

static const ListKind list_tools = {"tool", list_offer_tool};
static const ListKind list_resources = {"resource", list_offer_resource};

static void list_offer_each(ListReader *reader, JsonValue array, const ListKind *kind)
{
    size_t n_left = json_count(array);
    size_t index = 0;

    for (JsonIter it = json_iter(array); reader->n < ADDIN_MAX_OFFERS && json_iter_next(&it);) {
        size_t n_bytes = json_span(it.value).n;

        if (n_bytes > ADDIN_MAX_ONE_BYTES || n_bytes > ADDIN_MAX_BYTES - reader->n_bytes) {
            list_say(reader, kind->name, index, SPAN_NULL, LIST_TOO_LARGE);
        } else {
            reader->n_bytes += n_bytes;
            kind->offer(reader, index, it.value);
            arena_reset(&reader->arena, 0);
        }
        reader->n++;
        index++;
        n_left--;
    }
    if (n_left > 0) {
        list_say(reader, kind->name, index, SPAN_NULL, LIST_TOO_MANY);
        reader->offers->n_unsaid += n_left - 1;
    }
}

bool addin_list_offer(AddinEntries *entries, AddinOffers *offers, JsonValue data,
                      const LogSink *log)
{
    ListReader reader = {.entries = entries, .offers = offers, .log = log};
    bool is_array = data.node != NULL && json_kind(data) == JSON_ARRAY;
    JsonValue tools = data;
    JsonValue resources;
    bool has_tools = is_array || list_member(data, SPAN("tools"), JSON_ARRAY, &tools);
    bool has_resources = list_member(data, SPAN("resources"), JSON_ARRAY, &resources);

    arena_init(&reader.arena, LIST_ARENA_BYTES);
    if (has_tools) {
        list_offer_each(&reader, tools, &list_tools);
    }
    if (has_resources) {
        list_offer_each(&reader, resources, &list_resources);
    }
    arena_deinit(&reader.arena);
    return has_tools;
}
