#include "cli/peer_ask.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/ask_line.h"
#include "cli/table.h"
#include "dialect/mcp/render.h"
#include "io/place.h"
#include "io/program.h"
#include "json/writer.h"

/* Of one answer, and of all fields together: what a person types. */
#define ASK_LINE_BYTES 4096
#define ASK_FORM_BYTES ((size_t)256 * 1024)

/* ---- fields ---- */

static bool type_is(JsonValue schema, Span name)
{
    JsonValue type;

    return json_get(schema, SPAN("type"), &type) && json_string_equals(type, name);
}

/* Writes the choice that was meant: its value, its title, or its number in the list. */
static bool write_choice(JsonWriter *w, JsonValue choices, Span typed)
{
    uint64_t number = 0;
    uint64_t i = 0;

    (void)text_parse_u64(typed, &number);
    for (JsonIter it = json_iter(choices); json_iter_next(&it);) {
        JsonValue value = it.value;
        JsonValue title = it.value;

        if (json_kind(it.value) == JSON_OBJECT) {
            if (!json_get(it.value, SPAN("const"), &value)) {
                continue;
            }
            title = value;
            (void)json_get(it.value, SPAN("title"), &title);
        }
        i++;
        if (i == number || json_string_equals(value, typed) || json_string_equals(title, typed)) {
            json_write_value(w, value);
            return true;
        }
    }
    return false;
}

static bool choices_of(JsonValue schema, JsonValue *ret)
{
    return json_get(schema, SPAN("enum"), ret) || json_get(schema, SPAN("oneOf"), ret) ||
           json_get(schema, SPAN("anyOf"), ret);
}

/* Several choices, with commas between them. */
static bool write_choices(JsonWriter *w, JsonValue choices, Span typed)
{
    bool is_good = true;

    json_write_array(w);
    while (is_good && typed.n > 0) {
        const char *comma = memchr(typed.p, ',', typed.n);
        size_t n = comma == NULL ? typed.n : (size_t)(comma - typed.p);

        is_good = write_choice(w, choices, text_trim(span_make(typed.p, n)));
        n += comma != NULL;
        typed = span_make(typed.p + n, typed.n - n);
    }
    json_write_end_array(w);
    return is_good;
}

static bool write_typed(JsonWriter *w, Arena *arena, JsonValue schema, Span typed, int *r)
{
    static const char *const yes[] = {"y", "yes", "true", "1"};
    static const char *const no[] = {"n", "no", "false", "0"};
    JsonValue choices;
    JsonValue items;
    JsonDoc doc;

    if (type_is(schema, SPAN("array")) && json_get(schema, SPAN("items"), &items) &&
        choices_of(items, &choices)) {
        return write_choices(w, choices, typed);
    }
    if (choices_of(schema, &choices)) {
        return write_choice(w, choices, typed);
    }
    if (type_is(schema, SPAN("boolean"))) {
        bool flag = text_is_one_of(typed, yes, TW_ARRAY_SIZE(yes), NULL);

        json_write_bool(w, flag);
        return flag || text_is_one_of(typed, no, TW_ARRAY_SIZE(no), NULL);
    }
    if (type_is(schema, SPAN("integer")) || type_is(schema, SPAN("number"))) {
        *r = json_parse(&doc, arena, typed.p, typed.n, NULL, NULL);
        if (*r != 0 || json_kind(json_root(&doc)) != JSON_NUMBER ||
            (type_is(schema, SPAN("integer")) && !json_number_is_whole(json_root(&doc)))) {
            return false;
        }
        json_write_value(w, json_root(&doc));
        return true;
    }
    json_write_string(w, typed);
    return true;
}

int peer_ask_field(Bytes *out, Arena *arena, JsonValue schema, Span typed)
{
    size_t before = out->n;
    JsonWriter w;
    int r = 0;
    bool is_good;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    is_good = write_typed(&w, arena, schema, typed, &r);
    if (r < 0) {
        out->n = before;
        return err_pass(r);
    }
    if (!is_good) {
        out->n = before;
        return PEER_FIELD_E_WRONG;
    }
    return err_fold(json_writer_finish(&w));
}

/* ---- forms ---- */

static void print_text(JsonValue object, Span key, const char *before)
{
    JsonValue member;
    Span text;
    char decoded[ASK_LINE_BYTES];

    if (json_get(object, key, &member) && json_kind(member) == JSON_STRING &&
        member.node->size <= sizeof(decoded)) {
        text = span_make(decoded, json_string_decode(member, decoded));
        fputs(before, stderr);
        table_print_safe(stderr, text, true);
    }
}

