#!/usr/bin/env bash
# `toolwire tools|resources|prompts|call`, run as a person would, against servers of either era.
#
#   client.sh TOOLWIRE WATCH_LOG
#
# What it sends is held against the schemas of MCP by WATCH_LOG (watch_log.c).
set -euo pipefail
toolwire=$(realpath "$1")
watch_log=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v node >/dev/null; then
    echo 'SKIPPED: node is missing; scripts/setup test installs it'
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir wire
export TW_WIRE_LOGS=$dir/wire
passed=0
failed=0

ok() { passed=$((passed + 1)); }
wrong() { failed=$((failed + 1)); printf '%s\n' "$1"; }

# expect STATUS OUTPUT ARGUMENT…: OUTPUT is stdout and then stderr; stdin is the file `in`.
expect() {
    local wanted_status=$1 wanted=$2 status=0 got
    shift 2
    "$toolwire" "$@" <in >out 2>err || status=$?
    got=$(cat out err | sed -E 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/TIME/')
    if [ "$status" = "$wanted_status" ] && [ "$got" = "$wanted" ]; then
        ok
    else
        wrong "$(printf 'toolwire %s\n wanted %s: %s\n    got %s: %s' "$*" "$wanted_status" "$wanted" "$status" "$got")"
    fi
}
: >in

fake() { printf "node '%s' %s" "$here/fake_mcp_server.mjs" "$*"; }
# Its stray line is reported, as a warning.
quiet=(--log-level error)

tools_table='add      read-only    Adds two numbers.
mirror                Mirror
wipe     destructive  Removes \x1b[31meverything.
picture               An image, a sound and a link.
ask                   Asks for a name and for roots.
hang                  Never answers.
broken                Fails.'
root=file://$(pwd -P)

for kind in legacy modern; do
    s=("${quiet[@]}" --server "$(fake $kind log)")
    rm -f log
    expect 0 "$tools_table" tools "${s[@]}"
    [ "$(grep -c '"tools/list"' log)" = 4 ] && ok || wrong "$kind: not every page was asked for"
    expect 0 'add (read-only)

Adds two numbers.
On a second line.

Arguments:
a  number  required  one
b  number  required' tools add "${s[@]}"
    expect 1 "toolwire tools: the server has no tool 'nothing'" tools nothing "${s[@]}"
    expect 1 "{\"error\":{\"message\":\"the server has no tool 'nothing'\"}}
toolwire tools: the server has no tool 'nothing'" tools nothing --json "${s[@]}"
    expect 1 '{"error":{"code":-32002,"message":"Resource not found"}}
toolwire resources: Resource not found (-32002)' resources mem:/none --json "${s[@]}"
    expect 0 '3.5' call add a=1 b=2.5 "${s[@]}"
    expect 0 'string:5' call mirror text=5 "${s[@]}"
    expect 0 'number:5' call mirror text:=5 "${s[@]}"
    expect 0 'string:x y' call mirror '{ "text": "x y" }' "${s[@]}"
    printf '{"text":\n"from stdin"}' >in
    expect 0 'string:from stdin' call mirror - "${s[@]}"
    expect 0 'string:from stdin' call mirror @in "${s[@]}"
    : >in
    expect 0 '[image: image/png, 1,236 bytes]
[audio: audio/wav, 3 bytes]
[link: file:///x, x]' call picture "${s[@]}"
    expect 1 'it broke
toolwire call: the tool failed' call broken "${s[@]}"
    expect 1 'toolwire call: Unknown tool: nothing (-32602)
{"name":"nothing"}' call nothing "${s[@]}"
    expect 1 '{"error":{"code":-32602,"message":"Unknown tool: nothing","data":{"name":"nothing"}}}
toolwire call: Unknown tool: nothing (-32602)
{"name":"nothing"}' call nothing --json "${s[@]}"
    expect 1 "toolwire call: Unknown tool: mirrow (-32602)
{\"name\":\"mirrow\"}
toolwire call: there is no tool 'mirrow'; did you mean 'mirror'?" call mirrow text=5 "${s[@]}"
    expect 2 "toolwire call: 'a' must be \"number\", but is: x" call add a=x b=1 "${s[@]}"
    expect 0 'mem:/a.txt   text/plain  a.txt  A text.
mem:/{name}              any' resources "${s[@]}"
    expect 0 'no newline at the end' resources mem:/a.txt "${s[@]}"
    "$toolwire" resources mem:/b "${s[@]}" </dev/null | od -An -tx1 | grep -qx ' 00 01 fe ff' && ok ||
        wrong "$kind: the blob's bytes differ"
    expect 1 'toolwire resources: Resource not found (-32002)' resources mem:/none "${s[@]}"
    expect 0 'greet  who, [how]  Greets.' prompts "${s[@]}"
    expect 0 'user: Hi, 7' prompts greet who=7 how=Hi "${s[@]}"
    expect 1 'toolwire call: the server did not answer in time (-32001)' call hang --timeout 3s "${s[@]}"
done
grep -q '"method":"notifications/cancelled".*timed out' log && ok || wrong 'the time-out was not told to the server'

# Settings and a state folder of one's own, with a hub and without; what is wrong with a server is said where it matters.
mkdir -p own run
chmod 700 run
cat >tools.json <<'END'
[{"name":"greet_all","description":"Greets.","input_schema":{"type":"object"},"command":["echo","hello"]}]
END
cat >own.json <<END
{"tools": "$dir/tools.json", "state": "$dir/own", "mcpServers": {"gone": {"command": "$dir/no-such-program"},
 "lost": {"command": "$dir/no-such-program"}}}
END
o=(--config own.json)
expect_own() { XDG_RUNTIME_DIR=$dir/run HOME=$dir expect "$@"; }
own_checks() {
    expect_own 0 hello call greet_all "${o[@]}"
    expect_own 0 hello call greet_all '{}' "${o[@]}"
    expect_own 0 hello call greet_all x=1 "${o[@]}"
    XDG_RUNTIME_DIR=$dir/run HOME=$dir "$toolwire" tools "${o[@]}" </dev/null >out 2>err
    grep -q '^greet_all ' out && grep -q '^toolwire: server gone ' err && ok || wrong "tools $1: $(cat out err)"
    # The tool may be that server's.
    XDG_RUNTIME_DIR=$dir/run HOME=$dir "$toolwire" call greet_al "${o[@]}" </dev/null >out 2>err && wrong 'an unknown tool' || ok
    grep -qx "toolwire call: there is no tool 'greet_al'; did you mean 'greet_all'?" err &&
        [ "$(grep -o 'server gone' err | wc -l)" = 1 ] && ok || wrong "call $1: $(cat out err)"
    # What is wrong is said once, and of the server that the name begins with alone.
    XDG_RUNTIME_DIR=$dir/run HOME=$dir "$toolwire" call zzz "${o[@]}" </dev/null >out 2>err && wrong 'an unknown tool' || ok
    [ "$(grep -o 'server gone' err | wc -l) $(grep -o 'server lost' err | wc -l)" = '1 1' ] && ok || wrong "call zzz $1: $(cat out err)"
    XDG_RUNTIME_DIR=$dir/run HOME=$dir "$toolwire" call gone__x "${o[@]}" </dev/null >out 2>err && wrong 'an unknown tool' || ok
    [ "$(grep -o 'server gone' err | wc -l) $(grep -o 'server lost' err | wc -l)" = '1 0' ] && ok || wrong "call gone__x $1: $(cat out err)"
}
own_checks alone
mkfifo ready
XDG_RUNTIME_DIR=$dir/run HOME=$dir "$toolwire" up --json --http off --config own.json >ready 2>/dev/null </dev/null &
hub=$!
read -r _ <ready
own_checks hub
o=(--state "$dir/own")
own_checks state
kill $hub
wait $hub || true
expect 2 'toolwire call: --config is for a hub, and excludes --server and --socket' call x --config own.json --server y

# Each era in its own words.
l=("${quiet[@]}" --server "$(fake legacy log)")
m=("${quiet[@]}" --server "$(fake modern log)")
rm -f log
expect 0 '{"content":[{"type":"text","text":"3"}],"structuredContent":{"sum":3}}' call add a=1 b=2 --json "${l[@]}"
# The probe, initialize, initialized, the log level is not asked for, the list for the types, the call.
[ "$(grep -o '"method":"[^"]*"' log | tr '\n' ' ')" = '"method":"server/discover" "method":"initialize" "method":"notifications/initialized" "method":"tools/list" "method":"tools/list" "method":"tools/list" "method":"tools/list" "method":"tools/call" ' ] &&
    ok || wrong "legacy: $(grep -o '"method":"[^"]*"' log | tr '\n' ' ')"
expect 0 '{"resultType":"complete","content":[{"type":"text","text":"string:a"}]}' call mirror '{"text":"a"}' --json "${m[@]}"
expect 0 "decline $root {} -32601" call ask "${l[@]}"
expect 0 "decline $root state \"1\"" call ask "${m[@]}"
grep -q '"requestState":"state \\"1\\""' log && ok || wrong 'the state did not come back'
[ "$(grep -c '"params":{"name":"ask"' log)" = 3 ] && ok || wrong 'the call was not repeated'
rm -f log
expect 0 '3' call add a=1 b=2 --era legacy "${l[@]}"
grep -q server/discover log && wrong 'legacy mode probed' || ok
expect 1 'toolwire call: the server does not know server/discover: Not initialized (-32600)' call add a=1 b=2 --era modern "${l[@]}"
expect 1 'toolwire call: the server refused to begin: Method not found (-32601)' call add a=1 b=2 --era legacy "${m[@]}"

# Servers that do not take the probe well.
rm -f log
expect 0 '3' call add '{"a":1,"b":2}' "${quiet[@]}" --server "$(fake frail log)"
[ "$(grep -c '^start' log)" = 2 ] && ok || wrong 'the frail server was not started twice'
expect 0 '3' call add '{"a":1,"b":2}' --timeout 2s "${quiet[@]}" --server "$(fake silent)"
rm -f log
expect 1 'toolwire call: the server did not answer initialize in time' call x '{}' --timeout 1s "${quiet[@]}" --server "$(fake never log)"
[ "$(grep -c '^start' log)" = 1 ] && ok || wrong 'a server that never answers was started twice'
expect 1 'toolwire tools: the list has more than 1000 pages' tools "${quiet[@]}" --server "$(fake endless)"
expect 1 'toolwire tools: the list has no end: a page leads to itself' tools "${quiet[@]}" --server "$(fake circle)"
expect 1 'toolwire call: the server speaks other versions of MCP than we do: ["2031-01-01"]' call x '{}' "${quiet[@]}" --server "$(fake wrong)"
expect 1 'toolwire call: the server ended (exit status 9)' call x '{}' "${quiet[@]}" --server "$(fake tomb)"
expect 1 '{"error":{"message":"the server ended (exit status 9)"}}
toolwire call: the server ended (exit status 9)' call x '{}' --json "${quiet[@]}" --server "$(fake tomb)"
expect 0 "string:a
TIME warn  mcp: skipped what the server wrote: Listening on nothing at all" call mirror '{"text":"a"}' --server "$(fake modern)"

# Answers that cannot be used. Each is told at once, in words of its own: who waits for the time-out gets other ones.
cat >hostile <<'END'
# hostile KIND [RESULT]: a legacy server whose answers behind the handshake are of that kind.
while IFS= read -r line; do
    [[ $line =~ \"id\":([0-9]+),\"method\":\"([^\"]*)\" ]] || continue
    id=${BASH_REMATCH[1]} method=${BASH_REMATCH[2]} kind=$1
    [ "$method" = server/discover ] && kind=refuse
    [ "$method" = initialize ] && kind=welcome
    head="\"jsonrpc\":\"2.0\",\"id\":$id"
    case $kind in
    refuse) echo "{$head,\"error\":{\"code\":-32601,\"message\":\"no\"}}" ;;
    welcome) echo "{$head,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"serverInfo\":{\"name\":\"h\",\"version\":\"1\"}}}" ;;
    result) echo "{$head,\"result\":$2}" ;;
    both) echo "{$head,\"result\":{\"tools\":[]},\"error\":{\"code\":1,\"message\":\"m\"}}" ;;
    # 11 MB, and the id in front of them or behind them.
    long) printf '{%s,"result":{"x":"' "$head"; head -c 11000000 /dev/zero | tr '\0' a; echo '"}}' ;;
    long-late) printf '{"result":{"x":"'; head -c 11000000 /dev/zero | tr '\0' a; printf '"},%s}\n' "$head" ;;
    deep) printf '{%s,"result":{"tools":' "$head"; printf '[%.0s' {1..600}; printf ']%.0s' {1..600}; echo '}}' ;;
    not-json) echo "{$head,result:{tools:[]}}" ;;
    stray) printf '%s\n' 'log: {"a"' '[info] {not json}' "{$head,\"result\":{\"tools\":[{\"name\":\"t\"}]}}" ;;
    esac
