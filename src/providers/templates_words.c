/* Arguments, sentences and errors of the template tools. */
#include "providers/templates_impl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/limits.h"
#include "base/text.h"

/* ---- arguments ---- */

int templates_string(Templates *templates, JsonValue object, const char *key, Span *ret)
{
    JsonValue v;
    int r;

    *ret = SPAN_NULL;
    if (object.node == NULL || !json_get(object, span_from_str(key), &v) ||
        json_kind(v) != JSON_STRING) {
        return 0;
    }
    r = json_string(v, &templates->arena, ret);
    return r == 0 ? 0 : err_fold(r);
}

bool templates_flag(JsonValue object, const char *key)
{
    bool flag = false;
    JsonValue v;

    return object.node != NULL && json_get(object, span_from_str(key), &v) && json_bool(v, &flag) &&
           flag;
}

size_t templates_count(JsonValue object, const char *key, size_t fallback)
{
    uint64_t number;
    JsonValue v;

    if (object.node == NULL || !json_get(object, span_from_str(key), &v) ||
        json_uint64(v, &number) != 0) {
        return fallback;
    }
    return number < SIZE_MAX ? (size_t)number : SIZE_MAX;
}

/* ---- answers ---- */

void templates_begin(Templates *templates)
{
    arena_reset(&templates->arena, LIMIT_KEEP_BYTES);
    bytes_clear_keep(&templates->structured, LIMIT_KEEP_BYTES);
    bytes_clear_keep(&templates->content, LIMIT_KEEP_BYTES);
}

Span templates_cut(Span text)
{
    size_t n = TEMPLATES_QUOTE_BYTES;

    if (text.n <= n) {
        return text;
    }
    while (n > 0 && ((unsigned char)text.p[n] & 0xC0u) == 0x80u) {
        n--;
    }
    return span_make(text.p, n);
}

void templates_fail_system(Call *call, int r)
{
    call_fail(call, CALL_ERROR_INTERNAL,
              r == -ENOMEM || r > 0 ? SPAN("out of memory") : SPAN("no checksum could be made"));
}

/* "WHAT: URI", the URI cut. */
static int words_about(Bytes *out, const char *what, Span uri)
{
    Span cut = templates_cut(uri);
    int r = bytes_append_format(out, "%s: ", what);

    r = r != 0 ? r : bytes_append_span(out, cut);
    if (r == 0 && cut.n < uri.n) {
        r = bytes_append_span(out, SPAN("..."));
    }
    return r;
}

/* The URI of a template that is meant, maybe; NULL if none is near. */
static const char *words_nearest(Templates *templates, Span uri)
{
    size_t n = template_catalog_count(templates->catalog);
    const char **names = arena_alloc_array(&templates->arena, n, sizeof(*names));

    if (names == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        names[i] = template_catalog_at(templates->catalog, i)->uri_text.p;
    }
    return text_nearest(uri, names, n);
}

/* Ends the call with what was written into content (the sentence) and structured (data). A read
 * fails for no other reason than its URI. */
static void words_fail(Templates *templates, Call *call, int code)
{
    bool is_read = call->verb == CALL_READ;

    call_finish(call, &(CallResult){.kind = CALL_RESULT_ERROR,
                                    .error = is_read ? CALL_ERROR_UNKNOWN_RESOURCE : CALL_ERROR_OWN,
                                    .wire_code = code,
                                    .message = bytes_span(&templates->content),
                                    .data = bytes_span(&templates->structured)});
}

void templates_fail_uri(Templates *templates, Call *call, int code, const char *what, Span uri)
{
    const char *nearest = code == TEMPLATES_ERROR_NOT_FOUND ? words_nearest(templates, uri) : NULL;
    JsonWriter w;
    int r;

    bytes_clear(&templates->content);
    bytes_clear(&templates->structured);
    r = words_about(&templates->content, what, uri);
    json_writer_init(&w, &templates->structured, JSON_STYLE_COMPACT);
    json_write_object(&w);
    templates_write_text(&w, "uri", templates_cut(uri));
    if (nearest != NULL) {
        templates_write_text(&w, "nearest", span_from_str(nearest));
    }
    json_write_end_object(&w);
    r = json_writer_finish(&w) != 0 ? -ENOMEM : r;
    if (r != 0) {
        templates_fail_system(call, r);
        return;
    }
    words_fail(templates, call, code);
}

const Template *templates_find(Templates *templates, Call *call, Span uri)
{
    const Template *t;
    TemplateUri parts;

    if (!template_uri_parse(uri, &parts)) {
        templates_fail_uri(templates, call, TEMPLATES_ERROR_URI, "Invalid template URI", uri);
        return NULL;
    }
    t = template_catalog_find(templates->catalog, uri);
    if (t == NULL) {
        templates_fail_uri(templates, call, TEMPLATES_ERROR_NOT_FOUND, "Template not found", uri);
    }
    return t;
}

/* ---- faults ---- */

