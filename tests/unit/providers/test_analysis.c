/* Which files the analyser measures, and what it keeps of them. */
/* nftw */
#define _XOPEN_SOURCE 700

#include "unit/providers/analysis_rig.h"

#include <time.h>

#include "base/clock.h"
#include "io/work.h"
#include "providers/analysis_impl.h"
#include "support/oom_sweep.h"

#define SIMPLE "int f(int a) { return a; }\n"
#define BRANCH "int f(int a) { if (a) { return 1; } return 2; }\n"

static AnalysisFiles of(const Rig *rig)
{
    return (AnalysisFiles){.path = rig->project, .state = rig->state, .threads = 1};
}

/* ---- which files ---- */

static void what_is_left_out_is_listed_with_its_reason(void **state)
{
    Rig *rig = *state;
    char link[512];
    AnalysisFiles files = of(rig);

    rig_put(rig, "a.c", SIMPLE);
    rig_put(rig, "sub/b.py", "def g():\n    pass\n");
    rig_put(rig, "README.md", "# words\n");
    rig_put(rig, "LICENSE", "words\n");
    rig_put(rig, "tool", "#!/usr/bin/env python3\ndef h(x):\n    return x\n");
    rig_put(rig, "node_modules/x/index.js", "function x() {}\n");
    rig_put(rig, "gen.pb.go", "package p\n");
    rig_put(rig, "app.min.js", "function x(){}\n");
    rig_put(rig, "made.c", "/* @generated */\nint g(void) { return 0; }\n");
    rig_put(rig, ".gitignore", "ignored.c\nout/\n");
    rig_put(rig, "ignored.c", SIMPLE);
    rig_put(rig, "out/x.c", SIMPLE);
    rig_path(rig, "link.c", link);
    assert_int_equal(symlink("a.c", link), 0);
    rig_path(rig, "elsewhere", link);
    assert_int_equal(symlink("/usr", link), 0);
    rig_path(rig, "system.d", link);
    assert_int_equal(symlink("/usr", link), 0);
    rig_path(rig, "words.md", link);
    assert_int_equal(symlink("README.md", link), 0);
    rig_path(rig, "pipe.c", link);
    assert_int_equal(mkfifo(link, 0600), 0);
    assert_int_equal(rig_complexity(rig, &files), 0);

    assert_int_equal(rig->report.n_files, 3);
    assert_non_null(rig_file(rig, "a.c"));
    assert_non_null(rig_file(rig, "sub/b.py"));
    assert_non_null(rig_file(rig, "tool"));
    rig_assert_skipped(rig, "node_modules/", "vendored");
    rig_assert_skipped(rig, "gen.pb.go", "generated");
    rig_assert_skipped(rig, "app.min.js", "minified");
    rig_assert_skipped(rig, "made.c", "generated");
    rig_assert_skipped(rig, "ignored.c", "ignored");
    rig_assert_skipped(rig, "out/", "ignored");
    rig_assert_skipped(rig, "link.c", "link");
    rig_assert_skipped(rig, "elsewhere", "link");
    rig_assert_skipped(rig, "system.d", "link");
    rig_assert_skipped(rig, "pipe.c", "special");
    assert_int_equal(rig->report.n_skipped, 10);
    assert_int_equal(atomic_load(&rig->watch.done), atomic_load(&rig->watch.total));

    files.all = true;
    files.no_ignore = true;
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(rig->report.n_files, 9);
    assert_int_equal(rig->report.n_skipped, 4); /* links and the pipe */
}

static void globs_and_toolchains_choose(void **state)
{
    Rig *rig = *state;
    AnalysisFiles files = of(rig);
    const Span include[] = {SPAN_INIT("src/**")};
    const Span exclude[] = {SPAN_INIT("src/old")};

    rig_put(rig, "a.c", SIMPLE);
    rig_put(rig, "src/b.c", SIMPLE);
    rig_put(rig, "src/old/c.c", SIMPLE);
    rig_put(rig, "src/d.py", "def g():\n    pass\n");
    files.include = include;
    files.n_include = 1;
    files.exclude = exclude;
    files.n_exclude = 1;
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(rig->report.n_files, 2);
    rig_assert_skipped(rig, "src/old/", "excluded");
    files.toolchain = SPAN("python-uv");
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(rig->report.n_files, 1);
    assert_non_null(rig_file(rig, "src/d.py"));
}

