/* Values, and what JavaScript makes of them: their truth, their text, whether two are ==. */
#include "toolkit/templates/engine_impl.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"

/* Whole numbers of so many digits print as they are written. */
#define VALUE_EXACT_DIGITS 15

#define VALUE_OBJECT_TEXT "[object Object]"

struct TemplateScratchChunk {
    TemplateScratchChunk *before;
    size_t n_before; /* in use of that one */
    size_t size;
    _Alignas(16) char data[];
};

void template_scratch_init(TemplateScratch *scratch)
{
    scratch->chunk = NULL;
    scratch->n = 0;
    scratch->n_held = 0;
}

int template_scratch_take(TemplateScratch *scratch, size_t n, void *ret)
{
    size_t room = scratch->chunk == NULL ? sizeof(scratch->first) : scratch->chunk->size;
    char *data = scratch->chunk == NULL ? scratch->first : scratch->chunk->data;
    char **slot = ret;

    n = (n + 15) & ~(size_t)15;
    if (n > room - scratch->n) {
        size_t size = n < sizeof(scratch->first) ? sizeof(scratch->first) * 4 : n;
        TemplateScratchChunk *chunk;

        if (n > TEMPLATE_SCRATCH_BYTES || scratch->n_held > TEMPLATE_SCRATCH_BYTES - n) {
            return BYTES_E_FULL;
        }
        chunk = mem_alloc(sizeof(*chunk) + size);
        if (chunk == NULL) {
            return err_raise(-ENOMEM);
        }
        chunk->before = scratch->chunk;
        chunk->n_before = scratch->n;
        chunk->size = size;
        scratch->chunk = chunk;
        scratch->n = 0;
        scratch->n_held += size;
        data = chunk->data;
    }
    *slot = data + scratch->n;
    scratch->n += n;
    return 0;
}

TemplateMark template_scratch_mark(const TemplateScratch *scratch)
{
    return (TemplateMark){scratch->chunk, scratch->n};
}

void template_scratch_release(TemplateScratch *scratch, TemplateMark mark)
{
    while (scratch->chunk != mark.chunk) {
        TemplateScratchChunk *chunk = scratch->chunk;

        scratch->chunk = chunk->before;
        scratch->n_held -= chunk->size;
        (void)mem_free(chunk);
    }
    scratch->n = mark.n;
}

double template_value_double(const TemplateValue *v)
{
    double number = 0;

    if (!v->is_json) {
        return v->number;
    }
    if (json_double(v->json, &number) == JSON_E_RANGE) {
        return json_span(v->json).p[0] == '-' ? -INFINITY : INFINITY;
    }
    return number;
}

static bool value_text_is_empty(const TemplateValue *v)
{
    return v->is_json ? v->json.node->size == 2 : v->text.n == 0;
}

bool template_value_is_truthy(const TemplateValue *v)
{
    switch (v->kind) {
    case VALUE_UNDEFINED:
    case VALUE_NULL:
    case VALUE_FALSE:
        return false;
    case VALUE_NUMBER:
        return template_value_double(v) != 0;
    case VALUE_TEXT:
        return !value_text_is_empty(v);
    default:
        return true;
    }
}

bool template_value_is_true(const TemplateValue *v)
{
    return template_value_is_truthy(v) && !(v->kind == VALUE_ARRAY && json_count(v->json) == 0);
}

bool template_value_is_empty(const TemplateValue *v)
{
    return v->kind != VALUE_NUMBER && !template_value_is_true(v);
}

size_t template_number_text(double number, char out[JSON_DOUBLE_SIZE])
{
    if (isfinite(number) && number != 0) {
        return json_format_double(number, out);
    }
    if (number == 0) {
        out[0] = '0';
        return 1;
    }
    memcpy(out, number < 0 ? "-Infinity" : "Infinity", (size_t)8 + (number < 0));
    return (size_t)8 + (number < 0);
}

static int value_print_number(const TemplateValue *v, Bytes *out)
{
    char text[JSON_DOUBLE_SIZE];

    if (v->is_json && (v->json.node->tag & JSON_NODE_INTEGER) != 0 &&
        v->json.node->size <= VALUE_EXACT_DIGITS && !span_equals(json_span(v->json), SPAN("-0"))) {
        return bytes_append_span(out, json_span(v->json));
    }
    return bytes_append(out, text, template_number_text(template_value_double(v), text));
}

static int value_print_text(const TemplateValue *v, Bytes *out)
{
    Span plain;
    int r;

    if (!v->is_json) {
        return bytes_append_span(out, v->text);
    }
    if (TW_LIKELY(json_string_plain(v->json, &plain))) {
        return bytes_append_span(out, plain);
    }
    r = bytes_reserve(out, v->json.node->size);
    if (r == BYTES_E_FULL) {
        /* It may still fit: what is decoded is shorter. */
        char *room = mem_alloc(v->json.node->size);
        size_t n;

        if (room == NULL) {
            return err_raise(-ENOMEM);
        }
        n = json_string_decode(v->json, room);
        r = bytes_append(out, room, n);
        (void)mem_free(room);
        return r;
    }
    if (r == 0) {
        out->n += json_string_decode(v->json, out->data + out->n);
    }
    return r;
}

