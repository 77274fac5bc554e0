/* What the file tools are called and take. Their results have the members of the documented
 * system's, and more beside them (docs/agent-files.md). */
#include <errno.h>

#include "base/error.h"
#include "providers/files_impl.h"
#include "json/writer.h"

static void start_list(void *context, Call *call)
{
    files_start(context, &files_tools[FILES_TOOL_LIST], call);
}

static void start_read(void *context, Call *call)
{
    files_start(context, &files_tools[FILES_TOOL_READ], call);
}

static void start_write(void *context, Call *call)
{
    files_start(context, &files_tools[FILES_TOOL_WRITE], call);
}

static void start_search(void *context, Call *call)
{
    files_start(context, &files_tools[FILES_TOOL_SEARCH], call);
}

static void start_command(void *context, Call *call)
{
    files_start(context, &files_tools[FILES_TOOL_COMMAND], call);
}

#define PATH_WORDS "relative to the allowed directory"

#define READ_ONLY                                                                                  \
    "\"annotations\":{\"readOnlyHint\":true,\"idempotentHint\":true,\"openWorldHint\":false}}"

const FilesTool files_tools[FILES_N_TOOLS] = {
    [FILES_TOOL_LIST] =
        {.name = SPAN_INIT("list_files"),
         .description = SPAN_INIT(
             "{\"name\":\"list_files\",\"title\":\"List files\",\"description\":\"Lists the files "
             "and folders in a folder.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
             "\"path\":{\"type\":\"string\",\"description\":\"Folder, " PATH_WORDS "\","
             "\"default\":\".\"}}}," READ_ONLY),
         .ask = files_ask_list,
         .run = files_run_list,
         .provider = {.name = "files", .start = start_list, .cancel = files_cancel}},
    [FILES_TOOL_READ] =
        {.name = SPAN_INIT("read_file"),
         .description = SPAN_INIT(
             "{\"name\":\"read_file\",\"title\":\"Read a file\",\"description\":\"Reads a text "
             "file, all of it or some lines.\",\"inputSchema\":{\"type\":\"object\","
             "\"properties\":{\"path\":{\"type\":\"string\",\"description\":\"File, " PATH_WORDS
             "\"},\"line\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"The first line "
             "to read\"},\"lines\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"How many "
             "lines to read\"},\"encoding\":{\"type\":\"string\",\"enum\":[\"utf-8\",\"base64\"],"
             "\"default\":\"utf-8\",\"description\":\"base64 for files that are no text\"}},"
             "\"required\":[\"path\"]}," READ_ONLY),
         .ask = files_ask_read,
         .run = files_run_read,
         .provider = {.name = "files", .start = start_read, .cancel = files_cancel}},
    [FILES_TOOL_WRITE] =
        {.name = SPAN_INIT("write_file"),
         .description = SPAN_INIT(
             "{\"name\":\"write_file\",\"title\":\"Write a file\",\"description\":\"Writes a file: "
             "a new one, or in place of the old content. Folders are made as needed.\","
             "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\","
             "\"description\":\"File, " PATH_WORDS "\"},\"content\":{\"type\":\"string\"},"
             "\"encoding\":{\"type\":\"string\",\"enum\":[\"utf-8\",\"base64\"],\"default\":"
             "\"utf-8\"}},\"required\":[\"path\",\"content\"]},\"annotations\":{\"readOnlyHint\":"
             "false,\"destructiveHint\":true,\"idempotentHint\":true,\"openWorldHint\":false}}"),
         .ask = files_ask_write,
         .run = files_run_write,
         .provider = {.name = "files", .start = start_write, .cancel = files_cancel}},
    [FILES_TOOL_SEARCH] =
        {.name = SPAN_INIT("search_files"),
         .description = SPAN_INIT(
             "{\"name\":\"search_files\",\"title\":\"Search files\",\"description\":\"Finds files "
             "by a pattern of their names, lines by a text that they hold, or both.\","
             "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"pattern\":{\"type\":"
             "\"string\",\"description\":\"Glob: *.c, src/**/*.{h,c}; without a slash it is about "
             "the name alone\"},\"text\":{\"type\":\"string\",\"description\":\"Plain text that a "
             "line must hold\"},\"path\":{\"type\":\"string\",\"description\":\"Folder to "
             "search, " PATH_WORDS
             "\",\"default\":\".\"},\"ignoreCase\":{\"type\":\"boolean\",\"default\":"
             "false},\"maxResults\":{\"type\":\"integer\",\"minimum\":1,\"default\":100}}}"
             "," READ_ONLY),
         .ask = files_ask_search,
         .run = files_run_search,
         .provider = {.name = "files", .start = start_search, .cancel = files_cancel}},
    [FILES_TOOL_COMMAND] =
        {.name = SPAN_INIT("run_command"),
         .description = SPAN_INIT("{\"name\":\"run_command\",\"title\":\"Run a command\","),
         .ask = files_ask_command,
         .run = files_run_command,
         .provider = {.name = "files", .start = start_command, .cancel = files_cancel}},
};

/* The words name the commands that there are. */
static int describe_command(const FilesShared *shared, Bytes *out)
{
    JsonWriter w;
    Bytes words;
    int r;

    bytes_init(&words, out->max_bytes);
    r = bytes_append_span(&words, SPAN("Runs a program in the allowed directory and gives what it "
                                       "prints. No shell: arguments are passed as they are. It "
                                       "can reach nothing outside the directory. Programs: "));
    for (size_t i = 0; r == 0 && i < shared->n_commands; i++) {
        r = bytes_append_format(&words, "%s%s", i == 0 ? "" : ", ", shared->commands[i]);
    }
    r = r != 0 ? r : bytes_append_span(out, SPAN("\"description\":"));
    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_string(&w, bytes_span(&words));
    r = r != 0 ? r : json_writer_finish(&w);
    bytes_deinit(&words);
    r = r != 0
            ? r
            : bytes_append_span(
                  out, SPAN(",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"command\":{"
                            "\"type\":\"string\",\"description\":\"Name of the program\"},"
                            "\"args\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},"
                            "\"required\":[\"command\"]},\"annotations\":{\"readOnlyHint\":false,"
                            "\"destructiveHint\":true,\"openWorldHint\":"));
    return r != 0
               ? r
               : bytes_append_span(out, shared->allow_network ? SPAN("true}}") : SPAN("false}}"));
}

int files_describe(const FilesShared *shared, Span name, Bytes *out)
{
    for (size_t i = 0; i < FILES_N_TOOLS; i++) {
        if (span_equals(files_tools[i].name, name)) {
            int r = bytes_append_span(out, files_tools[i].description);

            return r != 0 || i != FILES_TOOL_COMMAND ? r : describe_command(shared, out);
        }
    }
    return err_raise(-ENOENT);
}
