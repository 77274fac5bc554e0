#include "json/look.h"

#include "support/cmocka.h"

#include <string.h>

#include "base/compiler.h"
#include "support/guard.h"

typedef struct LookCase {
    const char *text;
    const char *id; /* "": none */
} LookCase;

#define HEAD "{\"jsonrpc\":\"2.0\",\"method\":\"m\","

static const LookCase cases[] = {
    {"", ""},
    {"{}", ""},
    {"[{\"method\":\"m\",\"id\":1}]", ""},
    {"7", ""},
    {HEAD "\"id\":1}", "1"},
    {HEAD "\"id\" : \"a\\\"b\" }", "\"a\\\"b\""},
    {" \t{\"id\":-7,\"method\":\"m\"}", "-7"},
    {"{\"id\":1,\"result\":{}}", ""}, /* an answer to what we asked */
    {HEAD "\"id\":1,\"id\":2}", "2"},
    {HEAD "\"id\":1,\"id\":{}}", ""},
    {HEAD "\"id\":{\"id\":5}}", ""},
    {HEAD "\"params\":{\"id\":5}}", ""},
    {HEAD "\"params\":[{\"id\":5}],\"id\":6}", "6"},
    {HEAD "\"params\":{\"s\":\"},\\\"id\\\":5,\\\\\"},\"id\":6}", "6"},
    {HEAD "\"params\":{\"s\":\"\\\\\"},\"id\":6}", "6"},
    /* What is wrong inside of the members. */
    {HEAD "\"params\":{\"s\":\"\xFF\n\\x\"},\"id\":6}", "6"},
    {HEAD "\"params\":{a b [1 2]},\"id\":6}", "6"},
    {HEAD "\"params\":NaN,\"id\":6}", "6"},
    {HEAD "\"params\":-.5e,\"id\":6}", "6"},
    /* Before what is wrong. */
    {"{\"id\":1,\"method\":\"m\"", "1"},
    {"{\"id\":1,\"method\":\"m\",}", "1"},
    {"{\"id\":1,\"method\":\"m\" \"params\":{}}", "1"},
    {"{\"id\":1,\"method\":\"m\",params:{}}", "1"},
    /* Behind it: text and structure can no longer be told apart. */
    {"{\"method\":\"m,\"params\":{},\"id\":1}", ""},
    {"{\"method\":\"m\" \"id\":1}", ""},
    {"{\"method\":m\",\"a\":\",\\\"id\\\":5,\"}", ""},
    {"{\"method\":\"m\",\"params\":{\"a\":[},\"id\":1}", ""},
    {"{\"method\":\"m\",\"id\":}", ""},
    /* Not all of it is there. */
    {HEAD "\"id\":12", ""},
    {HEAD "\"id\":\"a", ""},
    {HEAD "\"id\":12 ", "12"},
    {HEAD "\"\\u0069d\":1}", ""},
    {HEAD "\"a name that is longer than any of ours\":1,\"id\":2}", "2"},
};

static void expect(const LookCase *c, const JsonLook *look, size_t split)
{
    Span id = json_look_id(look);

    if (!span_equals(id, span_from_str(c->id))) {
        fail_msg("%s (split at %zu): %.*s", c->text, split, (int)id.n, id.p);
    }
}

static void ids_are_found_where_they_can_be_trusted(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        size_t n = strlen(cases[i].text);

        for (size_t split = 0; split <= n; split++) {
            GuardBuffer first = guard_copy(cases[i].text, split);
            GuardBuffer second = guard_copy(cases[i].text + split, n - split);
            JsonLook look;

            json_look_init(&look);
            json_look_feed(&look, span_make(first.p, first.n));
            json_look_feed(&look, span_make(second.p, second.n));
            expect(&cases[i], &look, split);
            guard_free(&first);
            guard_free(&second);
        }
    }
}

static void an_id_is_not_as_long_as_a_message(void **state)
{
    JsonLook look;

    (void)state;
    for (size_t n = JSON_LOOK_VALUE_BYTES - 4; n < JSON_LOOK_VALUE_BYTES + 4; n++) {
        json_look_init(&look);
        json_look_feed(&look, SPAN(HEAD "\"id\":"));
        for (size_t i = 0; i < n; i++) {
            json_look_feed(&look, SPAN("7"));
        }
        json_look_feed(&look, SPAN("}"));
        assert_int_equal(json_look_id(&look).n, n < JSON_LOOK_VALUE_BYTES ? n : 0);
    }
}

/* One look serves message after message. */
static void nothing_is_left_of_the_last_message(void **state)
{
    JsonLook look;

    (void)state;
    json_look_init(&look);
    json_look_feed(&look, SPAN(HEAD "\"id\":7,\"params\":{\"s\":\"\\"));
    json_look_init(&look);
    json_look_feed(&look, SPAN("{\"id\":8,\"method\":"));
    assert_true(span_equals(json_look_id(&look), SPAN("8")));
    json_look_init(&look);
    json_look_feed(&look, SPAN("{}"));
    assert_int_equal(json_look_id(&look).n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_found_where_they_can_be_trusted),
        cmocka_unit_test(an_id_is_not_as_long_as_a_message),
        cmocka_unit_test(nothing_is_left_of_the_last_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
