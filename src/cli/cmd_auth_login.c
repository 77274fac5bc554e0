/* `toolwire auth login`: a token for an MCP server over HTTP. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/auth_login.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/cmd_auth.h"
#include "io/private_file.h"
#include "oauth/credential.h"
#include "peer/auth_store.h"

enum {
    OPTION_CLIENT_ID,
    OPTION_SECRET_ENV,
    OPTION_KEY,
    OPTION_CIMD,
    OPTION_SCOPE,
    OPTION_GRANT,
    OPTION_TOKEN_ENV,
    OPTION_IDP,
    OPTION_IDP_CLIENT,
    OPTION_DPOP,
    OPTION_PORT,
    OPTION_NO_BROWSER,
    OPTION_TIMEOUT,
    OPTION_STATE,
};

static const CliOption login_options[] = {
    [OPTION_CLIENT_ID] = {"client-id", "ID", "a client that was registered by hand"},
    [OPTION_SECRET_ENV] = {"client-secret-env", "NAME", "its secret is in this variable"},
    [OPTION_KEY] = {"key", "FILE", "its private key (PEM), instead of a secret"},
    [OPTION_CIMD] = {"cimd", "URL", "our client metadata document, as client id"},
    [OPTION_SCOPE] = {"scope", "SCOPES", "what to ask for; else what the server says"},
    [OPTION_GRANT] = {"grant", "GRANT", "code, client_credentials, workload or enterprise"},
    [OPTION_TOKEN_ENV] = {"token-env", "NAME", "the token of a workload, or an ID token"},
    [OPTION_IDP] = {"idp", "URL", "enterprise: token endpoint of the identity provider"},
    [OPTION_IDP_CLIENT] = {"idp-client-id", "ID", "enterprise: our client id there"},
    [OPTION_DPOP] = {"dpop", NULL, "bind tokens to a key, also where it is not asked for"},
    [OPTION_PORT] = {"port", "PORT", "where the browser comes back to; else any"},
    [OPTION_NO_BROWSER] = {"no-browser", NULL, "only print the address of the page"},
    [OPTION_TIMEOUT] = {"timeout", "TIME", "how long to wait for the person; else 5m"},
    [OPTION_STATE] = {"state", "DIR", "the state folder; else the user's"},
    {NULL, NULL, NULL},
};

static void login_page(void *context, const char *url)
{
    const char *no_browser = (const char *)context;

    fprintf(stderr, "%s:\n%s\n",
            no_browser != NULL ? "open this page to log in"
                               : "a browser opens this page to log in; if it does not, open it",
            url);
}

/* A secret from the environment: options are seen by all who list processes. */
static int login_env(const CliArgs *args, int option, char **place)
{
    const char *name = args->values[option];
    const char *value = name == NULL ? NULL : getenv(name);

    if (name != NULL && (value == NULL || value[0] == '\0')) {
        return cli_usage_error(args, "--%s: there is no variable %s",
                               args->command->options[option].name, name);
    }
    return value == NULL || oauth_credential_set(place, span_from_str(value)) == 0
               ? CLI_EXIT_DONE
               : CLI_EXIT_FAILED;
}

static int login_key(const CliArgs *args, OauthSettings *settings)
{
    Diag diag = DIAG_NULL;
    int status = CLI_EXIT_DONE;
    Bytes text;

    if (args->values[OPTION_KEY] == NULL) {
        return CLI_EXIT_DONE;
    }
    bytes_init(&text, LIMIT_OAUTH_BODY_BYTES);
    if (private_file_read(&text, args->values[OPTION_KEY], &diag) != 0 ||
        oauth_credential_set(&settings->private_key, bytes_span(&text)) != 0) {
        fprintf(stderr, "toolwire auth login: --key: %s\n", diag.message);
        status = CLI_EXIT_FAILED;
    }
    bytes_deinit(&text);
    return status;
}

