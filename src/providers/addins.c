#include "providers/addins.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/random.h"
#include "dialect/pipe/message.h"
#include "io/listener.h"
#include "io/pipe_place.h"
#include "providers/addin_entries.h"
#include "providers/addin_link.h"
#include "providers/addin_links.h"
#include "providers/addin_words.h"

/* What timers may be late by under ordinary load; and what everybody gets when they were later. */
#define ADDINS_LATE_MS  5
#define ADDINS_GRACE_MS 100

/* A sentence that names a tool and a pipe. */
#define ADDINS_WORDS_SIZE 480

struct Addins {
    AddinEntries entries;
    AddinLinks links;
    IoListener *listener;
    IoTimer *timer;
    IoTimer *again; /* ends the loop's wait at once */
    IoBeforeWait *settle;
    char *name;
    char *path;
    int64_t timer_ms; /* what the timer is set to; INT64_MAX: nothing */
    bool has_waited;  /* since the timer came late */
    Arena words;      /* of the last error of our own */
};

/* ---- calls ---- */

static void addins_fail(Addins *addins, Call *call, const char *words)
{
    CallResult result;

    if (call->verb != CALL_TOOL) {
        call_fail(call, CALL_ERROR_UNAVAILABLE, span_from_str(words));
        return;
    }
    arena_reset(&addins->words, LIMIT_KEEP_BYTES);
    if (pipe_result_fail(&result, &addins->words, PIPE_CODE_NOT_AVAILABLE, span_from_str(words)) !=
        0) {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN_NULL);
        return;
    }
    call_finish(call, &result);
}

static void addins_fail_unserved(Addins *addins, Call *call, const AddinEntry *entry)
{
    char words[ADDINS_WORDS_SIZE];

    (void)snprintf(words, sizeof(words),
                   "no add-in that offers %.*s is connected to the pipe %.160s; start the "
                   "application, then call again",
                   (int)(entry->key.n < 160 ? entry->key.n : 160), entry->key.p, addins->name);
    addins_fail(addins, call, words);
}

static void addins_start(void *context, Call *call)
{
    const AddinEntry *entry = context;
    Addins *addins = entry->owner;
    AddinLink *link = addin_links_find(&addins->links, entry);

    if (link == NULL) {
        addins_fail_unserved(addins, call, entry);
    } else if (!addin_link_has_room(link)) {
        addins_fail(addins, call,
                    "the add-in does not read what it is sent; the call has not run: call again "
                    "when it has done its work");
    } else {
        addin_link_submit(link, call, entry->key);
    }
}

static void addins_cancel(void *context, Call *call)
{
    (void)context;
    addin_link_cancel(call);
}

static bool addins_word(void *context, const CallResult *error, CallResult *ret)
{
    const AddinEntry *entry = context;
    Addins *addins = entry->owner;

    arena_reset(&addins->words, LIMIT_KEEP_BYTES);
    return addin_words_for(ret, &addins->words, error);
}

static bool addins_are_there(void *context)
{
    const AddinEntry *entry = context;
    const Addins *addins = entry->owner;

    return addin_links_serve(&addins->links, entry);
}

static const CallProvider addins_tools = {.name = "addin",
                                          .start = addins_start,
                                          .cancel = addins_cancel,
                                          .word = addins_word,
                                          .is_there = addins_are_there};
static const CallProvider addins_resources = {
    .name = "addin", .start = addins_start, .cancel = addins_cancel};

/* ---- events ---- */

static void addins_on_accept(void *context, int fd)
{
    Addins *addins = context;

    addin_links_add(&addins->links, fd);
}

/* The next slice of what is offered comes before the next wait. */
static void addins_on_again(void *context)
{
    (void)context;
}

/* Moving a timer costs more than a message: one that is due later than the timer fires is looked at
 * when it does. */
static void addins_on_settle(void *context)
{
    Addins *addins = context;

    if (addin_links_settle(&addins->links)) {
        io_timer_start_at(addins->again, io_loop_now_ms(addins->links.loop));
    }
    if (addins->links.has_moved) {
        addins->links.has_moved = false;
        router_there_changed(addins->entries.router);
    }
    if (addins->links.due_ms < addins->timer_ms) {
        addins->timer_ms = addins->links.due_ms;
        io_timer_start_at(addins->timer, addins->timer_ms);
    }
}

/* A timer that comes late means that this process was stopped or starved: what add-ins have sent
 * meanwhile lies unread, and the fault is not theirs. It is read before anybody is judged. */
static void addins_on_timer(void *context)
{
    Addins *addins = context;
    int64_t now_ms = io_loop_now_ms(addins->links.loop);

    if (!addins->has_waited && now_ms - addins->timer_ms > ADDINS_LATE_MS) {
        addins->has_waited = true;
        addins->timer_ms = now_ms + ADDINS_GRACE_MS;
        io_timer_start_at(addins->timer, addins->timer_ms);
        return;
    }
    addins->has_waited = false;
    addins->timer_ms = INT64_MAX;
    addin_links_tick(&addins->links, now_ms);
}

/* ---- life ---- */

