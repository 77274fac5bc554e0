#include "providers/tools_file_tool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "io/place.h"
#include "json/writer.h"

/* A timeout in milliseconds that is certainly a mistake: 30 days. */
#define TOOLS_FILE_MAX_TIMEOUT_MS ((int64_t)30 * 24 * 60 * 60 * 1000)

/* "[65535].output_schema" */
#define TOOL_FIELD_SIZE 64

typedef enum FieldId {
    FIELD_NAME,
    FIELD_TITLE,
    FIELD_DESCRIPTION,
    FIELD_ICONS,
    FIELD_INPUT_SCHEMA,
    FIELD_OUTPUT_SCHEMA,
    FIELD_ANNOTATIONS,
    FIELD_META,
    FIELD_COMMAND,
    FIELD_CWD,
    FIELD_ENV,
    FIELD_TIMEOUT_MS,
    FIELD_DURABLE,
    FIELD_ENVELOPE,
    N_FIELDS
} FieldId;

/* The order of the names is the order of the description's members. */
static const char *const field_names[] = {
    "name",        "title",    "description", "icons",       "input_schema", "output_schema",
    "annotations", "_meta",    "command",     "cwd",         "env",          "timeout_ms",
    "durable",     "envelope", "inputSchema", "outputSchema"};
static const FieldId field_ids[] = {
    FIELD_NAME,         FIELD_TITLE,         FIELD_DESCRIPTION,  FIELD_ICONS,
    FIELD_INPUT_SCHEMA, FIELD_OUTPUT_SCHEMA, FIELD_ANNOTATIONS,  FIELD_META,
    FIELD_COMMAND,      FIELD_CWD,           FIELD_ENV,          FIELD_TIMEOUT_MS,
    FIELD_DURABLE,      FIELD_ENVELOPE,      FIELD_INPUT_SCHEMA, FIELD_OUTPUT_SCHEMA};

/* How each is spelt in the description; NULL if it is not part of it. */
static const char *const description_names[N_FIELDS] = {
    [FIELD_NAME] = "name",
    [FIELD_TITLE] = "title",
    [FIELD_DESCRIPTION] = "description",
    [FIELD_ICONS] = "icons",
    [FIELD_INPUT_SCHEMA] = "inputSchema",
    [FIELD_OUTPUT_SCHEMA] = "outputSchema",
    [FIELD_ANNOTATIONS] = "annotations",
    [FIELD_META] = "_meta",
};

/* The kind that a field must be of; env may also be an array, and is looked at where it is read. */
static const JsonKind field_kinds[N_FIELDS] = {
    [FIELD_NAME] = JSON_STRING,         [FIELD_TITLE] = JSON_STRING,
    [FIELD_DESCRIPTION] = JSON_STRING,  [FIELD_ICONS] = JSON_ARRAY,
    [FIELD_INPUT_SCHEMA] = JSON_OBJECT, [FIELD_OUTPUT_SCHEMA] = JSON_OBJECT,
    [FIELD_ANNOTATIONS] = JSON_OBJECT,  [FIELD_META] = JSON_OBJECT,
    [FIELD_COMMAND] = JSON_ARRAY,       [FIELD_CWD] = JSON_STRING,
    [FIELD_ENV] = JSON_OBJECT,          [FIELD_TIMEOUT_MS] = JSON_NUMBER,
    [FIELD_DURABLE] = JSON_FALSE,       [FIELD_ENVELOPE] = JSON_FALSE,
};

/* One tool while it is read. */
typedef struct ToolReader {
    ToolsFile *file;
    ToolsFileTool *tool;
    const char *folder; /* the file's, absolute */
    JsonValue fields[N_FIELDS];
    size_t index;
    Diag *diag;
} ToolReader;

static size_t tool_offset(const ToolReader *reader, JsonValue v)
{
    return (size_t)(json_span(v).p - reader->file->text.data);
}

/* Blames a field of the tool that is being read; name may be NULL for the tool itself. */
static int tool_blame(const ToolReader *reader, JsonValue where, const char *name,
                      const char *message)
{
    char field[TOOL_FIELD_SIZE];

    (void)snprintf(field, sizeof(field), "[%zu]%s%s", reader->index, name != NULL ? "." : "",
                   name != NULL ? name : "");
    return tools_file_blame(reader->file, tool_offset(reader, where), field, message, reader->diag);
}

