#!/usr/bin/env bash
# The floor-plan program, as an MCP server and as an add-in behind a hub: a room is built, drawn and taken down;
# failures leave the document as it was.
#
#   planner.sh TOOLWIRE PLANNER
set -euo pipefail
toolwire=$(realpath "${1:?TOOLWIRE}")
planner=$(realpath "${2:?PLANNER}")
work=$(mktemp -d)
pids=()
end() {
    for pid in "${pids[@]}"; do
        kill -KILL "$pid" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap end EXIT
here=$(realpath "$(dirname "$0")")
cd "$work"
# Where the pipe is made.
mkdir tmp
chmod 700 tmp
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
        printf 'FAILED: %s: no %s in\n%s\n' "$1" "$2" "${3:0:2000}"
        n_failed=$((n_failed + 1))
    fi
}

# lacks NAME TEXT GOT
lacks() {
    n_run=$((n_run + 1))
    if [[ $3 == *"$2"* ]]; then
        printf 'FAILED: %s: %s in\n%s\n' "$1" "$2" "${3:0:2000}"
        n_failed=$((n_failed + 1))
    fi
}

box='{"height":9,"lines":[{"start":[0,0,0],"end":[16,0,0]},{"start":[16,0,0],"end":[16,12,0]},
{"start":[16,12,0],"end":[0,12,0]},{"start":[0,12,0],"end":[0,0,0]},{"start":[5,5,0],"end":[5,5,0]}]}'

