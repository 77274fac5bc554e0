#include "lang_rig.h"

#include "base/compiler.h"

static void every_construct_counts_by_its_rule(void **state)
{
    static const LangCase cases[] = {
        {"", 1, 1, 0, 0},
        {"if ($a) g();", 2, 2, 1, 1},
        {"if ($a) { } else { }", 2, 2, 2, 1},
        {"if ($a) { } elseif ($b) { } else { }", 3, 3, 3, 1},
        {"if ($a) { } else if ($b) { } else { }", 3, 3, 3, 1},
        {"if ($a) { } else { if ($b) { } }", 3, 3, 4, 2},
        {"if ($a): g(); elseif ($b): if ($c) { } else: h(); endif;", 4, 4, 5, 2},
        {"if ($a) { if ($b) { if ($c) { } } }", 4, 4, 6, 3},
        {"for ($i = 0; $i < 3; $i++) { }", 2, 2, 1, 1},
        {"foreach ($y as $k => $x) { if ($x) { continue; } break; }", 3, 3, 3, 2},
        {"while ($a): g(); endwhile;", 2, 2, 1, 1},
        {"do { } while ($a);", 2, 2, 1, 1},
        {"while ($a) { while ($b) { break 2; } }", 3, 3, 4, 2},
        {"while ($a) { while ($b) { continue 2; } }", 3, 3, 4, 2},
        {"switch ($x) { case 1: case 2: g(); break; default: }", 3, 2, 1, 1},
        {"$z = match (true) { 1, 2 => 3, $a > 1 => 4, default => 5 };", 3, 2, 1, 1},
        {"try { } catch (A | B $e) { } catch (C $e) { if ($d) { } } finally { }", 4, 4, 4, 2},
        {"$x = $a ? 1 : 2;", 2, 2, 1, 0},
        {"$x = $a ?: 2;", 2, 2, 1, 0},
        {"$x = $a ?? $b; $c?->d;", 1, 1, 0, 0},
        {"goto L; L: g();", 1, 1, 1, 0},
        {"$s = \"x{$a->b($c ? 1 : 2)}\";", 2, 2, 1, 0},
        {"?><b>if</b><?php if ($a) { }", 2, 2, 1, 1},
        {"throw new E(); return;", 1, 1, 0, 0},
    };

    (void)state;
    lang_check_cases("php", "<?php\nfunction f() { ", " }\n", cases, TW_ARRAY_SIZE(cases));
}

static void runs_of_logical_operators_count_once_each(void **state)
{
    static const LangCase cases[] = {
        {"$x = $a && $b && $c;", 3, 3, 1, 0},
        {"$x = $a && $b || $c;", 3, 3, 2, 0},
        {"$x = $a and $b or $c;", 3, 3, 2, 0},
        {"$x = (($a && $b) and $c);", 3, 3, 1, 0},
        {"$x = $a xor $b;", 1, 1, 0, 0},
        {"$x = ($a || $b) && ($c || $d) && $e;", 5, 5, 4, 0},
        {"$x = !($a && $b) && $c;", 3, 3, 2, 0},
        {"$x = g($a && $b) && $c;", 3, 3, 2, 0},
    };

    (void)state;
    lang_check_cases("php", "<?php\nfunction f() { ", " }\n", cases, TW_ARRAY_SIZE(cases));
}

static void closures_count_in_the_function_one_level_deeper(void **state)
{
    static const LangCase cases[] = {
        {"g(fn($x) => $x ? 1 : 2);", 2, 2, 2, 0},
        {"g(function($a) use ($b) { if ($a) { } });", 2, 2, 2, 1},
        {"if ($a) { g(function() { if ($b) { } else { } }); }", 3, 3, 5, 2},
    };

    (void)state;
    lang_check_cases("php", "<?php\nfunction f() { ", " }\n", cases, TW_ARRAY_SIZE(cases));
}

static void names_have_their_types(void **state)
{
    (void)state;
    lang_check_rows("php",
                    "<?php\n"
                    "namespace N\\M;\n"
                    "class A extends B {\n"
                    "    public int $x = 1;\n"
                    "    public function __construct(private int $a, string ...$b) { }\n"
                    "    abstract function q();\n"
                    "    public static function m(int $a = 1, ?string $b, &$c): int { return 1; }\n"
                    "    public string $y { get { return $a ? 1 : 2; } set => $a; }\n"
                    "}\n"
                    "interface I { function n(); }\n"
                    "trait T { function t() { } }\n"
                    "enum E: int { case X = 1; function j() { } }\n"
                    "function top($x) { return 1; }\n"
                    "$f = function() { if ($x) { } };\n",
                    "A.__construct 5-5 1 0 2\n"
                    "A.m 7-7 1 0 3\n"
                    "A.y.get 8-8 2 1 0\n"
                    "A.y.set 8-8 1 0 0\n"
                    "T.t 11-11 1 0 0\n"
                    "E.j 12-12 1 0 0\n"
                    "top 13-13 1 0 1\n"
                    "f 14-14 2 1 0\n");
}

static void functions_in_functions_are_rows(void **state)
{
    (void)state;
    lang_check_rows("php",
                    "<?php\n"
                    "function f() {\n"
                    "    function nested($a) { if ($a) { } }\n"
                    "    return new class(1) extends Q { function n($q, $r) { if ($q) { } } };\n"
                    "}\n",
                    "f 2-5 1 4 0\n"
                    "f.nested 3-3 2 1 1\n"
                    "f.class@anonymous.n 4-4 2 1 2\n");
}

