/* The difference as JSON and in words. */
#include "toolkit/complexity/delta.h"

#include "base/error.h"
#include "toolkit/complexity/report_format.h"

static ComplexityReportOptions delta_bounds(const ComplexityDelta *delta)
{
    return (ComplexityReportOptions){.limit = delta->limit, .offset = delta->offset};
}

/* In front of each row, as report_goes_on. */
static bool delta_goes_on(const ComplexityDelta *delta, size_t i, int *r)
{
    if (*r == 0 && stop_is_asked_at(delta->stop, i)) {
        *r = err_raise(-ECANCELED);
    }
    return *r == 0;
}

static void delta_json_side(JsonWriter *w, Span key, const ComplexityRow *row)
{
    if (row == NULL) {
        return;
    }
    json_write_key(w, key);
    json_write_object(w);
    report_json_uint(w, SPAN("line"), row->function->first_line);
    report_json_uint(w, SPAN("end_line"), row->function->last_line);
    report_json_uint(w, SPAN("cyclomatic"), row->cyclomatic);
    report_json_uint(w, SPAN("cognitive"), row->function->cognitive);
    json_write_end_object(w);
}

static void delta_json_row(JsonWriter *w, const ComplexityDeltaRow *row)
{
    const ComplexityRow *shown = row->after != NULL ? row->after : row->before;

    json_write_object(w);
    report_json_string(w, SPAN("change"), span_from_str(complexity_change_name(row->change)));
    report_json_string(w, SPAN("file"), shown->path);
    report_json_string(w, SPAN("function"), shown->function->name);
    delta_json_side(w, SPAN("before"), row->before);
    delta_json_side(w, SPAN("after"), row->after);
    json_write_end_object(w);
}

void complexity_delta_write_members(const ComplexityDelta *delta, JsonWriter *w)
{
    ComplexityReportOptions bounds = delta_bounds(delta);
    ReportPage page = report_page(&bounds, delta->n_rows);
    size_t next = report_next_offset(&bounds, delta->n_rows);

    json_write_key(w, SPAN("since"));
    json_write_object(w);
    for (size_t i = 0; i < COMPLEXITY_N_CHANGES; i++) {
        report_json_uint(w, span_from_str(complexity_change_name((ComplexityChange)i)),
                         delta->n_of[i]);
    }
    report_json_uint(w, SPAN("unchanged"), delta->n_same);
    json_write_key(w, SPAN("cyclomatic"));
    json_write_int(w, delta->cyclomatic);
    json_write_key(w, SPAN("cognitive"));
    json_write_int(w, delta->cognitive);
    json_write_key(w, SPAN("rows"));
    json_write_array(w);
    for (size_t i = page.from; i < page.to && delta_goes_on(delta, i, &w->r); i++) {
        delta_json_row(w, &delta->rows[i]);
    }
    json_write_end_array(w);
    report_json_uint(w, SPAN("total"), delta->n_rows);
    if (next > 0) {
        report_json_uint(w, SPAN("next_offset"), next);
    }
    json_write_end_object(w);
}

/* "+3", "-1", "0". */
static void delta_text_signed(ReportText *t, int64_t value)
{
    report_text_str(t, value > 0 ? "+" : "");
    report_text_int(t, value);
}

static void delta_text_summary(const ComplexityDelta *delta, ReportText *t)
{
    report_text_str(t, "# Changes of Complexity\n\n- **Functions:** ");
    for (size_t i = 0; i < COMPLEXITY_N_CHANGES; i++) {
        report_text_uint(t, delta->n_of[i]);
        report_text_str(t, " ");
        report_text_str(t, complexity_change_name((ComplexityChange)i));
        report_text_str(t, ", ");
    }
    report_text_uint(t, delta->n_same);
    report_text_str(t, " unchanged\n- **Cyclomatic:** ");
    delta_text_signed(t, delta->cyclomatic);
    report_text_str(t, "\n- **Cognitive:** ");
    delta_text_signed(t, delta->cognitive);
    report_text_str(t, "\n");
}

/* "12 → 15", or the one that there is. */
static void delta_text_values(ReportText *t, const ComplexityDeltaRow *row, bool is_cognitive)
{
    const ComplexityRow *sides[2] = {row->before, row->after};

    report_text_str(t, " | ");
    for (size_t i = 0; i < 2; i++) {
        if (sides[i] != NULL) {
            report_text_uint(t,
                             is_cognitive ? sides[i]->function->cognitive : sides[i]->cyclomatic);
        }
        if (i == 0 && row->before != NULL && row->after != NULL) {
            report_text_str(t, " → ");
        }
    }
}

static void delta_text_row(ReportText *t, const ComplexityDeltaRow *row)
{
    const ComplexityRow *shown = row->after != NULL ? row->after : row->before;

    report_text_str(t, "| ");
    report_text_str(t, complexity_change_name(row->change));
    report_text_str(t, " | ");
    report_text_code(t, shown->function->name);
    report_text_str(t, " | ");
    report_text_code(t, shown->path);
    report_text_str(t, " | ");
    report_text_uint(t, shown->function->first_line);
    delta_text_values(t, row, false);
    delta_text_values(t, row, true);
    report_text_str(t, " |\n");
}

int complexity_delta_write_text(const ComplexityDelta *delta, Bytes *out)
{
    ComplexityReportOptions bounds = delta_bounds(delta);
    ReportPage page = report_page(&bounds, delta->n_rows);
    ReportText t;

    report_text_begin(&t, out);
    delta_text_summary(delta, &t);
    if (page.to > page.from) {
        report_text_str(&t, "\n| Change | Function | File | Line | Cyclomatic | Cognitive |\n"
                            "|---|---|---|---:|---:|---:|\n");
    }
    for (size_t i = page.from; i < page.to && delta_goes_on(delta, i, &t.r); i++) {
        delta_text_row(&t, &delta->rows[i]);
    }
    report_md_more(&bounds, delta->n_rows, &t);
    return report_text_end(&t);
}
