#include "lang_rig.h"

#include "base/compiler.h"

static void every_construct_counts_by_its_rule(void **state)
{
    static const LangCase cases[] = {
        {"", 1, 1, 0, 0},
        {"if (a) g()", 2, 2, 1, 1},
        {"if (a) { } else { }", 2, 2, 2, 1},
        {"if (a) g() else if (b) h() else i()", 3, 3, 3, 1},
        {"if (a) { } else { if (b) { } }", 3, 3, 4, 2},
        {"if (a) { if (b) { if (c) { } } }", 4, 4, 6, 3},
        {"val x = if (a) 1 else 2", 2, 2, 2, 1},
        {"val x = if (a) 'b' else 'c'", 2, 2, 2, 1},
        {"val x = if (a) \"b\" else \"c\"", 2, 2, 2, 1},
        {"if ((a)) { if (b) { } }", 3, 3, 3, 2},
        {"for (x in y) { }", 2, 2, 1, 1},
        {"while (a) { if (b) { } }", 3, 3, 3, 2},
        {"do { } while (a)", 2, 2, 1, 1},
        /* detekt counts jumps … */
        {"while (a) { if (b) break else continue }", 5, 5, 4, 2},
        {"l@ while (a) { break@l }", 3, 3, 2, 1},
        {"l@ for (x in y) { continue@l }", 3, 3, 2, 1},
        /* … and every entry of a when. */
        {"when (x) {\n 1, 2 -> g()\n is String -> { }\n in 1..3 -> h()\n else -> i()\n}", 5, 2, 1,
         1},
        {"val z = when {\n a && b -> 1\n else -> if (c) 2 else 3\n}", 5, 4, 5, 2},
        {"try { } catch (e: A) { } catch (e: B) { if (c) { } } finally { }", 4, 4, 4, 2},
        {"val x = a ?: b", 2, 2, 0, 0},
        {"a?.b\na!!", 1, 1, 0, 0},
        {"val s = \"x ${if (a) 1 else 2} $b\"", 2, 2, 2, 1},
        {"return 1", 1, 1, 0, 0},
    };

    (void)state;
    lang_check_cases("kotlin", "fun f() {\n", "\n}\n", cases, TW_ARRAY_SIZE(cases));
}

static void runs_of_logical_operators_count_once_each(void **state)
{
    static const LangCase cases[] = {
        {"x = a && b && c", 3, 3, 1, 0},
        {"x = a && b || c", 3, 3, 2, 0},
        {"x = (a || b) && (c || d) && e", 5, 5, 4, 0},
        {"x = !(a && b) && c", 3, 3, 2, 0},
        {"x = g(a && b) && c", 3, 3, 2, 0},
        {"x = a and b or c", 1, 1, 0, 0},
        {"if (a || b is C) { }", 3, 3, 2, 1},
    };

    (void)state;
    lang_check_cases("kotlin", "fun f() {\n", "\n}\n", cases, TW_ARRAY_SIZE(cases));
}

static void lambdas_count_in_the_function_one_level_deeper(void **state)
{
    static const LangCase cases[] = {
        {"xs.map { x -> if (x) 1 else 2 }", 2, 2, 3, 1},
        {"g(fun(x: Int): Int { while (x) { } })", 2, 2, 2, 1},
        {"if (a) { xs.filter { if (it) { } } }", 3, 3, 4, 2},
        /* Those that detekt takes for control flow. */
        {"xs.forEach { g(it) }", 2, 2, 0, 0},
        {"with(x) { run { y?.let { z } } }", 4, 4, 0, 0},
        {"xs.forEach(::g)", 1, 1, 0, 0},
        {"x.apply { a }.also { b }", 3, 3, 0, 0},
    };

    (void)state;
    lang_check_cases("kotlin", "fun f() {\n", "\n}\n", cases, TW_ARRAY_SIZE(cases));
}

static void names_have_their_types(void **state)
{
    (void)state;
    lang_check_rows("kotlin",
                    "package p\n"
                    "class A(val a: Int, b: String = \"x\") : B(a) {\n"
                    "    init { if (a) { } }\n"
                    "    constructor(x: Int) : this(x, \"\") { if (x && y) { } }\n"
                    "    val p: Int\n"
                    "        get() { return if (a) 1 else 2 }\n"
                    "        set(v) { field = v }\n"
                    "    val q = { x: Int -> if (x) 1 else 2 }\n"
                    "    companion object { fun cf() { } }\n"
                    "    fun <T> m(a: Int = if (b) 1 else 2, vararg c: String): Int { return 1 }\n"
                    "}\n",
                    "A.init 3-3 2 1 0\n"
                    "A.constructor 4-4 3 2 1\n"
                    "A.p.get 6-6 2 2 0\n"
                    "A.p.set 7-7 1 0 1\n"
                    "A.q 8-8 2 2 1\n"
                    "A.Companion.cf 9-9 1 0 0\n"
                    "A.m 10-10 2 2 2\n");
    lang_check_rows("kotlin",
                    "class A {\n"
                    "    fun String.ext() = 1\n"
                    "    abstract fun none()\n"
                    "    companion object Named { fun cg() = 1 }\n"
                    "}\n"
                    "object O : P() {\n"
                    "    fun m() { }\n"
                    "}\n"
                    "interface I {\n"
                    "    fun d() { }\n"
                    "    fun n()\n"
                    "}\n"
                    "enum class E {\n"
                    "    X { fun k() { } },\n"
                    "    Y;\n"
                    "    fun j() { }\n"
                    "}\n"
                    "fun <T> List<T>.first(f: (Int) -> Unit): T = this[0]\n",
                    "A.String.ext 2-2 1 0 0\n"
                    "A.Named.cg 4-4 1 0 0\n"
                    "O.m 7-7 1 0 0\n"
                    "I.d 10-10 1 0 0\n"
                    "E.X.k 14-14 1 0 0\n"
                    "E.j 16-16 1 0 0\n"
                    "List.first 18-18 1 0 1\n");
}

