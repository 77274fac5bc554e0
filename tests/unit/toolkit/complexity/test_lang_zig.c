#include "lang_rig.h"

#include "base/compiler.h"

static void every_construct_counts_by_its_rule(void **state)
{
    static const LangCase cases[] = {
        {"", 1, 1, 0, 0},
        {"if (a) b();", 2, 2, 1, 1},
        {"if (a) {} else {}", 2, 2, 2, 1},
        {"if (a) {} else if (b) {} else {}", 3, 3, 3, 1},
        {"if (a) |x| {} else |err| {}", 2, 2, 2, 1},
        {"if (a) |x| {} else |err| if (b) {}", 3, 3, 2, 1},
        {"if (a) {} else { if (b) {} }", 3, 3, 4, 2},
        {"if (a) { if (b) { if (c) {} } }", 4, 4, 6, 3},
        {"const v = if (a) 1 else if (b) 2 else 3;", 3, 3, 3, 1},
        {"const v = if (a) |x| x else |e| f(e);", 2, 2, 2, 1},
        {"const v = if (a) b else null;", 2, 2, 2, 1},
        {"const v = if (a) b else unreachable;", 2, 2, 2, 1},
        {"const v: if (a) u8 else u16 = 1;", 2, 2, 2, 1},
        {"const v: if (a) (if (b) u8 else u16) else u32 = 1;", 3, 3, 5, 2},
        {"const v = if (a) |x| x else |e| if (b) 1 else 2;", 3, 3, 3, 1},
        {"const v = if (a) (if (b) 1 else 2) else 3;", 3, 3, 5, 2},
        {"while (i < 3) : (i += 1) { if (a) {} }", 3, 3, 3, 2},
        {"while (a) {} else { if (b) {} }", 3, 3, 3, 2},
        {"for (items, 0..) |x, i| { if (x) {} }", 3, 3, 3, 2},
        {"inline for (a) |b| {} inline while (c) {}", 3, 3, 2, 1},
        {"const w = while (a) { break 1; } else 2;", 2, 2, 1, 1},
        {"const q = for (a) |b| { break b; } else 2;", 2, 2, 1, 1},
        {"outer: while (true) { while (a) { break :outer; } }", 3, 3, 4, 2},
        {"outer: for (a) |b| { continue :outer; }", 2, 2, 2, 1},
        {"const v = blk: { break :blk 1; };", 1, 1, 1, 0},
        {"switch (x) { 1, 2 => a(), 3...5 => |z| {}, else => c() }", 3, 2, 1, 1},
        {"const s = switch (x) { .a => 1, inline else => if (b) 2 else 3 };", 3, 3, 4, 2},
        {"const y = try f();", 2, 2, 0, 0},
        {"const z = g() catch |err| { if (err) {} };", 3, 3, 3, 2},
        {"const z = g() catch unreachable;", 2, 2, 1, 1},
        {"const z = (if (a) b else c) catch d;", 3, 3, 3, 1},
        {"const o = p orelse return;", 2, 2, 0, 0},
        {"defer a(); errdefer |e| { if (e) {} }", 2, 2, 1, 1},
        {"comptime { if (a) {} }", 2, 2, 1, 1},
    };

    (void)state;
    lang_check_cases("zig", "fn f() void { ", " }\n", cases, TW_ARRAY_SIZE(cases));
}

static void runs_of_logical_operators_count_once_each(void **state)
{
    static const LangCase cases[] = {
        {"const x = a and b and c;", 3, 3, 1, 0},
        {"const x = a and b or c;", 3, 3, 2, 0},
        {"const x = (a or b) and (c or d) and e;", 5, 5, 4, 0},
        {"const x = !(a and b) and c;", 3, 3, 2, 0},
        {"const x = g(a and b) and c;", 3, 3, 2, 0},
        {"const x = a & b | c;", 1, 1, 0, 0},
        {"if (a or b) {}", 3, 3, 2, 1},
    };

    (void)state;
    lang_check_cases("zig", "fn f() void { ", " }\n", cases, TW_ARRAY_SIZE(cases));
}

