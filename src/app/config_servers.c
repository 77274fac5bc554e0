/* The member `mcpServers` of a configuration: other MCP servers behind this one.
 *
 *     "mcpServers": {
 *       "files": { "command": "npx", "args": [ "-y", "some-server", "/srv" ],
 *                  "env": { "TOKEN": "${TOKEN}" }, "cwd": "work" },
 *       "far":   { "url": "https://example.com/mcp", "headers": { "X-Key": "${KEY}" },
 *                  "auth": { "client_id": "c" }, "prefix": "f", "separator": "-", "allow": [
 * "get_*" ], "deny": [ "*_all" ], "tools": { "get_x": { "description": "…", "timeout_ms": "5m" } },
 *                  "start_timeout_ms": "1m", "list_timeout_ms": "10s", "call_timeout_ms": "2m",
 *                  "idle_ms": "10m", "start": "eager", "era": "legacy", "enabled": false } }
 *
 * What other programs write into such a member and does not concern us is passed over. What is
 * wrong with one server costs that one: it is disabled, and its `fault` says why. Only names have
 * to be right, since a server is known by its name.
 */
#include "app/config_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"

/* Ids in names, logs and pages. */
#define SERVERS_NAME_MAX 128

static const char *const server_keys[] = {"command",
                                          "args",
                                          "env",
                                          "cwd",
                                          "url",
                                          "headers",
                                          "auth",
                                          "prefix",
                                          "separator",
                                          "allow",
                                          "deny",
                                          "tools",
                                          "era",
                                          "type",
                                          "enabled",
                                          "disabled",
                                          "transport",
                                          "start",
                                          "start_timeout_ms",
                                          "list_timeout_ms",
                                          "call_timeout_ms",
                                          "idle_ms"};

/* Of other programs: what they show, and what they ask their person for. */
static const char *const server_foreign_keys[] = {
    "alwaysAllow", "autoApprove", "description", "dev",     "envFile", "gallery", "icon",
    "name",        "note",        "sandbox",     "timeout", "trust",   "version"};

/* ---- parts ---- */

typedef struct ServerReader {
    const ConfigReader *reader;
    UpstreamSpec *spec;
    char place[DIAG_FIELD_SIZE]; /* "mcpServers.files." */
} ServerReader;

