/* The writer: layout, escapes, splices, and what a failure in the middle leaves behind. */
#include "json/writer.h"

#include "support/cmocka.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

#include "parsed.h"

#define ENOUGH ((size_t)1 << 24)

static void assert_bytes(const Bytes *out, const char *expected)
{
    if (!span_equals(bytes_span(out), span_from_str(expected))) {
        fail_msg("'%.*s' instead of '%s'", (int)out->n, out->data, expected);
    }
}

/* One of everything. */
static void write_sample(JsonWriter *w)
{
    json_write_object(w);
    json_write_key(w, SPAN("id"));
    json_write_int(w, -7);
    json_write_key(w, SPAN("list"));
    json_write_array(w);
    json_write_uint(w, 18446744073709551615u);
    json_write_bool(w, true);
    json_write_bool(w, false);
    json_write_null(w);
    json_write_double(w, 0.5);
    json_write_array(w);
    json_write_end_array(w);
    json_write_object(w);
    json_write_end_object(w);
    json_write_end_array(w);
    json_write_key(w, SPAN("raw"));
    json_write_raw(w, SPAN("{\"a\": [ ]}"));
    json_write_key(w, SPAN("s"));
    json_write_string(w, SPAN("x y: "));
    json_write_key(w, SPAN(""));
    json_write_string(w, SPAN(""));
    json_write_end_object(w);
}

static void compact_form_has_no_white_space(void **state)
{
    JsonWriter w;
    Bytes out;

    (void)state;
    bytes_init(&out, ENOUGH);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    write_sample(&w);
    assert_int_equal(json_writer_finish(&w), 0);
    assert_bytes(&out, "{\"id\":-7,\"list\":[18446744073709551615,true,false,null,0.5,[],{}],"
                       "\"raw\":{\"a\": [ ]},\"s\":\"x y: \",\"\":\"\"}");
    bytes_deinit(&out);
}

static void pretty_form_indents_by_two(void **state)
{
    JsonWriter w;
    Bytes out;

    (void)state;
    bytes_init(&out, ENOUGH);
    json_writer_init(&w, &out, JSON_STYLE_PRETTY);
    write_sample(&w);
    assert_int_equal(json_writer_finish(&w), 0);
    assert_bytes(&out, "{\n"
                       "  \"id\": -7,\n"
                       "  \"list\": [\n"
                       "    18446744073709551615,\n"
                       "    true,\n"
                       "    false,\n"
                       "    null,\n"
                       "    0.5,\n"
                       "    [],\n"
                       "    {}\n"
                       "  ],\n"
                       "  \"raw\": {\"a\": [ ]},\n"
                       "  \"s\": \"x y: \",\n"
                       "  \"\": \"\"\n"
                       "}");
    bytes_deinit(&out);
}

static void scalars_stand_alone(void **state)
{
    JsonWriter w;
    Bytes out;

    (void)state;
    bytes_init(&out, ENOUGH);
    for (int style = JSON_STYLE_COMPACT; style <= JSON_STYLE_PRETTY; style++) {
        bytes_clear(&out);
        json_writer_init(&w, &out, (JsonStyle)style);
        json_write_string(&w, SPAN("a"));
        assert_int_equal(json_writer_finish(&w), 0);
        assert_bytes(&out, "\"a\"");
    }
    bytes_deinit(&out);
}

static void output_is_appended_to_what_was_there(void **state)
{
    JsonWriter w;
    Bytes out;

    (void)state;
    bytes_init(&out, ENOUGH);
    assert_int_equal(bytes_append(&out, "data: [", 7), 0);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_array(&w);
    json_write_int(&w, 1);
    json_write_end_array(&w);
    assert_int_equal(json_writer_finish(&w), 0);
    assert_bytes(&out, "data: [[1]");
    bytes_deinit(&out);
}

