/* tests/unit/api/addin_hub.h: an add-in of the library on a thread of its own, and its hub, played
 * by the test at a pipe in a folder of its own. */
#pragma once

#include "support/cmocka.h"

#include <fcntl.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit/api/kept.h"

#define PIPE_NAME "hub"

#define MESSAGE(id, type, payload)                                                                 \
    "{\"id\":\"" id "\",\"type\":\"" type "\",\"timestamp\":\"2025-01-15T10:30:00.000Z\","         \
    "\"payload\":" payload "}"
#define CALL(id, name, args)                                                                       \
    MESSAGE(id, "tool_call", "{\"tool_name\":\"" name "\",\"args\":" args "}")
#define PING(id) MESSAGE(id, "ping", "{}")
#define PONG(id) MESSAGE(id, "pong", "{}")

/* What results hold before their duration. */
#define DONE(id, data) "{\"call_id\":\"" id "\",\"success\":true,\"data\":" data ",\"error\":null"
#define SAID(id, text) DONE(id, "{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}")
#define FAILED(id, code, message)                                                                  \
    "{\"call_id\":\"" id "\",\"success\":false,\"data\":{},\"error\":{\"code\":\"" code            \
    "\",\"message\":\"" message "\"}"
#define IN_LIST(name)                                                                              \
    "{\"name\":\"" name "\",\"description\":\"\",\"input_schema\":{\"type\":\"object\"}}"

/* ---- a hub, played by the test; its functions run on any thread ---- */

TW_UNUSED static int hub_listen(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    CHECK(fd >= 0);
    CHECK(strlen(path) < sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path) + 1);
    CHECK(bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
    CHECK(listen(fd, 16) == 0);
    return fd;
}

/* Waits for the next add-in. */
TW_UNUSED static int hub_accept(int listener)
{
    struct pollfd ready = {.fd = listener, .events = POLLIN};
    int fd;

    CHECK(poll(&ready, 1, PATIENCE_MS) == 1);
    fd = accept(listener, NULL, NULL);
    CHECK(fd >= 0);
    return fd;
}

/* False if the add-in has gone. Messages are shorter than what a socket takes at once. */
TW_UNUSED static bool hub_try_send(int fd, const char *message)
{
    size_t n = strlen(message);
    char *frame = malloc(4 + n);
    bool is_sent;

    CHECK(frame != NULL);
    for (int i = 0; i < 4; i++) {
        frame[i] = (char)(unsigned char)(n >> (8 * i));
    }
    memcpy(frame + 4, message, n);
    is_sent = send(fd, frame, 4 + n, MSG_NOSIGNAL) == (ssize_t)(4 + n);
    free(frame);
    return is_sent;
}

TW_UNUSED static void hub_send(int fd, const char *message)
{
    CHECK(hub_try_send(fd, message));
}

/* The next message; free() it. NULL at the end. */
TW_UNUSED static char *hub_receive(int fd)
{
    unsigned char header[4];
    char *message;
    size_t n;

    if (!wire_take(fd, header, sizeof(header))) {
        return NULL;
    }
    n = (size_t)header[3] << 24 | (size_t)header[2] << 16 | (size_t)header[1] << 8 | header[0];
    message = malloc(n + 1);
    CHECK(message != NULL);
    CHECK(wire_take(fd, message, n));
    message[n] = '\0';
    return message;
}

/* The next message, which must be of that type. */
TW_UNUSED static char *hub_receive_type(int fd, const char *type)
{
    char words[64];
    char *message = hub_receive(fd);

    assert_non_null(message);
    (void)snprintf(words, sizeof(words), "\"type\":\"%s\"", type);
    assert_non_null(strstr(message, words));
    return message;
}

TW_UNUSED static void hub_expect_type(int fd, const char *type)
{
    free(hub_receive_type(fd, type));
}

/* A result; how long it took is nobody's business. */
TW_UNUSED static void hub_expect(int fd, const char *expected)
{
    char *message = hub_receive_type(fd, "tool_result");
    char *payload = strstr(message, "\"payload\":");
    char *duration = strstr(message, ",\"duration_ms\":");

    assert_non_null(payload);
    assert_non_null(duration);
    *duration = '\0';
    assert_string_equal(payload + strlen("\"payload\":"), expected);
    free(message);
}

/* Everything that was sent before has been taken in. */
TW_UNUSED static void hub_ping(int fd)
{
    hub_send(fd, PING("00000000-0000-4000-8000-000000000000"));
    hub_expect_type(fd, "pong");
}

TW_UNUSED static void hub_expect_end(int fd)
{
    assert_null(hub_receive(fd));
    assert_int_equal(close(fd), 0);
}

