/* The files as lines of CSV, RFC 4180 (churn_impl.h). */
#include "toolkit/churn/churn_impl.h"

#include <inttypes.h>
#include <string.h>

/* Text that others chose. */
static int csv_text(Bytes *out, Span text)
{
    bool is_plain = true;
    int r;

    for (size_t i = 0; i < text.n; i++) {
        is_plain = is_plain && text.p[i] != ',' && text.p[i] != '"';
    }
    if (is_plain) {
        return churn_append_shown(out, text, "");
    }
    r = bytes_append_byte(out, '"');
    while (r == 0 && text.n > 0) {
        const char *quote = memchr(text.p, '"', text.n);
        size_t n = quote == NULL ? text.n : (size_t)(quote - text.p);

        r = churn_append_shown(out, span_make(text.p, n), "");
        if (r == 0 && quote != NULL) {
            r = bytes_append(out, "\"\"", 2);
            n++;
        }
        text = span_make(text.p + n, text.n - n);
    }
    return r != 0 ? r : bytes_append_byte(out, '"');
}

static int csv_numbers(const Churn *churn, const ChurnFile *file, Bytes *out)
{
    int r = bytes_append_format(out, ",%" PRIu32 ",", file->commits);

    if (r == 0 && !churn->options.without_lines) {
        r = bytes_append_format(out, "%" PRIu64 ",%" PRIu64 ",%.3f", file->additions,
                                file->deletions, file->churn_score);
    } else if (r == 0) {
        r = bytes_append(out, ",,", 2);
    }
    return r;
}

static int csv_line(const Churn *churn, const ChurnFile *file, Bytes *out)
{
    char last[CHURN_TIME_SIZE];
    char first[CHURN_TIME_SIZE];
    int r = csv_text(out, file->path);

    churn_format_time(file->last_modified_s, last);
    churn_format_time(file->first_seen_s, first);
    if (r == 0) {
        r = csv_numbers(churn, file, out);
    }
    if (r == 0) {
        r = bytes_append_format(out, ",%zu,%s,%s,%.4f,", file->n_authors, last, first,
                                file->robust_rank);
    }
    if (r == 0 && file->n_authors > 0) {
        r = csv_text(out, file->authors[0].name);
    }
    if (r == 0) {
        r = bytes_append_format(out, ",%.4f,%s,%s\n", file->ownership,
                                file->is_deleted ? "true" : "false",
                                file->flag == NULL ? "" : file->flag);
    }
    return r;
}

int churn_write_csv(const Churn *churn, Bytes *out)
{
    int r = bytes_append_span(
        out, SPAN("file_path,commits,additions,deletions,churn_score,unique_authors,last_modified,"
                  "first_seen,robust_rank,main_author,ownership,deleted_by_last_change,flag\n"));

    for (size_t i = churn_told_begin(churn); i < churn_told_end(churn) && r == 0; i++) {
        r = csv_line(churn, &churn->files[i], out);
    }
    return r;
}
