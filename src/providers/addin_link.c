/* A link is one connection:
 *
 *     OPEN --no message, too large a frame--> CLOSING --why is written, or a second--> DEAD
 *     (CLOSING also waits for the beginning of a frame that is too large, which names its call)
 *     any --it has gone, the stream failed, no pong came--> DEAD
 *
 * Links are changed and freed between events only (addin_links_settle), since ends of calls, and so
 * the starts of others, come from inside their sessions: whoever has a reason puts a link on the
 * list of those that are due.
 *
 * What an add-in that does not read can make us hold: calls are handed on while no more bytes wait
 * than the largest message has, so that at most twice as many do, in however many messages; and
 * beyond that there is room for answers (pongs, errors) only. Reading never pauses, whatever waits
 * to be written: an add-in that writes a large result before it reads on would wait for us, and we
 * for it. One that asks for more answers than there is room for, and reads none, is closed.
 */
#include "providers/addin_link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "io/descriptor_look.h"
#include "io/error_text.h"
#include "providers/addin_links.h"

/* Room for answers beside the calls: hundreds of pongs and errors. */
#define LINK_ANSWER_BYTES ((size_t)64 * 1024)

static size_t links_frame_bytes(const AddinLinks *links)
{
    return (size_t)links->max_bytes + LEN32_HEADER_BYTES;
}

bool addin_link_has_room(AddinLink *link)
{
    size_t max = links_frame_bytes(link->owner);

    /* What the system would take does not wait for the add-in. */
    if (pipe_link_pending(&link->wire) > max) {
        link->wire.sink.flush(link->wire.sink.context);
    }
    return pipe_link_pending(&link->wire) <= max;
}

/* ---- what happens to a link ---- */

void addin_link_mark_due(AddinLink *link)
{
    if (!link->is_due) {
        link->is_due = true;
        link->next_due = link->owner->due;
        link->owner->due = link;
    }
}

static void link_say_why(AddinLink *link, Span why)
{
    (void)snprintf(link->why, sizeof(link->why), "%.*s", (int)why.n, why.n > 0 ? why.p : "");
}

/* Nobody is there any more. */
static void link_die(AddinLink *link, Span why)
{
    if (link->state == ADDIN_LINK_OPEN) {
        link_say_why(link, why);
    }
    link->state = ADDIN_LINK_DEAD;
    addin_link_mark_due(link);
}

/* What came is no message; an error says so, and is written before the end. */
static void link_refuse(AddinLink *link, Span why)
{
    if (link->state != ADDIN_LINK_OPEN) {
        return;
    }
    link->owner->counts.refused++;
    logsink_write(link->owner->log, LOGSINK_LEVEL_WARN, "pipe", "%s is closed: %.*s", link->name,
                  (int)why.n, why.p);
    link_say_why(link, why);
    link->state = ADDIN_LINK_CLOSING;
    link->close_by_ms = io_loop_now_ms(link->owner->loop) + ADDIN_CLOSE_MS;
    addin_link_mark_due(link);
}

/* The session could not send, and half of a message may have left. */
static void link_check(AddinLink *link)
{
    int r = pipe_hub_error(link->hub);

    if (link->state == ADDIN_LINK_OPEN && r != 0) {
        link_die(link, span_from_str(io_error_text(-r)));
    }
}

/* Notes when it must be looked at. Told for each message, so it is cheap, and moves no timer. */
static void link_note_due(AddinLink *link)
{
    AddinLinks *links = link->owner;
    int64_t due_ms = link->state == ADDIN_LINK_OPEN      ? pipe_hub_deadline(link->hub)
                     : link->state == ADDIN_LINK_CLOSING ? link->close_by_ms
                                                         : INT64_MAX;

    if (link->idle_ms == INT64_MAX && pipe_link_keeps_much(&link->wire)) {
        link->idle_ms = io_loop_now_ms(links->loop) + ADDIN_IDLE_MS;
    }
    due_ms = link->idle_ms < due_ms ? link->idle_ms : due_ms;
    links->due_ms = due_ms < links->due_ms ? due_ms : links->due_ms;
}

