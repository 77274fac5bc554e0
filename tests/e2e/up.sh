#!/usr/bin/env bash
# `toolwire up` from outside: what it prints, its pages, MCP of both eras, reloads, its end, what it refuses.
#
#   up.sh TOOLWIRE
set -euo pipefail
toolwire=$(realpath "${1:?TOOLWIRE}")
work=$(mktemp -d)
pids=()
end() {
    local pid
    for pid in "${pids[@]}"; do
        kill -KILL "$pid" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap end EXIT
cd "$work"
mkdir tmp run home state
chmod 700 run
export TMPDIR=$work/tmp XDG_RUNTIME_DIR=$work/run HOME=$work/home XDG_STATE_HOME=$work/state
unset XDG_CONFIG_HOME NOTIFY_SOCKET
ulimit -Sn 256 # of open files: a hub takes more
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

# has NAME TEXT GOT, and hasnt
has() {
    n_run=$((n_run + 1))
    if [[ $3 != *"$2"* ]]; then
        printf 'FAILED: %s: no %s in\n%s\n' "$1" "$2" "$3"
        n_failed=$((n_failed + 1))
    fi
}
hasnt() {
    n_run=$((n_run + 1))
    if [[ $3 == *"$2"* ]]; then
        printf 'FAILED: %s: %s in\n%s\n' "$1" "$2" "$3"
        n_failed=$((n_failed + 1))
    fi
}

# until_true COMMAND…: looks again until it succeeds; gives up after a minute.
until_true() {
    local _
    for _ in $(seq 1 1200); do
        if "$@"; then
            return 0
        fi
        sleep 0.05
    done
    echo "FAILED: gave up waiting for: $*"
    n_failed=$((n_failed + 1))
    return 1
}

# start NAME ARGUMENT…: a hub; its first line is in $line, its process in $pid, its log in NAME.log, its port in $port.
start() {
    local name=$1
    shift
    mkfifo "$name.fifo"
    "$toolwire" up --json --log-level info "$@" >"$name.fifo" 2>"$name.log" &
    pid=$!
    pids+=("$pid")
    exec 3<"$name.fifo"
    line=
    read -r -t 60 line <&3 || { echo "the hub did not start:"; cat "$name.log"; exit 1; }
    exec 3<&-
    port=${line#*\"address\":\"*:}
    port=${port%%\"*}
}

# request METHOD PATH BODY HEADER…: an exchange with the hub at $port; the whole answer is printed.
request() {
    local method=$1 path=$2 body=$3
    shift 3
    exec 4<>"/dev/tcp/${host:-127.0.0.1}/$port" || return 1
    {
        printf '%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n' "$method" "$path"
        printf 'Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n'
        [ $# -eq 0 ] || printf '%s\r\n' "$@"
        printf 'Content-Length: %d\r\n\r\n%s' "${#body}" "$body"
    } >&4
    cat <&4 || true
    exec 4>&-
}

get() {
    request GET "$1" '' "${@:2}"
}

# modern METHOD NAME PARAMS: a request of 2026-07-28; PARAMS are members of params, with a comma behind each.
modern() {
    local headers=('MCP-Protocol-Version: 2026-07-28' "Mcp-Method: $1")
    [ -z "$2" ] || headers+=("Mcp-Name: $2")
    request POST /mcp '{"jsonrpc":"2.0","id":1,"method":"'"$1"'","params":{'"$3"'"_meta":{
        "io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},
        "io.modelcontextprotocol/clientCapabilities":{}}}}' "${headers[@]}" ${token:+"Authorization: Bearer $token"}
}

# call TOOL ARGUMENTS
call() {
    modern tools/call "$1" '"name":"'"$1"'","arguments":'"$2,"
}

# offers TOOL
offers() {
    [[ $(modern tools/list '' '') == *"\"name\":\"$1\""* ]]
}

said() {
    grep -q "$2" "$1.log"
}

# reloaded NAME TIMES
reloaded() {
    [ "$(grep -c 'reload: done' "$1.log")" -ge "$2" ]
}

# tool NAME SCRIPT: a member of a tools file
tool() {
    printf '{"name":"%s","description":"d","input_schema":{"type":"object"},"command":["/bin/sh","-c","%s"]}' "$1" "$2"
}

ended() {
    status=0
    wait "$1" || status=$?
}

# ---- what it prints, and its pages ----

mkfifo "$work/go"
wait_script="echo >$work/begun; cat $work/go"
printf '[%s]' "$(tool waits "$wait_script")" >tools.json
cat >c.json <<END
{"http": {"address": "127.0.0.1:0"}, "tools": "tools.json", "audit": "calls.jsonl", "pipe": "UpTest",
 "limits": {"drain_ms": "60s"}}
END
start one --config c.json --diagnostics --no-toolkit
if [ -r "/proc/$pid/limits" ]; then
    read -r _ _ _ soft hard _ <<<"$(grep '^Max open files' "/proc/$pid/limits")"
    is 'a hub may open as many files as the system lets it' "$hard" "$soft"
fi
has 'the URL is printed' "\"url\":\"http://127.0.0.1:$port/mcp\"" "$line"
has 'and the pipe' "\"pipe\":\"$work/tmp/CoreFxPipe_UpTest\"" "$line"
has 'and the settings, from anywhere' "\"config\":\"$work/c.json\"" "$line"
has 'a front is told of them' "\"args\":[\"serve\",\"--config\",\"$work/c.json\",\"--state\"," "$line"
has 'and how many tools' '"tools":4' "$line"
has 'and a configuration' "claude mcp add --transport http toolwire http://127.0.0.1:$port/mcp" "$line"
answer=$(get /healthz)
has 'it is healthy' 'HTTP/1.1 200 OK' "$answer"
has 'and says so' '"status":"ok"' "$answer"
has 'a page for people' '<!doctype html>' "$(get /)"
has 'nothing else' 'HTTP/1.1 404' "$(get /nothing)"

# ---- MCP ----

has 'a modern call' 'hello' "$(call echo '{"message":"hello"}')"
answer=$(request POST /mcp '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",
    "capabilities":{},"clientInfo":{"name":"t","version":"1"}}}')
