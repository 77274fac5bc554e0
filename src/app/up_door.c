#include "app/up_door.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "io/error_text.h"
#include "io/file.h"

/* Keys of an issuer: a few hundred bytes each, and there are a few. */
#define UP_DOOR_JWKS_BYTES ((size_t)1024 * 1024)

/* Everything that a door is made of, as text; key sets are most of it. */
#define UP_DOOR_PRINT_BYTES ((size_t)64 * 1024 * 1024)

struct UpDoor {
    UpDoorConfig with; /* config is NULL: what is needed of it is below */
    ConfigHttp http;   /* copies */
    char *place;       /* where it is opened */
    RouterLimits limits;
    size_t max_request_bytes;
    size_t max_response_bytes;
    int64_t drain_ms;
    uint64_t print; /* of all that makes a difference */
    HttpAuth *auth;
    bool has_token;
    HttpDoor *door;
};

/* ---- settings of its own ---- */

static int door_copy_string(char **to, const char *from)
{
    return from == NULL ? 0 : err_pass(config_replace(to, from));
}

static int door_copy_list(char ***to, char *const *from)
{
    return from == NULL ? 0
                        : err_pass(config_replace_list(to, (const char *const *)(uintptr_t)from));
}

static int door_copy(UpDoor *door, const Config *config)
{
    const ConfigHttp *from = &config->http;
    ConfigHttp *to = &door->http;
    int r = door_copy_string(&to->address, from->address);

    r = r != 0 ? r : door_copy_string(&to->path, from->path);
    r = r != 0 ? r : door_copy_list(&to->allowed_hosts, from->allowed_hosts);
    r = r != 0 ? r : door_copy_list(&to->allowed_origins, from->allowed_origins);
    door->limits = config->limits;
    door->max_request_bytes = config->max_request_bytes;
    door->max_response_bytes = config->max_response_bytes;
    door->drain_ms = config->drain_ms;
    return r;
}

/* ---- what makes a difference ---- */

/* Appends a string so that no two lists of strings look alike. */
static int print_string(Bytes *out, const char *text)
{
    return text == NULL ? bytes_append(out, "-", 1)
                        : bytes_append_format(out, "%zu:%s", strlen(text), text);
}

static int print_list(Bytes *out, char *const *list)
{
    int r = bytes_append(out, "[", 1);

    for (size_t i = 0; r == 0 && list != NULL && list[i] != NULL; i++) {
        r = print_string(out, list[i]);
    }
    return r != 0 ? r : bytes_append(out, "]", 1);
}

static int print_settings(Bytes *out, const UpDoor *door)
{
    const RouterLimits *limits = &door->limits;
    int r = print_string(out, door->http.path);

    r = r != 0 ? r : print_list(out, door->http.allowed_hosts);
    r = r != 0 ? r : print_list(out, door->http.allowed_origins);
    return r != 0 ? r
                  : bytes_append_format(out, "%u %d %u %u %lld %lld %zu %zu %lld",
                                        limits->max_in_flight, limits->rate_off, limits->rate_burst,
                                        limits->rate_per_s, (long long)limits->call_timeout_ms,
                                        (long long)limits->call_timeout_max_ms,
                                        door->max_request_bytes, door->max_response_bytes,
                                        (long long)door->drain_ms);
}

static int print_auth(Bytes *out, const HttpAuthConfig *auth, char *const *scopes)
{
    int r = bytes_append_format(out, "%zu:", auth->token.n);

    r = r != 0 ? r : bytes_append_span(out, auth->token);
    r = r != 0 ? r : bytes_append_span(out, auth->resource);
    r = r != 0 ? r : print_list(out, scopes);
    for (size_t i = 0; r == 0 && i < auth->n_issuers; i++) {
        r = bytes_append_format(out, "%zu %zu:", auth->issuers[i].issuer.n,
                                auth->issuers[i].jwks.n);
        r = r != 0 ? r : bytes_append_span(out, auth->issuers[i].issuer);
        r = r != 0 ? r : bytes_append_span(out, auth->issuers[i].jwks);
    }
    return r;
}

static int door_print(UpDoor *door, const HttpAuthConfig *auth, char *const *scopes)
{
    Bytes text;
    int r;

    bytes_init(&text, UP_DOOR_PRINT_BYTES);
    r = print_settings(&text, door);
    r = r != 0 ? r : print_auth(&text, auth, scopes);
    if (r == 0) {
        door->print = hash_span(door->with.seed, bytes_span(&text));
    }
    bytes_deinit(&text);
    return r > 0 ? err_raise(-E2BIG) : err_pass(r);
}

/* ---- credentials ---- */

