/* The exclude files that concern a folder (analysis_impl.h): the person's own, the repository's,
 * and the .gitignore files from the top of the work tree down. A folder that is in no work tree has
 * those of its own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "io/file.h"
#include "io/place.h"
#include "providers/analysis_impl.h"

/* An exclude file, and a path of the system. */
#define IGNORE_FILE_BYTES ((size_t)16 * 1024 * 1024)
#define IGNORE_PATH_BYTES ((size_t)64 * 1024)

/* Pushes the text of the file at path; one that is not there, or cannot be read, says nothing. */
static int ignore_push_file(AnalysisIgnore *ignore, Span folder, const char *path)
{
    int r;

    bytes_clear_keep(&ignore->text, IGNORE_PATH_BYTES);
    r = io_file_read(&ignore->text, path);
    if (r == 0) {
        r = ignore_rules_push(ignore->rules, folder, bytes_span(&ignore->text));
    }
    return r == -ENOMEM ? r : 0;
}

static int ignore_push_beneath(AnalysisIgnore *ignore, Span folder, const char *base,
                               const char *name)
{
    CLEANUP(mem_freep) char *path = NULL;
    int r = analysis_join(&path, base, name);

    return r != 0 ? r : ignore_push_file(ignore, folder, path);
}

/* ---- what the configuration of git says ---- */

typedef struct IgnoreConfig {
    char *excludes; /* core.excludesFile; owned */
    bool ignores_case;
} IgnoreConfig;

static int ignore_take_config(IgnoreConfig *config, Span key, Span value)
{
    if (text_equals_nocase(key, SPAN("core.ignorecase"))) {
        config->ignores_case = text_equals_nocase(value, SPAN("true"));
    } else if (text_equals_nocase(key, SPAN("core.excludesfile"))) {
        mem_free(config->excludes);
        config->excludes = mem_alloc(value.n + 1);
        if (config->excludes == NULL) {
            return err_raise(-ENOMEM);
        }
        memcpy(config->excludes, value.p, value.n);
        config->excludes[value.n] = '\0';
    }
    return 0;
}

/* KEY LF VALUE NUL… */
static int ignore_parse_config(IgnoreConfig *config, Span text)
{
    int r = 0;

    while (r == 0 && text.n > 0) {
        const char *end = memchr(text.p, '\0', text.n);
        size_t n = end == NULL ? text.n : (size_t)(end - text.p);
        const char *line = memchr(text.p, '\n', n);

        if (line != NULL) {
            size_t n_key = (size_t)(line - text.p);

            r = ignore_take_config(config, span_make(text.p, n_key),
                                   span_make(line + 1, n - n_key - 1));
        }
        text = span_make(text.p + n + (end != NULL), text.n - n - (end != NULL));
    }
    return r;
}

/* Without git, or without these keys, there is nothing to know. 0, -ENOMEM, ANALYSIS_E_CANCELLED.
 */
static int ignore_read_config(IgnoreConfig *config, const AnalysisPlace *place, const char *folder,
                              const atomic_bool *cancel)
{
    static const char *const argv[] = {
        "git", "config", "-z", "--type=path", "--get-regexp", "^core\\.(excludesfile|ignorecase)$",
        NULL};
    AnalysisGit git;
    Bytes text;
    int r = analysis_git_init(&git, place, folder, cancel);

    bytes_init(&text, IGNORE_PATH_BYTES);
    r = r != 0 ? r : analysis_git_read(&git, argv, &text, NULL);
    if (r == 0) {
        r = ignore_parse_config(config, bytes_span(&text));
    }
    bytes_deinit(&text);
    analysis_git_deinit(&git);
    return r == -ENOMEM || r == ANALYSIS_E_CANCELLED ? r : 0;
}