/* ---- what the add-in says of its states ---- */

#define MAX_STATES 64

typedef struct States {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t n;
    size_t n_seen; /* by states_expect */
    TwAddinState list[MAX_STATES];
    char words[MAX_STATES][256];
    pthread_t thread; /* of the last one */
} States;

TW_UNUSED static void on_changed(void *user, TwAddinState state, const char *message)
{
    States *states = user;

    pthread_mutex_lock(&states->lock);
    CHECK(states->n < MAX_STATES);
    states->list[states->n] = state;
    (void)snprintf(states->words[states->n], sizeof(states->words[0]), "%s", message);
    states->n++;
    states->thread = pthread_self();
    pthread_cond_broadcast(&states->changed);
    pthread_mutex_unlock(&states->lock);
}

/* Waits for the next one, which must be this; its words are borrowed. */
TW_UNUSED static const char *states_expect(States *states, TwAddinState state)
{
    size_t at;

    pthread_mutex_lock(&states->lock);
    at = states->n_seen++;
    while (states->n <= at) {
        pthread_cond_wait(&states->changed, &states->lock);
    }
    pthread_mutex_unlock(&states->lock);
    assert_int_equal(states->list[at], state);
    return states->words[at];
}

/* ---- an add-in and a folder for the pipe ---- */

typedef struct Fixture {
    char folder[32];
    char path[64]; /* where the pipe is */
    TwServer *server;
    TwAddin *addin;
    Kept kept;
    States states;
    pthread_t thread;
    int listener;
    int r; /* of run */
} Fixture;

/* TMPDIR leads to the folder until the next one. */
TW_UNUSED static void fixture_prepare(Fixture *f, const TwServerOptions *options)
{
    *f = (Fixture){
        .folder = "/tmp/tw-api-addin-XXXXXX",
        .kept = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER},
        .states = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER}};
    assert_non_null(mkdtemp(f->folder));
    assert_int_equal(setenv("TMPDIR", f->folder, 1), 0);
    (void)snprintf(f->path, sizeof(f->path), "%s/CoreFxPipe_" PIPE_NAME, f->folder);
    f->listener = hub_listen(f->path);
    f->server = tw_server_new("a", "1");
    if (options != NULL) {
        assert_int_equal(tw_server_set_options(f->server, options), 0);
    }
    assert_int_equal(tw_server_add_tool(f->server, &(TwTool){.name = "say", .handler = on_say}), 0);
}

/* The hub goes, and leaves nothing at the pipe. */
TW_UNUSED static void fixture_unlisten(Fixture *f)
{
    assert_int_equal(close(f->listener), 0);
    assert_int_equal(unlink(f->path), 0);
    f->listener = -1;
}

TW_UNUSED static int fixture_open(Fixture *f)
{
    return tw_addin_open(
        f->server, PIPE_NAME,
        &(TwAddinOptions){.retry_ms = 1, .changed = on_changed, .user = &f->states}, &f->addin);
}

TW_UNUSED static void fixture_init(Fixture *f)
{
    fixture_prepare(f, NULL);
    assert_int_equal(fixture_open(f), 0);
}

TW_UNUSED static void *run_main(void *context)
{
    Fixture *f = context;

    f->r = tw_addin_run(f->addin);
    return NULL;
}

TW_UNUSED static void fixture_run(Fixture *f)
{
    f->r = -1000;
    assert_int_equal(pthread_create(&f->thread, NULL, run_main, f), 0);
}

/* The same, until it is connected. */
TW_UNUSED static int fixture_connect(Fixture *f)
{
    fixture_run(f);
    return hub_accept(f->listener);
}

TW_UNUSED static void fixture_join(Fixture *f)
{
    assert_int_equal(pthread_join(f->thread, NULL), 0);
    assert_int_equal(f->r, 0);
}

TW_UNUSED static void fixture_deinit(Fixture *f)
{
    tw_addin_close(f->addin);
    tw_server_free(f->server);
    if (f->listener >= 0) {
        fixture_unlisten(f);
    }
    assert_int_equal(rmdir(f->folder), 0);
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

TW_UNUSED static void fixture_end(Fixture *f)
{
    tw_addin_stop(f->addin);
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

TW_UNUSED static void assert_served(int fd)
{
    hub_send(fd, CALL("s", "say", "{\"text\":\"x\"}"));
    hub_expect(fd, SAID("s", "x"));
}

TW_UNUSED static void assert_nobody_came(const Fixture *f)
{
    assert_int_equal(accept(f->listener, NULL, NULL), -1);
    assert_int_equal(errno, EAGAIN);
}
