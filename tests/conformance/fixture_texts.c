/* fixture_texts.c: resources and prompts. */
#include <stdio.h>
#include <string.h>

#include "fixture.h"

static void read_static_text(TwCall *call, void *user)
{
    (void)user;
    tw_call_text(call, "This is the content of the static text resource.");
}

static void read_static_binary(TwCall *call, void *user)
{
    (void)user;
    tw_call_resource_blob(call, NULL, "image/png", fixture_png, fixture_png_n);
}

static void read_watched(TwCall *call, void *user)
{
    (void)user;
    tw_call_text(call, "Watched resource content");
}

static void read_template(TwCall *call, void *user)
{
    const char *id = tw_call_variable(call, "id");
    TwJson *json = tw_json_new();
    char data[128];

    (void)user;
    id = id != NULL ? id : "";
    snprintf(data, sizeof data, "Data for ID: %s", id);
    tw_json_object(json);
    tw_json_key(json, "id");
    tw_json_string(json, id);
    tw_json_key(json, "templateTest");
    tw_json_bool(json, true);
    tw_json_key(json, "data");
    tw_json_string(json, data);
    tw_json_end(json);
    tw_call_text(call, tw_json_text(json));
    tw_json_free(json);
}

int fixture_add_resources(Fixture *fixture)
{
    const TwResource resources[] = {
        {.uri = "test://static-text",
         .name = "Static Text Resource",
         .description = "A static text resource for testing",
         .mime_type = "text/plain",
         .handler = read_static_text},
        {.uri = "test://static-binary",
         .name = "Static Binary Resource",
         .description = "A static binary resource (image) for testing",
         .mime_type = "image/png",
         .handler = read_static_binary},
        {.uri = "test://watched-resource",
         .name = "Watched Resource",
         .description = "A resource that can be subscribed to",
         .mime_type = "text/plain",
         .handler = read_watched},
    };
    const TwResourceTemplate data = {.uri_template = "test://template/{id}/data",
                                     .name = "Resource Template",
                                     .description = "A resource template with one variable",
                                     .mime_type = "application/json",
                                     .handler = read_template};
    int r = TW_OK;

    for (size_t i = 0; r == TW_OK && i < sizeof resources / sizeof resources[0]; i++) {
        r = tw_server_add_resource(fixture->server, &resources[i]);
    }
    return r == TW_OK ? tw_server_add_template(fixture->server, &data) : r;
}

/* ---- Prompts ---------------------------------------------------------------------------- */

static void prompt_simple(TwCall *call, void *user)
{
    (void)user;
    tw_call_text(call, "This is a simple prompt for testing.");
}

static void prompt_with_arguments(TwCall *call, void *user)
{
    (void)user;
    tw_call_textf(call, "Prompt with arguments: arg1='%s', arg2='%s'",
                  tw_call_string(call, "arg1", ""), tw_call_string(call, "arg2", ""));
}

static void complete_arguments(TwCall *call, void *user)
{
    static const char *const values[] = {"testValue1", "testValue2", "paris", "park", "party"};
    const char *typed = tw_call_typed(call);

    (void)user;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        if (strncmp(values[i], typed, strlen(typed)) == 0) {
            tw_call_value(call, values[i]);
        }
    }
}

static void prompt_with_embedded_resource(TwCall *call, void *user)
{
    (void)user;
    tw_call_resource_text(call, tw_call_string(call, "resourceUri", ""), "text/plain",
                          "Embedded resource content for testing.");
    tw_call_text(call, "Please process the embedded resource above.");
}

static void prompt_with_image(TwCall *call, void *user)
{
    (void)user;
    tw_call_image(call, "image/png", fixture_png, fixture_png_n);
    tw_call_text(call, "Please analyze the image above.");
}

int fixture_add_prompts(Fixture *fixture)
{
    const TwPromptArgument two[] = {
        {.name = "arg1", .description = "First test argument", .required = true},
        {.name = "arg2", .description = "Second test argument", .required = true},
        {.name = NULL}};
    const TwPromptArgument uri[] = {
        {.name = "resourceUri", .description = "URI of the resource to embed", .required = true},
        {.name = NULL}};
    const TwPrompt prompts[] = {
        {.name = "test_simple_prompt", .handler = prompt_simple},
        {.name = "test_prompt_with_arguments",
         .arguments = two,
         .handler = prompt_with_arguments,
         .complete = complete_arguments},
        {.name = "test_prompt_with_embedded_resource",
         .arguments = uri,
         .handler = prompt_with_embedded_resource},
        {.name = "test_prompt_with_image", .handler = prompt_with_image},
    };
    int r = TW_OK;

    for (size_t i = 0; r == TW_OK && i < sizeof prompts / sizeof prompts[0]; i++) {
        TwPrompt prompt = prompts[i];

        prompt.description = prompt.name;
        r = tw_server_add_prompt(fixture->server, &prompt);
    }
    return r;
}
