/* fixture_client.c: the client of the library against a server that others wrote and that offers
 * the fixture (server_v2.mjs).
 *
 *   fixture_client auto|legacy|modern SERVER [ARG…]
 *
 * Prints one line for each check, and the count.
 */
#include <stdio.h>
#include <string.h>
#include <toolwire/toolwire.h>

/* How long a notification may take that is on its way: only a failure waits that long. */
#define NOTIFICATION_WAIT_MS 20000

typedef struct Run {
    TwClient *client;
    const char *era;
    int n_run;
    int n_failed;
    TwAskKind asked; /* the last question's */
    bool declines;   /* forms are declined */
    int n_progress;
    double progress;     /* the last one reported */
    bool cancels;        /* the next progress ends the call */
    const char *awaited; /* the method of a notification that ends tw_client_wait */
    bool has_come;       /* it did, since it was awaited */
    bool waits;          /* in tw_client_wait: only that may be cut short */
} Run;

/* ---- Checks ----------------------------------------------------------------------------- */

static void check(Run *run, const char *name, bool holds, const char *seen)
{
    run->n_run++;
    if (holds) {
        printf("ok library client %s: %s\n", run->era, name);
        return;
    }
    run->n_failed++;
    printf("not ok library client %s: %s: %s (%s)\n", run->era, name,
           seen == NULL ? "nothing" : seen, tw_client_message(run->client));
}

/* Checks the text of a result, and frees it. */
static void check_text(Run *run, const char *name, int r, TwResult *result, const char *expected)
{
    const char *text = r == TW_OK ? tw_result_text(result) : tw_error_text(r);

    check(run, name, r == TW_OK && text != NULL && strcmp(text, expected) == 0, text);
    tw_result_free(result);
}

static void check_call(Run *run, const char *tool, const char *arguments, const char *expected)
{
    TwResult *result = NULL;
    int r = tw_client_call(run->client, tool, arguments, &result);

    check_text(run, tool, r, result, expected);
}

/* ---- What the server wants of us -------------------------------------------------------- */

static void on_ask(TwAsk *ask, void *user)
{
    Run *run = (Run *)user;

    run->asked = tw_ask_kind(ask);
    switch (run->asked) {
    case TW_ASK_FORM:
        if (run->declines) {
            tw_ask_decline(ask);
        } else if (strstr(tw_ask_schema(ask), "\"name\"") != NULL) {
            tw_ask_accept(ask, "{\"name\":\"Ann\"}");
        } else if (strcmp(tw_ask_message(ask), "First?") == 0) {
            tw_ask_accept(ask, "{\"first\":\"A\"}");
        } else {
            tw_ask_accept(ask, "{\"second\":\"B\"}");
        }
        break;
    case TW_ASK_URL:
        if (strcmp(tw_ask_url(ask), "https://example.test/consent") == 0) {
            tw_ask_accept(ask, NULL);
        }
        break;
    case TW_ASK_SAMPLE:
        tw_ask_result(ask, "{\"model\":\"none\",\"role\":\"assistant\","
                           "\"content\":{\"type\":\"text\",\"text\":\"because\"}}");
        break;
    case TW_ASK_ROOTS:
        tw_ask_result(ask, "{\"roots\":[{\"uri\":\"file:///a\"},{\"uri\":\"file:///b\"}]}");
        break;
    }
}

static void on_progress(double progress, double total, const char *message, void *user)
{
    Run *run = (Run *)user;

    (void)total;
    (void)message;
    run->n_progress++;
    run->progress = progress;
    if (run->cancels) {
        tw_client_cancel(run->client);
    }
}

static void on_notification(const char *method, const char *params, void *user)
{
    Run *run = (Run *)user;

    if (run->awaited == NULL || strcmp(method, run->awaited) != 0) {
        return;
    }
    run->has_come = params == NULL ||
                    strcmp(run->awaited, "notifications/resources/updated") != 0 ||
                    strstr(params, "\"test://watched\"") != NULL;
    if (run->waits) {
        tw_client_cancel(run->client);
    }
}

/* ---- The checks, by what they use ------------------------------------------------------- */

static void check_lists(Run *run)
{
    static const struct {
        const char *name;
        int (*list)(TwClient *client, TwResult **ret_result);
        const char *key;
        size_t n;
    } lists[] = {
        {"list tools", tw_client_list_tools, "/tools", 19},
        {"list resources", tw_client_list_resources, "/resources", 3},
        {"list templates", tw_client_list_templates, "/resourceTemplates", 1},
        {"list prompts", tw_client_list_prompts, "/prompts", 2},
    };

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        TwResult *result = NULL;
        int r = lists[i].list(run->client, &result);
        bool holds = r == TW_OK && tw_result_count(result, lists[i].key) == lists[i].n;

        check(run, lists[i].name, holds, r == TW_OK ? tw_result_json(result) : tw_error_text(r));
        tw_result_free(result);
    }
}

static void check_tools(Run *run)
{
    TwResult *result = NULL;
    int r;

    check_call(run, "echo", "{\"message\":\"hi \\u00e9\"}", "hi é");
    r = tw_client_call(run->client, "add", "{\"a\":1,\"b\":0.5}", &result);
    check(run, "a structured result",
          r == TW_OK && tw_result_double(result, "/structuredContent/sum", 0) == 1.5,
          r == TW_OK ? tw_result_json(result) : tw_error_text(r));
    tw_result_free(result);
    result = NULL;
    r = tw_client_call(run->client, "failing", NULL, &result);
    check(run, "a tool that fails", r == TW_OK && tw_result_is_error(result), tw_error_text(r));
    tw_result_free(result);
    result = NULL;
    r = tw_client_call(run->client, "no_such_tool", NULL, &result);
    check(run, "an unknown tool",
          r == TW_ERROR_REMOTE && tw_client_error_code(run->client) == -32602, tw_error_text(r));
    tw_result_free(result);
}

