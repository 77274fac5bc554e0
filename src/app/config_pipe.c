/* The member `pipe` of a configuration: where add-ins find us. */
#include "app/config_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/pipe_place.h"

/* The place of a wrong name is found before anything is started. */
static int config_check_pipe_name(const ConfigReader *reader, const char *name)
{
    CLEANUP(mem_freep) char *path = NULL;
    int r = io_pipe_place(&path, name, reader->diag);

    return r == PIPE_PLACE_E_NAME ? CONFIG_E_INVALID : err_pass(r);
}

static int config_read_pipe_name(const ConfigReader *reader, JsonValue value)
{
    int r = config_read_string(reader, value, &reader->config->pipe.name);

    return r != 0 ? r : config_check_pipe_name(reader, reader->config->pipe.name);
}

static int config_default_pipe_name(Config *config)
{
    static const char name[] = CONFIG_PIPE_NAME;

    config->pipe.name = mem_alloc(sizeof(name));
    if (config->pipe.name == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(config->pipe.name, name, sizeof(name));
    return 0;
}

static int config_read_pipe_member(const ConfigReader *reader, const JsonIter *it)
{
    const char *names[CONFIG_NUMBERS_MAX + 2];
    size_t n_names = config_number_names(CONFIG_PIPE, names);
    char field[DIAG_FIELD_SIZE];
    bool is_known;
    Span name;
    int r = json_string(it->key, reader->arena, &name);

    if (r != 0) {
        return err_fold(r);
    }
    names[n_names++] = "name";
    names[n_names++] = "tools";
    (void)snprintf(field, sizeof(field), "pipe.%.*s", (int)(name.n < 60 ? name.n : 60), name.p);
    r = config_read_number(reader, CONFIG_PIPE, name, it->value, &is_known);
    if (is_known) {
        return config_place(reader, it->value, field, r);
    }
    if (span_equals(name, SPAN("name"))) {
        return config_place(reader, it->value, field, config_read_pipe_name(reader, it->value));
    }
    if (span_equals(name, SPAN("tools"))) {
        return config_place(reader, it->value, field,
                            config_read_path(reader, it->value, &reader->config->pipe.tools));
    }
    return config_unknown(reader, it->key, name, "pipe.", names, n_names);
}

int config_read_pipe(const ConfigReader *reader, JsonValue pipe)
{
    Config *config = reader->config;

    if (json_kind(pipe) == JSON_STRING) {
        return config_place(reader, pipe, "pipe", config_read_pipe_name(reader, pipe));
    }
    if (json_kind(pipe) != JSON_OBJECT) {
        (void)diag_set(reader->diag, CONFIG_E_INVALID, "expected an object or a name");
        return config_place(reader, pipe, "pipe", CONFIG_E_INVALID);
    }
    for (JsonIter it = json_iter(pipe); json_iter_next(&it);) {
        int r = config_read_pipe_member(reader, &it);

        if (r != 0) {
            return r;
        }
    }
    return config->pipe.name != NULL ? 0 : err_pass(config_default_pipe_name(config));
}
