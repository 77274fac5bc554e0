/* providers/template_source.h: every template that there is for this user: the built-in ones, then
 * those of folders, which may take the place of others.
 *
 * A folder holds a manifest (toolkit/templates/manifest.h), or folders that hold one each. What
 * cannot be used is left out with a word in the log; the rest counts. Links that lead out of the
 * folder are not followed. Thread: any, one at a time.
 */
#pragma once

#include "base/diag.h"
#include "base/logsink.h"
#include "toolkit/templates/catalog.h"

#include <stdbool.h>
#include <stddef.h>

/* folders: searched in this order; NULL-terminated, may be NULL. The user's own
 * ($XDG_CONFIG_HOME/toolwire/templates, else ~/.config/…) comes before them, if it is there. Of
 * those in `folders` one that cannot be read is an error: TEMPLATE_SOURCE_E_FOLDER, with a Diag.
 * log may be NULL. 0, -ENOMEM, another negative errno. Gives *ret. */
enum {
    TEMPLATE_SOURCE_E_FOLDER = 1,
};
int template_source_load(TemplateCatalog **ret, const char *const *folders, const LogSink *log,
                         Diag *reterr_diag);

/* The user's own folder, whether or not it is there. False if there can be none, or its name is too
 * long. */
bool template_source_user_folder(char *ret, size_t size);
