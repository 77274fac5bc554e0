#include "lang_rig.h"

#include "base/compiler.h"

static void every_construct_counts_by_its_rule(void **state)
{
    static const LangCase cases[] = {
        {"", 1, 1, 0, 0},
        {"if (a) g();", 2, 2, 1, 1},
        {"if (a) { } else { }", 2, 2, 2, 1},
        {"if (a) g(); else if (b) h(); else i();", 3, 3, 3, 1},
        {"if (a) { } else { if (b) { } }", 3, 3, 4, 2},
        {"if (a) { if (b) { if (c) { } } }", 4, 4, 6, 3},
        {"for (int i = 0; i < 3; i++) { }", 2, 2, 1, 1},
        {"for (int x : y) { if (x) { continue; } break; }", 3, 3, 3, 2},
        {"while (a) { }", 2, 2, 1, 1},
        {"do { if (b) { } } while (a);", 3, 3, 3, 2},
        {"switch (x) { case 1: case 2: g(); break; default: h(); }", 3, 2, 1, 1},
        {"int z = switch (x) { case 1, 2 -> 3; case 4 -> { yield 5; } default -> 6; };", 3, 2, 1,
         1},
        {"switch (x) { case String s when s.a() && b -> { } case null, default -> { } }", 5, 4, 2,
         1},
        {"try { if (a) { } } catch (A | B e) { } catch (C e) { } finally { }", 4, 4, 3, 1},
        {"try (var x = y) { } catch (A e) { if (b) { } }", 3, 3, 3, 2},
        {"int x = a ? 1 : 2;", 2, 2, 1, 0},
        {"int x = a ? b ? 1 : 2 : 3;", 3, 3, 3, 0},
        {"L: while (a) { break L; }", 2, 2, 2, 1},
        {"L: for (;;) { continue L; }", 2, 2, 2, 1},
        {"synchronized (x) { if (a) { } }", 2, 2, 1, 1},
        {"assert a : b; throw c;", 1, 1, 0, 0},
    };

    (void)state;
    lang_check_cases("java", "class A { void f() { ", " } }", cases, TW_ARRAY_SIZE(cases));
}

static void runs_of_logical_operators_count_once_each(void **state)
{
    static const LangCase cases[] = {
        {"x = a && b && c;", 3, 3, 1, 0},
        {"x = a && b || c;", 3, 3, 2, 0},
        {"x = (a || b) && (c || d) && e;", 5, 5, 4, 0},
        {"x = !(a && b) && c;", 3, 3, 2, 0},
        {"x = g(a && b) && c;", 3, 3, 2, 0},
        {"x = a & b | c;", 1, 1, 0, 0},
        {"if (a || o instanceof String s && s.b()) { }", 4, 4, 3, 1},
    };

    (void)state;
    lang_check_cases("java", "class A { void f() { ", " } }", cases, TW_ARRAY_SIZE(cases));
}

static void lambdas_count_in_the_method_one_level_deeper(void **state)
{
    static const LangCase cases[] = {
        {"g(x -> x ? 1 : 2);", 2, 2, 2, 0},
        {"Runnable r = () -> { if (a) { } };", 2, 2, 2, 1},
        {"if (a) { g((x, y) -> { if (x) { } else { } }); }", 3, 3, 5, 2},
        {"g(A::new);", 1, 1, 0, 0},
    };

    (void)state;
    lang_check_cases("java", "class A { void f() { ", " } }", cases, TW_ARRAY_SIZE(cases));
}

static void names_have_their_types(void **state)
{
    (void)state;
    lang_check_rows("java",
                    "package p;\n"
                    "class A<T> extends B {\n"
                    "    int field = a ? 1 : 2;\n"
                    "    Runnable r = () -> { if (a) { } };\n"
                    "    static { if (a) { } }\n"
                    "    { if (a && b) { } }\n"
                    "    A(int a, String... b) { super(a); }\n"
                    "    abstract void q();\n"
                    "    <U> U m(A this, final int a, List<String> b) throws E { return null; }\n"
                    "    enum Color { RED { void k() { } }; Color() { } void j() { } { } }\n"
                    "    record R(int a, int b) { R { if (a) { } } }\n"
                    "    interface J { default void d() { } void n(); static void s(int x) { } }\n"
                    "    @interface I { int v() default 1; }\n"
                    "}\n",
                    "A.r 4-4 2 1 0\n"
                    "A.(static) 5-5 2 1 0\n"
                    "A.(init) 6-6 3 2 0\n"
                    "A.A 7-7 1 0 2\n"
                    "A.m 9-9 1 0 2\n"
                    "A.Color.RED.k 10-10 1 0 0\n"
                    "A.Color.Color 10-10 1 0 0\n"
                    "A.Color.j 10-10 1 0 0\n"
                    "A.Color.(init) 10-10 1 0 0\n"
                    "A.R.R 11-11 2 1 0\n"
                    "A.J.d 12-12 1 0 0\n"
                    "A.J.s 12-12 1 0 1\n");
}

