/* Any bytes, read by every engine: all must agree, and what they accept must survive each way out
 * and back. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/utf8.h"
#include "json/json.h"
#include "json/writer.h"

#define FUZZ_MAX_BYTES ((size_t)1 << 24)

/* The way to a value costs a walk from the root: only so many are gone. */
#define FUZZ_MAX_POINTERS 64

typedef struct Outcome {
    int r;
    JsonDoc doc;
    Diag diag;
} Outcome;

static Outcome read_by(JsonEngine engine, Arena *arena, const char *text, size_t n)
{
    Outcome o = {.doc = JSON_DOC_NULL, .diag = DIAG_NULL};

    o.r = json_parse(&o.doc, arena, text, n, &(JsonLimits){.engine = engine}, &o.diag);
    return o;
}

static void require_same(const Outcome *a, const Outcome *b)
{
    FUZZ_REQUIRE(a->r == b->r);
    FUZZ_REQUIRE(a->diag.offset == b->diag.offset);
    FUZZ_REQUIRE(a->diag.line == b->diag.line && a->diag.column == b->diag.column);
    FUZZ_REQUIRE(strcmp(a->diag.message, b->diag.message) == 0);
    FUZZ_REQUIRE(a->doc.n_nodes == b->doc.n_nodes);
    FUZZ_REQUIRE(a->doc.n_nodes == 0 ||
                 memcmp(a->doc.nodes, b->doc.nodes, a->doc.n_nodes * sizeof(JsonNode)) == 0);
}

/* A decoded string, written and read again, is the same string; as text unless it has half of a
 * surrogate pair, which text cannot have. */
static void check_string(JsonValue v, Arena *arena)
{
    Span s = SPAN_NULL;
    Span exact = SPAN_NULL;
    bool is_text;
    JsonWriter w;
    JsonDoc doc;
    Bytes out;

    FUZZ_REQUIRE(json_string(v, arena, &s) == 0);
    FUZZ_REQUIRE(s.n <= v.node->size - 2);
    FUZZ_REQUIRE(utf8_valid(s.p, s.n, NULL));
    FUZZ_REQUIRE(json_string_exact(v, arena, &exact) == 0);
    is_text = utf8_valid(exact.p, exact.n, NULL);
    FUZZ_REQUIRE(exact.n == s.n && span_equals(exact, s) == is_text);
    FUZZ_REQUIRE(json_string_equals(v, exact));
    FUZZ_REQUIRE(json_string_equals(v, s) == is_text);
    FUZZ_REQUIRE(json_string_same(v, v));
    FUZZ_REQUIRE(json_string_length(v) == utf8_count(s.p, s.n));
    bytes_init(&out, FUZZ_MAX_BYTES);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_string(&w, s);
    FUZZ_REQUIRE(json_writer_finish(&w) == 0);
    FUZZ_REQUIRE(json_parse(&doc, arena, out.data, out.n, NULL, NULL) == 0);
    FUZZ_REQUIRE(json_string_same(v, json_root(&doc)) == is_text);
    bytes_clear(&out);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_exact(&w, exact);
    FUZZ_REQUIRE(json_writer_finish(&w) == 0);
    FUZZ_REQUIRE(json_parse(&doc, arena, out.data, out.n, NULL, NULL) == 0);
    FUZZ_REQUIRE(json_string_same(v, json_root(&doc)));
    bytes_deinit(&out);
}

static void check_number(JsonValue v, Arena *arena)
{
    char text[JSON_DOUBLE_SIZE];
    double value;
    double again;
    int64_t whole;
    uint64_t natural;
    JsonDoc doc;

    FUZZ_REQUIRE(json_number_compare(v, v) == 0);
    if (json_int64(v, &whole) == 0) {
        FUZZ_REQUIRE(json_number_is_whole(v));
        FUZZ_REQUIRE((json_uint64(v, &natural) == 0) == (whole >= 0));
    }
    if (json_double(v, &value) != 0) {
        return;
    }
    FUZZ_REQUIRE(isfinite(value));
    FUZZ_REQUIRE(json_format_double(value, text) == strlen(text));
    FUZZ_REQUIRE(json_parse(&doc, arena, text, strlen(text), NULL, NULL) == 0);
    FUZZ_REQUIRE(json_double(json_root(&doc), &again) == 0);
    FUZZ_REQUIRE(memcmp(&value, &again, sizeof(value)) == 0);
}

