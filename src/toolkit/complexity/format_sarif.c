/* SARIF 2.1.0: a rule for each of the two measures, a result for each violation, and a notification
 * for each file that was not measured.
 *
 * Columns are counted in bytes where the standard counts UTF-16 units: equal as long as what stands
 * in front of a function on its line is ASCII, which is nearly always white space. */
#include "toolkit/complexity/report_format.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

#define SARIF_SCHEMA                                                                               \
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

/* Never another: fingerprints are kept by others for years. */
#define SARIF_SEED 0x746f6f6c77697265

typedef struct SarifWriter {
    const ComplexityReport *report;
    JsonWriter w;
    Bytes scratch; /* a URI, or what a fingerprint is made of */
} SarifWriter;

/* "text": {"text": "…"} as the standard's message objects are. */
static void sarif_message(JsonWriter *w, Span key, Span text)
{
    json_write_key(w, key);
    json_write_object(w);
    report_json_string(w, SPAN("text"), text);
    json_write_end_object(w);
}

static void sarif_help(JsonWriter *w, bool is_cognitive)
{
    const char *words = report_rule_words(is_cognitive);
    const char *help = report_rule_help(is_cognitive);
    char text[640];
    int n = snprintf(text, sizeof(text), "%s\n\n%s", words, help);

    json_write_key(w, SPAN("help"));
    json_write_object(w);
    report_json_string(w, SPAN("text"), span_make(text, n > 0 ? (size_t)n : 0));
    n = snprintf(text, sizeof(text), "# %s complexity\n\n%s\n\n**What helps:** %s",
                 is_cognitive ? "Cognitive" : "Cyclomatic", words, help);
    report_json_string(w, SPAN("markdown"), span_make(text, n > 0 ? (size_t)n : 0));
    json_write_end_object(w);
}

static void sarif_rule(const ComplexityReport *report, bool is_cognitive, JsonWriter *w)
{
    const ComplexityThresholds *t = &report->options.thresholds;

    json_write_object(w);
    report_json_string(w, SPAN("id"), span_from_str(report_rule_id(is_cognitive)));
    report_json_string(w, SPAN("name"),
                       is_cognitive ? SPAN("CognitiveComplexity") : SPAN("CyclomaticComplexity"));
    sarif_message(w, SPAN("shortDescription"),
                  is_cognitive ? SPAN("Cognitive complexity is too high.")
                               : SPAN("Cyclomatic complexity is too high."));
    sarif_message(w, SPAN("fullDescription"), span_from_str(report_rule_words(is_cognitive)));
    sarif_help(w, is_cognitive);
    json_write_key(w, SPAN("defaultConfiguration"));
    json_write_object(w);
    report_json_string(w, SPAN("level"), SPAN("warning"));
    json_write_key(w, SPAN("parameters"));
    json_write_object(w);
    report_json_uint(w, SPAN("warning"),
                     is_cognitive ? t->cognitive_warning : t->cyclomatic_warning);
    report_json_uint(w, SPAN("error"), is_cognitive ? t->cognitive_error : t->cyclomatic_error);
    if (!is_cognitive) {
        report_json_string(w, SPAN("variant"),
                           report->options.modified ? SPAN("modified") : SPAN("classic"));
    }
    json_write_end_object(w);
    json_write_end_object(w);
    json_write_key(w, SPAN("properties"));
    json_write_object(w);
    json_write_key(w, SPAN("tags"));
    json_write_array(w);
    json_write_string(w, SPAN("maintainability"));
    json_write_end_array(w);
    json_write_end_object(w);
    json_write_end_object(w);
}

static void sarif_tool(const ComplexityReport *report, JsonWriter *w)
{
    json_write_key(w, SPAN("tool"));
    json_write_object(w);
    json_write_key(w, SPAN("driver"));
    json_write_object(w);
    report_json_string(w, SPAN("name"), SPAN("toolwire"));
    if (report->options.version != NULL) {
        report_json_string(w, SPAN("version"), span_from_str(report->options.version));
    }
    json_write_key(w, SPAN("rules"));
    json_write_array(w);
    sarif_rule(report, false, w);
    sarif_rule(report, true, w);
    json_write_end_array(w);
    json_write_end_object(w);
    json_write_end_object(w);
}

/* A path relative to the project is told with its base, so that a reader may put in its own. */
static void sarif_artifact(SarifWriter *s, Span path)
{
    JsonWriter *w = &s->w;
    ReportText t;
    int r;

    bytes_clear(&s->scratch);
    report_text_begin(&t, &s->scratch);
    report_text_uri(&t, path);
    r = report_text_end(&t);
    if (r != 0 && w->r == 0) {
        w->r = r;
    }
    json_write_key(w, SPAN("artifactLocation"));
    json_write_object(w);
    report_json_string(w, SPAN("uri"), bytes_span(&s->scratch));
    if (!span_starts_with(path, SPAN("/"))) {
        report_json_string(w, SPAN("uriBaseId"), SPAN("%SRCROOT%"));
    }
    json_write_end_object(w);
}

