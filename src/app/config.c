#include "app/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "io/file.h"
#include "json/json.h"

/* A configuration is written by hand. */
#define CONFIG_MAX_BYTES ((size_t)1024 * 1024)
#define CONFIG_MAX_INDEX ((size_t)18 * 1024 * 1024)
#define CONFIG_PATH_MAX  4096

typedef enum ConfigType {
    CONFIG_U32,
    CONFIG_SIZE,
    CONFIG_MS,
} ConfigType;

/* The numbers: key, type, place, and the smallest and largest that make sense. */
static const struct ConfigNumber {
    Span name;
    ConfigType type;
    size_t offset;
    uint64_t min;
    uint64_t max;
} config_numbers[] = {
    {SPAN_INIT("rate_burst"), CONFIG_U32, offsetof(Config, limits.rate_burst), 1, 1000000000},
    {SPAN_INIT("rate_per_s"), CONFIG_U32, offsetof(Config, limits.rate_per_s), 1, 1000000000},
    {SPAN_INIT("max_in_flight"), CONFIG_U32, offsetof(Config, limits.max_in_flight), 1,
     LIMIT_CALLS_IN_FLIGHT_MAX},
    {SPAN_INIT("call_timeout_ms"), CONFIG_MS, offsetof(Config, limits.call_timeout_ms), 1,
     86400000},
    {SPAN_INIT("call_timeout_max_ms"), CONFIG_MS, offsetof(Config, limits.call_timeout_max_ms), 1,
     86400000},
    {SPAN_INIT("max_request_bytes"), CONFIG_SIZE, offsetof(Config, max_request_bytes), 1024,
     1u << 30},
    {SPAN_INIT("max_response_bytes"), CONFIG_SIZE, offsetof(Config, max_response_bytes), 1024,
     1u << 30},
    {SPAN_INIT("drain_ms"), CONFIG_MS, offsetof(Config, drain_ms), 1, 3600000},
    {SPAN_INIT("page_size"), CONFIG_SIZE, offsetof(Config, page_size), 1, 1000000},
};

static const char *const config_type_text[] = {
    [CONFIG_U32] = "a whole number",
    [CONFIG_SIZE] = "a whole number or a size (64KiB)",
    [CONFIG_MS] = "milliseconds or a duration (30s)",
};

static const char *const config_keys[] = {"tools", "call_socket", "limits"};
static const char *const config_call_socket_keys[] = {"connect", "schema"};

/* Reading one file. */
typedef struct ConfigReader {
    Config *config;
    Span text;
    const char *path;
    Arena *arena;
    Diag *diag;
} ConfigReader;

/* ---- errors ---- */

/* Adds file, line and field to what diag_set wrote. */
static int config_place(const ConfigReader *reader, JsonValue at, const char *field, int r)
{
    if (reader->diag != NULL && r > 0) {
        diag_set_place(reader->diag, reader->text.p, reader->text.n,
                       (size_t)(json_span(at).p - reader->text.p));
        diag_set_field(reader->diag, "%s", field);
        diag_prefix(reader->diag, "%s:%u: %s: ", reader->path, reader->diag->line, field);
    }
    return r;
}

static int config_unknown(const ConfigReader *reader, JsonValue key, Span name, const char *where,
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

/* ---- strings ---- */

/* A string with its variables replaced. Gives *ret. */
static int config_read_string(const ConfigReader *reader, JsonValue value, char **ret)
{
    Span text;
    int r;

    if (json_kind(value) != JSON_STRING) {
        return diag_set(reader->diag, CONFIG_E_INVALID, "expected a string");
    }
    r = json_string(value, reader->arena, &text);
    return r != 0 ? err_fold(r) : config_expand(ret, text, reader->diag);
}

/* ---- numbers ---- */

static const struct ConfigNumber *config_number_find(Span name)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(config_numbers); i++) {
        if (span_equals(config_numbers[i].name, name)) {
            return &config_numbers[i];
        }
    }
    return NULL;
}

