/* toolkit/complexity/lang_c_names.h: what C and C++ share about names and parameters. Private.
 * Thread: any. */
#pragma once

#include "toolkit/complexity/rules.h"

/* The name in the declarator of a function_definition: behind pointers, parentheses, attributes and
 * lists of parameters. */
Span complexity_c_declared_name(TSNode definition, Span text);

/* Could a function be called that? Keywords are names where the parser did not understand a macro.
 */
bool complexity_c_is_name(Span name);

/* For .really: the statement that a "function" called like its keyword is. */
const char *complexity_c_really(const ComplexityPlace *place);

/* Is what looks like a function in a function none: without a type or parameters, or with a macro
 * for its type? Nothing but GNU's C has such functions, and they have both. */
bool complexity_c_is_in_block(const ComplexityPlace *place);

/* For .parameters: "(void)" is none, "..." is none. */
uint32_t complexity_c_parameters(const ComplexityPlace *place);
