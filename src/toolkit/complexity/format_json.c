/* The report as JSON: the members that the protocol document and the tool behind it name, and what
 * is ours beside them. */
#include "toolkit/complexity/report_format.h"

void report_json_uint(JsonWriter *w, Span key, uint64_t value)
{
    json_write_key(w, key);
    json_write_uint(w, value);
}

void report_json_double(JsonWriter *w, Span key, double value)
{
    json_write_key(w, key);
    json_write_double(w, value);
}

void report_json_string(JsonWriter *w, Span key, Span value)
{
    json_write_key(w, key);
    json_write_string(w, value);
}

static void json_skip_counts(const ComplexitySummary *s, JsonWriter *w)
{
    json_write_key(w, SPAN("skipped_files"));
    json_write_object(w);
    for (size_t i = 0; i < COMPLEXITY_N_SKIPS; i++) {
        if (s->n_skipped[i] > 0) {
            report_json_uint(w, span_from_str(complexity_skip_name((ComplexitySkip)i)),
                             s->n_skipped[i]);
        }
    }
    json_write_end_object(w);
}

static void json_summary(const ComplexityReport *report, JsonWriter *w)
{
    const ComplexitySummary *s = &report->summary;

    json_write_key(w, SPAN("summary"));
    json_write_object(w);
    report_json_uint(w, SPAN("total_files"), s->total_files);
    report_json_uint(w, SPAN("total_functions"), s->total_functions);
    report_json_uint(w, SPAN("lines"), s->lines);
    report_json_uint(w, SPAN("code_lines"), s->code_lines);
    report_json_uint(w, SPAN("comment_lines"), s->comment_lines);
    /* Of no functions there is no average: left out rather than 0. */
    if (s->total_functions > 0) {
        report_json_double(w, SPAN("avg_cyclomatic"), s->avg_cyclomatic);
        report_json_double(w, SPAN("avg_cognitive"), s->avg_cognitive);
        report_json_uint(w, SPAN("median_cyclomatic"), s->median_cyclomatic);
        report_json_uint(w, SPAN("median_cognitive"), s->median_cognitive);
        report_json_uint(w, SPAN("p90_cyclomatic"), s->p90_cyclomatic);
        report_json_uint(w, SPAN("p90_cognitive"), s->p90_cognitive);
        report_json_uint(w, SPAN("p99_cyclomatic"), s->p99_cyclomatic);
        report_json_uint(w, SPAN("p99_cognitive"), s->p99_cognitive);
        report_json_uint(w, SPAN("max_cyclomatic"), s->max_cyclomatic);
        report_json_uint(w, SPAN("max_cognitive"), s->max_cognitive);
    }
    report_json_double(w, SPAN("technical_debt_hours"), s->technical_debt_hours);
    report_json_uint(w, SPAN("errors"), s->n_errors);
    report_json_uint(w, SPAN("warnings"), s->n_warnings);
    json_skip_counts(s, w);
    report_json_uint(w, SPAN("files_with_parse_errors"), s->n_with_parse_errors);
    if (report->options.elapsed_us >= 0) {
        report_json_double(w, SPAN("elapsed_ms"), (double)report->options.elapsed_us / 1000);
    }
    json_write_end_object(w);
}

static void json_violation(const ComplexityViolation *v, JsonWriter *w)
{
    char message[REPORT_MESSAGE_SIZE];

    json_write_object(w);
    report_json_string(w, SPAN("severity"), span_from_str(report_severity(v->is_error)));
    report_json_string(w, SPAN("rule"), span_from_str(report_rule_id(v->is_cognitive)));
    report_json_string(w, SPAN("message"), report_message(v, message));
    report_json_uint(w, SPAN("value"), v->value);
    report_json_uint(w, SPAN("threshold"), v->threshold);
    report_json_string(w, SPAN("file"), v->row.path);
    report_json_uint(w, SPAN("line"), v->row.function->first_line);
    report_json_uint(w, SPAN("end_line"), v->row.function->last_line);
    report_json_string(w, SPAN("function"), v->row.function->name);
    json_write_end_object(w);
}

