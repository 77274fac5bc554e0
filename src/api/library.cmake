# libtoolwire as it is installed: shared, static, headers, pkg-config file and CMake package. Neither library
# shows a name that is not in src/api/libtoolwire.symbols.

include(CMakePackageConfigHelpers)

set(TW_PUBLIC_HEADERS addin.h agent.h api.h call.h client.h document.h error.h host.h json.h queue.h server.h toolwire.h version.h)
list(TRANSFORM TW_PUBLIC_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/include/toolwire/)

# The version is written down twice, since headers are not made at build time.
file(STRINGS ${PROJECT_SOURCE_DIR}/include/toolwire/version.h tw_header_version REGEX "define TW_VERSION ")
if(NOT tw_header_version MATCHES "\"${PROJECT_VERSION}\"")
    message(FATAL_ERROR "include/toolwire/version.h and project() name different versions")
endif()

# Every layer below `target`, itself included, as archives to be linked.
function(tw_collect_layers target ret)
    set(found ${${ret}})
    if(target IN_LIST found OR NOT TARGET ${target})
        return()
    endif()
    list(APPEND found ${target})
    get_target_property(uses ${target} INTERFACE_LINK_LIBRARIES)
    foreach(use IN LISTS uses)
        if(use MATCHES "^tw_" AND TARGET ${use})
            tw_collect_layers(${use} found)
        endif()
    endforeach()
    set(${ret} ${found} PARENT_SCOPE)
endfunction()

set(tw_layers "")
tw_collect_layers(tw_app tw_layers)
set(tw_archives "")
set(tw_archive_targets "")
foreach(layer IN LISTS tw_layers)
    get_target_property(type ${layer} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
        list(APPEND tw_archives $<TARGET_FILE:${layer}>)
        list(APPEND tw_archive_targets ${layer})
    endif()
endforeach()

add_library(toolwire_shared SHARED $<TARGET_OBJECTS:tw_api>)
set_target_properties(toolwire_shared PROPERTIES
    OUTPUT_NAME toolwire EXPORT_NAME toolwire LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/libtoolwire.map)
target_link_libraries(toolwire_shared PRIVATE tw_app Threads::Threads)
target_link_options(toolwire_shared PRIVATE
    -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/libtoolwire.map)
# A sanitizer's symbols come with the program.
if(NOT TOOLWIRE_SANITIZE AND NOT TOOLWIRE_FUZZ)
    target_link_options(toolwire_shared PRIVATE -Wl,--no-undefined)
endif()
target_include_directories(toolwire_shared INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# The archive holds one object, in which everything that is hidden has become local: a program's own map_add
# or json_parse cannot meet ours.
set(tw_partial_flags "")
if(CMAKE_INTERPROCEDURAL_OPTIMIZATION AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    string(TOUPPER "${CMAKE_BUILD_TYPE}" tw_build_type)
    separate_arguments(tw_partial_flags UNIX_COMMAND "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${tw_build_type}}")
    list(APPEND tw_partial_flags -flto -flinker-output=nolto-rel -fPIC)
endif()
set(tw_object ${CMAKE_CURRENT_BINARY_DIR}/toolwire_one.o)
add_custom_command(OUTPUT ${tw_object}
    COMMAND ${CMAKE_C_COMPILER} ${tw_partial_flags} -r -nostdlib -o ${tw_object} $<TARGET_OBJECTS:tw_api>
            -Wl,--start-group ${tw_archives} -Wl,--end-group
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${tw_object}
    DEPENDS tw_api $<TARGET_OBJECTS:tw_api> ${tw_archive_targets}
    COMMENT "Joining libtoolwire into one object"
    COMMAND_EXPAND_LISTS VERBATIM)
set_source_files_properties(${tw_object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
add_library(toolwire_static STATIC ${tw_object})
set_target_properties(toolwire_static PROPERTIES OUTPUT_NAME toolwire EXPORT_NAME static LINKER_LANGUAGE C)
target_link_libraries(toolwire_static INTERFACE
    PkgConfig::UV PkgConfig::PCRE2 PkgConfig::UTF8PROC PkgConfig::SQLITE3 PkgConfig::CRYPTO Threads::Threads m)
if(TARGET PkgConfig::LLHTTP)
    target_link_libraries(toolwire_static INTERFACE PkgConfig::LLHTTP)
endif()
target_include_directories(toolwire_static INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# ---- installation ----

set(tw_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/toolwire)
include(${PROJECT_SOURCE_DIR}/packaging/pkgconfig.cmake)
tw_write_pkgconfig()
configure_package_config_file(${PROJECT_SOURCE_DIR}/packaging/toolwireConfig.cmake.in toolwireConfig.cmake
    INSTALL_DESTINATION ${tw_package_dir})
write_basic_package_version_file(toolwireConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(TARGETS toolwire_shared EXPORT toolwireTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS toolwire_static EXPORT toolwireStaticTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${TW_PUBLIC_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/toolwire)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/toolwire.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/toolwireConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/toolwireConfigVersion.cmake DESTINATION ${tw_package_dir})
install(EXPORT toolwireTargets NAMESPACE toolwire:: DESTINATION ${tw_package_dir})
install(EXPORT toolwireStaticTargets NAMESPACE toolwire:: DESTINATION ${tw_package_dir})

# ---- tests of what is installed ----

if(BUILD_TESTING)
    # tw_package_test(NAME SCRIPT ARGS…)
    function(tw_package_test name script)
        add_test(NAME package.${name} COMMAND bash ${PROJECT_SOURCE_DIR}/tests/package/${script} ${ARGN})
        set_tests_properties(package.${name} PROPERTIES LABELS package TIMEOUT ${TW_TEST_TIMEOUT}
                                                        SKIP_RETURN_CODE 77)
    endfunction()
    tw_package_test(headers test_headers.sh ${CMAKE_C_COMPILER})
    tw_package_test(symbols test_symbols.sh $<TARGET_FILE:toolwire_shared> $<TARGET_FILE:toolwire_static>)
    # A program that is built without the sanitizer cannot load a library that has it.
    if(NOT TOOLWIRE_SANITIZE AND NOT TOOLWIRE_FUZZ AND NOT TOOLWIRE_COVERAGE)
        tw_package_test(install test_install.sh ${CMAKE_C_COMPILER} ${PROJECT_BINARY_DIR})
    endif()
endif()
