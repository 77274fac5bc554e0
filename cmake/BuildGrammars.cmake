# cmake -D SOURCE=… -D BUILD=… -D COMPILER=… [-D TOOLCHAIN=…] [-D SANITIZE=…] -P BuildGrammars.cmake
#
# Two presets may be built at the same time, and both want the archive: the second waits, and finds it.
file(MAKE_DIRECTORY ${BUILD})
file(LOCK ${BUILD}/lock TIMEOUT 1800)

set(archive ${BUILD}/libtw_grammars.a)
set(with -D CMAKE_C_COMPILER=${COMPILER})
if(TOOLCHAIN)
    set(with -D CMAKE_TOOLCHAIN_FILE=${TOOLCHAIN})
endif()
# The jobs of a make that calls this are not ours to take part in.
set(ENV{MAKEFLAGS})
set(ENV{MFLAGS})
string(REPLACE ";" " " sanitize "${SANITIZE}")
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD} ${with} "-DTW_SANITIZE=${sanitize}" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --parallel ${cores} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
# Newer than what it was made of, also where nothing had to be compiled.
file(TOUCH ${archive})
