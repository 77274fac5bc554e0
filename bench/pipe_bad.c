/* Add-ins that do not keep to the protocol, beside which bench_pipe measures one that does.
 *
 *     bench_pipe_bad KIND SOCKET      KIND: see the table at the end; until a signal ends it
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* Between two messages of a kind that goes on: an add-in that errs often. */
#define PAUSE_MS 1

/* Between two connections: ten times as often as the document's add-ins, which wait for a second.
 * The storm does not keep to it. */
#define CONNECT_PAUSE_MS 100

static struct sockaddr_un address = {.sun_family = AF_UNIX};

static void pause_ms(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    (void)nanosleep(&t, NULL);
}

static int connect_hub(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    while (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        if (errno != EAGAIN) {
            perror(address.sun_path);
            _exit(1);
        }
        pause_ms(PAUSE_MS);
    }
    return fd;
}

static bool send_frame(int fd, const char *message)
{
    size_t n = strlen(message);
    unsigned char header[] = {(unsigned char)n, (unsigned char)(n >> 8), (unsigned char)(n >> 16),
                              (unsigned char)(n >> 24)};

    return send(fd, header, sizeof(header), MSG_NOSIGNAL | MSG_MORE) == (ssize_t)sizeof(header) &&
           send(fd, message, n, MSG_NOSIGNAL) == (ssize_t)n;
}

/* What the hub says is read and forgotten. */
static bool drain(int fd)
{
    char buffer[65536];
    struct pollfd look = {.fd = fd, .events = POLLIN};

    while (poll(&look, 1, 0) == 1) {
        if (recv(fd, buffer, sizeof(buffer), 0) <= 0) {
            return false;
        }
    }
    return true;
}

/* The same message again and again, on one connection for as long as the hub keeps it. */
static void repeat(const char *message)
{
    for (;;) {
        int fd = connect_hub();

        while (send_frame(fd, message) && drain(fd)) {
            pause_ms(PAUSE_MS);
        }
        (void)close(fd);
        pause_ms(CONNECT_PAUSE_MS);
    }
}

static void send_unknown(void)
{
    repeat("{\"id\":\"7\",\"type\":\"chat_message\",\"payload\":{}}");
}

static void send_without_field(void)
{
    repeat("{\"id\":\"7\",\"type\":\"tool_result\",\"payload\":{\"success\":true}}");
}

static void send_wrong_id(void)
{
    repeat("{\"id\":\"7\",\"type\":\"tool_result\",\"payload\":{\"call_id\":\"550e8400-e29b-41d4-"
           "a716-446655440000\",\"success\":true,\"data\":{},\"error\":null,\"duration_ms\":1}}");
}

static void send_bad_utf8(void)
{
    repeat("{\"type\":\"p\xffng\"}");
}

/* A length of 2^32 - 1, on one connection after another. */
static void connect_again_and_again(long ms)
{
    for (;;) {
        int fd = connect_hub();
        char buffer[4096];

        (void)send(fd, "\xff\xff\xff\xff", 4, MSG_NOSIGNAL);
        while (recv(fd, buffer, sizeof(buffer), 0) > 0) {
        }
        (void)close(fd);
        pause_ms(ms);
    }
}

static void send_bad_length(void)
{
    connect_again_and_again(CONNECT_PAUSE_MS);
}

static void storm(void)
{
    connect_again_and_again(PAUSE_MS);
}

static void say_nothing(void)
{
    (void)connect_hub();
    for (;;) {
        (void)pause();
    }
}

/* Asks for pongs that it does not read. */
static void never_read(void)
{
    for (;;) {
        int fd = connect_hub();

        while (send_frame(fd, "{\"id\":\"7\",\"type\":\"ping\",\"payload\":{}}")) {
            pause_ms(PAUSE_MS);
        }
        (void)close(fd);
    }
}

static void send_slowly(void)
{
    static const char message[] = "\x40\0\0\0{\"type\":\"pong\",\"payload\":{\"and\":\"so on\"";

    for (;;) {
        int fd = connect_hub();

        for (size_t i = 0; i < sizeof(message) - 1; i++) {
            (void)send(fd, message + i, 1, MSG_NOSIGNAL);
            pause_ms(1000);
        }
        (void)close(fd);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} kinds[] = {
    {"unknown-type", send_unknown}, {"no-call-id", send_without_field}, {"wrong-id", send_wrong_id},
    {"bad-utf8", send_bad_utf8},    {"bad-length", send_bad_length},    {"silent", say_nothing},
    {"never-reads", never_read},    {"byte-a-second", send_slowly},     {"storm", storm},
};

int main(int argc, char **argv)
{
    if (argc == 3 && strlen(argv[2]) < sizeof(address.sun_path)) {
        memcpy(address.sun_path, argv[2], strlen(argv[2]));
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
            if (strcmp(argv[1], kinds[i].name) == 0) {
                kinds[i].run();
            }
        }
    }
    (void)fprintf(stderr, "usage: bench_pipe_bad KIND SOCKET\n");
    return 2;
}
