/* The analysis as JSON (churn.h). */
#include "toolkit/churn/churn_impl.h"

#include "base/base64.h"
#include "base/utf8.h"
#include "toolkit/churn/score.h"

/* Authors of one file that are told: a file that everybody changes has thousands. */
#define JSON_MAX_FILE_AUTHORS 20

/* Authors of the whole that are told at least, unless everything is asked for. */
#define JSON_MIN_AUTHORS 100

static void members_text(JsonWriter *w, Span key, Span text)
{
    json_write_key(w, key);
    json_write_string(w, text);
}

static void members_uint(JsonWriter *w, Span key, uint64_t value)
{
    json_write_key(w, key);
    json_write_uint(w, value);
}

static void members_share(JsonWriter *w, Span key, double share)
{
    json_write_key(w, key);
    json_write_double(w, churn_rounded(share, 4));
}

static void members_time(JsonWriter *w, Span key, int64_t unix_s)
{
    char text[CHURN_TIME_SIZE];

    churn_format_time(unix_s, text);
    members_text(w, key, span_from_str(text));
}

static void members_bool(JsonWriter *w, Span key, bool flag)
{
    json_write_key(w, key);
    json_write_bool(w, flag);
}

/* Absolute, if the file can be there. */
static void members_path(const Churn *churn, JsonWriter *w, Span key, Span path)
{
    Bytes whole;
    int r;

    json_write_key(w, key);
    if (churn->repository.is_bare || churn->repository.root.n == 0) {
        json_write_string(w, path);
        return;
    }
    bytes_init(&whole, churn->repository.root.n + path.n + 1);
    r = bytes_append_span(&whole, churn->repository.root);
    if (r == 0 && whole.data[whole.n - 1] != '/') {
        r = bytes_append_byte(&whole, '/');
    }
    if (r == 0) {
        r = bytes_append_span(&whole, path);
    }
    json_write_string(w, bytes_span(&whole));
    if (r != 0 && w->r == 0) {
        w->r = r;
    }
    bytes_deinit(&whole);
}

/* Two paths that are no text look the same as JSON; these bytes do not. */
static void members_path_bytes(JsonWriter *w, Span path)
{
    Bytes text;
    int r;

    if (utf8_valid(path.p, path.n, NULL)) {
        return;
    }
    bytes_init(&text, path.n * 2 + 4);
    r = base64_encode(&text, BASE64_STANDARD, path);
    members_text(w, SPAN("path_base64"), bytes_span(&text));
    if (r != 0 && w->r == 0) {
        w->r = r;
    }
    bytes_deinit(&text);
}

static void members_file_authors(const Churn *churn, const ChurnFile *file, JsonWriter *w)
{
    size_t n = file->n_authors < JSON_MAX_FILE_AUTHORS ? file->n_authors : JSON_MAX_FILE_AUTHORS;

    json_write_key(w, SPAN("unique_authors"));
    json_write_array(w);
    for (size_t i = 0; i < n; i++) {
        json_write_string(w, file->authors[i].name);
    }
    json_write_end_array(w);
    members_uint(w, SPAN("author_count"), file->n_authors);
    json_write_key(w, SPAN("authors"));
    json_write_array(w);
    for (size_t i = 0; i < n; i++) {
        json_write_object(w);
        members_text(w, SPAN("name"), file->authors[i].name);
        members_uint(w, SPAN("commits"), file->authors[i].commits);
        if (!churn->options.without_lines) {
            members_uint(w, SPAN("changes"), file->authors[i].changes);
        }
        json_write_end_object(w);
    }
    json_write_end_array(w);
    members_share(w, SPAN("ownership"), file->ownership);
}

static void members_file(const Churn *churn, const ChurnFile *file, JsonWriter *w)
{
    json_write_object(w);
    members_path(churn, w, SPAN("path"), file->path);
    members_text(w, SPAN("relative_path"), file->path);
    members_path_bytes(w, file->path);
    members_uint(w, SPAN("commit_count"), file->commits);
    if (!churn->options.without_lines) {
        members_uint(w, SPAN("additions"), file->additions);
        members_uint(w, SPAN("deletions"), file->deletions);
        members_uint(w, SPAN("binary_commits"), file->binary_commits);
        json_write_key(w, SPAN("churn_score"));
        json_write_double(w, churn_single(file->churn_score));
    }
    members_share(w, SPAN("robust_rank"), file->robust_rank);
    members_time(w, SPAN("last_modified"), file->last_modified_s);
    members_time(w, SPAN("first_seen"), file->first_seen_s);
    members_file_authors(churn, file, w);
    if (file->n_old_names > 0) {
        json_write_key(w, SPAN("old_names"));
        json_write_array(w);
        for (size_t i = 0; i < file->n_old_names; i++) {
            json_write_string(w, file->old_names[i]);
        }
        json_write_end_array(w);
    }
    members_bool(w, SPAN("deleted_by_last_change"), file->is_deleted);
    if (file->flag != NULL) {
        members_text(w, SPAN("flag"), span_from_str(file->flag));
    }
    json_write_end_object(w);
}

static void members_files(const Churn *churn, JsonWriter *w)
{
    size_t end = churn_told_end(churn);

    json_write_key(w, SPAN("files"));
    json_write_array(w);
    for (size_t i = churn_told_begin(churn); i < end; i++) {
        members_file(churn, &churn->files[i], w);
    }
    json_write_end_array(w);
    if (end < churn->n_files) {
        members_uint(w, SPAN("next_offset"), end);
    }
}