has 'a legacy session' '"protocolVersion":"2025-06-18"' "$answer"
session=$(sed -n 's/^Mcp-Session-Id: \(.*\)\r$/\1/Ip' <<<"$answer")
legacy() {
    request POST /mcp "$1" "Mcp-Session-Id: $session" 'MCP-Protocol-Version: 2025-06-18'
}
has 'begins' 'HTTP/1.1 202' "$(legacy '{"jsonrpc":"2.0","method":"notifications/initialized"}')"
has 'and calls' 'again' "$(legacy '{"jsonrpc":"2.0","id":2,"method":"tools/call",
    "params":{"name":"echo","arguments":{"message":"again"}}}')"
has 'calls are counted' 'toolwire_calls' "$(get /metrics)"
until_true grep -q '"target":"echo"' calls.jsonl
hasnt 'arguments are not recorded' hello "$(cat calls.jsonl)"

# ---- reload: a call that runs notices nothing ----

call waits '{}' >waited &
caller=$!
until_true test -e begun
printf '[%s,%s]' "$(tool waits 'echo young')" "$(tool fresh 'echo fresh')" >tools.json.new
mv tools.json.new tools.json
until_true offers fresh
has 'a tool that has come' fresh "$(call fresh '{}')"
has 'the new command' young "$(call waits '{}')"
echo 'the old one' >go
wait "$caller"
has 'the old command has answered' 'the old one' "$(cat waited)"
has 'the session lives' 'again' "$(legacy '{"jsonrpc":"2.0","id":3,"method":"tools/call",
    "params":{"name":"echo","arguments":{"message":"again"}}}')"

# By a signal, and at another address: the old one is let go only then.
printf '[%s]' "$(tool other 'echo other')" >other.json
old_port=$port
sed -i 's/127.0.0.1:0/127.0.0.2:0/; s/tools.json/other.json/' c.json
kill -HUP "$pid"
until_true said one 'reload: done: .*HTTP 127.0.0.2:'
port=$(sed -n 's/.*HTTP 127.0.0.2:\([0-9]*\)$/\1/p' one.log | tail -n 1)
host=127.0.0.2
has 'the new address serves' other "$(call other '{}')"
hasnt 'only the new tools' fresh "$(modern tools/list '' '')"
is 'the old address is closed' closed "$( (exec 5<>"/dev/tcp/127.0.0.1/$old_port") 2>/dev/null && echo open || echo closed)"

# A record that was moved aside is begun anew.
mv calls.jsonl calls.moved
n_reloads=$(grep -c 'reload: done' one.log)
kill -HUP "$pid"
until_true reloaded one $((n_reloads + 1))
has 'a call behind that' other "$(call other '{}')"
until_true grep -q '"target":"other"' calls.jsonl

