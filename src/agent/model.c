#include "agent/model.h"

#include "agent/model_impl.h"

Model *model_free(Model *model)
{
    if (model != NULL) {
        model->ops->free(model);
    }
    return NULL;
}

const char *model_name(const Model *model)
{
    return model->ops->name(model);
}

bool model_is_script(const Model *model)
{
    return model->ops->is_script(model);
}

int model_start(Model *model, const ModelRequest *request, const ModelSink *sink, ModelRun **ret)
{
    return model->ops->start(model, request, sink, ret);
}

ModelRun *model_cancel(ModelRun *run)
{
    if (run != NULL) {
        run->ops->cancel(run);
    }
    return NULL;
}
