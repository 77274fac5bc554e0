#include "providers/tools_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/error_text.h"
#include "io/file.h"
#include "io/folder.h"
#include "io/place.h"
#include "providers/tools_file_tool.h"
#include "router/router.h"
#include "json/json.h"

/* Index, strings and descriptions of a file of TOOLS_FILE_MAX_BYTES. */
#define TOOLS_FILE_ARENA_BYTES (TOOLS_FILE_MAX_BYTES * 24)

/* "[65535].output_schema" */
#define TOOLS_FILE_FIELD_SIZE 64

/* The file of a folder that the offset is in; of a single file all of it. */
static ToolsFilePart file_part(const ToolsFile *file, size_t offset)
{
    ToolsFilePart part = {.path = file->path};

    for (size_t i = 0; i < file->n_parts && file->parts[i].offset <= offset; i++) {
        part = file->parts[i];
    }
    return part;
}

/* Where a file is one tool its index says nothing: "[3].name" is "name". */
static const char *file_field(const ToolsFile *file, const char *field)
{
    const char *end = strchr(field, ']');

    if ((file->n_parts == 0 && !file->is_one_tool) || field[0] != '[' || end == NULL) {
        return field;
    }
    return end[1] == '.' ? end + 2 : end + 1;
}

int tools_file_blame(const ToolsFile *file, size_t offset, const char *field, const char *message,
                     Diag *reterr_diag)
{
    ToolsFilePart part = file_part(file, offset);
    Diag place = DIAG_NULL;

    if (reterr_diag == NULL) {
        return TOOLS_FILE_E_MALFORMED;
    }
    field = file_field(file, field);
    offset -= part.offset;
    diag_set_place(&place, file->text.data + part.offset, file->text.n - part.offset, offset);
    (void)diag_set(reterr_diag, TOOLS_FILE_E_MALFORMED, "%s:%u: %s%s%s", part.path, place.line,
                   field, field[0] != '\0' ? ": " : "", message);
    reterr_diag->offset = offset;
    reterr_diag->line = place.line;
    reterr_diag->column = place.column;
    diag_set_field(reterr_diag, "%s", field);
    return TOOLS_FILE_E_MALFORMED;
}

int tools_file_blame_entry(const ToolsFile *file, size_t index, int r, const Diag *why,
                           Diag *reterr_diag)
{
    Span tool = file->tools[index].name;
    char clash[DIAG_MESSAGE_SIZE];
    const char *words = r == ROUTER_E_EXISTS ? clash
                        : r == ROUTER_E_FULL ? "there are too many tools"
                                             : why->message;
    const char *name = r == ROUTER_E_EXISTS ? "name" : why->field;
    size_t n = strlen(name);
    char field[DIAG_FIELD_SIZE];

    (void)snprintf(clash, sizeof(clash), "there is a tool \"%.*s\" already", (int)tool.n, tool.p);
    if (n > 0 && strncmp(words, name, n) == 0 && words[n] == ' ') {
        words += n + 1; /* the field is named in front */
    }
    (void)snprintf(field, sizeof(field), "[%zu]%s%.90s", index, name[0] != '\0' ? "." : "", name);
    return tools_file_blame(file, file->tools[index].offset, field, words, reterr_diag);
}

/* The folder that the file lies in, without links and dots, so that it stays right whatever folder
 * a command is started in. *ret_is_place: commands can be started in it. */
static int file_folder(ToolsFile *file, const char **ret, bool *ret_is_place)
{
    CLEANUP(mem_freep) char *real = NULL;
    const char *path = file->path;
    size_t n;
    Span copy;
    int r = io_place_real(&real, file->path);

    if (r == -ENOMEM) {
        return err_pass(r);
    }
    *ret_is_place = r == 0; /* else no name in the file system (a pipe behind /proc/self/fd) */
    if (r == 0) {
        path = real;
    }
    n = io_place_folder_length(path);
    if (n > 1 && path[n - 2] != ':') { /* the slash is part of what it ends: / and C:\ */
        n--;
    }
    copy = arena_copy(&file->arena, n == 0 ? SPAN(".") : span_make(path, n));
    *ret = copy.p;
    return copy.p != NULL ? 0 : err_raise(-ENOMEM);
}

