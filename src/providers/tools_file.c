#include "providers/tools_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/error_text.h"
#include "io/file.h"
#include "io/place.h"
#include "providers/tools_file_tool.h"
#include "router/router.h"
#include "json/json.h"

/* Index, strings and descriptions of a file of TOOLS_FILE_MAX_BYTES. */
#define TOOLS_FILE_ARENA_BYTES (TOOLS_FILE_MAX_BYTES * 24)

/* "[65535].output_schema" */
#define TOOLS_FILE_FIELD_SIZE 64

int tools_file_blame(const ToolsFile *file, size_t offset, const char *field, const char *message,
                     Diag *reterr_diag)
{
    Diag place = DIAG_NULL;

    if (reterr_diag == NULL) {
        return TOOLS_FILE_E_MALFORMED;
    }
    diag_set_place(&place, file->text.data, file->text.n, offset);
    (void)diag_set(reterr_diag, TOOLS_FILE_E_MALFORMED, "%s:%u: %s%s%s", file->path, place.line,
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
    const char *words = r == ROUTER_E_EXISTS ? "a tool of that name is there already"
                        : r == ROUTER_E_FULL ? "there are too many tools"
                                             : why->message;
    const char *name = r == ROUTER_E_EXISTS ? "name" : why->field;
    size_t n = strlen(name);
    char field[DIAG_FIELD_SIZE];

    if (n > 0 && strncmp(words, name, n) == 0 && words[n] == ' ') {
        words += n + 1; /* the field is named in front */
    }
    (void)snprintf(field, sizeof(field), "[%zu]%s%.90s", index, name[0] != '\0' ? "." : "", name);
    return tools_file_blame(file, file->tools[index].offset, field, words, reterr_diag);
}

/* The folder that the file lies in, without links and dots, so that it stays right whatever folder
 * a command is started in. */
static int file_folder(ToolsFile *file, const char **ret)
{
    CLEANUP(mem_freep) char *real = NULL;
    const char *path = file->path;
    size_t n;
    Span copy;
    int r = io_place_real(&real, file->path);

    if (r == -ENOMEM) {
        return err_pass(r);
    }
    if (r == 0) {
        path = real; /* else no name in the file system (a pipe behind /proc/self/fd) */
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
    const char *folder = NULL;
    int r = 0;

    if (json_kind(root) != JSON_ARRAY) {
        return tools_file_blame(file, 0, "",
                                file->rules == TOOLS_FILE_STRICT
                                    ? "a tools file is an array of tools"
                                    : "a schema file is an array of tools",
                                reterr_diag);
    }
    if (file->rules == TOOLS_FILE_STRICT) {
        r = file_folder(file, &folder);
    }
    if (r != 0) {
        return err_pass(r);
    }
    file->tools = arena_alloc_array(&file->arena, json_count(root), sizeof(*file->tools));
    if (file->tools == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(root); r == 0 && json_iter_next(&it); file->n_tools++) {
        r = tools_file_read_tool(file, file->n_tools, folder, it.value, reterr_diag);
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
        (void)snprintf(message, sizeof(message), "\"%.*s\" is the name of [%zu] already",
                       (int)named[i].name.n, named[i].name.p, named[i - 1].index);
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

int tools_file_load(ToolsFile *file, const char *path, Diag *reterr_diag)
{
    int r = file_init(file, path, TOOLS_FILE_STRICT);

    if (r == 0) {
        r = io_file_read(&file->text, path);
    }
    if (r == BYTES_E_FULL) {
        r = diag_set(reterr_diag, TOOLS_FILE_E_MALFORMED, "%s: longer than %zu MiB", path,
                     TOOLS_FILE_MAX_BYTES >> 20);
    } else if (r < 0 && r != -ENOMEM) {
        r = diag_set(reterr_diag, TOOLS_FILE_E_UNREADABLE, "%s: %s", path, io_error_text(-r));
    } else if (r == 0) {
        r = file_parse(file, reterr_diag);
    }
    if (r != 0) {
        tools_file_deinit(file);
    }
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