/* The pointer leads back, or to a later member of the same name. */
static void check_pointer(JsonValue root, JsonValue v)
{
    JsonValue back = JSON_VALUE_NULL;
    Bytes out;

    bytes_init(&out, FUZZ_MAX_BYTES);
    FUZZ_REQUIRE(json_pointer_of(root, v, &out) == 0);
    if (json_pointer(root, bytes_span(&out), &back) == 0) {
        FUZZ_REQUIRE(back.node >= v.node);
    } else {
        /* Below a member that a later one of the same name hides. */
        FUZZ_REQUIRE(out.n > 0);
    }
    bytes_deinit(&out);
}

/* Each value lies where its parent says, in order and inside it; returns after the last node of
 * all. */
static void check_walk(const JsonDoc *doc, Arena *arena)
{

    FUZZ_REQUIRE(doc->nodes[0].skip == doc->n_nodes);
    for (uint32_t i = 0; i < doc->n_nodes; i++) {
        JsonValue v = {doc->text, doc->nodes + i};
        uint32_t n_seen = 0;

        FUZZ_REQUIRE((size_t)v.node->start + v.node->size <= doc->n_text);
        FUZZ_REQUIRE(v.node->skip >= 1 && i + v.node->skip <= doc->n_nodes);
        for (JsonIter it = json_iter(v); json_iter_next(&it); n_seen++) {
            FUZZ_REQUIRE(it.value.node->start > v.node->start);
            FUZZ_REQUIRE(it.value.node->start + it.value.node->size < v.node->start + v.node->size);
            FUZZ_REQUIRE(!it.is_object || json_kind(it.key) == JSON_STRING);
        }
        FUZZ_REQUIRE(n_seen == json_count(v));
        if (json_kind(v) == JSON_STRING) {
            check_string(v, arena);
        } else if (json_kind(v) == JSON_NUMBER) {
            check_number(v, arena);
        }
        if (i < FUZZ_MAX_POINTERS) {
            check_pointer((JsonValue){doc->text, doc->nodes}, v);
        }
    }
}

/* Written and read again, a text is equal to itself; written compactly twice, it is the same to the
 * byte. */
static void check_written(JsonValue root, Arena *arena)
{
    Bytes out[2];
    JsonDoc docs[2];

    for (int style = JSON_STYLE_COMPACT; style <= JSON_STYLE_PRETTY; style++) {
        JsonWriter w;

        bytes_init(&out[style], FUZZ_MAX_BYTES);
        json_writer_init(&w, &out[style], (JsonStyle)style);
        json_write_value(&w, root);
        FUZZ_REQUIRE(json_writer_finish(&w) == 0);
        FUZZ_REQUIRE(json_parse(&docs[style], arena, out[style].data, out[style].n, NULL, NULL) ==
                     0);
        FUZZ_REQUIRE(json_equals(root, json_root(&docs[style])));
        FUZZ_REQUIRE(json_equals(json_root(&docs[style]), root));
    }
    {
        JsonWriter w;
        Bytes again;

        bytes_init(&again, FUZZ_MAX_BYTES);
        json_writer_init(&w, &again, JSON_STYLE_COMPACT);
        json_write_value(&w, json_root(&docs[JSON_STYLE_PRETTY]));
        FUZZ_REQUIRE(json_writer_finish(&w) == 0);
        FUZZ_REQUIRE(span_equals(bytes_span(&again), bytes_span(&out[JSON_STYLE_COMPACT])));
        bytes_deinit(&again);
    }
    bytes_deinit(&out[0]);
    bytes_deinit(&out[1]);
}

/* A buffer that is too small must neither crash the writer nor keep half of a text. */
static void check_full(JsonValue root, size_t n)
{
    JsonWriter w;
    Bytes out;

    bytes_init(&out, n / 2);
    json_writer_init(&w, &out, JSON_STYLE_PRETTY);
    json_write_array(&w);
    json_write_value(&w, root);
    json_write_end_array(&w);
    FUZZ_REQUIRE(json_writer_finish(&w) == BYTES_E_FULL || out.n > 0);
    bytes_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const JsonEngine others[] = {JSON_ENGINE_SSE2, JSON_ENGINE_AVX2, JSON_ENGINE_AUTO};
    const char *text = (const char *)data;
    Outcome first;
    Arena arena;

    arena_init(&arena, (size_t)1 << 30);
    first = read_by(JSON_ENGINE_PORTABLE, &arena, text, size);
    FUZZ_REQUIRE(first.r >= 0);
    FUZZ_REQUIRE(first.r == 0 || first.diag.offset <= size);
    for (size_t i = 0; i < TW_ARRAY_SIZE(others); i++) {
        Outcome o = read_by(others[i], &arena, text, size);

        require_same(&first, &o);
    }
    if (first.r == 0) {
        check_walk(&first.doc, &arena);
        check_written(json_root(&first.doc), &arena);
        check_full(json_root(&first.doc), size);
    }
    arena_deinit(&arena);
    return 0;
}
