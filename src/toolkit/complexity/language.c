#include "toolkit/complexity/language.h"

#include <string.h>

#include "base/compiler.h"
#include "base/text.h"
#include "toolkit/complexity/language_head.h"
#include "toolkit/complexity/rules.h"

/* In the order of lists. */
/* clang-format off */
static const ComplexityLanguage *const languages[] = {
    &complexity_language_rust,
    &complexity_language_javascript,
    &complexity_language_typescript,
    &complexity_language_tsx,
    &complexity_language_python,
    &complexity_language_c,
    &complexity_language_cpp,
    &complexity_language_go,
    &complexity_language_java,
    &complexity_language_csharp,
    &complexity_language_kotlin,
    &complexity_language_php,
    &complexity_language_ruby,
    &complexity_language_bash,
    &complexity_language_lua,
    &complexity_language_zig,
};
/* clang-format on */

const ComplexityLanguage *complexity_language_at(size_t i)
{
    return i < TW_ARRAY_SIZE(languages) ? languages[i] : NULL;
}

Span complexity_language_name(const ComplexityLanguage *language)
{
    return language->name;
}

/* Is the word one of those in the list, which have a space between them? */
static bool language_lists(const char *list, Span word, bool has_case)
{
    while (list != NULL && *list != '\0' && word.n > 0) {
        size_t n = strcspn(list, " ");
        Span one = span_make(list, n);

        if (has_case ? span_equals(one, word) : text_equals_nocase(one, word)) {
            return true;
        }
        list += n + strspn(list + n, " ");
    }
    return false;
}

const ComplexityLanguage *complexity_language_named(Span name)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(languages); i++) {
        if (text_equals_nocase(languages[i]->name, name) ||
            language_lists(languages[i]->spellings, name, false)) {
            return languages[i];
        }
    }
    return NULL;
}

/* The name behind the last slash of either kind. */
static Span language_base(Span path)
{
    size_t at = path.n;

    while (at > 0 && path.p[at - 1] != '/' && path.p[at - 1] != '\\') {
        at--;
    }
    return span_make(path.p + at, path.n - at);
}

/* Without the point; empty if there is none (a point at the beginning is none). */
static Span language_extension(Span base)
{
    for (size_t at = base.n; at > 1; at--) {
        if (base.p[at - 1] == '.') {
            return span_make(base.p + at, base.n - at);
        }
    }
    return SPAN_NULL;
}

/* "foo.C" is C++ and "foo.c" is C, but "FOO.PY" is Python: the case counts if it makes a
 * difference. */
static const ComplexityLanguage *language_of_extension(Span extension)
{
    for (int has_case = 1; has_case >= 0; has_case--) {
        for (size_t i = 0; i < TW_ARRAY_SIZE(languages); i++) {
            if (language_lists(languages[i]->extensions, extension, has_case != 0)) {
                return languages[i];
            }
        }
    }
    return NULL;
}

static const ComplexityLanguage *language_of_file(Span base)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(languages); i++) {
        if (language_lists(languages[i]->files, base, true)) {
            return languages[i];
        }
    }
    return NULL;
}

static const ComplexityLanguage *language_of_command(Span command)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(languages); i++) {
        if (language_lists(languages[i]->commands, command, true)) {
            return languages[i];
        }
    }
    return NULL;
}

const ComplexityLanguage *complexity_language_of(Span path, Span head)
{
    Span base = language_base(path);
    Span extension = language_extension(base);
    const ComplexityLanguage *language = language_of_file(base);

    if (language != NULL) {
        return language;
    }
    if (extension.n == 0) {
        return language_of_command(complexity_head_command(head));
    }
    if (span_equals(extension, SPAN("h")) && complexity_head_is_cpp(head)) {
        return &complexity_language_cpp;
    }
    return language_of_extension(extension);
}

bool complexity_language_needs_head(Span path)
{
    Span base = language_base(path);
    Span extension = language_extension(base);

    return language_of_file(base) == NULL &&
           (extension.n == 0 || span_equals(extension, SPAN("h")));
}

bool complexity_toolchain_has(Span toolchain, const ComplexityLanguage *language)
{
    if (text_equals_nocase(toolchain, SPAN("auto"))) {
        return true;
    }
    if (language->toolchain != NULL &&
        text_equals_nocase(toolchain, span_from_str(language->toolchain))) {
        return true;
    }
    return complexity_language_named(toolchain) == language;
}

bool complexity_toolchain_known(Span toolchain)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(languages); i++) {
        if (complexity_toolchain_has(toolchain, languages[i])) {
            return true;
        }
    }
    return false;
}
