/* What the tests of the renderers share: who we are, and rendering under the eye of the official
 * schemas. */
#pragma once

#include "dialect/mcp/render.h"

#include <stdio.h>

#include "support/cmocka.h"
#include "support/mcp_schema.h"

#define RENDER_MAX_BYTES ((size_t)1 << 24)

/* `_meta` of every modern result. */
#define RENDER_INFO                                                                                \
    "\"io.modelcontextprotocol/serverInfo\":{\"name\":\"toolwire\",\"version\":\"1.2.3\"}"
#define RENDER_META "\"_meta\":{" RENDER_INFO "}"

static const McpIdentity render_identity = {
    .name = {"toolwire", 8},
    .version = {"1.2.3", 5},
    .title = {"The \"wire\"", 10},
    .description = {"One wire", 8},
    .website_url = {"https://example.org/", 20},
    .icons = {"[{\"src\":\"data:,x\"}]", 19},
    .instructions = {"Ask first.\nThen call.", 21},
};

typedef struct Render {
    Bytes out;
    Arena scratch;
} Render;

static inline int render_setup(void **state)
{
    static Render render;

    bytes_init(&render.out, RENDER_MAX_BYTES);
    arena_init(&render.scratch, RENDER_MAX_BYTES);
    *state = &render;
    return 0;
}

static inline int render_teardown(void **state)
{
    Render *render = *state;

    bytes_deinit(&render->out);
    arena_deinit(&render->scratch);
    return 0;
}

static inline McpReply render_reply(McpRevision revision, CallVerb verb)
{
    return (McpReply){.revision = revision,
                      .verb = verb,
                      .id = SPAN("\"a-1\""),
                      .target = SPAN("echo"),
                      .identity = &render_identity};
}

static inline const char *render_method(CallVerb verb)
{
    static const char *const methods[CALL_N_VERBS] = {
        [CALL_TOOL] = "tools/call",
        [CALL_READ] = "resources/read",
        [CALL_PROMPT] = "prompts/get",
        [CALL_COMPLETE] = "completion/complete",
        [CALL_LIST_TOOLS] = "tools/list",
        [CALL_LIST_RESOURCES] = "resources/list",
        [CALL_LIST_TEMPLATES] = "resources/templates/list",
        [CALL_LIST_PROMPTS] = "prompts/list",
        [CALL_SUBSCRIBE] = "resources/subscribe",
        [CALL_TASK_GET] = "tasks/get",
        [CALL_TASK_RESULT] = "tasks/result",
        [CALL_TASK_UPDATE] = "tasks/update",
        [CALL_TASK_CANCEL] = "tasks/cancel",
        [CALL_LIST_TASKS] = "tasks/list",
    };

    return methods[verb];
}

/* Renders into an empty buffer and checks what came out; borrowed until the next one. */
static inline Span render_result_as(Render *render, const McpReply *reply, const CallResult *result)
{
    bytes_clear(&render->out);
    arena_reset(&render->scratch, RENDER_MAX_BYTES);
    assert_int_equal(mcp_render_result(&render->out, &render->scratch, reply, result), 0);
    mcp_schema_assert_message(reply->revision, reply->is_bare ? NULL : render_method(reply->verb),
                              bytes_span(&render->out));
    return bytes_span(&render->out);
}

static inline Span render_result(Render *render, McpRevision revision, CallVerb verb,
                                 const CallResult *result)
{
    McpReply reply = render_reply(revision, verb);

    return render_result_as(render, &reply, result);
}

static inline void assert_text_at(Span got, const char *want, const char *file, int line)
{
    if (!span_equals(got, span_from_str(want))) {
        print_error("got:  %.*s\nwant: %s\n", (int)got.n, got.p, want);
        _fail(file, line);
    }
}
#define assert_text(got, want) assert_text_at((got), (want), __FILE__, __LINE__)

static inline bool text_holds(Span text, const char *part)
{
    size_t n = strlen(part);

    for (size_t i = 0; i + n <= text.n; i++) {
        if (memcmp(text.p + i, part, n) == 0) {
            return true;
        }
    }
    return false;
}
