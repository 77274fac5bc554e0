#include "lang_rig.h"

#include "base/compiler.h"

static void every_construct_counts_by_its_rule(void **state)
{
    static const LangCase cases[] = {
        {"", 1, 1, 0, 0},
        {"if (a) G();", 2, 2, 1, 1},
        {"if (a) { } else { }", 2, 2, 2, 1},
        {"if (a) G(); else if (b) H(); else I();", 3, 3, 3, 1},
        {"if (a) { } else { if (b) { } }", 3, 3, 4, 2},
        {"if (a) { if (b) { if (c) { } } }", 4, 4, 6, 3},
        {"for (int i = 0; i < 3; i++) { }", 2, 2, 1, 1},
        {"foreach (var x in y) { if (x) { continue; } break; }", 3, 3, 3, 2},
        {"while (a) { }", 2, 2, 1, 1},
        {"do { if (b) { } } while (a);", 3, 3, 3, 2},
        /* Roslyn takes default for a clause as well. */
        {"switch (x) { case 1: case 2: G(); break; default: H(); break; }", 4, 2, 1, 1},
        {"switch (x) { case int n when n > 1 && b: break; }", 3, 3, 2, 1},
        {"var z = x switch { 1 => 2, > 3 and < 5 or 7 => 3, _ => 4 };", 3, 2, 1, 1},
        {"var z = x switch { _ when a => 2, _ => 4 };", 2, 2, 1, 1},
        /* … and no catch. */
        {"try { if (a) { } } catch (A e) when (b || c) { } catch { } finally { }", 3, 3, 4, 1},
        {"try { } catch (A e) { if (b) { } }", 2, 2, 3, 2},
        {"var x = a ? 1 : 2;", 2, 2, 1, 0},
        {"var x = a ?? b;", 2, 2, 0, 0},
        {"x ?"
         "?= b;",
         1, 1, 0, 0},
        {"var x = a?.B?[1];", 3, 3, 0, 0},
        {"goto L; L: G();", 1, 1, 1, 0},
        {"switch (x) { case 1: goto case 2; case 2: break; }", 3, 2, 2, 1},
        {"lock (x) { if (a) { } } using (y) { }", 2, 2, 1, 1},
        {"var q = from x in y where x > 1 select x;", 1, 1, 0, 0},
        {"var s = $\"{(a ? 1 : 2)} {b:X}\";", 2, 2, 1, 0},
    };

    (void)state;
    lang_check_cases("csharp", "class A { void F() { ", " } }", cases, TW_ARRAY_SIZE(cases));
}

static void runs_of_logical_operators_count_once_each(void **state)
{
    static const LangCase cases[] = {
        {"x = a && b && c;", 3, 3, 1, 0},
        {"x = a && b || c;", 3, 3, 2, 0},
        {"x = (a || b) && (c || d) && e;", 5, 5, 4, 0},
        {"x = !(a && b) && c;", 3, 3, 2, 0},
        {"x = G(a && b) && c;", 3, 3, 2, 0},
        {"x = a & b | c;", 1, 1, 0, 0},
        {"if (o is string { Length: > 1 } s && s.B()) { }", 3, 3, 2, 1},
    };

    (void)state;
    lang_check_cases("csharp", "class A { void F() { ", " } }", cases, TW_ARRAY_SIZE(cases));
}

static void lambdas_count_in_the_member_one_level_deeper(void **state)
{
    static const LangCase cases[] = {
        {"G(x => x ? 1 : 2);", 2, 2, 2, 0},
        {"G(async () => { if (a) { } });", 2, 2, 2, 1},
        {"if (a) { G(delegate (int q) { if (q) { } else { } }); }", 3, 3, 5, 2},
    };

    (void)state;
    lang_check_cases("csharp", "class A { void F() { ", " } }", cases, TW_ARRAY_SIZE(cases));
}

static void names_have_their_types(void **state)
{
    (void)state;
    lang_check_rows("csharp",
                    "namespace N.M {\n"
                    "class A<T> : B {\n"
                    "    int field = a ? 1 : 2;\n"
                    "    int P { get { if (a) return 1; return 2; } set => x = value; }\n"
                    "    int Q => a ? 1 : 2;\n"
                    "    int this[int i] { get => 1; } int this[A a] => a ? 1 : 2;\n"
                    "    int Auto { get; set; }\n"
                    "    public A(int a, params string[] b) : base(a ?? b) { }\n"
                    "    ~A() { }\n"
                    "    public static A operator +(A a, A b) => a;\n"
                    "    public static implicit operator int(A a) => 1;\n"
                    "    event E Ev { add { } remove { } }\n"
                    "    void M<U>(int a = 1, ref string b, out int c) { }\n"
                    "    abstract void Q2();\n"
                    "    void IFoo.Bar() { }\n"
                    "}\n"
                    "struct S { void M() { } }\n"
                    "record R(int a, int b) { void M(int x) { } }\n"
                    "interface J { void D() { } void N(); }\n"
                    "}\n",
                    "A.P.get 4-4 2 1 0\n"
                    "A.P.set 4-4 1 0 0\n"
                    "A.Q.get 5-5 2 1 0\n"
                    "A.this[].get 6-6 1 0 1\n"
                    "A.this[].get 6-6 2 1 1\n"
                    "A.A 8-8 2 0 2\n"
                    "A.(finalizer) 9-9 1 0 0\n"
                    "A.operator.+ 10-10 1 0 2\n"
                    "A.operator.int 11-11 1 0 1\n"
                    "A.Ev.add 12-12 1 0 0\n"
                    "A.Ev.remove 12-12 1 0 0\n"
                    "A.M 13-13 1 0 3\n"
                    "A.Bar 15-15 1 0 0\n"
                    "S.M 17-17 1 0 0\n"
                    "R.M 18-18 1 0 1\n"
                    "J.D 19-19 1 0 0\n");
}

