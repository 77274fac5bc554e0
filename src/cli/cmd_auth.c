/* `toolwire auth`: the table of its sub-commands, and the two that look at the file. */
#include "cli/cmd_auth.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/plain.h"
#include "peer/auth_store.h"
#include "json/writer.h"

static int auth_failed(const CliArgs *args, const char *why)
{
    fprintf(stderr, "toolwire %s: %s\n", args->command->name, why);
    return CLI_EXIT_FAILED;
}

/* ---- ls ---- */

enum {
    LS_STATE,
    LS_JSON,
};

static const CliOption ls_options[] = {
    [LS_STATE] = {"state", "DIR", "the state folder; else the user's"},
    [LS_JSON] = {"json", NULL, "print them as JSON, without their secrets"},
    {NULL, NULL, NULL},
};

/* How long the token still holds, in words. */
static void ls_validity(const OauthCredential *credential, char out[64])
{
    int64_t left = credential->expires_s - clock_now_ms() / 1000;

    if (credential->access_token == NULL) {
        (void)snprintf(out, 64, "no token");
    } else if (credential->expires_s == 0) {
        (void)snprintf(out, 64, "a token");
    } else if (left <= 0) {
        (void)snprintf(out, 64, "%s",
                       credential->refresh_token != NULL ? "is renewed when used" : "has expired");
    } else {
        (void)snprintf(out, 64, "%" PRId64 " min left%s", (left + 59) / 60,
                       credential->refresh_token != NULL ? ", can be renewed" : "");
    }
}

static void ls_print(const OauthCredential *credential)
{
    char validity[64];

    ls_validity(credential, validity);
    printf("%s\n  issuer %s\n  client %s%s\n  scopes %s\n  %s\n", credential->server,
           credential->issuer == NULL ? "" : credential->issuer,
           credential->client_id == NULL ? "none" : credential->client_id,
           credential->is_registered ? " (registered)" : "",
           credential->scope == NULL ? "none" : credential->scope, validity);
}

static void ls_member(JsonWriter *w, const char *name, const char *value)
{
    if (value != NULL) {
        json_write_key(w, span_from_str(name));
        json_write_string(w, span_from_str(value));
    }
}

static void ls_write(JsonWriter *w, const OauthCredential *credential)
{
    json_write_object(w);
    ls_member(w, "server", credential->server);
    ls_member(w, "issuer", credential->issuer);
    ls_member(w, "clientId", credential->client_id);
    ls_member(w, "scope", credential->scope);
    ls_member(w, "tokenType", credential->access_token == NULL ? NULL : credential->token_type);
    if (credential->expires_s != 0) {
        json_write_key(w, SPAN("expiresAt"));
        json_write_int(w, credential->expires_s);
    }
    json_write_key(w, SPAN("renewable"));
    json_write_bool(w, credential->refresh_token != NULL);
    json_write_end_object(w);
}

/* All credentials of the text, printed or written. */
static int ls_each(Span text, JsonWriter *w, size_t *ret_n, Diag *diag)
{
    int r = 0;

    for (*ret_n = 0; r == 0; ++*ret_n) {
        OauthCredential credential = {.server = NULL};

        r = oauth_store_at(text, *ret_n, &credential, diag);
        if (r == 0 && credential.server != NULL) {
            if (w != NULL) {
                ls_write(w, &credential);
            } else {
                ls_print(&credential);
            }
        }
        oauth_credential_deinit(&credential);
    }
    --*ret_n;
    return r == OAUTH_STORE_E_NONE ? 0 : r;
}

static int ls_show(const CliArgs *args, Span text, Diag *diag)
{
    JsonWriter w;
    Bytes out;
    size_t n = 0;
    int r;

    if (args->values[LS_JSON] == NULL) {
        r = ls_each(text, NULL, &n, diag);
        if (r == 0 && n == 0) {
            printf("there are no credentials\n");
        }
        return r;
    }
    bytes_init(&out, LIMIT_OAUTH_STORE_BYTES);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_array(&w);
    r = ls_each(text, &w, &n, diag);
    json_write_end_array(&w);
    r = r == 0 ? json_writer_finish(&w) : r;
    if (r == 0) {
        printf("%.*s\n", (int)out.n, out.data);
    }
    bytes_deinit(&out);
    return r;
}

static int ls_run(const CliArgs *args)
{
    Diag diag = DIAG_NULL;
    char *path = NULL;
    Bytes text;
    int r;

    bytes_init(&text, LIMIT_OAUTH_STORE_BYTES);
    r = peer_auth_store_path(&path, args->values[LS_STATE], &diag);
    r = r == 0 ? peer_auth_store_read(path, &text, &diag) : r;
    r = r == 0 ? ls_show(args, bytes_span(&text), &diag) : r;
    mem_free(path);
    bytes_deinit(&text);
    if (r != 0) {
        return auth_failed(args, r > 0 ? diag.message : "there is no memory for it");
    }
    return CLI_EXIT_DONE;
}

const CliCommand cmd_auth_ls = {
    .name = "auth ls",
    .summary = "servers that we are logged in with",
    .details = "Tokens and secrets are not shown.",
    .options = ls_options,
    .run = ls_run,
};

/* ---- logout ---- */

enum {
    LOGOUT_STATE,
};

static const CliOption logout_options[] = {
    [LOGOUT_STATE] = {"state", "DIR", "the state folder; else the user's"},
    {NULL, NULL, NULL},
};

static int logout_run(const CliArgs *args)
{
    Diag diag = DIAG_NULL;
    char *path = NULL;
    size_t n = 0;
    int r;

    if (args->n_operands != 1) {
        return cli_usage_error(args, "give the address of one server");
    }
    r = peer_auth_store_path(&path, args->values[LOGOUT_STATE], &diag);
    r = r == 0 ? peer_auth_store_put(path, span_from_str(args->operands[0]), SPAN_NULL, NULL, &n,
                                     &diag)
               : r;
    mem_free(path);
    if (r != 0) {
        return auth_failed(args, r > 0 ? diag.message : "there is no memory for it");
    }
    if (n == 0) {
        return auth_failed(args, "there are no credentials for this server");
    }
    printf("forgotten: %s\n", args->operands[0]);
    return CLI_EXIT_DONE;
}

const CliCommand cmd_auth_logout = {
    .name = "auth logout",
    .operands = "URL",
    .summary = "forget the tokens and the registration for a server",
    .details =
        "They are removed from this machine. What the server's own pages call a grant, or an\n"
        "authorised application, is taken back there.",
    .options = logout_options,
    .run = logout_run,
};

/* ---- the table ---- */

static const CliCommand *const auth_commands[] = {
    &cmd_auth_login,
    &cmd_auth_ls,
    &cmd_auth_logout,
    NULL,
};

const CliCommand cmd_auth = {
    .name = "auth",
    .summary = "log in with MCP servers over HTTP (OAuth), and out again",
    .details =
        "Credentials lie in credentials.json of the state folder, for this user's eyes only.",
    .subcommands = auth_commands,
};
