#include "cli/cmd_analyze_job.h"

#include "support/cmocka.h"

#include <errno.h>
#include <string.h>

#include "cli/cmd_analyze_options.h"
#include "support/oom_sweep.h"

static void expect_line(size_t done, size_t total, size_t columns, const char *wanted)
{
    AnalyzeJob job = {.begins = "looking for files"};
    Bytes out;

    atomic_store(&job.watch.done, done);
    atomic_store(&job.watch.total, total);
    bytes_init(&out, 1024);
    assert_int_equal(analyze_job_line(&out, &job, columns), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    assert_string_equal(out.data, wanted);
    bytes_deinit(&out);
}

static void line_says_how_far_the_job_is(void **state)
{
    (void)state;
    expect_line(0, 0, 80, "looking for files…");
    expect_line(12345, 0, 80, "12,345 commits read");
    expect_line(1, 0, 80, "1 commit read");
    expect_line(1, 1, 40, "██████████ 1 of 1 file");
    expect_line(0, 2000, 40, "░░░░░░░░░░ 0 of 2,000 files");
    expect_line(500, 2000, 40, "██▌░░░░░░░ 500 of 2,000 files");
    expect_line(2000, 2000, 40, "██████████ 2,000 of 2,000 files");
    /* Files may have been counted in another order than they were found. */
    expect_line(2001, 2000, 40, "██████████ 2,000 of 2,000 files");
    expect_line(1, 2, 200, "███████████████░░░░░░░░░░░░░░░ 1 of 2 files");
}

/* ---- what a job comes to ---- */

static const CliOption no_options[] = {{NULL, NULL, NULL}};
static const CliCommand command = {.name = "analyze test", .options = no_options};

static int run_as_told(AnalyzeJob *job)
{
    int r = *(int *)job->context;

    return r > 0 ? diag_set(&job->diag, r, "why not") : r;
}

static int run_until_cancelled(AnalyzeJob *job)
{
    /* A person has pressed Ctrl-C before it looked. */
    atomic_store(&job->watch.cancel, true);
    return atomic_load(&job->watch.cancel) ? ANALYSIS_E_CANCELLED : 0;
}

static void outcome_of_the_job_is_an_exit_status(void **state)
{
    static const struct {
        int r;
        int status;
    } cases[] = {
        {0, 0},
        {-ENOMEM, CLI_EXIT_FAILED},
        {ANALYSIS_E_PATH, CLI_EXIT_FAILED},
        {ANALYSIS_E_GIT, CLI_EXIT_FAILED},
        {ANALYSIS_E_OPTION, CLI_EXIT_USAGE},
        {ANALYSIS_E_CANCELLED, ANALYZE_EXIT_INTERRUPTED},
    };
    CliArgs args = {.command = &command};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int r = cases[i].r;
        AnalyzeJob job = {
            .args = &args, .diag = DIAG_NULL, .run = run_as_told, .context = &r, .begins = ""};

        assert_int_equal(analyze_job_run(&job), cases[i].status);
    }
    assert_int_equal(
        analyze_job_run(&(AnalyzeJob){.args = &args, .run = run_until_cancelled, .begins = ""}),
        ANALYZE_EXIT_INTERRUPTED);
}

/* ---- what is asked for ---- */

static const CliOption options[] = {
    {"top", "N", ""},           {"days", "N", ""},       {"until", "DATE", ""},
    {"include", "GLOB...", ""}, {"path", "PATH...", ""}, {"fail-over", "LIMIT", ""},
    {"format", "FORMAT", ""},   {"json", NULL, ""},      {"variant", "NAME", ""},
    {"threads", "N", ""},       {NULL, NULL, NULL},
};
static const CliCommand full = {.name = "analyze test", .operands = "[PATH]", .options = options};

static int ask(AnalyzeAsked *asked, CliArgs *args, int argc, const char *const *words)
{
    static char *argv[16];

    for (int i = 0; i < argc; i++) {
        argv[i] = (char *)(uintptr_t)words[i];
    }
    assert_int_equal(cli_args_parse(&full, argc, argv, stderr, args), 0);
    return analyze_asked_init(asked, args, 10);
}

#define ASK(asked, args, ...)                                                                      \
    ask((asked), (args), (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)),            \
        (const char *[]){__VA_ARGS__})

static void words_are_read(void **state)
{
    AnalyzeAsked asked;
    CliArgs args;

    (void)state;
    assert_int_equal(ASK(&asked, &args, "--top", "3", "--days", "7", "--until", "2026-05-01",
                         "--include", "*.c", "--path", "a", "--include", "*.h", "src"),
                     0);
    assert_string_equal(asked.files.path, "src");
    assert_int_equal(asked.top, 3);
    assert_int_equal(asked.files.n_include, 2);
    assert_true(span_equals(asked.files.include[1], SPAN("*.h")));
    assert_string_equal(asked.history.options.paths[0], "a");
    assert_null(asked.history.options.paths[1]);
    /* A day means its end: 2026-05-01T23:59:59Z. */
    assert_int_equal(asked.history.options.until_s, 1777679999);
    assert_int_equal(asked.history.options.since_s, 1777679999 - 7 * 86400 + 1);
    analyze_asked_deinit(&asked);
    assert_int_equal(ASK(&asked, &args, "--days", "0", "--json", "--fail-over", "error"), 0);
    assert_string_equal(asked.files.path, ".");
    assert_true(asked.history.options.since_s == INT64_MIN);
    assert_true(span_equals(asked.format, SPAN("json")));
    assert_int_equal(asked.fail, ANALYZE_FAIL_ERRORS);
    analyze_asked_deinit(&asked);
}

static void wrong_words_are_wrong_use(void **state)
{
    static const char *const wrong[][2] = {
        {"--top", "many"},         {"--top", "-1"},
        {"--days", "99999999999"}, {"--until", "soon"},
        {"--until", "2026-13-01"}, {"--fail-over", "x"},
        {"--variant", "modern"},   {"--threads", "0"},
        {"--threads", "65"},       {"a", "b"},
    };
    CliArgs args;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        AnalyzeAsked asked;

        assert_int_equal(ask(&asked, &args, 2, wrong[i]), CLI_EXIT_USAGE);
        analyze_asked_deinit(&asked);
    }
}

static int line_scenario(void *context)
{
    AnalyzeJob job = {.begins = "looking"};
    Bytes out;
    int r;

    (void)context;
    atomic_store(&job.watch.total, 10);
    bytes_init(&out, 1024);
    r = analyze_job_line(&out, &job, 80);
    bytes_deinit(&out);
    return r;
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    test_oom_sweep(line_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_says_how_far_the_job_is),
        cmocka_unit_test(outcome_of_the_job_is_an_exit_status),
        cmocka_unit_test(words_are_read),
        cmocka_unit_test(wrong_words_are_wrong_use),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
