/* toolkit/templates/parameter_value.h: what is wrong with one value of a parameter, and the words
 * for it. Private to the templates. */
#pragma once

#include "base/bytes.h"
#include "toolkit/templates/manifest.h"

#include <stddef.h>

/* The value itself, not an element of it. */
#define PARAMETER_WHOLE SIZE_MAX

typedef struct ParameterFault {
    const char *code; /* TEMPLATE_FAULT_* */
    size_t index;     /* element of an array, or PARAMETER_WHOLE */
    JsonValue got;
} ParameterFault;

/* 0 or a negative errno, which ends the check. */
typedef int (*ParameterFaultFn)(void *context, const TemplateParameter *p,
                                const ParameterFault *fault);

/* Calls fn for each fault. 0, -ENOMEM, what fn returned. */
int parameter_value_check(const TemplateParameter *p, JsonValue v, SchemaCheck *scratch,
                          ParameterFaultFn fn, void *context);

/* Appends what would have been right, and the whole sentence. 0, -ENOMEM, BYTES_E_FULL. */
int parameter_write_expected(Bytes *out, const TemplateParameter *p, const ParameterFault *fault);
int parameter_write_message(Bytes *out, const TemplateParameter *p, const ParameterFault *fault);
