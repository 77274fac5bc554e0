/* list_files, read_file, write_file: the work, on its thread. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "providers/files_impl.h"
#include "json/writer.h"

int files_refuse(FilesJob *job, const char *format, ...)
{
    char message[DIAG_MESSAGE_SIZE];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    return diag_set(&job->diag, FILES_E_REFUSED, "%s", message);
}

int files_beneath(FilesJob *job, int r)
{
    if (r > 0) {
        job->diag.code = FILES_E_REFUSED;
        return FILES_E_REFUSED;
    }
    return r;
}

/* What is said is what the writer writes next, a string: where it lies is remembered. */
static void run_say_next(FilesJob *job, JsonWriter *w, Span text)
{
    job->said_at = job->structured.n;
    json_write_string(w, text);
    job->said_n = job->structured.n - job->said_at;
}

static void run_write_path(JsonWriter *w, const FilesJob *job)
{
    json_write_key(w, SPAN("path"));
    json_write_string(w, span_from_str(job->asked.path));
}

/* ---- list_files ---- */

/* "src" and "a.c": "src/a.c"; "." is left out. */
static int list_join(Bytes *out, const char *folder, const char *name)
{
    size_t n = strlen(folder);
    int r = 0;

    bytes_clear(out);
    while (n > 1 && folder[n - 1] == '/') {
        n--;
    }
    if (!(n == 1 && folder[0] == '.') && n > 0) {
        r = bytes_append(out, folder, n);
        if (r == 0 && folder[n - 1] != '/') {
            r = bytes_append_byte(out, '/');
        }
    }
    return r != 0 ? r : bytes_append(out, name, strlen(name));
}

static Span list_kind(IoBeneathKind kind)
{
    static const Span words[] = {
        [IO_BENEATH_FILE] = SPAN_INIT("file"),
        [IO_BENEATH_FOLDER] = SPAN_INIT("directory"),
        [IO_BENEATH_LINK] = SPAN_INIT("link"),
        [IO_BENEATH_OTHER] = SPAN_INIT("other"),
    };

    return words[kind];
}

/* A name that is not UTF-8 is shown with U+FFFD, and then is no name of anything: isExact says so.
 */
static int list_write_entry(JsonWriter *w, Bytes *said, const char *folder,
                            const IoBeneathEntry *entry, Bytes *path)
{
    Span name = span_from_str(entry->name);
    int r = list_join(path, folder, entry->name);

    if (r != 0) {
        return r;
    }
    json_write_object(w);
    json_write_key(w, SPAN("name"));
    json_write_string(w, name);
    json_write_key(w, SPAN("type"));
    json_write_string(w, list_kind(entry->kind));
    json_write_key(w, SPAN("path"));
    json_write_string(w, bytes_span(path));
    if (entry->kind == IO_BENEATH_FILE) {
        json_write_key(w, SPAN("size"));
        json_write_uint(w, entry->size);
    }
    if (!utf8_valid(name.p, name.n, NULL)) {
        json_write_key(w, SPAN("isExact"));
        json_write_bool(w, false);
    }
    json_write_end_object(w);
    r = bytes_append_span(said, name);
    return r != 0 ? r
                  : bytes_append_span(said,
                                      entry->kind == IO_BENEATH_FOLDER ? SPAN("/\n") : SPAN("\n"));
}

static int list_write(FilesJob *job, const IoBeneathList *list, Bytes *said, Bytes *path)
{
    JsonWriter w;
    int r = 0;

    json_writer_init(&w, &job->structured, JSON_STYLE_COMPACT);
    json_write_object(&w);
    run_write_path(&w, job);
    json_write_key(&w, SPAN("files"));
    json_write_array(&w);
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        r = list_write_entry(&w, said, job->asked.path, &list->entries[i], path);
    }
    json_write_end_array(&w);
    json_write_key(&w, SPAN("truncated"));
    json_write_bool(&w, list->is_cut);
    json_write_end_object(&w);
    if (r == 0 && list->is_cut) {
        r = bytes_append_span(said, SPAN("(and more)\n"));
    }
    return r != 0 ? r : json_writer_finish(&w);
}

static int run_say(FilesJob *job, const Bytes *said)
{
    JsonWriter w;

    json_writer_init(&w, &job->said, JSON_STYLE_COMPACT);
    json_write_string(&w, bytes_span(said));
    return json_writer_finish(&w);
}

