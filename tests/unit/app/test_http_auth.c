#include "unit/router/jwt_rig.h"

#include "app/http_auth.h"
#include "router/jwt.h"
#include "support/oom_sweep.h"

#define NOW      1700000000
#define ISSUER   "https://issuer.example"
#define SECOND   "https://second.example"
#define RESOURCE "https://hub.example/mcp"
#define METADATA "https://hub.example/.well-known/oauth-protected-resource/mcp"
#define HEADER   "{\"alg\":\"ES256\"}"
#define CLAIMS(iss, sub, more)                                                                     \
    "{\"iss\":\"" iss "\",\"aud\":\"" RESOURCE "\",\"sub\":\"" sub "\",\"exp\":1700000300" more "}"

#define TOKEN "secret-token-of-the-test"

typedef struct Fixture {
    RigText sets[2];
    HttpAuthIssuer issuers[2];
    HttpAuth *auth;
    HttpGrant grant;
    HttpDenial denial;
} Fixture;

static const Span scopes[] = {SPAN_INIT("tools:read"), SPAN_INIT("tools:call")};

static HttpAuthConfig with_issuers(Fixture *f)
{
    f->issuers[0] =
        (HttpAuthIssuer){SPAN(ISSUER), span_from_str(rig_set(&f->sets[0], RIG_P256, ""))};
    f->issuers[1] =
        (HttpAuthIssuer){SPAN(SECOND), span_from_str(rig_set(&f->sets[1], RIG_P256_OTHER, ""))};
    return (HttpAuthConfig){.resource = SPAN(RESOURCE),
                            .issuers = f->issuers,
                            .n_issuers = 2,
                            .metadata_url = SPAN(METADATA)};
}

static void fixture_init(Fixture *f, HttpAuthConfig config)
{
    Diag diag = DIAG_NULL;

    f->auth = NULL;
    if (http_auth_new(&f->auth, &config, &diag) != 0) {
        fail_msg("%s", diag.message);
    }
}

static void fixture_deinit(Fixture *f)
{
    f->auth = http_auth_free(f->auth);
}

/* Checks a request with these fields and that query. */
static int check_fields(Fixture *f, const Http1Field *fields, size_t n, Span query)
{
    Http1Head head = {.fields = fields, .n_fields = n, .query = query};

    f->grant = (HttpGrant){.id = 7};
    f->denial = (HttpDenial){.status = 7};
    return http_auth_check(f->auth, &head, NOW, &f->grant, &f->denial);
}

static int check(Fixture *f, const char *authorization)
{
    Http1Field fields[] = {{SPAN("Host"), SPAN("h")},
                           {SPAN("authorization"), span_from_str(authorization)}};

    return check_fields(f, fields, 2, SPAN_NULL);
}

/* With an access token of these claims. */
static int check_claims(Fixture *f, RigKey key, const char *claims)
{
    RigText text;
    RigText field = {"Bearer "};

    rig_add(field.s, rig_sign(&text, key, "ES256", HEADER, claims));
    return check(f, field.s);
}

static void nothing_configured_lets_everybody_in(void **state)
{
    HttpGrant grant = {.id = 7};
    HttpDenial denial;
    Fixture f;

    (void)state;
    assert_int_equal(http_auth_check(NULL, &(Http1Head){.n_fields = 0}, NOW, &grant, &denial), 0);
    assert_int_equal(grant.id, 0);
    assert_string_equal(grant.subject, "");
    assert_false(http_auth_is_needed(NULL));
    assert_false(http_auth_has_issuers(NULL));
    fixture_init(&f, (HttpAuthConfig){.token = SPAN_NULL});
    assert_false(http_auth_is_needed(f.auth));
    assert_int_equal(check(&f, "Bearer whatever"), 0);
    assert_int_equal(f.grant.id, 0);
    fixture_deinit(&f);
    assert_null(http_auth_free(NULL));
}

