/* What the settings say of a server: its end, its copy, its equals. */
#include "providers/upstream.h"

#include <string.h>

#include "base/alloc.h"
#include "providers/upstream_impl.h"

static char **spec_free_list(char **list)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++) {
        list[i] = mem_free(list[i]);
    }
    return mem_free(list);
}

static UpstreamPair *spec_free_pairs(UpstreamPair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        pairs[i].name = mem_free(pairs[i].name);
        pairs[i].value = mem_free(pairs[i].value);
    }
    return mem_free(pairs);
}

void upstream_spec_deinit(UpstreamSpec *spec)
{
    spec->name = mem_free(spec->name);
    spec->command = mem_free(spec->command);
    spec->args = spec_free_list(spec->args);
    spec->env = spec_free_pairs(spec->env, spec->n_env);
    spec->cwd = mem_free(spec->cwd);
    spec->url = mem_free(spec->url);
    spec->headers = spec_free_pairs(spec->headers, spec->n_headers);
    oauth_settings_deinit(&spec->auth);
    spec->prefix = mem_free(spec->prefix);
    spec->separator = mem_free(spec->separator);
    spec->allow = spec_free_list(spec->allow);
    spec->deny = spec_free_list(spec->deny);
    for (size_t i = 0; i < spec->n_tools; i++) {
        spec->tools[i].name = mem_free(spec->tools[i].name);
        spec->tools[i].description = mem_free(spec->tools[i].description);
    }
    spec->tools = mem_free(spec->tools);
    spec->fault = mem_free(spec->fault);
    *spec = (UpstreamSpec){.name = NULL};
}

/* ---- equals ---- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_list(char *const *a, char *const *b)
{
    size_t i = 0;

    if (a == NULL || b == NULL) {
        return a == b;
    }
    while (a[i] != NULL && b[i] != NULL && strcmp(a[i], b[i]) == 0) {
        i++;
    }
    return a[i] == NULL && b[i] == NULL;
}

static bool same_pairs(const UpstreamPair *a, size_t n_a, const UpstreamPair *b, size_t n_b)
{
    bool is_same = n_a == n_b;

    for (size_t i = 0; is_same && i < n_a; i++) {
        is_same = same_text(a[i].name, b[i].name) && same_text(a[i].value, b[i].value);
    }
    return is_same;
}

static bool same_tools(const UpstreamSpec *a, const UpstreamSpec *b)
{
    bool is_same = a->n_tools == b->n_tools;

    for (size_t i = 0; is_same && i < a->n_tools; i++) {
        is_same = same_text(a->tools[i].name, b->tools[i].name) &&
                  same_text(a->tools[i].description, b->tools[i].description) &&
                  a->tools[i].timeout_ms == b->tools[i].timeout_ms;
    }
    return is_same;
}

static bool same_auth(const OauthSettings *a, const OauthSettings *b)
{
    bool is_same =
        a->grant == b->grant && a->is_dpop == b->is_dpop && a->redirect_port == b->redirect_port;

#define X(name) is_same = is_same && same_text(a->name, b->name);
    OAUTH_SETTINGS_STRINGS(X)
#undef X
    return is_same;
}

bool upstream_spec_is_same(const UpstreamSpec *a, const UpstreamSpec *b)
{
    return same_text(a->name, b->name) && same_text(a->command, b->command) &&
           same_list(a->args, b->args) && same_pairs(a->env, a->n_env, b->env, b->n_env) &&
           same_text(a->cwd, b->cwd) && same_text(a->url, b->url) &&
           same_pairs(a->headers, a->n_headers, b->headers, b->n_headers) &&
           same_auth(&a->auth, &b->auth) && a->prefixing == b->prefixing &&
           same_text(a->prefix, b->prefix) && same_text(a->separator, b->separator) &&
           same_list(a->allow, b->allow) && same_list(a->deny, b->deny) && same_tools(a, b) &&
           a->start_timeout_ms == b->start_timeout_ms && a->list_timeout_ms == b->list_timeout_ms &&
           a->call_timeout_ms == b->call_timeout_ms && a->idle_ms == b->idle_ms &&
           a->era == b->era && a->is_eager == b->is_eager && a->is_disabled == b->is_disabled &&
           same_text(a->fault, b->fault);
}

/* ---- the copy ---- */

typedef struct SpecCopy {
    Arena *arena;
    bool has_failed;
} SpecCopy;

static char *copy_text(SpecCopy *copy, const char *text)
{
    Span span = SPAN_NULL;

    if (text == NULL) {
        return NULL;
    }
    span = arena_copy(copy->arena, span_from_str(text));
    copy->has_failed = copy->has_failed || span.p == NULL;
    return (char *)(uintptr_t)span.p;
}

static void *copy_array(SpecCopy *copy, size_t n, size_t size)
{
    void *array = n == 0 ? NULL : arena_alloc_array(copy->arena, n, size);

    copy->has_failed = copy->has_failed || (n > 0 && array == NULL);
    return array;
}

static char **copy_list(SpecCopy *copy, char *const *list)
{
    size_t n = 0;
    char **ret;

    while (list != NULL && list[n] != NULL) {
        n++;
    }
    if (list == NULL) {
        return NULL;
    }
    ret = copy_array(copy, n + 1, sizeof(*ret));
    for (size_t i = 0; ret != NULL && i < n; i++) {
        ret[i] = copy_text(copy, list[i]);
    }
    return ret;
}

static UpstreamPair *copy_pairs(SpecCopy *copy, const UpstreamPair *pairs, size_t n)
{
    UpstreamPair *ret = copy_array(copy, n, sizeof(*ret));

    for (size_t i = 0; ret != NULL && i < n; i++) {
        ret[i].name = copy_text(copy, pairs[i].name);
        ret[i].value = copy_text(copy, pairs[i].value);
    }
    return ret;
}

int upstream_spec_copy(UpstreamSpec *ret, const UpstreamSpec *spec, Arena *arena)
{
    SpecCopy copy = {.arena = arena};

    *ret = *spec;
    ret->name = copy_text(&copy, spec->name);
    ret->command = copy_text(&copy, spec->command);
    ret->args = copy_list(&copy, spec->args);
    ret->env = copy_pairs(&copy, spec->env, spec->n_env);
    ret->cwd = copy_text(&copy, spec->cwd);
    ret->url = copy_text(&copy, spec->url);
    ret->headers = copy_pairs(&copy, spec->headers, spec->n_headers);
#define X(field) ret->auth.field = copy_text(&copy, spec->auth.field);
    OAUTH_SETTINGS_STRINGS(X)
#undef X
    ret->prefix = copy_text(&copy, spec->prefix);
    ret->separator = copy_text(&copy, spec->separator);
    ret->allow = copy_list(&copy, spec->allow);
    ret->deny = copy_list(&copy, spec->deny);
    ret->tools = copy_array(&copy, spec->n_tools, sizeof(*ret->tools));
    for (size_t i = 0; ret->tools != NULL && i < spec->n_tools; i++) {
        ret->tools[i] = spec->tools[i];
        ret->tools[i].name = copy_text(&copy, spec->tools[i].name);
        ret->tools[i].description = copy_text(&copy, spec->tools[i].description);
    }
    ret->fault = copy_text(&copy, spec->fault);
    return copy.has_failed ? err_raise(-ENOMEM) : 0;
}
