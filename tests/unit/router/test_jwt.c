#include "unit/router/jwt_rig.h"

#include "base/limits.h"
#include "router/jwt.h"
#include "support/guard.h"
#include "support/oom_sweep.h"

/* Of the tests. */
#define NOW 1700000000

#define ISSUER   "https://issuer.example"
#define RESOURCE "https://hub.example/mcp"
#define HEADER   "{\"alg\":\"ES256\",\"typ\":\"at+jwt\",\"kid\":\"k1\"}"

/* All that a token needs, and the times as texts. */
#define CLAIMS_WITH(more)                                                                          \
    "{\"iss\":\"" ISSUER "\",\"aud\":\"" RESOURCE "\",\"sub\":\"alice\"" more "}"
#define CLAIMS CLAIMS_WITH(",\"exp\":1700000300,\"iat\":1699999990")

typedef struct Fixture {
    RigText text;
    Arena arena;
    JwtKeys *keys[2];
    JwtIssuer issuers[2];
    JwtTerms terms;
    JwtClaims claims;
    JwtFault fault;
} Fixture;

static void fixture_init(Fixture *f)
{
    *f = (Fixture){.fault = JWT_FAULT_NONE};
    arena_init(&f->arena, JWT_ARENA_BYTES);
    rig_set(&f->text, RIG_P256, "\"kid\":\"k1\",");
    assert_int_equal(jwt_keys_new(&f->keys[0], span_from_str(f->text.s), NULL), 0);
    rig_set(&f->text, RIG_P256_OTHER, "\"kid\":\"k1\",");
    assert_int_equal(jwt_keys_new(&f->keys[1], span_from_str(f->text.s), NULL), 0);
    f->issuers[0] = (JwtIssuer){SPAN(ISSUER), f->keys[0]};
    f->issuers[1] = (JwtIssuer){SPAN("https://second.example"), f->keys[1]};
    f->terms = (JwtTerms){f->issuers, 2, SPAN(RESOURCE)};
}

static void fixture_deinit(Fixture *f)
{
    f->keys[0] = jwt_keys_free(f->keys[0]);
    f->keys[1] = jwt_keys_free(f->keys[1]);
    arena_deinit(&f->arena);
}

static int check_at(Fixture *f, const char *token, int64_t now_s)
{
    GuardBuffer guarded = guard_copy(token, strlen(token));
    int r;

    arena_reset(&f->arena, 0);
    f->claims = (JwtClaims){.issuer = 99};
    f->fault = JWT_FAULT_NONE;
    r = jwt_check(span_make(guarded.p, guarded.n), &f->terms, now_s, &f->arena, &f->claims,
                  &f->fault);
    /* Nothing of the claims may point at the token. */
    guard_free(&guarded);
    assert_true(r == 0 || f->claims.issuer == 99);
    assert_true((r == JWT_E_REFUSED) == (f->fault != JWT_FAULT_NONE));
    return r;
}

/* The fault of a token; NONE if it is good. */
static JwtFault fault_of(Fixture *f, const char *header, const char *claims)
{
    int r = check_at(f, rig_sign(&f->text, RIG_P256, "ES256", header, claims), NOW);

    assert_true(r == 0 || r == JWT_E_REFUSED);
    return f->fault;
}

static void a_good_token_says_who_asks(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f);
    assert_int_equal(fault_of(&f, HEADER, CLAIMS), JWT_FAULT_NONE);
    assert_int_equal(f.claims.issuer, 0);
    assert_true(span_equals(f.claims.subject, SPAN("alice")));
    assert_int_equal(f.claims.scopes.n, 0);
    /* Escapes are what they stand for. */
    assert_int_equal(fault_of(&f, "{\"\\u0061lg\":\"ES25\\u0036\",\"kid\":\"\\u006b1\"}",
                              "{\"\\u0069ss\":\"https:\\/\\/issuer.example\",\"aud\":\"https:\\/"
                              "\\/hub.example\\/mcp\",\"sub\":\"b\\u006fb\",\"exp\":1700000300}"),
                     JWT_FAULT_NONE);
    assert_true(span_equals(f.claims.subject, SPAN("bob")));
    fixture_deinit(&f);
}

