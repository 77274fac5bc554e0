#include "agent/model_settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/model_input.h"
#include "agent/model_url.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/text.h"
#include "json/json.h"

/* What the environment calls the settings of a service. */
typedef struct ServiceWords {
    const ModelDialect *dialect;
    const char *key;
    const char *base_url;
    const char *model;
    const char *own_url;
} ServiceWords;

static const ServiceWords anthropic_words = {&model_anthropic, "ANTHROPIC_API_KEY",
                                             "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL",
                                             "https://api.anthropic.com"};
static const ServiceWords openai_words = {&model_openai, "OPENAI_API_KEY", "OPENAI_BASE_URL",
                                          "OPENAI_MODEL", "https://api.openai.com/v1"};

typedef struct Settings {
    ModelSettings *out;
    Arena *arena;
    const ModelConfig *config;
    Diag *diag;
} Settings;

/* The value of a variable; NULL if it is not set, or empty. */
static const char *setting(const Settings *s, const char *name)
{
    size_t n = strlen(name);

    for (const char *const *entry = s->config->environment; *entry != NULL; entry++) {
        if (strncmp(*entry, name, n) == 0 && (*entry)[n] == '=' && (*entry)[n + 1] != '\0') {
            return *entry + n + 1;
        }
    }
    return NULL;
}

/* 0, -ENOMEM; *ret stays NULL for NULL. */
static int copy_text(const Settings *s, const char *text, const char **ret)
{
    Span copy;

    if (text == NULL) {
        *ret = NULL;
        return 0;
    }
    copy = arena_copy(s->arena, span_from_str(text));
    *ret = copy.p;
    return copy.p == NULL ? err_raise(-ENOMEM) : 0;
}

/* Without the slash at the end of its path; Anthropic's also without the version, which some write.
 */
