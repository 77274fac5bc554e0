/* agent/model_names.h: names of tools as the services of models allow them, and back.
 *
 * Services take letters, digits, '_' and '-', 64 at most. A name of ours that is no such name gets
 * one made from it: other bytes become '_', and a hash of the whole follows, so that the same name
 * is always the same and different ones differ. Private to agent/model*. Thread: any.
 */
#pragma once

#include "agent/model.h"
#include "base/arena.h"
#include "base/span.h"

#include <stddef.h>

#define MODEL_NAME_MAX 64

/* name itself, or what stands for it, written into ret. */
Span model_name_to_wire(Span name, char ret[MODEL_NAME_MAX]);

/* The tools of one request whose names are changed. */
typedef struct ModelNames {
    Arena arena;
    Span *names;
    size_t n;
} ModelNames;

#define MODEL_NAMES_NULL ((ModelNames){.n = 0})

/* Copies what it needs. 0, -ENOMEM; deinit in any case. */
int model_names_init(ModelNames *names, const AgentToolSpec *tools, size_t n_tools);
void model_names_deinit(ModelNames *names);

/* Our name, borrowed from names; or wire itself. */
Span model_name_from_wire(const ModelNames *names, Span wire);
