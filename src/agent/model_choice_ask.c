/* Asking services whether they are there, and what they have. */
#include "agent/model_choice_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/model_error.h"
#include "agent/model_http.h"
#include "agent/model_input.h"
#include "agent/model_script.h"
#include "agent/model_url.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"

/* A service that somebody has named may take its time: a proxy, a far network. */
#define ASK_LIST_MS 15000

#define ASK_WORDS_SIZE 700

/* Of an address in them. */
#define ASK_URL_BYTES ((size_t)400)

static void ask_service(ChoiceModel *model);

/* Gives up on the service that is asked. */
static void ask_next(ChoiceModel *model, const char *why)
{
    const ModelService *service = &model->settings.services[model->at];
    char words[ASK_WORDS_SIZE];
    Bytes shown;

    if (service->is_guess) {
        model->at++;
        ask_service(model);
        return;
    }
    bytes_init(&shown, ASK_URL_BYTES);
    if (model_url_show(&shown, service->base_url) != 0) {
        bytes_clear(&shown); /* too long, or no memory: it is not told then */
    }
    (void)snprintf(words, sizeof(words), "%s at %.*s: %s", service->dialect->name, (int)shown.n,
                   shown.n > 0 ? shown.data : "", why);
    bytes_deinit(&shown);
    model_url_mask(words, service);
    model->is_choosing = false;
    choice_fail_waiting(model, words);
}

static void ask_decide(ChoiceModel *model)
{
    const ModelService *service = &model->settings.services[model->at];
    Model *inner = NULL;
    int r;

    if (model->at < model->settings.n_services) {
        r = model_http_new(&inner, service, &model->config, model->fetcher);
        model->fetcher = r == 0 ? NULL : model->fetcher;
    } else {
        r = model_script_new(&inner, model->config.loop, "script", NULL, NULL);
    }
    if (r != 0) {
        model->is_choosing = false;
        choice_fail_waiting(model, "out of memory");
        return;
    }
    choice_decide(model, inner);
}

/* ---- the list of models ---- */

static void ask_on_head(void *context, IoFetch *fetch, unsigned status)
{
    (void)fetch;
    ((ChoiceModel *)context)->status = status;
}

static void ask_on_data(void *context, IoFetch *fetch, Span bytes)
{
    ChoiceModel *model = context;

    if (bytes_append_span(&model->list, bytes) != 0) {
        model->fetch = io_fetch_free(fetch);
        ask_next(model, "its list of models is too large");
    }
}

static void ask_take_list(ChoiceModel *model)
{
    ModelService *service = &model->settings.services[model->at];
    ModelError error;
    const char *name = NULL;
    int r;

    if (model->status != 200) {
        r = model_error_read_http(&error, model->status, bytes_span(&model->list));
        ask_next(model, r == 0 ? error.text : "out of memory");
        return;
    }
    r = model_list_first(&model->arena, bytes_span(&model->list), &name);
    if (r != 0 || name == NULL) {
        ask_next(model, r == 0 ? "it has no model to talk to: name one" : "out of memory");
        return;
    }
    service->model = name;
    ask_decide(model);
}

static void ask_on_done(void *context, IoFetch *fetch, const IoFetchEnd *end)
{
    ChoiceModel *model = context;

    (void)fetch;
    model->fetch = NULL;
    if (end->outcome == IO_FETCH_DONE) {
        ask_take_list(model);
    } else {
        ask_next(model, end->message);
    }
}

static const IoFetchOps ask_ops = {ask_on_head, ask_on_data, ask_on_done};

static int ask_start_list(ChoiceModel *model, const ModelService *service, Diag *reterr_diag)
{
    IoFetchField fields[MODEL_HTTP_FIELDS];
    Span authorization = SPAN_NULL;
    IoFetchRequest request = {.method = "GET", .fields = fields, .ops = &ask_ops, .context = model};
    Bytes url;
    int r = model_http_authorization(&model->arena, service, &authorization);

    bytes_init(&url, (size_t)64 * 1024);
    if (r == 0) {
        r = model_url_join(&url, service->base_url,
                           service->dialect == &model_anthropic ? "/v1/models" : "/models");
    }
    if (r == 0 && model->fetcher == NULL) {
        r = io_fetcher_new(&model->fetcher, model->config.loop, reterr_diag);
    }
    if (r == 0) {
        request.url = url.data;
        request.n_fields = model_http_fields(fields, service, authorization);
        request.connect_ms = model->config.connect_ms;
        request.total_ms = service->is_guess ? model->config.probe_ms : ASK_LIST_MS;
        r = io_fetch_start(&model->fetch, model->fetcher, &request, reterr_diag);
    }
    bytes_deinit(&url);
    return r;
}

static void ask_list(ChoiceModel *model)
{
    Diag diag = DIAG_NULL;
    int r;

    bytes_clear(&model->list);
    model->status = 0;
    r = ask_start_list(model, &model->settings.services[model->at], &diag);
    if (r != 0) {
        ask_next(model, r > 0 ? diag.message : "out of memory");
    }
}

/* ---- is anybody there? ---- */

static void ask_on_knock(void *context, bool is_there)
{
    ChoiceModel *model = context;

    model->knock = NULL;
    if (is_there) {
        ask_list(model);
    } else {
        ask_next(model, "nobody is there");
    }
}

/* http://127.0.0.1:8080/v1; false: another form. */
static bool url_numbers(const char *url, char host[64], unsigned *ret_port)
{
    Span rest = span_from_str(url);
    const char *end;
    uint64_t port = 0;
    size_t n;

    if (!span_starts_with(rest, SPAN("http://"))) {
        return false;
    }
    rest = span_make(rest.p + 7, rest.n - 7);
    end = memchr(rest.p, '/', rest.n);
    rest.n = end != NULL ? (size_t)(end - rest.p) : rest.n;
    for (n = rest.n; n > 0 && rest.p[n - 1] != ':'; n--) {
    }
    if (n == 0 || n > 64 || text_parse_u64(span_make(rest.p + n, rest.n - n), &port) != 0 ||
        port > 65535) {
        return false;
    }
    rest.n = n - 1;
    if (rest.n > 2 && rest.p[0] == '[') {
        rest = span_make(rest.p + 1, rest.n - 2);
    }
    (void)snprintf(host, 64, "%.*s", (int)rest.n, rest.p);
    *ret_port = (unsigned)port;
    return true;
}

/* libcurl is not loaded for a server that is not there. */
static void ask_service(ChoiceModel *model)
{
    const ModelService *service = &model->settings.services[model->at];
    char host[64];
    unsigned port = 0;

    if (model->at == model->settings.n_services || service->model != NULL) {
        ask_decide(model);
        return;
    }
    if (service->is_guess && url_numbers(service->base_url, host, &port) &&
        io_knock_new(&model->knock, model->config.loop, host, port, model->config.probe_ms,
                     ask_on_knock, model) == 0) {
        return;
    }
    ask_list(model);
}

void choice_ask(ChoiceModel *model)
{
    model->is_choosing = true;
    model->at = 0;
    ask_service(model);
}