static void rules_above_the_folder_count(void **state)
{
    Rig *rig = *state;
    char sub[512];
    AnalysisFiles files = of(rig);

    if (rig_try_git("/tmp", "--version") != 0) {
        skip();
    }
    rig_init_repository(rig);
    rig_put(rig, ".gitignore", "*.gen.c\n/src/lib/x.c\n");
    rig_put(rig, "src/.gitignore", "!keep.gen.c\n");
    rig_put(rig, ".git/info/exclude", "private.c\n");
    rig_put(rig, "src/lib/x.c", SIMPLE);
    rig_put(rig, "src/lib/y.c", SIMPLE);
    rig_put(rig, "src/lib/z.gen.c", SIMPLE);
    rig_put(rig, "src/lib/keep.gen.c", SIMPLE);
    rig_put(rig, "src/lib/private.c", SIMPLE);
    rig_path(rig, "src/lib", sub);
    files.path = sub;
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(rig->report.n_files, 2);
    assert_non_null(rig_file(rig, "y.c"));
    assert_non_null(rig_file(rig, "keep.gen.c"));
    rig_assert_skipped(rig, "x.c", "ignored");
    rig_assert_skipped(rig, "z.gen.c", "ignored");
    rig_assert_skipped(rig, "private.c", "ignored");
}

static void a_users_own_rules_count_in_a_work_tree(void **state)
{
    Rig *rig = *state;
    char other[512];
    AnalysisFiles files = of(rig);

    if (rig_try_git("/tmp", "--version") != 0) {
        skip();
    }
    rig_init_repository(rig);
    rig_put(rig, "a.c", SIMPLE);
    rig_put(rig, "mine.c", SIMPLE);
    rig_put(rig, "theirs.c", SIMPLE);
    assert_int_equal(io_tree_write(rig->folder, "git/ignore", SPAN("mine.c\n"), false, true, NULL),
                     0);
    rig_commit(rig, "one");
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(rig->report.n_files, 2);
    rig_assert_skipped(rig, "mine.c", "ignored");

    rig_put(rig, ".git/own", "theirs.c\n");
    rig_git(rig, "config core.excludesFile .git/own");
    assert_int_equal(rig_complexity(rig, &files), 0);
    rig_assert_skipped(rig, "theirs.c", "ignored");

    /* A further work tree has the repository's exclude file, too. */
    rig_git(rig, "config --unset core.excludesFile");
    rig_put(rig, ".git/info/exclude", "theirs.c\n");
    rig_git(rig, "worktree add -q ../other");
    (void)snprintf(other, sizeof(other), "%s/other", rig->folder);
    files.path = other;
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(rig->report.n_files, 1);
    rig_assert_skipped(rig, "theirs.c", "ignored");
}

static void a_file_that_is_named_is_measured_whatever_it_is(void **state)
{
    Rig *rig = *state;
    char path[512];
    AnalysisFiles files = of(rig);

    rig_put(rig, "vendor/made.c", "/* @generated */\nint g(void) { return 0; }\n");
    rig_put(rig, ".gitignore", "*\n");
    rig_path(rig, "vendor/made.c", path);
    files.path = path;
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(rig->report.n_files, 1);
    assert_non_null(rig_file(rig, "made.c"));
}

static void assert_named_is_skipped(Rig *rig, const char *name, Span toolchain, const char *reason)
{
    char path[512];
    AnalysisFiles files = of(rig);

    rig_path(rig, name, path);
    files.path = path;
    files.toolchain = toolchain;
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(rig->report.n_files, 0);
    assert_int_equal(rig->report.n_skipped, 1);
    rig_assert_skipped(rig, name, reason);
}

static void a_file_that_is_named_and_not_measured_is_told(void **state)
{
    Rig *rig = *state;
    char pipe[512];

    rig_put(rig, "a.c", SIMPLE);
    rig_put(rig, "README.md", "# words\n");
    rig_put(rig, "words", "words\n");
    rig_path(rig, "pipe", pipe);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_named_is_skipped(rig, "a.c", SPAN("python-uv"), "other-toolchain");
    assert_true(span_equals(rig->report.skipped[0].detail, SPAN("c")));
    assert_named_is_skipped(rig, "README.md", SPAN_NULL, "no-language");
    assert_named_is_skipped(rig, "words", SPAN_NULL, "no-language");
    assert_named_is_skipped(rig, "pipe", SPAN_NULL, "special");
}

