#!/usr/bin/env bash
# The library as others get it: installed into two new places, one of them moved afterwards, found by pkg-config
# and by CMake; every example is built both ways and used. The build folder must be built already.
#
#   test_install.sh CC BUILD
set -euo pipefail
cc=${1:?CC}
build=${2:?BUILD}
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n_run=0
n_failed=0

# install_into PREFIX: only the library, since the program may not be built yet.
install_into() {
    cmake --install "$build/src/api" --prefix "$1" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}

# libdir_of PREFIX
libdir_of() { dirname "$(find "$1" -name libtoolwire.a)"; }

# pc_in PREFIX OPTION…: what pkg-config says of the library there.
pc_in() {
    local where=$1
    shift
    PKG_CONFIG_PATH=$(libdir_of "$where")/pkgconfig pkg-config "$@" toolwire
}

# Neither place is the one that the build was configured for; the second one is moved afterwards.
prefix=$work/prefix
moved=$work/far/away/moved
cmake --build "$build" --target toolwire_shared toolwire_static >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
install_into "$prefix"
install_into "$work/second"
mkdir -p "$(dirname "$moved")"
mv "$work/second" "$moved"
libdir=$(libdir_of "$prefix")
strict=(-std=c17 -Wall -Wextra -Wpedantic -Werror)

# expect NAME TEXT OUTPUT
expect() {
    n_run=$((n_run + 1))
    if [[ $3 != *"$2"* ]]; then
        echo "FAILED: $1: no '$2' in:"
        echo "$3"
        n_failed=$((n_failed + 1))
    fi
}

# talk PROGRAM LINE…: what the program answers to the lines.
talk() {
    local program=$1
    shift
    printf '%s\n' "$@" | timeout 60 "$program" 2>&1
}

# ask_person PROGRAM ANSWER: one call of the tool that asks, with that answer of the person.
ask_person() {
    local line id
    coproc server { timeout 60 "$1" 2>&1; }
    printf '%s\n' "${initialize/\"capabilities\":\{\}/\"capabilities\":\{\"elicitation\":\{\}\}}" \
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"book","arguments":{"day":"Friday"}}}' \
        >&"${server[1]}"
    while IFS= read -r -t 60 line <&"${server[0]}"; do
        if [[ $line == *elicitation/create* ]]; then
            id=$(sed -E 's/.*"id":("[^"]*"|[0-9]+).*/\1/' <<<"$line")
            printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$2" >&"${server[1]}"
        elif [[ $line == *'"id":2'* ]]; then
            echo "$line"
            break
        fi
    done
    eval "exec ${server[1]}>&-"
    # shellcheck disable=SC2154 # set by coproc
    wait "$server_PID" || echo "ended with $?"
}

# run_parent PROGRAM: what the parent prints, its files while it runs, how it ends, and what it leaves.
run_parent() {
    local place line
    place=$(mktemp -d "$work/place.XXXXXX")
    coproc server { exec "$1" "$place/p.sock" 2>&1; }
    # shellcheck disable=SC2154 # set by coproc
    local pid=$server_PID
    for _ in 1 2; do
        IFS= read -r -t 60 line <&"${server[0]}" && echo "${line//$place/PLACE}"
    done
    stat -c '%F %a' "$place/p.sock" "$place/p.json"
    kill -TERM "$pid"
    wait "$pid" && echo 'ended with 0'
    echo "left: $(ls "$place")."
}

