/* Who we are to an authorization server, renewal, and the grants without a person. */
#include "unit/oauth/flow_world.h"

#include "base/base64.h"
#include "oauth/key.h"

#define BEGIN_LOG "GET " WORLD_PRM "\nGET " WORLD_AS "\nLOOK https://as.example\n"

/* Runs against that metadata (behind WORLD_AS_BASE), registration and token. */
static void run(World *world, const char *as, const char *client, unsigned status,
                const char *token, const char *expected)
{
    char metadata[1024];

    (void)snprintf(metadata, sizeof(metadata), "{%s%s}", WORLD_AS_BASE, as);
    {
        const WorldRoute routes[] = {
            {WORLD_PRM, 200, WORLD_PRM_OK, NULL},
            {WORLD_AS, 200, metadata, NULL},
            {"https://as.example/r", 201, client, NULL},
            {"https://as.example/t", status, token, NULL},
            {"https://idp.example/t", 200,
             "{\"access_token\":\"JAG\",\"issued_token_type\":"
             "\"urn:ietf:params:oauth:token-type:id-jag\",\"token_type\":\"N_A\"}",
             NULL},
        };

        world->routes = routes;
        world->n_routes = TW_ARRAY_SIZE(routes);
        world_expect(world, expected);
    }
}

static bool token_has(const World *world, const char *name, const char *value)
{
    char out[512];

    return strcmp(world_field(bytes_span(&world->token), name, out), value) == 0;
}

/* ---- who we are ---- */