static int login_word(const CliArgs *args, int option, char **place)
{
    const char *value = args->values[option];

    return value == NULL || oauth_credential_set(place, span_from_str(value)) == 0
               ? CLI_EXIT_DONE
               : CLI_EXIT_FAILED;
}

static int login_numbers(const CliArgs *args, OauthSettings *settings, int64_t *ret_ms)
{
    const char *port = args->values[OPTION_PORT];
    const char *grant = args->values[OPTION_GRANT];
    uint64_t number = 0;

    if (grant != NULL && !oauth_grant_find(span_from_str(grant), &settings->grant)) {
        return cli_usage_error(args,
                               "--grant: '%s' is none of code, client_credentials, workload, "
                               "enterprise",
                               grant);
    }
    if (port != NULL &&
        (text_parse_u64(span_from_str(port), &number) != 0 || number == 0 || number > 65535)) {
        return cli_usage_error(args, "--port: '%s' is no port", port);
    }
    settings->redirect_port = (unsigned)number;
    settings->is_dpop = args->values[OPTION_DPOP] != NULL;
    return cli_args_time(args, OPTION_TIMEOUT, false, ret_ms);
}

static int login_settings(const CliArgs *args, OauthSettings *settings, int64_t *ret_ms)
{
    int status = login_numbers(args, settings, ret_ms);
    char **token =
        settings->grant == OAUTH_GRANT_ENTERPRISE ? &settings->id_token : &settings->workload_token;

    status = status != 0 ? status : login_word(args, OPTION_CLIENT_ID, &settings->client_id);
    status = status != 0 ? status : login_word(args, OPTION_CIMD, &settings->cimd_url);
    status = status != 0 ? status : login_word(args, OPTION_SCOPE, &settings->scope);
    status = status != 0 ? status : login_word(args, OPTION_IDP, &settings->idp_token_endpoint);
    status = status != 0 ? status : login_word(args, OPTION_IDP_CLIENT, &settings->idp_client_id);
    status = status != 0 ? status : login_env(args, OPTION_SECRET_ENV, &settings->client_secret);
    status = status != 0 ? status : login_env(args, OPTION_TOKEN_ENV, token);
    return status != 0 ? status : login_key(args, settings);
}

static int login_do(const CliArgs *args, const OauthSettings *settings, int64_t person_ms)
{
    Diag diag = DIAG_NULL;
    char *path = NULL;
    int r = peer_auth_store_path(&path, args->values[OPTION_STATE], &diag);

    r = r == 0 ? auth_login_run(&(AuthLogin){.server = args->operands[0],
                                             .settings = settings,
                                             .store = path,
                                             .no_browser = args->values[OPTION_NO_BROWSER] != NULL,
                                             .person_ms = person_ms,
                                             .page = login_page,
                                             .context = args->values[OPTION_NO_BROWSER] != NULL
                                                            ? (void *)path
                                                            : NULL,
                                             .log = &args->log},
                                &diag)
               : r;
    mem_free(path);
    if (r != 0) {
        fprintf(stderr, "toolwire auth login: %s\n",
                r > 0 ? diag.message : "there is no memory for it, or no descriptor");
        return CLI_EXIT_FAILED;
    }
    printf("logged in: %s\n", args->operands[0]);
    return CLI_EXIT_DONE;
}

static int login_run(const CliArgs *args)
{
    OauthSettings settings = {.grant = OAUTH_GRANT_CODE};
    int64_t person_ms = 0;
    int status;

    if (args->n_operands != 1) {
        return cli_usage_error(args, "give the address of one server");
    }
    status = login_settings(args, &settings, &person_ms);
    status = status != 0 ? status : login_do(args, &settings, person_ms);
    oauth_settings_deinit(&settings);
    return status;
}

const CliCommand cmd_auth_login = {
    .name = "auth login",
    .operands = "URL",
    .summary = "log in with an MCP server over HTTP",
    .details =
        "Asks the server what it wants, and sends you to the page where you say yes. The token\n"
        "is kept, renewed when it is used, and used by everything that reaches this address.",
    .options = login_options,
    .run = login_run,
};
