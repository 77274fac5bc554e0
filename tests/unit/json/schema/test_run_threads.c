/* A compiled schema is shared by threads, each with a check of its own. */
#include "schema_testing.h"

#include <pthread.h>
#include <stdint.h>

#include "json/schema/run.h"

/* Keywords that keep something while they check. */
static const char run_schema[] =
    "{\"type\":\"object\",\"properties\":{\"name\":{\"pattern\":\"^[a-z\\\\s]+$\"},"
    "\"tags\":{\"uniqueItems\":true,\"items\":{\"enum\":[\"a\",\"b\"]}},\"n\":{\"maximum\":10}},"
    "\"anyOf\":[{\"required\":[\"name\"]},{\"required\":[\"n\"]}],\"unevaluatedProperties\":false}";
static const char run_good[] = "{\"name\":\"a\\u0020b\",\"n\":3,\"tags\":[\"a\",\"b\"]}";
static const char run_bad[] = "{\"name\":\"A\",\"n\":30,\"tags\":[\"a\",\"a\"],\"other\":1}";

static void *run_thread(void *context)
{
    SchemaTesting t = {.schema = context};
    long n_bad = 0;

    if (schema_check_new(&t.check) != 0) {
        return (void *)1;
    }
    arena_init(&t.arena, 1 << 20);
    for (int i = 0; i < 500; i++) {
        n_bad += json_parse(&t.doc, &t.arena, i % 2 ? run_good : run_bad,
                            strlen(i % 2 ? run_good : run_bad), NULL, NULL) != 0;
        n_bad +=
            schema_validate(t.schema, t.check, json_root(&t.doc)) != (i % 2 ? 0 : SCHEMA_E_INVALID);
        arena_reset(&t.arena, 1 << 20);
    }
    arena_deinit(&t.arena);
    (void)schema_check_free(t.check);
    return (void *)(intptr_t)n_bad;
}

static void threads_share_a_schema(void **state)
{
    SchemaTesting t;
    pthread_t threads[4];

    (void)state;
    testing_open(&t, run_schema, NULL);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_thread, t.schema), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        void *n_bad;

        assert_int_equal(pthread_join(threads[i], &n_bad), 0);
        assert_null(n_bad);
    }
    testing_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_a_schema),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
