/* search_files: the work, on its thread.
 *
 * Folder by folder, from a list of those still to be looked at: no recursion, and no link to a
 * folder is entered, so that the way ends. What it may look at is bounded in entries, bytes and
 * time; what was found until then is the answer, which says why it is not all. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "providers/files_impl.h"
#include "toolkit/glob.h"
#include "json/writer.h"

/* Where a zero byte says that this is no text. */
#define SEARCH_HEAD ((size_t)8 * 1024)

/* What git keeps for itself; nobody means it. */
#define SEARCH_GIT ".git"

typedef struct Search {
    FilesJob *job;
    JsonWriter w;
    Bytes folders;  /* still to be looked at: paths relative to the start, NUL-terminated, the next
                       one at the end */
    Bytes path;     /* of an entry: start, '/', the rest */
    size_t n_start; /* bytes of it before the path that the pattern is about */
    Bytes file;
    Bytes said;
    size_t n_results;
    size_t n_entries;
    size_t n_skipped; /* files that were not read: too large, no text, no permission */
    uint64_t n_bytes;
    int64_t end_ms;
    const char *cut; /* why it is not all; NULL: it is */
} Search;

/* Is there a reason to stop? */
static bool search_is_over(Search *search)
{
    const FilesShared *shared = search->job->shared;

    if (search->cut == NULL) {
        if (atomic_load_explicit(&search->job->cancel, memory_order_relaxed)) {
            search->cut = "cancelled";
        } else if (search->n_results >= search->job->asked.max_results) {
            search->cut = "results";
        } else if (search->n_entries >= shared->max_search_entries) {
            search->cut = "entries";
        } else if (search->n_bytes >= shared->max_search_bytes) {
            search->cut = "bytes";
        } else if (clock_monotonic_ms() >= search->end_ms) {
            search->cut = "time";
        }
    }
    return search->cut != NULL;
}

/* ---- what is found ---- */

static int search_found(Search *search, const FilesMatch *match)
{
    JsonWriter *w = &search->w;
    Span path = bytes_span(&search->path);
    int r = bytes_append_span(&search->said, path);

    json_write_object(w);
    json_write_key(w, SPAN("path"));
    json_write_string(w, path);
    if (match != NULL) {
        json_write_key(w, SPAN("line"));
        json_write_uint(w, match->line);
        json_write_key(w, SPAN("text"));
        json_write_string(w, match->text);
        r = r != 0 ? r : bytes_append_format(&search->said, ":%zu: ", match->line);
        r = r != 0 ? r : bytes_append_span(&search->said, match->text);
    }
    json_write_end_object(w);
    search->n_results++;
    return r != 0 ? r : bytes_append_byte(&search->said, '\n');
}

static bool search_is_text(Span file)
{
    size_t n = file.n < SEARCH_HEAD ? file.n : SEARCH_HEAD;

    return n == 0 || memchr(file.p, '\0', n) == NULL;
}

/* What cannot be read is passed over, and counted. 0, -ENOMEM. */
static int search_in_file(Search *search)
{
    FilesJob *job = search->job;
    FilesMatcher matcher = {.wanted = job->asked.text, .no_case = job->asked.no_case};
    FilesMatch match;
    int r;

    bytes_clear(&search->file);
    r = io_beneath_read(job->shared->root, search->path.data, job->shared->max_file_bytes,
                        &search->file, NULL);
    if (r == -ENOMEM) {
        return r;
    }
    if (r != 0 || !search_is_text(bytes_span(&search->file))) {
        search->n_skipped++;
        return 0;
    }
    search->n_bytes += search->file.n;
    matcher.text = bytes_span(&search->file);
    while (r == 0 && !search_is_over(search) && files_matcher_next(&matcher, &match)) {
        r = search_found(search, &match);
    }
    return r;
}

/* ---- the way ---- */

/* search->path becomes that of an entry, NUL behind it (not counted). */
static int search_set_path(Search *search, Span folder, const char *name)
{
    int r;

    search->path.n = search->n_start;
    r = bytes_append_span(&search->path, folder);
    if (r == 0 && folder.n > 0) {
        r = bytes_append_byte(&search->path, '/');
    }
    r = r != 0 ? r : bytes_append(&search->path, name, strlen(name) + 1);
    if (r == 0) {
        search->path.n--;
    }
    return r;
}

/* The part that the pattern is about. */
static Span search_relative(const Search *search)
{
    return span_make(search->path.data + search->n_start, search->path.n - search->n_start);
}

static int search_file(Search *search)
{
    Span pattern = search->job->asked.pattern;

    if (pattern.n > 0 && !toolkit_glob_matches(pattern, search_relative(search))) {
        return 0;
    }
    return search->job->asked.text.n > 0 ? search_in_file(search) : search_found(search, NULL);
}

static int search_push(Search *search, Span folder)
{
    int r = bytes_append_span(&search->folders, folder);

    return r != 0 ? r : bytes_append_byte(&search->folders, '\0');
}

