#include "providers/tools_file.h"

#include "support/cmocka.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/oom_sweep.h"

typedef struct Folder {
    char path[PATH_MAX];
    char file[PATH_MAX + 16];
} Folder;

static int setup(void **state)
{
    Folder *folder = calloc(1, sizeof(*folder));
    char template[] = "/tmp/tw-tools-XXXXXX";

    assert_non_null(folder);
    assert_non_null(mkdtemp(template));
    assert_non_null(realpath(template, folder->path));
    (void)snprintf(folder->file, sizeof(folder->file), "%s/tools.json", folder->path);
    *state = folder;
    return 0;
}

static int teardown(void **state)
{
    Folder *folder = *state;

    (void)unlink(folder->file);
    (void)rmdir(folder->path);
    free(folder);
    return 0;
}

static void put(const Folder *folder, const char *text, size_t n)
{
    FILE *out = fopen(folder->file, "w");

    assert_non_null(out);
    assert_int_equal(fwrite(text, 1, n, out), n);
    assert_int_equal(fclose(out), 0);
}

static int load(const Folder *folder, const char *text, ToolsFile *file, Diag *diag)
{
    put(folder, text, strlen(text));
    return tools_file_load(file, folder->file, diag);
}

#define MINIMUM "\"name\":\"t\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"}"

static void everything_a_tool_may_say_is_read(void **state)
{
    Folder *folder = *state;
    ToolsFile file;
    const ToolsFileTool *tool;
    char path[PATH_MAX + 16];

    assert_int_equal(
        load(folder,
             "[{\"command\": [\"./count\", \"--json\", \"\\u00e4\"],\n"
             "  \"outputSchema\": {\"type\": \"object\"}, \"timeout_ms\": 1500, \"durable\": "
             "false,\n"
             "  \"env\": {\"A\": \"1\", \"B\": \"\"}, \"cwd\": \"sub\",\n"
             "  \"inputSchema\": {\"type\": \"object\", \"x\": 1.50}, \"title\": \"T\",\n"
             "  \"icons\": [], \"annotations\": {\"readOnlyHint\": true},\n"
             "  \"description\": \"d\\n\", \"name\": \"count\"},\n"
             " {" MINIMUM ", \"env\": [\"HOME\"], \"command\": [\"cat\"], \"durable\": true,\n"
             "  \"envelope\": true},\n"
             " {\"name\":\"u\",\"description\":\"d\",\"input_schema\":{}}]",
             &file, NULL),
        0);
    assert_int_equal(file.n_tools, 3);
    assert_false(file.tools[0].is_durable);
    assert_false(file.tools[0].is_command);
    assert_true(file.tools[1].is_durable);
    assert_true(file.tools[1].is_command);
    assert_non_null(strstr(file.tools[1].json.p, ",\"execution\":{\"taskSupport\":\"optional\"}}"));
    tool = &file.tools[0];
    assert_string_equal(tool->name.p, "count");
    assert_string_equal(tool->json.p,
                        "{\"name\":\"count\",\"title\":\"T\",\"description\":\"d\\n\",\"icons\":[],"
                        "\"inputSchema\":{\"type\":\"object\",\"x\":1.50},"
                        "\"outputSchema\":{\"type\":\"object\"},"
                        "\"annotations\":{\"readOnlyHint\":true}}");
    assert_true(tool->has_output_schema);
    (void)snprintf(path, sizeof(path), "%s/./count", folder->path);
    assert_string_equal(tool->command[0], path);
    assert_string_equal(tool->command[1], "--json");
    assert_string_equal(tool->command[2], "\xC3\xA4");
    assert_null(tool->command[3]);
    (void)snprintf(path, sizeof(path), "%s/sub", folder->path);
    assert_string_equal(tool->folder, path);
    assert_int_equal(tool->timeout_ms, 1500);
    assert_int_equal(tool->n_variables, 2);
    assert_string_equal(tool->variables[0].name, "A");
    assert_string_equal(tool->variables[0].value, "1");
    assert_string_equal(tool->variables[1].value, "");
    tool = &file.tools[1];
    assert_string_equal(tool->command[0], "cat"); /* to be looked up in PATH */
    assert_string_equal(tool->variables[0].name, "HOME");
    assert_null(tool->variables[0].value);
    assert_string_equal(tool->folder, folder->path); /* what it names is found beside the file */
    assert_int_equal(tool->timeout_ms, 0);
    assert_false(tool->has_output_schema);
    assert_null(file.tools[2].command);
    tools_file_deinit(&file);
    tools_file_deinit(&file);
}