static int copy_url(const Settings *s, const char *url, const ModelDialect *dialect,
                    const char **ret)
{
    Span whole = text_trim(span_from_str(url));
    Span text = span_make(whole.p, model_url_path_end(whole));
    Span rest = span_make(whole.p + text.n, whole.n - text.n);
    char *copy;

    while (span_ends_with(text, SPAN("/"))) {
        text.n--;
    }
    if (dialect == &model_anthropic && span_ends_with(text, SPAN("/v1"))) {
        text.n -= 3;
    }
    copy = arena_alloc(s->arena, text.n + rest.n + 1);
    if (copy == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(copy, text.p, text.n);
    memcpy(copy + text.n, rest.p, rest.n);
    copy[text.n + rest.n] = '\0';
    *ret = copy;
    return 0;
}

static int add_service(Settings *s, const ServiceWords *words, const char *model)
{
    ModelService *service = &s->out->services[s->out->n_services++];
    const char *url =
        s->config->base_url != NULL ? s->config->base_url : setting(s, words->base_url);
    int r;

    service->dialect = words->dialect;
    r = copy_url(s, url != NULL ? url : words->own_url, words->dialect, &service->base_url);
    if (r == 0) {
        r = copy_text(s, setting(s, words->key), &service->key);
    }
    if (r == 0) {
        r = copy_text(s, model != NULL ? model : setting(s, words->model), &service->model);
    }
    if (r != 0) {
        return r;
    }
    service->is_first_party = strcmp(service->base_url, words->own_url) == 0;
    if (service->is_first_party && service->key == NULL) {
        return diag_set(s->diag, MODEL_E_UNKNOWN, "%s needs a key: set %s (or %s)", words->own_url,
                        words->key, words->base_url);
    }
    if (service->is_first_party && service->model == NULL) {
        return diag_set(s->diag, MODEL_E_UNKNOWN,
                        "%s is set, but no model is named: set %s, or say %s:NAME, or script",
                        words->key, words->model, words->dialect->name);
    }
    return 0;
}

/* http://HOST:PORT/v1, where host may be what a server listens on. */
static int add_guess(Settings *s, const char *scheme, Span host, const char *port)
{
    ModelService *service = &s->out->services[s->out->n_services++];
    char url[300];
    bool is_any = span_equals(host, SPAN("0.0.0.0")) || span_equals(host, SPAN("[::]")) ||
                  span_equals(host, SPAN("::")) || host.n == 0;

    (void)snprintf(url, sizeof(url), "%s://%.*s:%s/v1", scheme,
                   is_any ? (int)strlen("127.0.0.1") : (int)(host.n < 200 ? host.n : 200),
                   is_any ? "127.0.0.1" : host.p, port);
    *service = (ModelService){.dialect = &model_openai, .is_guess = true};
    return copy_text(s, url, &service->base_url);
}

/* OLLAMA_HOST as Ollama reads it: [http://]HOST[:PORT], each part may be missing. */
static int add_ollama(Settings *s)
{
    const char *value = setting(s, "OLLAMA_HOST");
    Span host = text_trim(span_from_str(value != NULL ? value : "127.0.0.1:11434"));
    const char *scheme = "http";
    const char *port = "11434";
    char digits[6];
    const char *colon;

    if (span_starts_with(host, SPAN("http://"))) {
        host = span_make(host.p + 7, host.n - 7);
        port = "80";
    } else if (span_starts_with(host, SPAN("https://"))) {
        host = span_make(host.p + 8, host.n - 8);
        scheme = "https";
        port = "443";
    }
    colon = memchr(host.p, '/', host.n);
    host.n = colon != NULL ? (size_t)(colon - host.p) : host.n;
    for (size_t i = host.n; i > 0 && host.p[i - 1] != ']'; i--) {
        if (host.p[i - 1] == ':') {
            (void)snprintf(digits, sizeof(digits), "%.*s", (int)(host.n - i), host.p + i);
            port = digits;
            host.n = i - 1;
            break;
        }
    }
    return add_guess(s, scheme, host, port);
}

/* As llama.cpp's server takes them. */
static int add_llama(Settings *s)
{
    const char *host = setting(s, "LLAMA_ARG_HOST");
    const char *port = setting(s, "LLAMA_ARG_PORT");

    return add_guess(s, "http", span_from_str(host != NULL ? host : "127.0.0.1"),
                     port != NULL ? port : "8080");
}

static int choose(Settings *s)
{
    int r;

    if (s->config->base_url != NULL) {
        return add_service(s, &openai_words, NULL);
    }
    if (setting(s, anthropic_words.key) != NULL) {
        return add_service(s, &anthropic_words, NULL);
    }
    if (setting(s, openai_words.key) != NULL || setting(s, openai_words.base_url) != NULL) {
        return add_service(s, &openai_words, NULL);
    }
    s->out->is_script = true;
    r = add_ollama(s);
    return r == 0 ? add_llama(s) : r;
}

int model_settings_read(ModelSettings *ret, Arena *arena, const ModelConfig *config,
                        Diag *reterr_diag)
{
    static const ServiceWords *const services[] = {&openai_words, &anthropic_words};
    Settings s = {.out = ret, .arena = arena, .config = config, .diag = reterr_diag};
    Span name;

    *ret = (ModelSettings){.n_services = 0};
    if (config->name == NULL) {
        return choose(&s);
    }
    name = span_from_str(config->name);
    if (span_equals(name, SPAN("script")) ||
        (span_starts_with(name, SPAN("script:")) && name.n > strlen("script:"))) {
        ret->is_script = true;
        ret->script = name.n > strlen("script:") ? span_make(name.p + 7, name.n - 7) : SPAN_NULL;
        return 0;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(services); i++) {
        Span word = span_from_str(services[i]->dialect->name);

        if (span_equals(name, word)) {
            return add_service(&s, services[i], NULL);
        }
        if (span_starts_with(name, word) && name.p[word.n] == ':' && name.n > word.n + 1) {
            return add_service(&s, services[i], name.p + word.n + 1);
        }
    }
    return diag_set(reterr_diag, MODEL_E_UNKNOWN,
                    "there is no model '%s': script, script:FILE, openai:NAME, anthropic:NAME",
                    config->name);
}

static bool holds(Span text, const char *part)
{
    size_t n = strlen(part);

    for (size_t i = 0; i + n <= text.n; i++) {
        if (memcmp(text.p + i, part, n) == 0) {
            return true;
        }
    }
    return false;
}

int model_list_first(Arena *arena, Span body, const char **ret)
{
    JsonValue list;
    JsonDoc doc;
    int r = json_parse(&doc, arena, body.p, body.n, NULL, NULL);

    *ret = NULL;
    if (r < 0) {
        return err_pass(r);
    }
    if (r != 0 || !json_get(json_root(&doc), SPAN("data"), &list) ||
        json_kind(list) != JSON_ARRAY) {
        return 0;
    }
    for (JsonIter it = json_iter(list); json_iter_next(&it);) {
        Span id = SPAN_NULL;

        r = model_member_text(arena, it.value, SPAN("id"), &id);
        if (r != 0) {
            return err_pass(r);
        }
        /* Ollama lists what makes vectors beside what talks. */
        if (id.n > 0 && !holds(id, "embed") && memchr(id.p, '\0', id.n) == NULL) {
            Span copy = arena_copy(arena, id);

            *ret = copy.p;
            return copy.p == NULL ? err_raise(-ENOMEM) : 0;
        }
    }
    return 0;
}
