#include "agent/model_retry.h"

#include "support/cmocka.h"

#define DATE "Sun, 06 Nov 1994 08:49:37 GMT"
#define NOW  784111777000 /* the same */

static const struct {
    const char *value;
    const char *date;
    int64_t expected;
} cases[] = {
    {"7", "", 7000},
    {"1.9", "", 1000},
    {"0", DATE, 0},
    {"Sun, 06 Nov 1994 08:49:42 GMT", DATE, 5000},
    {"Sun, 06 Nov 1994 08:49:42 GMT", "Sun, 06 Nov 1994 08:49:40 GMT", 2000},
    {"Sun, 06 Nov 1994 08:49:42 GMT", "", 5000},
    {"Mon, 07 Nov 1994 08:49:37 GMT", "yesterday", 86400000},
    {"Sat, 05 Nov 1994 08:49:37 GMT", DATE, 0},
    {"Sun, 06 Nov 1994 08:49:42 CET", DATE, -1},
    {"Sun, 06 Now 1994 08:49:42 GMT", DATE, -1},
    {"Sun, 36 Nov 1994 08:49:42 GMT", DATE, -1},
    {"Sunday, 06-Nov-94 08:49:37 GMT", DATE, -1},
    {"soon", DATE, -1},
    {"-1", DATE, -1},
    {"99999999999999999", DATE, -1},
    {"", DATE, -1},
};

static void seconds_and_dates_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        assert_int_equal(
            model_retry_after_ms(span_from_str(cases[i].value), span_from_str(cases[i].date), NOW),
            cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seconds_and_dates_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
