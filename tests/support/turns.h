/* support/turns.h: a loop whose watchdog is soon out of patience (io/watchdog.h), and what it says.
 * For tests of those who handle the messages of a peer. */
#pragma once

#include "support/cmocka.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "io/watchdog.h"

#define TURNS_MS 40

/* Messages that take TURNS_BURN_MS each: far more than one turn may have. */
#define TURNS_MESSAGES 500
#define TURNS_BURN_MS  10

#define TURNS_DEADLINE_S 30

/* Must outlive the loop. */
typedef struct Turns {
    LogSink log;
    pthread_mutex_t mutex;
    pthread_cond_t has_more;
    char text[1024];
} Turns;

static void turns_write(void *context, const char *line, size_t n)
{
    Turns *turns = context;
    size_t used;

    (void)pthread_mutex_lock(&turns->mutex);
    used = strlen(turns->text);
    if (n < sizeof(turns->text) - used) {
        memcpy(turns->text + used, line, n);
        turns->text[used + n] = '\0';
    }
    (void)pthread_cond_signal(&turns->has_more);
    (void)pthread_mutex_unlock(&turns->mutex);
}

TW_UNUSED static void turns_watch(Turns *turns, IoLoop *loop)
{
    *turns = (Turns){.mutex = PTHREAD_MUTEX_INITIALIZER, .has_more = PTHREAD_COND_INITIALIZER};
    turns->log = (LogSink){.level = LOGSINK_LEVEL_WARN, .write_fn = turns_write, .context = turns};
    assert_int_equal(
        io_watchdog_start(loop, &(IoWatchdogConfig){.log = &turns->log, .turn_ms = TURNS_MS}), 0);
}

/* The log names him, and nobody else. The watchdog ends a turn first, and then writes. */
TW_UNUSED static void turns_assert_blamed(Turns *turns, const char *who)
{
    struct timespec deadline;
    const char *line;
    const char *next;

    assert_int_equal(clock_gettime(CLOCK_REALTIME, &deadline), 0);
    deadline.tv_sec += TURNS_DEADLINE_S;
    (void)pthread_mutex_lock(&turns->mutex);
    while (turns->text[0] == '\0') {
        assert_int_equal(pthread_cond_timedwait(&turns->has_more, &turns->mutex, &deadline), 0);
    }
    line = strstr(turns->text, "the turn of ");
    assert_non_null(line);
    line += strlen("the turn of ");
    assert_memory_equal(line, who, strlen(who));
    next = line + strlen(who);
    assert_memory_equal(next, " takes longer than", strlen(" takes longer than"));
    assert_null(strstr(next, "the turn of "));
    (void)pthread_mutex_unlock(&turns->mutex);
}

/* Keeps the loop's thread busy for a while. */
TW_UNUSED static void turns_burn(void)
{
    struct timespec from;
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from), 0);
    do {
        assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    } while ((now.tv_sec - from.tv_sec) * 1000LL + (now.tv_nsec - from.tv_nsec) / 1000000 <
             TURNS_BURN_MS);
}
