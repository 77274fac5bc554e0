/* The object `auth` of an MCP server over HTTP: how it is shown who asks (docs/auth.md).
 *
 *     "auth": { "client_id": "c", "client_secret": "${SECRET}", "scope": [ "read", "write" ] }
 *     "auth": { "grant": "client_credentials", "client_id": "c", "private_key_file": "key.pem" }
 *     "auth": { "grant": "workload", "workload_token_file": "/run/secrets/token", "dpop": true }
 */
#include "app/config_internal.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "io/private_file.h"
#include "oauth/credential.h"
#include "oauth/scope.h"
#include "oauth/settings.h"

/* Members that are strings, or names of files that hold one. */
static const struct {
    const char *name;
    size_t offset;
    bool is_file;
} auth_strings[] = {
    {"client_id", offsetof(OauthSettings, client_id), false},
    {"client_secret", offsetof(OauthSettings, client_secret), false},
    {"private_key_file", offsetof(OauthSettings, private_key), true},
    {"issuer", offsetof(OauthSettings, issuer), false},
    {"cimd_url", offsetof(OauthSettings, cimd_url), false},
    {"client_name", offsetof(OauthSettings, client_name), false},
    {"workload_token", offsetof(OauthSettings, workload_token), false},
    {"workload_token_file", offsetof(OauthSettings, workload_token), true},
    {"id_token", offsetof(OauthSettings, id_token), false},
    {"idp_token_endpoint", offsetof(OauthSettings, idp_token_endpoint), false},
    {"idp_client_id", offsetof(OauthSettings, idp_client_id), false},
    {"idp_client_secret", offsetof(OauthSettings, idp_client_secret), false},
};

static const char *const auth_keys[] = {
    "client_id",
    "client_secret",
    "cimd_url",
    "client_name",
    "dpop",
    "grant",
    "id_token",
    "idp_client_id",
    "idp_client_secret",
    "idp_token_endpoint",
    "issuer",
    "private_key_file",
    "redirect_port",
    "scope",
    "workload_token",
    "workload_token_file",
};

/* The content of a file of secrets, without the blanks around it. */
static int auth_read_file(const ConfigReader *reader, JsonValue value, char **ret)
{
    CLEANUP(mem_freep) char *path = NULL;
    Bytes text;
    int r = config_read_path(reader, value, &path);

    if (r != 0) {
        return r;
    }
    bytes_init(&text, LIMIT_OAUTH_BODY_BYTES);
    r = private_file_read(&text, path, reader->diag);
    if (r != 0 && r != -ENOMEM) {
        r = CONFIG_E_INVALID; /* the Diag has the words */
    }
    r = r == 0 ? oauth_credential_set(ret, text_trim(bytes_span(&text))) : r;
    bytes_deinit(&text);
    return r;
}

static int auth_read_scope(const ConfigReader *reader, JsonValue value, const char *field,
                           OauthSettings *settings)
{
    char **list = NULL;
    Bytes scope;
    int r = config_read_list(reader, value, field, "a string or an array of strings",
                             config_read_string, &list);

    if (r != 0) {
        (void)config_free_list(list);
        return r;
    }
    bytes_init(&scope, LIMIT_OAUTH_SCOPE_BYTES);
    for (size_t i = 0; r == 0 && list != NULL && list[i] != NULL; i++) {
        r = oauth_scope_add(&scope, span_from_str(list[i]));
    }
    (void)config_free_list(list);
    if (r > 0) {
        (void)diag_set(reader->diag, CONFIG_E_INVALID, "too long");
        r = config_place(reader, value, field, CONFIG_E_INVALID);
    }
    r = r == 0 ? oauth_credential_set(&settings->scope, bytes_span(&scope)) : r;
    bytes_deinit(&scope);
    return r;
}

static int auth_read_grant(const ConfigReader *reader, JsonValue value, OauthSettings *settings)
{
    CLEANUP(mem_freep) char *name = NULL;
    int r = config_read_string(reader, value, &name);

    if (r == 0 && !oauth_grant_find(span_from_str(name), &settings->grant)) {
        r = diag_set(reader->diag, CONFIG_E_INVALID,
                     "expected code, client_credentials, workload or enterprise");
    }
    return r;
}

static int auth_read_port(const ConfigReader *reader, JsonValue value, OauthSettings *settings)
{
    uint64_t port = 0;

    if (json_uint64(value, &port) != 0 || port == 0 || port > 65535) {
        return diag_set(reader->diag, CONFIG_E_INVALID, "expected a port, 1 to 65535");
    }
    settings->redirect_port = (unsigned)port;
    return 0;
}

/* -ENOENT: it is none of the strings. */
static int auth_read_string(const ConfigReader *reader, const JsonIter *it, OauthSettings *settings)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(auth_strings); i++) {
        if (json_string_equals(it->key, span_from_str(auth_strings[i].name))) {
            char **place = (char **)(void *)((char *)settings + auth_strings[i].offset);

            return auth_strings[i].is_file ? auth_read_file(reader, it->value, place)
                                           : config_read_string(reader, it->value, place);
        }
    }
    return -ENOENT;
}

static int auth_read_member(const ConfigReader *reader, const JsonIter *it, const char *where,
                            OauthSettings *settings)
{
    char field[DIAG_FIELD_SIZE];
    Span name;
    int r = json_string(it->key, reader->arena, &name);

    if (r != 0) {
        return err_fold(r);
    }
    (void)snprintf(field, sizeof(field), "%.80s.%.*s", where, (int)(name.n < 30 ? name.n : 30),
                   name.p);
    if (span_equals(name, SPAN("scope"))) {
        return auth_read_scope(reader, it->value, field, settings);
    }
    if (span_equals(name, SPAN("grant"))) {
        r = auth_read_grant(reader, it->value, settings);
    } else if (span_equals(name, SPAN("redirect_port"))) {
        r = auth_read_port(reader, it->value, settings);
    } else if (span_equals(name, SPAN("dpop"))) {
        r = config_read_bool(reader, it->value, &settings->is_dpop);
    } else {
        r = auth_read_string(reader, it, settings);
    }
    if (r == -ENOENT) {
        (void)snprintf(field, sizeof(field), "%.80s.", where);
        return config_unknown(reader, it->key, name, field, auth_keys, TW_ARRAY_SIZE(auth_keys));
    }
    return config_place(reader, it->value, field, r);
}

int config_read_server_auth(const ConfigReader *reader, JsonValue auth, const char *where,
                            OauthSettings *ret)
{
    Diag diag = DIAG_NULL;

    if (json_kind(auth) != JSON_OBJECT) {
        return config_no_object(reader, auth, where);
    }
    for (JsonIter it = json_iter(auth); json_iter_next(&it);) {
        int r = auth_read_member(reader, &it, where, ret);

        if (r != 0) {
            return r;
        }
    }
    if (oauth_settings_check(ret, &diag) != 0) {
        (void)diag_set(reader->diag, CONFIG_E_INVALID, "%s", diag.message);
        return config_place(reader, auth, where, CONFIG_E_INVALID);
    }
    return 0;
}
