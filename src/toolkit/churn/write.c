/* What the formats share (churn_impl.h). */
#include "toolkit/churn/churn_impl.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/rfc3339.h"
#include "toolkit/shown.h"

bool churn_format_parse(Span name, ChurnFormat *ret)
{
    static const Span names[CHURN_N_FORMATS] = {
        [CHURN_SUMMARY] = SPAN_INIT("summary"),
        [CHURN_JSON] = SPAN_INIT("json"),
        [CHURN_MARKDOWN] = SPAN_INIT("markdown"),
        [CHURN_CSV] = SPAN_INIT("csv"),
    };

    for (size_t i = 0; i < CHURN_N_FORMATS; i++) {
        if (span_equals(name, names[i])) {
            *ret = (ChurnFormat)i;
            return true;
        }
    }
    return false;
}

static int write_json(const Churn *churn, Bytes *out)
{
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_PRETTY);
    json_write_object(&w);
    churn_write_members(churn, &w);
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

int churn_write(const Churn *churn, ChurnFormat format, Bytes *out)
{
    size_t start = out->n;
    int r = 0;

    switch (format) {
    case CHURN_SUMMARY:
        r = churn_write_summary(churn, out);
        break;
    case CHURN_JSON:
        r = write_json(churn, out);
        break;
    case CHURN_MARKDOWN:
        r = churn_write_markdown(churn, out);
        break;
    case CHURN_CSV:
        r = churn_write_csv(churn, out);
        break;
    case CHURN_N_FORMATS:
        break;
    }
    if (r != 0) {
        out->n = start;
    }
    return r;
}

int churn_append_shown(Bytes *out, Span text, const char *escaped)
{
    int r = 0;

    while (text.n > 0 && r == 0) {
        ToolkitShown shown = toolkit_shown_next(&text);

        for (size_t i = 0; i < shown.n && r == 0; i++) {
            if (strchr(escaped, shown.bytes[i]) != NULL) {
                r = bytes_append_byte(out, '\\');
            }
            r = r != 0 ? r : bytes_append_byte(out, shown.bytes[i]);
        }
    }
    return r;
}

double churn_rounded(double value, unsigned decimals)
{
    double scale = 1;

    for (; decimals > 0; decimals--) {
        scale *= 10;
    }
    return round(value * scale) / scale;
}

void churn_format_time(int64_t unix_s, char out[CHURN_TIME_SIZE])
{
    char text[RFC3339_SIZE];
    int64_t ms = unix_s > RFC3339_MAX_MS / 1000   ? RFC3339_MAX_MS
                 : unix_s < RFC3339_MIN_MS / 1000 ? RFC3339_MIN_MS
                                                  : unix_s * 1000;

    rfc3339_format(ms, text);
    memcpy(out, text, CHURN_TIME_SIZE - 2);
    out[CHURN_TIME_SIZE - 2] = 'Z';
    out[CHURN_TIME_SIZE - 1] = '\0';
}

size_t churn_notes(const Churn *churn, ChurnNote out[CHURN_MAX_NOTES])
{
    size_t n = 0;

    if (churn->options.rev == NULL && churn->repository.head.n == 0) {
        (void)snprintf(out[n++].text, sizeof(out->text), "The repository has no commit yet.");
    } else if (churn->history.n_commits == 0) {
        (void)snprintf(out[n++].text, sizeof(out->text), "No commit %s.",
                       churn->options.paths != NULL ? "in the window changes what the paths name"
                                                    : "is in the window");
    }
    if (churn->repository.is_shallow) {
        (void)snprintf(out[n++].text, sizeof(out->text),
                       "The clone is shallow: its history is cut. %zu commit%s at the cut %s not "
                       "counted, since what %s changed is not known.",
                       churn->n_cut, churn->n_cut == 1 ? "" : "s", churn->n_cut == 1 ? "is" : "are",
                       churn->n_cut == 1 ? "it" : "they");
    }
    if (!churn->options.no_renames &&
        (churn->options.paths != NULL || churn->repository.prefix.n > 0)) {
        (void)snprintf(out[n++].text, sizeof(out->text),
                       "Renames are followed inside the paths that were asked about.");
    }
    if (churn->options.without_blobs) {
        (void)snprintf(out[n++].text, sizeof(out->text),
                       "The clone is partial, and what it lacks is not fetched: lines were not "
                       "counted, files are ranked by commits alone, and only renames without a "
                       "change are known.");
    } else if (churn->options.without_lines) {
        (void)snprintf(out[n++].text, sizeof(out->text),
                       "Lines were not counted; files are ranked by commits alone.");
    }
    if (churn->history.n_large > 0) {
        (void)snprintf(out[n++].text, sizeof(out->text),
                       "%zu commit%s of more than %zu files make%s no co-changes.",
                       churn->history.n_large, churn->history.n_large == 1 ? "" : "s",
                       churn->history.max_commit_files, churn->history.n_large == 1 ? "s" : "");
    }
    if (churn->history.pairs.missing > 0) {
        (void)snprintf(out[n++].text, sizeof(out->text),
                       "Too many pairs of files change together: up to %" PRIu32
                       " commits are missing in the support of any.",
                       churn->history.pairs.missing);
    }
    if (churn->history.is_trail_cut && churn->history.n_links > 0) {
        (void)snprintf(out[n++].text, sizeof(out->text),
                       "The history is too long to count the commits of folders anew: those of "
                       "files under other names may be missing.");
    }
    return n;
}
