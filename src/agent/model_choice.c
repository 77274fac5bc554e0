#include "agent/model_choice.h"

#include <errno.h>

#include "agent/model_choice_impl.h"
#include "agent/model_input.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

/* A list of models: that of the largest service is 60 KiB. */
#define CHOICE_LIST_BYTES ((size_t)1024 * 1024)

/* Texts of settings, and lists that were read. */
#define CHOICE_ARENA_BYTES MODEL_INPUT_ARENA_BYTES(4 * CHOICE_LIST_BYTES)

void choice_decide(ChoiceModel *model, Model *inner)
{
    model->inner = inner;
    model->is_choosing = false;
    bytes_deinit(&model->list);
    logsink_write(model->config.log, LOGSINK_LEVEL_INFO, "model", "%s", model_name(inner));
    if (model->config.chosen != NULL) {
        model->config.chosen(model->config.context, &model->model);
    }
    choice_start_waiting(model);
}

static void choice_on_timer(void *context)
{
    ChoiceModel *model = context;

    if (model->inner == NULL) {
        choice_ask(model);
    } else if (model->config.chosen != NULL) {
        model->config.chosen(model->config.context, &model->model);
    }
}

static int choice_start(Model *base, const ModelRequest *request, const ModelSink *sink,
                        ModelRun **ret)
{
    ChoiceModel *model = (ChoiceModel *)base;
    ChoiceRun *run = NULL;
    int r;

    if (model->inner != NULL) {
        return model_start(model->inner, request, sink, ret);
    }
    r = choice_run_new(&run, model, request, sink);
    if (r != 0) {
        return err_pass(r);
    }
    if (!model->is_choosing) {
        model->is_choosing = true; /* it failed before; perhaps the server is there by now */
        io_timer_start_at(model->timer, io_loop_now_ms(model->config.loop));
    }
    *ret = &run->run;
    return 0;
}

static void choice_cancel(ModelRun *base)
{
    choice_run_release((ChoiceRun *)base);
}

static void choice_free(Model *base)
{
    ChoiceModel *model = (ChoiceModel *)base;

    while (model->first != NULL) {
        choice_run_release(model->first);
    }
    model->inner = model_free(model->inner);
    model->knock = io_knock_free(model->knock);
    model->fetch = io_fetch_free(model->fetch);
    model->fetcher = io_fetcher_free(model->fetcher);
    model->timer = io_timer_free(model->timer);
    bytes_deinit(&model->list);
    arena_deinit(&model->arena);
    (void)mem_free(model);
}

static const char *choice_name(const Model *base)
{
    const ChoiceModel *model = (const ChoiceModel *)base;

    return model->inner != NULL ? model_name(model->inner) : "(choosing)";
}

static bool choice_is_script(const Model *base)
{
    const ChoiceModel *model = (const ChoiceModel *)base;

    return model->inner != NULL && model_is_script(model->inner);
}

static const ModelOps choice_ops = {
    .start = choice_start,
    .cancel = choice_cancel,
    .free = choice_free,
    .name = choice_name,
    .is_script = choice_is_script,
};

static int copy_text(ChoiceModel *model, const char **text)
{
    Span copy;

    if (*text == NULL) {
        return 0;
    }
    copy = arena_copy(&model->arena, span_from_str(*text));
    *text = copy.p;
    return copy.p == NULL ? err_raise(-ENOMEM) : 0;
}

static int choice_copy(ChoiceModel *model)
{
    int r = 0;

    for (size_t i = 0; i < model->settings.n_services && r == 0; i++) {
        ModelService *service = &model->settings.services[i];

        r = copy_text(model, &service->base_url);
        if (r == 0) {
            r = copy_text(model, &service->key);
        }
        if (r == 0) {
            r = copy_text(model, &service->model);
        }
    }
    return r;
}

int model_choice_new(Model **ret, const ModelSettings *settings, const ModelConfig *config,
                     Model *inner)
{
    ChoiceModel *model = mem_alloc_array(1, sizeof(*model));
    int r;

    if (model == NULL) {
        return err_raise(-ENOMEM);
    }
    *model = (ChoiceModel){
        .model = {&choice_ops}, .config = *config, .settings = *settings, .is_choosing = true};
    if (model->config.probe_ms <= 0) {
        model->config.probe_ms = LIMIT_MODEL_PROBE_MS;
    }
    model->config.name = NULL; /* the caller's */
    model->config.base_url = NULL;
    model->config.environment = NULL;
    arena_init(&model->arena, CHOICE_ARENA_BYTES);
    bytes_init(&model->list, CHOICE_LIST_BYTES);
    r = choice_copy(model);
    if (r == 0) {
        r = io_timer_new(&model->timer, config->loop, false, choice_on_timer, model);
    }
    if (r != 0) {
        choice_free(&model->model);
        return err_pass(r);
    }
    model->inner = inner;
    io_timer_start_at(model->timer, io_loop_now_ms(config->loop));
    *ret = &model->model;
    return 0;
}
