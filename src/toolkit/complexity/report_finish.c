/* What is known only when all files are there: orders, sums, percentiles, violations. */
#include "toolkit/complexity/report.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/sort.h"

#define REPORT_HOTSPOTS 10

/* What a point over a threshold is taken to cost. */
#define REPORT_ERROR_MINUTES   30
#define REPORT_WARNING_MINUTES 15

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static int compare_files(const void *a, const void *b)
{
    return span_compare(((const ComplexityFileRow *)a)->path, ((const ComplexityFileRow *)b)->path);
}

static int compare_skipped(const void *a, const void *b)
{
    const ComplexitySkipped *x = a;
    const ComplexitySkipped *y = b;
    int c = span_compare(x->path, y->path);

    return c != 0 ? c : (x->reason > y->reason) - (x->reason < y->reason);
}

static int compare_ranked(const void *a, const void *b)
{
    const ComplexityFileRow *x = *(const ComplexityFileRow *const *)a;
    const ComplexityFileRow *y = *(const ComplexityFileRow *const *)b;

    if (x->total_score != y->total_score) {
        return x->total_score < y->total_score ? 1 : -1;
    }
    return span_compare(x->path, y->path);
}

/* Path, then place. The functions of one file are one array in order of place, so their pointers
 * tell the order of those that begin at the same byte too. */
static int compare_place(const ComplexityRow *x, const ComplexityRow *y)
{
    if (x->file != y->file) {
        return x->file < y->file ? -1 : 1;
    }
    return (x->function > y->function) - (x->function < y->function);
}

static int compare_worst(const void *a, const void *b)
{
    const ComplexityRow *x = a;
    const ComplexityRow *y = b;
    uint64_t sum_x = (uint64_t)x->cyclomatic + x->function->cognitive;
    uint64_t sum_y = (uint64_t)y->cyclomatic + y->function->cognitive;

    if (sum_x != sum_y) {
        return sum_x < sum_y ? 1 : -1;
    }
    return compare_place(x, y);
}

static int compare_cyclomatic(const void *a, const void *b)
{
    const ComplexityRow *x = a;
    const ComplexityRow *y = b;

    if (x->cyclomatic != y->cyclomatic) {
        return x->cyclomatic < y->cyclomatic ? 1 : -1;
    }
    return compare_place(x, y);
}

static int compare_violations(const void *a, const void *b)
{
    const ComplexityViolation *x = a;
    const ComplexityViolation *y = b;
    int c;

    if (x->is_error != y->is_error) {
        return x->is_error ? -1 : 1;
    }
    if (x->value != y->value) {
        return x->value < y->value ? 1 : -1;
    }
    c = compare_place(&x->row, &y->row);
    return c != 0 ? c : (int)x->is_cognitive - (int)y->is_cognitive;
}

static int report_sort(const ComplexityReport *report, void *array, size_t n, size_t size,
                       int (*compare)(const void *, const void *))
{
    /* Arithmetic wants a pointer even for nothing. */
    return n > 1 ? err_pass(sort_items(array, n, size, compare, report->options.stop)) : 0;
}

/* In a loop over functions, at the i-th. */
static bool report_is_stopped(const ComplexityReport *report, size_t i)
{
    return stop_is_asked_at(report->options.stop, i);
}

static int report_rank_files(ComplexityReport *report)
{
    int r =
        report_sort(report, report->files, report->n_files, sizeof(*report->files), compare_files);

    if (r != 0) {
        return err_pass(r);
    }
    report->ranked = arena_alloc_array(&report->arena, report->n_files, sizeof(*report->ranked));
    if (report->ranked == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < report->n_files; i++) {
        report->ranked[i] = &report->files[i];
    }
    return err_pass(report_sort(report, report->ranked, report->n_files, sizeof(*report->ranked),
                                compare_ranked));
}

static int report_list_functions(ComplexityReport *report)
{
    size_t n = 0;

    for (size_t i = 0; i < report->n_files; i++) {
        n += report->files[i].file.n_functions;
    }
    report->functions = arena_alloc_array(&report->arena, n, sizeof(*report->functions));
    if (report->functions == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < report->n_files; i++) {
        const ComplexityFileRow *row = &report->files[i];

        for (size_t j = 0; j < row->file.n_functions; j++) {
            const ComplexityFunction *f = &row->file.functions[j];

            if (report_is_stopped(report, j)) {
                return err_raise(-ECANCELED);
            }
            report->functions[report->n_functions++] = (ComplexityRow){
                .path = row->path,
                .function = f,
                .file = (uint32_t)i,
                .cyclomatic = report->options.modified ? f->cyclomatic_modified : f->cyclomatic,
            };
        }
    }
    return err_pass(
        report_sort(report, report->functions, n, sizeof(*report->functions), compare_worst));
}

/* 1 and *ret, or 0 if the value is within both thresholds. */
static size_t report_violation(uint32_t value, uint32_t warning, uint32_t error,
                               ComplexityViolation *ret)
{
    if (value <= error && value <= warning) {
        return 0;
    }
    ret->is_error = value > error;
    ret->value = value;
    ret->threshold = ret->is_error ? error : warning;
    return 1;
}

static size_t report_violations_of(const ComplexityReport *report, const ComplexityRow *row,
                                   ComplexityViolation ret[2])
{
    const ComplexityThresholds *t = &report->options.thresholds;
    size_t n;

    ret[0] = (ComplexityViolation){.row = *row};
    n = report_violation(row->cyclomatic, t->cyclomatic_warning, t->cyclomatic_error, &ret[0]);
    ret[n] = (ComplexityViolation){.row = *row, .is_cognitive = true};
    return n + report_violation(row->function->cognitive, t->cognitive_warning, t->cognitive_error,
                                &ret[n]);
}