static void local_functions_count_in_both(void **state)
{
    (void)state;
    lang_check_rows("csharp",
                    "class A {\n"
                    "    int P { get { return G((x, y) => 1); } }\n"
                    "    void F(int a) {\n"
                    "        int Local(int z, int w) { if (z) { } return 1; }\n"
                    "        static int Short() => a ? 1 : 2;\n"
                    "    }\n"
                    "}\n",
                    "A.P.get 2-2 1 0 0\n"
                    "A.F 3-6 3 4 1\n"
                    "A.F.Local 4-4 2 1 2\n"
                    "A.F.Short 5-5 2 1 0\n");
}

static void code_under_conditions_of_the_preprocessor_is_seen(void **state)
{
    (void)state;
    lang_check_rows("csharp",
                    "class A {\n"
                    "#if DEBUG\n"
                    "    void F() { if (a) { } }\n"
                    "#else\n"
                    "    void F() { }\n"
                    "#endif\n"
                    "}\n",
                    "A.F 3-3 2 1 0\n"
                    "A.F 5-5 1 0 0\n");
}

static void tokens_are_counted_as_by_hand(void **state)
{
    (void)state;
    /* The type, ( , { return > ? : + ; and Max a b 1 */
    lang_check_halstead("csharp", "class A { int Max(int a, int b) { return a > b ? a : b + 1; } }",
                        (ComplexityHalstead){.n1 = 10, .n2 = 4, .N1 = 12, .N2 = 8}, 22);
    lang_check_halstead(
        "csharp", "class A { void F(List<string> x) { s = $\"a{b}c\"; t = @\"v\"; u = true; } }",
        (ComplexityHalstead){.n1 = 6, .n2 = 10, .N1 = 11, .N2 = 10}, 24);
}

static void every_kind_of_token_is_one(void **state)
{
    (void)state;
    lang_check_halstead("csharp",
                        "class A { public void F<T>(ref int r) { var a = this.B[0];"
                        " c = base.D(\"s\\n\", 'x', '\\n', $\"{e:X}\", \"\"\"raw\"\"\"); } }",
                        (ComplexityHalstead){.n1 = 12, .n2 = 17, .N1 = 20, .N2 = 17}, 42);
    lang_check_file("csharp", "#!/usr/bin/env dotnet\nvar x = 1;\n", 1, 1);
}

static void lines_are_code_or_comment_or_neither(void **state)
{
    (void)state;
    lang_check_lines("csharp",
                     "class A {\n"
                     "    void F() {\n"
                     "        // one\n"
                     "\n"
                     "        /* two\n"
                     "           three */\n"
                     "        G(); // four\n"
                     "        s = @\"x\n"
                     "\n"
                     "            \";\n"
                     "    }\n"
                     "}\n",
                     10, 6, 3);
}

static void increments_say_why(void **state)
{
    (void)state;
    lang_check_increments("csharp",
                          "class A { void F() {\n"
                          "    try {\n"
                          "        foreach (var x in y)\n"
                          "            if (a && b) { }\n"
                          "            else if (c) { }\n"
                          "            else { G(z => z ? 1 : 2); }\n"
                          "    } catch (E e) { switch (x) { } }\n"
                          "} }\n",
                          "3:9 foreach +1 0\n"
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
    lang_check_rows("csharp",
                    "class A {\n"
                    "    Func<int, int> f = x => x > 1 ? g(y => y && z) : 2;\n"
                    "    static D d = delegate(int a) { if (a) { } };\n"
                    "    int P { get; } = M((a, b) => 1);\n"
                    "    event E q = delegate { };\n"
                    "    int this[int i, int j] { get { return 1; } set { } }\n"
                    "}\n",
                    "A.f 2-2 3 2 1\n"
                    "A.d 3-3 2 1 1\n"
                    "A.P 4-4 1 0 2\n"
                    "A.q 5-5 1 0 0\n"
                    "A.this[].get 6-6 1 0 2\n"
                    "A.this[].set 6-6 1 0 2\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_construct_counts_by_its_rule),
        cmocka_unit_test(runs_of_logical_operators_count_once_each),
        cmocka_unit_test(lambdas_count_in_the_member_one_level_deeper),
        cmocka_unit_test(names_have_their_types),
        cmocka_unit_test(local_functions_count_in_both),
        cmocka_unit_test(code_under_conditions_of_the_preprocessor_is_seen),
        cmocka_unit_test(tokens_are_counted_as_by_hand),
        cmocka_unit_test(every_kind_of_token_is_one),
        cmocka_unit_test(lines_are_code_or_comment_or_neither),
        cmocka_unit_test(increments_say_why),
        cmocka_unit_test(closures_in_no_function_have_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
