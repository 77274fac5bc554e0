/* The runtime folder, and what dead processes left in one; declared in io/private_file.h. */
#include "io/private_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/place.h"
#include "io/unix_socket.h"

#define FOLDER_OTHERS (S_IRWXG | S_IRWXO)

/* "toolwire-" and any number. */
#define FOLDER_NAME_SIZE 40

/* What has a temporary name (io/place.h) has it for less than a second, unless its process died. */
#define FOLDER_TEMP_MAX_S 60

/* The same without the letters that the system chooses. */
#define FOLDER_TEMP_PREFIX ".tw-"

/* What io/unix_socket.c makes in a temporary folder. */
#define FOLDER_TEMP_SOCKET "s"

/* Above this a path is not named in a command: it would not fit a Diag. */
#define FOLDER_PATH_MAX 80

/* What a shell takes as it is, whatever its settings. */
#define FOLDER_PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-"

/* An absolute path from the environment; NULL if it is not there or none. */
static const char *folder_from_environment(const char *variable)
{
    const char *path = getenv(variable);

    return path != NULL && path[0] == '/' ? path : NULL;
}

/* As the XDG specification wants it: the user's own. */
static bool folder_is_own(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
           (info.st_mode & FOLDER_OTHERS) == 0;
}

/* base/name in memory of its own; NULL when there is none. */
static char *folder_join(const char *base, const char *name)
{
    size_t n_base = strlen(base);
    size_t n_name = strlen(name);
    char *path = mem_alloc(n_base + 1 + n_name + 1);

    if (path != NULL) {
        memcpy(path, base, n_base);
        path[n_base] = '/';
        memcpy(path + n_base + 1, name, n_name + 1);
    }
    return path;
}

/* Appends if it fits, NUL included. */
static bool quote_append(char *out, size_t size, size_t *n, Span text)
{
    if (text.n >= size - *n) {
        return false;
    }
    memcpy(out + *n, text.p, text.n);
    *n += text.n;
    out[*n] = '\0';
    return true;
}

bool private_path_quote(char *out, size_t size, const char *path)
{
    bool is_plain = path[0] != '\0' && path[strspn(path, FOLDER_PLAIN)] == '\0';
    Span quote = is_plain ? SPAN("") : SPAN("'");
    size_t n = 0;
    /* What begins so would be an option. */
    bool fits = quote_append(out, size, &n, path[0] == '-' ? SPAN("./") : SPAN("")) &&
                quote_append(out, size, &n, quote);

    for (const char *at = path; fits && *at != '\0'; at++) {
        fits = quote_append(out, size, &n, *at == '\'' ? SPAN("'\\''") : span_make(at, 1));
    }
    if (!fits || !quote_append(out, size, &n, quote)) {
        out[0] = '\0';
        return false;
    }
    return true;
}

/* Others can enter it. */
static int folder_refuse_mode(const char *path, mode_t mode, Diag *reterr_diag)
{
    unsigned bits = mode & (S_IRWXU | FOLDER_OTHERS);
    char word[FOLDER_PATH_MAX + 1];

    if (!private_path_quote(word, sizeof(word), path)) {
        return diag_set(reterr_diag, PRIVATE_FILE_E_PLACE,
                        "open to others (mode %04o), give it mode 0700 with chmod: %s", bits, path);
    }
    return diag_set(reterr_diag, PRIVATE_FILE_E_PLACE,
                    "%s is open to others (mode %04o): chmod 700 %s", path, bits, word);
}

/* Looks at the name itself, not at what a link leads to: under /tmp anybody can have put it there.
 */
static int folder_check(const char *path, Diag *reterr_diag)
{
    struct stat info;

    if (lstat(path, &info) != 0) {
        return io_place_fail(reterr_diag, PRIVATE_FILE_E_PLACE, errno, "use", path);
    }
    if (!S_ISDIR(info.st_mode)) {
        return diag_set(reterr_diag, PRIVATE_FILE_E_PLACE,
                        "%s is %s, no folder: remove it, or set XDG_RUNTIME_DIR to a folder of "
                        "your own",
                        path, S_ISLNK(info.st_mode) ? "a symbolic link" : "something else");
    }
    if (info.st_uid != geteuid()) {
        return diag_set(reterr_diag, PRIVATE_FILE_E_PLACE,
                        "%s belongs to user %ld: set XDG_RUNTIME_DIR to a folder of your own", path,
                        (long)info.st_uid);
    }
    if ((info.st_mode & FOLDER_OTHERS) != 0) {
        return folder_refuse_mode(path, info.st_mode, reterr_diag);
    }
    return 0;
}

/* The two parts of the runtime folder's path. */
typedef struct FolderChoice {
    const char *base; /* from the environment, or the one below */
    char session[PRIVATE_FOLDER_SESSION_SIZE];
    char name[FOLDER_NAME_SIZE];
    bool is_session; /* it is the folder of a login */
} FolderChoice;

/* systemd and its like make the folder of a login at that place, and tell the session of it. What a
 * client of MCP starts has often no more than HOME and PATH of that: so it is looked for there,
 * too, unless the variable says something else. */
