#include "agent/model_error.h"

#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "support/oom_sweep.h"

typedef struct Case {
    unsigned status;
    const char *body;
    const char *text;
    bool is_transient;
} Case;

static const Case cases[] = {
    {401, "{\"error\":{\"message\":\"bad key\",\"type\":\"auth\",\"code\":null}}",
     "HTTP 401: auth: bad key", false},
    {429, "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow\"}}",
     "HTTP 429: rate_limit_error: slow", true},
    {529, "{\"error\":{\"type\":\"overloaded_error\"}}", "HTTP 529: overloaded_error", true},
    {404, "{\"error\":\"model 'x' not found\"}", "HTTP 404: model 'x' not found", false},
    {422, "{\"detail\":\"no\"}", "HTTP 422: no", false},
    {400, "{\"message\":\"no\\n\\u001b[0m\"}", "HTTP 400: no  [0m", false},
    {400, "{\"error\":{\"x\":1}}", "HTTP 400: {\"x\":1}", false},
    {400, "{\"x\":1}", "HTTP 400: {\"x\":1}", false},
    {502, "<html>\nBad Gateway\n</html>\n", "HTTP 502: <html> Bad Gateway </html>", true},
    {500, "", "HTTP 500", true},
    {503, "[]", "HTTP 503: []", true},
    {408, "", "HTTP 408", true},
    {302, "", "HTTP 302", false},
};

static void errors_become_one_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        ModelError error;

        assert_int_equal(
            model_error_read_http(&error, cases[i].status, span_from_str(cases[i].body)), 0);
        assert_string_equal(error.text, cases[i].text);
        assert_int_equal(error.is_transient, cases[i].is_transient);
    }
}

static void long_ones_are_cut(void **state)
{
    static char body[2 * MODEL_ERROR_SIZE];
    ModelError error;

    (void)state;
    memset(body, 'x', sizeof(body));
    assert_int_equal(model_error_read_http(&error, 500, span_make(body, sizeof(body))), 0);
    assert_int_equal(strlen(error.text), MODEL_ERROR_SIZE - 1);
}

static void secrets_are_masked(void **state)
{
    char text[] = "key sk-12345 and sk-12345 and sk-1234";

    (void)state;
    model_error_mask(text, SPAN("sk-12345"));
    assert_string_equal(text, "key ******** and ******** and sk-1234");
    model_error_mask(text, SPAN("and"));
    assert_string_equal(text, "key ******** and ******** and sk-1234");
    model_error_mask(text, SPAN(""));
}

static int read_scenario(void *context)
{
    ModelError error;

    (void)context;
    return model_error_read_http(&error, 400, SPAN("{\"error\":{\"message\":\"a\\n\"}}"));
}

static void no_memory_is_an_error(void **state)
{
    (void)state;
    test_oom_sweep(read_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_become_one_line),
        cmocka_unit_test(long_ones_are_cut),
        cmocka_unit_test(secrets_are_masked),
        cmocka_unit_test(no_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
