/* Reading a script. */
#include "agent/script.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "json/json.h"

/* Text, its index and the steps: 16 bytes of index for two of text, 96 of a step for 13 of it. */
#define SCRIPT_ARENA_BYTES (AGENT_SCRIPT_MAX_BYTES * 48)

#define SCRIPT_TIMES_MAX 1000000u

/* What a step is named by. */
typedef struct ScriptWord {
    const char *name;
    AgentScriptKind kind;
} ScriptWord;

static const ScriptWord words[] = {
    {"user", AGENT_SCRIPT_USER},     {"text", AGENT_SCRIPT_TEXT}, {"message", AGENT_SCRIPT_MESSAGE},
    {"result", AGENT_SCRIPT_RESULT}, {"tool", AGENT_SCRIPT_TOOL}, {"wait_ms", AGENT_SCRIPT_WAIT},
    {"fail", AGENT_SCRIPT_FAIL},     {"end", AGENT_SCRIPT_END},
};

/* What a step may say besides. */
enum {
    ALSO_INPUT = 1u << 0,
    ALSO_TIMES = 1u << 1,
    ALSO_PAUSE = 1u << 2,
    ALSO_AGAIN = 1u << 3,
};

static const unsigned also[] = {
    [AGENT_SCRIPT_USER] = 0,
    [AGENT_SCRIPT_TEXT] = ALSO_TIMES | ALSO_PAUSE,
    [AGENT_SCRIPT_MESSAGE] = ALSO_PAUSE,
    [AGENT_SCRIPT_RESULT] = ALSO_PAUSE,
    [AGENT_SCRIPT_TOOL] = ALSO_INPUT | ALSO_AGAIN,
    [AGENT_SCRIPT_WAIT] = 0,
    [AGENT_SCRIPT_FAIL] = 0,
    [AGENT_SCRIPT_END] = 0,
};

static const char *const stops[] = {
    [MODEL_STOP_END] = "end",
    [MODEL_STOP_TOOLS] = "tools",
    [MODEL_STOP_LENGTH] = "length",
    [MODEL_STOP_REFUSED] = "refused",
};

/* One line on its way to a step. */
typedef struct ScriptLine {
    Arena *arena;
    unsigned number; /* from 1 */
    AgentScriptStep step;
    bool has_kind;
    unsigned also; /* what it says besides, ALSO_* */
    Diag *diag;
} ScriptLine;

static int line_blame(ScriptLine *line, Span field, const char *message)
{
    (void)diag_set(line->diag, AGENT_SCRIPT_E_MALFORMED, "line %u: %.*s%s%s", line->number,
                   (int)(field.n < 60 ? field.n : 60), field.p, field.n > 0 ? ": " : "", message);
    if (line->diag != NULL) {
        line->diag->line = line->number;
        diag_set_field(line->diag, "%.*s", (int)(field.n < 60 ? field.n : 60), field.p);
    }
    return AGENT_SCRIPT_E_MALFORMED;
}

static int line_text(ScriptLine *line, Span key, JsonValue value, Span *ret)
{
    int r = json_string_exact(value, line->arena, ret);

    return r == JSON_E_KIND ? line_blame(line, key, "must be a string") : r;
}

static int line_count(ScriptLine *line, Span key, JsonValue value, uint64_t max, uint64_t *ret)
{
    if (json_uint64(value, ret) != 0 || *ret > max) {
        return line_blame(line, key, "must be a whole number that is not too large");
    }
    return 0;
}

/* MESSAGE and RESULT have no text of their own: true says that they are wanted. */
static int line_wanted(ScriptLine *line, Span key, JsonValue value)
{
    bool flag = false;

    return json_bool(value, &flag) && flag ? 0 : line_blame(line, key, "must be true");
}

static int line_stop(ScriptLine *line, Span key, JsonValue value)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(stops); i++) {
        if (json_kind(value) == JSON_STRING && json_string_equals(value, span_from_str(stops[i]))) {
            line->step.stop = (ModelStop)i;
            return 0;
        }
    }
    return line_blame(line, key, "must be end, tools, length or refused");
}

static int line_kind(ScriptLine *line, Span key, AgentScriptKind kind, JsonValue value)
{
    uint64_t ms = 0;
    int r;

    if (line->has_kind) {
        return line_blame(line, key, "a line is one step");
    }
    line->has_kind = true;
    line->step.kind = kind;
    switch (kind) {
    case AGENT_SCRIPT_MESSAGE:
    case AGENT_SCRIPT_RESULT:
        return line_wanted(line, key, value);
    case AGENT_SCRIPT_WAIT:
        r = line_count(line, key, value, (uint64_t)LIMIT_TIME_MS, &ms);
        line->step.pause_ms = (int64_t)ms;
        return r;
    case AGENT_SCRIPT_END:
        return line_stop(line, key, value);
    default:
        return line_text(line, key, value, &line->step.text);
    }
}