/* An array inside an array is its elements between commas, too; so all that the nesting changes is
 * what stands in front of an element. */
int template_value_join(const TemplateValue *array, Span separator, Bytes *out)
{
    const JsonNode *begin = array->json.node + 1;
    const JsonNode *end = array->json.node + array->json.node->skip;
    const JsonNode *next_outer = begin; /* the next element of the array itself */
    bool is_first = true;
    int r = 0;

    for (const JsonNode *node = begin; node < end && r == 0;) {
        TemplateValue v = template_value_json((JsonValue){array->json.text, node});
        bool is_outer = node == next_outer;

        if (is_outer) {
            next_outer += node->skip;
        }
        if (!is_first) {
            r = bytes_append_span(out, is_outer ? separator : SPAN(","));
        }
        is_first = v.kind == VALUE_ARRAY && json_count(v.json) > 0;
        if (is_first) {
            node++;
            continue;
        }
        if (r == 0 && v.kind != VALUE_ARRAY) {
            r = template_value_print(&v, out);
        }
        node += node->skip;
    }
    return r;
}

int template_value_print(const TemplateValue *v, Bytes *out)
{
    switch (v->kind) {
    case VALUE_UNDEFINED:
    case VALUE_NULL:
        break;
    case VALUE_FALSE:
        return bytes_append_span(out, SPAN("false"));
    case VALUE_TRUE:
        return bytes_append_span(out, SPAN("true"));
    case VALUE_NUMBER:
        return value_print_number(v, out);
    case VALUE_TEXT:
        return value_print_text(v, out);
    case VALUE_ARRAY:
        return template_value_join(v, SPAN(","), out);
    case VALUE_OBJECT:
    case VALUE_EMPTY_OBJECT:
        return bytes_append_span(out, SPAN(VALUE_OBJECT_TEXT));
    }
    return 0;
}

int template_value_span(const TemplateValue *v, TemplateScratch *scratch, Span *ret)
{
    char *room = NULL;
    int r;

    if (!v->is_json) {
        *ret = v->text;
        return 0;
    }
    if (json_string_plain(v->json, ret)) {
        return 0;
    }
    r = template_scratch_take(scratch, v->json.node->size, &room);
    if (r == 0) {
        *ret = span_make(room, json_string_decode(v->json, room));
    }
    return r;
}

/* --- properties ------------------------------------------------------------------------------ */

/* name as an array index: "0", "12"; not "01". */
static bool value_index(Span name, uint32_t *ret)
{
    uint64_t index = 0;

    if (name.n == 0 || name.n > 10 || (name.n > 1 && name.p[0] == '0')) {
        return false;
    }
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] < '0' || name.p[i] > '9') {
            return false;
        }
        index = index * 10 + (uint64_t)(name.p[i] - '0');
    }
    *ret = (uint32_t)index;
    return index < UINT32_MAX;
}

/* Length in the units of JavaScript, where what takes four bytes here counts twice. */
static uint32_t value_units(const char *p)
{
    return utf8_byte(p) >= 0xF0 ? 2 : 1;
}

static TemplateValue value_text_property(Span text, Span name)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    uint32_t index = UINT32_MAX;
    uint32_t at = 0;
    bool is_length = span_equals(name, SPAN("length"));
    const char *end = text.p + text.n;

    if (!is_length && !value_index(name, &index)) {
        return template_value_of(VALUE_UNDEFINED);
    }
    for (const char *p = text.p; p < end;) {
        unsigned n = utf8_sequence(p, end);

        if (!is_length && index - at < value_units(p)) {
            /* Half of a pair has no form of its own. */
            return template_value_text(value_units(p) == 2 ? span_make(replacement, 3)
                                                           : span_make(p, n));
        }
        at += value_units(p);
        p += n == 0 ? 1 : n;
    }
    return is_length ? template_value_number(at) : template_value_of(VALUE_UNDEFINED);
}

int template_value_property(const TemplateValue *v, Span name, TemplateScratch *scratch,
                            TemplateValue *ret)
{
    JsonValue found;
    uint32_t index;
    Span text;
    int r;

    *ret = template_value_of(VALUE_UNDEFINED);
    switch (v->kind) {
    case VALUE_OBJECT:
        if (json_get(v->json, name, &found)) {
            *ret = template_value_json(found);
        }
        return 0;
    case VALUE_ARRAY:
        if (span_equals(name, SPAN("length"))) {
            *ret = template_value_number(json_count(v->json));
        } else if (value_index(name, &index) && json_at(v->json, index, &found)) {
            *ret = template_value_json(found);
        }
        return 0;
    case VALUE_TEXT:
        r = template_value_span(v, scratch, &text);
        if (r == 0) {
            *ret = value_text_property(text, name);
        }
        return r;
    default:
        return 0;
    }
}
