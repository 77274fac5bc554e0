/* The members http and audit of a configuration, and token files. */
#include "app/config.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/oom_sweep.h"

static int parse(Config *config, const char *text, Diag *diag)
{
    *diag = DIAG_NULL;
    return config_parse(config, span_from_str(text), "/etc/tw/c.json", diag);
}

static const char everything[] =
    "{\"http\":{\"address\":\"127.0.0.1:${TW_TEST_NONE:-7411}\",\"path\":\"/rpc\","
    "\"allowed_hosts\":[\"a.example\",\"b.example\"],\"allowed_origins\":\"https://o.example\","
    "\"token_file\":\"t\",\"auth\":{\"issuers\":[{\"issuer\":\"https://i.example\","
    "\"jwks\":\"k.json\"},{\"jwks\":\"/k2\",\"issuer\":\"j\"}],\"resource\":\"https://h/rpc\","
    "\"scopes\":[\"tools\"]}},"
    "\"audit\":{\"file\":\"a.jsonl\",\"max_bytes\":\"1MiB\",\"keep\":3,\"arguments\":true}}";

static void http_and_audit_are_read_whole(void **state)
{
    Config config;
    Diag diag;

    (void)state;
    assert_int_equal(parse(&config, everything, &diag), 0);
    assert_string_equal(config.http.address, "127.0.0.1:7411");
    assert_string_equal(config.http.path, "/rpc");
    assert_string_equal(config.http.allowed_hosts[1], "b.example");
    assert_null(config.http.allowed_hosts[2]);
    assert_string_equal(config.http.allowed_origins[0], "https://o.example");
    assert_null(config.http.allowed_origins[1]);
    assert_string_equal(config.http.token_file, "/etc/tw/t");
    assert_int_equal(config.http.n_issuers, 2);
    assert_string_equal(config.http.issuers[0].issuer, "https://i.example");
    assert_string_equal(config.http.issuers[0].jwks, "/etc/tw/k.json");
    assert_string_equal(config.http.issuers[1].jwks, "/k2");
    assert_string_equal(config.http.resource, "https://h/rpc");
    assert_string_equal(config.http.scopes[0], "tools");
    assert_string_equal(config.audit.file, "/etc/tw/a.jsonl");
    assert_int_equal(config.audit.max_bytes, 1u << 20);
    assert_int_equal(config.audit.keep, 3);
    assert_true(config.audit.arguments);
    config_deinit(&config);
    assert_null(config.http.address);
    assert_int_equal(config.http.n_issuers, 0);
    config_deinit(&config);
}

static void both_have_a_short_form(void **state)
{
    Config config;
    Diag diag;

    (void)state;
    assert_int_equal(parse(&config, "{\"http\":\"[::1]:0\",\"audit\":\"/a\"}", &diag), 0);
    assert_string_equal(config.http.address, "[::1]:0");
    assert_null(config.http.path);
    assert_string_equal(config.audit.file, "/a");
    assert_int_equal(config.audit.keep, 0);
    assert_false(config.audit.arguments);
    config_deinit(&config);
    assert_int_equal(parse(&config, "{\"http\":\"off\"}", &diag), 0);
    assert_string_equal(config.http.address, CONFIG_HTTP_OFF);
    config_deinit(&config);
    assert_int_equal(parse(&config, "{}", &diag), 0);
    assert_null(config.http.address);
    assert_null(config.audit.file);
    config_deinit(&config);
}

static void a_socket_lies_in_the_folder_of_the_file(void **state)
{
    Config config;
    Diag diag;

    (void)state;
    assert_int_equal(parse(&config, "{\"http\":\"unix:run/h.sock\"}", &diag), 0);
    assert_string_equal(config.http.address, "unix:/etc/tw/run/h.sock");
    config_deinit(&config);
    assert_int_equal(parse(&config, "{\"http\":{\"address\":\"unix:/h.sock\"}}", &diag), 0);
    assert_string_equal(config.http.address, "unix:/h.sock");
    config_deinit(&config);
}

