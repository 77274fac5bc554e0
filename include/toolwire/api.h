/* toolwire/api.h: what every public header needs: linkage, and names for compiler extensions. */
#pragma once

#if defined(__GNUC__)
#define TW_API               __attribute__((visibility("default")))
#define TW_FORMAT(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define TW_API
#define TW_FORMAT(fmt, args)
#endif

#ifdef __cplusplus
#define TW_BEGIN_C extern "C" {
#define TW_END_C   }
#else
#define TW_BEGIN_C
#define TW_END_C
#endif