bool templates_is_missing(const TemplateFault *fault)
{
    return span_equals(span_from_str(fault->code), SPAN(TEMPLATE_FAULT_MISSING));
}

static bool words_hold(Span text, Span part)
{
    for (size_t i = 0; i + part.n <= text.n; i++) {
        if (memcmp(text.p + i, part.p, part.n) == 0) {
            return true;
        }
    }
    return false;
}

/* "; did you mean 'has_tests'?" */
static int words_meant(Bytes *out, const TemplateFault *fault)
{
    int r;

    if (fault->expected.n == 0 ||
        !span_equals(span_from_str(fault->code), SPAN(TEMPLATE_FAULT_UNKNOWN))) {
        return 0;
    }
    r = bytes_append_span(out, SPAN("; did you mean '"));
    r = r != 0 ? r : bytes_append_span(out, fault->expected);
    return r != 0 ? r : bytes_append_span(out, SPAN("'?"));
}

int templates_write_fault(Bytes *out, const TemplateFault *fault)
{
    int r = 0;

    if (fault->parameter.n > 0 && !words_hold(fault->message, fault->parameter)) {
        r = bytes_append_span(out, fault->parameter);
        r = r != 0 ? r : bytes_append_span(out, SPAN(" - "));
    }
    r = r != 0 ? r : bytes_append_span(out, fault->message);
    return r != 0 ? r : words_meant(out, fault);
}

int templates_write_more(Bytes *out, size_t n)
{
    return n > 0 ? bytes_append_format(out, "\nand %zu more", n) : 0;
}

int templates_write_failure(Bytes *out, const TemplateFailure *failure, size_t n_lines)
{
    size_t n_told = failure->n_faults < n_lines ? failure->n_faults : n_lines;
    int r = bytes_append_span(out, failure->message);

    if (r == 0 && failure->n_faults > 0) {
        r = words_meant(out, &failure->faults[0]); /* the one that the message is about */
    }
    for (size_t i = 1; r == 0 && i < n_told; i++) {
        r = bytes_append_span(out, SPAN("\n"));
        r = r != 0 ? r : templates_write_fault(out, &failure->faults[i]);
    }
    return r != 0 ? r : templates_write_more(out, failure->n_faults_total - n_told);
}

void templates_fail_file(Templates *templates, Call *call, const TemplateFailure *failure)
{
    JsonWriter w;
    int r;

    bytes_clear(&templates->content);
    bytes_clear(&templates->structured);
    r = templates_write_failure(&templates->content, failure, SIZE_MAX);
    json_writer_init(&w, &templates->structured, JSON_STYLE_COMPACT);
    json_write_object(&w);
    templates_write_text(&w, "uri", failure->asked);
    templates_write_faults(&w, failure->faults, failure->n_faults, failure->n_faults_total);
    json_write_key(&w, SPAN("missing_required"));
    templates_write_missing(&w, failure->faults, failure->n_faults);
    json_write_end_object(&w);
    r = json_writer_finish(&w) != 0 ? -ENOMEM : r;
    if (r != 0) {
        templates_fail_system(call, r);
        return;
    }
    words_fail(templates, call,
               failure->n_faults > 0 ? TEMPLATES_ERROR_PARAMETERS : TEMPLATES_ERROR_RENDER);
}

void templates_fail_argument(Templates *templates, Call *call, const char *path,
                             const char *message)
{
    JsonWriter w;

    bytes_clear(&templates->structured);
    json_writer_init(&w, &templates->structured, JSON_STYLE_COMPACT);
    json_write_array(&w);
    json_write_object(&w);
    templates_write_text(&w, "path", span_from_str(path));
    templates_write_text(&w, "message", span_from_str(message));
    json_write_end_object(&w);
    json_write_end_array(&w);
    if (json_writer_finish(&w) != 0) {
        templates_fail_system(call, -ENOMEM);
        return;
    }
    call_finish(call, &(CallResult){.kind = CALL_RESULT_ERROR,
                                    .error = CALL_ERROR_INVALID_ARGUMENTS,
                                    .message = span_from_str(message),
                                    .data = bytes_span(&templates->structured)});
}

/* A prompt is given texts only, so that "of type boolean, not string" would not help. */
static int words_typed(Bytes *out, const TemplateFault *fault)
{
    int r;

    if (!span_equals(span_from_str(fault->code), SPAN(TEMPLATE_FAULT_TYPE))) {
        return templates_write_fault(out, fault);
    }
    r = bytes_append_span(out, SPAN("Parameter '"));
    r = r != 0 ? r : bytes_append_span(out, fault->parameter);
    r = r != 0 ? r : bytes_append_span(out, SPAN("' must be "));
    return r != 0 ? r
                  : bytes_append_span(out, span_equals(fault->expected, SPAN("boolean"))
                                               ? SPAN("true or false")
                                               : fault->expected);
}

