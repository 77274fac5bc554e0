#include "io/windows/command_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "io/place.h"

/* The system's limits for a command line, in characters, and for the variables in a sane one. */
#define COMMAND_LINE_MAX   32767
#define COMMAND_BLOCK_MAX  ((size_t)1024 * 1024)
#define COMMAND_LINE_BYTES ((size_t)COMMAND_LINE_MAX * 3)

/* ---- the program ---- */

/* The value of a variable; NULL if it is not there. Names differ not by case. */
static const char *command_variable(const char *const *environment, const char *name)
{
    size_t n = strlen(name);

    if (environment == NULL) {
        return getenv(name);
    }
    for (const char *const *at = environment; *at != NULL; at++) {
        if (_strnicmp(*at, name, n) == 0 && (*at)[n] == '=') {
            return *at + n + 1;
        }
    }
    return NULL;
}

static bool command_is_file(const wchar_t *path)
{
    DWORD attributes = GetFileAttributesW(path);

    return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) == 0;
}

/* The path, if such a file is there; with the ending. 0, -ENOENT, -ENOMEM… */
static int command_try(wchar_t **ret, Span folder, const char *name, const char *ending)
{
    CLEANUP(bytes_deinit) Bytes path;
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    int r;

    bytes_init(&path, COMMAND_BLOCK_MAX);
    r = bytes_append_span(&path, folder);
    if (r == 0 && folder.n > 0 && !io_place_is_slash(folder.p[folder.n - 1])) {
        r = bytes_append(&path, "\\", 1);
    }
    if (r == 0) {
        r = bytes_append(&path, name, strlen(name));
    }
    if (r == 0) {
        r = bytes_append(&path, ending, strlen(ending) + 1);
    }
    if (r == 0) {
        r = win_wide(&wide, path.data);
    }
    if (r != 0) {
        return err_fold(r);
    }
    if (!command_is_file(wide)) {
        return -ENOENT;
    }
    *ret = wide;
    wide = NULL;
    return 0;
}

/* In that folder, under its name or as a program of that name. */
static int command_try_endings(wchar_t **ret, Span folder, const char *name)
{
    const char *slash = io_place_last_slash(name);
    bool has_ending = strchr(slash == NULL ? name : slash, '.') != NULL;
    int r = has_ending ? command_try(ret, folder, name, "") : -ENOENT;

    if (r == -ENOENT) {
        r = command_try(ret, folder, name, ".com");
    }
    if (r == -ENOENT) {
        r = command_try(ret, folder, name, ".exe");
    }
    return r;
}

int win_program_find(wchar_t **ret, const IoProcessSpec *spec)
{
    const char *name = spec->argv[0];
    const char *path;
    int r = -ENOENT;

    if (io_place_last_slash(name) != NULL) {
        bool is_seen_from_folder = spec->folder != NULL && !io_place_is_absolute(name);

        return command_try_endings(
            ret, is_seen_from_folder ? span_from_str(spec->folder) : SPAN(""), name);
    }
    path = command_variable(spec->environment, "PATH");
    while (r == -ENOENT && path != NULL && *path != '\0') {
        size_t n = strcspn(path, ";");
        Span folder = span_make(path, n);

        /* Folders with a semicolon in them are quoted; those are rare, the quotes are not. */
        if (folder.n >= 2 && folder.p[0] == '"' && folder.p[folder.n - 1] == '"') {
            folder = span_make(folder.p + 1, folder.n - 2);
        }
        if (folder.n > 0) {
            r = command_try_endings(ret, folder, name);
            r = r == -EILSEQ ? -ENOENT : r; /* a folder that is no UTF-8 is none of ours */
        }
        path += path[n] == '\0' ? n : n + 1;
    }
    return r;
}

bool win_program_is_batch(const wchar_t *path)
{
    size_t n = wcslen(path);

    return n >= 4 && (_wcsicmp(path + n - 4, L".bat") == 0 || _wcsicmp(path + n - 4, L".cmd") == 0);
}

/* ---- the arguments ---- */

/* One argument: in quotation marks if it has to be. Backslashes mean themselves, but before a
 * quotation mark each has to be doubled. */
static int command_append(Bytes *line, const char *argument)
{
    bool is_plain = argument[0] != '\0' && strpbrk(argument, " \t\n\v\"") == NULL;
    size_t n_backslashes = 0;
    int r = is_plain ? bytes_append(line, argument, strlen(argument)) : bytes_append(line, "\"", 1);

    if (is_plain) {
        return r;
    }
    for (const char *at = argument; r == 0; at++) {
        bool is_end = *at == '\0';

        if (*at == '\\') {
            n_backslashes++;
            continue;
        }
        for (size_t i = 0; r == 0 && i < n_backslashes; i++) {
            r = is_end || *at == '"' ? bytes_append(line, "\\\\", 2) : bytes_append(line, "\\", 1);
        }
        n_backslashes = 0;
        if (is_end) {
            break;
        }
        if (r == 0 && *at == '"') {
            r = bytes_append(line, "\\", 1);
        }
        if (r == 0) {
            r = bytes_append(line, at, 1);
        }
    }
    return r == 0 ? bytes_append(line, "\"", 1) : r;
}

