/* `toolwire import`: the MCP servers of other programs' settings, shown, and put into ours. */
#include "cli/cmd_import.h"

#include <errno.h>
#include <string.h>

#include "app/import.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "cli/table.h"
#include "io/error_text.h"
#include "io/file.h"
#include "io/keep.h"
#include "io/place.h"
#include "toolkit/chart/grid.h"
#include "json/writer.h"

/* A settings file of another program, and ours. */
#define IMPORT_MAX_BYTES ((size_t)64 * 1024 * 1024)

/* Where it is put unless another file is named. */
#define IMPORT_FILE "toolwire.json"

enum {
    OPTION_FROM,
    OPTION_WRITE,
    OPTION_REPLACE,
    OPTION_DRY_RUN,
    OPTION_ENV_REFS,
    OPTION_TOOLKIT,
    OPTION_JSON,
};

static const CliOption import_options[] = {
    [OPTION_FROM] = {"from", "PLACE...",
                     "only from claude-desktop, claude-code, cursor, vscode, cline or this file"},
    [OPTION_WRITE] = {"write", NULL, "put them into FILE (" IMPORT_FILE ")"},
    [OPTION_REPLACE] = {"replace", NULL, "in place of others that have their names there"},
    [OPTION_DRY_RUN] = {"dry-run", NULL, "only show what --write would change"},
    [OPTION_ENV_REFS] = {"env-refs", NULL, "write ${NAME} in place of secrets"},
    [OPTION_TOOLKIT] = {"toolkit", NULL,
                        "also write that templates and analyses are offered beside them"},
    [OPTION_JSON] = {"json", NULL, "print what was found, and what became of it, as JSON"},
    {NULL, NULL, NULL},
};

static const char *const change_names[] = {
    [IMPORT_ADDED] = "added",
    [IMPORT_SAME] = "unchanged",
    [IMPORT_REPLACED] = "replaced",
    [IMPORT_TAKEN] = "clash: another one has the name; --replace",
    [IMPORT_BEYOND] = "left out: there are 200 servers, and no more may be",
};

typedef struct Importing {
    const CliArgs *args;
    Import import;
    ImportChange changes[IMPORT_MAX_SERVERS];
    bool has_changes; /* they were found out */
    char *folder;
    size_t n_files;
    int status;
} Importing;

static int import_failed(const char *what, const char *why)
{
    fprintf(stderr, "toolwire import: %s%s%s\n", what, what[0] != '\0' ? ": " : "", why);
    return CLI_EXIT_FAILED;
}

/* A file, perhaps by a link; what may never end, or never begin, is none. */
static bool is_regular(const char *path)
{
    CLEANUP(mem_freep) char *real = NULL;

    return io_place_real(&real, path) == 0 && io_place_is_file(real);
}

/* Reads a file that should be there. 0, else it is said. */
static int importing_read_file(Importing *importing, const char *path, Bytes *text)
{
    int r;

    if (io_place_exists(path) && !is_regular(path)) {
        importing->status = import_failed(path, "it is not a regular file");
        return -EINVAL;
    }
    r = io_file_read(text, path);
    if (r != 0) {
        importing->status = import_failed(path, r > 0 ? "longer than 64 MiB" : io_error_text(-r));
    }
    return r;
}

/* ---- what is found ---- */

/* One file that is there. 0, or -1: what is said on stderr ends it. */
static int importing_read(Importing *importing, const char *path)
{
    CLEANUP(mem_freep) char *absolute = NULL;
    Diag diag = DIAG_NULL;
    Bytes text;
    int r = io_place_absolute(&absolute, path);

    bytes_init(&text, IMPORT_MAX_BYTES);
    if (r != 0) {
        importing->status = import_failed(path, io_error_text(-r));
    }
    r = r != 0 ? r : importing_read_file(importing, path, &text);
    if (r == 0) {
        r = import_read(&importing->import, span_from_str(absolute), bytes_span(&text), &diag);
        importing->n_files++;
        if (r != 0) {
            importing->status =
                import_failed(r > 0 ? "" : path, r > 0 ? diag.message : io_error_text(-r));
        }
    }
    bytes_deinit(&text);
    return r != 0 ? -1 : 0;
}

