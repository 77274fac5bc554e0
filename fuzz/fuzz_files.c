/* TOOL (a letter), ARGUMENTS, a NUL, CONTENT: arguments of the file tools are read, paths are seen
 * from a root, patterns and texts are held against the content, which is also read as the blocks of
 * a stored message. Nothing of the file system is touched but to open the root. */
#include "fuzz.h"

#include <string.h>

#include "agent/store_impl.h"
#include "base/limits.h"
#include "providers/files_impl.h"
#include "toolkit/glob.h"

static IoBeneath *fuzz_root(void)
{
    static IoBeneath *root;

    if (root == NULL) {
        FUZZ_REQUIRE(io_beneath_open(&root, "/usr", NULL) == 0);
    }
    return root;
}

/* Seen from the root a path is never absolute, and is the end of what was given, or the root. */
static void fuzz_path(const char *path)
{
    const char *at = NULL;
    int r = io_beneath_relative(fuzz_root(), path, &at, NULL);

    if (r != 0) {
        FUZZ_REQUIRE(r == IO_BENEATH_E_OUTSIDE && path[0] == '/');
        return;
    }
    FUZZ_REQUIRE(at[0] != '\0' && at[0] != '/');
    FUZZ_REQUIRE(strcmp(at, ".") == 0 || (at >= path && at + strlen(at) == path + strlen(path)));
    FUZZ_REQUIRE(path[0] != '/' || strncmp(path, "/usr", 4) == 0);
}

/* Every match holds the text, lines grow, and looking for it byte by byte finds as many lines. */
static void fuzz_matches(Span content, Span wanted, bool no_case)
{
    FilesMatcher matcher = {.text = content, .wanted = wanted, .no_case = no_case};
    FilesMatch match;
    size_t line = 0;

    while (files_matcher_next(&matcher, &match)) {
        size_t n_all = 0;
        Span whole = files_lines(content, match.line, 1, &n_all);

        FUZZ_REQUIRE(match.line > line && match.line <= n_all);
        FUZZ_REQUIRE(match.text.n <= FILES_MATCH_BYTES && match.text.n <= whole.n);
        FUZZ_REQUIRE(match.text.p == whole.p && whole.n >= wanted.n);
        line = match.line;
    }
}

static void fuzz_lines(Span content, const FilesAsked *asked)
{
    size_t n_all = 0;
    Span some = files_lines(content, asked->line, asked->n_lines, &n_all);

    FUZZ_REQUIRE(some.n <= content.n);
    FUZZ_REQUIRE(some.n == 0 || (some.p >= content.p && some.p + some.n <= content.p + content.n));
    FUZZ_REQUIRE(asked->line <= n_all || some.n == 0);
}

static void fuzz_asked(const FilesAsked *asked, int tool, Span content)
{
    if (asked->path != NULL) {
        fuzz_path(asked->path);
    }
    if (tool == FILES_TOOL_READ) {
        fuzz_lines(content, asked);
    }
    if (tool == FILES_TOOL_SEARCH) {
        FUZZ_REQUIRE(asked->max_results >= 1 && asked->max_results <= LIMIT_FILES_RESULTS_MAX);
        (void)toolkit_glob_matches(asked->pattern, content);
        fuzz_matches(content, asked->text, asked->no_case);
    }
    if (tool == FILES_TOOL_COMMAND) {
        FUZZ_REQUIRE(asked->argv != NULL && asked->argv[0] != NULL);
    }
}

static void fuzz_arguments(int tool, Span arguments, Span content)
{
    FilesJob job = {.diag = DIAG_NULL};
    JsonDoc doc;

    arena_init(&job.arena, (size_t)1 << 26);
    if (json_parse(&doc, &job.arena, arguments.p, arguments.n, NULL, NULL) == 0) {
        int r = files_tools[tool].ask(&job, json_root(&doc));

        FUZZ_REQUIRE(r == 0 || r == FILES_E_ARGUMENT);
        FUZZ_REQUIRE(r == 0 || job.diag.message[0] != '\0');
        if (r == 0) {
            fuzz_asked(&job.asked, tool, content);
        }
    }
    arena_deinit(&job.arena);
}

/* What was read is written and read again: the same blocks. */
static void fuzz_blocks(Span content)
{
    AgentMessage first;
    AgentMessage second;
    Arena arena;
    Arena scratch;
    Bytes out;

    arena_init(&arena, (size_t)1 << 26);
    arena_init(&scratch, (size_t)1 << 26);
    bytes_init(&out, (size_t)1 << 26);
    if (store_blocks_read(&first, content, true, &arena, &scratch) == 0) {
        FUZZ_REQUIRE(store_blocks_write(&out, &first, &scratch) == 0);
        FUZZ_REQUIRE(store_blocks_read(&second, bytes_span(&out), true, &arena, &scratch) == 0);
        FUZZ_REQUIRE(second.n_blocks == first.n_blocks);
        for (size_t i = 0; i < first.n_blocks; i++) {
            FUZZ_REQUIRE(first.blocks[i].kind == second.blocks[i].kind);
            FUZZ_REQUIRE(span_equals(first.blocks[i].text, second.blocks[i].text) ||
                         first.blocks[i].kind == AGENT_BLOCK_TOOL_USE);
        }
    }
    bytes_deinit(&out);
    arena_deinit(&scratch);
    arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char letters[] = "lrwsc";
    const char *text = (const char *)data;
    const char *letter = size == 0 ? NULL : memchr(letters, text[0], strlen(letters));
    const char *nul;
    size_t n;
    Span content;

    if (letter == NULL) {
        return 0;
    }
    nul = memchr(text, '\0', size);
    n = nul == NULL ? size : (size_t)(nul - text);
    content = nul == NULL ? SPAN("") : span_make(nul + 1, size - n - 1);
    fuzz_arguments((int)(letter - letters), span_make(text + 1, n - 1), content);
    fuzz_blocks(content);
    return 0;
}
