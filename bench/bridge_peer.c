/* The bare C programs beside which bench_bridge measures: what no bridge between the same two pipes
 * and a Unix socket can beat, and a parent that costs next to nothing.
 *
 *     bench_bridge_peer relay SOCKET     a line of stdin becomes a frame (4 bytes of length, the
 *                                        highest first), the frame that answers it becomes a line
 *                                        of stdout, and only then comes the next line
 *     bench_bridge_peer echo SOCKET      the server behind the relay: frames go back as they came
 *     bench_bridge_peer parent SOCKET    the server behind a bridge: finds the message among the
 *                                        arguments by searching, and answers with it
 *
 * Reads and writes block, nothing is parsed, nothing is validated. A server has one process for
 * each connection, and ends by a signal.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define HEADER_BYTES ((size_t)4)
#define BUFFER_BYTES ((size_t)16 * 1024 * 1024) /* what is larger ends the program */
#define BACKLOG      16

/* Aligned, because the system copies slower to other places. */
static alignas(64) char lines[BUFFER_BYTES];
static alignas(64) char frame[BUFFER_BYTES];

/* All of it, in one system call if the other side takes it. */
static bool write_pieces(int fd, struct iovec *pieces, int n)
{
    while (n > 0) {
        ssize_t done = writev(fd, pieces, n);

        if (done <= 0) {
            return false;
        }
        for (; n > 0 && (size_t)done >= pieces->iov_len; n--, pieces++) {
            done -= (ssize_t)pieces->iov_len;
        }
        if (n > 0) {
            pieces->iov_base = (char *)pieces->iov_base + done;
            pieces->iov_len -= (size_t)done;
        }
    }
    return true;
}

/* One frame into `frame`, header included; returns the bytes after the header, or -1 at the end of
 * the connection. Nothing follows a frame before it is answered, so what is read is its own. */
static ssize_t read_frame(int fd)
{
    size_t held = 0;
    size_t wanted = HEADER_BYTES;

    while (held < wanted) {
        ssize_t got = read(fd, frame + held, BUFFER_BYTES - held);

        if (got <= 0) {
            return -1;
        }
        held += (size_t)got;
        if (wanted == HEADER_BYTES && held >= HEADER_BYTES) {
            uint32_t n;

            memcpy(&n, frame, sizeof(n));
            wanted += ntohl(n);
            if (wanted >= BUFFER_BYTES) {
                return -1;
            }
        }
    }
    return (ssize_t)(held - HEADER_BYTES);
}

/* The line without its newline goes to the socket, and the answer, with one, to stdout. */
static bool relay_line(int fd, char *line, size_t n)
{
    uint32_t header = htonl((uint32_t)n);
    struct iovec request[] = {{&header, sizeof(header)}, {line, n}};
    struct iovec answer;
    ssize_t got;

    if (!write_pieces(fd, request, 2)) {
        return false;
    }
    got = read_frame(fd);
    if (got < 0) {
        return false;
    }
    frame[HEADER_BYTES + (size_t)got] = '\n';
    answer = (struct iovec){frame + HEADER_BYTES, (size_t)got + 1};
    return write_pieces(STDOUT_FILENO, &answer, 1);
}

static int relay(int fd)
{
    size_t held = 0;

    for (;;) {
        ssize_t got = read(STDIN_FILENO, lines + held, BUFFER_BYTES - held);
        char *line = lines;
        char *end;

        if (got <= 0) {
            return got < 0 || held == BUFFER_BYTES;
        }
        /* What came before holds no newline. */
        end = memchr(lines + held, '\n', (size_t)got);
        held += (size_t)got;
        for (; end != NULL; end = memchr(line, '\n', held)) {
            if (!relay_line(fd, line, (size_t)(end - line))) {
                return 1;
            }
            held -= (size_t)(end + 1 - line);
            line = end + 1;
        }
        memmove(lines, line, held);
    }
}

static bool echo_frame(int fd, size_t n)
{
    struct iovec all = {frame, HEADER_BYTES + n};

    return write_pieces(fd, &all, 1);
}

/* The driver's text is the last string of the arguments, so the last quote ends it. */
static bool answer_call(int fd, size_t n)
{
    static const char name[] = "\"message\":\"";
    static char head[] = "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"";
    static char tail[] = "\"}],\"isError\":false}}";
    char *text = memmem(frame + HEADER_BYTES, n, name, sizeof(name) - 1);
    const char *end = frame + HEADER_BYTES + n;
    uint32_t header;

    if (text != NULL) {
        text += sizeof(name) - 1;
        end = memrchr(text, '"', (size_t)(end - text));
    }
    if (text == NULL || end == NULL) {
        return false;
    }
    header = htonl((uint32_t)(sizeof(head) - 1 + (size_t)(end - text) + sizeof(tail) - 1));
    return write_pieces(fd,
                        (struct iovec[]){{&header, sizeof(header)},
                                         {head, sizeof(head) - 1},
                                         {text, (size_t)(end - text)},
                                         {tail, sizeof(tail) - 1}},
                        4);
}

static int serve(int fd, bool (*answer)(int fd, size_t n))
{
    for (;;) {
        ssize_t n = read_frame(fd);

        if (n < 0 || !answer(fd, (size_t)n)) {
            return 0;
        }
    }
}

static int accept_all(int listener, bool (*answer)(int fd, size_t n))
{
    (void)signal(SIGCHLD, SIG_IGN);
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        pid_t pid = fd < 0 ? -1 : fork();

        if (pid < 0) {
            perror("bench_bridge_peer");
            return 1;
        }
        if (pid == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
            return serve(fd, answer);
        }
        (void)close(fd);
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_relay = argc > 1 && strcmp(argv[1], "relay") == 0;
    bool is_echo = argc > 1 && strcmp(argv[1], "echo") == 0;

    if (argc != 3 || (!is_relay && !is_echo && strcmp(argv[1], "parent") != 0) ||
        strlen(argv[2]) >= sizeof(address.sun_path)) {
        (void)fprintf(stderr, "usage: bench_bridge_peer relay|echo|parent SOCKET\n");
        return 2;
    }
    memcpy(address.sun_path, argv[2], strlen(argv[2]));
    if (is_relay) {
        if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0) {
            return relay(fd);
        }
    } else if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
               listen(fd, BACKLOG) == 0) {
        return accept_all(fd, is_echo ? echo_frame : answer_call);
    }
    perror(argv[2]);
    return 1;
}
