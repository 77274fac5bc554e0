/* io/descriptor.h: one descriptor made ready for non-blocking use, without harm to those who share
 * it.
 *
 * O_NONBLOCK belongs to the open file, which other processes may hold too: a shell whose terminal
 * becomes non-blocking loses its next command. So pipes and terminals are opened anew through
 * /proc, sockets are used with MSG_DONTWAIT, and the flag is set (and set back) only where neither
 * can be done. Thread: loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef enum IoDescriptorKind {
    IO_DESCRIPTOR_OTHER,   /* pipe, terminal, whatever can be waited for */
    IO_DESCRIPTOR_SOCKET,  /* needs no flag */
    IO_DESCRIPTOR_TERMINAL /* reading from one whose other side has gone gives EIO */
} IoDescriptorKind;

typedef struct IoDescriptor {
    int fd;       /* the one to use */
    int given_fd; /* the one that was handed over, if another was opened; else -1 */
    int flags;    /* as they were, if they are to be set back; else -1 */
    IoDescriptorKind kind;
    /* A named pipe that was opened anew after its last writer had left does not report that; only
     * reading tells. */
    bool must_try;
} IoDescriptor;

#define IO_DESCRIPTOR_NULL ((IoDescriptor){.fd = -1, .given_fd = -1, .flags = -1})

/* Looks at fd and opens it anew if that is the way. reads, writes: what it is to be used for.
 * Changes nothing that others see. */
void io_descriptor_open(IoDescriptor *d, int fd, bool reads, bool writes);

/* After the loop has made it non-blocking: undoes that where it is not needed, else remembers it.
 */
void io_descriptor_settle(IoDescriptor *d, int flags_before);

/* Gives up: closes what was opened here, not what was handed over. */
void io_descriptor_abandon(IoDescriptor *d);

/* Closes both, with the flags as they were. May run twice. */
void io_descriptor_close(IoDescriptor *d);

/* As read(2) and writev(2); never blocks (regular files aside), never raises SIGPIPE on sockets.
 * Bytes, or a negative errno; interruptions are gone through. */
ssize_t io_descriptor_read(const IoDescriptor *d, char *p, size_t n);
ssize_t io_descriptor_write(const IoDescriptor *d, struct iovec *slices, size_t n_slices);

/* Makes a pipe hold a whole MCP request of maximal size, 1 MiB. The system's limit for ordinary
 * users is the same by default; where it is lower, and for anything but a pipe, nothing happens. */
void io_descriptor_widen(int fd);