static void a_large_file_of_no_language_is_no_matter(void **state)
{
    Rig *rig = *state;
    char path[512];
    AnalysisFiles files = of(rig);
    int fd;

    for (int i = 0; i < 2; i++) {
        rig_path(rig, i == 0 ? "image" : "large.c", path);
        fd = open(path, O_WRONLY | O_CREAT, 0600);
        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, (off_t)COMPLEXITY_FILE_BYTES + 1), 0);
        assert_int_equal(close(fd), 0);
    }
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(rig->report.n_skipped, 1);
    rig_assert_skipped(rig, "large.c", "too-large");
}

static void what_cannot_be_is_said(void **state)
{
    Rig *rig = *state;
    AnalysisFiles files = of(rig);

    files.path = "/nowhere/at/all";
    assert_int_equal(rig_complexity(rig, &files), ANALYSIS_E_PATH);
    assert_string_equal(rig->diag.message,
                        "Not found: there is no file or folder at /nowhere/at/all");
    files = of(rig);
    files.toolchain = SPAN("cobol");
    assert_int_equal(rig_complexity(rig, &files), ANALYSIS_E_OPTION);
    assert_string_equal(rig->diag.field, "toolchain");
}

static void a_glob_that_says_nothing_is_said(void **state)
{
    static const Span globs[] = {SPAN_INIT("*.c"), SPAN_INIT("src/[a-z*.c")};
    Rig *rig = *state;
    AnalysisFiles files = of(rig);

    rig_put(rig, "a.c", "int f(void) { return 1; }\n");
    files.include = globs;
    files.n_include = 1;
    assert_int_equal(rig_complexity(rig, &files), 0);
    files.n_include = 2;
    assert_int_equal(rig_complexity(rig, &files), ANALYSIS_E_OPTION);
    assert_string_equal(rig->diag.field, "include");
    assert_string_equal(rig->diag.message, "include: 'src/[a-z*.c' is no glob: a bracket has no "
                                           "end, or an unknown kind in it");
    files = of(rig);
    files.exclude = globs;
    files.n_exclude = 2;
    assert_int_equal(rig_complexity(rig, &files), ANALYSIS_E_OPTION);
    assert_string_equal(rig->diag.field, "exclude");
}

/* ---- what is kept ---- */

static uint32_t cyclomatic_of(const Rig *rig, const char *path)
{
    const ComplexityFileRow *row = rig_file(rig, path);

    assert_non_null(row);
    return row->max_cyclomatic;
}

/* As if it were a minute later: nobody can set back the time when a file was changed. */
static AnalysisFiles later(const Rig *rig)
{
    AnalysisFiles files = of(rig);

    files.now_ms = clock_now_ms() + 60000;
    return files;
}

static size_t n_read_by(Rig *rig, const AnalysisFiles *files)
{
    atomic_store(&rig->watch.read, 0);
    assert_int_equal(rig_complexity(rig, files), 0);
    return atomic_load(&rig->watch.read);
}

static void a_file_with_the_same_stamp_is_not_read_again(void **state)
{
    Rig *rig = *state;
    AnalysisFiles files = later(rig);

    rig_put(rig, "a.c", SIMPLE);
    rig_age(rig, "a.c", 1000000);
    assert_int_equal(n_read_by(rig, &files), 1);
    assert_int_equal(n_read_by(rig, &files), 0);
    assert_int_equal(cyclomatic_of(rig, "a.c"), 1);
    files.no_cache = true;
    assert_int_equal(n_read_by(rig, &files), 1);
    files.no_cache = false;
    rig_age(rig, "a.c", 1000001);
    assert_true(n_read_by(rig, &files) > 0);
    assert_int_equal(cyclomatic_of(rig, "a.c"), 1);
}

