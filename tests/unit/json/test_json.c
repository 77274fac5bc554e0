/* The reader as its users see it: values, look-up, limits, errors in words, memory. */
#include "json/json.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

#include "parsed.h"

#define ENOUGH ((size_t)1 << 26)

static void assert_span(Span span, const char *expected)
{
    if (!span_equals(span, span_from_str(expected))) {
        fail_msg("'%.*s' instead of '%s'", (int)span.n, span.p, expected);
    }
}

/* The example of docs/json.md, line by line; scripts and people copy it from there. */
static int greet(const char *text, size_t n, char *out, size_t size)
{
    Arena arena;
    JsonDoc doc;
    Diag diag;
    JsonValue name;
    Span s;
    int r;

    arena_init(&arena, 1 << 20);
    r = json_parse(&doc, &arena, text, n, NULL, &diag);
    if (r > 0) {
        (void)snprintf(out, size, "%u:%u: %s", diag.line, diag.column, diag.message);
    } else if (r == 0 && json_pointer(json_root(&doc), SPAN("/user/name"), &name) == 0 &&
               json_string(name, &arena, &s) == 0) {
        (void)snprintf(out, size, "Hello, %.*s!", (int)s.n, s.p);
    }
    arena_deinit(&arena);
    return r;
}

static void the_example_of_the_documentation_works(void **state)
{
    char out[256] = "";
    const char good[] = "{\"user\": {\"name\": \"Zo\\u00eb\"}}";
    const char bad[] = "{\"user\":\n  {name: 1}}";

    (void)state;
    assert_int_equal(greet(good, sizeof(good) - 1, out, sizeof(out)), 0);
    assert_string_equal(out, "Hello, Zo\xC3\xAB!");
    assert_int_equal(greet(bad, sizeof(bad) - 1, out, sizeof(out)), JSON_E_SYNTAX);
    assert_string_equal(out, "2:4: expected a key in double quotes, found 'n'");
}

