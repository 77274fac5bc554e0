#include "cli/peer_ask.h"

#include "support/cmocka.h"

#include <errno.h>
#include <string.h>

#include "support/oom_sweep.h"

static int field(const char *schema, const char *typed, char *got, size_t size)
{
    JsonDoc doc;
    Arena arena;
    Bytes out;
    int r;

    arena_init(&arena, SIZE_MAX);
    bytes_init(&out, size - 1);
    r = json_parse(&doc, &arena, schema, strlen(schema), NULL, NULL);
    if (r == 0) {
        r = peer_ask_field(&out, &arena, json_root(&doc), span_from_str(typed));
    }
    if (out.n > 0) {
        memcpy(got, out.data, out.n);
    }
    got[out.n] = '\0';
    bytes_deinit(&out);
    arena_deinit(&arena);
    return r;
}

/* expected NULL: the text is no answer. */
static void check(const char *schema, const char *typed, const char *expected)
{
    char got[128];

    assert_int_equal(field(schema, typed, got, sizeof(got)),
                     expected == NULL ? PEER_FIELD_E_WRONG : 0);
    assert_string_equal(got, expected == NULL ? "" : expected);
}

static void typed_text_becomes_what_the_field_wants(void **state)
{
    (void)state;
    check("{\"type\":\"string\"}", "5 \"x\"", "\"5 \\\"x\\\"\"");
    check("{\"type\":\"integer\"}", "5", "5");
    check("{\"type\":\"integer\"}", "5.5", NULL);
    check("{\"type\":\"integer\"}", "five", NULL);
    check("{\"type\":\"number\"}", "-1.50", "-1.50");
    check("{\"type\":\"number\"}", "\"1\"", NULL);
    check("{\"type\":\"boolean\"}", "y", "true");
    check("{\"type\":\"boolean\"}", "no", "false");
    check("{\"type\":\"boolean\"}", "perhaps", NULL);
}

static void choice_is_taken_by_value_title_or_number(void **state)
{
    const char *plain = "{\"type\":\"string\",\"enum\":[\"red\",\"blue\"]}";
    const char *titled = "{\"type\":\"string\",\"oneOf\":[{\"const\":\"r\",\"title\":\"Red\"},"
                         "{\"const\":\"b\",\"title\":\"Blue\"}]}";

    (void)state;
    check(plain, "blue", "\"blue\"");
    check(plain, "1", "\"red\"");
    check(plain, "3", NULL);
    check(plain, "green", NULL);
    check(titled, "Blue", "\"b\"");
    check(titled, "r", "\"r\"");
    check(titled, "2", "\"b\"");
}

static void several_choices_are_separated_by_commas(void **state)
{
    const char *schema = "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"a\",\"b\","
                         "\"c\"]}}";
    const char *titled = "{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"a\",\"title\":"
                         "\"A\"}]}}";

    (void)state;
    check(schema, "a, 3", "[\"a\",\"c\"]");
    check(schema, "b", "[\"b\"]");
    check(schema, "b,x", NULL);
    check(titled, "A", "[\"a\"]");
}

static void root_is_a_file_uri(void **state)
{
    Bytes out;

    (void)state;
    bytes_init(&out, SIZE_MAX);
    assert_int_equal(peer_ask_roots(&out, "/srv/my files/\xC3\xA4-1"), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    assert_string_equal(out.data, "{\"roots\":[{\"uri\":\"file:///srv/my%20files/%C3%A4-1\","
                                  "\"name\":\"\xC3\xA4-1\"}]}");
    bytes_clear(&out);
    assert_int_equal(peer_ask_roots(&out, "/"), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    assert_string_equal(out.data, "{\"roots\":[{\"uri\":\"file:///\",\"name\":\"/\"}]}");
    bytes_deinit(&out);
}

static int one_field(void *context)
{
    char got[64];

    (void)context;
    return field("{\"type\":\"number\"}", "1", got, sizeof(got));
}

static void failing_allocations_are_survived(void **state)
{
    (void)state;
    test_oom_sweep(one_field, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(typed_text_becomes_what_the_field_wants),
        cmocka_unit_test(choice_is_taken_by_value_title_or_number),
        cmocka_unit_test(several_choices_are_separated_by_commas),
        cmocka_unit_test(root_is_a_file_uri),
        cmocka_unit_test(failing_allocations_are_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
