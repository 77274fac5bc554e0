/* toolkit/complexity/language_head.h: what the first bytes of a file say about its language.
 * Private. Thread: any. */
#pragma once

#include "base/span.h"

#include <stdbool.h>

/* The program that "#!" names, without folder and version ("python" of "#!/usr/bin/env
 * python3.11"); empty if there is none. Borrowed from head. */
Span complexity_head_command(Span head);

/* Does a header hold what C does not have? What only C++ compilers see (#ifdef __cplusplus) does
 * not count, nor do comments and strings. */
bool complexity_head_is_cpp(Span head);
