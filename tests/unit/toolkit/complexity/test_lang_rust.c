#include "lang_rig.h"

#include "base/compiler.h"

static void every_construct_counts_by_its_rule(void **state)
{
    static const LangCase cases[] = {
        {"", 1, 1, 0, 0},
        {"if a {}", 2, 2, 1, 1},
        {"if a {} else {}", 2, 2, 2, 1},
        {"if a {} else if b {} else {}", 3, 3, 3, 1},
        {"if a {} else { if b {} }", 3, 3, 4, 2},
        {"if a { if b { if c {} } }", 4, 4, 6, 3},
        {"if let Some(x) = y {}", 2, 2, 1, 1},
        {"if let Some(x) = y && a && b {}", 4, 4, 2, 1},
        {"let x = if a { 1 } else { 2 };", 2, 2, 2, 1},
        {"while a {}", 2, 2, 1, 1},
        {"while let Some(x) = y {}", 2, 2, 1, 1},
        {"for x in y {}", 2, 2, 1, 1},
        {"loop {}", 2, 2, 1, 1},
        {"while a { if b {} }", 3, 3, 3, 2},
        {"loop { if a { break; } continue; }", 3, 3, 3, 2},
        {"'o: loop { break 'o; }", 2, 2, 2, 1},
        {"'o: for x in y { continue 'o; }", 2, 2, 2, 1},
        {"let x = 'b: { break 'b 1; };", 1, 1, 1, 0},
        {"match x { 1 => a(), 2 | 3 => b(), _ => c() }", 3, 2, 1, 1},
        {"match x { n if n > 1 => a(), _ if b => c(), _ => d() }", 4, 4, 1, 1},
        {"match x { 1 => match y { 2 => 3, _ => 4 }, _ => 5 }", 3, 3, 3, 2},
        {"match x { Some(_) => {}, None => {} }", 3, 2, 1, 1},
        {"match x { _ => if a {} }", 2, 3, 3, 2},
        {"a()?; b?;", 3, 3, 0, 0},
        {"let Some(x) = y else { return };", 2, 2, 0, 0},
        {"let Some(x) = y else { if a {} return };", 3, 3, 1, 1},
        {"unsafe { if a {} }", 2, 2, 1, 1},
        {"async { if a {} }", 2, 2, 1, 1},
        {"return early;", 1, 1, 0, 0},
    };

    (void)state;
    lang_check_cases("rust", "fn f() { ", " }", cases, TW_ARRAY_SIZE(cases));
}

static void runs_of_logical_operators_count_once_each(void **state)
{
    static const LangCase cases[] = {
        {"a && b;", 2, 2, 1, 0},
        {"a && b && c;", 3, 3, 1, 0},
        {"a && b || c;", 3, 3, 2, 0},
        {"a || b && c || d;", 4, 4, 3, 0},
        {"(a || b) && (c || d) && e;", 5, 5, 4, 0},
        {"!(a && b) && c;", 3, 3, 2, 0},
        {"f(a && b) && c;", 3, 3, 2, 0},
        {"let x = &&y; let g = || z;", 1, 1, 0, 0},
        {"a & b | c;", 1, 1, 0, 0},
    };

    (void)state;
    lang_check_cases("rust", "fn f() { ", " }", cases, TW_ARRAY_SIZE(cases));
}

static void closures_count_in_the_function_one_level_deeper(void **state)
{
    static const LangCase cases[] = {
        {"let g = |x| if x { 1 } else { 2 };", 2, 2, 3, 1},
        {"if a { b(|x| if x {}) }", 3, 3, 4, 2},
        {"v.any(|x| x > 1 && y)", 2, 2, 1, 0},
        {"v.map(|x| x.map(|y| if y {}))", 2, 2, 3, 1},
        /* As in sonar-rust, a condition is as deep as the body. */
        {"if v.any(|x| match x { 1 => true, _ => false }) {}", 3, 3, 4, 2},
        {"while v.any(|x| if x {}) {}", 3, 3, 4, 2},
    };

    (void)state;
    lang_check_cases("rust", "fn f() { ", " }", cases, TW_ARRAY_SIZE(cases));
}