int files_run_list(FilesJob *job)
{
    IoBeneathList list = IO_BENEATH_LIST_NULL;
    Bytes said;
    Bytes path;
    int r =
        io_beneath_list(job->shared->root, job->asked.path, LIMIT_FILES_ENTRIES, &list, &job->diag);

    if (r != 0) {
        return files_beneath(job, r);
    }
    bytes_init(&said, job->said.max_bytes);
    bytes_init(&path, job->said.max_bytes);
    r = list_write(job, &list, &said, &path);
    r = r != 0 ? r : run_say(job, &said);
    bytes_deinit(&said);
    bytes_deinit(&path);
    io_beneath_list_deinit(&list);
    return r;
}

/* ---- read_file ---- */

static int read_write(FilesJob *job, Span content, size_t n_file, size_t n_lines)
{
    JsonWriter w;

    json_writer_init(&w, &job->structured, JSON_STYLE_COMPACT);
    json_write_object(&w);
    run_write_path(&w, job);
    json_write_key(&w, SPAN("content"));
    run_say_next(job, &w, content);
    json_write_key(&w, SPAN("size"));
    json_write_uint(&w, n_file);
    if (job->asked.line > 0) {
        json_write_key(&w, SPAN("line"));
        json_write_uint(&w, job->asked.line);
        json_write_key(&w, SPAN("totalLines"));
        json_write_uint(&w, n_lines);
    }
    if (job->asked.is_base64) {
        json_write_key(&w, SPAN("encoding"));
        json_write_string(&w, SPAN("base64"));
    }
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

static int read_answer(FilesJob *job, const Bytes *file)
{
    Span content = bytes_span(file);
    size_t n_lines = 0;
    Bytes encoded;
    int r = 0;

    if (!job->asked.is_base64 && !utf8_valid(content.p, content.n, NULL)) {
        return files_refuse(job,
                            "Not a text file (no UTF-8): %s has %zu bytes; encoding base64 reads "
                            "it all the same",
                            job->asked.path, content.n);
    }
    bytes_init(&encoded, job->structured.max_bytes);
    if (job->asked.is_base64) {
        r = base64_encode(&encoded, BASE64_STANDARD, content);
        content = bytes_span(&encoded);
    } else if (job->asked.line > 0) {
        content = files_lines(content, job->asked.line, job->asked.n_lines, &n_lines);
    }
    r = r != 0 ? r : read_write(job, content, file->n, n_lines);
    bytes_deinit(&encoded);
    return r;
}

int files_run_read(FilesJob *job)
{
    Bytes file;
    int r;

    bytes_init(&file, job->shared->max_file_bytes);
    r = io_beneath_read(job->shared->root, job->asked.path, job->shared->max_file_bytes, &file,
                        &job->diag);
    r = r != 0 ? files_beneath(job, r) : read_answer(job, &file);
    bytes_deinit(&file);
    return r;
}

/* ---- write_file ---- */

static int write_answer(FilesJob *job, size_t n, bool is_new)
{
    char message[64];
    JsonWriter w;

    (void)snprintf(message, sizeof(message), "%s %zu bytes",
                   is_new ? "File created:" : "File written:", n);
    json_writer_init(&w, &job->structured, JSON_STYLE_COMPACT);
    json_write_object(&w);
    run_write_path(&w, job);
    json_write_key(&w, SPAN("size"));
    json_write_uint(&w, n);
    json_write_key(&w, SPAN("message"));
    run_say_next(job, &w, span_from_str(message));
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

int files_run_write(FilesJob *job)
{
    Span content = job->asked.content;
    bool is_new = false;
    Bytes decoded;
    int r = 0;

    bytes_init(&decoded, job->shared->max_file_bytes);
    if (job->asked.is_base64) {
        r = base64_decode(&decoded, BASE64_STANDARD, content);
        r = r == BASE64_E_SYNTAX ? files_refuse(job, "content: not base64") : r;
        content = bytes_span(&decoded);
    }
    if (r == BYTES_E_FULL || (r == 0 && content.n > job->shared->max_file_bytes)) {
        r = files_refuse(job, "Content too large (max %zu bytes): %s", job->shared->max_file_bytes,
                         job->asked.path);
    }
    if (r == 0) {
        r = io_beneath_write(job->shared->root, job->asked.path, content, &is_new, &job->diag);
        r = files_beneath(job, r);
    }
    r = r != 0 ? r : write_answer(job, content.n, is_new);
    bytes_deinit(&decoded);
    return r;
}