static void every_kind_is_told_apart_and_named(void **state)
{
    static const struct {
        const char *text;
        JsonKind kind;
        const char *name;
    } cases[] = {
        {"null", JSON_NULL, "null"},
        {"false", JSON_FALSE, "boolean"},
        {"true", JSON_TRUE, "boolean"},
        {"-0", JSON_NUMBER, "number"},
        {"12", JSON_NUMBER, "number"},
        {"1.5e-3", JSON_NUMBER, "number"},
        {"\"\"", JSON_STRING, "string"},
        {"[]", JSON_ARRAY, "array"},
        {"{}", JSON_OBJECT, "object"},
        {" \t\r\n[ ] \t\r\n", JSON_ARRAY, "array"},
        {"\"\\u0000\"", JSON_STRING, "string"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Parsed p;

        parsed_str(&p, cases[i].text);
        assert_int_equal(json_kind(p.root), cases[i].kind);
        assert_string_equal(json_kind_name(json_kind(p.root)), cases[i].name);
        assert_int_equal(p.doc.n_nodes, 1);
        parsed_free(&p);
    }
}

static void each_value_keeps_its_exact_bytes(void **state)
{
    const char *text = " { \"a\" : [ 1 , -2.50e+1 ] , \"b\\n\" : { } , \"c\" : \"x y\" }\n";
    Parsed p;
    JsonValue v = JSON_VALUE_NULL;
    JsonValue e = JSON_VALUE_NULL;

    (void)state;
    parsed_str(&p, text);
    assert_span(json_span(p.root),
                "{ \"a\" : [ 1 , -2.50e+1 ] , \"b\\n\" : { } , \"c\" : \"x y\" }");
    assert_true(json_get(p.root, SPAN("a"), &v));
    assert_span(json_span(v), "[ 1 , -2.50e+1 ]");
    assert_true(json_at(v, 0, &e));
    assert_span(json_span(e), "1");
    assert_true(json_at(v, 1, &e));
    assert_span(json_span(e), "-2.50e+1");
    assert_true(json_get(p.root, SPAN("b\n"), &v));
    assert_span(json_span(v), "{ }");
    assert_true(json_get(p.root, SPAN("c"), &v));
    assert_span(json_span(v), "\"x y\"");
    parsed_free(&p);
}

static void the_index_has_one_node_per_value_and_key_in_document_order(void **state)
{
    static const struct {
        uint32_t start;
        uint32_t size;
        uint32_t skip;
        uint32_t tag;
    } expected[] = {
        {0, 27, 9, JSON_OBJECT | 2u << 3},
        {1, 3, 1, JSON_STRING},
        {5, 12, 4, JSON_ARRAY | 3u << 3},
        {6, 1, 1, JSON_NUMBER | JSON_NODE_INTEGER},
        {8, 4, 1, JSON_NUMBER},
        {13, 3, 1, JSON_OBJECT},
        {18, 4, 1, JSON_STRING | JSON_NODE_ESCAPED},
        {23, 3, 2, JSON_ARRAY | 1u << 3},
        {24, 1, 1, JSON_NUMBER | JSON_NODE_INTEGER},
    };
    Parsed p;

    (void)state;
    parsed_str(&p, "{\"a\":[1,-1.5,{ }],\"\\n\":[2]}");
    assert_int_equal(p.doc.n_nodes, TW_ARRAY_SIZE(expected));
    assert_int_equal(sizeof(JsonNode), 16);
    for (size_t i = 0; i < TW_ARRAY_SIZE(expected); i++) {
        const JsonNode *node = &p.doc.nodes[i];

        if (node->start != expected[i].start || node->size != expected[i].size ||
            node->skip != expected[i].skip || node->tag != expected[i].tag) {
            fail_msg("node %zu is {%u, %u, %u, %u}", i, node->start, node->size, node->skip,
                     node->tag);
        }
    }
    parsed_free(&p);
}

static void counts_are_of_elements_and_members_with_duplicates(void **state)
{
    Parsed p;
    JsonValue v = JSON_VALUE_NULL;

    (void)state;
    parsed_str(&p, "{\"a\":1,\"a\":[[],{},[1,2,3]],\"b\":\"x\"}");
    assert_int_equal(json_count(p.root), 3);
    assert_true(json_get(p.root, SPAN("a"), &v));
    assert_int_equal(json_count(v), 3);
    assert_true(json_at(v, 2, &v));
    assert_int_equal(json_count(v), 3);
    assert_true(json_at(v, 0, &v));
    assert_int_equal(json_count(v), 0);
    assert_true(json_get(p.root, SPAN("b"), &v));
    assert_int_equal(json_count(v), 0);
    parsed_free(&p);
}

static void look_up_finds_the_last_of_duplicate_keys_in_any_spelling(void **state)
{
    Parsed p;
    JsonValue v = JSON_VALUE_NULL;

    (void)state;
    parsed_str(&p, "{\"k\":1,\"\\u006b\":2,\"x\":{\"k\":9},\"K\":3,\"\":4,\"kk\":5}");
    assert_true(json_get(p.root, SPAN("k"), &v));
    assert_span(json_span(v), "2");
    assert_true(json_get(p.root, SPAN("K"), &v));
    assert_span(json_span(v), "3");
    assert_true(json_get(p.root, SPAN(""), &v));
    assert_span(json_span(v), "4");
    assert_true(json_get(p.root, SPAN_NULL, &v));
    assert_span(json_span(v), "4");
    v = JSON_VALUE_NULL;
    assert_false(json_get(p.root, SPAN("y"), &v));
    assert_false(json_get(p.root, SPAN("k\0"), &v));
    assert_null(v.node);
    parsed_free(&p);
    parsed_str(&p, "[\"k\",1]");
    assert_false(json_get(p.root, SPAN("k"), &v));
    parsed_free(&p);
}

static void element_look_up_is_refused_beyond_the_end_and_on_other_kinds(void **state)
{
    static const char *const others[] = {"{\"0\":1}", "\"abc\"", "1", "null"};
    Parsed p;
    JsonValue v = JSON_VALUE_NULL;

    (void)state;
    parsed_str(&p, "[[1,2],3]");
    assert_true(json_at(p.root, 1, &v));
    assert_span(json_span(v), "3");
    v = JSON_VALUE_NULL;
    assert_false(json_at(p.root, 2, &v));
    assert_false(json_at(p.root, SIZE_MAX, &v));
    assert_null(v.node);
    parsed_free(&p);
    for (size_t i = 0; i < TW_ARRAY_SIZE(others); i++) {
        parsed_str(&p, others[i]);
        assert_false(json_at(p.root, 0, &v));
        parsed_free(&p);
    }
}

static void iteration_walks_members_and_elements_and_skips_subtrees(void **state)
{
    Parsed p;
    char seen[128] = "";
    size_t n = 0;

    (void)state;
    parsed_str(&p, "{\"a\":[1,[2]],\"b\":{\"c\":3},\"d\":null}");
    for (JsonIter it = json_iter(p.root); json_iter_next(&it);) {
        Span key = SPAN_NULL;

        assert_true(json_string_plain(it.key, &key));
        n += (size_t)snprintf(seen + n, sizeof(seen) - n, "%.*s=%.*s;", (int)key.n, key.p,
                              (int)json_span(it.value).n, json_span(it.value).p);
    }
    assert_string_equal(seen, "a=[1,[2]];b={\"c\":3};d=null;");
    parsed_free(&p);
}

static void iteration_over_a_scalar_or_an_empty_container_yields_nothing(void **state)
{
    static const char *const texts[] = {"1", "\"ab\"", "true", "null", "[]", "{}"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(texts); i++) {
        Parsed p;
        JsonIter it;

        parsed_str(&p, texts[i]);
        it = json_iter(p.root);
        assert_false(json_iter_next(&it));
        parsed_free(&p);
    }
}

static void booleans_are_read_and_other_kinds_refused(void **state)
{
    Parsed p;
    JsonValue v = JSON_VALUE_NULL;
    bool flag = false;

    (void)state;
    parsed_str(&p, "[true,false,null,\"true\",1]");
    assert_true(json_at(p.root, 0, &v) && json_bool(v, &flag) && flag);
    assert_true(json_at(p.root, 1, &v) && json_bool(v, &flag) && !flag);
    for (size_t i = 2; i < 5; i++) {
        assert_true(json_at(p.root, i, &v));
        assert_false(json_bool(v, &flag));
    }
    parsed_free(&p);
}

typedef struct ErrorCase {
    Span text;
    int outcome;
    size_t offset;
    uint32_t line;
    uint32_t column;
    const char *message;
} ErrorCase;

#define SYNTAX(text, offset, line, column, message)                                                \
    {                                                                                              \
        SPAN_INIT(text), JSON_E_SYNTAX, offset, line, column, message                              \
    }
#define ESCAPE_HINT "unknown escape; after '\\' comes one of \" \\ / b f n r t u"

static const ErrorCase error_cases[] = {
    SYNTAX("", 0, 1, 1, "expected a value, found the end of the text"),
    SYNTAX("  \n ", 0, 1, 1, "expected a value, found the end of the text"),
    SYNTAX("\0", 0, 1, 1, "expected a value, found byte 0x00"),
    SYNTAX("\xEF\xBB\xBF{}", 0, 1, 1, "expected a value, found byte 0xEF"),
    SYNTAX("]", 0, 1, 1, "expected a value, found ']'"),
    SYNTAX("}", 0, 1, 1, "expected a value, found '}'"),
    SYNTAX("[", 1, 1, 2, "expected a value, found the end of the text"),
    SYNTAX("[ \n ", 1, 1, 2, "expected a value, found the end of the text"),
    SYNTAX("[1,]", 3, 1, 4, "expected a value, found ']'"),
    SYNTAX("[1,", 3, 1, 4, "expected a value, found the end of the text"),
    SYNTAX("[,1]", 1, 1, 2, "expected a value, found ','"),
    SYNTAX("{\"a\":}", 5, 1, 6, "expected a value, found '}'"),
    SYNTAX("{\"a\":", 5, 1, 6, "expected a value, found the end of the text"),
    SYNTAX("+1", 0, 1, 1, "expected a value, found '+'"),
    SYNTAX(".5", 0, 1, 1, "expected a value, found '.'"),
    SYNTAX("'a'", 0, 1, 1, "expected a value, found '''"),
    SYNTAX("NaN", 0, 1, 1, "expected a value, found 'N'"),
    SYNTAX("/**/1", 0, 1, 1, "expected a value, found '/'"),
    SYNTAX("\f1", 0, 1, 1, "expected a value, found byte 0x0C"),
    SYNTAX("\xC2\xA0 1", 0, 1, 1, "expected a value, found byte 0xC2"),
    SYNTAX("1 2", 2, 1, 3, "expected the end of the text after the value, found '2'"),
    SYNTAX("{}}", 2, 1, 3, "expected the end of the text after the value, found '}'"),
    SYNTAX("[]\n\n x", 5, 3, 2, "expected the end of the text after the value, found 'x'"),
    SYNTAX("1]", 1, 1, 2, "expected the end of the text after the value, found ']'"),
    SYNTAX("\"a\"\0", 3, 1, 4, "expected the end of the text after the value, found byte 0x00"),
    SYNTAX("{", 1, 1, 2, "expected a key in double quotes, found the end of the text"),
    SYNTAX("{]", 1, 1, 2, "expected a key in double quotes, found ']'"),
    SYNTAX("{a:1}", 1, 1, 2, "expected a key in double quotes, found 'a'"),
    SYNTAX("{1:2}", 1, 1, 2, "expected a key in double quotes, found '1'"),
    SYNTAX("{\"a\":1,}", 7, 1, 8, "expected a key in double quotes, found '}'"),
    SYNTAX("{\"a\":1,", 7, 1, 8, "expected a key in double quotes, found the end of the text"),
    SYNTAX("{\"a\"}", 4, 1, 5, "expected ':' after the key, found '}'"),
    SYNTAX("{\"a\" ", 4, 1, 5, "expected ':' after the key, found the end of the text"),
    SYNTAX("{\"a\",1}", 4, 1, 5, "expected ':' after the key, found ','"),
    SYNTAX("{\"a\":1", 6, 1, 7, "expected ',' or '}' in the object, found the end of the text"),
    SYNTAX("{\"a\":1]", 6, 1, 7, "expected ',' or '}' in the object, found ']'"),
    SYNTAX("{\"a\":1 \"b\":2}", 7, 1, 8, "expected ',' or '}' in the object, found '\"'"),
    SYNTAX("{\"a\":{}", 7, 1, 8, "expected ',' or '}' in the object, found the end of the text"),
    SYNTAX("[1", 2, 1, 3, "expected ',' or ']' in the array, found the end of the text"),
    SYNTAX("[1}", 2, 1, 3, "expected ',' or ']' in the array, found '}'"),
    SYNTAX("[1 2]", 3, 1, 4, "expected ',' or ']' in the array, found '2'"),
    SYNTAX("[[]", 3, 1, 4, "expected ',' or ']' in the array, found the end of the text"),
    SYNTAX("[[] \n", 3, 1, 4, "expected ',' or ']' in the array, found the end of the text"),
    SYNTAX("[1:2]", 2, 1, 3, "expected ',' or ']' in the array, found ':'"),
    SYNTAX("[\n  1,\n  x\n]", 9, 3, 3, "expected a value, found 'x'"),
    SYNTAX("tru", 3, 1, 4, "expected true, false or null, found the end of the text"),
    SYNTAX("trUe", 2, 1, 3, "expected true, false or null, found 'U'"),
    SYNTAX("[nul]", 4, 1, 5, "expected true, false or null, found ']'"),
    SYNTAX("falsy", 4, 1, 5, "expected true, false or null, found 'y'"),
    SYNTAX("[nulll]", 5, 1, 6, "expected ',' or ']' in the array, found 'l'"),
    SYNTAX("-", 1, 1, 2, "expected a digit after '-', found the end of the text"),
    SYNTAX("[-]", 2, 1, 3, "expected a digit after '-', found ']'"),
    SYNTAX("-a", 1, 1, 2, "expected a digit after '-', found 'a'"),
    SYNTAX("[--1]", 2, 1, 3, "expected a digit after '-', found '-'"),
    SYNTAX("01", 0, 1, 1, "a number must not begin with 0 and go on with digits"),
    SYNTAX("[-00.5, 1234567890123456789]", 2, 1, 3,
           "a number must not begin with 0 and go on with digits"),
    SYNTAX("1.", 2, 1, 3, "expected a digit after '.', found the end of the text"),
    SYNTAX("[1.]", 3, 1, 4, "expected a digit after '.', found ']'"),
    SYNTAX("[1.e5, 1234567890123456789]", 3, 1, 4, "expected a digit after '.', found 'e'"),
    SYNTAX("1e", 2, 1, 3, "expected a digit in the exponent, found the end of the text"),
    SYNTAX("[1E+]", 4, 1, 5, "expected a digit in the exponent, found ']'"),
    SYNTAX("1e1.5", 3, 1, 4, "expected the end of the text after the value, found '.'"),
    SYNTAX("[0x1F]", 2, 1, 3, "expected ',' or ']' in the array, found 'x'"),
    SYNTAX("\"abc", 4, 1, 5, "the string has no closing quote"),
    SYNTAX("[\"]", 3, 1, 4, "the string has no closing quote"),
    SYNTAX("\"abc\\", 5, 1, 6, "the string has no closing quote"),
    SYNTAX("{\"a}", 4, 1, 5, "the string has no closing quote"),
    SYNTAX("\"a\nb\"", 2, 1, 3, "a control character in a string must be escaped, found byte 0x0A"),
    SYNTAX("\"a\0b\"", 2, 1, 3, "a control character in a string must be escaped, found byte 0x00"),
    SYNTAX("[\"\x1F\"]", 2, 1, 3,
           "a control character in a string must be escaped, found byte 0x1F"),
    SYNTAX("\"\xC3(\"", 1, 1, 2, "invalid UTF-8 in a string, found byte 0xC3"),
    SYNTAX("\"\x80\"", 1, 1, 2, "invalid UTF-8 in a string, found byte 0x80"),
    SYNTAX("\"\xC0\xAF\"", 1, 1, 2, "invalid UTF-8 in a string, found byte 0xC0"),
    SYNTAX("\"\xED\xA0\x80\"", 1, 1, 2, "invalid UTF-8 in a string, found byte 0xED"),
    SYNTAX("\"\xF4\x90\x80\x80\"", 1, 1, 2, "invalid UTF-8 in a string, found byte 0xF4"),
    SYNTAX("\"\xC3\xA9\xE2\x82\"", 3, 1, 4, "invalid UTF-8 in a string, found byte 0xE2"),
    SYNTAX("\"\xE2\x82", 1, 1, 2, "invalid UTF-8 in a string, found byte 0xE2"),
    SYNTAX("\"\\x\"", 2, 1, 3, ESCAPE_HINT ", found 'x'"),
    SYNTAX("\"\\U0041\"", 2, 1, 3, ESCAPE_HINT ", found 'U'"),
    SYNTAX("\"\\\n\"", 2, 1, 3, ESCAPE_HINT ", found byte 0x0A"),
    SYNTAX("\"\\u12G4\"", 5, 1, 6, "expected four hex digits after \\u, found 'G'"),
    SYNTAX("\"\\u12", 5, 1, 6, "expected four hex digits after \\u, found the end of the text"),
    SYNTAX("\"\\ud83d", 7, 1, 8, "the string has no closing quote"),
    SYNTAX("\"\\ud83d\\u12\"", 11, 1, 12, "expected four hex digits after \\u, found '\"'"),
};

static void errors_say_where_and_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(error_cases); i++) {
        const ErrorCase *c = &error_cases[i];
        JsonDoc doc = JSON_DOC_NULL;
        Diag diag = DIAG_NULL;
        Arena arena;
        int r;

        arena_init(&arena, ENOUGH);
        r = json_parse(&doc, &arena, c->text.p, c->text.n, NULL, &diag);
        if (r != c->outcome || diag.code != c->outcome || diag.offset != c->offset ||
            diag.line != c->line || diag.column != c->column ||
            strcmp(diag.message, c->message) != 0) {
            fail_msg("case %zu, %.*s: outcome %d at %zu (%u:%u): %s", i, (int)c->text.n, c->text.p,
                     r, diag.offset, diag.line, diag.column, diag.message);
        }
        /* Outputs are written on success only; the words are optional. */
        assert_null(doc.nodes);
        assert_int_equal(json_parse(&doc, &arena, c->text.p, c->text.n, NULL, NULL), c->outcome);
        arena_deinit(&arena);
    }
}

