/* The member `http` of a configuration: where MCP is served over HTTP, and to whom. */
#include "app/config_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dialect/mcp/http_guard.h"
#include "io/http_server.h"
#include "io/place.h"

static const char *const config_http_keys[] = {"address",         "path",       "allowed_hosts",
                                               "allowed_origins", "token_file", "auth"};

/* What the hub itself answers at. */
static const char *const config_http_taken[] = {"/",    "/healthz",  "/metrics",
                                                "/sse", "/messages", "/favicon.ico"};

/* And below: the metadata of access tokens. */
#define CONFIG_HTTP_WELL_KNOWN "/.well-known/"

#define CONFIG_UNIX "unix:"

#define CONFIG_HTTP_LIST "a string or an array of strings"

/* "unix:PATH" with a path that begins in the folder of the file. Gives *address anew. */
static int config_place_socket(const ConfigReader *reader, char **address)
{
    const char *path = *address + strlen(CONFIG_UNIX);
    size_t n_folder = io_place_is_absolute(path) ? 0 : io_place_folder_length(reader->path);
    size_t n_path = strlen(path);
    size_t n_scheme = strlen(CONFIG_UNIX);
    char *joined = mem_alloc(n_scheme + n_folder + n_path + 1);

    if (joined == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(joined, CONFIG_UNIX, n_scheme);
    memcpy(joined + n_scheme, reader->path, n_folder);
    memcpy(joined + n_scheme + n_folder, path, n_path + 1);
    mem_free(*address);
    *address = joined;
    return 0;
}

int config_check_http_address(const char *address, Diag *reterr_diag)
{
    bool is_loopback;

    if (strcmp(address, CONFIG_HTTP_OFF) == 0) {
        return 0;
    }
    return io_http_address_check(span_from_str(address), &is_loopback, reterr_diag) != 0
               ? CONFIG_E_INVALID
               : 0;
}

static int config_read_address(const ConfigReader *reader, JsonValue value)
{
    char **address = &reader->config->http.address;
    int r = config_read_string(reader, value, address);

    if (r == 0 && strncmp(*address, CONFIG_UNIX, strlen(CONFIG_UNIX)) == 0 &&
        (*address)[strlen(CONFIG_UNIX)] != '\0') {
        r = err_pass(config_place_socket(reader, address));
    }
    return r != 0 ? r : config_check_http_address(*address, reader->diag);
}

/* A path as it stands in a request: printable, without a query. */
static int config_read_http_path(const ConfigReader *reader, JsonValue value)
{
    char **path = &reader->config->http.path;
    int r = config_read_string(reader, value, path);
    bool is_taken;

    if (r != 0) {
        return r;
    }
    is_taken = strncmp(*path, CONFIG_HTTP_WELL_KNOWN, strlen(CONFIG_HTTP_WELL_KNOWN)) == 0;
    for (size_t i = 0; i < TW_ARRAY_SIZE(config_http_taken); i++) {
        is_taken = is_taken || strcmp(*path, config_http_taken[i]) == 0;
    }
    if (is_taken) {
        return diag_set(reader->diag, CONFIG_E_INVALID, "'%s' is taken by another page", *path);
    }
    for (const char *p = *path; *p != '\0'; p++) {
        if (*p <= ' ' || *p > '~' || *p == '?' || *p == '#') {
            return diag_set(reader->diag, CONFIG_E_INVALID, "not the path of a URL");
        }
    }
    return (*path)[0] == '/' ? 0
                             : diag_set(reader->diag, CONFIG_E_INVALID, "a path begins with '/'");
}

static int config_read_host(const ConfigReader *reader, JsonValue value, char **ret)
{
    int r = config_read_string(reader, value, ret);

    if (r == 0 && mcp_http_guard_check_host(span_from_str(*ret), reader->diag) != 0) {
        r = CONFIG_E_INVALID;
    }
    return r;
}

static int config_read_origin(const ConfigReader *reader, JsonValue value, char **ret)
{
    int r = config_read_string(reader, value, ret);

    if (r == 0 && mcp_http_guard_check_origin(span_from_str(*ret), reader->diag) != 0) {
        r = CONFIG_E_INVALID;
    }
    return r;
}

static int config_read_http_member(const ConfigReader *reader, const JsonIter *it)
{
    ConfigHttp *http = &reader->config->http;
    Span name;
    int r;

    if (json_string_equals(it->key, SPAN("address"))) {
        return config_place(reader, it->value, "http.address",
                            config_read_address(reader, it->value));
    }
    if (json_string_equals(it->key, SPAN("path"))) {
        return config_place(reader, it->value, "http.path",
                            config_read_http_path(reader, it->value));
    }
    if (json_string_equals(it->key, SPAN("token_file"))) {
        return config_place(reader, it->value, "http.token_file",
                            config_read_path(reader, it->value, &http->token_file));
    }
    if (json_string_equals(it->key, SPAN("allowed_hosts"))) {
        return config_read_list(reader, it->value, "http.allowed_hosts", CONFIG_HTTP_LIST,
                                config_read_host, &http->allowed_hosts);
    }
    if (json_string_equals(it->key, SPAN("allowed_origins"))) {
        return config_read_list(reader, it->value, "http.allowed_origins", CONFIG_HTTP_LIST,
                                config_read_origin, &http->allowed_origins);
    }
    if (json_string_equals(it->key, SPAN("auth"))) {
        return config_read_auth(reader, it->value);
    }
    r = json_string(it->key, reader->arena, &name);
    return r != 0 ? err_fold(r)
                  : config_unknown(reader, it->key, name, "http.", config_http_keys,
                                   TW_ARRAY_SIZE(config_http_keys));
}

int config_read_http(const ConfigReader *reader, JsonValue http)
{
    if (json_kind(http) == JSON_STRING) {
        return config_place(reader, http, "http", config_read_address(reader, http));
    }
    if (json_kind(http) != JSON_OBJECT) {
        (void)diag_set(reader->diag, CONFIG_E_INVALID, "expected an object or an address");
        return config_place(reader, http, "http", CONFIG_E_INVALID);
    }
    for (JsonIter it = json_iter(http); json_iter_next(&it);) {
        int r = config_read_http_member(reader, &it);

        if (r != 0) {
            return r;
        }
    }
    return 0;
}

void config_http_deinit(ConfigHttp *http)
{
    http->address = mem_free(http->address);
    http->path = mem_free(http->path);
    http->allowed_hosts = config_free_list(http->allowed_hosts);
    http->allowed_origins = config_free_list(http->allowed_origins);
    http->token_file = mem_free(http->token_file);
    config_free_issuers(http);
    http->resource = mem_free(http->resource);
    http->scopes = config_free_list(http->scopes);
}