# post URL FIELD: a modern call of its tool; the status line, and what is behind the head.
post() {
    local place=${1#http://} answer
    local body='{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count",'"$modern"'}}'
    place=${place%%/*}
    exec 5<>"/dev/tcp/${place%:*}/${place##*:}" || return 1
    printf '%s\r\n' 'POST /mcp HTTP/1.1' "Host: $place" 'Connection: close' 'Content-Type: application/json' \
        'Accept: application/json, text/event-stream' 'MCP-Protocol-Version: 2026-07-28' 'Mcp-Method: tools/call' \
        'Mcp-Name: count' "Content-Length: ${#body}" "$2" '' >&5
    printf '%s' "$body" >&5
    answer=$(cat <&5)
    exec 5>&-
    head -n 1 <<<"${answer//$'\r'/}"
    sed -n 's/.*"text":"\([^"]*\)".*/\1/p' <<<"$answer"
}

# run_http PROGRAM: what two clients with its token, and one without, hear; and how it ends.
run_http() {
    local url token=0123456789abcdef
    coproc server { exec "$1" 127.0.0.1:0 $token 2>&1; }
    # shellcheck disable=SC2154 # set by coproc
    local pid=$server_PID
    IFS= read -r -t 60 url <&"${server[0]}"
    [[ $url =~ ^http://127\.0\.0\.1:[0-9]+/mcp$ ]] || echo "no URL: $url"
    post "$url" "Authorization: Bearer $token"
    post "$url" 'X-Token: none'
    post "$url" "Authorization: Bearer $token"
    kill -TERM "$pid"
    wait "$pid" && echo 'ended with 0'
    "$1" nowhere 2>&1 || true
}

# run_addin PROGRAM: its states, without their reasons, where there is no hub; and how it ends.
run_addin() {
    local place line pid
    place=$(mktemp -d "$work/place.XXXXXX")
    mkfifo "$place/said"
    TMPDIR=$place "$1" nobody >"$place/said" 2>&1 &
    pid=$!
    while IFS= read -r -t 60 line; do
        echo "${line%%:*}"
        if [[ $line == waiting* ]]; then
            kill -TERM "$pid"
        fi
    done <"$place/said"
    wait "$pid" && echo 'ended with 0'
}

# run_queue PROGRAM: a job through five processes, and one that is none.
run_queue() {
    local place id
    place=$(mktemp -d "$work/place.XXXXXX")
    id=$("$1" "$place/jobs.db" add hello)
    "$1" "$place/jobs.db" show "$id" | sed 's/ *$//'
    "$1" "$place/jobs.db" work
    "$1" "$place/jobs.db" show "$id"
    "$1" "$place/jobs.db" work
    "$1" "$place/jobs.db" show nobody || true
}

initialize='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
modern='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'

# use FOLDER: the programs in it do what they are for.
use() {
    local out
    out=$(talk "$1/hello_server" "$initialize" \
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}}' \
        '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"greet",'"$modern"'}}')
    expect "$1: hello, legacy" 'Hello, Ada!' "$out"
    expect "$1: hello, modern" 'Hello, world!' "$out"
    out=$(talk "$1/async_tool" "$initialize" \
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"primes","arguments":{"below":1000},"_meta":{"progressToken":7}}}')
    expect "$1: async" 'There are 168 primes below 1000.' "$out"
    expect "$1: progress" '"progressToken":7' "$out"
    out=$(run_http "$1/http_server" 2>&1)
    expect "$1: http" 'HTTP/1.1 200 OK
Call 1, whoever asks.
HTTP/1.1 401 Unauthorized
HTTP/1.1 200 OK
Call 2, whoever asks.
ended with 0
http_server: ' "$out"
    out=$(ask_person "$1/ask_input" '{"action":"accept","content":{"guests":4}}')
    expect "$1: ask" 'A table for 4 is booked for Friday.' "$out"
    out=$(ask_person "$1/ask_input" '{"action":"decline"}')
    expect "$1: declined" 'No table was booked.' "$out"
    out=$(timeout 60 "$1/client" greet '{"name":"Bob"}' "$1/hello_server" 2>&1)
    expect "$1: client lists" 'greet: Greets somebody' "$out"
    expect "$1: client calls" 'Hello, Bob!' "$out"
    out=$(timeout 60 "$1/client" nothing '{}' "$1/hello_server" 2>&1) && out="it succeeded: $out"
    expect "$1: client fails" 'client: the server answered with an error' "$out"
    out=$(timeout 60 "$1/agent_shell" 'hi there' sh "$work/agent" 2>&1)
    expect "$1: agent_shell" 'a line of the log
Hi, too.' "$out"
    out=$(run_parent "$1/parent" 2>&1)
    expect "$1: parent" 'toolwire bridge PLACE/p.sock PLACE/p.json
{"mcpServers":{"parent":{"command":"toolwire","args":["bridge","PLACE/p.sock","PLACE/p.json"]}}}
socket 600
regular file 600
ended with 0
left: .' "$out"
    out=$(run_addin "$1/addin" 2>&1)
    expect "$1: addin" 'connecting
waiting
stopped
ended with 0' "$out"
    out=$(run_queue "$1/queue" 2>&1)
    expect "$1: queue" 'ENQUEUED
shout {"what":"hello"}, attempt 1
SUCCEEDED {"done":true}
nothing to do
queue: id: that is no id of a job' "$out"
}

