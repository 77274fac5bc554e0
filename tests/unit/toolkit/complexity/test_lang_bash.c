#include "lang_rig.h"

#include "base/compiler.h"

static void every_construct_counts_by_its_rule(void **state)
{
    static const LangCase cases[] = {
        {":", 1, 1, 0, 0},
        {"if a; then b; fi", 2, 2, 1, 1},
        {"if a; then b; else c; fi", 2, 2, 2, 1},
        {"if a; then b; elif c; then d; else e; fi", 3, 3, 3, 1},
        /* An if behind else has a fi of its own. */
        {"if a; then b; else if c; then d; fi; fi", 3, 3, 4, 2},
        {"if a; then if b; then if c; then d; fi; fi; fi", 4, 4, 6, 3},
        {"if if a; then b; fi; then c; fi", 3, 3, 2, 1},
        {"if a; then b; elif c; then if d; then e; fi; fi", 4, 4, 4, 2},
        {"for i in 1 2 3; do a; done", 2, 2, 1, 1},
        {"for ((i = 0; i < 3; i++)); do if a; then break; fi; done", 3, 3, 3, 2},
        {"while read x; do a; done < file", 2, 2, 1, 1},
        {"until a; do b; done", 2, 2, 1, 1},
        {"select x in a b; do c; done", 2, 2, 1, 1},
        {"while a; do while b; do break 2; done; done", 3, 3, 4, 2},
        {"while a; do while b; do continue 2; done; done", 3, 3, 4, 2},
        {"case \"$a\" in a|b) c;; d) ;; *) e;; esac", 3, 2, 1, 1},
        {"case $a in a) if b; then c; fi;; *x) d;; esac", 4, 3, 3, 2},
        {"x=$((a > 1 ? 2 : 3))", 2, 2, 1, 0},
        {"x=$(if a; then b; fi)", 2, 2, 1, 1},
        {"x=\"a $(if b; then c; fi) ${d:-e}\"", 2, 2, 1, 1},
        {"x=\"${a:-$(b && c)} $((d || e))\"", 3, 3, 2, 0},
        {"cat <<EOF\n$(a && b)\nEOF", 2, 2, 1, 0},
        {"a | b | c", 1, 1, 0, 0},
        {"(if a; then b; fi)", 2, 2, 1, 1},
        {"trap 'if a; then b; fi' EXIT", 1, 1, 0, 0},
        {"return 1", 1, 1, 0, 0},
    };

    (void)state;
    lang_check_cases("bash", "f() {\n", "\n}\n", cases, TW_ARRAY_SIZE(cases));
}

static void runs_of_logical_operators_count_once_each(void **state)
{
    static const LangCase cases[] = {
        {"a && b && c", 3, 3, 1, 0},
        {"a && b || c", 3, 3, 2, 0},
        {"! a && { b; c; } || d", 3, 3, 2, 0},
        {"[[ $a == b && $c || ! -f d ]]", 3, 3, 2, 0},
        {"[ -n \"$a\" ] && [ -f b ]", 2, 2, 1, 0},
        {"(( a && b ))", 2, 2, 1, 0},
        {"(( (a && b) && c ))", 3, 3, 1, 0},
        {"[[ ( $a || $b ) && $c ]]", 3, 3, 2, 0},
        {"if a && b; then c; fi", 3, 3, 2, 1},
        {"{ a && b; } && c", 3, 3, 2, 0},
    };

    (void)state;
    lang_check_cases("bash", "f() {\n", "\n}\n", cases, TW_ARRAY_SIZE(cases));
}

static void every_form_of_a_function_is_a_row(void **state)
{
    (void)state;
    lang_check_rows("bash",
                    "#!/bin/bash\n"
                    "if a; then b; fi\n"
                    "f() { a; }\n"
                    "function g { if a; then b; fi; }\n"
                    "function h() ( a && b )\n"
                    "outer() {\n"
                    "  inner::one() { if a; then b; fi; }\n"
                    "}\n",
                    "f 3-3 1 0 0\n"
                    "g 4-4 2 1 0\n"
                    "h 5-5 2 1 0\n"
                    "outer 6-8 2 2 0\n"
                    "outer.inner::one 7-7 2 1 0\n");
}

static void tokens_are_counted_as_by_hand(void **state)
{
    (void)state;
    /* ( { if [ $ -gt ; then else and max "$1" 1 $2 echo; ) } ] fi close */
    lang_check_halstead("bash", "max() { if [ $1 -gt $2 ]; then echo $1; else echo $2; fi; }\n",
                        (ComplexityHalstead){.n1 = 9, .n2 = 4, .N1 = 15, .N2 = 7}, 26);
    lang_check_halstead("bash", "f() { echo \"a $b\" 'c' d=e; }\n",
                        (ComplexityHalstead){.n1 = 4, .n2 = 6, .N1 = 4, .N2 = 6}, 12);
}

static void every_kind_of_token_is_one(void **state)
{
    (void)state;
    lang_check_halstead("bash", "f() {\ncat <<E\nx $a y $b z\nE\n}\n",
                        (ComplexityHalstead){.n1 = 4, .n2 = 7, .N1 = 5, .N2 = 7}, 14);
    lang_check_halstead("bash", "f() { while a; do b; done; }\n",
                        (ComplexityHalstead){.n1 = 5, .n2 = 3, .N1 = 7, .N2 = 3}, 13);
    lang_check_halstead("bash", "f() { [[ a ]]; ((b)); case c in d) e;; esac; }\n",
                        (ComplexityHalstead){.n1 = 8, .n2 = 6, .N1 = 10, .N2 = 6}, 22);
    lang_check_halstead("bash", "f() { x=$\"a b\"; }\n",
                        (ComplexityHalstead){.n1 = 4, .n2 = 3, .N1 = 4, .N2 = 3}, 9);
}

static void lines_are_code_or_comment_or_neither(void **state)
{
    (void)state;
    lang_check_lines("bash",
                     "f() {\n"
                     "  # one\n"
                     "\n"
                     "  g # two\n"
                     "  cat <<EOF\n"
                     "x\n"
                     "\n"
                     "EOF\n"
                     "}\n",
                     9, 7, 1);
}

static void increments_say_why(void **state)
{
    (void)state;
    lang_check_increments("bash",
                          "f() {\n"
                          "  for x in y; do\n"
                          "    if a && b; then\n"
                          "      :\n"
                          "    elif c; then\n"
                          "      continue 2\n"
                          "    else\n"
                          "      case x in *) ;; esac\n"
                          "    fi\n"
                          "  done\n"
                          "}\n",
                          "2:3 for +1 0\n"
                          "3:5 if +2 1\n"
                          "3:10 && +1 0\n"
                          "5:5 else if +1 0\n"
                          "6:7 jump +1 0\n"
                          "7:5 else +1 0\n"
                          "8:7 case +3 2\n");
    lang_check_increments("bash",
                          "f() {\n"
                          "  select x in y; do\n"
                          "    until a; do while b; do :; done; done\n"
                          "  done\n"
                          "}\n",
                          "2:3 select +1 0\n"
                          "3:5 until +2 1\n"
                          "3:17 while +3 2\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_construct_counts_by_its_rule),
        cmocka_unit_test(runs_of_logical_operators_count_once_each),
        cmocka_unit_test(every_form_of_a_function_is_a_row),
        cmocka_unit_test(tokens_are_counted_as_by_hand),
        cmocka_unit_test(every_kind_of_token_is_one),
        cmocka_unit_test(lines_are_code_or_comment_or_neither),
        cmocka_unit_test(increments_say_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
