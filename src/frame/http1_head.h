/* frame/http1_head.h: what the fields of a head decide. Thread: any. */
#pragma once

#include "frame/http1.h"

/* Sets length and content_length from Content-Length and Transfer-Encoding, of which one at most
 * may be there, once. Also for a head that llhttp has stopped in: of the last field the value may
 * be missing. */
Http1Fault http1_head_decide_length(Http1Head *head);

/* The rest, of a request: path, query, authority, keeps_alive, expects_continue, wants_upgrade. */
Http1Fault http1_head_decide_request(Http1Head *head);

/* Whether a response of that status has no body, whatever its fields say. */
bool http1_head_is_bare(unsigned status);

/* The rest, of a response; answers_head: whatever it says it has no body. */
Http1Fault http1_head_decide_response(Http1Head *head, bool answers_head);
