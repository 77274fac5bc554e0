/* toolkit/kind_impl.h: what the files of toolkit/kind share. Thread: any. */
#pragma once

#include "base/compiler.h"
#include "toolkit/kind.h"

/* With the words of the reason, cut if they are too long. */
TW_PRINTF(2, 3) ToolkitKindFound kind_found(ToolkitKind kind, const char *format, ...);

/* By content alone; SOURCE if it tells nothing. */
ToolkitKindFound kind_of_content(Span path, Span text);

/* What follows the last '.' of the name; empty if there is none. */
Span kind_extension(Span path);
