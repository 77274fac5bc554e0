#include "bridge_parents.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

#define MAX_PARENTS   4
#define MAX_PATHS     8
#define MAX_ARGUMENTS 12
#define CONNECT_TRIES 10000 /* a millisecond each */

#define ECHO_TOOL                                                                                  \
    "{\"name\":\"echo\",\"description\":\"Gives the message back.\",\"input_schema\":"             \
    "{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\"}},"                     \
    "\"required\":[\"message\"],\"additionalProperties\":false}}"
#define OTHER_TOOL                                                                                 \
    ",\n{\"name\":\"tool_%02d\",\"description\":\"Draws the points of a file as a line, closed "   \
    "or open, and gives back its length in millimetres.\",\"input_schema\":{\"type\":\"object\","  \
    "\"properties\":{\"path\":{\"type\":\"string\",\"minLength\":1,\"description\":\"The file, "   \
    "relative to the project.\"},\"mode\":{\"type\":\"string\",\"enum\":[\"open\",\"closed\","     \
    "\"auto\"],\"default\":\"auto\"},\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":"   \
    "1000},\"points\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"x\":"   \
    "{\"type\":\"number\"},\"y\":{\"type\":\"number\"}},\"required\":[\"x\",\"y\"]}}},"            \
    "\"required\":[\"path\"],\"additionalProperties\":false}}"

static struct {
    char folder[32];
    char paths[MAX_PATHS][64];
    size_t n_paths;
    pid_t pids[MAX_PARENTS];
    size_t n_pids;
} parents;

static void clean_up(void)
{
    for (size_t i = 0; i < parents.n_pids; i++) {
        (void)kill(parents.pids[i], SIGTERM);
        (void)waitpid(parents.pids[i], NULL, 0);
    }
    for (size_t i = 0; i < parents.n_paths; i++) {
        (void)unlink(parents.paths[i]);
    }
    (void)rmdir(parents.folder);
}

const char *parents_path(const char *name)
{
    char *path = parents.paths[parents.n_paths];

    if (parents.folder[0] == '\0') {
        (void)snprintf(parents.folder, sizeof(parents.folder), "/tmp/bench_bridge.XXXXXX");
        if (mkdtemp(parents.folder) == NULL || atexit(clean_up) != 0) {
            peer_die(parents.folder, strerror(errno));
        }
    }
    if (parents.n_paths++ == MAX_PATHS) {
        peer_die(name, "too many paths");
    }
    (void)snprintf(path, sizeof(parents.paths[0]), "%s/%s", parents.folder, name);
    return path;
}

void parents_write_schema(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

    if (f == NULL) {
        peer_die(path, strerror(errno));
    }
    (void)fputs("[" ECHO_TOOL, f);
    for (int i = 1; i < PARENTS_N_TOOLS; i++) {
        (void)fprintf(f, OTHER_TOOL, i);
    }
    (void)fputs("]\n", f);
    if (ferror(f) != 0 || fclose(f) != 0) {
        peer_die(path, "cannot be written");
    }
}

static bool can_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool connected;

    if (fd < 0 || strlen(path) >= sizeof(address.sun_path)) {
        peer_die(path, "no socket");
    }
    memcpy(address.sun_path, path, strlen(path));
    connected = connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
    (void)close(fd);
    return connected;
}

static _Noreturn void become(const char *const *argv, pid_t parent)
{
    char *copy[MAX_ARGUMENTS] = {NULL};

    /* Survives the exec: a driver that is killed leaves no process behind. */
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    for (size_t i = 0; i + 1 < MAX_ARGUMENTS && argv[i] != NULL; i++) {
        memcpy(&copy[i], &argv[i], sizeof(copy[i]));
    }
    if (getppid() == parent) {
        (void)execv(copy[0], copy);
        perror(copy[0]);
    }
    _exit(127);
}

void parents_place(PeerPlace place)
{
    for (size_t i = 0; i < parents.n_pids; i++) {
        peer_place_process(parents.pids[i], place);
    }
}

void parents_start(const char *const *argv, const char *socket_path)
{
    pid_t self = getpid();
    pid_t pid;

    peer_place(PEER_PLACE_LAST_CORE);
    pid = fork();
    if (pid < 0 || parents.n_pids == MAX_PARENTS) {
        peer_die(argv[0], "cannot start it");
    }
    if (pid == 0) {
        become(argv, self);
    }
    peer_place(PEER_PLACE_ANYWHERE);
    parents.pids[parents.n_pids++] = pid;
    for (int i = 0; !can_connect(socket_path); i++) {
        if (i == CONNECT_TRIES || waitpid(pid, NULL, WNOHANG) != 0) {
            peer_die(socket_path, "nobody listens there");
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}
