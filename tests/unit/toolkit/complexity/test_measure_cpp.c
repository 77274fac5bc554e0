#include "unit/toolkit/complexity/measure_rig.h"

static void each_construct_counts_as_defined(void **state)
{
    static const RigCase cases[] = {
        {"void f() { for (auto x : xs) { if (x) g(); } }", "f", 3, 3},
        {"void f() { try { g(); } catch (const E &e) { h(); } catch (...) { } }", "f", 3, 2},
        {"void f(bool a) { try { if (a) g(); } catch (...) { if (a) h(); } }", "f", 4, 4},
        {"bool f(bool a, bool b, bool c) { return a && b and c; }", "f", 3, 1},
        {"bool f(bool a, bool b, bool c) { return a and b or c; }", "f", 3, 2},
        {"bool f(bool a, bool b) { return not (a and b) && a; }", "f", 3, 2},
        {"void f(T &&x, U &&...y) { g(std::forward<T>(x)); }", "f", 1, 0},
        {"void f(int a) { if (int b = g(); b > 0) h(); }", "f", 2, 1},
        {"void f(int a) { if constexpr (A) { h(); } else { i(); } }", "f", 2, 2},
        {"void f() { switch (auto a = g(); a) { case 1: break; default: break; } }", "f", 2, 1},
        {"template <typename T> bool f(T a) { return a < 3 && a > (1 >> 2); }", "f", 2, 1},
        {"template <typename... A> bool f(A... a) { return (a && ...); }", "f", 1, 0},
        {"void f() { auto s = R\"x(if (a && b) \" ' )x\"; }", "f", 1, 0},
        {"void f(int a) { auto b = 1'000'000; if (a) g('\\'', \"\\\"\"); }", "f", 2, 1},
        /* A closure: alone, and in an if. */
        {"void f() { auto g = [](int a) { if (a) return 1; return 2; }; }", "f", 2, 2},
        {"void f(int b) { if (b) { auto g = [=](int a) { if (a) return 1; return 2; }; } }", "f", 3,
         4},
        {"void f(int a, int b = [] { return A ? 1 : 2; }()) { }", "f", 2, 2},
        /* Constructor with initialisers, and its try. */
        {"A::A(int a) : x(a ? 1 : 2), y{a && 3} { if (a) g(); }", "A::A", 4, 3},
        {"A::A(int a) try : x(a) { g(); } catch (...) { h(); }", "A::A", 2, 1},
    };
    Rig rig;

    (void)state;
    rig_open(&rig);
    RIG_CHECK(&rig, "cpp", cases);
    rig_close(&rig);
}

static void functions_have_the_names_of_their_containers(void **state)
{
    static const char *const want[] = {
        "n::A::A", "n::A::~A",    "n::A::operator==", "n::A::operator bool", "n::A::m",
        "n::A::t", "n::A::In::x", "n::A::out",        "in_nowhere",          "a::b::C::c",
        "pointer", "reference",   "local::Local::lm",
    };
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "cpp",
                "namespace n {\n"
                "class A final : public B {\n"
                "public:\n"
                "    explicit A(int x) : x_(x) { }\n"
                "    ~A() { }\n"
                "    A(const A &) = delete;\n"
                "    A &operator=(const A &) = default;\n"
                "    virtual void pure() = 0;\n"
                "    bool operator==(const A &o) const { return x_ == o.x_; }\n"
                "    explicit operator bool() const { return x_; }\n"
                "    [[nodiscard]] int m(int a, int b = 2) const noexcept { return a; }\n"
                "    template <class T> void t(T a) { }\n"
                "    struct In { void x() { } };\n"
                "    void declared();\n"
                "};\n"
                "int A::out() { return 1; }\n"
                "}\n"
                "namespace { void in_nowhere() { } }\n"
                "namespace a::b { struct C { void c() { } }; }\n"
                "int *pointer() { return 0; }\n"
                "const A &reference() { return a; }\n"
                "void local() { struct Local { void lm(int a) { if (a) g(); } }; }\n");
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        (void)rig_row(&rig, want[i]);
    }
    assert_int_equal(rig.file.n_functions, sizeof(want) / sizeof(want[0]) + 1);
    assert_int_equal(rig_row(&rig, "n::A::m")->parameters, 2);
    /* What is in the local class is in the function around it too. */
    assert_int_equal(rig_row(&rig, "local")->cognitive, 2);
    assert_int_equal(rig_row(&rig, "local")->cyclomatic, 2);
    assert_int_equal(rig_row(&rig, "local::Local::lm")->cognitive, 1);
    assert_int_equal(rig.file.n_errors, 0);
    rig_close(&rig);
}

static void lambdas_in_no_function_have_rows(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "cpp",
                "auto f = [](int x, int y) { return x ? g([&] { if (y) h(); }) : 2; };\n"
                "namespace n { M m{{1, [] { int k(int a, int b); return 1; }}}; }\n"
                "struct S { int x = []() { return 1; }(); };\n"
                "int use(F c = [](int a) { return a; });\n");
    assert_int_equal(rig.file.n_functions, 4);
    assert_int_equal(rig_row(&rig, "f")->cyclomatic, 3);
    assert_int_equal(rig_row(&rig, "f")->cognitive, 4);
    assert_int_equal(rig_row(&rig, "f")->parameters, 2);
    assert_int_equal(rig_row(&rig, "n::m")->parameters, 0);
    assert_int_equal(rig_row(&rig, "S::x")->cyclomatic, 1);
    assert_int_equal(rig_row(&rig, "(closure)")->parameters, 1);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_construct_counts_as_defined),
        cmocka_unit_test(functions_have_the_names_of_their_containers),
        cmocka_unit_test(lambdas_in_no_function_have_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