/* "Size (small, large) [small]: " */
static void print_prompt(Span name, JsonValue schema, bool is_required)
{
    JsonValue member;
    JsonValue choices;

    table_print_safe(stderr, name, false);
    print_text(schema, SPAN("title"), ": ");
    print_text(schema, SPAN("description"), " - ");
    if (json_get(schema, SPAN("items"), &member) && choices_of(member, &choices)) {
        fputs(" (several, with commas: ", stderr);
        table_print_safe(stderr, json_span(choices), false);
        fputs(")", stderr);
    } else if (choices_of(schema, &choices)) {
        fputs(" (one of: ", stderr);
        table_print_safe(stderr, json_span(choices), false);
        fputs(")", stderr);
    } else {
        print_text(schema, SPAN("type"), " (");
        fputs(")", stderr);
    }
    if (json_get(schema, SPAN("default"), &member)) {
        fputs(" [", stderr);
        table_print_safe(stderr, json_span(member), false);
        fputs("]", stderr);
    } else if (!is_required) {
        fputs(" [none]", stderr);
    }
    fputs(": ", stderr);
}

static bool is_required(JsonValue schema, JsonValue key)
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

typedef enum AskOutcome {
    ASK_DONE,
    ASK_LEFT_OUT,
    ASK_ENDED, /* the terminal's end, or Ctrl-C */
    ASK_NO_MEMORY
} AskOutcome;

/* Asks until the answer will do; it is appended to out as JSON. */
static AskOutcome ask_for_field(Bytes *out, Arena *arena, Span name, JsonValue schema,
                                bool must_have)
{
    JsonValue preset;
    char line[ASK_LINE_BYTES];
    size_t n = 0;
    int r;

    for (;;) {
        print_prompt(name, schema, must_have);
        if (!ask_line_read("", line, sizeof(line), &n)) {
            return ASK_ENDED;
        }
        if (n == 0 && json_get(schema, SPAN("default"), &preset)) {
            return bytes_append_span(out, json_span(preset)) == 0 ? ASK_DONE : ASK_NO_MEMORY;
        }
        if (n == 0 && !must_have) {
            return ASK_LEFT_OUT;
        }
        r = peer_ask_field(out, arena, schema, span_make(line, n));
        if (r != PEER_FIELD_E_WRONG) {
            return r == 0 ? ASK_DONE : ASK_NO_MEMORY;
        }
        fputs("That is not one of the possible answers.\n", stderr);
    }
}

/* The members of `content`. */
static AskOutcome ask_for_fields(Bytes *out, Arena *arena, JsonValue schema)
{
    CLEANUP(bytes_deinit) Bytes value = BYTES_NULL;
    AskOutcome outcome = ASK_DONE;
    JsonValue properties;
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    bytes_init(&value, ASK_FORM_BYTES);
    if (json_get(schema, SPAN("properties"), &properties)) {
        for (JsonIter it = json_iter(properties); outcome <= ASK_LEFT_OUT && json_iter_next(&it);) {
            Span name = SPAN_NULL;

            if (json_string(it.key, arena, &name) != 0) {
                return ASK_NO_MEMORY;
            }
            bytes_clear(&value);
            outcome = ask_for_field(&value, arena, name, it.value, is_required(schema, it.key));
            if (outcome == ASK_DONE) {
                json_write_key(&w, name);
                json_write_raw(&w, bytes_span(&value));
            }
        }
    }
    json_write_end_object(&w);
    if (json_writer_finish(&w) != 0) {
        return ASK_NO_MEMORY;
    }
    return outcome <= ASK_LEFT_OUT ? ASK_DONE : outcome;
}

/* Whether the person wants to answer at all: 'y', 'd'ecline, or 'c'ancel at the terminal's end. */
static char ask_consent(const char *question)
{
    char line[ASK_LINE_BYTES];
    size_t n = 0;

    fprintf(stderr, "\n%s [Y]es, [d]ecline, [c]ancel: ", question);
    if (!ask_line_read("", line, sizeof(line), &n)) {
        return 'c';
    }
    if (n == 0 || line[0] == 'y' || line[0] == 'Y') {
        return 'y';
    }
    return line[0] == 'c' || line[0] == 'C' ? 'c' : 'd';
}