# build: the room, by `use TOOL JSON`, which prints the structured result or the failure.
build() {
    has "$1: walls" '"created_count":4,"errors":["Wall 4: REVIT_API_ERROR - A wall cannot have zero length' \
        "$(use flow.create_walls_from_lines "${box//$'\n'/}" | tr -d '\n' | sed 's/"element_ids":\[[0-9,]*\],//')"
    has "$1: door" '"element_id":14' "$(use plan.create_door '{"wall_id":10,"distance":4,"width":3}')"
    has "$1: room" '"element_id":15,"area":192' "$(use plan.create_room '{"name":"Kitchen & <bar>","point":[8,6]}')"
    has "$1: selection" '"selected_count":2' "$(use revit.set_selection '{"element_ids":[10,15]}')"
    has "$1: document" '"revision":5,' "$(use plan.get_document '{}')"
    has "$1: counts" '"counts":{"Doors":1,"Levels":2,"Rooms":1,"Views":3,"Wall Types":4,"Walls":4}' \
        "$(use plan.get_document '{}')"
}

# fail NAME: what cannot be done, and what stays.
fail() {
    local before after
    before=$(use plan.get_document '{}')$(use plan.render '{}')
    has "$1: error" '"code":"REVIT_API_ERROR","msg":"A wall cannot have zero height' "$(use plan.fail '{"mode":"error"}')"
    has "$1: transaction" '"code":"REVIT_TRANSACTION_FAILED","msg":"The document refused the change' \
        "$(use plan.fail '{"mode":"transaction"}')"
    has "$1: zero height" 'greater than 0' \
        "$(use revit.create_wall '{"start_point":[0,0,0],"end_point":[9,0,0],"height":0}')"
    has "$1: a number that is none" 'end_point must be a number' \
        "$(use revit.create_wall '{"start_point":[0,0,0],"end_point":[1e400,0,0],"height":8}')"
    has "$1: no such type" "\"code\":\"REVIT_API_ERROR\",\"msg\":\"Wall type 'Straw' not found" \
        "$(use revit.create_wall '{"start_point":[0,0,0],"end_point":[9,0,0],"height":8,"wall_type":"Straw"}')"
    has "$1: no such level" "Level 'Attic' not found" \
        "$(use revit.create_wall '{"start_point":[0,0,0],"end_point":[9,0,0],"height":8,"level_name":"Attic"}')"
    has "$1: no such element" '"code":"REVIT_API_ERROR","msg":"Element with ID 999 not found' \
        "$(use revit.get_element_info '{"element_id":999}')"
    has "$1: all or nothing" 'Element with ID 999 not found' \
        "$(use revit.delete_elements '{"element_ids":[11,999]}')"
    has "$1: a type in use" 'REVIT_TRANSACTION_FAILED' "$(use revit.delete_elements '{"element_ids":[6]}')"
    after=$(use plan.get_document '{}')$(use plan.render '{}')
    is "$1: failures leave all as it was" "$before" "$after"
}

# take_down NAME
take_down() {
    has "$1: element" '"category":"Walls","type_name":"Wall","name":"Generic - 200mm","level":"Level 1"' \
        "$(use revit.get_element_info '{"element_id":10,"include_geometry":true}')"
    has "$1: delete" '"deleted_count":2,"element_ids":[10],"dependent_ids":[14]' \
        "$(use revit.delete_elements '{"element_ids":[10]}')"
    has "$1: the room is open" '"Is Enclosed":false' "$(use revit.get_element_info '{"element_id":15}')"
    has "$1: another view" '"view_id":4' "$(use revit.activate_view '{"view_name":"Level 2"}')"
    has "$1: it is empty" '"level_name":"Level 2"' "$(use plan.render '{}')"
    has "$1: the list" '"name":"Kitchen & <bar>","level":"Level 1"' "$(use plan.list_elements '{"category":"Rooms"}')"
    has "$1: revision" '"revision":7,' "$(use plan.get_document '{}')"
}

# picture NAME SVG
picture() {
    has "$1: its beginning" '<svg xmlns=' "$2"
    has "$1: the walls" 'class="wall" data-id="13"' "${2//\\\"/\"}"
    has "$1: the door" 'data-id="14"' "${2//\\\"/\"}"
    has "$1: the room" 'Kitchen &amp; &lt;bar&gt;' "$2"
    has "$1: the area" '192.0 sq ft' "$2"
    has "$1: its end" '</svg>' "$2"
}

# ---- As an MCP server: a process for each call, the document in its file ----

server="$planner --stdio --quiet --document house.plan"
# What the tool itself says of a success; of a failure, all of it.
use() { timeout 60 "$toolwire" call --server "$server" "$1" "$2" 2>&1 | sed 's/,"ok":true,"code":"OK".*/}/' || true; }

is 'tools' 18 "$(timeout 60 "$toolwire" tools --server "$server" | wc -l)"
has 'resources' 'plan://document.svg' "$(timeout 60 "$toolwire" resources --server "$server")"
build 'stdio'
svg=$(timeout 60 "$toolwire" resources --server "$server" plan://document.svg)
picture 'stdio: resource' "$svg"
if command -v xmllint >/dev/null; then
    is 'stdio: it is XML' '' "$(xmllint --noout - <<<"$svg" 2>&1)"
fi
fail 'stdio'
has 'stdio: slow' 'Done at last' "$(use plan.fail '{"mode":"slow","ms":50}')"
has 'stdio: block' 'The dialog was closed' "$(use plan.fail '{"mode":"block","ms":5}')"
has 'stdio: arguments are checked' 'start_point' "$(use revit.create_wall '{"end_point":[1,0,0],"height":8}')"
has 'stdio: a view that is shown' 'View 3 is active' "$(use revit.delete_elements '{"element_ids":[3]}')"
take_down 'stdio'
has 'the log names the transaction' 'Orchestrator: revit.set_selection: committed' \
    "$(timeout 60 "$toolwire" call --log-level debug --server "$planner --stdio --document house.plan" \
        revit.set_selection '{"element_ids":[11]}' 2>&1)"

# Many at once: one is slow, the others are answered first.
session=$({
    printf '%s\n' \
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"plan.fail","arguments":{"mode":"slow","ms":300}}}' \
        '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"plan.get_document"}}'
} | timeout 60 "$planner" --stdio --quiet | grep -o '"id":[123]' | tr -d '\n')
is 'a slow call holds nobody up' '"id":1"id":3"id":2' "$session"

