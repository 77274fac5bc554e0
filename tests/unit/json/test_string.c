/* Strings of the index: decoded, compared and counted in any spelling. */
#include "json/json.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "support/guard.h"
#include "support/oom_sweep.h"

#include "parsed.h"

typedef struct StringCase {
    const char *text; /* with its quotes */
    Span decoded;
    size_t length; /* code points */
    bool plain;
} StringCase;

static const StringCase string_cases[] = {
    {"\"\"", SPAN_INIT(""), 0, true},
    {"\"a\"", SPAN_INIT("a"), 1, true},
    {"\"a b/c\"", SPAN_INIT("a b/c"), 5, true},
    {"\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"", SPAN_INIT("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"),
     3, true},
    {"\"\x7F\"", SPAN_INIT("\x7F"), 1, true},
    {"\"\xE2\x80\xA8\"", SPAN_INIT("\xE2\x80\xA8"), 1, true},
    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", SPAN_INIT("\"\\/\b\f\n\r\t"), 8, false},
    {"\"\\u0000\"", SPAN_INIT("\0"), 1, false},
    {"\"a\\u0000b\"", SPAN_INIT("a\0b"), 3, false},
    {"\"\\u0041\\u006a\\u006A\"", SPAN_INIT("Ajj"), 3, false},
    {"\"\\u007f\\u0080\"", SPAN_INIT("\x7F\xC2\x80"), 2, false},
    {"\"\\u07ff\\u0800\"", SPAN_INIT("\xDF\xBF\xE0\xA0\x80"), 2, false},
    {"\"\\ud7ff\\ue000\\uFFFF\"", SPAN_INIT("\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF"), 3, false},
    {"\"\\ud800\\udc00\"", SPAN_INIT("\xF0\x90\x80\x80"), 1, false},
    {"\"\\uDBFF\\uDFFF\"", SPAN_INIT("\xF4\x8F\xBF\xBF"), 1, false},
    {"\"\\ud83d\\ude00x\\uD83D\\uDE01\"", SPAN_INIT("\xF0\x9F\x98\x80x\xF0\x9F\x98\x81"), 3, false},
    {"\"\xC3\xA9\\n\xE2\x82\xAC\"", SPAN_INIT("\xC3\xA9\n\xE2\x82\xAC"), 3, false},
    {"\"\\\\u0041\"", SPAN_INIT("\\u0041"), 6, false},
    {"\"\\\\\\u0041\\\\\"", SPAN_INIT("\\A\\"), 3, false},
};

static void strings_are_decoded_in_every_spelling(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(string_cases); i++) {
        const StringCase *c = &string_cases[i];
        Parsed p;
        Span s = SPAN_NULL;

        parsed_str(&p, c->text);
        assert_int_equal(json_string_plain(p.root, &s), c->plain);
        assert_int_equal(json_string(p.root, &p.arena, &s), 0);
        if (!span_equals(s, c->decoded)) {
            fail_msg("case %zu: %zu bytes: %.*s", i, s.n, (int)s.n, s.p);
        }
        assert_int_equal(json_string_length(p.root), c->length);
        /* What needs no decoding is borrowed from the text. */
        assert_int_equal(s.p == c->text + 1, c->plain);
        parsed_free(&p);
    }
}

/* The promise is size - 2 bytes: here they end at an unwritable page. */
static void decoding_stays_within_the_promised_room(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(string_cases); i++) {
        const StringCase *c = &string_cases[i];
        size_t room = strlen(c->text) - 2;
        char *zeros = calloc(1, room + 1);
        GuardBuffer g = guard_copy(zeros, room);
        GuardBuffer text = guard_copy(c->text, strlen(c->text));
        Parsed p;
        size_t n;

        parsed_init(&p, span_make(text.p, text.n), NULL);
        n = json_string_decode(p.root, g.p);
        assert_true(span_equals(span_make(g.p, n), c->decoded));
        parsed_free(&p);
        guard_free(&text);
        guard_free(&g);
        free(zeros);
    }
}

