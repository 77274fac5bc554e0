# tw_dep(NAME MODULE ARCHIVE): the system's library MODULE (its pkg-config name) as target tw_dep_NAME.
#
# With TOOLWIRE_STATIC_DEPS, programs take it from its archive: looking up three shared libraries costs more
# at start than the first answer, and libcrypto alone makes an empty program start 2.5 times slower. The
# shared library, and everything else, links it the ordinary way.
function(tw_dep name module archive)
    string(TOUPPER ${name} upper)
    pkg_check_modules(${upper} REQUIRED IMPORTED_TARGET GLOBAL ${module})
    add_library(tw_dep_${name} INTERFACE)
    set(link PkgConfig::${upper})
    if(TOOLWIRE_STATIC_DEPS)
        find_library(TOOLWIRE_${upper}_ARCHIVE NAMES ${archive})
        if(TOOLWIRE_${upper}_ARCHIVE)
            set(link "$<IF:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>,${TOOLWIRE_${upper}_ARCHIVE},${link}>")
            target_include_directories(tw_dep_${name} SYSTEM INTERFACE ${${upper}_INCLUDE_DIRS})
        endif()
    endif()
    target_link_libraries(tw_dep_${name} INTERFACE ${link})
endfunction()

# tw_dep_headers(NAME MODULE): the declarations of MODULE and nothing of it linked, as target tw_dep_NAME: the code
# that uses it loads it when it is needed.
function(tw_dep_headers name module)
    string(TOUPPER ${name} upper)
    pkg_check_modules(${upper} REQUIRED ${module})
    add_library(tw_dep_${name} INTERFACE)
    target_include_directories(tw_dep_${name} SYSTEM INTERFACE ${${upper}_INCLUDE_DIRS})
endfunction()

# tw_dep_llhttp: the system's libllhttp, where there is one; else Debian's node-llhttp, which is three C sources and a
# header, compiled here without our warnings. For Windows always the latter: sources are the same everywhere.
function(tw_dep_llhttp)
    if(NOT WIN32)
        pkg_check_modules(LLHTTP QUIET IMPORTED_TARGET GLOBAL libllhttp)
    endif()
    if(LLHTTP_FOUND)
        add_library(tw_dep_llhttp INTERFACE)
        target_link_libraries(tw_dep_llhttp INTERFACE PkgConfig::LLHTTP)
        return()
    endif()
    # A cross compiler's search would look for them below its own root.
    find_path(TOOLWIRE_LLHTTP_SOURCES llhttp.c PATHS /usr/share/llhttp NO_CMAKE_FIND_ROOT_PATH)
    find_path(TOOLWIRE_LLHTTP_INCLUDE llhttp.h PATHS /usr/share/include/llhttp NO_CMAKE_FIND_ROOT_PATH)
    if(NOT TOOLWIRE_LLHTTP_SOURCES OR NOT TOOLWIRE_LLHTTP_INCLUDE)
        message(FATAL_ERROR "llhttp is missing: install libllhttp-dev, or node-llhttp (scripts/setup does)")
    endif()
    add_library(tw_dep_llhttp STATIC ${TOOLWIRE_LLHTTP_SOURCES}/api.c ${TOOLWIRE_LLHTTP_SOURCES}/http.c
                                     ${TOOLWIRE_LLHTTP_SOURCES}/llhttp.c)
    target_include_directories(tw_dep_llhttp SYSTEM PUBLIC ${TOOLWIRE_LLHTTP_INCLUDE})
    target_compile_options(tw_dep_llhttp PRIVATE -w)
    target_link_libraries(tw_dep_llhttp PRIVATE tw_flags)
    set_target_properties(tw_dep_llhttp PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
endfunction()
