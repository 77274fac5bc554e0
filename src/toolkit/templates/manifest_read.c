#include "toolkit/templates/manifest_read.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

void manifest_tell(ManifestReport *report, const Diag *problem, bool is_warning)
{
    if (!is_warning && report->n_errors++ == 0 && report->diag != NULL) {
        *report->diag = *problem;
    }
    if (report->report != NULL && report->n_told < TEMPLATE_PROBLEMS_MAX) {
        report->n_told++;
        report->report(report->context, problem, is_warning);
    }
}

/* Does anybody want to hear? Finding the line takes a look at all of the text before it. */
static bool manifest_is_heard(const ManifestReport *report, bool is_warning)
{
    return (report->report != NULL && report->n_told < TEMPLATE_PROBLEMS_MAX) ||
           (report->diag != NULL && !is_warning && report->n_errors == 0);
}

static void manifest_problem(ManifestReader *reader, JsonValue where, const char *field,
                             bool is_warning, const char *words)
{
    const char *dot = field != NULL && reader->place[0] != '\0' ? "." : "";
    Diag diag = DIAG_NULL;

    if (!manifest_is_heard(&reader->report, is_warning)) {
        reader->report.n_errors += !is_warning;
        return;
    }
    diag.code = TEMPLATE_MANIFEST_E_MALFORMED;
    diag_set_place(&diag, reader->manifest->text.p, reader->manifest->text.n,
                   (size_t)(json_span(where).p - reader->manifest->text.p));
    diag_set_field(&diag, "%s%s%s", reader->place, dot, field != NULL ? field : "");
    diag_prefix(&diag, "%s:%u: %s%s%s", reader->manifest->path, diag.line, diag.field,
                diag.field[0] != '\0' ? ": " : "", words);
    manifest_tell(&reader->report, &diag, is_warning);
}

void manifest_blame(ManifestReader *reader, JsonValue where, const char *field, const char *format,
                    ...)
{
    char words[DIAG_MESSAGE_SIZE];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    manifest_problem(reader, where, field, false, words);
}

void manifest_warn(ManifestReader *reader, JsonValue where, const char *field, const char *format,
                   ...)
{
    char words[DIAG_MESSAGE_SIZE];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    manifest_problem(reader, where, field, true, words);
}

static bool field_is_of_kind(JsonValue v, JsonKind kind)
{
    JsonKind is = json_kind(v);

    return kind == JSON_NULL || is == kind || (kind == JSON_TRUE && is == JSON_FALSE);
}

/* A key that is not in the table. */
static void manifest_blame_unknown(ManifestReader *reader, JsonValue key,
                                   const ManifestField *table, size_t n)
{
    const char *names[MANIFEST_FIELDS_MAX];
    const char *nearest;
    Span raw = json_span(key);

    for (size_t i = 0; i < n; i++) {
        names[i] = table[i].name;
    }
    /* As it is spelt; where it needs an escape, no known key is near. */
    raw = span_make(raw.p + 1, raw.n - 2);
    nearest = text_nearest(raw, names, n);
    manifest_blame(reader, key, NULL, "unknown key \"%.*s\"%s%s%s", (int)(raw.n < 60 ? raw.n : 60),
                   raw.p, nearest != NULL ? "; did you mean \"" : "",
                   nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
}

static void manifest_sort_member(ManifestReader *reader, const JsonIter *it,
                                 const ManifestField *table, size_t n, JsonValue *fields)
{
    size_t i = 0;
    const char *kind;

    assert(it->key.node != NULL); /* of an object */
    while (i < n && !json_string_equals(it->key, span_from_str(table[i].name))) {
        i++;
    }
    if (i == n) {
        manifest_blame_unknown(reader, it->key, table, n);
    } else if (fields[i].node != NULL) {
        manifest_blame(reader, it->key, table[i].name, "is there twice");
    } else if (!field_is_of_kind(it->value, table[i].kind)) {
        kind = json_kind_name(table[i].kind);
        manifest_blame(reader, it->value, table[i].name, "must be %s %s, not %s",
                       kind[0] == 'a' || kind[0] == 'o' ? "an" : "a", kind,
                       json_kind_name(json_kind(it->value)));
    } else {
        fields[i] = it->value;
    }
}

void manifest_sort(ManifestReader *reader, JsonValue object, const ManifestField *table, size_t n,
                   JsonValue *fields)
{
    JsonValue ignored;

    for (size_t i = 0; i < n; i++) {
        fields[i] = JSON_VALUE_NULL;
    }
    for (JsonIter it = json_iter(object); json_iter_next(&it);) {
        manifest_sort_member(reader, &it, table, n, fields);
    }
    for (size_t i = 0; i < n; i++) {
        if (table[i].is_needed && fields[i].node == NULL &&
            !json_get(object, span_from_str(table[i].name), &ignored)) {
            manifest_blame(reader, object, NULL, "must have \"%s\"", table[i].name);
        }
    }
}

static bool words_have_control(Span s)
{
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7F) {
            return true;
        }
    }
    return false;
}

int manifest_string(ManifestReader *reader, JsonValue v, const char *field, ManifestWords words,
                    Span *ret)
{
    Span text;
    int r;

    if (v.node == NULL) {
        return 0;
    }
    r = json_string(v, &reader->manifest->arena, &text);
    if (r == 0) {
        text = arena_copy(&reader->manifest->arena, text);
        r = text.p == NULL ? -ENOMEM : 0;
    }
    if (r != 0) {
        return err_fold(r);
    }
    if (text.n > TEMPLATE_STRING_MAX) {
        manifest_blame(reader, v, field, "is longer than %d bytes", TEMPLATE_STRING_MAX);
    } else if (words == MANIFEST_LINE && words_have_control(text)) {
        manifest_blame(reader, v, field, "holds a control character");
    } else if (memchr(text.p, '\0', text.n) != NULL) {
        manifest_blame(reader, v, field, "holds a NUL character");
    } else {
        *ret = text;
    }
    return 0;
}
