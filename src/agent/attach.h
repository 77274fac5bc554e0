/* agent/attach.h: what a shell attaches to a message, as blocks for the model.
 *
 * A file beneath one of the roots: UTF-8 text becomes a text block that names it, a picture (PNG,
 * JPEG, GIF, WebP: by its first bytes, whatever the name or the MIME type say) an image block. The
 * rest is refused in words. Reading waits for the disk: on a work thread. Thread: any.
 */
#pragma once

#include "agent/model.h"
#include "base/arena.h"
#include "base/diag.h"
#include "base/span.h"
#include "io/beneath.h"

#include <stddef.h>

/* Each comes with a Diag, which names the attachment. */
enum {
    AGENT_ATTACH_E_OUTSIDE = 1, /* "Access denied: path outside allowed directory" */
    AGENT_ATTACH_E_UNREADABLE,  /* not there, no file, no permission */
    AGENT_ATTACH_E_TOO_LARGE,   /* over LIMIT_AGENT_FILE_BYTES, a picture over
                                   LIMIT_AGENT_IMAGE_BYTES */
    AGENT_ATTACH_E_KIND         /* neither text nor a picture that models take; or not base64 */
};

/* Reads the file at path (decoded text of the message; any bytes) beneath the first root that has
 * it. *ret is in the arena. 0, -ENOMEM (also if the arena's maximum is reached), another negative
 * errno, AGENT_ATTACH_E_*. */
int agent_attach_file(IoBeneath *const *roots, size_t n_roots, Span path, Arena *arena,
                      AgentBlock *ret, Diag *reterr_diag);

/* A picture that came inside the message: base64, with or without "data:…;base64," in front. Its
 * name is for the words only. The block borrows data, unless it has line ends. 0, -ENOMEM,
 * AGENT_ATTACH_E_*. */
int agent_attach_image(Span data, Span name, Arena *arena, AgentBlock *ret, Diag *reterr_diag);
