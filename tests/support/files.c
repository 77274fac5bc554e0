#include "support/files.h"

#include "support/cmocka.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *files_read(const char *path, size_t *ret_n)
{
    FILE *f = fopen(path, "rb");
    size_t cap = 4096;
    size_t n = 0;
    char *data = malloc(cap);

    if (f == NULL) {
        fail_msg("cannot open %s", path);
    }
    assert_non_null(data);
    for (;;) {
        size_t got = fread(data + n, 1, cap - n - 1, f);

        n += got;
        if (got == 0) {
            break;
        }
        if (cap - n < 2) {
            cap *= 2;
            data = realloc(data, cap);
            assert_non_null(data);
        }
    }
    assert_int_equal(ferror(f), 0);
    (void)fclose(f);
    data[n] = '\0';
    *ret_n = n;
    return data;
}

static int files_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **files_list(const char *folder, const char *suffix, size_t *ret_n)
{
    DIR *dir = opendir(folder);
    char **names = calloc(1, sizeof(*names));
    size_t n = 0;

    if (dir == NULL) {
        fail_msg("cannot list %s", folder);
    }
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        size_t length = strlen(entry->d_name);
        size_t tail = strlen(suffix);

        if (entry->d_name[0] == '.' || length < tail ||
            strcmp(entry->d_name + length - tail, suffix) != 0) {
            continue;
        }
        names = realloc(names, (n + 2) * sizeof(*names));
        assert_non_null(names);
        names[n++] = strdup(entry->d_name);
        names[n] = NULL;
    }
    (void)closedir(dir);
    qsort(names, n, sizeof(*names), files_compare);
    *ret_n = n;
    return names;
}

void files_list_free(char **names)
{
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        free(names[i]);
    }
    free(names);
}
