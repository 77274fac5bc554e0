/* The preprocessor: what a text holds that is no C, and that the functions around it are measured
 * all the same. */
#include "unit/toolkit/complexity/measure_rig.h"

#include "support/oom_sweep.h"

#include <errno.h>

#include "toolkit/complexity/lang_c_text.h"

/* Without errors, so many functions, and that one. */
static void check_whole(Rig *rig, const char *language, const char *text, size_t n_functions,
                        const char *name, uint32_t cyclomatic, uint32_t cognitive)
{
    const ComplexityFunction *row;

    rig_measure(rig, language, text);
    row = rig_row(rig, name);
    assert_int_equal(rig->file.n_errors, 0);
    assert_int_equal(rig->file.n_functions, n_functions);
    assert_false(row->has_error);
    if (row->cyclomatic != cyclomatic || row->cognitive != cognitive) {
        fail_msg("%s: cyclomatic %u, cognitive %u", text, row->cyclomatic, row->cognitive);
    }
}

/* redis' lua, `forstat`: the function went on to the end of the file. */
static void texts_may_be_made_by_macros(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    check_whole(&rig, "c",
                "int f(int a) {\n"
                "  switch (a) {\n"
                "    case 1: g(); break;\n"
                "    default: fail(a, QL(\"=\") \" or \" QL(\"in\") \" expected\");\n"
                "  }\n"
                "  return a ? 1 : 2;\n"
                "}\n"
                "int g(void) { return 1; }\n",
                2, "f", 3, 2);
    assert_int_equal(rig_row(&rig, "f")->last_line, 7);
    check_whole(&rig, "c",
                "const char *t = STR(1,\n"
                "   2) \".\" STR(\"3\") \"\";\n"
                "int f(int a) { return h(STR(a) \"y\") && a; }\n",
                1, "f", 2, 1);
    /* redis, genRedisInfoString: what is not followed by a text is a call, and counts. */
    check_whole(&rig, "c",
                "int f(int a) { return h(a, Q(1) \"x\", \"y\" ARGS(\"z\", a ? 1 : 2)); }\n", 1, "f",
                2, 1);
    check_whole(&rig, "cpp", "int operator\"\" _a(char c) { return c ? h(Q(1) \"x\") : 2; }\n", 1,
                "operator\"\" _a", 2, 1);
    rig_close(&rig);
}

/* postgres' tsgistidx.c, `gtsvector_compress`: a function "siglen" was found in it, and what is in
 * the loop was a level too deep. */
static void loops_by_macros_are_no_functions(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    check_whole(&rig, "c",
                "int f(int *a, int n) {\n"
                "  EACH(n)\n"
                "  {\n"
                "    if (a[i]) { return 1; }\n"
                "  }\n"
                "  return 0;\n"
                "}\n",
                1, "f", 2, 1);
    check_whole(&rig, "cpp", "int f(int n) { EACH(n) { if (n) { return 1; } } return 0; }\n", 1,
                "f", 2, 1);
    /* GNU C's functions in functions have parameters, and rows. */
    check_whole(&rig, "c", "int f(int n) { int g(int a) { return a ? 1 : 2; } return g(n); }\n", 2,
                "f.g", 2, 1);
    rig_close(&rig);
}

/* git's run-command.c, `start_command`: all was right, and yet marked as not understood. */
static void labels_may_end_a_branch_or_a_block(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    check_whole(&rig, "c",
                "int f(int a) {\n"
                "#ifndef A\n"
                "{ if (a) goto end; }\n"
                "end:\n"
                "\n"
                "#else\n"
                "{ if (a && 1) a++; }\n"
                "#endif\n"
                "  return a;\n"
                "}\n",
                1, "f", 4, 4);
    check_whole(&rig, "c", "void f(int a) { while (a) { if (a) goto next; g();\nnext: } }\n", 1,
                "f", 3, 4);
    /* What is no label. */
    check_whole(&rig, "cpp",
                "int f(int a) { switch (a) {\n"
                "#if A\n"
                "case B::C:\n"
                "#endif\n"
                "case 2: return h(Q(1) \"x\"); } return 1; }\n",
                1, "f", 3, 1);
    rig_close(&rig);
}