static void integers_are_written_up_to_both_edges(void **state)
{
    JsonWriter w;
    Bytes out;

    (void)state;
    bytes_init(&out, ENOUGH);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_array(&w);
    json_write_int(&w, 0);
    json_write_int(&w, INT64_MAX);
    json_write_int(&w, INT64_MIN);
    json_write_int(&w, -1);
    json_write_uint(&w, 0);
    json_write_uint(&w, UINT64_MAX);
    json_write_end_array(&w);
    assert_int_equal(json_writer_finish(&w), 0);
    assert_bytes(&out, "[0,9223372036854775807,-9223372036854775808,-1,0,18446744073709551615]");
    bytes_deinit(&out);
}

static void doubles_that_json_cannot_say_become_null(void **state)
{
    JsonWriter w;
    Bytes out;

    (void)state;
    bytes_init(&out, ENOUGH);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_array(&w);
    json_write_double(&w, NAN);
    json_write_double(&w, INFINITY);
    json_write_double(&w, -INFINITY);
    json_write_double(&w, -0.0);
    json_write_double(&w, 1e21);
    json_write_end_array(&w);
    assert_int_equal(json_writer_finish(&w), 0);
    assert_bytes(&out, "[null,null,null,-0,1e+21]");
    bytes_deinit(&out);
}

typedef void (*WriteText)(JsonWriter *w, Span text);

/* The text is written as json; as a key, too, it is JSON. */
static void check_text(WriteText write, WriteText write_key, Span text, const char *json)
{
    JsonWriter w;
    Bytes out;
    Parsed p;

    bytes_init(&out, ENOUGH);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    write(&w, text);
    assert_int_equal(json_writer_finish(&w), 0);
    assert_bytes(&out, json);
    bytes_clear(&out);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    write_key(&w, text);
    write(&w, text);
    json_write_end_object(&w);
    assert_int_equal(json_writer_finish(&w), 0);
    parsed_init(&p, bytes_span(&out), NULL);
    assert_int_equal(json_count(p.root), 1);
    parsed_free(&p);
    bytes_deinit(&out);
}

