/* A tool that asks a person before it answers. The handler runs twice: first it asks, then it finds
 * the answer. Clients of every protocol revision are served by the same code. */
#include <stdio.h>
#include <toolwire/toolwire.h>

static const char form[] = "{\"type\":\"object\",\"required\":[\"guests\"],\"properties\":{"
                           "\"guests\":{\"type\":\"integer\",\"minimum\":1,\"title\":\"Guests\"}}}";

static void book(TwCall *call, void *user)
{
    const char *day = tw_call_string(call, "day", "today");

    (void)user;
    if (!tw_call_can_ask(call, TW_ASK_FORM)) {
        tw_call_failed(call, "This client cannot show a form.");
    } else if (tw_call_answer(call, "table") == NULL) {
        tw_call_ask_form(call, "table", "How many guests will come?", form);
    } else if (!tw_call_answer_accepted(call, "table")) {
        tw_call_failed(call, "No table was booked.");
    } else {
        tw_call_textf(call, "A table for %lld is booked for %s.",
                      (long long)tw_call_answer_int(call, "table", "guests", 1), day);
    }
}

int main(void)
{
    TwServer *server = tw_server_new("restaurant", "1.0");
    int r =
        tw_server_add_tool(server, &(TwTool){.name = "book",
                                             .description = "Books a table",
                                             .input_schema = "{\"type\":\"object\",\"properties\":{"
                                                             "\"day\":{\"type\":\"string\"}}}",
                                             .handler = book});

    if (r == 0) {
        r = tw_server_serve_stdio(server);
    }
    if (r != 0) {
        fprintf(stderr, "ask_input: %s\n", tw_server_message(server));
    }
    tw_server_free(server);
    return r == 0 ? 0 : 1;
}
