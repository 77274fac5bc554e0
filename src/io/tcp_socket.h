/* io/tcp_socket.h: TCP sockets that listen, and what is accepted on them.
 *
 * Every descriptor is non-blocking and closed on exec. Thread: any.
 */
#pragma once

#include <stdbool.h>

typedef struct TcpAddress {
    unsigned char host[16]; /* in network order; of IPv4 the first four */
    bool is_6;
    unsigned port;
} TcpAddress;

/* "127.0.0.1:65535", "[0000:…:255.255.255.255]:65535", and the NUL. */
#define TCP_ADDRESS_TEXT_SIZE 64

/* As "127.0.0.1:80" or "[::1]:80". */
void tcp_address_text(const TcpAddress *address, char ret[TCP_ADDRESS_TEXT_SIZE]);

/* The same without a port: as "127.0.0.1" or "[::1]". */
void tcp_address_host_text(const TcpAddress *address, char ret[TCP_ADDRESS_TEXT_SIZE]);

/* Whether only this machine has that address: 127.0.0.0/8, ::1, and the former written as the
 * latter. */
bool tcp_address_is_loopback(const TcpAddress *address);

/* Listens there; port 0 is replaced by the one that the system chose. Gives *ret_fd. 0, or a
 * negative errno (-EADDRINUSE, -EADDRNOTAVAIL, -EACCES, …). */
int tcp_socket_listen(int *ret_fd, TcpAddress *address);

/* Accepts one; small writes leave it at once. Gives *ret_fd. 0, or the negative errno of accept(2).
 */
int tcp_socket_accept(int listening_fd, int *ret_fd, TcpAddress *ret_peer);

/* The address of ours that a connection came to; IPv4 is such even if it came to a socket of IPv6.
 * 0, or the negative errno of getsockname(2). */
int tcp_socket_local(int fd, TcpAddress *ret);

/* Closing fd will reset the connection instead of ending it. */
void tcp_socket_reset_on_close(int fd);
