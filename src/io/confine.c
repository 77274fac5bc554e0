/* Landlock and seccomp; what of them is seen from outside is in io/confine.h. The headers of a
 * distribution are older than its kernels, so what they lack is named here, and the kernel is asked
 * what it knows. */
#include "io/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/error.h"
#include "io/confine_filter.h"
#include "io/error_text.h"

/* Same numbers on every architecture. */
#define LANDLOCK_SYS_CREATE   444
#define LANDLOCK_SYS_ADD_RULE 445
#define LANDLOCK_SYS_RESTRICT 446

#define LANDLOCK_ASK_VERSION 1u

enum {
    FS_EXECUTE = 1u << 0,
    FS_WRITE_FILE = 1u << 1,
    FS_READ_FILE = 1u << 2,
    FS_READ_DIR = 1u << 3,
    FS_REMOVE_DIR = 1u << 4,
    FS_REMOVE_FILE = 1u << 5,
    FS_MAKE_CHAR = 1u << 6,
    FS_MAKE_DIR = 1u << 7,
    FS_MAKE_REG = 1u << 8,
    FS_MAKE_SOCK = 1u << 9,
    FS_MAKE_FIFO = 1u << 10,
    FS_MAKE_BLOCK = 1u << 11,
    FS_MAKE_SYM = 1u << 12,
    FS_REFER = 1u << 13,     /* second version: else nothing is renamed from folder to folder */
    FS_TRUNCATE = 1u << 14,  /* third */
    FS_IOCTL_DEV = 1u << 15, /* fifth */
};

#define FS_FIRST   ((1u << 13) - 1)
#define FS_READ    (FS_EXECUTE | FS_READ_FILE | FS_READ_DIR)
#define FS_OF_FILE (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE)
#define FS_DEVICE  (FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE)
/* All but devices: who is root could make one that is the disk. */
#define FS_FREE       (~(uint64_t)(FS_MAKE_CHAR | FS_MAKE_BLOCK | FS_IOCTL_DEV))
#define SCOPE_ALL     3u /* sixth: abstract sockets, and signals to those who are not confined */
#define SCOPE_VERSION 6

/* The kernel's; a shorter one is all that an older kernel knows, and the rest is 0 then. */
typedef struct ConfineRuleset {
    uint64_t fs;
    uint64_t net;
    uint64_t scope;
} ConfineRuleset;

struct IoConfine {
    int ruleset;
    struct sock_filter filter[CONFINE_FILTER_SIZE];
    unsigned short n_filter;
};

/* What is missing is left out. */
static const struct {
    const char *path;
    uint64_t access;
} confine_system[] = {
    {"/usr", FS_READ},
    {"/bin", FS_READ},
    {"/sbin", FS_READ},
    {"/lib", FS_READ},
    {"/lib32", FS_READ},
    {"/lib64", FS_READ},
    {"/libx32", FS_READ},
    {"/etc/ld.so.cache", FS_READ_FILE},
    {"/etc/localtime", FS_READ_FILE},
    {"/dev/null", FS_DEVICE},
    {"/dev/zero", FS_DEVICE},
    {"/dev/full", FS_DEVICE},
    {"/dev/random", FS_READ_FILE},
    {"/dev/urandom", FS_READ_FILE},
};

/* Of a confined child that is root's: what has to do with files, which landlock guards. */
static const int confine_kept_capabilities[] = {
    0, /* CAP_CHOWN */
    1, /* CAP_DAC_OVERRIDE */
    2, /* CAP_DAC_READ_SEARCH */
    3, /* CAP_FOWNER */
    4, /* CAP_FSETID */
};

#define CONFINE_CAPABILITIES 64

/* What rules are about, by the kernel's version. */
static uint64_t confine_handled(long version)
{
    uint64_t handled = FS_FIRST;

    handled |= version >= 2 ? FS_REFER : 0;
    handled |= version >= 3 ? FS_TRUNCATE : 0;
    handled |= version >= 5 ? FS_IOCTL_DEV : 0;
    return handled;
}

