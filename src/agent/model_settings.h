/* agent/model_settings.h: which service is to be asked, by a name and the environment; and which of
 * its models. Performs no I/O. Private to agent/model*. Thread: any. */
#pragma once

#include "agent/model.h"
#include "agent/model_dialect.h"
#include "base/arena.h"

/* A service that may be asked. Texts are in the arena, NUL-terminated. */
typedef struct ModelService {
    const ModelDialect *dialect;
    const char
        *base_url;     /* without a slash at its path's end; may hold secrets (agent/model_url.h) */
    const char *key;   /* NULL: none */
    const char *model; /* NULL: the first of its list */
    bool is_first_party; /* the dialect's own */
    bool is_guess;       /* nobody has named it: taken only if it answers */
} ModelService;

#define MODEL_SERVICES_MAX 2

typedef struct ModelSettings {
    ModelService services[MODEL_SERVICES_MAX]; /* the first that will do */
    size_t n_services;
    bool is_script; /* if none does */
    Span script;    /* its file; empty: none */
} ModelSettings;

/* What config's name, base_url and environment (not NULL here) come to. 0, -ENOMEM,
 * MODEL_E_UNKNOWN. */
int model_settings_read(ModelSettings *ret, Arena *arena, const ModelConfig *config,
                        Diag *reterr_diag);

/* The first model of a list as services give it ({"data":[{"id":…}]}) that can talk: NULL if there
 * is none. In the arena. 0, -ENOMEM. */
int model_list_first(Arena *arena, Span body, const char **ret);
