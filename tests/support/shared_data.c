#include "support/shared_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

void shared_data_require(const char *root, const char *folder)
{
    char path[4096];
    struct stat st;

    (void)snprintf(path, sizeof(path), "%s/%s", root, folder);
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        printf("SKIPPED: no folder %s; give the CMake variable TOOLWIRE_SHARED_DATA\n", path);
        exit(SHARED_DATA_SKIPPED);
    }
}
