#include "unit/toolkit/complexity/measure_rig.h"

static const RigCase both[] = {
    {"function f() { }", "f", 1, 0},
    {"function f(a) { if (a) g(); else if (!a) h(); else i(); }", "f", 3, 3},
    {"function f(a) { if (a) g(); else { if (!a) h(); } }", "f", 3, 4},
    {"function f(a) { for (;;) { for (const x of a) { for (x in a) { } } } }", "f", 4, 6},
    {"function f(a) { while (a) { do { } while (a); } }", "f", 3, 3},
    {"function f(a) { switch (a) { case 1: case 2: if (a) g(); break; default: h(); } }", "f", 4,
     3},
    {"function f(a) { return a ? 1 : a ? 2 : 3; }", "f", 3, 3},
    {"function f(a) { return (a ? 1 : 2) ? 3 : 4; }", "f", 3, 2},
    {"function f(a) { while (a ? 1 : 2) { } }", "f", 3, 2},
    {"function f(a) { try { g(); } catch (e) { if (e) h(); } finally { i(); } }", "f", 3, 3},
    {"function f(a) { try { g(); } catch { } }", "f", 2, 1},
    {"function f(a) { x: for (;;) { if (a) break x; continue x; } }", "f", 3, 5},
    {"function f(a) { for (;;) { if (a) break; continue; } }", "f", 3, 3},
    {"function f(a, b) { if (a || b) g(); }", "f", 3, 2},
    {"function f(a, b) { return a ?? b; }", "f", 2, 0},
    {"function f(a, b) { return (a ?? b) && a; }", "f", 3, 1},
    {"function f(a) { const x = a || {}; }", "f", 2, 1},
    {"function f(a, b, c) { return !(a && b) && c; }", "f", 3, 2},
    {"function f(a, b, c, d, e) { return (a || b) && (c || d) && e; }", "f", 5, 4},
    {"function f(a) { a &&= 1; a ||= 2; a ?\?= 3; a += 4; }", "f", 4, 0},
    {"function f(a) { return a?.b?.[c]?.(d); }", "f", 4, 0},
    {"function f(a = 1, { b = 2, c: d = 3 } = {}, [e = 4] = []) { }", "f", 7, 0},
    {"function f(a) { let { b = 1 } = a; ({ c: b = 2 } = a); }", "f", 3, 0},
    {"async function f(a) { for await (const x of a) { await x; } }", "f", 2, 1},
    /* Texts that look like code, and code that looks like text. */
    {"function f(a) { return `if ${a ? `&& ${a || 1}` : 2} ||`; }", "f", 3, 2},
    {"function f(a) { return a / b / c && /if (a && b) \\/[/]/.test(a); }", "f", 2, 1},
    {"function f(a) { /* if && */ return 'a && b ? c : d'; // || \n }", "f", 1, 0},
};

static void each_construct_counts_as_defined(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    RIG_CHECK(&rig, "javascript", both);
    RIG_CHECK(&rig, "typescript", both);
    RIG_CHECK(&rig, "tsx", both);
    rig_close(&rig);
}

static void modified_variant_counts_a_switch_once(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "javascript",
                "function f(a) { switch (a) { case 1: case 2: case 3: ; default: ; } }");
    assert_int_equal(rig_row(&rig, "f")->cyclomatic, 4);
    assert_int_equal(rig_row(&rig, "f")->cyclomatic_modified, 2);
    rig_close(&rig);
}

/* Each is a row, with its name; nothing of it counts in the one around it. */
static void every_function_is_a_row(void **state)
{
    static const char *const want[] = {
        "declared",
        "declared.(anonymous)",
        "arrow",
        "expression",
        "own",
        "A.constructor",
        "A.m",
        "A.#p",
        "A.g",
        "A.s",
        "A.field",
        "B.m",
        "api.get",
        "api.put",
        "api.in.x",
        "api.a b",
        "api.[k]",
        "module.exports",
        "a.b.c",
        "default",
        "gen",
        "withDefault",
        "withDefault.call",
        "later",
        "(anonymous)",
    };
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure(
        &rig, "javascript",
        "function declared(a) { if (a) g(); list.map(x => { if (x) { } return x && a; }); }\n"
        "const arrow = async (a, b) => a;\n"
        "var expression = function () { };\n"
        "const named = function own() { };\n"
        "class A extends B {\n"
        "  constructor() { super(); }\n"
        "  m() { }\n  #p() { }\n  get g() { return 1; }\n  static async *s() { }\n"
        "  field = (a) => a;\n"
        "  static { if (A.x) y(); }\n"
        "}\n"
        "const B = class { m() { } };\n"
        "const api = { get(a) { }, put: function (a) { }, in: { x: () => 1 },\n"
        "  'a b': () => 1, [k]: () => 1, plain: 3 };\n"
        "module.exports = () => 1;\n"
        "a.b.c = function () { };\n"
        "export default function () { }\n"
        "function* gen() { }\n"
        "function withDefault(call = () => 1) { }\n"
        "later ||= () => 1;\n"
        "(function () { })();\n");
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        (void)rig_row(&rig, want[i]);
    }
    assert_int_equal(rig.file.n_functions, sizeof(want) / sizeof(want[0]));
    assert_int_equal(rig.file.n_errors, 0);
    assert_int_equal(rig_row(&rig, "declared")->cyclomatic, 2);
    assert_int_equal(rig_row(&rig, "declared")->cognitive, 1);
    assert_int_equal(rig_row(&rig, "declared")->n_increments, 1);
    assert_int_equal(rig_row(&rig, "declared.(anonymous)")->cyclomatic, 3);
    assert_int_equal(rig_row(&rig, "declared.(anonymous)")->cognitive, 2);
    assert_int_equal(rig_row(&rig, "declared.(anonymous)")->parameters, 1);
    assert_int_equal(rig_row(&rig, "arrow")->parameters, 2);
    assert_int_equal(rig_row(&rig, "withDefault")->cyclomatic, 2);
    assert_int_equal(rig_row(&rig, "withDefault")->parameters, 1);
    assert_int_equal(rig_row(&rig, "withDefault.call")->parameters, 0);
    rig_close(&rig);
}

