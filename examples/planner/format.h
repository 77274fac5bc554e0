/* format.h: what is in a document's file. */
#pragma once

#include "store.h"

/* Makes an empty database a new document, named after its path; of any other one, says whether it
 * is a document that this program understands. */
int format_check(Store *store, const char *path, Fault *fault);