static int confine_add_fd(const IoConfine *confine, int fd, uint64_t access)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};
    struct stat info;

    if (fstat(fd, &info) != 0) {
        return err_raise(-errno);
    }
    if (!S_ISDIR(info.st_mode)) {
        rule.allowed_access &= FS_OF_FILE;
    }
    return syscall(LANDLOCK_SYS_ADD_RULE, confine->ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule,
                   0u) == 0
               ? 0
               : err_raise(-errno);
}

static int confine_add(const IoConfine *confine, const char *path, uint64_t access)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    int r;

    if (fd < 0) {
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : err_raise(-errno);
    }
    r = confine_add_fd(confine, fd, access);
    (void)close(fd);
    return r;
}

static int confine_add_all(const IoConfine *confine, const IoConfineSpec *spec, uint64_t handled)
{
    int r = confine_add_fd(confine, spec->write_fd, FS_FREE & handled);

    for (size_t i = 0; r == 0 && i < TW_ARRAY_SIZE(confine_system); i++) {
        r = confine_add(confine, confine_system[i].path, confine_system[i].access & handled);
    }
    for (const char *const *at = spec->read_folders; r == 0 && at != NULL && *at != NULL; at++) {
        r = confine_add(confine, *at, FS_READ);
    }
    return r;
}

/* Gives confine->ruleset, out of the way of the standard descriptors. */
static int confine_make_ruleset(IoConfine *confine, long version)
{
    ConfineRuleset ruleset = {
        .fs = confine_handled(version),
        .scope = version >= SCOPE_VERSION ? SCOPE_ALL : 0,
    };
    long fd = syscall(LANDLOCK_SYS_CREATE, &ruleset, sizeof(ruleset), 0u);

    if (fd < 0) {
        return err_raise(-errno);
    }
    confine->ruleset = (int)fd;
    if (fd <= STDERR_FILENO) {
        confine->ruleset = fcntl((int)fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        (void)close((int)fd);
    }
    return confine->ruleset < 0 ? err_raise(-errno) : 0;
}

int io_confine_new(IoConfine **ret, const IoConfineSpec *spec, Diag *reterr_diag)
{
    long version = syscall(LANDLOCK_SYS_CREATE, NULL, (size_t)0, LANDLOCK_ASK_VERSION);
    IoConfine *confine;
    int r;

    if (version < 1) {
        return diag_set(reterr_diag, IO_CONFINE_E_UNAVAILABLE,
                        "this system has no landlock (%s): commands cannot be confined to the "
                        "root",
                        io_error_text(errno));
    }
    confine = mem_alloc_array(1, sizeof(*confine));
    if (confine == NULL) {
        return err_raise(-ENOMEM);
    }
    confine->ruleset = -1;
    confine->n_filter = confine_filter_make(confine->filter, spec->allow_network);
    r = confine->n_filter == 0
            ? diag_set(reterr_diag, IO_CONFINE_E_UNAVAILABLE,
                       "the system calls of this machine are not known here: commands cannot be "
                       "confined to the root")
            : confine_make_ruleset(confine, version);
    r = r != 0 ? r : confine_add_all(confine, spec, confine_handled(version));
    if (r != 0) {
        (void)io_confine_free(confine);
        return r;
    }
    *ret = confine;
    return 0;
}

IoConfine *io_confine_free(IoConfine *confine)
{
    if (confine != NULL && confine->ruleset >= 0) {
        (void)close(confine->ruleset);
    }
    return mem_free(confine);
}

/* ---- In the child, until exec: only what may be called in a signal handler. ---- */

static bool confine_keeps(int capability)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(confine_kept_capabilities); i++) {
        if (confine_kept_capabilities[i] == capability) {
            return true;
        }
    }
    return false;
}

/* From exec on. Who is not root has none, and may not even drop them. */
static void confine_drop_capabilities(void)
{
    for (int i = 0; i < CONFINE_CAPABILITIES; i++) {
        if (!confine_keeps(i)) {
            (void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
        }
    }
}

int io_confine_enter(const IoConfine *confine)
{
    union {
        const struct sock_filter *in;
        struct sock_filter *out;
    } same = {.in = confine->filter}; /* the kernel reads it, and is not declared so */
    struct sock_fprog program = {.len = confine->n_filter, .filter = same.out};

    confine_drop_capabilities();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(LANDLOCK_SYS_RESTRICT, confine->ruleset, 0u) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        return -errno;
    }
    return 0;
}
