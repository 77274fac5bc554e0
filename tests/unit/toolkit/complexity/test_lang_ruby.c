#include "lang_rig.h"

#include "base/compiler.h"

static void every_construct_counts_by_its_rule(void **state)
{
    static const LangCase cases[] = {
        {"", 1, 1, 0, 0},
        {"if a then b end", 2, 2, 1, 1},
        {"if a\n b\nelse\n c\nend", 2, 2, 2, 1},
        {"if a\n b\nelsif c\n d\nelse\n e\nend", 3, 3, 3, 1},
        /* An if behind else has an end of its own. */
        {"if a\n b\nelse\n if c\n d\n end\nend", 3, 3, 4, 2},
        {"if a\n if b\n if c\n d\n end\n end\nend", 4, 4, 6, 3},
        {"unless a\n b\nelse\n c\nend", 2, 2, 2, 1},
        {"x if a", 2, 2, 1, 1},
        {"x unless a", 2, 2, 1, 1},
        {"(x if a) if b", 3, 3, 3, 2},
        {"a ? b : c", 2, 2, 1, 0},
        {"while a\n b if c\nend", 3, 3, 3, 2},
        {"until a\n b\nend", 2, 2, 1, 1},
        {"for i in 1..3 do break end", 2, 2, 1, 1},
        {"x while a", 2, 2, 1, 1},
        {"x until a", 2, 2, 1, 1},
        {"begin\n x\nend while a", 2, 2, 1, 1},
        {"case x when 1, 2 then b when String then c else d end", 3, 2, 1, 1},
        {"case x\nwhen 1\n if a\n b\n end\nelse\n c\nend", 3, 3, 3, 2},
        {"case x\nin {a: Integer} if b then c\nin [1, *] unless d then e\nelse\n f\nend", 3, 2, 1,
         1},
        /* RuboCop takes all clauses of one body for one branch. */
        {"begin\n a\nrescue B, C => e\n d\nrescue\n f\nelse\n g\nensure\n h\nend", 2, 2, 2, 1},
        {"a\nrescue B\n c if d\n# why\nensure\n e", 3, 3, 3, 2},
        {"x = a rescue 1", 2, 2, 1, 1},
        {"a&.b", 2, 2, 0, 0},
        {"a ||= b\nc &&= d", 3, 3, 0, 0},
        {"a += 1", 1, 1, 0, 0},
        {"s = \"x #{a ? b : c}\"", 2, 2, 1, 0},
        {"s = <<~E\n  if #{a ? b : c}\nE\n", 2, 2, 1, 0},
        {"r = /x#{a && b}/", 2, 2, 1, 0},
        {"yield x\nnext\nredo", 1, 1, 0, 0},
    };

    (void)state;
    lang_check_cases("ruby", "def f\n", "\nend\n", cases, TW_ARRAY_SIZE(cases));
}

static void runs_of_logical_operators_count_once_each(void **state)
{
    static const LangCase cases[] = {
        {"x = a && b && c", 3, 3, 1, 0},
        {"x = a && b || c", 3, 3, 2, 0},
        {"a and b or not c", 3, 3, 2, 0},
        {"(a && b) and c", 3, 3, 1, 0},
        {"x = (a || b) && (c || d) && e", 5, 5, 4, 0},
        {"x = !(a && b) && c", 3, 3, 2, 0},
        {"x = g(a && b) && c", 3, 3, 2, 0},
        {"x = a & b | c", 1, 1, 0, 0},
    };

    (void)state;
    lang_check_cases("ruby", "def f\n", "\nend\n", cases, TW_ARRAY_SIZE(cases));
}

static void blocks_count_in_the_method_one_level_deeper(void **state)
{
    static const LangCase cases[] = {
        /* Methods that iterate are a branch to RuboCop, others are none. */
        {"a.each { |x| b if x }", 3, 3, 2, 1},
        {"a.map do |x|\n b if x\nend", 3, 3, 2, 1},
        {"a.map(&:to_s)", 2, 2, 0, 0},
        {"a.map(b)\na.each", 1, 1, 0, 0},
        {"a.tap { |x| b if x }", 2, 2, 2, 1},
        {"l = ->(x) { x ? 1 : 2 }", 2, 2, 2, 0},
        {"l = ->(x) do\n x ? 1 : 2\nend", 2, 2, 2, 0},
        {"l = lambda do |x|\n x ? 1 : 2\nend", 2, 2, 2, 0},
        {"if a\n b.each { |x| c.tap { d if e } }\nend", 4, 4, 5, 2},
    };

    (void)state;
    lang_check_cases("ruby", "def f\n", "\nend\n", cases, TW_ARRAY_SIZE(cases));
}

