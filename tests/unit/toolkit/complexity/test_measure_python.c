#include "unit/toolkit/complexity/measure_rig.h"

static void each_construct_counts_as_defined(void **state)
{
    static const RigCase cases[] = {
        {"def f(): pass\n", "f", 1, 0},
        {"def f(a):\n    if a: g()\n", "f", 2, 1},
        {"def f(a, b):\n    if a:\n        g()\n    elif b:\n        h()\n    else:\n        i()\n",
         "f", 3, 3},
        {"def f(a, b):\n    if a:\n        g()\n    else:\n        if b:\n            h()\n", "f",
         3, 4},
        {"def f(a):\n    for x in a:\n        if x: break\n    else:\n        g()\n", "f", 4, 4},
        {"def f(a):\n    while a:\n        g()\n    else:\n        if a: h()\n", "f", 4, 4},
        {"def f():\n    try:\n        g()\n    except A:\n        h()\n    except (B, C) as e:\n"
         "        if e: i()\n    else:\n        j()\n    finally:\n        k()\n",
         "f", 5, 5},
        {"def f(a):\n    try:\n        if a: g()\n    finally:\n        if a: h()\n", "f", 3, 2},
        {"def f(a):\n    with a as b, c:\n        if b: g()\n", "f", 2, 1},
        {"def f(a):\n    return 1 if a else 2\n", "f", 2, 1},
        {"def f(a):\n    if 1 if a else 2: g()\n", "f", 3, 2},
        {"def f(a):\n    while 1 if a else 2: g()\n", "f", 3, 2},
        {"def f(a):\n    return 1 if (2 if a else 3) else 4\n", "f", 3, 3},
        {"def f(a, b, c):\n    return a and b and c\n", "f", 3, 1},
        {"def f(a, b, c):\n    return a and b or not c\n", "f", 3, 2},
        {"def f(a, b):\n    if a \\\n            or b:\n        return 1\n", "f", 3, 2},
        {"def f(a, b, c):\n    return a and b \\\n        and c\n", "f", 3, 1},
        /* Levels begin anew in a class, whatever is around it. */
        {"def f(x):\n    def g():\n        class C:\n            if x: pass\n", "f", 1, 1},
        {"def f(x):\n    y = 1\n    def g():\n        y = 2\n        class C:\n            if x: "
         "pass\n"
         "            def m(self):\n                if x: pass\n",
         "f", 1, 2},
        {"def f(a, b, c, d):\n    return a or b and c or d\n", "f", 4, 3},
        {"def f(a, b, c):\n    return not (a and b) and c\n", "f", 3, 2},
        {"def f(a, b, c):\n    return (a or b) and (c or b) and a\n", "f", 5, 4},
        {"def f(a):\n    x = a or []\n", "f", 2, 1},
        {"def f(a):\n    return [x for x in a if x if a for y in x]\n", "f", 5, 0},
        {"def f(a):\n    return {k: v for k, v in a} or {x for x in a} or (x for x in a)\n", "f", 6,
         1},
        {"def f(a):\n    assert a and b, 'c'\n", "f", 2, 1},
        {"def f(a):\n    return lambda x: 1 if x else 2\n", "f", 2, 1},
        {"def f(a=1 if b else 2): pass\n", "f", 1, 1},
        {"async def f(a):\n    async for x in a:\n        await x\n", "f", 2, 1},
        {"def f(a):\n    raise A from b\n    return\n", "f", 1, 0},
        /* As SonarPython: a match counts nothing, what is in its cases is deeper. As radon: each
         * case that is not for all the rest. */
        {"def f(a):\n    match a:\n        case 1: g()\n        case [x, y] if x and y:\n"
         "            if x: h()\n        case A(b=1) | B(): i()\n        case _: j()\n",
         "f", 6, 3},
        {"def f(a):\n    match a:\n        case 1: g()\n        case other: j()\n", "f", 2, 0},
        {"def f(a):\n    match a:\n        case a.b: g()\n        case 1, x: h()\n", "f", 3, 0},
    };
    Rig rig;

    (void)state;
    rig_open(&rig);
    RIG_CHECK(&rig, "python", cases);
    rig_close(&rig);
}

static void match_counts_once_in_the_modified_variant(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "python",
                "def f(a):\n    match a:\n        case 1: g()\n        case 2: h()\n"
                "        case _: pass\n");
    assert_int_equal(rig_row(&rig, "f")->cyclomatic, 3);
    assert_int_equal(rig_row(&rig, "f")->cyclomatic_modified, 2);
    assert_int_equal(rig_row(&rig, "f")->nesting, 1);
    rig_close(&rig);
}

/* Cognitive points count in the outer function, one level deeper; cyclomatic ones do not, as in
 * radon. */
static void nested_functions_have_rows_and_count_in_the_outer_one(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "python",
                "def outer(a):\n"
                "    x = 1\n"
                "    def inner(b, *, c=1 if a else 2):\n"
                "        if b:\n"
                "            return 1\n"
                "    if a:\n"
                "        def deeper():\n"
                "            if a: pass\n"
                "    return inner\n"
                "def next(): pass\n");
    assert_int_equal(rig.file.n_functions, 4);
    assert_int_equal(rig_row(&rig, "outer.inner")->cyclomatic, 2);
    assert_int_equal(rig_row(&rig, "outer.inner")->cognitive, 2);
    assert_int_equal(rig_row(&rig, "outer.inner")->parameters, 2);
    assert_int_equal(rig_row(&rig, "outer.deeper")->cognitive, 1);
    assert_int_equal(rig_row(&rig, "outer")->cyclomatic, 2);
    /* if else 2, if 2; if 1; if 1 + 2 */
    assert_int_equal(rig_row(&rig, "outer")->cognitive, 8);
    assert_int_equal(rig_row(&rig, "outer")->first_line, 1);
    assert_int_equal(rig_row(&rig, "outer")->last_line, 9);
    assert_int_equal(rig_row(&rig, "outer")->last_column, 16);
    rig_close(&rig);
}

