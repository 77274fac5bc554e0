#include "fault.h"

#include <stdarg.h>
#include <stdio.h>

int fault_set(Fault *fault, const char *code, const char *format, ...)
{
    va_list args;

    fault->code = code;
    va_start(args, format);
    (void)vsnprintf(fault->text, sizeof(fault->text), format, args);
    va_end(args);
    return -1;
}

int fault_memory(Fault *fault)
{
    return fault_set(fault, FAULT_API, "There is no memory left.");
}