static void sarif_region(const ComplexityFunction *f, JsonWriter *w)
{
    json_write_key(w, SPAN("region"));
    json_write_object(w);
    report_json_uint(w, SPAN("startLine"), f->first_line);
    report_json_uint(w, SPAN("startColumn"), f->first_column);
    report_json_uint(w, SPAN("endLine"), f->last_line);
    /* The standard's end is the column behind the last character. */
    report_json_uint(w, SPAN("endColumn"), (uint64_t)f->last_column + 1);
    json_write_end_object(w);
}

/* "next" of "Parser.next" and of "ns::Parser::next". */
static Span sarif_short_name(Span name)
{
    for (size_t i = name.n; i-- > 1;) {
        if ((name.p[i - 1] == '.' || name.p[i - 1] == ':') && i < name.n) {
            return span_make(name.p + i, name.n - i);
        }
    }
    return name;
}

static void sarif_logical(const ComplexityFunction *f, JsonWriter *w)
{
    json_write_key(w, SPAN("logicalLocations"));
    json_write_array(w);
    json_write_object(w);
    report_json_string(w, SPAN("name"), sarif_short_name(f->name));
    report_json_string(w, SPAN("fullyQualifiedName"), f->name);
    report_json_string(w, SPAN("kind"), SPAN("function"));
    json_write_end_object(w);
    json_write_end_array(w);
}

/* Which of the functions of this name in its file it is, from 0. */
static size_t sarif_ordinal(const ComplexityReport *report, const ComplexityRow *row)
{
    const ComplexityFile *file = &report->files[row->file].file;
    size_t n = 0;

    for (const ComplexityFunction *f = file->functions; f < row->function; f++) {
        n += span_equals(f->name, row->function->name);
    }
    return n;
}

/* Of rule, path, name and ordinal, but no line: it stays when code above moves the function. */
static void sarif_fingerprint(SarifWriter *s, const ComplexityViolation *v)
{
    uint64_t hashes[2];
    char hex[32];
    ReportText t;
    int r;

    bytes_clear(&s->scratch);
    report_text_begin(&t, &s->scratch);
    report_text_str(&t, report_rule_id(v->is_cognitive));
    report_text_span(&t, SPAN("\0"));
    report_text_span(&t, v->row.path);
    report_text_span(&t, SPAN("\0"));
    report_text_span(&t, v->row.function->name);
    report_text_span(&t, SPAN("\0"));
    report_text_uint(&t, sarif_ordinal(s->report, &v->row));
    r = report_text_end(&t);
    if (r != 0 && s->w.r == 0) {
        s->w.r = r;
    }
    hashes[0] = hash_span((HashSeed){SARIF_SEED, 1}, bytes_span(&s->scratch));
    hashes[1] = hash_span((HashSeed){SARIF_SEED, 2}, bytes_span(&s->scratch));
    for (size_t i = 0; i < sizeof(hex); i++) {
        hex[i] = "0123456789abcdef"[hashes[i / 16] >> (60 - 4 * (i % 16)) & 15];
    }
    json_write_key(&s->w, SPAN("partialFingerprints"));
    json_write_object(&s->w);
    report_json_string(&s->w, SPAN("complexityFunction/v1"), span_make(hex, sizeof(hex)));
    json_write_end_object(&s->w);
}

static void sarif_result(SarifWriter *s, const ComplexityViolation *v)
{
    JsonWriter *w = &s->w;
    char message[REPORT_MESSAGE_SIZE];

    json_write_object(w);
    report_json_string(w, SPAN("ruleId"), span_from_str(report_rule_id(v->is_cognitive)));
    report_json_uint(w, SPAN("ruleIndex"), v->is_cognitive ? 1 : 0);
    report_json_string(w, SPAN("level"), span_from_str(report_severity(v->is_error)));
    sarif_message(w, SPAN("message"), report_message(v, message));
    json_write_key(w, SPAN("locations"));
    json_write_array(w);
    json_write_object(w);
    json_write_key(w, SPAN("physicalLocation"));
    json_write_object(w);
    sarif_artifact(s, v->row.path);
    sarif_region(v->row.function, w);
    json_write_end_object(w);
    sarif_logical(v->row.function, w);
    json_write_end_object(w);
    json_write_end_array(w);
    sarif_fingerprint(s, v);
    json_write_key(w, SPAN("properties"));
    json_write_object(w);
    report_json_uint(w, SPAN("value"), v->value);
    report_json_uint(w, SPAN("threshold"), v->threshold);
    json_write_end_object(w);
    json_write_end_object(w);
}