/* core.excludesFile, which git sees from the top; where it looks if that is not set. */
static int ignore_push_users(AnalysisIgnore *ignore, const char *top, const IgnoreConfig *config)
{
    const char *xdg = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");

    if (config->excludes != NULL && !io_place_is_absolute(config->excludes)) {
        return ignore_push_beneath(ignore, SPAN_NULL, top, config->excludes);
    }
    if (config->excludes != NULL) {
        return ignore_push_file(ignore, SPAN_NULL, config->excludes);
    }
    if (xdg != NULL && xdg[0] != '\0') {
        return ignore_push_beneath(ignore, SPAN_NULL, xdg, "git/ignore");
    }
    return home == NULL ? 0 : ignore_push_beneath(ignore, SPAN_NULL, home, ".config/git/ignore");
}

/* ---- the work tree ---- */

/* The first folder from path upwards that has a .git, not above the root. Gives *ret_top, NULL:
 * none. 0, -ENOMEM. */
static int ignore_find_top(const char *root, const char *path, char **ret_top)
{
    CLEANUP(mem_freep) char *at = NULL;
    int r = analysis_join(&at, path, "");

    *ret_top = NULL;
    while (r == 0) {
        CLEANUP(mem_freep) char *git = NULL;
        size_t n = strlen(at);

        r = analysis_join(&git, at, ".git");
        if (r == 0 && io_place_exists(git)) {
            *ret_top = at;
            at = NULL;
            return 0;
        }
        /* Up: without the slash at the end, then without the name. */
        at[n - 1] = '\0';
        n = io_place_folder_length(at);
        if (n == 0) {
            return r;
        }
        at[n] = '\0';
        if (!analysis_is_beneath(root, at)) {
            return r;
        }
    }
    return r;
}

/* The file at a path that git told, as seen from the top. */
static int ignore_push_told(AnalysisIgnore *ignore, const char *top, Span told)
{
    CLEANUP(mem_freep) char *path = mem_alloc(told.n + 1);

    if (path == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(path, told.p, told.n);
    path[told.n] = '\0';
    return io_place_is_absolute(path) ? ignore_push_file(ignore, SPAN_NULL, path)
                                      : ignore_push_beneath(ignore, SPAN_NULL, top, path);
}

/* .git/info/exclude; in a further work tree .git is a file, and git says where. */
static int ignore_push_repository(AnalysisIgnore *ignore, const char *top,
                                  const atomic_bool *cancel)
{
    static const char *const argv[] = {"git", "rev-parse", "--git-path", "info/exclude", NULL};
    CLEANUP(mem_freep) char *own = NULL;
    AnalysisGit git;
    int r = analysis_join(&own, top, ".git");

    if (r != 0 || !io_place_is_file(own)) {
        return r != 0 ? r : ignore_push_beneath(ignore, SPAN_NULL, own, "info/exclude");
    }
    r = analysis_git_init(&git, ignore->place, top, cancel);
    bytes_clear(&ignore->text);
    r = r != 0 ? r : analysis_git_read(&git, argv, &ignore->text, NULL);
    analysis_git_deinit(&git);
    r = r != 0 ? r : ignore_push_told(ignore, top, text_trim(bytes_span(&ignore->text)));
    return r == -ENOMEM || r == ANALYSIS_E_CANCELLED ? r : 0;
}

/* The .gitignore files above the folder; its own comes when it is entered. prefix: "src/io/". */
static int ignore_push_above(AnalysisIgnore *ignore, const char *top, Span prefix)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < prefix.n; i++) {
        CLEANUP(mem_freep) char *folder = NULL;
        CLEANUP(mem_freep) char *above = NULL;
        size_t n = i;

        if (i > 0 && prefix.p[i - 1] != '/') {
            continue;
        }
        above = mem_alloc(n + 1);
        if (above == NULL) {
            return err_raise(-ENOMEM);
        }
        memcpy(above, prefix.p, n);
        above[n] = '\0';
        r = analysis_join(&folder, top, above);
        /* Of the rules' folder the slash is no part. */
        r = r != 0 ? r
                   : ignore_push_beneath(ignore, span_make(prefix.p, n > 0 ? n - 1 : 0), folder,
                                         ".gitignore");
    }
    return r;
}

