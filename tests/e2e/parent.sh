#!/usr/bin/env bash
# An example of a parent behind `toolwire bridge`: listed, called, its state, its errors, its end.
#
#   parent.sh TOOLWIRE PARENT
#
# PARENT is examples/library/parent.c, built, or examples/parent.py; both have the same tools.
set -euo pipefail
toolwire=$(realpath "${1:?TOOLWIRE}")
parent=$(realpath "${2:?PARENT}")
if [[ $parent == *.py ]] && ! command -v python3 >/dev/null; then
    echo 'SKIPPED: there is no python3'
    exit 77
fi
work=$(mktemp -d)
pid=
end() {
    if [ -n "$pid" ]; then
        kill -KILL "$pid" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap end EXIT
cd "$work"
# Where either of them makes its files.
mkdir tmp run
chmod 700 run
export TMPDIR=$work/tmp XDG_RUNTIME_DIR=$work/run
# What the configuration calls the program.
PATH=$(dirname "$toolwire"):$PATH
n_run=0
n_failed=0

# is NAME WANTED GOT
is() {
    n_run=$((n_run + 1))
    if [ "$2" != "$3" ]; then
        printf 'FAILED: %s\n wanted: %s\n    got: %s\n' "$1" "$2" "$3"
        n_failed=$((n_failed + 1))
    fi
}

# has NAME TEXT GOT: white space in JSON is the parent's choice, and arrives.
has() {
    local plain=${3//\": /\":}
    n_run=$((n_run + 1))
    if [[ ${plain//, \"/,\"} != *"$2"* ]]; then
        printf 'FAILED: %s: no %s in\n%s\n' "$1" "$2" "$3"
        n_failed=$((n_failed + 1))
    fi
}

# start: the parent, until it has said where it is: $command, $config, $socket, $schema.
start() {
    mkfifo said
    "$parent" >said &
    pid=$!
    exec 3<said
    read -r -t 60 command <&3
    read -r -t 60 config <&3
    exec 3<&-
    rm said
    read -r _ _ socket schema <<<"$command"
}

# stop SIGNAL: its exit status; nothing may be left but the runtime folder.
stop() {
    local status=0
    kill "-$1" "$pid"
    wait "$pid" || status=$?
    pid=
    is "$1: exit status" 0 $status
    is "$1: what is left" '' "$(find tmp run -mindepth 1 -not -path run/toolwire)"
}

# call TOOL [ARGUMENT…]: by a bridge of its own; what it says, and its status.
call() {
    timeout 60 toolwire call --server "$command" "$@" 2>&1 || echo "status $?"
}

start
is 'the command' "toolwire bridge $socket $schema" "$command"
has 'the configuration' '"mcpServers"' "$config"
has 'the socket in the configuration' "\"$socket\"" "$config"
has 'the schema in the configuration' "\"$schema\"" "$config"
is 'mode of the socket' 'socket 600' "$(stat -c '%F %a' "$socket")"
is 'mode of the schema file' 'regular file 600' "$(stat -c '%F %a' "$schema")"
is 'mode of the folder' 700 "$(stat -c %a "$(dirname "$socket")")"
tools=$(timeout 60 toolwire tools --server "$command")
has 'the list' 'Adds to a counter, and says where it is.' "$tools"
is 'tools' 3 "$(wc -l <<<"$tools")"

# The state is the parent's: every call here has a bridge of its own.
is 'count' 5 "$(call count by:=5)"
is 'count goes on' 6 "$(call count)"
is 'todo_add' '1 to do' "$(call todo_add text='a "quoted" wörd')"
is 'todo_done' 'done: a "quoted" wörd' "$(call todo_done item:=1)"
has 'a failure' 'There is no such item.' "$(call todo_done item:=1)"
has 'a failure has a status' 'status 1' "$(call todo_done item:=1)"
has 'arguments are checked' 'arguments/by' "$(call count 'by:="much"')"
has 'a tool that is not there' 'status 1' "$(call nothing)"

# An MCP session, as a client writes it; answers come in the order of the requests, since one socket has them.
session=$(printf '%s\n' \
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
    '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/list"}' \
    '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"count","arguments":{"by":9007199254740987}}}' \
    '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"count","arguments":{"by":-9007199254740993}}}' |
    timeout 60 toolwire bridge "$socket" "$schema")
has 'initialize' '"id":1,"result":{"protocolVersion":"2025-11-25"' "$session"
has 'tools/list' '"id":2,"result":{"tools":[{"name":"count"' "$session"
has 'a number that no double holds' '"id":3,"result":{"content":[{"type":"text","text":"9007199254740993"}]' "$session"
has 'the next call' '"id":4,"result":{"content":[{"type":"text","text":"0"}]' "$session"

# Many bridges at once: each addition counts.
adders=()
for _ in 1 2 3 4 5 6 7 8; do
    call count by:=2 >/dev/null &
    adders+=($!)
done
wait "${adders[@]}"
is 'additions side by side' 16 "$(call count by:=0)"

# What a bridge of ours never sends: on a line of its own each answer's type, or "closed".
if command -v python3 >/dev/null; then
    wire=$(timeout 60 python3 - "$socket" <<'END'
import json, socket, struct, sys

def talk(data):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(sys.argv[1])
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        with s.makefile("rb") as stream:
            while header := stream.read(4):
                message = json.loads(stream.read(*struct.unpack("!I", header)))
                print(message.get("error", {}).get("type") or message["result"]["content"][0]["text"])
    print("closed")

def frame(text):
    return struct.pack("!I", len(text)) + text

good = frame(b'{"method":"call_tool","params":{"name":"count","arguments":{"by":0}}}')
talk(good + frame(b'{"method":"other"}') + frame(b'{"method":"call_tool","params":[]}') +
     frame(b'{"method":"call_tool","params":{"name":1}}') +
     frame(b'{"method":"call_tool","params":{"name":"count","arguments":[]}}') +
     frame(b'{"method":"call_tool","params":{"name":"none"}}') + good)
talk(good + frame(b"{") + good)
talk(good + frame(b"[]") + good)
talk(good + struct.pack("!I", 10485761) + good)
talk(good[:2])
talk(good[:20])
END
    )
    is 'what is wrong on the wire' '16 ValueError ValueError ValueError ValueError ToolNotFoundError 16 closed
16 IPCError closed
16 IPCError closed
16 IPCMessageSizeError closed
IPCError closed
IPCError closed' "$(tr '\n' ' ' <<<"$wire" | sed 's/closed /closed\n/g')"
fi

# A bridge that stays connected does not keep the parent from ending, and says what happened.
coproc bridge { timeout 60 toolwire bridge "$socket" "$schema" 2>/dev/null; }
to=${bridge[1]}
from=${bridge[0]}
# shellcheck disable=SC2154 # set by coproc
bridge_pid=$bridge_PID
# ask ID: calls count, and gives the answer.
ask() {
    local meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
    printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"count","arguments":{},%s}}\n' "$1" "$meta" >&"$to"
    IFS= read -r -t 60 answer <&"$from"
}
ask 1
has 'a bridge that stays' '"text":"17"' "$answer"
stop TERM
ask 2
has 'the parent has gone' '"isError":true' "$answer"
eval "exec $to>&-"
wait "$bridge_pid"

start
is 'another parent begins anew' 1 "$(call count)"
stop INT

start
stop HUP

echo "$(basename "$parent"): $n_run checks, $n_failed failed"
[ $n_failed -eq 0 ]
