/* bench/json_peers.h: the libraries that the JSON reader is measured against, each parse-and-free.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One parse of n bytes, with full validation and everything released or ready for reuse; nonzero if
 * the library refused the text. simdjson reuses its parser and reads from a padded copy, as its
 * authors advise; the copy is made once per text and is not timed. */
int peer_simdjson_parse(const char *text, size_t n);
int peer_json_c_parse(const char *text, size_t n);

#ifdef __cplusplus
}
#endif
