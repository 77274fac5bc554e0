# One layer = one static library + the unit tests that mirror its folder.
#
#   tw_layer(NAME SOURCES a.c b.c [USES lower-layer…] [TESTS test_a.c …])
#
# A layer's tests link only what the layer itself may use, so that a forbidden
# call is a link error and not a matter of taste.

# The slowest test takes 80 s, under the thread sanitizer.
set(TW_TEST_TIMEOUT 300)

function(tw_layer name)
    cmake_parse_arguments(ARG "" "" "SOURCES;USES;TESTS" ${ARGN})
    add_library(tw_${name} STATIC ${ARG_SOURCES})
    target_include_directories(tw_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(tw_${name} PRIVATE tw_warnings PUBLIC tw_flags)
    # Layers end up in a shared library too (src/api), which shows none of their names.
    set_target_properties(tw_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
                                                C_VISIBILITY_PRESET hidden)
    foreach(use IN LISTS ARG_USES)
        target_link_libraries(tw_${name} PUBLIC ${use})
    endforeach()
    # On Windows, those that need nothing of the system (cmake/ToolwireWindows.cmake).
    if(BUILD_TESTING AND (NOT WIN32 OR name IN_LIST TW_WINDOWS_TESTED))
        file(RELATIVE_PATH where ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
        if(WIN32)
            list(REMOVE_ITEM ARG_TESTS ${TW_WINDOWS_UNTESTED})
        endif()
        foreach(test IN LISTS ARG_TESTS)
            tw_unit_test(${PROJECT_SOURCE_DIR}/tests/unit/${where}/${test} LAYER tw_${name})
        endforeach()
    endif()
endfunction()

# Is it a test of a pure layer that starts no threads? It can have no data race, so that the thread sanitizer, which
# makes it ten times slower, has nothing to find; the other builds run it.
function(tw_is_single_threaded file ret)
    set(${ret} FALSE PARENT_SCOPE)
    if(file MATCHES "/tests/unit/(base|json|frame|call|dialect|router|oauth|toolkit)/")
        file(STRINGS ${file} threads REGEX "pthread|io/thread|io/work" LIMIT_COUNT 1)
        if(NOT threads)
            set(${ret} TRUE PARENT_SCOPE)
        endif()
    endif()
endfunction()

# tw_unit_test(FILE LAYER target [LABEL unit] [NAME name] [ARGS …] [SOURCES …]): a cmocka program, registered with ctest.
#
# tw_test_support is linked first: its alloc_testing.c replaces base/alloc.c in
# every test, which is how a test makes the n-th allocation fail.
function(tw_unit_test file)
    cmake_parse_arguments(ARG "" "LAYER;LABEL;NAME" "ARGS;LINK;SOURCES" ${ARGN})
    get_filename_component(stem ${file} NAME_WE)
    tw_is_single_threaded(${file} is_single_threaded)
    if(TOOLWIRE_SANITIZE STREQUAL "thread" AND is_single_threaded)
        return()
    endif()
    if(NOT ARG_NAME)
        file(RELATIVE_PATH where ${PROJECT_SOURCE_DIR}/tests ${file})
        get_filename_component(folder ${where} DIRECTORY)
        string(REPLACE "/" "." folder ${folder})
        string(REGEX REPLACE "^test_" "" short ${stem})
        set(ARG_NAME ${folder}.${short})
    endif()
    if(NOT ARG_LABEL)
        set(ARG_LABEL unit)
    endif()
    string(REPLACE "." "_" target test.${ARG_NAME})
    add_executable(${target} ${file} ${ARG_SOURCES})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_compile_definitions(${target} PRIVATE TW_SHARED_DATA="${TOOLWIRE_SHARED_DATA}"
                                                 TW_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_link_libraries(${target} PRIVATE tw_test_support ${ARG_LAYER} ${ARG_LINK} tw_warnings cmocka)
    add_test(NAME ${ARG_NAME} COMMAND ${target} ${ARG_ARGS})
    # 77 is "skipped, and here is why": shown by ctest as Skipped, never as passed.
    set_tests_properties(${ARG_NAME} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${TW_TEST_TIMEOUT}
                                                SKIP_RETURN_CODE 77)
endfunction()

# tw_fuzz(NAME LINK lib… [DICT file]): fuzz/fuzz_NAME.c as a libFuzzer program in the `fuzz` preset, and
# in every other build as a program that replays fuzz/corpus/NAME/ as an ordinary test.
function(tw_fuzz name)
    cmake_parse_arguments(ARG "" "" "LINK;SOURCES" ${ARGN})
    if(TOOLWIRE_SANITIZE STREQUAL "thread")
        return() # one thread, as above
    endif()
    set(target fuzz_${name})
    set(corpus ${PROJECT_SOURCE_DIR}/fuzz/corpus/${name})
    if(TOOLWIRE_FUZZ)
        add_executable(${target} ${PROJECT_SOURCE_DIR}/fuzz/fuzz_${name}.c ${ARG_SOURCES})
        target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    else()
        add_executable(${target} ${PROJECT_SOURCE_DIR}/fuzz/fuzz_${name}.c ${ARG_SOURCES}
                                 ${PROJECT_SOURCE_DIR}/fuzz/replay_main.c)
        add_test(NAME fuzz.${name} COMMAND ${target} ${corpus})
        set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT ${TW_TEST_TIMEOUT})
    endif()
    target_link_libraries(${target} PRIVATE ${ARG_LINK} tw_warnings)
endfunction()

# tw_fuzz_link(NAME OTHER): the same for a target that is the program of another one under its own name, with a
# corpus of its own.
function(tw_fuzz_link name other)
    if(TOOLWIRE_SANITIZE STREQUAL "thread")
        return()
    endif()
    set(link $<TARGET_FILE_DIR:fuzz_${other}>/fuzz_${name})
    add_custom_command(TARGET fuzz_${other} POST_BUILD
        COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE_NAME:fuzz_${other}> ${link} VERBATIM)
    if(NOT TOOLWIRE_FUZZ)
        add_test(NAME fuzz.${name} COMMAND ${link} ${PROJECT_SOURCE_DIR}/fuzz/corpus/${name})
        set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT ${TW_TEST_TIMEOUT})
    endif()
endfunction()
