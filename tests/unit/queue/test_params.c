/* Parameters are the same by value. */
#include "queue/params.h"

#include "base/compiler.h"
#include "support/cmocka.h"

static void values_count(void **state)
{
    static const struct {
        const char *a;
        const char *b;
        bool is_same;
    } cases[] = {
        {"{}", "{}", true},
        {"{\"a\":1,\"b\":{\"c\":[1,2]}}", " { \"b\" : {\"c\":[1, 2]}, \"a\":1 } ", true},
        {"{\"a\":\"\\u00e9\"}", "{\"\\u0061\":\"\xc3\xa9\"}", true},
        {"{\"a\":1}", "{\"a\":1.0}", true},
        {"{\"a\":12345678901234567890.1}", "{\"a\":12345678901234567890.2}", false},
        {"{\"a\":[1,2]}", "{\"a\":[2,1]}", false},
        {"{\"a\":1}", "{\"a\":1,\"b\":null}", false},
        {"{\"a\":1}", "{\"a\":\"1\"}", false},
        {"{", "{", true},
        {"{", "{ ", false},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        if (queue_params_same(span_from_str(cases[i].a), span_from_str(cases[i].b)) !=
            cases[i].is_same) {
            fail_msg("%s and %s", cases[i].a, cases[i].b);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
