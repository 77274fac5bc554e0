#include "cli/cmd_analyze_picture.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "io/error_text.h"
#include "io/place.h"
#include "io/tree.h"

/* Of one file: ten thousand rectangles and as many points, with long names. */
#define PICTURE_BYTES ((size_t)256 * 1024 * 1024)

bool analyze_wants_picture(const AnalyzeAsked *asked)
{
    return asked->svg != NULL || asked->html != NULL;
}

uint32_t analyze_max_cognitive(const ComplexityFileRow *row)
{
    uint32_t max = 0;

    for (size_t i = 0; i < row->file.n_functions; i++) {
        if (row->file.functions[i].cognitive > max) {
            max = row->file.functions[i].cognitive;
        }
    }
    return max;
}

int analyze_find_churn(const Churn *churn, Span prefix, Span path, const ChurnFile **ret)
{
    CLEANUP(bytes_deinit) Bytes whole = BYTES_NULL;
    int r;

    bytes_init(&whole, prefix.n + path.n + 1);
    r = bytes_append_span(&whole, prefix);
    r = r != 0 ? r : bytes_append_span(&whole, path);
    if (r != 0) {
        return err_fold(r);
    }
    *ret = churn_file_find(churn, bytes_span(&whole));
    return 0;
}

/* ---- where it goes ---- */

