/* api/tw_agent.h: what a TwAgentClient is made of. Private to src/api.
 *
 * A public function that waits runs the loop on its caller's thread until `is_finished` is set by
 * an event. */
#pragma once

#include <pthread.h>
#include <toolwire/agent.h>

#include "api/tw_internal.h"
#include "app/agent_client.h"
#include "base/arena.h"
#include "io/loop.h"

struct TwAgentClient {
    TwAgentClientOptions options; /* strings are copies of our own */
    char *folder;
    char **environment;

    IoLoop *loop;
    AgentClient *agent;
    IoTimer *timer;
    Arena arena; /* strings of the event that is told */

    /* What is being waited for: `ready`, one request, or that none is open. */
    bool waits_for_ready;
    bool waits_for_none;
    char waiting[TW_AGENT_ID_SIZE]; /* "": no single request */
    bool is_finished;
    bool is_lost; /* an agent that is not started again has ended */
    int outcome;  /* TW_ERROR_* */

    int64_t left_ms; /* when the loop ran last */
    uint64_t n_ids;
    char message[DIAG_MESSAGE_SIZE];

    pthread_mutex_t lock; /* guards what follows */
    IoTask stop_task;
    bool is_waiting;
    bool is_stop_posted;
};

/* An AgentClientConfig.event and .ended; context: TwAgentClient. */
void api_agent_on_event(void *context, const AgentShellEvent *event, Span line);
void api_agent_on_ended(void *context, const AgentClientEnd *end);

/* What is waited for has come to its end; only the first counts. */
void api_agent_finish(TwAgentClient *client, int outcome, Span words);

/* Remembers the words about a failure and returns error. */
int api_agent_fail(TwAgentClient *client, int error, const char *words);
