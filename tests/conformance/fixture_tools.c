/* fixture_tools.c: tools that answer at once. */
#include "fixture.h"

const unsigned char fixture_png[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48,
    0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00,
    0x00, 0x90, 0x77, 0x53, 0xde, 0x00, 0x00, 0x00, 0x0c, 0x49, 0x44, 0x41, 0x54, 0x78,
    0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0x00, 0x00, 0x03, 0x01, 0x01, 0x00, 0xc9, 0xfe, 0x92,
    0xef, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
const size_t fixture_png_n = sizeof fixture_png;

const unsigned char fixture_wav[] = {
    0x52, 0x49, 0x46, 0x46, 0x24, 0x00, 0x00, 0x00, 0x57, 0x41, 0x56, 0x45, 0x66, 0x6d, 0x74,
    0x20, 0x10, 0x00, 0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0x40, 0x1f, 0x00, 0x00, 0x80, 0x3e,
    0x00, 0x00, 0x02, 0x00, 0x10, 0x00, 0x64, 0x61, 0x74, 0x61, 0x00, 0x00, 0x00, 0x00};
const size_t fixture_wav_n = sizeof fixture_wav;

/* ---- Content ---------------------------------------------------------------------------- */

static void tool_simple_text(TwCall *call, void *user)
{
    (void)user;
    tw_call_text(call, "This is a simple text response for testing.");
}

static void tool_image(TwCall *call, void *user)
{
    (void)user;
    tw_call_image(call, "image/png", fixture_png, fixture_png_n);
}

static void tool_audio(TwCall *call, void *user)
{
    (void)user;
    tw_call_audio(call, "audio/wav", fixture_wav, fixture_wav_n);
}

static void tool_embedded_resource(TwCall *call, void *user)
{
    (void)user;
    tw_call_resource_text(call, "test://embedded-resource", "text/plain",
                          "This is an embedded resource content.");
}

static void tool_multiple_content_types(TwCall *call, void *user)
{
    (void)user;
    tw_call_text(call, "Multiple content types test:");
    tw_call_image(call, "image/png", fixture_png, fixture_png_n);
    tw_call_resource_text(call, "test://mixed-content-resource", "application/json",
                          "{\"test\":\"data\",\"value\":123}");
}

static void tool_error_handling(TwCall *call, void *user)
{
    (void)user;
    tw_call_failed(call, "This tool intentionally returns an error for testing");
}

/* Logs at once, and is silent for clients that did not ask for logs. */
static void tool_logging(TwCall *call, void *user)
{
    (void)user;
    tw_call_log(call, TW_LOG_INFO, "a record of test_logging_tool");
    tw_call_text(call, "logged");
}

/* ---- Schemas ---------------------------------------------------------------------------- */

static void tool_repeat(TwCall *call, void *user)
{
    (void)user;
    tw_call_text(call, tw_call_arguments(call));
}

#define SCHEMA_2020_12                                                                             \
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","           \
    "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":"       \
    "{\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},\"properties\":"          \
    "{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"                  \
    "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"                      \
    "\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"                            \
    "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"             \
    "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"                            \
    "\"required\":[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},"                       \
    "\"else\":{\"required\":[\"email\"]},\"additionalProperties\":false}"

#define SCHEMA_HEADERS                                                                             \
    "{\"type\":\"object\",\"properties\":{"                                                        \
    "\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"},"                                \
    "\"priority\":{\"type\":\"integer\",\"x-mcp-header\":\"Priority\"},"                           \
    "\"query\":{\"type\":\"string\"}},\"required\":[\"query\"]}"

/* ---- Changes of the lists --------------------------------------------------------------- */

static void prompt_dynamic(TwCall *call, void *user)
{
    (void)user;
    tw_call_text(call, "A prompt that comes and goes.");
}

static void answer_change(TwCall *call, const Fixture *fixture, int r)
{
    if (r != TW_OK) {
        tw_call_failed(call, tw_server_message(fixture->server));
        return;
    }
    tw_call_text(call, "changed");
}

/* A tool that comes and goes by turns, so that each call is a change. */
static void tool_trigger_tool_change(TwCall *call, void *user)
{
    Fixture *fixture = user;
    int r;

    if (fixture->has_tool) {
        r = tw_server_remove_tool(fixture->server, "test_dynamic_tool");
    } else {
        r = fixture_add_all(fixture,
                            &(TwTool){.name = "test_dynamic_tool", .handler = tool_simple_text}, 1);
    }
    if (r == TW_OK) {
        fixture->has_tool = !fixture->has_tool;
    }
    answer_change(call, fixture, r);
}

static void tool_trigger_prompt_change(TwCall *call, void *user)
{
    Fixture *fixture = user;
    int r;

    if (fixture->has_prompt) {
        r = tw_server_remove_prompt(fixture->server, "test_dynamic_prompt");
    } else {
        r = tw_server_add_prompt(fixture->server, &(TwPrompt){.name = "test_dynamic_prompt",
                                                              .description = "Comes and goes",
                                                              .handler = prompt_dynamic});
    }
    if (r == TW_OK) {
        fixture->has_prompt = !fixture->has_prompt;
    }
    answer_change(call, fixture, r);
}

/* ---- All of it -------------------------------------------------------------------------- */

int fixture_add_all(Fixture *fixture, const TwTool *tools, size_t n)
{
    int r = TW_OK;

    for (size_t i = 0; r == TW_OK && i < n; i++) {
        TwTool tool = tools[i];

        tool.description = tool.name;
        if (tool.input_schema == NULL) {
            tool.input_schema = "{\"type\":\"object\",\"properties\":{}}";
        }
        tool.user = fixture;
        r = tw_server_add_tool(fixture->server, &tool);
    }
    return r;
}

int fixture_add_tools(Fixture *fixture)
{
    const TwTool tools[] = {
        {.name = "test_simple_text", .handler = tool_simple_text},
        {.name = "test_image_content", .handler = tool_image},
        {.name = "test_audio_content", .handler = tool_audio},
        {.name = "test_embedded_resource", .handler = tool_embedded_resource},
        {.name = "test_multiple_content_types", .handler = tool_multiple_content_types},
        {.name = "test_error_handling", .handler = tool_error_handling},
        {.name = "test_logging_tool", .handler = tool_logging},
        {.name = "json_schema_2020_12_tool",
         .input_schema = SCHEMA_2020_12,
         .handler = tool_repeat},
        {.name = "test_header_parameters", .input_schema = SCHEMA_HEADERS, .handler = tool_repeat},
        {.name = "test_trigger_tool_change", .handler = tool_trigger_tool_change},
        {.name = "test_trigger_prompt_change", .handler = tool_trigger_prompt_change},
    };

    return fixture_add_all(fixture, tools, sizeof tools / sizeof tools[0]);
}
