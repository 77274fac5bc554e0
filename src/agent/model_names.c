#include "agent/model_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"

/* "_" and the hash behind what is left of a name. */
#define NAME_HASH_BYTES 9

/* The same for ever: conversations that are kept hold no wire names, but a model sees its own
 * earlier calls and should know the tools again. */
static const HashSeed name_seed = {UINT64_C(0x746f6f6c77697265), UINT64_C(0x6d6f64656c6e616d)};

/* Every tool's name may change, and then is as long as a router's may be; this is a bound for our
 * own mistakes. */
#define NAMES_ARENA_BYTES ((size_t)64 * 1024 * 1024)

static bool is_allowed(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static bool name_is_wire(Span name)
{
    for (size_t i = 0; i < name.n; i++) {
        if (!is_allowed(name.p[i])) {
            return false;
        }
    }
    return name.n > 0 && name.n <= MODEL_NAME_MAX;
}

Span model_name_to_wire(Span name, char ret[MODEL_NAME_MAX])
{
    size_t n =
        name.n < MODEL_NAME_MAX - NAME_HASH_BYTES ? name.n : MODEL_NAME_MAX - NAME_HASH_BYTES;
    char hash[NAME_HASH_BYTES + 1];

    if (name_is_wire(name)) {
        return name;
    }
    for (size_t i = 0; i < n; i++) {
        ret[i] = is_allowed(name.p[i]) ? name.p[i] : '_';
    }
    (void)snprintf(hash, sizeof(hash), "_%08" PRIx32, (uint32_t)hash_span(name_seed, name));
    memcpy(ret + n, hash, NAME_HASH_BYTES);
    return span_make(ret, n + NAME_HASH_BYTES);
}

int model_names_init(ModelNames *names, const AgentToolSpec *tools, size_t n_tools)
{
    size_t n = 0;

    *names = MODEL_NAMES_NULL;
    arena_init(&names->arena, NAMES_ARENA_BYTES);
    for (size_t i = 0; i < n_tools; i++) {
        n += !name_is_wire(tools[i].name);
    }
    if (n == 0) {
        return 0;
    }
    names->names = arena_alloc_array(&names->arena, n, sizeof(*names->names));
    if (names->names == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n_tools; i++) {
        if (!name_is_wire(tools[i].name)) {
            names->names[names->n] = arena_copy(&names->arena, tools[i].name);
            if (names->names[names->n].p == NULL) {
                return err_raise(-ENOMEM);
            }
            names->n++;
        }
    }
    return 0;
}

void model_names_deinit(ModelNames *names)
{
    arena_deinit(&names->arena);
    *names = MODEL_NAMES_NULL;
}

Span model_name_from_wire(const ModelNames *names, Span wire)
{
    char text[MODEL_NAME_MAX];

    for (size_t i = 0; i < names->n; i++) {
        if (span_equals(model_name_to_wire(names->names[i], text), wire)) {
            return names->names[i];
        }
    }
    return wire;
}
