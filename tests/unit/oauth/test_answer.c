#include "support/cmocka.h"

#include <string.h>

#include "base/limits.h"
#include "oauth/answer.h"
#include "support/oom_sweep.h"

static int parse(unsigned status, const char *body, OauthToken *ret, Arena *arena, Diag *diag)
{
    arena_init(arena, LIMIT_OAUTH_ARENA_BYTES);
    *diag = DIAG_NULL;
    return oauth_token_parse(ret, arena, status, span_from_str(body), false, diag);
}

static void tokens_are_taken_in_the_spellings_of_servers(void **state)
{
    static const struct {
        unsigned status;
        const char *body;
        int r;
        int64_t expires_in;
        const char *error;
    } cases[] = {
        {200, "{\"access_token\":\"t\",\"token_type\":\"Bearer\",\"expires_in\":60}", 0, 60, ""},
        {200, "{\"access_token\":\"t\",\"token_type\":\"bearer\",\"expires_in\":\"60\"}", 0, 60,
         ""},
        {200, "{\"access_token\":\"t\",\"expires_in\":59.9}", 0, 59, ""},
        {200, "{\"access_token\":\"t\",\"expires_in\":-5}", 0, 0, ""},
        {200, "{\"access_token\":\"t\",\"token_type\":\"mac\"}", OAUTH_E_REFUSED, 0, ""},
        {200, "{\"access_token\":\"\"}", OAUTH_E_REFUSED, 0, ""},
        {200, "{\"access_token\":7}", OAUTH_E_REFUSED, 0, ""},
        {200, "{\"access_token\":\"a\\r\\nX-Evil: 1\"}", OAUTH_E_REFUSED, 0, ""},
        {200, "{\"access_token\":\"a b\"}", OAUTH_E_REFUSED, 0, ""},
        {200, "{\"error\":\"invalid_grant\"}", OAUTH_E_REFUSED, 0, "invalid_grant"},
        {400, "{\"error\":\"invalid_grant\",\"error_description\":\"\\u001b[31mno\"}",
         OAUTH_E_REFUSED, 0, "invalid_grant"},
        {400, "{\"access_token\":\"t\"}", OAUTH_E_REFUSED, 0, ""},
        {500, "<html>", OAUTH_E_REFUSED, 0, ""},
        {200, "", OAUTH_E_REFUSED, 0, ""},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        OauthToken token;
        Arena arena;
        Diag diag;

        assert_int_equal(parse(cases[i].status, cases[i].body, &token, &arena, &diag), cases[i].r);
        assert_true(span_equals(token.error, span_from_str(cases[i].error)));
        if (cases[i].r == 0) {
            assert_int_equal(token.expires_in, cases[i].expires_in);
        } else {
            assert_true(diag.message[0] != '\0');
            assert_null(strchr(diag.message, '\x1b'));
        }
        arena_deinit(&arena);
    }
}

static void registrations_give_a_client(void **state)
{
    OauthRegistration client;
    Arena arena;

    (void)state;
    arena_init(&arena, LIMIT_OAUTH_ARENA_BYTES);
    assert_int_equal(oauth_registration_parse(&client, &arena, 201,
                                              SPAN("{\"client_id\":\"c\",\"client_secret\":\"s\","
                                                   "\"client_secret_expires_at\":99}"),
                                              NULL),
                     0);
    assert_true(span_equals(client.client_id, SPAN("c")));
    assert_int_equal(client.expires_s, 99);
    assert_int_equal(oauth_registration_parse(&client, &arena, 201, SPAN("{}"), NULL),
                     OAUTH_E_REFUSED);
    assert_int_equal(
        oauth_registration_parse(&client, &arena, 403, SPAN("{\"error\":\"access_denied\"}"), NULL),
        OAUTH_E_REFUSED);
    arena_deinit(&arena);
}

static void redirects_are_ours_or_strangers_or_refused(void **state)
{
    static const struct {
        const char *query;
        const char *issuer;
        bool has_iss;
        int r;
    } cases[] = {
        {"code=c&state=S", "https://as", false, 0},
        {"code=c&state=S&iss=https%3A%2F%2Fas", "https://as", true, 0},
        {"code=c&state=S", "https://as", true, OAUTH_E_REFUSED},
        {"code=c&state=S&iss=https%3A%2F%2Fevil", "https://as", false, OAUTH_E_REFUSED},
        {"code=c&state=S&iss=https%3A%2F%2Fas%2F", "https://as", true, OAUTH_E_REFUSED},
        {"code=c&state=S&iss=https%3A%2F%2Fas&iss=x", "https://as", true, OAUTH_E_REFUSED},
        {"code=c&state=S&iss=https%3A%2F%2Fanybody", "", false, 0},
        {"error=access_denied&state=S", "https://as", false, OAUTH_E_REFUSED},
        {"error=access_denied&state=S&iss=https%3A%2F%2Fevil", "https://as", true, OAUTH_E_REFUSED},
        {"state=S", "https://as", false, OAUTH_E_REFUSED},
        {"code=c&code=d&state=S", "https://as", false, OAUTH_E_REFUSED},
        {"code=c&state=other", "https://as", false, OAUTH_E_STRANGER},
        {"code=c&state=S&state=S", "https://as", false, OAUTH_E_STRANGER},
        {"error=x", "https://as", false, OAUTH_E_STRANGER},
        {"", "https://as", false, OAUTH_E_STRANGER},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Span code = SPAN_NULL;
        Arena arena;

        arena_init(&arena, 1 << 20);
        assert_int_equal(oauth_redirect_check(&code, &arena, span_from_str(cases[i].query),
                                              SPAN("S"), span_from_str(cases[i].issuer),
                                              cases[i].has_iss, NULL),
                         cases[i].r);
        assert_int_equal(code.n, cases[i].r == 0 ? 1 : 0);
        arena_deinit(&arena);
    }
}

static int take_a_redirect(void *context)
{
    Span code;
    Arena arena;
    int r;

    (void)context;
    arena_init(&arena, 1 << 20);
    r = oauth_redirect_check(&code, &arena, SPAN("state=S&iss=i&code=c"), SPAN("S"), SPAN("i"),
                             true, NULL);
    arena_deinit(&arena);
    return r;
}

static void want_of_memory_is_reported(void **state)
{
    (void)state;
    test_oom_sweep(take_a_redirect, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_taken_in_the_spellings_of_servers),
        cmocka_unit_test(registrations_give_a_client),
        cmocka_unit_test(redirects_are_ours_or_strangers_or_refused),
        cmocka_unit_test(want_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