/* An object of numbers by author: of files, or of commits. */
static void members_authors(const Churn *churn, JsonWriter *w, Span key, bool commits)
{
    size_t limit =
        churn->options.limit < JSON_MIN_AUTHORS ? JSON_MIN_AUTHORS : churn->options.limit;
    size_t n = churn->history.authors.n;

    n = churn->options.limit > 0 && limit < n ? limit : n;
    json_write_key(w, key);
    json_write_object(w);
    for (size_t i = 0; i < n; i++) {
        uint32_t id = churn->by_files[i];
        const ChurnAuthorState *state = &churn->history.author_states[id];

        members_uint(w, churn->history.authors.items[id], commits ? state->commits : state->files);
    }
    json_write_end_object(w);
}

static void members_paths(JsonWriter *w, Span key, const ChurnFile **files, size_t n)
{
    json_write_key(w, key);
    json_write_array(w);
    for (size_t i = 0; i < n; i++) {
        json_write_string(w, files[i]->path);
    }
    json_write_end_array(w);
}

static void members_summary(const Churn *churn, JsonWriter *w)
{
    const ChurnFile *files[10];

    json_write_key(w, SPAN("summary"));
    json_write_object(w);
    members_uint(w, SPAN("total_commits"), churn->history.n_commits);
    members_uint(w, SPAN("total_files_changed"), churn->n_files);
    if (!churn->options.without_lines) {
        members_uint(w, SPAN("total_additions"), churn->additions);
        members_uint(w, SPAN("total_deletions"), churn->deletions);
        members_paths(w, SPAN("hotspot_files"), files, churn_hotspots(churn, files));
        members_paths(w, SPAN("stable_files"), files, churn_stable(churn, files));
    }
    members_uint(w, SPAN("author_count"), churn->history.authors.n);
    members_authors(churn, w, SPAN("author_contributions"), false);
    members_authors(churn, w, SPAN("author_commits"), true);
    json_write_end_object(w);
}

static void members_folders(const Churn *churn, JsonWriter *w)
{
    size_t limit = churn->options.limit == 0 ? SIZE_MAX : churn->options.limit;

    json_write_key(w, SPAN("directories"));
    json_write_array(w);
    for (size_t i = 0; i < churn->n_folders && i < limit; i++) {
        const ChurnFolder *folder = &churn->folders[i];

        json_write_object(w);
        members_text(w, SPAN("path"), folder->path.n == 0 ? SPAN(".") : folder->path);
        members_uint(w, SPAN("files"), folder->state->files);
        members_uint(w, SPAN("commit_count"), folder->state->commits);
        if (!churn->options.without_lines) {
            members_uint(w, SPAN("additions"), folder->state->additions);
            members_uint(w, SPAN("deletions"), folder->state->deletions);
        }
        members_uint(w, SPAN("author_count"), folder->n_authors);
        members_text(w, SPAN("main_author"), folder->owner);
        members_share(w, SPAN("ownership"), folder->ownership);
        json_write_end_object(w);
    }
    json_write_end_array(w);
    members_uint(w, SPAN("directory_count"), churn->n_folders);
}

static void members_co_changes(const Churn *churn, JsonWriter *w)
{
    json_write_key(w, SPAN("co_changes"));
    json_write_array(w);
    for (size_t i = 0; i < churn->n_co_changes; i++) {
        const ChurnCoChange *pair = &churn->co_changes[i];

        json_write_object(w);
        members_text(w, SPAN("first"), pair->a->path);
        members_text(w, SPAN("second"), pair->b->path);
        members_uint(w, SPAN("support"), pair->support);
        members_share(w, SPAN("share_of_first"), pair->share_of_a);
        members_share(w, SPAN("share_of_second"), pair->share_of_b);
        json_write_end_object(w);
    }
    json_write_end_array(w);
}

static void members_head(const Churn *churn, JsonWriter *w)
{
    const ChurnOptions *options = &churn->options;

    members_time(w, SPAN("generated_at"), options->now_s);
    if (options->period_days > 0) {
        json_write_key(w, SPAN("period_days"));
        json_write_int(w, options->period_days);
    }
    if (options->since_s > INT64_MIN) {
        members_time(w, SPAN("since"), options->since_s);
    }
    if (options->until_s < INT64_MAX) {
        members_time(w, SPAN("until"), options->until_s);
    }
    members_text(w, SPAN("repository_root"), churn->repository.root);
    members_text(w, SPAN("prefix"), churn->repository.prefix);
    members_text(w, SPAN("rev"), options->rev == NULL ? SPAN("HEAD") : span_from_str(options->rev));
    members_text(w, SPAN("head"), churn->repository.head);
    if (churn->repository.base.n > 0) {
        members_text(w, SPAN("base"), churn->repository.base);
    }
    members_bool(w, SPAN("bare"), churn->repository.is_bare);
    members_bool(w, SPAN("shallow"), churn->repository.is_shallow);
    members_bool(w, SPAN("renames_followed"), !options->no_renames);
}

void churn_write_members(const Churn *churn, JsonWriter *w)
{
    ChurnNote notes[CHURN_MAX_NOTES];
    size_t n_notes = churn_notes(churn, notes);

    members_head(churn, w);
    members_summary(churn, w);
    members_files(churn, w);
    if (churn->options.directories) {
        members_folders(churn, w);
    }
    if (churn->options.n_pairs > 0) {
        members_co_changes(churn, w);
    }
    json_write_key(w, SPAN("notes"));
    json_write_array(w);
    for (size_t i = 0; i < n_notes; i++) {
        json_write_string(w, span_from_str(notes[i].text));
    }
    json_write_end_array(w);
    if (churn->elapsed_us >= 0) {
        json_write_key(w, SPAN("elapsed_ms"));
        json_write_double(w, churn_rounded((double)churn->elapsed_us / 1000, 3));
    }
}
