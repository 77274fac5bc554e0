#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "peer/auth_store.h"

static void file_is_private_and_changed_as_a_whole(void **state)
{
    OauthCredential credential = {.server = (char[]){"https://a"},
                                  .issuer = (char[]){"https://i"},
                                  .access_token = (char[]){"t"}};
    OauthCredential found = {.server = NULL};
    char folder[] = "/tmp/tw-auth-store-XXXXXX";
    char deep[64];
    struct stat info;
    char *path = NULL;
    size_t n = 0;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(deep, sizeof(deep), "%s/state", folder);
    assert_int_equal(peer_auth_store_path(&path, deep, NULL), 0);
    assert_int_equal(peer_auth_store_find(path, SPAN("https://a"), SPAN_NULL, &found, NULL),
                     OAUTH_STORE_E_NONE);
    assert_int_equal(
        peer_auth_store_put(path, SPAN("https://a"), SPAN("https://i"), &credential, NULL, NULL),
        0);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(stat(deep, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_int_equal(peer_auth_store_find(path, SPAN("https://a"), SPAN_NULL, &found, NULL), 0);
    assert_string_equal(found.access_token, "t");
    oauth_credential_deinit(&found);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(peer_auth_store_find(path, SPAN("https://a"), SPAN_NULL, &found, NULL),
                     PEER_AUTH_STORE_E_UNUSABLE);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(peer_auth_store_put(path, SPAN("https://a"), SPAN_NULL, NULL, &n, NULL), 0);
    assert_int_equal(n, 1);
    assert_int_equal(peer_auth_store_find(path, SPAN("https://a"), SPAN_NULL, &found, NULL),
                     OAUTH_STORE_E_NONE);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(deep), 0); /* nothing else is left: no lock, no temporary file */
    assert_int_equal(rmdir(folder), 0);
    mem_free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_is_private_and_changed_as_a_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
