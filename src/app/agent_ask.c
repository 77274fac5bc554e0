/* Requests about conversations and the agent's status: one operation of the store each. */
#include "app/agent_impl.h"

#include <errno.h>

#include "app/version.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/uuid.h"
#include "json/writer.h"

typedef struct AgentAsk {
    AgentItem item;
    AgentKind what;
    Span title;
    Span before; /* NEW_, LOAD_CONVERSATION: which was the current one */
    AgentStoreOp op;
} AgentAsk;

/* What a conversation may take that is told in one line: a text can grow sixfold when it is
 * escaped, but texts of nothing but control characters are halved until they fit. */
#define ASK_LOAD_BYTES ((size_t)LIMIT_AGENT_LINE_BYTES / 2)

/* For a status only the count is wanted. */
#define ASK_NO_BYTES 1

static void ask_fail(AgentAsk *ask, const char *words)
{
    agent_tell_error(ask->item.agent, ask->item.id, span_from_str(words));
    agent_item_end(&ask->item);
}

static JsonWriter ask_begin_data(Agent *agent)
{
    JsonWriter w;

    bytes_clear_keep(&agent->data, LIMIT_KEEP_BYTES);
    json_writer_init(&w, &agent->data, JSON_STYLE_COMPACT);
    return w;
}

static void ask_write_text(JsonWriter *w, const char *key, Span text)
{
    json_write_key(w, span_from_str(key));
    json_write_exact(w, text);
}

/* ---- conversations ---- */

static int ask_set_current(Agent *agent, Span id)
{
    bytes_clear(&agent->current);
    return bytes_append_span(&agent->current, id);
}

static bool ask_switches(const AgentAsk *ask)
{
    return ask->what == AGENT_KIND_NEW_CONVERSATION || ask->what == AGENT_KIND_LOAD_CONVERSATION;
}

/* It is the current one from now on: what is sent behind this request belongs to it, whether or not
 * the shell has waited for the answer. */
static int ask_switch(AgentAsk *ask)
{
    Agent *agent = ask->item.agent;

    ask->before = arena_copy(&ask->item.arena, bytes_span(&agent->current));
    return ask->before.p != NULL ? ask_set_current(agent, ask->item.conversation)
                                 : err_raise(-ENOMEM);
}

/* There is no such conversation, or none could be made. */
static void ask_switch_back(AgentAsk *ask)
{
    Agent *agent = ask->item.agent;

    if (ask_switches(ask) && span_equals(bytes_span(&agent->current), ask->item.conversation)) {
        (void)ask_set_current(agent, ask->before);
    }
}

static void ask_write_conversation(JsonWriter *w, const AgentConversation *conversation)
{
    json_write_object(w);
    ask_write_text(w, "id", conversation->id);
    ask_write_text(w, "title", conversation->title);
    json_write_key(w, SPAN("createdAt"));
    json_write_int(w, conversation->created_ms);
    json_write_key(w, SPAN("updatedAt"));
    json_write_int(w, conversation->updated_ms);
    json_write_key(w, SPAN("messageCount"));
    json_write_uint(w, conversation->n_messages);
    json_write_end_object(w);
}

static void ask_tell_list(AgentAsk *ask)
{
    Agent *agent = ask->item.agent;
    JsonWriter w = ask_begin_data(agent);

    json_write_object(&w);
    json_write_key(&w, SPAN("conversations"));
    json_write_array(&w);
    for (size_t i = 0; i < ask->op.n_conversations; i++) {
        ask_write_conversation(&w, &ask->op.conversations[i]);
    }
    json_write_end_array(&w);
    json_write_key(&w, SPAN("total"));
    json_write_uint(&w, ask->op.n_all);
    ask_write_text(&w, "current", bytes_span(&agent->current));
    json_write_end_object(&w);
    (void)json_writer_finish(&w);
    agent_tell_done(agent, ask->item.id, bytes_span(&agent->data));
}

/* As model services write blocks, which shells know. */
static void ask_write_block(JsonWriter *w, const AgentBlock *block)
{
    json_write_object(w);
    switch (block->kind) {
    case AGENT_BLOCK_TEXT:
        ask_write_text(w, "type", SPAN("text"));
        ask_write_text(w, "text", block->text);
        break;
    case AGENT_BLOCK_IMAGE:
        ask_write_text(w, "type", SPAN("image"));
        ask_write_text(w, "mime", block->mime);
        ask_write_text(w, "data", block->text);
        break;
    case AGENT_BLOCK_TOOL_USE:
        ask_write_text(w, "type", SPAN("tool_use"));
        ask_write_text(w, "toolId", block->id);
        ask_write_text(w, "toolName", block->name);
        json_write_key(w, SPAN("input"));
        json_write_raw(w, block->input.n > 0 ? block->input : SPAN("{}"));
        break;
    case AGENT_BLOCK_TOOL_RESULT:
        ask_write_text(w, "type", SPAN("tool_result"));
        ask_write_text(w, "toolId", block->id);
        ask_write_text(w, block->is_error ? "error" : "result", block->text);
        break;
    }
    json_write_end_object(w);
}

