/* json/schema/metaschema.h: the official metaschemas, built in so that a reference to one needs no
 * network. Thread: any. */
#pragma once

#include "base/span.h"

#include <stdbool.h>

/* The text of the metaschema at uri (without fragment); false if it is not one of ours. */
bool metaschema_find(Span uri, Span *ret_text);
