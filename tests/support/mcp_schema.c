#include "support/mcp_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "support/cmocka.h"
#include "support/files.h"
#include "support/shared_data.h"
#include "json/schema/schema.h"

#define MAX_NAME     96
#define MAX_COMPILED 512
#define MAX_BYTES    ((size_t)64 << 20)

typedef struct Compiled {
    McpRevision revision;
    char name[MAX_NAME];
    Schema *schema;
} Compiled;

/* One revision's file, parsed. */
typedef struct Official {
    char *text;
    size_t n;
    Arena arena;
    JsonValue definitions;
    const char *keyword; /* "$defs" or "definitions" */
} Official;

/* Kept until the program ends: a test program checks thousands of messages against a few dozen
 * definitions. */
static struct {
    Official officials[MCP_N_REVISIONS];
    Compiled compiled[MAX_COMPILED];
    size_t n_compiled;
    SchemaCheck *check;
} cache;

void mcp_schema_require(void)
{
    shared_data_require(TW_SHARED_DATA, "mcp-schema");
}

bool mcp_schema_is_there(void)
{
    static const char folder[] = TW_SHARED_DATA "/mcp-schema";
    static bool was_said;
    struct stat st;

    if (stat(folder, &st) == 0 && S_ISDIR(st.st_mode)) {
        return true;
    }
    if (!was_said) {
        (void)fprintf(stderr,
                      "SKIPPED: no message is checked against the schemas of MCP: no folder %s; "
                      "give the CMake variable TOOLWIRE_SHARED_DATA\n",
                      folder);
        was_said = true;
    }
    return false;
}

static const Official *official(McpRevision revision)
{
    Official *of = &cache.officials[revision];
    Span version = mcp_revision_text(revision);
    char path[4096];
    JsonDoc doc;

    if (of->text != NULL) {
        return of;
    }
    (void)snprintf(path, sizeof(path), "%s/mcp-schema/%.*s/schema.json", TW_SHARED_DATA,
                   (int)version.n, version.p);
    of->text = files_read(path, &of->n);
    arena_init(&of->arena, MAX_BYTES);
    assert_int_equal(json_parse(&doc, &of->arena, of->text, of->n, NULL, NULL), 0);
    of->keyword = "$defs";
    if (!json_get(json_root(&doc), SPAN("$defs"), &of->definitions)) {
        of->keyword = "definitions";
        assert_true(json_get(json_root(&doc), SPAN("definitions"), &of->definitions));
    }
    return of;
}

bool mcp_schema_definition(McpRevision revision, const char *definition, JsonValue *ret)
{
    return json_get(official(revision)->definitions, span_from_str(definition), ret);
}

/* The revision's file with one more keyword in front, which applies one of its definitions. */
static Schema *compile(McpRevision revision, const char *definition)
{
    const Official *of = official(revision);
    Schema *schema = NULL;
    Diag diag = {0};
    Bytes text;
    int r;

    assert_int_equal(of->text[0], '{');
    bytes_init(&text, MAX_BYTES);
    assert_int_equal(
        bytes_append_format(&text, "{\"allOf\":[{\"$ref\":\"#/%s/%s\"}],", of->keyword, definition),
        0);
    assert_int_equal(bytes_append(&text, of->text + 1, of->n - 1), 0);
    r = schema_new(&schema, bytes_span(&text), NULL, &diag);
    if (r != 0) {
        fail_msg("%s of %s does not compile: %d", definition, mcp_revision_text(revision).p, r);
    }
    bytes_deinit(&text);
    return schema;
}

/* A definition of the tasks extension. */
static Schema *compile_of_tasks(const char *definition)
{
    Schema *schema = NULL;
    Diag diag = {0};
    size_t n;
    char *file = files_read(TW_SOURCE_DIR "/tests/support/mcp_tasks_schema.json", &n);
    Bytes text;

    bytes_init(&text, MAX_BYTES);
    assert_int_equal(bytes_append_format(&text, "{\"$ref\":\"#/$defs/%s\",", definition), 0);
    assert_int_equal(bytes_append(&text, file + 1, n - 1), 0);
    if (schema_new(&schema, bytes_span(&text), NULL, &diag) != 0) {
        fail_msg("%s of tasks does not compile: %s", definition, diag.message);
    }
    bytes_deinit(&text);
    free(file);
    return schema;
}