static void an_empty_list_is_fine(void **state)
{
    ToolsFile file;

    assert_int_equal(load(*state, "[]", &file, NULL), 0);
    assert_int_equal(file.n_tools, 0);
    tools_file_deinit(&file);
}

typedef struct Mistake {
    const char *text;
    uint32_t line;
    const char *field;
    const char *message; /* part of it */
} Mistake;

static const Mistake mistakes[] = {
    {"{}", 1, "", "is an array of tools"},
    {"[\n1]", 2, "[0]", "must be an object"},
    {"[\n{" MINIMUM "},\n{\"name\":1", 3, "", ""},
    {"[{\"description\":\"d\",\"input_schema\":{}}]", 1, "[0].name", "is missing"},
    {"[{\"name\":\"t\",\"input_schema\":{}}]", 1, "[0].description", "is missing"},
    {"[{\"name\":\"t\",\"description\":\"d\"}]", 1, "[0].input_schema", "is missing"},
    {"[{\"name\":\"\",\"description\":\"d\",\"input_schema\":{}}]", 1, "[0].name",
     "must not be empty"},
    {"[{\"name\":\"a\\u0000\",\"description\":\"d\",\"input_schema\":{}}]", 1, "[0].name", "NUL"},
    {"[{\"name\":\"t\",\"description\":2,\"input_schema\":{}}]", 1, "[0].description",
     "must be a string, not number"},
    {"[{" MINIMUM ",\n\"output_schema\":[]}]", 2, "[0].output_schema",
     "must be an object, not array"},
    {"[{" MINIMUM ",\n\"inputSchema\":{}}]", 2, "[0].inputSchema", "is given twice"},
    {"[{" MINIMUM ",\n\"comand\":[]}]", 2, "[0]", "did you mean \"command\"?"},
    {"[{\"name\":\"t\",\n\"descripton\":\"d\"}]", 2, "[0]",
     "unknown key \"descripton\"; did you mean \"description\"?"},
    {"[{" MINIMUM ",\n\"zzzzzzzz\":[]}]", 2, "[0]", "unknown key \"zzzzzzzz\""},
    {"[{" MINIMUM ",\"command\":[]}]", 1, "[0].command", "names no program"},
    {"[{" MINIMUM ",\"command\":[\"\"]}]", 1, "[0].command", "names no program"},
    {"[{" MINIMUM ",\"command\":\"sh -c x\"}]", 1, "[0].command", "must be an array"},
    {"[{" MINIMUM ",\"command\":[\"a\",\n1]}]", 2, "[0].command", "strings only"},
    {"[{" MINIMUM ",\"timeout_ms\":0}]", 1, "[0].timeout_ms", "whole number"},
    {"[{" MINIMUM ",\"timeout_ms\":1.5}]", 1, "[0].timeout_ms", "whole number"},
    {"[{" MINIMUM ",\"timeout_ms\":1e99}]", 1, "[0].timeout_ms", "whole number"},
    {"[{" MINIMUM ",\"timeout_ms\":\"5\"}]", 1, "[0].timeout_ms", "must be a number"},
    {"[{" MINIMUM ",\"durable\":0}]", 1, "[0].durable", "must be a boolean"},
    {"[{" MINIMUM ",\"envelope\":\"yes\"}]", 1, "[0].envelope", "must be a boolean"},
    {"[{" MINIMUM ",\"env\":{\"A\":1}}]", 1, "[0].env", "strings only"},
    {"[{" MINIMUM ",\"env\":{\"A=B\":\"\"}}]", 1, "[0].env", "\"=\""},
    {"[{" MINIMUM ",\"env\":[\"\"]}]", 1, "[0].env", "must not be empty"},
    {"[{" MINIMUM ",\"env\":\"A\"}]", 1, "[0].env", "must be an object"},
    {"[{" MINIMUM ",\"cwd\":\"a\\u0000\"}]", 1, "[0].cwd", "NUL"},
    {"[{" MINIMUM "},\n{" MINIMUM "}]", 2, "[1].name", "is the name of [0] already"},
};