/* As "cp -p" of another version, or a tool that restores times, leaves it. */
static void other_bytes_of_the_same_size_and_time_are_seen(void **state)
{
    Rig *rig = *state;
    char path[512];
    struct stat before;
    struct stat after;
    AnalysisFiles files = later(rig);

    rig_put(rig, "a.c", "int f(int a) { return a; } /* and room */\n");
    rig_age(rig, "a.c", 1000000);
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(cyclomatic_of(rig, "a.c"), 1);
    rig_path(rig, "a.c", path);
    assert_int_equal(stat(path, &before), 0);
    /* Until the file system's clock has moved. */
    do {
        rig_overwrite(rig, "a.c", "int f(int a) { if (a) { a = 2; } return a;");
        rig_age(rig, "a.c", 1000000);
        assert_int_equal(stat(path, &after), 0);
    } while (after.st_ctim.tv_sec == before.st_ctim.tv_sec &&
             after.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
    assert_int_equal(after.st_size, before.st_size);
    assert_int_equal(after.st_ino, before.st_ino);
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(cyclomatic_of(rig, "a.c"), 2);
}

/* It may change twice between two ticks of the file system's clock. */
static void a_young_file_is_always_read(void **state)
{
    Rig *rig = *state;
    AnalysisFiles files = of(rig);

    rig_put(rig, "a.c", SIMPLE);
    rig_age(rig, "a.c", 1000000); /* it is young nevertheless */
    assert_int_equal(n_read_by(rig, &files), 1);
    files.now_ms = clock_now_ms();
    assert_true(n_read_by(rig, &files) > 0);
}

static void two_seconds_make_a_file_old(void **state)
{
    IoFolderStamp stamp = {.size = 7, .mtime_ns = 5000000000, .ctime_ns = 6000000000, .inode = 9};

    (void)state;
    assert_int_equal(analysis_stamp(&stamp, 7999).size, 0);
    assert_int_equal(analysis_stamp(&stamp, 7999).inode, 0);
    assert_int_equal(analysis_stamp(&stamp, 8000).size, 7);
    assert_int_equal(analysis_stamp(&stamp, 8000).ctime_ns, 6000000000);
    stamp.mtime_ns = 6500000000;
    assert_int_equal(analysis_stamp(&stamp, 8499).size, 0);
    assert_int_equal(analysis_stamp(&stamp, 8500).mtime_ns, 6500000000);
}

static void a_part_of_the_project_leaves_the_rest_in_the_cache(void **state)
{
    Rig *rig = *state;
    AnalysisFiles files = later(rig);

    rig_put(rig, "a.c", BRANCH);
    rig_put(rig, "b.py", "def g():\n    pass\n");
    assert_int_equal(n_read_by(rig, &files), 2);
    rig_put(rig, "b.py", "def g(x):\n    return x\n");
    files.toolchain = SPAN("python");
    assert_true(n_read_by(rig, &files) > 0);
    assert_int_equal(rig->report.n_files, 1);
    files.toolchain = SPAN_NULL;
    assert_int_equal(n_read_by(rig, &files), 0);
    assert_int_equal(cyclomatic_of(rig, "a.c"), 2);
}

static void put_repeated(const Rig *rig, const char *path, const char *piece, size_t n)
{
    size_t n_piece = strlen(piece);
    char *text = malloc(n * n_piece + 1);

    assert_non_null(text);
    for (size_t i = 0; i < n; i++) {
        memcpy(text + i * n_piece, piece, n_piece);
    }
    text[n * n_piece] = '\0';
    rig_put(rig, path, text);
    free(text);
}

/* What an enemy writes into a file takes no more than its share, and is not tried again. */
static void a_file_that_takes_too_much_memory_is_skipped_and_that_is_kept(void **state)
{
    Rig *rig = *state;
    AnalysisFiles files = later(rig);

    files.all = true;
    rig_put(rig, "a.c", BRANCH);
    put_repeated(rig, "brk.c", "(", 1500000);
    assert_int_equal(n_read_by(rig, &files), 2);
    rig_assert_skipped(rig, "brk.c", "too-costly");
    assert_true(span_equals(rig->report.skipped[0].detail, SPAN("memory")));
    assert_int_equal(rig->report.n_files, 1);
    assert_int_equal(n_read_by(rig, &files), 0);
    rig_assert_skipped(rig, "brk.c", "too-costly");
}

static int damage_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    int fd;

    (void)info;
    (void)at;
    if (type != FTW_F) {
        return 0;
    }
    fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "damaged", 7, 40), 7);
    return close(fd);
}

