/* toolwire/addin.h: an add-in: an application that cannot be started by agents, but has tools for
 * them. It connects to a hub (`toolwire serve` with a pipe) and offers them there.
 *
 *     TwServer *server = tw_server_new("planner", "1.0");
 *     TwAddin *addin = NULL;
 *
 *     tw_server_add_tool(server, &(TwTool){.name = "plan.render", .handler = render});
 *     if (tw_addin_open(server, "RevitOrchestrator", NULL, &addin) == 0) {
 *         tw_addin_run(addin);
 *     }
 *     tw_addin_close(addin);
 *     tw_server_free(server);
 *
 * Tools and resources travel this way, without log records and questions; prompts and templates do
 * not. Progress (tw_call_progress) and cancelling (tw_call_on_cancel) do, where the hub is ours.
 * The server's name is what the hub registers. Calls run side by side as far as handlers keep them
 * (tw_call_keep); with one_at_a_time the next handler begins when the last call is answered, as
 * applications with one UI thread need. The hub may come and go: the add-in connects again, after
 * 1, 2, 4, 8, 16 and then every 30 s. When any thread has added or removed something, the hub is
 * told, and asks again; one that does not understand that learns it from a second connection, which
 * takes over, and the first is closed when its calls have ended. No call is lost by it, and the
 * state stays CONNECTED. Keep-alive goes on while a call is kept, but not while a handler blocks
 * the thread of tw_addin_run: a handler that works long keeps its call and answers from another
 * thread. Messages have 16 MiB each, answers also what the server's options allow; there is no
 * limit of the rate but one that they name.
 *
 * A program that has a document open makes its tools commands, which agents cannot call by mistake
 * on what they have not seen: document.h.
 */
#pragma once

#include <toolwire/api.h>
#include <toolwire/server.h>

#include <stdbool.h>
#include <stdint.h>

TW_BEGIN_C

typedef struct TwAddin TwAddin;

typedef enum TwAddinState {
    TW_ADDIN_CONNECTING = 0,
    TW_ADDIN_CONNECTED = 1,
    TW_ADDIN_DISCONNECTED = 2, /* the hub has gone, or was found dead; calls were cancelled */
    TW_ADDIN_WAITING = 3,      /* until the next attempt */
    TW_ADDIN_STOPPED = 4
} TwAddinState;

/* Members that are not named are 0 or NULL, and mean the default. */
typedef struct TwAddinOptions {
    bool one_at_a_time;
    int64_t ping_interval_ms; /* 30 s */
    int64_t pong_timeout_ms;  /* 10 s */
    int64_t retry_ms;         /* 1 s, doubled with each failure */
    int64_t retry_max_ms;     /* 30 s */
    /* The state has changed; message: why, and with WAITING how long, for people; borrowed until
     * return; "" if there is nothing to say. On the thread of tw_addin_run; must not close the
     * add-in, but may stop it. NULL: nobody is told. */
    void (*changed)(void *user, TwAddinState state, const char *message);
    void *user;
    void *reserved[6];
} TwAddinOptions;

/* pipe: its name ("RevitOrchestrator"; \\.\pipe\NAME is understood, too). Nothing is connected
 * before tw_addin_run. The server is borrowed until close, and serves nothing else meanwhile, as it
 * must not now: TW_ERROR_BUSY. options may be NULL. tw_server_message(server) says more about a
 * failure. Gives *ret_addin. TW_ERROR_ARGUMENT: also for a name that no pipe can have.
 * TW_ERROR_MEMORY, TW_ERROR_SYSTEM. */
TW_API int tw_addin_open(TwServer *server, const char *pipe, const TwAddinOptions *options,
                         TwAddin **ret_addin);

/* Connects and serves on the calling thread, handlers included, until tw_addin_stop. Calls in
 * flight then get the server's drain_ms to finish, and are cancelled. Signals are the caller's
 * business: tw_addin_stop may be called from a handler. 0, also at once if the add-in was stopped
 * before; TW_ERROR_BUSY: it runs already. TW_ERROR_SYSTEM, TW_ERROR_MEMORY, TW_ERROR_ARGUMENT. */
TW_API int tw_addin_run(TwAddin *addin);

/* Ends tw_addin_run, now or when it begins, for good; returns at once. Not when close has begun.
 * Thread: any; also a signal handler. */
TW_API void tw_addin_stop(TwAddin *addin);

/* Not while tw_addin_run runs. NULL is accepted. */
TW_API void tw_addin_close(TwAddin *addin);

TW_END_C
