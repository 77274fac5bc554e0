/* agent/model_impl.h: what a kind of model supplies. Private to agent/model*. */
#pragma once

#include "agent/model.h"

/* Every function gets the kind's own object. */
typedef struct ModelOps {
    int (*start)(Model *model, const ModelRequest *request, const ModelSink *sink, ModelRun **ret);
    void (*cancel)(ModelRun *run); /* frees it, or lets go of it while it is inside `event` */
    void (*free)(Model *model);    /* all runs, and the object */
    const char *(*name)(const Model *model);
    bool (*is_script)(const Model *model);
} ModelOps;

/* The first member of every kind's object, and of its runs. */
struct Model {
    const ModelOps *ops;
};

struct ModelRun {
    const ModelOps *ops;
};
