#include "router/entry.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "router/entry_check.h"
#include "router/entry_command.h"
#include "json/writer.h"

/* A description. Lists are sent whole, and a message of ours may have 10 MiB. */
#define ENTRY_DESCRIPTION_BYTES ((size_t)1024 * 1024)

/* A tool's name, as the MCP specification has it. */
#define ENTRY_NAME_BYTES 128

TW_PRINTF(3, 4)
static int entry_malformed(Diag *reterr_diag, const char *field, const char *format, ...)
{
    char message[DIAG_MESSAGE_SIZE];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    (void)diag_set(reterr_diag, ROUTER_E_MALFORMED, "%s", message);
    diag_set_field(reterr_diag, "%s", field);
    return ROUTER_E_MALFORMED;
}

static bool entry_is_name(Span name)
{
    if (name.n == 0 || name.n > ENTRY_NAME_BYTES) {
        return false;
    }
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '.' || c == '/' || c == '-')) {
            return false;
        }
    }
    return true;
}

/* A member that must be there, decoded into scratch; that it is a string, and not an empty one, was
 * checked before. */
static int entry_take_string(JsonValue object, const char *field, Arena *scratch, Span *ret,
                             Diag *reterr_diag)
{
    JsonValue value;
    int r;

    if (!json_get(object, span_from_str(field), &value)) {
        return entry_malformed(reterr_diag, field, "%s is missing", field);
    }
    r = json_string_exact(value, scratch, ret);
    return r != 0 ? err_fold(r) : 0;
}

