/* The runtime folder, and what dead processes left in one; declared in io/private_file.h. */
#include "io/private_file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/place.h"
#include "io/unix_socket.h"

#define FOLDER_OTHERS (S_IRWXG | S_IRWXO)

/* "toolwire-" and any number. */
#define FOLDER_NAME_SIZE 40

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
        return diag_set(reterr_diag, PRIVATE_FILE_E_PLACE,
                        "%s is open to others (mode %04o): chmod 700 %s", path,
                        (unsigned)(info.st_mode & (S_IRWXU | FOLDER_OTHERS)), path);
    }
    return 0;
}

int private_folder_runtime(char **ret, Diag *reterr_diag)
{
    CLEANUP(mem_freep) char *path = NULL;
    char name[FOLDER_NAME_SIZE] = "toolwire";
    const char *base = folder_from_environment("XDG_RUNTIME_DIR");
    int r;

    if (base == NULL || !folder_is_own(base)) {
        base = folder_from_environment("TMPDIR");
        base = base == NULL ? "/tmp" : base;
        (void)snprintf(name, sizeof(name), "toolwire-%ld", (long)geteuid());
    }
    path = folder_join(base, name);
    if (path == NULL) {
        return diag_set(reterr_diag, err_raise(-ENOMEM), "out of memory");
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

/* True if it went. */
static bool folder_clean_entry(const char *folder, Span prefix, const char *name)
{
    Span s = span_from_str(name);
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", folder, name);

    if (n < 0 || (size_t)n >= sizeof(path) || !span_starts_with(s, prefix)) {
        return false;
    }
    s = span_make(s.p + prefix.n, s.n - prefix.n);
    if (span_ends_with(s, SPAN(".sock"))) {
        return unix_socket_remove_left(path);
    }
    return span_ends_with(s, SPAN(".json")) && private_file_remove_left(path);
}

size_t private_folder_clean(const char *folder, const char *prefix)
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
        if (folder_clean_entry(folder, span_from_str(prefix), entry->d_name)) {
            n_removed++;
        }
    }
    (void)closedir(entries);
    return n_removed;
}
