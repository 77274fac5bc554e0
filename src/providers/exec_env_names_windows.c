#include "providers/exec_env_names.h"

#include <string.h>

const char *const exec_env_names[] = {
    "PATH",              /* to find programs */
    "PATHEXT",           /* by these endings */
    "SystemRoot",        /* without it hardly any program starts */
    "SystemDrive",       /* the same, the drive alone */
    "windir",            /* its old name */
    "ComSpec",           /* what programs start as "the shell" */
    "USERPROFILE",       /* per-user settings of the programs */
    "HOMEDRIVE",         /* the same, in two parts */
    "HOMEPATH",          /* the second */
    "HOME",              /* where programs from elsewhere look */
    "USERNAME",          /* who runs it */
    "USERDOMAIN",        /* of which domain */
    "COMPUTERNAME",      /* on which machine */
    "APPDATA",           /* settings */
    "LOCALAPPDATA",      /* and data that stay on the machine */
    "ProgramData",       /* and those of all users */
    "ProgramFiles",      /* installed programs */
    "ProgramFiles(x86)", /* older ones */
    "CommonProgramFiles",
    "TEMP", /* where temporary files may lie */
    "TMP",  /* the same */
    "OS",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
    "LANG",     /* language and encoding, for programs from elsewhere; with LC_* */
    "LANGUAGE", /* the same for messages */
    "TZ",       /* local time */
    NULL,
};

bool exec_env_is_same(const char *a, const char *b, size_t n)
{
    return _strnicmp(a, b, n) == 0;
}