# An agent that answers one message, whatever it is.
cat >"$work/agent" <<'END'
echo '{"type":"ready","timestamp":1}'
IFS= read -r line
echo 'a line of the log'
id=${line#*'"id":"'}
id=${id%%'"'*}
for token in 'Hi, ' 'too.'; do
    printf '{"type":"token","id":"%s","token":"%s","timestamp":2}\n' "$id" "$token"
done
printf '{"type":"done","id":"%s","timestamp":3}\n' "$id"
cat >/dev/null
END

examples=(hello_server http_server async_tool ask_input client parent addin agent_shell queue)
read -ra cflags <<<"$(pc_in "$prefix" --cflags)"
read -ra libs <<<"$(pc_in "$prefix" --libs)"
read -ra static_libs <<<"$(pc_in "$prefix" --static --libs)"

mkdir "$work/pc" "$work/static"
for example in "${examples[@]}"; do
    "$cc" "${strict[@]}" "${cflags[@]}" "$top/examples/library/$example.c" -o "$work/pc/$example" -pthread \
        "${libs[@]}" "-Wl,-rpath,$libdir"
    # -ltoolwire gives way to the archive; the rest of the list is what it needs.
    "$cc" "${strict[@]}" "${cflags[@]}" "$top/examples/library/$example.c" -o "$work/static/$example" \
        "${static_libs[@]/#-ltoolwire/-l:libtoolwire.a}"
done
expect "the shared library is used" libtoolwire.so.0 "$(ldd "$work/pc/hello_server")"
expect "the archive needs no library of ours" none \
    "$(ldd "$work/static/hello_server" | grep libtoolwire || echo none)"
use "$work/pc"
use "$work/static"

# same_folder NAME EXPECTED FOUND: two ways to write one folder that is there.
same_folder() {
    expect "$1" "<$2>" "<$(realpath -e "$3" 2>&1)>"
}

# What was installed is found where it is now, and only there.
for where in "$prefix" "$moved"; do
    same_folder "$where: prefix" "$where" "$(pc_in "$where" --variable=prefix)"
    same_folder "$where: libdir" "$(libdir_of "$where")" "$(pc_in "$where" --variable=libdir)"
    same_folder "$where: includedir" "$where/include" "$(pc_in "$where" --variable=includedir)"
done
mkdir "$work/pc_moved"
read -ra moved_flags <<<"$(pc_in "$moved" --cflags --libs)"
"$cc" "${strict[@]}" "$top/examples/library/hello_server.c" -o "$work/pc_moved/hello_server" -pthread \
    "${moved_flags[@]}" "-Wl,-rpath,$(libdir_of "$moved")"
expect "the moved library is used" "$moved" "$(ldd "$work/pc_moved/hello_server")"

# The .pc file for every kind of library folder: installed like the library's, beside an empty header folder.
mkdir "$work/layout"
cat >"$work/layout/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(layout VERSION 1.2.3 LANGUAGES NONE)
include("$top/packaging/pkgconfig.cmake")
tw_write_pkgconfig()
install(FILES \${CMAKE_CURRENT_BINARY_DIR}/toolwire.pc DESTINATION \${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY DESTINATION \${CMAKE_INSTALL_INCLUDEDIR}/toolwire)
END
# layout NAME LIBDIR INCLUDEDIR: configured and installed below $work/NAME, which is then given another name.
layout() {
    local now=$work/$1.moved pcdir
    cmake -S "$work/layout" -B "$work/$1.build" -DCMAKE_INSTALL_PREFIX="$work/$1" -DCMAKE_INSTALL_LIBDIR="$2" \
        -DCMAKE_INSTALL_INCLUDEDIR="$3" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    cmake --install "$work/$1.build" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    mv "$work/$1" "$now"
    pcdir=$(dirname "$(find "$now" -name toolwire.pc)")
    same_folder "$1: prefix" "$now" "$(PKG_CONFIG_PATH=$pcdir pkg-config --variable=prefix toolwire)"
    same_folder "$1: libdir" "$(dirname "$pcdir")" "$(PKG_CONFIG_PATH=$pcdir pkg-config --variable=libdir toolwire)"
    same_folder "$1: includedir" "$now/include" \
        "$(PKG_CONFIG_PATH=$pcdir pkg-config --variable=includedir toolwire)"
}
layout plain lib include
layout multiarch lib/x86_64-linux-gnu include
layout absolute "$work/absolute/lib/x86_64-linux-gnu" "$work/absolute/include"
layout mixed lib64 "$work/mixed/include"

# A C++ program links what a C program links.
cxx=$(command -v g++ || command -v clang++)
cat >"$work/main.cpp" <<'END'
#include <cstdio>
#include <toolwire/toolwire.h>
int main()
{
    TwServer *server = tw_server_new("plus", nullptr);
    TwTool tool = {};
    tool.name = "t";
    tool.handler = [](TwCall *call, void *) { tw_call_text(call, "plus"); };
    std::puts(tw_error_text(tw_server_add_tool(server, &tool)));
    tw_server_free(server);
}
END
"$cxx" -std=c++17 -Wall -Wextra -Werror "${cflags[@]}" "$work/main.cpp" -o "$work/plus" "${libs[@]}" \
    "-Wl,-rpath,$libdir"
expect "C++" 'done' "$("$work/plus")"

cmake -S "$top/examples/library" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_FLAGS="-Wall -Wextra -Werror" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cmake --build "$work/cmake" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
use "$work/cmake"

# The archive by its CMake name.
mkdir "$work/with_static"
cat >"$work/with_static/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.16)
project(with_static LANGUAGES C)
find_package(toolwire 0.1 REQUIRED COMPONENTS static)
add_executable(hello_server "$top/examples/library/hello_server.c")
target_link_libraries(hello_server PRIVATE toolwire::static)
END
cmake -S "$work/with_static" -B "$work/with_static/build" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$cc" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cmake --build "$work/with_static/build" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
expect "toolwire::static" 'Hello, world!' "$(talk "$work/with_static/build/hello_server" \
    '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"greet",'"$modern"'}}')"
expect "the version" 0.1.0 "$(pc_in "$prefix" --modversion)"

echo "$n_run checks, $n_failed failed"
[ $n_failed -eq 0 ]