static void tokens_are_counted_as_by_hand(void **state)
{
    (void)state;
    /* function ( , { return > ? : + ;  max $a $b 1 */
    lang_check_halstead("php", "<?php\nfunction max($a, $b) { return $a > $b ? $a : $b + 1; }\n",
                        (ComplexityHalstead){.n1 = 10, .n2 = 4, .N1 = 10, .N2 = 8}, 20);
    lang_check_halstead("php",
                        "<?php\nfunction f() { g('a', \"b$c\", <<<T\nd\\t $e\nT, true, null); }\n",
                        (ComplexityHalstead){.n1 = 5, .n2 = 9, .N1 = 9, .N2 = 9}, 21);
}

static void texts_are_one_operand_and_the_code_in_them_more(void **state)
{
    (void)state;
    /* function ( { return [ :: , int ; -> ?-> */
    lang_check_halstead("php",
                        "<?php\n"
                        "function f() { return [self::X, (int)$a, `ls $b`,\n"
                        "    \"{$c->d}{$e[0]}{$f(1)}{$g?->h}\\n\"]; }\n",
                        (ComplexityHalstead){.n1 = 11, .n2 = 15, .N1 = 16, .N2 = 15}, 37);
    lang_check_halstead("php", "<?php\nfunction f() { $n = <<<'N'\nraw\nN; }\n",
                        (ComplexityHalstead){.n1 = 5, .n2 = 3, .N1 = 5, .N2 = 3}, 10);
    lang_check_halstead(
        "php", "<?php\nfunction f() { \"{$a->b()} {$c::$d} {$e::f()} ${g}\"; ?>\n<p>\n<?php }\n",
        (ComplexityHalstead){.n1 = 7, .n2 = 9, .N1 = 11, .N2 = 10}, 26);
}

static void words_that_close_are_no_operators(void **state)
{
    (void)state;
    /* function ( { if : ; for foreach as while switch */
    lang_check_halstead("php",
                        "<?php\n"
                        "function f() { if ($a): endif; for (;;): endfor;\n"
                        "    foreach ($a as $b): endforeach; while ($a): endwhile;\n"
                        "    switch ($a): endswitch; }\n",
                        (ComplexityHalstead){.n1 = 11, .n2 = 3, .N1 = 26, .N2 = 6}, 44);
}

static void lines_are_code_or_comment_or_neither(void **state)
{
    (void)state;
    lang_check_lines("php",
                     "<?php\n"
                     "function f() {\n"
                     "    # one\n"
                     "\n"
                     "    /* two\n"
                     "       three */\n"
                     "    g(); // four\n"
                     "    $s = <<<EOT\n"
                     "x\n"
                     "\n"
                     "EOT;\n"
                     "}\n",
                     11, 7, 3);
}

static void increments_say_why(void **state)
{
    (void)state;
    lang_check_increments("php",
                          "<?php function f() {\n"
                          "    try {\n"
                          "        foreach ($y as $x)\n"
                          "            if ($a && $b) { }\n"
                          "            elseif ($c) { }\n"
                          "            else { g(fn($z) => $z ? 1 : 2); }\n"
                          "    } catch (E $e) { switch ($x) { } }\n"
                          "}\n",
                          "3:9 foreach +1 0\n"
                          "4:13 if +2 1\n"
                          "4:20 && +1 0\n"
                          "5:13 else if +1 0\n"
                          "6:13 else +1 0\n"
                          "6:32 ?: +4 3\n"
                          "7:7 catch +1 0\n"
                          "7:22 switch +2 1\n");
}

static void closures_in_no_function_have_rows(void **state)
{
    (void)state;
    lang_check_rows("php",
                    "<?php\n"
                    "Route::get('/', function($a) { if ($a) { $b = fn($x) => $x ? 1 : 2; } });\n"
                    "$f = static fn($x, $y) => $x && $y;\n"
                    "return [\"k\" => function() { }];\n"
                    "class B { public $g = fn() => 1; const H = static function($a) { }; }\n"
                    "function __construct() { }\n"
                    "class P { function __construct(public int $q { get => 1; set { } }) { } }\n",
                    "(closure) 2-2 3 4 1\n"
                    "f 3-3 2 1 2\n"
                    "(closure) 4-4 1 0 0\n"
                    "B.g 5-5 1 0 0\n"
                    "B.H 5-5 1 0 1\n"
                    "__construct 6-6 1 0 0\n"
                    "P.__construct 7-7 1 0 1\n"
                    "P.__construct.q.get 7-7 1 0 0\n"
                    "P.__construct.q.set 7-7 1 0 0\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_construct_counts_by_its_rule),
        cmocka_unit_test(runs_of_logical_operators_count_once_each),
        cmocka_unit_test(closures_count_in_the_function_one_level_deeper),
        cmocka_unit_test(names_have_their_types),
        cmocka_unit_test(functions_in_functions_are_rows),
        cmocka_unit_test(tokens_are_counted_as_by_hand),
        cmocka_unit_test(texts_are_one_operand_and_the_code_in_them_more),
        cmocka_unit_test(words_that_close_are_no_operators),
        cmocka_unit_test(lines_are_code_or_comment_or_neither),
        cmocka_unit_test(increments_say_why),
        cmocka_unit_test(closures_in_no_function_have_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
