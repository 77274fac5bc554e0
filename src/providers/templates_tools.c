/* What the template tools are called, take and give. Descriptions and arguments are
 * those of the toolkit's documents; members of results have their names and those of the original.
 */
#include <errno.h>

#include "providers/templates_impl.h"

#define TOOLS_TOOLCHAIN                                                                            \
    "{\"type\":\"object\",\"properties\":{\"type\":{\"type\":\"string\"}},\"required\":["          \
    "\"type\"]}"

/* A failure is structured content, too, and there are clients that hold even that against the
 * schema. */
#define TOOLS_ERROR                                                                                \
    "\"error\":{\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"integer\"},\"message\""   \
    ":{\"type\":\"string\"}},\"required\":[\"code\",\"message\"]}"

#define TOOLS_SHA256 "{\"type\":\"string\",\"pattern\":\"^[0-9a-f]{64}$\"}"

#define TOOLS_FAULT                                                                                \
    "{\"type\":\"object\",\"properties\":{\"parameter\":{\"type\":\"string\"},\"code\":{"          \
    "\"type\":\"string\"},\"message\":{\"type\":\"string\"},\"expected\":{\"type\":\"string\"},"   \
    "\"got\":{}},\"required\":[\"parameter\",\"code\",\"message\"]}"

#define TOOLS_CARD                                                                                 \
    "\"uri\":{\"type\":\"string\"},\"name\":{\"type\":\"string\"},\"description\":{\"type\":"      \
    "\"string\"},\"category\":{\"type\":\"string\"},\"toolchain\":" TOOLS_TOOLCHAIN                \
    ",\"variant\":{\"type\":\"string\"},\"version\":{\"type\":\"string\"},\"mime_type\":{"         \
    "\"type\":\"string\"},\"output\":{\"type\":\"string\"},\"parameters_schema\":{\"type\":"       \
    "\"object\"}"

#define TOOLS_PAGING                                                                               \
    "\"offset\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"How many to skip\"},"        \
    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"How many to give at most\""   \
    ",\"default\":200}"

/* Ends every call for which a tool had no better words. */
static void tools_start(Templates *templates, Call *call,
                        int (*run)(Templates *templates, Call *call))
{
    int r;

    router_fill(templates->router);
    templates_begin(templates);
    r = templates->catalog != NULL ? run(templates, call) : -ENOMEM;
    if (r != 0) {
        templates_fail_system(call, r);
    }
}

static void templates_generate_start(void *context, Call *call)
{
    tools_start(context, call, templates_generate);
}

static void templates_list_start(void *context, Call *call)
{
    tools_start(context, call, templates_list);
}

static void templates_validate_start(void *context, Call *call)
{
    tools_start(context, call, templates_validate);
}

static void templates_scaffold_start(void *context, Call *call)
{
    tools_start(context, call, templates_scaffold);
}

static void templates_search_start(void *context, Call *call)
{
    tools_start(context, call, templates_search);
}

