/* The command that tells the context: what the desk knows, and the token for the next command. */
#include "router/router.h"

#include "base/error.h"
#include "base/limits.h"
#include "router/router_impl.h"

/* All ids of a selection, if they are asked for. */
#define CONTEXT_BYTES LIMIT_MCP_RESPONSE_BYTES

#define CONTEXT_TOOL(name)                                                                         \
    "{\"name\":\"" name "\",\"title\":\"Context\",\"description\":\"The document and view in "     \
    "front, the selection, and the contextToken to give with commands that must not run in "       \
    "another state (expectedContextToken)\",\"inputSchema\":{\"type\":\"object\",\"properties\":{" \
    "\"includeSelectionIds\":{\"type\":\"boolean\",\"default\":true},\"maxSelectionIds\":{"        \
    "\"type\":\"integer\",\"default\":200,\"description\":\"0: all\"}}},\"outputSchema\":{"        \
    "\"type\":\"object\",\"properties\":{\"data\":{\"type\":\"object\",\"properties\":{"           \
    "\"tokenVersion\":{\"type\":\"string\"},\"revision\":{\"type\":\"integer\"},"                  \
    "\"contextToken\":{\"type\":\"string\"},\"docTitle\":{\"type\":\"string\"},\"docGuid\":{"      \
    "\"type\":\"string\"},\"docPath\":{\"type\":\"string\"},\"activeViewId\":{\"type\":"           \
    "\"integer\"},\"activeViewName\":{\"type\":\"string\"},\"activeViewType\":{\"type\":"          \
    "\"string\"},\"selectionCount\":{\"type\":\"integer\"},\"selectionIds\":{\"type\":\"array\","  \
    "\"items\":{\"type\":\"integer\"}},\"selectionIdsTruncated\":{\"type\":\"boolean\"}},"         \
    "\"required\":[\"tokenVersion\",\"revision\",\"contextToken\",\"selectionCount\"]}},"          \
    "\"required\":[\"data\"]},\"annotations\":{\"readOnlyHint\":true,\"openWorldHint\":false}}"

static void context_start(void *context, Call *call)
{
    const Router *router = context;
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    CallResult result = {.kind = CALL_RESULT_TOOL};
    int r;

    if (router->desk == NULL) {
        call_fail(call, CALL_ERROR_UNAVAILABLE, SPAN("the application told of no document yet"));
        return;
    }
    bytes_init(&text, CONTEXT_BYTES);
    r = bytes_append_span(&text, SPAN("{\"data\":"));
    r = r != 0 ? r : safety_desk_write_get_context(router->desk, call->arguments, &text);
    r = r != 0 ? r : bytes_append_byte(&text, '}');
    if (r != 0) {
        call_fail(call, r == BYTES_E_FULL ? CALL_ERROR_TOO_LARGE : CALL_ERROR_INTERNAL, SPAN_NULL);
        return;
    }
    result.structured = bytes_span(&text);
    call_finish(call, &result);
}

static const CallProvider context_provider = {.name = "router", .start = context_start};

int router_add_get_context(Router *router, Diag *reterr_diag)
{
    RouterSpec spec = {.kind = ROUTER_TOOL,
                       .json = SPAN(CONTEXT_TOOL("get_context")),
                       .provider = &context_provider,
                       .context = router,
                       .is_command = true};
    int r = router_add(router, &spec, reterr_diag);

    if (r != 0) {
        return r;
    }
    spec.json = SPAN(CONTEXT_TOOL("help.get_context"));
    r = router_add(router, &spec, reterr_diag);
    if (r != 0) {
        (void)router_remove(router, ROUTER_TOOL, SPAN("get_context"));
    }
    return r;
}
