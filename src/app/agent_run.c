/* A user message: prepared (history, attachments, the hub's tools), then its turn is taken, order
 * by order, then it is saved and told. */
#include "app/agent_run_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/trim.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/writer.h"

/* Messages on their way to the history. The blocks are the turn's, which waits for them. */
typedef struct RunSave {
    AgentStoreOp op;
    AgentRun *run;
    AgentMessage messages[];
} RunSave;

/* ---- the end ---- */

static const char *run_stop_reason(TurnEnd end)
{
    static const char *const words[] = {
        [TURN_END_ANSWERED] = "end",
        [TURN_END_LENGTH] = "length",
        [TURN_END_REFUSED] = "refused",
        [TURN_END_ROUNDS] = "rounds",
        [TURN_END_INTERRUPTED] = "interrupted",
        [TURN_END_FAILED] = "error",
    };

    return words[end];
}

/* {"conversationId":…,"stopReason":…} */
static Span run_done_data(AgentRun *run)
{
    Agent *agent = run->item.agent;
    JsonWriter w;

    bytes_clear_keep(&agent->data, LIMIT_KEEP_BYTES);
    json_writer_init(&w, &agent->data, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("conversationId"));
    json_write_exact(&w, run->item.conversation);
    json_write_key(&w, SPAN("stopReason"));
    json_write_string(&w, span_from_str(run_stop_reason(run->end)));
    if (run->end == TURN_END_ROUNDS) {
        json_write_key(&w, SPAN("message"));
        json_write_string(&w, SPAN("The model wanted more rounds of tools than are allowed."));
    }
    json_write_end_object(&w);
    return json_writer_finish(&w) == 0 ? bytes_span(&agent->data) : SPAN_NULL;
}

/* All that was waited for has come: tells the end. The run is gone on return. */
static void run_finish(AgentRun *run)
{
    if (run->end == TURN_END_FAILED) {
        agent_tell_error(run->item.agent, run->item.id, run->words);
    } else {
        agent_tell_done(run->item.agent, run->item.id, run_done_data(run));
    }
    agent_item_end(&run->item);
}

static void run_set_end(AgentRun *run, TurnEnd end, Span words)
{
    run->has_ended = true;
    run->end = end;
    run->words = words;
}

static bool run_is_waiting(const AgentRun *run)
{
    return run->is_loading || run->attach != NULL || run->n_saving > 0;
}

/* ---- the history ---- */

static void run_on_saved(AgentStoreOp *op)
{
    RunSave *save = op->context;
    AgentRun *run = save->run;

    if (op->r != 0) {
        logsink_write(run->item.agent->log, LOGSINK_LEVEL_WARN, "agent",
                      "the conversation could not be saved: %s", agent_store_word(op->r));
    }
    agent_store_op_deinit(op);
    (void)mem_free(save);
    run->n_saving--;
    if (run->has_ended && !run->is_stepping && !run_is_waiting(run)) {
        run_finish(run);
    }
}

/* The first words of what the person said, on one line. */
static Span run_make_title(AgentRun *run)
{
    size_t n = run->message.n < LIMIT_AGENT_TITLE_BYTES ? run->message.n : LIMIT_AGENT_TITLE_BYTES;
    char *title = arena_alloc(&run->item.arena, n + 1);

    if (title == NULL || run->title.n > 0) {
        return run->title;
    }
    while (n > 0 && n < run->message.n && ((unsigned char)run->message.p[n] & 0xC0u) == 0x80u) {
        n--; /* not inside a character */
    }
    for (size_t i = 0; i < n; i++) {
        title[i] = (unsigned char)run->message.p[i] < ' ' ? ' ' : run->message.p[i];
    }
    return span_make(title, n);
}

static void run_save(AgentRun *run, const TurnOrder *order)
{
    RunSave *save = mem_alloc(sizeof(*save) + order->n_messages * sizeof(save->messages[0]));

    if (save == NULL) {
        logsink_write(run->item.agent->log, LOGSINK_LEVEL_WARN, "agent",
                      "the conversation could not be saved: out of memory");
        return;
    }
    save->run = run;
    memcpy(save->messages, order->messages, order->n_messages * sizeof(save->messages[0]));
    save->op = AGENT_STORE_OP_NULL;
    save->op.verb = AGENT_STORE_APPEND;
    save->op.conversation = run->item.conversation;
    save->op.title = run_make_title(run);
    save->op.messages = save->messages;
    save->op.n_messages = order->n_messages;
    save->op.done = run_on_saved;
    save->op.context = save;
    run->n_saving++;
    agent_store_submit(run->item.agent->store, &save->op);
}

