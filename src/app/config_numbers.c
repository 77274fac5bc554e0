/* The numbers of a configuration, in the file and as flags. */
#include "app/config_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"

typedef enum ConfigType {
    CONFIG_U32,
    CONFIG_SIZE,
    CONFIG_MS,
} ConfigType;

/* The numbers: key, type, place, and the smallest and largest that make sense. */
static const struct ConfigNumber {
    Span name;
    ConfigGroup group;
    ConfigType type;
    size_t offset;
    uint64_t min;
    uint64_t max;
} config_numbers[] = {
    {SPAN_INIT("rate_burst"), CONFIG_LIMITS, CONFIG_U32, offsetof(Config, limits.rate_burst), 1,
     1000000000},
    {SPAN_INIT("rate_per_s"), CONFIG_LIMITS, CONFIG_U32, offsetof(Config, limits.rate_per_s), 1,
     1000000000},
    {SPAN_INIT("max_in_flight"), CONFIG_LIMITS, CONFIG_U32, offsetof(Config, limits.max_in_flight),
     1, LIMIT_CALLS_IN_FLIGHT_MAX},
    {SPAN_INIT("call_timeout_ms"), CONFIG_LIMITS, CONFIG_MS,
     offsetof(Config, limits.call_timeout_ms), 1, 86400000},
    {SPAN_INIT("call_timeout_max_ms"), CONFIG_LIMITS, CONFIG_MS,
     offsetof(Config, limits.call_timeout_max_ms), 1, 86400000},
    {SPAN_INIT("max_request_bytes"), CONFIG_LIMITS, CONFIG_SIZE,
     offsetof(Config, max_request_bytes), 1024, 1u << 30},
    {SPAN_INIT("max_response_bytes"), CONFIG_LIMITS, CONFIG_SIZE,
     offsetof(Config, max_response_bytes), 1024, 1u << 30},
    {SPAN_INIT("max_line_bytes"), CONFIG_LIMITS, CONFIG_SIZE, offsetof(Config, max_line_bytes),
     1024, 1u << 30},
    {SPAN_INIT("drain_ms"), CONFIG_LIMITS, CONFIG_MS, offsetof(Config, drain_ms), 1, 3600000},
    {SPAN_INIT("page_size"), CONFIG_LIMITS, CONFIG_SIZE, offsetof(Config, page_size), 1, 1000000},
    {SPAN_INIT("result_bytes"), CONFIG_LIMITS, CONFIG_SIZE, offsetof(Config, result_bytes), 256,
     1u << 30},
    {SPAN_INIT("ping_interval_ms"), CONFIG_PIPE, CONFIG_MS, offsetof(Config, pipe.ping_interval_ms),
     10, 86400000},
    {SPAN_INIT("pong_timeout_ms"), CONFIG_PIPE, CONFIG_MS, offsetof(Config, pipe.pong_timeout_ms),
     10, 86400000},
    {SPAN_INIT("max_bytes"), CONFIG_AUDIT, CONFIG_SIZE, offsetof(Config, audit.max_bytes), 4096,
     1u << 30},
    {SPAN_INIT("keep"), CONFIG_AUDIT, CONFIG_U32, offsetof(Config, audit.keep), 1, 1000},
    {SPAN_INIT("keep_ms"), CONFIG_QUEUE, CONFIG_MS, offsetof(Config, queue.keep_ms), 1000,
     LIMIT_TIME_MS},
    {SPAN_INIT("known_ms"), CONFIG_QUEUE, CONFIG_MS, offsetof(Config, queue.known_ms), 1,
     LIMIT_TIME_MS},
    {SPAN_INIT("keep_bytes"), CONFIG_QUEUE, CONFIG_SIZE, offsetof(Config, queue.keep_bytes), 4096,
     (uint64_t)1 << 40},
    {SPAN_INIT("max_waiting"), CONFIG_QUEUE, CONFIG_SIZE, offsetof(Config, queue.max_waiting), 1,
     1000000000},
    {SPAN_INIT("max_running"), CONFIG_QUEUE, CONFIG_U32, offsetof(Config, queue.max_running), 1,
     4096},
    {SPAN_INIT("max_tokens"), CONFIG_AGENT, CONFIG_U32, offsetof(Config, agent.max_tokens), 1,
     10000000},
    {SPAN_INIT("budget_tokens"), CONFIG_AGENT, CONFIG_U32, offsetof(Config, agent.budget_tokens),
     256, 100000000},
    {SPAN_INIT("max_rounds"), CONFIG_AGENT, CONFIG_U32, offsetof(Config, agent.max_rounds), 1,
     1000},
    {SPAN_INIT("grace_ms"), CONFIG_AGENT, CONFIG_MS, offsetof(Config, agent.grace_ms), 1, 3600000},
    {SPAN_INIT("stall_ms"), CONFIG_AGENT, CONFIG_MS, offsetof(Config, agent.stall_ms), 1, 86400000},
    {SPAN_INIT("approval_ms"), CONFIG_AGENT, CONFIG_MS, offsetof(Config, agent.approval_ms), 1,
     86400000},
};

