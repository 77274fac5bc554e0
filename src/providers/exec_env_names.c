#include "providers/exec_env_names.h"

#include <string.h>

const char *const exec_env_names[] = {
    "PATH",            /* to find programs */
    "HOME",            /* per-user settings of the programs */
    "USER",            /* who runs it */
    "LOGNAME",         /* the same, by its POSIX name */
    "SHELL",           /* what programs start as "your shell" */
    "LANG",            /* language and encoding; with LC_* */
    "LANGUAGE",        /* the same for messages */
    "TZ",              /* local time */
    "TMPDIR",          /* where temporary files may lie */
    "XDG_RUNTIME_DIR", /* sockets of the user's session */
    "XDG_CONFIG_HOME", /* settings, where HOME is not the place */
    "XDG_CACHE_HOME",  /* and caches */
    "XDG_DATA_HOME",   /* and data */
    "XDG_STATE_HOME",  /* and state */
    NULL,
};

bool exec_env_is_same(const char *a, const char *b, size_t n)
{
    return strncmp(a, b, n) == 0;
}