static void empty_text_may_be_a_null_pointer(void **state)
{
    JsonDoc doc;
    Arena arena;
    Diag diag = DIAG_NULL;

    (void)state;
    arena_init(&arena, ENOUGH);
    assert_int_equal(json_parse(&doc, &arena, NULL, 0, NULL, &diag), JSON_E_SYNTAX);
    assert_int_equal(diag.offset, 0);
    arena_deinit(&arena);
}

/* open^n inner close^n; free() it. */
static char *nested(size_t n, const char *open, const char *inner, char close, size_t *ret_n)
{
    size_t n_open = strlen(open);
    size_t n_inner = strlen(inner);
    char *text = malloc(n * (n_open + 1) + n_inner + 1);
    char *at = text;

    assert_non_null(text);
    for (size_t i = 0; i < n; i++, at += n_open) {
        memcpy(at, open, n_open);
    }
    memcpy(at, inner, n_inner);
    at += n_inner;
    memset(at, close, n);
    *ret_n = (size_t)(at - text) + n;
    return text;
}

static void check_depth(size_t n, const char *open, const char *inner, char close, uint32_t limit,
                        int outcome)
{
    for (int engine = JSON_ENGINE_PORTABLE; engine <= JSON_ENGINE_AVX2; engine++) {
        JsonLimits limits = {.max_depth = limit, .engine = (JsonEngine)engine};
        size_t n_text;
        char *text = nested(n, open, inner, close, &n_text);
        uint32_t effective = limit == 0 ? LIMIT_JSON_DEPTH : limit;
        JsonDoc doc;
        Diag diag = DIAG_NULL;
        Arena arena;
        char message[64];

        arena_init(&arena, ENOUGH);
        assert_int_equal(json_parse(&doc, &arena, text, n_text, &limits, &diag), outcome);
        if (outcome != 0) {
            (void)snprintf(message, sizeof(message), "nested deeper than %u levels", effective);
            assert_string_equal(diag.message, message);
            assert_int_equal(diag.offset, effective * strlen(open));
        }
        arena_deinit(&arena);
        free(text);
    }
}

