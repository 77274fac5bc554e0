/* Which model it is to be. */
#include <errno.h>
#include <string.h>

#include "agent/model.h"
#include "agent/model_script.h"
#include "agent/script.h"
#include "base/bytes.h"
#include "base/error.h"
#include "io/error_text.h"
#include "io/file.h"

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

int model_open(Model **ret, const ModelConfig *config, Diag *reterr_diag)
{
    Span name = span_from_str(config->name != NULL ? config->name : "script");

    if (span_equals(name, SPAN("script"))) {
        return model_script_new(ret, config->loop, "script", NULL, reterr_diag);
    }
    if (span_starts_with(name, SPAN("script:"))) {
        return open_script_file(ret, config, name.p + strlen("script:"), reterr_diag);
    }
    return diag_set(reterr_diag, MODEL_E_UNKNOWN,
                    "there is no model '%s': script, script:FILE, openai:NAME, anthropic:NAME",
                    config->name);
}
