#include "toolkit/complexity/delta.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/sort.h"

static const char *const change_names[COMPLEXITY_N_CHANGES] = {
    [COMPLEXITY_ADDED] = "added",
    [COMPLEXITY_REMOVED] = "removed",
    [COMPLEXITY_WORSE] = "worse",
    [COMPLEXITY_BETTER] = "better",
};

const char *complexity_change_name(ComplexityChange change)
{
    return change_names[change];
}

static int compare_identity(const ComplexityRow *x, const ComplexityRow *y)
{
    int c = span_compare(x->path, y->path);

    return c != 0 ? c : span_compare(x->function->name, y->function->name);
}

/* Of one report: functions of one name in one file are in one array, in order of place. */
static int compare_rows(const void *a, const void *b)
{
    const ComplexityRow *x = *(const ComplexityRow *const *)a;
    const ComplexityRow *y = *(const ComplexityRow *const *)b;
    int c = compare_identity(x, y);

    return c != 0 ? c : (x->function > y->function) - (x->function < y->function);
}

/* Gives n pointers to the report's rows, by path, name and place; n may be 0. */
static int delta_sorted(const ComplexityReport *report, const ComplexityRow ***ret)
{
    size_t n = report->n_functions;
    const ComplexityRow **rows = mem_alloc_array(n + 1, sizeof(ComplexityRow *));
    int r;

    if (rows == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        rows[i] = &report->functions[i];
    }
    r = sort_items(rows, n, sizeof(*rows), compare_rows, report->options.stop);
    if (r != 0) {
        (void)mem_free(rows);
        return err_pass(r);
    }
    *ret = rows;
    return 0;
}

static int64_t delta_weight(const ComplexityRow *row)
{
    return row == NULL ? 0 : (int64_t)row->cyclomatic + row->function->cognitive;
}

static int64_t delta_amount(const ComplexityDeltaRow *row)
{
    return delta_weight(row->after) - delta_weight(row->before);
}

static int compare_changes(const void *a, const void *b)
{
    const ComplexityDeltaRow *x = a;
    const ComplexityDeltaRow *y = b;
    int64_t amount_x = delta_amount(x);
    int64_t amount_y = delta_amount(y);
    const ComplexityRow *row_x = x->after != NULL ? x->after : x->before;
    const ComplexityRow *row_y = y->after != NULL ? y->after : y->before;
    int c;

    if (x->change != y->change) {
        return x->change < y->change ? -1 : 1;
    }
    /* Within one kind of change all amounts have one sign. */
    amount_x = amount_x < 0 ? -amount_x : amount_x;
    amount_y = amount_y < 0 ? -amount_y : amount_y;
    if (amount_x != amount_y) {
        return amount_x < amount_y ? 1 : -1;
    }
    c = span_compare(row_x->path, row_y->path);
    /* The same path and the same kind of change: both are of one report's file. */
    return c != 0 ? c : (row_x->function > row_y->function) - (row_x->function < row_y->function);
}

static void delta_add(ComplexityDelta *delta, const ComplexityRow *before,
                      const ComplexityRow *after)
{
    ComplexityDeltaRow row = {.before = before, .after = after};

    if (before == NULL) {
        row.change = COMPLEXITY_ADDED;
    } else if (after == NULL) {
        row.change = COMPLEXITY_REMOVED;
    } else if (before->cyclomatic == after->cyclomatic &&
               before->function->cognitive == after->function->cognitive) {
        delta->n_same++;
        return;
    } else {
        row.change = delta_amount(&row) >= 0 ? COMPLEXITY_WORSE : COMPLEXITY_BETTER;
    }
    delta->rows[delta->n_rows++] = row;
    delta->n_of[row.change]++;
}

/* Both lists in step. Equal names of one file meet in order of place, so the k-th is held against
 * the k-th. */
static int delta_merge(ComplexityDelta *delta, const ComplexityRow *const *before, size_t n_before,
                       const ComplexityRow *const *after, size_t n_after, Stop stop)
{
    size_t i = 0;
    size_t j = 0;

    while (i < n_before || j < n_after) {
        int c = i == n_before ? 1 : j == n_after ? -1 : compare_identity(before[i], after[j]);

        if (stop_is_asked_at(stop, i + j)) {
            return err_raise(-ECANCELED);
        }
        delta_add(delta, c <= 0 ? before[i] : NULL, c >= 0 ? after[j] : NULL);
        i += c <= 0;
        j += c >= 0;
    }
    return 0;
}

static void delta_sums(const ComplexityReport *report, int64_t sign, ComplexityDelta *delta)
{
    for (size_t i = 0; i < report->n_functions; i++) {
        delta->cyclomatic += sign * (int64_t)report->functions[i].cyclomatic;
        delta->cognitive += sign * (int64_t)report->functions[i].function->cognitive;
    }
}

int complexity_delta_init(ComplexityDelta *delta, const ComplexityReport *before,
                          const ComplexityReport *after)
{
    CLEANUP(mem_freep) const ComplexityRow **old_rows = NULL;
    CLEANUP(mem_freep) const ComplexityRow **new_rows = NULL;
    int r;

    *delta = COMPLEXITY_DELTA_NULL;
    r = delta_sorted(before, &old_rows);
    if (r != 0) {
        return err_pass(r);
    }
    r = delta_sorted(after, &new_rows);
    if (r != 0) {
        return err_pass(r);
    }
    delta->rows =
        mem_alloc_array(before->n_functions + after->n_functions + 1, sizeof(*delta->rows));
    if (delta->rows == NULL) {
        return err_raise(-ENOMEM);
    }
    delta->limit = after->options.limit;
    delta->offset = after->options.offset;
    delta->stop = after->options.stop;
    r = delta_merge(delta, old_rows, before->n_functions, new_rows, after->n_functions,
                    after->options.stop);
    if (r != 0) {
        return err_pass(r);
    }
    delta_sums(before, -1, delta);
    delta_sums(after, 1, delta);
    return err_pass(sort_items(delta->rows, delta->n_rows, sizeof(*delta->rows), compare_changes,
                               after->options.stop));
}

void complexity_delta_deinit(ComplexityDelta *delta)
{
    (void)mem_free(delta->rows);
    *delta = COMPLEXITY_DELTA_NULL;
}
