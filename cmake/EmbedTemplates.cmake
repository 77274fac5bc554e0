# The built-in templates as one C file: a manifest and the files that it names become arrays of bytes.
#
# tw_embed_templates(OUT_VAR FOLDER…): the folders of templates/ in the order in which they are loaded. OUT_VAR is the
# generated file, made anew when a manifest or a file of it changes. A folder without a manifest is left out.
#
# Run with cmake -P, -DOUT=… -DROOT=… -DFOLDERS=a,b: writes that file.

# The paths, relative to root, of a folder's manifest and of the files that it names, each once.
function(tw_template_files root folder out_var)
    set(files ${folder}/manifest.json)
    file(READ ${root}/${folder}/manifest.json text)
    string(JSON n ERROR_VARIABLE problem LENGTH "${text}" templates)
    if(problem)
        message(FATAL_ERROR "${root}/${folder}/manifest.json: ${problem}")
    endif()
    math(EXPR last "${n} - 1")
    if(n GREATER 0)
        foreach(i RANGE ${last})
            string(JSON name ERROR_VARIABLE problem GET "${text}" templates ${i} file)
            if(problem)
                message(FATAL_ERROR "${root}/${folder}/manifest.json: templates[${i}].file: ${problem}")
            endif()
            list(APPEND files ${folder}/${name})
        endforeach()
    endif()
    list(REMOVE_DUPLICATES files)
    set(${out_var} ${files} PARENT_SCOPE)
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
    set(TW_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

    function(tw_embed_templates out_var)
        set(root ${PROJECT_SOURCE_DIR}/templates)
        set(out ${CMAKE_CURRENT_BINARY_DIR}/embedded_data.c)
        set(folders)
        set(inputs)
        # A folder, or a manifest in it, that comes or goes changes the folder around it.
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${root})
        foreach(folder IN LISTS ARGN)
            if(IS_DIRECTORY ${root}/${folder})
                set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${root}/${folder})
            endif()
            if(EXISTS ${root}/${folder}/manifest.json)
                set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${root}/${folder}/manifest.json)
                tw_template_files(${root} ${folder} files)
                list(TRANSFORM files PREPEND ${root}/)
                list(APPEND inputs ${files})
                list(APPEND folders ${folder})
            endif()
        endforeach()
        list(JOIN folders "," joined)
        add_custom_command(
            OUTPUT ${out}
            COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DROOT=${root} -DFOLDERS=${joined} -P ${TW_EMBED_SCRIPT}
            DEPENDS ${inputs} ${TW_EMBED_SCRIPT}
            COMMENT "Embedding the built-in templates"
            VERBATIM)
        set(${out_var} ${out} PARENT_SCOPE)
    endfunction()
    return()
endif()

string(REPLACE "," ";" folders "${FOLDERS}")
string(REPEAT "[0-9a-f]" 32 row)
set(arrays "")
set(table "")
set(n 0)
foreach(folder IN LISTS folders)
    tw_template_files(${ROOT} ${folder} files)
    foreach(path IN LISTS files)
        file(READ ${ROOT}/${path} hex HEX)
        # Rows of 16 bytes first, then the bytes: lines stay short.
        string(REGEX REPLACE "(${row})" "\\1\n" hex "${hex}")
        string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
        # The 0 behind the text is not counted, and makes an empty file a valid array.
        string(APPEND arrays "static const unsigned char file_${n}[] = {\n${hex}0};\n")
        string(APPEND table "    {\"${path}\", file_${n}, sizeof(file_${n}) - 1},\n")
        math(EXPR n "${n} + 1")
    endforeach()
endforeach()
file(WRITE ${OUT} "/* Made by cmake/EmbedTemplates.cmake. */
#include \"toolkit/templates/embedded.h\"

${arrays}
const TemplateEmbeddedFile template_embedded_files[] = {
${table}    {0, 0, 0}};
const size_t template_embedded_n_files = ${n};
")
