#include "io/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

#define NOTIFY_VARIABLE "NOTIFY_SOCKET"

/* A few lines; the manager takes a page. */
#define NOTIFY_MESSAGE_SIZE 1024

struct IoNotify {
    int fd; /* -1: nobody wants to know */
    struct sockaddr_un address;
    socklen_t n_address;
};

/* "/path", or "@name" for a name without a file. False: it is no such address. */
static bool notify_parse(IoNotify *notify, const char *text)
{
    size_t n = strlen(text);

    if ((text[0] != '/' && text[0] != '@') || n < 2 || n >= sizeof(notify->address.sun_path)) {
        return false;
    }
    notify->address.sun_family = AF_UNIX;
    memcpy(notify->address.sun_path, text, n);
    /* A path counts its NUL, a name begins with one and has exactly its length. */
    notify->n_address = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + 1);
    if (text[0] == '@') {
        notify->address.sun_path[0] = '\0';
        notify->n_address--;
    }
    return true;
}

int io_notify_new(IoNotify **ret)
{
    const char *text = getenv(NOTIFY_VARIABLE);
    IoNotify *notify = mem_alloc_array(1, sizeof(*notify));

    if (notify == NULL) {
        return err_raise(-ENOMEM);
    }
    notify->fd = -1;
    if (text != NULL && notify_parse(notify, text)) {
        notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    }
    (void)unsetenv(NOTIFY_VARIABLE);
    *ret = notify;
    return 0;
}

IoNotify *io_notify_free(IoNotify *notify)
{
    if (notify == NULL) {
        return NULL;
    }
    if (notify->fd >= 0) {
        (void)close(notify->fd);
    }
    return mem_free(notify);
}

bool io_notify_is_on(const IoNotify *notify)
{
    return notify != NULL && notify->fd >= 0;
}

/* One datagram; what cannot be sent is lost: the program does not depend on who started it. */
static void notify_send(const IoNotify *notify, const char *text)
{
    if (io_notify_is_on(notify)) {
        (void)sendto(notify->fd, text, strlen(text), MSG_NOSIGNAL,
                     (const struct sockaddr *)&notify->address, notify->n_address);
    }
}

/* A line of the protocol is a line: what follows a line end would be another assignment. */
static int notify_line_length(const char *status)
{
    size_t n = strcspn(status, "\r\n");

    return (int)(n < NOTIFY_MESSAGE_SIZE / 2 ? n : NOTIFY_MESSAGE_SIZE / 2);
}

void io_notify_ready(IoNotify *notify, const char *status)
{
    char text[NOTIFY_MESSAGE_SIZE];

    status = status != NULL ? status : "";
    (void)snprintf(text, sizeof(text), "READY=1%s%.*s", status[0] != '\0' ? "\nSTATUS=" : "",
                   notify_line_length(status), status);
    notify_send(notify, text);
}

/* The time lets the manager tell this reload from an earlier one. */
void io_notify_reloading(IoNotify *notify)
{
    char text[NOTIFY_MESSAGE_SIZE];
    struct timespec now = {.tv_sec = 0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
                   (int64_t)now.tv_sec * 1000000 + (int64_t)now.tv_nsec / 1000);
    notify_send(notify, text);
}

void io_notify_stopping(IoNotify *notify)
{
    notify_send(notify, "STOPPING=1");
}

void io_notify_status(IoNotify *notify, const char *status)
{
    char text[NOTIFY_MESSAGE_SIZE];

    (void)snprintf(text, sizeof(text), "STATUS=%.*s", notify_line_length(status), status);
    notify_send(notify, text);
}
