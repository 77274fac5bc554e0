#include "app/agent_tools.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/json.h"

struct AgentTools {
    Router *router;
    RouterListener listener;
    const AgentRule *rules;
    size_t n_rules;
    const LogSink *log;
    Arena arena; /* texts that had to be decoded */
    AgentToolSpec *specs;
    size_t n_specs;
    size_t n_bytes;
    bool is_old; /* the router's tools have changed */
};

static void tools_on_changed(RouterListener *listener, RouterKind kind)
{
    AgentTools *tools = (AgentTools *)(void *)((char *)listener - offsetof(AgentTools, listener));

    if (kind == ROUTER_TOOL) {
        tools->is_old = true;
    }
}

static bool tools_is_read_only(JsonValue description)
{
    JsonValue annotations;
    JsonValue hint;
    bool is_read_only = false;

    return json_get(description, SPAN("annotations"), &annotations) &&
           json_get(annotations, SPAN("readOnlyHint"), &hint) && json_bool(hint, &is_read_only) &&
           is_read_only;
}

static Span tools_text(AgentTools *tools, JsonValue description, Span member)
{
    JsonValue value;
    Span text = SPAN_NULL;

    if (!json_get(description, member, &value) ||
        json_string_exact(value, &tools->arena, &text) != 0) {
        return SPAN_NULL;
    }
    return text;
}

static void tools_add(AgentTools *tools, JsonValue description)
{
    AgentToolSpec *spec = &tools->specs[tools->n_specs];
    JsonValue schema;

    *spec = (AgentToolSpec){.name = tools_text(tools, description, SPAN("name")),
                            .description = tools_text(tools, description, SPAN("description"))};
    if (spec->description.n == 0) {
        spec->description = tools_text(tools, description, SPAN("title"));
    }
    if (json_get(description, SPAN("inputSchema"), &schema)) {
        spec->schema = json_span(schema);
    }
    if (spec->name.n > 0 && agent_policy(tools->rules, tools->n_rules, spec->name,
                                         tools_is_read_only(description)) != TURN_DENY) {
        tools->n_bytes += spec->name.n + spec->description.n + spec->schema.n;
        tools->n_specs++;
    }
}

static void tools_gather(AgentTools *tools)
{
    size_t n = router_count(tools->router, ROUTER_TOOL);

    tools->is_old = false;
    tools->n_specs = 0;
    tools->n_bytes = 0;
    arena_reset(&tools->arena, LIMIT_KEEP_BYTES);
    for (size_t i = 0; i < n; i++) {
        JsonValue description = router_tool_at(tools->router, i);

        if (tools->n_specs == LIMIT_AGENT_TOOLS) {
            logsink_write(tools->log, LOGSINK_LEVEL_WARN, "agent",
                          "of %zu tools the model is offered the first %d: deny some by rules", n,
                          LIMIT_AGENT_TOOLS);
            return;
        }
        if (description.node != NULL) {
            tools_add(tools, description);
        }
    }
}

const AgentToolSpec *agent_tools_offer(AgentTools *tools, size_t *ret_n)
{
    if (tools->is_old) {
        tools_gather(tools);
    }
    *ret_n = tools->n_specs;
    return tools->specs;
}

size_t agent_tools_bytes(AgentTools *tools)
{
    size_t n;

    (void)agent_tools_offer(tools, &n);
    return tools->n_bytes;
}

TurnJudgement agent_tools_judge(AgentTools *tools, Span name)
{
    Span text = router_tool_description(tools->router, name);
    TurnJudgement judgement = TURN_JUDGEMENT_NULL;
    Arena arena;
    JsonDoc doc;

    if (text.n == 0) {
        return judgement;
    }
    arena_init(&arena, 16 * text.n + LIMIT_KEEP_BYTES);
    if (json_parse(&doc, &arena, text.p, text.n, NULL, NULL) == 0) {
        judgement.is_shared = tools_is_read_only(json_root(&doc));
    }
    arena_deinit(&arena);
    judgement.verdict = agent_policy(tools->rules, tools->n_rules, name, judgement.is_shared);
    return judgement;
}

int agent_tools_new(AgentTools **ret, Router *router, const AgentRule *rules, size_t n_rules,
                    const LogSink *log)
{
    AgentTools *tools = mem_alloc_array(1, sizeof(*tools));

    if (tools == NULL) {
        return err_raise(-ENOMEM);
    }
    *tools = (AgentTools){.router = router,
                          .listener = {.changed = tools_on_changed},
                          .rules = rules,
                          .n_rules = n_rules,
                          .log = log,
                          .is_old = true};
    arena_init(&tools->arena, LIMIT_AGENT_OFFER_BYTES);
    tools->specs = mem_alloc_array(LIMIT_AGENT_TOOLS, sizeof(*tools->specs));
    if (tools->specs == NULL) {
        (void)mem_free(tools);
        return err_raise(-ENOMEM);
    }
    router_listen(router, &tools->listener);
    *ret = tools;
    return 0;
}

AgentTools *agent_tools_free(AgentTools *tools)
{
    if (tools == NULL) {
        return NULL;
    }
    router_unlisten(tools->router, &tools->listener);
    tools->specs = mem_free(tools->specs);
    arena_deinit(&tools->arena);
    return mem_free(tools);
}
