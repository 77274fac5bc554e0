/* The member `queue` of a configuration: the durable queue. */
#include "app/config_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

static int config_read_queue_file(const ConfigReader *reader, JsonValue value)
{
    char **file = &reader->config->queue.file;
    int r = config_read_string(reader, value, file);

    if (r != 0 || strcmp(*file, CONFIG_QUEUE_OFF) == 0) {
        return r;
    }
    if ((*file)[0] == '\0') {
        return diag_set(reader->diag, CONFIG_E_INVALID, "expected the path of a file, or off");
    }
    return config_read_path(reader, value, file);
}

static int config_read_queue_store(const ConfigReader *reader, JsonValue value)
{
    CLEANUP(mem_freep) char *store = NULL;
    int r = config_read_string(reader, value, &store);

    if (r != 0 || strcmp(store, "sqlite") == 0) {
        return r;
    }
    return diag_set(reader->diag, CONFIG_E_INVALID, "only \"sqlite\" is possible");
}

static int config_read_queue_member(const ConfigReader *reader, const JsonIter *it)
{
    const char *names[CONFIG_NUMBERS_MAX + 3];
    size_t n_names = config_number_names(CONFIG_QUEUE, names);
    char field[DIAG_FIELD_SIZE];
    bool is_known;
    Span name;
    int r = json_string(it->key, reader->arena, &name);

    if (r != 0) {
        return err_fold(r);
    }
    names[n_names++] = "store";
    names[n_names++] = "file";
    names[n_names++] = "pull";
    (void)snprintf(field, sizeof(field), "queue.%.*s", (int)(name.n < 60 ? name.n : 60), name.p);
    r = config_read_number(reader, CONFIG_QUEUE, name, it->value, &is_known);
    if (is_known) {
        return config_place(reader, it->value, field, r);
    }
    if (span_equals(name, SPAN("store"))) {
        return config_place(reader, it->value, field, config_read_queue_store(reader, it->value));
    }
    if (span_equals(name, SPAN("file"))) {
        return config_place(reader, it->value, field, config_read_queue_file(reader, it->value));
    }
    if (span_equals(name, SPAN("pull"))) {
        return config_place(reader, it->value, field,
                            config_read_bool(reader, it->value, &reader->config->queue.takes_all));
    }
    return config_unknown(reader, it->key, name, "queue.", names, n_names);
}

int config_read_queue(const ConfigReader *reader, JsonValue queue)
{
    if (json_kind(queue) == JSON_STRING) {
        return config_place(reader, queue, "queue", config_read_queue_file(reader, queue));
    }
    if (json_kind(queue) != JSON_OBJECT) {
        (void)diag_set(reader->diag, CONFIG_E_INVALID, "expected an object, a file or \"off\"");
        return config_place(reader, queue, "queue", CONFIG_E_INVALID);
    }
    for (JsonIter it = json_iter(queue); json_iter_next(&it);) {
        int r = config_read_queue_member(reader, &it);

        if (r != 0) {
            return r;
        }
    }
    return 0;
}
