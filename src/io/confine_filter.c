/* A seccomp filter, written by hand: a short list of refusals, each a comparison and a return.
 *
 * Refused are: sockets (a path to every service that listens, on this machine too; landlock knows
 * none but TCP), those of this machine's services (Unix: a container's or the desktop's) even where
 * the network is allowed, pairs of datagram sockets (either end could be connected to another
 * service), io_uring (which makes sockets past this filter), changes of permissions, owners,
 * times and attributes of a path, which landlock lets pass (those of an open descriptor are fine:
 * it was opened beneath the root), truncate by path (landlock sees it only since its third
 * version), and leaving the process group. */
#include "io/confine_filter.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/compiler.h"

#ifdef __linux__
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#if defined(__x86_64__)
#define FILTER_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define FILTER_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define FILTER_ARCH AUDIT_ARCH_RISCV64
#endif

/* A socket's type without its flags. */
#define FILTER_SOCKET_TYPE 0xfu

/* x86-64's other numbers of the same calls, which the architecture does not tell apart. */
#define FILTER_X32_BIT 0x40000000u

/* Same numbers everywhere; headers of Debian 12 do not name the last ones. */
#define FILTER_IO_URING_SETUP 425
#define FILTER_FCHMODAT2      452
#define FILTER_SETXATTRAT     463
#define FILTER_REMOVEXATTRAT  466

/* Those that only old architectures have are left out where they are not. */
static const uint32_t filter_refused[] = {
#ifdef SYS_chmod
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
#endif
    SYS_fchmodat,
    FILTER_FCHMODAT2,
    SYS_fchownat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    FILTER_SETXATTRAT,
    FILTER_REMOVEXATTRAT,
    SYS_truncate,
    SYS_setsid,
    SYS_setpgid,
    FILTER_IO_URING_SETUP,
};

typedef struct Filter {
    struct sock_filter *out;
    unsigned short n;
} Filter;

#ifdef FILTER_ARCH
static void filter_add(Filter *filter, struct sock_filter instruction)
{
    if (filter->n < CONFINE_FILTER_SIZE) {
        filter->out[filter->n++] = instruction;
    }
}

static void filter_load(Filter *filter, size_t offset)
{
    filter_add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void filter_return_error(Filter *filter, int error)
{
    filter_add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
                                                    SECCOMP_RET_ERRNO | (uint32_t)(unsigned)error));
}

/* What was loaded is that number: the error. */
static void filter_refuse(Filter *filter, uint32_t number, int error)
{
    filter_add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    filter_return_error(filter, error);
}

/* utimensat with a path; without one it means its descriptor. */
static void filter_refuse_utimensat(Filter *filter)
{
    size_t path = offsetof(struct seccomp_data, args) + sizeof(uint64_t);

    filter_add(filter,
               (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_utimensat, 0, 6));
    filter_load(filter, path);
    filter_add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3));
    filter_load(filter, path + sizeof(uint32_t));
    filter_add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1));
    filter_add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    filter_return_error(filter, EPERM);
}

/* What was loaded is that call, and its argument (of 32 bits, under the mask) neither of the two:
 * the error. */
static void filter_refuse_others(Filter *filter, uint32_t number, unsigned argument, uint32_t mask,
                                 const uint32_t allowed[2])
{
    size_t offset = offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t);

    filter_add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 6));
    filter_load(filter, offset);
    filter_add(filter, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
    filter_add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[0], 2, 0));
    filter_add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[1], 1, 0));
    filter_return_error(filter, EACCES);
    filter_add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

unsigned short confine_filter_make(struct sock_filter *out, bool allow_network)
{
    static const uint32_t families[2] = {AF_INET, AF_INET6};
    static const uint32_t pairs[2] = {SOCK_STREAM, SOCK_SEQPACKET};
    Filter filter = {.out = out};

    filter_load(&filter, offsetof(struct seccomp_data, arch));
    filter_add(&filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FILTER_ARCH, 1, 0));
    filter_return_error(&filter, ENOSYS);
    filter_load(&filter, offsetof(struct seccomp_data, nr));
    filter_add(&filter,
               (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FILTER_X32_BIT, 0, 1));
    filter_return_error(&filter, ENOSYS);
    for (size_t i = 0; i < TW_ARRAY_SIZE(filter_refused); i++) {
        filter_refuse(&filter, filter_refused[i], EPERM);
    }
    if (allow_network) {
        filter_refuse_others(&filter, SYS_socket, 0, UINT32_MAX, families);
    } else {
        filter_refuse(&filter, SYS_socket, EACCES);
    }
    filter_refuse_others(&filter, SYS_socketpair, 1, FILTER_SOCKET_TYPE, pairs);
    filter_refuse_utimensat(&filter);
    filter_add(&filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    return filter.n < CONFINE_FILTER_SIZE ? filter.n : 0;
}
#else
unsigned short confine_filter_make(struct sock_filter *out, bool allow_network)
{
    (void)out;
    (void)allow_network;
    return 0;
}
#endif
#endif
