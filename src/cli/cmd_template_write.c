#include "cli/cmd_template_write.h"

#include <stdio.h>

#include "base/bytes.h"
#include "cli/cmd_template_catalog.h"
#include "cli/cmd_template_json.h"
#include "cli/cmd_template_tree.h"
#include "cli/table.h"
#include "io/error_text.h"
#include "io/tree.h"
#include "json/writer.h"

/* One file: where it goes, and what is there. */
typedef struct WriteItem {
    const TemplateFile *file;
    const char *path; /* from the root of the place */
    IoTreeLook look;
} WriteItem;

/* Room for "differs +N -N". */
#define NOTE_SIZE 64

static int write_say_why(const TemplateWrite *write, const WriteItem *item, int r, const Diag *diag)
{
    return template_cli_fail(write->args, "cannot write '%.*s' into '%.*s': %s",
                             (int)item->file->path.n, item->file->path.p,
                             (int)write->place.folder.n, write->place.folder.p,
                             r > 0 ? diag->message : io_error_text(-r));
}

/* 0 or an exit status. */
static int write_look(const TemplateWrite *write, WriteItem *items)
{
    int status = 0;

    for (size_t i = 0; i < write->n; i++) {
        Diag diag = DIAG_NULL;
        int r;

        items[i].file = &write->files[i];
        items[i].path = template_place_path(write->arena, &write->place, write->files[i].path);
        if (items[i].path == NULL) {
            return template_cli_no_memory(write->args);
        }
        r = io_tree_look(write->place.root, items[i].path, write->files[i].content,
                         write->files[i].executable, &items[i].look, &diag);
        if (r != 0) {
            status = write_say_why(write, &items[i], r, &diag);
        } else if (items[i].look.state == IO_TREE_DIFFERS && !write->overwrite && !write->dry_run) {
            status = template_cli_fail(
                write->args,
                "'%.*s' is there already, and differs (+%zu -%zu); --overwrite replaces it",
                (int)write->files[i].path.n, write->files[i].path.p, items[i].look.n_added,
                items[i].look.n_removed);
        }
    }
    if (status != 0 && !write->dry_run) {
        (void)template_cli_fail(write->args, "nothing was written");
    }
    return status;
}

static int write_all(const TemplateWrite *write, const WriteItem *items)
{
    for (size_t i = 0; i < write->n; i++) {
        Diag diag = DIAG_NULL;
        int r = 0;

        if (items[i].look.state != IO_TREE_SAME) {
            /* What has come since we looked is not replaced. */
            r = io_tree_write(write->place.root, items[i].path, items[i].file->content,
                              items[i].file->executable, items[i].look.state == IO_TREE_DIFFERS,
                              &diag);
        }
        if (r != 0) {
            (void)write_say_why(write, &items[i], r, &diag);
            return template_cli_fail(write->args, "%zu of %zu files are there", i, write->n);
        }
    }
    return 0;
}

static const char *state_name(const TemplateWrite *write, IoTreeState state)
{
    switch (state) {
    case IO_TREE_NEW:
        return "new";
    case IO_TREE_SAME:
        return "same";
    default:
        return write->dry_run ? "differs" : "replaced";
    }
}

static int write_print_tree(const TemplateWrite *write, const WriteItem *items)
{
    TemplateTreeLine *lines = arena_alloc_array(write->arena, write->n, sizeof(*lines));
    size_t counts[IO_TREE_DIFFERS + 1] = {0};

    for (size_t i = 0; i < write->n && lines != NULL; i++) {
        const IoTreeLook *look = &items[i].look;
        char *note = arena_alloc(write->arena, NOTE_SIZE);

        if (note == NULL) {
            return template_cli_no_memory(write->args);
        }
        if (look->state == IO_TREE_DIFFERS) {
            (void)snprintf(note, NOTE_SIZE, "%s +%zu -%zu", state_name(write, look->state),
                           look->n_added, look->n_removed);
        } else {
            (void)snprintf(note, NOTE_SIZE, "%s", state_name(write, look->state));
        }
        lines[i] = (TemplateTreeLine){items[i].file->path, note};
        counts[look->state]++;
    }
    if (lines == NULL) {
        return template_cli_no_memory(write->args);
    }
    template_tree_print(stdout, write->place.folder, lines, write->n);
    printf("\n%zu %s: %zu new, %zu same, %zu %s\n", write->n, write->n == 1 ? "file" : "files",
           counts[IO_TREE_NEW], counts[IO_TREE_SAME], counts[IO_TREE_DIFFERS],
           state_name(write, IO_TREE_DIFFERS));
    for (size_t i = 0; i < write->n_skipped; i++) {
        table_print_safe(stdout, write->skipped[i].asked, false);
        printf(": not made, since %s is false\n", write->skipped[i].template->when.p);
    }
    return CLI_EXIT_DONE;
}

static void write_json_skipped(const TemplateWrite *write, JsonWriter *w)
{
    json_write_key(w, SPAN("skipped"));
    json_write_array(w);
    for (size_t i = 0; i < write->n_skipped; i++) {
        json_write_object(w);
        template_json_member(w, "template", write->skipped[i].template->uri_text);
        template_json_member(w, "when", write->skipped[i].template->when);
        json_write_end_object(w);
    }
    json_write_end_array(w);
}

static int write_print_json(const TemplateWrite *write, const WriteItem *items)
{
    CLEANUP(bytes_deinit) Bytes out = BYTES_NULL;
    JsonWriter w;

    bytes_init(&out, 2 * TEMPLATE_PROJECT_BYTES);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    template_json_toolchain(&w, write->toolchain);
    template_json_member(&w, "folder", write->place.folder);
    json_write_key(&w, SPAN("dry_run"));
    json_write_bool(&w, write->dry_run);
    json_write_key(&w, SPAN("files"));
    json_write_array(&w);
    for (size_t i = 0; i < write->n; i++) {
        json_write_object(&w);
        template_json_file(&w, items[i].file);
        template_json_member(&w, "state", span_from_str(state_name(write, items[i].look.state)));
        if (items[i].look.state == IO_TREE_DIFFERS) {
            json_write_key(&w, SPAN("lines_added"));
            json_write_uint(&w, items[i].look.n_added);
            json_write_key(&w, SPAN("lines_removed"));
            json_write_uint(&w, items[i].look.n_removed);
        }
        json_write_end_object(&w);
    }
    json_write_end_array(&w);
    write_json_skipped(write, &w);
    json_write_end_object(&w);
    return template_json_print(write->args, &w);
}

int template_write_run(const TemplateWrite *write)
{
    WriteItem *items = arena_alloc_array(write->arena, write->n, sizeof(*items));
    int status;

    if (items == NULL) {
        return template_cli_no_memory(write->args);
    }
    status = write_look(write, items);
    if (status == 0 && !write->dry_run) {
        status = write_all(write, items);
    }
    if (status != 0) {
        return status;
    }
    return write->args->values[TEMPLATE_OPTION_JSON] != NULL ? write_print_json(write, items)
                                                             : write_print_tree(write, items);
}