static void bodies_of_macros_are_not_parsed(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    /* A comment over lines in a body over lines. */
    check_whole(&rig, "c",
                "#define DECODE(ptr, len) do { \\\n"
                "    if ((ptr)[0] == 1) { \\\n"
                "        (len) = 5; /* a comment that \\\n"
                "                    * goes on. */ \\\n"
                "    } \\\n"
                "} while (0)\n"
                "\n"
                "int f(int p) { if (p) return 1; return 0; }\n",
                1, "f", 2, 1);
    assert_int_equal(rig.file.lines, 8);
    assert_int_equal(rig.file.code_lines, 7);
    assert_int_equal(rig.file.comment_lines, 0);
    assert_int_equal(rig.file.blank_lines, 1);
    assert_int_equal(rig_row(&rig, "f")->first_line, 8);
    /* Blanks behind a name; a comment without backslashes; quotes that are none. */
    check_whole(&rig, "c",
                "#define EMPTY   \n"
                "int f(int p) { return p ? 1 : 2; }\n"
                "#define LIKE(x) \n"
                "#define ONE 1 /* of\n"
                "                 two */\n"
                "#define TEXT \"/* no comment\"\n"
                "#define QUOTE '\"'\n"
                "#define PLUS+\n"
                "#define PARENS(a)(a)\n"
                "int g(int p) { return p && 1; }\n",
                2, "g", 2, 1);
    assert_int_equal(rig_row(&rig, "f")->cyclomatic, 2);
    assert_int_equal(rig.file.code_lines, 9);
    assert_int_equal(rig.file.comment_lines, 1);
    /* What looks like a directive. */
    check_whole(&rig, "cpp",
                "const char *s = R\"x(\n"
                "#define A \\\n"
                ")x\";\n"
                "const char *t = \"\\\n"
                "#define B { \\\n"
                "\";\n"
                "/*\n"
                "#define C \\\n"
                "*/\n"
                "int n = 1'000;\n"
                "int f(int p) { return p ? 1 : 2; }\n",
                1, "f", 2, 1);
    rig_close(&rig);
}

static void macro_in_a_function_has_no_tokens_of_its_body(void **state)
{
    uint32_t n_tokens;
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "c", "int f(int a)\n{\n#define X(b) 1\n    return a;\n}\n");
    n_tokens = rig_row(&rig, "f")->tokens;
    rig_measure(&rig, "c", "int f(int a)\n{\n#define X(b) ((b) + 2 > 3)\n    return a;\n}\n");
    assert_int_equal(rig_row(&rig, "f")->tokens, n_tokens);
    assert_int_equal(rig_row(&rig, "f")->code_lines, 5);
    rig_close(&rig);
}

static void conditions_of_if_are_not_parsed(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    check_whole(&rig, "cpp",
                "#if defined(X) && __has_include(<compare>) /* there */\n"
                "#include <compare>\n"
                "#elif A \\\n"
                "    || __has_include(\"a.h\")\n"
                "#endif\n"
                "#if(X)\n"
                "int x;\n"
                "#endif\n"
                "int f(int a)\n{\n"
                "#if A && B ? C : D\n"
                "    if (a) return 1;\n"
                "#endif\n"
                "    return 0;\n}\n",
                1, "f", 2, 1);
    assert_int_equal(rig.file.code_lines, rig.file.lines);
    rig_close(&rig);
}

