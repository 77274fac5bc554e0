/* io/notify.h: tells the service manager how the program is doing (sd_notify(3)'s protocol).
 *
 * A manager that wants to know puts the address of its datagram socket into NOTIFY_SOCKET: a path,
 * or a name of the abstract kind after '@'. Without one nothing is sent, and that is no error; nor
 * is a manager that does not listen. On Windows there is none. Thread: any.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>

typedef struct IoNotify IoNotify;

/* Reads NOTIFY_SOCKET, and takes it out of the environment: children are not to speak for us. 0,
 * -ENOMEM. Gives *ret. */
int io_notify_new(IoNotify **ret);
IoNotify *io_notify_free(IoNotify *notify);

/* Does somebody want to know? */
bool io_notify_is_on(const IoNotify *notify);

/* The program serves; also after a reload. status: a sentence for people; may be NULL. */
void io_notify_ready(IoNotify *notify, const char *status);
void io_notify_reloading(IoNotify *notify);
void io_notify_stopping(IoNotify *notify);

/* A sentence of what it does; cut at its first line end. */
void io_notify_status(IoNotify *notify, const char *status);
