#include "cli/validate_report.h"

#include "base/span.h"
#include "json/writer.h"

/* A finding quotes a path and a sentence, both bounded where they are made. */
#define REPORT_LINE_MAX ((size_t)1024 * 1024)

#define COLOUR_WHERE "\033[1m"
#define COLOUR_WRONG "\033[31m"
#define COLOUR_OFF   "\033[0m"

void validate_report_init(ValidateReport *report, FILE *out, bool as_json)
{
    *report = (ValidateReport){.out = out, .as_json = as_json};
    bytes_init(&report->line, REPORT_LINE_MAX);
}

void validate_report_deinit(ValidateReport *report)
{
    bytes_deinit(&report->line);
}

void validate_report_file(ValidateReport *report, const char *file, bool is_framed)
{
    report->file = file;
    report->is_framed = is_framed;
    report->n_in_file = 0;
}

void validate_report_message(ValidateReport *report)
{
    report->n_messages++;
    report->n_in_file++;
}

void validate_report_invalid(ValidateReport *report)
{
    report->n_invalid++;
}

/* Text that a peer chose goes to a terminal without its control characters. */
static void report_print_safe(FILE *out, Span text)
{
    unsigned before = 0;

    for (size_t i = 0; i < text.n; i++) {
        unsigned c = (unsigned char)text.p[i];
        /* U+0080 to U+009F are controls, too: the byte 0xC2 and one of these. */
        bool is_c1 = before == 0xC2 && c >= 0x80 && c < 0xA0;

        if (c < 0x20 || c == 0x7F || is_c1) {
            fprintf(out, "\\x%02x", c);
        } else {
            (void)putc((int)c, out);
        }
        before = c;
    }
}

/* "FILE: message 3: " */
static void report_where(const ValidateReport *report)
{
    fputs(report->coloured ? COLOUR_WHERE : "", report->out);
    report_print_safe(report->out, span_from_str(report->file));
    if (report->is_framed) {
        fprintf(report->out, ": message %llu", (unsigned long long)report->n_in_file);
    }
    fprintf(report->out, "%s: ", report->coloured ? COLOUR_OFF : "");
}

static void report_sentence(const ValidateReport *report, Span sentence)
{
    fputs(report->coloured ? COLOUR_WRONG : "", report->out);
    report_print_safe(report->out, sentence);
    fprintf(report->out, "%s\n", report->coloured ? COLOUR_OFF : "");
}

/* Begins a JSON line with the members that all findings share. */
static void report_begin_json(ValidateReport *report, JsonWriter *w, Span type)
{
    bytes_clear(&report->line);
    json_writer_init(w, &report->line, JSON_STYLE_COMPACT);
    json_write_object(w);
    json_write_key(w, SPAN("type"));
    json_write_string(w, type);
}

static void report_begin_finding(ValidateReport *report, JsonWriter *w, Span type)
{
    report_begin_json(report, w, type);
    json_write_key(w, SPAN("file"));
    json_write_string(w, span_from_str(report->file));
    json_write_key(w, SPAN("message"));
    json_write_uint(w, report->n_in_file);
}

static void report_end_json(ValidateReport *report, JsonWriter *w)
{
    int r;

    json_write_end_object(w);
    r = json_writer_finish(w);
    if (r != 0) {
        report->r = report->r == 0 ? r : report->r;
        return;
    }
    (void)fwrite(report->line.data, 1, report->line.n, report->out);
    (void)putc('\n', report->out);
}

void validate_report_broken(ValidateReport *report, const Diag *diag)
{
    JsonWriter w;

    if (!report->as_json) {
        report_where(report);
        if (diag->offset != DIAG_NO_OFFSET) {
            fprintf(report->out, "byte %zu (line %u, column %u): ", diag->offset, diag->line,
                    diag->column);
        }
        report_sentence(report, span_from_str(diag->message));
        return;
    }
    report_begin_finding(report, &w, SPAN("broken"));
    if (diag->offset != DIAG_NO_OFFSET) {
        json_write_key(&w, SPAN("offset"));
        json_write_uint(&w, diag->offset);
        json_write_key(&w, SPAN("line"));
        json_write_uint(&w, diag->line);
        json_write_key(&w, SPAN("column"));
        json_write_uint(&w, diag->column);
    }
    json_write_key(&w, SPAN("error"));
    json_write_string(&w, span_from_str(diag->message));
    report_end_json(report, &w);
}

void validate_report_undecided(ValidateReport *report)
{
    const Span sentence = SPAN("too deep or too costly to be checked against the schema");
    JsonWriter w;

    if (!report->as_json) {
        report_where(report);
        report_sentence(report, sentence);
        return;
    }
    report_begin_finding(report, &w, SPAN("undecided"));
    json_write_key(&w, SPAN("error"));
    json_write_string(&w, sentence);
    report_end_json(report, &w);
}

void validate_report_schema_error(ValidateReport *report, const SchemaError *error)
{
    JsonWriter w;

    if (!report->as_json) {
        report_where(report);
        if (error->instance_path.n > 0) {
            report_print_safe(report->out, error->instance_path);
            fprintf(report->out, ": ");
        }
        report_sentence(report, error->message);
        return;
    }
    report_begin_finding(report, &w, SPAN("invalid"));
    json_write_key(&w, SPAN("instancePath"));
    json_write_string(&w, error->instance_path);
    json_write_key(&w, SPAN("schemaPath"));
    json_write_string(&w, error->schema_path);
    json_write_key(&w, SPAN("error"));
    json_write_string(&w, error->message);
    report_end_json(report, &w);
}

void validate_report_summary(ValidateReport *report)
{
    JsonWriter w;
    uint64_t n_valid = report->n_messages - report->n_invalid;

    if (!report->as_json) {
        fprintf(report->out, "%llu message%s: %llu valid, %llu invalid\n",
                (unsigned long long)report->n_messages, report->n_messages == 1 ? "" : "s",
                (unsigned long long)n_valid, (unsigned long long)report->n_invalid);
        return;
    }
    report_begin_json(report, &w, SPAN("summary"));
    json_write_key(&w, SPAN("messages"));
    json_write_uint(&w, report->n_messages);
    json_write_key(&w, SPAN("valid"));
    json_write_uint(&w, n_valid);
    json_write_key(&w, SPAN("invalid"));
    json_write_uint(&w, report->n_invalid);
    report_end_json(report, &w);
}
