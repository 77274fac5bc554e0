/* agent/model_url.h: addresses of services: what is sent, and what may be shown of it. They may
 * hold secrets, a password before the host or a key in the query. Performs no I/O. Private to
 * agent/model*. Thread: any. */
#pragma once

#include "agent/model_settings.h"
#include "base/bytes.h"
#include "base/span.h"

/* Where its path ends: at the query, the fragment, or the end. */
size_t model_url_path_end(Span url);

/* Appends base with path behind its own path, before its query, and a NUL. 0, or what bytes_append
 * returns. */
int model_url_join(Bytes *out, const char *base, const char *path);

/* Appends what may be shown: *** in place of who asks and of the query; no NUL. 0, or what
 * bytes_append returns. */
int model_url_show(Bytes *out, const char *url);

/* Puts stars in place of the service's secrets: its key, and those of its address. */
void model_url_mask(char *text, const ModelService *service);
