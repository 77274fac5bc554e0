#include "agent/model_http.h"

#include <errno.h>
#include <string.h>

#include "agent/model_http_impl.h"
#include "agent/model_url.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"

/* Addresses, a key and names. */
#define HTTP_TEXTS_BYTES ((size_t)256 * 1024)

int model_http_authorization(Arena *arena, const ModelService *service, Span *ret)
{
    Span key = span_from_str(service->key != NULL ? service->key : "");
    char *text;

    if (key.n == 0) {
        *ret = SPAN_NULL;
        return 0;
    }
    text = arena_alloc(arena, key.n + 7);
    if (text == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(text, "Bearer ", 7);
    memcpy(text + 7, key.p, key.n);
    *ret = span_make(text, key.n + 7);
    return 0;
}

size_t model_http_fields(IoFetchField ret[MODEL_HTTP_FIELDS], const ModelService *service,
                         Span authorization)
{
    size_t n = 0;

    ret[n++] = (IoFetchField){SPAN("User-Agent"), SPAN("toolwire")};
    ret[n++] = (IoFetchField){SPAN("Content-Type"), SPAN("application/json")};
    if (service->dialect == &model_anthropic) {
        ret[n++] = (IoFetchField){SPAN("anthropic-version"), SPAN("2023-06-01")};
        if (service->key != NULL) {
            ret[n++] = (IoFetchField){SPAN("x-api-key"), span_from_str(service->key)};
        }
    } else if (authorization.n > 0) {
        ret[n++] = (IoFetchField){SPAN("Authorization"), authorization};
    }
    return n;
}

/* ---- the model ---- */

static int http_start(Model *base, const ModelRequest *request, const ModelSink *sink,
                      ModelRun **ret)
{
    HttpRun *run = NULL;
    int r = http_run_new(&run, (HttpModel *)base, request, sink);

    if (r == 0) {
        *ret = &run->run;
    }
    return r;
}

static void http_cancel(ModelRun *base)
{
    HttpRun *run = (HttpRun *)base;

    if (run->is_busy) {
        run->is_gone = true;
    } else {
        http_run_release(run);
    }
}

static void http_free(Model *base)
{
    HttpModel *model = (HttpModel *)base;

    while (model->first != NULL) {
        http_run_release(model->first);
    }
    model->fetcher = io_fetcher_free(model->fetcher);
    arena_deinit(&model->arena);
    (void)mem_free(model);
}

static const char *http_name(const Model *base)
{
    return ((const HttpModel *)base)->name;
}

static bool http_is_script(const Model *base)
{
    (void)base;
    return false;
}

static const ModelOps http_ops = {
    .start = http_start,
    .cancel = http_cancel,
    .free = http_free,
    .name = http_name,
    .is_script = http_is_script,
};

static int copy_text(HttpModel *model, const char *text, const char **ret)
{
    Span copy;

    if (text == NULL) {
        return 0;
    }
    copy = arena_copy(&model->arena, span_from_str(text));
    *ret = copy.p;
    return copy.p == NULL ? err_raise(-ENOMEM) : 0;
}

/* "openai:qwen3 at http://…", or only the first half for the dialect's own service. */
static int http_set_texts(HttpModel *model, const ModelService *service)
{
    Bytes text;
    int r;

    model->service = *service;
    bytes_init(&text, HTTP_TEXTS_BYTES / 4);
    r = model_url_join(&text, service->base_url, service->dialect->path);
    if (r == 0) {
        r = copy_text(model, text.data, &model->url);
    }
    bytes_clear(&text);
    if (r == 0) {
        r = bytes_append_format(&text, "%s:%s%s", service->dialect->name, service->model,
                                service->is_first_party ? "" : " at ");
    }
    if (r == 0 && !service->is_first_party) {
        r = model_url_show(&text, service->base_url);
    }
    r = r != 0 ? r : bytes_append_byte(&text, '\0');
    if (r == 0) {
        r = copy_text(model, text.data, &model->name);
    }
    bytes_deinit(&text);
    if (r == 0) {
        r = copy_text(model, service->model, &model->service.model);
    }
    if (r == 0) {
        r = copy_text(model, service->key, &model->service.key);
    }
    if (r == 0) {
        r = copy_text(model, service->base_url, &model->service.base_url);
    }
    if (r == 0) {
        r = model_http_authorization(&model->arena, &model->service, &model->authorization);
    }
    return r > 0 ? err_raise(-ENOMEM) : r;
}

int model_http_new(Model **ret, const ModelService *service, const ModelConfig *config,
                   IoFetcher *fetcher)
{
    HttpModel *model = mem_alloc_array(1, sizeof(*model));
    int r;

    if (model == NULL) {
        return err_raise(-ENOMEM);
    }
    *model = (HttpModel){
        .model = {&http_ops},
        .loop = config->loop,
        .log = config->log,
        .stall_ms = config->stall_ms > 0 ? config->stall_ms : LIMIT_MODEL_STALL_MS,
        .connect_ms = config->connect_ms > 0 ? config->connect_ms : LIMIT_MODEL_CONNECT_MS,
        .backoff_ms = config->backoff_ms > 0 ? config->backoff_ms : LIMIT_MODEL_BACKOFF_MS,
        .max_attempts = config->n_attempts > 0 ? config->n_attempts : LIMIT_MODEL_ATTEMPTS,
        .max_answer_bytes =
            config->max_answer_bytes > 0 ? config->max_answer_bytes : LIMIT_MODEL_ANSWER_BYTES,
    };
    arena_init(&model->arena, HTTP_TEXTS_BYTES);
    r = http_set_texts(model, service);
    if (r != 0) {
        http_free(&model->model);
        return err_pass(r);
    }
    model->fetcher = fetcher;
    *ret = &model->model;
    return 0;
}
