#!/usr/bin/env bash
# The example of an add-in behind `toolwire serve --pipe`, as an MCP client sees both: it comes, is called, is read,
# goes, and comes back to another hub.
#
#   addin.sh TOOLWIRE ADDIN
#
# ADDIN is examples/library/addin.c, built.
set -euo pipefail
toolwire=$(realpath "${1:?TOOLWIRE}")
addin=$(realpath "${2:?ADDIN}")
work=$(mktemp -d)
addin_pid=
hub_pid=
end() {
    for pid in $addin_pid $hub_pid; do
        kill -KILL "$pid" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap end EXIT
cd "$work"
# Where the pipe is.
mkdir tmp
export TMPDIR=$work/tmp
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

# has NAME TEXT GOT
has() {
    n_run=$((n_run + 1))
    if [[ $3 != *"$2"* ]]; then
        printf 'FAILED: %s: no %s in\n%s\n' "$1" "$2" "$3"
        n_failed=$((n_failed + 1))
    fi
}

# await TEXT: the next line of the hub that has it, in $line.
await() {
    while IFS= read -r -t 60 line <&4; do
        if [[ $line == *"$1"* ]]; then
            return 0
        fi
    done
    echo "FAILED: no $1 came"
    exit 1
}

# ask ID METHOD PARAMS: the answer, in $line.
ask() {
    printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}\n' "$1" "$2" "$3" >&3
    await "\"id\":$1,"
}

# start_hub: a session with it at descriptors 3 and 4.
start_hub() {
    mkfifo in out
    "$toolwire" serve --no-toolkit --pipe board-test <in >out 2>hub.log &
    hub_pid=$!
    exec 3>in 4<out
    rm in out
    ask 1 initialize '{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}'
    printf '{"jsonrpc":"2.0","method":"notifications/initialized"}\n' >&3
}

# stop_hub: as clients do it; nothing may be left of the pipe.
stop_hub() {
    local status=0
    exec 3>&-
    wait "$hub_pid" || status=$?
    hub_pid=
    exec 4<&-
    is 'the hub: exit status' 0 $status
    is 'the hub: what is left' '' "$(ls tmp)"
}

# state WORD: the add-in's next state that begins so.
state() {
    while IFS= read -r -t 60 line <&5; do
        if [[ $line == "$1"* ]]; then
            return 0
        fi
    done
    echo "FAILED: the add-in was never $1"
    exit 1
}

# await_list: until the hub offers what the add-in has, in $line.
await_list() {
    ask "$1" tools/list '{}'
    while [[ $line != *board.render* ]]; do
        await notifications/tools/list_changed
        ask "$1" tools/list '{}'
    done
}

# The add-in is there first.
mkfifo said
"$addin" board-test >said &
addin_pid=$!
exec 5<said
rm said
state connecting
state waiting
has 'nobody is there' 'there is no hub' "$line"
start_hub
state connected
await_list 2
has 'the list' '"name":"board.draw_line"' "$line"
has 'its words' 'Draws a line from one point to another.' "$line"
ask 3 tools/call '{"name":"board.draw_line","arguments":{"from":[0,0],"to":[3,4]}}'
has 'draw_line' '"structuredContent":{"line":1}' "$line"
ask 4 tools/call '{"name":"board.render","arguments":{}}'
has 'render, from another thread' 'M0,0 L3,4' "$line"
ask 5 tools/call '{"name":"board.draw_line","arguments":{"from":[0,0]}}'
has 'arguments are checked' '"isError":true' "$line"
ask 6 resources/list '{}'
has 'resources' '"uri":"board:/summary"' "$line"
ask 7 resources/read '{"uri":"board:/summary"}'
has 'a resource' '"text":"1 lines"' "$line"

# The hub goes and comes back; the board is what it was.
stop_hub
state disconnected
state waiting
start_hub
state connected
await_list 2
ask 3 resources/read '{"uri":"board:/summary"}'
has 'the board is still there' '"text":"1 lines"' "$line"

# The add-in goes.
kill -TERM "$addin_pid"
status=0
wait "$addin_pid" || status=$?
addin_pid=
is 'the add-in: exit status' 0 $status
state stopped
ask 4 tools/list '{}'
while [[ $line == *board.render* ]]; do
    await notifications/tools/list_changed
    ask 4 tools/list '{}'
done
has 'nothing is offered without it' '"tools":[]' "$line"
stop_hub

echo "$n_run checks, $n_failed failed"
[ $n_failed -eq 0 ]