static void depth_equal_to_the_limit_passes_and_one_more_is_refused(void **state)
{
    (void)state;
    check_depth(LIMIT_JSON_DEPTH, "[", "", ']', 0, 0);
    check_depth(LIMIT_JSON_DEPTH + 1, "[", "", ']', 0, JSON_E_DEPTH);
    check_depth(LIMIT_JSON_DEPTH, "{\"a\":", "1", '}', 0, 0);
    check_depth(LIMIT_JSON_DEPTH + 1, "{\"a\":", "1", '}', 0, JSON_E_DEPTH);
    check_depth(1, "[", "1", ']', 1, 0);
    check_depth(2, "[", "1", ']', 1, JSON_E_DEPTH);
    check_depth(3, "[", "", ']', 3, 0);
    check_depth(4, "[", "", ']', 3, JSON_E_DEPTH);
}

static void depth_counts_open_containers_and_not_all_containers(void **state)
{
    JsonLimits limits = {.max_depth = 2};
    Parsed p;

    (void)state;
    parsed_init(&p, SPAN("[[],[],{},[1,2],{\"a\":1},[]]"), &limits);
    assert_int_equal(json_count(p.root), 6);
    parsed_free(&p);
}

static void a_hundred_thousand_open_brackets_are_refused(void **state)
{
    size_t n = 100000;
    char *text = malloc(n);
    JsonDoc doc;
    Diag diag = DIAG_NULL;
    Arena arena;

    (void)state;
    assert_non_null(text);
    memset(text, '[', n);
    arena_init(&arena, ENOUGH);
    assert_int_equal(json_parse(&doc, &arena, text, n, NULL, &diag), JSON_E_DEPTH);
    assert_int_equal(diag.offset, LIMIT_JSON_DEPTH);
    /* A lone text of brackets has no closing one: with room for them all it is the end that is
     * missed. */
    assert_int_equal(json_parse(&doc, &arena, text, n, &(JsonLimits){.max_depth = 200000}, &diag),
                     JSON_E_SYNTAX);
    assert_int_equal(diag.offset, n);
    arena_deinit(&arena);
    free(text);
}