/* A place where something may be. A file that cannot be read costs no other: it is said. */
static int importing_look(void *context, const char *kind, const char *path)
{
    (void)kind;
    if (is_regular(path)) {
        (void)importing_read(context, path);
    }
    return 0;
}

static bool is_kind(const char *name)
{
    for (size_t i = 0; import_kinds[i] != NULL; i++) {
        if (strcmp(import_kinds[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void importing_find(Importing *importing)
{
    const CliArgs *args = importing->args;
    size_t n = 0;

    for (size_t i = 0; i < args->n_repeats; i++) {
        const char *from = args->repeats[i].value;

        if (args->repeats[i].place != OPTION_FROM) {
            continue;
        }
        n++;
        if (is_kind(from)) {
            (void)import_places(from, importing->folder, importing_look, importing);
        } else {
            (void)importing_read(importing, from);
        }
    }
    if (n == 0) {
        (void)import_places(NULL, importing->folder, importing_look, importing);
    }
}

/* ---- what is shown ---- */

static Span server_state(const Importing *importing, size_t i)
{
    const ImportServer *server = &importing->import.servers[i];

    if (server->skipped.n > 0) {
        return server->skipped;
    }
    if (importing->has_changes) {
        return span_from_str(change_names[importing->changes[i]]);
    }
    return server->note.n > 0 ? server->note : SPAN("found");
}

static int show_table(Importing *importing)
{
    static const ChartColumn columns[] = {{"server", CHART_NAME, 0},
                                          {"state", CHART_LEFT, 0},
                                          {"from", CHART_PATH, 1},
                                          {"command or url", CHART_NAME, 0}};
    CLEANUP(arena_deinit) Arena arena = ARENA_NULL;
    ChartGrid grid;
    Bytes out;
    int r = 0;

    arena_init(&arena, SIZE_MAX);
    bytes_init(&out, IMPORT_MAX_BYTES);
    chart_grid_init(&grid, &arena, columns, TW_ARRAY_SIZE(columns));
    for (size_t i = 0; r == 0 && i < importing->import.n_servers; i++) {
        const ImportServer *server = &importing->import.servers[i];

        r = chart_grid_add(&grid, (ChartCell[]){{.text = server->name},
                                                {.text = server_state(importing, i)},
                                                {.text = server->source},
                                                {.text = server->target}});
    }
    if (r == 0 && importing->import.n_servers > 0) {
        r = chart_grid_write(&grid, table_terminal_width(stdout), cli_wants_colour(stdout), &out);
    }
    if (r == 0 && out.n > 0) {
        (void)fwrite(out.data, 1, out.n, stdout);
    }
    bytes_deinit(&out);
    /* After a write the state says what was done; what is left to do must not be lost by it. */
    for (size_t i = 0; importing->has_changes && i < importing->import.n_servers; i++) {
        const ImportServer *server = &importing->import.servers[i];

        if (server->note.n > 0) {
            fprintf(stderr, "toolwire import: ");
            table_print_safe(stderr, server->name, false);
            fprintf(stderr, ": ");
            table_print_safe(stderr, server->note, false);
            fprintf(stderr, "\n");
        }
    }
    if (importing->import.n_beyond > 0) {
        fprintf(stderr, "toolwire import: %zu more were left out: %d are looked at\n",
                importing->import.n_beyond, IMPORT_MAX_SERVERS);
    }
    if (importing->import.n_servers == 0) {
        bool writes = importing->args->values[OPTION_WRITE] != NULL && !importing->import.toolkit;

        fprintf(stderr, "toolwire import: no servers in %zu file%s%s\n", importing->n_files,
                importing->n_files == 1 ? "" : "s", writes ? "; nothing is written" : "");
    }
    return r;
}

static void write_member(JsonWriter *w, Span key, Span text)
{
    if (text.n > 0) {
        json_write_key(w, key);
        json_write_string(w, text);
    }
}

/* Secrets are masked here, too: logs keep what programs print. */
static int show_json(const Importing *importing)
{
    JsonWriter w;
    Bytes out;
    int r;

    bytes_init(&out, IMPORT_MAX_BYTES);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("servers"));
    json_write_array(&w);
    for (size_t i = 0; i < importing->import.n_servers; i++) {
        const ImportServer *server = &importing->import.servers[i];

        json_write_object(&w);
        json_write_key(&w, SPAN("name"));
        json_write_string(&w, server->name);
        write_member(&w, SPAN("source"), server->source);
        write_member(&w, SPAN("target"), server->target);
        write_member(&w, SPAN("skipped"), server->skipped);
        write_member(&w, SPAN("note"), server->note);
        if (server->skipped.n == 0) {
            json_write_key(&w, SPAN("server"));
            json_write_raw(&w, server->masked);
            if (importing->has_changes) {
                json_write_key(&w, SPAN("change"));
                json_write_string(&w, importing->changes[i] == IMPORT_TAKEN ? SPAN("clash")
                                      : importing->changes[i] == IMPORT_BEYOND
                                          ? SPAN("left out")
                                          : span_from_str(change_names[importing->changes[i]]));
            }
        }
        json_write_end_object(&w);
    }
    json_write_end_array(&w);
    json_write_end_object(&w);
    r = json_writer_finish(&w);
    if (r == 0) {
        printf("%.*s\n", (int)out.n, out.data);
    }
    bytes_deinit(&out);
    return r;
}

static int importing_show(Importing *importing)
{
    int r =
        importing->args->values[OPTION_JSON] != NULL ? show_json(importing) : show_table(importing);

    return r == 0 ? importing->status : import_failed("", "out of memory");
}

/* ---- what is written ---- */

/* The line that begins at *at, with its end. */
static Span next_line(Span text, size_t *at)
{
    size_t start = *at;
    const char *end = start < text.n ? memchr(text.p + start, '\n', text.n - start) : NULL;

    *at = end != NULL ? (size_t)(end - text.p) + 1 : text.n;
    return span_make(text.p + start, *at - start);
}

static void print_lines(const char *mark, Span lines)
{
    for (size_t at = 0; at < lines.n;) {
        Span line = next_line(lines, &at);

        printf("%s", mark);
        table_print_safe(stdout, span_make(line.p, line.n - span_ends_with(line, SPAN("\n"))),
                         false);
        printf("\n");
    }
}

/* What differs lies in one stretch of lines, more or less: what is the same before and behind it is
 * not shown. */
static void print_diff(const char *path, Span before, Span after)
{
    size_t first = 0;
    size_t at = 0;
    size_t n = 0;

    for (size_t at_after = 0; at < before.n && at_after < after.n;) {
        Span old = next_line(before, &at);

        if (!span_equals(old, next_line(after, &at_after))) {
            break;
        }
        first = at;
    }
    while (n < before.n - first && n < after.n - first &&
           before.p[before.n - 1 - n] == after.p[after.n - 1 - n]) {
        n++;
    }
    while (n > 0 && before.p[before.n - n - (before.n > n)] != '\n') {
        n--;
    }
    if (before.n == after.n && first == before.n) {
        return;
    }
    printf("--- %s\n+++ %s\n", path, path);
    print_lines("-", span_make(before.p + first, before.n - n - first));
    print_lines("+", span_make(after.p + first, after.n - n - first));
}

/* With what was there before masked, too: it may stand between the lines that change. */
static void importing_diff(Importing *importing, const char *path, Span before, Span after)
{
    Bytes old;
    Bytes new;

    bytes_init(&old, 2 * IMPORT_MAX_BYTES);
    bytes_init(&new, 2 * IMPORT_MAX_BYTES);
    if (import_mask_settings(before, &old) != 0 || import_mask_settings(after, &new) != 0) {
        importing->status = import_failed("", "out of memory");
    } else {
        print_diff(path, bytes_span(&old), bytes_span(&new));
    }
    bytes_deinit(&old);
    bytes_deinit(&new);
}

static int importing_merge(Importing *importing, const char *path, Span text, Bytes *out)
{
    bool replace = importing->args->values[OPTION_REPLACE] != NULL;
    Diag diag = DIAG_NULL;
    int r = import_merge(&importing->import, span_from_str(path), text, replace, importing->changes,
                         out, &diag);

    importing->has_changes = r == 0 || r == IMPORT_E_CLASH;
    if (r != 0) {
        importing->status = import_failed("", r > 0 ? diag.message : io_error_text(-r));
    }
    return r;
}

/* By default the toolkit is offered where nothing else is: the first servers end that. */
static void importing_tell_toolkit(const char *path, Span before, Span after)
{
    if (import_ends_toolkit(path, before, after)) {
        fprintf(stderr,
                "toolwire import: beside these servers the toolkit (templates, code analysis) is "
                "not offered; --toolkit, or \"toolkit\": true in %s, offers it, too\n",
                path);
    }
}

/* The file that a link leads to is the one that is written. */
static int importing_save(Importing *importing, const char *path, Span text)
{
    CLEANUP(mem_freep) char *real = NULL;
    int r = io_place_exists(path) ? io_place_real(&real, path) : 0;

    r = r != 0 ? r : io_keep_write(real != NULL ? real : path, text);
    if (r != 0) {
        importing->status = import_failed(path, io_error_text(-r));
    }
    return r;
}

static void importing_write(Importing *importing, const char *path)
{
    bool is_dry = importing->args->values[OPTION_DRY_RUN] != NULL;
    Bytes before;
    Bytes after;
    int r;

    bytes_init(&before, IMPORT_MAX_BYTES);
    bytes_init(&after, 2 * IMPORT_MAX_BYTES);
    r = io_place_exists(path) ? importing_read_file(importing, path, &before) : 0;
    r = r != 0 ? r : importing_merge(importing, path, bytes_span(&before), &after);
    if (r == 0 && is_dry) {
        if (importing->args->values[OPTION_JSON] == NULL) {
            importing_diff(importing, path, bytes_span(&before), bytes_span(&after));
        }
    } else if (r == 0 && !span_equals(bytes_span(&before), bytes_span(&after))) {
        r = importing_save(importing, path, bytes_span(&after));
    }
    if (r == 0) {
        importing_tell_toolkit(path, bytes_span(&before), bytes_span(&after));
    }
    bytes_deinit(&before);
    bytes_deinit(&after);
}

/* A file without a server would be of no use. */
static bool importing_can_write(const Importing *importing, const char *path)
{
    bool has =
        importing->import.toolkit || (importing->import.n_servers > 0 && io_place_exists(path));

    for (size_t i = 0; i < importing->import.n_servers; i++) {
        has = has || importing->import.servers[i].skipped.n == 0;
    }
    return has;
}

static int import_run(const CliArgs *args)
{
    bool writes = args->values[OPTION_WRITE] != NULL || args->values[OPTION_DRY_RUN] != NULL;
    const char *path = args->n_operands > 0 ? args->operands[0] : IMPORT_FILE;
    Importing *importing;
    int status;

    if (args->n_operands > 1) {
        return cli_usage_error(args, "one FILE at most, but got '%s', too", args->operands[1]);
    }
    if (!writes && (args->n_operands > 0 || args->values[OPTION_REPLACE] != NULL ||
                    args->values[OPTION_TOOLKIT] != NULL)) {
        return cli_usage_error(args, "%s needs --write or --dry-run",
                               args->n_operands > 0                   ? "a FILE"
                               : args->values[OPTION_REPLACE] != NULL ? "--replace"
                                                                      : "--toolkit");
    }
    importing = mem_alloc_array(1, sizeof(*importing));
    if (importing == NULL) {
        return import_failed("", "out of memory");
    }
    memset(importing, 0, sizeof(*importing));
    importing->args = args;
    if (io_place_real(&importing->folder, ".") != 0) {
        mem_free(importing);
        return import_failed("", "the working folder is gone");
    }
    import_init(&importing->import, span_from_str(importing->folder),
                args->values[OPTION_ENV_REFS] != NULL);
    importing->import.toolkit = args->values[OPTION_TOOLKIT] != NULL;
    importing_find(importing);
    if (writes && importing->status == 0 && importing_can_write(importing, path)) {
        importing_write(importing, path);
    }
    status = importing_show(importing);
    import_deinit(&importing->import);
    mem_free(importing->folder);
    mem_free(importing);
    return status;
}

const CliCommand cmd_import = {
    .name = "import",
    .operands = "[FILE]",
    .summary = "take over the MCP servers of other programs' settings",
    .details =
        "Looks where Claude Desktop, Claude Code, Cursor, VS Code and Cline keep theirs, for\n"
        "this user and this folder, and shows what is there; secrets are masked.\n"
        "--write puts them into mcpServers of FILE, which only you can read then.",
    .options = import_options,
    .run = import_run,
};