/* While they are read. */
typedef struct DoorSecrets {
    char *token;
    Bytes *jwks; /* by issuer */
    HttpAuthIssuer *issuers;
    size_t n_issuers;
    Span *scopes;
    size_t n_scopes;
    Bytes metadata_url;
} DoorSecrets;

/* Of the metadata: longer ones do not fit a challenge either. */
#define UP_DOOR_URL_BYTES ((size_t)64 * 1024)

static void secrets_deinit(DoorSecrets *secrets)
{
    for (size_t i = 0; i < secrets->n_issuers; i++) {
        bytes_deinit(&secrets->jwks[i]);
    }
    mem_free(secrets->jwks);
    mem_free(secrets->issuers);
    mem_free(secrets->scopes);
    mem_free(secrets->token);
    bytes_deinit(&secrets->metadata_url);
}

static int secrets_read_issuers(DoorSecrets *secrets, const ConfigHttp *http, Diag *reterr_diag)
{
    size_t n = http->n_issuers;

    secrets->jwks = mem_alloc_array(n, sizeof(*secrets->jwks));
    secrets->issuers = mem_alloc_array(n, sizeof(*secrets->issuers));
    if (secrets->jwks == NULL || secrets->issuers == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        int r;

        bytes_init(&secrets->jwks[i], UP_DOOR_JWKS_BYTES);
        secrets->n_issuers = i + 1;
        r = io_file_read(&secrets->jwks[i], http->issuers[i].jwks);
        if (r == -ENOMEM) {
            return err_pass(r);
        }
        if (r != 0) {
            return diag_set(reterr_diag, UP_DOOR_E_CONFIG, "%s: %s", http->issuers[i].jwks,
                            r > 0 ? "longer than 1 MiB" : io_error_text(-r));
        }
        secrets->issuers[i] = (HttpAuthIssuer){.issuer = span_from_str(http->issuers[i].issuer),
                                               .jwks = bytes_span(&secrets->jwks[i])};
    }
    return 0;
}

static int secrets_read_scopes(DoorSecrets *secrets, char *const *scopes)
{
    size_t n = 0;

    while (scopes[n] != NULL) {
        n++;
    }
    secrets->scopes = mem_alloc_array(n + 1, sizeof(*secrets->scopes));
    if (secrets->scopes == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        secrets->scopes[i] = span_from_str(scopes[i]);
    }
    secrets->n_scopes = n;
    return 0;
}

static int secrets_name_metadata(DoorSecrets *secrets, const char *resource, Diag *reterr_diag)
{
    int r;

    bytes_init(&secrets->metadata_url, UP_DOOR_URL_BYTES);
    r = http_auth_name_metadata(&secrets->metadata_url, span_from_str(resource));
    return r == BYTES_E_FULL
               ? diag_set(reterr_diag, UP_DOOR_E_CONFIG, "http.auth.resource is too long")
               : err_pass(r);
}

static int secrets_read(DoorSecrets *secrets, const ConfigHttp *http, Diag *reterr_diag)
{
    int r = 0;

    if (http->token_file != NULL) {
        r = config_read_token(&secrets->token, http->token_file, reterr_diag);
        r = r > 0 ? UP_DOOR_E_CONFIG : r;
    }
    if (r == 0 && http->n_issuers > 0) {
        r = secrets_name_metadata(secrets, http->resource, reterr_diag);
        r = r != 0 ? r : secrets_read_issuers(secrets, http, reterr_diag);
    }
    if (r == 0 && http->scopes != NULL) {
        r = secrets_read_scopes(secrets, http->scopes);
    }
    return r;
}

static int door_make_auth(UpDoor *door, const ConfigHttp *http, const DoorSecrets *secrets,
                          Diag *reterr_diag)
{
    HttpAuthConfig config = {
        .token = secrets->token == NULL ? SPAN_NULL : span_from_str(secrets->token),
        .resource = http->resource == NULL ? SPAN_NULL : span_from_str(http->resource),
        .issuers = secrets->issuers,
        .n_issuers = secrets->n_issuers,
        .scopes = secrets->scopes,
        .n_scopes = secrets->n_scopes,
        .metadata_url = bytes_span(&secrets->metadata_url),
    };
    int r = door_print(door, &config, http->scopes);

    if (r != 0) {
        return err_pass(r);
    }
    door->has_token = secrets->token != NULL;
    r = http_auth_new(&door->auth, &config, reterr_diag);
    return r > 0 ? UP_DOOR_E_CONFIG : err_pass(r);
}

/* ---- life ---- */

