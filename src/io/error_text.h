/* io/error_text.h: an errno in words. */
#pragma once

/* As strerror(3), and also where that does not know the errnos of sockets and pipes. Borrowed, for
 * good. Thread: any. */
const char *io_error_text(int error);
