/* tests/unit/api/host_bridge.h: a host of the library in a folder of its own, on a thread of its
 * own, and bridges that are played by the test. Reads give up after a time that only a broken host
 * needs. */
#pragma once

#include "support/cmocka.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <toolwire/toolwire.h>
#include <unistd.h>

#include "base/compiler.h"
#include "support/files.h"
#include "unit/api/kept.h"

#define REQUEST(name, arguments)                                                                   \
    "{\"method\":\"call_tool\",\"params\":{\"name\":\"" name "\",\"arguments\":" arguments "}}"
#define SAYS(text)                                                                                 \
    "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}],\"isError\":false}}"
#define ERROR(type, message) "{\"error\":{\"message\":\"" message "\",\"type\":\"" type "\"}}"
#define IN_FILE(name)                                                                              \
    "{\"name\":\"" name "\",\"description\":\"\",\"input_schema\":{\"type\":\"object\"}}"

/* ---- a bridge, played by the test; its functions run on any thread ---- */

TW_UNUSED static int bridge_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(fd >= 0);
    CHECK(strlen(path) < sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path) + 1);
    CHECK(connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
    return fd;
}

TW_UNUSED static void bridge_send(int fd, const char *message)
{
    size_t n = strlen(message);
    unsigned char header[4] = {(unsigned char)(n >> 24), (unsigned char)(n >> 16),
                               (unsigned char)(n >> 8), (unsigned char)n};

    CHECK(send(fd, header, sizeof(header), MSG_NOSIGNAL) == (ssize_t)sizeof(header));
    CHECK(send(fd, message, n, MSG_NOSIGNAL) == (ssize_t)n);
}

/* The next message; free() it. NULL at the end. */
TW_UNUSED static char *bridge_receive(int fd)
{
    unsigned char header[4];
    char *message;
    size_t n;

    if (!wire_take(fd, header, sizeof(header))) {
        return NULL;
    }
    n = (size_t)header[0] << 24 | (size_t)header[1] << 16 | (size_t)header[2] << 8 | header[3];
    message = malloc(n + 1);
    CHECK(message != NULL);
    CHECK(wire_take(fd, message, n));
    message[n] = '\0';
    return message;
}

TW_UNUSED static void bridge_expect(int fd, const char *expected)
{
    char *message = bridge_receive(fd);

    assert_non_null(message);
    assert_string_equal(message, expected);
    free(message);
}

TW_UNUSED static void bridge_expect_end(int fd)
{
    assert_null(bridge_receive(fd));
    assert_int_equal(close(fd), 0);
}

/* ---- a host in a folder of its own ---- */

typedef struct Fixture {
    char folder[32];
    char socket[64];
    char schema[64];
    TwServer *server;
    TwHost *host;
    Kept kept;
    pthread_t thread;
    int fd; /* of a client, where there is one */
    int r;  /* of run */
} Fixture;

TW_UNUSED static void fixture_prepare(Fixture *f, const TwServerOptions *options)
{
    *f =
        (Fixture){.folder = "/tmp/tw-api-host-XXXXXX",
                  .kept = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER}};
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->socket, sizeof(f->socket), "%s/h.sock", f->folder);
    (void)snprintf(f->schema, sizeof(f->schema), "%s/h.json", f->folder);
    f->server = tw_server_new("h", "1");
    if (options != NULL) {
        assert_int_equal(tw_server_set_options(f->server, options), 0);
    }
    assert_int_equal(tw_server_add_tool(f->server, &(TwTool){.name = "say", .handler = on_say}), 0);
}

TW_UNUSED static int fixture_open(Fixture *f)
{
    return tw_host_open(f->server, &(TwHostOptions){.socket_path = f->socket}, &f->host);
}

TW_UNUSED static void fixture_init(Fixture *f)
{
    fixture_prepare(f, NULL);
    assert_int_equal(fixture_open(f), 0);
}

TW_UNUSED static void *run_main(void *context)
{
    Fixture *f = context;

    f->r = tw_host_run(f->host);
    return NULL;
}

TW_UNUSED static void fixture_run(Fixture *f)
{
    f->r = -1000;
    assert_int_equal(pthread_create(&f->thread, NULL, run_main, f), 0);
}

TW_UNUSED static void fixture_join(Fixture *f)
{
    assert_int_equal(pthread_join(f->thread, NULL), 0);
    assert_int_equal(f->r, 0);
}

/* Neither file may be left. */
TW_UNUSED static void fixture_deinit(Fixture *f)
{
    tw_host_close(f->host);
    tw_server_free(f->server);
    assert_int_equal(rmdir(f->folder), 0);
}

TW_UNUSED static void fixture_end(Fixture *f)
{
    tw_host_stop(f->host);
    fixture_join(f);
    fixture_deinit(f);
}

TW_UNUSED static void add_waiting_tool(Fixture *f)
{
    assert_int_equal(
        tw_server_add_tool(f->server,
                           &(TwTool){.name = "wait", .handler = on_keep, .user = &f->kept}),
        0);
}

TW_UNUSED static void assert_mode(const char *path, mode_t mode)
{
    struct stat info;

    assert_int_equal(lstat(path, &info), 0);
    assert_int_equal(info.st_mode, mode);
}

TW_UNUSED static void assert_served(const char *path)
{
    int fd = bridge_connect(path);

    bridge_send(fd, REQUEST("say", "{\"text\":\"x\"}"));
    bridge_expect(fd, SAYS("x"));
    assert_int_equal(close(fd), 0);
}

/* Waits until the file has this content; each change is a new file under the name. */
TW_UNUSED static void await_schema(const char *path, const char *content)
{
    for (;;) {
        size_t n;
        char *text = files_read(path, &n);
        bool is_there = strcmp(text, content) == 0;

        free(text);
        if (is_there) {
            return;
        }
        (void)sched_yield();
    }
}
