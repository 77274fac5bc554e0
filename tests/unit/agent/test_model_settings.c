#include "agent/model_settings.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "support/oom_sweep.h"

#define ARENA_BYTES ((size_t)1 << 20)

typedef struct Case {
    const char *name;
    const char *base_url;
    const char *environment[4];
    const char *expected; /* or the beginning of the words of a refusal */
} Case;

static const Case cases[] = {
    {"script", NULL, {"OPENAI_API_KEY=k"}, "script()"},
    {"script:a b.jsonl", NULL, {NULL}, "script(a b.jsonl)"},
    {"openai:gpt", NULL, {"OPENAI_API_KEY=k"}, "openai(https://api.openai.com/v1 k gpt own)"},
    {"openai",
     NULL,
     {"OPENAI_API_KEY=k", "OPENAI_MODEL=m"},
     "openai(https://api.openai.com/v1 k m own)"},
    {"openai:a:b/c", NULL, {"OPENAI_BASE_URL=http://h/v1/"}, "openai(http://h/v1 - a:b/c)"},
    {"openai",
     "http://b/v1",
     {"OPENAI_BASE_URL=http://h/v1", "OPENAI_API_KEY=k"},
     "openai(http://b/v1 k -)"},
    {"anthropic:c", NULL, {"ANTHROPIC_API_KEY=k"}, "anthropic(https://api.anthropic.com k c own)"},
    {"anthropic",
     NULL,
     {"ANTHROPIC_BASE_URL=http://h/v1/", "ANTHROPIC_MODEL=c"},
     "anthropic(http://h - c)"},
    {NULL,
     NULL,
     {"OPENAI_API_KEY=k", "OPENAI_MODEL=m", "ANTHROPIC_API_KEY="},
     "openai(https://api.openai.com/v1 k m own)"},
    {NULL,
     NULL,
     {"OPENAI_API_KEY=k", "ANTHROPIC_API_KEY=a", "ANTHROPIC_MODEL=c"},
     "anthropic(https://api.anthropic.com a c own)"},
    {NULL, NULL, {"OPENAI_BASE_URL=http://h"}, "openai(http://h - -)"},
    {"openai:m", "http://u:p@h/v1/?k=a/", {NULL}, "openai(http://u:p@h/v1?k=a/ - m)"},
    {"anthropic:m", "http://h/v1/?k=/v1", {NULL}, "anthropic(http://h?k=/v1 - m)"},
    {NULL, "http://b", {"ANTHROPIC_API_KEY=a"}, "openai(http://b - -)"},
    {NULL,
     NULL,
     {NULL},
     "openai?(http://127.0.0.1:11434/v1 - -)openai?(http://127.0.0.1:8080/v1 - -)script()"},
    {NULL,
     NULL,
     {"OLLAMA_HOST=0.0.0.0", "LLAMA_ARG_PORT=81"},
     "openai?(http://127.0.0.1:11434/v1 - -)openai?(http://127.0.0.1:81/v1 - -)script()"},
    {NULL,
     NULL,
     {"OLLAMA_HOST=:5", "LLAMA_ARG_HOST=::"},
     "openai?(http://127.0.0.1:5/v1 - -)openai?(http://127.0.0.1:8080/v1 - -)script()"},
    {NULL,
     NULL,
     {"OLLAMA_HOST=http://box", "LLAMA_ARG_HOST=1.2.3.4"},
     "openai?(http://box:80/v1 - -)openai?(http://1.2.3.4:8080/v1 - -)script()"},
    {NULL,
     NULL,
     {"OLLAMA_HOST=https://box:7/x/"},
     "openai?(https://box:7/v1 - -)openai?(http://127.0.0.1:8080/v1 - -)script()"},
    {NULL,
     NULL,
     {"OLLAMA_HOST=[::1]:6"},
     "openai?(http://[::1]:6/v1 - -)openai?(http://127.0.0.1:8080/v1 - -)script()"},
    {"openai:gpt", NULL, {NULL}, "https://api.openai.com/v1 needs a key: set OPENAI_API_KEY"},
    {NULL,
     NULL,
     {"OPENAI_API_KEY=k"},
     "OPENAI_API_KEY is set, but no model is named: set OPENAI_MODEL"},
    {NULL,
     NULL,
     {"ANTHROPIC_API_KEY=k"},
     "ANTHROPIC_API_KEY is set, but no model is named: set ANTHROPIC_MODEL"},
    {"oracle", NULL, {NULL}, "there is no model 'oracle'"},
    {"openai:", NULL, {NULL}, "there is no model 'openai:'"},
    {"script:", NULL, {NULL}, "there is no model 'script:'"},
    {"", NULL, {NULL}, "there is no model ''"},
};

