/* The member `audit` of a configuration: the record of calls. */
#include "app/config_internal.h"

#include <stdio.h>

#include "base/error.h"

static int config_read_audit_file(const ConfigReader *reader, JsonValue value)
{
    char **file = &reader->config->audit.file;
    int r;

    /* A path from the folder of the configuration would be that folder. */
    r = config_read_string(reader, value, file);
    if (r == 0 && (*file)[0] == '\0') {
        r = diag_set(reader->diag, CONFIG_E_INVALID, "expected the path of a file");
    }
    return r != 0 ? r : config_read_path(reader, value, file);
}

static int config_read_audit_member(const ConfigReader *reader, const JsonIter *it)
{
    const char *names[CONFIG_NUMBERS_MAX + 2];
    size_t n_names = config_number_names(CONFIG_AUDIT, names);
    char field[DIAG_FIELD_SIZE];
    bool is_known;
    Span name;
    int r = json_string(it->key, reader->arena, &name);

    if (r != 0) {
        return err_fold(r);
    }
    names[n_names++] = "file";
    names[n_names++] = "arguments";
    (void)snprintf(field, sizeof(field), "audit.%.*s", (int)(name.n < 60 ? name.n : 60), name.p);
    r = config_read_number(reader, CONFIG_AUDIT, name, it->value, &is_known);
    if (is_known) {
        return config_place(reader, it->value, field, r);
    }
    if (span_equals(name, SPAN("file"))) {
        return config_place(reader, it->value, field, config_read_audit_file(reader, it->value));
    }
    if (span_equals(name, SPAN("arguments"))) {
        return config_place(reader, it->value, field,
                            config_read_bool(reader, it->value, &reader->config->audit.arguments));
    }
    return config_unknown(reader, it->key, name, "audit.", names, n_names);
}

int config_read_audit(const ConfigReader *reader, JsonValue audit)
{
    Config *config = reader->config;

    if (json_kind(audit) == JSON_STRING) {
        return config_place(reader, audit, "audit", config_read_audit_file(reader, audit));
    }
    if (json_kind(audit) != JSON_OBJECT) {
        (void)diag_set(reader->diag, CONFIG_E_INVALID, "expected an object or a file");
        return config_place(reader, audit, "audit", CONFIG_E_INVALID);
    }
    for (JsonIter it = json_iter(audit); json_iter_next(&it);) {
        int r = config_read_audit_member(reader, &it);

        if (r != 0) {
            return r;
        }
    }
    if (config->audit.file == NULL) {
        (void)diag_set(reader->diag, CONFIG_E_INVALID, "'file' is missing");
        return config_place(reader, audit, "audit", CONFIG_E_INVALID);
    }
    return 0;
}
