/* The analysis as tables of Markdown (churn_impl.h). */
#include "toolkit/churn/churn_impl.h"

#include <inttypes.h>

/* What Markdown takes for marks. */
#define MARKDOWN_MARKS "\\`*_[]<>|#&~"

static int markdown_text(Bytes *out, Span text)
{
    return churn_append_shown(out, text, MARKDOWN_MARKS);
}

static int markdown_head(const Churn *churn, Bytes *out)
{
    char now[CHURN_TIME_SIZE];
    int r;

    churn_format_time(churn->options.now_s, now);
    r = bytes_append_format(out, "# Code Churn Report\n\nGenerated: %s\n\nRepository: ", now);
    if (r == 0) {
        r = markdown_text(out, churn->repository.root);
    }
    if (r == 0 && churn->options.period_days > 0) {
        r = bytes_append_format(out, "\n\nPeriod: %" PRId64 " days", churn->options.period_days);
    }
    if (r == 0) {
        r = bytes_append_format(
            out,
            "\n\n## Summary\n\n| Metric | Value |\n|---|---:|\n| Commits | %" PRIu32
            " |\n| Files changed | %zu |\n| Authors | %zu |\n",
            churn->history.n_commits, churn->n_files, churn->history.authors.n);
    }
    if (r == 0 && !churn->options.without_lines) {
        r = bytes_append_format(out,
                                "| Lines added | %" PRIu64 " |\n| Lines deleted | %" PRIu64 " |\n",
                                churn->additions, churn->deletions);
    }
    return r;
}

static int markdown_file(const Churn *churn, const ChurnFile *file, Bytes *out)
{
    char last[CHURN_TIME_SIZE];
    int r = bytes_append(out, "| ", 2);

    churn_format_time(file->last_modified_s, last);
    if (r == 0) {
        r = markdown_text(out, file->path);
    }
    if (r == 0) {
        r = bytes_append_format(out, " | %" PRIu32 " | ", file->commits);
    }
    if (r == 0 && !churn->options.without_lines) {
        r = bytes_append_format(out, "%" PRIu64 " | %" PRIu64 " | %.3f | ", file->additions,
                                file->deletions, file->churn_score);
    }
    if (r == 0) {
        r = bytes_append_format(out, "%.3f | %zu | ", file->robust_rank, file->n_authors);
    }
    if (r == 0 && file->n_authors > 0) {
        r = markdown_text(out, file->authors[0].name);
    }
    if (r == 0) {
        r = bytes_append_format(out, " %.0f%% | %.10s | %s |\n", file->ownership * 100, last,
                                file->flag != NULL ? file->flag
                                : file->is_deleted ? "deleted"
                                                   : "");
    }
    return r;
}

static int markdown_files(const Churn *churn, Bytes *out)
{
    size_t end = churn_told_end(churn);
    int r = bytes_append_span(out, SPAN("\n## Files\n\n| File | Commits | "));

    if (r == 0 && !churn->options.without_lines) {
        r = bytes_append_span(out, SPAN("Additions | Deletions | Score | "));
    }
    if (r == 0) {
        r = bytes_append_span(out, SPAN("Rank | Authors | Main author | Last modified | Kind |\n"
                                        "|---|---:|"));
    }
    if (r == 0 && !churn->options.without_lines) {
        r = bytes_append_span(out, SPAN("---:|---:|---:|"));
    }
    if (r == 0) {
        r = bytes_append_span(out, SPAN("---:|---:|---|---|---|\n"));
    }
    for (size_t i = churn_told_begin(churn); i < end && r == 0; i++) {
        r = markdown_file(churn, &churn->files[i], out);
    }
    return r;
}

static int markdown_folders(const Churn *churn, Bytes *out)
{
    size_t limit = churn->options.limit == 0 ? SIZE_MAX : churn->options.limit;
    bool has_lines = !churn->options.without_lines;
    int r = bytes_append_format(out,
                                "\n## Directories\n\n| Directory | Files | Commits |%s Main author "
                                "|\n|---|---:|---:|%s---|\n",
                                has_lines ? " Changes |" : "", has_lines ? "---:|" : "");

    for (size_t i = 0; i < churn->n_folders && i < limit && r == 0; i++) {
        const ChurnFolder *folder = &churn->folders[i];

        r = bytes_append(out, "| ", 2);
        if (r == 0) {
            r = markdown_text(out, folder->path.n == 0 ? SPAN(".") : folder->path);
        }
        if (r == 0) {
            r = bytes_append_format(out, " | %" PRIu32 " | %" PRIu32 " | ", folder->state->files,
                                    folder->state->commits);
        }
        if (r == 0 && has_lines) {
            r = bytes_append_format(out, "%" PRIu64 " | ",
                                    folder->state->additions + folder->state->deletions);
        }
        if (r == 0) {
            r = markdown_text(out, folder->owner);
        }
        if (r == 0) {
            r = bytes_append_format(out, " %.0f%% |\n", folder->ownership * 100);
        }
    }
    return r;
}

static int markdown_co_changes(const Churn *churn, Bytes *out)
{
    int r = bytes_append_span(out, SPAN("\n## Files that change together\n\n"
                                        "| File | File | Commits | Of the first | Of the second |\n"
                                        "|---|---|---:|---:|---:|\n"));

    for (size_t i = 0; i < churn->n_co_changes && r == 0; i++) {
        const ChurnCoChange *pair = &churn->co_changes[i];

        r = bytes_append(out, "| ", 2);
        if (r == 0) {
            r = markdown_text(out, pair->a->path);
        }
        if (r == 0) {
            r = bytes_append(out, " | ", 3);
        }
        if (r == 0) {
            r = markdown_text(out, pair->b->path);
        }
        if (r == 0) {
            r = bytes_append_format(out, " | %" PRIu32 " | %.0f%% | %.0f%% |\n", pair->support,
                                    pair->share_of_a * 100, pair->share_of_b * 100);
        }
    }
    return r;
}

int churn_write_markdown(const Churn *churn, Bytes *out)
{
    ChurnNote notes[CHURN_MAX_NOTES];
    size_t n_notes = churn_notes(churn, notes);
    int r = markdown_head(churn, out);

    if (r == 0 && churn->n_files > 0) {
        r = markdown_files(churn, out);
    }
    if (r == 0 && churn->n_folders > 0) {
        r = markdown_folders(churn, out);
    }
    if (r == 0 && churn->n_co_changes > 0) {
        r = markdown_co_changes(churn, out);
    }
    for (size_t i = 0; i < n_notes && r == 0; i++) {
        r = bytes_append_format(out, "\n%s\n", notes[i].text);
    }
    return r;
}