static void a_damaged_cache_is_none(void **state)
{
    Rig *rig = *state;
    AnalysisFiles files = of(rig);

    rig_put(rig, "a.c", BRANCH);
    rig_age(rig, "a.c", 1000000);
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(nftw(rig->state, damage_one, 8, FTW_PHYS), 0);
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(cyclomatic_of(rig, "a.c"), 2);
    /* And a state folder that cannot be is no reason to fail. */
    files.state = "/proc/nowhere";
    assert_int_equal(rig_complexity(rig, &files), 0);
}

static void increments_are_measured_though_the_cache_has_none(void **state)
{
    Rig *rig = *state;
    AnalysisFiles files = of(rig);
    ComplexityReportOptions options = rig_options;

    rig_put(rig, "a.c", BRANCH);
    rig_age(rig, "a.c", 1000000);
    assert_int_equal(rig_complexity(rig, &files), 0);
    options.increments = true;
    complexity_report_deinit(&rig->report);
    complexity_report_init(&rig->report, &options);
    assert_int_equal(analysis_complexity(&files, &rig->watch, &rig->report, NULL, NULL), 0);
    assert_int_equal(rig->report.functions[0].function->n_increments, 1);
}

/* ---- threads ---- */

static void put_many(const Rig *rig, int n)
{
    char path[64];

    for (int i = 0; i < n; i++) {
        (void)snprintf(path, sizeof(path), "d%d/f%d.c", i % 7, i);
        rig_put(rig, path, i % 3 == 0 ? BRANCH : SIMPLE SIMPLE "\n/* more */\n");
    }
}

static void any_number_of_threads_says_the_same(void **state)
{
    Rig *rig = *state;
    AnalysisFiles files = of(rig);
    Bytes texts[2];

    put_many(rig, 3000);
    files.no_cache = true;
    for (size_t i = 0; i < 2; i++) {
        bytes_init(&texts[i], RIG_BYTES);
        files.threads = i == 0 ? 1 : 5;
        assert_int_equal(rig_complexity(rig, &files), 0);
        assert_int_equal(rig->report.n_files, 3000);
        assert_int_equal(complexity_report_write(&rig->report, COMPLEXITY_JSON, &texts[i]), 0);
    }
    assert_true(span_equals(bytes_span(&texts[0]), bytes_span(&texts[1])));
    bytes_deinit(&texts[0]);
    bytes_deinit(&texts[1]);
}

/* Large ones are one thread's; that changes nothing, and none is forgotten. */
static void large_files_are_measured_beside_small_ones(void **state)
{
    Rig *rig = *state;
    AnalysisFiles files = of(rig);

    files.threads = 2;
    put_many(rig, 50);
    put_repeated(rig, "big1.c", BRANCH, 23000);
    put_repeated(rig, "big2.c", BRANCH, 24000);
    put_repeated(rig, "big3.c", SIMPLE, 41000);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(rig_complexity(rig, &files), 0);
        assert_int_equal(rig->report.n_files, 53);
        assert_int_equal(atomic_load(&rig->watch.done), 53);
        assert_int_equal(cyclomatic_of(rig, "big2.c"), 2);
    }
    /* Their sizes are not known before they are read. */
    if (rig_try_git("/tmp", "--version") != 0) {
        skip();
    }
    rig_init_repository(rig);
    rig_git(rig, "commit -q --allow-empty -m one");
    files.since = "HEAD";
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(rig->report.n_files, 53);
}

static void there_are_no_more_threads_than_cores(void **state)
{
    AnalysisFiles files = {.threads = 64};

    (void)state;
    assert_true(analysis_threads(&files, 1000) <= io_work_cores());
    assert_int_equal(analysis_threads(&files, 1), 1);
    files.threads = 1;
    assert_int_equal(analysis_threads(&files, 1000), 1);
    files.threads = 0;
    assert_true(analysis_threads(&files, 1000) >= 1);
}

