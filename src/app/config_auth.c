/* The member `http.auth` of a configuration: whose access tokens are taken. */
#include "app/config_internal.h"

#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"

static const char *const config_auth_keys[] = {"issuers", "resource", "scopes"};
static const char *const config_issuer_keys[] = {"issuer", "jwks"};

/* ---- an issuer ---- */

static int config_read_issuer_member(const ConfigReader *reader, const JsonIter *it,
                                     const char *where, ConfigIssuer *issuer)
{
    char field[DIAG_FIELD_SIZE];
    Span name;
    int r = json_string(it->key, reader->arena, &name);

    if (r != 0) {
        return err_fold(r);
    }
    (void)snprintf(field, sizeof(field), "%.60s.%.*s", where, (int)(name.n < 40 ? name.n : 40),
                   name.p);
    if (span_equals(name, SPAN("issuer"))) {
        return config_place(reader, it->value, field,
                            config_read_string(reader, it->value, &issuer->issuer));
    }
    if (span_equals(name, SPAN("jwks"))) {
        return config_place(reader, it->value, field,
                            config_read_path(reader, it->value, &issuer->jwks));
    }
    (void)snprintf(field, sizeof(field), "%.60s.", where);
    return config_unknown(reader, it->key, name, field, config_issuer_keys,
                          TW_ARRAY_SIZE(config_issuer_keys));
}

static int config_read_issuer(const ConfigReader *reader, JsonValue value, const char *where,
                              ConfigIssuer *issuer)
{
    if (json_kind(value) != JSON_OBJECT) {
        return config_no_object(reader, value, where);
    }
    for (JsonIter it = json_iter(value); json_iter_next(&it);) {
        int r = config_read_issuer_member(reader, &it, where, issuer);

        if (r != 0) {
            return r;
        }
    }
    if (issuer->issuer == NULL || issuer->jwks == NULL) {
        (void)diag_set(reader->diag, CONFIG_E_INVALID, "'%s' is missing",
                       issuer->issuer == NULL ? "issuer" : "jwks");
        return config_place(reader, value, where, CONFIG_E_INVALID);
    }
    return 0;
}

void config_free_issuers(ConfigHttp *http)
{
    for (size_t i = 0; i < http->n_issuers; i++) {
        mem_free(http->issuers[i].issuer);
        mem_free(http->issuers[i].jwks);
    }
    http->issuers = mem_free(http->issuers);
    http->n_issuers = 0;
}

static int config_read_issuers(const ConfigReader *reader, JsonValue issuers)
{
    ConfigHttp *http = &reader->config->http;
    char where[DIAG_FIELD_SIZE];

    if (json_kind(issuers) != JSON_ARRAY || json_count(issuers) == 0) {
        (void)diag_set(reader->diag, CONFIG_E_INVALID, "expected an array of issuers");
        return config_place(reader, issuers, "http.auth.issuers", CONFIG_E_INVALID);
    }
    config_free_issuers(http);
    http->issuers = mem_alloc_array(json_count(issuers), sizeof(*http->issuers));
    if (http->issuers == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(issuers); json_iter_next(&it);) {
        size_t i = http->n_issuers++;
        int r;

        (void)snprintf(where, sizeof(where), "http.auth.issuers[%zu]", i);
        r = config_read_issuer(reader, it.value, where, &http->issuers[i]);
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

/* ---- auth ---- */

static int config_read_auth_member(const ConfigReader *reader, const JsonIter *it)
{
    ConfigHttp *http = &reader->config->http;
    Span name;
    int r;

    if (json_string_equals(it->key, SPAN("issuers"))) {
        return config_read_issuers(reader, it->value);
    }
    if (json_string_equals(it->key, SPAN("resource"))) {
        return config_place(reader, it->value, "http.auth.resource",
                            config_read_string(reader, it->value, &http->resource));
    }
    if (json_string_equals(it->key, SPAN("scopes"))) {
        return config_read_list(reader, it->value, "http.auth.scopes",
                                "a string or an array of strings", config_read_string,
                                &http->scopes);
    }
    r = json_string(it->key, reader->arena, &name);
    return r != 0 ? err_fold(r)
                  : config_unknown(reader, it->key, name, "http.auth.", config_auth_keys,
                                   TW_ARRAY_SIZE(config_auth_keys));
}

int config_read_auth(const ConfigReader *reader, JsonValue auth)
{
    const ConfigHttp *http = &reader->config->http;

    if (json_kind(auth) != JSON_OBJECT) {
        return config_no_object(reader, auth, "http.auth");
    }
    for (JsonIter it = json_iter(auth); json_iter_next(&it);) {
        int r = config_read_auth_member(reader, &it);

        if (r != 0) {
            return r;
        }
    }
    /* A token is meant for somebody: without our name none could be accepted. */
    if (http->n_issuers == 0 || http->resource == NULL) {
        (void)diag_set(reader->diag, CONFIG_E_INVALID, "'%s' is missing",
                       http->n_issuers == 0 ? "issuers" : "resource");
        return config_place(reader, auth, "http.auth", CONFIG_E_INVALID);
    }
    return 0;
}