static void names_have_their_modules(void **state)
{
    (void)state;
    lang_check_rows("ruby",
                    "module M\n"
                    "  class A < B\n"
                    "    def m(a, b = 1, *c, d:, e: 2, **f, &g)\n"
                    "      x if a\n"
                    "    end\n"
                    "    def self.s; end\n"
                    "    def A.t(x) end\n"
                    "    class << self\n"
                    "      def u() end\n"
                    "    end\n"
                    "    define_method(:dm) { |x, y| x if y }\n"
                    "    define_method \"named\" do\n"
                    "    end\n"
                    "    def ==(o) true end\n"
                    "    def x=(v) @x = v end\n"
                    "    def one(q) = q ? 1 : 2\n"
                    "    scope :s, -> { a if b }\n"
                    "  end\n"
                    "  class C::D; def n; end; end\n"
                    "end\n"
                    "def top a, b\n"
                    "end\n",
                    "M.A.m 3-5 2 1 7\n"
                    "M.A.s 6-6 1 0 0\n"
                    "M.A.A.t 7-7 1 0 1\n"
                    "M.A.u 9-9 1 0 0\n"
                    "M.A.dm 11-11 2 1 2\n"
                    "M.A.named 12-13 1 0 0\n"
                    "M.A.== 14-14 1 0 1\n"
                    "M.A.x= 15-15 1 0 1\n"
                    "M.A.one 16-16 2 1 1\n"
                    "M.A.(closure) 17-17 2 1 0\n"
                    "M.C::D.n 19-19 1 0 0\n"
                    "top 21-22 1 0 2\n");
}

static void nested_methods_count_in_both(void **state)
{
    (void)state;
    lang_check_rows("ruby",
                    "def f\n"
                    "  a.each { |x, y| }\n"
                    "  def g(b)\n"
                    "    c if b\n"
                    "  end\n"
                    "end\n",
                    "f 1-6 3 2 0\n"
                    "f.g 3-5 2 1 1\n");
}

static void tokens_are_counted_as_by_hand(void **state)
{
    (void)state;
    /* def ( , > ? : +; max a b 1; end closes */
    lang_check_halstead("ruby", "def max(a, b) a > b ? a : b + 1 end\n",
                        (ComplexityHalstead){.n1 = 7, .n2 = 4, .N1 = 7, .N2 = 8}, 17);
    lang_check_halstead("ruby", "def f\n g \"a#{b}\", :c, 'd', %w(e f), nil, /h/\nend\n",
                        (ComplexityHalstead){.n1 = 3, .n2 = 9, .N1 = 7, .N2 = 9}, 18);
}

static void every_kind_of_token_is_one(void **state)
{
    (void)state;
    lang_check_halstead("ruby",
                        "def f\n `ls #{a}`\n :\"b#{c}\"\n %i(d e)\n 1r\n 2i\n"
                        " x = <<~E\n  y #{z}\n E\nend\n",
                        (ComplexityHalstead){.n1 = 3, .n2 = 12, .N1 = 5, .N2 = 12}, 21);
    lang_check_halstead("ruby", "def ==(o) end\n",
                        (ComplexityHalstead){.n1 = 2, .n2 = 2, .N1 = 2, .N2 = 2}, 6);
    lang_check_halstead("ruby", "def x=(v) end\n",
                        (ComplexityHalstead){.n1 = 2, .n2 = 2, .N1 = 2, .N2 = 2}, 6);
    lang_check_file("ruby", "def f\nend\n__END__\nx y\nz\n", 2, 0);
}

static void lines_are_code_or_comment_or_neither(void **state)
{
    (void)state;
    lang_check_lines("ruby",
                     "def f\n"
                     "  # one\n"
                     "\n"
                     "=begin\n"
                     "two\n"
                     "=end\n"
                     "  g # four\n"
                     "  s = <<~E\n"
                     "    x\n"
                     "\n"
                     "  E\n"
                     "end\n",
                     12, 7, 4);
}

static void increments_say_why(void **state)
{
    (void)state;
    lang_check_increments("ruby",
                          "def f\n"
                          "  for x in y do\n"
                          "    if a && b\n"
                          "    elsif c\n"
                          "    else\n"
                          "      g { |z| h unless z }\n"
                          "    end\n"
                          "  end\n"
                          "rescue E\n"
                          "  case x\n"
                          "  when 1 then 2\n"
                          "  end\n"
                          "end\n",
                          "2:3 for +1 0\n"
                          "3:5 if +2 1\n"
                          "3:10 && +1 0\n"
                          "4:5 else if +1 0\n"
                          "5:5 else +1 0\n"
                          "6:15 unless +4 3\n"
                          "9:1 rescue +1 0\n"
                          "10:3 case +2 1\n");
}

static void closures_in_no_function_have_rows(void **state)
{
    (void)state;
    lang_check_rows("ruby",
                    "get '/' do |a|\n"
                    "  b { |c| c if a }\n"
                    "end\n"
                    "X = ->(a, b) { a if b }\n"
                    "x.y = lambda { |z| z }\n"
                    "Foo = Struct.new(:a) do\n"
                    "  def m; end\n"
                    "end\n"
                    "class A\n"
                    "  scope :q, ->(x) { x }\n"
                    "end\n",
                    "(closure) 1-3 2 2 1\n"
                    "X 4-4 2 1 2\n"
                    "x.y 5-5 1 0 1\n"
                    "Foo 6-8 1 0 0\n"
                    "Foo.m 7-7 1 0 0\n"
                    "A.(closure) 10-10 1 0 1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_construct_counts_by_its_rule),
        cmocka_unit_test(runs_of_logical_operators_count_once_each),
        cmocka_unit_test(blocks_count_in_the_method_one_level_deeper),
        cmocka_unit_test(names_have_their_modules),
        cmocka_unit_test(nested_methods_count_in_both),
        cmocka_unit_test(tokens_are_counted_as_by_hand),
        cmocka_unit_test(every_kind_of_token_is_one),
        cmocka_unit_test(lines_are_code_or_comment_or_neither),
        cmocka_unit_test(increments_say_why),
        cmocka_unit_test(closures_in_no_function_have_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
