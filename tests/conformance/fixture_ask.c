/* fixture_ask.c: tools, and a prompt, that ask the client. The same handlers serve clients that are
 * asked in the middle of a call and clients that repeat it with the answers. */
#include <stdio.h>
#include <string.h>

#include "fixture.h"

#define FORM(field, type)                                                                          \
    "{\"type\":\"object\",\"properties\":{\"" field "\":{\"type\":\"" type "\"}},"                 \
    "\"required\":[\"" field "\"]}"

#define TEXT_ARGUMENT(name)                                                                        \
    "{\"type\":\"object\",\"properties\":{\"" name "\":{\"type\":\"string\"}},"                    \
    "\"required\":[\"" name "\"]}"

/* Lets the client's model answer one message of a user. */
static void ask_model(TwCall *call, const char *key, const char *text)
{
    TwJson *json = tw_json_new();

    tw_json_object(json);
    tw_json_key(json, "messages");
    tw_json_array(json);
    tw_json_object(json);
    tw_json_key(json, "role");
    tw_json_string(json, "user");
    tw_json_key(json, "content");
    tw_json_object(json);
    tw_json_key(json, "type");
    tw_json_string(json, "text");
    tw_json_key(json, "text");
    tw_json_string(json, text);
    tw_json_end(json);
    tw_json_end(json);
    tw_json_end(json);
    tw_json_key(json, "maxTokens");
    tw_json_int(json, 100);
    tw_json_end(json);
    tw_call_ask_sample(call, key, tw_json_text(json));
    tw_json_free(json);
}

/* What a person made of a form, in words. */
static void tell_form(TwCall *call, const char *key, const char *words)
{
    tw_call_textf(call, "%s: action=%s, content=%s", words, tw_call_answer_action(call, key),
                  tw_call_answer(call, key));
}

/* ---- Asked in the middle of a call by older clients -------------------------------------- */

static void tool_sampling(TwCall *call, void *user)
{
    (void)user;
    if (tw_call_answer(call, "said") == NULL) {
        ask_model(call, "said", tw_call_string(call, "prompt", ""));
        return;
    }
    tw_call_textf(call, "LLM response: %s",
                  tw_call_answer_string(call, "said", "/content/text", "No response"));
}

/* One form under one key. */
typedef struct FormCase {
    const char *name;
    const char *message; /* NULL: the argument `message` */
    const char *words;   /* before what was answered */
    const char *schema;
} FormCase;

