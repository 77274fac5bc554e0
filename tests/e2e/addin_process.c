#include "e2e/addin_process.h"

#include "e2e/peer.h"

#include "support/cmocka.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "json/json.h"

/* Only ends a test that would hang; nothing is measured by it. */
#define HANG_MS 60000

#define MAX_ARGUMENTS 24

/* Three of them use a FIFO: its other end opens when the command runs, and ends when it is dead. */
#define TOOLS                                                                                      \
    "[{\"name\":\"cat\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"             \
    "\"output_schema\":{\"type\":\"object\"},\"command\":[\"cat\"]},"                              \
    "{\"name\":\"fails\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"            \
    "\"command\":[\"sh\",\"-c\",\"echo why >&2; exit 3\"]},"                                       \
    "{\"name\":\"waits\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"            \
    "\"command\":[\"sh\",\"-c\",\"exec sleep 600 >\\\"$1\\\"\",\"sh\",\"%s\"]},"                   \
    "{\"name\":\"ends\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"             \
    "\"command\":[\"sh\",\"-c\",\"read line <\\\"$1\\\"; echo \\\"$line\\\"\",\"sh\",\"%s\"]},"    \
    "{\"name\":\"stubborn\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"         \
    "\"command\":[\"sh\",\"-c\",\"trap '' TERM; exec sleep 600 >\\\"$1\\\"\",\"sh\",\"%s\"]}]"

/* ---- the program ---- */

void addin_start(AddinProcess *f, const char *const *arguments)
{
    char *argv[MAX_ARGUMENTS + 2] = {(char *)(uintptr_t)f->program};
    pid_t tester = getpid();
    int err[2];

    for (size_t i = 0; arguments[i] != NULL; i++) {
        assert_true(i < MAX_ARGUMENTS);
        argv[i + 1] = (char *)(uintptr_t)arguments[i];
    }
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    f->pid = fork();
    assert_true(f->pid >= 0);
    if (f->pid == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == tester && dup2(err[1], 2) == 2) {
            (void)execv(f->program, argv);
        }
        _exit(127);
    }
    (void)close(err[1]);
    f->err = err[0];
}

/* Reads one byte; false at the end. */
static bool read_byte(int fd, char *ret)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    ssize_t r;

    if (poll(&ready, 1, HANG_MS) != 1) {
        fail_msg("nothing came for %d s", HANG_MS / 1000);
    }
    r = read(fd, ret, 1);
    assert_true(r >= 0);
    return r == 1;
}

void addin_expect_line(AddinProcess *f, const char *words)
{
    static const char head[] = "toolwire addin: ";
    char line[512];
    size_t n = 0;

    while (n < sizeof(line) - 1 && read_byte(f->err, &line[n]) && line[n] != '\n') {
        n++;
    }
    line[n] = '\0';
    if (strncmp(line, head, sizeof(head) - 1) != 0 || strcmp(line + sizeof(head) - 1, words) != 0) {
        fail_msg("wanted: %s%s\n   got: %s", head, words, line);
    }
}

void addin_expect_exit(AddinProcess *f, int status)
{
    char byte;

    assert_int_equal(peer_wait(f->pid), status);
    f->pid = -1;
    assert_false(read_byte(f->err, &byte));
    assert_int_equal(close(f->err), 0);
}

void addin_stop(AddinProcess *f)
{
    assert_int_equal(kill(f->pid, SIGTERM), 0);
    addin_expect_line(f, "Stopped");
    addin_expect_exit(f, 0);
}

void addin_kill(AddinProcess *f)
{
    assert_int_equal(kill(f->pid, SIGKILL), 0);
    assert_int_equal(peer_wait(f->pid), -SIGKILL);
    assert_int_equal(close(f->err), 0);
    f->pid = -1;
}

/* ---- the hub ---- */

void addin_hub_opens(AddinProcess *f)
{
    f->listening = parent_listen(&f->place);
}

void addin_hub_leaves(AddinProcess *f)
{
    assert_int_equal(close(f->listening), 0);
    assert_int_equal(unlink(f->place.socket), 0);
    f->listening = -1;
}

void message_send(int fd, const char *text)
{
    size_t n = strlen(text);
    unsigned char header[4] = {(unsigned char)n, (unsigned char)(n >> 8), (unsigned char)(n >> 16),
                               (unsigned char)(n >> 24)};

    wire_write(fd, header, sizeof(header));
    wire_write(fd, text, n);
}

