/* Measures source files, for the comparison with other people's tools (run, compare.mjs).
 *
 *     complexity_probe [-i] [-l LANGUAGE] <names-of-files
 *
 * A file without functions is a line all the same: {"file", "language", "errors",
 * "first_error_line"}; then comes a line a function: {"file", "line", "column", "last_line",
 * "name", "cyclomatic", "cyclomatic_modified", "cognitive", "nesting", "error"}, with -i also
 * "increments": [[line, column, construct, amount]…]. A file in no language that we know is a line
 * {"file", "skipped"}. The last line, on stderr, says how long reading and measuring took. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "toolkit/complexity/language.h"
#include "toolkit/complexity/measure.h"
#include "json/writer.h"

#define PROBE_ARENA_BYTES ((size_t)1 << 30)
#define PROBE_PATH_BYTES  4096
#define PROBE_HEAD_BYTES  4096

typedef struct Probe {
    ComplexityMeter *meter;
    const ComplexityLanguage *language; /* NULL: by name and beginning */
    ComplexityOptions options;
    Arena arena;
    Bytes text;
    Bytes out;
    size_t n_bytes;
    size_t n_files;
} Probe;

static void require(int r, const char *what)
{
    if (r != 0) {
        (void)fprintf(stderr, "complexity_probe: %s: failed with %d\n", what, r);
        exit(2);
    }
}

static void write_text(JsonWriter *w, const char *key, Span text)
{
    json_write_key(w, span_from_str(key));
    json_write_string(w, text);
}

static void write_number(JsonWriter *w, const char *key, uint64_t value)
{
    json_write_key(w, span_from_str(key));
    json_write_uint(w, value);
}

static void write_increments(JsonWriter *w, const ComplexityFunction *f)
{
    json_write_key(w, SPAN("increments"));
    json_write_array(w);
    for (size_t i = 0; i < f->n_increments; i++) {
        json_write_array(w);
        json_write_uint(w, f->increments[i].line);
        json_write_uint(w, f->increments[i].column);
        json_write_string(w, span_from_str(f->increments[i].construct));
        json_write_uint(w, f->increments[i].amount);
        json_write_end_array(w);
    }
    json_write_end_array(w);
}

static void write_function(Probe *probe, Span path, const ComplexityFunction *f)
{
    JsonWriter w;

    json_writer_init(&w, &probe->out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    write_text(&w, "file", path);
    write_number(&w, "line", f->first_line);
    write_number(&w, "column", f->first_column);
    write_number(&w, "last_line", f->last_line);
    write_text(&w, "name", f->name);
    write_number(&w, "cyclomatic", f->cyclomatic);
    write_number(&w, "cyclomatic_modified", f->cyclomatic_modified);
    write_number(&w, "cognitive", f->cognitive);
    write_number(&w, "nesting", f->nesting);
    json_write_key(&w, SPAN("error"));
    json_write_bool(&w, f->has_error);
    if (probe->options.increments) {
        write_increments(&w, f);
    }
    json_write_end_object(&w);
    require(json_writer_finish(&w), "output");
    require(bytes_append_byte(&probe->out, '\n'), "output");
}

static void write_file(Probe *probe, Span path, const ComplexityFile *file)
{
    JsonWriter w;

    json_writer_init(&w, &probe->out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    write_text(&w, "file", path);
    write_text(&w, "language", complexity_language_name(file->language));
    write_number(&w, "errors", file->n_errors);
    write_number(&w, "first_error_line", file->first_error_line);
    json_write_end_object(&w);
    require(json_writer_finish(&w), "output");
    require(bytes_append_byte(&probe->out, '\n'), "output");
    for (size_t i = 0; i < file->n_functions; i++) {
        write_function(probe, path, &file->functions[i]);
    }
}

static void write_skipped(Probe *probe, Span path, const char *why)
{
    JsonWriter w;

    json_writer_init(&w, &probe->out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    write_text(&w, "file", path);
    write_text(&w, "skipped", span_from_str(why));
    json_write_end_object(&w);
    require(json_writer_finish(&w), "output");
    require(bytes_append_byte(&probe->out, '\n'), "output");
}

/* 0, or the errno of opening it. */
static int read_text(Probe *probe, const char *path)
{
    char piece[65536];
    size_t n;
    FILE *in = fopen(path, "rb");

    if (in == NULL) {
        return errno;
    }
    bytes_clear(&probe->text);
    while ((n = fread(piece, 1, sizeof(piece), in)) > 0) {
        require(bytes_append(&probe->text, piece, n), path);
    }
    (void)fclose(in);
    return 0;
}

static void measure(Probe *probe, const char *path)
{
    const ComplexityLanguage *language = probe->language;
    Span text;
    ComplexityFile file;

    if (read_text(probe, path) != 0) {
        write_skipped(probe, span_from_str(path), "not read");
        return;
    }
    text = bytes_span(&probe->text);
    if (language == NULL) {
        Span head = span_make(text.p, text.n < PROBE_HEAD_BYTES ? text.n : PROBE_HEAD_BYTES);

        language = complexity_language_of(span_from_str(path), head);
    }
    if (language == NULL) {
        write_skipped(probe, span_from_str(path), "no language");
        return;
    }
    require(complexity_measure(probe->meter, language, text, &probe->options, &probe->arena, &file),
            path);
    write_file(probe, span_from_str(path), &file);
    arena_reset(&probe->arena, PROBE_ARENA_BYTES);
    probe->n_bytes += text.n;
    probe->n_files++;
}

static void send_off(Bytes *out)
{
    require(fwrite(out->data, 1, out->n, stdout) != out->n, "output");
    bytes_clear(out);
}

static void read_options(Probe *probe, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-i") == 0) {
            probe->options.increments = true;
        } else if (strcmp(argv[i], "-l") == 0 && i + 1 < argc) {
            probe->language = complexity_language_named(span_from_str(argv[++i]));
            require(probe->language == NULL, argv[i]);
        } else {
            require(1, argv[i]);
        }
    }
}

int main(int argc, char **argv)
{
    Probe probe = {0};
    char path[PROBE_PATH_BYTES];
    clock_t start = clock();

    read_options(&probe, argc, argv);
    arena_init(&probe.arena, PROBE_ARENA_BYTES);
    bytes_init(&probe.text, COMPLEXITY_FILE_BYTES);
    bytes_init(&probe.out, PROBE_ARENA_BYTES);
    require(complexity_meter_new(&probe.meter), "meter");
    while (fgets(path, sizeof(path), stdin) != NULL) {
        path[strcspn(path, "\n")] = '\0';
        measure(&probe, path);
        send_off(&probe.out);
    }
    (void)fprintf(stderr, "%zu files, %zu bytes, %.3f s of processor time, %.3f s in the parser\n",
                  probe.n_files, probe.n_bytes, (double)(clock() - start) / CLOCKS_PER_SEC,
                  (double)complexity_meter_parse_us(probe.meter) / 1e6);
    probe.meter = complexity_meter_free(probe.meter);
    bytes_deinit(&probe.out);
    bytes_deinit(&probe.text);
    arena_deinit(&probe.arena);
    return 0;
}