static void a_raised_limit_allows_a_hundred_thousand_levels(void **state)
{
    uint32_t n = 100000;
    size_t n_text;
    char *text = nested(n, "[", "7", ']', &n_text);
    JsonLimits limits = {.max_depth = n};
    Parsed p;
    JsonValue v = JSON_VALUE_NULL;
    uint32_t levels = 0;

    (void)state;
    parsed_init(&p, span_make(text, n_text), &limits);
    assert_int_equal(p.doc.n_nodes, n + 1);
    for (v = p.root; json_kind(v) == JSON_ARRAY; levels++) {
        assert_int_equal(json_count(v), 1);
        assert_int_equal(json_span(v).n, n_text - 2 * (size_t)levels);
        assert_true(json_at(v, 0, &v));
    }
    assert_int_equal(levels, n);
    assert_span(json_span(v), "7");
    parsed_free(&p);
    free(text);
}

static void text_equal_to_the_size_limit_passes_and_one_byte_more_is_refused(void **state)
{
    JsonDoc doc;
    Arena arena;
    Diag diag = DIAG_NULL;

    (void)state;
    arena_init(&arena, ENOUGH);
    assert_int_equal(json_parse(&doc, &arena, "[1,2]", 5, &(JsonLimits){.max_bytes = 5}, &diag), 0);
    assert_int_equal(json_parse(&doc, &arena, "[1,2] ", 6, &(JsonLimits){.max_bytes = 5}, &diag),
                     JSON_E_TOO_LARGE);
    assert_int_equal(diag.code, JSON_E_TOO_LARGE);
    assert_string_equal(diag.message, "the text has 6 bytes, more than the 5 allowed");
    assert_true(diag.offset == DIAG_NO_OFFSET);
    arena_deinit(&arena);
}