static void the_token_must_be_the_whole_token(void **state)
{
    static const char *const wrong[] = {
        "Bearer secret-token-of-the-tes",
        "Bearer secret-token-of-the-test2",
        "Bearer Secret-token-of-the-test",
        "Bearer secret-token-of-the-tesu",
        "Bearer \"" TOKEN "\"",
        "Bearer " TOKEN " " TOKEN,
        "Bearer " TOKEN ",",
        "Bearer x",
    };
    static const char *const none[] = {
        "",    "Bearer",       "Bearer ",        "Bearer   ",   "Basic " TOKEN,
        TOKEN, "Bearer" TOKEN, "Bearer\t" TOKEN, "Bear " TOKEN, "Digest Bearer " TOKEN,
    };
    static const char *const right[] = {"Bearer " TOKEN, "bearer " TOKEN, "BEARER   " TOKEN};
    uint64_t id;
    Fixture f;

    (void)state;
    fixture_init(&f, (HttpAuthConfig){.token = SPAN(TOKEN), .metadata_url = SPAN(METADATA)});
    assert_true(http_auth_is_needed(f.auth));
    assert_false(http_auth_has_issuers(f.auth));
    for (size_t i = 0; i < TW_ARRAY_SIZE(right); i++) {
        assert_int_equal(check(&f, right[i]), 0);
        assert_string_equal(f.grant.subject, "");
        assert_true(f.grant.end_s == INT64_MAX);
        assert_true(f.grant.id != 0 && f.grant.id != 7);
        id = f.grant.id;
        assert_int_equal(check(&f, "Bearer " TOKEN), 0);
        assert_true(f.grant.id == id);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(wrong); i++) {
        assert_int_equal(check(&f, wrong[i]), HTTP_AUTH_E_DENIED);
        assert_int_equal(f.denial.status, 401);
        assert_string_equal(f.denial.challenge,
                            "Bearer realm=\"toolwire\", error=\"invalid_token\", "
                            "error_description=\"The bearer token is wrong\"");
        assert_int_equal(f.grant.id, 7);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(none); i++) {
        assert_int_equal(check(&f, none[i]), HTTP_AUTH_E_DENIED);
        assert_int_equal(f.denial.status, 401);
        assert_string_equal(f.denial.challenge, "Bearer realm=\"toolwire\"");
    }
    assert_int_equal(check_fields(&f, NULL, 0, SPAN_NULL), HTTP_AUTH_E_DENIED);
    assert_int_equal(f.denial.status, 401);
    assert_string_equal(f.denial.message, "Unauthorized: a bearer token is needed");
    fixture_deinit(&f);
}

static void a_token_has_one_place(void **state)
{
    static const Http1Field good = {SPAN_INIT("Authorization"), SPAN_INIT("Bearer " TOKEN)};
    static const Http1Field twice[] = {
        {SPAN_INIT("Authorization"), SPAN_INIT("Bearer " TOKEN)},
        {SPAN_INIT("authorization"), SPAN_INIT("Bearer " TOKEN)},
    };
    static const struct {
        Span query;
        int r;
    } queries[] = {
        {SPAN_INIT("access_token=" TOKEN), HTTP_AUTH_E_DENIED},
        {SPAN_INIT("a=b&access_token=x"), HTTP_AUTH_E_DENIED},
        {SPAN_INIT("&&access_token&c"), HTTP_AUTH_E_DENIED},
        {SPAN_INIT("access_token"), HTTP_AUTH_E_DENIED},
        {SPAN_INIT("a&access%5ftoken=x"), HTTP_AUTH_E_DENIED},
        {SPAN_INIT("%61%63cess_toke%6E"), HTTP_AUTH_E_DENIED},
        {SPAN_INIT("access_toke%6"), 0},
        {SPAN_INIT("access_token%3Dx"), 0},
        {SPAN_INIT("access%_token=x"), 0},
        {SPAN_INIT("my_access_token=x"), 0},
        {SPAN_INIT("access_tokens=x"), 0},
        {SPAN_INIT("a=access_token"), 0},
        {SPAN_INIT(""), 0},
    };
    Fixture f;

    (void)state;
    fixture_init(&f, (HttpAuthConfig){.token = SPAN(TOKEN)});
    assert_int_equal(check_fields(&f, twice, 2, SPAN_NULL), HTTP_AUTH_E_DENIED);
    assert_int_equal(f.denial.status, 400);
    assert_non_null(strstr(f.denial.challenge, "error=\"invalid_request\""));
    for (size_t i = 0; i < TW_ARRAY_SIZE(queries); i++) {
        assert_int_equal(check_fields(&f, &good, 1, queries[i].query), queries[i].r);
        if (queries[i].r != 0) {
            assert_int_equal(f.denial.status, 400);
            assert_non_null(strstr(f.denial.challenge, "error=\"invalid_request\""));
            assert_null(strstr(f.denial.challenge, TOKEN));
        }
    }
    fixture_deinit(&f);
}