# A call that nobody waits for any more is not waited for: the program ends long before it would.
status=0
printf '%s\n' \
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"plan.fail","arguments":{"mode":"slow","ms":3600000}}}' \
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}' |
    timeout 60 "$planner" --stdio --quiet >/dev/null || status=$?
is 'a slow call can be cancelled' 0 $status

# The session in the README is what happens.
readme=$here/../../examples/planner/README.md
mkdir bin
ln -s "$toolwire" bin/toolwire
ln -s "$planner" bin/planner
# shellcheck disable=SC2016 # the backticks are Markdown
wanted=$(sed -n '/^```console$/,/^```$/{/^```/d;/^\$ /d;p}' "$readme")
# shellcheck disable=SC2016
sed -n '/^```console$/,/^```$/{s/^\$ //p}' "$readme" >session.sh
is 'the session of the README' "$wanted" "$(rm -f house.plan; PATH=$work/bin:$PATH bash session.sh 2>&1 |
    sed -e 's/"warnings":\[\],"nextActions":.*/…}/' -e 's/"failureHandling":{.*},"ok"/"failureHandling":{…},"ok"/')"
has 'its picture' 'Kitchen' "$(<house.svg)"

# ---- Documents that cannot be ----

# refused NAME TEXT ARGUMENT…
refused() {
    local name=$1 text=$2 output status=0
    shift 2
    output=$(timeout 60 "$planner" --stdio "$@" </dev/null 2>&1) || status=$?
    is "$name: status" 1 $status
    has "$name" "$text" "$output"
}
echo 'this is not a database, whatever it may be called, and however long it is' >text.plan
refused 'text' 'text.plan: The document is damaged: file is not a database' --document text.plan
refused 'no folder' 'cannot be opened' --document no/house.plan
cp house.plan newer.plan
# The format is a number in the file's header.
printf '\x00\x00\x00\x09' | dd of=newer.plan bs=1 seek=60 conv=notrunc status=none
refused 'newer' 'newer.plan: The document has format 9, of a newer program' --document newer.plan
head -c 20000 house.plan >half.plan
refused 'half' 'half.plan: The document is damaged' --document half.plan
status=0
timeout 60 "$planner" --nonsense 2>/dev/null || status=$?
is 'wrong use' 2 $status
has 'help' 'usage: planner' "$(timeout 60 "$planner" --help)"

# ---- As an add-in, behind a hub ----

pipe=planner.$$
id=0
told=
# ask METHOD PARAMS: the hub's answer, in $answer; what else it says, in $told.
ask() {
    local line
    id=$((id + 1))
    answer=
    printf '{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}\n' $id "$1" "$2" >&"${hub[1]}"
    while IFS= read -r -t 60 line <&"${hub[0]}"; do
        if [[ $line == *'"id":'$id,* || $line == *'"id":'$id\}* ]]; then
            answer=$line
            return
        fi
        told+=$line$'\n'
    done
    echo "FAILED: no answer to $1"
    cat hub.log addin.log 2>/dev/null || true
    exit 1
}
# until_tools yes|no: the hub has the add-in's tools, or not; asked again whenever it says that they changed.
until_tools() {
    local line
    while true; do
        told=
        ask tools/list '{}'
        if [[ $1 == yes && $answer == *revit.create_wall* ]] || [[ $1 == no && $answer != *revit.create_wall* ]]; then
            return
        fi
        while [[ $told != *notifications/tools/list_changed* ]]; do
            IFS= read -r -t 60 line <&"${hub[0]}" || { echo "FAILED: tools: $1"; cat hub.log addin.log; exit 1; }
            told+=$line$'\n'
        done
    done
}
# start_hub: a session with a hub that has the pipe.
start_hub() {
    coproc hub { exec timeout 300 "$toolwire" serve --no-toolkit --pipe $pipe 2>>hub.log; }
    # shellcheck disable=SC2154 # set by coproc
    pids+=("$hub_PID")
    hub_pid=$hub_PID
    ask initialize '{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}'
    printf '{"jsonrpc":"2.0","method":"notifications/initialized"}\n' >&"${hub[1]}"
}
# stop_hub: its client leaves.
stop_hub() {
    eval "exec ${hub[1]}>&-"
    wait "$hub_pid" || true
}
# stop_addin NAME
stop_addin() {
    local status=0
    kill -TERM "$addin_pid"
    wait "$addin_pid" || status=$?
    is "$1" 0 $status
}
call() {
    ask tools/call "{\"name\":\"$1\",\"arguments\":$2}"
}
start_addin() {
    "$planner" --pipe $pipe --retry 50 --document piped.plan "$@" 2>>addin.log &
    addin_pid=$!
    pids+=("$addin_pid")
}