static const FormCase form_cases[] = {
    {.name = "test_elicitation",
     .words = "User response",
     .schema = "{\"type\":\"object\",\"properties\":{"
               "\"username\":{\"type\":\"string\",\"description\":\"User's response\"},"
               "\"email\":{\"type\":\"string\",\"description\":\"User's email address\"}},"
               "\"required\":[\"username\",\"email\"]}"},
    {.name = "test_elicitation_sep1034_defaults",
     .message = "Please review and update the form fields with defaults",
     .words = "Elicitation completed",
     .schema = "{\"type\":\"object\",\"properties\":{"
               "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
               "\"age\":{\"type\":\"integer\",\"default\":30},"
               "\"score\":{\"type\":\"number\",\"default\":95.5},"
               "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],"
               "\"default\":\"active\"},"
               "\"verified\":{\"type\":\"boolean\",\"default\":true}},\"required\":[]}"},
    {.name = "test_elicitation_sep1330_enums",
     .message = "Please select options from the enum fields",
     .words = "Elicitation completed",
     .schema =
         "{\"type\":\"object\",\"properties\":{"
         "\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]},"
         "\"titledSingle\":{\"type\":\"string\",\"oneOf\":["
         "{\"const\":\"value1\",\"title\":\"First Option\"},"
         "{\"const\":\"value2\",\"title\":\"Second Option\"},"
         "{\"const\":\"value3\",\"title\":\"Third Option\"}]},"
         "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"
         "\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"
         "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\","
         "\"enum\":[\"option1\",\"option2\",\"option3\"]}},"
         "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":["
         "{\"const\":\"value1\",\"title\":\"First Choice\"},"
         "{\"const\":\"value2\",\"title\":\"Second Choice\"},"
         "{\"const\":\"value3\",\"title\":\"Third Choice\"}]}}},\"required\":[]}"},
    {.name = "test_streaming_elicitation",
     .message = "Go on?",
     .words = "Elicitation completed",
     .schema = FORM("ok", "boolean")},
};

static void tool_form(TwCall *call, void *user)
{
    const FormCase *form = form_cases;

    (void)user;
    while (strcmp(form->name, tw_call_target(call)) != 0) {
        form++;
    }
    if (tw_call_answer(call, "form") == NULL) {
        tw_call_ask_form(call, "form",
                         form->message != NULL ? form->message
                                               : tw_call_string(call, "message", ""),
                         form->schema);
        return;
    }
    tell_form(call, "form", form->words);
}

/* Cannot work without a model at the client. */
static void tool_missing_capability(TwCall *call, void *user)
{
    (void)user;
    if (tw_call_answer(call, "said") == NULL) {
        ask_model(call, "said", "Hello");
        return;
    }
    tw_call_text(call, "The client has a model.");
}

/* ---- One question ------------------------------------------------------------------------ */

static void tool_ask_name(TwCall *call, void *user)
{
    (void)user;
    if (tw_call_answer(call, "user_name") == NULL) {
        tw_call_ask_form(call, "user_name", "What is your name?", FORM("name", "string"));
        return;
    }
    tw_call_textf(call, "Hello, %s!", tw_call_answer_string(call, "user_name", "name", "stranger"));
}

static void tool_ask_capital(TwCall *call, void *user)
{
    (void)user;
    if (tw_call_answer(call, "capital_question") == NULL) {
        ask_model(call, "capital_question", "What is the capital of France?");
        return;
    }
    tw_call_text(call, tw_call_answer_string(call, "capital_question", "/content/text", "nothing"));
}

static void tool_ask_roots(TwCall *call, void *user)
{
    (void)user;
    if (tw_call_answer(call, "client_roots") == NULL) {
        tw_call_ask_roots(call, "client_roots");
        return;
    }
    tw_call_textf(call, "The first root is %s",
                  tw_call_answer_string(call, "client_roots", "/roots/0/uri", "nowhere"));
}

/* Only what this client declared is asked for. */
static void tool_ask_what_can_be(TwCall *call, void *user)
{
    bool form = tw_call_can_ask(call, TW_ASK_FORM) && tw_call_answer(call, "user_name") == NULL;
    bool sample = tw_call_can_ask(call, TW_ASK_SAMPLE) && tw_call_answer(call, "greeting") == NULL;

    (void)user;
    if (form) {
        tw_call_ask_form(call, "user_name", "What is your name?", FORM("name", "string"));
    }
    if (sample) {
        ask_model(call, "greeting", "Generate a greeting");
    }
    if (!form && !sample) {
        tw_call_text(call, "Nothing more to ask.");
    }
}

/* ---- State between the rounds ------------------------------------------------------------ */

static void tool_request_state(TwCall *call, void *user)
{
    const char *state = tw_call_state(call);

    (void)user;
    if (tw_call_answer(call, "confirm") == NULL) {
        tw_call_ask_form(call, "confirm", "Please confirm", FORM("ok", "boolean"));
        tw_call_set_state(call, "asked");
        return;
    }
    tw_call_text(call, state != NULL && strcmp(state, "asked") == 0 ? "state-ok" : "state-missing");
}

static void tool_multiple_inputs(TwCall *call, void *user)
{
    (void)user;
    if (tw_call_answer(call, "user_name") != NULL && tw_call_answer(call, "greeting") != NULL &&
        tw_call_answer(call, "client_roots") != NULL) {
        tw_call_textf(call, "%s, %s!",
                      tw_call_answer_string(call, "greeting", "/content/text", "Hello"),
                      tw_call_answer_string(call, "user_name", "name", "stranger"));
        return;
    }
    tw_call_ask_form(call, "user_name", "What is your name?", FORM("name", "string"));
    ask_model(call, "greeting", "Generate a greeting");
    tw_call_ask_roots(call, "client_roots");
    tw_call_set_state(call, "three questions");
}

/* What was answered in the first round reaches the last one through the state alone. */
static void tool_multi_round(TwCall *call, void *user)
{
    const char *state = tw_call_state(call);
    char text[128];

    (void)user;
    if (state == NULL || tw_call_answer(call, "step2") == NULL) {
        if (state != NULL && tw_call_answer(call, "step1") != NULL) {
            snprintf(text, sizeof text, "name=%s",
                     tw_call_answer_string(call, "step1", "name", "stranger"));
            tw_call_ask_form(call, "step2", "Step 2: What is your favorite color?",
                             FORM("color", "string"));
            tw_call_set_state(call, text);
            return;
        }
        tw_call_ask_form(call, "step1", "Step 1: What is your name?", FORM("name", "string"));
        tw_call_set_state(call, "step1");
        return;
    }
    tw_call_textf(call, "%s, color=%s", state,
                  tw_call_answer_string(call, "step2", "color", "none"));
}

/* ---- A prompt ---------------------------------------------------------------------------- */

static void prompt_asking(TwCall *call, void *user)
{
    (void)user;
    if (tw_call_answer(call, "user_context") == NULL) {
        tw_call_ask_form(call, "user_context", "What context should the prompt use?",
                         FORM("context", "string"));
        return;
    }
    tw_call_textf(call, "Use this context: %s",
                  tw_call_answer_string(call, "user_context", "context", "none"));
}

/* ---- All of it -------------------------------------------------------------------------- */

#define MRTR "test_input_required_result_"

int fixture_add_asking(Fixture *fixture)
{
    const TwTool tools[] = {
        {.name = "test_sampling",
         .input_schema = TEXT_ARGUMENT("prompt"),
         .handler = tool_sampling},
        {.name = "test_elicitation",
         .input_schema = TEXT_ARGUMENT("message"),
         .handler = tool_form},
        {.name = "test_elicitation_sep1034_defaults", .handler = tool_form},
        {.name = "test_elicitation_sep1330_enums", .handler = tool_form},
        {.name = "test_streaming_elicitation", .handler = tool_form},
        {.name = "test_missing_capability", .handler = tool_missing_capability},
        {.name = MRTR "elicitation", .handler = tool_ask_name},
        {.name = MRTR "sampling", .handler = tool_ask_capital},
        {.name = MRTR "list_roots", .handler = tool_ask_roots},
        {.name = MRTR "capabilities", .handler = tool_ask_what_can_be},
        {.name = MRTR "request_state", .handler = tool_request_state},
        {.name = MRTR "tampered_state", .handler = tool_request_state},
        {.name = MRTR "multiple_inputs", .handler = tool_multiple_inputs},
        {.name = MRTR "multi_round", .handler = tool_multi_round},
    };
    int r = fixture_add_all(fixture, tools, sizeof tools / sizeof tools[0]);

    if (r != TW_OK) {
        return r;
    }
    return tw_server_add_prompt(
        fixture->server,
        &(TwPrompt){.name = MRTR "prompt", .description = MRTR "prompt", .handler = prompt_asking});
}