static void attributes_in_capitals_are_passed_over(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    check_whole(&rig, "c",
                "static int f(const void *data UNUSED, const int *a, const int *b UNUSED)\n"
                "{ return a ? 1 : 0; }\n",
                1, "f", 2, 1);
    assert_int_equal(rig_row(&rig, "f")->parameters, 3);
    check_whole(&rig, "c", "void NORETURN die(const char *m) { if (m) exit(1); }\n", 1, "die", 2,
                1);
    check_whole(&rig, "c", "int f(void) COLD PRINTF(1, 2);\nint f(int a) COLD { return a && 1; }\n",
                1, "f", 2, 1);
    check_whole(&rig, "c",
                "static inline FORMAT(1) FORMAT(2)\nconst char *_(const char *m)\n"
                "{ if (!*m) return \"\"; return m; }\n",
                1, "_", 2, 1);
    check_whole(&rig, "c",
                "static int\ninternal_function\nget (int *m, int n)\n"
                "{ if (m) return 1; return 0; }\n"
                "static int\ninternal_function __attribute_warn_unused__\nget_two (int *m)\n"
                "{ return 0; }\n"
                "static void done (int *m) internal_function;\n",
                2, "get", 2, 1);
    assert_int_equal(rig_row(&rig, "get_two")->first_line, 5);
    check_whole(&rig, "cpp",
                "class EXPORT A : public B { int f(int a) const NOEXCEPT { return a ? 1 : 2; } };",
                1, "A::f", 2, 1);
    rig_close(&rig);
}

/* Where the second look does not help either, the name is still the last word. */
static void name_is_the_last_word_before_the_parameters(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "c",
                "int x = ) ;\nstruct s { int in_function (*get) (int); };\n"
                "void g(void) { int internal h (int a) { return a; } }\n");
    assert_non_null(rig_find(&rig, "g.h"));
    assert_null(rig_find(&rig, "g.internal"));
    rig_close(&rig);
}

static void macros_without_semicolon_end_where_they_end(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    check_whole(&rig, "c",
                "static int f(int *config, long long ll)\n{\n"
                "    GET_TYPE(prev)\n"
                "    if (prev != ll) {\n        return set(config);\n    }\n"
                "    return 1;\n}\n",
                1, "f", 2, 1);
    check_whole(&rig, "c",
                "int g(int v)\n{\n"
                "    GET_TYPE(v && 1)\n"
                "    if (v & 1) {\n        return 1;\n"
                "    } else if (v & 2) {\n        return 2;\n    }\n"
                "    return 3;\n}\n",
                1, "g", 4, 3);
    check_whole(&rig, "c",
                "static PATH_FUNC(names, \"NAMES\")\n\n"
                "static int f(int *array)\n{\n    return array ? 1 : 0;\n}\n"
                "static PATH_FUNC(a, \"A\")\n"
                "static PATH_FUNC(b, \"B\")\n"
                "int other(void) { return 1; }\n",
                2, "f", 2, 1);
    assert_int_equal(rig_row(&rig, "f")->first_line, 3);
    assert_int_equal(rig_row(&rig, "other")->first_line, 9);
    /* Loops, and their arguments. */
    check_whole(&rig, "c",
                "void f(struct list *l)\n{\n"
                "    for_each_item(item, l) {\n        if (item) use(item);\n    }\n"
                "    list_for_each(struct x *, pos)\n        if (pos) use(pos);\n"
                "    LAST()\n}\n",
                1, "f", 3, 2);
    check_whole(
        &rig, "c",
        "void f(int a)\n{\n    if (a <= 1) SWAP(long, a, n)\n    else SWAP(char, a, n)\n}\n", 1,
        "f", 2, 2);
    /* Arguments that are no expressions. */
    check_whole(&rig, "c",
                "void f(va_list ap)\n{\n"
                "    const char *s = va_arg(ap, const char *);\n"
                "    struct foo *p = container_of(s, const struct foo, ent);\n"
                "    compare(s, ==, p);\n"
                "    if (s) use(p);\n}\n",
                1, "f", 2, 1);
    rig_close(&rig);
}

