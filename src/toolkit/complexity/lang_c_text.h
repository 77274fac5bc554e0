/* toolkit/complexity/lang_c_text.h: what C and C++ texts look like to their grammars. Private.
 *
 * The preprocessor changes a text before a compiler sees it; a grammar sees the text itself. These
 * overwrite what would mislead it, byte by byte, so that every place stays where it is. Each takes
 * time in proportion to the text, and leaves the rest of it when it is stopped. Thread: any. */
#pragma once

#include "base/stop.h"

#include <stdbool.h>
#include <stddef.h>

/* For .prepare: the bodies of macros are blank and conditions of #if are 1, as nothing of them
 * counts and many are no C. True if that changed something. */
bool complexity_c_prepare(char *text, size_t n, Stop stop);

/* For .mend, where the grammar did not understand something:
 *   - words of capitals that stand for attributes are blank: between type and name (there and
 * behind a declaration, in whatever case), behind a parameter, behind a list of parameters, before
 * a type, behind `class`, before a block;
 *   - a macro with arguments and without semicolon is blank outside functions and `MACRO,a,b;`
 *     inside, where its arguments may count;
 *   - arguments that are types or operators are names, and the default of a parameter without name
 *     is blank;
 *   - of several heads in an #if that share one body the first is left.
 * 0, -ENOMEM; *ret_changed is set if 0. */
int complexity_c_mend(char *text, size_t n, Stop stop, bool *ret_changed);
