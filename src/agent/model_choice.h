/* agent/model_choice.h: the model that is not known yet: asks the services of the settings, one
 * after the other, whether they are there and what they have; requests wait meanwhile.
 *
 *     knock (if nobody has named it) ──▶ list of models ──▶ chosen
 *       └── nobody ──▶ the next, or the script    └── none: the requests fail; the next one asks
 * again
 *
 * Private to agent/model*. Thread: loop.
 */
#pragma once

#include "agent/model.h"
#include "agent/model_settings.h"

/* Copies what it needs of settings; takes inner, the model if it is known already (may be NULL),
 * on success. 0, or a negative errno. Gives *ret. */
int model_choice_new(Model **ret, const ModelSettings *settings, const ModelConfig *config,
                     Model *inner);
