#include "agent/model_write.h"

#include "agent/model_names.h"
#include "base/text.h"

void model_write_schema(JsonWriter *w, Span schema)
{
    json_write_raw(w, schema.n > 0 ? schema : SPAN("{\"type\":\"object\",\"properties\":{}}"));
}

void model_write_name(JsonWriter *w, Span name)
{
    char wire[MODEL_NAME_MAX];

    json_write_string(w, model_name_to_wire(name, wire));
}

bool model_text_is_blank(Span text)
{
    return text_trim(text).n == 0;
}