static void mistakes_are_named_with_file_line_and_field(void **state)
{
    Folder *folder = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(mistakes); i++) {
        const Mistake *mistake = &mistakes[i];
        ToolsFile file;
        Diag diag = DIAG_NULL;
        char prefix[PATH_MAX + 64];

        assert_int_equal(load(folder, mistake->text, &file, &diag), TOOLS_FILE_E_MALFORMED);
        assert_null(file.tools);
        (void)snprintf(prefix, sizeof(prefix), "%s:%u: ", folder->file, mistake->line);
        if (strncmp(diag.message, prefix, strlen(prefix)) != 0 ||
            strstr(diag.message, mistake->message) == NULL ||
            strcmp(diag.field, mistake->field) != 0 || diag.line != mistake->line) {
            fail_msg("%s gave: %s (field %s)", mistake->text, diag.message, diag.field);
        }
        assert_int_equal(load(folder, mistake->text, &file, NULL), TOOLS_FILE_E_MALFORMED);
    }
}

static void a_file_that_cannot_be_read_is_explained(void **state)
{
    Folder *folder = *state;
    char expected[PATH_MAX + 64];
    ToolsFile file;
    Diag diag = DIAG_NULL;

    assert_int_equal(tools_file_load(&file, folder->file, &diag), TOOLS_FILE_E_UNREADABLE);
    assert_int_equal(diag.code, TOOLS_FILE_E_UNREADABLE);
    (void)snprintf(expected, sizeof(expected), "%s: No such file or directory", folder->file);
    assert_string_equal(diag.message, expected);
    assert_int_equal(tools_file_load(&file, folder->path, &diag), TOOLS_FILE_E_UNREADABLE);
    (void)snprintf(expected, sizeof(expected), "%s: Is a directory", folder->path);
    assert_string_equal(diag.message, expected);
    assert_int_equal(tools_file_load(&file, folder->file, NULL), TOOLS_FILE_E_UNREADABLE);
}

static void a_file_that_is_too_long_is_refused(void **state)
{
    Folder *folder = *state;
    char *text = malloc(TOOLS_FILE_MAX_BYTES + 1);
    ToolsFile file;
    Diag diag = DIAG_NULL;

    assert_non_null(text);
    memset(text, ' ', TOOLS_FILE_MAX_BYTES + 1);
    memcpy(text, "[]", 2);
    put(folder, text, TOOLS_FILE_MAX_BYTES);
    assert_int_equal(tools_file_load(&file, folder->file, &diag), 0);
    tools_file_deinit(&file);
    put(folder, text, TOOLS_FILE_MAX_BYTES + 1);
    assert_int_equal(tools_file_load(&file, folder->file, &diag), TOOLS_FILE_E_MALFORMED);
    assert_non_null(strstr(diag.message, "longer than 16 MiB"));
    free(text);
}

static void a_file_in_the_folder_of_the_process_is_found(void **state)
{
    Folder *folder = *state;
    char before[PATH_MAX];
    char path[PATH_MAX + 16];
    ToolsFile file;

    put(folder, "[{" MINIMUM ",\"command\":[\"bin/x\"]}]",
        strlen("[{" MINIMUM ",\"command\":[\"bin/x\"]}]"));
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(folder->path), 0);
    assert_int_equal(tools_file_load(&file, "tools.json", NULL), 0);
    assert_int_equal(chdir(before), 0);
    (void)snprintf(path, sizeof(path), "%s/bin/x", folder->path);
    assert_string_equal(file.tools[0].command[0], path);
    assert_string_equal(file.tools[0].folder, folder->path);
    tools_file_deinit(&file);
}

static int parse(ToolsFile *file, const char *text, ToolsFileRules rules, Diag *diag)
{
    Bytes bytes;
    int r;

    bytes_init(&bytes, TOOLS_FILE_MAX_BYTES);
    assert_int_equal(bytes_append_span(&bytes, span_from_str(text)), 0);
    r = tools_file_parse(file, "a/b.json", &bytes, rules, diag);
    assert_int_equal(bytes.n, r == 0 ? 0 : strlen(text)); /* taken on success only */
    bytes_deinit(&bytes);
    return r;
}

static void a_text_that_was_read_already_is_parsed(void **state)
{
    ToolsFile file;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(parse(&file, "[{" MINIMUM ",\"_meta\":{\"k\": 1}}]", TOOLS_FILE_STRICT, NULL),
                     0);
    assert_string_equal(file.path, "a/b.json");
    assert_string_equal(file.tools[0].json.p,
                        "{\"name\":\"t\",\"description\":\"d\",\"inputSchema\":"
                        "{\"type\":\"object\"},\"_meta\":{\"k\":1}}");
    tools_file_deinit(&file);
    assert_int_equal(parse(&file, "[\n{" MINIMUM ",\"x\":1}]", TOOLS_FILE_STRICT, &diag),
                     TOOLS_FILE_E_MALFORMED);
    assert_string_equal(diag.message, "a/b.json:2: [0]: unknown key \"x\"");
    assert_null(file.tools);
}

