/* toolkit/kind.h: files that nobody wrote by hand here: vendored, generated, minified, lock files.
 *
 * What is told is told with the reason ("node_modules/", "@generated on line 1", "lines of 4,200
 * bytes on average"), so that a person can see why a file is left out. Thread: any.
 */
#pragma once

#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum ToolkitKind {
    TOOLKIT_KIND_SOURCE, /* none of the below */
    TOOLKIT_KIND_VENDORED,
    TOOLKIT_KIND_GENERATED,
    TOOLKIT_KIND_MINIFIED,
    TOOLKIT_KIND_LOCK,   /* package-lock.json, Cargo.lock… */
    TOOLKIT_KIND_BINARY, /* a NUL in its beginning */
} ToolkitKind;

typedef struct ToolkitKindFound {
    ToolkitKind kind;
    char detail[96]; /* why; NUL-terminated, may be empty */
} ToolkitKindFound;

/* By its path alone (relative, '/'): vendored, lock, and names that generators give (foo.pb.go). */
ToolkitKindFound toolkit_kind_of_path(Span path);

/* By its content too; text is all of it. */
ToolkitKindFound toolkit_kind_of_text(Span path, Span text);