static void each_issuer_has_keys_of_its_own(void **state)
{
    static const char second[] = "{\"iss\":\"https://second.example\",\"aud\":\"" RESOURCE
                                 "\",\"sub\":\"alice\",\"exp\":1700000300}";
    Fixture f;

    (void)state;
    fixture_init(&f);
    assert_int_equal(check_at(&f, rig_sign(&f.text, RIG_P256_OTHER, "ES256", HEADER, second), NOW),
                     0);
    assert_int_equal(f.claims.issuer, 1);
    /* A key of one says nothing about tokens that name the other. */
    assert_int_equal(fault_of(&f, HEADER, second), JWT_FAULT_SIGNATURE);
    assert_int_equal(check_at(&f, rig_sign(&f.text, RIG_P256_OTHER, "ES256", HEADER, CLAIMS), NOW),
                     JWT_E_REFUSED);
    assert_int_equal(f.fault, JWT_FAULT_SIGNATURE);
    fixture_deinit(&f);
}

static void headers_that_are_refused(void **state)
{
    static const struct {
        const char *header;
        JwtFault fault;
    } cases[] = {
        {"{\"alg\":\"none\",\"kid\":\"k1\"}", JWT_FAULT_ALG},
        {"{\"alg\":\"None\"}", JWT_FAULT_ALG},
        {"{\"alg\":\"HS256\",\"kid\":\"k1\"}", JWT_FAULT_ALG},
        {"{\"alg\":\"es256\"}", JWT_FAULT_ALG},
        {"{\"alg\":\"ES256K\"}", JWT_FAULT_ALG},
        {"{\"alg\":\"\"}", JWT_FAULT_ALG},
        {"{}", JWT_FAULT_ALG},
        {"{\"alg\":256}", JWT_FAULT_HEADER},
        {"{\"alg\":null}", JWT_FAULT_HEADER},
        {"{\"alg\":[\"ES256\"]}", JWT_FAULT_HEADER},
        {"{\"alg\":\"RS256\",\"kid\":\"k1\"}", JWT_FAULT_KEY},
        {"{\"alg\":\"ES384\",\"kid\":\"k1\"}", JWT_FAULT_KEY},
        {"{\"alg\":\"EdDSA\"}", JWT_FAULT_KEY},
        {"{\"alg\":\"ES256\",\"kid\":\"k2\"}", JWT_FAULT_KEY},
        {"{\"alg\":\"ES256\",\"kid\":\"\"}", JWT_FAULT_KEY},
        {"{\"alg\":\"ES256\",\"kid\":\"k1\\u0000\"}", JWT_FAULT_KEY},
        {"{\"alg\":\"ES256\",\"kid\":1}", JWT_FAULT_HEADER},
        {"{\"alg\":\"ES256\",\"crit\":[\"exp\"]}", JWT_FAULT_CRIT},
        {"{\"alg\":\"ES256\",\"crit\":[]}", JWT_FAULT_CRIT},
        {"{\"alg\":\"ES256\",\"b64\":false,\"crit\":[\"b64\"]}", JWT_FAULT_CRIT},
        {"{\"alg\":\"ES256\",\"typ\":\"id+jwt\"}", JWT_FAULT_TYPE},
        {"{\"alg\":\"ES256\",\"typ\":\"dpop+jwt\"}", JWT_FAULT_TYPE},
        {"{\"alg\":\"ES256\",\"typ\":\"\"}", JWT_FAULT_TYPE},
        {"{\"alg\":\"ES256\",\"typ\":1}", JWT_FAULT_HEADER},
        {"{\"alg\":\"ES256\",\"cty\":\"JWT\"}", JWT_FAULT_TYPE},
        {"{\"alg\":\"ES256\",\"alg\":\"ES256\"}", JWT_FAULT_REPEATED},
        {"{\"alg\":\"none\",\"\\u0061lg\":\"ES256\"}", JWT_FAULT_REPEATED},
        {"{\"alg\":\"ES256\",\"x\":1,\"y\":2,\"x\":1}", JWT_FAULT_REPEATED},
        {"[\"ES256\"]", JWT_FAULT_HEADER},
        {"\"ES256\"", JWT_FAULT_HEADER},
        {"{\"alg\":\"ES256\"", JWT_FAULT_HEADER},
        {"{\"alg\":\"ES256\"} ,", JWT_FAULT_HEADER},
        {"", JWT_FAULT_HEADER},
        {"{\"alg\":\"ES256\",\"typ\":\"JWT\"}", JWT_FAULT_NONE},
        {"{\"alg\":\"ES256\",\"typ\":\"jwt\"}", JWT_FAULT_NONE},
        {"{\"alg\":\"ES256\",\"typ\":\"application/AT+JWT\"}", JWT_FAULT_NONE},
        {"{\"alg\":\"ES256\"}", JWT_FAULT_NONE},
    };
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        JwtFault fault = fault_of(&f, cases[i].header, CLAIMS);

        if (fault != cases[i].fault) {
            fail_msg("%s: %d, not %d", cases[i].header, (int)fault, (int)cases[i].fault);
        }
    }
    fixture_deinit(&f);
}

