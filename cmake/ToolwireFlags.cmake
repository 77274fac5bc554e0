# Two interface targets carry every compiler flag: tw_flags what code is built
# for (hardening, sanitizers, coverage), tw_warnings what our own code must
# satisfy. Nothing is set globally.

add_library(tw_flags INTERFACE)
add_library(tw_warnings INTERFACE)

target_compile_definitions(tw_flags INTERFACE _POSIX_C_SOURCE=200809L _DEFAULT_SOURCE)
target_compile_options(tw_flags INTERFACE -fno-common)

set(tw_c_warnings
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wundef -Wvla -Wcast-qual
    -Wwrite-strings -Wformat=2 -Wimplicit-fallthrough -Wnull-dereference)
target_compile_options(tw_warnings INTERFACE
    $<$<COMPILE_LANGUAGE:C>:${tw_c_warnings} -Wstrict-prototypes -Wmissing-prototypes>)
if(TOOLWIRE_WERROR)
    target_compile_options(tw_warnings INTERFACE $<$<COMPILE_LANGUAGE:C>:-Werror>)
endif()

if(TOOLWIRE_HARDEN)
    # Layers are position independent anyway, for the shared library; -fPIE would undo it.
    set(tw_is_program $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)
    target_compile_options(tw_flags INTERFACE -fstack-protector-strong $<${tw_is_program}:-fPIE>)
    target_compile_definitions(tw_flags INTERFACE $<$<NOT:$<CONFIG:Debug>>:_FORTIFY_SOURCE=2>)
    target_link_options(tw_flags INTERFACE $<${tw_is_program}:-pie> -Wl,-z,relro -Wl,-z,now)
    # A position-independent program has its pointers put right at start: ten thousand with the grammars' tables, which
    # the packed form lists in a few pages.
    include(CheckLinkerFlag)
    check_linker_flag(C -Wl,-z,pack-relative-relocs TOOLWIRE_CAN_PACK_RELOCATIONS)
    if(TOOLWIRE_CAN_PACK_RELOCATIONS AND NOT WIN32)
        target_link_options(tw_flags INTERFACE -Wl,-z,pack-relative-relocs)
    endif()
endif()

# One list for compile and link: a sanitizer must be in both.
set(tw_sanitize "")
if(TOOLWIRE_SANITIZE STREQUAL "address")
    set(tw_sanitize -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(TOOLWIRE_SANITIZE STREQUAL "thread")
    set(tw_sanitize -fsanitize=thread)
elseif(TOOLWIRE_SANITIZE)
    message(FATAL_ERROR "TOOLWIRE_SANITIZE is '${TOOLWIRE_SANITIZE}'; it can be address or thread")
endif()
if(TOOLWIRE_FUZZ)
    list(APPEND tw_sanitize -fsanitize=fuzzer-no-link)
endif()
if(TOOLWIRE_COVERAGE)
    list(APPEND tw_sanitize --coverage)
endif()
if(tw_sanitize)
    target_compile_options(tw_flags INTERFACE ${tw_sanitize} -fno-omit-frame-pointer)
    target_link_options(tw_flags INTERFACE ${tw_sanitize})
endif()