/* A name is as it is written: a dollar in it is one. */
static int read_name(const ConfigReader *reader, JsonValue key, char **ret)
{
    Span text;
    int r = json_string(key, reader->arena, &text);

    if (r != 0) {
        return err_fold(r);
    }
    if (text.n > 0 && memchr(text.p, '\0', text.n) != NULL) {
        return diag_set(reader->diag, CONFIG_E_INVALID, "a name with a NUL byte");
    }
    *ret = mem_alloc(text.n + 1);
    if (*ret == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(*ret, text.p, text.n);
    (*ret)[text.n] = '\0';
    return 0;
}

static int read_pairs(const ServerReader *server, JsonValue value, const char *field,
                      UpstreamPair **ret, size_t *ret_n)
{
    char place[DIAG_FIELD_SIZE];
    int r = 0;

    if (json_kind(value) != JSON_OBJECT) {
        return config_no_object(server->reader, value, field);
    }
    *ret = mem_alloc_array((size_t)json_count(value) + 1, sizeof(**ret));
    if (*ret == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(value); r == 0 && json_iter_next(&it);) {
        UpstreamPair *pair = &(*ret)[(*ret_n)++];

        r = read_name(server->reader, it.key, &pair->name);
        (void)snprintf(place, sizeof(place), "%.60s.%.40s", field,
                       pair->name != NULL ? pair->name : "");
        r = r != 0 ? r : config_read_string(server->reader, it.value, &pair->value);
        r = config_place(server->reader, it.value, place, r);
    }
    return r;
}

static int read_time(const ConfigReader *reader, JsonValue value, int64_t *ret)
{
    CLEANUP(mem_freep) char *text = NULL;
    uint64_t number = 0;
    int r;

    if (json_kind(value) == JSON_NUMBER) {
        if (json_uint64(value, &number) != 0 || number > (uint64_t)LIMIT_TIME_MS) {
            return diag_set(reader->diag, CONFIG_E_INVALID, "expected milliseconds");
        }
        *ret = (int64_t)number;
        return 0;
    }
    r = config_read_string(reader, value, &text);
    if (r != 0) {
        return r;
    }
    if (text_parse_duration_ms(span_from_str(text), ret) != 0 || *ret > LIMIT_TIME_MS) {
        return diag_set(reader->diag, CONFIG_E_INVALID, "'%.80s' is not a time (500ms, 30s, 5m)",
                        text);
    }
    return 0;
}

static int read_tool_member(const ServerReader *server, UpstreamTool *tool, const JsonIter *it,
                            const char *place)
{
    static const char *const keys[] = {"description", "timeout_ms"};
    char field[DIAG_FIELD_SIZE];
    Span name;
    int r = json_string(it->key, server->reader->arena, &name);

    if (r != 0) {
        return err_fold(r);
    }
    (void)snprintf(field, sizeof(field), "%.80s%.*s", place, (int)(name.n < 30 ? name.n : 30),
                   name.p);
    if (span_equals(name, SPAN("description"))) {
        r = config_read_string(server->reader, it->value, &tool->description);
    } else if (span_equals(name, SPAN("timeout_ms"))) {
        r = read_time(server->reader, it->value, &tool->timeout_ms);
    } else {
        return config_unknown(server->reader, it->key, name, place, keys, TW_ARRAY_SIZE(keys));
    }
    return config_place(server->reader, it->value, field, r);
}

static int read_tools(const ServerReader *server, JsonValue value, const char *field)
{
    UpstreamSpec *spec = server->spec;
    char place[DIAG_FIELD_SIZE];
    int r = 0;

    if (json_kind(value) != JSON_OBJECT) {
        return config_no_object(server->reader, value, field);
    }
    spec->tools = mem_alloc_array((size_t)json_count(value) + 1, sizeof(*spec->tools));
    if (spec->tools == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(value); r == 0 && json_iter_next(&it);) {
        UpstreamTool *tool = &spec->tools[spec->n_tools++];

        r = read_name(server->reader, it.key, &tool->name);
        (void)snprintf(place, sizeof(place), "%.60s.%.30s.", field,
                       tool->name != NULL ? tool->name : "");
        if (r == 0 && json_kind(it.value) != JSON_OBJECT) {
            r = config_no_object(server->reader, it.value, place);
        }
        for (JsonIter of = json_iter(it.value); r == 0 && json_iter_next(&of);) {
            r = read_tool_member(server, tool, &of, place);
        }
    }
    return r;
}

/* true, false, or the text itself. */
static int read_prefix(const ServerReader *server, JsonValue value)
{
    UpstreamSpec *spec = server->spec;
    bool flag;

    if (json_bool(value, &flag)) {
        spec->prefixing = flag ? UPSTREAM_PREFIX_ALWAYS : UPSTREAM_PREFIX_NEVER;
        return 0;
    }
    spec->prefixing = UPSTREAM_PREFIX_ALWAYS;
    return config_read_string(server->reader, value, &spec->prefix);
}

static int read_era(const ServerReader *server, JsonValue value)
{
    if (json_string_equals(value, SPAN("auto"))) {
        server->spec->era = MCP_CLIENT_AUTO;
    } else if (json_string_equals(value, SPAN("legacy"))) {
        server->spec->era = MCP_CLIENT_LEGACY;
    } else if (json_string_equals(value, SPAN("modern"))) {
        server->spec->era = MCP_CLIENT_MODERN;
    } else {
        return diag_set(server->reader->diag, CONFIG_E_INVALID,
                        "expected \"auto\", \"legacy\" or \"modern\"");
    }
    return 0;
}

static int read_start(const ServerReader *server, JsonValue value)
{
    if (!json_string_equals(value, SPAN("lazy")) && !json_string_equals(value, SPAN("eager"))) {
        return diag_set(server->reader->diag, CONFIG_E_INVALID, "expected \"lazy\" or \"eager\"");
    }
    server->spec->is_eager = json_string_equals(value, SPAN("eager"));
    return 0;
}

/* How it is reached follows from command or url; what is not ours to speak is said. */
static int read_type(const ServerReader *server, JsonValue value)
{
    static const char *const types[] = {
        "stdio",           "http", "streamable-http", "streamableHttp",
        "streamable_http", "sse",  "local",           "remote"};
    CLEANUP(mem_freep) char *text = NULL;
    int r = config_read_string(server->reader, value, &text);

    if (r == 0 && !text_is_one_of(span_from_str(text), types, TW_ARRAY_SIZE(types), NULL)) {
        r = diag_set(server->reader->diag, CONFIG_E_INVALID,
                     "'%.40s' is not a way to reach a server: stdio, http and sse are", text);
    }
    return r;
}

static int read_enabled(const ServerReader *server, JsonValue value, bool is_inverse)
{
    bool flag = false;
    int r = config_read_bool(server->reader, value, &flag);

    if (r == 0) {
        server->spec->is_disabled = is_inverse ? flag : !flag;
    }
    return r;
}

/* Numbers and what needs no place of its own. -1: it is none of them. */
static int read_simple(const ServerReader *server, Span name, JsonValue value, bool *ret_known)
{
    const ConfigReader *reader = server->reader;
    UpstreamSpec *spec = server->spec;

    *ret_known = true;
    if (span_equals(name, SPAN("command"))) {
        return config_read_string(reader, value, &spec->command);
    }
    if (span_equals(name, SPAN("cwd"))) {
        return config_read_path(reader, value, &spec->cwd);
    }
    if (span_equals(name, SPAN("url"))) {
        return config_read_string(reader, value, &spec->url);
    }
    if (span_equals(name, SPAN("prefix"))) {
        return read_prefix(server, value);
    }
    if (span_equals(name, SPAN("separator"))) {
        return config_read_string(reader, value, &spec->separator);
    }
    if (span_equals(name, SPAN("start_timeout_ms"))) {
        return read_time(reader, value, &spec->start_timeout_ms);
    }
    if (span_equals(name, SPAN("list_timeout_ms"))) {
        return read_time(reader, value, &spec->list_timeout_ms);
    }
    if (span_equals(name, SPAN("call_timeout_ms"))) {
        return read_time(reader, value, &spec->call_timeout_ms);
    }
    if (span_equals(name, SPAN("idle_ms"))) {
        return read_time(reader, value, &spec->idle_ms);
    }
    if (span_equals(name, SPAN("era"))) {
        return read_era(server, value);
    }
    if (span_equals(name, SPAN("start"))) {
        return read_start(server, value);
    }
    if (span_equals(name, SPAN("type")) || span_equals(name, SPAN("transport"))) {
        return read_type(server, value);
    }
    if (span_equals(name, SPAN("enabled")) || span_equals(name, SPAN("disabled"))) {
        return read_enabled(server, value, span_equals(name, SPAN("disabled")));
    }
    *ret_known = false;
    return 0;
}

static int read_member(const ServerReader *server, const JsonIter *it)
{
    const ConfigReader *reader = server->reader;
    UpstreamSpec *spec = server->spec;
    char field[DIAG_FIELD_SIZE];
    bool is_known;
    Span name;
    int r = json_string(it->key, reader->arena, &name);

    if (r != 0) {
        return err_fold(r);
    }
    (void)snprintf(field, sizeof(field), "%.80s%.*s", server->place,
                   (int)(name.n < 30 ? name.n : 30), name.p);
    r = read_simple(server, name, it->value, &is_known);
    if (is_known) {
        return config_place(reader, it->value, field, r);
    }
    if (span_equals(name, SPAN("args"))) {
        return config_read_list(reader, it->value, field, "an array of strings", config_read_string,
                                &spec->args);
    }
    if (span_equals(name, SPAN("allow")) || span_equals(name, SPAN("deny"))) {
        return config_read_list(reader, it->value, field, "a pattern or an array of patterns",
                                config_read_string,
                                span_equals(name, SPAN("allow")) ? &spec->allow : &spec->deny);
    }
    if (span_equals(name, SPAN("env"))) {
        return read_pairs(server, it->value, field, &spec->env, &spec->n_env);
    }
    if (span_equals(name, SPAN("headers"))) {
        return read_pairs(server, it->value, field, &spec->headers, &spec->n_headers);
    }
    if (span_equals(name, SPAN("auth"))) {
        return config_read_server_auth(reader, it->value, field, &spec->auth);
    }
    if (span_equals(name, SPAN("tools"))) {
        return read_tools(server, it->value, field);
    }
    if (text_is_one_of(name, server_foreign_keys, TW_ARRAY_SIZE(server_foreign_keys), NULL)) {
        return 0;
    }
    return config_unknown(reader, it->key, name, server->place, server_keys,
                          TW_ARRAY_SIZE(server_keys));
}

/* ---- a server ---- */

/* Between two names there is a separator, and logs hold them: no space, no control characters. */
static int check_name(const ConfigReader *reader, const char *name)
{
    size_t n = strlen(name);

    if (n == 0 || n > SERVERS_NAME_MAX) {
        return diag_set(reader->diag, CONFIG_E_INVALID, "a name has 1 to %d bytes",
                        SERVERS_NAME_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)name[i] < ' ' || name[i] == 0x7f) {
            return diag_set(reader->diag, CONFIG_E_INVALID, "a name with a control character");
        }
    }
    return 0;
}

