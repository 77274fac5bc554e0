/* agent/model_write.h: pieces of request bodies that the dialects share. Private to agent/model*.
 */
#pragma once

#include "agent/model.h"
#include "json/writer.h"

/* Of a tool's input: what it says, or any object. */
void model_write_schema(JsonWriter *w, Span schema);

/* The tool's name as services allow it. */
void model_write_name(JsonWriter *w, Span name);

/* Has this text anything to say? Services refuse what is blank. */
bool model_text_is_blank(Span text);