/* ---- what the wire tells ---- */

static void link_on_message(void *context, Span message)
{
    AddinLink *link = context;
    int r;

    if (link->state != ADDIN_LINK_OPEN) {
        return;
    }
    link->touched_ms = io_loop_now_ms(link->owner->loop);
    r = pipe_hub_receive(link->hub, message, link->touched_ms);
    if (r == PIPE_E_PROTOCOL) {
        link_refuse(link, SPAN("what came is no message"));
        pipe_link_pause(&link->wire);
    } else if (r < 0) {
        link_die(link, r == -ENOBUFS ? SPAN("it does not read the answers that it asks for")
                                     : span_from_str(io_error_text(-r)));
    }
}

/* It is told why at once, and the call whose result it is ends when that is known: at once if there
 * is only one, else by the beginning of the message. */
static bool link_on_oversize(void *context, uint32_t declared, Span head)
{
    AddinLink *link = context;
    char why[ADDIN_WHY_SIZE];

    if (link->state == ADDIN_LINK_OPEN) {
        uint32_t other = pipe_hub_other_order(link->hub, declared);

        if (other > 0) {
            logsink_write(link->owner->log, LOGSINK_LEVEL_WARN, "pipe",
                          "%s: in the other byte order the length is %u: on the pipe lengths are "
                          "little-endian (on the call socket they are big-endian)",
                          link->name, (unsigned)other);
        }
        (void)pipe_hub_refuse_size(link->hub, declared);
        (void)snprintf(why, sizeof(why), "a message of %u bytes, over the limit of %u",
                       (unsigned)declared, (unsigned)link->owner->max_bytes);
        link_refuse(link, span_from_str(why));
    }
    link->awaits_head =
        !pipe_hub_refuse_result(link->hub, declared, head) && head.n < PIPE_LINK_HEAD_BYTES;
    addin_link_mark_due(link);
    return link->awaits_head;
}

/* The stream flushes by itself. */
static void link_on_settle(void *context)
{
    AddinLink *link = context;

    link_check(link);
    link_note_due(link);
}

static void link_on_ended(void *context, Span why)
{
    link_die(context, why);
}

static void link_on_drained(void *context)
{
    addin_link_mark_due(context);
}

static const PipeLinkOps link_ops = {
    .message = link_on_message,
    .oversize = link_on_oversize,
    .settle = link_on_settle,
    .ended = link_on_ended,
    .drained = link_on_drained,
};

/* ---- what the session tells ---- */