int win_command_line(wchar_t **ret, const char *const *argv)
{
    CLEANUP(bytes_deinit) Bytes line;
    int r = 0;

    bytes_init(&line, COMMAND_LINE_BYTES);
    for (size_t i = 0; r == 0 && argv[i] != NULL; i++) {
        r = i > 0 ? bytes_append(&line, " ", 1) : 0;
        if (r == 0) {
            r = command_append(&line, argv[i]);
        }
    }
    if (r == 0) {
        r = bytes_append(&line, "", 1);
    }
    if (r == BYTES_E_FULL) {
        return err_raise(-E2BIG);
    }
    if (r != 0) {
        return err_pass(r);
    }
    r = win_wide(ret, line.data);
    if (r == 0 && wcslen(*ret) > COMMAND_LINE_MAX) {
        *ret = mem_free(*ret);
        return err_raise(-E2BIG);
    }
    return r;
}

/* ---- the variables ---- */

/* Where Windows is: what starts without knowing it finds neither its libraries nor its random
 * numbers. */
static const char *const command_needed[] = {"SystemDrive", "SystemRoot", "windir"};

static int command_compare(const void *a, const void *b)
{
    const wchar_t *const *left = a;
    const wchar_t *const *right = b;
    int c = CompareStringOrdinal(*left, (int)wcscspn(*left, L"="), *right,
                                 (int)wcscspn(*right, L"="), TRUE);

    return c - CSTR_EQUAL;
}

/* NAME=value of ours, if there is one. 0 or a negative errno. */
static int command_add_own(wchar_t **variables, size_t *n, const char *name)
{
    const char *value = getenv(name);
    CLEANUP(bytes_deinit) Bytes text;
    int r;

    if (value == NULL) {
        return 0;
    }
    bytes_init(&text, COMMAND_BLOCK_MAX);
    r = bytes_append(&text, name, strlen(name));
    if (r == 0) {
        r = bytes_append(&text, "=", 1);
    }
    if (r == 0) {
        r = bytes_append(&text, value, strlen(value) + 1);
    }
    if (r == 0) {
        r = win_wide(&variables[*n], text.data);
    }
    if (r == 0) {
        ++*n;
    }
    return r;
}

static int command_collect(wchar_t **variables, size_t *n, const char *const *environment)
{
    int r = 0;

    for (size_t i = 0; r == 0 && environment[i] != NULL; i++) {
        r = win_wide(&variables[*n], environment[i]);
        if (r == 0) {
            ++*n;
        }
    }
    for (size_t i = 0; r == 0 && i < TW_ARRAY_SIZE(command_needed); i++) {
        if (command_variable(environment, command_needed[i]) == NULL) {
            r = command_add_own(variables, n, command_needed[i]);
        }
    }
    return r;
}

/* One after the other, each with its NUL, and another one at the end. NULL without memory. */
static wchar_t *command_join(wchar_t *const *variables, size_t n)
{
    size_t n_all = 2; /* an empty block has two, too */
    wchar_t *block;
    wchar_t *at;

    for (size_t i = 0; i < n; i++) {
        n_all += wcslen(variables[i]) + 1;
    }
    block = mem_alloc_array(n_all, sizeof(*block));
    at = block;
    for (size_t i = 0; block != NULL && i < n; i++) {
        size_t n_variable = wcslen(variables[i]) + 1;

        memcpy(at, variables[i], n_variable * sizeof(*at));
        at += n_variable;
    }
    return block;
}

int win_environment_block(wchar_t **ret, const char *const *environment)
{
    wchar_t **variables;
    size_t n_max = TW_ARRAY_SIZE(command_needed);
    size_t n = 0;
    int r;

    if (environment == NULL) {
        *ret = NULL;
        return 0;
    }
    for (size_t i = 0; environment[i] != NULL; i++) {
        n_max++;
    }
    variables = mem_alloc_array(n_max, sizeof(*variables));
    if (variables == NULL) {
        return err_raise(-ENOMEM);
    }
    r = command_collect(variables, &n, environment);
    if (r == 0) {
        qsort(variables, n, sizeof(*variables), command_compare);
        *ret = command_join(variables, n);
        r = *ret == NULL ? err_raise(-ENOMEM) : 0;
    }
    for (size_t i = 0; i < n; i++) {
        (void)mem_free(variables[i]);
    }
    (void)mem_free(variables);
    return err_fold(r);
}
