# toolwire.pc: found in LIBDIR/pkgconfig, it names everything relative to itself. How far the prefix is from
# there depends on LIBDIR: lib, lib/x86_64-linux-gnu, or an absolute folder.

# Writes toolwire.pc into the current binary folder.
function(tw_write_pkgconfig)
    # The same folders with or without a prefix in front; an absolute one stays where it is.
    set(prefix ${CMAKE_INSTALL_PREFIX})
    if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" AND NOT IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
        set(prefix /prefix) # any will do, and the real one may be / or relative
    endif()
    get_filename_component(here "${CMAKE_INSTALL_LIBDIR}/pkgconfig" ABSOLUTE BASE_DIR "${prefix}")
    get_filename_component(headers "${CMAKE_INSTALL_INCLUDEDIR}" ABSOLUTE BASE_DIR "${prefix}")
    file(RELATIVE_PATH up "${here}" "${prefix}")
    file(RELATIVE_PATH CMAKE_INSTALL_INCLUDEDIR "${prefix}" "${headers}")
    # The first two steps are in the template.
    string(REGEX REPLACE "/$" "" up "${up}")
    if(NOT up MATCHES "^\\.\\./\\.\\.(.*)$")
        message(FATAL_ERROR "CMAKE_INSTALL_LIBDIR must be below the prefix, and is ${CMAKE_INSTALL_LIBDIR}")
    endif()
    set(TW_PC_DEEPER ${CMAKE_MATCH_1})
    # Where it is compiled from sources, it is inside the archive.
    set(TW_PC_LLHTTP "")
    if(TARGET PkgConfig::LLHTTP)
        set(TW_PC_LLHTTP " libllhttp")
    endif()
    configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/toolwire.pc.in toolwire.pc @ONLY)
endfunction()
