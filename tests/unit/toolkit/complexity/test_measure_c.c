#include "unit/toolkit/complexity/measure_rig.h"

/* One construct a function. */
static void each_construct_counts_as_defined(void **state)
{
    static const RigCase cases[] = {
        {"void f(void) { }", "f", 1, 0},
        {"void f(int a) { if (a) g(); }", "f", 2, 1},
        {"void f(int a) { if (a) g(); else h(); }", "f", 2, 2},
        {"void f(int a, int b) { if (a) g(); else if (b) h(); else i(); }", "f", 3, 3},
        {"void f(int a, int b) { if (a) g(); else { if (b) h(); } }", "f", 3, 4},
        {"void f(int a, int b) { if (a) { if (b) h(); } }", "f", 3, 3},
        {"void f(void) { for (;;) { } }", "f", 2, 1},
        {"void f(int a) { while (a) { do { } while (a); } }", "f", 3, 3},
        {"void f(int a) { switch (a) { case 1: case 2: g(); break; default: h(); } }", "f", 3, 1},
        {"void f(int a) { switch (a) { case 1: if (a) g(); } }", "f", 3, 3},
        {"int f(int a) { return a ? 1 : 2; }", "f", 2, 1},
        {"int f(int a) { return a ? 1 : a ? 2 : 3; }", "f", 3, 3},
        {"int f(int a) { return a ?: 3; }", "f", 2, 1},
        {"int f(int a) { if (a) goto out; g(); out: return 1; }", "f", 2, 2},
        {"void f(int a) { for (;;) { if (a) break; if (!a) continue; return; } }", "f", 4, 5},
        {"int f(int n) { return f(n - 1); }", "f", 1, 0},
        {"int f(int a, int b) { if (a || b) return 1; return 0; }", "f", 3, 2},
        {"int f(int a, int b, int c) { return a && b && c; }", "f", 3, 1},
        {"int f(int a, int b, int c) { return a && b || c; }", "f", 3, 2},
        {"int f(int a, int b, int c, int d) { return a || b && c || d; }", "f", 4, 3},
        {"int f(int a, int b, int c) { return !(a && b) && c; }", "f", 3, 2},
        {"int f(int a, int b, int c) { return a && !(b && c); }", "f", 3, 2},
        {"int f(int a, int b, int c) { return a && g(b && c); }", "f", 3, 2},
        {"int f(int a, int b, int c) { return a && (b && c); }", "f", 3, 1},
        {"int f(int a, int b, int c, int d, int e) { return (a || b) && (c || d) && e; }", "f", 5,
         4},
        {"int f(int a, int b) { return a /* and */ && /* or */ b /* and */ && a; }", "f", 3, 1},
        {"int f(int a, int b) { return a & b | 1; }", "f", 1, 0},
        {"void *f(void) { return &&here; here: return 0; }", "f", 1, 0},
    };
    Rig rig;

    (void)state;
    rig_open(&rig);
    RIG_CHECK(&rig, "c", cases);
    rig_close(&rig);
}

/* As clang-tidy has it: the condition of an if is where the if is, all else is in what holds it. */
static void conditions_nest_as_in_clang_tidy(void **state)
{
    static const RigCase cases[] = {
        {"void f(int a) { if (a ? 1 : 2) g(); }", "f", 3, 2},
        {"void f(int a) { while (a ? 1 : 2) g(); }", "f", 3, 3},
        {"void f(int a) { for (int i = a ? 1 : 2; ; ) g(); }", "f", 3, 3},
        {"void f(int a) { if (a) g(); else if (a ? 1 : 2) h(); }", "f", 4, 4},
        {"int f(int a) { return (a ? 1 : 2) ? 3 : 4; }", "f", 3, 3},
        {"int f(int a) { return ({ int b = a ? 1 : 2; b; }); }", "f", 2, 2},
    };
    Rig rig;

    (void)state;
    rig_open(&rig);
    RIG_CHECK(&rig, "c", cases);
    rig_close(&rig);
}

static void modified_variant_counts_a_switch_once(void **state)
{
    Rig rig;
    const ComplexityFunction *row;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "c",
                "void f(int a) { switch (a) { case 1: case 2: case 3: ; default: if (a) g(); } }");
    row = rig_row(&rig, "f");
    assert_int_equal(row->cyclomatic, 5);
    assert_int_equal(row->cyclomatic_modified, 3);
    rig_close(&rig);
}

