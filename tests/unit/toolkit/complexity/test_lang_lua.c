#include "lang_rig.h"

#include "base/compiler.h"

static void every_construct_counts_by_its_rule(void **state)
{
    static const LangCase cases[] = {
        {"", 1, 1, 0, 0},
        {"if a then b() end", 2, 2, 1, 1},
        {"if a then b() else c() end", 2, 2, 2, 1},
        {"if a then b() elseif c then d() else e() end", 3, 3, 3, 1},
        {"if a then elseif b then else end", 3, 3, 3, 1},
        /* An if behind else has an end of its own. */
        {"if a then b() else if c then d() end end", 3, 3, 4, 2},
        {"if a then if b then if c then end end end", 4, 4, 6, 3},
        {"while a do if b then break end end", 3, 3, 3, 2},
        {"repeat if b then c() end until a", 3, 3, 3, 2},
        {"for i = 1, 2, 3 do b() end", 2, 2, 1, 1},
        {"for k, v in pairs(t) do b() end", 2, 2, 1, 1},
        {"for i = 1, 2 do goto next; ::next:: end", 2, 2, 2, 1},
        {"do local z = 1 end", 1, 1, 0, 0},
        {"return a", 1, 1, 0, 0},
    };

    (void)state;
    lang_check_cases("lua", "function f() ", " end\n", cases, TW_ARRAY_SIZE(cases));
}

static void runs_of_logical_operators_count_once_each(void **state)
{
    static const LangCase cases[] = {
        {"x = a and b and c", 3, 3, 1, 0},
        {"x = a and b or c", 3, 3, 2, 0},
        {"x = (a or b) and (c or d) and e", 5, 5, 4, 0},
        {"x = not (a and b) and c", 3, 3, 2, 0},
        {"x = g(a and b) and c", 3, 3, 2, 0},
        {"x = a .. b == c", 1, 1, 0, 0},
        {"if a or b then end", 3, 3, 2, 1},
    };

    (void)state;
    lang_check_cases("lua", "function f() ", " end\n", cases, TW_ARRAY_SIZE(cases));
}

static void functions_without_a_name_count_one_level_deeper(void **state)
{
    static const LangCase cases[] = {
        {"g(function(x) if x then end end)", 2, 2, 2, 1},
        {"if a then g(function() if b then else end end) end", 3, 3, 5, 2},
        {"return function() while a do end end", 2, 2, 2, 1},
        {"x = { function() if a then end end, [1] = function() end }", 2, 2, 2, 1},
        {"local g = h(function() end) or function() if a then end end", 3, 3, 3, 1},
    };

    (void)state;
    lang_check_cases("lua", "function f() ", " end\n", cases, TW_ARRAY_SIZE(cases));
}

static void a_function_is_named_by_what_is_set_to_it(void **state)
{
    (void)state;
    lang_check_rows("lua",
                    "local function l(a, b, ...) if a then end end\n"
                    "function M.sub.g(a) end\n"
                    "function M:meth(a) return self.x end\n"
                    "M.h = function(a) if a and b then end end\n"
                    "local a, b = function() end, function(x) while x do end end\n"
                    "c, c, c, c, c, c, c, c, far = 1, 2, 3, 4, 5, 6, 7, 8, function() end\n"
                    "d = 1, function() end\n"
                    "local t = {\n"
                    "    one = function(s) if s then end end,\n"
                    "}\n"
                    "return { two = function() end }\n",
                    "l 1-1 2 1 2\n"
                    "M.sub.g 2-2 1 0 1\n"
                    "M.meth 3-3 1 0 1\n"
                    "M.h 4-4 3 2 1\n"
                    "a 5-5 1 0 0\n"
                    "b 5-5 2 1 1\n"
                    "c 6-6 1 0 0\n"
                    "d 7-7 1 0 0\n"
                    "one 9-9 2 1 1\n"
                    "two 11-11 1 0 0\n");
}

