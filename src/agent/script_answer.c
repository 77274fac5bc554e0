/* From a request to the steps that answer it. */
#include "agent/script.h"

#include <errno.h>
#include <string.h>

#include "agent/script_impl.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"

static bool message_has(const AgentMessage *message, AgentBlockKind kind)
{
    for (size_t i = 0; i < message->n_blocks; i++) {
        if (message->blocks[i].kind == kind) {
            return true;
        }
    }
    return false;
}

/* What the user wrote: the first text that is a command, else the first text. (Attachments are
 * texts of their own.) */
static Span message_text(const AgentMessage *message)
{
    Span first = SPAN_NULL;
    bool has_first = false;

    for (size_t i = 0; i < message->n_blocks; i++) {
        const AgentBlock *block = &message->blocks[i];

        if (block->kind != AGENT_BLOCK_TEXT) {
            continue;
        }
        if (span_starts_with(block->text, SPAN("/"))) {
            return block->text;
        }
        if (!has_first) {
            first = block->text;
            has_first = true;
        }
    }
    return first;
}

static AgentScriptPlace place_of(const ModelRequest *request)
{
    AgentScriptPlace place = {.n_after = 0};
    size_t i = request->n_messages;

    if (i > 0 && !request->messages[i - 1].is_assistant &&
        message_has(&request->messages[i - 1], AGENT_BLOCK_TOOL_RESULT)) {
        place.results = &request->messages[i - 1];
    }
    while (i > 0) {
        const AgentMessage *message = &request->messages[--i];

        if (message->is_assistant) {
            place.n_after++;
        } else if (!message_has(message, AGENT_BLOCK_TOOL_RESULT)) {
            place.message = message_text(message);
            break;
        }
    }
    return place;
}

int agent_script_results(Arena *arena, const AgentMessage *results, Span *ret)
{
    Bytes out;
    Span copy;
    int r = 0;

    bytes_init(&out, LIMIT_MODEL_REQUEST_BYTES);
    for (size_t i = 0; results != NULL && i < results->n_blocks && r == 0; i++) {
        const AgentBlock *block = &results->blocks[i];

        if (block->kind != AGENT_BLOCK_TOOL_RESULT) {
            continue;
        }
        r = bytes_append_span(&out, out.n > 0 ? SPAN("\n") : SPAN(""));
        if (r == 0 && block->is_error) {
            r = bytes_append_span(&out, SPAN("error: "));
        }
        if (r == 0) {
            r = bytes_append_span(&out, block->text);
        }
    }
    if (r < 0) {
        bytes_deinit(&out);
        return err_pass(r);
    }
    copy = arena_copy(arena, bytes_span(&out)); /* what is too long is cut */
    bytes_deinit(&out);
    if (copy.p == NULL) {
        return err_raise(-ENOMEM);
    }
    *ret = copy;
    return 0;
}

int agent_script_add(AgentScriptAnswer *answer, const AgentScriptStep *step)
{
    if (answer->n == answer->cap) {
        size_t more = answer->cap == 0 ? 8 : answer->cap * 2;
        void *grown = arena_grow(answer->arena, answer->steps, answer->cap * sizeof(*step),
                                 more * sizeof(*step));

        if (grown == NULL) {
            return err_raise(-ENOMEM);
        }
        answer->steps = grown;
        answer->cap = more;
    }
    answer->steps[answer->n++] = *step;
    return 0;
}

static bool span_holds(Span text, Span part)
{
    for (size_t i = 0; i + part.n <= text.n; i++) {
        if (part.n == 0 || memcmp(text.p + i, part.p, part.n) == 0) {
            return true;
        }
    }
    return false;
}

/* The steps from *ret on, up to the next USER, are for this message. */
static bool script_find(const AgentScript *script, Span message, size_t *ret)
{
    if (script->n_steps > 0 && script->steps[0].kind != AGENT_SCRIPT_USER) {
        *ret = 0;
        return true;
    }
    for (size_t i = 0; i < script->n_steps; i++) {
        if (script->steps[i].kind == AGENT_SCRIPT_USER &&
            span_holds(message, script->steps[i].text)) {
            *ret = i + 1;
            return true;
        }
    }
    return false;
}