static void access_tokens_say_who_asks(void **state)
{
    uint64_t alice;
    Fixture f;

    (void)state;
    fixture_init(&f, with_issuers(&f));
    assert_true(http_auth_is_needed(f.auth));
    assert_true(http_auth_has_issuers(f.auth));
    assert_int_equal(check_claims(&f, RIG_P256, CLAIMS(ISSUER, "alice", "")), 0);
    assert_string_equal(f.grant.subject, "alice");
    assert_true(f.grant.end_s == 1700000360);
    alice = f.grant.id;
    /* A new token of the same user; another user; one of the same name elsewhere. */
    assert_int_equal(check_claims(&f, RIG_P256, CLAIMS(ISSUER, "alice", ",\"jti\":\"2\"")), 0);
    assert_true(f.grant.id == alice);
    assert_int_equal(check_claims(&f, RIG_P256, CLAIMS(ISSUER, "alicf", "")), 0);
    assert_true(f.grant.id != alice);
    assert_int_equal(check_claims(&f, RIG_P256_OTHER, CLAIMS(SECOND, "alice", "")), 0);
    assert_true(f.grant.id != alice);
    fixture_deinit(&f);
}

/* Whose tasks they are is the same in the next process, and for nobody else. */
static void owners_are_known_again(void **state)
{
    char alice[HTTP_AUTH_OWNER_BYTES] = "";
    Fixture f;

    (void)state;
    for (int i = 0; i < 2; i++) {
        fixture_init(&f, with_issuers(&f));
        assert_int_equal(check_claims(&f, RIG_P256, CLAIMS(ISSUER, "alice", "")), 0);
        assert_int_equal(strlen(f.grant.owner), HTTP_AUTH_OWNER_BYTES - 1);
        if (i > 0) {
            assert_string_equal(f.grant.owner, alice);
        }
        memcpy(alice, f.grant.owner, sizeof(alice));
        assert_int_equal(check_claims(&f, RIG_P256, CLAIMS(ISSUER, "alicf", "")), 0);
        assert_string_not_equal(f.grant.owner, alice);
        assert_int_equal(check_claims(&f, RIG_P256_OTHER, CLAIMS(SECOND, "alice", "")), 0);
        assert_string_not_equal(f.grant.owner, alice);
        fixture_deinit(&f);
    }
    fixture_init(&f, (HttpAuthConfig){.token = SPAN(TOKEN)});
    assert_int_equal(check(&f, "Bearer " TOKEN), 0);
    assert_string_equal(f.grant.owner, "own");
    fixture_deinit(&f);
}

static void subjects_are_cut_and_cleaned(void **state)
{
    char claims[1024];
    Fixture f;

    (void)state;
    fixture_init(&f, with_issuers(&f));
    assert_int_equal(check_claims(&f, RIG_P256, CLAIMS(ISSUER, "a\\u0000b\\nc\\u007f", "")), 0);
    assert_string_equal(f.grant.subject, "a?b?c?");
    /* 126 bytes and a character of two: it stays whole or stays away. */
    (void)snprintf(claims, sizeof(claims), CLAIMS(ISSUER, "%0126d\xc3\xa4", ""), 0);
    assert_int_equal(check_claims(&f, RIG_P256, claims), 0);
    assert_int_equal(strlen(f.grant.subject), 126);
    (void)snprintf(claims, sizeof(claims), CLAIMS(ISSUER, "%0125d\xc3\xa4", ""), 0);
    assert_int_equal(check_claims(&f, RIG_P256, claims), 0);
    assert_int_equal(strlen(f.grant.subject), 127);
    (void)snprintf(claims, sizeof(claims), CLAIMS(ISSUER, "%0300d", ""), 0);
    assert_int_equal(check_claims(&f, RIG_P256, claims), 0);
    assert_int_equal(strlen(f.grant.subject), 127);
    fixture_deinit(&f);
}

