/* Open requests, and the queues of conversations. */
#include "app/agent_impl.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

/* A conversation that somebody waits for or works in. */
struct AgentTalk {
    AgentItem *first; /* has begun */
    AgentItem *last;
};

int agent_item_init(AgentItem *item, Agent *agent, AgentItemKind kind, const AgentItemOps *ops,
                    const AgentRequest *request)
{
    Span conversation =
        request->conversation_id.n > 0 ? request->conversation_id : bytes_span(&agent->current);

    item->ops = ops;
    item->kind = kind;
    item->agent = agent;
    arena_init(&item->arena, LIMIT_AGENT_TURN_BYTES);
    item->id = arena_copy(&item->arena, request->id);
    item->conversation = arena_copy(&item->arena, conversation);
    return item->id.p != NULL && item->conversation.p != NULL ? 0 : err_raise(-ENOMEM);
}

AgentItem *agent_item_free(AgentItem *item)
{
    if (item == NULL) {
        return NULL;
    }
    item->ops->free(item);
    arena_deinit(&item->arena);
    return mem_free(item);
}

/* One whose turn comes after everything was cut does not begin. */
static void item_begin(AgentItem *item)
{
    if (item->agent->life >= AGENT_CUT) {
        item->was_stopped = true;
        item->ops->stop(item, TURN_END_FAILED, SPAN(AGENT_CUT_WORDS));
        return;
    }
    item->has_begun = true;
    item->ops->begin(item);
}

/* Puts it into the queue of its conversation. 0, -ENOMEM. */
static int item_queue(AgentItem *item)
{
    Agent *agent = item->agent;
    AgentTalk *talk = map_get(&agent->talks, item->conversation);
    int r;

    if (talk == NULL) {
        talk = mem_alloc_array(1, sizeof(*talk));
        r = talk == NULL ? -ENOMEM : map_add(&agent->talks, item->conversation, talk);
        if (r != 0) {
            (void)mem_free(talk);
            return err_raise(-ENOMEM);
        }
    }
    item->talk = talk;
    if (talk->last != NULL) {
        talk->last->next_in_talk = item;
    } else {
        talk->first = item;
    }
    talk->last = item;
    return 0;
}

int agent_item_submit(AgentItem *item, bool is_queued)
{
    Agent *agent = item->agent;

    if (is_queued && item_queue(item) != 0) {
        return err_raise(-ENOMEM);
    }
    item->prev = agent->last;
    if (agent->last != NULL) {
        agent->last->next = item;
    } else {
        agent->first = item;
    }
    agent->last = item;
    agent->n_items++;
    agent_server_set(&agent->server, item->id, item);
    if (item->talk == NULL || item->talk->first == item) {
        item_begin(item);
    }
    return 0;
}

/* Takes it out of its conversation's queue, wherever it is in it. Returns who is first then, if
 * that is somebody else. */
static AgentItem *item_unqueue(AgentItem *item)
{
    AgentTalk *talk = item->talk;
    bool was_first = talk->first == item;
    AgentItem *before = NULL;

    for (AgentItem *at = talk->first; at != item; at = at->next_in_talk) {
        before = at;
    }
    if (before != NULL) {
        before->next_in_talk = item->next_in_talk;
    } else {
        talk->first = item->next_in_talk;
    }
    if (talk->last == item) {
        talk->last = before;
    }
    item->talk = NULL;
    if (talk->first == NULL) {
        (void)map_remove(&item->agent->talks, item->conversation);
        (void)mem_free(talk);
        return NULL;
    }
    return was_first ? talk->first : NULL;
}

void agent_item_end(AgentItem *item)
{
    Agent *agent = item->agent;
    AgentItem *next = item->talk != NULL ? item_unqueue(item) : NULL;

    if (item->prev != NULL) {
        item->prev->next = item->next;
    } else {
        agent->first = item->next;
    }
    if (item->next != NULL) {
        item->next->prev = item->prev;
    } else {
        agent->last = item->prev;
    }
    agent->n_items--;
    agent_server_end(&agent->server, item->id);
    (void)agent_item_free(item);
    if (next != NULL) {
        item_begin(next);
    }
    agent_look_at_end(agent);
}

/* The first that is concerned and has not been stopped yet. One that ends may take others with it,
 * so that nobody's neighbour is remembered. */
static AgentItem *items_next_to_stop(const Agent *agent, Span id, TurnEnd end)
{
    for (AgentItem *item = agent->first; item != NULL; item = item->next) {
        if (!item->was_stopped && (id.n == 0 || span_equals(item->id, id)) &&
            (end == TURN_END_FAILED || item->kind == AGENT_ITEM_RUN)) {
            return item;
        }
    }
    return NULL;
}

size_t agent_items_stop(Agent *agent, Span id, TurnEnd end, Span words)
{
    AgentItem *item;
    size_t n = 0;

    while ((item = items_next_to_stop(agent, id, end)) != NULL) {
        item->was_stopped = true;
        n++;
        item->ops->stop(item, end, words);
    }
    return n;
}