/* Files first; then its folders, the first one last, since the last one is taken next. */
static int search_list(Search *search, Span folder, const IoBeneathList *list)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < list->n && !search_is_over(search); i++) {
        search->n_entries++;
        if (list->entries[i].kind == IO_BENEATH_FILE) {
            r = search_set_path(search, folder, list->entries[i].name);
            r = r != 0 ? r : search_file(search);
        }
    }
    for (size_t i = list->n; r == 0 && i-- > 0;) {
        const IoBeneathEntry *entry = &list->entries[i];

        if (entry->kind == IO_BENEATH_FOLDER && !entry->is_link &&
            strcmp(entry->name, SEARCH_GIT) != 0) {
            r = search_set_path(search, folder, entry->name);
            r = r != 0 ? r : search_push(search, search_relative(search));
        }
    }
    return r;
}

/* Takes the last folder from the list. */
static int search_pop(Search *search, Bytes *folder)
{
    const char *data = search->folders.data;
    size_t end = search->folders.n - 1;
    size_t begin = end;
    int r;

    while (begin > 0 && data[begin - 1] != '\0') {
        begin--;
    }
    bytes_clear(folder);
    r = bytes_append(folder, data + begin, end - begin);
    search->folders.n = begin;
    return r;
}

/* A folder that cannot be read is passed over; but the first one. */
static int search_folder(Search *search, Span folder, bool is_first)
{
    FilesJob *job = search->job;
    IoBeneathList list = IO_BENEATH_LIST_NULL;
    int r = search_set_path(search, folder, "");

    if (r != 0) {
        return r;
    }
    r = io_beneath_list(job->shared->root, is_first ? job->asked.path : search->path.data,
                        job->shared->max_search_entries - search->n_entries, &list, &job->diag);
    if (r == -ENOMEM || (is_first && r != 0)) {
        return files_beneath(job, r);
    }
    if (r != 0) {
        search->n_skipped++;
        return 0;
    }
    r = search_list(search, folder, &list);
    if (list.is_cut && search->cut == NULL) {
        search->cut = "entries";
    }
    io_beneath_list_deinit(&list);
    return r;
}

static int search_walk(Search *search)
{
    bool is_first = true;
    Bytes folder;
    int r;

    bytes_init(&folder, search->folders.max_bytes);
    r = search_push(search, SPAN(""));
    while (r == 0 && search->folders.n > 0 && !search_is_over(search)) {
        r = search_pop(search, &folder);
        r = r != 0 ? r : search_folder(search, bytes_span(&folder), is_first);
        is_first = false;
    }
    bytes_deinit(&folder);
    return r;
}

/* ---- the answer ---- */

/* "src/" of "src", "./src//"; nothing of ".". */
static int search_begin(Search *search)
{
    const char *at = search->job->asked.path;
    size_t n;
    int r;

    while (at[0] == '.' && at[1] == '/') {
        at += 1 + strspn(at + 1, "/");
    }
    n = strcmp(at, ".") == 0 ? 0 : strlen(at);
    while (n > 1 && at[n - 1] == '/') {
        n--;
    }
    r = bytes_append(&search->path, at, n);
    if (r == 0 && n > 0 && at[n - 1] != '/') {
        r = bytes_append_byte(&search->path, '/');
    }
    search->n_start = search->path.n;
    return r;
}

static int search_answer(Search *search, int r)
{
    JsonWriter *w = &search->w;
    JsonWriter said;

    json_write_end_array(w);
    json_write_key(w, SPAN("truncated"));
    json_write_bool(w, search->cut != NULL);
    if (search->cut != NULL) {
        json_write_key(w, SPAN("reason"));
        json_write_string(w, span_from_str(search->cut));
    }
    json_write_key(w, SPAN("skipped"));
    json_write_uint(w, search->n_skipped);
    json_write_end_object(w);
    r = r != 0 ? r : json_writer_finish(w);
    if (r == 0 && search->n_results == 0) {
        r = bytes_append_span(&search->said, SPAN("(nothing found)\n"));
    }
    if (r == 0 && search->cut != NULL) {
        r = bytes_append_format(&search->said, "(not all: limit of %s)\n", search->cut);
    }
    if (r != 0) {
        return r;
    }
    json_writer_init(&said, &search->job->said, JSON_STYLE_COMPACT);
    json_write_string(&said, bytes_span(&search->said));
    return json_writer_finish(&said);
}

int files_run_search(FilesJob *job)
{
    Search search = {.job = job, .end_ms = clock_monotonic_ms() + job->shared->search_ms};
    int r;

    bytes_init(&search.folders, job->structured.max_bytes);
    bytes_init(&search.path, job->structured.max_bytes);
    bytes_init(&search.file, job->shared->max_file_bytes);
    bytes_init(&search.said, job->said.max_bytes);
    json_writer_init(&search.w, &job->structured, JSON_STYLE_COMPACT);
    json_write_object(&search.w);
    json_write_key(&search.w, SPAN("matches"));
    json_write_array(&search.w);
    r = search_begin(&search);
    r = r != 0 ? r : search_walk(&search);
    r = search_answer(&search, r);
    bytes_deinit(&search.folders);
    bytes_deinit(&search.path);
    bytes_deinit(&search.file);
    bytes_deinit(&search.said);
    return r;
}
