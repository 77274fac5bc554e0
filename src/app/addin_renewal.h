/* app/addin_renewal.h: how an add-in gets a hub to ask anew what it offers; used by addin_door.c
 * only.
 *
 * For hubs that do not understand tools_changed: such a hub asks each connection once. So a second
 * one is made, and takes over without the loss of a call:
 *
 *     LISTING    it stands; the hub is to ask it what is offered
 *     PROVING    it was answered, and pinged: the pong shows that the hub has read the list. From
 *                then on it sends all calls there, since that is the newest connection with the
 *                tools
 *     LEAVING    the old one was pinged: the pong shows that all calls that were sent there before
 *                have come
 *     EMPTYING   they end; then the old connection is closed
 *
 * LISTING and PROVING last ADDIN_RENEWAL_MS each at most; then the new connection is given up. If
 * it is, or is lost, or could not be had, the old one stays and another attempt follows with the
 * usual waiting. In LEAVING the keep-alive finds a hub that is silent. Thread: loop. */
#pragma once

#include "app/addin_session.h"
#include "dialect/pipe/backoff.h"

#include <stdbool.h>
#include <stdint.h>

/* What asks for the list does so at once, and a ping is answered at once: 10 s, as for a pong. */
#define ADDIN_RENEWAL_MS 10000

typedef enum AddinRenewalStep {
    ADDIN_RENEWAL_NONE,
    ADDIN_RENEWAL_LISTING,
    ADDIN_RENEWAL_PROVING,
    ADDIN_RENEWAL_LEAVING,
    ADDIN_RENEWAL_EMPTYING,
} AddinRenewalStep;

typedef struct AddinRenewal {
    AddinRenewalStep step;
    AddinSession *from; /* NULL with NONE, as `to` */
    AddinSession *to;
    bool is_late;     /* by_ms has passed; it is judged in the next turn */
    int64_t by_ms;    /* LISTING, PROVING */
    int64_t retry_ms; /* NONE: not before */
    PipeBackoff backoff;
} AddinRenewal;

void addin_renewal_init(AddinRenewal *n, int64_t retry_ms, int64_t retry_max_ms);

/* Should the session, which stands, be replaced now? */
bool addin_renewal_is_due(const AddinRenewal *n, const AddinSession *session, int64_t now_ms);

/* `to` has been opened. */
void addin_renewal_begin(AddinRenewal *n, AddinSession *from, AddinSession *to, int64_t now_ms);

/* `to` could not be opened, or has closed. */
void addin_renewal_fail(AddinRenewal *n, int64_t now_ms);

/* `from` has closed: `to` is the connection now. Also if nothing goes on. */
void addin_renewal_end(AddinRenewal *n);

/* Once a turn, after both have settled and before they finish. */
void addin_renewal_advance(AddinRenewal *n, int64_t now_ms);

/* When that must be called next, or is_due be asked. */
int64_t addin_renewal_deadline(const AddinRenewal *n, const AddinSession *session);
