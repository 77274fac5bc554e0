/* The analysis in a few lines (churn_impl.h). */
#include "toolkit/churn/churn_impl.h"

#include <inttypes.h>

#define SUMMARY_FILES 5

static int summary_head(const Churn *churn, Bytes *out)
{
    int r = bytes_append_span(out, SPAN("# Code Churn Analysis\n\n"));

    if (r == 0 && churn->options.period_days > 0) {
        r = bytes_append_format(out, "Period: %" PRId64 " days\n", churn->options.period_days);
    }
    if (r == 0) {
        r = bytes_append_format(
            out, "Total commits: %" PRIu32 "\nTotal files changed: %zu\nAuthors: %zu\n",
            churn->history.n_commits, churn->n_files, churn->history.authors.n);
    }
    if (r == 0 && !churn->options.without_lines) {
        r = bytes_append_format(out, "Lines added: %" PRIu64 "\nLines deleted: %" PRIu64 "\n",
                                churn->additions, churn->deletions);
    }
    return r;
}

static int summary_file(const Churn *churn, size_t place, const ChurnFile *file, Bytes *out)
{
    int r = bytes_append_format(out, "%zu. ", place);

    if (r == 0) {
        r = churn_append_shown(out, file->path, "");
    }
    if (r == 0) {
        r = bytes_append_format(out, " (%" PRIu32 " commit%s, ", file->commits,
                                file->commits == 1 ? "" : "s");
    }
    if (r == 0 && !churn->options.without_lines) {
        r = bytes_append_format(out, "+%" PRIu64 " -%" PRIu64 ", score %.3f, ", file->additions,
                                file->deletions, file->churn_score);
    }
    if (r == 0) {
        r = bytes_append_format(out, "%zu author%s", file->n_authors,
                                file->n_authors == 1 ? "" : "s");
    }
    if (r == 0 && file->flag != NULL) {
        r = bytes_append_format(out, ", %s", file->flag);
    }
    return r != 0 ? r : bytes_append(out, ")\n", 2);
}

static int summary_list(const Churn *churn, const char *title, const ChurnFile **files, size_t n,
                        Bytes *out)
{
    int r = n == 0 ? 0 : bytes_append_format(out, "\n## %s\n\n", title);

    for (size_t i = 0; i < n && i < SUMMARY_FILES && r == 0; i++) {
        r = summary_file(churn, i + 1, files[i], out);
    }
    return r;
}

int churn_write_summary(const Churn *churn, Bytes *out)
{
    const ChurnFile *files[10];
    ChurnNote notes[CHURN_MAX_NOTES];
    size_t n_notes = churn_notes(churn, notes);
    int r = summary_head(churn, out);

    if (r == 0 && !churn->options.without_lines) {
        r = summary_list(churn, "Hotspot Files (High Churn)", files, churn_hotspots(churn, files),
                         out);
        if (r == 0) {
            r = summary_list(churn, "Stable Files (Low Churn)", files, churn_stable(churn, files),
                             out);
        }
    } else if (r == 0) {
        size_t n = 0;

        for (; n < churn->n_files && n < SUMMARY_FILES; n++) {
            files[n] = &churn->files[n];
        }
        r = summary_list(churn, "Most Changed Files", files, n, out);
    }
    for (size_t i = 0; i < n_notes && r == 0; i++) {
        r = bytes_append_format(out, "\n%s\n", notes[i].text);
    }
    return r;
}