static void run_on_loaded(AgentStoreOp *op)
{
    AgentRun *run = op->context;

    run->is_loading = false;
    if (op->r != 0 && op->r != AGENT_STORE_E_MISSING) {
        logsink_write(run->item.agent->log, LOGSINK_LEVEL_WARN, "agent",
                      "the conversation goes on without its past, which cannot be read: %s",
                      agent_store_word(op->r));
    }
    agent_run_prepare(run);
}

static void run_load(AgentRun *run)
{
    Agent *agent = run->item.agent;

    run->load = AGENT_STORE_OP_NULL;
    run->load.verb = AGENT_STORE_LOAD;
    run->load.conversation = run->item.conversation;
    /* What the model may read, with an image among it. */
    run->load.max_bytes =
        4 * (size_t)agent->settings.budget_tokens + 4 * (LIMIT_AGENT_IMAGE_BYTES / 3 + 1);
    run->load.done = run_on_loaded;
    run->load.context = run;
    run->is_loading = true;
    agent_store_submit(agent->store, &run->load);
}

/* ---- the model ---- */

/* Ids come from the model, which may use one twice; the shell must know which call it approves. */
static Span run_unique_id(AgentRun *run, Span id)
{
    Agent *agent = run->item.agent;
    char text[32];
    Span unique = id;
    int n;

    for (;;) {
        bool is_taken = false;

        for (const AgentItem *item = agent->first; item != NULL && !is_taken; item = item->next) {
            is_taken = agent_run_has_tool(item, unique);
        }
        if (!is_taken) {
            return unique;
        }
        n = snprintf(text, sizeof(text), "call-%llu", (unsigned long long)++agent->n_ids);
        unique = arena_copy(&run->item.arena, span_make(text, (size_t)n));
        if (unique.p == NULL) {
            return id;
        }
    }
}

static void run_on_event(void *context, const ModelEvent *event)
{
    AgentRun *run = context;
    Agent *agent = run->item.agent;
    TurnJudgement judgement = TURN_JUDGEMENT_NULL;
    ModelEvent changed;

    if (event->kind == MODEL_END || event->kind == MODEL_FAILED) {
        run->model = NULL;
    } else if (event->kind == MODEL_TOOL) {
        judgement = agent_tools_judge(agent->tools, event->name);
        changed = *event;
        changed.id = run_unique_id(run, event->id);
        event = &changed;
    } else if (event->kind == MODEL_RETRY) {
        logsink_write(agent->log, LOGSINK_LEVEL_INFO, "agent",
                      "the model is asked again in %lld ms: %.*s", (long long)event->retry_ms,
                      (int)event->text.n, event->text.p);
    }
    turn_on_model(&run->turn, event, judgement, io_loop_now_ms(agent->loop));
    agent_run_step(run);
}

/* What the person and the model have said so far, as much as fits. *ret is in the agent's scratch.
 * 0, -ENOMEM. */
static int run_gather(AgentRun *run, AgentMessage **ret, size_t *ret_n)
{
    Agent *agent = run->item.agent;
    size_t n = run->load.n_loaded + run->turn.n_messages;
    size_t n_fixed = agent_trim_text_tokens(agent->system.n + agent_tools_bytes(agent->tools)) +
                     agent->settings.max_tokens;
    size_t budget = agent->settings.budget_tokens;
    AgentMessage *messages;
    AgentTrimmed trimmed;
    bool *keep;

    arena_reset(&agent->scratch, LIMIT_KEEP_BYTES);
    messages = arena_alloc_array(&agent->scratch, n, sizeof(*messages));
    keep = arena_alloc_array(&agent->scratch, n, sizeof(*keep));
    if (messages == NULL || keep == NULL) {
        return err_raise(-ENOMEM);
    }
    if (run->load.n_loaded > 0) {
        memcpy(messages, run->load.loaded, run->load.n_loaded * sizeof(*messages));
    }
    memcpy(messages + run->load.n_loaded, run->turn.messages,
           run->turn.n_messages * sizeof(*messages));
    /* Whatever the tools take, a part of the conversation must have room. */
    budget = n_fixed < budget - budget / 4 ? budget - n_fixed : budget / 4;
    if (agent_trim(messages, n, budget, keep, &trimmed) != 0) {
        logsink_write(agent->log, LOGSINK_LEVEL_INFO, "agent",
                      "the message alone is longer than the budget of %zu tokens", budget);
    }
    *ret = messages;
    *ret_n = agent_trim_apply(messages, n, keep);
    return 0;
}

