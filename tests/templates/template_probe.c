/* Makes projects of the built-in templates for the tests beside this file.
 *
 * A line of stdin is {"toolchain": "rust", "names": ["makefile", …], "parameters": {…}} and is
 * answered by a line {"files": [{"path", "filename", "content", "sha256", "mime_type",
 * "executable"}…], "failures": [{"asked", "message", "faults": [{"parameter", "code",
 * "expected"}…]}…], "skipped": ["tests"…]}. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "toolkit/templates/embedded.h"
#include "toolkit/templates/project.h"
#include "json/json.h"
#include "json/writer.h"

#define PROBE_MAX_BYTES ((size_t)1 << 26)
#define PROBE_NAMES_MAX 64

/* Thursday, 2 July 2026, UTC: licences have the year of the time that they are given. */
#define PROBE_UNIX_MS INT64_C(1782950400000)

static void require(int r)
{
    if (r != 0) {
        (void)fprintf(stderr, "template_probe: failed with %d\n", r);
        exit(2);
    }
}

static void write_text(JsonWriter *w, const char *key, Span text)
{
    json_write_key(w, span_from_str(key));
    json_write_string(w, text);
}

static void write_file(JsonWriter *w, const TemplateFile *file)
{
    json_write_object(w);
    write_text(w, "path", file->path);
    write_text(w, "filename", file->filename);
    write_text(w, "content", file->content);
    write_text(w, "sha256", span_from_str(file->sha256));
    write_text(w, "mime_type", file->template->mime_type);
    json_write_key(w, SPAN("executable"));
    json_write_bool(w, file->executable);
    json_write_end_object(w);
}

static void write_failure(JsonWriter *w, const TemplateFailure *failure)
{
    json_write_object(w);
    write_text(w, "asked", failure->asked);
    write_text(w, "message", failure->message);
    json_write_key(w, SPAN("faults"));
    json_write_array(w);
    for (size_t i = 0; i < failure->n_faults; i++) {
        json_write_object(w);
        write_text(w, "parameter", failure->faults[i].parameter);
        write_text(w, "code", span_from_str(failure->faults[i].code));
        write_text(w, "expected", failure->faults[i].expected);
        json_write_end_object(w);
    }
    json_write_end_array(w);
    json_write_end_object(w);
}

static void write_answer(Bytes *out, const TemplateProject *project)
{
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("files"));
    json_write_array(&w);
    for (size_t i = 0; i < project->n_files; i++) {
        write_file(&w, &project->files[i]);
    }
    json_write_end_array(&w);
    json_write_key(&w, SPAN("failures"));
    json_write_array(&w);
    for (size_t i = 0; i < project->n_failures; i++) {
        write_failure(&w, &project->failures[i]);
    }
    json_write_end_array(&w);
    json_write_key(&w, SPAN("skipped"));
    json_write_array(&w);
    for (size_t i = 0; i < project->n_skipped; i++) {
        json_write_string(&w, project->skipped[i].asked);
    }
    json_write_end_array(&w);
    json_write_end_object(&w);
    require(json_writer_finish(&w));
    require(bytes_append(out, "\n", 1));
}

static void answer(Bytes *out, const TemplateCatalog *catalog, TemplateProject *project, Span text)
{
    Arena arena;
    JsonDoc doc;
    JsonValue toolchain;
    JsonValue list;
    JsonValue parameters;
    Span toolchain_text;
    Span names[PROBE_NAMES_MAX];
    size_t n = 0;

    arena_init(&arena, PROBE_MAX_BYTES);
    require(json_parse(&doc, &arena, text.p, text.n, NULL, NULL));
    require(!json_get(json_root(&doc), SPAN("toolchain"), &toolchain) ||
            !json_get(json_root(&doc), SPAN("names"), &list) ||
            !json_get(json_root(&doc), SPAN("parameters"), &parameters));
    require(json_string(toolchain, &arena, &toolchain_text));
    for (JsonIter it = json_iter(list); json_iter_next(&it); n++) {
        require(n == PROBE_NAMES_MAX);
        require(json_string(it.value, &arena, &names[n]));
    }
    require(template_project_many(project, catalog, toolchain_text, names, n, parameters,
                                  PROBE_UNIX_MS));
    write_answer(out, project);
    arena_deinit(&arena);
}

static void read_all(Bytes *in)
{
    char piece[4096];
    size_t n;

    while ((n = fread(piece, 1, sizeof(piece), stdin)) > 0) {
        require(bytes_append(in, piece, n));
    }
}

int main(void)
{
    TemplateCatalog *catalog = NULL;
    TemplateProject project;
    Diag diag = DIAG_NULL;
    Bytes in;
    Bytes out;

    bytes_init(&in, PROBE_MAX_BYTES);
    bytes_init(&out, PROBE_MAX_BYTES);
    template_project_init(&project);
    require(template_catalog_new(&catalog, (HashSeed){1, 2}));
    if (template_embedded_load(catalog, &diag) != 0) {
        (void)fprintf(stderr, "template_probe: %s\n", diag.message);
        return 2;
    }
    read_all(&in);
    for (const char *p = in.data, *end = in.data + in.n; p < end;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline != NULL ? newline : end;

        answer(&out, catalog, &project, span_make(p, (size_t)(stop - p)));
        p = stop + 1;
    }
    require(fwrite(out.data, 1, out.n, stdout) != out.n);
    catalog = template_catalog_free(catalog);
    template_project_deinit(&project);
    bytes_deinit(&out);
    bytes_deinit(&in);
    return 0;
}
