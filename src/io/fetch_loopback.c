/* What an address says by itself, however requests are sent; declared in io/fetch.h. */
#include "io/fetch.h"

#include <string.h>

#include "base/text.h"

bool io_fetch_is_loopback(const char *url)
{
    const char *host = strstr(url, "://");
    Span name;

    if (host == NULL) {
        return false;
    }
    host += 3;
    name = span_make(host, strcspn(host, "/?#"));
    for (size_t i = name.n; i > 0; i--) {
        if (name.p[i - 1] == '@') { /* a user stands before it */
            name = span_make(name.p + i, name.n - i);
            break;
        }
    }
    if (span_starts_with(name, SPAN("[::1]"))) {
        return true;
    }
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == ':') {
            name.n = i;
        }
    }
    if (text_equals_nocase(name, SPAN("localhost"))) {
        return true;
    }
    if (!span_starts_with(name, SPAN("127."))) {
        return false;
    }
    for (size_t i = 0; i < name.n; i++) {
        if ((name.p[i] < '0' || name.p[i] > '9') && name.p[i] != '.') {
            return false; /* 127.example.com */
        }
    }
    return true;
}
