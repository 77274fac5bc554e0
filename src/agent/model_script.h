/* agent/model_script.h: the model that needs nothing: plays what agent/script.h has for each
 * request. Private to agent/model*. Thread: loop. */
#pragma once

#include "agent/model.h"
#include "base/span.h"

/* text: a script; NULL: commands. name is model_name's. 0, -ENOMEM, MODEL_E_FILE (the Diag says
 * what is wrong with the text). Borrows all but the loop until return. */
int model_script_new(Model **ret, IoLoop *loop, const char *name, const Span *text,
                     Diag *reterr_diag);
