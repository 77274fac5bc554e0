/* The object `auth` of an MCP server in a configuration. */
#include "app/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "support/cmocka.h"
#include "support/oom_sweep.h"

static int parse(Config *config, const char *auth, Diag *diag)
{
    char text[1024];

    (void)snprintf(text, sizeof(text),
                   "{\"mcpServers\":{\"far\":{\"url\":\"https://a.example/mcp\",\"auth\":%s}}}",
                   auth);
    return config_parse(config, span_from_str(text), "/etc/tw/c.json", diag);
}

static void settings_are_read_whole(void **state)
{
    Config config;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(parse(&config,
                           "{\"grant\":\"client_credentials\",\"client_id\":\"c\","
                           "\"client_secret\":\"s\",\"issuer\":\"https://i\",\"dpop\":true,"
                           "\"scope\":[\"a\",\"b c\"],\"redirect_port\":8123}",
                           &diag),
                     0);
    assert_int_equal(config.n_servers, 1);
    assert_int_equal(config.servers[0].auth.grant, OAUTH_GRANT_CLIENT);
    assert_string_equal(config.servers[0].auth.client_id, "c");
    assert_string_equal(config.servers[0].auth.client_secret, "s");
    assert_string_equal(config.servers[0].auth.scope, "a b c");
    assert_true(config.servers[0].auth.is_dpop);
    assert_int_equal(config.servers[0].auth.redirect_port, 8123);
    config_deinit(&config);
}

static void secrets_may_lie_in_files_of_their_owner(void **state)
{
    char path[] = "/tmp/tw-auth-token-XXXXXX";
    int fd = mkstemp(path);
    char auth[256];
    Config config;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "TOKEN\n", 6), 6);
    assert_int_equal(close(fd), 0);
    (void)snprintf(auth, sizeof(auth), "{\"grant\":\"workload\",\"workload_token_file\":\"%s\"}",
                   path);
    assert_int_equal(parse(&config, auth, &diag), 0);
    assert_string_equal(config.servers[0].auth.workload_token, "TOKEN");
    config_deinit(&config);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(parse(&config, auth, &diag), 0);
    assert_non_null(strstr(config.servers[0].fault, "chmod"));
    config_deinit(&config);
    assert_int_equal(unlink(path), 0);
}

static void what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *auth;
        const char *word; /* of the server's fault */
    } cases[] = {
        {"7", "object"},
        {"{\"client-id\":\"c\"}", "client_id"},
        {"{\"grant\":\"password\"}", "client_credentials"},
        {"{\"grant\":\"client_credentials\",\"client_id\":\"c\"}", "secret"},
        {"{\"redirect_port\":0}", "port"},
        {"{\"dpop\":1}", "true"},
        {"{\"cimd_url\":\"http://us.example/c.json\"}", "https"},
        {"{\"scope\":{}}", "array"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Config config;
        Diag diag = DIAG_NULL;

        assert_int_equal(parse(&config, cases[i].auth, &diag), 0);
        assert_non_null(config.servers[0].fault);
        if (strstr(config.servers[0].fault, cases[i].word) == NULL) {
            fail_msg("%s: %s", cases[i].auth, config.servers[0].fault);
        }
        config_deinit(&config);
    }
}

static int read_and_free(void *context)
{
    Config config;
    int r = parse(&config, "{\"client_id\":\"c\",\"scope\":[\"a\",\"b\"],\"issuer\":\"i\"}", NULL);

    (void)context;
    if (r == 0) {
        config_deinit(&config);
    }
    return r;
}

static void want_of_memory_is_reported(void **state)
{
    (void)state;
    test_oom_sweep(read_and_free, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_read_whole),
        cmocka_unit_test(secrets_may_lie_in_files_of_their_owner),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(want_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