static void every_error_names_file_line_and_field(void **state)
{
    static const struct {
        const char *text;
        const char *message; /* its beginning */
    } cases[] = {
        {"{\"http\":5}", "/etc/tw/c.json:1: http: expected an object or an address"},
        {"{\n\"http\":\"nowhere\"}", "/etc/tw/c.json:2: http: "},
        {"{\"http\":\"unix:\"}", "/etc/tw/c.json:1: http: "},
        {"{\"http\":{\n\"adress\":\"\"}}",
         "/etc/tw/c.json:2: http.adress: unknown key; did you mean 'address'?"},
        {"{\"http\":{\n\n\"address\":\"1.2.3.4:99999\"}}", "/etc/tw/c.json:3: http.address: "},
        {"{\"http\":{\"path\":\"mcp\"}}", "/etc/tw/c.json:1: http.path: a path begins with '/'"},
        {"{\"http\":{\"path\":\"/a b\"}}", "/etc/tw/c.json:1: http.path: not the path of a URL"},
        {"{\"http\":{\"path\":\"/a?b\"}}", "/etc/tw/c.json:1: http.path: not the path of a URL"},
        {"{\"http\":{\"path\":\"/metrics\"}}",
         "/etc/tw/c.json:1: http.path: '/metrics' is taken by another page"},
        {"{\"http\":{\"path\":\"/favicon.ico\"}}",
         "/etc/tw/c.json:1: http.path: '/favicon.ico' is taken by another page"},
        {"{\"http\":{\"path\":\"/.well-known/x\"}}",
         "/etc/tw/c.json:1: http.path: '/.well-known/x' is taken by another page"},
        {"{\"http\":{\"allowed_hosts\":[\"a\",\"*\"]}}",
         "/etc/tw/c.json:1: http.allowed_hosts[1]: '*' is no host"},
        {"{\"http\":{\"allowed_hosts\":\"http://hub.example\"}}",
         "/etc/tw/c.json:1: http.allowed_hosts: 'http://hub.example' is a URL"},
        {"{\"http\":{\"allowed_origins\":[\"https://page.example/\",\"https://page.example/a\"]}}",
         "/etc/tw/c.json:1: http.allowed_origins[1]: 'https://page.example/a' has a path"},
        {"{\"http\":{\"allowed_hosts\":[\"a\",1]}}",
         "/etc/tw/c.json:1: http.allowed_hosts[1]: expected a string"},
        {"{\"http\":{\"allowed_origins\":{}}}",
         "/etc/tw/c.json:1: http.allowed_origins: expected a string or an array of strings"},
        {"{\"http\":{\"token_file\":1}}", "/etc/tw/c.json:1: http.token_file: expected a string"},
        {"{\"http\":{\"auth\":[]}}", "/etc/tw/c.json:1: http.auth: expected an object"},
        {"{\"http\":{\"auth\":{\"resource\":\"r\"}}}",
         "/etc/tw/c.json:1: http.auth: 'issuers' is missing"},
        {"{\"http\":{\"auth\":{\"issuers\":[{\"issuer\":\"i\",\"jwks\":\"k\"}]}}}",
         "/etc/tw/c.json:1: http.auth: 'resource' is missing"},
        {"{\"http\":{\"auth\":{\"issuers\":[]}}}",
         "/etc/tw/c.json:1: http.auth.issuers: expected an array of issuers"},
        {"{\"http\":{\"auth\":{\"issuers\":[1]}}}",
         "/etc/tw/c.json:1: http.auth.issuers[0]: expected an object"},
        {"{\"http\":{\"auth\":{\"issuers\":[{\"issuer\":\"i\"}]}}}",
         "/etc/tw/c.json:1: http.auth.issuers[0]: 'jwks' is missing"},
        {"{\"http\":{\"auth\":{\"issuers\":[{\"jwks\":\"i\"}]}}}",
         "/etc/tw/c.json:1: http.auth.issuers[0]: 'issuer' is missing"},
        {"{\"http\":{\"auth\":{\"issuers\":[{\"isuer\":\"i\"}]}}}",
         "/etc/tw/c.json:1: http.auth.issuers[0].isuer: unknown key; did you mean 'issuer'?"},
        {"{\"http\":{\"auth\":{\"scope\":\"i\"}}}",
         "/etc/tw/c.json:1: http.auth.scope: unknown key; did you mean 'scopes'?"},
        {"{\"audit\":[]}", "/etc/tw/c.json:1: audit: expected an object or a file"},
        {"{\"audit\":\"\"}", "/etc/tw/c.json:1: audit: expected the path of a file"},
        {"{\"audit\":{\"file\":\"\"}}",
         "/etc/tw/c.json:1: audit.file: expected the path of a file"},
        {"{\"audit\":{}}", "/etc/tw/c.json:1: audit: 'file' is missing"},
        {"{\"audit\":{\"fiel\":\"x\"}}",
         "/etc/tw/c.json:1: audit.fiel: unknown key; did you mean 'file'?"},
        {"{\"audit\":{\"keep\":0}}", "/etc/tw/c.json:1: audit.keep: 0 is not between 1 and 1000"},
        {"{\"audit\":{\"max_bytes\":\"1\"}}",
         "/etc/tw/c.json:1: audit.max_bytes: 1 is not between 4096 and 1073741824"},
        {"{\"audit\":{\"arguments\":1}}",
         "/etc/tw/c.json:1: audit.arguments: expected true or false"},
        {"{\"audit\":{\"file\":7}}", "/etc/tw/c.json:1: audit.file: expected a string"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Config config;
        Diag diag;

        assert_int_equal(parse(&config, cases[i].text, &diag), CONFIG_E_INVALID);
        if (strncmp(diag.message, cases[i].message, strlen(cases[i].message)) != 0) {
            assert_string_equal(diag.message, cases[i].message);
        }
        assert_null(config.http.address);
    }
}

static void flags_take_the_place_of_what_the_file_says(void **state)
{
    static const char *const folders[] = {"a", "b", NULL};
    Config config;
    Diag diag;

    (void)state;
    assert_int_equal(parse(&config, "{\"http\":\"off\",\"templates\":\"x\"}", &diag), 0);
    assert_int_equal(config_replace(&config.http.address, "[::1]:0"), 0);
    assert_int_equal(config_replace(&config.tools, "t"), 0);
    assert_int_equal(config_replace_list(&config.templates, folders), 0);
    assert_string_equal(config.http.address, "[::1]:0");
    assert_string_equal(config.tools, "t");
    assert_string_equal(config.templates[1], "b");
    assert_null(config.templates[2]);
    config_deinit(&config);
    assert_int_equal(config_check_http_address("off", &diag), 0);
    assert_int_equal(config_check_http_address("[::1]:1", &diag), 0);
    assert_int_equal(config_check_http_address("off:off", &diag), CONFIG_E_INVALID);
}

/* ---- tokens ---- */

static void write_file(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void a_token_is_a_private_line_that_cannot_be_guessed(void **state)
{
    static const struct {
        const char *text;
        mode_t mode;
        int r;
        const char *word; /* the token, or a part of the message */
    } cases[] = {
        {"0123456789abcdef", 0600, 0, "0123456789abcdef"},
        {"0123456789abcdef\n", 0400, 0, "0123456789abcdef"},
        {"0123456789-._~+/==\r\n", 0600, 0, "0123456789-._~+/=="},
        {"0123456789abcde\n", 0600, CONFIG_E_INVALID, "a token of 15 bytes can be guessed"},
        {"", 0600, CONFIG_E_INVALID, "is empty"},
        {"\n", 0600, CONFIG_E_INVALID, "is empty"},
        {"0123456789 abcdef", 0600, CONFIG_E_INVALID, "one line of letters"},
        {"0123456789abcdef\n\n", 0600, CONFIG_E_INVALID, "one line of letters"},
        {"0123456789abcdef", 0640, CONFIG_E_READ, "chmod"},
        {"0123456789abcdef", 0604, CONFIG_E_READ, "chmod"},
    };
    char folder[] = "/tmp/tw-token-XXXXXX";
    char path[64];

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/token", folder);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        char *token = NULL;
        Diag diag = DIAG_NULL;

        write_file(path, cases[i].text, cases[i].mode);
        assert_int_equal(config_read_token(&token, path, &diag), cases[i].r);
        if (cases[i].r == 0) {
            assert_string_equal(token, cases[i].word);
        } else {
            assert_null(token);
            assert_non_null(strstr(diag.message, cases[i].word));
            assert_non_null(strstr(diag.message, path));
        }
        mem_free(token);
        assert_int_equal(unlink(path), 0);
    }
    {
        char *token = NULL;
        Diag diag = DIAG_NULL;

        assert_int_equal(config_read_token(&token, path, &diag), CONFIG_E_READ);
        assert_non_null(strstr(diag.message, "No such file"));
    }
    assert_int_equal(rmdir(folder), 0);
}

/* ---- memory ---- */

static int parse_once(void *context)
{
    static const char *const folders[] = {"a", "b", NULL};
    Config config;
    int r = config_parse(&config, span_from_str(everything), "/p/c.json", NULL);

    (void)context;
    if (r == 0) {
        r = config_replace_list(&config.templates, folders);
        r = r != 0 ? r : config_replace(&config.http.address, "off");
        config_deinit(&config);
    }
    if (r == 0) {
        r = config_parse(&config, SPAN("{\"http\":\"unix:a\",\"audit\":\"b\"}"), "/p/c", NULL);
        config_deinit(&config);
    }
    return r;
}

static int read_token_once(void *context)
{
    char *token = NULL;
    int r = config_read_token(&token, context, NULL);

    mem_free(token);
    return r;
}

static void no_allocation_may_fail_unnoticed(void **state)
{
    char path[] = "/tmp/tw-token-XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    test_oom_sweep(parse_once, NULL);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "0123456789abcdef", 16), 16);
    assert_int_equal(close(fd), 0);
    test_oom_sweep(read_token_once, path);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(http_and_audit_are_read_whole),
        cmocka_unit_test(both_have_a_short_form),
        cmocka_unit_test(a_socket_lies_in_the_folder_of_the_file),
        cmocka_unit_test(every_error_names_file_line_and_field),
        cmocka_unit_test(flags_take_the_place_of_what_the_file_says),
        cmocka_unit_test(a_token_is_a_private_line_that_cannot_be_guessed),
        cmocka_unit_test(no_allocation_may_fail_unnoticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
