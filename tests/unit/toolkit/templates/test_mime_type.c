#include "support/cmocka.h"

#include "toolkit/templates/manifest_read.h"
#include "unit/toolkit/templates/model.h"

static void the_name_of_a_file_says_its_type(void **state)
{
    static const struct {
        const char *output;
        const char *type;
    } cases[] = {
        {"Makefile", "text/x-makefile"},
        {"Dockerfile", "text/x-dockerfile"},
        {".gitignore", "text/x-gitignore"},
        {".dockerignore", "text/x-dockerignore"},
        {".editorconfig", "text/x-editorconfig"},
        {".clang-format", "application/yaml"},
        {".github/workflows/ci.yml", "application/yaml"},
        {"docs/{{kebab_case project_name}}.md", "text/markdown"},
        {"src/{{snake_case project_name}}/__init__.py", "text/x-python"},
        {"tests/CMakeLists.txt", "text/x-cmake"},
        {"go.mod", "text/x-go-mod"},
        {"a.h.json", "application/json"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        model_span_is(template_mime_type(span_from_str(cases[i].output)), cases[i].type);
    }
}

static void a_name_that_says_nothing_is_plain_text(void **state)
{
    static const char *const outputs[] = {"LICENSE", "{{name}}", "",          "md", ".md",
                                          "x/.md",   "a.md/b",   "a.unknown", "x/"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(outputs); i++) {
        model_span_is(template_mime_type(span_from_str(outputs[i])), "text/plain");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_of_a_file_says_its_type),
        cmocka_unit_test(a_name_that_says_nothing_is_plain_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
