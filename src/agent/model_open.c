/* Which model it is to be. */
#include <errno.h>

#include "agent/model.h"
#include "agent/model_choice.h"
#include "agent/model_http.h"
#include "agent/model_script.h"
#include "agent/model_settings.h"
#include "agent/script.h"
#include "base/bytes.h"
#include "base/error.h"
#include "io/environment.h"
#include "io/error_text.h"
#include "io/file.h"

/* Addresses, keys and names of the environment. */
#define OPEN_ARENA_BYTES ((size_t)1024 * 1024)

static int open_script_file(Model **ret, const ModelConfig *config, const char *path,
                            Diag *reterr_diag)
{
    Bytes bytes;
    Span text;
    int r;

    bytes_init(&bytes, AGENT_SCRIPT_MAX_BYTES);
    r = io_file_read(&bytes, path);
    if (r == -ENOMEM) {
        bytes_deinit(&bytes);
        return err_pass(r);
    }
    if (r != 0) {
        bytes_deinit(&bytes);
        return diag_set(reterr_diag, MODEL_E_FILE, "the script %s cannot be read: %s", path,
                        r > 0 ? "it is too large" : io_error_text(-r));
    }
    text = bytes_span(&bytes);
    r = model_script_new(ret, config->loop, config->name, &text, reterr_diag);
    bytes_deinit(&bytes);
    if (r > 0) {
        diag_prefix(reterr_diag, "%s: ", path);
    }
    return r;
}

/* The model, if the settings leave no question: *ret stays NULL if somebody must be asked. */
static int open_known(Model **ret, const ModelConfig *config, const ModelSettings *settings,
                      Diag *reterr_diag)
{
    if (settings->n_services > 0) {
        return settings->services[0].model == NULL
                   ? 0
                   : model_http_new(ret, &settings->services[0], config, NULL);
    }
    if (settings->script.n > 0) {
        return open_script_file(ret, config, settings->script.p, reterr_diag);
    }
    return model_script_new(ret, config->loop, "script", NULL, reterr_diag);
}

int model_open(Model **ret, const ModelConfig *config, Diag *reterr_diag)
{
    ModelConfig whole = *config;
    ModelSettings settings;
    Model *known = NULL;
    Arena arena;
    int r;

    if (whole.environment == NULL) {
        whole.environment = io_environment();
    }
    arena_init(&arena, OPEN_ARENA_BYTES);
    r = model_settings_read(&settings, &arena, &whole, reterr_diag);
    if (r == 0) {
        r = open_known(&known, &whole, &settings, reterr_diag);
    }
    if (r == 0 && (known == NULL || whole.chosen != NULL)) {
        r = model_choice_new(ret, &settings, &whole, known);
        if (r != 0) {
            known = model_free(known);
        }
    } else if (r == 0) {
        *ret = known;
    }
    arena_deinit(&arena);
    return r;
}