done
END
hostile() { printf "bash '%s' %s '%s'" "$dir/hostile" "$1" "${2:-}"; }
bad() { # bad WORDS KIND
    expect 1 "toolwire tools: $1 (-32603)" tools "${quiet[@]}" --server "$(hostile "$2")"
}
bad "the server's answer has both a result and an error" both
bad "the server's answer is longer than allowed" long
bad "a message of the server is longer than allowed, and may have been the answer" long-late
bad "the server's answer is nested too deep" deep
bad "a message of the server is not JSON, and may have been the answer" not-json
expect 1 "toolwire tools: the server's result is not an object (-32603)" tools --server "$(hostile result 7)"
expect 0 t tools "${quiet[@]}" --server "$(hostile stray)"

# Answers that would look like no answer.
malformed() { # malformed WORDS RESULT ARGUMENT…
    local words=$1 result=$2 json=
    shift 2
    [[ ${!#} != --json ]] || json="{\"error\":{\"message\":\"the server's answer is malformed: $words\"}}"$'\n'
    expect 1 "${json}toolwire $1: the server's answer is malformed: $words" "$@" --server "$(hostile result "$result")"
}
for as in '' --json; do
    malformed 'result.tools must be an array' '{"tools":5}' tools $as
    malformed 'result.tools is missing' '{}' tools $as
    malformed 'result.tools[0].name is missing' '{"tools":[{"x":1},5,null]}' tools $as
    malformed 'result.resources[1] must be an object' '{"resources":[{"uri":"a:b"},5]}' resources $as
    malformed 'result.resourceTemplates[0].uriTemplate must be a string' '{"resources":[],"resourceTemplates":[{"uriTemplate":5}]}' resources $as
    malformed 'result.prompts must be an array' '{"prompts":{}}' prompts $as
    malformed 'result.nextCursor must be a string' '{"prompts":[],"nextCursor":5}' prompts $as
done
malformed 'result.tools must be an array' '{"tools":5}' call x a=1
malformed 'result.content is missing' '{}' call x '{}'
malformed 'result.content must be an array' '{"content":"done"}' call x '{}'
malformed 'result.contents is missing' '{}' resources a:b
malformed 'result.contents[0] has neither text nor blob' '{"contents":[{"uri":"a:b"}]}' resources a:b
malformed 'result.messages[0].content is missing' '{"messages":[{"role":"user"}]}' prompts x
# Every block is shown, of whatever kind; what is structured, if nothing says it in words.
expect 0 '[resource: file:///a.md, text/markdown]
# A title
[resource: file:///b.bin, application/x, 3 bytes]
[resource without content]
[hologram] {"type":"hologram","depth":3}
{"n":1}' call x '{}' --server "$(hostile result '{"content":[{"type":"resource","resource":{"uri":"file:///a.md","mimeType":"text/markdown","text":"# A title"}},{"type":"resource","resource":{"uri":"file:///b.bin","mimeType":"application/x","blob":"AAAA"}},{"type":"resource"},{"type":"hologram","depth":3}],"structuredContent":{"n":1}}')"
expect 0 'in words' call x '{}' --server "$(hostile result '{"content":[{"type":"text","text":"in words"}],"structuredContent":{"n":1}}')"

# With --json, what the server said comes first.
expect 1 "{\"content\":5}
toolwire call: the server's answer is malformed: result.content must be an array" call x '{}' --json --server "$(hostile result '{"content":5}')"
expect 1 "{\"contents\":5}
toolwire resources: the server's answer is malformed: result.contents must be an array" resources a:b --json --server "$(hostile result '{"contents":5}')"
expect 1 "{\"messages\":5}
toolwire prompts: the server's answer is malformed: result.messages must be an array" prompts x --json --server "$(hostile result '{"messages":5}')"

expect 0 '{"resources":[{"uri":"mem:/a.txt","name":"a.txt","mimeType":"text/plain","description":"A text."}],"resourceTemplates":[{"uriTemplate":"mem:/{name}","name":"any"}]}' resources --json "${m[@]}"

# Questions are asked on a terminal; util-linux's script makes one.
if command -v script >/dev/null; then
    for kind in legacy modern; do
        printf 'y\nBob\n' | script -qec "'$toolwire' call ask --log-level error --server \"$(fake $kind log)\"" /dev/null >out
        grep -q 'name (string) \[none\]: accept' out && grep -q '"content":{"name":"Bob"}' log && ok ||
            wrong "$kind: the question was not asked: $(cat out)"
        rm -f log
        printf 'd\n' | script -qec "'$toolwire' call ask --log-level error --server \"$(fake $kind)\"" /dev/null >out
        grep -q 'decline file:' out && ok || wrong "$kind: not declined: $(cat out)"
    done
fi

# Ctrl-C takes the call back, and ends us with status 1; so do other requests to end.
for signal in INT TERM HUP; do
    rm -f log
    "$toolwire" call hang '{}' --server "$(fake modern log)" "${quiet[@]}" >out 2>err &
    pid=$!
    for _ in $(seq 1 400); do grep -q tools/call log 2>/dev/null && break || sleep 0.05; done
    kill -$signal $pid
    status=0
    wait $pid || status=$?
    [ $status = 1 ] && grep -qx 'toolwire call: interrupted' err && ok || wrong "$signal: $status $(cat err)"
    grep -q '"method":"notifications/cancelled".*interrupted' log && ok || wrong "$signal was not told to the server"
done

# Wrong use.
expect 2 'toolwire tools: --server and --socket exclude each other' tools --server x --socket y
expect 2 "toolwire call: which tool? 'toolwire tools' lists them" call --server x
expect 2 "toolwire call: --era is 'old'; it can be auto, legacy, modern or assume" call x --server x --era old
expect 2 "toolwire call: --timeout is '0'; it needs a number and a unit: 500ms, 30s, 5m" call x --server x --timeout 0
expect 2 "toolwire call: 'x' is not an argument: write name=value, or name:=JSON" call add x "${m[@]}"
printf "[1]" >array
expect 2 "toolwire call: the arguments must be a JSON object" call add @array "${m[@]}"
expect 2 "toolwire prompts: 'x' is not an argument: write name=value, or name:=JSON" prompts greet x "${m[@]}"
expect 1 'toolwire tools: cannot start no-such-server: no such file or directory' tools --server no-such-server
expect 2 'toolwire tools: --server: a quote or backslash has no end' tools --server "a 'b"
expect 2 'toolwire tools: --server: it is empty' tools --server ''
expect 1 'toolwire tools: cannot connect to ./none: No such file or directory' tools --socket ./none

# All that was sent to the servers above.
"$watch_log" wire/* && ok || wrong 'a message that the schema does not allow'

# Our own server, in both eras.
for era in legacy modern auto; do
    own=(--era "$era" --server "'$toolwire' serve --no-toolkit --diagnostics")
    expect 0 'hello' call echo message=hello "${own[@]}"
    expect 1 'failed as asked
toolwire call: the tool failed' call fail "${own[@]}"
    expect 0 'slept 1 ms' call sleep ms=1 "${own[@]}"
    "$toolwire" tools "${own[@]}" | grep -q '^echo ' && ok || wrong "$era: echo is not listed"
done

# What is refused names what to change: the limit and its option, the tool.
cat >large.json <<'JSON'
[{"name": "large", "description": "d", "input_schema": {"type": "object"},
  "command": ["sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x"]}]
JSON
{ "$toolwire" call large --server "'$toolwire' serve --alone --config none --no-toolkit --tools large.json --max-response-bytes 64KiB" 2>&1 </dev/null || true; } |
    grep -q '65536 bytes (--max-response-bytes)' && ok || wrong 'the limit of a response and its option are not named'
echo '[{"name": "echo", "description": "d", "input_schema": {"type": "object"}, "command": ["cat"]}]' >clash.json
{ "$toolwire" serve --alone --config none --diagnostics --tools clash.json 2>&1 </dev/null || true; } |
    grep -q 'clash.json has a tool "echo"' && ok || wrong 'the tool that --diagnostics has, too, is not named'

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
