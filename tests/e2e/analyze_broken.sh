#!/usr/bin/env bash
# `toolwire analyze` and the server's tool with files that nobody's compiler would take: they and their neighbours are
# told of, and the program goes on.
#
#   analyze_broken.sh TOOLWIRE
set -euo pipefail
toolwire=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
# Nobody's own state and settings.
export XDG_STATE_HOME=$dir/state HOME=$dir NO_COLOR=
passed=0
failed=0

# has TEXT OUTPUT WHAT
has() {
    if [[ $2 == *"$1"* ]]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '%s\n' "$3" " wanted: …$1…" "    got: $2"
    fi
}

mkdir project
printf 'int f(int a) { return a; }\n' >project/a.c
# A hook of a property that is not there.
printf '<?class T{$r{l;s{' >project/hook.php
: >project/empty.c

got=$("$toolwire" analyze complexity project 2>&1 </dev/null) || got+=" (status $?)"
has '3 files, 1 function' "$got" 'toolwire analyze complexity'
has 'not understood in places: 1 file' "$got" 'toolwire analyze complexity'
got=$("$toolwire" analyze complexity project/hook.php 2>&1 </dev/null) || got+=" (status $?)"
has '1 file, 0 functions' "$got" 'toolwire analyze complexity hook.php'

# One server, which is still there behind the file.
call() { printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"analyze_complexity","arguments":%s}}\n' "$1" "$2"; }
got=$({
    printf '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
    printf '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    call 2 '{"project_path":"project/hook.php","format":"csv"}'
    call 3 '{"project_path":"project","format":"csv"}'
} | "$toolwire" serve 2>&1) || got+=" (status $?)"
has '"id":2,"result"' "$got" 'analyze_complexity hook.php'
has '"id":3,"result"' "$got" 'analyze_complexity behind it'
has 'a.c' "$got" 'analyze_complexity behind it'

# ---- the analyser crashes ----

# crash PROCESS FILE: waits until its worker has worked for a while, and crashes it. One thread measures the longest file
# first, so that is the one in hand. Fails after 60 s.
crash() {
    local deadline=$((SECONDS + 60)) pid name parent ticks
    while [ $SECONDS -lt $deadline ]; do
        for stat in /proc/[0-9]*/stat; do
            read -r line 2>/dev/null <"$stat" || continue
            name=${line#*(} name=${name%)*}
            read -r _ parent _ _ _ _ _ _ _ _ _ ticks _ <<<"${line##*) }"
            if [ "$name" = toolwire-worker ] && [ "$parent" = "$1" ] && [ "$ticks" -ge 5 ]; then
                pid=${stat#/proc/} pid=${pid%/stat}
                kill -SEGV "$pid"
                return 0
            fi
        done
    done
    failed=$((failed + 1))
    echo "no worker of process $1 has begun with $2"
    return 0
}

[ "$(uname -s)" = Linux ] || { echo "$passed passed, $failed failed"; [ "$failed" = 0 ]; exit; }
mkdir slow
printf 'int f(int a) { return a; }\n' >slow/a.c
printf 'def g(a):\n    return a\n' >slow/b.py
awk 'BEGIN { for (i = 0; i < 250000; i++) printf "int f%d(int a) { return a ? %d : a; }\n", i, i }' >slow/long.c
"$toolwire" analyze complexity slow --threads 1 --format json >out 2>&1 </dev/null &
crash $! long.c
status=0
wait $! || status=$?
got="status $status: $(cat out)"
has 'status 0' "$got" 'the analyser has crashed'
has '"path": "a.c"' "$got" 'what is beside the file is measured'
has '"path": "b.py"' "$got" 'what is beside the file is measured'
has '"total_files": 2' "$got" 'the file is left out'
has '"reason": "failed"' "$got" 'the file is named'
# It is known by its content, and not tried again: it would be measured, since nobody is there to crash it.
got=$("$toolwire" analyze complexity slow --threads 1 2>&1 </dev/null) || got+=" (status $?)"
has '2 files, 2 functions' "$got" 'the file is not tried again'
has 'the analyser failed on: long.c' "$got" 'the file is named again'
printf 'int h(int a) { return a; }\n' >slow/long.c
got=$("$toolwire" analyze complexity slow --threads 1 2>&1 </dev/null) || got+=" (status $?)"
has '3 files, 3 functions' "$got" 'another content is tried'

# A server goes on, and answers.
awk 'BEGIN { for (i = 0; i < 250000; i++) printf "int g%d(int a) { return a ? %d : a; }\n", i, i }' >slow/long.c
mkfifo wire
"$toolwire" serve <wire >out 2>&1 &
server=$!
exec 9>wire
{
    printf '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
    printf '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    call 2 '{"project_path":"slow","format":"json","threads":1}'
} >&9
crash "$server" long.c
call 3 '{"project_path":"slow/a.c","format":"csv"}' >&9
exec 9>&-
status=0
wait "$server" || status=$?
got="status $status: $(cat out)"
has 'status 0' "$got" 'the server ends in order'
has '"id":2,"result"' "$got" 'the call is answered'
has 'failed' "$got" 'the call names the file'
has '"id":3,"result"' "$got" 'the next call is answered'

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
