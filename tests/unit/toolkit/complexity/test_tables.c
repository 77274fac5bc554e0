#include "support/cmocka.h"
#include "support/oom_sweep.h"

#include "base/alloc.h"
#include "toolkit/complexity/table.h"

/* A misspelt node would silently never count. */
static void every_name_in_the_rules_is_the_grammars(void **state)
{
    (void)state;
    for (size_t i = 0; complexity_language_at(i) != NULL; i++) {
        const ComplexityLanguage *language = complexity_language_at(i);
        ComplexityTable table;

        assert_int_equal(complexity_table_init(&table, language), 0);
        if (table.unknown != NULL) {
            fail_msg("%.*s: %s", (int)language->name.n, language->name.p, table.unknown);
        }
        complexity_table_deinit(&table);
        complexity_table_deinit(&table);
    }
}

/* A rule that counts for cognitive complexity names what it counts. */
static void every_increment_has_a_name(void **state)
{
    (void)state;
    for (size_t i = 0; complexity_language_at(i) != NULL; i++) {
        const ComplexityLanguage *language = complexity_language_at(i);
        const ComplexityRule *tables[] = {language->nodes, language->tokens};

        for (size_t k = 0; k < 2; k++) {
            for (const ComplexityRule *rule = tables[k]; rule->node != NULL; rule++) {
                if ((rule->does & (RULE_STRUCTURE | RULE_FLAT)) != 0 && rule->shown == NULL) {
                    fail_msg("%.*s: %s", (int)language->name.n, language->name.p, rule->node);
                }
            }
        }
    }
}

static int table_scenario(void *context)
{
    ComplexityTable table;
    int r = complexity_table_init(&table, context);

    complexity_table_deinit(&table);
    return r;
}

static void table_survives_want_of_memory(void **state)
{
    const ComplexityLanguage *language = complexity_language_at(0);

    (void)state;
    test_oom_sweep(table_scenario, (void *)(uintptr_t)language);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_in_the_rules_is_the_grammars),
        cmocka_unit_test(every_increment_has_a_name),
        cmocka_unit_test(table_survives_want_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