/* Tokens of an inner function are its own; those before and behind it are the outer one's. */
static void tokens_of_inner_functions_do_not_count_in_the_outer_one(void **state)
{
    Rig rig;
    const ComplexityFunction *row;

    (void)state;
    rig_open(&rig);
    rig_measure(
        &rig, "javascript",
        "function f(a) { g(a); const h = function (b, c) { return b + a + c; }; g(b, c); }");
    row = rig_row(&rig, "f");
    /* f a g a h g b c */
    assert_int_equal(row->halstead.n2, 6);
    assert_int_equal(row->halstead.N2, 8);
    /* function ( { ( ; const = ; ( , ; */
    assert_int_equal(row->halstead.n1, 7);
    assert_int_equal(row->halstead.N1, 11);
    row = rig_row(&rig, "f.h");
    /* b c b a c */
    assert_int_equal(row->halstead.n2, 3);
    assert_int_equal(row->halstead.N2, 5);
    /* function ( , { return + + ; */
    assert_int_equal(row->halstead.n1, 7);
    assert_int_equal(row->halstead.N1, 8);
    rig_close(&rig);
}

/* Initialisers of fields and static blocks are neither functions nor part of the one around. */
static void class_bodies_do_not_count_in_the_function_around(void **state)
{
    static const RigCase cases[] = {
        {"function f(a) { return class { x = a ? 1 : 2; static { if (a) g(); } m() { } }; }", "f",
         1, 0},
    };
    Rig rig;

    (void)state;
    rig_open(&rig);
    RIG_CHECK(&rig, "javascript", cases);
    RIG_CHECK(&rig, "typescript", cases);
    rig_close(&rig);
}

static void jsx_is_read(void **state)
{
    static const RigCase cases[] = {
        {"const V = (p) => <ul a={p.x ? 1 : 2} {...p}>if || it's {p.a && <li>x</li>} text</ul>;",
         "V", 3, 2},
        {"function V() { return <><A.B c='d && e'/>{/* if */}{f(() => <i/>)}</>; }", "V", 1, 0},
    };
    Rig rig;

    (void)state;
    rig_open(&rig);
    RIG_CHECK(&rig, "javascript", cases);
    RIG_CHECK(&rig, "tsx", cases);
    rig_close(&rig);
}

static void typescript_is_read(void **state)
{
    static const RigCase cases[] = {
        {"function f<T extends U<V>>(a: T, b?: number, c = 1): a is X { return <T>a; }", "f", 2, 0},
        {"function f(a: A<B<C>>, b: number) { return a < b && b > (c as D); }", "f", 2, 1},
        {"const f = <T,>(a: T): T extends string ? 1 : 2 => a!;", "f", 1, 0},
        {"namespace N.M { export function f(a?: X) { return a?.b satisfies C; } }", "N.M.f", 2, 0},
        {"abstract class A { @dec({ x: 1 }) private async f(@p() private readonly a: B = d, b) { } "
         "abstract g(): void; h?: () => void; }",
         "A.f", 2, 0},
        {"class A { private readonly f = (a: B) => a || 1; }", "A.f", 2, 1},
        {"enum E { A = 1 } interface I { f(a: number): void } declare function g(): void;\n"
         "function f(this: X, a: keyof I) { }",
         "f", 1, 0},
        {"function f(a: string): void; function f(a: any) { if (a) g(); }", "f", 2, 1},
    };
    Rig rig;

    (void)state;
    rig_open(&rig);
    RIG_CHECK(&rig, "typescript", cases);
    rig_measure(&rig, "typescript", cases[0].text);
    assert_int_equal(rig_row(&rig, "f")->parameters, 3);
    /* Overloads without a body are no rows. */
    rig_measure(&rig, "typescript", cases[7].text);
    assert_int_equal(rig.file.n_functions, 1);
    rig_measure(&rig, "typescript", cases[4].text);
    assert_int_equal(rig.file.n_functions, 1);
    assert_int_equal(rig_row(&rig, "A.f")->parameters, 2);
    rig_close(&rig);
}

static void class_that_another_extends_has_no_part_in_its_name(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    for (size_t i = 0; i < 2; i++) {
        rig_measure(&rig, i == 0 ? "javascript" : "typescript",
                    "class K extends (class { q() {} }) { r() {} }\n"
                    "class L extends class { s() {} } {}\n");
        assert_int_equal(rig.file.n_functions, 3);
        assert_non_null(rig_row(&rig, "K.(anonymous).q"));
        assert_non_null(rig_row(&rig, "K.r"));
        assert_non_null(rig_row(&rig, "L.(anonymous).s"));
    }
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_construct_counts_as_defined),
        cmocka_unit_test(modified_variant_counts_a_switch_once),
        cmocka_unit_test(every_function_is_a_row),
        cmocka_unit_test(tokens_of_inner_functions_do_not_count_in_the_outer_one),
        cmocka_unit_test(class_bodies_do_not_count_in_the_function_around),
        cmocka_unit_test(jsx_is_read),
        cmocka_unit_test(typescript_is_read),
        cmocka_unit_test(class_that_another_extends_has_no_part_in_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
