/* json/schema/set.h: reading a SchemaSet. Inside json/schema only. */
#pragma once

#include "json/schema/schema.h"

/* The text registered under uri (without fragment), borrowed as long as the set; false if there is
 * none. set may be NULL. */
bool schema_set_find(const SchemaSet *set, Span uri, Span *ret_text);