static void json_violations(const ComplexityReport *report, JsonWriter *w)
{
    ReportPage page = report_page(&report->options, report->n_violations);

    json_write_key(w, SPAN("violations"));
    json_write_array(w);
    for (size_t i = page.from; i < page.to && report_goes_on(report, i, &w->r); i++) {
        json_violation(&report->violations[i], w);
    }
    json_write_end_array(w);
}

static void json_hotspots(const ComplexityReport *report, JsonWriter *w)
{
    json_write_key(w, SPAN("hotspots"));
    json_write_array(w);
    for (size_t i = 0; i < report->n_hotspots; i++) {
        const ComplexityRow *row = &report->hotspots[i];

        json_write_object(w);
        report_json_string(w, SPAN("file"), row->path);
        report_json_string(w, SPAN("function"), row->function->name);
        report_json_uint(w, SPAN("line"), row->function->first_line);
        report_json_uint(w, SPAN("cyclomatic"), row->cyclomatic);
        report_json_uint(w, SPAN("cognitive"), row->function->cognitive);
        json_write_end_object(w);
    }
    json_write_end_array(w);
}

static void json_halstead(const ComplexityHalstead *h, JsonWriter *w)
{
    json_write_key(w, SPAN("halstead"));
    json_write_object(w);
    report_json_uint(w, SPAN("n1"), h->n1);
    report_json_uint(w, SPAN("n2"), h->n2);
    report_json_uint(w, SPAN("N1"), h->N1);
    report_json_uint(w, SPAN("N2"), h->N2);
    report_json_double(w, SPAN("volume"), complexity_halstead_volume(h));
    report_json_double(w, SPAN("difficulty"), complexity_halstead_difficulty(h));
    report_json_double(w, SPAN("effort"), complexity_halstead_effort(h));
    json_write_end_object(w);
}

static void json_increments(const ComplexityFunction *f, JsonWriter *w)
{
    json_write_key(w, SPAN("increments"));
    json_write_array(w);
    for (size_t i = 0; i < f->n_increments; i++) {
        const ComplexityIncrement *increment = &f->increments[i];

        json_write_object(w);
        report_json_uint(w, SPAN("line"), increment->line);
        report_json_uint(w, SPAN("column"), increment->column);
        report_json_string(w, SPAN("construct"), span_from_str(increment->construct));
        report_json_uint(w, SPAN("amount"), increment->amount);
        report_json_uint(w, SPAN("nesting"), increment->nesting);
        json_write_end_object(w);
    }
    json_write_end_array(w);
}

static void json_function(const ComplexityReport *report, const ComplexityRow *row, JsonWriter *w)
{
    const ComplexityFunction *f = row->function;

    json_write_object(w);
    report_json_string(w, SPAN("file"), row->path);
    report_json_string(w, SPAN("name"), f->name);
    report_json_uint(w, SPAN("line"), f->first_line);
    report_json_uint(w, SPAN("end_line"), f->last_line);
    report_json_uint(w, SPAN("cyclomatic"), row->cyclomatic);
    report_json_uint(w, SPAN("cognitive"), f->cognitive);
    report_json_uint(w, SPAN("nesting_max"), f->nesting);
    report_json_uint(w, SPAN("lines"), f->lines);
    report_json_uint(w, SPAN("code_lines"), f->code_lines);
    report_json_uint(w, SPAN("comment_lines"), f->comment_lines);
    report_json_uint(w, SPAN("parameters"), f->parameters);
    report_json_uint(w, SPAN("tokens"), f->tokens);
    json_halstead(&f->halstead, w);
    if (f->has_error) {
        json_write_key(w, SPAN("has_parse_error"));
        json_write_bool(w, true);
    }
    if (report->options.increments) {
        json_increments(f, w);
    }
    json_write_end_object(w);
}

static void json_functions(const ComplexityReport *report, JsonWriter *w)
{
    ReportPage page = report_page(&report->options, report->n_functions);

    json_write_key(w, SPAN("functions"));
    json_write_array(w);
    for (size_t i = page.from; i < page.to && report_goes_on(report, i, &w->r); i++) {
        json_function(report, &report->functions[i], w);
    }
    json_write_end_array(w);
}