static bool links_have_name(const AddinLinks *links, const AddinLink *but, const char *name)
{
    for (const AddinLink *link = links->newest; link != NULL; link = link->older) {
        if (link != but && strcmp(link->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The name that it gives itself; "-2", "-3"… behind it if that is taken. */
static void link_set_name(AddinLink *link, const char *name)
{
    char suffix[16] = "";
    char full[ADDIN_NAME_SIZE];
    size_t n = 1;

    do {
        (void)snprintf(full, sizeof(full), "%.*s%s", (int)(sizeof(full) - 1 - strlen(suffix)), name,
                       suffix);
        n++;
        (void)snprintf(suffix, sizeof(suffix), "-%zu", n);
    } while (links_have_name(link->owner, link, full));
    (void)snprintf(link->name, sizeof(link->name), "%s", full);
}

void addin_link_greet(AddinLink *link)
{
    const LogSink *log = link->owner->log;

    if (link->is_greeted || link->list == ADDIN_LIST_ASKED || link->offers.n_new > 0 ||
        link->state != ADDIN_LINK_OPEN) {
        return;
    }
    link->is_greeted = true;
    /* One that has only read its list again was not away. */
    link->owner->n_away -= !link->is_known && link->owner->n_away > 0;
    if (link->offers.n_unsaid > 0) {
        logsink_write(log, LOGSINK_LEVEL_WARN, "pipe", "%s: and %zu more are left out", link->name,
                      link->offers.n_unsaid);
    }
    if (link->list == ADDIN_LIST_TOLD) {
        logsink_write(log, LOGSINK_LEVEL_INFO, "pipe", "%s %s %zu tools and resources", link->name,
                      link->is_known ? "now offers" : "is connected and offers",
                      link->offers.n - link->offers.n_bad);
    } else {
        logsink_write(log, LOGSINK_LEVEL_INFO, "pipe",
                      "%s is connected and tells no list: it gets calls of the tools file's tools",
                      link->name);
    }
}

static void link_on_listed(void *context, JsonValue data)
{
    AddinLink *link = context;
    AddinLinks *links = link->owner;
    char name[ADDIN_NAME_SIZE];

    if (link->list != ADDIN_LIST_ASKED) {
        /* Asked again, it could not say: then nothing is known to have changed. */
        if (data.node == NULL) {
            return;
        }
        addin_entries_withdraw(links->entries, &link->offers);
        link->offers.n_unsaid = 0;
        link->is_greeted = false;
        link->is_known = true;
    }
    if (addin_list_name(data, name)) {
        link_set_name(link, name);
        link->is_named = true;
        addin_link_mark_due(link);
    }
    link->list = addin_list_offer(links->entries, &link->offers, data, links->log)
                     ? ADDIN_LIST_TOLD
                     : ADDIN_LIST_SILENT;
    links->has_moved = true;
    addin_link_greet(link);
}

static void link_on_told(void *context, Span code, Span message)
{
    const AddinLink *link = context;

    logsink_write(link->owner->log, LOGSINK_LEVEL_DEBUG, "pipe", "%s says %.*s: %.*s", link->name,
                  (int)code.n, code.n > 0 ? code.p : "", (int)message.n,
                  message.n > 0 ? message.p : "");
}

/* ---- life of a link ---- */

static void link_lose(AddinLink *link)
{
    if (!link->is_lost) {
        link->is_lost = true;
        pipe_hub_lost(link->hub, span_from_str(link->why));
    }
}

void addin_link_free(AddinLink *link)
{
    if (link->hub != NULL) {
        addin_link_count(link, &link->owner->counts);
    }
    addin_entries_withdraw(link->owner->entries, &link->offers);
    link->hub = pipe_hub_free(link->hub);
    pipe_link_deinit(&link->wire);
    (void)mem_free(link);
}

void addin_link_count(const AddinLink *link, AddinsCounts *counts)
{
    PipeHubCounts of_link = pipe_hub_counts(link->hub);

    counts->late += of_link.late;
    counts->bad += of_link.bad + of_link.unknown;
}

/* Takes fd in any case. 0, -ENOMEM, another negative errno. */
static int link_open(AddinLink *link, int fd, int64_t now_ms)
{
    AddinLinks *links = link->owner;
    int r = pipe_hub_new(&link->hub,
                         &(PipeHubConfig){.sink = &link->wire.sink,
                                          .source = &links->source.source,
                                          .seed = links->seed,
                                          .max_bytes = links->max_bytes,
                                          .ping_interval_ms = links->ping_interval_ms,
                                          .pong_timeout_ms = links->pong_timeout_ms,
                                          .listed = link_on_listed,
                                          .told = link_on_told,
                                          .context = link},
                         now_ms);

    if (r == 0) {
        r = pipe_link_open(&link->wire, fd);
    }
    if (r != 0) {
        io_fd_close(fd);
        return err_pass(r);
    }
    return err_pass(pipe_hub_list(link->hub, now_ms));
}

int addin_link_new(AddinLink **ret, AddinLinks *links, int fd, int64_t now_ms)
{
    static const IoTurnName unnamed = {.text = "an add-in"};
    AddinLink *link = mem_alloc_array(1, sizeof(*link));
    char name[ADDIN_NAME_SIZE];
    int r;

    if (link == NULL) {
        io_fd_close(fd);
        return err_raise(-ENOMEM);
    }
    link->owner = links;
    link->offers =
        (AddinOffers){.owner = link, .name = link->name, .serial = links->counts.accepted};
    link->touched_ms = now_ms;
    link->idle_ms = INT64_MAX;
    (void)snprintf(name, sizeof(name), "add-in-%llu", (unsigned long long)link->offers.serial);
    link_set_name(link, name);
    pipe_link_init(&link->wire, links->loop, links->max_bytes,
                   2 * links_frame_bytes(links) + LINK_ANSWER_BYTES, &link_ops, link);
    pipe_link_set_turn(&link->wire, &unnamed);
    r = link_open(link, fd, now_ms);
    if (r != 0) {
        addin_link_free(link);
        return err_pass(r);
    }
    *ret = link;
    return 0;
}

/* ---- calls ---- */

void addin_link_submit(AddinLink *link, Call *call, Span name)
{
    AddinCall *ours = addin_calls_begin(&link->owner->calls, call, link);
    bool has_ended = false;

    if (ours == NULL) {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN_NULL);
        return;
    }
    ours->ret_ended = &has_ended;
    pipe_hub_submit(link->hub, &ours->call, name, io_loop_now_ms(link->owner->loop));
    if (!has_ended) {
        ours->ret_ended = NULL;
        call->took_arguments = ours->call.took_arguments;
        /* They were lent until now. */
        ours->call.arguments = JSON_VALUE_NULL;
        ours->call.target = SPAN_NULL;
    }
    link_check(link);
    addin_link_mark_due(link);
}

void addin_link_cancel(Call *call)
{
    AddinCall *ours = call->provider_data;
    AddinLink *link;

    if (ours == NULL) {
        return;
    }
    link = ours->link;
    /* Until then it may be inside, and need not answer pings. */
    ours->call.deadline_ms = call->deadline_ms;
    pipe_hub_cancel(link->hub, &ours->call, io_loop_now_ms(link->owner->loop));
    addin_calls_forget(ours);
    link_note_due(link);
    if (link->state == ADDIN_LINK_OPEN) {
        link_check(link);
        addin_link_mark_due(link); /* it may have been told */
    }
}

/* ---- between events ---- */

static void link_name_turns(AddinLink *link)
{
    char turn[sizeof("the add-in ") + ADDIN_NAME_SIZE];

    (void)snprintf(turn, sizeof(turn), "the add-in %s", link->name);
    pipe_link_set_turn(&link->wire, io_turn_name(link->owner->loop, turn));
}

bool addin_link_settle(AddinLink *link)
{
    bool is_over =
        link->state == ADDIN_LINK_DEAD || (link->state == ADDIN_LINK_CLOSING && !link->awaits_head);

    if (is_over) {
        link_lose(link);
    }
    if (link->is_named) {
        link->is_named = false;
        link_name_turns(link);
    }
    pipe_link_flush(&link->wire);
    if (is_over && pipe_link_pending(&link->wire) == 0) {
        link->state = ADDIN_LINK_DEAD;
    }
    link_note_due(link);
    return link->state == ADDIN_LINK_DEAD;
}

/* Gives the memory of large messages back, unless they have come a moment ago. */
static void link_trim(AddinLink *link, int64_t now_ms)
{
    if (now_ms - link->touched_ms < ADDIN_IDLE_MS) {
        link->idle_ms = link->touched_ms + ADDIN_IDLE_MS;
        return;
    }
    pipe_link_trim(&link->wire);
    /* What still waits to be written cannot go, and is looked at again when it has. */
    link->idle_ms = pipe_link_keeps_much(&link->wire) ? now_ms + ADDIN_IDLE_MS : INT64_MAX;
}

void addin_link_tick(AddinLink *link, int64_t now_ms)
{
    if (link->state == ADDIN_LINK_CLOSING && now_ms >= link->close_by_ms) {
        link_die(link, SPAN_NULL);
    }
    if (link->state == ADDIN_LINK_OPEN && now_ms >= pipe_hub_deadline(link->hub)) {
        if (!pipe_hub_advance(link->hub, now_ms)) {
            link->owner->counts.dead++;
            link_die(link, SPAN("it does not answer pings"));
        }
        link_check(link);
        addin_link_mark_due(link);
    }
    if (now_ms >= link->idle_ms) {
        link_trim(link, now_ms);
    }
    link_note_due(link);
}