static int tool_blame_field(const ToolReader *reader, FieldId id, const char *message)
{
    return tool_blame(reader, reader->fields[id], field_names[id], message);
}

/* A string as C wants it. 0, -ENOMEM, TOOLS_FILE_E_MALFORMED. */
static int tool_string(const ToolReader *reader, JsonValue v, FieldId id, const char **ret)
{
    Span text;
    int r;

    if (json_kind(v) != JSON_STRING) {
        return tool_blame(reader, v, field_names[id], "must hold strings only");
    }
    r = json_string(v, &reader->file->arena, &text);
    if (r != 0) {
        return err_fold(r);
    }
    if (text.n > 0 && memchr(text.p, '\0', text.n) != NULL) {
        return tool_blame(reader, v, field_names[id], "holds a NUL character");
    }
    text = arena_copy(&reader->file->arena, text);
    if (text.p == NULL) {
        return err_raise(-ENOMEM);
    }
    *ret = text.p;
    return 0;
}

static int tool_blame_unknown(const ToolReader *reader, JsonValue where, Span key)
{
    const char *nearest = text_nearest(key, field_names, TW_ARRAY_SIZE(field_names));
    char message[DIAG_MESSAGE_SIZE];

    (void)snprintf(message, sizeof(message), "unknown key \"%.*s\"%s%s%s", (int)key.n, key.p,
                   nearest != NULL ? "; did you mean \"" : "", nearest != NULL ? nearest : "",
                   nearest != NULL ? "\"?" : "");
    return tool_blame(reader, where, NULL, message);
}

/* Notes a key that is ignored, each once, as long as there is room for it. */
static void tool_note_unknown(const ToolReader *reader, Span key)
{
    char *unknown = reader->file->unknown;
    size_t n = strlen(unknown);
    char name[TOOL_FIELD_SIZE];
    const char *at = unknown;

    (void)snprintf(name, sizeof(name), "%.*s", (int)key.n, key.p);
    while ((at = strstr(at, name)) != NULL) {
        const char *end = at + strlen(name);

        if ((at == unknown || at[-1] == ' ') && (*end == '\0' || *end == ',')) {
            return;
        }
        at = end;
    }
    if (n + strlen(name) + sizeof(", ") <= TOOLS_FILE_UNKNOWN_SIZE) {
        (void)snprintf(unknown + n, TOOLS_FILE_UNKNOWN_SIZE - n, "%s%s", n > 0 ? ", " : "", name);
    }
}

/* Does a schema file say nothing to us there? How a tool is run is its writer's business. */
static bool tool_is_foreign(const ToolReader *reader, FieldId id, JsonValue v)
{
    return reader->file->rules == TOOLS_FILE_SCHEMA &&
           (id == FIELD_COMMAND || id == FIELD_CWD || id == FIELD_ENV || id == FIELD_DURABLE ||
            id == FIELD_ENVELOPE || json_kind(v) == JSON_NULL);
}

/* Which of field_names it is, or means. */
static bool tool_find_field(const ToolReader *reader, Span key, size_t *ret)
{
    if (reader->file->rules == TOOLS_FILE_PIPE && span_equals(key, SPAN("parameters"))) {
        *ret = FIELD_INPUT_SCHEMA;
        return true;
    }
    return text_is_one_of(key, field_names, TW_ARRAY_SIZE(field_names), ret);
}

/* Sorts the members of one tool into fields. */
static int tool_sort(ToolReader *reader, JsonValue object)
{
    for (JsonIter it = json_iter(object); json_iter_next(&it);) {
        Span key;
        size_t which;
        FieldId id;
        int r = json_string(it.key, &reader->file->arena, &key);

        if (r != 0) {
            return err_fold(r);
        }
        if (!tool_find_field(reader, key, &which)) {
            if (reader->file->rules == TOOLS_FILE_STRICT) {
                return tool_blame_unknown(reader, it.key, key);
            }
            tool_note_unknown(reader, key);
            continue;
        }
        id = field_ids[which];
        if (tool_is_foreign(reader, id, it.value)) {
            continue;
        }
        if (reader->fields[id].node != NULL) {
            return tool_blame(reader, it.key, field_names[which], "is given twice");
        }
        reader->fields[id] = it.value;
    }
    return 0;
}

