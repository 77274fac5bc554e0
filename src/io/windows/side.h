/* io/windows/side.h: one descriptor of a stream, whatever it is.
 *
 * Pipes that were opened for overlapped calls, and consoles, are libuv's. All else (pipes that a
 * parent has made with CreatePipe, files, NUL) can only be waited in: a thread per direction does
 * that, so that the loop never has to, and so that a write that nobody takes can be called off.
 *
 * Bytes are read into room that the owner gives in that moment, and written from a buffer of the
 * side's own: the system has it until the write is done, which may be after the owner has gone.
 * Thread: loop.
 */
#pragma once

#include <stdint.h>

#include "io/loop.h"
#include "io/windows/system.h"

typedef struct WinSide WinSide;

/* How a side uses its owner, who may close it in any of them. */
typedef struct WinSideOps {
    /* Room for what comes; *ret_n == 0: none, and reading ends. */
    void (*room)(void *context, char **ret_p, size_t *ret_n);
    /* Bytes that lie in the room; 0: the end; or a negative errno. After the last two no more
     * comes.
     */
    void (*got)(void *context, int64_t n);
    /* A write is done: 0, or a negative errno. */
    void (*written)(void *context, int r);
    /* After win_side_close: nothing comes any more, and nothing points to the owner. */
    void (*closed)(void *context);
} WinSideOps;

/* What is the same for all; the kinds begin with it. */
struct WinSide {
    const struct WinSideKind *kind;
    const WinSideOps *ops;
    void *context;
    char *buffer; /* what is being written */
    size_t cap;
    bool is_writing; /* a write is not reported yet */
    bool is_closed;
};

typedef struct WinSideKind {
    int (*read)(WinSide *side, bool is_on);
    int (*write)(WinSide *side, size_t n);
    bool (*has_taken)(const WinSide *side);
    bool (*has_bytes)(const WinSide *side);
    bool (*has_hung_up)(const WinSide *side);
    void (*close)(WinSide *side);
} WinSideKind;

/* Uses a duplicate of the descriptor: that itself stays the caller's. 0, -ENOMEM, another negative
 * errno. Gives *ret. */
int win_side_open(WinSide **ret, IoLoop *loop, int fd, bool reads, bool writes,
                  const WinSideOps *ops, void *context);

/* The two kinds; they take handle, also on failure. */
int win_side_open_uv(WinSide **ret, IoLoop *loop, HANDLE handle, bool is_console, bool reads);
int win_side_open_thread(WinSide **ret, IoLoop *loop, HANDLE handle, bool reads, bool writes);

/* Nothing that was read is lost by switching off: it comes after switching on. 0 or a negative
 * errno. */
int win_side_read(WinSide *side, bool is_on);

/* Room for n bytes to write; less if there is not so much memory, 0 if none. Not while writing. */
size_t win_side_buffer(WinSide *side, size_t n, char **ret_p);

/* Writes n bytes from there. 0: written comes; or a negative errno. */
int win_side_write(WinSide *side, size_t n);

/* Is all that was written with the system, though written has not come yet? */
bool win_side_has_taken(const WinSide *side);

/* Can bytes be read at once? False if that is not known. */
bool win_side_has_bytes(const WinSide *side);

/* Has the other end been closed? False if that is not known. */
bool win_side_has_hung_up(const WinSide *side);

/* A write that is under way is called off. */
void win_side_close(WinSide *side);
