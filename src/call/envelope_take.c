/* Parts of an answer, taken out of its text without writing them again where that can be. */
#include "call/envelope_impl.h"

#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/writer.h"

static const Span member_names[ENVELOPE_N_MEMBERS] = {
    [ENVELOPE_MEMBER_OK] = SPAN_INIT("ok"),
    [ENVELOPE_MEMBER_CODE] = SPAN_INIT("code"),
    [ENVELOPE_MEMBER_MSG] = SPAN_INIT("msg"),
    [ENVELOPE_MEMBER_WARNINGS] = SPAN_INIT("warnings"),
    [ENVELOPE_MEMBER_NEXT_ACTIONS] = SPAN_INIT("nextActions"),
    [ENVELOPE_MEMBER_TIMINGS] = SPAN_INIT("timings"),
    [ENVELOPE_MEMBER_CONTEXT] = SPAN_INIT("context"),
};

EnvelopeMember envelope_member_of(JsonValue key)
{
    size_t i = 0;

    while (i < ENVELOPE_N_MEMBERS && !json_string_equals(key, member_names[i])) {
        i++;
    }
    return (EnvelopeMember)i;
}

Span envelope_member_name(EnvelopeMember member)
{
    return member_names[member];
}

static bool has_line_end(Span s)
{
    return memchr(s.p, '\n', s.n) != NULL || memchr(s.p, '\r', s.n) != NULL;
}

/* Ends the writer and copies what it wrote. */
static int take_written(JsonWriter *w, Arena *arena, Span *ret)
{
    int r = json_writer_finish(w);

    if (r != 0) {
        return err_fold(r); /* bounded by the text that it was made of */
    }
    *ret = arena_copy(arena, bytes_span(w->out));
    return ret->p != NULL ? 0 : err_raise(-ENOMEM);
}

int envelope_take_value(JsonValue value, Arena *arena, Span *ret)
{
    CLEANUP(bytes_deinit) Bytes compact = BYTES_NULL;
    JsonWriter w;

    if (!has_line_end(json_span(value))) {
        *ret = json_span(value);
        return 0;
    }
    bytes_init(&compact, LIMIT_JSON_BYTES);
    json_writer_init(&w, &compact, JSON_STYLE_COMPACT);
    json_write_value(&w, value);
    return take_written(&w, arena, ret);
}

static int take_own_compact(JsonValue object, Arena *arena, Span *ret)
{
    CLEANUP(bytes_deinit) Bytes compact = BYTES_NULL;
    JsonWriter w;

    bytes_init(&compact, LIMIT_JSON_BYTES);
    json_writer_init(&w, &compact, JSON_STYLE_COMPACT);
    for (JsonIter it = json_iter(object); w.r == 0 && json_iter_next(&it);) {
        if (envelope_member_of(it.key) == ENVELOPE_N_MEMBERS) {
            json_write_raw(&w, json_span(it.key));
            w.r = w.r != 0 ? w.r : bytes_append_byte(&compact, ':');
            json_write_value(&w, it.value);
        }
    }
    return take_written(&w, arena, ret);
}

/* A stretch of members that lie side by side. */
typedef struct OwnRun {
    const char *p; /* NULL: none is open */
    const char *end;
} OwnRun;

static void own_close(OwnRun *run, char *out, size_t *n, Span *ret_only, size_t *n_runs)
{
    if (run->p == NULL) {
        return;
    }
    if (*n_runs > 0) {
        if (out != NULL) {
            out[*n] = ',';
        }
        (*n)++;
    }
    *ret_only = span_make(run->p, (size_t)(run->end - run->p));
    if (out != NULL) {
        memcpy(out + *n, run->p, ret_only->n);
    }
    *n += ret_only->n;
    (*n_runs)++;
    run->p = NULL;
}

/* Copies the stretches one behind the other to out; out NULL: only counts. Returns how many there
 * are, *ret_n bytes together; the last of them is *ret_only. */
