/* tests/support/files.h: whole files and folder listings for tests. Every failure fails the test.
 */
#pragma once

#include <stddef.h>

/* The file's bytes, NUL-terminated; free() them. */
char *files_read(const char *path, size_t *ret_n);

/* Names in a folder that end in suffix ("" for all), sorted, without dot files; NULL-terminated.
 * files_list_free releases it. */
char **files_list(const char *folder, const char *suffix, size_t *ret_n);
void files_list_free(char **names);