int up_door_new(UpDoor **ret, const UpDoorConfig *config, Diag *reterr_diag)
{
    const ConfigHttp *http = &config->config->http;
    DoorSecrets secrets = {.metadata_url = BYTES_NULL};
    UpDoor *door = mem_alloc_array(1, sizeof(*door));
    int r;

    if (door == NULL) {
        return err_raise(-ENOMEM);
    }
    door->with = *config;
    door->with.config = NULL;
    r = door_copy(door, config->config);
    r = r != 0 ? r : secrets_read(&secrets, http, reterr_diag);
    r = r != 0 ? r : door_make_auth(door, http, &secrets, reterr_diag);
    secrets_deinit(&secrets);
    if (r != 0) {
        (void)up_door_free(door);
        return r;
    }
    *ret = door;
    return 0;
}

UpDoor *up_door_free(UpDoor *door)
{
    if (door == NULL) {
        return NULL;
    }
    door->door = http_door_free(door->door);
    door->auth = http_auth_free(door->auth);
    config_http_deinit(&door->http);
    door->place = mem_free(door->place);
    return mem_free(door);
}

static void door_on_closed(void *context)
{
    UpDoor *door = context;

    door->with.closed(door->with.context, door);
}

int up_door_check(const UpDoor *door, Diag *reterr_diag)
{
    bool is_loopback;

    if (io_http_address_check(span_from_str(door->http.address), &is_loopback, reterr_diag) != 0) {
        return UP_DOOR_E_PLACE;
    }
    if (is_loopback || http_auth_is_needed(door->auth)) {
        return 0;
    }
    return diag_set(reterr_diag, UP_DOOR_E_PLACE,
                    "%s can be reached from other machines: give --token-file (in the settings "
                    "http.token_file or http.auth), or listen on 127.0.0.1 or a Unix socket",
                    door->http.address);
}

int up_door_open(UpDoor *door, const UpDoor *from, Diag *reterr_diag)
{
    const UpDoorConfig *with = &door->with;
    const HttpDoor *old = from == NULL ? NULL : from->door;
    int r = up_door_check(door, reterr_diag);

    if (r != 0) {
        return r;
    }
    r = config_replace(&door->place, old != NULL ? http_door_address(old) : door->http.address);
    if (r != 0) {
        return err_pass(r);
    }
    r = http_door_new(&door->door,
                      &(HttpDoorConfig){
                          .hub = with->hub,
                          .identity = with->identity,
                          .limits = &door->limits,
                          .address = door->place,
                          .from = old,
                          .path = door->http.path,
                          .auth = door->auth,
                          .hosts = (const char *const *)door->http.allowed_hosts,
                          .origins = (const char *const *)door->http.allowed_origins,
                          .pages = with->pages,
                          .n_pages = with->n_pages,
                          .pages_context = with->pages_context,
                          .side = with->side,
                          /* A reload may bring any of them. */
                          .lists_change = true,
                          .expects_tools = true,
                          .expects_resources = true,
                          .expects_prompts = true,
                          .logging = true,
                          .max_request_bytes = door->max_request_bytes,
                          .max_response_bytes = door->max_response_bytes,
                          .drain_ms = door->drain_ms,
                          .log = with->log,
                          .closed = door_on_closed,
                          .context = door,
                      },
                      reterr_diag);

    return r > 0 ? UP_DOOR_E_PLACE : err_pass(r);
}

bool up_door_is_same(const UpDoor *door, const UpDoor *other)
{
    return up_door_is_at(door, other) && door->print == other->print;
}

bool up_door_is_at(const UpDoor *door, const UpDoor *other)
{
    /* Who was given a free port may ask for that very one by its number. */
    return strcmp(door->http.address, other->http.address) == 0 ||
           (other->door != NULL &&
            io_http_address_is_same(span_from_str(door->http.address),
                                    span_from_str(http_door_address(other->door))));
}

/* The port of an address, with its colon; NULL: it has none. */
static const char *door_port(const char *address)
{
    return strncmp(address, "unix:", 5) == 0 ? NULL : strrchr(address, ':');
}

static bool door_is_everywhere(const char *address)
{
    return strncmp(address, "0.0.0.0:", 8) == 0 || strncmp(address, "[::]:", 5) == 0;
}

bool up_door_is_in_way(const UpDoor *door, const UpDoor *other)
{
    const char *wanted = door->http.address;
    const char *taken = http_door_address(other->door);
    const char *port = door_port(wanted);
    const char *taken_port = door_port(taken);

    return port != NULL && taken_port != NULL && strcmp(port, taken_port) == 0 &&
           (door_is_everywhere(wanted) || door_is_everywhere(taken));
}

void up_door_shutdown(UpDoor *door)
{
    http_door_shutdown(door->door);
}

HttpDoor *up_door_http(const UpDoor *door)
{
    return door->door;
}

bool up_door_needs_token(const UpDoor *door)
{
    return door->has_token;
}

bool up_door_needs_access(const UpDoor *door)
{
    return http_auth_has_issuers(door->auth);
}
