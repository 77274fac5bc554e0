/* The member queue of a configuration. */
#include "app/config.h"

#include <string.h>

#include "base/compiler.h"
#include "support/cmocka.h"
#include "support/oom_sweep.h"

static int parse(Config *config, const char *text, Diag *diag)
{
    return config_parse(config, span_from_str(text), "/etc/tw/c.json", diag);
}

static void a_queue_is_read_whole(void **state)
{
    Config config;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(parse(&config,
                           "{\"queue\":{\"store\":\"sqlite\",\"file\":\"jobs.db\",\"pull\":true,"
                           "\"keep_ms\":\"2d\",\"keep_bytes\":\"1MiB\",\"max_waiting\":7,"
                           "\"max_running\":3}}",
                           &diag),
                     0);
    assert_string_equal(config.queue.file, "/etc/tw/jobs.db");
    assert_true(config.queue.takes_all);
    assert_int_equal(config.queue.keep_ms, 2 * 86400000);
    assert_int_equal(config.queue.keep_bytes, 1u << 20);
    assert_int_equal(config.queue.max_waiting, 7);
    assert_int_equal(config.queue.max_running, 3);
    config_deinit(&config);
    assert_int_equal(parse(&config, "{\"queue\":{}}", &diag), 0);
    assert_null(config.queue.file);
    assert_false(config.queue.takes_all);
    assert_int_equal(config.queue.keep_ms, 0);
    config_deinit(&config);
}

static void a_queue_has_short_forms(void **state)
{
    static const char *const off[] = {"{\"queue\":\"off\"}", "{\"queue\":{\"file\":\"off\"}}"};
    Config config;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(parse(&config, "{\"queue\":\"/var/q.db\"}", &diag), 0);
    assert_string_equal(config.queue.file, "/var/q.db");
    config_deinit(&config);
    for (size_t i = 0; i < TW_ARRAY_SIZE(off); i++) {
        assert_int_equal(parse(&config, off[i], &diag), 0);
        assert_string_equal(config.queue.file, CONFIG_QUEUE_OFF);
        config_deinit(&config);
    }
}

static void flags_set_the_numbers(void **state)
{
    Config config = CONFIG_NULL;

    (void)state;
    assert_int_equal(config_set(&config, SPAN("keep_ms"), SPAN("90s"), NULL), 0);
    assert_int_equal(config.queue.keep_ms, 90000);
    assert_int_equal(config_set(&config, SPAN("keep_bytes"), SPAN("64KiB"), NULL), 0);
    assert_int_equal(config.queue.keep_bytes, 65536);
    assert_int_equal(config_set(&config, SPAN("max_waiting"), SPAN("5"), NULL), 0);
    assert_int_equal(config_set(&config, SPAN("max_running"), SPAN("0"), NULL), CONFIG_E_INVALID);
}

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"{\"queue\":true}", "/etc/tw/c.json:1: queue: expected an object, a file or \"off\""},
        {"{\"queue\":\"\"}", "/etc/tw/c.json:1: queue: expected the path of a file, or off"},
        {"{\"queue\":{\"file\":\"\"}}",
         "/etc/tw/c.json:1: queue.file: expected the path of a file, or off"},
        {"{\"queue\":{\"store\":\"nats\"}}",
         "/etc/tw/c.json:1: queue.store: only \"sqlite\" is possible"},
        {"{\"queue\":{\"store\":1}}", "/etc/tw/c.json:1: queue.store: expected a string"},
        {"{\"queue\":{\"pull\":1}}", "/etc/tw/c.json:1: queue.pull: expected true or false"},
        {"{\"queue\":{\"stor\":\"sqlite\"}}",
         "/etc/tw/c.json:1: queue.stor: unknown key; did you mean 'store'?"},
        {"{\"queue\":{\"keep\":3}}", "/etc/tw/c.json:1: queue.keep: unknown key"},
        {"{\"queue\":{\"keep_ms\":10}}",
         "/etc/tw/c.json:1: queue.keep_ms: 10 is not between 1000 and 316224000000"},
        {"{\"queue\":{\"max_running\":0}}",
         "/etc/tw/c.json:1: queue.max_running: 0 is not between 1 and 4096"},
        {"{\"queu\":{}}", "/etc/tw/c.json:1: queu: unknown key; did you mean 'queue'?"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Config config;
        Diag diag = DIAG_NULL;

        assert_int_equal(parse(&config, cases[i].text, &diag), CONFIG_E_INVALID);
        if (strncmp(diag.message, cases[i].message, strlen(cases[i].message)) != 0) {
            fail_msg("%s: %s", cases[i].text, diag.message);
        }
    }
}

static int parse_one(void *context)
{
    Config config;
    int r;

    (void)context;
    r = parse(&config, "{\"queue\":{\"store\":\"sqlite\",\"file\":\"a\",\"keep_ms\":\"1d\"}}",
              NULL);
    if (r == 0) {
        config_deinit(&config);
    }
    return r;
}

static void memory_may_end(void **state)
{
    (void)state;
    test_oom_sweep(parse_one, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_is_read_whole), cmocka_unit_test(a_queue_has_short_forms),
        cmocka_unit_test(flags_set_the_numbers), cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(memory_may_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