static void strings_equal_exactly_their_decoded_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(string_cases); i++) {
        Parsed p;

        parsed_str(&p, string_cases[i].text);
        for (size_t j = 0; j < TW_ARRAY_SIZE(string_cases); j++) {
            Span s = string_cases[j].decoded;
            Parsed q;

            assert_int_equal(json_string_equals(p.root, s), i == j);
            parsed_str(&q, string_cases[j].text);
            assert_int_equal(json_string_same(p.root, q.root), i == j);
            parsed_free(&q);
            /* One byte less or more, or another, is another string. */
            if (i == j && s.n > 0) {
                char longer[64];

                memcpy(longer, s.p, s.n);
                longer[s.n] = 'x';
                assert_false(json_string_equals(p.root, span_make(longer, s.n + 1)));
                assert_false(json_string_equals(p.root, span_make(longer, s.n - 1)));
                longer[s.n - 1] = (char)(longer[s.n - 1] ^ 1);
                assert_false(json_string_equals(p.root, span_make(longer, s.n)));
            }
        }
        parsed_free(&p);
    }
}

static void different_spellings_of_one_string_are_the_same(void **state)
{
    static const char *const spellings[] = {
        "\"/\xC3\xA9\xF0\x9F\x98\x80\"",    "\"\\/\xC3\xA9\xF0\x9F\x98\x80\"",
        "\"\\u002f\\u00e9\\ud83d\\ude00\"", "\"\\u002F\\u00E9\\uD83D\\uDE00\"",
        "\"/\\u00e9\xF0\x9F\x98\x80\"",     "\"/\xC3\xA9\\uD83d\\uDe00\"",
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(spellings); i++) {
        for (size_t j = 0; j < TW_ARRAY_SIZE(spellings); j++) {
            Parsed p;
            Parsed q;

            parsed_str(&p, spellings[i]);
            parsed_str(&q, spellings[j]);
            assert_true(json_string_same(p.root, q.root));
            parsed_free(&p);
            parsed_free(&q);
        }
    }
}

/* Half of a pair: U+FFFD where it becomes text; where strings are compared, itself. */
static const struct {
    const char *text;
    Span decoded;
    Span exact;
    size_t length;
} lone_cases[] = {
    {"\"\\ud800\"", SPAN_INIT("\xEF\xBF\xBD"), SPAN_INIT("\xED\xA0\x80"), 1},
    {"\"\\udbff\"", SPAN_INIT("\xEF\xBF\xBD"), SPAN_INIT("\xED\xAF\xBF"), 1},
    {"\"\\uDC00\"", SPAN_INIT("\xEF\xBF\xBD"), SPAN_INIT("\xED\xB0\x80"), 1},
    {"\"\\udfff\"", SPAN_INIT("\xEF\xBF\xBD"), SPAN_INIT("\xED\xBF\xBF"), 1},
    {"\"\\ufffd\"", SPAN_INIT("\xEF\xBF\xBD"), SPAN_INIT("\xEF\xBF\xBD"), 1},
    {"\"a\\ud83d\"", SPAN_INIT("a\xEF\xBF\xBD"), SPAN_INIT("a\xED\xA0\xBD"), 2},
    {"\"\\ud83d\\n\"", SPAN_INIT("\xEF\xBF\xBD\n"), SPAN_INIT("\xED\xA0\xBD\n"), 2},
    {"\"\\ud83d\\u0041\"",
     SPAN_INIT("\xEF\xBF\xBD"
               "A"),
     SPAN_INIT("\xED\xA0\xBD"
               "A"),
     2},
    {"\"\\ud83d\\ud83d\\ude00\"", SPAN_INIT("\xEF\xBF\xBD\xF0\x9F\x98\x80"),
     SPAN_INIT("\xED\xA0\xBD\xF0\x9F\x98\x80"), 2},
    {"\"\\ude00\\ud83d\"", SPAN_INIT("\xEF\xBF\xBD\xEF\xBF\xBD"),
     SPAN_INIT("\xED\xB8\x80\xED\xA0\xBD"), 2},
};