static void check_others(Run *run)
{
    TwResult *result = NULL;
    int r = tw_client_read_resource(run->client, "test://item/7", &result);

    check_text(run, "read a resource", r, result, "item 7");
    result = NULL;
    r = tw_client_get_prompt(run->client, "simple", NULL, &result);
    check_text(run, "get a prompt", r, result, "A simple prompt");
    result = NULL;
    r = tw_client_complete_prompt(run->client, "greet", "style", "fo", &result);
    check(run, "complete a prompt argument",
          r == TW_OK &&
              strcmp(tw_result_string(result, "/completion/values/0", ""), "formal") == 0 &&
              tw_result_count(result, "/completion/values") == 1,
          r == TW_OK ? tw_result_json(result) : tw_error_text(r));
    tw_result_free(result);
    result = NULL;
    r = tw_client_complete_template(run->client, "test://item/{id}", "id", "al", &result);
    check(run, "complete a template variable",
          r == TW_OK && tw_result_count(result, "/completion/values") == 2,
          r == TW_OK ? tw_result_json(result) : tw_error_text(r));
    tw_result_free(result);
}

static void check_questions(Run *run)
{
    check_call(run, "ask_name", NULL, "Hello, Ann!");
    run->declines = true;
    check_call(run, "ask_name", NULL, "decline");
    run->declines = false;
    check_call(run, "ask_twice", NULL, "two A B");
    check_call(run, "ask_url", NULL, "accept");
    check(run, "it was a page", run->asked == TW_ASK_URL, "another kind of question");
    check_call(run, "sample", "{\"prompt\":\"why\"}", "the model says: because");
    check_call(run, "roots", NULL, "file:///a file:///b");
}

static void check_progress(Run *run)
{
    TwResult *result = NULL;
    int r;

    run->n_progress = 0;
    check_call(run, "progress", "{\"steps\":5}", "done 5");
    check(run, "every step was reported", run->n_progress == 5 && run->progress == 5, "others");
    run->cancels = true;
    r = tw_client_call(run->client, "slow", NULL, &result);
    run->cancels = false;
    check(run, "a call taken back", r == TW_ERROR_CANCELLED, tw_error_text(r));
    tw_result_free(result);
    check_call(run, "cancelled_count", NULL, "1");
}

/* Calls a tool that causes a notification, which comes before the answer or after it. */
static void check_notified(Run *run, const char *tool, const char *arguments, const char *expected,
                           const char *method)
{
    run->awaited = method;
    run->has_come = false;
    check_call(run, tool, arguments, expected);
    if (!run->has_come) {
        run->waits = true;
        (void)tw_client_wait(run->client, NOTIFICATION_WAIT_MS);
        run->waits = false;
    }
    check(run, method, run->has_come, "it did not come");
    run->awaited = NULL;
}

static void check_changes(Run *run)
{
    const char *const uris[] = {"test://watched", NULL};
    int r = tw_client_subscribe(run->client, uris);

    check(run, "subscribe", r == TW_OK, tw_error_text(r));
    check_notified(run, "update", NULL, "version 1", "notifications/resources/updated");
    check_notified(run, "add_tool", "{\"name\":\"new_one\"}", "added new_one",
                   "notifications/tools/list_changed");
    check_call(run, "new_one", NULL, "this is new_one");
}

static void check_all(Run *run, const char *const *argv)
{
    bool is_legacy = strcmp(run->era, "legacy") == 0;
    int r = tw_client_start(run->client, argv);
    const char *version;

    check(run, "start", r == TW_OK, tw_error_text(r));
    if (r != TW_OK) {
        return;
    }
    version = tw_client_protocol_version(run->client);
    check(run, "the revision", strcmp(version, is_legacy ? "2025-11-25" : "2026-07-28") == 0,
          version);
    check(run, "what the server says of itself",
          strstr(tw_client_server_info(run->client), "\"Call echo.\"") != NULL,
          tw_client_server_info(run->client));
    check_lists(run);
    check_tools(run);
    check_others(run);
    check_questions(run);
    check_progress(run);
    check_changes(run);
}

int main(int argc, char **argv)
{
    Run run = {.era = argc > 2 ? argv[1] : ""};
    TwClientOptions options = {.name = "fixture_client",
                               .version = "1.0.0",
                               .can = TW_CAN_FORM | TW_CAN_URL | TW_CAN_SAMPLE | TW_CAN_ROOTS,
                               .ask = on_ask,
                               .progress = on_progress,
                               .notification = on_notification,
                               .user = &run};

    if (strcmp(run.era, "legacy") == 0) {
        options.era = TW_ERA_LEGACY;
    } else if (strcmp(run.era, "modern") == 0) {
        options.era = TW_ERA_MODERN;
    } else if (strcmp(run.era, "auto") != 0) {
        fputs("usage: fixture_client auto|legacy|modern SERVER [ARG...]\n", stderr);
        return 2;
    }
    run.client = tw_client_new(&options);
    check_all(&run, (const char *const *)&argv[2]);
    tw_client_free(run.client);
    printf("library client %s: %d/%d checks\n", run.era, run.n_run - run.n_failed, run.n_run);
    return run.n_failed == 0 ? 0 : 1;
}
