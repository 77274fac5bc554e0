#include "app/command_there.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

struct CommandThereLease {
    CommandThereLease *next;
    char id[QUEUE_ID_BYTES];
    int64_t until_ms;
    bool takes_any;
    size_t n; /* of names */
    Span names[];
};

void command_there_init(CommandThere *there, int64_t known_ms)
{
    *there = (CommandThere){.known_ms = known_ms, .any_ms = INT64_MIN};
}

void command_there_deinit(CommandThere *there)
{
    for (size_t i = 0; i < there->n; i++) {
        there->names[i].name = mem_free(there->names[i].name);
    }
    there->n = 0;
    while (there->leases != NULL) {
        CommandThereLease *lease = there->leases;

        there->leases = lease->next;
        (void)mem_free(lease);
    }
    there->n_leases = 0;
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

/* ---- leases ---- */

static CommandThereLease **there_find_lease(CommandThere *there, const char *id)
{
    CommandThereLease **at = &there->leases;

    while (*at != NULL && strcmp((*at)->id, id) != 0) {
        at = &(*at)->next;
    }
    return at;
}

static void there_drop_lease(CommandThere *there, CommandThereLease **at)
{
    CommandThereLease *lease = *at;

    *at = lease->next;
    there->n_leases--;
    (void)mem_free(lease);
}

/* With a copy of the names behind it; NULL: there is no memory. */
static CommandThereLease *lease_new(const char *id, const Span *methods, size_t n)
{
    CommandThereLease *lease;
    size_t size = sizeof(*lease) + n * sizeof(Span);
    char *text;

    for (size_t i = 0; i < n; i++) {
        size += methods[i].n;
    }
    lease = mem_alloc(size);
    if (lease == NULL) {
        return NULL;
    }
    *lease = (CommandThereLease){.takes_any = methods == NULL, .n = n};
    (void)snprintf(lease->id, sizeof(lease->id), "%s", id);
    text = (char *)(lease->names + n);
    for (size_t i = 0; i < n; i++) {
        if (methods[i].n > 0) {
            memcpy(text, methods[i].p, methods[i].n);
        }
        lease->names[i] = span_make(text, methods[i].n);
        text += methods[i].n;
    }
    return lease;
}

void command_there_lease(CommandThere *there, const char *id, const Span *methods, size_t n,
                         int64_t until_ms, int64_t now_ms)
{
    CommandThereLease **at = &there->leases;
    CommandThereLease *lease;

    while (*at != NULL) {
        if (now_ms - (*at)->until_ms >= there->known_ms || strcmp((*at)->id, id) == 0) {
            there_drop_lease(there, at);
        } else {
            at = &(*at)->next;
        }
    }
    lease = there->n_leases < COMMAND_THERE_LEASES ? lease_new(id, methods, n) : NULL;
    if (lease != NULL) {
        lease->until_ms = until_ms;
        lease->next = there->leases;
        there->leases = lease;
        there->n_leases++;
    }
}

void command_there_beat(CommandThere *there, const char *id, int64_t until_ms, int64_t now_ms)
{
    CommandThereLease **at = there_find_lease(there, id);
    CommandThereLease *lease = *at;

    if (lease == NULL) {
        command_there_note(there, NULL, 0, now_ms);
        return;
    }
    command_there_note(there, lease->takes_any ? NULL : lease->names, lease->n, now_ms);
    lease->until_ms = until_ms;
    if (until_ms <= now_ms) {
        there_drop_lease(there, at);
    }
}

bool command_there_has_lease(const CommandThere *there, const char *id)
{
    const CommandThereLease *lease = there->leases;

    while (lease != NULL && strcmp(lease->id, id) != 0) {
        lease = lease->next;
    }
    return lease != NULL;
}

/* ---- who is known ---- */

static bool lease_takes(const CommandThereLease *lease, Span method)
{
    bool takes = lease->takes_any;

    for (size_t i = 0; !takes && i < lease->n; i++) {
        takes = span_equals(lease->names[i], method);
    }
    return takes;
}

static bool there_is_recent(const CommandThere *there, int64_t at_ms, int64_t now_ms)
{
    return at_ms != INT64_MIN && now_ms - at_ms < there->known_ms;
}

/* One whose lease ended was there until then. */
bool command_there_has(const CommandThere *there, Span method, int64_t now_ms)
{
    size_t at = there_find(there, method);
    bool has = there_is_recent(there, there->any_ms, now_ms) ||
               (at < there->n && there_is_recent(there, there->names[at].at_ms, now_ms));

    for (const CommandThereLease *lease = there->leases; !has && lease != NULL;
         lease = lease->next) {
        has = now_ms - lease->until_ms < there->known_ms && lease_takes(lease, method);
    }
    return has;
}
