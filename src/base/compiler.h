/* base/compiler.h: the only place where compiler extensions are named. */
#pragma once

#include <stddef.h>

#define CLEANUP(fn)    __attribute__((cleanup(fn)))
#define TW_NODISCARD   __attribute__((warn_unused_result))
#define TW_NOINLINE    __attribute__((noinline))
#define TW_INLINE      static inline __attribute__((always_inline))
#define TW_UNUSED      __attribute__((unused))
#define TW_LIKELY(x)   __builtin_expect(!!(x), 1)
#define TW_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* mingw checks "printf" by the words of Windows' old C library, and ours is another. */
#if defined(__MINGW32__)
#define TW_PRINTF(fmt, args) __attribute__((format(gnu_printf, fmt, args)))
#else
#define TW_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#endif

/* The compiler must not know where the integer x came from. */
#define TW_OPAQUE(x) __asm__("" : "+r"(x))

/* Code for one instruction set inside a program built for the oldest one; guarded at run time by
 * TW_CPU_HAS. */
#if defined(__x86_64__)
#define TW_X86          1
#define TW_TARGET(isa)  __attribute__((target(isa)))
#define TW_CPU_HAS(isa) (__builtin_cpu_supports(isa) != 0)
#else
#define TW_X86 0
#define TW_TARGET(isa)
#define TW_CPU_HAS(isa) 0
#endif

#define TW_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Whether a sanitizer watches this build: it is slower, and takes addresses without end. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TW_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TW_IS_SANITIZED 1
#endif
#endif
#ifndef TW_IS_SANITIZED
#define TW_IS_SANITIZED 0
#endif