static int entry_set_key(RouterEntry *entry, Span key)
{
    entry->key = mem_alloc(key.n + 1);
    if (entry->key == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(entry->key, key.p, key.n);
    entry->key[key.n] = '\0';
    entry->n_key = key.n;
    return 0;
}

static int entry_take_key(RouterEntry *entry, const char *field, Arena *scratch, Diag *reterr_diag)
{
    Span key;
    int r = entry_take_string(router_entry_description(entry), field, scratch, &key, reterr_diag);

    return r != 0 ? r : entry_set_key(entry, key);
}

static int entry_compile_schema(Schema **ret, const char *field, JsonValue value, Diag *reterr_diag)
{
    char path[DIAG_FIELD_SIZE] = "";
    Diag diag = DIAG_NULL;
    int r;

    if (json_kind(value) != JSON_OBJECT) {
        return entry_malformed(reterr_diag, field, "%s must be an object, and is %s", field,
                               json_kind_name(json_kind(value)));
    }
    r = schema_new(ret, json_span(value), NULL, &diag);
    if (r <= 0) {
        return err_pass(r);
    }
    /* "inputSchema/properties/a/type" */
    (void)snprintf(path, sizeof(path), "%.20s%.90s", field,
                   diag.field[0] == '#' ? diag.field + 1 : diag.field);
    return entry_malformed(reterr_diag, path, "%s: %s", field, diag.message);
}

static int entry_check_name(const RouterEntry *entry, Diag *reterr_diag)
{
    return entry_is_name(router_entry_key(entry))
               ? 0
               : entry_malformed(reterr_diag, "name",
                                 "the name must have 1 to %d letters, digits and _ . / -",
                                 ENTRY_NAME_BYTES);
}

/* Of somebody else's tool: clients read the schemas and must find objects. */
static int entry_check_relayed(JsonValue description, JsonValue input, Diag *reterr_diag)
{
    JsonValue value;

    if (json_kind(input) != JSON_OBJECT) {
        return entry_malformed(reterr_diag, "inputSchema", "inputSchema must be an object");
    }
    if (!json_get(input, SPAN("type"), &value) || !json_string_equals(value, SPAN("object"))) {
        return entry_malformed(reterr_diag, "inputSchema/type", "the type must be \"object\"");
    }
    if (json_get(description, SPAN("outputSchema"), &value) && json_kind(value) != JSON_OBJECT) {
        return entry_malformed(reterr_diag, "outputSchema", "outputSchema must be an object");
    }
    return 0;
}

static int entry_compile_schemas(RouterEntry *entry, Diag *reterr_diag)
{
    JsonValue description = router_entry_description(entry);
    JsonValue schema;
    JsonValue type;
    int r;

    if (!json_get(description, SPAN("inputSchema"), &schema)) {
        return entry_malformed(reterr_diag, "inputSchema", "inputSchema is missing");
    }
    if (entry->is_relayed) {
        return entry_check_relayed(description, schema, reterr_diag);
    }
    r = entry_compile_schema(&entry->input, "inputSchema", schema, reterr_diag);
    if (r != 0) {
        return r;
    }
    if (!json_get(schema, SPAN("type"), &type) || !json_string_equals(type, SPAN("object"))) {
        return entry_malformed(reterr_diag, "inputSchema/type", "the type must be \"object\"");
    }
    if (json_get(description, SPAN("outputSchema"), &schema)) {
        r = entry_compile_schema(&entry->output, "outputSchema", schema, reterr_diag);
    }
    return r;
}

static int entry_compile_tool(RouterEntry *entry, Arena *scratch, Diag *reterr_diag)
{
    int r = entry_take_key(entry, "name", scratch, reterr_diag);

    r = r != 0 ? r : entry_check_name(entry, reterr_diag);
    return r != 0 ? r : entry_compile_schemas(entry, reterr_diag);
}

static int entry_compile_resource(RouterEntry *entry, Arena *scratch, Diag *reterr_diag)
{
    Span name;
    int r = entry_take_key(entry, "uri", scratch, reterr_diag);

    if (r != 0) {
        return r;
    }
    return entry_take_string(router_entry_description(entry), "name", scratch, &name, reterr_diag);
}

static int entry_compile_template(RouterEntry *entry, Arena *scratch, Diag *reterr_diag)
{
    Diag diag = DIAG_NULL;
    Span name;
    int r = entry_take_key(entry, "uriTemplate", scratch, reterr_diag);

    if (r != 0) {
        return r;
    }
    r = uritemplate_new(&entry->template, router_entry_key(entry), &diag);
    if (r == URITEMPLATE_E_MALFORMED) {
        return entry_malformed(reterr_diag, "uriTemplate", "uriTemplate: %s", diag.message);
    }
    if (r != 0) {
        return err_fold(r);
    }
    return entry_take_string(router_entry_description(entry), "name", scratch, &name, reterr_diag);
}

static int entry_compile_prompt(RouterEntry *entry, Arena *scratch, Diag *reterr_diag)
{
    JsonValue arguments;
    int r = entry_take_key(entry, "name", scratch, reterr_diag);

    if (r == 0 && json_get(router_entry_description(entry), SPAN("arguments"), &arguments)) {
        entry->arguments = arguments;
    }
    return r;
}

static int entry_write_json(const RouterEntry *entry, JsonValue given, Bytes *out)
{
    JsonWriter w;

    if (entry->is_command) {
        return router_command_describe(given, entry->is_guarded, entry->can_undo, out);
    }
    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_value(&w, given);
    return json_writer_finish(&w);
}

/* The description without white space, and its index, each in a block of the right size: there may
 * be thousands of them, and they stay. */
static int entry_take_json(RouterEntry *entry, JsonValue given, Arena *scratch)
{
    CLEANUP(bytes_deinit) Bytes compact = BYTES_NULL;
    JsonDoc doc;
    int r;

    /* Compact is never longer than given, and what a command has besides is ours, and short. */
    bytes_init(&compact, 2 * ENTRY_DESCRIPTION_BYTES);
    r = entry_write_json(entry, given, &compact);
    if (r != 0) {
        return err_fold(r);
    }
    r = json_parse(&doc, scratch, compact.data, compact.n, NULL, NULL);
    if (r != 0) {
        return err_fold(r);
    }
    entry->text = mem_alloc(compact.n);
    entry->nodes = mem_alloc(doc.n_nodes * sizeof(*doc.nodes));
    if (entry->text == NULL || entry->nodes == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(entry->text, compact.data, compact.n);
    memcpy(entry->nodes, doc.nodes, doc.n_nodes * sizeof(*doc.nodes));
    return 0;
}

/* Takes the description; on failure it may be there and wrong. */
static int entry_take_description(RouterEntry *entry, Span json, Arena *scratch, Diag *reterr_diag)
{
    Diag diag = DIAG_NULL;
    JsonDoc doc;
    int r;

    if (json.n > ENTRY_DESCRIPTION_BYTES) {
        return entry_malformed(reterr_diag, "", "the description is longer than %zu bytes",
                               ENTRY_DESCRIPTION_BYTES);
    }
    r = json_parse(&doc, scratch, json.p, json.n, NULL, &diag);
    if (r > 0) {
        (void)entry_malformed(reterr_diag, "", "the description is not JSON: %s", diag.message);
        diag_set_place(reterr_diag, json.p, json.n, diag.offset);
        return ROUTER_E_MALFORMED;
    }
    if (r < 0) {
        return err_pass(r);
    }
    if (json_kind(json_root(&doc)) != JSON_OBJECT) {
        return entry_malformed(reterr_diag, "", "the description must be an object, and is %s",
                               json_kind_name(json_kind(json_root(&doc))));
    }
    r = entry_take_json(entry, json_root(&doc), scratch);
    if (r != 0) {
        return err_pass(r);
    }
    return router_entry_check(entry->kind, router_entry_description(entry), reterr_diag);
}

static int entry_build(RouterEntry *entry, const RouterSpec *spec, Arena *scratch,
                       Diag *reterr_diag)
{
    static int (*const compile[ROUTER_N_KINDS])(RouterEntry *, Arena *, Diag *) = {
        [ROUTER_TOOL] = entry_compile_tool,
        [ROUTER_RESOURCE] = entry_compile_resource,
        [ROUTER_TEMPLATE] = entry_compile_template,
        [ROUTER_PROMPT] = entry_compile_prompt,
    };
    int r;

    if (spec->describe != NULL) {
        assert(spec->kind == ROUTER_TOOL);
        r = entry_set_key(entry, spec->name);
        return r != 0 ? r : entry_check_name(entry, reterr_diag);
    }
    r = entry_take_description(entry, spec->json, scratch, reterr_diag);
    return r != 0 ? r : compile[spec->kind](entry, scratch, reterr_diag);
}

int router_entry_new(RouterEntry **ret, const RouterSpec *spec, Arena *scratch, Diag *reterr_diag)
{
    RouterEntry *entry = mem_alloc_array(1, sizeof(*entry));
    int r;

    if (entry == NULL) {
        return err_raise(-ENOMEM);
    }
    *entry = (RouterEntry){
        .kind = spec->kind,
        .provider = spec->provider,
        .context = spec->context,
        .describe = spec->describe,
        .release = spec->release,
        .timeout_ms = spec->timeout_ms,
        .later = spec->later,
        .is_command = spec->kind == ROUTER_TOOL && spec->is_command,
        .is_guarded = spec->is_guarded,
        .can_undo = spec->can_undo,
        .is_relayed = spec->is_relayed,
        .is_about_all = spec->is_about_all,
        .completes = spec->completes,
        .subscribes = spec->subscribes,
        .prefix = spec->prefix,
        .n_refs = 1,
    };
    r = entry_build(entry, spec, scratch, reterr_diag);
    if (r != 0) {
        (void)router_entry_free(entry);
        return r;
    }
    *ret = entry;
    return 0;
}

/* Is the description that of this name? */
static bool entry_has_name(const RouterEntry *entry)
{
    JsonValue name;

    return json_get(router_entry_description(entry), SPAN("name"), &name) &&
           json_string_equals(name, router_entry_key(entry));
}

int router_entry_describe(RouterEntry *entry, Arena *scratch)
{
    CLEANUP(bytes_deinit) Bytes json = BYTES_NULL;
    int r;

    if (entry->text != NULL) {
        return 0;
    }
    bytes_init(&json, ENTRY_DESCRIPTION_BYTES);
    r = entry->describe(entry->context, router_entry_key(entry), &json);
    if (r != 0) {
        return r < 0 ? err_pass(r) : ROUTER_E_MALFORMED;
    }
    r = entry_take_description(entry, bytes_span(&json), scratch, NULL);
    if (r == 0 && !entry_has_name(entry)) {
        r = ROUTER_E_MALFORMED;
    }
    if (r != 0) {
        entry->text = mem_free(entry->text);
        entry->nodes = mem_free(entry->nodes);
    }
    return r;
}

int router_entry_prepare(RouterEntry *entry, Arena *scratch)
{
    int r = router_entry_describe(entry, scratch);

    if (r != 0 || entry->input != NULL) {
        return r;
    }
    r = entry_compile_schemas(entry, NULL);
    if (r != 0) {
        entry->input = schema_free(entry->input);
        entry->output = schema_free(entry->output);
    }
    return r;
}

RouterEntry *router_entry_free(RouterEntry *entry)
{
    if (entry == NULL) {
        return NULL;
    }
    entry->input = schema_free(entry->input);
    entry->output = schema_free(entry->output);
    entry->template = uritemplate_free(entry->template);
    entry->key = mem_free(entry->key);
    entry->nodes = mem_free(entry->nodes);
    entry->text = mem_free(entry->text);
    return mem_free(entry);
}

RouterEntry *router_entry_ref(RouterEntry *entry)
{
    entry->n_refs++;
    return entry;
}

RouterEntry *router_entry_unref(RouterEntry *entry)
{
    if (entry == NULL || --entry->n_refs > 0) {
        return NULL;
    }
    if (entry->release != NULL) {
        entry->release(entry->context);
    }
    return router_entry_free(entry);
}
