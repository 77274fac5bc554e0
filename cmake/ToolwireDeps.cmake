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
