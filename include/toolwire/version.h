/* toolwire/version.h: which version this is. The numbers are those of the build's project(). */
#pragma once

#include <toolwire/api.h>

#define TW_VERSION_MAJOR 0
#define TW_VERSION_MINOR 1
#define TW_VERSION_PATCH 0
#define TW_VERSION       "0.1.0"

TW_BEGIN_C

/* The version of the library that runs, which may be newer than the headers ("0.1.0"). Thread: any.
 */
TW_API const char *tw_version(void);

/* The newest protocol revision that it speaks ("2026-07-28"); it speaks every older one, too. */
TW_API const char *tw_protocol_version(void);

TW_END_C
