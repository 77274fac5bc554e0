#include "lang_rig.h"

#include "base/compiler.h"

static void every_construct_counts_by_its_rule(void **state)
{
    static const LangCase cases[] = {
        {"", 1, 1, 0, 0},
        {"if a { }", 2, 2, 1, 1},
        {"if x := g(); x > 0 { }", 2, 2, 1, 1},
        {"if a { } else { }", 2, 2, 2, 1},
        {"if a { } else if b { } else { }", 3, 3, 3, 1},
        {"if a { } else { if b { } }", 3, 3, 4, 2},
        {"if a { if b { if c { } } }", 4, 4, 6, 3},
        {"for { }", 2, 2, 1, 1},
        {"for i := 0; i < 3; i++ { }", 2, 2, 1, 1},
        {"for k, v := range m { if v { break }; continue }", 3, 3, 3, 2},
        {"switch x { case 1, 2: g(); case 3: h(); default: i() }", 3, 2, 1, 1},
        {"switch { case a && b: if c { } }", 4, 4, 4, 2},
        {"switch x := y.(type) { case int, string: default: }", 2, 2, 1, 1},
        {"switch x { case 1: fallthrough; case 2: }", 3, 2, 1, 1},
        {"select { case v := <-c: g(v); case c <- 1: default: }", 3, 2, 1, 1},
        {"select { }", 1, 2, 1, 1},
        {"L: for { for { break L } }", 3, 3, 4, 2},
        {"L: for { continue L }", 2, 2, 2, 1},
        {"goto L; L: g()", 1, 1, 1, 0},
        {"defer g(); go h()", 1, 1, 0, 0},
    };

    (void)state;
    lang_check_cases("go", "package p\nfunc f() { ", " }\n", cases, TW_ARRAY_SIZE(cases));
}

static void runs_of_logical_operators_count_once_each(void **state)
{
    static const LangCase cases[] = {
        {"x = a && b && c", 3, 3, 1, 0},
        {"x = a && b || c", 3, 3, 2, 0},
        {"x = (a || b) && (c || d) && e", 5, 5, 4, 0},
        {"x = !(a && b) && c", 3, 3, 2, 0},
        {"x = g(a && b) && c", 3, 3, 2, 0},
        {"x = a & b | c &^ d", 1, 1, 0, 0},
        {"if a || b { }", 3, 3, 2, 1},
    };

    (void)state;
    lang_check_cases("go", "package p\nfunc f() { ", " }\n", cases, TW_ARRAY_SIZE(cases));
}

static void function_literals_count_in_the_function_one_level_deeper(void **state)
{
    static const LangCase cases[] = {
        {"g := func(x int) { if x { } }", 2, 2, 2, 1},
        {"go func() { for { } }()", 2, 2, 2, 1},
        {"if a { defer func() { if b { } else { } }() }", 3, 3, 5, 2},
        {"var h = func() { if a { } }", 2, 2, 2, 1},
        /* Only bodies are deeper: a loop's head is not. */
        {"for g(func() { if a { } }) { }", 3, 3, 3, 1},
    };

    (void)state;
    lang_check_cases("go", "package p\nfunc f() { ", " }\n", cases, TW_ARRAY_SIZE(cases));
}

static void names_have_their_receiver(void **state)
{
    (void)state;
    lang_check_rows(
        "go",
        "package p\n"
        "func (t *List[K, V]) Put(key K, a, b V) (n int, err error) { if a { }; return }\n"
        "func (t List) Len() int { return 1 }\n"
        "func (Bare) m(int, ...string) { }\n"
        "func Map[T any](x []T, f func(a, b T) T) { }\n"
        "func inAssembly(x int) int\n"
        "var Handler = func(w W, r R) { if w && r { } }\n"
        "var (\n"
        "\tone, two = func() { }, func(a int) { for { } }\n"
        ")\n"
        "var table = []func(){ func() { if a { } } }\n"
        "func init() { }\n",
        "List.Put 2-2 2 1 3\n"
        "List.Len 3-3 1 0 0\n"
        "Bare.m 4-4 1 0 2\n"
        "Map 5-5 1 0 2\n"
        "Handler 7-7 3 2 2\n"
        "one 9-9 1 0 0\n"
        "one 9-9 2 1 1\n"
        "table 11-11 2 1 0\n"
        "init 12-12 1 0 0\n");
}