static void bad_access_tokens_are_told_why(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f, with_issuers(&f));
    assert_int_equal(check_fields(&f, NULL, 0, SPAN_NULL), HTTP_AUTH_E_DENIED);
    assert_int_equal(f.denial.status, 401);
    assert_string_equal(f.denial.challenge, "Bearer resource_metadata=\"" METADATA "\"");
    assert_int_equal(check_claims(&f, RIG_P256_OTHER, CLAIMS(ISSUER, "alice", "")),
                     HTTP_AUTH_E_DENIED);
    assert_int_equal(f.denial.status, 401);
    assert_string_equal(f.denial.challenge,
                        "Bearer resource_metadata=\"" METADATA "\", error=\"invalid_token\", "
                        "error_description=\"The access token's signature is wrong\"");
    assert_string_equal(f.denial.message, "The access token's signature is wrong");
    assert_int_equal(check(&f, "Bearer opaque"), HTTP_AUTH_E_DENIED);
    assert_string_equal(f.denial.message, jwt_fault_text(JWT_FAULT_FORM));
    assert_int_equal(check_claims(&f, RIG_P256,
                                  "{\"iss\":\"" ISSUER "\",\"aud\":\"https://other.example\","
                                  "\"sub\":\"a\",\"exp\":1700000300}"),
                     HTTP_AUTH_E_DENIED);
    assert_string_equal(f.denial.message, jwt_fault_text(JWT_FAULT_AUDIENCE));
    assert_int_equal(check_claims(&f, RIG_P256,
                                  "{\"iss\":\"" ISSUER "\",\"aud\":\"" RESOURCE "\","
                                  "\"sub\":\"a\",\"exp\":1699999000}"),
                     HTTP_AUTH_E_DENIED);
    assert_string_equal(f.denial.message, jwt_fault_text(JWT_FAULT_EXPIRED));
    fixture_deinit(&f);
}

static void all_scopes_are_needed(void **state)
{
    static const char *const lacking[] = {
        "",
        ",\"scope\":\"\"",
        ",\"scope\":\"tools:read\"",
        ",\"scope\":\"tools:call\"",
        ",\"scope\":\"tools:readtools:call\"",
        ",\"scp\":[\"tools:read\",\"tools\"]",
    };
    HttpAuthConfig config;
    Fixture f;

    (void)state;
    config = with_issuers(&f);
    config.scopes = scopes;
    config.n_scopes = TW_ARRAY_SIZE(scopes);
    config.token = SPAN(TOKEN);
    fixture_init(&f, config);
    for (size_t i = 0; i < TW_ARRAY_SIZE(lacking); i++) {
        char claims[512];

        (void)snprintf(claims, sizeof(claims), CLAIMS(ISSUER, "alice", "%s"), lacking[i]);
        assert_int_equal(check_claims(&f, RIG_P256, claims), HTTP_AUTH_E_DENIED);
        assert_int_equal(f.denial.status, 403);
        assert_string_equal(f.denial.challenge,
                            "Bearer resource_metadata=\"" METADATA
                            "\", scope=\"tools:read tools:call\", error=\"insufficient_scope\", "
                            "error_description=\"The access token does not have all scopes that "
                            "are needed\"");
        assert_int_equal(f.grant.id, 7);
    }
    assert_int_equal(
        check_claims(&f, RIG_P256,
                     CLAIMS(ISSUER, "alice", ",\"scope\":\"x tools:call tools:read\"")),
        0);
    assert_int_equal(
        check_claims(&f, RIG_P256,
                     CLAIMS(ISSUER, "alice", ",\"scp\":[\"tools:call\",\"tools:read\"]")),
        0);
    /* Whoever has our own token may do everything. */
    assert_int_equal(check(&f, "Bearer " TOKEN), 0);
    assert_int_equal(check_fields(&f, NULL, 0, SPAN_NULL), HTTP_AUTH_E_DENIED);
    assert_string_equal(f.denial.challenge, "Bearer resource_metadata=\"" METADATA
                                            "\", scope=\"tools:read tools:call\"");
    assert_int_equal(check(&f, "Bearer " TOKEN "x"), HTTP_AUTH_E_DENIED);
    assert_int_equal(f.denial.status, 401);
    fixture_deinit(&f);
}