/* Definitions of the extension are kept under "tasks:NAME". */
static const Schema *compiled(McpRevision revision, const char *definition)
{
    static const char tasks[] = "tasks:";
    bool is_of_tasks = strncmp(definition, tasks, sizeof(tasks) - 1) == 0;
    Compiled *slot;

    for (size_t i = 0; i < cache.n_compiled; i++) {
        if (cache.compiled[i].revision == revision &&
            strcmp(cache.compiled[i].name, definition) == 0) {
            return cache.compiled[i].schema;
        }
    }
    assert_true(cache.n_compiled < MAX_COMPILED);
    slot = &cache.compiled[cache.n_compiled];
    slot->revision = revision;
    (void)snprintf(slot->name, sizeof(slot->name), "%s", definition);
    slot->schema = is_of_tasks ? compile_of_tasks(definition + sizeof(tasks) - 1)
                               : compile(revision, definition);
    cache.n_compiled++;
    return slot->schema;
}

bool mcp_schema_is_valid(McpRevision revision, const char *definition, JsonValue value, char *ret,
                         size_t n)
{
    const Schema *schema = compiled(revision, definition);
    int r;

    if (cache.check == NULL) {
        assert_int_equal(schema_check_new(&cache.check), 0);
    }
    r = schema_validate(schema, cache.check, value);
    if (r != 0 && ret != NULL) {
        (void)snprintf(ret, n, "outcome %d", r);
        if (schema_check_n_errors(cache.check) > 0) {
            SchemaError e = schema_check_error(cache.check, 0);

            (void)snprintf(ret, n, "at '%.*s': %.*s (%.*s)", (int)e.instance_path.n,
                           e.instance_path.p, (int)e.message.n, e.message.p, (int)e.schema_path.n,
                           e.schema_path.p);
        }
    }
    return r == 0;
}

/* One message on its way through the checks. */
typedef struct Checked {
    McpRevision revision;
    bool from_server;
    const char *method;
    char why[1024];
} Checked;

static bool refuse(Checked *c, const char *definition, const char *why)
{
    (void)snprintf(c->why, sizeof(c->why), "%s of %s: %s", definition,
                   mcp_revision_text(c->revision).p, why);
    return false;
}

static bool require_valid(Checked *c, const char *definition, JsonValue value)
{
    char why[512] = "";

    return mcp_schema_is_valid(c->revision, definition, value, why, sizeof(why)) ||
           refuse(c, definition, why);
}

/* Does the definition name that member, or one of those that it is put together from? */
static bool names_member(McpRevision revision, JsonValue def, Span key)
{
    JsonValue all;
    JsonValue v;

    if (json_get(def, SPAN("properties"), &v)) {
        return json_get(v, key, &v);
    }
    if (!json_get(def, SPAN("allOf"), &all)) {
        return true;
    }
    for (JsonIter it = json_iter(all); json_iter_next(&it);) {
        JsonValue properties;
        char name[MAX_NAME];
        Span text;

        if (json_get(it.value, SPAN("$ref"), &v) && json_string_plain(v, &text)) {
            (void)snprintf(name, sizeof(name), "%.*s", (int)text.n, text.p);
            if (mcp_schema_definition(revision, strrchr(name, '/') + 1, &v) &&
                json_get(v, SPAN("properties"), &properties) && json_get(properties, key, &v)) {
                return true;
            }
        }
    }
    return false;
}

/* The schemas allow any further member; what we send has none but those that are named. */
static bool require_named(Checked *c, const char *definition, JsonValue value)
{
    JsonValue def;

    assert_true(mcp_schema_definition(c->revision, definition, &def));
    for (JsonIter it = json_iter(value); json_iter_next(&it);) {
        Span key;
        char why[256];

        if (json_string_plain(it.key, &key) && !names_member(c->revision, def, key)) {
            (void)snprintf(why, sizeof(why), "has no member '%.*s'", (int)key.n, key.p);
            return refuse(c, definition, why);
        }
    }
    return true;
}

