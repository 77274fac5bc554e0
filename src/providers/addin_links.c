#include "providers/addin_links.h"

#include <assert.h>

#include "base/alloc.h"
#include "io/descriptor_look.h"
#include "io/error_text.h"

void addin_links_init(AddinLinks *links)
{
    addin_source_init(&links->source, links->loop);
    links->calls = ADDIN_CALLS_NULL;
    links->due_ms = INT64_MAX;
    links->trim_ms = INT64_MAX;
}

static void links_unlink(AddinLinks *links, AddinLink *link)
{
    if (link->newer != NULL) {
        link->newer->older = link->older;
    } else {
        links->newest = link->older;
    }
    if (link->older != NULL) {
        link->older->newer = link->newer;
    }
}

void addin_links_add(AddinLinks *links, int fd)
{
    AddinLink *link = NULL;
    int r;

    if (links->n >= ADDIN_MAX_LINKS) {
        io_fd_close(fd);
        logsink_write(links->log, LOGSINK_LEVEL_WARN, "pipe",
                      "an add-in is refused: %zu are connected already", links->n);
        return;
    }
    links->counts.accepted++;
    r = addin_link_new(&link, links, fd, io_loop_now_ms(links->loop));
    if (r != 0) {
        logsink_write(links->log, LOGSINK_LEVEL_WARN, "pipe", "an add-in is refused: %s",
                      io_error_text(-r));
        return;
    }
    link->older = links->newest;
    if (links->newest != NULL) {
        links->newest->newer = link;
    }
    links->newest = link;
    links->n++;
    addin_link_mark_due(link);
    logsink_write(links->log, LOGSINK_LEVEL_DEBUG, "pipe", "%s has come", link->name);
}

/* The first of those that offer it, and are there; NULL if there is none. One whose description was
 * refused does not offer it; one whose description is not settled does: an add-in that hands over
 * to a new connection counts on that one from the moment when its list was read. */
static AddinLink *links_first_offering(const AddinEntry *entry)
{
    for (const AddinOffer *offer = addin_entry_offers(entry); offer != NULL; offer = offer->next) {
        AddinLink *link = offer->owner;

        if (!offer->is_bad && link->state == ADDIN_LINK_OPEN) {
            return link;
        }
    }
    return NULL;
}

/* Of those that offer it the one that came last. Those that have told no list offer what the file
 * has; those that have not answered yet come last. */
AddinLink *addin_links_find(const AddinLinks *links, const AddinEntry *entry)
{
    AddinLink *best = links_first_offering(entry);
    AddinLink *asked = NULL;

    if (!addin_entry_is_in_file(entry)) {
        return best;
    }
    for (AddinLink *link = links->newest; link != NULL && link != best; link = link->older) {
        if (link->state != ADDIN_LINK_OPEN) {
            continue;
        }
        if (link->list == ADDIN_LIST_SILENT) {
            return link;
        }
        if (link->list == ADDIN_LIST_ASKED && asked == NULL) {
            asked = link;
        }
    }
    return best != NULL ? best : asked;
}

bool addin_links_serve(const AddinLinks *links, const AddinEntry *entry)
{
    const AddinLink *link = addin_links_find(links, entry);

    return link != NULL && (link->list != ADDIN_LIST_ASKED || link == links_first_offering(entry));
}

/* ---- between events ---- */

static void links_note_trim(AddinLinks *links)
{
    links->due_ms = links->trim_ms < links->due_ms ? links->trim_ms : links->due_ms;
}

/* One that is over. */
static void links_drop(AddinLinks *links, AddinLink *link)
{
    logsink_write(links->log, LOGSINK_LEVEL_INFO, "pipe", "%s has gone%s%s", link->name,
                  link->why[0] != '\0' ? ": " : "", link->why);
    links_unlink(links, link);
    addin_link_free(link);
    links->n--;
    links->trim_ms = io_loop_now_ms(links->loop) + ADDIN_IDLE_MS;
    links_note_trim(links);
}

/* Once: it is not greeted any more. */
static void links_note_away(AddinLinks *links, AddinLink *link)
{
    if (link->is_greeted || link->is_known) {
        link->is_greeted = false;
        link->is_known = false;
        links->n_away++;
        links->left_ms = io_loop_now_ms(links->loop);
    }
}

bool addin_links_expect(const AddinLinks *links, int64_t within_ms)
{
    bool expects = links->n_away > 0 && io_loop_now_ms(links->loop) - links->left_ms < within_ms;

    for (const AddinLink *link = links->newest; !expects && link != NULL; link = link->older) {
        expects = link->state == ADDIN_LINK_OPEN && !link->is_greeted;
    }
    return expects;
}

/* What all those offered that go in this turn, at once, and before their calls end. */
static void links_withdraw(AddinLinks *links)
{
    for (AddinLink *link = links->due; link != NULL; link = link->next_due) {
        if (link->state != ADDIN_LINK_OPEN) {
            addin_entries_withdraw(links->entries, &link->offers);
            links->has_moved = true;
            links_note_away(links, link);
        }
    }
}

/* True if it did anything. */
static bool links_settle_entries(AddinLinks *links)
{
    if (!addin_entries_are_due(links->entries)) {
        return false;
    }
    (void)addin_entries_settle(links->entries, ADDIN_SLICE_COST);
    for (AddinLink *link = links->newest; link != NULL; link = link->older) {
        addin_link_greet(link);
    }
    return true;
}

bool addin_links_settle(AddinLinks *links)
{
    AddinLink *link;
    bool is_changed;

    links_withdraw(links);
    is_changed = links_settle_entries(links);
    while ((link = links->due) != NULL) {
        links->due = link->next_due;
        link->is_due = false;
        if (addin_link_settle(link)) {
            /* It gets no calls any more, so that nothing has made it due again. */
            assert(!link->is_due);
            links_drop(links, link);
        }
    }
    return is_changed;
}

void addin_links_tick(AddinLinks *links, int64_t now_ms)
{
    links->due_ms = INT64_MAX;
    for (AddinLink *link = links->newest; link != NULL; link = link->older) {
        addin_link_tick(link, now_ms);
    }
    /* What many had at once is no longer needed when they have gone. */
    if (now_ms >= links->trim_ms) {
        links->trim_ms = INT64_MAX;
        mem_trim();
    }
    links_note_trim(links);
}

AddinsCounts addin_links_counts(const AddinLinks *links)
{
    AddinsCounts counts = links->counts;

    counts.connected = links->n;
    for (const AddinLink *link = links->newest; link != NULL; link = link->older) {
        addin_link_count(link, &counts);
    }
    return counts;
}

void addin_links_deinit(AddinLinks *links)
{
    while (links->newest != NULL) {
        AddinLink *link = links->newest;

        links_unlink(links, link);
        addin_link_free(link);
    }
    links->due = NULL;
    links->n = 0;
    addin_calls_deinit(&links->calls);
}