static void ask_write_message(JsonWriter *w, const AgentMessage *message)
{
    json_write_object(w);
    ask_write_text(w, "role", message->is_assistant ? SPAN("assistant") : SPAN("user"));
    json_write_key(w, SPAN("content"));
    json_write_array(w);
    for (size_t i = 0; i < message->n_blocks; i++) {
        ask_write_block(w, &message->blocks[i]);
    }
    json_write_end_array(w);
    json_write_end_object(w);
}

/* The newest messages from `from` on. False: that is too long for a line. */
static bool ask_tell_messages(AgentAsk *ask, size_t from)
{
    Agent *agent = ask->item.agent;
    const AgentConversation *conversation = &ask->op.conversations[0];
    JsonWriter w = ask_begin_data(agent);

    json_write_object(&w);
    ask_write_text(&w, "conversationId", conversation->id);
    ask_write_text(&w, "title", conversation->title);
    json_write_key(&w, SPAN("messageCount"));
    json_write_uint(&w, conversation->n_messages);
    json_write_key(&w, SPAN("messages"));
    json_write_array(&w);
    for (size_t i = from; i < ask->op.n_loaded; i++) {
        ask_write_message(&w, &ask->op.loaded[i]);
    }
    json_write_end_array(&w);
    json_write_end_object(&w);
    return json_writer_finish(&w) == 0 &&
           agent_tell_done_if_short(agent, ask->item.id, bytes_span(&agent->data));
}

static void ask_tell_load(AgentAsk *ask)
{
    size_t n = ask->op.n_loaded;
    size_t n_left = n;

    while (!ask_tell_messages(ask, n - n_left) && n_left > 0) {
        n_left /= 2;
    }
}

static void ask_tell_conversation(AgentAsk *ask, bool has_title)
{
    Agent *agent = ask->item.agent;
    JsonWriter w = ask_begin_data(agent);

    json_write_object(&w);
    ask_write_text(&w, "conversationId", ask->item.conversation);
    if (has_title) {
        ask_write_text(&w, "title", ask->title);
    }
    json_write_end_object(&w);
    (void)json_writer_finish(&w);
    agent_tell_done(agent, ask->item.id, bytes_span(&agent->data));
}

/* ---- status ---- */

static AgentState ask_state(const Agent *agent)
{
    AgentState state = AGENT_STATE_IDLE;

    if (agent->life != AGENT_OPEN) {
        return AGENT_STATE_SHUTTING_DOWN;
    }
    for (const AgentItem *item = agent->first; item != NULL; item = item->next) {
        if (agent_run_uses_tool(item)) {
            return AGENT_STATE_USING_TOOL;
        }
        if (item->kind == AGENT_ITEM_RUN) {
            state = AGENT_STATE_THINKING;
        }
    }
    return state;
}

static size_t ask_count_runs(const Agent *agent)
{
    size_t n = 0;

    for (const AgentItem *item = agent->first; item != NULL; item = item->next) {
        n += item->kind == AGENT_ITEM_RUN ? 1 : 0;
    }
    return n;
}

/* Members without their braces: written as an object, of which the inside is taken. */
static Span ask_status_members(AgentAsk *ask)
{
    Agent *agent = ask->item.agent;
    JsonWriter w = ask_begin_data(agent);
    Span data;

    json_write_object(&w);
    ask_write_text(&w, "conversationId", ask->item.conversation);
    ask_write_text(&w, "model", span_from_str(model_name(agent->model)));
    json_write_key(&w, SPAN("isScript"));
    json_write_bool(&w, model_is_script(agent->model));
    json_write_key(&w, SPAN("activeRequests"));
    json_write_uint(&w, ask_count_runs(agent));
    json_write_key(&w, SPAN("tools"));
    json_write_uint(&w, router_count(agent->router, ROUTER_TOOL));
    json_write_key(&w, SPAN("hub"));
    json_write_bool(&w, agent_link_is_connected(agent->link));
    if (agent->files != NULL) {
        ask_write_text(&w, "root", span_from_str(io_beneath_path(files_root(agent->files))));
        ask_write_text(&w, "commands", span_from_str(files_commands_state(agent->files)));
    }
    ask_write_text(&w, "history", bytes_span(&agent->history));
    ask_write_text(&w, "version", SPAN(TOOLWIRE_VERSION));
    json_write_end_object(&w);
    if (json_writer_finish(&w) != 0) {
        return SPAN_NULL;
    }
    data = bytes_span(&agent->data);
    return span_make(data.p + 1, data.n - 2);
}

static void ask_tell_status(AgentAsk *ask)
{
    Agent *agent = ask->item.agent;
    AgentStatus status = {.state = ask_state(agent),
                          .conversation_length =
                              ask->op.n_conversations > 0 ? ask->op.conversations[0].n_messages : 0,
                          .uptime_ms = io_loop_now_ms(agent->loop) - agent->began_ms,
                          .members = ask_status_members(ask)};

    agent_tell_status(agent, ask->item.id, &status);
}