/* What a token says about its key is not believed: the attacker's own key, in all places. */
static void keys_inside_a_token_are_not_used(void **state)
{
    RigText header = {"{\"alg\":\"ES256\",\"jku\":\"https://evil.example\",\"jwk\":"};
    Fixture f;

    (void)state;
    fixture_init(&f);
    rig_add_jwk(header.s, rig_keys[RIG_P256_OTHER], "\"kid\":\"k1\",");
    rig_add(header.s, ",\"kid\":\"k1\"}");
    assert_int_equal(
        check_at(&f, rig_sign(&f.text, RIG_P256_OTHER, "ES256", header.s, CLAIMS), NOW),
        JWT_E_REFUSED);
    assert_int_equal(f.fault, JWT_FAULT_SIGNATURE);
    fixture_deinit(&f);
}

static void claims_that_are_refused(void **state)
{
#define EXP           ",\"exp\":1700000300"
#define FOR(iss, aud) "{\"iss\":" iss ",\"aud\":" aud ",\"sub\":\"alice\"" EXP "}"
    static const struct {
        const char *claims;
        JwtFault fault;
    } cases[] = {
        {FOR("\"https://issuer.example/\"", "\"" RESOURCE "\""), JWT_FAULT_ISSUER},
        {FOR("\"https://Issuer.example\"", "\"" RESOURCE "\""), JWT_FAULT_ISSUER},
        {FOR("\"https://issuer.exampl\"", "\"" RESOURCE "\""), JWT_FAULT_ISSUER},
        {FOR("\"\"", "\"" RESOURCE "\""), JWT_FAULT_ISSUER},
        {FOR("[\"" ISSUER "\"]", "\"" RESOURCE "\""), JWT_FAULT_CLAIMS},
        {FOR("null", "\"" RESOURCE "\""), JWT_FAULT_CLAIMS},
        {"{\"aud\":\"" RESOURCE "\",\"sub\":\"alice\"" EXP "}", JWT_FAULT_CLAIMS},
        {FOR("\"" ISSUER "\"", "\"https://hub.example/mcp/\""), JWT_FAULT_AUDIENCE},
        {FOR("\"" ISSUER "\"", "\"https://hub.example\""), JWT_FAULT_AUDIENCE},
        {FOR("\"" ISSUER "\"", "\"x " RESOURCE "\""), JWT_FAULT_AUDIENCE},
        {FOR("\"" ISSUER "\"", "\"\""), JWT_FAULT_AUDIENCE},
        {FOR("\"" ISSUER "\"", "[]"), JWT_FAULT_AUDIENCE},
        {FOR("\"" ISSUER "\"", "[\"a\",[\"" RESOURCE "\"]]"), JWT_FAULT_AUDIENCE},
        {FOR("\"" ISSUER "\"", "{\"a\":\"" RESOURCE "\"}"), JWT_FAULT_CLAIMS},
        {FOR("\"" ISSUER "\"", "null"), JWT_FAULT_CLAIMS},
        {FOR("\"" ISSUER "\"", "[\"a\",\"" RESOURCE "\"]"), JWT_FAULT_NONE},
        {FOR("\"" ISSUER "\"", "[1,null,\"" RESOURCE "\"]"), JWT_FAULT_NONE},
        {"{\"iss\":\"" ISSUER "\",\"sub\":\"alice\"" EXP "}", JWT_FAULT_CLAIMS},
        {"{\"iss\":\"" ISSUER "\",\"aud\":\"" RESOURCE "\"" EXP "}", JWT_FAULT_CLAIMS},
        {"{\"iss\":\"" ISSUER "\",\"aud\":\"" RESOURCE "\",\"sub\":\"\"" EXP "}", JWT_FAULT_CLAIMS},
        {"{\"iss\":\"" ISSUER "\",\"aud\":\"" RESOURCE "\",\"sub\":7" EXP "}", JWT_FAULT_CLAIMS},
        {CLAIMS_WITH(EXP ",\"sub\":\"root\""), JWT_FAULT_REPEATED},
        {CLAIMS_WITH(EXP ",\"s\\u0075b\":\"root\""), JWT_FAULT_REPEATED},
        {CLAIMS_WITH(EXP ",\"nested\":{\"sub\":\"a\",\"sub\":\"b\"}"), JWT_FAULT_NONE},
        {"[" CLAIMS "]", JWT_FAULT_CLAIMS},
        {"null", JWT_FAULT_CLAIMS},
        {CLAIMS "x", JWT_FAULT_CLAIMS},
        {"", JWT_FAULT_CLAIMS},
        {CLAIMS_WITH(EXP ",\"scope\":[\"a\"]"), JWT_FAULT_CLAIMS},
        {CLAIMS_WITH(EXP ",\"scp\":[\"a\",1]"), JWT_FAULT_CLAIMS},
        {CLAIMS_WITH(EXP ",\"scp\":[\"a b\"]"), JWT_FAULT_CLAIMS},
        {CLAIMS_WITH(EXP ",\"scp\":[\"\"]"), JWT_FAULT_CLAIMS},
        {CLAIMS_WITH(EXP ",\"scp\":7"), JWT_FAULT_CLAIMS},
    };
#undef FOR
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        JwtFault fault = fault_of(&f, HEADER, cases[i].claims);

        if (fault != cases[i].fault) {
            fail_msg("%s: %d, not %d", cases[i].claims, (int)fault, (int)cases[i].fault);
        }
    }
    fixture_deinit(&f);
}