static int tool_check_kinds(const ToolReader *reader, JsonValue object)
{
    static const FieldId needed[] = {FIELD_NAME, FIELD_DESCRIPTION, FIELD_INPUT_SCHEMA};

    for (size_t i = 0; i < TW_ARRAY_SIZE(needed); i++) {
        bool is_needed = reader->file->rules != TOOLS_FILE_SCHEMA || needed[i] != FIELD_DESCRIPTION;

        if (is_needed && reader->fields[needed[i]].node == NULL) {
            return tool_blame(reader, object, field_names[needed[i]], "is missing");
        }
    }
    for (FieldId id = FIELD_NAME; id < N_FIELDS; id++) {
        JsonValue v = reader->fields[id];
        bool is_right = v.node == NULL || json_kind(v) == field_kinds[id] ||
                        (id == FIELD_ENV && json_kind(v) == JSON_ARRAY) ||
                        (field_kinds[id] == JSON_FALSE && json_kind(v) == JSON_TRUE);
        char message[DIAG_MESSAGE_SIZE];

        if (!is_right) {
            (void)snprintf(message, sizeof(message), "must be %s %s, not %s",
                           strchr("aeio", json_kind_name(field_kinds[id])[0]) != NULL ? "an" : "a",
                           json_kind_name(field_kinds[id]), json_kind_name(json_kind(v)));
            return tool_blame_field(reader, id, message);
        }
    }
    return 0;
}

/* folder/path, or path itself if it begins at the root. */
static int tool_join(const ToolReader *reader, const char **path)
{
    size_t n = strlen(reader->folder) + strlen(*path) + 2;
    char *joined;

    if (io_place_is_absolute(*path)) {
        return 0;
    }
    joined = arena_alloc(&reader->file->arena, n);
    if (joined == NULL) {
        return err_raise(-ENOMEM);
    }
    (void)snprintf(joined, n, "%s/%s", reader->folder, *path);
    *path = joined;
    return 0;
}

static int tool_read_command(const ToolReader *reader)
{
    JsonValue v = reader->fields[FIELD_COMMAND];
    const char **argv;
    size_t n = 0;
    int r = 0;

    if (v.node == NULL) {
        return 0;
    }
    argv = arena_alloc_array(&reader->file->arena, (size_t)json_count(v) + 1, sizeof(*argv));
    if (argv == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(v); r == 0 && json_iter_next(&it);) {
        r = tool_string(reader, it.value, FIELD_COMMAND, &argv[n++]);
    }
    if (r == 0 && (n == 0 || argv[0][0] == '\0')) {
        r = tool_blame_field(reader, FIELD_COMMAND, "names no program");
    }
    if (r == 0 && io_place_last_slash(argv[0]) != NULL) {
        r = tool_join(reader, &argv[0]);
    }
    reader->tool->command = argv;
    return r;
}

static int tool_read_variables(const ToolReader *reader)
{
    JsonValue v = reader->fields[FIELD_ENV];
    ToolsFileVariable *variables;
    size_t n = 0;
    int r = 0;

    if (v.node == NULL) {
        return 0;
    }
    variables = arena_alloc_array(&reader->file->arena, json_count(v), sizeof(*variables));
    if (variables == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(v); r == 0 && json_iter_next(&it); n++) {
        r = tool_string(reader, it.is_object ? it.key : it.value, FIELD_ENV, &variables[n].name);
        if (r == 0 && it.is_object) {
            r = tool_string(reader, it.value, FIELD_ENV, &variables[n].value);
        }
        if (r == 0 && (variables[n].name[0] == '\0' || strchr(variables[n].name, '=') != NULL)) {
            r = tool_blame(reader, it.is_object ? it.key : it.value, field_names[FIELD_ENV],
                           "a variable's name must not be empty or hold \"=\"");
        }
    }
    reader->tool->variables = variables;
    reader->tool->n_variables = n;
    return r;
}

