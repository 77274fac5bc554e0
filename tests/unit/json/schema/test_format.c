/* The format checks, by tables of what passes and what does not. The official suite has many more;
 * these are the borders that each function was written around. */
#include "support/cmocka.h"

#include <string.h>

#include "base/compiler.h"
#include "support/guard.h"
#include "json/schema/format.h"
#include "json/schema/regex.h"

typedef struct FormatCase {
    const char *format;
    const char *good[12];
    const char *bad[16];
} FormatCase;

static const FormatCase format_cases[] = {
    {"date",
     {"2028-02-29", "0001-01-01", "1999-12-31"},
     {"", "2027-02-29", "1900-02-29", "2026-13-01", "2026-1-01", "2026-01-011"}},
    {"time",
     {"00:00:00Z", "23:59:60Z", "08:29:60-15:30", "12:00:00.5+01:00"},
     {"", "24:00:00Z", "12:00:00", "12:00:00.Z", "12:00:60Z", "12:00:00+1:00", "12:00:00+24:00"}},
    {"date-time",
     {"2026-11-16T01:02:03Z", "2026-11-16t01:02:03.004z"},
     {"2026-11-16 01:02:03Z", "2026-11-16", "2026-11-16T"}},
    {"duration",
     {"P1Y2M3DT4H5M6S", "P3W", "PT1M"},
     {"", "P", "PT", "P1Y3D", "P1H", "PT1H2S", "P1W2D", "P1"}},
    {"email",
     {"a@b", "\"a b\\\"\"@b.c", "a@[127.0.0.1]", "a@[IPv6:::1]"},
     {"", "a", "@b", "a@", "a.@b", ".a@b", "a..b@c", "a b@c", "a@b_c", "\"a@b", "a@[1.2.3]",
      "\"\\"}},
    {"idn-email", {"\xC3\xA9@\xC3\xA9.x"}, {"\xC3\xA9"}},
    {"hostname",
     {"a", "a-b.c", "1a", "xn--9n2bp8q"},
     {"", ".", "a.", ".a", "-a", "a-", "a_b", "a..b", "xn--X", "xn--",
      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}},
    {"ipv4",
     {"0.0.0.0", "255.255.255.255"},
     {"", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.1.1.1", "1.1.1.1 ", "1..1.1"}},
    {"ipv6",
     {"::", "::1", "1::", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:1.2.3.4", "::ffff:1.2.3.4", "1::8"},
     {"", ":", ":::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "::1.2.3",
      "1:", ":1", "1:2:3:4:5:6:7::8", "::g", "::1%a"}},
    {"uri",
     {"a:", "http://a/b?c#d", "urn:x:y", "http://[::1]:80/", "http://[v1.a]/", "file:///c:/x"},
     {"", "a", "//a", "1a:b", "http://a b", "http://[::1", "http://a:b/", "http://a/%4",
      "http://a/\xC3\xA9", "a:[", "http://[v1.]/"}},
    {"uri-reference", {"", "a/b:c", "#x", "?q", "//a", "./a:b"}, {"1:b", "a b", "#a#b", "\\"}},
    {"iri", {"http://\xC3\xA9/"}, {"\xC3\xA9"}},
    {"iri-reference", {"\xC3\xA9"}, {"\\"}},
    {"uri-template",
     {"", "a{b}{?c,d*}{+e:10}"},
     {"{", "}", "{}", "{a:0}", "{a:12345}", "{a b}", "%4", "{a", "{a,"}},
    {"uuid",
     {"123e4567-e89b-12d3-a456-426614174000"},
     {"", "123e4567-e89b-12d3-a456-42661417400", "123e4567ae89b-12d3-a456-426614174000",
      "123e4567-e89b-12d3-a456-42661417400g"}},
    {"json-pointer", {"", "/", "/a~0b/~1"}, {"a", "/~", "/~2"}},
    {"relative-json-pointer", {"0", "1/a", "2#"}, {"", "01", "-1", "1#a", "a"}},
    {"regex",
     {"", "a|b*", "^(?:a)(?<n>b)\\k<n>$", "[]", "[^]", "a{2,}?", "\\u{1F600}\\p{L}\\x41\\cA", "a{",
      "(?<=a+)b"},
     {"(", ")", "[", "a**", "*", "(?i)a", "(?P<n>a)", "\\a", "\\", "[z-a]", "\\u12", "\\xg0",
      "(?<1>a)", "\\k<", "\\p{", "(?<"}},
};

static bool format_run(SchemaFormat format, const char *text)
{
    GuardBuffer guard = guard_copy(text, strlen(text));
    bool ok = schema_format_check(format, span_make(guard.p, guard.n));

    guard_free(&guard);
    return ok;
}

static void each_format_accepts_and_refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(format_cases); i++) {
        const FormatCase *c = &format_cases[i];
        SchemaFormat format = schema_format_find(span_from_str(c->format));

        assert_true(format < SCHEMA_FORMAT_COUNT);
        assert_string_equal(schema_format_name(format), c->format);
        for (size_t k = 0; k < TW_ARRAY_SIZE(c->good) && c->good[k] != NULL; k++) {
            if (!format_run(format, c->good[k])) {
                fail_msg("%s refuses %s", c->format, c->good[k]);
            }
        }
        for (size_t k = 0; k < TW_ARRAY_SIZE(c->bad) && c->bad[k] != NULL; k++) {
            if (format_run(format, c->bad[k])) {
                fail_msg("%s accepts %s", c->format, c->bad[k]);
            }
        }
    }
    assert_int_equal(TW_ARRAY_SIZE(format_cases), SCHEMA_FORMAT_COUNT);
    assert_int_equal(schema_format_find(SPAN("color")), SCHEMA_FORMAT_COUNT);
}

static void patterns_are_rewritten_where_ecma_differs(void **state)
{
    static const char *const cases[][2] = {
        {"a\\d[b]", "a\\d[b]"},
        {"\\p{Letter}\\P{gc=Lu}\\p{L}\\pL", "\\p{L}\\P{Lu}\\p{L}\\pL"},
        {"\\ud83d\\udc32*", "\xF0\x9F\x90\xB2*"},
        {"\\ud83dx", "\\ud83dx"},
        {"[[:a]", "[\\[:a]"},
        {"\\\\s", "\\\\s"},
        {"a\\", "a\\"},
        {"", ""},
    };
    Arena arena;

    (void)state;
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Span out;

        assert_int_equal(regex_translate(&arena, span_from_str(cases[i][0]), &out), 0);
        if (!span_equals(out, span_from_str(cases[i][1]))) {
            fail_msg("%s became %.*s", cases[i][0], (int)out.n, out.p);
        }
    }
    arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_format_accepts_and_refuses),
        cmocka_unit_test(patterns_are_rewritten_where_ecma_differs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
