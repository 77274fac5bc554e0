/* toolkit/templates/project_names.h: which template a name means in a project. Private. */
#pragma once

#include "base/bytes.h"
#include "toolkit/templates/catalog.h"

/* "makefile", "readme/long" or a whole URI. NULL if there is none; then *ret_is_uri says whether it
 * could have been one. */
const Template *project_find(const TemplateCatalog *catalog, Span toolchain, Span name,
                             bool *ret_is_uri);

/* Appends why project_find found nothing. 0, -ENOMEM, BYTES_E_FULL. */
int project_write_not_found(Bytes *out, Span toolchain, Span name, bool is_uri);
