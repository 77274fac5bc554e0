/* app/front.h: a client's two streams joined to a hub's socket: bytes in, bytes out.
 *
 * Nothing is understood. What the client sends goes on as it comes; what the hub sends goes on line
 * by line, so that a hub which ends in the middle of a message leaves none that is cut. Whoever
 * does not read is not read for: a side is paused while the other takes no more, and nothing piles
 * up but the line at hand. When the client's input ends, the hub's does, and what it still answers
 * is delivered. Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "io/loop.h"

#include <stdbool.h>

enum {
    FRONT_E_NO_HUB = 1, /* nobody listens there, or not for us */
    FRONT_E_LOST,       /* the hub has gone before the client */
    FRONT_E_WITHIN,     /* we are a server of this very hub */
};

typedef struct Front Front;

typedef struct FrontConfig {
    IoLoop *loop;
    int in_fd;  /* the client's; taken on success, as is the next */
    int out_fd; /* may equal in_fd */
    int hub_fd; /* taken in any case */
    /* It is over: 0 (the client has gone, or all is answered), FRONT_E_LOST, a negative errno.
     * Comes once; may free it. */
    void (*closed)(void *context, int r);
    void *context;
} FrontConfig;

/* 0, -ENOMEM, another negative errno. Gives *ret. */
int front_new(Front **ret, const FrontConfig *config);
Front *front_free(Front *front);

/* As if the client's input had ended. May come twice. */
void front_end(Front *front);
bool front_is_ending(const Front *front);

/* Connects to the hub of a state folder (app/hub_place.h). config: the file of the settings that
 * are wanted, NULL if any will do. Gives *ret_fd. 0, -ENOMEM, FRONT_E_NO_HUB: none is there, or
 * it is another user's, or has other settings, or an answer could not be waited for here once the
 * input has ended. FRONT_E_WITHIN: the hub would have its own tools from us. */
int front_find(int *ret_fd, const char *state_folder, const char *config);

/* Joins standard input and output to the hub; takes hub_fd. A signal (SIGTERM, SIGINT, SIGHUP) is
 * as the end of input, a second one ends it at once. 0, a negative errno, FRONT_E_LOST (Diag). For
 * a process that ends afterwards: the signals are blocked on return. */
int front_stdio(int hub_fd, Diag *reterr_diag);