static void run_call_model(AgentRun *run)
{
    Agent *agent = run->item.agent;
    AgentMessage *messages = NULL;
    size_t n_messages = 0;
    int r = run_gather(run, &messages, &n_messages);

    if (r == 0) {
        ModelRequest request = {.system = bytes_span(&agent->system),
                                .messages = messages,
                                .n_messages = n_messages,
                                .max_tokens = agent->settings.max_tokens};

        request.tools = agent_tools_offer(agent->tools, &request.n_tools);
        r = model_start(agent->model, &request, &(ModelSink){run_on_event, run}, &run->model);
    }
    if (r != 0) {
        ModelEvent failed = {.kind = MODEL_FAILED,
                             .text = r == MODEL_E_TOO_LARGE
                                         ? SPAN("the conversation is too large for a request")
                                         : SPAN("out of memory")};

        turn_on_model(&run->turn, &failed, TURN_JUDGEMENT_NULL, io_loop_now_ms(agent->loop));
    }
}

/* ---- orders ---- */

static void run_tell_result(const AgentRun *run, const TurnTool *tool, Span words)
{
    AgentTool told = {.id = tool->id, .name = tool->name, .error = words};

    agent_tell_tool_result(run->item.agent, run->item.id, &told);
}

static void run_tell_progress(const AgentRun *run, const TurnTool *tool, int64_t elapsed_ms)
{
    AgentTool told = {.id = tool->id, .name = tool->name, .elapsed_ms = elapsed_ms};

    agent_tell_tool_progress(run->item.agent, run->item.id, &told);
}

static void run_do(AgentRun *run, const TurnOrder *order)
{
    switch (order->kind) {
    case TURN_TOKEN:
        agent_tell_token(run->item.agent, run->item.id, order->text);
        break;
    case TURN_CALL_MODEL:
        run_call_model(run);
        break;
    case TURN_USE:
        agent_run_tell_use(run, order->tool, order->needs_approval);
        break;
    case TURN_START:
        agent_run_start_tool(run, order->tool);
        break;
    case TURN_PROGRESS:
        run_tell_progress(run, order->tool, order->elapsed_ms);
        break;
    case TURN_RESULT:
        run_tell_result(run, order->tool, order->text);
        break;
    case TURN_STOP_MODEL:
        run->model = model_cancel(run->model);
        break;
    case TURN_STOP_TOOL:
        agent_run_stop_tool(run, order->tool);
        break;
    case TURN_SAVE:
        run_save(run, order);
        break;
    case TURN_DONE:
    case TURN_FAILED:
        run_set_end(run, order->end, order->text);
        break;
    }
}

void agent_run_step(AgentRun *run)
{
    TurnOrder order;

    if (run->is_stepping) {
        return;
    }
    run->is_stepping = true;
    while (turn_next(&run->turn, &order)) {
        run_do(run, &order);
    }
    run->is_stepping = false;
    if (!run->has_ended) {
        agent_schedule(run->item.agent, turn_next_deadline(&run->turn));
    } else if (!run_is_waiting(run)) {
        run_finish(run);
    }
}

/* ---- the beginning ---- */

static void run_start_turn(AgentRun *run)
{
    const ConfigAgent *config = &run->item.agent->settings;
    TurnLimits limits = {.max_rounds = config->max_rounds, .approval_ms = config->approval_ms};

    turn_init(&run->turn, &run->item.arena, &limits, io_loop_now_ms(run->item.agent->loop));
    run->has_turn = true;
    turn_user(&run->turn, run->blocks, run->n_blocks);
    agent_run_step(run);
}

void agent_run_prepare(AgentRun *run)
{
    if (run_is_waiting(run)) {
        return;
    }
    if (run->has_ended) {
        run_finish(run);
    } else if (!run->is_linking && !run->has_turn) {
        run_start_turn(run);
    }
}

bool agent_run_on_link(AgentItem *item)
{
    AgentRun *run = (AgentRun *)(void *)item;

    if (item->kind != AGENT_ITEM_RUN || !run->is_linking) {
        return false;
    }
    run->is_linking = false;
    agent_run_prepare(run);
    return true;
}

static void run_begin(AgentItem *item)
{
    AgentRun *run = (AgentRun *)(void *)item;
    int r;

    /* Only one of them has tools that may still come: with a hub there are no other servers. */
    run->is_linking = !agent_link_refresh(item->agent->link) || router_knock(item->agent->router);
    run_load(run);
    r = agent_run_attach(run);
    if (r != 0) {
        run_set_end(run, TURN_END_FAILED, SPAN("out of memory"));
    }
}