static void times_are_given_a_minute(void **state)
{
    static const struct {
        const char *times;
        int64_t now_s;
        JwtFault fault;
    } cases[] = {
        {"\"exp\":1000", 1059, JWT_FAULT_NONE},
        {"\"exp\":1000", 1060, JWT_FAULT_EXPIRED},
        {"\"exp\":1000.5", 1060, JWT_FAULT_NONE},
        {"\"exp\":1e3", 1060, JWT_FAULT_EXPIRED},
        {"\"exp\":-5", 100, JWT_FAULT_EXPIRED},
        {"\"exp\":1e300", 1060, JWT_FAULT_NONE},
        {"\"exp\":1e999", 1060, JWT_FAULT_CLAIMS},
        {"\"exp\":\"9999999999\"", 1060, JWT_FAULT_CLAIMS},
        {"\"exp\":null", 1060, JWT_FAULT_CLAIMS},
        {"\"exp\":true", 1060, JWT_FAULT_CLAIMS},
        {"\"iat\":1000", 1000, JWT_FAULT_CLAIMS},
        {"\"exp\":9000,\"nbf\":1000", 940, JWT_FAULT_NONE},
        {"\"exp\":9000,\"nbf\":1000", 939, JWT_FAULT_NOT_YET},
        {"\"exp\":9000,\"nbf\":\"0\"", 2000, JWT_FAULT_CLAIMS},
        {"\"exp\":9000,\"iat\":1000", 940, JWT_FAULT_NONE},
        {"\"exp\":9000,\"iat\":1000", 939, JWT_FAULT_NOT_YET},
        {"\"exp\":9000,\"iat\":{}", 2000, JWT_FAULT_CLAIMS},
        {"\"exp\":9000,\"iat\":1000,\"nbf\":5000", 2000, JWT_FAULT_NOT_YET},
    };
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        char claims[512];

        (void)snprintf(claims, sizeof(claims), CLAIMS_WITH(",%s"), cases[i].times);
        (void)check_at(&f, rig_sign(&f.text, RIG_P256, "ES256", HEADER, claims), cases[i].now_s);
        if (f.fault != cases[i].fault) {
            fail_msg("%s: %d, not %d", claims, (int)f.fault, (int)cases[i].fault);
        }
    }
    fixture_deinit(&f);
}

static void it_is_said_how_long_they_are_believed(void **state)
{
    static const struct {
        const char *exp;
        int64_t end_s;
    } cases[] = {
        {"1000", 1060}, {"1000.5", 1061}, {"253402300799", INT64_MAX}, {"1e300", INT64_MAX}};
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        char claims[512];

        (void)snprintf(claims, sizeof(claims), CLAIMS_WITH(",\"exp\":%s"), cases[i].exp);
        assert_int_equal(check_at(&f, rig_sign(&f.text, RIG_P256, "ES256", HEADER, claims), 1000),
                         0);
        assert_true(f.claims.end_s == cases[i].end_s);
    }
    fixture_deinit(&f);
}

