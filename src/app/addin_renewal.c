#include "app/addin_renewal.h"

void addin_renewal_init(AddinRenewal *n, int64_t retry_ms, int64_t retry_max_ms)
{
    *n = (AddinRenewal){.step = ADDIN_RENEWAL_NONE};
    pipe_backoff_init(&n->backoff, retry_ms, retry_max_ms);
}

/* A hub that has not asked need not be told, and one that understands tools_changed is told so. */
static bool renewal_is_wanted(const AddinRenewal *n, const AddinSession *session)
{
    return n->step == ADDIN_RENEWAL_NONE && session->state == ADDIN_SESSION_OPEN &&
           !session->is_over && session->is_stale && !session->hears_changes;
}

bool addin_renewal_is_due(const AddinRenewal *n, const AddinSession *session, int64_t now_ms)
{
    return renewal_is_wanted(n, session) && now_ms >= n->retry_ms;
}

static void renewal_enter(AddinRenewal *n, AddinRenewalStep step, int64_t now_ms)
{
    n->step = step;
    n->is_late = false;
    n->by_ms = now_ms + ADDIN_RENEWAL_MS;
}

void addin_renewal_begin(AddinRenewal *n, AddinSession *from, AddinSession *to, int64_t now_ms)
{
    n->from = from;
    n->to = to;
    from->other = to;
    from->is_heir = false;
    to->other = from;
    to->is_heir = true;
    renewal_enter(n, ADDIN_RENEWAL_LISTING, now_ms);
}

static void renewal_clear(AddinRenewal *n)
{
    if (n->step != ADDIN_RENEWAL_NONE) {
        n->from->other = NULL;
        n->to->other = NULL;
    }
    n->from = NULL;
    n->to = NULL;
    n->step = ADDIN_RENEWAL_NONE;
}

void addin_renewal_fail(AddinRenewal *n, int64_t now_ms)
{
    renewal_clear(n);
    n->retry_ms = now_ms + pipe_backoff_next(&n->backoff);
}

void addin_renewal_end(AddinRenewal *n)
{
    renewal_clear(n);
    n->retry_ms = 0;
    pipe_backoff_reset(&n->backoff);
}

/* As a pong that is awaited by the keep-alive, what is awaited here may have come while a tool kept
 * the loop, so it is judged a turn late. */
static void renewal_check_time(AddinRenewal *n, int64_t now_ms)
{
    if (now_ms < n->by_ms) {
        return;
    }
    if (n->is_late) {
        addin_session_end(n->to, SPAN("the hub did not ask for what is offered in time"));
    }
    n->is_late = true;
}

void addin_renewal_advance(AddinRenewal *n, int64_t now_ms)
{
    if (n->step == ADDIN_RENEWAL_LISTING && n->to->has_listed &&
        addin_session_ping(n->to, now_ms)) {
        renewal_enter(n, ADDIN_RENEWAL_PROVING, now_ms);
    }
    if (n->step == ADDIN_RENEWAL_PROVING && addin_session_is_ponged(n->to) &&
        addin_session_ping(n->from, now_ms)) {
        renewal_enter(n, ADDIN_RENEWAL_LEAVING, now_ms);
    }
    if (n->step == ADDIN_RENEWAL_LEAVING && addin_session_is_ponged(n->from)) {
        renewal_enter(n, ADDIN_RENEWAL_EMPTYING, now_ms);
    }
    if (n->step == ADDIN_RENEWAL_EMPTYING && n->from->state == ADDIN_SESSION_OPEN &&
        addin_session_is_idle(n->from)) {
        addin_session_end(n->from, SPAN("what is offered has changed"));
    }
    if (n->step == ADDIN_RENEWAL_LISTING || n->step == ADDIN_RENEWAL_PROVING) {
        renewal_check_time(n, now_ms);
    }
}

int64_t addin_renewal_deadline(const AddinRenewal *n, const AddinSession *session)
{
    if (n->step == ADDIN_RENEWAL_LISTING || n->step == ADDIN_RENEWAL_PROVING) {
        return n->by_ms;
    }
    return renewal_is_wanted(n, session) ? n->retry_ms : INT64_MAX;
}
