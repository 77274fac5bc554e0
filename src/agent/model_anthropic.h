/* agent/model_anthropic.h: what the files of the dialect share. Private to agent/model_anthropic*.
 */
#pragma once

#include "agent/model_dialect.h"

int model_anthropic_write(Bytes *out, const ModelRequest *request, const ModelBody *body);