static void scopes_are_words(void **state)
{
    static const struct {
        const char *more;
        const char *scopes;
    } cases[] = {
        {"\"scope\":\"tools:read tools:call\"", "tools:read tools:call"},
        {"\"scp\":\"tools:read tools:call\"", "tools:read tools:call"},
        {"\"scp\":[\"tools:read\",\"tools:call\"]", "tools:read tools:call"},
        {"\"scp\":[\"tools:re\\u0061d\"]", "tools:read"},
        {"\"scp\":[]", ""},
        {"\"scope\":\"a\",\"scp\":[\"tools:read\"]", "a"},
    };
    JwtClaims claims = {.scopes = SPAN("tools:read  tools:call x")};
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        char text[512];

        (void)snprintf(text, sizeof(text), CLAIMS_WITH(",\"exp\":1700000300,%s"), cases[i].more);
        assert_int_equal(fault_of(&f, HEADER, text), JWT_FAULT_NONE);
        assert_int_equal(f.claims.scopes.n, strlen(cases[i].scopes));
        assert_memory_equal(f.claims.scopes.p, cases[i].scopes, f.claims.scopes.n);
    }
    assert_true(jwt_has_scope(&claims, SPAN("tools:read")));
    assert_true(jwt_has_scope(&claims, SPAN("tools:call")));
    assert_true(jwt_has_scope(&claims, SPAN("x")));
    assert_false(jwt_has_scope(&claims, SPAN("tools")));
    assert_false(jwt_has_scope(&claims, SPAN("tools:read  tools:call")));
    assert_false(jwt_has_scope(&claims, SPAN("tools:calls")));
    fixture_deinit(&f);
}

/* ---- form ---- */

static void what_is_no_token_is_refused(void **state)
{
    static const char *const texts[] = {
        "",           ".",          "..",        "...",         "a.b",
        "a.b.c.d.e",  "e30.e30",    "e30.e30.",  "e30.e30.e30", "e30..",
        ".e30.",      "..e30",      "e30=.e30.", "e3 0.e30.",   "e+0.e30.",
        "e/0.e30.",   "e.e30.",     "e31.e30.",  "%65.e30.e30", "{\"alg\":1}",
        "e30\n.e30.", "e30.e30.\n",
    };
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (size_t i = 0; i < TW_ARRAY_SIZE(texts); i++) {
        if (check_at(&f, texts[i], NOW) != JWT_E_REFUSED || f.fault == JWT_FAULT_SIGNATURE) {
            fail_msg("%s: %d", texts[i], (int)f.fault);
        }
    }
    fixture_deinit(&f);
}

/* Of a good token: each byte changed, each byte dropped, each place to cut it. */
static void nothing_of_a_token_can_be_changed(void **state)
{
    RigText good;
    RigText bad;
    Fixture f;
    size_t n;

    (void)state;
    fixture_init(&f);
    rig_sign(&good, RIG_P256, "ES256", HEADER, CLAIMS);
    assert_int_equal(check_at(&f, good.s, NOW), 0);
    n = strlen(good.s);
    for (size_t i = 0; i < n; i++) {
        memcpy(bad.s, good.s, n + 1);
        bad.s[i] = bad.s[i] == 'A' ? 'B' : 'A';
        assert_int_equal(check_at(&f, bad.s, NOW), JWT_E_REFUSED);
        memmove(bad.s + i, good.s + i + 1, n - i);
        assert_int_equal(check_at(&f, bad.s, NOW), JWT_E_REFUSED);
        memcpy(bad.s, good.s, i);
        bad.s[i] = '\0';
        assert_int_equal(check_at(&f, bad.s, NOW), JWT_E_REFUSED);
    }
    (void)snprintf(bad.s, sizeof(bad.s), "%.30000sA", good.s);
    assert_int_equal(check_at(&f, bad.s, NOW), JWT_E_REFUSED);
    (void)snprintf(bad.s, sizeof(bad.s), "%.30000s=", good.s);
    assert_int_equal(check_at(&f, bad.s, NOW), JWT_E_REFUSED);
    (void)snprintf(bad.s, sizeof(bad.s), "%.30000s.", good.s);
    assert_int_equal(check_at(&f, bad.s, NOW), JWT_E_REFUSED);
    fixture_deinit(&f);
}

