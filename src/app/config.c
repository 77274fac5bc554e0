#include "app/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/config_internal.h"
#include "app/config_user.h"
#include "app/jsonc.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/text.h"
#include "io/error_text.h"
#include "io/file.h"
#include "io/place.h"

/* A configuration is written by hand. */
#define CONFIG_MAX_BYTES ((size_t)1024 * 1024)
#define CONFIG_MAX_INDEX ((size_t)18 * 1024 * 1024)
#define CONFIG_PATH_MAX  4096

static const char *const config_keys[] = {
    "tools", "call_socket", "pipe",  "templates",  "write_root", "state",   "http",   "audit",
    "queue", "limits",      "agent", "lazy_tools", "mcpServers", "toolkit", "$schema"};
static const char *const config_call_socket_keys[] = {"connect", "schema"};

/* ---- errors ---- */

int config_place(const ConfigReader *reader, JsonValue at, const char *field, int r)
{
    if (reader->diag != NULL && r > 0) {
        diag_set_place(reader->diag, reader->text.p, reader->text.n,
                       (size_t)(json_span(at).p - reader->text.p));
        diag_set_field(reader->diag, "%s", field);
        if (reader->is_check) {
            diag_prefix(reader->diag, "%s: ", field);
        } else {
            diag_prefix(reader->diag, "%s:%u: %s: ", reader->path, reader->diag->line, field);
        }
    }
    return r;
}

int config_unknown(const ConfigReader *reader, JsonValue key, Span name, const char *where,
                   const char *const *names, size_t n)
{
    const char *nearest = text_nearest(name, names, n);
    char field[DIAG_FIELD_SIZE];

    (void)snprintf(field, sizeof(field), "%s%.*s", where, (int)(name.n < 60 ? name.n : 60), name.p);
    (void)diag_set(reader->diag, CONFIG_E_INVALID, "unknown key%s%s%s",
                   nearest == NULL ? "" : "; did you mean '", nearest == NULL ? "" : nearest,
                   nearest == NULL ? "" : "'?");
    return config_place(reader, key, field, CONFIG_E_INVALID);
}

int config_no_object(const ConfigReader *reader, JsonValue value, const char *field)
{
    (void)diag_set(reader->diag, CONFIG_E_INVALID, "expected an object");
    return config_place(reader, value, field, CONFIG_E_INVALID);
}

/* ---- strings and paths ---- */

int config_read_string(const ConfigReader *reader, JsonValue value, char **ret)
{
    char *expanded = NULL;
    Span text;
    int r;

    if (json_kind(value) != JSON_STRING) {
        return diag_set(reader->diag, CONFIG_E_INVALID, "expected a string");
    }
    r = json_string(value, reader->arena, &text);
    if (r != 0) {
        return err_fold(r);
    }
    r = config_expand(&expanded, text, reader->diag);
    if (r == CONFIG_E_VARIABLE && reader->is_check) {
        return config_replace(ret, "");
    }
    if (r == 0) {
        mem_free(*ret);
        *ret = expanded;
    }
    return r;
}