static void heads_in_an_if_share_their_body(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    check_whole(&rig, "c",
                "#ifdef A\n"
                "int __cdecl main(int argc, char *argv[])\n"
                "#elif B\n"
                "void main(int argc)\n"
                "#else\n"
                "int main(int argc, char *argv[])\n"
                "#endif\n"
                "{\n    return argc ? 1 : 0;\n}\n",
                1, "main", 2, 1);
    assert_int_equal(rig_row(&rig, "main")->first_line, 2);
    assert_int_equal(rig_row(&rig, "main")->last_line, 10);
    assert_int_equal(rig.file.code_lines, 10);
    rig_close(&rig);
}

static void an_else_whose_if_is_outside_counts(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    check_whole(&rig, "c",
                "int f(int a)\n{\n    if (a == 1)\n        a = 1;\n"
                "#ifdef F\n    else if (a == 2)\n        a = 3;\n#endif\n    return a;\n}\n"
                "int g(int a)\n{\n    return a ? 1 : 2;\n}\n",
                2, "f", 3, 2);
    assert_int_equal(rig_row(&rig, "f")->last_line, 10);
    assert_int_equal(rig_row(&rig, "g")->cyclomatic, 2);
    /* With braces, with an else behind, and with the else at the end of the branch. */
    check_whole(&rig, "c",
                "int f(int a)\n{\n    if (a == 1) {\n        a = 1;\n    }\n"
                "#ifdef F\n    else if (a == 2) {\n        a = 3;\n    }\n#endif\n"
                "    else {\n        a = 4;\n    }\n    return a;\n}\n",
                1, "f", 3, 3);
    check_whole(&rig, "c",
                "int f(int a)\n{\n#ifdef F\n    if (a == 1)\n        a = 1;\n    else\n#endif\n"
                "        a = 4;\n    return a;\n}\n",
                1, "f", 2, 2);
    rig_close(&rig);
}

/* Even if nothing helps: no function has the name of a keyword, and the statement counts. */
static void statement_is_not_taken_for_a_function(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "c",
                "int f(int a)\n{\n    x; lower(a) if (a & 1) {\n        return 1;\n    }\n"
                "    return 3;\n}\n");
    assert_int_equal(rig.file.n_functions, 1);
    assert_int_equal(rig_row(&rig, "f")->cyclomatic, 2);
    assert_int_equal(rig_row(&rig, "f")->cognitive, 1);
    assert_true(rig_row(&rig, "f")->has_error);
    rig_measure(
        &rig, "cpp",
        "int f()\n{\n    try {\n        go();\n    }\n"
        "#if !defined(NO)\n    catch (std::exception &ex) {\n        return 1;\n    }\n#endif\n"
        "    return 0;\n}\n");
    assert_int_equal(rig.file.n_functions, 1);
    assert_int_equal(rig_row(&rig, "f")->cyclomatic, 2);
    rig_measure(&rig, "cpp",
                "void f()\n{\n    x; lower(a) catch (E &e) {\n        go();\n    }\n}\n");
    assert_int_equal(rig.file.n_functions, 1);
    assert_int_equal(rig_row(&rig, "f")->cyclomatic, 2);
    check_whole(&rig, "cpp",
                "void f()\n{\n    CATCH_TRY {\n        go();\n"
                "    } CATCH_ANON (Failure &) {\n        stop();\n    }\n}\n",
                1, "f", 1, 0);
    rig_close(&rig);
}

static void missing_semicolon_is_no_error_of_the_function(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "c", "int f(int a) { if (a) g() }\n");
    assert_int_equal(rig.file.n_errors, 1);
    assert_false(rig_row(&rig, "f")->has_error);
    rig_measure(&rig, "c", "int f(int a) { if (a) g(; }\nint g(void) { return 1; }\n");
    assert_true(rig_row(&rig, "f")->has_error);
    assert_false(rig_row(&rig, "g")->has_error);
    rig_close(&rig);
}