static void methods_of_classes_in_a_method_are_rows(void **state)
{
    (void)state;
    lang_check_rows("java",
                    "class A {\n"
                    "    void f() {\n"
                    "        g(new Task<T>(1) {\n"
                    "            public void run(int x) { if (a) { } }\n"
                    "        }, new Plain(2));\n"
                    "        class Local { void z() { while (b) { } } }\n"
                    "    }\n"
                    "}\n",
                    /* Cyclomatic complexity as Checkstyle has it, cognitive as the paper has it. */
                    "A.f 2-7 1 4 0\n"
                    "A.f.Task.run 4-4 2 1 1\n"
                    "A.f.Local.z 6-6 2 1 0\n");
}

static void tokens_are_counted_as_by_hand(void **state)
{
    (void)state;
    /* int ( , { return > ? : + ; and max a b 1 */
    lang_check_halstead("java", "class A { int max(int a, int b) { return a > b ? a : b + 1; } }",
                        (ComplexityHalstead){.n1 = 10, .n2 = 4, .N1 = 12, .N2 = 8}, 22);
    /* void ( < { . ; = [ ] new and generics */
    lang_check_halstead("java",
                        "class A { void f(List<String> x) { this.s = \"a\\n\"; y = new int[2]; } }",
                        (ComplexityHalstead){.n1 = 10, .n2 = 9, .N1 = 12, .N2 = 9}, 25);
    /* < boolean ( { return ; and T f true, and a template with code in it */
    lang_check_halstead("java", "class A { <T> boolean f() { return STR.\"a \\{b && true} c\"; } }",
                        (ComplexityHalstead){.n1 = 9, .n2 = 6, .N1 = 9, .N2 = 6}, 19);
}

static void lines_are_code_or_comment_or_neither(void **state)
{
    (void)state;
    lang_check_lines("java",
                     "class A {\n"
                     "    void f() {\n"
                     "        // one\n"
                     "\n"
                     "        /* two\n"
                     "           three */\n"
                     "        g(); // four\n"
                     "        s = \"\"\"\n"
                     "            x\n"
                     "\n"
                     "            \"\"\";\n"
                     "    }\n"
                     "}\n",
                     11, 7, 3);
}

static void increments_say_why(void **state)
{
    (void)state;
    lang_check_increments("java",
                          "class A { void f() {\n"
                          "    try {\n"
                          "        for (int x : y)\n"
                          "            if (a && b) { }\n"
                          "            else if (c) { }\n"
                          "            else { g(z -> z ? 1 : 2); }\n"
                          "    } catch (E e) { switch (x) { } }\n"
                          "} }\n",
                          "3:9 for +1 0\n"
                          "4:13 if +2 1\n"
                          "4:19 && +1 0\n"
                          "5:13 else if +1 0\n"
                          "6:13 else +1 0\n"
                          "6:27 ?: +4 3\n"
                          "7:7 catch +1 0\n"
                          "7:21 switch +2 1\n");
}

static void closures_in_no_function_have_rows(void **state)
{
    (void)state;
    lang_check_rows("java",
                    "class A {\n"
                    "    F f = (x, y) -> x && y ? g(z -> { if (z) { } }) : 1;\n"
                    "    static final R r = new R(z -> z);\n"
                    "    Comparator<B> c = (B a, B b) -> 0;\n"
                    "}\n"
                    "enum E { Q(x -> x) }\n",
                    "A.f 2-2 4 5 2\n"
                    "A.r 3-3 1 0 1\n"
                    "A.c 4-4 1 0 2\n"
                    "E.Q 6-6 1 0 1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_construct_counts_by_its_rule),
        cmocka_unit_test(runs_of_logical_operators_count_once_each),
        cmocka_unit_test(lambdas_count_in_the_method_one_level_deeper),
        cmocka_unit_test(names_have_their_types),
        cmocka_unit_test(methods_of_classes_in_a_method_are_rows),
        cmocka_unit_test(tokens_are_counted_as_by_hand),
        cmocka_unit_test(lines_are_code_or_comment_or_neither),
        cmocka_unit_test(increments_say_why),
        cmocka_unit_test(closures_in_no_function_have_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
