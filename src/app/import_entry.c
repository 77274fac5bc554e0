/* What one server is in our settings. */
#include "app/import_internal.h"

#include <errno.h>
#include <string.h>

#include "json/writer.h"

#define IMPORT_ENTRY_BYTES ((size_t)1024 * 1024)

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
    if (r > 0) {
        entry->refusal = SPAN("a text is too long");
        ret = SPAN("");
    }
    entry->r = entry->r != 0 || r > 0 ? entry->r : r;
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

static void entry_refuse(ImportEntry *entry, Span why)
{
    entry->refusal = entry->refusal.n > 0 ? entry->refusal : why;
}

/* A member of that kind, if there is one; of another kind it is a reason to leave the server out.
 */
static bool entry_member(ImportEntry *entry, Span key, JsonKind kind, Span why, JsonValue *ret)
{
    if (!json_get(entry->value, key, ret) || json_kind(*ret) == JSON_NULL) {
        return false;
    }
    if (json_kind(*ret) != kind) {
        entry_refuse(entry, why);
        return false;
    }
    return true;
}

/* A text, or a number or a truth as it is written. */
static Span entry_scalar(ImportEntry *entry, JsonValue value, Span why)
{
    if (json_kind(value) == JSON_STRING) {
        return entry_translated(entry, value);
    }
    if (json_kind(value) >= JSON_ARRAY) {
        entry_refuse(entry, why);
        return SPAN("");
    }
    return json_kind(value) == JSON_NULL ? SPAN("") : json_span(value);
}

/* env or headers: every value may be a secret. */
static void write_secrets(ImportEntry *entry, JsonWriter *w, Span key, Span why, bool is_env)
{
    JsonValue members;

    if (!entry_member(entry, key, JSON_OBJECT, why, &members) || json_count(members) == 0) {
        return;
    }
    json_write_key(w, key);
    json_write_object(w);
    for (JsonIter it = json_iter(members); json_iter_next(&it);) {
        Span name = import_entry_text(entry, it.key);
        Span value = entry_scalar(entry, it.value, why);

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

/* For people without what is secret in it. */
static Span argument_shown(ImportEntry *entry, Span argument, bool *is_secret)
{
    Span shown = argument;

    if (entry->masked && entry->r == 0) {
        entry->r = import_mask_argument(&entry->reader->import->arena, argument, is_secret, &shown);
    }
    return shown;
}

static void write_arguments(ImportEntry *entry, JsonWriter *w)
{
    bool is_secret = false;
    JsonValue args;

    if (json_get(entry->value, SPAN("args"), &args) && json_kind(args) == JSON_STRING) {
        entry->has_text_args = true;
        json_write_key(w, SPAN("args"));
        json_write_array(w);
        json_write_string(w, argument_shown(entry, entry_translated(entry, args), &is_secret));
        json_write_end_array(w);
        return;
    }
    if (!entry_member(entry, SPAN("args"), JSON_ARRAY, SPAN("args is no list"), &args) ||
        json_count(args) == 0) {
        return;
    }
    json_write_key(w, SPAN("args"));
    json_write_array(w);
    for (JsonIter it = json_iter(args); json_iter_next(&it);) {
        Span argument = entry_scalar(entry, it.value, SPAN("args has what is no text"));

        json_write_string(w, argument_shown(entry, argument, &is_secret));
    }
    json_write_end_array(w);
}

static void write_command(ImportEntry *entry, JsonWriter *w, JsonValue command)
{
    bool is_secret = false;
    JsonValue member;

    json_write_key(w, SPAN("command"));
    json_write_string(w, argument_shown(entry, entry_translated(entry, command), &is_secret));
    write_arguments(entry, w);
    write_secrets(entry, w, SPAN("env"), SPAN("env is no object of texts"), true);
    if (entry_member(entry, SPAN("cwd"), JSON_STRING, SPAN("cwd is no text"), &member)) {
        json_write_key(w, SPAN("cwd"));
        json_write_string(w, argument_shown(entry, entry_translated(entry, member), &is_secret));
    }
}

static void write_url(ImportEntry *entry, JsonWriter *w, JsonValue url)
{
    bool is_secret = false;

    json_write_key(w, SPAN("url"));
    json_write_string(w, argument_shown(entry, entry_translated(entry, url), &is_secret));
    write_secrets(entry, w, SPAN("headers"), SPAN("headers is no object of texts"), false);
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
    if (r > 0) {
        entry_refuse(entry, SPAN("it is too long"));
    }
    entry->r = entry->r != 0 || r > 0 ? entry->r : r;
    return json;
}
