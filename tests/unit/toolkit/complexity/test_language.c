#include "support/cmocka.h"

#include <string.h>

#include "toolkit/complexity/language.h"

static const char *of(const char *path, const char *head)
{
    const ComplexityLanguage *language =
        complexity_language_of(span_from_str(path), span_from_str(head));

    /* Names are literals. */
    return language == NULL ? "none" : complexity_language_name(language).p;
}

static void extension_tells_the_language(void **state)
{
    static const char *const pairs[][2] = {
        {"a.c", "c"},
        {"a/b.d/x.cpp", "cpp"},
        {"x.cc", "cpp"},
        {"x.hpp", "cpp"},
        {"x.C", "cpp"},
        {"x.H", "cpp"},
        {"x.h", "c"},
        {"x.js", "javascript"},
        {"x.jsx", "javascript"},
        {"x.mjs", "javascript"},
        {"x.ts", "typescript"},
        {"x.d.ts", "typescript"},
        {"x.tsx", "tsx"},
        {"x.py", "python"},
        {"X.PY", "python"},
        {"x.pyi", "python"},
        {"x.CPP", "cpp"},
        {"a\\b\\x.py", "python"},
        {"x.txt", "none"},
        {"x", "none"},
        {".py", "none"},
        {"a.py/x", "none"},
        {"x.", "none"},
        {"", "none"},
        {"SConstruct", "python"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        assert_string_equal(of(pairs[i][0], ""), pairs[i][1]);
    }
}

static void first_line_tells_the_language_where_the_name_does_not(void **state)
{
    (void)state;
    assert_string_equal(of("run", "#!/usr/bin/python3\nx"), "python");
    assert_string_equal(of("run", "#! /usr/bin/env python3.11 -u\r\nx"), "python");
    assert_string_equal(of("run", "#!/usr/bin/env -S A=b node --x"), "javascript");
    assert_string_equal(of("run", "#!/opt/deno"), "typescript");
    assert_string_equal(of("run", "#!/usr/bin/env"), "none");
    assert_string_equal(of("run", "#!"), "none");
    assert_string_equal(of("run", "# python"), "none");
    assert_string_equal(of("run", "#!/bin/unknown"), "none");
    /* The name comes first. */
    assert_string_equal(of("x.c", "#!/usr/bin/python3\n"), "c");
    assert_string_equal(of("x.txt", "#!/usr/bin/python3\n"), "none");
}

static void header_is_cpp_if_it_holds_what_c_does_not(void **state)
{
    static const char *const cpp[] = {
        "namespace a { }",
        "namespace { }",
        "namespace a::b { }",
        "#pragma once\n\nclass A;\n",
        "class A : public B { };",
        "class A final { };",
        "template <typename T> struct A;",
        "struct A {\nprivate:\n    int x;\n};",
        "std::string f();",
        "using namespace std;",
        "using A = int;",
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n}\nclass A { };",
        "#ifdef __cplusplus\nx\n#else\nclass A { };\n#endif",
    };
    static const char *const c[] = {
        "",
        "int f(void);",
        "/* class A { }; */\nint class; // namespace a { }\n",
        "const char *s = \"namespace a { }\";",
        "#ifdef __cplusplus\nextern \"C\" {\nnamespace a { }\n#endif\nint x;",
        "#if defined(__cplusplus)\n#if A\n#endif\nclass A { };\n#endif\nint x;",
        "struct s { int class; void *template; int private : 3; int namespace; };",
        "int f(int a) { return a ? b : c; } /* unfinished",
        "#define X class A { };\n",
        "int x = '\"'; int y = \"\\\"",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cpp) / sizeof(cpp[0]); i++) {
        if (strcmp(of("x.h", cpp[i]), "cpp") != 0) {
            fail_msg("is C++: %s", cpp[i]);
        }
    }
    for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
        if (strcmp(of("x.h", c[i]), "c") != 0) {
            fail_msg("is C: %s", c[i]);
        }
    }
}

static void head_is_needed_only_where_the_name_does_not_settle_it(void **state)
{
    (void)state;
    assert_true(complexity_language_needs_head(SPAN("a/run")));
    assert_true(complexity_language_needs_head(SPAN("x.h")));
    assert_true(complexity_language_needs_head(SPAN("")));
    assert_false(complexity_language_needs_head(SPAN("x.c")));
    assert_false(complexity_language_needs_head(SPAN("x.png")));
    assert_false(complexity_language_needs_head(SPAN("SConstruct")));
}

static void languages_have_the_names_that_people_use(void **state)
{
    static const char *const pairs[][2] = {
        {"c", "c"},
        {"C++", "cpp"},
        {"cpp", "cpp"},
        {"js", "javascript"},
        {"JSX", "javascript"},
        {"ts", "typescript"},
        {"TypeScript", "typescript"},
        {"tsx", "tsx"},
        {"py", "python"},
        {"Python3", "python"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        const ComplexityLanguage *language = complexity_language_named(span_from_str(pairs[i][0]));

        assert_non_null(language);
        assert_string_equal(complexity_language_name(language).p, pairs[i][1]);
    }
    assert_null(complexity_language_named(SPAN("")));
    assert_null(complexity_language_named(SPAN("cobol")));
    assert_null(complexity_language_named(SPAN("js jsx")));
}

/* No spelling, extension or command belongs to two. */
static void every_language_is_found_by_its_name(void **state)
{
    (void)state;
    for (size_t i = 0; complexity_language_at(i) != NULL; i++) {
        const ComplexityLanguage *language = complexity_language_at(i);

        assert_ptr_equal(complexity_language_named(complexity_language_name(language)), language);
    }
}

static bool has(const char *toolchain, const char *language)
{
    return complexity_toolchain_has(span_from_str(toolchain),
                                    complexity_language_named(span_from_str(language)));
}

static void toolchains_read_their_languages(void **state)
{
    (void)state;
    assert_true(has("deno", "javascript") && has("deno", "typescript") && has("deno", "tsx"));
    assert_false(has("deno", "python"));
    assert_true(has("python-uv", "python"));
    assert_false(has("python-uv", "c"));
    assert_true(has("auto", "c") && has("auto", "tsx"));
    assert_true(has("c++", "cpp"));
    assert_false(has("c++", "c"));
    assert_true(complexity_toolchain_known(SPAN("auto")));
    assert_true(complexity_toolchain_known(SPAN("deno")));
    assert_true(complexity_toolchain_known(SPAN("python-uv")));
    assert_true(complexity_toolchain_known(SPAN("JS")));
    assert_false(complexity_toolchain_known(SPAN("fortran")));
    assert_false(complexity_toolchain_known(SPAN("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extension_tells_the_language),
        cmocka_unit_test(first_line_tells_the_language_where_the_name_does_not),
        cmocka_unit_test(header_is_cpp_if_it_holds_what_c_does_not),
        cmocka_unit_test(head_is_needed_only_where_the_name_does_not_settle_it),
        cmocka_unit_test(languages_have_the_names_that_people_use),
        cmocka_unit_test(every_language_is_found_by_its_name),
        cmocka_unit_test(toolchains_read_their_languages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
