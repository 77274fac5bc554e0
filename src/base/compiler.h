/* base/compiler.h: the only place where compiler extensions are named. */
#pragma once

#include <stddef.h>

#define CLEANUP(fn)          __attribute__((cleanup(fn)))
#define TW_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define TW_NODISCARD         __attribute__((warn_unused_result))
#define TW_NOINLINE          __attribute__((noinline))
#define TW_INLINE            static inline __attribute__((always_inline))
#define TW_UNUSED            __attribute__((unused))
#define TW_LIKELY(x)         __builtin_expect(!!(x), 1)
#define TW_UNLIKELY(x)       __builtin_expect(!!(x), 0)

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
