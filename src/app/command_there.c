#include "app/command_there.h"

#include <string.h>

#include "base/alloc.h"
#include "base/limits.h"

void command_there_init(CommandThere *there)
{
    *there = (CommandThere){.any_ms = INT64_MIN};
}

void command_there_deinit(CommandThere *there)
{
    for (size_t i = 0; i < there->n; i++) {
        there->names[i].name = mem_free(there->names[i].name);
    }
    there->n = 0;
}

static size_t there_find(const CommandThere *there, Span method)
{
    size_t i = 0;

    while (i < there->n &&
           !span_equals(span_make(there->names[i].name, there->names[i].n), method)) {
        i++;
    }
    return i;
}

/* Where a new name may stand: behind the others, or in the oldest's place. */
static size_t there_make_room(CommandThere *there)
{
    size_t oldest = 0;

    if (there->n < COMMAND_THERE_NAMES) {
        return there->n++;
    }
    for (size_t i = 1; i < there->n; i++) {
        if (there->names[i].at_ms < there->names[oldest].at_ms) {
            oldest = i;
        }
    }
    (void)mem_free(there->names[oldest].name);
    return oldest;
}

void command_there_note(CommandThere *there, const Span *methods, size_t n, int64_t now_ms)
{
    if (methods == NULL) {
        there->any_ms = now_ms;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = there_find(there, methods[i]);
        char *name;

        if (at < there->n) {
            there->names[at].at_ms = now_ms;
            continue;
        }
        name = mem_alloc(methods[i].n + 1);
        if (name == NULL) {
            return;
        }
        memcpy(name, methods[i].p, methods[i].n);
        there->names[there_make_room(there)] =
            (CommandThereName){.name = name, .n = methods[i].n, .at_ms = now_ms};
    }
}

static bool there_is_recent(int64_t at_ms, int64_t now_ms)
{
    return at_ms != INT64_MIN && now_ms - at_ms < LIMIT_COMMAND_THERE_MS;
}

bool command_there_has(const CommandThere *there, Span method, int64_t now_ms)
{
    size_t at = there_find(there, method);

    return there_is_recent(there->any_ms, now_ms) ||
           (at < there->n && there_is_recent(there->names[at].at_ms, now_ms));
}