static int ask_form(Bytes *out, Arena *arena, JsonValue params)
{
    JsonValue schema;
    AskOutcome outcome = ASK_ENDED;
    char consent;

    fputs("The server asks: ", stderr);
    print_text(params, SPAN("message"), "");
    consent = ask_consent("Answer?");
    if (consent == 'd') {
        return err_fold(bytes_append_span(out, SPAN("{\"action\":\"decline\"}")));
    }
    if (consent == 'y' && json_get(params, SPAN("requestedSchema"), &schema)) {
        int r = bytes_append_span(out, SPAN("{\"action\":\"accept\",\"content\":"));

        outcome = r == 0 ? ask_for_fields(out, arena, schema) : ASK_NO_MEMORY;
    }
    if (outcome == ASK_NO_MEMORY) {
        return err_raise(-ENOMEM);
    }
    if (outcome == ASK_DONE) {
        return err_fold(bytes_append_byte(out, '}'));
    }
    bytes_clear(out);
    return err_fold(bytes_append_span(out, SPAN("{\"action\":\"cancel\"}")));
}

static int ask_url(Bytes *out, JsonValue params)
{
    char consent;

    fputs("The server asks you to open a page: ", stderr);
    print_text(params, SPAN("message"), "");
    print_text(params, SPAN("url"), "\n  ");
    consent = ask_consent("Will you open it yourself?");
    return err_fold(bytes_append_format(out, "{\"action\":\"%s\"}",
                                        consent == 'y'   ? "accept"
                                        : consent == 'd' ? "decline"
                                                         : "cancel"));
}

int peer_ask_roots(Bytes *out, const char *folder)
{
    const char *slash = io_place_last_slash(folder);
    JsonWriter w;
    /* A path that begins with a drive has a slash before it. */
    char uri[3 * ASK_LINE_BYTES + 16] = "file:///";
    size_t n = strlen(uri) - (io_place_is_slash(folder[0]) ? 1 : 0);

    /* Unreserved characters and slashes stay, all other bytes are written as %XX. */
    for (const char *p = folder; *p != '\0' && n + 4 < sizeof(uri); p++) {
        unsigned c = (unsigned char)*p;
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || strchr("-._~", (int)c) != NULL;

        if (io_place_is_slash(*p)) {
            uri[n++] = '/';
        } else if (is_plain) {
            uri[n++] = *p;
        } else {
            n += (size_t)snprintf(uri + n, sizeof(uri) - n, "%%%02X", c);
        }
    }
    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("roots"));
    json_write_array(&w);
    json_write_object(&w);
    json_write_key(&w, SPAN("uri"));
    json_write_string(&w, span_make(uri, n));
    json_write_key(&w, SPAN("name"));
    json_write_string(&w, span_from_str(slash == NULL || slash[1] == '\0' ? folder : slash + 1));
    json_write_end_object(&w);
    json_write_end_array(&w);
    json_write_end_object(&w);
    return err_fold(json_writer_finish(&w));
}

static int ask_compose(Bytes *out, Arena *arena, const McpClientEvent *event)
{
    if (event->ask_kind == CALL_ASK_ROOTS) {
        CLEANUP(mem_freep) char *folder = NULL;

        return io_place_real(&folder, ".") != 0
                   ? err_fold(bytes_append_span(out, SPAN("{\"roots\":[]}")))
                   : peer_ask_roots(out, folder);
    }
    if (!io_terminal_is(fileno(stdin)) || event->value.node == NULL) {
        return err_fold(bytes_append_span(out, SPAN("{\"action\":\"decline\"}")));
    }
    return event->ask_kind == CALL_ASK_FORM ? ask_form(out, arena, event->value)
                                            : ask_url(out, event->value);
}

int peer_ask_answer(McpPeer *peer, const McpClientEvent *event)
{
    CLEANUP(bytes_deinit) Bytes answer = BYTES_NULL;
    CLEANUP(arena_deinit) Arena arena = ARENA_NULL;
    int r;

    if (event->ask_kind == CALL_ASK_SAMPLE) {
        return mcp_peer_refuse(peer, event->ask, MCP_ERROR_METHOD_NOT_FOUND,
                               SPAN("There is no model here"));
    }
    bytes_init(&answer, 2 * ASK_FORM_BYTES);
    arena_init(&arena, SIZE_MAX);
    ask_line_forget();
    r = ask_compose(&answer, &arena, event);
    if (r == 0) {
        r = mcp_peer_answer(peer, event->ask, bytes_span(&answer));
    }
    if (r == 0 && ask_line_was_interrupted()) {
        return PEER_ASK_E_INTERRUPTED;
    }
    return err_pass(r);
}