/* A path of the file, from the folder where the file lies. Gives *ret. */
static int config_join_path(char **ret, const char *config_path, const char *path)
{
    size_t n_folder = io_place_is_absolute(path) ? 0 : io_place_folder_length(config_path);
    size_t n_path = strlen(path);
    char *joined = mem_alloc(n_folder + n_path + 1);

    if (joined == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(joined, config_path, n_folder);
    memcpy(joined + n_folder, path, n_path + 1);
    *ret = joined;
    return 0;
}

int config_read_path(const ConfigReader *reader, JsonValue value, char **ret)
{
    CLEANUP(mem_freep) char *expanded = NULL;
    int r = config_read_string(reader, value, &expanded);

    if (r != 0) {
        return r;
    }
    *ret = mem_free(*ret);
    return err_pass(config_join_path(ret, reader->path, expanded));
}

int config_read_bool(const ConfigReader *reader, JsonValue value, bool *ret)
{
    return json_bool(value, ret)
               ? 0
               : diag_set(reader->diag, CONFIG_E_INVALID, "expected true or false");
}

static int config_read_toolkit(const ConfigReader *reader, JsonValue value)
{
    bool flag = false;
    int r = config_read_bool(reader, value, &flag);

    reader->config->toolkit = flag ? CONFIG_TOOLKIT_OFFERED : CONFIG_TOOLKIT_LEFT_OUT;
    return config_place(reader, value, "toolkit", r);
}

bool config_offers_toolkit(const Config *config)
{
    bool has_others = config->tools != NULL || config->call_socket != NULL ||
                      config->pipe.name != NULL || config->n_servers > 0;

    return config->toolkit == CONFIG_TOOLKIT_UNSAID
               ? !has_others || config->templates != NULL || config->write_root != NULL
               : config->toolkit == CONFIG_TOOLKIT_OFFERED;
}

/* ---- a parent ---- */

static int config_read_call_socket_member(const ConfigReader *reader, const JsonIter *it)
{
    Config *config = reader->config;
    Span name;
    int r;

    if (json_string_equals(it->key, SPAN("connect"))) {
        return config_place(reader, it->value, "call_socket.connect",
                            config_read_path(reader, it->value, &config->call_socket));
    }
    if (json_string_equals(it->key, SPAN("schema"))) {
        return config_place(reader, it->value, "call_socket.schema",
                            config_read_path(reader, it->value, &config->call_socket_schema));
    }
    r = json_string(it->key, reader->arena, &name);
    return r != 0 ? err_fold(r)
                  : config_unknown(reader, it->key, name, "call_socket.", config_call_socket_keys,
                                   TW_ARRAY_SIZE(config_call_socket_keys));
}

static int config_read_call_socket(const ConfigReader *reader, JsonValue value)
{
    const Config *config = reader->config;

    if (json_kind(value) != JSON_OBJECT) {
        return config_no_object(reader, value, "call_socket");
    }
    for (JsonIter it = json_iter(value); json_iter_next(&it);) {
        int r = config_read_call_socket_member(reader, &it);

        if (r != 0) {
            return r;
        }
    }
    if (config->call_socket == NULL || config->call_socket_schema == NULL) {
        (void)diag_set(reader->diag, CONFIG_E_INVALID, "'%s' is missing",
                       config->call_socket == NULL ? "connect" : "schema");
        return config_place(reader, value, "call_socket", CONFIG_E_INVALID);
    }
    return 0;
}

/* ---- the file ---- */

/* What editors complete by. It says nothing to us. */
static int config_read_schema(const ConfigReader *reader, JsonValue value)
{
    if (json_kind(value) == JSON_STRING) {
        return 0;
    }
    return config_place(reader, value, "$schema",
                        diag_set(reader->diag, CONFIG_E_INVALID, "expected a string"));
}

static int config_read_root(const ConfigReader *reader, JsonValue root)
{
    if (json_kind(root) != JSON_OBJECT) {
        return config_no_object(reader, root, "configuration");
    }
    for (JsonIter it = json_iter(root); json_iter_next(&it);) {
        int r;

        if (json_string_equals(it.key, SPAN("limits"))) {
            r = config_read_limits(reader, it.value);
        } else if (json_string_equals(it.key, SPAN("tools"))) {
            r = config_place(reader, it.value, "tools",
                             config_read_path(reader, it.value, &reader->config->tools));
        } else if (json_string_equals(it.key, SPAN("call_socket"))) {
            r = config_read_call_socket(reader, it.value);
        } else if (json_string_equals(it.key, SPAN("pipe"))) {
            r = config_read_pipe(reader, it.value);
        } else if (json_string_equals(it.key, SPAN("templates"))) {
            r = config_read_list(reader, it.value, "templates", "a folder or an array of folders",
                                 config_read_path, &reader->config->templates);
        } else if (json_string_equals(it.key, SPAN("toolkit"))) {
            r = config_read_toolkit(reader, it.value);
        } else if (json_string_equals(it.key, SPAN("http"))) {
            r = config_read_http(reader, it.value);
        } else if (json_string_equals(it.key, SPAN("audit"))) {
            r = config_read_audit(reader, it.value);
        } else if (json_string_equals(it.key, SPAN("queue"))) {
            r = config_read_queue(reader, it.value);
        } else if (json_string_equals(it.key, SPAN("agent"))) {
            r = config_read_agent(reader, it.value);
        } else if (json_string_equals(it.key, SPAN("lazy_tools"))) {
            r = config_read_lazy_tools(reader, it.value);
        } else if (json_string_equals(it.key, SPAN("mcpServers"))) {
            r = config_read_servers(reader, it.value);
        } else if (json_string_equals(it.key, SPAN("write_root"))) {
            r = config_place(reader, it.value, "write_root",
                             config_read_path(reader, it.value, &reader->config->write_root));
        } else if (json_string_equals(it.key, SPAN("state"))) {
            r = config_place(reader, it.value, "state",
                             config_read_path(reader, it.value, &reader->config->state));
        } else if (json_string_equals(it.key, SPAN("$schema"))) {
            r = config_read_schema(reader, it.value);
        } else {
            Span name;

            r = json_string(it.key, reader->arena, &name);
            if (r == 0) {
                r = config_unknown(reader, it.key, name, "", config_keys,
                                   TW_ARRAY_SIZE(config_keys));
            }
        }
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

/* plain is empty: it gets the text without comments, in which every byte has its place. */
static int config_parse_into(Config *config, Span text, const char *path, Arena *arena,
                             Bytes *plain, Diag *diag)
{
    ConfigReader reader = {.config = config, .path = path, .arena = arena, .diag = diag};
    JsonDoc doc;
    size_t n_path = strlen(path) + 1;
    int r = jsonc_to_json(plain, text, diag);

    if (r == 0) {
        reader.text = bytes_span(plain);
        r = json_parse(&doc, arena, reader.text.p, reader.text.n, NULL, diag);
    }
    if (r > 0) {
        if (diag != NULL) {
            diag_prefix(diag, "%s:%u:%u: ", path, diag->line, diag->column);
        }
        return CONFIG_E_SYNTAX;
    }
    if (r < 0) {
        return err_pass(r);
    }
    config->path = mem_alloc(n_path);
    if (config->path == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(config->path, path, n_path);
    return config_read_root(&reader, json_root(&doc));
}

int config_parse(Config *ret, Span text, const char *path, Diag *reterr_diag)
{
    Arena arena;
    Bytes plain;
    int r;

    *ret = CONFIG_NULL;
    arena_init(&arena, CONFIG_MAX_INDEX);
    bytes_init(&plain, CONFIG_MAX_BYTES);
    r = config_parse_into(ret, text, path, &arena, &plain, reterr_diag);
    bytes_deinit(&plain);
    arena_deinit(&arena);
    if (r != 0) {
        config_deinit(ret);
    }
    return r;
}

void config_deinit(Config *config)
{
    config->path = mem_free(config->path);
    config->tools = mem_free(config->tools);
    config->call_socket = mem_free(config->call_socket);
    config->call_socket_schema = mem_free(config->call_socket_schema);
    config->pipe.name = mem_free(config->pipe.name);
    config->pipe.tools = mem_free(config->pipe.tools);
    config->templates = config_free_list(config->templates);
    config->write_root = mem_free(config->write_root);
    config->state = mem_free(config->state);
    config_http_deinit(&config->http);
    config->audit.file = mem_free(config->audit.file);
    config->queue.file = mem_free(config->queue.file);
    config_agent_deinit(&config->agent);
    config->lazy_always = config_free_list(config->lazy_always);
    config_servers_deinit(config);
    *config = CONFIG_NULL;
}

int config_replace(char **string, const char *value)
{
    size_t n = strlen(value) + 1;
    char *copy = mem_alloc(n);

    if (copy == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(copy, value, n);
    mem_free(*string);
    *string = copy;
    return 0;
}

/* The one that is given, else the first that exists; NULL: none. */
static const char *config_look(const char *path, char user_path[CONFIG_PATH_MAX])
{
    if (path != NULL) {
        return strcmp(path, CONFIG_NONE) == 0 ? NULL : path;
    }
    if (io_place_exists("toolwire.json")) {
        return "./toolwire.json";
    }
    return config_user_path(user_path, CONFIG_PATH_MAX) && io_place_exists(user_path) ? user_path
                                                                                      : NULL;
}

int config_find(char **ret, const char *path)
{
    char user_path[CONFIG_PATH_MAX];

    path = config_look(path, user_path);
    if (path == NULL) {
        *ret = NULL;
        return 0;
    }
    if (strncmp(path, "./", 2) == 0) {
        path += 2;
    }
    return err_pass(io_place_absolute(ret, path));
}

int config_load(Config *ret, const char *path, Diag *reterr_diag)
{
    char user_path[CONFIG_PATH_MAX];
    Bytes text;
    int r;

    *ret = CONFIG_NULL;
    path = config_look(path, user_path);
    if (path == NULL) {
        return 0;
    }
    bytes_init(&text, CONFIG_MAX_BYTES);
    r = io_file_read(&text, path);
    if (r == 0) {
        r = config_parse(ret, bytes_span(&text), path, reterr_diag);
    } else if (r != -ENOMEM) {
        r = diag_set(reterr_diag, CONFIG_E_READ, "%s: %s", path,
                     r == BYTES_E_FULL ? "longer than 1 MiB" : io_error_text(-r));
    }
    bytes_deinit(&text);
    return r;
}
