#include "router/safety/confirm.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#define UNTIL 300000

static const char one[SAFETY_FINGERPRINT_BYTES] = "one";
static const char other[SAFETY_FINGERPRINT_BYTES] = "other";

/* A token whose random bytes are that number, for delete_walls in document 7. */
static const char *give(SafetyConfirms *confirms, unsigned number)
{
    static char token[SAFETY_CONFIRM_BYTES];
    uint8_t random[16] = {(uint8_t)(number >> 8), (uint8_t)number};

    assert_int_equal(
        safety_confirm_add(confirms, random, SPAN("delete_walls"), 7, one, UNTIL, token), 0);
    return token;
}

/* What is wrong with it; "": nothing. */
static const char *take(SafetyConfirms *confirms, const char *token, const char *method,
                        uint64_t document, const char *fingerprint, int64_t now_ms)
{
    SafetyConfirmed taken;
    const char *problem = "not set";

    assert_int_equal(safety_confirm_take(confirms, span_from_str(token), span_from_str(method),
                                         document, fingerprint, now_ms, &problem, &taken),
                     0);
    return problem != NULL ? problem : "";
}

static void assert_says(const char *problem, const char *words)
{
    if (strstr(problem, words) == NULL) {
        fail_msg("no '%s' in '%s'", words, problem);
    }
}

static void it_is_its_random_bytes_and_good_once(void **state)
{
    SafetyConfirms confirms = {.next = 0};
    const char *token = give(&confirms, 0x1234);

    (void)state;
    assert_string_equal(token, "ct-12340000000000000000000000000000");
    assert_string_equal(
        take(&confirms, "CT-12340000000000000000000000000000", " Delete_Walls ", 7, one, 0), "");
    assert_says(take(&confirms, token, "delete_walls", 7, one, 0), "was used");
    assert_says(take(&confirms, "", "delete_walls", 7, one, 0), "is not known");
}

static void it_ends_with_its_time(void **state)
{
    SafetyConfirms confirms = {.next = 0};

    (void)state;
    assert_string_equal(take(&confirms, give(&confirms, 1), "delete_walls", 7, one, UNTIL - 1), "");
    assert_says(take(&confirms, give(&confirms, 2), "delete_walls", 7, one, UNTIL), "too old");
}

/* Each is refused in words of its own, and used up. */
static void it_is_for_one_method_one_document_and_the_same_parameters(void **state)
{
    static const struct {
        const char *method;
        uint64_t document;
        const char *fingerprint;
        const char *words;
    } cases[] = {
        {"delete_wall", 7, one, "another method"},
        {"delete_walls", 8, one, "another document"},
        {"delete_walls", 0, one, "another document"},
        {"delete_walls", 7, other, "other parameters"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        SafetyConfirms confirms = {.next = 0};
        const char *token = give(&confirms, 1);

        assert_says(
            take(&confirms, token, cases[i].method, cases[i].document, cases[i].fingerprint, 0),
            cases[i].words);
        assert_says(take(&confirms, token, "delete_walls", 7, one, 0), "was used");
    }
}

static void what_is_put_back_is_as_it_was(void **state)
{
    SafetyConfirms confirms = {.next = 0};
    SafetyConfirmed taken;
    const char *problem;
    const char *token = give(&confirms, 1);

    (void)state;
    assert_int_equal(safety_confirm_take(&confirms, span_from_str(token), SPAN("delete_walls"), 7,
                                         one, 0, &problem, &taken),
                     0);
    assert_null(problem);
    safety_confirm_return(&confirms, &taken);
    assert_string_equal(take(&confirms, token, "delete_walls", 7, one, UNTIL - 1), "");
}

static void the_oldest_gives_way(void **state)
{
    SafetyConfirms confirms = {.next = 0};
    char first[SAFETY_CONFIRM_BYTES];
    char second[SAFETY_CONFIRM_BYTES];

    (void)state;
    (void)snprintf(first, sizeof(first), "%s", give(&confirms, 1));
    (void)snprintf(second, sizeof(second), "%s", give(&confirms, 2));
    for (unsigned i = 2; i <= LIMIT_SAFETY_CONFIRMS; i++) {
        (void)give(&confirms, 1 + i);
    }
    assert_says(take(&confirms, first, "delete_walls", 7, one, 0), "is not known");
    assert_string_equal(take(&confirms, second, "delete_walls", 7, one, 0), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_its_random_bytes_and_good_once),
        cmocka_unit_test(it_ends_with_its_time),
        cmocka_unit_test(it_is_for_one_method_one_document_and_the_same_parameters),
        cmocka_unit_test(what_is_put_back_is_as_it_was),
        cmocka_unit_test(the_oldest_gives_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