/* The parser has tokens there, and no tree; what they add up to is the same as outside. */
static void code_in_macro_calls_counts(void **state)
{
    static const LangCase cases[] = {
        {"println!(\"{}\", if a && b { 1 } else { 2 });", 3, 3, 3, 1},
        {"vec![if a { 1 } else if b { 2 } else { 3 }];", 3, 3, 3, 1},
        {"m!(if a { if b {} } else { if c {} });", 4, 4, 6, 2},
        {"assert!(a && b);", 2, 2, 1, 0},
        {"if a { assert!(if b { c }); }", 3, 3, 3, 2},
        {"m! { while a { for x in y { loop {} } } }", 4, 4, 6, 3},
        {"m! { 'o: loop { break 'o; } loop { break 'c'; } }", 3, 3, 3, 1},
        {"m!(if let Some(X { a }) = b { c } else { d });", 2, 2, 2, 1},
        {"m!(if let X { a } = b { if c {} });", 3, 3, 3, 2},
        {"m!(for X { a } in b { if c {} });", 3, 3, 3, 2},
        {"m!(if unsafe { a } { if b {} });", 3, 3, 3, 2},
        {"m!(a()?, b?); debug!(?x, y: ?Sized);", 3, 3, 0, 0},
        {"m! { let Some(x) = y else { return }; }", 2, 2, 0, 0},
        {"m! { let x = if a { 1 } else { 2 }; }", 2, 2, 2, 1},
        {"m! { impl A for B {} let f: for<'a> fn(&'a u8) = g; }", 1, 1, 0, 0},
        {"m!(f(if a {}), g!(if b {}));", 3, 3, 2, 1},
        {"m!(if a {}, if b {});", 3, 3, 2, 1},
    };

    (void)state;
    lang_check_cases("rust", "fn f() { ", " }", cases, TW_ARRAY_SIZE(cases));
    lang_check_halstead("rust", "fn f() { m!(a && b) }",
                        (ComplexityHalstead){.n1 = 5, .n2 = 4, .N1 = 6, .N2 = 4}, 13);
    lang_check_increments("rust", "fn f() {\n    m!(if a {\n        b || c\n    } else { 1 })\n}\n",
                          "2:8 if +1 0\n"
                          "3:11 || +1 0\n"
                          "4:7 else +1 0\n");
}

static void matches_in_macro_calls_count_their_arms(void **state)
{
    static const LangCase cases[] = {
        {"m!(match x { 1 => a, 2 | 3 => { b } _ => c });", 3, 2, 1, 1},
        {"m!(match x { n if n > 1 => a, _ if b && c => d, _ => e });", 5, 5, 2, 1},
        {"m!(match x { Some(_) => if a {} else {} None => {} });", 4, 3, 4, 2},
        {"m!(match x { 1 => match y { 2 => 3, _ => 4 } _ => |z| { 5 }, });", 3, 3, 3, 2},
        {"m!(match x { X { a, .. } => unsafe { b } &&y => c, _ => d });", 3, 2, 1, 1},
        {"if matches!(x, Some(y) if y > 1) {}", 3, 3, 1, 1},
        {"select! { x = y, if a => { b } else => { c } }", 2, 2, 0, 0},
    };

    (void)state;
    lang_check_cases("rust", "fn f() { ", " }", cases, TW_ARRAY_SIZE(cases));
}

