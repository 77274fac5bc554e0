#include "app/audit_line.h"

#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "support/oom_sweep.h"

static const CallAsker asker = {.dialect = "mcp-http", .who = "127.0.0.1:5 al\"ice"};

static const AuditEnd end = {.verb = "tool",
                             .provider = "exec",
                             .outcome = "ok",
                             .duration_ns = 12345678,
                             .bytes_in = 4,
                             .bytes_out = 20};

/* 2025-01-15T10:30:00.125Z */
#define NOW_MS INT64_C(1736937000125)

static void expect_line(const Call *call, const CallResult *result, bool has_arguments,
                        uint64_t n_dropped, const char *line)
{
    Bytes out;

    bytes_init(&out, 1 << 16);
    assert_int_equal(audit_line_write(&out, NOW_MS, call, result, &end, has_arguments, n_dropped),
                     0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    assert_string_equal(out.data, line);
    bytes_deinit(&out);
}

#define HEAD                                                                                       \
    "{\"time\":\"2025-01-15T10:30:00.125Z\",\"who\":\"127.0.0.1:5 al\\\"ice\",\"dialect\":"        \
    "\"mcp-http\",\"provider\":\"exec\",\"verb\":\"tool\",\"target\":\"li\\nnt\",\"outcome\":"     \
    "\"ok\""
#define TAIL ",\"duration_ms\":12.345,\"bytes_in\":4,\"bytes_out\":20"

static void a_line_says_who_what_and_how_it_ended(void **state)
{
    CallResult fine = {.kind = CALL_RESULT_TOOL};
    CallResult late = {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_TIMEOUT};
    CallResult own = {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_OWN, .wire_code = -32042};
    Call call;

    (void)state;
    call_init(&call);
    call.asker = &asker;
    call.target = SPAN("li\nnt");
    call.asked_text = SPAN("{\"a\":1}");
    expect_line(&call, &fine, false, 0, HEAD TAIL "}\n");
    expect_line(&call, NULL, false, 0, HEAD TAIL "}\n");
    expect_line(&call, &late, false, 0, HEAD ",\"error\":\"timeout\"" TAIL "}\n");
    expect_line(&call, &own, false, 0, HEAD ",\"error\":\"own\",\"code\":-32042" TAIL "}\n");
    own.wire_code = 0;
    expect_line(&call, &own, false, 0, HEAD ",\"error\":\"own\"" TAIL "}\n");
    own.is_relayed = true;
    expect_line(&call, &own, false, 0, HEAD ",\"error\":\"own\",\"code\":0" TAIL "}\n");
    expect_line(&call, &fine, false, 3, HEAD TAIL ",\"dropped\":3}\n");
    expect_line(&call, &fine, true, 0, HEAD TAIL ",\"arguments\":{\"a\":1}}\n");
    call.asked_text = SPAN_NULL;
    expect_line(&call, &fine, true, 0, HEAD TAIL ",\"arguments_left_out\":true}\n");
    call_deinit(&call);
}

static void every_error_has_a_name(void **state)
{
    Call call;
    Bytes out;

    (void)state;
    call_init(&call);
    bytes_init(&out, 1 << 16);
    for (int error = 0; error < CALL_N_ERRORS; error++) {
        CallResult result = {.kind = CALL_RESULT_ERROR, .error = (CallError)error};

        bytes_clear(&out);
        assert_int_equal(audit_line_write(&out, NOW_MS, &call, &result, &end, false, 0), 0);
        assert_int_equal(bytes_append_byte(&out, '\0'), 0);
        assert_non_null(strstr(out.data, "\"error\":\""));
        assert_null(strstr(out.data, "\"error\":\"\""));
    }
    bytes_deinit(&out);
    call_deinit(&call);
}

static void long_targets_are_cut_between_characters(void **state)
{
    char target[2000];
    Call call;
    Bytes out;
    JsonDoc doc;
    Arena arena;
    JsonValue value;
    Span text;

    (void)state;
    /* One byte, and then pairs: the limit falls into one of them. */
    target[0] = 'a';
    for (size_t i = 1; i + 1 < sizeof(target); i += 2) {
        memcpy(target + i, "\xc3\xa9", 2);
    }
    call_init(&call);
    call.target = span_make(target, sizeof(target) - 1);
    bytes_init(&out, 1 << 16);
    assert_int_equal(audit_line_write(&out, NOW_MS, &call, NULL, &end, false, 0), 0);
    arena_init(&arena, 1 << 16);
    assert_int_equal(json_parse(&doc, &arena, out.data, out.n - 1, NULL, NULL), 0);
    assert_true(json_get(json_root(&doc), SPAN("target"), &value));
    assert_int_equal(json_string(value, &arena, &text), 0);
    assert_int_equal(text.n, LIMIT_AUDIT_TARGET_BYTES - 1);
    assert_memory_equal(text.p, target, text.n);
    arena_deinit(&arena);
    bytes_deinit(&out);
    call_deinit(&call);
}

static void what_does_not_fit_leaves_nothing(void **state)
{
    Call call;
    Bytes whole;

    (void)state;
    call_init(&call);
    bytes_init(&whole, 1 << 16);
    assert_int_equal(audit_line_write(&whole, NOW_MS, &call, NULL, &end, false, 0), 0);
    for (size_t max = 0; max < whole.n; max++) {
        Bytes out;

        bytes_init(&out, max + 2);
        assert_int_equal(bytes_append(&out, "x\n", 2), 0);
        assert_int_equal(audit_line_write(&out, NOW_MS, &call, NULL, &end, false, 0), BYTES_E_FULL);
        assert_int_equal(out.n, 2);
        bytes_deinit(&out);
    }
    bytes_deinit(&whole);
    call_deinit(&call);
}

static void lost_lines_have_a_line_of_their_own(void **state)
{
    Bytes out;

    (void)state;
    bytes_init(&out, 1 << 10);
    assert_int_equal(audit_line_write_dropped(&out, NOW_MS, 12), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    assert_string_equal(out.data, "{\"time\":\"2025-01-15T10:30:00.125Z\",\"dropped\":12}\n");
    bytes_deinit(&out);
}

/* ---- secrets ---- */

static int mask(const char *text, Bytes *out)
{
    JsonDoc doc;
    Arena arena;
    int r;

    arena_init(&arena, 1 << 20);
    r = json_parse(&doc, &arena, text, strlen(text), NULL, NULL);
    if (r == 0) {
        r = audit_mask(out, json_root(&doc));
    }
    arena_deinit(&arena);
    return r;
}

static void secrets_are_masked_wherever_they_are(void **state)
{
    static const struct {
        const char *from;
        const char *to;
    } cases[] = {
        {"{}", "{}"},
        {"{\"a\":1}", "{\"a\":1}"},
        {"{\"token\":\"abc\"}", "{\"token\":\"***\"}"},
        {"{ \"api_Key\" : \"abc\" , \"b\" : 2 }", "{\"api_Key\":\"***\",\"b\":2}"},
        {"{\"x\":{\"y\":[{\"PASSWORD\":\"p\"},{\"secrets\":{\"a\":[1,2]}}]},\"z\":3}",
         "{\"x\":{\"y\":[{\"PASSWORD\":\"***\"},{\"secrets\":\"***\"}]},\"z\":3}"},
        {"{\"authorization\":[1,{\"b\":2}],\"Authorization\":null}",
         "{\"authorization\":\"***\",\"Authorization\":\"***\"}"},
        {"{\"secret\":{\"token\":\"x\",\"b\":1},\"c\":2}", "{\"secret\":\"***\",\"c\":2}"},
        /* Values are no names. */
        {"{\"a\":\"token\",\"b\":[\"password\",\"key\"]}",
         "{\"a\":\"token\",\"b\":[\"password\",\"key\"]}"},
        /* Escaped names are decoded. */
        {"{\"pass\\u0077ord\":\"p\"}", "{\"pass\\u0077ord\":\"***\"}"},
        {"{\"na\\u006de\":\"p\"}", "{\"na\\u006de\":\"p\"}"},
        /* One line, and strings are left as they are. */
        {"{\r\n\t\"a\" : \"b \\\" c\\\\\" ,\n\"d\" : [ 1 , \" \" ]\n}",
         "{\"a\":\"b \\\" c\\\\\",\"d\":[1,\" \"]}"},
        {"{\"a\":\":\",\"b\":\"x\"}", "{\"a\":\":\",\"b\":\"x\"}"},
        {"{\"cookie\":\n{\"deep\":1}\n}", "{\"cookie\":\"***\"}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Bytes out;

        bytes_init(&out, 1 << 16);
        assert_int_equal(mask(cases[i].from, &out), 0);
        assert_int_equal(bytes_append_byte(&out, '\0'), 0);
        assert_string_equal(out.data, cases[i].to);
        bytes_deinit(&out);
    }
}

static void a_long_escaped_name_is_taken_for_a_secret(void **state)
{
    char text[600];
    Bytes out;

    (void)state;
    memset(text, 'x', sizeof(text));
    memcpy(text, "{\"\\u0061", 8);
    memcpy(text + 500, "\":12345}", 9);
    bytes_init(&out, 1 << 16);
    assert_int_equal(mask(text, &out), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    assert_null(strstr(out.data, "12345"));
    bytes_deinit(&out);
}

static void names_are_judged_by_the_words_in_them(void **state)
{
    static const char *const secret[] = {"token",       "accessToken", "API_KEY", "db-password",
                                         "passwd",      "my.secret",   "Cookie",  "x-authorization",
                                         "credentials", "passphrase"};
    static const char *const harmless[] = {"", "name", "path", "tok", "ke", "pass", "author"};

    (void)state;
    for (size_t i = 0; i < sizeof(secret) / sizeof(secret[0]); i++) {
        assert_true(audit_is_secret(span_from_str(secret[i])));
    }
    for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
        assert_false(audit_is_secret(span_from_str(harmless[i])));
    }
}

static void a_mask_that_does_not_fit_leaves_nothing(void **state)
{
    static const char text[] = "{ \"key\" : 1 , \"b\" : 2 }";
    size_t n = strlen("{\"key\":\"***\",\"b\":2}");

    (void)state;
    for (size_t max = 0; max <= n; max++) {
        Bytes out;

        bytes_init(&out, max);
        assert_int_equal(mask(text, &out), max == n ? 0 : BYTES_E_FULL);
        assert_int_equal(out.n, max == n ? n : 0);
        bytes_deinit(&out);
    }
}

static int scenario(void *context)
{
    Call call;
    Bytes out;
    int r;

    (void)context;
    call_init(&call);
    bytes_init(&out, 1 << 16);
    r = mask("{\"token\":1}", &out);
    if (r == 0) {
        r = audit_line_write(&out, NOW_MS, &call, NULL, &end, false, 0);
    }
    bytes_deinit(&out);
    call_deinit(&call);
    return r;
}

static void every_lack_of_memory_is_told(void **state)
{
    (void)state;
    test_oom_sweep(scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_says_who_what_and_how_it_ended),
        cmocka_unit_test(every_error_has_a_name),
        cmocka_unit_test(long_targets_are_cut_between_characters),
        cmocka_unit_test(what_does_not_fit_leaves_nothing),
        cmocka_unit_test(lost_lines_have_a_line_of_their_own),
        cmocka_unit_test(secrets_are_masked_wherever_they_are),
        cmocka_unit_test(a_long_escaped_name_is_taken_for_a_secret),
        cmocka_unit_test(names_are_judged_by_the_words_in_them),
        cmocka_unit_test(a_mask_that_does_not_fit_leaves_nothing),
        cmocka_unit_test(every_lack_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