static int line_also(ScriptLine *line, Span key, JsonValue value)
{
    uint64_t ms = 0;
    int r;

    if (span_equals(key, SPAN("input"))) {
        line->also |= ALSO_INPUT;
        if (json_kind(value) == JSON_STRING) {
            return line_text(line, key, value, &line->step.input);
        }
        line->step.input = json_span(value);
        return 0;
    }
    if (span_equals(key, SPAN("times"))) {
        line->also |= ALSO_TIMES;
        return line_count(line, key, value, SCRIPT_TIMES_MAX, &line->step.times);
    }
    if (span_equals(key, SPAN("pause_ms"))) {
        line->also |= ALSO_PAUSE;
        r = line_count(line, key, value, (uint64_t)LIMIT_TIME_MS, &ms);
        line->step.pause_ms = (int64_t)ms;
        return r;
    }
    if (span_equals(key, SPAN("again"))) {
        line->also |= ALSO_AGAIN;
        return json_bool(value, &line->step.is_again)
                   ? 0
                   : line_blame(line, key, "must be true or false");
    }
    return line_blame(line, key, "is not known");
}

static int line_member(ScriptLine *line, Span key, JsonValue value)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(words); i++) {
        if (span_equals(key, span_from_str(words[i].name))) {
            return line_kind(line, key, words[i].kind, value);
        }
    }
    return line_also(line, key, value);
}

static int line_read(ScriptLine *line, Span text)
{
    Diag why = DIAG_NULL;
    JsonDoc doc;
    Span key = SPAN_NULL;
    int r = json_parse(&doc, line->arena, text.p, text.n, NULL, &why);

    if (r != 0) {
        return r < 0 ? r : line_blame(line, SPAN_NULL, why.message);
    }
    if (json_kind(json_root(&doc)) != JSON_OBJECT) {
        return line_blame(line, SPAN_NULL, "must be an object");
    }
    for (JsonIter it = json_iter(json_root(&doc)); r == 0 && json_iter_next(&it);) {
        r = json_string(it.key, line->arena, &key);
        if (r == 0) {
            r = line_member(line, key, it.value);
        }
    }
    if (r != 0) {
        return r;
    }
    if (!line->has_kind) {
        return line_blame(line, SPAN_NULL,
                          "has none of user, text, message, result, tool, wait_ms, fail, end");
    }
    if ((line->also & ~also[line->step.kind]) != 0) {
        return line_blame(line, SPAN_NULL, "says what does not belong to such a step");
    }
    return 0;
}

static int script_add(AgentScript *script, size_t *cap, const AgentScriptStep *step)
{
    if (script->n_steps == *cap) {
        size_t more = *cap == 0 ? 16 : *cap * 2;
        void *grown =
            arena_grow(&script->arena, script->steps, *cap * sizeof(*step), more * sizeof(*step));

        if (grown == NULL) {
            return err_raise(-ENOMEM);
        }
        script->steps = grown;
        *cap = more;
    }
    script->steps[script->n_steps++] = *step;
    return 0;
}

int agent_script_init(AgentScript *script, Span text, Diag *reterr_diag)
{
    ScriptLine line = {.diag = reterr_diag};
    size_t cap = 0;
    Span left;
    int r = 0;

    *script = AGENT_SCRIPT_NULL;
    arena_init(&script->arena, SCRIPT_ARENA_BYTES);
    if (text.n > AGENT_SCRIPT_MAX_BYTES) {
        return diag_set(reterr_diag, AGENT_SCRIPT_E_MALFORMED, "is larger than %zu bytes",
                        AGENT_SCRIPT_MAX_BYTES);
    }
    left = arena_copy(&script->arena, text);
    if (left.p == NULL) {
        return err_raise(-ENOMEM);
    }
    line.arena = &script->arena;
    while (left.n > 0 && r == 0) {
        const char *end = memchr(left.p, '\n', left.n);
        size_t n = end == NULL ? left.n : (size_t)(end - left.p);
        Span one = text_trim(span_make(left.p, n));

        line.number++;
        n += end != NULL;
        left = span_make(left.p + n, left.n - n);
        if (one.n == 0 || one.p[0] == '#') {
            continue;
        }
        line.step = (AgentScriptStep){.times = 1};
        line.has_kind = false;
        line.also = 0;
        r = line_read(&line, one);
        if (r == 0) {
            r = script_add(script, &cap, &line.step);
        }
    }
    return r;
}

void agent_script_deinit(AgentScript *script)
{
    arena_deinit(&script->arena);
    *script = AGENT_SCRIPT_NULL;
}