static void half_of_a_pair_is_replaced_in_text_and_itself_in_comparisons(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(lone_cases); i++) {
        Parsed p;
        Span s = SPAN_NULL;

        parsed_str(&p, lone_cases[i].text);
        assert_int_equal(json_string(p.root, &p.arena, &s), 0);
        assert_true(span_equals(s, lone_cases[i].decoded));
        assert_int_equal(json_string_equals(p.root, s),
                         span_equals(lone_cases[i].decoded, lone_cases[i].exact));
        assert_int_equal(json_string_exact(p.root, &p.arena, &s), 0);
        assert_true(span_equals(s, lone_cases[i].exact));
        assert_true(span_equals(json_span(p.root), span_from_str(lone_cases[i].text)));
        assert_int_equal(json_string_length(p.root), lone_cases[i].length);
        for (size_t j = 0; j < TW_ARRAY_SIZE(lone_cases); j++) {
            Parsed q;

            parsed_str(&q, lone_cases[j].text);
            assert_int_equal(json_string_same(p.root, q.root), i == j);
            assert_int_equal(json_equals(p.root, q.root), i == j);
            parsed_free(&q);
        }
        parsed_free(&p);
    }
}

static void json_that_came_in_a_string_can_be_parsed(void **state)
{
    static const Span texts[][2] = {
        {SPAN_INIT("{\"a\":\"\xC3\xA9\"}"), SPAN_INIT("{\"a\":\"\xC3\xA9\"}")},
        {SPAN_INIT("{\"a\":\"\xED\xA0\xBD\xC3\xA9\"}"), SPAN_INIT("{\"a\":\"\\ud83d\xC3\xA9\"}")},
        {SPAN_INIT("[\"\xED\xA0\xBD\xED\xB8\x80\"]"), SPAN_INIT("[\"\\ud83d\\ude00\"]")},
        {SPAN_INIT(""), SPAN_INIT("")},
    };
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < TW_ARRAY_SIZE(texts); i++) {
        Span text = SPAN_NULL;

        assert_int_equal(json_text_of_exact(texts[i][0], &arena, &text), 0);
        assert_true(span_equals(text, texts[i][1]));
    }
    arena_deinit(&arena);
}

