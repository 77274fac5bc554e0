#include "base/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* vsnprintf that marks a cut with "..." and does not cut inside a UTF-8 sequence. */
TW_PRINTF(3, 0)
static void diag_format(char *out, size_t size, const char *format, va_list args)
{
    int n = vsnprintf(out, size, format, args);
    size_t cut = size - 4;

    if (n < 0) {
        out[0] = '\0';
    } else if ((size_t)n >= size) {
        while (cut > 0 && ((unsigned char)out[cut] & 0xC0) == 0x80) {
            cut--;
        }
        memcpy(out + cut, "...", 4);
    }
}

int diag_set(Diag *d, int code, const char *format, ...)
{
    va_list args;

    if (d != NULL) {
        *d = DIAG_NULL;
        d->code = code;
        va_start(args, format);
        diag_format(d->message, sizeof(d->message), format, args);
        va_end(args);
    }
    return code;
}

void diag_set_place(Diag *d, const char *text, size_t n, size_t offset)
{
    size_t line_start = 0;
    uint32_t line = 1;
    size_t end = offset < n ? offset : n;

    if (d == NULL) {
        return;
    }
    for (const char *nl = end > 0 ? memchr(text, '\n', end) : NULL; nl != NULL;
         nl = memchr(text + line_start, '\n', end - line_start)) {
        line_start = (size_t)(nl - text) + 1;
        line++;
    }
    d->offset = offset;
    d->line = line;
    d->column = (uint32_t)(end - line_start) + 1;
}

void diag_set_field(Diag *d, const char *format, ...)
{
    va_list args;

    if (d != NULL) {
        va_start(args, format);
        diag_format(d->field, sizeof(d->field), format, args);
        va_end(args);
    }
}

void diag_prefix(Diag *d, const char *format, ...)
{
    char front[DIAG_MESSAGE_SIZE];
    char words[DIAG_MESSAGE_SIZE];
    va_list args;
    Diag joined;

    if (d == NULL) {
        return;
    }
    va_start(args, format);
    diag_format(front, sizeof(front), format, args);
    va_end(args);
    memcpy(words, d->message, sizeof(words));
    (void)diag_set(&joined, d->code, "%s%s", front, words);
    memcpy(d->message, joined.message, sizeof(d->message));
}
