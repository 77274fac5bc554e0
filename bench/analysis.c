/* bench_analysis: the code analyser on folders of source code and their history.
 *
 *     bench_analysis [--days N] [FOLDER…]        default: 365 days, our own tree
 *
 * Each language, cold and on one core: megabytes a second of CPU time, and how much of the time is
 * the parser's. The job on one core and on all, and again with what it kept. The history beside git
 * itself, whose output nobody reads, in the same run: with lines counted, and by a second call
 * beside `git log --raw`. Rounds alternate, so that a busy machine slows both; the best counts. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "io/child.h"
#include "io/work.h"
#include "providers/analysis.h"
#include "providers/analysis_impl.h"
#include "toolkit/complexity/language.h"
#include "toolkit/complexity/measure.h"

#define BENCH_ROUNDS    3
#define BENCH_LANGUAGES 32
#define BENCH_DAY_S     ((int64_t)24 * 60 * 60)

typedef struct Bench {
    const char *folder;
    char state[64];
    int64_t days;
} Bench;

static void bench_die(const char *what, const char *about)
{
    (void)fprintf(stderr, "bench_analysis: %s: %s\n", what, about);
    exit(1);
}

static double bench_now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Of all threads: what a busy machine does not change much. */
static double bench_cpu_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double bench_least(double a, double b)
{
    return a < b ? a : b;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

static void bench_forget(const Bench *bench)
{
    (void)nftw(bench->state, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- languages ---- */

typedef struct Language {
    const ComplexityLanguage *language;
    size_t n_files;
    size_t n_functions;
    double bytes;
    double seconds; /* by the clock, as the parser's time is */
    double parse_s;
    double cpu_s;
} Language;

static void bench_file(const AnalysisWalk *walk, const AnalysisFound *found, AnalysisMeter *meter,
                       Language *languages)
{
    const ComplexityLanguage *language;
    ComplexityOptions options = {.increments = false};
    ComplexityFile file;
    int64_t parse_us = complexity_meter_parse_us(meter->meter);
    double start;
    double cpu;
    size_t i = 0;

    bytes_clear(&meter->text);
    if (io_folder_read(walk->place->folder, found->path.p, &meter->text, NULL) != 0) {
        return;
    }
    language = complexity_language_of(found->path, bytes_span(&meter->text));
    if (language == NULL) {
        return;
    }
    while (complexity_language_at(i) != language) {
        i++;
    }
    start = bench_now_s();
    cpu = bench_cpu_s();
    if (complexity_measure(meter->meter, language, bytes_span(&meter->text), &options,
                           &meter->arena, &file) != 0) {
        bench_die("cannot measure", found->path.p);
    }
    languages[i].seconds += bench_now_s() - start;
    languages[i].cpu_s += bench_cpu_s() - cpu;
    languages[i].parse_s += (double)(complexity_meter_parse_us(meter->meter) - parse_us) / 1e6;
    languages[i].language = language;
    languages[i].n_files++;
    languages[i].n_functions += file.n_functions;
    languages[i].bytes += (double)meter->text.n;
    arena_reset(&meter->arena, (size_t)1 << 20);
}

static void bench_languages(const Bench *bench)
{
    AnalysisFiles files = {.path = bench->folder};
    Language languages[BENCH_LANGUAGES] = {{.language = NULL}};
    ComplexityReport report = COMPLEXITY_REPORT_NULL;
    AnalysisWatch watch = {.cancel = false};
    AnalysisPlace place;
    AnalysisMeter meter;
    AnalysisWalk walk;

    complexity_report_init(&report, &(ComplexityReportOptions){.limit = 0});
    if (analysis_place_open(&place, NULL, bench->folder, NULL) != 0 ||
        analysis_meter_init(&meter) != 0) {
        bench_die("cannot open", bench->folder);
    }
    analysis_walk_init(&walk, &files, &place, &watch, &report);
    if (analysis_walk_run(&walk, NULL) != 0) {
        bench_die("cannot read", bench->folder);
    }
    for (size_t i = 0; i < walk.n; i++) {
        bench_file(&walk, &walk.found[i], &meter, languages);
    }
    printf("  %-12s %7s %9s %9s %9s %7s\n", "one core", "files", "functions", "MB", "MB/s",
           "parser");
    for (size_t i = 0; i < BENCH_LANGUAGES; i++) {
        if (languages[i].language != NULL) {
            Span name = complexity_language_name(languages[i].language);

            printf("  %-12.*s %7zu %9zu %9.2f %9.1f %6.0f%%\n", (int)name.n, name.p,
                   languages[i].n_files, languages[i].n_functions, languages[i].bytes / 1e6,
                   languages[i].bytes / 1e6 / languages[i].cpu_s,
                   100 * languages[i].parse_s / languages[i].seconds);
        }
    }
    analysis_meter_deinit(&meter);
    analysis_walk_deinit(&walk);
    analysis_place_close(&place);
    complexity_report_deinit(&report);
}

/* ---- the job ---- */

static double bench_job(const Bench *bench, size_t threads, bool no_cache, size_t *ret_files)
{
    AnalysisFiles files = {
        .path = bench->folder, .threads = threads, .no_cache = no_cache, .state = bench->state};
    ComplexityReport report = COMPLEXITY_REPORT_NULL;
    AnalysisWatch watch = {.cancel = false};
    Diag diag = DIAG_NULL;
    double start = bench_now_s();

    complexity_report_init(&report,
                           &(ComplexityReportOptions){.thresholds = complexity_thresholds_default});
    if (analysis_complexity(&files, &watch, &report, NULL, &diag) != 0) {
        bench_die(bench->folder, diag.message);
    }
    start = bench_now_s() - start;
    *ret_files = report.n_files;
    complexity_report_deinit(&report);
    return start;
}

static void bench_jobs(const Bench *bench)
{
    double one = bench_job(bench, 1, true, &(size_t){0});
    double all = 1e9;
    double warm = 1e9;
    double cpu = 1e9;
    size_t n_files = 0;

    for (int i = 0; i < BENCH_ROUNDS; i++) {
        all = bench_least(all, bench_job(bench, 0, true, &n_files));
    }
    (void)bench_job(bench, 0, false, &n_files);
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        double start = bench_cpu_s();

        warm = bench_least(warm, bench_job(bench, 0, false, &n_files));
        cpu = bench_least(cpu, bench_cpu_s() - start);
    }
    printf("  job: one core %.3f s, %zu cores %.3f s (%.2f times)\n", one, io_work_cores(), all,
           one / all);
    printf("  unchanged tree: %zu files %.4f s, %.4f s of CPU\n", n_files, warm, cpu);
}

/* ---- history ---- */

static int bench_ignore(void *context, const char *p, size_t n)
{
    (void)p;
    *(double *)context += (double)n;
    return 0;
}

static ChurnOptions bench_options(const Bench *bench, bool without_lines)
{
    int64_t now_s = (int64_t)time(NULL);

    return (ChurnOptions){.since_s = now_s - bench->days * BENCH_DAY_S,
                          .until_s = INT64_MAX,
                          .now_s = now_s,
                          .limit = 50,
                          .without_lines = without_lines};
}

/* Git with the arguments that the analyser gives it, its output thrown away. */
static double bench_git(const Bench *bench, bool without_lines, double *ret_bytes)
{
    ChurnOptions options = bench_options(bench, without_lines);
    IoProcessExit how = {.status = -1};
    Churn *churn = NULL;
    bool is_one = false;
    ChurnRun run;
    double start;

    *ret_bytes = 0;
    if (churn_new(&churn, &options, &(ChurnRepository){.head = SPAN("HEAD")}, NULL) != 0 ||
        churn_next_run(churn, &run, &is_one) != 0 || !is_one) {
        bench_die("no run", bench->folder);
    }
    start = bench_now_s();
    if (io_child_run(&(IoChildSpec){.argv = run.argv,
                                    .folder = bench->folder,
                                    .input = run.input,
                                    .output = bench_ignore,
                                    .context = ret_bytes},
                     NULL, &how, NULL) != 0 ||
        how.status != 0) {
        bench_die("git fails in", bench->folder);
    }
    start = bench_now_s() - start;
    churn = churn_free(churn);
    return start;
}

static double bench_churn(const Bench *bench, bool no_cache, size_t *ret_commits)
{
    AnalysisHistory history = {.path = bench->folder,
                               .options = bench_options(bench, false),
                               .no_cache = no_cache,
                               .state = bench->state};
    AnalysisWatch watch = {.cancel = false};
    Diag diag = DIAG_NULL;
    Churn *churn = NULL;
    double start = bench_now_s();

    if (analysis_churn(&history, &watch, &churn, &diag) != 0) {
        bench_die(bench->folder, diag.message);
    }
    start = bench_now_s() - start;
    *ret_commits = churn_n_commits(churn);
    churn = churn_free(churn);
    return start;
}

static void bench_history(const Bench *bench)
{
    double git = 1e9;
    double ours = 1e9;
    double raw = 1e9;
    double second = 1e9;
    double bytes = 0;
    size_t n_commits = 0;

    for (int i = 0; i < BENCH_ROUNDS; i++) {
        git = bench_least(git, bench_git(bench, false, &bytes));
        ours = bench_least(ours, bench_churn(bench, true, &n_commits));
    }
    printf(
        "  history: %zu commits of %lld days; git alone %.3f s for %.1f MB, with us %.3f s: %.3f "
        "times\n",
        n_commits, (long long)bench->days, git, bytes / 1e6, ours, ours / git);
    (void)bench_churn(bench, false, &n_commits);
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        raw = bench_least(raw, bench_git(bench, true, &bytes));
        second = bench_least(second, bench_churn(bench, false, &n_commits));
    }
    printf("  second call: git log --raw %.4f s, with us %.4f s: %.2f times\n", raw, second,
           second / raw);
}

static bool bench_has_history(const Bench *bench)
{
    AnalysisWatch watch = {.cancel = false};
    char *prefix = NULL;
    bool has = analysis_prefix(NULL, bench->folder, &watch, &prefix, NULL) == 0;

    (void)mem_free(prefix);
    return has;
}

int main(int argc, char **argv)
{
    static const char *const ours[] = {TW_BENCH_DIR "/.."};
    const char *const *folders = ours;
    size_t n_folders = 1;
    Bench bench = {.days = 365};
    int at = 1;

    if (argc > 2 && strcmp(argv[1], "--days") == 0) {
        bench.days = strtoll(argv[2], NULL, 10);
        at = 3;
    }
    if (at < argc) {
        folders = (const char *const *)&argv[at];
        n_folders = (size_t)(argc - at);
    }
    (void)snprintf(bench.state, sizeof(bench.state), "/tmp/tw-bench-analysis-XXXXXX");
    if (mkdtemp(bench.state) == NULL) {
        bench_die("cannot make", bench.state);
    }
    for (size_t i = 0; i < n_folders; i++) {
        bench.folder = folders[i];
        printf("%s\n", bench.folder);
        bench_languages(&bench);
        bench_jobs(&bench);
        if (bench_has_history(&bench)) {
            bench_history(&bench);
        }
    }
    bench_forget(&bench);
    return 0;
}
