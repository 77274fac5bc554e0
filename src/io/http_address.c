#include "io/http_address.h"

#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "base/error.h"
#include "io/http_server.h"
#include "io/unix_socket.h"

/* What is shown of a wrong address. */
#define ADDRESS_SHOWN 64

/* The longest host: an IPv6 address with an IPv4 one in it, and the NUL. */
#define ADDRESS_HOST_SIZE 46

#define ADDRESS_FORMS "127.0.0.1:PORT, [::1]:PORT, localhost:PORT or unix:PATH"

static int address_refuse(Diag *diag, Span text, const char *why)
{
    int n = (int)(text.n < ADDRESS_SHOWN ? text.n : ADDRESS_SHOWN);

    return diag_set(diag, IO_HTTP_E_PLACE, "\"%.*s\" is no address to listen on: %s (%s)", n,
                    text.n == 0 ? "" : text.p, why, ADDRESS_FORMS);
}

static bool address_parse_port(Span text, unsigned *ret)
{
    unsigned port = 0;

    if (text.n == 0 || text.n > 5) {
        return false;
    }
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9') {
            return false;
        }
        port = port * 10 + (unsigned)(text.p[i] - '0');
    }
    *ret = port;
    return port <= 65535;
}

static bool address_parse_host(Span text, bool is_6, unsigned char ret[16])
{
    char host[ADDRESS_HOST_SIZE];

    if (!is_6 && span_equals(text, SPAN("localhost"))) {
        text = SPAN("127.0.0.1");
    }
    if (text.n == 0 || text.n >= sizeof(host) || memchr(text.p, '\0', text.n) != NULL) {
        return false;
    }
    memcpy(host, text.p, text.n);
    host[text.n] = '\0';
    /* libuv would take the name of an interface for granted, and drop it. */
    return strchr(host, '%') == NULL && uv_inet_pton(is_6 ? AF_INET6 : AF_INET, host, ret) == 0;
}

static int address_parse_unix(HttpAddress *ret, Span text, Diag *diag)
{
    Span path = span_make(text.p + 5, text.n - 5);

    if (path.n == 0) {
        return address_refuse(diag, text, "the path is missing");
    }
    if (memchr(path.p, '\0', path.n) != NULL) {
        return address_refuse(diag, text, "there is a NUL in the path");
    }
    if (path.n > UNIX_SOCKET_PATH_MAX) {
        return diag_set(diag, IO_HTTP_E_PLACE,
                        "the path of a socket has at most %zu bytes, and this one %zu: %.*s...",
                        UNIX_SOCKET_PATH_MAX, path.n, ADDRESS_SHOWN, path.p);
    }
    *ret = (HttpAddress){.is_unix = true, .is_loopback = true, .path = path};
    return 0;
}

int http_address_parse(HttpAddress *ret, Span text, Diag *reterr_diag)
{
    TcpAddress tcp = {.is_6 = text.n > 0 && text.p[0] == '['};
    size_t colon = text.n;
    Span host;

    if (span_starts_with(text, SPAN("unix:"))) {
        return address_parse_unix(ret, text, reterr_diag);
    }
    while (colon > 0 && text.p[colon - 1] != ':') {
        colon--;
    }
    if (colon == 0) {
        return address_refuse(reterr_diag, text, "the port is missing");
    }
    host = span_make(text.p, colon - 1);
    if (tcp.is_6) {
        if (host.n < 2 || host.p[host.n - 1] != ']') {
            return address_refuse(reterr_diag, text, "a port follows the bracket");
        }
        host = span_make(host.p + 1, host.n - 2);
    }
    if (!address_parse_host(host, tcp.is_6, tcp.host)) {
        return address_refuse(reterr_diag, text, "a host is a number, or localhost");
    }
    if (!address_parse_port(span_make(text.p + colon, text.n - colon), &tcp.port)) {
        return address_refuse(reterr_diag, text, "a port is a number from 0 to 65535");
    }
    *ret = (HttpAddress){.tcp = tcp, .is_loopback = tcp_address_is_loopback(&tcp)};
    return 0;
}

int io_http_address_check(Span address, bool *ret_is_loopback, Diag *reterr_diag)
{
    HttpAddress parsed;
    int r = http_address_parse(&parsed, address, reterr_diag);

    if (r == 0) {
        *ret_is_loopback = parsed.is_loopback;
    }
    return r;
}

bool io_http_address_is_same(Span address, Span other)
{
    HttpAddress a;
    HttpAddress b;

    if (http_address_parse(&a, address, NULL) != 0 || http_address_parse(&b, other, NULL) != 0 ||
        a.is_unix != b.is_unix) {
        return false;
    }
    if (a.is_unix) {
        return span_equals(a.path, b.path);
    }
    return a.tcp.is_6 == b.tcp.is_6 && a.tcp.port == b.tcp.port && a.tcp.port != 0 &&
           memcmp(a.tcp.host, b.tcp.host, a.tcp.is_6 ? 16 : 4) == 0;
}

bool tcp_address_is_loopback(const TcpAddress *address)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    static const unsigned char loopback[16] = {[15] = 1};

    if (!address->is_6) {
        return address->host[0] == 127;
    }
    if (memcmp(address->host, mapped, sizeof(mapped)) == 0) {
        return address->host[12] == 127;
    }
    return memcmp(address->host, loopback, sizeof(loopback)) == 0;
}

void tcp_address_host_text(const TcpAddress *address, char ret[TCP_ADDRESS_TEXT_SIZE])
{
    char host[ADDRESS_HOST_SIZE] = "";

    (void)uv_inet_ntop(address->is_6 ? AF_INET6 : AF_INET, address->host, host, sizeof(host));
    (void)snprintf(ret, TCP_ADDRESS_TEXT_SIZE, address->is_6 ? "[%s]" : "%s", host);
}

void tcp_address_text(const TcpAddress *address, char ret[TCP_ADDRESS_TEXT_SIZE])
{
    char host[ADDRESS_HOST_SIZE] = "";

    (void)uv_inet_ntop(address->is_6 ? AF_INET6 : AF_INET, address->host, host, sizeof(host));
    (void)snprintf(ret, TCP_ADDRESS_TEXT_SIZE, address->is_6 ? "[%s]:%u" : "%s:%u", host,
                   address->port);
}

int io_http_machine_name(char *ret, size_t size)
{
    int r = uv_os_gethostname(ret, &size);

    return r == 0 ? 0 : err_raise(r);
}