static void cpp_macros_and_types(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    check_whole(&rig, "cpp",
                "DEFINE_SYNC_AND_ASYNC(void, Version::MultiGet)\n"
                "(const ReadOptions &o, Range *range) {\n    if (range) go();\n}\n",
                1, "Version::MultiGet", 2, 1);
    check_whole(&rig, "cpp",
                "struct S {\n"
                "    template <typename U> void on(std::enable_if_t<D, U> * = nullptr) { go(); }\n"
                "    void off(int = 0, T * = nullptr) { if (a) go(); }\n};\n",
                2, "S::off", 2, 1);
    assert_int_equal(rig_row(&rig, "S::on")->parameters, 1);
    /* What is in a type is no branch. */
    check_whole(&rig, "cpp",
                "template <typename T> std::enable_if_t<!A<T>::value && !B<T>::value, int>\n"
                "f(T a) noexcept(A && B) { return a ? 1 : 2; }\n",
                1, "f", 2, 3);
    rig_close(&rig);
}

/* All that may be overwritten stays where it is: no end of a line is touched. */
static void places_stay_what_they_are(void **state)
{
    static const char text[] = "#define A(x) \\\r\n  x /* \r\n */ + 1\r\n"
                               "#if(B)\n#endif\n"
                               "void NORETURN f(int a UNUSED)\n{\n  FOO(a,\n b)\n  if (a) { }\n}\n";
    char copy[sizeof(text)];
    bool changed = false;

    (void)state;
    memcpy(copy, text, sizeof(text));
    assert_true(complexity_c_prepare(copy, sizeof(text) - 1, STOP_NEVER));
    assert_int_equal(complexity_c_mend(copy, sizeof(text) - 1, STOP_NEVER, &changed), 0);
    assert_true(changed);
    for (size_t i = 0; i < sizeof(text); i++) {
        if (text[i] == '\n' || text[i] == '\r' || copy[i] == '\n' || copy[i] == '\r') {
            assert_int_equal(copy[i], text[i]);
        }
    }
    assert_null(strstr(copy, "UNUSED"));
    assert_null(strstr(copy, "NORETURN"));
    assert_non_null(strstr(copy, "FOO,a,\n b;\n"));
    assert_non_null(strstr(copy, "#if 1\n") != NULL ? copy : strstr(copy, "#if 1 \n"));
    /* Twice changes nothing. */
    assert_int_equal(complexity_c_mend(copy, sizeof(text) - 1, STOP_NEVER, &changed), 0);
    assert_false(changed);
    /* Nor does a text without any of that change. */
    memcpy(copy, "int x = 1;\n", 12);
    assert_false(complexity_c_prepare(copy, 11, STOP_NEVER));
}

/* Whatever ends in the middle. */
static void cut_texts_are_read_to_their_end(void **state)
{
    static const char text[] =
        "#define A(x, y) \\\n x /* c */\n#if(B) // c \\\n d\n#else\n"
        "static PATH(a, \"\\\"\")\nint f(int a UNUSED) COLD\n#endif\n{ EACH(a, const char *) {\n"
        " u8R\"x(a)x\"; 'a'; 1'0e+1; TRY { } g(a, ==, int); } }\n";
    bool changed;

    (void)state;
    for (size_t n = 0; n < sizeof(text); n++) {
        /* As long as it is, so that a sanitizer sees what is read behind it. */
        char *copy = test_malloc(n + 1);

        memcpy(copy, text, n);
        copy[n] = '\0';
        (void)complexity_c_prepare(copy, n, STOP_NEVER);
        assert_int_equal(complexity_c_mend(copy, n, STOP_NEVER, &changed), 0);
        assert_int_equal(copy[n], '\0');
        test_free(copy);
    }
}

