# What differs where the program is for Windows: flags, dependencies, and what is tested there.

set(TOOLWIRE_WINDOWS_DEPS "" CACHE PATH "Folder where scripts/windows-deps has put libuv, PCRE2, SQLite and cmocka")

enable_language(RC) # the program's manifest

# Beside ISO C, mingw's headers then have the names of POSIX that its C library knows.
set(CMAKE_C_EXTENSIONS ON)

# Windows 8: what our pipes need. printf as in C17, and not as in the system's old C library.
target_compile_definitions(tw_flags INTERFACE _WIN32_WINNT=0x0602 WIN32_LEAN_AND_MEAN
                                              __USE_MINGW_ANSI_STDIO=1 PCRE2_STATIC)

# isinf, signbit and the like are macros there, which mention every type.
target_compile_options(tw_warnings INTERFACE -Wno-float-conversion)

# Layers whose unit tests run there, too: pure code. The others are tested through the program (tests/windows).
set(TW_WINDOWS_TESTED base json schema frame call mcp_render mcp_server mcp_client callsock pipe router safety toolkit_files)

# For the tests; what they link names it like the system's.
add_library(cmocka INTERFACE)
target_include_directories(cmocka SYSTEM INTERFACE ${TOOLWIRE_WINDOWS_DEPS}/include)
target_link_libraries(cmocka INTERFACE ${TOOLWIRE_WINDOWS_DEPS}/lib/libcmocka-static.a)

# Tests of those layers that cannot be built there: they use signals and pipes of POSIX, or hold us against the C
# library's strtod.
set(TW_WINDOWS_UNTESTED test_error.c test_logsink.c test_random.c test_format_double.c)

# tw_windows_dep(NAME LIBRARY…): libraries of the dependencies' folder, or of Windows, as target tw_dep_NAME.
function(tw_windows_dep name)
    add_library(tw_dep_${name} INTERFACE)
    target_include_directories(tw_dep_${name} SYSTEM INTERFACE ${TOOLWIRE_WINDOWS_DEPS}/include)
    target_link_directories(tw_dep_${name} INTERFACE ${TOOLWIRE_WINDOWS_DEPS}/lib)
    target_link_libraries(tw_dep_${name} INTERFACE ${ARGN})
endfunction()

tw_windows_dep(pcre2 pcre2-8)
tw_windows_dep(uv uv_a ws2_32 psapi iphlpapi shell32 userenv user32 dbghelp ole32 uuid advapi32)
tw_windows_dep(sqlite3 sqlite3)
tw_windows_dep(crypto bcrypt)
tw_windows_dep(utf8proc normaliz) # what Windows has in place of it
