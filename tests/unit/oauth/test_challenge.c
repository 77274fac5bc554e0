#include "support/cmocka.h"

#include <string.h>

#include "oauth/challenge.h"
#include "support/guard.h"
#include "support/oom_sweep.h"

static void challenges_are_read_in_every_spelling(void **state)
{
    static const struct {
        const char *field;
        bool is_there, is_dpop;
        const char *metadata, *scope, *error;
    } cases[] = {
        {"Bearer resource_metadata=\"https://a/m\", scope=\"r w\"", true, false, "https://a/m",
         "r w", ""},
        {"bearer", true, false, "", "", ""},
        {"Bearer error=\"insufficient_scope\",scope=\"a\"", true, false, "", "a",
         "insufficient_scope"},
        {"Basic realm=\"x\", scope=\"no\", Bearer scope=\"yes\"", true, false, "", "yes", ""},
        {"Basic realm=\"Bearer scope=no\"", false, false, "", "", ""},
        {"Negotiate abc==, DPoP error=\"use_dpop_nonce\", algs=\"ES256\"", true, true, "", "",
         "use_dpop_nonce"},
        {"Bearer realm=\"a \\\"quoted\\\" , thing\", scope=x", true, false, "", "x", ""},
        {"Bearer resource_metadata=https://a/m?x=1, scope = \"b\"", true, false, "https://a/m?x=1",
         "b", ""},
        {"Bearer scope=\"first\", Bearer scope=\"second\"", true, false, "", "first", ""},
        {"Bearer error=\"invalid_token\", DPoP error=\"use_dpop_nonce\"", true, true, "", "",
         "use_dpop_nonce"},
        {"Bearer scope=\"never ends", true, false, "", "", ""},
        {"Bearer scope=\"ok\", \x01", true, false, "", "ok", ""},
        {",,, ,", false, false, "", "", ""},
        {"", false, false, "", "", ""},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        GuardBuffer guarded = guard_copy(cases[i].field, strlen(cases[i].field));
        Span field = span_make(guarded.p, guarded.n);
        OauthChallenge challenge;
        Arena arena;

        arena_init(&arena, 1 << 16);
        assert_int_equal(oauth_challenge_parse(&challenge, &arena, &field, 1), 0);
        assert_int_equal(challenge.is_there, cases[i].is_there);
        assert_int_equal(challenge.is_dpop, cases[i].is_dpop);
        assert_true(span_equals(challenge.resource_metadata, span_from_str(cases[i].metadata)));
        assert_true(span_equals(challenge.scope, span_from_str(cases[i].scope)));
        assert_true(span_equals(challenge.error, span_from_str(cases[i].error)));
        arena_deinit(&arena);
        guard_free(&guarded);
    }
}

static int two_fields(void *context)
{
    const Span fields[] = {SPAN("Basic realm=\"x\""), SPAN("Bearer scope=\"a\\b\", error=\"e\"")};
    OauthChallenge challenge;
    Arena arena;
    int r;

    (void)context;
    arena_init(&arena, 1 << 16);
    r = oauth_challenge_parse(&challenge, &arena, fields, 2);
    if (r == 0) {
        assert_true(span_equals(challenge.scope, SPAN("ab")));
    }
    arena_deinit(&arena);
    return r;
}

static void want_of_memory_is_reported(void **state)
{
    (void)state;
    test_oom_sweep(two_fields, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(challenges_are_read_in_every_spelling),
        cmocka_unit_test(want_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