static int tool_read_rest(const ToolReader *reader)
{
    JsonValue timeout = reader->fields[FIELD_TIMEOUT_MS];
    JsonValue cwd = reader->fields[FIELD_CWD];
    int r = 0;

    if (timeout.node != NULL) {
        r = json_int64(timeout, &reader->tool->timeout_ms);
        if (r != 0 || reader->tool->timeout_ms < 1 ||
            reader->tool->timeout_ms > TOOLS_FILE_MAX_TIMEOUT_MS) {
            return tool_blame_field(reader, FIELD_TIMEOUT_MS,
                                    "must be a whole number of milliseconds above 0, at most 30 "
                                    "days");
        }
    }
    if (cwd.node != NULL) {
        r = tool_string(reader, cwd, FIELD_CWD, &reader->tool->folder);
        if (r == 0) {
            r = tool_join(reader, &reader->tool->folder);
        }
    }
    return r;
}

static bool tool_says(const ToolReader *reader, FieldId id)
{
    return reader->fields[id].node != NULL && json_kind(reader->fields[id]) == JSON_TRUE;
}

/* The description in the canonical order; the values byte for byte but for white space. */
static int tool_describe(const ToolReader *reader)
{
    CLEANUP(bytes_deinit) Bytes out = BYTES_NULL;
    JsonWriter w;
    int r;

    bytes_init(&out, TOOLS_FILE_MAX_BYTES + 1024);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    for (FieldId id = FIELD_NAME; id < N_FIELDS; id++) {
        if (description_names[id] != NULL && reader->fields[id].node != NULL) {
            json_write_key(&w, span_from_str(description_names[id]));
            json_write_value(&w, reader->fields[id]);
        }
        /* Between annotations and _meta, as the protocol has it: whoever asks may have a task. */
        if (id == FIELD_ANNOTATIONS && tool_says(reader, FIELD_DURABLE)) {
            json_write_key(&w, SPAN("execution"));
            json_write_raw(&w, SPAN("{\"taskSupport\":\"optional\"}"));
        }
    }
    json_write_end_object(&w);
    r = json_writer_finish(&w);
    if (r != 0) {
        return err_fold(r);
    }
    reader->tool->json = arena_copy(&reader->file->arena, bytes_span(&out));
    return reader->tool->json.p != NULL ? 0 : err_raise(-ENOMEM);
}

static int tool_read_name(const ToolReader *reader)
{
    const char *name = "";
    int r = tool_string(reader, reader->fields[FIELD_NAME], FIELD_NAME, &name);

    if (r != 0) {
        return err_pass(r);
    }
    if (name[0] == '\0') {
        return tool_blame_field(reader, FIELD_NAME, "must not be empty");
    }
    reader->tool->name = span_from_str(name);
    return 0;
}

int tools_file_read_tool(ToolsFile *file, size_t index, const char *folder, JsonValue object,
                         Diag *reterr_diag)
{
    ToolReader reader = {.file = file,
                         .tool = &file->tools[index],
                         .folder = folder,
                         .index = index,
                         .diag = reterr_diag};
    int (*const steps[])(const ToolReader *) = {tool_read_name, tool_read_command,
                                                tool_read_variables, tool_read_rest, tool_describe};
    int r;

    if (json_kind(object) != JSON_OBJECT) {
        return tool_blame(&reader, object, NULL, "a tool must be an object");
    }
    reader.tool->offset = tool_offset(&reader, object);
    r = tool_sort(&reader, object);
    if (r == 0) {
        r = tool_check_kinds(&reader, object);
    }
    for (size_t i = 0; r == 0 && i < TW_ARRAY_SIZE(steps); i++) {
        r = steps[i](&reader);
    }
    reader.tool->has_output_schema = reader.fields[FIELD_OUTPUT_SCHEMA].node != NULL;
    reader.tool->is_durable = tool_says(&reader, FIELD_DURABLE);
    reader.tool->is_command = tool_says(&reader, FIELD_ENVELOPE);
    return r;
}