static void clients_show_themselves_as_the_server_wants_it(void **state)
{
    static const struct {
        const char *methods;
        const char *client;
        const char *wanted; /* token_endpoint_auth_method of our registration */
        const char *shown;  /* "" none, "basic", "post" */
    } cases[] = {
        {"[\"none\"]", "{\"client_id\":\"me\"}", "\"none\"", ""},
        {"[\"none\"]", "{\"client_id\":\"me\",\"client_secret\":\"s\"}", "\"none\"", ""},
        {"[\"client_secret_basic\"]", "{\"client_id\":\"me\",\"client_secret\":\"s:%\"}",
         "\"client_secret_basic\"", "basic"},
        {"[\"client_secret_post\"]", "{\"client_id\":\"me\",\"client_secret\":\"s:%\"}",
         "\"client_secret_post\"", "post"},
        {"[\"client_secret_basic\",\"client_secret_post\"]",
         "{\"client_id\":\"me\",\"client_secret\":\"s:%\","
         "\"token_endpoint_auth_method\":\"client_secret_post\"}",
         "\"client_secret_basic\"", "post"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        char as[512];
        World world;

        world_init(&world, NULL, 0);
        (void)snprintf(as, sizeof(as),
                       ",\"registration_endpoint\":\"https://as.example/r\","
                       "\"token_endpoint_auth_methods_supported\":%s",
                       cases[i].methods);
        run(&world, as, cases[i].client, 200, WORLD_TOKEN,
            "GET " WORLD_PRM "\nGET " WORLD_AS "\n" WORLD_CODE_LOG);
        assert_non_null(strstr(world.register_body.data, cases[i].wanted));
        /* printf 'me:s%%3A%%25' | base64 */
        assert_true(span_equals(bytes_span(&world.shown), strcmp(cases[i].shown, "basic") == 0
                                                              ? SPAN("Basic bWU6cyUzQSUyNQ==")
                                                              : SPAN("")));
        assert_int_equal(token_has(&world, "client_secret", "s:%"),
                         strcmp(cases[i].shown, "post") == 0);
        world_deinit(&world);
    }
}

static void documents_and_hands_come_before_registration(void **state)
{
    static const char as[] = ",\"client_id_metadata_document_supported\":true,"
                             "\"registration_endpoint\":\"https://as.example/r\"";
    static const char log[] = BEGIN_LOG "LISTEN\nOPEN\nPOST https://as.example/t "
                                        "authorization_code\nSAVE\nDONE Bearer T\n";
    char out[512];
    World world;

    (void)state;
    world_init(&world, NULL, 0);
    world.settings.cimd_url = (char[]){"https://us.example/client.json"};
    run(&world, as, "", 200, WORLD_TOKEN, log);
    assert_string_equal(world_field(world_query(&world), "client_id", out),
                        "https://us.example/client.json");
    world_deinit(&world);
    world_init(&world, NULL, 0);
    world.settings.client_id = (char[]){"by-hand"};
    world.settings.client_secret = (char[]){"s"};
    run(&world, as, "", 200, WORLD_TOKEN, log);
    assert_string_equal(world_field(world_query(&world), "client_id", out), "by-hand");
    world_deinit(&world);
    world_init(&world, NULL, 0);
    world.settings.client_id = (char[]){"by-hand"};
    world.settings.issuer = (char[]){"https://former.example"};
    run(&world, as, "", 200, WORLD_TOKEN,
        BEGIN_LOG "REFUSED the client id is that of another issuer than the server names now\n");
    world_deinit(&world);
}

static void new_issuer_sees_nothing_of_the_old_one(void **state)
{
    OauthCredential known = {.issuer = (char[]){"https://former.example"},
                             .client_id = (char[]){"former-client"},
                             .client_secret = (char[]){"former-secret"},
                             .is_registered = true,
                             .refresh_token = (char[]){"former-refresh"},
                             .access_token = (char[]){"former-token"}};
    char out[512];
    World world;

    (void)state;
    world_init(&world, NULL, 0);
    world.config.known = &known;
    run(&world, ",\"registration_endpoint\":\"https://as.example/r\"", WORLD_CLIENT, 200,
        WORLD_TOKEN, "GET " WORLD_PRM "\nGET " WORLD_AS "\n" WORLD_CODE_LOG);
    assert_string_equal(world_field(world_query(&world), "client_id", out), "me");
    assert_true(token_has(&world, "client_id", "me"));
    assert_string_equal(world.result.issuer, "https://as.example");
    assert_null(world.result.client_secret);
    assert_null(world.result.refresh_token);
    world_deinit(&world);
}

/* ---- renewal ---- */

static const OauthCredential renewable = {.server = (char[]){WORLD_SERVER},
                                          .issuer = (char[]){"https://as.example"},
                                          .resource = (char[]){WORLD_SERVER},
                                          .token_endpoint = (char[]){"https://as.example/t"},
                                          .client_id = (char[]){"me"},
                                          .is_registered = true,
                                          .redirect_uri = (char[]){"http://127.0.0.1:7/callback"},
                                          .access_token = (char[]){"old"},
                                          .refresh_token = (char[]){"R"},
                                          .scope = (char[]){"a"},
                                          .requested = (char[]){"a"}};

static void tokens_are_renewed_without_looking_again(void **state)
{
    World world;

    (void)state;
    world_init(&world, NULL, 0);
    world.config.known = &renewable;
    world.config.is_renewal = true;
    run(&world, "", "", 200, WORLD_TOKEN,
        "POST https://as.example/t refresh_token\nSAVE\nDONE Bearer T\n");
    assert_true(token_has(&world, "refresh_token", "R"));
    assert_true(token_has(&world, "resource", WORLD_SERVER));
    assert_true(token_has(&world, "client_id", "me"));
    assert_string_equal(world.result.refresh_token, "R");
    assert_string_equal(world.result.scope, "a");
    world_deinit(&world);
    world_init(&world, NULL, 0);
    world.config.known = &renewable;
    world.config.is_renewal = true;
    run(&world, "", "", 200, "{\"access_token\":\"T\",\"refresh_token\":\"R2\"}",
        "POST https://as.example/t refresh_token\nSAVE\nDONE Bearer T\n");
    assert_string_equal(world.result.refresh_token, "R2");
    world_deinit(&world);
}

static void refresh_token_that_is_refused_is_forgotten(void **state)
{
    World world;

    (void)state;
    world_init(&world, NULL, 0);
    world.config.known = &renewable;
    world.config.is_renewal = true;
    world.config.may_ask = false;
    run(&world, "", "", 400, "{\"error\":\"invalid_grant\"}",
        "POST https://as.example/t refresh_token\nSAVE\nGET " WORLD_PRM "\nGET " WORLD_AS
        "\nLOOK https://as.example\nREFUSED somebody has to log in: toolwire auth login "
        "https://a.example/mcp\n");
    assert_null(world.result.refresh_token);
    assert_null(world.result.access_token);
    assert_string_equal(world.result.client_id, "me");
    world_deinit(&world);
}

static void server_that_is_ill_takes_no_token_away(void **state)
{
    World world;

    (void)state;
    world_init(&world, NULL, 0);
    world.config.known = &renewable;
    world.config.is_renewal = true;
    run(&world, "", "", 503, "",
        "POST https://as.example/t refresh_token\nREFUSED the token endpoint answered with status "
        "503\n");
    assert_null(world.result.server);
    world_deinit(&world);
}

static void refused_token_is_renewed_once_the_issuer_is_known_to_be_the_same(void **state)
{
    World world;

    (void)state;
    world_init(&world, NULL, 0);
    world.config.known = &renewable;
    world.kept = &renewable;
    run(&world, ",\"registration_endpoint\":\"https://as.example/r\"", "", 200, WORLD_TOKEN,
        BEGIN_LOG "POST https://as.example/t refresh_token\nSAVE\nDONE Bearer T\n");
    world_deinit(&world);
}

/* ---- without a person ---- */

static void clients_ask_for_themselves(void **state)
{
    World world;

    (void)state;
    world_init(&world, NULL, 0);
    world.settings.grant = OAUTH_GRANT_CLIENT;
    world.settings.client_id = (char[]){"c"};
    world.settings.client_secret = (char[]){"s"};
    world.config.may_ask = false;
    world.challenge.scope = SPAN("x");
    run(&world, ",\"token_endpoint_auth_methods_supported\":[\"client_secret_basic\"]", "", 200,
        WORLD_TOKEN,
        BEGIN_LOG "POST https://as.example/t client_credentials\nSAVE\nDONE Bearer T\n");
    assert_true(token_has(&world, "scope", "x"));
    assert_true(span_equals(bytes_span(&world.shown), SPAN("Basic Yzpz")));
    world_deinit(&world);
    world_init(&world, NULL, 0);
    world.settings.grant = OAUTH_GRANT_CLIENT;
    world.settings.client_id = (char[]){"c"};
    run(&world, "", "", 200, WORLD_TOKEN,
        "REFUSED the grant 'client_credentials' needs a client id, and a client secret or a "
        "private "
        "key\n");
    world_deinit(&world);
}

static void clients_with_keys_sign_who_they_are(void **state)
{
    char pem[512];
    char out[512];
    OauthKey *key = NULL;
    Bytes text;
    Bytes der;
    World world;

    (void)state;
    bytes_init(&der, 4096);
    bytes_init(&text, 4096);
    assert_int_equal(oauth_key_make(&key, NULL), 0);
    assert_int_equal(oauth_key_der(key, &der), 0);
    assert_int_equal(base64_encode(&text, BASE64_STANDARD, bytes_span(&der)), 0);
    (void)snprintf(pem, sizeof(pem),
                   "-----BEGIN EC PRIVATE KEY-----\n%.64s\n%.64s\n%.*s\n-----END EC PRIVATE "
                   "KEY-----\n",
                   text.data, text.data + 64, (int)(text.n - 128), text.data + 128);
    world_init(&world, NULL, 0);
    world.settings.grant = OAUTH_GRANT_CLIENT;
    world.settings.client_id = (char[]){"c"};
    world.settings.private_key = pem;
    run(&world, ",\"token_endpoint_auth_methods_supported\":[\"private_key_jwt\"]", "", 200,
        WORLD_TOKEN,
        BEGIN_LOG "POST https://as.example/t client_credentials\nSAVE\nDONE Bearer T\n");
    assert_true(token_has(&world, "client_assertion_type",
                          "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"));
    assert_int_equal(
        strncmp(world_field(bytes_span(&world.token), "client_assertion", out), "eyJ", 3), 0);
    assert_int_equal(world.shown.n, 0);
    world_deinit(&world);
    world_init(&world, NULL, 0);
    world.settings.grant = OAUTH_GRANT_CLIENT;
    world.settings.client_id = (char[]){"c"};
    world.settings.private_key = (char[]){"no key"};
    assert_int_equal(world_run(&world), 0);
    world_deinit(&world);
    (void)oauth_key_free(key);
    bytes_deinit(&der);
    bytes_deinit(&text);
}

static void workloads_show_where_they_run_and_do_not_insist(void **state)
{
    World world;

    (void)state;
    world_init(&world, NULL, 0);
    world.settings.grant = OAUTH_GRANT_WORKLOAD;
    world.settings.workload_token = (char[]){"W"};
    world.settings.client_id = (char[]){"w"};
    run(&world, "", "", 200, WORLD_TOKEN,
        BEGIN_LOG "POST https://as.example/t urn:ietf:params:oauth:grant-type:jwt-bearer\nSAVE\n"
                  "DONE Bearer T\n");
    assert_true(token_has(&world, "assertion", "W"));
    world_deinit(&world);
    world_init(&world, NULL, 0);
    world.settings.grant = OAUTH_GRANT_WORKLOAD;
    world.settings.workload_token = (char[]){"W"};
    run(&world, "", "", 400, "{\"error\":\"invalid_grant\",\"error_description\":\"expired\"}",
        BEGIN_LOG "POST https://as.example/t urn:ietf:params:oauth:grant-type:jwt-bearer\n"
                  "REFUSED the token endpoint refused: invalid_grant: expired\n");
    world_deinit(&world);
}

static void enterprises_exchange_an_id_token_first(void **state)
{
    World world;

    (void)state;
    world_init(&world, NULL, 0);
    world.settings.grant = OAUTH_GRANT_ENTERPRISE;
    world.settings.client_id = (char[]){"c"};
    world.settings.client_secret = (char[]){"s"};
    world.settings.id_token = (char[]){"ID"};
    world.settings.idp_token_endpoint = (char[]){"https://idp.example/t"};
    world.settings.idp_client_id = (char[]){"ic"};
    run(&world, "", "", 200, WORLD_TOKEN,
        BEGIN_LOG "POST https://idp.example/t urn:ietf:params:oauth:grant-type:token-exchange\n"
                  "POST https://as.example/t urn:ietf:params:oauth:grant-type:jwt-bearer\nSAVE\n"
                  "DONE Bearer T\n");
    assert_true(token_has(&world, "assertion", "JAG"));
    assert_true(span_equals(bytes_span(&world.shown), SPAN("Basic Yzpz")));
    world_deinit(&world);
}

/* ---- DPoP ---- */

static void tokens_are_bound_to_a_key_also_where_a_nonce_is_wanted(void **state)
{
    const WorldRoute routes[] = {
        {WORLD_PRM, 200, WORLD_PRM_OK, NULL},
        {WORLD_AS, 200,
         "{" WORLD_AS_BASE ",\"registration_endpoint\":\"https://as.example/r\","
         "\"dpop_signing_alg_values_supported\":[\"ES256\"]}",
         NULL},
        {"https://as.example/r", 201, WORLD_CLIENT, NULL},
        {"https://as.example/t", 200, "{\"access_token\":\"T\",\"token_type\":\"DPoP\"}", "N"},
    };
    char out[512];
    World world;

    (void)state;
    world_init(&world, routes, TW_ARRAY_SIZE(routes));
    world.challenge.is_dpop = true;
    world_expect(&world,
                 BEGIN_LOG "LISTEN\nPOST https://as.example/r\nSAVE\nOPEN\n"
                           "POST https://as.example/t authorization_code\n"
                           "POST https://as.example/t authorization_code\nSAVE\nDONE DPoP T\n");
    assert_true(world.has_proof);
    assert_non_null(world.result.dpop_key);
    assert_int_equal(strlen(world_field(world_query(&world), "dpop_jkt", out)), 43);
    world_deinit(&world);
}

static void token_that_is_bound_to_nothing_is_refused(void **state)
{
    World world;

    (void)state;
    world_init(&world, NULL, 0);
    world.settings.is_dpop = true;
    world.settings.client_id = (char[]){"c"};
    run(&world, "", "", 200, WORLD_TOKEN,
        BEGIN_LOG "LISTEN\nOPEN\nPOST https://as.example/t authorization_code\n"
                  "REFUSED the token endpoint gave a token that is not bound to our key\n");
    world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_show_themselves_as_the_server_wants_it),
        cmocka_unit_test(documents_and_hands_come_before_registration),
        cmocka_unit_test(new_issuer_sees_nothing_of_the_old_one),
        cmocka_unit_test(tokens_are_renewed_without_looking_again),
        cmocka_unit_test(refresh_token_that_is_refused_is_forgotten),
        cmocka_unit_test(server_that_is_ill_takes_no_token_away),
        cmocka_unit_test(refused_token_is_renewed_once_the_issuer_is_known_to_be_the_same),
        cmocka_unit_test(clients_ask_for_themselves),
        cmocka_unit_test(clients_with_keys_sign_who_they_are),
        cmocka_unit_test(workloads_show_where_they_run_and_do_not_insist),
        cmocka_unit_test(enterprises_exchange_an_id_token_first),
        cmocka_unit_test(tokens_are_bound_to_a_key_also_where_a_nonce_is_wanted),
        cmocka_unit_test(token_that_is_bound_to_nothing_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
