#include "toolkit/churn/score.h"

#include "support/cmocka.h"

#include <stdio.h>

#include "base/compiler.h"
#include "json/writer.h"

static void expect(double got, double wanted)
{
    if (got - wanted > 1e-12 || wanted - got > 1e-12) {
        fail_msg("%.17g, not %.17g", got, wanted);
    }
}

static void the_score_is_that_of_the_document(void **state)
{
    (void)state;
    expect(churn_score(10, 10, 100, 100), 1);
    expect(churn_score(5, 10, 0, 100), 0.3);
    expect(churn_score(5, 10, 25, 100), 0.4);
    expect(churn_score(1, 3, 7, 9), 0.6 / 3 + 0.4 * 7 / 9);
    expect(churn_score(3, 10, 0, 0), 0.18);
    expect(churn_score(0, 0, 0, 0), 0);
}

static void the_rank_is_the_share_of_those_below(void **state)
{
    uint64_t values[] = {9, 1, 5, 1000000, 5};

    (void)state;
    churn_rank_sort(values, TW_ARRAY_SIZE(values));
    expect(churn_rank(values, 5, 1), 0);
    expect(churn_rank(values, 5, 5), 0.375);
    expect(churn_rank(values, 5, 9), 0.75);
    expect(churn_rank(values, 5, 1000000), 1);
    expect(churn_rank(values, 1, 1), 1);
}

static void single_precision_is_told_with_as_few_digits_as_it_has(void **state)
{
    static const struct {
        double score;
        const char *text;
    } cases[] = {{0.8, "0.8"},
                 {1.0 / 3, "0.33333333"},
                 {0, "0"},
                 {1, "1"},
                 {0.25, "0.25"},
                 {0.1 + 0.2, "0.3"},
                 {2.0 / 3, "0.6666667"},
                 {0.00123, "0.00123"}};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        char text[JSON_DOUBLE_SIZE];

        (void)json_format_double(churn_single(cases[i].score), text);
        assert_string_equal(text, cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_score_is_that_of_the_document),
        cmocka_unit_test(the_rank_is_the_share_of_those_below),
        cmocka_unit_test(single_precision_is_told_with_as_few_digits_as_it_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
