#include "toolkit/complexity/report.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

const ComplexityThresholds complexity_thresholds_default = {
    .cyclomatic_warning = 10,
    .cyclomatic_error = 20,
    .cognitive_warning = 15,
    .cognitive_error = 30,
};

static const char *const format_names[COMPLEXITY_N_FORMATS] = {
    [COMPLEXITY_SUMMARY] = "summary",   [COMPLEXITY_FULL] = "full",
    [COMPLEXITY_JSON] = "json",         [COMPLEXITY_SARIF] = "sarif",
    [COMPLEXITY_CSV] = "csv",           [COMPLEXITY_CHECKSTYLE] = "checkstyle",
    [COMPLEXITY_MARKDOWN] = "markdown",
};

static const char *const skip_names[COMPLEXITY_N_SKIPS] = {
    [COMPLEXITY_SKIP_IGNORED] = "ignored",
    [COMPLEXITY_SKIP_EXCLUDED] = "excluded",
    [COMPLEXITY_SKIP_VENDORED] = "vendored",
    [COMPLEXITY_SKIP_GENERATED] = "generated",
    [COMPLEXITY_SKIP_MINIFIED] = "minified",
    [COMPLEXITY_SKIP_BINARY] = "binary",
    [COMPLEXITY_SKIP_TOO_LARGE] = "too-large",
    [COMPLEXITY_SKIP_TOO_COSTLY] = "too-costly",
    [COMPLEXITY_SKIP_LINK] = "link",
    [COMPLEXITY_SKIP_UNREADABLE] = "unreadable",
    [COMPLEXITY_SKIP_SPECIAL] = "special",
    [COMPLEXITY_SKIP_NO_LANGUAGE] = "no-language",
    [COMPLEXITY_SKIP_OTHER_TOOLCHAIN] = "other-toolchain",
    [COMPLEXITY_SKIP_FAILED] = "failed",
};

bool complexity_format_parse(Span name, ComplexityFormat *ret)
{
    size_t i;

    if (!text_is_one_of(name, format_names, COMPLEXITY_N_FORMATS, &i)) {
        return false;
    }
    *ret = (ComplexityFormat)i;
    return true;
}

const char *complexity_format_name(ComplexityFormat format)
{
    return format_names[format];
}

const char *complexity_skip_name(ComplexitySkip reason)
{
    return skip_names[reason];
}

static uint32_t thresholds_warning(uint32_t maximum)
{
    uint32_t warning = (uint32_t)((uint64_t)maximum * 3 / 4);

    return warning > 0 ? warning : 1;
}

ComplexityThresholds complexity_thresholds(uint32_t max_cyclomatic, uint32_t max_cognitive)
{
    ComplexityThresholds t = complexity_thresholds_default;

    if (max_cyclomatic > 0) {
        t.cyclomatic_error = max_cyclomatic;
        t.cyclomatic_warning = thresholds_warning(max_cyclomatic);
    }
    if (max_cognitive > 0) {
        t.cognitive_error = max_cognitive;
        t.cognitive_warning = thresholds_warning(max_cognitive);
    }
    return t;
}

double complexity_score(uint32_t max_cyclomatic, double avg_cognitive, size_t n_functions)
{
    double c = max_cyclomatic < 50 ? (double)max_cyclomatic : 50;
    double a = avg_cognitive < 100 ? avg_cognitive : 100;
    double n = n_functions < 100 ? (double)n_functions : 100;

    /* Hundredths are summed, and divided at the end, so that the result is the double that stands
     * for the two decimals: 30.92, and not the sum's 30.920000000000002. */
    return floor(4000 * c / 50 + 4000 * a / 100 + 1000 * n / 100 + 0.5) / 100;
}

void complexity_report_init(ComplexityReport *report, const ComplexityReportOptions *options)
{
    *report = COMPLEXITY_REPORT_NULL;
    report->options = *options;
    arena_init(&report->arena, COMPLEXITY_REPORT_BYTES);
}

void complexity_report_deinit(ComplexityReport *report)
{
    (void)mem_free(report->files);
    (void)mem_free(report->skipped);
    arena_deinit(&report->arena);
    *report = COMPLEXITY_REPORT_NULL;
}

/* Room for one more in an array of cap entries of size bytes. */
static int report_make_room(void **array, size_t n, size_t *cap, size_t size)
{
    size_t wanted = *cap > 0 ? *cap * 2 : 64;
    size_t n_bytes;
    void *grown;

    if (n < *cap) {
        return 0;
    }
    if (!mem_size_mul(wanted, size, &n_bytes)) {
        return err_raise(-ENOMEM);
    }
    grown = mem_realloc(*array, n_bytes);
    if (grown == NULL) {
        return err_raise(-ENOMEM);
    }
    *array = grown;
    *cap = wanted;
    return 0;
}

static int report_copy_span(Arena *arena, Span s, Span *ret)
{
    *ret = arena_copy(arena, s);
    return ret->p != NULL ? 0 : err_raise(-ENOMEM);
}

