/* tests/support/fake_model.mjs as a child. */
#pragma once

#include "support/cmocka.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"

extern char **environ;

typedef struct FakeModel {
    pid_t pid;
    int in; /* it ends when this is closed */
    unsigned port;
    char url[64]; /* http://127.0.0.1:PORT */
} FakeModel;

/* Neither end is for children, but by file actions: a second fake must not hold the first one's. */
TW_UNUSED static void fake_model_pipe(int fds[2])
{
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(fcntl(fds[0], F_SETFD, FD_CLOEXEC), 0);
    assert_int_equal(fcntl(fds[1], F_SETFD, FD_CLOEXEC), 0);
}

/* A script that behaves like it. args: up to four more, NULL-terminated. False: there is no node
 * here. */
TW_UNUSED static bool fake_model_run(FakeModel *fake, const char *script, const char *const *args)
{
    char node[] = "node";
    char *argv[8] = {node, strdup(script)};
    posix_spawn_file_actions_t actions;
    int to[2];
    int from[2];
    FILE *out;
    int r;

    for (size_t i = 0; args != NULL && args[i] != NULL; i++) {
        argv[2 + i] = strdup(args[i]);
    }
    fake_model_pipe(to);
    fake_model_pipe(from);
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, to[0], 0), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, from[1], 1), 0);
    r = posix_spawnp(&fake->pid, node, &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    for (size_t i = 1; argv[i] != NULL; i++) {
        free(argv[i]);
    }
    assert_int_equal(close(to[0]), 0);
    assert_int_equal(close(from[1]), 0);
    fake->in = to[1];
    out = fdopen(from[0], "r");
    assert_non_null(out);
    if (r != 0) {
        (void)fclose(out);
        (void)close(fake->in);
        return false;
    }
    assert_int_equal(fscanf(out, "%u", &fake->port), 1);
    (void)fclose(out);
    (void)snprintf(fake->url, sizeof(fake->url), "http://127.0.0.1:%u", fake->port);
    return true;
}

TW_UNUSED static bool fake_model_start(FakeModel *fake, const char *const *args)
{
    return fake_model_run(fake, TW_SOURCE_DIR "/tests/support/fake_model.mjs", args);
}

TW_UNUSED static void fake_model_stop(FakeModel *fake)
{
    assert_int_equal(close(fake->in), 0);
    assert_int_equal(waitpid(fake->pid, NULL, 0), fake->pid);
}