static void named_functions_inside_are_rows(void **state)
{
    (void)state;
    lang_check_rows("lua",
                    "function f()\n"
                    "    local function g(a) if a then end end\n"
                    "    local h = function(b, c) if b then end end\n"
                    "    return function(d) if d then end end\n"
                    "end\n",
                    /* luacheck measures functions apart; cognitive complexity has them in both. */
                    "f 1-5 2 6 0\n"
                    "f.g 2-2 2 1 1\n"
                    "f.h 3-3 2 1 2\n");
}

static void tokens_are_counted_as_by_hand(void **state)
{
    (void)state;
    /* function ( , if > then return +; max a b 1; ) end end close */
    lang_check_halstead("lua", "function max(a, b) if a > b then return a end return b + 1 end\n",
                        (ComplexityHalstead){.n1 = 8, .n2 = 4, .N1 = 9, .N2 = 8}, 20);
    lang_check_halstead("lua", "function f() g('a', [[b]], nil, true, 1.5, ...) end\n",
                        (ComplexityHalstead){.n1 = 3, .n2 = 8, .N1 = 8, .N2 = 8}, 19);
}

static void every_kind_of_token_is_one(void **state)
{
    (void)state;
    lang_check_halstead("lua", "function f() while a do break end end\n",
                        (ComplexityHalstead){.n1 = 5, .n2 = 2, .N1 = 5, .N2 = 2}, 10);
    lang_check_halstead("lua", "function f() a[1] = {} end\n",
                        (ComplexityHalstead){.n1 = 5, .n2 = 3, .N1 = 5, .N2 = 3}, 12);
    lang_check_file("lua", "#!/usr/bin/lua\nx = 1\n", 1, 1);
}

static void lines_are_code_or_comment_or_neither(void **state)
{
    (void)state;
    lang_check_lines("lua",
                     "function f()\n"
                     "    -- one\n"
                     "\n"
                     "    --[[ two\n"
                     "         three ]]\n"
                     "    g() -- four\n"
                     "    s = [[x\n"
                     "\n"
                     "y]]\n"
                     "end\n",
                     10, 6, 3);
}

static void increments_say_why(void **state)
{
    (void)state;
    lang_check_increments("lua",
                          "function f()\n"
                          "    for _, x in y do\n"
                          "        if a and b then\n"
                          "        elseif c then\n"
                          "        else\n"
                          "            g(function() repeat until z end)\n"
                          "        end\n"
                          "    end\n"
                          "    goto done\n"
                          "    ::done::\n"
                          "end\n",
                          "2:5 for +1 0\n"
                          "3:9 if +2 1\n"
                          "3:14 and +1 0\n"
                          "4:9 else if +1 0\n"
                          "5:9 else +1 0\n"
                          "6:26 repeat +4 3\n"
                          "9:5 goto +1 0\n");
}

static void closures_in_no_function_have_rows(void **state)
{
    (void)state;
    lang_check_rows("lua",
                    "pcall(function(a) if a then b(function() while c do end end) end end)\n"
                    "local m = wrap(function() end)\n"
                    "return function(x, ...) end\n",
                    "(closure) 1-1 3 4 1\n"
                    "m 2-2 1 0 0\n"
                    "(closure) 3-3 1 0 1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_construct_counts_by_its_rule),
        cmocka_unit_test(runs_of_logical_operators_count_once_each),
        cmocka_unit_test(functions_without_a_name_count_one_level_deeper),
        cmocka_unit_test(a_function_is_named_by_what_is_set_to_it),
        cmocka_unit_test(named_functions_inside_are_rows),
        cmocka_unit_test(tokens_are_counted_as_by_hand),
        cmocka_unit_test(every_kind_of_token_is_one),
        cmocka_unit_test(lines_are_code_or_comment_or_neither),
        cmocka_unit_test(increments_say_why),
        cmocka_unit_test(closures_in_no_function_have_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