/* The last few that were copied: a file has a dozen of them, thousands of times. */
#define REPORT_CONSTRUCTS 8

static int report_keep_constructs(ComplexityReport *report, ComplexityIncrement *increments,
                                  size_t n)
{
    const char *kept[REPORT_CONSTRUCTS] = {NULL};

    for (size_t i = 0; i < n; i++) {
        const char *construct = increments[i].construct;
        size_t at = (size_t)(unsigned char)construct[0] % REPORT_CONSTRUCTS;

        if (kept[at] == NULL || strcmp(kept[at], construct) != 0) {
            kept[at] = arena_copy(&report->arena, span_from_str(construct)).p;
        }
        if (kept[at] == NULL) {
            return err_raise(-ENOMEM);
        }
        increments[i].construct = kept[at];
    }
    return 0;
}

static int report_copy_function(ComplexityReport *report, const ComplexityFunction *from,
                                ComplexityFunction *to)
{
    ComplexityIncrement *increments;
    int r;

    *to = *from;
    to->increments = NULL;
    to->n_increments = 0;
    r = report_copy_span(&report->arena, from->name, &to->name);
    if (r != 0) {
        return err_pass(r);
    }
    if (!report->options.increments || from->increments == NULL || from->n_increments == 0) {
        return 0;
    }
    increments = arena_alloc_array(&report->arena, from->n_increments, sizeof(*increments));
    if (increments == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(increments, from->increments, from->n_increments * sizeof(*increments));
    if (report_keep_constructs(report, increments, from->n_increments) != 0) {
        return err_raise(-ENOMEM);
    }
    to->increments = increments;
    to->n_increments = from->n_increments;
    return 0;
}

static int report_copy_functions(ComplexityReport *report, const ComplexityFile *from,
                                 ComplexityFile *to)
{
    ComplexityFunction *functions;

    *to = *from;
    to->functions = NULL;
    if (from->n_functions == 0) {
        return 0;
    }
    functions = arena_alloc_array(&report->arena, from->n_functions, sizeof(*functions));
    if (functions == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < from->n_functions; i++) {
        int r = stop_is_asked_at(report->options.stop, i)
                    ? err_raise(-ECANCELED)
                    : report_copy_function(report, &from->functions[i], &functions[i]);

        if (r != 0) {
            return err_pass(r);
        }
    }
    to->functions = functions;
    return 0;
}

static void report_measure_file(const ComplexityReport *report, ComplexityFileRow *row)
{
    const ComplexityFile *file = &row->file;

    for (size_t i = 0; i < file->n_functions; i++) {
        const ComplexityFunction *f = &file->functions[i];
        uint32_t cyclomatic = report->options.modified ? f->cyclomatic_modified : f->cyclomatic;

        row->max_cyclomatic = cyclomatic > row->max_cyclomatic ? cyclomatic : row->max_cyclomatic;
        row->sum_cyclomatic += cyclomatic;
        row->sum_cognitive += f->cognitive;
        row->halstead_effort += complexity_halstead_effort(&f->halstead);
    }
    if (file->n_functions > 0) {
        row->avg_cognitive = (double)row->sum_cognitive / (double)file->n_functions;
    }
    row->total_score = complexity_score(row->max_cyclomatic, row->avg_cognitive, file->n_functions);
}

int complexity_report_add(ComplexityReport *report, Span path, const ComplexityFile *file)
{
    ComplexityFileRow row = {.max_cyclomatic = 0};
    void *files = report->files;
    int r = report_make_room(&files, report->n_files, &report->cap_files, sizeof(row));

    report->files = files;
    if (r != 0) {
        return err_pass(r);
    }
    r = report_copy_span(&report->arena, path, &row.path);
    if (r != 0) {
        return err_pass(r);
    }
    r = report_copy_functions(report, file, &row.file);
    if (r != 0) {
        return err_pass(r);
    }
    report_measure_file(report, &row);
    report->files[report->n_files++] = row;
    return 0;
}

int complexity_report_skip(ComplexityReport *report, Span path, ComplexitySkip reason, Span detail)
{
    ComplexitySkipped row = {.reason = reason};
    void *skipped = report->skipped;
    int r;

    if (reason == COMPLEXITY_SKIP_IGNORED && !report->options.list_ignored) {
        report->summary.n_skipped[reason]++;
        return 0;
    }
    r = report_make_room(&skipped, report->n_skipped, &report->cap_skipped, sizeof(row));
    report->skipped = skipped;
    if (r != 0) {
        return err_pass(r);
    }
    r = report_copy_span(&report->arena, path, &row.path);
    if (r != 0) {
        return err_pass(r);
    }
    r = report_copy_span(&report->arena, detail, &row.detail);
    if (r != 0) {
        return err_pass(r);
    }
    report->skipped[report->n_skipped++] = row;
    report->summary.n_skipped[reason]++;
    return 0;
}