static int addins_copy(char **ret, const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = mem_alloc(n);

    if (copy == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(copy, text, n);
    *ret = copy;
    return 0;
}

static int64_t addins_time(int64_t ms)
{
    return ms < 0 ? 0 : ms > LIMIT_TIME_MS ? LIMIT_TIME_MS : ms;
}

static int addins_init_links(Addins *addins, const AddinsConfig *config)
{
    uint8_t random[16];
    int r = random_fill(random, sizeof(random));

    if (r != 0) {
        return err_pass(r);
    }
    addins->links.entries = &addins->entries;
    addins->links.log = config->log;
    addins->links.seed = hash_seed_from(random);
    addins->links.ping_interval_ms = addins_time(config->ping_interval_ms);
    addins->links.pong_timeout_ms = addins_time(config->pong_timeout_ms);
    addins->links.max_bytes = config->max_bytes != 0 ? config->max_bytes : LIMIT_PIPE_MESSAGE_BYTES;
    addin_links_init(&addins->links);
    return 0;
}

/* 0, a negative errno, ADDINS_E_TOOLS. */
static int addins_init_tools(Addins *addins, const AddinsConfig *config, Diag *reterr_diag)
{
    int r = addin_entries_init(&addins->entries, config->router, &addins_tools, &addins_resources,
                               addins, config->log);

    if (r == 0 && config->tools_path != NULL) {
        r = addin_entries_load(&addins->entries, config->tools_path, reterr_diag);
    }
    if (r > 0 && reterr_diag != NULL) {
        reterr_diag->code = ADDINS_E_TOOLS; /* the words are there */
    }
    return r > 0 ? ADDINS_E_TOOLS : err_pass(r);
}

/* 0, a negative errno, ADDINS_E_PLACE. */
static int addins_listen(Addins *addins, Diag *reterr_diag)
{
    int r = io_listener_new(&addins->listener,
                            &(IoListenerConfig){.loop = addins->links.loop,
                                                .path = addins->path,
                                                .accept = addins_on_accept,
                                                .context = addins,
                                                .log = addins->links.log},
                            reterr_diag);

    if (r > 0 && reterr_diag != NULL) {
        reterr_diag->code = ADDINS_E_PLACE;
    }
    return r > 0 ? ADDINS_E_PLACE : err_pass(r);
}

/* 0, a negative errno, ADDINS_E_*. */
static int addins_init(Addins *addins, const AddinsConfig *config, Diag *reterr_diag)
{
    int r = addins_copy(&addins->name, config->name);

    if (r != 0) {
        return err_pass(r);
    }
    r = io_pipe_place(&addins->path, config->name, reterr_diag);
    if (r > 0) {
        if (reterr_diag != NULL) {
            reterr_diag->code = ADDINS_E_PLACE;
        }
        return ADDINS_E_PLACE;
    }
    if (r == 0) {
        r = addins_init_links(addins, config);
    }
    if (r == 0) {
        r = io_timer_new(&addins->timer, config->loop, true, addins_on_timer, addins);
    }
    if (r == 0) {
        r = io_timer_new(&addins->again, config->loop, true, addins_on_again, addins);
    }
    if (r == 0) {
        r = io_before_wait_new(&addins->settle, config->loop, addins_on_settle, addins);
    }
    if (r != 0) {
        return err_pass(r);
    }
    r = addins_init_tools(addins, config, reterr_diag);
    if (r != 0) {
        return r;
    }
    return addins_listen(addins, reterr_diag);
}

int addins_new(Addins **ret, const AddinsConfig *config, Diag *reterr_diag)
{
    Addins *addins = mem_alloc_array(1, sizeof(*addins));
    int r;

    if (addins == NULL) {
        return err_raise(-ENOMEM);
    }
    addins->entries = ADDIN_ENTRIES_NULL;
    addins->links.loop = config->loop;
    addins->timer_ms = INT64_MAX;
    arena_init(&addins->words, SIZE_MAX); /* bounded by what the router says */
    r = addins_init(addins, config, reterr_diag);
    if (r != 0) {
        (void)addins_free(addins);
        return r;
    }
    *ret = addins;
    return 0;
}

Addins *addins_free(Addins *addins)
{
    if (addins == NULL) {
        return NULL;
    }
    addins->listener = io_listener_free(addins->listener);
    /* What is offered goes first: the end of a call must not lead to the start of another. */
    addin_entries_hide(&addins->entries);
    addin_links_deinit(&addins->links);
    addin_entries_deinit(&addins->entries);
    addins->settle = io_before_wait_free(addins->settle);
    addins->timer = io_timer_free(addins->timer);
    addins->again = io_timer_free(addins->again);
    arena_deinit(&addins->words);
    addins->name = mem_free(addins->name);
    addins->path = mem_free(addins->path);
    return mem_free(addins);
}

bool addins_expect(const Addins *addins, int64_t within_ms)
{
    return addin_links_expect(&addins->links, within_ms);
}

const char *addins_path(const Addins *addins)
{
    return addins->path;
}

AddinsCounts addins_counts(const Addins *addins)
{
    return addin_links_counts(&addins->links);
}
