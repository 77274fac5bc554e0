# tw_dep_grammars: tree-sitter and its grammars, built once for all presets of one compiler.
#
# The archive lies outside the build folder of the preset; its name holds what decides about its content, so
# that another compiler or another lock file makes another one. They read what strangers wrote, so the presets
# asan and fuzz have one of their own, with the sanitizers in it; each thread has a parser of its own, and tsan
# takes the plain one.
set(grammars_sanitize "")
if(TOOLWIRE_SANITIZE STREQUAL "address" OR TOOLWIRE_FUZZ)
    set(grammars_sanitize ${tw_sanitize})
endif()
set(grammars_inputs)
set(hashes)
foreach(input package-lock.json CMakeLists.txt faster.cmake faster_text.cmake faster_tree.cmake faster_lexer.h faster_state.h
        scanner_memory.h include/tree_sitter/changes.h include/tree_sitter/table_cache.h)
    list(APPEND grammars_inputs ${PROJECT_SOURCE_DIR}/grammars/${input})
    file(SHA256 ${PROJECT_SOURCE_DIR}/grammars/${input} hash)
    list(APPEND hashes ${hash})
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${grammars_inputs})
string(SHA256 content "${hashes} ${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION} ${CMAKE_SYSTEM_NAME} ${grammars_sanitize}")
string(SUBSTRING ${content} 0 12 content)
set(TOOLWIRE_GRAMMARS_BUILD ${PROJECT_SOURCE_DIR}/build/grammars CACHE PATH
    "Folder where the archive of tree-sitter's grammars is built")
set(grammars_build ${TOOLWIRE_GRAMMARS_BUILD}/${content})
set(grammars_archive ${grammars_build}/libtw_grammars.a)

add_custom_command(OUTPUT ${grammars_archive}
    COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR}/grammars -D BUILD=${grammars_build}
            -D COMPILER=${CMAKE_C_COMPILER} -D TOOLCHAIN=${CMAKE_TOOLCHAIN_FILE} "-DSANITIZE=${grammars_sanitize}"
            -P ${PROJECT_SOURCE_DIR}/cmake/BuildGrammars.cmake
    DEPENDS ${grammars_inputs} ${PROJECT_SOURCE_DIR}/cmake/BuildGrammars.cmake
    COMMENT "Compiling tree-sitter's grammars (once for all presets alike)"
    VERBATIM)
add_custom_target(tw_grammars_archive DEPENDS ${grammars_archive})

add_library(tw_dep_grammars INTERFACE)
add_dependencies(tw_dep_grammars tw_grammars_archive)
target_include_directories(tw_dep_grammars SYSTEM INTERFACE
    ${PROJECT_SOURCE_DIR}/grammars/include
    ${PROJECT_SOURCE_DIR}/grammars/node_modules/tree-sitter/vendor/tree-sitter/lib/include)
target_link_libraries(tw_dep_grammars INTERFACE ${grammars_archive})