/* A job, and how far it comes until it is cancelled. */
typedef struct Cancelling {
    Rig *rig;
    AnalysisFiles files;
    size_t read; /* so many are open or have been */
} Cancelling;

static void cancel_or_run(void *context, size_t i)
{
    Cancelling *c = context;

    if (i == 1) {
        assert_int_equal(rig_complexity(c->rig, &c->files), ANALYSIS_E_CANCELLED);
        atomic_store(&c->rig->watch.read, SIZE_MAX);
        return;
    }
    while (atomic_load(&c->rig->watch.read) < c->read) {
        (void)usleep(100);
    }
    atomic_store(&c->rig->watch.cancel, true);
}

static void a_job_can_be_stopped_before_and_in_the_middle(void **state)
{
    Rig *rig = *state;
    Cancelling c = {.rig = rig, .files = of(rig), .read = 20};

    c.files.no_cache = true;
    put_many(rig, 3000);
    io_work_fan(2, cancel_or_run, &c);
    assert_true(atomic_load(&rig->watch.done) >= 18);
    assert_true(atomic_load(&rig->watch.done) < 3000);
    /* Before: not even the folders are read to their end. */
    assert_int_equal(rig_complexity(rig, &c.files), ANALYSIS_E_CANCELLED);
    assert_int_equal(atomic_load(&rig->watch.total), 0);
}

/* It takes the parser half a second, and is stopped as soon as it is open. */
static void one_large_file_can_be_stopped_in_the_middle(void **state)
{
    Rig *rig = *state;
    Cancelling c = {.rig = rig, .files = of(rig), .read = 1};

    c.files.no_cache = true;
    put_repeated(rig, "big.c", BRANCH, 100000);
    io_work_fan(2, cancel_or_run, &c);
    assert_int_equal(atomic_load(&rig->watch.total), 1);
    assert_int_equal(atomic_load(&rig->watch.done), 0);
}

/* ---- since ---- */

static void assert_changes(const Rig *rig, size_t added, size_t removed, size_t worse,
                           size_t better)
{
    ComplexityDelta delta = COMPLEXITY_DELTA_NULL;

    assert_int_equal(complexity_delta_init(&delta, &rig->before, &rig->report), 0);
    assert_int_equal(delta.n_of[COMPLEXITY_ADDED], added);
    assert_int_equal(delta.n_of[COMPLEXITY_REMOVED], removed);
    assert_int_equal(delta.n_of[COMPLEXITY_WORSE], worse);
    assert_int_equal(delta.n_of[COMPLEXITY_BETTER], better);
    complexity_delta_deinit(&delta);
}

static void changes_since_a_revision_are_told_by_function(void **state)
{
    Rig *rig = *state;
    AnalysisFiles files = of(rig);
    char sub[512];

    if (rig_try_git("/tmp", "--version") != 0) {
        skip();
    }
    rig_init_repository(rig);
    rig_put(rig, "top.c", SIMPLE);
    rig_put(rig, "src/worse.c", SIMPLE);
    rig_put(rig, "src/better.c", BRANCH);
    rig_put(rig, "src/gone.c", SIMPLE);
    rig_put(rig, "src/same.c", SIMPLE);
    rig_put(rig, "src/oldname.c", "int one(int a) { return a; }\nint two(void) { return 2; }\n");
    rig_put(rig, "src/notes.md", "x\n");
    rig_commit(rig, "one");
    rig_put(rig, "top.c", BRANCH);
    rig_put(rig, "src/worse.c", BRANCH);
    rig_put(rig, "src/better.c", SIMPLE);
    rig_path(rig, "src/gone.c", sub);
    assert_int_equal(unlink(sub), 0);
    rig_git(rig, "mv src/oldname.c src/new.c");
    rig_put(rig, "src/notes.md", "y\n");
    rig_put(rig, "src/untracked.c", SIMPLE SIMPLE);
    rig_path(rig, "src", sub);
    files.path = sub;
    files.since = "HEAD";
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_changes(rig, 2, 1, 1, 1);
    assert_null(rig_file(rig, "same.c"));
    assert_non_null(rig_file(rig, "new.c"));
    assert_int_equal(atomic_load(&rig->watch.done), atomic_load(&rig->watch.total));

    /* All of the work tree, in pieces for several threads. */
    files = of(rig);
    files.since = "HEAD";
    files.threads = 3;
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_changes(rig, 2, 1, 2, 1);
}