/* {"path":"/NAME","message"}; the message, which names the parameter, is appended to content. */
static int words_write_problem(JsonWriter *w, Bytes *content, Arena *arena,
                               const TemplateFault *fault)
{
    char *path = arena_alloc(arena, fault->parameter.n + 1);
    size_t start;
    int r = content->n > 0 ? bytes_append_span(content, SPAN("; ")) : 0;

    if (path == NULL) {
        return err_raise(-ENOMEM);
    }
    start = content->n;
    r = r != 0 ? r : words_typed(content, fault);
    path[0] = '/';
    if (fault->parameter.n > 0) {
        memcpy(path + 1, fault->parameter.p, fault->parameter.n);
    }
    json_write_object(w);
    templates_write_text(w, "path", span_make(path, fault->parameter.n + 1));
    templates_write_text(w, "message", span_make(content->data + start, content->n - start));
    json_write_end_object(w);
    return r;
}

void templates_fail_values(Templates *templates, Call *call, const TemplateFault *faults, size_t n,
                           size_t n_total)
{
    int r = 0;
    JsonWriter w;

    bytes_clear(&templates->content);
    bytes_clear(&templates->structured);
    json_writer_init(&w, &templates->structured, JSON_STYLE_COMPACT);
    json_write_array(&w);
    for (size_t i = 0; r == 0 && i < n; i++) {
        if (!templates_is_missing(&faults[i])) {
            r = words_write_problem(&w, &templates->content, &templates->arena, &faults[i]);
        }
    }
    json_write_end_array(&w);
    if (r == 0 && n_total > n) {
        r = bytes_append_format(&templates->content, "; and %zu more", n_total - n);
    }
    if (r != 0 || json_writer_finish(&w) != 0) {
        templates_fail_system(call, -ENOMEM);
        return;
    }
    call_finish(call, &(CallResult){.kind = CALL_RESULT_ERROR,
                                    .error = CALL_ERROR_INVALID_ARGUMENTS,
                                    .message = bytes_span(&templates->content),
                                    .data = bytes_span(&templates->structured)});
}

/* ---- JSON ---- */

void templates_write_text(JsonWriter *w, const char *key, Span text)
{
    json_write_key(w, span_from_str(key));
    json_write_string(w, text);
}

void templates_write_toolchain(JsonWriter *w, Span toolchain)
{
    json_write_key(w, SPAN("toolchain"));
    json_write_object(w);
    templates_write_text(w, "type", toolchain);
    json_write_end_object(w);
}

void templates_write_faults(JsonWriter *w, const TemplateFault *faults, size_t n, size_t n_total)
{
    json_write_key(w, SPAN("errors"));
    json_write_array(w);
    for (size_t i = 0; i < n; i++) {
        json_write_object(w);
        templates_write_text(w, "parameter", faults[i].parameter);
        templates_write_text(w, "code", span_from_str(faults[i].code));
        templates_write_text(w, "message", faults[i].message);
        if (faults[i].expected.n > 0) {
            templates_write_text(w, "expected", faults[i].expected);
        }
        if (faults[i].got.n > 0) {
            json_write_key(w, SPAN("got"));
            /* No JSON value ends in a dot: what does was cut, and is no JSON any more. */
            if (span_ends_with(faults[i].got, SPAN("..."))) {
                json_write_string(w, faults[i].got);
            } else {
                json_write_raw(w, faults[i].got);
            }
        }
        json_write_end_object(w);
    }
    json_write_end_array(w);
    json_write_key(w, SPAN("errors_total"));
    json_write_uint(w, n_total);
}

void templates_write_missing(JsonWriter *w, const TemplateFault *faults, size_t n)
{
    json_write_array(w);
    for (size_t i = 0; i < n; i++) {
        if (templates_is_missing(&faults[i])) {
            json_write_string(w, faults[i].parameter);
        }
    }
    json_write_end_array(w);
}

/* ---- text blocks ---- */

int templates_block(Templates *templates)
{
    return bytes_append_span(&templates->content, templates->content.n > 0
                                                      ? SPAN(",{\"type\":\"text\",\"text\":\"")
                                                      : SPAN("{\"type\":\"text\",\"text\":\""));
}

int templates_say(Templates *templates, Span text)
{
    return text.n > 0 ? escape_json(&templates->content, text) : 0;
}

int templates_say_format(Templates *templates, const char *format, ...)
{
    char words[256];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    return templates_say(templates, span_from_str(words));
}

int templates_block_end(Templates *templates)
{
    return bytes_append_span(&templates->content, SPAN("\"}"));
}

Span templates_beside(const Templates *templates, size_t start)
{
    return span_make(templates->structured.data + start, templates->structured.n - start - 1);
}

void templates_finish(Templates *templates, Call *call, bool is_error)
{
    Span piece = bytes_span(&templates->content);
    CallResult result = CALL_RESULT_TOOL_PIECES(&piece, 1);

    result.structured = bytes_span(&templates->structured);
    result.beside = templates_beside(templates, 1);
    result.is_error = is_error;
    call_finish(call, &result);
}