/* A tool's result without structured content may hold what would be in it, so any further member
 * but one that a later revision names. */
static bool require_of_no_later(Checked *c, const char *definition, JsonValue value)
{
    for (int later = (int)c->revision + 1; later < MCP_N_REVISIONS; later++) {
        JsonValue properties;
        JsonValue def;

        assert_true(mcp_schema_definition((McpRevision)later, definition, &def));
        assert_true(json_get(def, SPAN("properties"), &properties));
        for (JsonIter it = json_iter(value); json_iter_next(&it);) {
            JsonValue own;
            JsonValue ignored;
            Span key;

            assert_true(mcp_schema_definition(c->revision, definition, &own));
            if (json_string_plain(it.key, &key) && json_get(properties, key, &ignored) &&
                !(json_get(own, SPAN("properties"), &own) && json_get(own, key, &ignored))) {
                return refuse(c, definition, "has a member of a later revision");
            }
        }
    }
    return true;
}

/* The definition whose method is that one; false if there is none. */
static bool definition_of_method(McpRevision revision, JsonValue method, char name[MAX_NAME])
{
    for (JsonIter it = json_iter(official(revision)->definitions); json_iter_next(&it);) {
        JsonValue constant;
        Span key;

        if (json_pointer(it.value, SPAN("/properties/method/const"), &constant) == 0 &&
            json_string_same(constant, method) && json_string_plain(it.key, &key)) {
            (void)snprintf(name, MAX_NAME, "%.*s", (int)key.n, key.p);
            return true;
        }
    }
    return false;
}

/* Whether the union (ServerRequest, ClientNotification…) has the definition among its members. */
static bool union_has(McpRevision revision, const char *union_name, const char *definition,
                      JsonValue method)
{
    JsonValue def;
    JsonValue v;
    char end[MAX_NAME + 1];

    if (!mcp_schema_definition(revision, union_name, &def)) {
        return false;
    }
    if (!json_get(def, SPAN("anyOf"), &v)) {
        /* A union of one is written out in place. */
        return json_pointer(def, SPAN("/properties/method/const"), &v) == 0 &&
               json_string_same(v, method);
    }
    (void)snprintf(end, sizeof(end), "/%s", definition);
    for (JsonIter it = json_iter(v); json_iter_next(&it);) {
        JsonValue ref;
        Span text;

        if (json_get(it.value, SPAN("$ref"), &ref) && json_string_plain(ref, &text) &&
            span_ends_with(text, span_from_str(end))) {
            return true;
        }
    }
    return false;
}

/* How a task stands, as the extension says it, with what is inside of it. */
static bool check_task(Checked *c, const char *definition, JsonValue value)
{
    JsonValue v;

    if (!require_valid(c, definition, value)) {
        return false;
    }
    if (json_get(value, SPAN("result"), &v)) {
        return require_valid(c, "CallToolResult", v) && require_named(c, "CallToolResult", v);
    }
    return !json_get(value, SPAN("inputRequests"), &v) || require_valid(c, "InputRequests", v);
}

static bool check_call(Checked *c, JsonValue root, JsonValue method, bool is_request)
{
    const char *envelope = is_request ? "JSONRPCRequest" : "JSONRPCNotification";
    const char *set = is_request ? (c->from_server ? "ServerRequest" : "ClientRequest")
                                 : (c->from_server ? "ServerNotification" : "ClientNotification");
    char definition[MAX_NAME];

    if (!require_valid(c, envelope, root) || !require_named(c, envelope, root)) {
        return false;
    }
    if (c->revision >= MCP_FIRST_MODERN && c->from_server && !is_request &&
        json_string_equals(method, SPAN("notifications/tasks"))) {
        JsonValue params;

        return json_get(root, SPAN("params"), &params) ? check_task(c, "tasks:DetailedTask", params)
                                                       : refuse(c, envelope, "has no params");
    }
    if (!definition_of_method(c->revision, method, definition)) {
        return refuse(c, envelope, "the revision has no such method");
    }
    if (!union_has(c->revision, set, definition, method)) {
        return refuse(c, definition, "this side may not send it");
    }
    return require_valid(c, definition, root);
}