static void names_have_their_containers(void **state)
{
    (void)state;
    lang_check_rows("zig",
                    "const std = @import(\"std\");\n"
                    "pub const S = struct {\n"
                    "    x: u32,\n"
                    "    const Inner = union(enum) { fn deep() void { if (a) {} } };\n"
                    "    pub fn m(self: *S, comptime T: type, a: anytype) !u32 { return 1; }\n"
                    "};\n"
                    "pub const E = enum { a, b, fn k(e: E) void {} };\n"
                    "extern fn e(x: u8) void;\n"
                    "test \"a name\" { if (a) {} }\n"
                    "test {}\n"
                    "test S {}\n"
                    "comptime { if (a) {} }\n",
                    "S.Inner.deep 4-4 2 1 0\n"
                    "S.m 5-5 1 0 3\n"
                    "E.k 7-7 1 0 1\n"
                    "test.a name 9-9 2 1 0\n"
                    "test.(anonymous) 10-10 1 0 0\n"
                    "test.S 11-11 1 0 0\n");
}

static void functions_of_a_type_in_a_function_count_in_their_own_row(void **state)
{
    (void)state;
    lang_check_rows("zig",
                    "fn List(comptime T: type) type {\n"
                    "    if (a) {}\n"
                    "    return struct {\n"
                    "        items: []T,\n"
                    "        fn push(self: *@This(), item: T) void { while (b) {} }\n"
                    "    };\n"
                    "}\n"
                    "fn g() void {\n"
                    "    const local = struct { fn h() void { if (c) {} } };\n"
                    "    const E = enum { a, fn i() void { if (c) {} } };\n"
                    "    const U = union { a: u8, fn j() void { if (c) {} } };\n"
                    "    const O = opaque { fn k() void { if (c) {} } };\n"
                    "}\n",
                    "List 1-7 2 1 1\n"
                    "List.push 5-5 2 1 2\n"
                    "g 8-13 1 0 0\n"
                    "g.local.h 9-9 2 1 0\n"
                    "g.E.i 10-10 2 1 0\n"
                    "g.U.j 11-11 2 1 0\n"
                    "g.O.k 12-12 2 1 0\n");
}

static void tokens_are_counted_as_by_hand(void **state)
{
    (void)state;
    /* fn ( : , { if > return + ; and max a i32 b 1 */
    lang_check_halstead("zig",
                        "fn max(a: i32, b: i32) i32 { if (a > b) return a; return b + 1; }\n",
                        (ComplexityHalstead){.n1 = 10, .n2 = 5, .N1 = 14, .N2 = 11}, 28);
    lang_check_halstead("zig", "fn f() void { g(\"a\\n\", 'b', true, @as(u8, 1.5)); }\n",
                        (ComplexityHalstead){.n1 = 5, .n2 = 9, .N1 = 10, .N2 = 9}, 23);
}

static void every_kind_of_token_is_one(void **state)
{
    (void)state;
    lang_check_halstead("zig", "fn f() void { const @\"a b\" = undefined; x[0] = null; }\n",
                        (ComplexityHalstead){.n1 = 7, .n2 = 7, .N1 = 9, .N2 = 7}, 19);
}

static void lines_are_code_or_comment_or_neither(void **state)
{
    (void)state;
    lang_check_lines("zig",
                     "fn f() void {\n"
                     "    // one\n"
                     "\n"
                     "    g(); // two\n"
                     "    const s =\n"
                     "        \\\\x\n"
                     "        \\\\\n"
                     "    ;\n"
                     "}\n",
                     9, 7, 1);
}

static void increments_say_why(void **state)
{
    (void)state;
    lang_check_increments("zig",
                          "fn f() void {\n"
                          "    for (y) |x| {\n"
                          "        if (a and b) {\n"
                          "        } else if (c) {\n"
                          "        } else {\n"
                          "            g() catch |e| switch (e) { else => {} };\n"
                          "        }\n"
                          "    }\n"
                          "}\n",
                          "2:5 for +1 0\n"
                          "3:9 if +2 1\n"
                          "3:15 and +1 0\n"
                          "4:11 else if +1 0\n"
                          "5:11 else +1 0\n"
                          "6:13 catch +3 2\n"
                          "6:27 switch +4 3\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_construct_counts_by_its_rule),
        cmocka_unit_test(runs_of_logical_operators_count_once_each),
        cmocka_unit_test(names_have_their_containers),
        cmocka_unit_test(functions_of_a_type_in_a_function_count_in_their_own_row),
        cmocka_unit_test(tokens_are_counted_as_by_hand),
        cmocka_unit_test(every_kind_of_token_is_one),
        cmocka_unit_test(lines_are_code_or_comment_or_neither),
        cmocka_unit_test(increments_say_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
