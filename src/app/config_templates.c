/* The member `templates` of a configuration: a folder, or several. */
#include "app/config_internal.h"

#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"

void config_free_templates(Config *config)
{
    for (size_t i = 0; config->templates != NULL && config->templates[i] != NULL; i++) {
        config->templates[i] = mem_free(config->templates[i]);
    }
    config->templates = mem_free(config->templates);
}

int config_read_templates(const ConfigReader *reader, JsonValue templates)
{
    Config *config = reader->config;
    bool is_list = json_kind(templates) == JSON_ARRAY;
    char field[DIAG_FIELD_SIZE];
    size_t n = 0;
    int r = 0;

    if (!is_list && json_kind(templates) != JSON_STRING) {
        (void)diag_set(reader->diag, CONFIG_E_INVALID, "expected a folder or an array of folders");
        return config_place(reader, templates, "templates", CONFIG_E_INVALID);
    }
    config_free_templates(config);
    config->templates =
        mem_alloc_array((is_list ? json_count(templates) : 1) + 1, sizeof(*config->templates));
    if (config->templates == NULL) {
        return err_raise(-ENOMEM);
    }
    if (!is_list) {
        return config_place(reader, templates, "templates",
                            config_read_path(reader, templates, &config->templates[0]));
    }
    for (JsonIter it = json_iter(templates); r == 0 && json_iter_next(&it); n++) {
        (void)snprintf(field, sizeof(field), "templates[%zu]", n);
        r = config_place(reader, it.value, field,
                         config_read_path(reader, it.value, &config->templates[n]));
    }
    return r;
}