static bool script_is_tool(const AgentScript *script, size_t i)
{
    return i < script->n_steps && script->steps[i].kind == AGENT_SCRIPT_TOOL;
}

/* Goes behind n rounds: each ends with the last of the tools that stand together. Tools that come
 * again are where every further round stops. */
static size_t script_skip(const AgentScript *script, size_t i, size_t n)
{
    while (n > 0 && i < script->n_steps && script->steps[i].kind != AGENT_SCRIPT_USER) {
        size_t group = i;

        if (!script_is_tool(script, i)) {
            i++;
            continue;
        }
        while (script_is_tool(script, i)) {
            if (script->steps[i].is_again) {
                return group;
            }
            i++;
        }
        n--;
    }
    return i;
}

/* One step, with what it stands for in its place. */
static int answer_take(AgentScriptAnswer *answer, AgentScriptStep step,
                       const AgentScriptPlace *place)
{
    int r = 0;

    if (step.kind == AGENT_SCRIPT_MESSAGE) {
        step.kind = AGENT_SCRIPT_TEXT;
        step.text = arena_copy(answer->arena, place->message);
        r = step.text.p == NULL ? err_raise(-ENOMEM) : 0;
    } else if (step.kind == AGENT_SCRIPT_RESULT) {
        step.kind = AGENT_SCRIPT_TEXT;
        r = agent_script_results(answer->arena, place->results, &step.text);
    }
    return r != 0 ? err_pass(r) : agent_script_add(answer, &step);
}

static int answer_by_script(AgentScriptAnswer *answer, const AgentScript *script,
                            const AgentScriptPlace *place)
{
    static const AgentScriptStep nothing = {.kind = AGENT_SCRIPT_TEXT,
                                            .times = 1,
                                            .text = SPAN_INIT("The script has no answer to this.")};
    size_t i = 0;
    int r = 0;

    if (!script_find(script, place->message, &i)) {
        return agent_script_add(answer, &nothing);
    }
    i = script_skip(script, i, place->n_after);
    for (; r == 0 && i < script->n_steps && script->steps[i].kind != AGENT_SCRIPT_USER; i++) {
        AgentScriptKind kind = script->steps[i].kind;

        r = answer_take(answer, script->steps[i], place);
        if (kind == AGENT_SCRIPT_FAIL || kind == AGENT_SCRIPT_END ||
            (kind == AGENT_SCRIPT_TOOL && !script_is_tool(script, i + 1))) {
            break;
        }
    }
    return r;
}

/* Every answer ends in END or FAIL, which need not be written down. */
static int answer_end(AgentScriptAnswer *answer)
{
    AgentScriptStep end = {.kind = AGENT_SCRIPT_END, .stop = MODEL_STOP_END};
    AgentScriptKind last = answer->n > 0 ? answer->steps[answer->n - 1].kind : AGENT_SCRIPT_TEXT;

    if (last == AGENT_SCRIPT_FAIL || last == AGENT_SCRIPT_END) {
        return 0;
    }
    end.stop = last == AGENT_SCRIPT_TOOL ? MODEL_STOP_TOOLS : MODEL_STOP_END;
    return agent_script_add(answer, &end);
}

int agent_script_answer(const AgentScript *script, Arena *arena, const ModelRequest *request,
                        const AgentScriptStep **ret_steps, size_t *ret_n)
{
    AgentScriptAnswer answer = {.arena = arena};
    AgentScriptPlace place = place_of(request);
    int r = script != NULL ? answer_by_script(&answer, script, &place)
                           : agent_script_command(&answer, &place, request);

    if (r == 0) {
        r = answer_end(&answer);
    }
    if (r != 0) {
        return err_pass(r);
    }
    *ret_steps = answer.steps;
    *ret_n = answer.n;
    return 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

Span agent_script_word(Span text)
{
    size_t n = 0;

    while (n < text.n && is_blank(text.p[n])) {
        n++;
    }
    while (n < text.n && !is_blank(text.p[n])) {
        n++;
    }
    while (n < text.n && is_blank(text.p[n])) {
        n++;
    }
    return span_make(text.p, n);
}