static void a_schema_file_may_say_what_does_not_concern_us(void **state)
{
    ToolsFile file;

    (void)state;
    assert_int_equal(parse(&file,
                           "[{\"name\":\"t\",\"inputSchema\":{},\"description\":null,"
                           "\"title\":null,\"command\":\"sh -c x\",\"cwd\":7,\"env\":0,"
                           "\"durable\":true,\"envelope\":3,\"x\":1,\"x\":2,\"timeout_ms\":9}]",
                           TOOLS_FILE_SCHEMA, NULL),
                     0);
    assert_string_equal(file.tools[0].json.p, "{\"name\":\"t\",\"inputSchema\":{}}");
    assert_null(file.tools[0].command);
    assert_null(file.tools[0].folder);
    assert_int_equal(file.tools[0].n_variables, 0);
    assert_int_equal(file.tools[0].timeout_ms, 9);
    tools_file_deinit(&file);
}

static void a_schema_file_must_say_what_does_concern_us(void **state)
{
    static const Mistake wrong[] = {
        {"{}", 1, "", "a schema file is an array of tools"},
        {"[\n1]", 2, "[0]", "must be an object"},
        {"[{\"input_schema\":{}}]", 1, "[0].name", "is missing"},
        {"[{\"name\":null,\"input_schema\":{}}]", 1, "[0].name", "is missing"},
        {"[{\"name\":\"t\"}]", 1, "[0].input_schema", "is missing"},
        {"[{\"name\":\"t\",\"input_schema\":[]}]", 1, "[0].input_schema", "must be an object"},
        {"[{\"name\":\"t\",\"input_schema\":{},\n\"inputSchema\":{}}]", 2, "[0].inputSchema",
         "is given twice"},
        {"[{" MINIMUM "},\n{" MINIMUM "}]", 2, "[1].name", "is the name of [0] already"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(wrong); i++) {
        ToolsFile file;
        Diag diag = DIAG_NULL;

        assert_int_equal(parse(&file, wrong[i].text, TOOLS_FILE_SCHEMA, &diag),
                         TOOLS_FILE_E_MALFORMED);
        if (strstr(diag.message, wrong[i].message) == NULL ||
            strcmp(diag.field, wrong[i].field) != 0 || diag.line != wrong[i].line) {
            fail_msg("%s gave: %s (field %s)", wrong[i].text, diag.message, diag.field);
        }
    }
}

/* ---- tools files of the pipe ---- */

/* As other hubs have them. */
#define FOREIGN(name)                                                                              \
    "{\n\"name\":\"" name "\",\"adapter\":\"app\",\"description\":\"d\",\"parameters\":{\"type\":" \
    "\"object\"},\n\"returns\":{\"type\":\"object\"},\"examples\":[]}"

static void put_beside(const Folder *folder, const char *name, const char *text)
{
    Folder other = *folder;

    (void)snprintf(other.file, sizeof(other.file), "%s/%.12s", folder->path, name);
    if (text != NULL) {
        put(&other, text, strlen(text));
    } else {
        assert_int_equal(unlink(other.file), 0);
    }
}

static void one_tool_for_another_hub_is_read(void **state)
{
    Folder *folder = *state;
    ToolsFile file;
    Diag diag = DIAG_NULL;

    put(folder, FOREIGN("a.b"), strlen(FOREIGN("a.b")));
    assert_int_equal(tools_file_load_pipe(&file, folder->file, &diag), 0);
    assert_int_equal(file.n_tools, 1);
    assert_string_equal(
        file.tools[0].json.p,
        "{\"name\":\"a.b\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"}}");
    assert_string_equal(file.unknown, "adapter, returns, examples");
    tools_file_deinit(&file);
    /* For us it is still a mistake. */
    assert_int_equal(tools_file_load(&file, folder->file, &diag), TOOLS_FILE_E_MALFORMED);
    put(folder, "\n{\"name\":5}", 11);
    assert_int_equal(tools_file_load_pipe(&file, folder->file, &diag), TOOLS_FILE_E_MALFORMED);
    assert_int_equal(diag.line, 2);
    assert_string_equal(diag.field, "description");
    /* Both words for the same. */
    put(folder, "[{" MINIMUM ",\"parameters\":{}}]", strlen("[{" MINIMUM ",\"parameters\":{}}]"));
    assert_int_equal(tools_file_load_pipe(&file, folder->file, &diag), TOOLS_FILE_E_MALFORMED);
    assert_non_null(strstr(diag.message, "given twice"));
}

