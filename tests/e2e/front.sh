#!/usr/bin/env bash
# One hub and its fronts: `toolwire up`, `serve` beside it, and `tools|call` without --server.
#
#   front.sh TOOLWIRE
set -euo pipefail
toolwire=$(realpath "$1")
dir=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null || true; rm -rf "$dir"' EXIT
cd "$dir"
mkdir -m 700 run
mkdir tmp home state
export XDG_RUNTIME_DIR=$dir/run TMPDIR=$dir/tmp HOME=$dir/home
unset XDG_STATE_HOME XDG_CONFIG_HOME
passed=0
failed=0

ok() { passed=$((passed + 1)); }
wrong() { failed=$((failed + 1)); printf '%s\n' "$1"; }

# expect STATUS OUTPUT COMMAND…: OUTPUT is stdout and then stderr.
expect() {
    local wanted_status=$1 wanted=$2 status=0 got
    shift 2
    "$@" >out 2>err </dev/null || status=$?
    got=$(cat out err)
    if [ "$status" = "$wanted_status" ] && [ "$got" = "$wanted" ]; then
        ok
    else
        wrong "$(printf '%s\n wanted %s: %s\n    got %s: %s' "$*" "$wanted_status" "$wanted" "$status" "$got")"
    fi
}

# The hub is the parent of its commands, whoever asks for them. Two that meet run at the same time.
cat >parent <<'END'
echo "$PPID"
END
cat >meet <<'END'
echo >>starts
mkdir "seat.$1"
for _ in $(seq 1 1200); do [ -d seat.1 ] && [ -d seat.2 ] && echo met && exit; sleep 0.05; done
echo alone
END
cat >long <<'END'
echo "$$" >long.new
mv long.new long.pid
exec sleep 1000
END
cat >tools.json <<END
[{"name": "long", "description": "d", "input_schema": {"type": "object"}, "command": ["bash", "$dir/long"], "cwd": "."},
 {"name": "parent", "description": "d", "input_schema": {"type": "object"}, "command": ["bash", "$dir/parent"]},
 {"name": "meet_1", "description": "d", "input_schema": {"type": "object"}, "command": ["bash", "$dir/meet", "1"], "cwd": "."},
 {"name": "meet_2", "description": "d", "input_schema": {"type": "object"}, "command": ["bash", "$dir/meet", "2"], "cwd": "."}]
END

# up ARGUMENT…: a hub, as $hub, that serves.
up() {
    coproc HUB { exec "$toolwire" up --http off --no-toolkit --json "$@" 2>hub.err; }
    hub=$HUB_PID
    IFS= read -r said <&"${HUB[0]}" || wrong "the hub did not begin: $(cat hub.err)"
}

# end_hub SIGNAL STATUS
end_hub() {
    local status=0
    kill -"$1" "$hub"
    wait "$hub" 2>/dev/null || status=$?
    [ "$status" = "$2" ] && ok || wrong "the hub ended with $status after $1: $(cat hub.err)"
}