static void operators_in_macro_calls_are_told_from_references_and_closures(void **state)
{
    static const LangCase cases[] = {
        {"m!(&&x, || y, move || z, f(|| w));", 1, 1, 0, 0},
        {"m!(a && b && c || d, e && f);", 5, 5, 3, 0},
        {"m!(a && (b && c) && d);", 4, 4, 1, 0},
        {"m!((a || b) && (c || d) && e);", 5, 5, 4, 0},
        {"m!(!(a && b) && c);", 3, 3, 2, 0},
        {"m!(g(a && b) && c);", 3, 3, 2, 0},
        {"m!((a && b) == c && d);", 3, 3, 2, 0},
        {"m!(x.await || self || \"t\" == y || 1 > z || w[0] || v?);", 7, 7, 1, 0},
        {"m!(|x| if x {}, |X { a, b }, c| if a {});", 3, 3, 4, 1},
        {"m!(v.map(|x| x || y), z);", 2, 2, 1, 0},
        {"m!(a | b & c);", 1, 1, 0, 0},
    };

    (void)state;
    lang_check_cases("rust", "fn f() { ", " }", cases, TW_ARRAY_SIZE(cases));
}

static void quoted_code_and_definitions_of_macros_do_not_count(void **state)
{
    static const LangCase cases[] = {
        {"quote!(if a {}); quote::quote_spanned! { s => if a && b {} }", 1, 1, 0, 0},
        {"m!(if a { quote! { if b {} } } else { c });", 2, 2, 2, 1},
        {"macro_rules! m { ($x:expr) => { if $x { if a {} } } }", 1, 1, 0, 0},
        {"#[cfg(all(a, b))] let x = 1;", 1, 1, 0, 0},
    };

    (void)state;
    lang_check_cases("rust", "fn f() { ", " }", cases, TW_ARRAY_SIZE(cases));
    lang_check_rows("rust", "macro_rules! m { ($x:expr) => { fn g() { if $x {} } } }\nfn f() {}",
                    "f 2-2 1 0 0\n");
    lang_check_rows("rust", "m! { if a { fn g() {} } }\nfn f() {}", "f 2-2 1 0 0\n");
}

static void closures_in_no_function_have_rows(void **state)
{
    (void)state;
    lang_check_rows("rust",
                    "static A: L<u8> = L::new(|| { if a { 1 } else { 2 } });\n"
                    "impl S { const F: fn(u8, u8) = |x, y| v.map(|z| if z {}); }\n",
                    "A 1-1 2 2 0\n"
                    "S.F 2-2 2 2 2\n");
}

static void names_have_their_container(void **state)
{
    (void)state;
    lang_check_rows("rust",
                    "impl<T> List<T> {\n"
                    "    pub fn new(self, a: u8) -> Self { if a {} }\n"
                    "    async fn go(&mut self) {}\n"
                    "}\n"
                    "impl<'a> Trait for &'a Other<u8> { fn t() {} }\n"
                    "impl Trait for [u8; 4] { fn u() {} }\n"
                    "trait Shape { fn area(&self); fn name(&self) -> u8 { 1 } }\n"
                    "mod deep { pub mod er { pub fn top(a: A, (b, c): B, ..: D) {} } }\n"
                    "pub const unsafe extern \"C\" fn last(x: u8, ...) {}\n"
                    "extern \"C\" { fn declared(x: u8); }\n",
                    "List.new 2-2 2 1 2\n"
                    "List.go 3-3 1 0 1\n"
                    "Other.t 5-5 1 0 0\n"
                    "[u8; 4].u 6-6 1 0 0\n"
                    "Shape.name 7-7 1 0 1\n"
                    "deep.er.top 8-8 1 0 3\n"
                    "last 9-9 1 0 2\n");
}

static void nested_functions_count_in_both(void **state)
{
    (void)state;
    lang_check_rows("rust",
                    "fn f(a: u8) {\n"
                    "    if a {\n"
                    "        fn g(b: u8, c: u8) { if b {} else {} }\n"
                    "    }\n"
                    "    struct S; impl S { fn h() { loop {} } }\n"
                    "}\n",
                    "f 1-6 4 7 1\n"
                    "f.g 3-3 2 2 2\n"
                    "f.S.h 5-5 2 1 0\n");
}

