/* The runtime folder, and what dead processes left in one; declared in io/private_file.h. */
#include "io/private_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "io/place.h"
#include "io/unix_socket.h"
#include "io/windows/account.h"

/* What has a temporary name (io/place.h) has it for less than a second, unless its process died; in
 * the system's unit of 100 ns. */
#define FOLDER_TEMP_MAX ((uint64_t)60 * 10000000)

/* The same without the letters that we choose. */
#define FOLDER_TEMP_PREFIX ".tw-"

/* Bytes of the longest path that we make here. */
#define FOLDER_PATH_BYTES ((size_t)32767 * 3)

/* What the command interpreter and PowerShell take as it is. */
#define FOLDER_PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./\\:-"

/* What either of them changes even in quotation marks. */
#define FOLDER_UNQUOTABLE "\"%!$`\r\n"

bool private_path_quote(char *out, size_t size, const char *path)
{
    size_t n = strlen(path);
    bool is_plain =
        n > 0 && path[strspn(path, FOLDER_PLAIN)] == '\0' && path[0] != '-' && path[0] != '/';
    size_t n_quotes = is_plain ? 0 : 1;

    if (strpbrk(path, FOLDER_UNQUOTABLE) != NULL || n + 2 * n_quotes >= size) {
        out[0] = '\0';
        return false;
    }
    memset(out, '"', n + 2 * n_quotes);
    memcpy(out + n_quotes, path, n);
    out[n + 2 * n_quotes] = '\0';
    return true;
}

/* folder, a backslash, stem and suffix, with its NUL. 0, -ENOMEM, -ENAMETOOLONG. */
static int folder_path(Bytes *out, const char *folder, Span stem, const char *suffix)
{
    int r;

    out->n = 0;
    r = bytes_append_format(out, "%s\\%.*s%s", folder, (int)stem.n, stem.p, suffix);
    if (r == 0) {
        r = bytes_append(out, "", 1);
    }
    return r == BYTES_E_FULL ? err_raise(-ENAMETOOLONG) : r;
}

/* An absolute path from the environment; NULL if it is not there or none. */
static const char *folder_from_environment(const char *variable)
{
    const char *path = getenv(variable);

    return path != NULL && io_place_is_absolute(path) ? path : NULL;
}

/* Appends the runtime folder's path, with its NUL. 0 or a negative errno. */
static int folder_choose(Bytes *out)
{
    const char *base = folder_from_environment("LOCALAPPDATA");
    const char *user = getenv("USERNAME");

    if (base != NULL) {
        return folder_path(out, base, SPAN("toolwire"), "");
    }
    base = folder_from_environment("TEMP");
    if (base == NULL) {
        return err_raise(-ENOENT);
    }
    return folder_path(out, base, SPAN("toolwire-"), user == NULL ? "" : user);
}