typedef struct ResultOf {
    const char *method;
    const char *definition;
} ResultOf;

/* The same names in every revision that has the method. */
static const ResultOf results[] = {
    {"initialize", "InitializeResult"},
    {"server/discover", "DiscoverResult"},
    {"ping", "EmptyResult"},
    {"tools/list", "ListToolsResult"},
    {"tools/call", "CallToolResult"},
    {"resources/list", "ListResourcesResult"},
    {"resources/templates/list", "ListResourceTemplatesResult"},
    {"resources/read", "ReadResourceResult"},
    {"resources/subscribe", "EmptyResult"},
    {"resources/unsubscribe", "EmptyResult"},
    {"prompts/list", "ListPromptsResult"},
    {"prompts/get", "GetPromptResult"},
    {"completion/complete", "CompleteResult"},
    {"logging/setLevel", "EmptyResult"},
    {"subscriptions/listen", "SubscriptionsListenResult"},
    {"sampling/createMessage", "CreateMessageResult"},
    {"roots/list", "ListRootsResult"},
    {"elicitation/create", "ElicitResult"},
    {"tasks/get", "GetTaskResult"},
    {"tasks/result", "CallToolResult"},
    {"tasks/cancel", "CancelTaskResult"},
    {"tasks/list", "ListTasksResult"},
};

/* What the extension has for that answer; NULL: it is none of its answers. */
static const char *task_definition(McpRevision revision, const char *method, JsonValue result)
{
    JsonValue type;

    if (revision < MCP_FIRST_MODERN || method == NULL) {
        return NULL;
    }
    if (strcmp(method, "tools/call") == 0) {
        return json_get(result, SPAN("resultType"), &type) && json_string_equals(type, SPAN("task"))
                   ? "tasks:CreateTaskResult"
                   : NULL;
    }
    if (strcmp(method, "tasks/get") == 0) {
        return "tasks:DetailedTask";
    }
    return strcmp(method, "tasks/update") == 0 || strcmp(method, "tasks/cancel") == 0
               ? "tasks:Acknowledged"
               : NULL;
}

static const char *result_definition(McpRevision revision, const char *method, JsonValue result)
{
    JsonValue type;
    JsonValue ignored;

    if (method == NULL) {
        return NULL;
    }
    if (revision >= MCP_FIRST_MODERN && json_get(result, SPAN("resultType"), &type) &&
        json_string_equals(type, SPAN("input_required"))) {
        return "InputRequiredResult";
    }
    if (revision == MCP_2025_11_25 && strcmp(method, "tools/call") == 0 &&
        json_get(result, SPAN("task"), &type)) {
        return "CreateTaskResult";
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(results); i++) {
        if (strcmp(results[i].method, method) == 0 &&
            mcp_schema_definition(revision, results[i].definition, &ignored)) {
            return results[i].definition;
        }
    }
    return NULL;
}

static bool check_result(Checked *c, JsonValue root, JsonValue result)
{
    const char *envelope =
        c->revision >= MCP_2025_11_25 ? "JSONRPCResultResponse" : "JSONRPCResponse";
    const char *definition = task_definition(c->revision, c->method, result);
    JsonValue def;
    JsonValue v;

    if (!require_valid(c, envelope, root) || !require_named(c, envelope, root)) {
        return false;
    }
    if (definition != NULL) {
        return check_task(c, definition, result);
    }
    definition = result_definition(c->revision, c->method, result);
    if (definition == NULL) {
        return true;
    }
    /* EmptyResult is a name for Result. */
    assert_true(mcp_schema_definition(c->revision, definition, &def));
    if (c->revision < MCP_2025_06_18 && strcmp(definition, "CallToolResult") == 0) {
        return require_valid(c, definition, result) && require_of_no_later(c, definition, result);
    }
    return require_valid(c, definition, result) &&
           require_named(c,
                         json_get(def, SPAN("properties"), &v) || json_get(def, SPAN("allOf"), &v)
                             ? definition
                             : "Result",
                         result);
}