/* Claims with n more members, or with a text of so many bytes, or so deep. */
static void limits_hold(void **state)
{
    RigText claims;
    Fixture f;
    size_t n;

    (void)state;
    fixture_init(&f);
    for (size_t more = LIMIT_JWT_MEMBERS - 4; more <= LIMIT_JWT_MEMBERS - 3; more++) {
        (void)snprintf(claims.s, sizeof(claims.s), "%.*s", (int)strlen(CLAIMS_WITH(EXP)) - 1,
                       CLAIMS_WITH(EXP));
        for (size_t i = 0; i < more; i++) {
            char member[32];

            (void)snprintf(member, sizeof(member), ",\"m%zu\":0", i);
            rig_add(claims.s, member);
        }
        rig_add(claims.s, "}");
        assert_int_equal(fault_of(&f, HEADER, claims.s),
                         more == LIMIT_JWT_MEMBERS - 4 ? JWT_FAULT_NONE : JWT_FAULT_REPEATED);
    }
    for (size_t depth = LIMIT_JWT_DEPTH - 1; depth <= LIMIT_JWT_DEPTH; depth++) {
        (void)snprintf(claims.s, sizeof(claims.s), CLAIMS_WITH(EXP ",\"deep\":%.*s%.*s"),
                       (int)depth, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", (int)depth,
                       "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
        assert_int_equal(fault_of(&f, HEADER, claims.s),
                         depth < LIMIT_JWT_DEPTH ? JWT_FAULT_NONE : JWT_FAULT_CLAIMS);
    }
    /* As long as it may be, and longer. */
    (void)snprintf(claims.s, sizeof(claims.s), CLAIMS_WITH(EXP ",\"long\":\"%0*d\""), 11900, 0);
    assert_int_equal(fault_of(&f, HEADER, claims.s), JWT_FAULT_NONE);
    n = strlen(f.text.s);
    assert_true(n <= LIMIT_JWT_BYTES && n > LIMIT_JWT_BYTES - 512);
    (void)snprintf(claims.s, sizeof(claims.s), CLAIMS_WITH(EXP ",\"long\":\"%0*d\""), 12300, 0);
    assert_int_equal(fault_of(&f, HEADER, claims.s), JWT_FAULT_LENGTH);
    fixture_deinit(&f);
}

static int check_without_memory(void *context)
{
    Fixture *f = context;
    int r = check_at(f, f->text.s, NOW);

    arena_deinit(&f->arena);
    arena_init(&f->arena, JWT_ARENA_BYTES);
    return r;
}

static void without_memory_nothing_leaks(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f);
    rig_sign(&f.text, RIG_P256, "ES256", HEADER,
             CLAIMS_WITH(EXP ",\"scp\":[\"a\\u0061\",\"b\"],\"x\":\"\\n\""));
    arena_deinit(&f.arena);
    arena_init(&f.arena, JWT_ARENA_BYTES);
    test_oom_sweep(check_without_memory, &f);
    fixture_deinit(&f);
}

static void each_fault_has_words_that_can_be_quoted(void **state)
{
    (void)state;
    for (int fault = JWT_FAULT_NONE + 1; fault < JWT_N_FAULTS; fault++) {
        const char *text = jwt_fault_text((JwtFault)fault);

        assert_non_null(text);
        assert_true(strlen(text) > 10 && strpbrk(text, "\"\\") == NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_token_says_who_asks),
        cmocka_unit_test(each_issuer_has_keys_of_its_own),
        cmocka_unit_test(headers_that_are_refused),
        cmocka_unit_test(keys_inside_a_token_are_not_used),
        cmocka_unit_test(claims_that_are_refused),
        cmocka_unit_test(times_are_given_a_minute),
        cmocka_unit_test(it_is_said_how_long_they_are_believed),
        cmocka_unit_test(scopes_are_words),
        cmocka_unit_test(what_is_no_token_is_refused),
        cmocka_unit_test(nothing_of_a_token_can_be_changed),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(without_memory_nothing_leaks),
        cmocka_unit_test(each_fault_has_words_that_can_be_quoted),
    };

    return cmocka_run_group_tests(tests, rig_make_keys, rig_free_keys);
}