init='{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
call() { printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":%s}}\n' "$1" "$2" "$3"; }

# front N ARGUMENT…: `serve` on descriptors 1N and 2N, with an answer to initialize already.
front() {
    local n=$1 line
    shift
    mkfifo "in$n" "out$n"
    "$toolwire" serve "$@" <"in$n" >"out$n" 2>"err$n" &
    fronts[n]=$!
    eval "exec 1$n>in$n 2$n<out$n"
    printf '%s\n' "$init" >&"1$n"
    IFS= read -r line <&"2$n"
    rm "in$n" "out$n"
    [[ $line == *'"serverInfo"'* ]] && ok || wrong "front $n: $line"
}

end_front() { # end_front N STATUS WORDS
    local n=$1 status=0
    wait "${fronts[n]}" || status=$?
    [ "$status" = "$2" ] && [ "$(cat "err$n")" = "$3" ] && ok || wrong "front $n: $status $(cat "err$n")"
    eval "exec 1$n>&- 2$n<&-"
}
fronts=()
serve="'$toolwire' serve --state state"
# complete COMMAND…: it has the toolkit, which the hubs of this test do not have.
complete() {
    "$@" </dev/null >out 2>err && grep -q '^generate_template ' out && [ ! -s err ] && ok || wrong "$* is not complete by itself: $(cat out err)"
}
gone='toolwire serve: the hub has gone; start again to go on with it, or without'

# Without a hub.
complete "$toolwire" tools
complete "$toolwire" tools --state state
expect 1 'toolwire call: unknown tool: x (-32602)' "$toolwire" call x --state state
# A pipe that nobody reads any more is named as what it is, however much has happened since.
mkfifo unread
exec 9<>unread 8>unread
exec 9<&-
status=0
"$toolwire" resources --state state </dev/null >&8 2>err || status=$?
[ $status = 1 ] && [ "$(cat err)" = 'toolwire: cannot write to standard output: Broken pipe' ] && ok || wrong "without a reader: $status $(cat err)"
exec 8>&-
echo '{"tools": "tools.json", "state": "state"}' >toolwire.json
"$toolwire" call parent </dev/null >out 2>err && [[ $(cat out) =~ ^[0-9]+$ ]] && ok || wrong "without a hub the settings count, too: $(cat out err)"
rm toolwire.json
expect 2 'toolwire tools: --state is for a hub, and excludes --server and --socket' "$toolwire" tools --state x --socket y
"$toolwire" tools --server "$serve" </dev/null 2>/dev/null | grep -q '^generate_template ' && ok || wrong 'serve is not complete without a hub'
[ -e run/toolwire ] && wrong 'looking for a hub made something' || ok

# With one.
up --state state --tools tools.json --diagnostics --audit calls --drain-ms 10m --max-request-bytes 32MiB --max-response-bytes 64MiB --max-line-bytes 64MiB
socket=$(echo run/toolwire/hub-????????????????.sock)
[ "$(stat -c %a "$socket")" = 600 ] && ok || wrong "mode of $socket"
[[ $said == *"${socket##*/}"* ]] && ok || wrong "the socket is not told: $said"
expect 0 "$hub" "$toolwire" call parent --state state
expect 0 "$hub" "$toolwire" call parent --server "unix:$socket"
expect 0 "$hub" "$toolwire" call parent --socket "$socket"
expect 0 "$hub" "$toolwire" call parent --server "$serve"
ln -s state link
expect 0 "$hub" "$toolwire" call parent --server "'$toolwire' serve --state $dir/tmp/../link/"
complete "$toolwire" tools --state other
complete "$toolwire" tools

# A second one is none.
status=0
"$toolwire" up --http off --state link >out 2>err </dev/null || status=$?
[ $status = 1 ] && grep -q "process $hub" err && ok || wrong "a second hub: $status $(cat err)"

# Three at once, from one set of children.
for n in 1 2 3; do front $n --state state; done
call 1 meet_1 '{}' >&11
call 1 meet_2 '{}' >&12
call 1 parent '{}' >&13
for n in 3 2 1; do
    IFS= read -r line <&2$n
    [[ $line == *'"id":1,'* ]] || wrong "front $n answers with another id: $line"
    [ $n = 3 ] && wanted="\"$hub\"" || wanted='"met"'
    [[ $line == *"$wanted"* ]] && ok || wrong "front $n: $line"
done
[ "$(wc -l <starts)" = 2 ] && ok || wrong "$(wc -l <starts) commands were started"

# A message of 10 MiB, both ways.
{ printf '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"message":"'
    head -c 10485760 /dev/zero | tr '\0' a
    echo '"}}}'; } >big
cat big >&11 &
head -n 1 <&21 >big.out # nothing comes behind it
head -c 40 big.out | grep -q '"id":2,' && [ "$(tr -cd a <big.out | wc -c)" -ge 10485760 ] && tail -c 3 big.out | grep -qx '}}' && ok ||
    wrong "10 MiB: $(head -c 200 big.out), $(wc -c <big.out) bytes"

# The end of input: what is asked is answered, and the status is 0.
status=0
{ printf '%s\n' "$init"; call 1 sleep '{"ms":300}'; call 2 parent '{}'; } | "$toolwire" serve --state state >out 2>err || status=$?
[ $status = 0 ] && [ "$(wc -l <out)" = 3 ] && grep -q 'slept 300 ms' out && grep -q "$hub" out && [ ! -s err ] && ok ||
    wrong "the end of input: $status $(cat out err)"
exec 13>&-
end_front 3 0 ''

# A signal is as the end of input.
front 4 --state state
call 1 sleep '{"ms":300}' >&14
call 2 parent '{}' >&14
IFS= read -r first <&24 # mostly the second, while the first runs
kill -TERM "${fronts[4]}"
IFS= read -r line <&24 && [[ $first$line == *'slept 300 ms'* && $first$line == *"$hub"* ]] && ok || wrong "after TERM: $first $line"
end_front 4 0 ''

# Who is killed takes the call back that runs for it, long before the hub would end it by itself.
wait_for() { for _ in $(seq 1 400); do "$@" && return; sleep 0.05; done; return 1; }
# cancelled N NAME: the command has ended, and the record has N such calls.
has_ended() { ! kill -0 "$(cat long.pid)" 2>/dev/null; }
has_cancelled() { [ "$(grep -c '"target":"long","outcome":"cancelled"' calls)" = "$1" ]; }
cancelled() {
    wait_for has_ended && wait_for has_cancelled "$1" && ok || wrong "$2 was killed, and its call goes on: $(grep long calls)"
    rm long.pid
}
front 6 --state state
call 1 long '{}' >&16
wait_for test -e long.pid || wrong 'front 6: the command does not begin'
kill -9 "${fronts[6]}"
end_front 6 137 ''
cancelled 1 'a front'
"$toolwire" call long --state state >out 2>&1 </dev/null &
asker=$!
wait_for test -e long.pid || wrong "call: the command does not begin: $(cat out)"
kill -9 "$asker"
wait "$asker" 2>/dev/null || true
cancelled 2 call

# What is asked for by an option is served alone; the hub has no toolkit.
for options in --alone '--drain-ms 5s' "--templates $dir/tmp"; do
    "$toolwire" tools --server "$serve $options" </dev/null 2>/dev/null | grep -q '^generate_template ' && ok || wrong "serve $options is a front"
done

# The hub is killed: its fronts end, the socket it left is nobody's, and serve is complete again.
end_hub KILL 137
end_front 1 1 "$gone"
end_front 2 1 "$gone"
[ -S "$socket" ] && ok || wrong 'the killed hub left no socket, so nothing is shown by what follows'
"$toolwire" tools --server "$serve" </dev/null 2>/dev/null | grep -q '^generate_template ' && ok || wrong 'serve took a dead hub for one'
complete "$toolwire" tools --state state

# In its place comes another one; ended in order it takes its files with it.
echo '{"state": "state", "tools": "tools.json"}' >one.json
echo '{"state": "state"}' >two.json
up --config one.json
expect 0 "$hub" "$toolwire" call parent --state state
expect 0 "$hub" "$toolwire" call parent --server "'$toolwire' serve --config $dir/tmp/../one.json"
expect 0 "$hub" "$toolwire" call parent --server "$serve"
# Other settings, and other tools.
"$toolwire" tools --server "'$toolwire' serve --config two.json" </dev/null 2>/dev/null | grep -q '^generate_template ' && ok || wrong 'a front for other settings'
# The state folder that the settings of this folder name.
cp two.json toolwire.json
expect 0 "$hub" "$toolwire" call parent
rm toolwire.json
front 5 --state state
end_hub TERM 0
end_front 5 1 "$gone"
[ -z "$(ls -A run/toolwire)" ] && ok || wrong "left: $(ls -A run/toolwire)"

# What is printed for clients leads to this hub from wherever they start it: beside other settings, with another state
# folder and another runtime folder.
printed() { sed 's/.*"claude_code":"claude mcp add toolwire \([^"]*\)".*/\1/' <<<"$said"; }
elsewhere() { # elsewhere OPTION…: `call parent` of what was printed
    local line variables
    line=$(printed)
    variables=${line%%-- *}
    # shellcheck disable=SC2086
    (cd elsewhere && env XDG_RUNTIME_DIR="$dir/elsewhere/run" XDG_STATE_HOME="$dir/elsewhere" ${variables//--env /} \
        "$toolwire" call parent --server "${line#*-- }" </dev/null 2>&1) || true
}
mkdir -p elsewhere
mkdir -m 700 elsewhere/run
echo '{"state": "own"}' >elsewhere/toolwire.json
up --tools tools.json
[ "$(elsewhere)" = "$hub" ] && ok || wrong "without settings, printed: $(printed), which leads to: $(elsewhere)"
end_hub TERM 0
up --config one.json
[ "$(elsewhere)" = "$hub" ] && ok || wrong "with settings, printed: $(printed), which leads to: $(elsewhere)"
end_hub TERM 0
# Under /tmp: no session told where.
runtime=$XDG_RUNTIME_DIR
export XDG_RUNTIME_DIR=
up --tools tools.json
[ "$(elsewhere)" = "$hub" ] && ok || wrong "under TMPDIR, printed: $(printed), which leads to: $(elsewhere)"
end_hub TERM 0
export XDG_RUNTIME_DIR=$runtime

# In a login of a desktop: clients pass on neither its variable nor much else, with what is printed and without that.
desktop='
    uid=$(id -u)
    mount -t tmpfs none /run && mkdir -p /run/user && mkdir -m 700 "/run/user/$uid" || exit
    export XDG_RUNTIME_DIR=/run/user/$uid
    coproc HUB { exec "$1" up --http off --no-toolkit --json --tools tools.json --state state 2>hub.err; }
    hub=$HUB_PID
    IFS= read -r line <&"${HUB[0]}"
    line=${line#*\"claude_code\":\"claude mcp add toolwire }
    line=${line%%\"*}
    variables=${line%%-- *}
    client() { env -i HOME="$HOME" PATH="$PATH" "$@" </dev/null 2>&1; }
    printed=$(client ${variables//--env /} "$1" call parent --server "${line#*-- }")
    bare=$(client "$1" call parent --server "$1 serve --state state")
    other=$(client TMPDIR=/tmp XDG_RUNTIME_DIR=/nowhere ${variables//--env /} "$1" call parent --server "${line#*-- }")
    kill -TERM "$hub"
    wait "$hub"
    [ "$printed $bare $other" = "$hub $hub $hub" ] && echo found || echo "hub $hub; $printed; $bare; $other; $line"
'
namespace=
for options in -m -rm; do unshare $options mount -t tmpfs none /run 2>/dev/null && namespace=$options && break; done
if [ -n "$namespace" ]; then
    found=$(unshare "$namespace" bash -c "$desktop" desktop "$toolwire") || true
    [ "$found" = found ] && ok || wrong "in a login: $found"
else
    echo 'a login of a desktop is not tried here: there can be no mount of our own'
fi

# A front that looks elsewhere finds the hub's pipe instead, and says what it would need.
echo '{"state": "state", "pipe": "FrontTest"}' >piped.json
up --config piped.json
status=0
XDG_RUNTIME_DIR=$dir/elsewhere/run "$toolwire" serve --config piped.json </dev/null >out 2>err || status=$?
[ $status = 1 ] && grep -q "process $hub serves" err && grep -q "same --config, --state and XDG_RUNTIME_DIR; it was looked for at $dir/elsewhere/run/toolwire/hub-" err &&
    ok || wrong "another runtime folder: $status $(cat out err)"
end_hub TERM 0

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