const TemplatesTool templates_tools[TEMPLATES_N_TOOLS] = {
    {SPAN_INIT("generate_template"),
     {.name = "templates", .start = templates_generate_start},
     SPAN_INIT(
         "{\"name\":\"generate_template\",\"title\":\"Generate a file\",\"description\":"
         "\"Generate a template from a URI\",\"inputSchema\":{\"type\":\"object\",\"properties\""
         ":{\"resource_uri\":{\"type\":\"string\",\"description\":\"Template URI (e.g., "
         "template://makefile/rust/cli)\"},\"parameters\":{\"type\":\"object\",\"description\":"
         "\"Template parameters\"}},\"required\":[\"resource_uri\",\"parameters\"]},"
         "\"outputSchema\":{\"type\":\"object\",\"properties\":{\"content\":{\"type\":\"string\""
         ",\"description\":\"Generated template content\"},\"filename\":{\"type\":\"string\","
         "\"description\":\"Project and path\"},\"path\":{\"type\":\"string\",\"description\":"
         "\"Path in the project\"},\"checksum\":" TOOLS_SHA256 ",\"sha256\":" TOOLS_SHA256
         ",\"size\":{\"type\":\"integer\",\"minimum\":0},\"executable\":{\"type\":\"boolean\"},"
         "\"mime_type\":{\"type\":\"string\"},\"template_uri\":{\"type\":\"string\"},"
         "\"toolchain\":" TOOLS_TOOLCHAIN "," TOOLS_ERROR
         "},\"anyOf\":[{\"required\":[\"content\",\"filename\",\"path\",\"checksum\",\"sha256\","
         "\"size\",\"executable\",\"mime_type\",\"template_uri\",\"toolchain\"]},{\"required\":["
         "\"error\"]}]}")},
    {SPAN_INIT("list_templates"),
     {.name = "templates", .start = templates_list_start},
     SPAN_INIT(
         "{\"name\":\"list_templates\",\"title\":\"List templates\",\"description\":\"List "
         "available templates with optional filtering; each with the schema of its parameters\","
         "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"toolchain\":{\"type\":"
         "\"string\",\"description\":\"Filter by toolchain\"},\"category\":{\"type\":\"string\","
         "\"description\":\"Filter by category\"}," TOOLS_PAGING
         "}},\"outputSchema\":{\"type\":\"object\",\"properties\":{\"templates\":{\"type\":"
         "\"array\",\"items\":{\"type\":\"object\",\"properties\":{" TOOLS_CARD
         "},\"required\":[\"uri\",\"name\",\"description\",\"category\",\"toolchain\","
         "\"variant\",\"version\",\"mime_type\",\"output\",\"parameters_schema\"]}},\"count\":{"
         "\"type\":\"integer\",\"minimum\":0},\"total\":{\"type\":\"integer\",\"minimum\":0},"
         "\"next_offset\":{\"type\":\"integer\",\"minimum\":1}," TOOLS_ERROR
         "},\"anyOf\":[{\"required\":[\"templates\",\"count\",\"total\"]},{\"required\":["
         "\"error\"]}]}")},
    {SPAN_INIT("validate_template"),
     {.name = "templates", .start = templates_validate_start},
     SPAN_INIT(
         "{\"name\":\"validate_template\",\"title\":\"Validate parameters\",\"description\":"
         "\"Validate template parameters without generation: every error at once, the defaults "
         "that apply, the variables that the template uses\",\"inputSchema\":{\"type\":"
         "\"object\",\"properties\":{\"resource_uri\":{\"type\":\"string\",\"description\":"
         "\"Template URI (e.g., template://makefile/rust/cli)\"},\"parameters\":{\"type\":"
         "\"object\",\"description\":\"Parameters to validate\"}},\"required\":[\"resource_uri\""
         ",\"parameters\"]},\"outputSchema\":{\"type\":\"object\",\"properties\":{\"valid\":{"
         "\"type\":\"boolean\"},\"errors\":{\"type\":\"array\",\"items\":" TOOLS_FAULT
         "},\"errors_total\":{\"type\":\"integer\",\"minimum\":0},\"missing_required\":{\"type\":"
         "\"array\",\"items\":{\"type\":\"string\"}},"
         "\"validation_errors\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
         "\"defaults\":{\"type\":\"object\"},\"variables\":{\"type\":\"array\",\"items\":{"
         "\"type\":\"string\"}},\"template_uri\":{\"type\":\"string\"}," TOOLS_ERROR
         "},\"anyOf\":[{\"required\":[\"valid\",\"errors\",\"errors_total\",\"missing_required\","
         "\"validation_errors\",\"defaults\",\"variables\",\"template_uri\"]},{\"required\":["
         "\"error\"]}]}")},
    {SPAN_INIT("scaffold_project"),
     {.name = "templates", .start = templates_scaffold_start},
     SPAN_INIT(
         "{\"name\":\"scaffold_project\",\"title\":\"Scaffold a project\",\"description\":"
         "\"Generate multiple templates for project scaffolding. Gives the files back; with "
         "write_to they are written too, but none if something is "
         "wrong\",\"inputSchema\":{\"type\":\"object\","
         "\"properties\":{\"toolchain\":{\"type\":\"string\",\"description\":"
         "\"Target toolchain\"},\"templates\":{\"type\":\"array\",\"items\":{\"type\":\"string\""
         "},\"description\":\"Template names to generate: a category (makefile), "
         "category/variant, or a whole URI\"},\"parameters\":{\"type\":\"object\","
         "\"description\":\"Shared parameters\"},\"write_to\":{\"type\":\"string\","
         "\"description\":\"Folder inside the server's --write-root to write the files to; '.' "
         "is that folder itself\"},\"overwrite\":{\"type\":\"boolean\",\"description\":"
         "\"Replace files that are there already\"},\"dry_run\":{\"type\":\"boolean\","
         "\"description\":\"With write_to: say what would be written (new, same, differs, "
         "refused), and "
         "touch nothing\"}},\"required\":[\"toolchain\",\"templates\",\"parameters\"]},"
         "\"outputSchema\":{\"type\":\"object\",\"properties\":{\"files\":{\"type\":\"array\","
         "\"items\":{\"type\":\"object\",\"properties\":{\"template\":{\"type\":\"string\"},"
         "\"path\":{\"type\":\"string\"},\"filename\":{\"type\":\"string\"},\"content\":{"
         "\"type\":\"string\"},\"checksum\":" TOOLS_SHA256 ",\"sha256\":" TOOLS_SHA256
         ",\"size\":{\"type\":\"integer\",\"minimum\":0},\"executable\":{\"type\":\"boolean\"},"
         "\"mime_type\":{\"type\":\"string\"},\"written_to\":{\"type\":\"string\"},\"state\":{"
         "\"type\":\"string\",\"enum\":[\"new\",\"same\",\"differs\",\"refused\"]},\"lines_added\":"
         "{\"type\""
         ":\"integer\",\"minimum\":0},\"lines_removed\":{\"type\":\"integer\",\"minimum\":0},"
         "\"written\":{\"type\":\"boolean\"}},\"required\":[\"template\",\"path\",\"filename\","
         "\"content\",\"checksum\",\"sha256\",\"size\",\"executable\",\"mime_type\"]}},"
         "\"generated\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
         "\"template\":{\"type\":\"string\"},\"filename\":{\"type\":\"string\"},\"content\":{"
         "\"type\":\"string\"},\"checksum\":" TOOLS_SHA256
         "},\"required\":[\"template\",\"filename\",\"checksum\"]}},\"errors\":{\"type\":"
         "\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"template\":{\"type\":"
         "\"string\"},\"error\":{\"type\":\"string\"},\"path\":{\"type\":\"string\"},\"errors\":"
         "{\"type\":\"array\",\"items\":" TOOLS_FAULT
         "},\"errors_total\":{\"type\":\"integer\",\"minimum\":1}},\"required\":[\"template\","
         "\"error\"]}},\"skipped\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
         "\"properties\":"
         "{\"template\":{\"type\":\"string\"},\"when\":{\"type\":\"string\"}},\"required\":["
         "\"template\",\"when\"]}},\"toolchain\":" TOOLS_TOOLCHAIN
         ",\"write_to\":{\"type\":\"string\"},\"dry_run\":{\"type\":\"boolean\"}," TOOLS_ERROR
         "},\"anyOf\":[{\"required\":[\"files\",\"generated\",\"errors\",\"skipped\",\"toolchain\"]"
         "},{"
         "\"required\":[\"error\"]}]}")},
    {SPAN_INIT("search_templates"),
     {.name = "templates", .start = templates_search_start},
     SPAN_INIT(
         "{\"name\":\"search_templates\",\"title\":\"Search templates\",\"description\":"
         "\"Search templates by query string; best first\",\"inputSchema\":{\"type\":\"object\","
         "\"properties\":{\"query\":{\"type\":\"string\",\"description\":\"Search query\"},"
         "\"toolchain\":{\"type\":\"string\",\"description\":\"Filter by toolchain\"}," TOOLS_PAGING
         "},\"required\":[\"query\"]},\"outputSchema\":{\"type\":\"object\",\"properties\":{"
         "\"templates\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":"
         "{" TOOLS_CARD
         ",\"relevance\":{\"type\":\"integer\"}},\"required\":[\"uri\",\"name\",\"description\","
         "\"category\",\"toolchain\",\"variant\",\"version\",\"mime_type\",\"output\","
         "\"parameters_schema\",\"relevance\"]}},\"query\":{\"type\":\"string\"},\"count\":{"
         "\"type\":\"integer\",\"minimum\":0},\"total\":{\"type\":\"integer\",\"minimum\":0},"
         "\"next_offset\":{\"type\":\"integer\",\"minimum\":1}," TOOLS_ERROR
         "},\"anyOf\":[{\"required\":[\"templates\",\"query\",\"count\",\"total\"]},{"
         "\"required\":[\"error\"]}]}")},
};