static int read_members(const ConfigReader *reader, JsonValue value, UpstreamSpec *spec)
{
    ServerReader server = {.reader = reader, .spec = spec};
    char field[DIAG_FIELD_SIZE];
    int r = 0;

    (void)snprintf(field, sizeof(field), "mcpServers.%.60s", spec->name);
    (void)snprintf(server.place, sizeof(server.place), "%.80s.", field);
    if (json_kind(value) != JSON_OBJECT) {
        return config_no_object(reader, value, field);
    }
    for (JsonIter of = json_iter(value); r == 0 && json_iter_next(&of);) {
        r = read_member(&server, &of);
    }
    if (r == 0 && (spec->command == NULL) == (spec->url == NULL)) {
        (void)diag_set(reader->diag, CONFIG_E_INVALID,
                       spec->url == NULL ? "'command' or 'url' is missing"
                                         : "it has both 'command' and 'url'");
        r = config_place(reader, value, field, CONFIG_E_INVALID);
    }
    return r;
}

/* Whoever has switched it off need not hear what is wrong with it. */
static bool is_off(JsonValue server)
{
    JsonValue member;
    bool flag = false;

    return (json_get(server, SPAN("disabled"), &member) && json_bool(member, &flag) && flag) ||
           (json_get(server, SPAN("enabled"), &member) && json_bool(member, &flag) && !flag);
}

