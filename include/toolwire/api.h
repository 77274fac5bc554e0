/* toolwire/api.h: what every public header needs: linkage, and names for compiler extensions. */
#pragma once

#if defined(__GNUC__)
#define TW_API __attribute__((visibility("default")))
/* mingw's "printf" is that of Windows' old C library; formats are C17's there, too. */
#if defined(__MINGW32__)
#define TW_FORMAT(fmt, args) __attribute__((format(gnu_printf, fmt, args)))
#else
#define TW_FORMAT(fmt, args) __attribute__((format(printf, fmt, args)))
#endif
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