/* Looks at the name itself, not at what a link leads to. */
static int folder_check(const char *path, Diag *reterr_diag)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    BY_HANDLE_FILE_INFORMATION info;
    WinExposure exposure = WIN_EXPOSURE_NONE;
    HANDLE handle;
    int r = win_wide(&wide, path);

    if (r != 0) {
        return io_place_fail(reterr_diag, PRIVATE_FILE_E_PLACE, -r, "use", path);
    }
    handle =
        CreateFileW(wide, READ_CONTROL | FILE_READ_ATTRIBUTES,
                    FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
                    FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (handle == INVALID_HANDLE_VALUE) {
        return io_place_fail(reterr_diag, PRIVATE_FILE_E_PLACE, -win_error(), "use", path);
    }
    r = GetFileInformationByHandle(handle, &info) ? win_exposure_of(handle, &exposure)
                                                  : win_error();
    win_close(&handle);
    if (r != 0) {
        return io_place_fail(reterr_diag, PRIVATE_FILE_E_PLACE, -r, "use", path);
    }
    if ((info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0 ||
        (info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0) {
        return diag_set(reterr_diag, PRIVATE_FILE_E_PLACE, "%s is no folder: remove it", path);
    }
    if (exposure != WIN_EXPOSURE_NONE) {
        return diag_set(reterr_diag, PRIVATE_FILE_E_PLACE,
                        "%s %s: remove it, so that it can be made anew", path,
                        exposure == WIN_EXPOSURE_OWNER ? "belongs to another user"
                                                       : "is open to other users");
    }
    return 0;
}

bool private_folder_is_runtime(Span folder)
{
    CLEANUP(bytes_deinit) Bytes path;

    bytes_init(&path, FOLDER_PATH_BYTES);
    return folder_choose(&path) == 0 && span_equals(folder, span_make(path.data, path.n - 1)) &&
           folder_check(path.data, NULL) == 0;
}

static int folder_make(const char *path)
{
    CLEANUP(mem_freep) wchar_t *wide = NULL;
    WinPrivacy privacy;
    int r = win_wide(&wide, path);

    if (r == 0) {
        r = win_privacy_init(&privacy, true);
    }
    if (r == 0 && !CreateDirectoryW(wide, &privacy.attributes)) {
        r = win_error();
    }
    return r == -EEXIST ? 0 : r;
}

int private_folder_runtime_path(char **ret, Diag *reterr_diag)
{
    CLEANUP(bytes_deinit) Bytes path;
    char *copy;
    int r;

    bytes_init(&path, FOLDER_PATH_BYTES);
    r = folder_choose(&path);
    if (r == -ENOENT) {
        return diag_set(reterr_diag, PRIVATE_FILE_E_PLACE,
                        "neither LOCALAPPDATA nor TEMP names a folder: set one of them");
    }
    if (r != 0) {
        return diag_set(reterr_diag, err_pass(r), "out of memory");
    }
    copy = mem_alloc(path.n);
    if (copy == NULL) {
        return diag_set(reterr_diag, err_raise(-ENOMEM), "out of memory");
    }
    memcpy(copy, path.data, path.n);
    *ret = copy;
    return 0;
}

/* A user's programs agree on LOCALAPPDATA. */
void private_folder_runtime_variables(PrivateFolderVariables *ret)
{
    ret->n = 0;
}

int private_folder_runtime(char **ret, Diag *reterr_diag)
{
    CLEANUP(mem_freep) char *path = NULL;
    int r = private_folder_runtime_path(&path, reterr_diag);

    if (r != 0) {
        return r;
    }
    r = folder_make(path);
    if (r != 0) {
        return io_place_fail(reterr_diag, PRIVATE_FILE_E_PLACE, -r, "make the folder", path);
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

typedef struct FolderClean {
    const char *folder;
    Span name;
    Span signature;
    Bytes path; /* reused */
} FolderClean;

/* What never got its name, and is old enough. */
static bool clean_temp(const FolderClean *clean, FILETIME written)
{
    FILETIME now;
    uint64_t then = (uint64_t)written.dwHighDateTime << 32 | written.dwLowDateTime;

    GetSystemTimeAsFileTime(&now);
    return then + FOLDER_TEMP_MAX < ((uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime) &&
           private_file_remove_left(clean->path.data, SPAN(""));
}

/* name, or name-ANYTHING. */
static bool clean_is_name(Span stem, Span name)
{
    return span_starts_with(stem, name) && (stem.n == name.n || stem.p[name.n] == '-');
}

/* True if it went. */
static bool clean_entry(FolderClean *clean, const char *entry, FILETIME written)
{
    Span stem = span_from_str(entry);

    if (stem.n == IO_PLACE_TEMP_SIZE - 1 && span_starts_with(stem, SPAN(FOLDER_TEMP_PREFIX))) {
        return folder_path(&clean->path, clean->folder, stem, "") == 0 &&
               clean_temp(clean, written);
    }
    if (!span_ends_with(stem, SPAN(".json"))) {
        return false; /* of a pipe nothing is left */
    }
    stem.n -= SPAN(".json").n;
    return clean_is_name(stem, clean->name) &&
           folder_path(&clean->path, clean->folder, stem, ".sock") == 0 &&
           !unix_socket_is_live(clean->path.data) &&
           folder_path(&clean->path, clean->folder, stem, ".json") == 0 &&
           private_file_remove_left(clean->path.data, clean->signature);
}

static size_t clean_entries(FolderClean *clean, const wchar_t *pattern)
{
    WIN32_FIND_DATAW found;
    HANDLE search = FindFirstFileW(pattern, &found);
    size_t n_removed = 0;

    if (search == INVALID_HANDLE_VALUE) {
        return 0;
    }
    do {
        CLEANUP(mem_freep) char *entry = NULL;

        if (win_utf8(&entry, found.cFileName) == 0 &&
            clean_entry(clean, entry, found.ftLastWriteTime)) {
            n_removed++;
        }
    } while (FindNextFileW(search, &found));
    (void)FindClose(search);
    return n_removed;
}

size_t private_folder_clean(const char *folder, const char *name, Span signature)
{
    FolderClean clean = {.folder = folder, .name = span_from_str(name), .signature = signature};
    CLEANUP(mem_freep) wchar_t *pattern = NULL;
    size_t n_removed = 0;

    bytes_init(&clean.path, FOLDER_PATH_BYTES);
    if (folder_path(&clean.path, folder, SPAN("*"), "") == 0 &&
        win_wide(&pattern, clean.path.data) == 0) {
        n_removed = clean_entries(&clean, pattern);
    }
    bytes_deinit(&clean.path);
    return n_removed;
}