static int report_find_violations(ComplexityReport *report)
{
    ComplexitySummary *s = &report->summary;
    ComplexityViolation found[2];
    uint64_t minutes = 0;
    size_t n = 0;

    for (size_t i = 0; i < report->n_functions; i++) {
        n += report_violations_of(report, &report->functions[i], found);
    }
    report->violations = arena_alloc_array(&report->arena, n, sizeof(*report->violations));
    if (report->violations == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < report->n_functions; i++) {
        size_t n_found = report_violations_of(report, &report->functions[i], found);

        if (report_is_stopped(report, i)) {
            return err_raise(-ECANCELED);
        }
        for (size_t j = 0; j < n_found; j++) {
            bool is_error = found[j].is_error;

            report->violations[report->n_violations++] = found[j];
            s->n_errors += is_error;
            s->n_warnings += !is_error;
            minutes += (uint64_t)(found[j].value - found[j].threshold) *
                       (is_error ? REPORT_ERROR_MINUTES : REPORT_WARNING_MINUTES);
        }
    }
    s->technical_debt_hours = (double)minutes / 60;
    return err_pass(report_sort(report, report->violations, n, sizeof(*report->violations),
                                compare_violations));
}

static int report_find_hotspots(ComplexityReport *report)
{
    uint32_t warning = report->options.thresholds.cyclomatic_warning;
    ComplexityRow *rows;
    size_t n = 0;

    for (size_t i = 0; i < report->n_functions; i++) {
        n += report->functions[i].cyclomatic > warning;
    }
    rows = arena_alloc_array(&report->arena, n, sizeof(*rows));
    if (rows == NULL) {
        return err_raise(-ENOMEM);
    }
    report->hotspots = rows;
    for (size_t i = 0; i < report->n_functions; i++) {
        if (report->functions[i].cyclomatic > warning) {
            *rows++ = report->functions[i];
        }
    }
    report->n_hotspots = n < REPORT_HOTSPOTS ? n : REPORT_HOTSPOTS;
    return err_pass(
        report_sort(report, report->hotspots, n, sizeof(*report->hotspots), compare_cyclomatic));
}

typedef struct ReportSpread {
    double average;
    uint32_t median;
    uint32_t p90;
    uint32_t p99;
    uint32_t max;
} ReportSpread;

/* Sorts the values; n is not 0. */
static int report_spread(const ComplexityReport *report, uint32_t *values, size_t n,
                         ReportSpread *ret)
{
    uint64_t sum = 0;
    int r;

    for (size_t i = 0; i < n; i++) {
        sum += values[i];
    }
    r = report_sort(report, values, n, sizeof(*values), compare_u32);
    *ret = (ReportSpread){
        .average = (double)sum / (double)n,
        .median = values[n / 2],
        .p90 = values[n * 9 / 10],
        .p99 = values[n * 99 / 100],
        .max = values[n - 1],
    };
    return err_pass(r);
}

static int report_sum_functions(ComplexityReport *report)
{
    ComplexitySummary *s = &report->summary;
    size_t n = report->n_functions;
    CLEANUP(mem_freep) uint32_t *values = NULL;
    ReportSpread spread;
    int r;

    s->total_functions = n;
    if (n == 0) {
        return 0;
    }
    values = mem_alloc_array(n, sizeof(*values));
    if (values == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        values[i] = report->functions[i].cyclomatic;
    }
    r = report_spread(report, values, n, &spread);
    if (r != 0) {
        return err_pass(r);
    }
    s->avg_cyclomatic = spread.average;
    s->median_cyclomatic = spread.median;
    s->p90_cyclomatic = spread.p90;
    s->p99_cyclomatic = spread.p99;
    s->max_cyclomatic = spread.max;
    for (size_t i = 0; i < n; i++) {
        values[i] = report->functions[i].function->cognitive;
    }
    r = report_spread(report, values, n, &spread);
    if (r != 0) {
        return err_pass(r);
    }
    s->avg_cognitive = spread.average;
    s->median_cognitive = spread.median;
    s->p90_cognitive = spread.p90;
    s->p99_cognitive = spread.p99;
    s->max_cognitive = spread.max;
    return 0;
}

static void report_sum_files(ComplexityReport *report)
{
    ComplexitySummary *s = &report->summary;

    s->total_files = report->n_files;
    for (size_t i = 0; i < report->n_files; i++) {
        const ComplexityFile *file = &report->files[i].file;

        s->lines += file->lines;
        s->code_lines += file->code_lines;
        s->comment_lines += file->comment_lines;
        s->n_with_parse_errors += file->n_errors > 0;
    }
}

int complexity_report_finish(ComplexityReport *report)
{
    static int (*const steps[])(ComplexityReport *) = {
        report_rank_files,    report_list_functions, report_find_violations,
        report_find_hotspots, report_sum_functions,
    };

    int r = report_sort(report, report->skipped, report->n_skipped, sizeof(*report->skipped),
                        compare_skipped);

    for (size_t i = 0; i < TW_ARRAY_SIZE(steps) && r == 0; i++) {
        r = steps[i](report);
    }
    if (r == 0) {
        report_sum_files(report);
    }
    return err_pass(r);
}