static void lifetimes_chars_raw_strings_and_comments_are_told_apart(void **state)
{
    static const LangCase cases[] = {
        {"let x: &'a str = y; if x == 'a' { '\\'' } else { '\"' };", 2, 2, 2, 1},
        {"let x = r#\"if a && b { \"q\" } // \"#; if y {}", 2, 2, 1, 1},
        {"let x = br##\"\"# if \"##; let y = b'\"'; if z {}", 2, 2, 1, 1},
        {"/* if a { /* nested && */ } */ if b {} // if c {}", 2, 2, 1, 1},
        {"let x: Vec<Vec<&'static u8>> = y; if x < z && w > v {}", 3, 3, 2, 1},
    };

    (void)state;
    lang_check_cases("rust", "fn f<'a>(v: &'a str) -> char { ", "\n}", cases, TW_ARRAY_SIZE(cases));
}

static void tokens_are_counted_as_by_hand(void **state)
{
    (void)state;
    /* fn ( : , -> { if > else +; add a b i32 1 */
    lang_check_halstead("rust", "fn add(a: i32, b: i32) -> i32 { if a > b { a } else { b + 1 } }",
                        (ComplexityHalstead){.n1 = 10, .n2 = 5, .N1 = 13, .N2 = 11}, 28);
    /* fn < , ( mut : & { let = ; and f 'a T x Vec y true "s \n" 'c' */
    lang_check_halstead("rust", "fn f<'a, T>(mut x: &'a Vec<T>) { let y = true; \"s \\n\"; 'c'; }",
                        (ComplexityHalstead){.n1 = 11, .n2 = 9, .N1 = 14, .N2 = 11}, 29);
    /* fn ( { [ , and f r#"a\nb"# '\n' b'c' 1 */
    lang_check_halstead("rust", "fn f() { [r#\"a\nb\"#, '\\n', b'c', 1] }",
                        (ComplexityHalstead){.n1 = 5, .n2 = 5, .N1 = 7, .N2 = 5}, 15);
}

static void lines_are_code_or_comment_or_neither(void **state)
{
    (void)state;
    lang_check_lines("rust",
                     "fn f() {\n"
                     "    // one\n"
                     "\n"
                     "    /* two\n"
                     "       three */\n"
                     "    a(); // four\n"
                     "    /// doc\n"
                     "    let s = \"x\n"
                     "\n"
                     "y\";\n"
                     "}\n",
                     11, 6, 4);
}

static void a_line_for_the_shell_is_a_comment(void **state)
{
    (void)state;
    lang_check_file("rust", "#!/usr/bin/env run\nfn f() {}\n", 1, 1);
}

static void increments_say_why(void **state)
{
    (void)state;
    lang_check_increments("rust",
                          "fn f() {\n"
                          "    for x in y {\n"
                          "        if a && b {\n"
                          "        } else if c {\n"
                          "        } else {\n"
                          "            v.map(|z| match z { _ => 1 });\n"
                          "        }\n"
                          "    }\n"
                          "}\n",
                          "2:5 for +1 0\n"
                          "3:9 if +2 1\n"
                          "3:14 && +1 0\n"
                          "4:11 else if +1 0\n"
                          "5:11 else +1 0\n"
                          "6:23 match +4 3\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_construct_counts_by_its_rule),
        cmocka_unit_test(runs_of_logical_operators_count_once_each),
        cmocka_unit_test(closures_count_in_the_function_one_level_deeper),
        cmocka_unit_test(code_in_macro_calls_counts),
        cmocka_unit_test(matches_in_macro_calls_count_their_arms),
        cmocka_unit_test(operators_in_macro_calls_are_told_from_references_and_closures),
        cmocka_unit_test(quoted_code_and_definitions_of_macros_do_not_count),
        cmocka_unit_test(closures_in_no_function_have_rows),
        cmocka_unit_test(names_have_their_container),
        cmocka_unit_test(nested_functions_count_in_both),
        cmocka_unit_test(lifetimes_chars_raw_strings_and_comments_are_told_apart),
        cmocka_unit_test(tokens_are_counted_as_by_hand),
        cmocka_unit_test(lines_are_code_or_comment_or_neither),
        cmocka_unit_test(a_line_for_the_shell_is_a_comment),
        cmocka_unit_test(increments_say_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