static void keys_with_different_halves_are_different_keys(void **state)
{
    JsonValue value;
    int64_t n = 0;
    Parsed p;

    (void)state;
    parsed_str(&p, "{\"\\ufffd\":1,\"\\ud800\":2,\"\\ud801\":3}");
    assert_true(json_get(p.root, SPAN("\xEF\xBF\xBD"), &value));
    assert_int_equal(json_int64(value, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(json_pointer(p.root, SPAN("/\xEF\xBF\xBD"), &value), 0);
    assert_int_equal(json_int64(value, &n), 0);
    assert_int_equal(n, 1);
    parsed_free(&p);
}

static void one_escaped_string_that_begins_another_is_not_the_same(void **state)
{
    Parsed p;
    Parsed q;

    (void)state;
    parsed_str(&p, "\"\\nab\"");
    parsed_str(&q, "\"\\nabc\"");
    assert_false(json_string_same(p.root, q.root));
    assert_false(json_string_same(q.root, p.root));
    parsed_free(&p);
    parsed_free(&q);
    parsed_str(&p, "\"\\u00e9\"");
    parsed_str(&q, "\"\\u00c3\\u00a9\"");
    assert_false(json_string_same(p.root, q.root));
    parsed_free(&p);
    parsed_free(&q);
}

static void values_that_are_no_strings_are_refused(void **state)
{
    static const char *const texts[] = {"1", "12", "null", "true", "[\"a\"]", "{\"a\":\"a\"}"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(texts); i++) {
        Parsed p;
        Span s = SPAN_NULL;

        parsed_str(&p, texts[i]);
        assert_int_equal(json_string(p.root, &p.arena, &s), JSON_E_KIND);
        assert_false(json_string_plain(p.root, &s));
        assert_false(json_string_equals(p.root, SPAN("a")));
        assert_false(json_string_equals(p.root, SPAN("1")));
        assert_false(json_string_equals(p.root, SPAN("")));
        assert_int_equal(json_string_length(p.root), 0);
        assert_null(s.p);
        parsed_free(&p);
    }
}

/* Each code point as \uXXXX (as a pair beyond U+FFFF), against the encoder of base. */
static void every_code_point_is_decoded_from_its_escape(void **state)
{
    char text[32];
    char expected[4];

    (void)state;
    for (uint32_t code = 0; code <= 0x10FFFF; code += code < 0x11000 ? 1 : 61) {
        int n;
        unsigned n_expected = utf8_encode(code, expected);
        char decoded[16];
        Parsed p;

        if (n_expected == 0) {
            continue;
        }
        if (code < 0x10000) {
            n = snprintf(text, sizeof(text), "\"\\u%04x\"", code);
        } else {
            n = snprintf(text, sizeof(text), "\"\\u%04X\\u%04X\"",
                         0xD800 + ((code - 0x10000) >> 10), 0xDC00 + (code & 0x3FF));
        }
        parsed_init(&p, span_make(text, (size_t)n), NULL);
        assert_int_equal(json_string_decode(p.root, decoded), n_expected);
        assert_memory_equal(decoded, expected, n_expected);
        assert_true(json_string_equals(p.root, span_make(expected, n_expected)));
        assert_int_equal(json_string_length(p.root), 1);
        parsed_free(&p);
    }
}

static int string_scenario(void *context)
{
    JsonValue *v = context;
    Arena arena;
    Span s = SPAN_NULL;
    int r;

    arena_init(&arena, 1 << 20);
    r = json_string(*v, &arena, &s);
    assert_true((r == 0) == (s.p != NULL));
    arena_deinit(&arena);
    return r;
}

static void decoding_survives_failed_allocations(void **state)
{
    Parsed p;

    (void)state;
    parsed_str(&p, "\"\\n\"");
    test_oom_sweep(string_scenario, &p.root);
    parsed_free(&p);
}

static void a_decoded_string_gives_back_the_room_it_did_not_use(void **state)
{
    Parsed p;
    Span s;
    char *after;

    (void)state;
    parsed_str(&p, "\"\\u0041\\u0041\\u0041\\u0041\\u0041\\u0041\\u0041\\u0041\"");
    assert_int_equal(json_string(p.root, &p.arena, &s), 0);
    after = arena_alloc(&p.arena, 1);
    assert_ptr_equal(after, s.p + ARENA_ALIGN);
    parsed_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_decoded_in_every_spelling),
        cmocka_unit_test(decoding_stays_within_the_promised_room),
        cmocka_unit_test(strings_equal_exactly_their_decoded_form),
        cmocka_unit_test(different_spellings_of_one_string_are_the_same),
        cmocka_unit_test(half_of_a_pair_is_replaced_in_text_and_itself_in_comparisons),
        cmocka_unit_test(json_that_came_in_a_string_can_be_parsed),
        cmocka_unit_test(keys_with_different_halves_are_different_keys),
        cmocka_unit_test(one_escaped_string_that_begins_another_is_not_the_same),
        cmocka_unit_test(values_that_are_no_strings_are_refused),
        cmocka_unit_test(every_code_point_is_decoded_from_its_escape),
        cmocka_unit_test(decoding_survives_failed_allocations),
        cmocka_unit_test(a_decoded_string_gives_back_the_room_it_did_not_use),
    };

    return cmocka_run_group_tests_name("json.string", tests, NULL, NULL);
}