/* Halstead by hand: 10 operators 12 times, 4 operands 8 times. */
static void tokens_are_counted_as_by_hand(void **state)
{
    Rig rig;
    const ComplexityFunction *row;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "c", "int f(int a, int b) { return a > b ? a : b + 1; }");
    row = rig_row(&rig, "f");
    assert_int_equal(row->halstead.n1, 10);
    assert_int_equal(row->halstead.n2, 4);
    assert_int_equal(row->halstead.N1, 12);
    assert_int_equal(row->halstead.N2, 8);
    assert_int_equal(row->tokens, 22);
    assert_float_equal(complexity_halstead_volume(&row->halstead), 76.147, 0.0005);
    assert_float_equal(complexity_halstead_difficulty(&row->halstead), 10, 0);
    assert_float_equal(complexity_halstead_effort(&row->halstead), 761.471, 0.0005);
    /* Of two functions each has its own. */
    rig_measure(&rig, "c", "int f(int a) { return a; }\nint g(int a) { return a; }\n");
    row = rig_row(&rig, "g");
    assert_int_equal(row->halstead.n1, 5);
    assert_int_equal(row->halstead.n2, 2);
    assert_int_equal(row->halstead.N2, 3);
    /* A string is one operand, whatever is in it; the same one is the same. */
    rig_measure(&rig, "c", "void f(void) { g(\"a \\n b\", \"a \\n b\", 'c'); }");
    row = rig_row(&rig, "f");
    assert_int_equal(row->halstead.n2, 4);
    assert_int_equal(row->halstead.N2, 5);
    rig_close(&rig);
}

static void increments_say_where_and_why(void **state)
{
    static const struct {
        uint32_t line;
        uint32_t column;
        const char *construct;
        uint32_t amount;
        uint32_t nesting;
    } want[] = {
        {3, 5, "while", 1, 0}, {4, 9, "if", 2, 1},      {4, 15, "&&", 1, 0},  {4, 20, "||", 1, 0},
        {5, 13, "goto", 1, 0}, {6, 9, "else if", 1, 0}, {8, 9, "else", 1, 0}, {9, 20, "?:", 3, 2},
    };
    Rig rig;
    const ComplexityFunction *row;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "c",
                "int f(int a, int b, int c)\n"
                "{\n"
                "    while (1)\n"
                "        if (a && b || c)\n"
                "            goto out;\n"
                "        else if (b)\n"
                "            g();\n"
                "        else {\n"
                "            return a ? b : c;\n"
                "        }\n"
                "out:\n"
                "    return 0;\n"
                "}\n");
    row = rig_row(&rig, "f");
    assert_int_equal(row->n_increments, sizeof(want) / sizeof(want[0]));
    for (size_t i = 0; i < row->n_increments; i++) {
        assert_int_equal(row->increments[i].line, want[i].line);
        assert_int_equal(row->increments[i].column, want[i].column);
        assert_string_equal(row->increments[i].construct, want[i].construct);
        assert_int_equal(row->increments[i].amount, want[i].amount);
        assert_int_equal(row->increments[i].nesting, want[i].nesting);
    }
    assert_int_equal(row->cognitive, 11);
    assert_int_equal(row->nesting, 2);
    rig_close(&rig);
}

static void check_named(Rig *rig, const char *text, const char *name, uint32_t cyclomatic)
{
    rig_measure(rig, "c", text);
    assert_int_equal(rig->file.n_functions, 1);
    assert_int_equal(rig_row(rig, name)->cyclomatic, cyclomatic);
}

static void hard_definitions_have_their_names(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    /* A macro in front of the name, K&R, attributes, pointers, parentheses. */
    check_named(&rig, "static EXPORT int f(int a) { return a ? 1 : 2; }", "f", 2);
    check_named(&rig, "PUBLIC(int) f(int a) { return a ? 1 : 2; }", "f", 2);
    check_named(&rig, "int f(a, b) int a; char *b; { if (a) return 1; return 2; }", "f", 2);
    assert_int_equal(rig_row(&rig, "f")->parameters, 2);
    check_named(&rig, "__attribute__((noreturn, cold)) void f(void) { for (;;) { } }", "f", 2);
    check_named(&rig, "[[nodiscard]] int f(void) { return 1; }", "f", 1);
    check_named(&rig, "int *(f)(void) { return 0; }", "f", 1);
    check_named(&rig, "int (*f(int a))(int b, int c) { return 0; }", "f", 1);
    assert_int_equal(rig_row(&rig, "f")->parameters, 1);
    check_named(&rig, "int f(const char *format, ...) { return 0; }", "f", 1);
    assert_int_equal(rig_row(&rig, "f")->parameters, 1);
    check_named(&rig, "int f(void) { return 0; }", "f", 1);
    assert_int_equal(rig_row(&rig, "f")->parameters, 0);
    check_named(&rig, "int f(int (*call)(int, int), int a) { return 0; }", "f", 1);
    assert_int_equal(rig_row(&rig, "f")->parameters, 2);
    rig_close(&rig);
}