/* Errors that have a definition of their own, all modern. */
static const char *error_definition(int64_t code)
{
    switch (code) {
    case -32700:
        return "ParseError";
    case -32600:
        return "InvalidRequestError";
    case -32601:
        return "MethodNotFoundError";
    case -32602:
        return "InvalidParamsError";
    case -32603:
        return "InternalError";
    case -32020:
        return "HeaderMismatchError";
    case -32021:
        return "MissingRequiredClientCapabilityError";
    case -32022:
        return "UnsupportedProtocolVersionError";
    default:
        return NULL;
    }
}

/* A null id is JSON-RPC's, where a request could not be read; the schemas do not have it. */
static bool check_error_without_id(Checked *c, const char *envelope, JsonValue error)
{
    JsonValue message;

    return (json_get(error, SPAN("message"), &message) && json_kind(message) == JSON_STRING) ||
           refuse(c, envelope, "has no message");
}

static bool check_error(Checked *c, JsonValue root, JsonValue error)
{
    const char *envelope = c->revision >= MCP_2025_11_25 ? "JSONRPCErrorResponse" : "JSONRPCError";
    const char *definition;
    int64_t number = 0;
    JsonValue def;
    JsonValue v;

    if (!require_named(c, envelope, root)) {
        return false;
    }
    if (!json_get(error, SPAN("code"), &v) || json_int64(v, &number) != 0) {
        return refuse(c, envelope, "has no code");
    }
    if (!json_get(root, SPAN("id"), &v)) {
        return refuse(c, envelope, "has no id");
    }
    if (json_kind(v) == JSON_NULL) {
        return check_error_without_id(c, envelope, error);
    }
    if (!require_valid(c, envelope, root)) {
        return false;
    }
    definition = error_definition(number);
    if (c->revision < MCP_FIRST_MODERN || definition == NULL) {
        return true;
    }
    /* Some are whole responses, others the object inside. */
    assert_true(mcp_schema_definition(c->revision, definition, &def));
    return require_valid(c, definition,
                         json_pointer(def, SPAN("/properties/error"), &v) == 0 ? root : error);
}

static bool check_root(Checked *c, JsonValue root)
{
    JsonValue id;
    JsonValue v;

    if (json_get(root, SPAN("method"), &v) && json_kind(v) == JSON_STRING) {
        return check_call(c, root, v, json_get(root, SPAN("id"), &id));
    }
    if (json_get(root, SPAN("result"), &v)) {
        return check_result(c, root, v);
    }
    if (json_get(root, SPAN("error"), &v)) {
        return check_error(c, root, v);
    }
    return refuse(c, "JSONRPCMessage", "is neither call, result nor error");
}

static bool check_message(Checked *c, Span message)
{
    Arena arena;
    JsonDoc doc;
    bool ok;

    arena_init(&arena, MAX_BYTES);
    if (memchr(message.p, '\n', message.n) != NULL) {
        ok = refuse(c, "JSONRPCMessage", "more than one line");
    } else if (json_parse(&doc, &arena, message.p, message.n, NULL, NULL) != 0) {
        ok = refuse(c, "JSONRPCMessage", "not JSON");
    } else {
        ok = check_root(c, json_root(&doc));
    }
    arena_deinit(&arena);
    return ok;
}

bool mcp_schema_allows(McpRevision revision, McpSchemaSide side, const char *method, Span message)
{
    Checked c = {.revision = revision, .from_server = side == MCP_SCHEMA_SERVER, .method = method};

    return check_message(&c, message);
}

static void assert_allowed(McpRevision revision, McpSchemaSide side, const char *method,
                           Span message)
{
    Checked c = {.revision = revision, .from_server = side == MCP_SCHEMA_SERVER, .method = method};

    if (!check_message(&c, message)) {
        fail_msg("%s\n%.*s", c.why, (int)message.n, message.p);
    }
}

void mcp_schema_assert_message(McpRevision revision, const char *method, Span message)
{
    assert_allowed(revision, MCP_SCHEMA_SERVER, method, message);
}

void mcp_schema_assert_client_message(McpRevision revision, const char *method, Span message)
{
    assert_allowed(revision, MCP_SCHEMA_CLIENT, method, message);
}
