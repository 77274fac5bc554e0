/* agent/model_openai.h: what the files of the dialect share. Private to agent/model_openai*. */
#pragma once

#include "agent/model_dialect.h"

int model_openai_write(Bytes *out, const ModelRequest *request, const ModelBody *body);