# What is wrong is said, and nothing changes.
cp c.json good.json
echo '{"tols": "x"}' >c.json
until_true said one "the new settings are not used: .*c.json:1: tols: unknown key; did you mean 'tools'?"
has 'the old settings stay' other "$(call other '{}')"
cp good.json c.json
printf '[{' >other.json
kill -HUP "$pid"
until_true said one 'the new settings are not used: .*other.json:1'
has 'the old tools stay' other "$(call other '{}')"

# ---- the end ----

printf '[%s]' "$(tool waits "$wait_script")" >other.json
until_true offers waits
rm -f begun
call waits '{}' >waited &
caller=$!
until_true test -e begun
kill -TERM "$pid"
refuses() {
    ! (exec 5<>"/dev/tcp/$host/$port") 2>/dev/null
}
until_true refuses
echo 'in time' >go
wait "$caller"
ended "$pid"
is 'it ends well' 0 $status
has 'the call in flight was answered' 'in time' "$(cat waited)"
is 'the pipe is gone' gone "$([ -e tmp/CoreFxPipe_UpTest ] && echo there || echo gone)"

# A second signal does not wait.
host=127.0.0.1
start two --config c.json --http 127.0.0.1:0 --no-toolkit
rm -f begun
call waits '{}' >waited &
caller=$!
until_true test -e begun
kill -TERM "$pid"
until_true refuses
kill -TERM "$pid"
ended "$pid"
is 'a second signal ends it at once' 0 $status
wait "$caller" || true
hasnt 'without the answer' 'result' "$(cat waited)"

# ---- embedded defaults, and what is taken ----

start three --http 127.0.0.1:0
first=$pid
first_port=$port
has 'the pipe of the defaults' CoreFxPipe_RevitOrchestrator "$line"
has 'without settings' '"config":null' "$line"
status=0
"$toolwire" up --state "$work/state2" --http "127.0.0.1:$port" >out 2>err || status=$?
is 'a port that is taken' 1 $status
has 'is named' "cannot listen on 127.0.0.1:$port: another process does" "$(cat err)"
is 'nothing was printed' '' "$(cat out)"
status=0
"$toolwire" up --http 127.0.0.1:0 >out 2>err || status=$?
is 'a second hub of the same state folder' 1 $status
has 'is told of the first' 'a hub for this state folder runs already' "$(cat err)"
has 'by its number' "$first" "$(cat err)"
mkdir -m 700 other_runtime
status=0
XDG_RUNTIME_DIR=$work/other_runtime "$toolwire" up --http off --pipe "$work/other_pipe" --queue off >out 2>err || status=$?
is 'a second hub with a runtime folder of its own' 1 $status
has 'is told of the first, too' "a hub for this state folder runs already (see --state): process $first holds" "$(cat err)"
start four --state "$work/state4" --http 127.0.0.1:0
has 'a pipe that is taken is left out' '"pipe":null' "$line"
said four 'going on without add-ins' || is 'and that is said' said "$(cat four.log)"
kill -INT "$pid"
ended "$pid"
is 'SIGINT ends it, too' 0 $status
port=$first_port
has 'the first is unharmed' '"status":"ok"' "$(get /healthz)"
kill -TERM "$first"
ended "$first"

# ---- other places ----

start unix --http "unix:$work/h.sock"
has 'a socket is printed as it is' "\"address\":\"unix:$work/h.sock\"" "$line"
has 'clients start a front' " -- $toolwire serve --config none --state " "$line"
is 'it is for this user only' 'srw-------' "$(stat -c %A h.sock)"
kill -TERM "$pid"
ended "$pid"
is 'and goes with the hub' gone "$([ -e h.sock ] && echo there || echo gone)"
start off --http off
has 'HTTP can be left out' '"http":null' "$line"
hasnt 'fronts reach it' '"socket":null' "$line"
kill -TERM "$pid"
ended "$pid"
is 'a hub without HTTP ends, too' 0 $status

# ---- who may ask ----