static int file_read_tools(ToolsFile *file, JsonValue root, Diag *reterr_diag)
{
    static const char *const words[] = {[TOOLS_FILE_STRICT] = "a tools file is an array of tools",
                                        [TOOLS_FILE_SCHEMA] = "a schema file is an array of tools",
                                        [TOOLS_FILE_PIPE] =
                                            "a tools file is an array of tools, or one tool"};
    const char *folder = NULL;
    bool is_place = false;
    int r = 0;

    file->is_one_tool = file->rules == TOOLS_FILE_PIPE && json_kind(root) == JSON_OBJECT;
    if (json_kind(root) != JSON_ARRAY && !file->is_one_tool) {
        return tools_file_blame(file, 0, "", words[file->rules], reterr_diag);
    }
    if (file->rules != TOOLS_FILE_SCHEMA) {
        r = file_folder(file, &folder, &is_place);
    }
    if (r != 0) {
        return err_pass(r);
    }
    file->tools = arena_alloc_array(&file->arena, file->is_one_tool ? 1 : json_count(root),
                                    sizeof(*file->tools));
    if (file->tools == NULL) {
        return err_raise(-ENOMEM);
    }
    if (file->is_one_tool) {
        file->n_tools = 1;
        return tools_file_read_tool(file, 0, folder, root, reterr_diag);
    }
    for (JsonIter it = json_iter(root); r == 0 && json_iter_next(&it); file->n_tools++) {
        r = tools_file_read_tool(file, file->n_tools, folder, it.value, reterr_diag);
        if (r == 0 && is_place && file->tools[file->n_tools].folder == NULL) {
            file->tools[file->n_tools].folder = folder;
        }
    }
    return r;
}

typedef struct NamedTool {
    Span name;
    size_t index;
} NamedTool;

static int named_compare(const void *a, const void *b)
{
    const NamedTool *x = a;
    const NamedTool *y = b;
    int c = span_compare(x->name, y->name);

    return c != 0 ? c : (x->index > y->index) - (x->index < y->index);
}

/* Two tools of one name would hide each other; the later one is blamed. */
static int file_check_names(ToolsFile *file, Diag *reterr_diag)
{
    NamedTool *named = arena_alloc_array(&file->arena, file->n_tools, sizeof(*named));

    if (named == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < file->n_tools; i++) {
        named[i] = (NamedTool){file->tools[i].name, i};
    }
    qsort(named, file->n_tools, sizeof(*named), named_compare);
    for (size_t i = 1; i < file->n_tools; i++) {
        char field[TOOLS_FILE_FIELD_SIZE];
        char message[DIAG_MESSAGE_SIZE];

        if (!span_equals(named[i - 1].name, named[i].name)) {
            continue;
        }
        (void)snprintf(field, sizeof(field), "[%zu].name", named[i].index);
        if (file->n_parts > 0) {
            ToolsFilePart first = file_part(file, file->tools[named[i - 1].index].offset);

            (void)snprintf(message, sizeof(message),
                           "the tool \"%.*s\" is in %s, too; remove one of them",
                           (int)named[i].name.n, named[i].name.p,
                           first.path + io_place_folder_length(first.path));
        } else {
            (void)snprintf(message, sizeof(message), "\"%.*s\" is the name of [%zu] already",
                           (int)named[i].name.n, named[i].name.p, named[i - 1].index);
        }
        return tools_file_blame(file, file->tools[named[i].index].offset, field, message,
                                reterr_diag);
    }
    return 0;
}

static int file_parse(ToolsFile *file, Diag *reterr_diag)
{
    Diag why = DIAG_NULL;
    JsonDoc doc;
    int r = json_parse(&doc, &file->arena, file->text.data, file->text.n, NULL, &why);

    if (r > 0) {
        return tools_file_blame(file, why.offset == DIAG_NO_OFFSET ? 0 : why.offset, "",
                                why.message, reterr_diag);
    }
    if (r == 0) {
        r = file_read_tools(file, json_root(&doc), reterr_diag);
    }
    if (r == 0) {
        r = file_check_names(file, reterr_diag);
    }
    return r;
}

static int file_init(ToolsFile *file, const char *path, ToolsFileRules rules)
{
    Span copy;

    *file = TOOLS_FILE_NULL;
    file->rules = rules;
    bytes_init(&file->text, TOOLS_FILE_MAX_BYTES);
    arena_init(&file->arena, TOOLS_FILE_ARENA_BYTES);
    copy = arena_copy(&file->arena, span_from_str(path));
    file->path = copy.p;
    return copy.p != NULL ? 0 : err_raise(-ENOMEM);
}

/* What reading came to, in words. 0, -ENOMEM, TOOLS_FILE_E_*. */
static int file_word(const char *path, int r, Diag *reterr_diag)
{
    if (r > 0) {
        return diag_set(reterr_diag, TOOLS_FILE_E_MALFORMED, "%s: longer than %zu MiB", path,
                        TOOLS_FILE_MAX_BYTES >> 20);
    }
    if (r < 0 && r != -ENOMEM) {
        return diag_set(reterr_diag, TOOLS_FILE_E_UNREADABLE, "%s: %s", path, io_error_text(-r));
    }
    return err_pass(r);
}

static int file_load(ToolsFile *file, const char *path, ToolsFileRules rules, Diag *reterr_diag)
{
    int r = file_init(file, path, rules);

    if (r == 0) {
        r = file_word(path, io_file_read(&file->text, path), reterr_diag);
    }
    if (r == 0) {
        r = file_parse(file, reterr_diag);
    }
    if (r != 0) {
        tools_file_deinit(file);
    }
    return r;
}