static size_t own_join(JsonValue object, char *out, size_t *ret_n, Span *ret_only)
{
    OwnRun run = {NULL, NULL};
    size_t n_runs = 0;

    *ret_n = 0;
    *ret_only = SPAN_NULL;
    for (JsonIter it = json_iter(object); json_iter_next(&it);) {
        Span value = json_span(it.value);

        if (envelope_member_of(it.key) != ENVELOPE_N_MEMBERS) {
            own_close(&run, out, ret_n, ret_only, &n_runs);
            continue;
        }
        if (run.p == NULL) {
            run.p = json_span(it.key).p;
        }
        run.end = value.p + value.n;
    }
    own_close(&run, out, ret_n, ret_only, &n_runs);
    return n_runs;
}

int envelope_take_own(JsonValue object, Arena *arena, Span *ret)
{
    Span only;
    size_t n;
    size_t n_runs;
    char *out;

    if (has_line_end(json_span(object))) {
        return take_own_compact(object, arena, ret);
    }
    n_runs = own_join(object, NULL, &n, &only);
    if (n_runs <= 1) {
        *ret = only;
        return 0;
    }
    out = arena_alloc(arena, n);
    if (out == NULL) {
        return err_raise(-ENOMEM);
    }
    (void)own_join(object, out, &n, &only);
    *ret = span_make(out, n);
    return 0;
}

int envelope_make_member(const char *name, Span value, Arena *arena, Span *ret)
{
    size_t n_name = strlen(name);
    char *out = arena_alloc(arena, n_name + value.n + 3);

    if (out == NULL) {
        return err_raise(-ENOMEM);
    }
    out[0] = '"';
    memcpy(out + 1, name, n_name);
    memcpy(out + 1 + n_name, "\":", 2);
    memcpy(out + 3 + n_name, value.p, value.n);
    *ret = span_make(out, n_name + value.n + 3);
    return 0;
}

/* What one element becomes. */
typedef void (*ElementFn)(JsonWriter *w, JsonValue element);

static void write_warning(JsonWriter *w, JsonValue element)
{
    if (json_kind(element) == JSON_STRING) {
        json_write_raw(w, json_span(element));
    } else {
        json_write_string(w, json_span(element));
    }
}

static void write_action(JsonWriter *w, JsonValue element)
{
    if (json_kind(element) == JSON_OBJECT) {
        json_write_value(w, element);
        return;
    }
    if (json_kind(element) == JSON_NULL) {
        return;
    }
    json_write_object(w);
    json_write_key(w, SPAN("method"));
    write_warning(w, element);
    json_write_key(w, SPAN("reason"));
    json_write_string(w, SPAN_NULL);
    json_write_end_object(w);
}

/* Is it an array that can stay as it is? */
static bool is_array_of(JsonValue value, JsonKind kind)
{
    if (json_kind(value) != JSON_ARRAY) {
        return false;
    }
    for (JsonIter it = json_iter(value); json_iter_next(&it);) {
        if (json_kind(it.value) != kind) {
            return false;
        }
    }
    return true;
}

static int take_array(JsonValue value, JsonKind kind, ElementFn fn, Arena *arena, Span *ret)
{
    CLEANUP(bytes_deinit) Bytes out = BYTES_NULL;
    JsonWriter w;

    if (json_kind(value) == JSON_NULL) {
        *ret = SPAN_NULL;
        return 0;
    }
    if (is_array_of(value, kind)) {
        return envelope_take_value(value, arena, ret);
    }
    bytes_init(&out, LIMIT_JSON_BYTES);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_array(&w);
    if (json_kind(value) == JSON_ARRAY) {
        for (JsonIter it = json_iter(value); json_iter_next(&it);) {
            fn(&w, it.value);
        }
    } else {
        fn(&w, value);
    }
    json_write_end_array(&w);
    return take_written(&w, arena, ret);
}

int envelope_take_warnings(JsonValue value, Arena *arena, Span *ret)
{
    return take_array(value, JSON_STRING, write_warning, arena, ret);
}

int envelope_take_actions(JsonValue value, Arena *arena, Span *ret)
{
    return take_array(value, JSON_OBJECT, write_action, arena, ret);
}