static void preprocessor_lines_are_no_code_of_the_function(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    /* The body of a macro is not seen, an #if counts nothing, all its branches do. */
    check_named(&rig,
                "#define MAX(a, b) ((a) > (b) ? (a) : (b))\n"
                "#define EACH(x) for (int i = 0; i < 3; i++) if (x)\n"
                "int f(int a)\n{\n"
                "#define LOCAL(x) ((x) && 1)\n"
                "    return MAX(a, 1);\n}\n",
                "f", 1);
    check_named(&rig,
                "int f(int a)\n{\n"
                "#if defined(A) && !(defined(B) || C)\n"
                "    if (a) return 1;\n"
                "#elif X || Y\n"
                "    while (a) a--;\n"
                "#else\n"
                "    if (!a) return 2;\n"
                "#endif\n"
                "    return 0;\n}\n",
                "f", 4);
    assert_int_equal(rig.file.n_errors, 0);
    rig_close(&rig);
}

/* An #if that opens a brace which another closes cannot be parsed as C: its first branch is. */
static void split_brace_is_read_by_its_first_branch(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "c",
                "int g(int a)\n{\n"
                "#ifdef A\n    if (a) {\n#else\n    {\n#endif\n"
                "        a++;\n    }\n    return a;\n}\n"
                "int h(int a) { return a ? 1 : 2; }\n");
    assert_int_equal(rig.file.n_errors, 0);
    assert_int_equal(rig_row(&rig, "g")->cyclomatic, 2);
    assert_int_equal(rig_row(&rig, "g")->last_line, 11);
    assert_int_equal(rig_row(&rig, "h")->cyclomatic, 2);
    rig_close(&rig);
}

static void lines_are_told_apart(void **state)
{
    Rig rig;
    const ComplexityFunction *row;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "c",
                "/* two\n"
                "   lines */\n"
                "\n"
                "int f(int a) /* beside code */\n"
                "{\n"
                "    // alone\n"
                "\n"
                "    const char *s = \"a\\\n"
                "b\";\n"
                "    return a;\n"
                "}\n"
                "int x; int g(void) { return 1; }");
    assert_int_equal(rig.file.lines, 12);
    assert_int_equal(rig.file.code_lines, 7);
    assert_int_equal(rig.file.comment_lines, 3);
    assert_int_equal(rig.file.blank_lines, 2);
    row = rig_row(&rig, "f");
    assert_int_equal(row->first_line, 4);
    assert_int_equal(row->first_column, 1);
    assert_int_equal(row->last_line, 11);
    assert_int_equal(row->last_column, 1);
    assert_int_equal(row->lines, 8);
    assert_int_equal(row->code_lines, 6);
    assert_int_equal(row->comment_lines, 1);
    row = rig_row(&rig, "g");
    assert_int_equal(row->first_line, 12);
    assert_int_equal(row->first_column, 8);
    assert_int_equal(row->last_column, 32);
    rig_close(&rig);
}

/* GNU C has functions in functions: they count in the one around them, and have a row. */
static void nested_function_counts_in_the_outer_one_too(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "c",
                "int f(int a)\n{\n"
                "    if (a) {\n"
                "        int in(int b) { if (b) return 1; return b; }\n"
                "        return in(a);\n    }\n    return 0;\n}\n");
    assert_int_equal(rig.file.n_functions, 2);
    assert_int_equal(rig_row(&rig, "f.in")->cognitive, 1);
    assert_int_equal(rig_row(&rig, "f.in")->cyclomatic, 2);
    assert_int_equal(rig_row(&rig, "f.in")->nesting, 1);
    /* if 1, if 1 + 2 */
    assert_int_equal(rig_row(&rig, "f")->cognitive, 4);
    assert_int_equal(rig_row(&rig, "f")->cyclomatic, 3);
    assert_int_equal(rig_row(&rig, "f")->nesting, 2);
    assert_int_equal(rig_row(&rig, "f")->n_increments, 2);
    assert_int_equal(rig_row(&rig, "f")->increments[1].amount, 3);
    assert_int_equal(rig_row(&rig, "f")->increments[1].nesting, 2);
    assert_int_equal(rig_row(&rig, "f.in")->increments[0].amount, 1);
    /* f a in b 1 0 of which the inner one has in b 1. */
    assert_int_equal(rig_row(&rig, "f")->halstead.n2, 6);
    assert_int_equal(rig_row(&rig, "f.in")->halstead.n2, 3);
    /* int ( { if return ; in both. */
    assert_int_equal(rig_row(&rig, "f")->halstead.n1, 6);
    assert_int_equal(rig_row(&rig, "f.in")->halstead.n1, 6);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_construct_counts_as_defined),
        cmocka_unit_test(conditions_nest_as_in_clang_tidy),
        cmocka_unit_test(modified_variant_counts_a_switch_once),
        cmocka_unit_test(tokens_are_counted_as_by_hand),
        cmocka_unit_test(increments_say_where_and_why),
        cmocka_unit_test(hard_definitions_have_their_names),
        cmocka_unit_test(preprocessor_lines_are_no_code_of_the_function),
        cmocka_unit_test(split_brace_is_read_by_its_first_branch),
        cmocka_unit_test(lines_are_told_apart),
        cmocka_unit_test(nested_function_counts_in_the_outer_one_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
