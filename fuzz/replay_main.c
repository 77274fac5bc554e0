/* Runs a fuzz target over its corpus without libFuzzer, as an ordinary test with any compiler.
 *
 *     fuzz_NAME FOLDER-OR-FILE…
 *
 * Each input is given twice: in a heap block of exactly its size, where a sanitizer sees an access
 * beyond either end, and in front of an unreadable page, where a read beyond the end crashes
 * without one. An empty or missing folder is a failure: a test that replays nothing must not look
 * as if it had passed.
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Far above any seed that is worth keeping in a repository. */
#define REPLAY_MAX_BYTES ((size_t)64 * 1024 * 1024)

static bool replay_failed(const char *path, const char *what)
{
    (void)fprintf(stderr, "%s: %s\n", path, what);
    return false;
}

static void replay_before_unreadable_page(const uint8_t *data, size_t n, const char *path)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t readable = (n / page + 1) * page;
    uint8_t *map =
        mmap(NULL, readable + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (map == MAP_FAILED || mprotect(map + readable, page, PROT_NONE) != 0) {
        (void)replay_failed(path, "cannot map memory");
        exit(1);
    }
    if (n > 0) {
        memcpy(map + readable - n, data, n);
    }
    (void)LLVMFuzzerTestOneInput(map + readable - n, n);
    (void)munmap(map, readable + page);
}

/* The file's n bytes in a block of exactly that size; NULL if they cannot be read. */
static uint8_t *replay_read(const char *path, size_t n)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = malloc(n == 0 ? 1 : n);
    size_t got = f == NULL || data == NULL ? 0 : fread(data, 1, n, f);

    if (f == NULL || got != n) {
        free(data);
        data = NULL;
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    return data;
}

static bool replay_file(const char *path, size_t n)
{
    uint8_t *data = n > REPLAY_MAX_BYTES ? NULL : replay_read(path, n);

    if (data == NULL) {
        return replay_failed(path, "cannot read");
    }
    (void)LLVMFuzzerTestOneInput(data, n);
    replay_before_unreadable_page(data, n, path);
    free(data);
    return true;
}

/* Dot files are no inputs; sub-folders are not entered. */
static bool replay_folder(const char *folder, size_t *n_inputs)
{
    struct dirent **entries = NULL;
    int n_entries = scandir(folder, &entries, NULL, alphasort);
    size_t n_before = *n_inputs;
    bool ok = true;

    if (n_entries < 0) {
        return replay_failed(folder, "cannot list");
    }
    for (int i = 0; i < n_entries; i++) {
        char path[4096];
        struct stat st;

        (void)snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
        if (ok && entries[i]->d_name[0] != '.' && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
            ok = replay_file(path, (size_t)st.st_size);
            *n_inputs += ok ? 1 : 0;
        }
        free(entries[i]);
    }
    free(entries);
    if (ok && *n_inputs == n_before) {
        return replay_failed(folder, "holds no inputs");
    }
    return ok;
}

static bool replay_path(const char *path, size_t *n_inputs)
{
    struct stat st;

    if (stat(path, &st) != 0) {
        return replay_failed(path, "missing");
    }
    if (S_ISDIR(st.st_mode)) {
        return replay_folder(path, n_inputs);
    }
    if (!replay_file(path, (size_t)st.st_size)) {
        return false;
    }
    ++*n_inputs;
    return true;
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash == NULL ? argv[0] : slash + 1;
    size_t n_inputs = 0;

    if (argc < 2) {
        (void)fprintf(stderr, "usage: %s FOLDER-OR-FILE...\n", name);
        return 2;
    }
    if (LLVMFuzzerInitialize != NULL) {
        (void)LLVMFuzzerInitialize(&argc, &argv);
    }
    for (int i = 1; i < argc; i++) {
        if (!replay_path(argv[i], &n_inputs)) {
            return 1;
        }
    }
    printf("%s: %zu inputs replayed\n", name, n_inputs);
    return 0;
}
