/* app/hub_ask.h: one HTTP request to the hub of a state folder, at the socket that it has for its
 * user (hub_place_queue). Waits for the answer. Thread: one at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"

#include <stdbool.h>

enum {
    HUB_ASK_E_NO_HUB = 1, /* nobody listens there, or not for us */
    HUB_ASK_E_LOST,       /* it has gone, or answered in a way that is not HTTP; the Diag says */
};

typedef struct HubAnswer {
    unsigned status;
    bool is_last; /* the hub says that it ends: asking it again is in vain */
} HubAnswer;

/* state_folder NULL: the user's. Appends the answer's body, JSON or nothing, to out. 0, a
 * negative errno, HUB_ASK_E_*. */
int hub_ask(const char *state_folder, Span method, Span target, Bytes *out, HubAnswer *ret,
            Diag *reterr_diag);
