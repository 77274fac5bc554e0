/* What one server is in our settings. */
#include "app/import_internal.h"

#include <errno.h>
#include <string.h>

#include "json/writer.h"

#define IMPORT_ENTRY_BYTES ((size_t)1024 * 1024)

#define IMPORT_MASK "***"

/* ---- strings ---- */

Span import_entry_text(ImportEntry *entry, JsonValue value)
{
    Span text = SPAN("");
    int r = json_string(value, &entry->reader->import->arena, &text);

    entry->r = entry->r != 0 ? entry->r : r < 0 ? r : 0;
    return text;
}

/* In our words; empty if that cannot be. */
static Span entry_translated(ImportEntry *entry, JsonValue value)
{
    Span text = import_entry_text(entry, value);
    Span ret = SPAN("");
    int r = 0;

    if (!import_translate(&entry->reader->import->arena, text, entry->reader->folder,
                          &entry->inputs, &ret, &r) &&
        entry->unknown.n == 0) {
        entry->unknown = ret;
        ret = SPAN("");
    }
    entry->r = entry->r != 0 ? entry->r : r;
    return ret;
}

/* "Authorization" of the server "github" → GITHUB_AUTHORIZATION. */
static Span entry_variable(ImportEntry *entry, Span before, Span name)
{
    Arena *arena = &entry->reader->import->arena;
    size_t n = before.n + (before.n > 0) + name.n;
    char *text = arena_alloc(arena, n + 1);
    size_t at = 0;

    if (text == NULL) {
        entry->r = -ENOMEM;
        return SPAN("");
    }
    for (size_t i = 0; i < before.n; i++) {
        text[at++] = before.p[i];
    }
    if (before.n > 0) {
        text[at++] = '_';
    }
    for (size_t i = 0; i < name.n; i++) {
        text[at++] = name.p[i];
    }
    for (size_t i = 0; before.n > 0 && i < n; i++) {
        char c = text[i];
        bool is_small = c >= 'a' && c <= 'z';

        text[i] = is_small                                           ? (char)(c - 'a' + 'A')
                  : (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c
                                                                     : '_';
    }
    return span_make(text, n);
}

static void entry_need_variable(ImportEntry *entry, Span name)
{
    Arena *arena = &entry->reader->import->arena;
    size_t n = entry->variables.n + 2 + name.n;
    char *text = arena_alloc(arena, n + 1);
    size_t at = 0;

    if (text == NULL) {
        entry->r = -ENOMEM;
        return;
    }
    if (entry->variables.n > 0) {
        memcpy(text, entry->variables.p, entry->variables.n);
        memcpy(text + entry->variables.n, ", ", 2);
        at = entry->variables.n + 2;
    }
    memcpy(text + at, name.p, name.n);
    entry->variables = span_make(text, at + name.n);
}

/* ---- an entry of our settings ---- */

static bool is_variable(Span text)
{
    return span_starts_with(text, SPAN("${")) && span_ends_with(text, SPAN("}"));
}

static void write_reference(JsonWriter *w, Span name)
{
    char text[512];
    size_t n = name.n < sizeof(text) - 4 ? name.n : sizeof(text) - 4;

    memcpy(text, "${", 2);
    memcpy(text + 2, name.p, n);
    text[n + 2] = '}';
    json_write_string(w, span_make(text, n + 3));
}

/* env or headers: every value may be a secret. */
static void write_secrets(ImportEntry *entry, JsonWriter *w, Span key, bool is_env)
{
    JsonValue members;

    if (!json_get(entry->value, key, &members) || json_kind(members) != JSON_OBJECT ||
        json_count(members) == 0) {
        return;
    }
    json_write_key(w, key);
    json_write_object(w);
    for (JsonIter it = json_iter(members); json_iter_next(&it);) {
        Span name = import_entry_text(entry, it.key);
        Span value = json_kind(it.value) == JSON_STRING ? entry_translated(entry, it.value)
                     : json_kind(it.value) == JSON_NULL ? SPAN("")
                                                        : json_span(it.value);

        json_write_key(w, name);
        if (value.n > 0 && !is_variable(value) && entry->reader->import->env_refs) {
            Span variable = entry_variable(entry, is_env ? SPAN_NULL : entry->name, name);

            if (!entry->masked) {
                entry_need_variable(entry, variable);
            }
            write_reference(w, variable);
        } else if (value.n > 0 && !is_variable(value) && entry->masked) {
            json_write_string(w, SPAN(IMPORT_MASK));
        } else {
            json_write_string(w, value);
        }
    }
    json_write_end_object(w);
}

/* An argument with what is secret in it: --token=…, or what follows --token. */
static Span argument_masked(ImportEntry *entry, Span argument, bool *is_secret)
{
    Arena *arena = &entry->reader->import->arena;
    const char *equals = argument.n == 0 ? NULL : memchr(argument.p, '=', argument.n);
    bool was_secret = *is_secret;
    Span name = equals != NULL ? span_make(argument.p, (size_t)(equals - argument.p)) : argument;
    Span masked = argument;

    *is_secret =
        equals == NULL && span_starts_with(argument, SPAN("-")) && import_is_secret(argument);
    if (was_secret && !span_starts_with(argument, SPAN("-"))) {
        return SPAN(IMPORT_MASK);
    }
    if (equals != NULL && import_is_secret(name)) {
        char *text = arena_alloc(arena, name.n + 4);

        if (text == NULL) {
            entry->r = -ENOMEM;
            return SPAN(IMPORT_MASK);
        }
        memcpy(text, name.p, name.n);
        memcpy(text + name.n, "=" IMPORT_MASK, sizeof("=" IMPORT_MASK) - 1);
        return span_make(text, name.n + 4);
    }
    if (span_starts_with(argument, SPAN("http://")) ||
        span_starts_with(argument, SPAN("https://"))) {
        int r = import_mask_url(arena, argument, &masked);

        entry->r = entry->r != 0 ? entry->r : r;
    }
    return masked;
}

static void write_command(ImportEntry *entry, JsonWriter *w, JsonValue command)
{
    JsonValue member;
    bool is_secret = false;

    json_write_key(w, SPAN("command"));
    json_write_string(w, entry_translated(entry, command));
    if (json_get(entry->value, SPAN("args"), &member) && json_kind(member) == JSON_ARRAY &&
        json_count(member) > 0) {
        json_write_key(w, SPAN("args"));
        json_write_array(w);
        for (JsonIter it = json_iter(member); json_iter_next(&it);) {
            Span argument = json_kind(it.value) == JSON_STRING ? entry_translated(entry, it.value)
                                                               : json_span(it.value);

            json_write_string(w, entry->masked ? argument_masked(entry, argument, &is_secret)
                                               : argument);
        }
        json_write_end_array(w);
    }
    write_secrets(entry, w, SPAN("env"), true);
    if (json_get(entry->value, SPAN("cwd"), &member) && json_kind(member) == JSON_STRING) {
        json_write_key(w, SPAN("cwd"));
        json_write_string(w, entry_translated(entry, member));
    }
}

static void write_url(ImportEntry *entry, JsonWriter *w, JsonValue url)
{
    Span text = entry_translated(entry, url);

    if (entry->masked) {
        int r = import_mask_url(&entry->reader->import->arena, text, &text);

        entry->r = entry->r != 0 ? entry->r : r;
    }
    json_write_key(w, SPAN("url"));
    json_write_string(w, text);
    write_secrets(entry, w, SPAN("headers"), false);
}

Span import_entry_json(ImportEntry *entry, JsonValue command, JsonValue url, bool masked)
{
    Span json = SPAN("");
    JsonWriter w;
    Bytes out;
    int r;

    entry->masked = masked;
    bytes_init(&out, IMPORT_ENTRY_BYTES);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    if (command.node != NULL) {
        write_command(entry, &w, command);
    } else {
        write_url(entry, &w, url);
    }
    json_write_end_object(&w);
    r = json_writer_finish(&w);
    if (r == 0 && entry->r == 0) {
        json = arena_copy(&entry->reader->import->arena, bytes_span(&out));
        r = json.p == NULL ? -ENOMEM : 0;
    }
    bytes_deinit(&out);
    entry->r = entry->r != 0 ? entry->r : r > 0 ? -ENOMEM : r;
    return json;
}