bool config_has_number(Span name)
{
    return config_number_find(name) != NULL;
}

static int config_number_store(Config *config, const struct ConfigNumber *number, uint64_t value,
                               Diag *reterr_diag)
{
    char *place = (char *)config + number->offset;

    if (value < number->min || value > number->max) {
        return diag_set(reterr_diag, CONFIG_E_INVALID, "%llu is not between %llu and %llu",
                        (unsigned long long)value, (unsigned long long)number->min,
                        (unsigned long long)number->max);
    }
    switch (number->type) {
    case CONFIG_U32:
        *(uint32_t *)(void *)place = (uint32_t)value;
        break;
    case CONFIG_SIZE:
        *(size_t *)(void *)place = (size_t)value;
        break;
    case CONFIG_MS:
        *(int64_t *)(void *)place = (int64_t)value;
        break;
    }
    return 0;
}

int config_set(Config *config, Span name, Span value, Diag *reterr_diag)
{
    const struct ConfigNumber *number = config_number_find(name);
    uint64_t parsed = 0;
    int64_t ms = 0;
    int r;

    if (number == NULL) {
        return diag_set(reterr_diag, CONFIG_E_INVALID, "there is no setting '%.*s'", (int)name.n,
                        name.p);
    }
    switch (number->type) {
    case CONFIG_MS:
        r = text_parse_duration_ms(value, &ms);
        parsed = (uint64_t)ms;
        break;
    case CONFIG_SIZE:
        r = text_parse_size(value, &parsed);
        break;
    default:
        r = text_parse_u64(value, &parsed);
        break;
    }
    if (r != 0) {
        return diag_set(reterr_diag, CONFIG_E_INVALID, "'%.*s' is not %s",
                        (int)(value.n < 80 ? value.n : 80), value.p,
                        config_type_text[number->type]);
    }
    return config_number_store(config, number, parsed, reterr_diag);
}

static int config_read_limit(const ConfigReader *reader, const struct ConfigNumber *number,
                             JsonValue value)
{
    uint64_t n;
    int r;

    if (json_kind(value) == JSON_STRING) {
        CLEANUP(mem_freep) char *text = NULL;

        r = config_read_string(reader, value, &text);
        return r != 0 ? r
                      : config_set(reader->config, number->name, span_from_str(text), reader->diag);
    }
    if (json_uint64(value, &n) != 0) {
        return diag_set(reader->diag, CONFIG_E_INVALID, "expected %s",
                        config_type_text[number->type]);
    }
    return config_number_store(reader->config, number, n, reader->diag);
}

static int config_read_rate(const ConfigReader *reader, JsonValue value)
{
    CLEANUP(mem_freep) char *text = NULL;
    int r = json_kind(value) == JSON_STRING ? config_read_string(reader, value, &text) : 0;

    if (r != 0) {
        return r;
    }
    if (text == NULL || strcmp(text, "off") != 0) {
        return diag_set(reader->diag, CONFIG_E_INVALID,
                        "only \"off\" is possible; rate_burst and rate_per_s set numbers");
    }
    reader->config->limits.rate_off = true;
    return 0;
}

static int config_read_limits(const ConfigReader *reader, JsonValue limits)
{
    const char *names[TW_ARRAY_SIZE(config_numbers) + 1];

    for (size_t i = 0; i < TW_ARRAY_SIZE(config_numbers); i++) {
        names[i] = config_numbers[i].name.p;
    }
    names[TW_ARRAY_SIZE(config_numbers)] = "rate";
    if (json_kind(limits) != JSON_OBJECT) {
        (void)diag_set(reader->diag, CONFIG_E_INVALID, "expected an object");
        return config_place(reader, limits, "limits", CONFIG_E_INVALID);
    }
    for (JsonIter it = json_iter(limits); json_iter_next(&it);) {
        const struct ConfigNumber *number;
        char field[DIAG_FIELD_SIZE];
        Span name;
        int r = json_string(it.key, reader->arena, &name);

        if (r != 0) {
            return err_fold(r);
        }
        (void)snprintf(field, sizeof(field), "limits.%.*s", (int)(name.n < 60 ? name.n : 60),
                       name.p);
        number = config_number_find(name);
        if (number != NULL) {
            r = config_read_limit(reader, number, it.value);
        } else if (!span_equals(name, SPAN("rate"))) {
            return config_unknown(reader, it.key, name, "limits.", names, TW_ARRAY_SIZE(names));
        } else {
            r = config_read_rate(reader, it.value);
        }
        if (r != 0) {
            return config_place(reader, it.value, field, r);
        }
    }
    return 0;
}

