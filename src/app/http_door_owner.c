/* What MCP asks its owner: who asks, and what there is. */
#include "app/http_door_internal.h"

#include <string.h>

#include "base/random.h"

/* When to ask again while calls are in flight: nobody knows when one of them ends. */
#define OWNER_BUSY_MS 1000

/* Who asks, for those who watch: "ADDRESS SUBJECT". A call may outlive its connection, and one
 * asker has several: so it lies in the call. A call that comes again after a question has it
 * already. Without memory nobody is named. */
static void owner_name(const HttpDoor *door, const HttpAsker *who, uint64_t session, Call *call)
{
    static const CallAsker nobody = {.dialect = "mcp-http", .who = "", .is_model = true};
    const char *address = door->asking != NULL ? door->asking->address : "";
    size_t n_address = strlen(address);
    size_t n_subject = strlen(who->grant.subject);
    CallAsker *asker;
    char *text;

    if (call->asker != NULL) {
        return;
    }
    call->asker = &nobody;
    asker = arena_alloc(&call->kept_arena, sizeof(*asker) + n_address + n_subject + 2);
    if (asker == NULL) {
        return;
    }
    text = (char *)(asker + 1);
    memcpy(text, address, n_address + 1);
    if (n_subject > 0) {
        text[n_address] = ' ';
        memcpy(text + n_address + 1, who->grant.subject, n_subject + 1);
    }
    *asker = nobody;
    asker->who = text;
    asker->session = session;
    call->asker = asker;
}

static void owner_call(void *context, void *asker, uint64_t session, Call *call)
{
    HttpDoor *door = context;
    HttpAsker *who = asker;

    owner_name(door, who, session, call);
    router_dispatch(door->router, &who->quota, call);
}

static void owner_cancel(void *context, Call *call)
{
    HttpDoor *door = context;

    router_cancel(door->router, call);
}

static void owner_hold(void *context, void *asker)
{
    (void)context;
    (void)http_asker_ref(asker);
}

static void owner_release(void *context, void *asker)
{
    HttpDoor *door = context;

    (void)http_askers_unref(&door->askers, asker);
}

/* Without credentials everybody who reaches the listener is the same: a session is then as good as
 * the secrecy of its id. */
static bool owner_is_same(void *context, const void *asker, const void *other)
{
    const HttpDoor *door = context;
    const HttpAsker *a = asker;
    const HttpAsker *b = other;

    return !door->needs_auth || a->grant.id == b->grant.id;
}

/* Without credentials nobody is known, and a task is as good as the secrecy of its id, too. */
static Span owner_whose(void *context, const void *asker)
{
    const HttpDoor *door = context;
    const HttpAsker *who = asker;

    return door->needs_auth ? span_from_str(who->grant.owner) : SPAN_NULL;
}

static int64_t owner_ends(void *context, const void *x)
{
    const HttpLink *link = io_http_user(x);

    (void)context;
    return link->end_ms;
}

static Span owner_tool(void *context, Span name)
{
    HttpDoor *door = context;

    return router_tool_description(door->router, name);
}

/* Opening a session costs what a call does. One who has as many calls in flight as it may waits for
 * one of them. */
static int64_t owner_admit(void *context, void *asker)
{
    const HttpDoor *door = context;
    HttpAsker *who = asker;
    int64_t retry_ms = OWNER_BUSY_MS;
    int r = router_quota_enter(&who->quota, io_loop_now_ms(door->loop), &retry_ms);

    if (r == 0) {
        router_quota_leave(&who->quota);
        return 0;
    }
    return retry_ms;
}

static int owner_random(void *context, uint8_t *ret, size_t n)
{
    (void)context;
    return random_fill(ret, n);
}

const McpHttpOwner http_door_owner = {
    .call = owner_call,
    .cancel = owner_cancel,
    .hold = owner_hold,
    .release = owner_release,
    .is_same = owner_is_same,
    .whose = owner_whose,
    .ends = owner_ends,
    .tool = owner_tool,
    .admit = owner_admit,
    .random = owner_random,
};

McpOffer http_door_offer(void *context)
{
    const HttpDoor *door = context;
    const Router *router = door->router;

    return (McpOffer){
        .tools = door->config.expects_tools || router_count(router, ROUTER_TOOL) > 0,
        .resources = door->config.expects_resources || router_count(router, ROUTER_RESOURCE) > 0 ||
                     router_count(router, ROUTER_TEMPLATE) > 0,
        .prompts = door->config.expects_prompts || router_count(router, ROUTER_PROMPT) > 0,
        .completions = door->config.expects_prompts || router_has_completions(router),
        .logging = door->config.logging,
        .lists_change = door->config.lists_change,
        .tasks = router_has_later(router),
        .lazy_tools = router_hides(router),
        .lists_tasks = door->needs_auth,
    };
}

bool http_door_is_tool(void *context, Span method)
{
    const HttpDoor *door = context;

    return router_has_tool(door->router, method);
}

void http_door_wants(void *context, Span uri, bool is_wanted)
{
    const HttpDoor *door = context;

    router_want(door->router, uri, is_wanted);
}

void http_door_forsakes(void *context, Span state)
{
    const HttpDoor *door = context;

    router_forsake(door->router, NULL, state);
}