/* line: 0 if none. */
static void sarif_notification(SarifWriter *s, const char *level, Span text, Span path,
                               uint32_t line)
{
    JsonWriter *w = &s->w;

    json_write_object(w);
    report_json_string(w, SPAN("level"), span_from_str(level));
    sarif_message(w, SPAN("message"), text);
    json_write_key(w, SPAN("locations"));
    json_write_array(w);
    json_write_object(w);
    json_write_key(w, SPAN("physicalLocation"));
    json_write_object(w);
    sarif_artifact(s, path);
    if (line > 0) {
        json_write_key(w, SPAN("region"));
        json_write_object(w);
        report_json_uint(w, SPAN("startLine"), line);
        json_write_end_object(w);
    }
    json_write_end_object(w);
    json_write_end_object(w);
    json_write_end_array(w);
    json_write_end_object(w);
}

static void sarif_skipped(SarifWriter *s, const ComplexitySkipped *row)
{
    Bytes text;
    ReportText t;
    int r;

    bytes_init(&text, s->scratch.max_bytes);
    report_text_begin(&t, &text);
    report_text_str(&t, "Not measured: ");
    report_text_str(&t, report_skip_words(row->reason));
    if (row->detail.n > 0) {
        report_text_str(&t, ": ");
        report_text_span(&t, row->detail);
    }
    r = report_text_end(&t);
    if (r != 0 && s->w.r == 0) {
        s->w.r = r;
    }
    sarif_notification(s, row->reason == COMPLEXITY_SKIP_UNREADABLE ? "warning" : "note",
                       bytes_span(&text), row->path, 0);
    bytes_deinit(&text);
}

static void sarif_invocations(SarifWriter *s)
{
    const ComplexityReport *report = s->report;
    ReportPage files = report_page(&report->options, report->n_files);
    ReportPage skipped = report_page(&report->options, report->n_skipped);
    JsonWriter *w = &s->w;

    json_write_key(w, SPAN("invocations"));
    json_write_array(w);
    json_write_object(w);
    json_write_key(w, SPAN("executionSuccessful"));
    json_write_bool(w, true);
    json_write_key(w, SPAN("toolExecutionNotifications"));
    json_write_array(w);
    for (size_t i = files.from; i < files.to && report_goes_on(report, i, &w->r); i++) {
        const ComplexityFile *file = &report->files[i].file;

        if (file->n_errors > 0) {
            sarif_notification(s, "warning",
                               SPAN("Some of it could not be parsed: the numbers are of the rest."),
                               report->files[i].path, file->first_error_line);
        }
    }
    for (size_t i = skipped.from; i < skipped.to && report_goes_on(report, i, &w->r); i++) {
        sarif_skipped(s, &report->skipped[i]);
    }
    json_write_end_array(w);
    json_write_end_object(w);
    json_write_end_array(w);
}

static void sarif_run(SarifWriter *s)
{
    const ComplexityReport *report = s->report;
    ReportPage page = report_page(&report->options, report->n_violations);
    size_t next = report_next_offset(&report->options, report->n_violations);
    JsonWriter *w = &s->w;

    json_write_object(w);
    sarif_tool(report, w);
    sarif_invocations(s);
    json_write_key(w, SPAN("originalUriBaseIds"));
    json_write_object(w);
    json_write_key(w, SPAN("%SRCROOT%"));
    json_write_object(w);
    sarif_message(w, SPAN("description"), SPAN("The folder that was analysed."));
    json_write_end_object(w);
    json_write_end_object(w);
    report_json_string(w, SPAN("columnKind"), SPAN("utf16CodeUnits"));
    json_write_key(w, SPAN("results"));
    json_write_array(w);
    /* Each asks: counting those before it in its file may take a millisecond. */
    for (size_t i = page.from; i < page.to && report_goes_on(report, 0, &w->r); i++) {
        sarif_result(s, &report->violations[i]);
    }
    json_write_end_array(w);
    if (next > 0) {
        json_write_key(w, SPAN("properties"));
        json_write_object(w);
        report_json_uint(w, SPAN("total"), report->n_violations);
        report_json_uint(w, SPAN("next_offset"), next);
        json_write_end_object(w);
    }
    json_write_end_object(w);
}

int report_write_sarif(const ComplexityReport *report, Bytes *out)
{
    SarifWriter s = {.report = report};
    JsonWriter *w = &s.w;

    bytes_init(&s.scratch, out->max_bytes);
    json_writer_init(w, out, JSON_STYLE_PRETTY);
    json_write_object(w);
    report_json_string(w, SPAN("$schema"), SPAN(SARIF_SCHEMA));
    report_json_string(w, SPAN("version"), SPAN("2.1.0"));
    json_write_key(w, SPAN("runs"));
    json_write_array(w);
    sarif_run(&s);
    json_write_end_array(w);
    json_write_end_object(w);
    bytes_deinit(&s.scratch);
    return json_writer_finish(w);
}
