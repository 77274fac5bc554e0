#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "peer.h"
#include "pipe_sides.h"

#define HEADER_BYTES   ((size_t)4)
#define ENVELOPE_BYTES ((size_t)180) /* of a call; a result has about as many */

struct FloorSide {
    pid_t pid;
    int fd;
    size_t n; /* of the frame, header included */
    char *out;
    char *in;
};

extern char **environ;

size_t pipe_side_bytes(size_t size)
{
    return 2 * (HEADER_BYTES + ENVELOPE_BYTES + size);
}

pid_t pipe_side_start(const char *program, const char *what, const char *socket_path)
{
    char *argv[] = {strdup(program), strdup(what), strdup(socket_path), NULL};
    pid_t pid;
    int r = posix_spawn(&pid, program, NULL, NULL, argv, environ);

    if (r != 0) {
        peer_die(program, strerror(r));
    }
    free(argv[0]);
    free(argv[1]);
    free(argv[2]);
    return pid;
}

/* Listens, starts the other end, accepts it. */
static void floor_connect(FloorSide *side, const char *folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/floor-%zu.sock", folder,
                   side->n);
    if (bind(listener, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(listener, 1) != 0) {
        peer_die(address.sun_path, strerror(errno));
    }
    side->pid = pipe_side_start(BENCH_PIPE_PEER, "echo", address.sun_path);
    side->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (side->fd < 0) {
        peer_die("accept", strerror(errno));
    }
    (void)close(listener);
    (void)unlink(address.sun_path);
}

FloorSide *floor_side_new(const char *folder, size_t size)
{
    FloorSide *side = calloc(1, sizeof(*side));
    size_t n_message = ENVELOPE_BYTES + size;

    if (side == NULL) {
        peer_die("memory", "not enough");
    }
    side->n = HEADER_BYTES + n_message;
    side->out = malloc(side->n);
    side->in = malloc(side->n);
    if (side->out == NULL || side->in == NULL) {
        peer_die("memory", "not enough");
    }
    memset(side->out, 'a', side->n);
    memset(side->in, 0, side->n);
    for (size_t i = 0; i < HEADER_BYTES; i++) {
        side->out[i] = (char)(n_message >> (8 * i));
    }
    floor_connect(side, folder);
    return side;
}

void floor_side_free(FloorSide *side)
{
    (void)close(side->fd);
    (void)waitpid(side->pid, NULL, 0);
    free(side->in);
    free(side->out);
    free(side);
}

pid_t floor_side_peer(const FloorSide *side)
{
    return side->pid;
}

static void floor_exchange(const FloorSide *side)
{
    for (size_t done = 0; done < side->n;) {
        ssize_t n = write(side->fd, side->out + done, side->n - done);

        if (n <= 0) {
            peer_die("floor", strerror(errno));
        }
        done += (size_t)n;
    }
    for (size_t got = 0; got < side->n;) {
        ssize_t n = read(side->fd, side->in + got, side->n - got);

        if (n <= 0) {
            peer_die("floor", n == 0 ? "ended" : strerror(errno));
        }
        got += (size_t)n;
    }
}

size_t floor_side_run(FloorSide *side, uint64_t for_ns, double *samples, size_t max)
{
    uint64_t begin = clock_monotonic_ns();
    uint64_t end = begin + for_ns;
    size_t n = 0;

    do {
        uint64_t now;

        floor_exchange(side);
        now = clock_monotonic_ns();
        samples[n++] = (double)(now - begin);
        begin = now;
    } while (n < max && begin < end);
    return n;
}