static void metadata_names_resource_and_issuers(void **state)
{
    HttpAuthConfig config;
    Bytes out;
    Fixture f;

    (void)state;
    config = with_issuers(&f);
    fixture_init(&f, config);
    bytes_init(&out, 4096);
    assert_int_equal(http_auth_write_metadata(f.auth, &out), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    assert_string_equal(out.data,
                        "{\"resource\":\"" RESOURCE "\",\"authorization_servers\":[\"" ISSUER
                        "\",\"" SECOND "\"],\"bearer_methods_supported\":[\"header\"]}");
    fixture_deinit(&f);
    config.scopes = scopes;
    config.n_scopes = TW_ARRAY_SIZE(scopes);
    fixture_init(&f, config);
    bytes_clear(&out);
    assert_int_equal(http_auth_write_metadata(f.auth, &out), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    assert_non_null(strstr(out.data, "\"scopes_supported\":[\"tools:read\",\"tools:call\"]"));
    bytes_deinit(&out);
    bytes_init(&out, 40);
    assert_int_equal(http_auth_write_metadata(f.auth, &out), BYTES_E_FULL);
    assert_int_equal(out.n, 0);
    bytes_deinit(&out);
    fixture_deinit(&f);
}

static void refuses(HttpAuthConfig config, const char *says)
{
    Diag diag = DIAG_NULL;
    HttpAuth *auth = NULL;

    assert_int_equal(http_auth_new(&auth, &config, &diag), HTTP_AUTH_E_INVALID);
    assert_null(auth);
    if (strstr(diag.message, says) == NULL) {
        fail_msg("no \"%s\" in: %s", says, diag.message);
    }
}

static void settings_that_cannot_work_are_refused(void **state)
{
    static char long_text[900];
    Span word;
    HttpAuthConfig config;
    Fixture f;

    (void)state;
    memset(long_text, 'a', sizeof(long_text));
    config = with_issuers(&f);
    config.resource = SPAN_NULL;
    refuses(config, "resource");
    config = with_issuers(&f);
    f.issuers[1].issuer = SPAN(ISSUER);
    refuses(config, "twice");
    config = with_issuers(&f);
    f.issuers[1].issuer = SPAN_NULL;
    refuses(config, "no name");
    config = with_issuers(&f);
    f.issuers[1].jwks = SPAN("{\"keys\":[]}");
    refuses(config, SECOND ": none of the 0 keys");
    f.issuers[1].jwks = SPAN("");
    refuses(config, SECOND ": the key set is not JSON");
    config = with_issuers(&f);
    config.metadata_url = SPAN("https://a\"b");
    refuses(config, "metadata");
    config.metadata_url = SPAN("https://a\r\nX: y");
    refuses(config, "metadata");
    config.metadata_url = span_make(long_text, sizeof(long_text));
    refuses(config, "too long");
    config.metadata_url = SPAN_NULL;
    config.scopes = &word;
    config.n_scopes = 1;
    word = SPAN("two words");
    refuses(config, "a scope is one word");
    word = SPAN("");
    refuses(config, "a scope is one word");
    word = SPAN("qu\"ote");
    refuses(config, "a scope is one word");
    word = SPAN("\xc3\xa4");
    refuses(config, "a scope is one word");
    word = span_make(long_text, sizeof(long_text));
    refuses(config, "too long");
}

static void a_resource_has_its_metadata_below_its_host(void **state)
{
    static const struct {
        const char *resource;
        const char *url;
    } cases[] = {
        {RESOURCE, METADATA},
        {"http://127.0.0.1:80", "http://127.0.0.1:80" HTTP_AUTH_METADATA_PATH},
        /* A slash at the end goes first (RFC 9728, 3.1). */
        {"http://127.0.0.1:80/", "http://127.0.0.1:80" HTTP_AUTH_METADATA_PATH},
        {"https://h/api/mcp", "https://h" HTTP_AUTH_METADATA_PATH "/api/mcp"},
        {"https://h/api/mcp/", "https://h" HTTP_AUTH_METADATA_PATH "/api/mcp"},
        {"https://h/a?b=/c", "https://h" HTTP_AUTH_METADATA_PATH "/a?b=/c"},
        {"https://h?b=/c", "https://h" HTTP_AUTH_METADATA_PATH "?b=/c"},
        {"https://h/a#b", "https://h" HTTP_AUTH_METADATA_PATH "/a"},
        {"our-hub", ""},
        {"urn:hub:a/b", ""},
        {"://h/a", ""},
        {"https://", ""},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Bytes out;

        bytes_init(&out, 200);
        assert_int_equal(http_auth_name_metadata(&out, span_from_str(cases[i].resource)), 0);
        assert_int_equal(bytes_append_byte(&out, '\0'), 0);
        assert_string_equal(out.data, cases[i].url);
        bytes_deinit(&out);
        bytes_init(&out, 20);
        assert_int_equal(http_auth_name_metadata(&out, span_from_str(cases[i].resource)),
                         cases[i].url[0] == '\0' ? 0 : BYTES_E_FULL);
        bytes_deinit(&out);
    }
}

static void the_path_of_its_metadata_is_known(void **state)
{
    Fixture f;
    HttpAuthConfig config = with_issuers(&f);

    (void)state;
    fixture_init(&f, config);
    assert_true(http_auth_is_metadata(f.auth, SPAN(HTTP_AUTH_METADATA_PATH "/mcp")));
    assert_true(http_auth_is_metadata(f.auth, SPAN(HTTP_AUTH_METADATA_PATH "/mcp/")));
    assert_false(http_auth_is_metadata(f.auth, SPAN(HTTP_AUTH_METADATA_PATH)));
    assert_false(http_auth_is_metadata(f.auth, SPAN(HTTP_AUTH_METADATA_PATH "/mcp/x")));
    fixture_deinit(&f);
    config.metadata_url = SPAN_NULL;
    fixture_init(&f, config);
    assert_false(http_auth_is_metadata(f.auth, SPAN("")));
    assert_false(http_auth_is_metadata(f.auth, SPAN("/")));
    fixture_deinit(&f);
}

/* The longest challenge that is let in has room for each error. */
static void the_longest_challenge_is_not_cut(void **state)
{
    static char long_text[900];
    HttpAuthConfig config;
    HttpAuth *auth = NULL;
    Fixture f;
    size_t n = sizeof(long_text);

    (void)state;
    memset(long_text, 'a', sizeof(long_text));
    config = with_issuers(&f);
    do {
        config.metadata_url = span_make(long_text, --n);
    } while (http_auth_new(&auth, &config, NULL) == HTTP_AUTH_E_INVALID);
    f.auth = auth;
    for (int fault = JWT_FAULT_NONE + 1; fault < JWT_N_FAULTS; fault++) {
        assert_true(strlen(jwt_fault_text((JwtFault)fault)) < 160);
    }
    assert_int_equal(check(&f, "Bearer opaque"), HTTP_AUTH_E_DENIED);
    assert_int_equal(f.denial.challenge[strlen(f.denial.challenge) - 1], '"');
    assert_true(strlen(f.denial.challenge) > 800);
    fixture_deinit(&f);
}

typedef struct Making {
    Fixture f;
    HttpAuthConfig config;
    RigText field; /* with a good access token */
} Making;

static int make_and_check(void *context)
{
    Making *making = context;
    Bytes out;
    int r;

    making->f.auth = NULL;
    r = http_auth_new(&making->f.auth, &making->config, NULL);
    r = r != 0 ? r : check(&making->f, making->field.s);
    bytes_init(&out, 4096);
    r = r != 0 ? r : http_auth_write_metadata(making->f.auth, &out);
    bytes_deinit(&out);
    fixture_deinit(&making->f);
    return r;
}

static void without_memory_nothing_leaks(void **state)
{
    static Making making = {.field = {"Bearer "}};
    static RigText text;

    (void)state;
    making.config = with_issuers(&making.f);
    making.config.token = SPAN(TOKEN);
    making.config.scopes = scopes;
    making.config.n_scopes = TW_ARRAY_SIZE(scopes);
    rig_add(making.field.s,
            rig_sign(&text, RIG_P256, "ES256", HEADER,
                     CLAIMS(ISSUER, "alice\\n", ",\"scp\":[\"tools:read\",\"tools:call\"]")));
    test_oom_sweep(make_and_check, &making);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_configured_lets_everybody_in),
        cmocka_unit_test(the_token_must_be_the_whole_token),
        cmocka_unit_test(a_token_has_one_place),
        cmocka_unit_test(access_tokens_say_who_asks),
        cmocka_unit_test(owners_are_known_again),
        cmocka_unit_test(subjects_are_cut_and_cleaned),
        cmocka_unit_test(bad_access_tokens_are_told_why),
        cmocka_unit_test(all_scopes_are_needed),
        cmocka_unit_test(metadata_names_resource_and_issuers),
        cmocka_unit_test(settings_that_cannot_work_are_refused),
        cmocka_unit_test(a_resource_has_its_metadata_below_its_host),
        cmocka_unit_test(the_path_of_its_metadata_is_known),
        cmocka_unit_test(the_longest_challenge_is_not_cut),
        cmocka_unit_test(without_memory_nothing_leaks),
    };

    return cmocka_run_group_tests(tests, rig_make_keys, rig_free_keys);
}