static void text_beyond_32_bit_offsets_is_refused_unread(void **state)
{
    JsonDoc doc;
    Arena arena;
    Diag diag = DIAG_NULL;
    size_t n = (size_t)LIMIT_JSON_BYTES + 1;

    (void)state;
    arena_init(&arena, ENOUGH);
    /* One byte is there; a reader that looks at the others crashes. */
    assert_int_equal(json_parse(&doc, &arena, "[", n, NULL, &diag), JSON_E_TOO_LARGE);
    assert_string_equal(diag.message,
                        "the text has 4294967281 bytes, more than the 4294967280 allowed");
    assert_int_equal(json_parse(&doc, &arena, "[", n, &(JsonLimits){.max_bytes = SIZE_MAX}, &diag),
                     JSON_E_TOO_LARGE);
    assert_string_equal(diag.message,
                        "the text has 4294967281 bytes, more than the 4294967280 allowed");
    arena_deinit(&arena);
}

static void an_arena_that_is_too_small_is_out_of_memory(void **state)
{
    JsonDoc doc = JSON_DOC_NULL;
    Arena arena;

    (void)state;
    arena_init(&arena, 256);
    assert_int_equal(json_parse(&doc, &arena, "[1]", 3, NULL, NULL), -ENOMEM);
    assert_null(doc.nodes);
    arena_deinit(&arena);
}