static void a_revision_that_is_not_there_is_said(void **state)
{
    Rig *rig = *state;
    AnalysisFiles files = of(rig);

    if (rig_try_git("/tmp", "--version") != 0) {
        skip();
    }
    rig_put(rig, "a.c", SIMPLE);
    files.since = "HEAD";
    assert_int_equal(rig_complexity(rig, &files), ANALYSIS_E_GIT);
    assert_string_equal(rig->diag.field, "repository");
    rig_init_repository(rig);
    rig_commit(rig, "one");
    files.since = "nothing";
    assert_int_equal(rig_complexity(rig, &files), ANALYSIS_E_GIT);
    assert_string_equal(rig->diag.message, "unknown revision 'nothing'");
    assert_string_equal(rig->diag.field, "revision");
    files.since = "--output=/tmp/x";
    assert_int_equal(rig_complexity(rig, &files), ANALYSIS_E_GIT);
    files.since = "HEAD";
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(rig->report.n_files, 0);
}

static void many_old_states_are_read_by_several_children(void **state)
{
    Rig *rig = *state;
    AnalysisFiles files = of(rig);

    if (rig_try_git("/tmp", "--version") != 0) {
        skip();
    }
    rig_init_repository(rig);
    put_many(rig, 100);
    rig_commit(rig, "one");
    for (int i = 0; i < 100; i++) {
        char path[64];

        (void)snprintf(path, sizeof(path), "d%d/f%d.c", i % 7, i);
        rig_put(rig, path, "int f(int a) { while (a) { if (a > 2) { a--; } } return a; }\n");
    }
    files.since = "HEAD";
    files.threads = 4;
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(rig->report.n_files, 100);
    assert_int_equal(rig->before.n_files, 100);
    assert_int_equal(rig->before.summary.total_functions, 34 + 66 * 2);
}

/* ---- memory ---- */

static int measure_once(void *context)
{
    Rig *rig = context;
    AnalysisFiles files = of(rig);
    int r;

    files.no_cache = true;
    r = rig_complexity(rig, &files);
    /* Where the parser has no memory it is the file that is given up. */
    if (r == 0 && rig->report.n_files < 2) {
        assert_int_equal(rig->report.n_skipped, 4 - rig->report.n_files);
        r = -ENOMEM;
    }
    complexity_report_deinit(&rig->report);
    complexity_report_deinit(&rig->before);
    return r;
}

static void every_allocation_may_fail(void **state)
{
    Rig *rig = *state;

    rig_put(rig, "a.c", BRANCH);
    rig_put(rig, "sub/b.c", SIMPLE);
    rig_put(rig, "sub/.gitignore", "x.c\n");
    rig_put(rig, "sub/x.c", SIMPLE);
    rig_put(rig, "vendor/x.c", SIMPLE);
    test_oom_sweep(measure_once, rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_left_out_is_listed_with_its_reason, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(globs_and_toolchains_choose, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(rules_above_the_folder_count, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_users_own_rules_count_in_a_work_tree, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_file_that_is_named_is_measured_whatever_it_is, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_file_that_is_named_and_not_measured_is_told, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_large_file_of_no_language_is_no_matter, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_is_said, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_glob_that_says_nothing_is_said, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_file_with_the_same_stamp_is_not_read_again, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(other_bytes_of_the_same_size_and_time_are_seen, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(two_seconds_make_a_file_old, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(
            a_file_that_takes_too_much_memory_is_skipped_and_that_is_kept, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_young_file_is_always_read, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_part_of_the_project_leaves_the_rest_in_the_cache,
                                        rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(a_damaged_cache_is_none, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(increments_are_measured_though_the_cache_has_none,
                                        rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(any_number_of_threads_says_the_same, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_job_can_be_stopped_before_and_in_the_middle, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(one_large_file_can_be_stopped_in_the_middle, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(large_files_are_measured_beside_small_ones, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(there_are_no_more_threads_than_cores, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(changes_since_a_revision_are_told_by_function, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_revision_that_is_not_there_is_said, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(many_old_states_are_read_by_several_children, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, rig_setup, rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
