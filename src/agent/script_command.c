/* What the user's message says when there is no script: commands. */
#include "agent/script_impl.h"

#include <errno.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"

typedef struct Command {
    const char *name;
    int (*fn)(AgentScriptAnswer *answer, const ModelRequest *request, Span rest);
} Command;

/* Longest pause of /slow between two words: a typing error is not waited for by the hour. */
#define COMMAND_PAUSE_MAX_MS 10000u

static int say(AgentScriptAnswer *answer, Span text, int64_t pause_ms)
{
    AgentScriptStep step = {.kind = AGENT_SCRIPT_TEXT, .times = 1, .pause_ms = pause_ms};

    step.text = arena_copy(answer->arena, text);
    return step.text.p == NULL ? err_raise(-ENOMEM) : agent_script_add(answer, &step);
}

/* The first word of *text, which goes on behind it. */
static Span take_word(Span *text)
{
    Span all = text_trim(*text);
    Span word = text_trim(agent_script_word(all));

    *text = text_trim(span_make(all.p + word.n, all.n - word.n));
    return word;
}

static int command_echo(AgentScriptAnswer *answer, const ModelRequest *request, Span rest)
{
    (void)request;
    return say(answer, rest, 0);
}

static int command_slow(AgentScriptAnswer *answer, const ModelRequest *request, Span rest)
{
    uint64_t ms = 0;

    (void)request;
    if (text_parse_u64(take_word(&rest), &ms) != 0 || ms > COMMAND_PAUSE_MAX_MS) {
        return say(answer, SPAN("/slow MS TEXT: MS are milliseconds between words, 10000 at most"),
                   0);
    }
    return say(answer, rest, (int64_t)ms);
}

static int command_fail(AgentScriptAnswer *answer, const ModelRequest *request, Span rest)
{
    AgentScriptStep step = {.kind = AGENT_SCRIPT_FAIL};

    (void)request;
    step.text = arena_copy(answer->arena, rest.n > 0 ? rest : SPAN("the script was told to fail"));
    return step.text.p == NULL ? err_raise(-ENOMEM) : agent_script_add(answer, &step);
}

static int command_call(AgentScriptAnswer *answer, const ModelRequest *request, Span rest)
{
    AgentScriptStep step = {.kind = AGENT_SCRIPT_TOOL};
    Span name = take_word(&rest);

    (void)request;
    if (name.n == 0) {
        return say(answer, SPAN("/call TOOL {json}: which tool?"), 0);
    }
    step.text = arena_copy(answer->arena, name);
    step.input = arena_copy(answer->arena, rest);
    if (step.text.p == NULL || step.input.p == NULL) {
        return err_raise(-ENOMEM);
    }
    return agent_script_add(answer, &step);
}

static int tools_write(Bytes *out, const ModelRequest *request)
{
    int r = request->n_tools == 0 ? bytes_append_span(out, SPAN("There are no tools."))
                                  : bytes_append_format(out, "%zu tools:", request->n_tools);

    for (size_t i = 0; i < request->n_tools && r == 0; i++) {
        const AgentToolSpec *tool = &request->tools[i];

        r = bytes_append_span(out, SPAN("\n"));
        if (r == 0) {
            r = bytes_append_span(out, tool->name);
        }
        if (r == 0 && tool->description.n > 0) {
            r = bytes_append_span(out, SPAN(": "));
        }
        if (r == 0) {
            r = bytes_append_span(out, tool->description);
        }
    }
    return r;
}

static int command_tools(AgentScriptAnswer *answer, const ModelRequest *request, Span rest)
{
    Bytes out;
    int r;

    (void)rest;
    bytes_init(&out, LIMIT_MODEL_ANSWER_BYTES);
    r = tools_write(&out, request);
    if (r >= 0) { /* what is too long is cut */
        r = say(answer, bytes_span(&out), 0);
    }
    bytes_deinit(&out);
    return r;
}

static const Command commands[] = {
    {"/tools", command_tools}, {"/call", command_call}, {"/echo", command_echo},
    {"/slow", command_slow},   {"/fail", command_fail},
};

static const char help[] =
    "This is the built-in script model, not a language model. It understands: /tools (lists the "
    "tools), /call TOOL {json} (calls one and shows its result), /echo TEXT, /slow MS TEXT, /fail "
    "TEXT. For a language model set OPENAI_BASE_URL, OPENAI_API_KEY or ANTHROPIC_API_KEY, or start "
    "Ollama or a llama.cpp server on this machine.";

int agent_script_command(AgentScriptAnswer *answer, const AgentScriptPlace *place,
                         const ModelRequest *request)
{
    Span rest = place->message;
    Span text = SPAN_NULL;
    Span name;
    int r;

    if (place->results != NULL) {
        r = agent_script_results(answer->arena, place->results, &text);
        return r != 0 ? err_pass(r) : say(answer, text, 0);
    }
    name = take_word(&rest);
    for (size_t i = 0; i < TW_ARRAY_SIZE(commands); i++) {
        if (span_equals(name, span_from_str(commands[i].name))) {
            return commands[i].fn(answer, request, rest);
        }
    }
    return say(answer, span_from_str(help), 0);
}
