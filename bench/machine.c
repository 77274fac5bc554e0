/* The part of peer.h that asks the kernel: cores, CPU time, memory. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

#define WATCHDOG_S 120

uint64_t peer_cpu_ns(const Peer *peer)
{
    clockid_t clock;
    struct timespec t;

    if (clock_getcpuclockid(peer->pid, &clock) != 0 || clock_gettime(clock, &t) != 0) {
        peer_die(peer->program->name, "no CPU clock");
    }
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* "Rss:    1234 kB" */
static bool read_kilobytes(const char *line, const char *name, size_t *ret_bytes)
{
    size_t n = strlen(name);

    if (strncmp(line, name, n) != 0) {
        return false;
    }
    *ret_bytes = strtoul(line + n, NULL, 10) * 1024;
    return true;
}

void peer_memory(const Peer *peer, size_t *ret_resident, size_t *ret_anonymous)
{
    char path[64];
    char line[256];
    FILE *f;
    int n_found = 0;

    /* VmRSS of /proc/PID/status lags by up to 32 pages a core on newer kernels; this does not. */
    (void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)peer->pid);
    f = fopen(path, "r");
    if (f == NULL) {
        peer_die(path, strerror(errno));
    }
    while (fgets(line, sizeof(line), f) != NULL) {
        n_found += read_kilobytes(line, "Rss:", ret_resident);
        n_found += read_kilobytes(line, "Anonymous:", ret_anonymous);
    }
    (void)fclose(f);
    if (n_found != 2) {
        peer_die(path, "no Rss or no Anonymous");
    }
}

/* The cores this process had at its start. */
static const cpu_set_t *all_cores(void)
{
    static cpu_set_t set;
    static bool known;

    if (!known && sched_getaffinity(0, sizeof(set), &set) != 0) {
        peer_die("sched_getaffinity", strerror(errno));
    }
    known = true;
    return &set;
}

static void set_affinity(pid_t pid, const cpu_set_t *set)
{
    if (sched_setaffinity(pid, sizeof(*set), set) != 0) {
        peer_die("sched_setaffinity", strerror(errno));
    }
}

static void set_core(pid_t pid, int core)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    set_affinity(pid, &set);
}

void peer_place(PeerPlace place)
{
    peer_place_process(0, place);
}

void peer_place_process(pid_t pid, PeerPlace place)
{
    int first = CPU_SETSIZE;
    int last = 0;

    for (int core = 0; core < CPU_SETSIZE; core++) {
        if (CPU_ISSET((size_t)core, all_cores())) {
            first = core < first ? core : first;
            last = core;
        }
    }
    if (place == PEER_PLACE_ANYWHERE) {
        set_affinity(pid, all_cores());
    } else {
        set_core(pid, place == PEER_PLACE_FIRST_CORE ? first : last);
    }
}

static _Noreturn void spin(int core, pid_t parent)
{
    struct sched_param param = {0};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(0);
    }
    set_core(0, core);
    /* Where that is not permitted, it had better not spin: it would take half a core. */
    if (sched_setscheduler(0, SCHED_IDLE, &param) != 0) {
        _exit(1);
    }
    for (;;) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#else
        (void)sched_getcpu();
#endif
    }
}

void peer_keep_awake(void)
{
    pid_t parent = getpid();

    for (int core = 0; core < CPU_SETSIZE; core++) {
        pid_t pid = CPU_ISSET((size_t)core, all_cores()) ? fork() : 1;

        if (pid < 0) {
            peer_die("fork", strerror(errno));
        }
        if (pid == 0) {
            spin(core, parent);
        }
    }
}

static void on_alarm(int signal)
{
    static const char text[] = "bench: no answer for two minutes\n";

    (void)signal;
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(1);
}

void peer_watchdog(void)
{
    (void)signal(SIGALRM, on_alarm);
    (void)alarm(WATCHDOG_S);
}