static void functions_in_functions_are_rows(void **state)
{
    (void)state;
    lang_check_rows("kotlin",
                    "fun f() {\n"
                    "    fun local(z: Int): Int {\n"
                    "        if (z) { }\n"
                    "        return 1\n"
                    "    }\n"
                    "    val o = object : R<Int>(), S { override fun run() { if (a) { } } }\n"
                    "}\n",
                    "f 1-7 1 4 0\n"
                    "f.local 2-5 2 1 1\n"
                    "f.o.R.run 6-6 2 1 0\n");
    lang_check_rows("kotlin", "fun g() { h(object { fun bare() { } }) }\n",
                    "g 1-1 1 0 0\n"
                    "g.object.bare 1-1 1 0 0\n");
}

static void tokens_are_counted_as_by_hand(void **state)
{
    (void)state;
    /* fun ( : , = if > else +; max a Int b 1 */
    lang_check_halstead("kotlin", "fun max(a: Int, b: Int): Int = if (a > b) a else b + 1\n",
                        (ComplexityHalstead){.n1 = 9, .n2 = 5, .N1 = 12, .N2 = 11}, 25);
    lang_check_halstead("kotlin", "fun f() { g(\"a$b\", 'c', \"\"\"d\"\"\", true) }\n",
                        (ComplexityHalstead){.n1 = 4, .n2 = 6, .N1 = 7, .N2 = 6}, 16);
}

static void every_kind_of_token_is_one(void **state)
{
    (void)state;
    lang_check_halstead("kotlin", "class A { fun <T> f(x: List<T>) { this.a[0] = super.b } }\n",
                        (ComplexityHalstead){.n1 = 8, .n2 = 9, .N1 = 10, .N2 = 10}, 25);
    lang_check_file("kotlin", "#!/usr/bin/env kotlin\nval x = 1\n", 1, 1);
}

static void lines_are_code_or_comment_or_neither(void **state)
{
    (void)state;
    lang_check_lines("kotlin",
                     "fun f() {\n"
                     "    // one\n"
                     "\n"
                     "    /* two /* nested */\n"
                     "       three */\n"
                     "    g() // four\n"
                     "    val s = \"\"\"x\n"
                     "\n"
                     "        \"\"\"\n"
                     "}\n",
                     10, 6, 3);
}

static void increments_say_why(void **state)
{
    (void)state;
    lang_check_increments("kotlin",
                          "fun f() {\n"
                          "    try {\n"
                          "        l@ for (x in y) {\n"
                          "            if (a && b) { }\n"
                          "            else if (c) { break@l }\n"
                          "            else { g { z -> when (z) { } } }\n"
                          "    } } catch (e: E) { while (d) { } }\n"
                          "}\n",
                          "3:9 for +1 0\n"
                          "4:13 if +2 1\n"
                          "4:19 && +1 0\n"
                          "5:13 else if +1 0\n"
                          "5:27 jump +1 0\n"
                          "6:13 else +1 0\n"
                          "6:29 when +4 3\n"
                          "7:9 catch +1 0\n"
                          "7:24 while +2 1\n");
}

static void closures_in_no_function_have_rows(void **state)
{
    (void)state;
    lang_check_rows("kotlin",
                    "val f = { if (a) { b { if (c) { } } } }\n"
                    "val g = fun(a: Int): Int { return if (a > 1) 1 else 2 }\n"
                    "val h by lazy { 3 }\n"
                    "class A { val q = { x: Int, y: Int -> x } }\n"
                    "foo { if (a) { } }\n",
                    "f 1-1 3 4 0\n"
                    "g 2-2 2 2 1\n"
                    "h 3-3 1 0 0\n"
                    "A.q 4-4 1 0 2\n"
                    "(closure) 5-5 2 1 0\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_construct_counts_by_its_rule),
        cmocka_unit_test(runs_of_logical_operators_count_once_each),
        cmocka_unit_test(lambdas_count_in_the_function_one_level_deeper),
        cmocka_unit_test(names_have_their_types),
        cmocka_unit_test(functions_in_functions_are_rows),
        cmocka_unit_test(tokens_are_counted_as_by_hand),
        cmocka_unit_test(every_kind_of_token_is_one),
        cmocka_unit_test(lines_are_code_or_comment_or_neither),
        cmocka_unit_test(increments_say_why),
        cmocka_unit_test(closures_in_no_function_have_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