static const char *const config_type_text[] = {
    [CONFIG_U32] = "a whole number",
    [CONFIG_SIZE] = "a whole number or a size (64KiB)",
    [CONFIG_MS] = "milliseconds or a duration (30s)",
};

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

static int config_read_value(const ConfigReader *reader, const struct ConfigNumber *number,
                             JsonValue value)
{
    uint64_t n;

    if (json_kind(value) == JSON_STRING) {
        CLEANUP(mem_freep) char *text = NULL;
        int r = config_read_string(reader, value, &text);

        return r != 0 ? r
                      : config_set(reader->config, number->name, span_from_str(text), reader->diag);
    }
    if (json_uint64(value, &n) != 0) {
        return diag_set(reader->diag, CONFIG_E_INVALID, "expected %s",
                        config_type_text[number->type]);
    }
    return config_number_store(reader->config, number, n, reader->diag);
}

int config_read_number(const ConfigReader *reader, ConfigGroup group, Span name, JsonValue value,
                       bool *ret_known)
{
    const struct ConfigNumber *number = config_number_find(name);

    *ret_known = number != NULL && number->group == group;
    return *ret_known ? config_read_value(reader, number, value) : 0;
}

size_t config_number_names(ConfigGroup group, const char *ret[CONFIG_NUMBERS_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < TW_ARRAY_SIZE(config_numbers); i++) {
        if (config_numbers[i].group == group) {
            assert(n < CONFIG_NUMBERS_MAX);
            ret[n++] = config_numbers[i].name.p;
        }
    }
    return n;
}

/* ---- limits ---- */

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

int config_read_limits(const ConfigReader *reader, JsonValue limits)
{
    const char *names[CONFIG_NUMBERS_MAX + 1];
    size_t n_names = config_number_names(CONFIG_LIMITS, names);

    names[n_names++] = "rate";
    if (json_kind(limits) != JSON_OBJECT) {
        return config_no_object(reader, limits, "limits");
    }
    for (JsonIter it = json_iter(limits); json_iter_next(&it);) {
        char field[DIAG_FIELD_SIZE];
        bool is_known;
        Span name;
        int r = json_string(it.key, reader->arena, &name);

        if (r != 0) {
            return err_fold(r);
        }
        (void)snprintf(field, sizeof(field), "limits.%.*s", (int)(name.n < 60 ? name.n : 60),
                       name.p);
        r = config_read_number(reader, CONFIG_LIMITS, name, it.value, &is_known);
        if (!is_known && span_equals(name, SPAN("rate"))) {
            r = config_read_rate(reader, it.value);
        } else if (!is_known) {
            return config_unknown(reader, it.key, name, "limits.", names, n_names);
        }
        if (r != 0) {
            return config_place(reader, it.value, field, r);
        }
    }
    return 0;
}
