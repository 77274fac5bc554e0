#include "support/cmocka.h"

#include <string.h>

#include "base/limits.h"
#include "oauth/credential.h"
#include "support/oom_sweep.h"

/* A file with one more credential. */
static int put(Bytes *file, const char *server, const char *issuer, const char *token,
               int64_t saved_s)
{
    OauthCredential credential = {.saved_s = saved_s};
    Bytes next;
    int r = oauth_credential_set(&credential.server, span_from_str(server));

    bytes_init(&next, LIMIT_OAUTH_STORE_BYTES);
    r = r == 0 ? oauth_credential_set(&credential.issuer, span_from_str(issuer)) : r;
    r = r == 0 ? oauth_credential_set(&credential.access_token, span_from_str(token)) : r;
    credential.is_registered = true;
    r = r == 0 ? oauth_store_put(&next, bytes_span(file), span_from_str(server),
                                 span_from_str(issuer), &credential, NULL, NULL)
               : r;
    if (r == 0) {
        bytes_clear(file);
        r = bytes_append_span(file, bytes_span(&next));
    }
    bytes_deinit(&next);
    oauth_credential_deinit(&credential);
    return r;
}

static void assert_token(const Bytes *file, const char *server, const char *issuer,
                         const char *token)
{
    OauthCredential found = {.server = NULL};
    int r = oauth_store_find(bytes_span(file), span_from_str(server), span_from_str(issuer), &found,
                             NULL);

    assert_int_equal(r, token == NULL ? OAUTH_STORE_E_NONE : 0);
    if (token != NULL) {
        assert_string_equal(found.access_token, token);
        assert_true(found.is_registered);
    }
    oauth_credential_deinit(&found);
}

static void credentials_are_kept_by_server_and_issuer(void **state)
{
    OauthCredential at;
    Bytes file;
    Bytes rest;
    size_t n = 9;

    (void)state;
    bytes_init(&file, LIMIT_OAUTH_STORE_BYTES);
    bytes_init(&rest, LIMIT_OAUTH_STORE_BYTES);
    assert_token(&file, "https://a", "https://i", NULL);
    assert_int_equal(put(&file, "https://a", "https://i", "one", 5), 0);
    assert_int_equal(put(&file, "https://a", "https://j", "two", 3), 0);
    assert_int_equal(put(&file, "https://b", "https://i", "three", 1), 0);
    assert_int_equal(put(&file, "https://a", "https://i", "one again", 5), 0);
    assert_token(&file, "https://a", "https://i", "one again");
    assert_token(&file, "https://a", "https://j", "two");
    assert_token(&file, "https://a", "", "one again");
    assert_token(&file, "https://b", "", "three");
    assert_token(&file, "https://b", "https://j", NULL);
    assert_int_equal(oauth_store_at(bytes_span(&file), 2, &at, NULL), 0);
    oauth_credential_deinit(&at);
    assert_int_equal(oauth_store_at(bytes_span(&file), 3, &at, NULL), OAUTH_STORE_E_NONE);
    assert_int_equal(
        oauth_store_put(&rest, bytes_span(&file), SPAN("https://a"), SPAN_NULL, NULL, &n, NULL), 0);
    assert_int_equal(n, 2);
    assert_token(&rest, "https://a", "", NULL);
    assert_token(&rest, "https://b", "", "three");
    bytes_deinit(&file);
    bytes_deinit(&rest);
}

static void files_of_others_are_refused(void **state)
{
    static const char *const texts[] = {"x", "[]", "{\"version\":2,\"credentials\":[]}",
                                        "{\"version\":1,\"credentials\":{}}"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(texts); i++) {
        OauthCredential found;
        Diag diag = DIAG_NULL;

        assert_int_equal(
            oauth_store_find(span_from_str(texts[i]), SPAN("a"), SPAN_NULL, &found, &diag),
            OAUTH_STORE_E_INVALID);
        assert_true(diag.message[0] != '\0');
    }
}

static void tokens_are_fresh_until_a_minute_before_their_end(void **state)
{
    char token[] = "t";
    OauthCredential credential = {.access_token = token, .expires_s = 1000};

    (void)state;
    assert_true(oauth_credential_is_fresh(&credential, 1000 - LIMIT_OAUTH_EARLY_S - 1));
    assert_false(oauth_credential_is_fresh(&credential, 1000 - LIMIT_OAUTH_EARLY_S));
    credential.saved_s = 990;
    assert_true(oauth_credential_is_fresh(&credential, 994));
    assert_false(oauth_credential_is_fresh(&credential, 995));
    credential.expires_s = 0;
    assert_true(oauth_credential_is_fresh(&credential, 1 << 30));
    credential.access_token = NULL;
    assert_false(oauth_credential_is_fresh(&credential, 0));
}

static int put_find_copy(void *context)
{
    OauthCredential found = {.server = NULL};
    OauthCredential copy = {.server = NULL};
    Bytes file;
    int r;

    (void)context;
    bytes_init(&file, LIMIT_OAUTH_STORE_BYTES);
    r = put(&file, "https://a", "https://i", "t", 1);
    r = r == 0 ? put(&file, "https://b", "https://i", "t", 1) : r;
    r = r == 0 ? oauth_store_find(bytes_span(&file), SPAN("https://a"), SPAN_NULL, &found, NULL)
               : r;
    r = r == 0 ? oauth_credential_copy(&copy, &found) : r;
    oauth_credential_deinit(&found);
    oauth_credential_deinit(&copy);
    bytes_deinit(&file);
    return r;
}

static void want_of_memory_is_reported(void **state)
{
    (void)state;
    test_oom_sweep(put_find_copy, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(credentials_are_kept_by_server_and_issuer),
        cmocka_unit_test(files_of_others_are_refused),
        cmocka_unit_test(tokens_are_fresh_until_a_minute_before_their_end),
        cmocka_unit_test(want_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
