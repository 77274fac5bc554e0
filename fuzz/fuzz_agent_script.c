/* A script that may be anything: it is refused with its line, or every answer by it ends. */
#include "fuzz.h"

#include <string.h>

#include "agent/script.h"

#define ROUNDS 4

static void answer(const AgentScript *script, size_t n_rounds)
{
    AgentBlock ask = {.kind = AGENT_BLOCK_TEXT, .text = SPAN("/call a {}")};
    AgentBlock use = {.kind = AGENT_BLOCK_TOOL_USE, .id = SPAN("1"), .name = SPAN("a")};
    AgentBlock result = {.kind = AGENT_BLOCK_TOOL_RESULT, .id = SPAN("1"), .text = SPAN("b")};
    AgentMessage messages[1 + 2 * ROUNDS] = {{.blocks = &ask, .n_blocks = 1}};
    ModelRequest request = {.messages = messages, .n_messages = 1};
    const AgentScriptStep *steps = NULL;
    size_t n = 0;
    Arena arena;

    for (size_t i = 0; i < n_rounds; i++) {
        messages[request.n_messages++] =
            (AgentMessage){.is_assistant = true, .blocks = &use, .n_blocks = 1};
        messages[request.n_messages++] = (AgentMessage){.blocks = &result, .n_blocks = 1};
    }
    arena_init(&arena, SIZE_MAX);
    FUZZ_REQUIRE(agent_script_answer(script, &arena, &request, &steps, &n) == 0);
    FUZZ_REQUIRE(n > 0);
    for (size_t i = 0; i < n; i++) {
        bool is_end = steps[i].kind == AGENT_SCRIPT_END || steps[i].kind == AGENT_SCRIPT_FAIL;

        FUZZ_REQUIRE(is_end == (i + 1 == n));
        FUZZ_REQUIRE(is_end || steps[i].kind == AGENT_SCRIPT_TEXT ||
                     steps[i].kind == AGENT_SCRIPT_TOOL || steps[i].kind == AGENT_SCRIPT_WAIT);
    }
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Diag diag = DIAG_NULL;
    AgentScript script;
    int r = agent_script_init(&script, span_make((const char *)data, size), &diag);

    FUZZ_REQUIRE(r == 0 || r == AGENT_SCRIPT_E_MALFORMED);
    FUZZ_REQUIRE(r == 0 || diag.message[0] != '\0');
    for (size_t i = 0; r == 0 && i <= ROUNDS; i++) {
        answer(&script, i);
    }
    agent_script_deinit(&script);
    return 0;
}
