#include "router/safety/kind.h"

#include "base/text.h"

/* First words of names ("get_walls"), and whole names ("sheet.list"). */
static const char *const read_verbs[] = {"get",   "list",     "find", "search",   "describe",
                                         "audit", "validate", "diff", "snapshot", "ping"};
static const char *const read_names[] = {"get",      "list", "find",   "search",
                                         "describe", "ping", "status", "revitstatus"};
/* Both. The documented system knows only the former; `wall.delete` is as final. */
static const char *const risky_verbs[] = {"delete", "remove", "reset", "clear", "purge"};

Span safety_leaf(Span method)
{
    method = text_trim(method);
    for (size_t i = method.n; i > 0; i--) {
        if (method.p[i - 1] == '.') {
            return span_make(method.p + i, method.n - i);
        }
    }
    return method;
}

static bool kind_is(Span leaf, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text_equals_nocase(leaf, span_from_str(names[i]))) {
            return true;
        }
    }
    return false;
}

static bool kind_begins(Span leaf, const char *const *verbs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        Span verb = span_from_str(verbs[i]);

        if (leaf.n > verb.n && leaf.p[verb.n] == '_' &&
            text_equals_nocase(span_make(leaf.p, verb.n), verb)) {
            return true;
        }
    }
    return false;
}

static bool kind_is_read_name(Span leaf)
{
    Span ending = SPAN("_status");

    return kind_is(leaf, read_names, TW_ARRAY_SIZE(read_names)) ||
           kind_begins(leaf, read_verbs, TW_ARRAY_SIZE(read_verbs)) ||
           (leaf.n >= ending.n &&
            text_equals_nocase(span_make(leaf.p + (leaf.n - ending.n), ending.n), ending));
}

bool safety_is_write(const SafetyCommand *command)
{
    if (command->is_read_only || command->is_writing) {
        return command->is_writing;
    }
    return !kind_is_read_name(safety_leaf(command->method));
}

bool safety_is_risky(const SafetyCommand *command)
{
    Span leaf = safety_leaf(command->method);

    if (!safety_is_write(command)) {
        return false;
    }
    if (command->is_destructive || command->is_not_destructive) {
        return command->is_destructive;
    }
    return kind_is(leaf, risky_verbs, TW_ARRAY_SIZE(risky_verbs)) ||
           kind_begins(leaf, risky_verbs, TW_ARRAY_SIZE(risky_verbs));
}

bool safety_is_get_context(Span method)
{
    return text_equals_nocase(safety_leaf(method), SPAN("get_context"));
}
