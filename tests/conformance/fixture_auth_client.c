/* fixture_auth_client.c: a client that the official conformance suites can test for authorization,
 * on the public library alone: reaches a server, lists its tools, and calls what it lists.
 *
 *   conformance_auth_client URL      settings are AUTH_* of the environment; prints the pages that
 *                                    somebody is to open, one a line
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <toolwire/toolwire.h>

static void on_page(const char *url, void *user)
{
    (void)user;
    printf("%s\n", url);
    (void)fflush(stdout);
}

static TwGrant grant_of(const char *name)
{
    static const char *const names[] = {"code", "client", "workload", "enterprise"};

    for (size_t i = 0; name != NULL && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            return (TwGrant)i;
        }
    }
    return TW_GRANT_CODE;
}

static int use(TwClient *client)
{
    TwResult *tools = NULL;
    int r = tw_client_list_tools(client, &tools);

    for (size_t i = 0; r == TW_OK && i < tw_result_count(tools, "/tools"); i++) {
        char pointer[64];
        TwResult *result = NULL;

        (void)snprintf(pointer, sizeof pointer, "/tools/%zu/name", i);
        r = tw_client_call(client, tw_result_string(tools, pointer, ""), "{}", &result);
        tw_result_free(result);
    }
    tw_result_free(tools);
    return r;
}

int main(int argc, char **argv)
{
    const TwClientAuth auth = {.grant = grant_of(getenv("AUTH_GRANT")),
                               .client_id = getenv("AUTH_CLIENT_ID"),
                               .client_secret = getenv("AUTH_CLIENT_SECRET"),
                               .private_key = getenv("AUTH_PRIVATE_KEY"),
                               .issuer = getenv("AUTH_ISSUER"),
                               .cimd_url = getenv("AUTH_CIMD_URL"),
                               .workload_token = getenv("AUTH_WORKLOAD_TOKEN"),
                               .id_token = getenv("AUTH_ID_TOKEN"),
                               .idp_token_endpoint = getenv("AUTH_IDP_TOKEN_ENDPOINT"),
                               .idp_client_id = getenv("AUTH_IDP_CLIENT_ID"),
                               .credentials = "",
                               .page = on_page};
    const TwClientOptions options = {.name = "conformance-auth-client", .auth = &auth};
    TwClient *client = tw_client_new(&options);
    int r = argc == 2 ? tw_client_connect(client, argv[1]) : TW_ERROR_ARGUMENT;

    r = r == TW_OK ? use(client) : r;
    if (r != TW_OK) {
        (void)fprintf(stderr, "%s\n", tw_client_message(client));
    }
    tw_client_free(client);
    return r == TW_OK ? 0 : 1;
}