/* An array of n objects, whose index has to grow several times; free() it. */
static char *long_text(size_t n, size_t *ret_n)
{
    size_t size = n * 40 + 3;
    char *text = malloc(size);
    size_t at = 0;

    assert_non_null(text);
    text[at++] = '[';
    for (size_t i = 0; i < n; i++) {
        at += (size_t)snprintf(text + at, size - at, "%s{\"a\":%zu,\"b\":[]}", i > 0 ? "," : "", i);
    }
    text[at++] = ']';
    *ret_n = at;
    return text;
}

static void an_index_that_grows_stays_whole(void **state)
{
    size_t counts[] = {1, 15, 16, 17, 31, 63, 64, 1000, 40000};

    (void)state;
    for (size_t k = 0; k < TW_ARRAY_SIZE(counts); k++) {
        size_t n_text;
        char *text = long_text(counts[k], &n_text);
        size_t i = 0;
        Parsed p;

        parsed_init(&p, span_make(text, n_text), NULL);
        assert_int_equal(p.doc.n_nodes, counts[k] * 5 + 1);
        assert_int_equal(json_count(p.root), counts[k]);
        for (JsonIter it = json_iter(p.root); json_iter_next(&it); i++) {
            JsonValue a;
            uint64_t number;

            assert_true(json_get(it.value, SPAN("a"), &a));
            assert_int_equal(json_uint64(a, &number), 0);
            assert_int_equal(number, i);
        }
        assert_int_equal(i, counts[k]);
        parsed_free(&p);
        free(text);
    }
}

/* Many values in few bytes: more nodes than the first guess has room for, at each size near it. */
static void dense_texts_have_room_for_every_node(void **state)
{
    char text[2048];

    (void)state;
    for (size_t n = 1; n < 400; n++) {
        Parsed p;
        size_t at = 0;

        text[at++] = '{';
        for (size_t i = 0; i < n; i++) {
            memcpy(text + at, i > 0 ? ",\"\":0" : "\"\":0", i > 0 ? 5 : 4);
            at += i > 0 ? 5 : 4;
        }
        text[at++] = '}';
        parsed_init(&p, span_make(text, at), NULL);
        assert_int_equal(p.doc.n_nodes, 2 * n + 1);
        assert_int_equal(p.root.node->skip, 2 * n + 1);
        assert_int_equal(json_count(p.root), n);
        parsed_free(&p);
    }
}

static int parse_scenario(void *context)
{
    Span *text = context;
    JsonDoc doc = JSON_DOC_NULL;
    Arena arena;
    int r;

    arena_init(&arena, ENOUGH);
    r = json_parse(&doc, &arena, text->p, text->n, NULL, NULL);
    assert_true((r == 0) == (doc.nodes != NULL));
    arena_deinit(&arena);
    return r;
}

static void parsing_survives_every_failed_allocation(void **state)
{
    size_t n_text;
    char *text = long_text(3000, &n_text);
    Span span = span_make(text, n_text);

    (void)state;
    test_oom_sweep(parse_scenario, &span);
    free(text);
}

static void steady_traffic_allocates_nothing(void **state)
{
    size_t n_text;
    char *text = long_text(100, &n_text);
    Arena arena;
    JsonDoc doc;

    (void)state;
    arena_init(&arena, ENOUGH);
    for (int warm_up = 0; warm_up < 3; warm_up++) {
        assert_int_equal(json_parse(&doc, &arena, text, n_text, NULL, NULL), 0);
        arena_reset(&arena, LIMIT_KEEP_BYTES);
    }
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    for (int i = 0; i < 10000; i++) {
        JsonValue v;
        Span s;

        assert_int_equal(json_parse(&doc, &arena, text, n_text, NULL, NULL), 0);
        assert_int_equal(json_count(json_root(&doc)), 100);
        arena_reset(&arena, LIMIT_KEEP_BYTES);
        assert_int_equal(json_parse(&doc, &arena, "[\"\\n\"]", 6, NULL, NULL), 0);
        assert_true(json_at(json_root(&doc), 0, &v));
        assert_int_equal(json_string(v, &arena, &s), 0);
        assert_span(s, "\n");
        arena_reset(&arena, LIMIT_KEEP_BYTES);
    }
    assert_int_equal(alloc_testing()->n_calls, 0);
    arena_deinit(&arena);
    free(text);
}