static int mend_scenario(void *context)
{
    ComplexityMeter *meter = NULL;
    Arena arena;
    ComplexityFile file;
    const ComplexityOptions options = {.increments = true};
    int r = complexity_meter_new(&meter);

    arena_init(&arena, RIG_ARENA_BYTES);
    if (r == 0) {
        r = complexity_measure(meter, complexity_language_named(SPAN("c")), span_from_str(context),
                               &options, &arena, &file);
    }
    if (r == 0) {
        assert_int_equal(file.n_functions, 1);
        assert_int_equal(file.n_errors, 0);
    }
    meter = complexity_meter_free(meter);
    arena_deinit(&arena);
    return r == COMPLEXITY_E_NO_MEMORY ? -ENOMEM : r;
}

static void memory_may_run_out(void **state)
{
    char text[] = "#define A 1\nvoid NORETURN f(int a UNUSED) {\n#if A\n  if (a) {\n#else\n  {\n"
                  "#endif\n  g(); } }\n";

    (void)state;
    test_oom_sweep(mend_scenario, text);
}

static void branches_that_split_a_block_are_read_by_the_first(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    check_whole(&rig, "c",
                "int f(int x) {\n"
                "#if A\n  if (x) {\n#else\n  if (!x) {\n#endif\n    g();\n  }\n  return 0;\n}\n"
                "int h(void) { return 1; }\n",
                2, "f", 2, 1);
    /* One in another; the #elif and the #if in it are passed over. */
    check_whole(&rig, "c",
                "int f(int x) {\n"
                "#ifdef A\n#if B\n  if (x && y) {\n#else\n  for (;;) {\n#endif\n"
                "#elif C\n  while (x) {\n#if D\n  x--;\n#endif\n#else\n  {\n#endif\n    g();\n  }\n"
                "  return 0;\n}\n",
                1, "f", 3, 2);
    /* Ends in branches of their own. */
    check_whole(&rig, "c",
                "int f(int x) {\n#if A\n  if (x) {\n#endif\n    g();\n#if A\n  }\n#endif\n"
                "  return 0;\n}\nint h(void) { return 1; }\n",
                2, "f", 2, 1);
    /* In parentheses. */
    check_whole(
        &rig, "c",
        "int f(int x) {\n  if (x\n#if A\n      && y\n#else\n      || z || w\n#endif\n  ) {\n"
        "    g();\n  }\n  return 0;\n}\n",
        1, "f", 3, 2);
    /* What can be read is read whole. */
    check_whole(
        &rig, "c",
        "int f(int x) {\n#if A\n  if (x) g();\n#else\n  if (!x) g();\n#endif\n  return 0;\n}\n", 1,
        "f", 3, 2);
    rig_close(&rig);
}

static void ranges_of_cases_are_read(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    check_whole(
        &rig, "c",
        "int f(int x) {\n  switch (x) {\n  case 2 ... 5: return 1;\n"
        "  case 'a' ... 'z': return 2;\n  case A(1) ... -B: return 3;\n  }\n  return 0;\n}\n",
        1, "f", 4, 1);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_may_be_made_by_macros),
        cmocka_unit_test(loops_by_macros_are_no_functions),
        cmocka_unit_test(labels_may_end_a_branch_or_a_block),
        cmocka_unit_test(bodies_of_macros_are_not_parsed),
        cmocka_unit_test(macro_in_a_function_has_no_tokens_of_its_body),
        cmocka_unit_test(conditions_of_if_are_not_parsed),
        cmocka_unit_test(attributes_in_capitals_are_passed_over),
        cmocka_unit_test(name_is_the_last_word_before_the_parameters),
        cmocka_unit_test(macros_without_semicolon_end_where_they_end),
        cmocka_unit_test(an_else_whose_if_is_outside_counts),
        cmocka_unit_test(heads_in_an_if_share_their_body),
        cmocka_unit_test(statement_is_not_taken_for_a_function),
        cmocka_unit_test(missing_semicolon_is_no_error_of_the_function),
        cmocka_unit_test(cpp_macros_and_types),
        cmocka_unit_test(places_stay_what_they_are),
        cmocka_unit_test(cut_texts_are_read_to_their_end),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(branches_that_split_a_block_are_read_by_the_first),
        cmocka_unit_test(ranges_of_cases_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
