#include "io/tcp_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

/* Clients that may wait to be accepted: a thousand that start at once. The system cuts it to its
 * own maximum. */
#define TCP_SOCKET_BACKLOG 1024

typedef union TcpSockaddr {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} TcpSockaddr;

static socklen_t sockaddr_from(TcpSockaddr *ret, const TcpAddress *address)
{
    memset(ret, 0, sizeof(*ret));
    if (address->is_6) {
        ret->v6.sin6_family = AF_INET6;
        ret->v6.sin6_port = htons((uint16_t)address->port);
        memcpy(&ret->v6.sin6_addr, address->host, sizeof(ret->v6.sin6_addr));
        return sizeof(ret->v6);
    }
    ret->v4.sin_family = AF_INET;
    ret->v4.sin_port = htons((uint16_t)address->port);
    memcpy(&ret->v4.sin_addr, address->host, sizeof(ret->v4.sin_addr));
    return sizeof(ret->v4);
}

static void sockaddr_to(const TcpSockaddr *from, TcpAddress *ret)
{
    *ret = (TcpAddress){.is_6 = from->any.sa_family == AF_INET6};
    if (ret->is_6) {
        ret->port = ntohs(from->v6.sin6_port);
        memcpy(ret->host, &from->v6.sin6_addr, sizeof(from->v6.sin6_addr));
    } else {
        ret->port = ntohs(from->v4.sin_port);
        memcpy(ret->host, &from->v4.sin_addr, sizeof(from->v4.sin_addr));
    }
}

static int socket_listen(int fd, TcpAddress *address)
{
    TcpSockaddr name;
    socklen_t n = sockaddr_from(&name, address);
    int on = 1;

    /* A server that was restarted need not wait until its old connections are forgotten. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        bind(fd, &name.any, n) != 0 || listen(fd, TCP_SOCKET_BACKLOG) != 0) {
        return -errno;
    }
    n = sizeof(name);
    if (getsockname(fd, &name.any, &n) != 0) {
        return -errno;
    }
    sockaddr_to(&name, address);
    return 0;
}

int tcp_socket_listen(int *ret_fd, TcpAddress *address)
{
    int fd = socket(address->is_6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    IPPROTO_TCP);
    int r;

    if (fd < 0) {
        return err_raise(-errno);
    }
    r = socket_listen(fd, address);
    if (r != 0) {
        (void)close(fd);
        return err_raise(r);
    }
    *ret_fd = fd;
    return 0;
}

int tcp_socket_accept(int listening_fd, int *ret_fd, TcpAddress *ret_peer)
{
    TcpSockaddr name;
    socklen_t n = sizeof(name);
    int on = 1;
    int fd;

    memset(&name, 0, sizeof(name));
    fd = accept4(listening_fd, &name.any, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        return -errno;
    }
    /* An answer is one write; waiting for more to send with it would only delay it. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    sockaddr_to(&name, ret_peer);
    *ret_fd = fd;
    return 0;
}

int tcp_socket_local(int fd, TcpAddress *ret)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    TcpSockaddr name;
    socklen_t n = sizeof(name);

    memset(&name, 0, sizeof(name));
    if (getsockname(fd, &name.any, &n) != 0) {
        return -errno;
    }
    sockaddr_to(&name, ret);
    if (ret->is_6 && memcmp(ret->host, mapped, sizeof(mapped)) == 0) {
        ret->is_6 = false;
        memmove(ret->host, ret->host + sizeof(mapped), 4);
    }
    return 0;
}

void tcp_socket_reset_on_close(int fd)
{
    const struct linger now = {.l_onoff = 1, .l_linger = 0};

    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}