start_hub
until_tools no
start_addin
until_tools yes
has 'tools say how to use them' 'Without it the first level.' "$answer"
call flow.create_walls_from_lines "${box//$'\n'/}"
has 'pipe: walls' '"structuredContent":{"element_ids":[10,11,12,13],"created_count":4' "$answer"
call plan.create_door '{"wall_id":10,"distance":4}'
has 'pipe: door' '"element_id":14' "$answer"
call plan.create_room '{"name":"Kitchen & <bar>","point":[8,6]}'
has 'pipe: room' '"area":192' "$answer"
ask resources/list '{}'
has 'pipe: resources' 'plan://document.svg' "$answer"
ask resources/read '{"uri":"plan://document.svg"}'
has 'pipe: type of the resource' '"mimeType":"image/svg+xml"' "$answer"
picture 'pipe: resource' "$answer"
call plan.fail '{"mode":"transaction"}'
has 'pipe: failure' '"isError":true' "$answer"
has 'pipe: code' '"code":"REVIT_TRANSACTION_FAILED"' "$answer"
call revit.create_wall '{"start_point":[0,0,0],"end_point":[0,0,0],"height":8}'
has 'pipe: code of a refusal' '"code":"TX_NOT_COMMITTED"' "$answer"
call plan.get_document '{}'
has 'pipe: failures leave all as it was' '"revision":4,' "$answer"
call revit.delete_elements '{"element_ids":[10]}'
has 'pipe: delete' '"dependent_ids":[14]' "$answer"

# It leaves in good order, and its tools with it; another one brings them back.
stop_addin 'pipe: the add-in ends'
until_tools no
start_addin --one-at-a-time
until_tools yes
call plan.get_document '{}'
has 'pipe: the document is as it was' '"Rooms":1,"Views":3,"Wall Types":4,"Walls":3' "$answer"

# One at a time: the second call waits for the slow one.
id=$((id + 1))
printf '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"plan.fail","arguments":{"mode":"slow","ms":200}}}\n' \
    $id >&"${hub[1]}"
slow=$id
told=
call plan.get_document '{}'
has 'pipe: one at a time' "\"id\":$slow," "$told"

# The hub goes; the add-in waits for another one.
stop_hub
is 'pipe: nothing is left of it' '' "$(find tmp -name "*$pipe*" -type s)"
start_hub
until_tools yes
call plan.get_document '{}'
has 'pipe: it came back' '"title":"piped"' "$answer"
stop_addin 'pipe: the add-in ends again'
until_tools no
has 'pipe: the log' 'Orchestrator: plan.fail: rolled back: The document refused' "$(<addin.log)"
has 'pipe: connected' 'planner: Connected' "$(<addin.log)"
has 'pipe: disconnected' 'planner: Disconnected' "$(<addin.log)"
stop_hub

echo "$n_run checks, $n_failed failed"
[ $n_failed -eq 0 ]