/* A decorator is not deep for being one; with anything else in it, it is. */
static void function_that_only_wraps_another_adds_no_level(void **state)
{
    static const RigCase cases[] = {
        {"def d(f):\n    def w(a):\n        if a: f()\n    return w\n", "d", 1, 1},
        {"def d(f):\n    # why\n    @wraps(f)\n    def w(a):\n        if a: f()\n    return w\n",
         "d", 1, 1},
        {"def d(f):\n    \"doc\"\n    def w(a):\n        if a: f()\n    return w\n", "d", 1, 2},
        {"def d(f):\n    def w(a):\n        if a: f()\n    return w()\n", "d", 1, 2},
        {"def d(f):\n    def w(a):\n        if a: f()\n    def x(): pass\n    return w\n", "d", 1,
         2},
    };
    Rig rig;

    (void)state;
    rig_open(&rig);
    RIG_CHECK(&rig, "python", cases);
    rig_close(&rig);
}

static void methods_have_the_names_of_their_classes(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "python",
                "class A(B):\n"
                "    class In:\n"
                "        def x(self): pass\n"
                "    @property\n"
                "    def y(self, /, a, *args, b=1, **kw) -> int: return 1\n"
                "def f(a):\n"
                "    if a:\n"
                "        class Local:\n"
                "            flag = 1 if a else 2\n"
                "            def m(self):\n"
                "                if a: pass\n"
                "        return Local\n");
    (void)rig_row(&rig, "A.In.x");
    assert_int_equal(rig_row(&rig, "A.y")->parameters, 5);
    assert_int_equal(rig_row(&rig, "A.y")->first_line, 5);
    assert_int_equal(rig_row(&rig, "f.Local.m")->cyclomatic, 2);
    /* As SonarPython: a class begins at level 0 again. As radon: nothing of it counts. */
    assert_int_equal(rig_row(&rig, "f")->cognitive, 3);
    assert_int_equal(rig_row(&rig, "f")->cyclomatic, 2);
    rig_close(&rig);
}

static void hard_texts_are_read_right(void **state)
{
    static const RigCase cases[] = {
        {"def f(a):\n    return f\"{a['x'] if a else f'{b or 1}'} {{if}} {a!r:>{w}}\"\n", "f", 3,
         2},
        {"def f(a):\n    return f'{x:{y or 1}}' \"if a and b\" r'\\d' b''\n", "f", 2, 1},
        {"def f(a):\n    '''if a:\n    elif b and c: \"\"\" \"\n    '''\n    return 1\n", "f", 1,
         0},
        {"def f(a):\n    if a and \\\n       b:\n        pass\n", "f", 3, 2},
        {"def f(a):\n    # if a and b\n    return a # or c\n", "f", 1, 0},
        {"def f(a):\n    if (b := a) is not None and a not in b: pass\n", "f", 3, 2},
        {"def f[T](a: list[T]) -> T | None:\n    type X = int\n    print(a, sep='')\n", "f", 1, 0},
        {"def f(match, case):\n    match = case\n    match(case)\n    return match[case]\n", "f", 1,
         0},
    };
    Rig rig;

    (void)state;
    rig_open(&rig);
    RIG_CHECK(&rig, "python", cases);
    rig_close(&rig);
}

static void tokens_are_counted_as_by_hand(void **state)
{
    Rig rig;
    const ComplexityFunction *row;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "python", "def f(a, b): return a if a > b else b + 1\n");
    row = rig_row(&rig, "f");
    assert_int_equal(row->halstead.n1, 9);
    assert_int_equal(row->halstead.N1, 9);
    assert_int_equal(row->halstead.n2, 4);
    assert_int_equal(row->halstead.N2, 8);
    assert_float_equal(complexity_halstead_effort(&row->halstead), 566.167, 0.0005);
    /* def ( : return { and f, the text, a: an f-string is one operand and the code in it. */
    rig_measure(&rig, "python", "def f(): return f'x {a} y'\n");
    row = rig_row(&rig, "f");
    assert_int_equal(row->halstead.N1, 5);
    assert_int_equal(row->halstead.N2, 3);
    rig_close(&rig);
}

static void guard_makes_a_branch_of_a_case_that_takes_everything(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "python",
                "def f(x):\n"
                "    match x:\n"
                "        case n if n > 1:\n            pass\n"
                "        case _ if y:\n            pass\n"
                "        case 1 if y:\n            pass\n"
                "        case other:\n            pass\n");
    assert_int_equal(rig_row(&rig, "f")->cyclomatic, 4);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_construct_counts_as_defined),
        cmocka_unit_test(match_counts_once_in_the_modified_variant),
        cmocka_unit_test(nested_functions_have_rows_and_count_in_the_outer_one),
        cmocka_unit_test(function_that_only_wraps_another_adds_no_level),
        cmocka_unit_test(methods_have_the_names_of_their_classes),
        cmocka_unit_test(hard_texts_are_read_right),
        cmocka_unit_test(tokens_are_counted_as_by_hand),
        cmocka_unit_test(guard_makes_a_branch_of_a_case_that_takes_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
