/* fixture_client.c: a client that the official conformance suites can test, on the public library
 * alone. Somebody else tells it what to do with a server, line by line; fields have tabs between.
 *
 *   conformance_client URL      settings are AUTH_* of the environment
 *
 * Reads    list KIND, call TOOL ARGUMENTS, read URI, get PROMPT ARGUMENTS, request METHOD PARAMS
 * Writes   session INFO, or error; then for every line that it read: result JSON, or error MESSAGE.
 *          Between them: page URL, which somebody is to open, and ask PARAMS, which wants a line:
 *          accept CONTENT or decline.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <toolwire/toolwire.h>

enum {
    MAX_LINE_BYTES = 1 << 16, /* more than the largest schema of the suites */
    MAX_FIELDS = 3
};

typedef struct Line {
    char text[MAX_LINE_BYTES];
    const char *fields[MAX_FIELDS]; /* "" where there is none */
} Line;

typedef int (*RunFn)(TwClient *client, const Line *line, TwResult **ret_result);

static bool line_read(Line *line)
{
    char *rest = fgets(line->text, sizeof line->text, stdin);

    if (rest == NULL) {
        return false;
    }
    rest[strcspn(rest, "\n")] = '\0';
    for (size_t i = 0; i < MAX_FIELDS; i++) {
        size_t n = strcspn(rest, i + 1 < MAX_FIELDS ? "\t" : "");
        bool is_last = rest[n] == '\0';

        line->fields[i] = rest;
        rest[n] = '\0';
        rest += is_last ? n : n + 1;
    }
    return true;
}

/* JSON may be spread over lines: blanks mean the same there. */
static void say(const char *word, const char *text)
{
    printf("%s\t", word);
    for (; *text != '\0'; text++) {
        (void)putchar(*text == '\n' || *text == '\r' ? ' ' : *text);
    }
    printf("\n");
    (void)fflush(stdout);
}

static void on_page(const char *url, void *user)
{
    (void)user;
    say("page", url);
}

static void on_ask(TwAsk *ask, void *user)
{
    static Line line; /* not the one of the call that is asked about */

    (void)user;
    say("ask", tw_ask_params(ask));
    if (line_read(&line) && strcmp(line.fields[0], "accept") == 0) {
        (void)tw_ask_accept(ask, line.fields[1]);
    } else {
        (void)tw_ask_decline(ask);
    }
}

static int run_list(TwClient *client, const Line *line, TwResult **ret_result)
{
    const char *kind = line->fields[1];

    return strcmp(kind, "resources") == 0 ? tw_client_list_resources(client, ret_result)
           : strcmp(kind, "prompts") == 0 ? tw_client_list_prompts(client, ret_result)
                                          : tw_client_list_tools(client, ret_result);
}

static int run_call(TwClient *client, const Line *line, TwResult **ret_result)
{
    return tw_client_call(client, line->fields[1], line->fields[2], ret_result);
}

static int run_read(TwClient *client, const Line *line, TwResult **ret_result)
{
    return tw_client_read_resource(client, line->fields[1], ret_result);
}

static int run_get(TwClient *client, const Line *line, TwResult **ret_result)
{
    return tw_client_get_prompt(client, line->fields[1], line->fields[2], ret_result);
}

static int run_request(TwClient *client, const Line *line, TwResult **ret_result)
{
    return tw_client_request(client, line->fields[1], line->fields[2], ret_result);
}

static int run_line(TwClient *client, const Line *line)
{
    static const struct {
        const char *word;
        RunFn run;
    } table[] = {{"list", run_list},
                 {"call", run_call},
                 {"read", run_read},
                 {"get", run_get},
                 {"request", run_request}};

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        TwResult *result = NULL;
        int r;

        if (strcmp(line->fields[0], table[i].word) != 0) {
            continue;
        }
        r = table[i].run(client, line, &result);
        say(r == TW_OK ? "result" : "error",
            r == TW_OK ? tw_result_json(result) : tw_client_message(client));
        tw_result_free(result);
        return 0;
    }
    (void)fprintf(stderr, "conformance_client: no such line: %s\n", line->fields[0]);
    return -1;
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

static TwClient *make_client(void)
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
    const TwClientOptions options = {.name = "conformance-client",
                                     .version = "1.0",
                                     .can = TW_CAN_FORM,
                                     .ask = on_ask,
                                     .auth = &auth};

    return tw_client_new(&options);
}

int main(int argc, char **argv)
{
    static Line line;
    TwClient *client = make_client();
    int r = argc == 2 ? tw_client_connect(client, argv[1]) : TW_ERROR_ARGUMENT;

    if (r == TW_OK) {
        say("session", tw_client_server_info(client));
    } else {
        say("error", tw_client_message(client));
    }
    while (r == TW_OK && line_read(&line)) {
        r = run_line(client, &line);
    }
    tw_client_free(client);
    return r == TW_OK ? 0 : 1;
}
