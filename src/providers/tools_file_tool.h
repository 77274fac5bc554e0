/* providers/tools_file_tool.h: one element of a tools file; used by tools_file.c only. */
#pragma once

#include "providers/tools_file.h"
#include "json/json.h"

#include <stddef.h>

/* Reads the object into file->tools[index], by file->rules; folder: the file's, absolute (NULL for
 * a schema file). 0, -ENOMEM, TOOLS_FILE_E_MALFORMED. */
int tools_file_read_tool(ToolsFile *file, size_t index, const char *folder, JsonValue object,
                         Diag *reterr_diag);