/* Nothing of it stays but its name and the words. */
static int take_fault(UpstreamSpec *spec, const char *words)
{
    char *name = spec->name;

    spec->name = NULL;
    upstream_spec_deinit(spec);
    *spec = (UpstreamSpec){.name = name, .is_disabled = true};
    return words == NULL ? 0 : config_replace(&spec->fault, words);
}

static int read_server(const ConfigReader *reader, const JsonIter *it, UpstreamSpec *spec)
{
    ConfigReader own = *reader;
    Diag diag = DIAG_NULL;
    int r = read_name(reader, it->key, &spec->name);

    r = r != 0 ? r : check_name(reader, spec->name);
    if (r != 0) {
        return config_place(reader, it->key, "mcpServers", r);
    }
    own.diag = &diag;
    r = read_members(&own, it->value, spec);
    return r <= 0 ? r : take_fault(spec, is_off(it->value) ? NULL : diag.message);
}

int config_check_server(Span name, Span json, Diag *reterr_diag)
{
    CLEANUP(arena_deinit) Arena arena = ARENA_NULL;
    UpstreamSpec spec = {.name = NULL};
    ConfigReader reader = {
        .text = json, .path = "", .arena = &arena, .diag = reterr_diag, .is_check = true};
    JsonDoc doc;
    int r;

    if (name.n > 0 && memchr(name.p, '\0', name.n) != NULL) {
        return diag_set(reterr_diag, CONFIG_E_INVALID, "a name with a NUL byte");
    }
    arena_init(&arena, SIZE_MAX);
    spec.name = mem_alloc(name.n + 1);
    if (spec.name == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(spec.name, name.p, name.n);
    spec.name[name.n] = '\0';
    r = check_name(&reader, spec.name);
    r = r != 0 ? r : json_parse(&doc, &arena, json.p, json.n, NULL, reterr_diag);
    r = r != 0 ? r : read_members(&reader, json_root(&doc), &spec);
    upstream_spec_deinit(&spec);
    return r > 0 ? CONFIG_E_INVALID : r;
}

int config_read_servers(const ConfigReader *reader, JsonValue servers)
{
    Config *config = reader->config;
    int r = 0;

    if (json_kind(servers) != JSON_OBJECT) {
        return config_no_object(reader, servers, "mcpServers");
    }
    if (json_count(servers) > CONFIG_MAX_SERVERS) {
        (void)diag_set(reader->diag, CONFIG_E_INVALID, "there are more than %d",
                       CONFIG_MAX_SERVERS);
        return config_place(reader, servers, "mcpServers", CONFIG_E_INVALID);
    }
    config_servers_deinit(config);
    config->servers = mem_alloc_array((size_t)json_count(servers) + 1, sizeof(*config->servers));
    if (config->servers == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(servers); r == 0 && json_iter_next(&it);) {
        UpstreamSpec *spec = &config->servers[config->n_servers++];

        r = read_server(reader, &it, spec);
        for (size_t i = 0; r == 0 && i + 1 < config->n_servers; i++) {
            if (strcmp(config->servers[i].name, spec->name) == 0) {
                (void)diag_set(reader->diag, CONFIG_E_INVALID, "there are two of the name '%.80s'",
                               spec->name);
                r = config_place(reader, it.key, "mcpServers", CONFIG_E_INVALID);
            }
        }
    }
    return r;
}

void config_servers_deinit(Config *config)
{
    for (size_t i = 0; i < config->n_servers; i++) {
        upstream_spec_deinit(&config->servers[i]);
    }
    config->n_servers = 0;
    config->servers = mem_free(config->servers);
}