static void the_index_gives_back_what_it_did_not_use(void **state)
{
    Arena arena;
    JsonDoc doc;
    char *after;

    (void)state;
    arena_init(&arena, ENOUGH);
    assert_int_equal(json_parse(&doc, &arena, "[1,2]", 5, NULL, NULL), 0);
    after = arena_alloc(&arena, 1);
    assert_ptr_equal(after, (char *)(doc.nodes + doc.n_nodes));
    arena_deinit(&arena);
}

/* Line ends at every place where white space may be, in values of few bytes and of many. */
static void line_ends_are_found_between_all_tokens(void **state)
{
    static const char *const parts[] = {"",  "{", "\"k\\n\"", ":", "[", "1",     ",", "\"",   "\"",
                                        ",", "{", "}",        "]", ",", "\"e\"", ":", "null", "}"};
    enum {
        IN_STRING = 8,
        N_PARTS = sizeof(parts) / sizeof(parts[0])
    };
    static const size_t sizes[] = {0, 100, 5000, 100000};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(sizes) * N_PARTS * 3; i++) {
        size_t size = sizes[i % TW_ARRAY_SIZE(sizes)];
        size_t at = i / TW_ARRAY_SIZE(sizes) % N_PARTS;
        const char *blank = (const char *[]){" \t", "\n", "\r"}[i / TW_ARRAY_SIZE(sizes) / N_PARTS];
        bool is_outside = at == 0 || at + 1 == N_PARTS; /* no part of the value */
        Bytes text;
        Parsed parsed;

        bytes_init(&text, ENOUGH);
        for (size_t j = 0; j < N_PARTS; j++) {
            assert_int_equal(bytes_append_span(&text, span_from_str(parts[j])), 0);
            for (size_t k = 0; j + 1 == IN_STRING && k < size; k++) {
                assert_int_equal(bytes_append_byte(&text, 'x'), 0);
            }
            if (j == at && j + 1 != IN_STRING) {
                assert_int_equal(bytes_append_span(&text, span_from_str(blank)), 0);
            }
        }
        parsed_init(&parsed, bytes_span(&text), NULL);
        assert_int_equal(json_is_one_line(parsed.root),
                         blank[0] == ' ' || is_outside || at + 1 == IN_STRING);
        parsed_free(&parsed);
        bytes_deinit(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_documentation_works),
        cmocka_unit_test(every_kind_is_told_apart_and_named),
        cmocka_unit_test(each_value_keeps_its_exact_bytes),
        cmocka_unit_test(the_index_has_one_node_per_value_and_key_in_document_order),
        cmocka_unit_test(counts_are_of_elements_and_members_with_duplicates),
        cmocka_unit_test(look_up_finds_the_last_of_duplicate_keys_in_any_spelling),
        cmocka_unit_test(element_look_up_is_refused_beyond_the_end_and_on_other_kinds),
        cmocka_unit_test(iteration_walks_members_and_elements_and_skips_subtrees),
        cmocka_unit_test(iteration_over_a_scalar_or_an_empty_container_yields_nothing),
        cmocka_unit_test(booleans_are_read_and_other_kinds_refused),
        cmocka_unit_test(errors_say_where_and_why),
        cmocka_unit_test(empty_text_may_be_a_null_pointer),
        cmocka_unit_test(depth_equal_to_the_limit_passes_and_one_more_is_refused),
        cmocka_unit_test(depth_counts_open_containers_and_not_all_containers),
        cmocka_unit_test(a_hundred_thousand_open_brackets_are_refused),
        cmocka_unit_test(a_raised_limit_allows_a_hundred_thousand_levels),
        cmocka_unit_test(text_equal_to_the_size_limit_passes_and_one_byte_more_is_refused),
        cmocka_unit_test(text_beyond_32_bit_offsets_is_refused_unread),
        cmocka_unit_test(an_arena_that_is_too_small_is_out_of_memory),
        cmocka_unit_test(an_index_that_grows_stays_whole),
        cmocka_unit_test(dense_texts_have_room_for_every_node),
        cmocka_unit_test(parsing_survives_every_failed_allocation),
        cmocka_unit_test(steady_traffic_allocates_nothing),
        cmocka_unit_test(the_index_gives_back_what_it_did_not_use),
        cmocka_unit_test(line_ends_are_found_between_all_tokens),
    };

    return cmocka_run_group_tests_name("json.json", tests, NULL, NULL);
}