/* ---- life of a request ---- */

static const AgentStoreVerb ask_verbs[AGENT_N_KINDS] = {
    [AGENT_KIND_CLEAR_HISTORY] = AGENT_STORE_CLEAR,
    [AGENT_KIND_GET_STATUS] = AGENT_STORE_LOAD,
    [AGENT_KIND_LIST_CONVERSATIONS] = AGENT_STORE_LIST,
    [AGENT_KIND_LOAD_CONVERSATION] = AGENT_STORE_LOAD,
    [AGENT_KIND_DELETE_CONVERSATION] = AGENT_STORE_DELETE,
    [AGENT_KIND_NEW_CONVERSATION] = AGENT_STORE_CREATE,
};

static void ask_tell(AgentAsk *ask)
{
    Agent *agent = ask->item.agent;

    switch (ask->what) {
    case AGENT_KIND_GET_STATUS:
        ask_tell_status(ask);
        break;
    case AGENT_KIND_LIST_CONVERSATIONS:
        ask_tell_list(ask);
        break;
    case AGENT_KIND_LOAD_CONVERSATION:
        ask_tell_load(ask);
        break;
    case AGENT_KIND_NEW_CONVERSATION:
        ask_tell_conversation(ask, true);
        break;
    case AGENT_KIND_DELETE_CONVERSATION:
        if (span_equals(bytes_span(&agent->current), ask->item.conversation)) {
            (void)ask_set_current(agent, SPAN(AGENT_DEFAULT_TALK));
        }
        ask_tell_conversation(ask, false);
        break;
    default:
        ask_tell_conversation(ask, false);
        break;
    }
}

static void ask_on_done(AgentStoreOp *op)
{
    AgentAsk *ask = op->context;
    /* A conversation that nobody has begun is empty, where that is asked. */
    bool is_fine =
        op->r == 0 || (op->r == AGENT_STORE_E_MISSING && ask->what == AGENT_KIND_GET_STATUS);

    if (is_fine) {
        ask_tell(ask);
        agent_item_end(&ask->item);
    } else {
        ask_switch_back(ask);
        ask_fail(ask, op->r == AGENT_STORE_E_MISSING ? "Conversation not found"
                                                     : agent_store_word(op->r));
    }
}

static void ask_begin(AgentItem *item)
{
    AgentAsk *ask = (AgentAsk *)(void *)item;

    ask->op = AGENT_STORE_OP_NULL;
    ask->op.verb = ask_verbs[ask->what];
    ask->op.conversation = item->conversation;
    ask->op.title = ask->title;
    ask->op.max_bytes = ask->what == AGENT_KIND_GET_STATUS ? ASK_NO_BYTES : ASK_LOAD_BYTES;
    ask->op.done = ask_on_done;
    ask->op.context = ask;
    agent_store_submit(item->agent->store, &ask->op);
}

/* One that has begun ends by itself: the store always answers. */
static void ask_stop(AgentItem *item, TurnEnd end, Span words)
{
    (void)end;
    if (!item->has_begun) {
        agent_tell_error(item->agent, item->id, words);
        agent_item_end(item);
    }
}

static void ask_free(AgentItem *item)
{
    AgentAsk *ask = (AgentAsk *)(void *)item;

    agent_store_op_deinit(&ask->op);
}

static const AgentItemOps ask_ops = {.begin = ask_begin, .stop = ask_stop, .free = ask_free};

/* A new conversation has a name of its own, unless the shell gave it one. */
static int ask_name(AgentAsk *ask)
{
    char uuid[UUID_SIZE];
    int r = uuid_v4(uuid);

    if (r != 0) {
        return err_pass(r);
    }
    ask->item.conversation = arena_copy(&ask->item.arena, span_from_str(uuid));
    return ask->item.conversation.p != NULL ? 0 : err_raise(-ENOMEM);
}

int agent_ask_new(AgentItem **ret, Agent *agent, const AgentRequest *request)
{
    AgentAsk *ask = mem_alloc_array(1, sizeof(*ask));
    int r;

    if (ask == NULL) {
        return err_raise(-ENOMEM);
    }
    ask->what = request->kind;
    ask->op = AGENT_STORE_OP_NULL;
    r = agent_item_init(&ask->item, agent, AGENT_ITEM_ASK, &ask_ops, request);
    if (r == 0) {
        ask->title = arena_copy(&ask->item.arena, request->title);
        r = ask->title.p != NULL ? 0 : -ENOMEM;
    }
    if (r == 0 && request->kind == AGENT_KIND_NEW_CONVERSATION && request->conversation_id.n == 0) {
        r = ask_name(ask);
    }
    if (r == 0 && ask_switches(ask)) {
        r = ask_switch(ask);
    }
    if (r != 0) {
        (void)agent_item_free(&ask->item);
        return err_pass(r);
    }
    *ret = &ask->item;
    return 0;
}