static void folder_choose(FolderChoice *choice)
{
    const char *base = folder_from_environment("XDG_RUNTIME_DIR");

    (void)snprintf(choice->session, sizeof(choice->session), "/run/user/%ld", (long)geteuid());
    if (getenv("XDG_RUNTIME_DIR") == NULL) {
        base = choice->session;
    }
    choice->is_session = base != NULL && folder_is_own(base);
    if (choice->is_session) {
        choice->base = base;
        (void)snprintf(choice->name, sizeof(choice->name), "toolwire");
        return;
    }
    base = folder_from_environment("TMPDIR");
    choice->base = base == NULL ? "/tmp" : base;
    (void)snprintf(choice->name, sizeof(choice->name), "toolwire-%ld", (long)geteuid());
}

bool private_folder_is_runtime(Span folder)
{
    FolderChoice choice;
    char path[PATH_MAX];
    int n;

    folder_choose(&choice);
    n = snprintf(path, sizeof(path), "%s/%s", choice.base, choice.name);
    return n > 0 && (size_t)n < sizeof(path) && span_equals(folder, span_from_str(path)) &&
           folder_check(path, NULL) == 0;
}

int private_folder_runtime_path(char **ret, Diag *reterr_diag)
{
    FolderChoice choice;
    char *path;

    folder_choose(&choice);
    path = folder_join(choice.base, choice.name);
    if (path == NULL) {
        return diag_set(reterr_diag, err_raise(-ENOMEM), "out of memory");
    }
    *ret = path;
    return 0;
}

/* In every case: nobody knows what a client passes on of its own environment. */
void private_folder_runtime_variables(PrivateFolderVariables *ret)
{
    FolderChoice choice;

    folder_choose(&choice);
    if (choice.base == choice.session) {
        memcpy(ret->session, choice.session, sizeof(ret->session));
        choice.base = ret->session;
    }
    ret->list[0] = (PrivateFolderVariable){"XDG_RUNTIME_DIR", choice.is_session ? choice.base : ""};
    ret->list[1] = (PrivateFolderVariable){"TMPDIR", choice.base};
    ret->n = choice.is_session ? 1 : 2;
}

int private_folder_runtime(char **ret, Diag *reterr_diag)
{
    CLEANUP(mem_freep) char *path = NULL;
    int r = private_folder_runtime_path(&path, reterr_diag);

    if (r != 0) {
        return err_pass(r);
    }
    if (mkdir(path, S_IRWXU) != 0 && errno != EEXIST) {
        return io_place_fail(reterr_diag, PRIVATE_FILE_E_PLACE, errno, "make the folder", path);
    }
    r = folder_check(path, reterr_diag);
    if (r != 0) {
        return r;
    }
    *ret = path;
    path = NULL;
    return 0;
}

/* ---- what dead processes left ---- */

/* folder/stem and suffix. False if that is too long. */
static bool clean_path(char path[PATH_MAX], const char *folder, Span stem, const char *suffix)
{
    int n = snprintf(path, PATH_MAX, "%s/%.*s%s", folder, (int)stem.n, stem.p, suffix);

    return n > 0 && n < PATH_MAX;
}

/* A folder in which a socket was to be made. Whatever else is in it keeps it from going. */
static bool clean_temp_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0) {
        return false;
    }
    (void)unlinkat(fd, FOLDER_TEMP_SOCKET, 0);
    (void)close(fd);
    return rmdir(path) == 0;
}

/* What never got its name. */
static bool clean_temp(const char *path)
{
    struct timespec now;
    struct stat info;

    if (lstat(path, &info) != 0 || info.st_uid != geteuid() ||
        clock_gettime(CLOCK_REALTIME, &now) != 0 ||
        info.st_mtim.tv_sec >= now.tv_sec - FOLDER_TEMP_MAX_S) {
        return false;
    }
    /* Its content may have been cut short, and the signature with it. */
    return S_ISDIR(info.st_mode) ? clean_temp_folder(path)
                                 : private_file_remove_left(path, SPAN(""));
}

/* name, or name-ANYTHING. */
static bool clean_is_name(Span stem, Span name)
{
    return span_starts_with(stem, name) && (stem.n == name.n || stem.p[name.n] == '-');
}

/* True if it went. */
static bool clean_entry(const char *folder, Span name, Span signature, const char *entry)
{
    Span stem = span_from_str(entry);
    char path[PATH_MAX];
    char socket_path[PATH_MAX];

    if (!clean_path(path, folder, stem, "")) {
        return false;
    }
    if (stem.n == IO_PLACE_TEMP_SIZE - 1 && span_starts_with(stem, SPAN(FOLDER_TEMP_PREFIX))) {
        return clean_temp(path);
    }
    if (!span_ends_with(stem, SPAN(".sock")) && !span_ends_with(stem, SPAN(".json"))) {
        return false;
    }
    stem.n -= SPAN(".sock").n;
    if (!clean_is_name(stem, name) || !clean_path(socket_path, folder, stem, ".sock")) {
        return false;
    }
    if (strcmp(path, socket_path) == 0) {
        return unix_socket_remove_left(path);
    }
    return !unix_socket_is_live(socket_path) && private_file_remove_left(path, signature);
}

size_t private_folder_clean(const char *folder, const char *name, Span signature)
{
    DIR *entries = opendir(folder);
    size_t n_removed = 0;

    if (entries == NULL) {
        return 0;
    }
    for (;;) {
        const struct dirent *entry = readdir(entries);

        if (entry == NULL) {
            break; /* the end; or an error, after which the rest stays */
        }
        if (clean_entry(folder, span_from_str(name), signature, entry->d_name)) {
            n_removed++;
        }
    }
    (void)closedir(entries);
    return n_removed;
}