static void run_stop(AgentItem *item, TurnEnd end, Span words)
{
    AgentRun *run = (AgentRun *)(void *)item;

    if (run->has_ended) {
        return;
    }
    if (run->has_turn) {
        turn_stop(&run->turn, end, words);
        agent_run_step(run);
        return;
    }
    run_set_end(run, end, words);
    run->is_linking = false;
    agent_run_prepare(run);
}

static void run_free(AgentItem *item)
{
    AgentRun *run = (AgentRun *)(void *)item;

    if (run->has_turn) {
        turn_deinit(&run->turn);
    }
    agent_store_op_deinit(&run->load);
}

static const AgentItemOps run_ops = {.begin = run_begin, .stop = run_stop, .free = run_free};

/* Copies what the request says; it lies in a line that goes. */
static bool run_copy(AgentRun *run, const AgentRequest *request)
{
    Arena *arena = &run->item.arena;
    AgentAttachment *attachments =
        arena_alloc_array(arena, request->n_attachments, sizeof(*attachments));
    bool is_whole = attachments != NULL;

    run->message = arena_copy(arena, request->message);
    run->title = arena_copy(arena, request->title);
    is_whole = is_whole && run->message.p != NULL && run->title.p != NULL;
    for (size_t i = 0; is_whole && i < request->n_attachments; i++) {
        const AgentAttachment *from = &request->attachments[i];

        attachments[i] = (AgentAttachment){.path = arena_copy(arena, from->path),
                                           .mime = arena_copy(arena, from->mime),
                                           .data = arena_copy(arena, from->data),
                                           .name = arena_copy(arena, from->name)};
        is_whole = attachments[i].path.p != NULL && attachments[i].mime.p != NULL &&
                   attachments[i].data.p != NULL && attachments[i].name.p != NULL;
    }
    run->attachments = attachments;
    run->n_attachments = request->n_attachments;
    run->blocks = arena_alloc_array(arena, request->n_attachments + 1, sizeof(*run->blocks));
    return is_whole && run->blocks != NULL;
}

int agent_run_new(AgentItem **ret, Agent *agent, const AgentRequest *request)
{
    AgentRun *run = mem_alloc_array(1, sizeof(*run));

    if (run == NULL) {
        return err_raise(-ENOMEM);
    }
    run->load = AGENT_STORE_OP_NULL;
    if (agent_item_init(&run->item, agent, AGENT_ITEM_RUN, &run_ops, request) != 0 ||
        !run_copy(run, request)) {
        (void)agent_item_free(&run->item);
        return err_raise(-ENOMEM);
    }
    *ret = &run->item;
    return 0;
}

/* ---- from outside ---- */

void agent_run_advance(AgentItem *item, int64_t now_ms)
{
    AgentRun *run = (AgentRun *)(void *)item;

    if (run->has_turn && !run->has_ended && now_ms >= turn_next_deadline(&run->turn)) {
        turn_advance(&run->turn, now_ms);
        agent_run_step(run);
    }
}

int64_t agent_run_next_deadline(const AgentItem *item)
{
    const AgentRun *run = (const AgentRun *)(const void *)item;

    return item->kind == AGENT_ITEM_RUN && run->has_turn && !run->has_ended
               ? turn_next_deadline(&run->turn)
               : INT64_MAX;
}

bool agent_run_uses_tool(const AgentItem *item)
{
    const AgentRun *run = (const AgentRun *)(const void *)item;

    return item->kind == AGENT_ITEM_RUN && run->has_turn && turn_uses_tool(&run->turn);
}

int agent_run_approve(AgentItem *item, Span tool_id, bool is_approved)
{
    AgentRun *run = (AgentRun *)(void *)item;
    int r = TURN_E_NOT_ASKED;

    if (item->kind == AGENT_ITEM_RUN && run->has_turn) {
        r = turn_on_approval(&run->turn, tool_id, is_approved, io_loop_now_ms(item->agent->loop));
    }
    if (r == 0) {
        agent_run_step(run);
    }
    return r;
}

bool agent_run_has_tool(const AgentItem *item, Span tool_id)
{
    const AgentRun *run = (const AgentRun *)(const void *)item;

    if (item->kind != AGENT_ITEM_RUN || !run->has_turn) {
        return false;
    }
    for (size_t i = 0; i < run->turn.n_tools; i++) {
        if (span_equals(run->turn.tools[i].id, tool_id)) {
            return true;
        }
    }
    return false;
}
