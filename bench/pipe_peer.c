/* The bare C programs at the other end of bench_pipe's sockets: what no add-in can beat.
 *
 *     bench_pipe_peer echo SOCKET     frames (4 bytes of length, the lowest first) go back as they
 *                                     came
 *     bench_pipe_peer addin SOCKET    an add-in with one tool, echo: takes id and message from
 *                                     their places, and answers with the message
 *
 * Reads and writes block, nothing is parsed, nothing is validated.
 */
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define HEADER_BYTES ((size_t)4)
#define BUFFER_BYTES ((size_t)16 * 1024 * 1024 + 4096)
#define UUID_BYTES   ((size_t)36)

/* Aligned, because the system copies slower to other places. */
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

static uint32_t header_of(size_t n)
{
    uint8_t bytes[HEADER_BYTES] = {(uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16),
                                   (uint8_t)(n >> 24)};
    uint32_t header;

    memcpy(&header, bytes, sizeof(header));
    return header;
}

static size_t length_of(const char *header)
{
    const uint8_t *p = (const uint8_t *)header;

    return (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
}

/* One frame into `frame`, header included; returns the bytes after the header, or -1 at the end.
 * Nothing follows a frame before it is answered, so what is read is its own. */
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
            wanted += length_of(frame);
            if (wanted > BUFFER_BYTES) {
                return -1;
            }
        }
    }
    return (ssize_t)(held - HEADER_BYTES);
}

static bool echo_frame(int fd, size_t n)
{
    struct iovec all = {frame, HEADER_BYTES + n};

    return write_pieces(fd, &all, 1);
}

#define HEAD(type)                                                                                 \
    "{\"id\":\"550e8400-e29b-41d4-a716-446655440001\",\"type\":\"" type                            \
    "\",\"timestamp\":\"2025-01-15T10:30:00.045Z\",\"payload\":{"
#define RESULT_HEAD HEAD("tool_result") "\"call_id\":\""

/* data: what comes between head and tail of the answer. Two pieces beside it, whatever its size. */
static bool answer(int fd, const char *call_id, char *data, size_t n_data)
{
    static const char middle[] = "\",\"success\":true,\"data\":";
    static char tail[] = ",\"error\":null,\"duration_ms\":0}}";
    static char front[HEADER_BYTES + sizeof(RESULT_HEAD) - 1 + UUID_BYTES + sizeof(middle) - 1] =
        "    " RESULT_HEAD;
    size_t at = HEADER_BYTES + sizeof(RESULT_HEAD) - 1;
    uint32_t header = header_of(sizeof(front) - HEADER_BYTES + n_data + sizeof(tail) - 1);

    memcpy(front, &header, sizeof(header));
    memcpy(front + at, call_id, UUID_BYTES);
    memcpy(front + at + UUID_BYTES, middle, sizeof(middle) - 1);
    return write_pieces(
        fd, (struct iovec[]){{front, sizeof(front)}, {data, n_data}, {tail, sizeof(tail) - 1}}, 3);
}

static bool answer_ping(int fd)
{
    static char pong[] = HEAD("pong") "}}";
    uint32_t header = header_of(sizeof(pong) - 1);

    return write_pieces(fd, (struct iovec[]){{&header, sizeof(header)}, {pong, sizeof(pong) - 1}},
                        2);
}

/* Everything of the hub's messages has its place: id, type, time, name, and at the end the
 * arguments, {"message":"…"}. */
#define ID_AT   (sizeof("{\"id\":\"") - 1)
#define TYPE_AT (ID_AT + UUID_BYTES + sizeof("\",\"type\":\"") - 1)
#define NAME_AT                                                                                    \
    (TYPE_AT +                                                                                     \
     sizeof("tool_call\",\"timestamp\":\"2025-01-15T10:30:00.000Z\",\"payload\":"                  \
            "{\"tool_name\":\"") -                                                                 \
     1)
#define ECHO_NAME "echo\",\"args\":"

static bool answer_call(int fd, size_t n)
{
    static char list[] = "{\"name\":\"bench\",\"tools\":[{\"name\":\"echo\",\"description\":\"\","
                         "\"input_schema\":{\"type\":\"object\"}}]}";
    char *message = frame + HEADER_BYTES;

    if (n < NAME_AT) {
        return memcmp(message + TYPE_AT, "ping", 4) != 0 || answer_ping(fd);
    }
    if (memcmp(message + NAME_AT, ECHO_NAME, sizeof(ECHO_NAME) - 1) == 0) {
        size_t at = NAME_AT + sizeof(ECHO_NAME) - 1;

        return answer(fd, message + ID_AT, message + at, n - at - 2);
    }
    return answer(fd, message + ID_AT, list, sizeof(list) - 1);
}

int main(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_echo = argc > 1 && strcmp(argv[1], "echo") == 0;
    ssize_t n;

    if (argc != 3 || (!is_echo && strcmp(argv[1], "addin") != 0) ||
        strlen(argv[2]) >= sizeof(address.sun_path)) {
        (void)fprintf(stderr, "usage: bench_pipe_peer echo|addin SOCKET\n");
        return 2;
    }
    memcpy(address.sun_path, argv[2], strlen(argv[2]));
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        perror(argv[2]);
        return 1;
    }
    do {
        n = read_frame(fd);
    } while (n >= 0 && (is_echo ? echo_frame(fd, (size_t)n) : answer_call(fd, (size_t)n)));
    return 0;
}