static bool is_stdout(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

bool analyze_wants_text(const AnalyzeAsked *asked)
{
    return !is_stdout(asked->svg) && !is_stdout(asked->html);
}

/* A file to be, as its folder and its name there. */
typedef struct PicturePlace {
    const char *folder;
    const char *name;
} PicturePlace;

/* 0 or an exit status, explained. */
static int place_init(PicturePlace *place, AnalyzeAsked *asked, const char *path)
{
    size_t n_folder = io_place_folder_length(path);
    Span folder = arena_copy(&asked->arena, n_folder == 0 ? SPAN(".") : span_make(path, n_folder));

    if (folder.p == NULL) {
        return analyze_no_memory(asked->args);
    }
    *place = (PicturePlace){folder.p, path + n_folder};
    return place->name[0] != '\0'
               ? 0
               : analyze_fail(asked->args, "cannot write '%s': it names no file", path);
}

static int place_explain(AnalyzeAsked *asked, const char *path, int r, const Diag *diag)
{
    return r == 0 ? 0
                  : analyze_fail(asked->args, "cannot write '%s': %s", path,
                                 r > 0 ? diag->message : io_error_text(-r));
}

/* Tries the place; without a path, or for stdout, there is none. */
static int place_check(PicturePlace *place, AnalyzeAsked *asked, const char *path)
{
    Diag diag = DIAG_NULL;
    int status;

    if (path == NULL || is_stdout(path)) {
        return 0;
    }
    status = place_init(place, asked, path);
    return status != 0
               ? status
               : place_explain(asked, path, io_tree_try(place->folder, place->name, &diag), &diag);
}

/* Both are there, so that links can be resolved. 0, a negative errno. */
static int places_are_same(const PicturePlace *a, const PicturePlace *b, bool *ret)
{
    CLEANUP(mem_freep) char *one = NULL;
    CLEANUP(mem_freep) char *other = NULL;
    int r = 0;

    *ret = false;
    if (a->name == NULL || b->name == NULL || !io_place_is_same_name(a->name, b->name)) {
        return 0;
    }
    r = io_place_real(&one, a->folder);
    r = r != 0 ? r : io_place_real(&other, b->folder);
    *ret = r == 0 && strcmp(one, other) == 0;
    return r;
}

/* Only one thing at a time can be written to stdout. */
static int check_stdout(const AnalyzeAsked *asked)
{
    if (is_stdout(asked->svg) && is_stdout(asked->html)) {
        return cli_usage_error(asked->args, "--svg and --html cannot both go to standard output");
    }
    if (!analyze_wants_text(asked) && asked->format.n > 0) {
        return cli_usage_error(asked->args,
                               "--%s - and --format %s cannot both go to standard output",
                               is_stdout(asked->svg) ? "svg" : "html", asked->format.p);
    }
    return 0;
}

int analyze_picture_check(AnalyzeAsked *asked)
{
    PicturePlace svg = {.name = NULL};
    PicturePlace html = {.name = NULL};
    bool is_same = false;
    int status = check_stdout(asked);
    int r;

    status = status != 0 ? status : place_check(&svg, asked, asked->svg);
    status = status != 0 ? status : place_check(&html, asked, asked->html);
    if (status != 0) {
        return status;
    }
    r = places_are_same(&svg, &html, &is_same);
    if (r != 0) {
        return analyze_fail(asked->args, "cannot look at '%s': %s", asked->svg, io_error_text(-r));
    }
    return is_same ? cli_usage_error(asked->args, "--svg and --html are the same file, '%s'",
                                     asked->svg)
                   : 0;
}

/* ---- writing ---- */

/* Replaces the file at path as a whole. */
static int picture_save(AnalyzeAsked *asked, const char *path, Span content)
{
    PicturePlace place;
    Diag diag = DIAG_NULL;
    int status;

    if (is_stdout(path)) {
        /* What cannot be written is told when the program ends (main.c). */
        (void)fwrite(content.p, 1, content.n, stdout);
        return 0;
    }
    status = place_init(&place, asked, path);
    return status != 0
               ? status
               : place_explain(asked, path,
                               io_tree_write(place.folder, place.name, content, false, true, &diag),
                               &diag);
}

/* Has any file an area? */
static bool page_shows_something(const ChartPage *page)
{
    for (size_t i = 0; i < page->n_files; i++) {
        if (page->files[i].figures[page->area] > 0) {
            return true;
        }
    }
    return false;
}

static int picture_write(AnalyzeAsked *asked, const ChartPage *page)
{
    static int (*const writes[])(const ChartPage *page, Bytes *out) = {chart_page_write_svg,
                                                                       chart_page_write_html};
    const char *paths[] = {asked->svg, asked->html};
    int status = 0;

    if (!page_shows_something(page)) {
        (void)fflush(stdout); /* the reason comes behind the tables */
        return analyze_fail(asked->args,
                            "there is nothing to draw, and nothing was written: '%s' has no lines "
                            "of code (a map shows files that are there, not those of a history)",
                            asked->files.path);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(paths) && status == 0; i++) {
        CLEANUP(bytes_deinit) Bytes out = BYTES_NULL;
        int r;

        if (paths[i] == NULL) {
            continue;
        }
        bytes_init(&out, PICTURE_BYTES);
        r = writes[i](page, &out);
        status = r == 0 ? picture_save(asked, paths[i], bytes_span(&out))
                        : analyze_fail(asked->args, "cannot draw '%s': %s", paths[i],
                                       r > 0 ? "it is too large" : io_error_text(-r));
    }
    return status;
}

/* ---- what is drawn ---- */

/* The title, and what is put together for a page until it is written. */
typedef struct Picture {
    AnalyzeAsked *asked;
    ChartPage page;
    ChartFile *files;
    Bytes title;
    Bytes subtitle;
} Picture;

static void picture_deinit(Picture *picture)
{
    picture->files = mem_free(picture->files);
    bytes_deinit(&picture->title);
    bytes_deinit(&picture->subtitle);
}

/* "; 1 commit": so many, and the word for them. */
static int append_count(Bytes *out, const char *before, uint64_t n, const char *one,
                        const char *many)
{
    return bytes_append_format(out, "%s%llu %s", before, (unsigned long long)n,
                               n == 1 ? one : many);
}

/* 0, -ENOMEM. */
static int picture_init(Picture *picture, AnalyzeAsked *asked, const char *what,
                        const ComplexityReport *report)
{
    const ComplexitySummary *sum = &report->summary;
    Bytes *out = &picture->subtitle;
    int r;

    *picture = (Picture){.asked = asked};
    bytes_init(&picture->title, (size_t)1024 * 1024);
    bytes_init(out, 4096);
    picture->files = mem_alloc_array(report->n_files + 1, sizeof(*picture->files));
    r = picture->files == NULL
            ? err_raise(-ENOMEM)
            : bytes_append_format(&picture->title, "%s: %s", what, asked->files.path);
    r = r != 0 ? r : append_count(out, "", sum->total_files, "file", "files");
    r = r != 0 ? r : append_count(out, ", ", sum->total_functions, "function", "functions");
    r = r != 0 ? r : append_count(out, ", ", sum->code_lines, "code line", "code lines");
    return r > 0 ? err_raise(-E2BIG) : r;
}

/* "; 3 commits in 30 days": without any, all that is drawn is calm, and this says why. */
static int picture_say_period(Picture *picture, const Churn *churn)
{
    const ChurnOptions *options = &picture->asked->history.options;
    int r = append_count(&picture->subtitle, "; ", churn_n_commits(churn), "commit", "commits");

    return r != 0 || options->period_days <= 0
               ? r
               : append_count(&picture->subtitle, " in ", (uint64_t)options->period_days, "day",
                              "days");
}

static int picture_finish(Picture *picture, int r, size_t n_files)
{
    if (r != 0) {
        return r < 0 ? analyze_fail(picture->asked->args, "cannot draw: %s", io_error_text(-r))
                     : analyze_fail(picture->asked->args, "cannot draw: a name is too long");
    }
    picture->page.title = bytes_span(&picture->title);
    picture->page.subtitle = bytes_span(&picture->subtitle);
    picture->page.files = picture->files;
    picture->page.n_files = n_files;
    return picture_write(picture->asked, &picture->page);
}

int analyze_picture_complexity(AnalyzeAsked *asked, const ComplexityReport *report)
{
    static const ChartFigure figures[] = {
        {"code lines", 0},
        {"highest cognitive complexity", 0},
        {"highest cyclomatic complexity", 0},
        {"cognitive sum", 0},
        {"functions", 0},
        {"score", 2},
    };
    CLEANUP(picture_deinit) Picture picture = {.asked = asked};
    double warning = report->options.thresholds.cognitive_warning;
    double error = report->options.thresholds.cognitive_error;
    int r = picture_init(&picture, asked, "Complexity", report);

    picture.page =
        (ChartPage){.figures = figures,
                    .n_figures = TW_ARRAY_SIZE(figures),
                    .area = 0,
                    .heat = 1,
                    .heat_edges = {(double)(int)(warning / 4), (double)(int)(warning / 2), warning,
                                   (double)(int)((warning + error) / 2), error, 2 * error}};
    for (size_t i = 0; i < report->n_files && r == 0; i++) {
        const ComplexityFileRow *row = report->ranked[i];

        picture.files[i] = (ChartFile){row->path,
                                       {row->file.code_lines, analyze_max_cognitive(row),
                                        row->max_cyclomatic, (double)row->sum_cognitive,
                                        (double)row->file.n_functions, row->total_score}};
    }
    return picture_finish(&picture, r, report->n_files);
}

static const double rank_edges[CHART_N_HEATS - 1] = {0, 0.2, 0.4, 0.6, 0.8, 0.95};

int analyze_picture_churn(AnalyzeAsked *asked, const ComplexityReport *report, const Churn *churn,
                          Span prefix)
{
    static const ChartFigure figures[] = {{"code lines", 0},
                                          {"rank of change", 2},
                                          {"commits", 0},
                                          {"lines changed", 0},
                                          {"authors", 0}};
    CLEANUP(picture_deinit) Picture picture = {.asked = asked};
    int r = picture_init(&picture, asked, "Churn", report);

    r = r != 0 ? r : picture_say_period(&picture, churn);
    picture.page =
        (ChartPage){.figures = figures, .n_figures = TW_ARRAY_SIZE(figures), .area = 0, .heat = 1};
    memcpy(picture.page.heat_edges, rank_edges, sizeof(rank_edges));
    for (size_t i = 0; i < report->n_files && r == 0; i++) {
        const ComplexityFileRow *row = &report->files[i];
        const ChurnFile *file = NULL;

        r = analyze_find_churn(churn, prefix, row->path, &file);
        picture.files[i] = (ChartFile){row->path, {row->file.code_lines}};
        if (file != NULL) {
            picture.files[i] =
                (ChartFile){row->path,
                            {row->file.code_lines, file->robust_rank, file->commits,
                             (double)(file->additions + file->deletions), (double)file->n_authors}};
        }
    }
    return picture_finish(&picture, r, report->n_files);
}

static ChartFile hotspot_file(const ComplexityFileRow *row, const ChurnFile *churn, double score)
{
    ChartFile file = {row->path, {row->file.code_lines, score, 0, (double)row->sum_cognitive, 0}};

    if (churn != NULL) {
        file.figures[2] = churn->commits;
        file.figures[4] = (double)(churn->additions + churn->deletions);
    }
    return file;
}

/* The hotspots, in their order, and behind them the files that are none. */
static int picture_add_hotspots(Picture *picture, const ComplexityReport *report,
                                const Churn *churn, Span prefix, const AnalysisHotspots *hotspots)
{
    CLEANUP(mem_freep) bool *is_hot = mem_alloc_array(report->n_files + 1, sizeof(*is_hot));
    size_t n = 0;
    int r = 0;

    if (is_hot == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < hotspots->n && r == 0; i++) {
        const AnalysisHotspot *spot = &hotspots->rows[i];

        is_hot[spot->file - report->files] = true;
        picture->files[n++] = hotspot_file(spot->file, spot->churn, spot->score);
    }
    for (size_t i = 0; i < report->n_files && r == 0; i++) {
        const ChurnFile *changes = NULL;

        if (!is_hot[i]) {
            r = analyze_find_churn(churn, prefix, report->files[i].path, &changes);
            picture->files[n++] = hotspot_file(&report->files[i], changes, 0);
        }
    }
    return r;
}

int analyze_picture_hotspots(AnalyzeAsked *asked, const ComplexityReport *report,
                             const Churn *churn, Span prefix, const AnalysisHotspots *hotspots)
{
    static const ChartFigure figures[] = {{"code lines", 0},
                                          {"hotspot score", 2},
                                          {"commits", 0},
                                          {"cognitive sum", 0},
                                          {"lines changed", 0}};
    CLEANUP(picture_deinit) Picture picture = {.asked = asked};
    int r = picture_init(&picture, asked, "Hotspots", report);

    r = r != 0 ? r : picture_say_period(&picture, churn);
    r = r != 0 ? r : picture_add_hotspots(&picture, report, churn, prefix, hotspots);
    picture.page = (ChartPage){.figures = figures,
                               .n_figures = TW_ARRAY_SIZE(figures),
                               .area = 0,
                               .heat = 1,
                               .has_scatter = true,
                               .x = 2,
                               .y = 3};
    memcpy(picture.page.heat_edges, rank_edges, sizeof(rank_edges));
    return picture_finish(&picture, r, report->n_files);
}