static void json_file(const ComplexityFileRow *row, JsonWriter *w)
{
    const ComplexityFile *file = &row->file;

    json_write_object(w);
    report_json_string(w, SPAN("path"), row->path);
    report_json_string(w, SPAN("language"), complexity_language_name(file->language));
    report_json_uint(w, SPAN("function_count"), file->n_functions);
    report_json_uint(w, SPAN("lines"), file->lines);
    report_json_uint(w, SPAN("code_lines"), file->code_lines);
    report_json_uint(w, SPAN("comment_lines"), file->comment_lines);
    report_json_uint(w, SPAN("blank_lines"), file->blank_lines);
    report_json_uint(w, SPAN("total_cyclomatic"), row->sum_cyclomatic);
    report_json_uint(w, SPAN("total_cognitive"), row->sum_cognitive);
    report_json_uint(w, SPAN("max_cyclomatic"), row->max_cyclomatic);
    report_json_double(w, SPAN("avg_cognitive"), row->avg_cognitive);
    report_json_double(w, SPAN("halstead_effort"), row->halstead_effort);
    report_json_double(w, SPAN("total_score"), row->total_score);
    if (file->n_errors > 0) {
        report_json_uint(w, SPAN("parse_errors"), file->n_errors);
        report_json_uint(w, SPAN("first_error_line"), file->first_error_line);
    }
    json_write_end_object(w);
}

static void json_files(const ComplexityReport *report, JsonWriter *w)
{
    ReportPage page = report_page(&report->options, report->n_files);

    json_write_key(w, SPAN("files"));
    json_write_array(w);
    for (size_t i = page.from; i < page.to && report_goes_on(report, i, &w->r); i++) {
        json_file(&report->files[i], w);
    }
    json_write_end_array(w);
}

static void json_ranking(const ComplexityFileRow *row, size_t rank, JsonWriter *w)
{
    json_write_object(w);
    report_json_uint(w, SPAN("rank"), rank);
    report_json_string(w, SPAN("file"), row->path);
    report_json_uint(w, SPAN("function_count"), row->file.n_functions);
    report_json_uint(w, SPAN("max_cyclomatic"), row->max_cyclomatic);
    report_json_double(w, SPAN("avg_cognitive"), row->avg_cognitive);
    report_json_double(w, SPAN("halstead_effort"), row->halstead_effort);
    report_json_double(w, SPAN("total_score"), row->total_score);
    json_write_end_object(w);
}

static void json_top_files(const ComplexityReport *report, JsonWriter *w)
{
    size_t requested = report->options.top_files;
    size_t n = requested < report->n_files ? requested : report->n_files;

    json_write_key(w, SPAN("top_files"));
    json_write_object(w);
    report_json_uint(w, SPAN("requested"), requested);
    report_json_uint(w, SPAN("returned"), n);
    report_json_uint(w, SPAN("total"), report->n_files);
    json_write_key(w, SPAN("rankings"));
    json_write_array(w);
    for (size_t i = 0; i < n && report_goes_on(report, i, &w->r); i++) {
        json_ranking(report->ranked[i], i + 1, w);
    }
    json_write_end_array(w);
    json_write_end_object(w);
}

static void json_skipped(const ComplexityReport *report, JsonWriter *w)
{
    ReportPage page = report_page(&report->options, report->n_skipped);

    json_write_key(w, SPAN("skipped"));
    json_write_array(w);
    for (size_t i = page.from; i < page.to && report_goes_on(report, i, &w->r); i++) {
        const ComplexitySkipped *row = &report->skipped[i];

        json_write_object(w);
        report_json_string(w, SPAN("file"), row->path);
        report_json_string(w, SPAN("reason"), span_from_str(complexity_skip_name(row->reason)));
        if (row->detail.n > 0) {
            report_json_string(w, SPAN("detail"), row->detail);
        }
        json_write_end_object(w);
    }
    json_write_end_array(w);
}