/* What is between top ("ROOT/") and the folder, with slashes: "" or "src/io/". */
static int ignore_set_prefix(AnalysisIgnore *ignore, const char *top, const char *folder)
{
    size_t n_top = strlen(top);
    size_t n = strlen(folder);
    int r = 0;

    if (n > n_top) {
        r = bytes_append(&ignore->path, folder + n_top, n - n_top);
        r = r != 0 ? r : bytes_append_byte(&ignore->path, '/');
    }
    for (size_t i = 0; r == 0 && i < ignore->path.n; i++) {
        if (io_place_is_slash(ignore->path.data[i])) {
            ignore->path.data[i] = '/';
        }
    }
    ignore->n_prefix = ignore->path.n;
    return r != 0 ? err_fold(r) : 0;
}

static int ignore_fill(AnalysisIgnore *ignore, const char *folder, const char *top,
                       const atomic_bool *cancel)
{
    IgnoreConfig config = {.excludes = NULL};
    int r = top != NULL ? ignore_read_config(&config, ignore->place, folder, cancel) : 0;

    r = r != 0 ? r : ignore_rules_new(&ignore->rules, config.ignores_case);
    if (r == 0 && top != NULL) {
        r = ignore_set_prefix(ignore, top, folder);
        r = r != 0 ? r : ignore_push_users(ignore, top, &config);
        r = r != 0 ? r : ignore_push_repository(ignore, top, cancel);
        r = r != 0 ? r : ignore_push_above(ignore, top, bytes_span(&ignore->path));
    }
    mem_free(config.excludes);
    return r;
}

int analysis_ignore_init(AnalysisIgnore *ignore, const AnalysisPlace *place,
                         const atomic_bool *cancel)
{
    const char *folder = io_folder_path(place->folder);
    CLEANUP(mem_freep) char *top = NULL;
    int r;

    *ignore = (AnalysisIgnore){.rules = NULL, .place = place};
    bytes_init(&ignore->path, IGNORE_PATH_BYTES);
    bytes_init(&ignore->text, IGNORE_FILE_BYTES);
    r = ignore_find_top(place->root, folder, &top);
    r = r != 0 ? r : ignore_fill(ignore, folder, top, cancel);
    if (r != 0) {
        analysis_ignore_deinit(ignore);
    }
    return r;
}

void analysis_ignore_deinit(AnalysisIgnore *ignore)
{
    ignore->rules = ignore_rules_free(ignore->rules);
    bytes_deinit(&ignore->path);
    bytes_deinit(&ignore->text);
}

/* ---- beneath the folder ---- */

/* path as seen from the top, in ignore->path. 0, -ENOMEM. */
static int ignore_locate(AnalysisIgnore *ignore, Span path)
{
    int r;

    ignore->path.n = ignore->n_prefix;
    r = bytes_append_span(&ignore->path, path);
    return r != 0 ? err_fold(r) : 0;
}

int analysis_ignore_enter(AnalysisIgnore *ignore, IoFolder *folder, Span path, bool *ret_pushed)
{
    CLEANUP(mem_freep) char *file = NULL;
    Span above;
    int r;

    *ret_pushed = false;
    file = mem_alloc(path.n + sizeof(".gitignore"));
    if (file == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(file, path.p, path.n);
    memcpy(file + path.n, ".gitignore", sizeof(".gitignore"));
    bytes_clear_keep(&ignore->text, IGNORE_PATH_BYTES);
    r = io_folder_read(folder, file, &ignore->text, NULL);
    if (r != 0) {
        return r == -ENOMEM ? r : 0;
    }
    r = ignore_locate(ignore, path);
    if (r != 0) {
        return r;
    }
    above = bytes_span(&ignore->path);
    above.n -= above.n > 0;
    r = ignore_rules_push(ignore->rules, above, bytes_span(&ignore->text));
    *ret_pushed = r == 0;
    return r;
}

int analysis_ignore_match(AnalysisIgnore *ignore, Span path, bool is_folder, bool *ret)
{
    int r;

    *ret = false;
    if (ignore->rules == NULL) {
        return 0;
    }
    r = ignore_locate(ignore, path);
    if (r == 0) {
        *ret = ignore_rules_match(ignore->rules, bytes_span(&ignore->path), is_folder);
    }
    return r;
}
