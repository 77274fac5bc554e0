#include "cli/cmd_template_input.h"

#include "support/cmocka.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "support/oom_sweep.h"

static const char manifest_text[] =
    "{\"templates\":["
    "{\"uri\":\"template://a/x/"
    "cli\",\"name\":\"A\",\"file\":\"a\",\"output\":\"a\",\"parameters\":["
    "{\"name\":\"word\",\"type\":\"string\",\"required\":true},"
    "{\"name\":\"flag\",\"type\":\"boolean\",\"default\":true},"
    "{\"name\":\"count\",\"type\":\"integer\"},"
    "{\"name\":\"list\",\"type\":\"array\"},"
    "{\"name\":\"kind\",\"type\":\"choice\",\"choices\":[\"1\",\"two\"]}]},"
    "{\"uri\":\"template://b/x/"
    "cli\",\"name\":\"B\",\"file\":\"b\",\"output\":\"b\",\"parameters\":["
    "{\"name\":\"other\",\"type\":\"boolean\"}]}]}";

/* Two templates, and what was given for them. */
typedef struct Fixture {
    TemplateManifest *manifest;
    const Template *templates[2];
    TemplateInput input;
} Fixture;

static int fixture_init(Fixture *f)
{
    int r = template_manifest_parse(&f->manifest, span_from_str(manifest_text), "m", NULL);

    if (r != 0) {
        return r;
    }
    f->templates[0] = template_manifest_at(f->manifest, 0);
    f->templates[1] = template_manifest_at(f->manifest, 1);
    template_input_init(&f->input, f->templates, 2);
    return 0;
}

static void fixture_deinit(Fixture *f)
{
    template_input_deinit(&f->input);
    (void)template_manifest_free(f->manifest);
}

static void check(const char *word, const char *wanted)
{
    Fixture f;

    assert_int_equal(fixture_init(&f), 0);
    assert_int_equal(template_input_add_word(&f.input, word, NULL), 0);
    assert_int_equal(template_input_index(&f.input), 0);
    assert_int_equal(f.input.text.n, strlen(wanted));
    assert_memory_equal(f.input.text.data, wanted, f.input.text.n);
    fixture_deinit(&f);
}

static void a_word_becomes_what_its_parameter_wants(void **state)
{
    (void)state;
    check("word=12", "{\"word\":\"12\"}");
    check("word=", "{\"word\":\"\"}");
    check("word=a=b:=c", "{\"word\":\"a=b:=c\"}");
    check("word={\"a\":1}", "{\"word\":\"{\\\"a\\\":1}\"}");
    check("flag=true", "{\"flag\":true}");
    check("flag=yes", "{\"flag\":true}");
    check("flag=0", "{\"flag\":false}");
    check("other=no", "{\"other\":false}");
    check("count=12", "{\"count\":12}");
    check("count= -1 ", "{\"count\":-1}");
    check("kind=1", "{\"kind\":\"1\"}");
    check("list=a, b,c", "{\"list\":[\"a\",\"b\",\"c\"]}");
    check("list=", "{\"list\":[]}");
    check("list=a", "{\"list\":[\"a\"]}");
    check("list=[\"a,b\", \"c\"]", "{\"list\":[\"a,b\",\"c\"]}");
    check("list=[a", "{\"list\":[\"[a\"]}");
}

static void what_does_not_fit_stays_text_for_the_check_to_name(void **state)
{
    (void)state;
    check("flag=maybe", "{\"flag\":\"maybe\"}");
    check("count=many", "{\"count\":\"many\"}");
    check("count=1.5", "{\"count\":1.5}");
    check("nobody=1", "{\"nobody\":\"1\"}");
}

static void json_is_taken_whatever_the_type(void **state)
{
    (void)state;
    check("word:=12", "{\"word\":12}");
    check("list:=[\"a\", 1]", "{\"list\":[\"a\",1]}");
    check("nobody:=null", "{\"nobody\":null}");
}