static void json_thresholds(const ComplexityThresholds *t, JsonWriter *w)
{
    json_write_key(w, SPAN("thresholds"));
    json_write_object(w);
    report_json_uint(w, SPAN("cyclomatic_warning"), t->cyclomatic_warning);
    report_json_uint(w, SPAN("cyclomatic_error"), t->cyclomatic_error);
    report_json_uint(w, SPAN("cognitive_warning"), t->cognitive_warning);
    report_json_uint(w, SPAN("cognitive_error"), t->cognitive_error);
    json_write_end_object(w);
}

/* By which definitions the numbers are to be read, said once. */
static void json_rules(const ComplexityReport *report, JsonWriter *w)
{
    json_write_key(w, SPAN("rules"));
    json_write_object(w);
    report_json_uint(w, SPAN("version"), COMPLEXITY_RULES_VERSION);
    report_json_string(w, SPAN("variant"),
                       report->options.modified ? SPAN("modified") : SPAN("classic"));
    report_json_string(
        w, SPAN("rows"),
        SPAN("JavaScript and TypeScript: every function, arrow and method is a row, and nothing of "
             "it counts in the one around it. Elsewhere closures and nested functions count in the "
             "outer function, one level deeper, and a named one has a row of its own as well, as "
             "has "
             "a closure that is in no function."));
    report_json_string(w, SPAN("cyclomatic"),
                       report->options.modified
                           ? SPAN("1, and 1 for each decision; a switch counts once")
                           : SPAN("1, and 1 for each decision; each case of a switch counts"));
    report_json_string(
        w, SPAN("cognitive"),
        SPAN("by the published paper, recursion not counted; amount includes nesting"));
    report_json_string(w, SPAN("halstead"),
                       SPAN("by tokens: operands are names and literals, operators keywords and "
                            "punctuation, a pair of brackets once; a file's effort is the sum of "
                            "its functions'"));
    report_json_string(w, SPAN("percentile"), SPAN("sorted[floor(p n)]"));
    report_json_string(w, SPAN("total_score"),
                       SPAN("40 min(max_cyclomatic,50)/50 + 40 min(avg_cognitive,100)/100 + 10 "
                            "min(function_count,100)/100"));
    report_json_string(w, SPAN("technical_debt_hours"),
                       SPAN("(30 a point over an error threshold + 15 a point over a warning "
                            "threshold) / 60"));
    json_thresholds(&report->options.thresholds, w);
    json_write_end_object(w);
}

static size_t json_longest(const ComplexityReport *report)
{
    size_t n =
        report->n_functions > report->n_violations ? report->n_functions : report->n_violations;

    n = n > report->n_files ? n : report->n_files;
    return n > report->n_skipped ? n : report->n_skipped;
}

static void json_totals(const ComplexityReport *report, JsonWriter *w)
{
    size_t next = report_next_offset(&report->options, json_longest(report));

    json_write_key(w, SPAN("totals"));
    json_write_object(w);
    report_json_uint(w, SPAN("violations"), report->n_violations);
    report_json_uint(w, SPAN("functions"), report->n_functions);
    report_json_uint(w, SPAN("files"), report->n_files);
    report_json_uint(w, SPAN("skipped"), report->n_skipped);
    json_write_end_object(w);
    if (next > 0) {
        report_json_uint(w, SPAN("next_offset"), next);
    }
}

void complexity_report_write_members(const ComplexityReport *report, JsonWriter *w)
{
    json_summary(report, w);
    json_violations(report, w);
    json_hotspots(report, w);
    json_functions(report, w);
    json_files(report, w);
    if (report->options.ranks_files) {
        json_top_files(report, w);
    }
    json_skipped(report, w);
    json_rules(report, w);
    json_totals(report, w);
}

void complexity_report_write_report(const ComplexityReport *report, JsonWriter *w)
{
    json_write_key(w, SPAN("report"));
    json_write_object(w);
    json_summary(report, w);
    json_violations(report, w);
    json_hotspots(report, w);
    json_files(report, w);
    json_write_end_object(w);
}

int report_write_json(const ComplexityReport *report, Bytes *out)
{
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_PRETTY);
    json_write_object(&w);
    complexity_report_write_members(report, &w);
    json_write_end_object(&w);
    return json_writer_finish(&w);
}