status=0
"$toolwire" up --http 0.0.0.0:0 >out 2>err || status=$?
is 'wider than this machine without a token' 1 $status
has 'is refused with words' '--token-file' "$(cat err)"
token=0123456789abcdef0123
(umask 022 && echo "$token" >token)
status=0
"$toolwire" up --http 0.0.0.0:0 --token-file token >out 2>err || status=$?
is 'a token that others can read' 2 $status
has 'is refused with words, too' chmod "$(cat err)"
chmod 600 token
start five --http 0.0.0.0:0 --token-file token --diagnostics
has 'with a token it serves' 'mine' "$(call echo '{"message":"mine"}')"
has 'clients are told where it goes' 'Bearer YOUR_TOKEN' "$line"
hasnt 'the token is not printed' "$token" "$line$(cat five.log)"
good=$token
token=
has 'without it nobody is let in' 'HTTP/1.1 401' "$(call echo '{"message":"mine"}')"
has 'health is for everybody' 'HTTP/1.1 200' "$(get /healthz)"
# Another token, from now on: the file is watched.
echo abcdefabcdefabcdefab >token.new
chmod 600 token.new
mv token.new token
token=abcdefabcdefabcdefab
let_in() {
    [[ $(call echo '{"message":"mine"}') == *mine* ]]
}
until_true let_in
token=$good
has 'the old token is worth nothing' 'HTTP/1.1 401' "$(call echo '{"message":"mine"}')"
kill -TERM "$pid"
ended "$pid"
is 'and it ends' 0 $status

# ---- access tokens ----