static void settings_text(const ModelSettings *settings, char *out, size_t size)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; i < settings->n_services; i++) {
        const ModelService *s = &settings->services[i];

        at += (size_t)snprintf(out + at, size - at, "%s%s(%s %s %s%s)", s->dialect->name,
                               s->is_guess ? "?" : "", s->base_url, s->key != NULL ? s->key : "-",
                               s->model != NULL ? s->model : "-", s->is_first_party ? " own" : "");
    }
    if (settings->is_script) {
        (void)snprintf(out + at, size - at, "script(%.*s)", (int)settings->script.n,
                       settings->script.n > 0 ? settings->script.p : "");
    }
}

static void names_and_the_environment_decide(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        ModelConfig config = {.name = cases[i].name,
                              .base_url = cases[i].base_url,
                              .environment = cases[i].environment};
        ModelSettings settings;
        Diag diag = DIAG_NULL;
        char text[600];
        Arena arena;
        int r;

        arena_init(&arena, ARENA_BYTES);
        r = model_settings_read(&settings, &arena, &config, &diag);
        if (r == 0) {
            settings_text(&settings, text, sizeof(text));
            assert_string_equal(text, cases[i].expected);
        } else {
            assert_int_equal(r, MODEL_E_UNKNOWN);
            if (strncmp(diag.message, cases[i].expected, strlen(cases[i].expected)) != 0) {
                fail_msg("%s instead of %s", diag.message, cases[i].expected);
            }
        }
        arena_deinit(&arena);
    }
}

static void the_first_model_that_talks_is_taken(void **state)
{
    static const struct {
        const char *body;
        const char *name;
    } lists[] = {
        {"{\"data\":[{\"id\":\"a\"},{\"id\":\"b\"}]}", "a"},
        {"{\"data\":[{\"id\":\"nomic-embed-text\"},{\"id\":\"qwen\\u0033\"}]}", "qwen3"},
        {"{\"data\":[1,{},{\"id\":7},{\"id\":\"\"},{\"id\":\"x\\u0000\"}]}", NULL},
        {"{\"data\":[]}", NULL},
        {"{\"data\":null}", NULL},
        {"[]", NULL},
        {"<html>", NULL},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(lists); i++) {
        const char *name = NULL;
        Arena arena;

        arena_init(&arena, ARENA_BYTES);
        assert_int_equal(model_list_first(&arena, span_from_str(lists[i].body), &name), 0);
        if (lists[i].name == NULL) {
            assert_null(name);
        } else {
            assert_string_equal(name, lists[i].name);
        }
        arena_deinit(&arena);
    }
}

static int read_scenario(void *context)
{
    const Case *c = context;
    ModelConfig config = {.name = c->name, .environment = c->environment};
    ModelSettings settings;
    const char *name;
    Arena arena;
    int r;

    arena_init(&arena, ARENA_BYTES);
    r = model_settings_read(&settings, &arena, &config, NULL);
    arena_deinit(&arena);
    arena_init(&arena, ARENA_BYTES);
    if (r == 0) {
        r = model_list_first(&arena, SPAN("{\"data\":[{\"id\":\"a\"}]}"), &name);
    }
    arena_deinit(&arena);
    return r;
}

static void no_memory_is_an_error(void **state)
{
    static Case c = {"openai:x", NULL, {"OPENAI_API_KEY=k"}, NULL};

    (void)state;
    test_oom_sweep(read_scenario, &c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_the_environment_decide),
        cmocka_unit_test(the_first_model_that_talks_is_taken),
        cmocka_unit_test(no_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
