#include "agent/model_url.h"

#include "support/cmocka.h"

#include <stdio.h>

#include "support/oom_sweep.h"

static const struct {
    const char *url;
    const char *shown;
    const char *joined; /* with /p */
} cases[] = {
    {"http://h/v1", "http://h/v1", "http://h/v1/p"},
    {"https://u:pass@h:80/v1", "https://***@h:80/v1", "https://u:pass@h:80/v1/p"},
    {"https://u:p@ss@h", "https://***@h", "https://u:p@ss@h/p"},
    {"http://h/v1?api_key=k", "http://h/v1?***", "http://h/v1/p?api_key=k"},
    {"http://h?a@b/c", "http://h?***", "http://h/p?a@b/c"},
    {"http://h/a@b", "http://h/a@b", "http://h/a@b/p"},
    {"http://h/v1#f", "http://h/v1#***", "http://h/v1/p#f"},
    {"u:pass@h", "***@h", "u:pass@h/p"},
    {"", "", "/p"},
};

static void addresses_are_joined_and_shown(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Bytes out;

        bytes_init(&out, 1000);
        assert_int_equal(model_url_join(&out, cases[i].url, "/p"), 0);
        assert_string_equal(out.data, cases[i].joined);
        bytes_clear(&out);
        assert_int_equal(model_url_show(&out, cases[i].url), 0);
        assert_int_equal(bytes_append_byte(&out, '\0'), 0);
        assert_string_equal(out.data, cases[i].shown);
        bytes_deinit(&out);
    }
}

static void what_a_service_repeats_is_masked(void **state)
{
    ModelService service = {.base_url = "http://me:pass-word@h/v1?api_key=abcdef&bare&x=12345678",
                            .key = "sk-key"};
    char text[] = "sk-key me pass-word abcdef 12345678 bare api_key";

    (void)state;
    model_url_mask(text, &service);
    assert_string_equal(text, "****** me ********* ****** ******** **** api_key");
    service = (ModelService){.base_url = "http://token-only@h"};
    (void)snprintf(text, sizeof(text), "token-only");
    model_url_mask(text, &service);
    assert_string_equal(text, "**********");
}

static int scenario(void *context)
{
    Bytes out;
    int r;

    (void)context;
    bytes_init(&out, 1000);
    r = model_url_join(&out, "http://h?q", "/p");
    r = r != 0 ? r : model_url_show(&out, "http://u@h?q");
    bytes_deinit(&out);
    return r;
}

static void no_memory_is_an_error(void **state)
{
    (void)state;
    test_oom_sweep(scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_joined_and_shown),
        cmocka_unit_test(what_a_service_repeats_is_masked),
        cmocka_unit_test(no_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