static void a_folder_of_tools_is_read_in_the_order_of_names(void **state)
{
    Folder *folder = *state;
    ToolsFile file;

    put_beside(folder, "b.json", FOREIGN("one.b"));
    put_beside(folder, "a.json", FOREIGN("one.a"));
    put_beside(folder, "README", "no JSON");
    assert_int_equal(tools_file_load_pipe(&file, folder->path, NULL), 0);
    assert_int_equal(file.n_tools, 2);
    assert_true(span_equals(file.tools[0].name, SPAN("one.a")));
    assert_true(span_equals(file.tools[1].name, SPAN("one.b")));
    assert_string_equal(file.unknown, "adapter, returns, examples");
    tools_file_deinit(&file);
    put_beside(folder, "a.json", NULL);
    put_beside(folder, "b.json", NULL);
    put_beside(folder, "README", NULL);
}

static void a_mistake_in_a_folder_is_told_with_its_file(void **state)
{
    static const struct {
        const char *text; /* of the second file */
        const char *words;
    } rows[] = {
        {"{\n\"name\":", "b.json:2: "},
        {"\n\n[]", "b.json:3: a tool must be an object"},
        {"{\"name\":\"one.b\",\n\"description\":5,\"parameters\":{}}",
         "b.json:2: description: must be a string, not number"},
        {FOREIGN("one.a"), "b.json:1: name: the tool \"one.a\" is in a.json, too; "},
    };
    Folder *folder = *state;
    ToolsFile file;

    put_beside(folder, "a.json", FOREIGN("one.a"));
    put_beside(folder, "c.json", FOREIGN("one.c"));
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        Diag diag = DIAG_NULL;

        put_beside(folder, "b.json", rows[i].text);
        assert_int_equal(tools_file_load_pipe(&file, folder->path, &diag), TOOLS_FILE_E_MALFORMED);
        if (strstr(diag.message, rows[i].words) == NULL) {
            fail_msg("wanted: %s\n   got: %s", rows[i].words, diag.message);
        }
    }
    put_beside(folder, "a.json", NULL);
    put_beside(folder, "b.json", NULL);
    put_beside(folder, "c.json", NULL);
    assert_int_equal(tools_file_load_pipe(&file, folder->path, NULL), TOOLS_FILE_E_MALFORMED);
}

static int load_folder_once(void *context)
{
    ToolsFile file;
    int r = tools_file_load_pipe(&file, context, NULL);

    tools_file_deinit(&file);
    return r;
}

static void memory_that_runs_out_in_a_folder_is_reported(void **state)
{
    Folder *folder = *state;

    put_beside(folder, "a.json", FOREIGN("one.a"));
    put_beside(folder, "b.json", FOREIGN("one.b"));
    test_oom_sweep(load_folder_once, folder->path);
    put_beside(folder, "a.json", NULL);
    put_beside(folder, "b.json", NULL);
}

static int load_once(void *context)
{
    ToolsFile file;
    int r = tools_file_load(&file, context, NULL);

    tools_file_deinit(&file);
    return r;
}

static void memory_that_runs_out_is_reported(void **state)
{
    Folder *folder = *state;
    const char *text = "[{" MINIMUM ",\"command\":[\"./x\",\"\\u0041\"],\"env\":{\"A\":\"b\"}}]";

    put(folder, text, strlen(text));
    test_oom_sweep(load_once, folder->file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(everything_a_tool_may_say_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(an_empty_list_is_fine, setup, teardown),
        cmocka_unit_test_setup_teardown(mistakes_are_named_with_file_line_and_field, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_file_that_cannot_be_read_is_explained, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_that_is_too_long_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_in_the_folder_of_the_process_is_found, setup,
                                        teardown),
        cmocka_unit_test(a_text_that_was_read_already_is_parsed),
        cmocka_unit_test(a_schema_file_may_say_what_does_not_concern_us),
        cmocka_unit_test(a_schema_file_must_say_what_does_concern_us),
        cmocka_unit_test_setup_teardown(memory_that_runs_out_is_reported, setup, teardown),
        cmocka_unit_test_setup_teardown(one_tool_for_another_hub_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(a_folder_of_tools_is_read_in_the_order_of_names, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_mistake_in_a_folder_is_told_with_its_file, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(memory_that_runs_out_in_a_folder_is_reported, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