/* ---- paths ---- */

/* A path of the file, from the folder where the file lies. Gives *ret. */
static int config_join_path(char **ret, const char *config_path, const char *path)
{
    const char *slash = strrchr(config_path, '/');
    size_t n_folder = path[0] == '/' || slash == NULL ? 0 : (size_t)(slash - config_path) + 1;
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

static int config_read_path(const ConfigReader *reader, JsonValue value, char **ret)
{
    CLEANUP(mem_freep) char *expanded = NULL;
    int r = config_read_string(reader, value, &expanded);

    if (r != 0) {
        return r;
    }
    *ret = mem_free(*ret);
    return err_pass(config_join_path(ret, reader->path, expanded));
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
        (void)diag_set(reader->diag, CONFIG_E_INVALID, "expected an object");
        return config_place(reader, value, "call_socket", CONFIG_E_INVALID);
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

static int config_read_root(const ConfigReader *reader, JsonValue root)
{
    if (json_kind(root) != JSON_OBJECT) {
        (void)diag_set(reader->diag, CONFIG_E_INVALID, "expected an object");
        return config_place(reader, root, "configuration", CONFIG_E_INVALID);
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

static int config_parse_into(Config *config, Span text, const char *path, Arena *arena, Diag *diag)
{
    ConfigReader reader = {
        .config = config, .text = text, .path = path, .arena = arena, .diag = diag};
    JsonDoc doc;
    size_t n_path = strlen(path) + 1;
    int r = json_parse(&doc, arena, text.p, text.n, NULL, diag);

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
    int r;

    *ret = CONFIG_NULL;
    arena_init(&arena, CONFIG_MAX_INDEX);
    r = config_parse_into(ret, text, path, &arena, reterr_diag);
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
    *config = CONFIG_NULL;
}

/* $XDG_CONFIG_HOME/toolwire/config.json; false if there is no home either, or it is too long. */
static bool config_user_path(char *ret, size_t size)
{
    const char *folder = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    int n;

    if (folder != NULL && folder[0] == '/') {
        n = snprintf(ret, size, "%s/toolwire/config.json", folder);
    } else if (home != NULL && home[0] != '\0') {
        n = snprintf(ret, size, "%s/.config/toolwire/config.json", home);
    } else {
        return false;
    }
    return n > 0 && (size_t)n < size;
}

int config_load(Config *ret, const char *path, Diag *reterr_diag)
{
    char user_path[CONFIG_PATH_MAX];
    Bytes text;
    int r;

    *ret = CONFIG_NULL;
    if (path == NULL) {
        if (access("toolwire.json", F_OK) == 0) {
            path = "./toolwire.json";
        } else if (config_user_path(user_path, sizeof(user_path)) && access(user_path, F_OK) == 0) {
            path = user_path;
        } else {
            return 0;
        }
    }
    bytes_init(&text, CONFIG_MAX_BYTES);
    r = io_file_read(&text, path);
    if (r == 0) {
        r = config_parse(ret, bytes_span(&text), path, reterr_diag);
    } else if (r != -ENOMEM) {
        r = diag_set(reterr_diag, CONFIG_E_READ, "%s: %s", path,
                     r == BYTES_E_FULL ? "longer than 1 MiB" : strerror(-r));
    }
    bytes_deinit(&text);
    return r;
}