int tools_file_load(ToolsFile *file, const char *path, Diag *reterr_diag)
{
    return file_load(file, path, TOOLS_FILE_STRICT, reterr_diag);
}

/* ---- a folder ---- */

static bool folder_is_tool(const IoFolderEntry *entry)
{
    return entry->kind == IO_FOLDER_FILE &&
           span_ends_with(span_from_str(entry->name), SPAN(".json"));
}

/* Its text behind those before, and itself a text of JSON: a mistake in it must not show as one in
 * the next. 0, -ENOMEM, TOOLS_FILE_E_*. */
static int folder_add_file(ToolsFile *file, IoFolder *folder, const char *name, ToolsFilePart *ret,
                           Diag *reterr_diag)
{
    size_t size = strlen(file->path) + strlen(name) + 2;
    char *path = arena_alloc(&file->arena, size);
    CLEANUP(arena_deinit) Arena scratch = ARENA_NULL;
    Diag why = DIAG_NULL;
    JsonDoc doc;
    int r;

    if (path == NULL) {
        return err_raise(-ENOMEM);
    }
    (void)snprintf(path, size, "%s/%s", file->path, name);
    r = bytes_append_byte(&file->text, file->text.n == 0 ? '[' : ',');
    *ret = (ToolsFilePart){.path = path, .offset = file->text.n};
    if (r == 0) {
        r = io_folder_read(folder, name, &file->text, NULL);
    }
    if (r != 0) {
        return file_word(path, r, reterr_diag);
    }
    arena_init(&scratch, TOOLS_FILE_ARENA_BYTES);
    r = json_parse(&doc, &scratch, file->text.data + ret->offset, file->text.n - ret->offset, NULL,
                   &why);
    if (r > 0) {
        return tools_file_blame(file, ret->offset + (why.offset == DIAG_NO_OFFSET ? 0 : why.offset),
                                "", why.message, reterr_diag);
    }
    return err_pass(r);
}

static int folder_read(ToolsFile *file, IoFolder *folder, const IoFolderList *list,
                       Diag *reterr_diag)
{
    ToolsFilePart *parts = arena_alloc_array(&file->arena, list->n, sizeof(*parts));
    int r = parts != NULL ? 0 : err_raise(-ENOMEM);

    file->parts = parts;
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        if (folder_is_tool(&list->entries[i])) {
            ToolsFilePart *part = &parts[file->n_parts++];

            *part = (ToolsFilePart){.path = file->path, .offset = file->text.n + 1};
            r = folder_add_file(file, folder, list->entries[i].name, part, reterr_diag);
        }
    }
    if (r == 0 && file->n_parts == 0) {
        return diag_set(reterr_diag, TOOLS_FILE_E_MALFORMED, "%s: has no file *.json", file->path);
    }
    return r == 0 ? file_word(file->path, bytes_append_byte(&file->text, ']'), reterr_diag) : r;
}

static int folder_load(ToolsFile *file, IoFolder *folder, const char *path, Diag *reterr_diag)
{
    IoFolderList list = IO_FOLDER_LIST_NULL;
    int r = file_init(file, path, TOOLS_FILE_PIPE);

    if (r == 0) {
        r = file_word(path, io_folder_list(folder, "", &list), reterr_diag);
    }
    if (r == 0) {
        r = folder_read(file, folder, &list, reterr_diag);
    }
    if (r == 0) {
        r = file_parse(file, reterr_diag);
    }
    io_folder_list_deinit(&list);
    if (r != 0) {
        tools_file_deinit(file);
    }
    return r;
}

int tools_file_load_pipe(ToolsFile *file, const char *path, Diag *reterr_diag)
{
    IoFolder *folder = NULL;
    int r = io_folder_open(&folder, path);

    if (r == -ENOMEM) {
        return err_pass(r);
    }
    /* Whatever else is wrong with it, reading it as a file says. */
    if (r != 0) {
        return file_load(file, path, TOOLS_FILE_PIPE, reterr_diag);
    }
    r = folder_load(file, folder, path, reterr_diag);
    folder = io_folder_free(folder);
    return r;
}

int tools_file_parse(ToolsFile *file, const char *path, Bytes *text, ToolsFileRules rules,
                     Diag *reterr_diag)
{
    int r = file_init(file, path, rules);

    if (r == 0) {
        file->text = *text;
        *text = BYTES_NULL;
        r = file_parse(file, reterr_diag);
        if (r != 0) {
            *text = file->text; /* still the caller's */
            file->text = BYTES_NULL;
        }
    }
    if (r != 0) {
        tools_file_deinit(file);
    }
    return r;
}

void tools_file_deinit(ToolsFile *file)
{
    bytes_deinit(&file->text);
    arena_deinit(&file->arena);
    *file = TOOLS_FILE_NULL;
}