static void words_that_cannot_be_used_are_explained(void **state)
{
    static const struct {
        const char *word;
        const char *said;
    } cases[] = {
        {"word", "'word' is no parameter: write NAME=VALUE, or NAME:=JSON"},
        {"=x", "'=x' is no parameter: write NAME=VALUE, or NAME:=JSON"},
        {":=1", "':=1' is no parameter: write NAME=VALUE, or NAME:=JSON"},
        {"word:=x", "'word' is not JSON: x"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Diag diag = DIAG_NULL;
        Fixture f;

        assert_int_equal(fixture_init(&f), 0);
        assert_int_equal(template_input_add_word(&f.input, cases[i].word, &diag),
                         TEMPLATE_INPUT_E_WRONG);
        assert_string_equal(diag.message, cases[i].said);
        fixture_deinit(&f);
    }
}

static int build_all(Fixture *f)
{
    int r = template_input_add_object(
        &f->input, SPAN(" { \"word\" : \"file\", \"a\\u0020b\": [ 1, 2 ] }\n"), NULL);

    r = r != 0 ? r : template_input_add_word(&f->input, "list=a,b", NULL);
    r = r != 0 ? r : template_input_add_word(&f->input, "count=7", NULL);
    r = r != 0 ? r : template_input_add_word(&f->input, "word=typed", NULL);
    r = r != 0 ? r
               : template_input_add_typed(&f->input, &f->templates[0]->parameters[1], SPAN("n"));
    return r != 0 ? r : template_input_index(&f->input);
}

static void members_come_in_their_order_and_the_last_counts(void **state)
{
    static const char wanted[] = "{\"word\":\"file\",\"a b\":[1,2],\"list\":[\"a\",\"b\"],"
                                 "\"count\":7,\"word\":\"typed\",\"flag\":false}";
    JsonValue word;
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    assert_int_equal(build_all(&f), 0);
    assert_int_equal(f.input.text.n, sizeof(wanted) - 1);
    assert_memory_equal(f.input.text.data, wanted, sizeof(wanted) - 1);
    assert_true(json_get(f.input.values, SPAN("word"), &word));
    assert_true(json_string_equals(word, SPAN("typed")));
    fixture_deinit(&f);
}

static void nothing_given_is_an_empty_object(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    assert_int_equal(template_input_add_object(&f.input, SPAN("{}"), NULL), 0);
    assert_int_equal(template_input_index(&f.input), 0);
    assert_int_equal(json_kind(f.input.values), JSON_OBJECT);
    assert_int_equal(json_count(f.input.values), 0);
    fixture_deinit(&f);
}

static void a_file_that_is_no_object_is_refused(void **state)
{
    Diag diag = DIAG_NULL;
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    assert_int_equal(template_input_add_object(&f.input, SPAN("[1]"), &diag),
                     TEMPLATE_INPUT_E_WRONG);
    assert_string_equal(diag.message, "not a JSON object");
    assert_int_equal(template_input_add_object(&f.input, SPAN("{\n\"a\":}"), &diag),
                     TEMPLATE_INPUT_E_WRONG);
    assert_memory_equal(diag.message, "not JSON: line 2: ", strlen("not JSON: line 2: "));
    fixture_deinit(&f);
}

static int build_scenario(void *context)
{
    Fixture f;
    int r = fixture_init(&f);

    (void)context;
    if (r != 0) {
        return r;
    }
    r = build_all(&f);
    fixture_deinit(&f);
    return r;
}

/* The first that is added: nothing has been allocated that it could use. */
static int word_scenario(void *context)
{
    Fixture f;
    int r = fixture_init(&f);

    if (r != 0) {
        return r;
    }
    r = template_input_add_word(&f.input, context, NULL);
    r = r != 0 ? r : template_input_index(&f.input);
    fixture_deinit(&f);
    return r;
}

static void want_of_memory_is_reported(void **state)
{
    static char number[] = "count=7";
    static char list[] = "list=[\"a\"]";
    static char json[] = "word:=\"x\"";

    (void)state;
    test_oom_sweep(build_scenario, NULL);
    test_oom_sweep(word_scenario, number);
    test_oom_sweep(word_scenario, list);
    test_oom_sweep(word_scenario, json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_becomes_what_its_parameter_wants),
        cmocka_unit_test(what_does_not_fit_stays_text_for_the_check_to_name),
        cmocka_unit_test(json_is_taken_whatever_the_type),
        cmocka_unit_test(words_that_cannot_be_used_are_explained),
        cmocka_unit_test(members_come_in_their_order_and_the_last_counts),
        cmocka_unit_test(nothing_given_is_an_empty_object),
        cmocka_unit_test(a_file_that_is_no_object_is_refused),
        cmocka_unit_test(want_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
