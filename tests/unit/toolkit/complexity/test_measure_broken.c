/* Texts of which the tree lacks what the grammar says is always there. */
#include "unit/toolkit/complexity/measure_rig.h"

#include "base/compiler.h"
#include "support/guard.h"

typedef struct BrokenText {
    const char *language;
    const char *text;
} BrokenText;

static const BrokenText broken_texts[] = {
    /* A hook whose property is not there. */
    {"php", "<?class T{$r{l;s{"},
    {"php", "<?class T{$r{get;"},
    {"php", "<?class T{const ="},
    {"csharp", "class A { int this => 3; }"},
    {"csharp", "class A { int this { get { return 1; } } }"},
    {"csharp", "class A { int this[ { get => "},
    {"go", "func () () {}"},
    {"go", "func (*) f("},
    {"java", "class A { Object o = new { void f() {} }; }"},
    {"kotlin", "val a = object : { fun f() { } }"},
    {"kotlin", "fun .f() { a. { } }"},
    {"lua", "a, = function() end"},
    {"lua", "= function() end"},
    {"python", "match x:\n  case :\n    pass\n"},
    {"python", "def f():\n"},
    {"ruby", "define_method( { }"},
    {"rust", "fn f() { m!{ if a {"},
    {"rust", "fn f() { m!(match "},
    {"rust", "impl for { fn f() {} }"},
    {"zig", "const = struct { fn f() void {} };"},
    {"zig", "test { switch (a) { => , } }"},
    {"javascript", "class extends { m() {} }"},
    {"bash", "case in esac; f() {"},
    {"c", "#if A\n(){\n#else\n){ (){ }\n#endif"},
    {"cpp", "operator () {} try { } catch {"},
};

/* Measuring a part of a text is as good as measuring another broken one. */
static void what_the_tree_lacks_is_left_out(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(broken_texts); i++) {
        const BrokenText *broken = &broken_texts[i];

        for (size_t n = strlen(broken->text); n > 0; n--) {
            GuardBuffer text = guard_copy(broken->text, n);

            rig_measure_span(&rig, broken->language, span_make(text.p, text.n));
            assert_true(rig.file.lines >= 1);
            guard_free(&text);
        }
    }
    rig_close(&rig);
}

static void an_empty_text_measures_nothing(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    for (size_t i = 0; complexity_language_at(i) != NULL; i++) {
        Span name = complexity_language_name(complexity_language_at(i));

        rig_measure_span(&rig, name.p, SPAN_NULL);
        assert_int_equal(rig.file.lines, 0);
        assert_int_equal(rig.file.n_functions, 0);
        rig_measure_span(&rig, name.p, SPAN(""));
        assert_int_equal(rig.file.lines, 0);
    }
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_tree_lacks_is_left_out),
        cmocka_unit_test(an_empty_text_measures_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
