#include "app/agent_secrets.h"

#include <errno.h>
#include <string.h>

#include "app/audit_line.h"
#include "base/alloc.h"
#include "base/error.h"

typedef struct Secrets {
    const char **values;
    size_t n;
} Secrets;

/* Of "Bearer x" the x alone, too. */
static void secrets_add(Secrets *secrets, const char *value)
{
    const char *space;

    if (value == NULL) {
        return;
    }
    secrets->values[secrets->n++] = value;
    space = strchr(value, ' ');
    if (space != NULL) {
        secrets->values[secrets->n++] = space + 1;
    }
}

static void secrets_add_pairs(Secrets *secrets, const UpstreamPair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (audit_is_secret(span_from_str(pairs[i].name))) {
            secrets_add(secrets, pairs[i].value);
        }
    }
}

#define SECRETS_OF_AUTH 4

static void secrets_add_auth(Secrets *secrets, const OauthSettings *auth)
{
    secrets_add(secrets, auth->client_secret);
    secrets_add(secrets, auth->idp_client_secret);
    secrets_add(secrets, auth->workload_token);
    secrets_add(secrets, auth->id_token);
}

static int secrets_add_file(Secrets *secrets, Arena *arena, const char *path)
{
    CLEANUP(mem_freep) char *token = NULL;
    int r = config_read_token(&token, path, NULL);
    char *copy;

    if (r != 0) {
        return r == -ENOMEM ? err_pass(r) : 0;
    }
    copy = arena_alloc(arena, strlen(token) + 1);
    if (copy == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(copy, token, strlen(token) + 1);
    secrets_add(secrets, copy);
    return 0;
}

int agent_secrets(Arena *arena, const Config *config, const char *const **ret)
{
    Secrets secrets = {.n = 0};
    size_t n = 1; /* the hub's token */
    int r = 0;

    for (size_t i = 0; i < config->n_servers; i++) {
        n += config->servers[i].n_env + config->servers[i].n_headers + SECRETS_OF_AUTH;
    }
    secrets.values = arena_alloc_array(arena, 2 * n + 1, sizeof(*secrets.values));
    if (secrets.values == NULL) {
        return err_raise(-ENOMEM);
    }
    if (config->http.token_file != NULL) {
        r = secrets_add_file(&secrets, arena, config->http.token_file);
    }
    for (size_t i = 0; i < config->n_servers; i++) {
        const UpstreamSpec *spec = &config->servers[i];

        secrets_add_pairs(&secrets, spec->env, spec->n_env);
        secrets_add_pairs(&secrets, spec->headers, spec->n_headers);
        secrets_add_auth(&secrets, &spec->auth);
    }
    secrets.values[secrets.n] = NULL;
    *ret = (const char *const *)secrets.values;
    return r;
}