static void a_method_in_parentheses_is_named_too(void **state)
{
    (void)state;
    lang_check_rows("go",
                    "package p\nfunc (t *(T)) m() { }\nfunc (t **T) n() { }\nfunc () o() { }\n",
                    "T.m 2-2 1 0 0\n"
                    "T.n 3-3 1 0 0\n"
                    "o 4-4 1 0 0\n");
}

static void tokens_are_counted_as_by_hand(void **state)
{
    (void)state;
    /* func ( , { if > return +; max a b int 1 */
    lang_check_halstead("go",
                        "package p\n"
                        "func max(a, b int) int {\n"
                        "\tif a > b {\n"
                        "\t\treturn a\n"
                        "\t}\n"
                        "\treturn b + 1\n"
                        "}\n",
                        (ComplexityHalstead){.n1 = 8, .n2 = 5, .N1 = 10, .N2 = 10}, 23);
    lang_check_halstead("go", "package p\nfunc f() { g(\"a\\n\", `b`, 'c', nil, true) }\n",
                        (ComplexityHalstead){.n1 = 4, .n2 = 7, .N1 = 8, .N2 = 7}, 18);
    lang_check_halstead("go", "package p\nfunc f() { a[1] = []int{2} }\n",
                        (ComplexityHalstead){.n1 = 5, .n2 = 5, .N1 = 7, .N2 = 5}, 17);
}

static void lines_are_code_or_comment_or_neither(void **state)
{
    (void)state;
    lang_check_lines("go",
                     "package p\n"
                     "func f() {\n"
                     "\t// one\n"
                     "\n"
                     "\t/* two\n"
                     "\t   three */\n"
                     "\tg() // four\n"
                     "\ts := `x\n"
                     "\n"
                     "y`\n"
                     "}\n",
                     10, 6, 3);
}

static void increments_say_why(void **state)
{
    (void)state;
    lang_check_increments("go",
                          "package p\n"
                          "func f() {\n"
                          "\tfor _, x := range y {\n"
                          "\t\tif a && b {\n"
                          "\t\t} else if c {\n"
                          "\t\t} else {\n"
                          "\t\t\tgo func() { select {} }()\n"
                          "\t\t}\n"
                          "\t}\n"
                          "}\n",
                          "3:2 for +1 0\n"
                          "4:3 if +2 1\n"
                          "4:8 && +1 0\n"
                          "5:5 else if +1 0\n"
                          "6:5 else +1 0\n"
                          "7:16 select +4 3\n");
}

static void closures_in_no_function_have_rows(void **state)
{
    (void)state;
    lang_check_rows("go",
                    "package p\n"
                    "var m = map[string]func(int){ \"a\": func(x int) { if x > 1 { } } }\n"
                    "var c = T{ F: func(a, b int) { v(func() { for { } }) } }\n"
                    "var once = sync.OnceValue(func() int { return 1 })\n"
                    "func f() { g(func() { if a { } }) }\n",
                    "m 2-2 2 1 1\n"
                    "c 3-3 2 2 2\n"
                    "once 4-4 1 0 0\n"
                    "f 5-5 2 2 0\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_construct_counts_by_its_rule),
        cmocka_unit_test(runs_of_logical_operators_count_once_each),
        cmocka_unit_test(function_literals_count_in_the_function_one_level_deeper),
        cmocka_unit_test(names_have_their_receiver),
        cmocka_unit_test(a_method_in_parentheses_is_named_too),
        cmocka_unit_test(tokens_are_counted_as_by_hand),
        cmocka_unit_test(lines_are_code_or_comment_or_neither),
        cmocka_unit_test(increments_say_why),
        cmocka_unit_test(closures_in_no_function_have_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