static void strings_are_escaped_and_bad_bytes_replaced(void **state)
{
    static const struct {
        Span text;
        const char *json;
    } cases[] = {
        {SPAN_INIT("\"\\/"), "\"\\\"\\\\/\""},
        {SPAN_INIT("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\""},
        {SPAN_INIT("\0\x01\x1F\x7F"), "\"\\u0000\\u0001\\u001f\x7F\""},
        {SPAN_INIT("\xE2\x80\xA7\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA"),
         "\"\xE2\x80\xA7\\u2028\\u2029\xE2\x80\xAA\""},
        {SPAN_INIT("\xC3\xA9\xF0\x9F\x98\x80"), "\"\xC3\xA9\xF0\x9F\x98\x80\""},
        {SPAN_INIT("a\xFF"), "\"a\xEF\xBF\xBD\""},
        {SPAN_INIT("\x80z"), "\"\xEF\xBF\xBDz\""},
        {SPAN_INIT("\xE2\x82"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {SPAN_INIT("\xED\xA0\x80"), "\"\xEF\xBF\xBD\""},
        {SPAN_INIT("\xED\xA0"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {SPAN_INIT("\xC0\xAF\n"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\\n\""},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        check_text(json_write_string, json_write_key, cases[i].text, cases[i].json);
    }
}

static void text_that_is_passed_on_keeps_halves_of_pairs(void **state)
{
    static const struct {
        Span text;
        const char *json;
    } cases[] = {
        {SPAN_INIT("cut \xED\xA0\xBD"), "\"cut \\ud83d\""},
        {SPAN_INIT("\xED\xB0\x80\"\xED\xBF\xBF"), "\"\\udc00\\\"\\udfff\""},
        {SPAN_INIT("\xED\xA0\x80\xED\xA0\x80"), "\"\\ud800\\ud800\""},
        /* Pieces of a text that was cut inside of a pair. */
        {SPAN_INIT("\xED\xA0\xBD\xED\xB8\x80"), "\"\\ud83d\\ude00\""},
        {SPAN_INIT("\xED\x9F\xBF\xEE\x80\x80"), "\"\xED\x9F\xBF\xEE\x80\x80\""},
        {SPAN_INIT("\xED\xA0"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {SPAN_INIT("a\xFF\n"), "\"a\xEF\xBF\xBD\\n\""},
        {SPAN_INIT("plain"), "\"plain\""},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        check_text(json_write_exact, json_write_exact_key, cases[i].text, cases[i].json);
    }
}

static void every_byte_pair_is_written_as_json(void **state)
{
    Bytes out;

    (void)state;
    bytes_init(&out, ENOUGH);
    for (unsigned pair = 0; pair < 0x10000; pair++) {
        char text[2] = {(char)(pair >> 8), (char)(pair & 0xFF)};
        JsonWriter w;
        Parsed p;

        bytes_clear(&out);
        json_writer_init(&w, &out, JSON_STYLE_COMPACT);
        json_write_string(&w, span_make(text, 2));
        assert_int_equal(json_writer_finish(&w), 0);
        parsed_init(&p, bytes_span(&out), NULL);
        if (pair < 0x8000 && (pair & 0x80) == 0) {
            assert_true(json_string_equals(p.root, span_make(text, 2)));
        }
        parsed_free(&p);
    }
    bytes_deinit(&out);
}

/* Into a buffer without room, and into one that has it: short texts may be copied there. */
static void assert_written_alike(Span text, Bytes *roomy)
{
    Bytes out;
    JsonWriter w;
    size_t n = roomy->n;

    bytes_init(&out, ENOUGH);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_string(&w, text);
    assert_int_equal(json_writer_finish(&w), 0);
    json_writer_init(&w, roomy, JSON_STYLE_COMPACT);
    json_write_string(&w, text);
    assert_int_equal(json_writer_finish(&w), 0);
    assert_int_equal(roomy->n - n, out.n);
    assert_memory_equal(roomy->data + n, out.data, out.n);
    roomy->n = n;
    bytes_deinit(&out);
}

static void short_texts_are_escaped_wherever_the_byte_stands(void **state)
{
    static const size_t lengths[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65};
    char text[65];
    Bytes roomy;

    (void)state;
    bytes_init(&roomy, ENOUGH);
    assert_int_equal(bytes_reserve(&roomy, 1024), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(lengths); i++) {
        memset(text, 'a', sizeof(text));
        assert_written_alike(span_make(text, lengths[i]), &roomy);
        for (size_t at = 0; at < lengths[i]; at++) {
            for (unsigned byte = 0; byte < 256; byte++) {
                text[at] = (char)byte;
                assert_written_alike(span_make(text, lengths[i]), &roomy);
            }
            text[at] = 'a';
        }
    }
    bytes_deinit(&roomy);
}

static void write_text(Span text, JsonStyle style, const JsonLimits *limits, Bytes *out)
{
    JsonWriter w;
    Parsed p;

    parsed_init(&p, text, limits);
    json_writer_init(&w, out, style);
    json_write_value(&w, p.root);
    assert_int_equal(json_writer_finish(&w), 0);
    parsed_free(&p);
}

static void an_indexed_value_is_laid_out_anew_and_its_scalars_kept(void **state)
{
    const char *text = " { \"a\" : [ 1.50 , { } , [ ] , \"]}:,\\u0041\" ] , \"b:\" : { \"c\" : [ [ "
                       "null ] , { \"d\" : -0 } ] } , \"a\" : 1e5 } ";
    const char *compact = "{\"a\":[1.50,{},[],\"]}:,\\u0041\"],\"b:\":{\"c\":[[null],{\"d\":-0}]},"
                          "\"a\":1e5}";
    const char *pretty = "{\n"
                         "  \"a\": [\n"
                         "    1.50,\n"
                         "    {},\n"
                         "    [],\n"
                         "    \"]}:,\\u0041\"\n"
                         "  ],\n"
                         "  \"b:\": {\n"
                         "    \"c\": [\n"
                         "      [\n"
                         "        null\n"
                         "      ],\n"
                         "      {\n"
                         "        \"d\": -0\n"
                         "      }\n"
                         "    ]\n"
                         "  },\n"
                         "  \"a\": 1e5\n"
                         "}";
    Bytes out;

    (void)state;
    bytes_init(&out, ENOUGH);
    write_text(span_from_str(text), JSON_STYLE_COMPACT, NULL, &out);
    assert_bytes(&out, compact);
    bytes_clear(&out);
    write_text(span_from_str(pretty), JSON_STYLE_COMPACT, NULL, &out);
    assert_bytes(&out, compact);
    bytes_clear(&out);
    write_text(span_from_str(text), JSON_STYLE_PRETTY, NULL, &out);
    assert_bytes(&out, pretty);
    bytes_deinit(&out);
}

static void an_inner_value_is_written_without_what_follows_it(void **state)
{
    Parsed p;
    JsonWriter w;
    Bytes out;

    (void)state;
    parsed_str(&p, "[[1,[2]],[3]]");
    bytes_init(&out, ENOUGH);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    for (JsonIter it = json_iter(p.root); json_iter_next(&it);) {
        json_write_key(&w, SPAN("k"));
        json_write_value(&w, it.value);
    }
    json_write_end_object(&w);
    assert_int_equal(json_writer_finish(&w), 0);
    assert_bytes(&out, "{\"k\":[1,[2]],\"k\":[3]}");
    bytes_deinit(&out);
    parsed_free(&p);
}

static void indentation_has_no_end(void **state)
{
    Bytes out;
    char text[101];
    size_t n_lines = 0;

    (void)state;
    memset(text, '[', 50);
    memset(text + 50, ']', 50);
    text[49] = '[';
    bytes_init(&out, ENOUGH);
    write_text(span_make(text, 100), JSON_STYLE_PRETTY, NULL, &out);
    for (size_t at = 0, line = 0; at < out.n; line++, n_lines++) {
        size_t indent = 2 * (line < 50 ? line : 98 - line);
        size_t blanks = 0;

        while (out.data[at] == ' ') {
            at++;
            blanks++;
        }
        assert_int_equal(blanks, indent);
        while (at < out.n && out.data[at++] != '\n') {
        }
    }
    /* The innermost is empty, "[]" on one line. */
    assert_int_equal(n_lines, 99);
    bytes_deinit(&out);
}

static void a_hundred_thousand_levels_are_written_without_recursion(void **state)
{
    size_t n = 100000;
    char *text = malloc(2 * n);
    Bytes out;

    (void)state;
    assert_non_null(text);
    memset(text, '[', n);
    memset(text + n, ']', n);
    bytes_init(&out, ENOUGH);
    write_text(span_make(text, 2 * n), JSON_STYLE_COMPACT, &(JsonLimits){.max_depth = 100000},
               &out);
    assert_true(span_equals(bytes_span(&out), span_make(text, 2 * n)));
    bytes_deinit(&out);
    free(text);
}

static void what_does_not_fit_leaves_the_buffer_as_it_was(void **state)
{
    static const char text[] =
        "{\"a\":[1,\"}}}]]]\",[[[[[]]]]],{\"b\":{\"c\":{}}}],\"d\":\"\\\"]]\"}";
    size_t n_full[2] = {0, 0};

    (void)state;
    for (int style = JSON_STYLE_COMPACT; style <= JSON_STYLE_PRETTY; style++) {
        for (size_t max = 4; max < 400; max++) {
            JsonWriter w;
            Bytes out;
            Parsed p;
            int r;

            parsed_str(&p, text);
            bytes_init(&out, max);
            assert_int_equal(bytes_append(&out, "keep", 4), 0);
            json_writer_init(&w, &out, (JsonStyle)style);
            json_write_array(&w);
            json_write_value(&w, p.root);
            json_write_double(&w, 0.25);
            json_write_object(&w);
            json_write_key(&w, SPAN("k\n"));
            json_write_value(&w, p.root);
            json_write_end_object(&w);
            json_write_end_array(&w);
            r = json_writer_finish(&w);
            assert_true(r == 0 || r == BYTES_E_FULL);
            if (r != 0) {
                assert_bytes(&out, "keep");
                n_full[style]++;
            }
            bytes_deinit(&out);
            parsed_free(&p);
        }
    }
    /* Two times the text, its frame, and "keep": from there on it fits. */
    assert_int_equal(n_full[JSON_STYLE_COMPACT], 2 * (sizeof(text) - 1) + 16);
    assert_true(n_full[JSON_STYLE_PRETTY] > n_full[JSON_STYLE_COMPACT]);
}

static int writer_scenario(void *context)
{
    JsonValue *v = context;
    JsonWriter w;
    Bytes out;
    int r;

    bytes_init(&out, ENOUGH);
    json_writer_init(&w, &out, JSON_STYLE_PRETTY);
    json_write_array(&w);
    for (int i = 0; i < 20; i++) {
        write_sample(&w);
        json_write_value(&w, *v);
    }
    json_write_end_array(&w);
    r = json_writer_finish(&w);
    assert_true(r == 0 || out.n == 0);
    bytes_deinit(&out);
    return r;
}

static void writing_survives_failed_allocations(void **state)
{
    Parsed p;

    (void)state;
    parsed_str(&p, "[\"]]]]\",[[[]]],{\"a\":\"}}\"}]");
    test_oom_sweep(writer_scenario, &p.root);
    parsed_free(&p);
}

static void a_reused_buffer_allocates_nothing(void **state)
{
    JsonWriter w;
    Bytes out;

    (void)state;
    bytes_init(&out, ENOUGH);
    for (int i = 0; i < 10001; i++) {
        bytes_clear(&out);
        json_writer_init(&w, &out, JSON_STYLE_COMPACT);
        write_sample(&w);
        assert_int_equal(json_writer_finish(&w), 0);
        if (i == 0) {
            alloc_testing_reset(ALLOC_TESTING_NEVER);
        }
    }
    assert_int_equal(alloc_testing()->n_calls, 0);
    bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compact_form_has_no_white_space),
        cmocka_unit_test(pretty_form_indents_by_two),
        cmocka_unit_test(scalars_stand_alone),
        cmocka_unit_test(output_is_appended_to_what_was_there),
        cmocka_unit_test(integers_are_written_up_to_both_edges),
        cmocka_unit_test(doubles_that_json_cannot_say_become_null),
        cmocka_unit_test(strings_are_escaped_and_bad_bytes_replaced),
        cmocka_unit_test(text_that_is_passed_on_keeps_halves_of_pairs),
        cmocka_unit_test(every_byte_pair_is_written_as_json),
        cmocka_unit_test(short_texts_are_escaped_wherever_the_byte_stands),
        cmocka_unit_test(an_indexed_value_is_laid_out_anew_and_its_scalars_kept),
        cmocka_unit_test(an_inner_value_is_written_without_what_follows_it),
        cmocka_unit_test(indentation_has_no_end),
        cmocka_unit_test(a_hundred_thousand_levels_are_written_without_recursion),
        cmocka_unit_test(what_does_not_fit_leaves_the_buffer_as_it_was),
        cmocka_unit_test(writing_survives_failed_allocations),
        cmocka_unit_test(a_reused_buffer_allocates_nothing),
    };

    return cmocka_run_group_tests_name("json.writer", tests, NULL, NULL);
}
