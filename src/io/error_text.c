#include "io/error_text.h"

#include <string.h>

const char *io_error_text(int error)
{
    return strerror(error);
}
