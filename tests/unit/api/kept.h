/* tests/unit/api/kept.h: handlers that keep calls, and reads that give up after a time that only a
 * broken program needs. */
#pragma once

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <toolwire/toolwire.h>

#include "base/compiler.h"

/* Only ends a test that would hang. */
#define PATIENCE_MS 60000

/* For handlers and threads, where cmocka's assertions cannot be used. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                  \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Fills all of p; false at the end. */
TW_UNUSED static bool wire_take(int fd, void *p, size_t n)
{
    char *at = p;

    while (n > 0) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ssize_t got;

        CHECK(poll(&ready, 1, PATIENCE_MS) == 1);
        got = recv(fd, at, n, 0);
        if (got == 0 || (got < 0 && errno == ECONNRESET)) {
            return false;
        }
        CHECK(got > 0);
        at += got;
        n -= (size_t)got;
    }
    return true;
}

/* ---- handlers ---- */

/* The calls that wait handlers have kept. */
typedef struct Kept {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    TwCall *call;
    bool is_cancelled;
} Kept;

TW_UNUSED static void on_say(TwCall *call, void *user)
{
    (void)user;
    tw_call_text(call, tw_call_string(call, "text", "nothing"));
}

TW_UNUSED static void on_cancelled(TwCall *call, void *user)
{
    Kept *kept = user;

    (void)call;
    pthread_mutex_lock(&kept->lock);
    kept->is_cancelled = true;
    pthread_cond_broadcast(&kept->changed);
    pthread_mutex_unlock(&kept->lock);
}

TW_UNUSED static void on_keep(TwCall *call, void *user)
{
    Kept *kept = user;

    CHECK(tw_call_keep(call) == 0);
    CHECK(tw_call_on_cancel(call, on_cancelled, kept) == 0);
    pthread_mutex_lock(&kept->lock);
    kept->call = call;
    pthread_cond_broadcast(&kept->changed);
    pthread_mutex_unlock(&kept->lock);
}

/* Waits for the call of a wait handler. */
TW_UNUSED static TwCall *kept_take(Kept *kept)
{
    TwCall *call;

    pthread_mutex_lock(&kept->lock);
    while (kept->call == NULL) {
        pthread_cond_wait(&kept->changed, &kept->lock);
    }
    call = kept->call;
    kept->call = NULL;
    pthread_mutex_unlock(&kept->lock);
    return call;
}

TW_UNUSED static void kept_await_cancel(Kept *kept)
{
    pthread_mutex_lock(&kept->lock);
    while (!kept->is_cancelled) {
        pthread_cond_wait(&kept->changed, &kept->lock);
    }
    pthread_mutex_unlock(&kept->lock);
}
