/* A process that computes: the system calls of the heap, of time, of its wire and of its own end.
 * Whatever else it asks for is refused, not punished: a library that asks and can do without goes
 * on. */
#include "io/worker_confine.h"

#include <errno.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/error.h"

#ifdef __linux__
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#if defined(__x86_64__)
#define WORKER_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define WORKER_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define WORKER_ARCH AUDIT_ARCH_RISCV64
#endif

/* x86-64's other numbers of the same calls. */
#define WORKER_X32_BIT 0x40000000u
#endif

/* The wire, and two that lead nowhere. */
#define WORKER_FDS 3

static int worker_limit(int resource, rlim_t most)
{
    struct rlimit limit = {.rlim_cur = most, .rlim_max = most};

    return setrlimit(resource, &limit) == 0 ? 0 : err_raise(-errno);
}

static int worker_set_limits(size_t max_memory)
{
    int r = worker_limit(RLIMIT_CORE, 0);

    r = r != 0 ? r : worker_limit(RLIMIT_NOFILE, WORKER_FDS);
    r = r != 0 ? r : worker_limit(RLIMIT_FSIZE, 0);
    r = r != 0 ? r : worker_limit(RLIMIT_NPROC, 0);
    /* A sanitizer takes terabytes of addresses for itself. */
    return r != 0 || TW_IS_SANITIZED ? r : worker_limit(RLIMIT_AS, (rlim_t)max_memory);
}

#ifdef WORKER_ARCH
static const uint32_t worker_calls[] = {
    SYS_read,      SYS_write,       SYS_recvfrom,     SYS_sendto,         SYS_brk,
    SYS_munmap,    SYS_mremap,      SYS_madvise,      SYS_futex,          SYS_clock_gettime,
    SYS_getrandom, SYS_sched_yield, SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_restart_syscall,
    SYS_exit,      SYS_exit_group,  SYS_getpid,       SYS_gettid,
};

/* Those that map memory: allowed unless the memory is to be executed. */
static const uint32_t worker_maps[] = {SYS_mmap, SYS_mprotect};

#define WORKER_FILTER_SIZE (8 + 2 * TW_ARRAY_SIZE(worker_calls) + 5 * TW_ARRAY_SIZE(worker_maps))

static int worker_filter(void)
{
    const uint32_t refused = SECCOMP_RET_ERRNO | EPERM;
    const uint32_t nr = offsetof(struct seccomp_data, nr);
    struct sock_filter filter[WORKER_FILTER_SIZE] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, WORKER_ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, refused),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, nr),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, WORKER_X32_BIT, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, refused),
    };
    unsigned short n = 6;
    struct sock_fprog program = {.filter = filter};

    for (size_t i = 0; i < TW_ARRAY_SIZE(worker_calls); i++) {
        filter[n++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, worker_calls[i], 0, 1);
        filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(worker_maps); i++) {
        /* The low half of the third argument, on machines that have it in front. */
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, worker_maps[i], 0, 4);
        filter[n++] = (struct sock_filter)BPF_STMT(
            BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 2 * sizeof(uint64_t));
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1);
        filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refused);
        filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, refused);
    program.len = n;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return err_raise(-errno);
    }
    /* A kernel that was built without it: the limits are what is left, and a process of its own. */
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0 && errno != EINVAL &&
        errno != ENOSYS) {
        return err_raise(-errno);
    }
    return 0;
}
#else
static int worker_filter(void)
{
    return 0;
}
#endif

static void worker_close_others(void)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)WORKER_FDS, ~0u, 0u) == 0) {
        return;
    }
#endif
    for (int fd = WORKER_FDS; fd < 1024; fd++) {
        (void)close(fd);
    }
}

int worker_confine(size_t max_memory)
{
    int r;

    worker_close_others();
#ifdef __linux__
    (void)prctl(PR_SET_NAME, "toolwire-worker");
    (void)prctl(PR_SET_DUMPABLE, 0);
#endif
    r = worker_set_limits(max_memory);
    return r != 0 ? err_pass(r) : worker_filter();
}