# auth RESOURCE: settings that take tokens of an issuer whose keys are in keys.json
auth() {
    printf '{"http": {"address": "127.0.0.1:0", "auth": {"resource": "%s",
        "issuers": [{"issuer": "https://issuer.example", "jwks": "keys.json"}]}}}' "$1" >auth.new
    mv auth.new auth.json
}
cat >other_keys.json <<'END'
{"keys": [{"kty": "EC", "crv": "P-256", "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
           "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}
END
cp other_keys.json keys.json
n_reloads=0
auth https://hub.example/mcp
token=
start auth --config auth.json --diagnostics --no-toolkit
# The URL that a challenge names is served, without credentials, wherever a proxy puts this hub.
for resource in https://hub.example/mcp http://127.0.0.1:17451/ http://127.0.0.1 https://hub.example/api/mcp https://hub.example/api/; do
    if [ "$resource" != https://hub.example/mcp ]; then
        auth "$resource"
        n_reloads=$((n_reloads + 1))
        until_true reloaded auth $n_reloads
    fi
    url=$(call echo '{"message":"mine"}' | sed -n 's/.*resource_metadata="\([^"]*\)".*/\1/p')
    has "a challenge for $resource" /.well-known/oauth-protected-resource "$url"
    answer=$(get "/${url#*://*/}")
    has "$url is served" 'HTTP/1.1 200' "$answer"
    has "$url is of the resource" "\"resource\":\"$resource\"" "$answer"
done
# Keys that are renewed count at once: the file is watched, and no signal is needed. The token ends in the year 2100.
auth https://hub.example/mcp
until_true reloaded auth $((n_reloads + 1))
token=eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCIsImtpZCI6ImsxIn0.eyJpc3MiOiJodHRwczovL2lzc3Vlci5leGFtcGxlIiwiYXVkIjoiaHR0cHM6Ly9odWIuZXhhbXBsZS9tY3AiLCJzdWIiOiJhbGljZSIsImNsaWVudF9pZCI6ImMiLCJpYXQiOjE3MDAwMDAwMDAsImV4cCI6NDEwMjQ0NDgwMCwianRpIjoiYWxpY2UifQ.cKwDWp3mhYVqrTrWLu3V9qHViCdt2rdIkLJYaPCAjiQ_Ypdp_45n168Uv-6mRivnKDeOAQtLBReUQP_zMB0TNw
has 'a token of another key' 'HTTP/1.1 401' "$(call echo '{"message":"mine"}')"
cat >keys.new <<'END'
{"keys": [{"kty": "EC", "crv": "P-256", "kid": "k1", "alg": "ES256", "use": "sig",
           "x": "-82OhZAe3ROfbkLZWQ-Sqdn1r4LtZhaiReGkYO_CRh8", "y": "m4xkw2RNLhWmayvEMOvKt1UMuoGgY74DueyIbe_Ajn8"}]}
END
mv keys.new keys.json
until_true let_in
cp other_keys.json keys.new
mv keys.new keys.json
let_out() {
    ! let_in
}
until_true let_out
token=
kill -TERM "$pid"
ended "$pid"
is 'a hub with issuers ends, too' 0 $status

# ---- settings that were found, and go ----

mkdir proj
cd proj
echo "$good" >token
chmod 600 token
printf '[%s]' "$(tool first 'echo first')" >tools.json
settings() {
    printf '{"http": {"address": "%s", "token_file": "token"}, "tools": "tools.json", "pipe": "%s"%s}' "$@" >toolwire.new
    mv toolwire.new toolwire.json
}
settings 127.0.0.1:0 UpSix ''
start six --diagnostics --no-toolkit
has 'found settings are named with their folder' "\"config\":\"$work/proj/toolwire.json\"" "$line"
rm toolwire.json
until_true said six '/proj/toolwire.json is missing: what was read from it stays in force'
kill -HUP "$pid"
until_true said six 'the new settings are not used: .*/proj/toolwire.json: No such file'
token=
has 'the token is still wanted' 'HTTP/1.1 401' "$(call echo '{"message":"mine"}')"
token=$good
has 'the old settings stay' 'mine' "$(call echo '{"message":"mine"}')"
printf '[%s]' "$(tool second 'echo second')" >other.json
sed 's/tools.json/other.json/' >toolwire.new <<END
{"http": {"address": "127.0.0.1:0", "token_file": "token"}, "tools": "tools.json", "pipe": "UpSix"}
END
mv toolwire.new toolwire.json
until_true offers second
token=
has 'and the token with them' 'HTTP/1.1 401' "$(call echo '{"message":"mine"}')"
token=$good

# ---- a reload refuses nobody, and counts on ----

requests() {
    get /metrics "Authorization: Bearer $good" | sed -n 's/^toolwire_http_requests_total \([0-9]*\).*/\1/p'
}
before=$(requests)
n_answered=0
for i in 11 12 13 14 15 16; do
    settings 127.0.0.1:0 UpSix ', "limits": {"rate_burst": '"$i"'}'
    kill -HUP "$pid"
    [[ $(get /healthz) == *'HTTP/1.1 200'* ]] && n_answered=$((n_answered + 1))
    until_true reloaded six $((i - 9))
done
is 'everybody was answered' 6 $n_answered
n_run=$((n_run + 1))
after=$(requests)
if [ "$after" -lt $((before + 6)) ]; then
    echo "FAILED: requests went from $before to $after"
    n_failed=$((n_failed + 1))
fi

# How long calls may take is a setting like any other, in both directions.
printf '[%s]' "$(tool slow 'sleep 1; echo slow')" >tools.json
until_true offers slow
for limit in 20ms 10m; do
    n_reloads=$(grep -c 'reload: done' six.log)
    settings 127.0.0.1:0 UpSix ', "limits": {"call_timeout_ms": "'$limit'"}'
    until_true reloaded six $((n_reloads + 1))
    call slow '{}' >"slow.$limit"
done
has 'a call that takes too long' 'deadline passed after 20 ms' "$(cat slow.20ms)"
has 'a call that may take long' '"text":"slow' "$(cat slow.10m)"

# What is refused has no effect at all.
inode=$(stat -c %i "$work/tmp/CoreFxPipe_UpSix")
settings 127.0.0.1:0 UpElse ', "call_socket": {"connect": "none", "schema": "missing.json"}'
until_true said six 'the new settings are not used: .*missing.json'
is 'the pipe is still the same' "$inode" "$(stat -c %i "$work/tmp/CoreFxPipe_UpSix")"
settings "0.0.0.0:$port" UpSix ''
until_true said six "cannot listen on 0.0.0.0:$port while this hub itself listens on 127.0.0.1:$port"
has 'it goes on' 'mine' "$(call echo '{"message":"mine"}')"
kill -TERM "$pid"
ended "$pid"
is 'and ends' 0 $status

# Embedded defaults stay what they are.
rm toolwire.json
start seven --http 127.0.0.1:0 --no-toolkit --diagnostics
settings 127.0.0.1:0 UpSix ''
kill -HUP "$pid"
until_true said seven 'reload: done'
token=
has 'a file that comes later is not taken' 'mine' "$(call echo '{"message":"mine"}')"
kill -TERM "$pid"
ended "$pid"
cd ..

# ---- servers whose tools nobody has asked for yet ----

mkdir servers
cat >servers/settings.json <<END
{"state": "$work/servers/state", "mcpServers": {
  "a": {"command": "$toolwire", "args": ["serve", "--config", "none", "--diagnostics", "--no-toolkit"]},
  "b": {"command": "$toolwire", "args": ["serve", "--config", "none", "--diagnostics", "--no-toolkit"]},
  "c": {"command": "$toolwire", "disabled": true}}}
END
printed() { grep -q "$2" "$1"; }
tools_are() { [ "$("$toolwire" tools --config "$2" 2>/dev/null | grep -c .)" = "$1" ]; }
"$toolwire" up --http off --no-toolkit --config servers/settings.json >servers/out 2>servers/log &
pid=$!
pids+=("$pid")
until_true printed servers/out 'settings  '
has 'what is known is said' ' serves 0 tools, and those of 2 servers, which have not listed them yet' "$(head -n 1 servers/out)"
hasnt 'and no more' 'now' "$(cat servers/out)"
is 'the tools of both' 6 "$("$toolwire" tools --config servers/settings.json | grep -c .)"
until_true printed servers/out '^toolwire serves 6 tools now$'
is 'it is said once' 1 "$(grep -c ' now' servers/out)"
kill -TERM "$pid"
ended "$pid"
# What servers have is kept for the next time.
start servers --http off --no-toolkit --config servers/settings.json
has 'kept lists count' '"tools":6,' "$line"
hasnt 'and nothing is missing' unlisted "$line"
kill -TERM "$pid"
ended "$pid"

# Servers that list after the others have been waited for: the last of them corrects what was said.
mkdir late
late='until [ -e "$$1" ]; do sleep 0.05; done; shift; exec "$$@"' # "$$": a dollar in settings
serve="\"$toolwire\", \"serve\", \"--config\", \"none\", \"--diagnostics\", \"--no-toolkit\""
# late_server NAME: begins when there is a file late/NAME
late_server() { printf '"%s": {"command": "sh", "args": ["-c", %s, "late", "%s", %s]}' "$1" "\"${late//\"/\\\"}\"" "$work/late/$1" "$serve"; }
# late_hub NAME SERVER…: a hub with these; what it prints is in late/NAME.out
late_hub() {
    local name=$1
    shift
    printf '{"state": "%s", "mcpServers": {%s}}' "$work/late/$name.state" "$(IFS=,; echo "$*")" >"late/$name.json"
    "$toolwire" up --http off --no-toolkit --config "late/$name.json" >"late/$name.out" 2>"late/$name.log" &
    pid=$!
    pids+=("$pid")
    until_true printed "late/$name.out" 'settings  '
}
late_hub some "\"a\": {\"command\": \"$toolwire\", \"args\": [${serve#*, }]}" "$(late_server b)" "$(late_server c)"
"$toolwire" tools --config late/some.json >/dev/null 2>&1
until_true printed late/some.out '^toolwire serves 3 tools now; 2 servers have not listed theirs yet$'
touch late/b
until_true tools_are 6 late/some.json
touch late/c
until_true printed late/some.out '^toolwire serves 9 tools now$'
is 'each time it is said once' 2 "$(grep -c ' now' late/some.out)"
kill -TERM "$pid"
ended "$pid"
late_hub one "$(late_server d)"
"$toolwire" tools --config late/one.json >/dev/null 2>&1 || true
hasnt 'nothing has come' ' now' "$(cat late/one.out)"
touch late/d
until_true printed late/one.out '^toolwire serves 3 tools now$'
kill -TERM "$pid"
ended "$pid"
late_hub bad "\"a\": {\"command\": \"$toolwire\", \"args\": [${serve#*, }]}" '"e": {"command": "sh", "args": ["-c", "until [ -e late/e ]; do sleep 0.05; done; exit 1"]}'
"$toolwire" tools --config late/bad.json >/dev/null 2>&1
until_true printed late/bad.out '^toolwire serves 3 tools now; 1 server has not listed its own yet$'
touch late/e
until_true printed late/bad.out '^toolwire serves 3 tools now$'
kill -TERM "$pid"
ended "$pid"

# ---- wrong use ----

for words in '--http nowhere' '--pipe a/b' '--rate-burst 0' 'operand' '--config missing.json'; do
    status=0
    # shellcheck disable=SC2086
    "$toolwire" up $words >out 2>err || status=$?
    is "wrong: $words" 2 $status
    has "told: $words" 'toolwire up: ' "$(cat err)"
done

echo "$((n_run - n_failed)) of $n_run passed"
[ $n_failed -eq 0 ]