char *message_take(int fd)
{
    char header[4];
    char *text;
    size_t n;

    if (!read_byte(fd, &header[0])) {
        return NULL;
    }
    for (size_t i = 1; i < sizeof(header); i++) {
        assert_true(read_byte(fd, &header[i]));
    }
    n = (size_t)(unsigned char)header[0] | (size_t)(unsigned char)header[1] << 8 |
        (size_t)(unsigned char)header[2] << 16 | (size_t)(unsigned char)header[3] << 24;
    text = malloc(n + 1);
    assert_non_null(text);
    for (size_t n_got = 0; n_got < n;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ssize_t r;

        if (poll(&ready, 1, HANG_MS) != 1) {
            fail_msg("nothing came for %d s", HANG_MS / 1000);
        }
        r = read(fd, text + n_got, n - n_got);
        assert_true(r > 0);
        n_got += (size_t)r;
    }
    text[n] = '\0';
    return text;
}

void message_expect(int fd, const char *const *rows)
{
    char *text = message_take(fd);
    JsonDoc doc;
    JsonDoc wanted;
    Arena arena;

    assert_non_null(text);
    arena_init(&arena, (size_t)1 << 20);
    assert_int_equal(json_parse(&doc, &arena, text, strlen(text), NULL, NULL), 0);
    for (size_t i = 0; rows[i] != NULL; i += 2) {
        JsonValue value;

        assert_int_equal(json_parse(&wanted, &arena, rows[i + 1], strlen(rows[i + 1]), NULL, NULL),
                         0);
        if (json_pointer(json_root(&doc), span_from_str(rows[i]), &value) != 0 ||
            !json_equals(value, json_root(&wanted))) {
            fail_msg("wanted: %s in %s\n   got: %s", rows[i + 1], rows[i], text);
        }
    }
    arena_deinit(&arena);
    free(text);
}

void message_expect_result(int fd, const char *call_id, const char *data)
{
    const char *const rows[] = {"/type",
                                "\"tool_result\"",
                                "/payload/call_id",
                                call_id,
                                "/payload/success",
                                "true",
                                "/payload/data",
                                data,
                                NULL};

    message_expect(fd, rows);
}

void message_expect_type(int fd, const char *type)
{
    const char *const rows[] = {"/type", type, NULL};

    message_expect(fd, rows);
}

void message_is_served(int fd)
{
    message_send(fd, CALLS("s", "cat", "{\"n\":9007199254740993}"));
    message_expect_result(fd, "\"s\"", "{\"n\":9007199254740993}");
}

/* ---- the fixture ---- */

void addin_prepare(AddinProcess *f, const char *program)
{
    char text[4096];

    *f = (AddinProcess){.program = program, .listening = -1, .pid = -1, .err = -1};
    place_init(&f->place);
    (void)snprintf(f->place.socket, sizeof(f->place.socket), "%s/CoreFxPipe_tested",
                   f->place.folder);
    (void)snprintf(f->tools, sizeof(f->tools), "%s/tools.json", f->place.folder);
    (void)snprintf(f->fifo, sizeof(f->fifo), "%s/fifo", f->place.folder);
    (void)snprintf(text, sizeof(text), TOOLS, f->fifo, f->fifo, f->fifo);
    place_write(f->tools, text, 0644);
    assert_int_equal(mkfifo(f->fifo, 0600), 0);
    assert_int_equal(setenv("TMPDIR", f->place.folder, 1), 0);
}

int addin_connect(AddinProcess *f, const char *program, const char *a, const char *b, const char *c,
                  const char *d)
{
    const char *arguments[] = {"addin", "--pipe", "tested", "--tools", f->tools, "--retry-ms",
                               "20ms",  a,        b,        c,         d,        NULL};

    addin_prepare(f, program);
    addin_hub_opens(f);
    addin_start(f, arguments);
    addin_expect_line(f, "Connecting...");
    addin_expect_line(f, "Connected");
    return parent_accept(f->listening);
}

void addin_deinit(AddinProcess *f)
{
    if (f->pid > 0) {
        addin_stop(f);
    }
    if (f->listening >= 0) {
        addin_hub_leaves(f);
    }
    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_int_equal(unlink(f->fifo), 0);
    assert_int_equal(unlink(f->tools), 0);
    place_deinit(&f->place);
}

int command_runs(AddinProcess *f)
{
    int fd = open(f->fifo, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

void command_is_dead(int fifo)
{
    char byte;

    assert_false(read_byte(fifo, &byte));
    assert_int_equal(close(fifo), 0);
}

void command_goes_on(AddinProcess *f)
{
    int fd = open(f->fifo, O_WRONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "done\n", 5), 5);
    assert_int_equal(close(fd), 0);
}
