#!/usr/bin/env bash
# `toolwire chat` in a pipe, with an agent that follows orders (support/fake_agent.mjs); test_chat.c has the terminal.
#
#   chat.sh TOOLWIRE
set -euo pipefail
toolwire=$(realpath "$1")
support=$(cd "$(dirname "$0")/../support" && pwd)
if ! command -v node >/dev/null; then
    echo 'SKIPPED: node is missing; scripts/setup test installs it'
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
passed=0
failed=0
fake="node '$support/fake_agent.mjs' log"

ok() { passed=$((passed + 1)); }
wrong() { failed=$((failed + 1)); printf '%s\n' "$1"; }

# expect STATUS OUTPUT INPUT ARGUMENT…: OUTPUT is stdout and then stderr.
expect() {
    local wanted_status=$1 wanted=$2 input=$3 status=0 got
    shift 3
    rm -f log
    printf '%s' "$input" | "$toolwire" chat "$@" >out 2>err || status=$?
    got=$(cat out err | sed -E 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/TIME/')
    if [ "$status" = "$wanted_status" ] && [ "$got" = "$wanted" ]; then
        ok
    else
        wrong "$(printf 'toolwire chat %s\n wanted %s: %s\n    got %s: %s' "$*" "$wanted_status" "$wanted" "$status" "$got")"
    fi
}

# sent TEXT: a line of the log.
sent() { grep -qxF -- "$1" log && ok || wrong "not sent: $1 in $(cat log)"; }

s=(--agent "$fake")
expect 0 'You said: hi' $'hi\n' "${s[@]}"
sent '{"id":"req-1","kind":"user_message","message":"hi"}'
expect 0 'You said: two
lines' $'two\nlines\n' "${s[@]}"
expect 0 'You said: several words' 'this is not read' "${s[@]}" several words
expect 0 'You said: hi with a.txt with b.png in conv-1' '' "${s[@]}" --attach a.txt --attach b.png --conversation conv-1 hi
sent '{"id":"req-1","kind":"user_message","message":"hi","attachments":[{"path":"a.txt"},{"path":"b.png"}],"metadata":{"conversationId":"conv-1"}}'

# Nothing but the answer; no escape codes.
expect 0 'There is one file.' '' "${s[@]}" tool
expect 0 'Sorry.' '' "${s[@]}" fail
expect 0 'Enough.
toolwire chat: stopped: too many rounds of tools' '' "${s[@]}" rounds
expect 0 'ok
TIME warn  agent: skipped what the agent wrote: not a message' '' "${s[@]}" noise
grep -q "$(printf '\033')" out err && wrong 'escape codes in a pipe' || ok

# Nobody can be asked.
expect 0 'Not written.
toolwire chat: write_file is refused: nobody can be asked; --yes allows all tools' '' "${s[@]}" ask
sent '{"id":"req-2","kind":"tool_approval","toolId":"t2","approved":false}'
expect 0 'Written.' '' "${s[@]}" --yes ask
sent '{"id":"req-2","kind":"tool_approval","toolId":"t2","approved":true}'

# Failures.
expect 1 'Half an ans
toolwire chat: rate limit exceeded' '' "${s[@]}" error
expect 1 'toolwire chat: the agent ended (exit status 3)' '' "${s[@]}" die
# One that is silent; it hears that nobody waits any longer.
cat >silent <<'END'
echo '{"type":"ready","capabilities":["interrupt"],"timestamp":1}'
cat >log
END
expect 1 'toolwire chat: the agent has not said a word about this for 1 s' '' --agent 'sh silent' --timeout 1s hi
sent '{"id":"interrupt-1","kind":"interrupt","requestId":"req-1"}'
expect 1 'toolwire chat: the agent ended (exit status 0)' '' --agent true hi
expect 1 "toolwire chat: cannot start /no/such/agent: no such file or directory" '' --agent /no/such/agent hi
expect 2 "toolwire chat: standard input is empty: there is nothing to say" $'\n' "${s[@]}"
expect 2 "toolwire chat: --agent: a quote or backslash has no end" '' --agent "'x" hi
expect 2 "toolwire chat: --timeout is 'soon'; it needs a number and a unit: 500ms, 30s, 5m" '' --timeout soon hi
expect 2 "toolwire chat: --model is for 'toolwire agent', and excludes --agent" '' "${s[@]}" --model script hi

# Messages as they are, the agent's own in its order.
printf 'hi' | "$toolwire" chat --json "${s[@]}" >out 2>err
types=$(node -e 'const fs = require("fs");
for (const line of fs.readFileSync("out", "utf8").trimEnd().split("\n")) {
    const m = JSON.parse(line);
    console.log(m.type, m.id ?? "-", `<${m.token ?? ""}>`);
}')
[ "$types" = 'ready - <>
token req-1 <You >
token req-1 <said: >
token req-1 <hi>
done req-1 <>' ] && ok || wrong "--json: $types"
[ -s err ] && wrong "--json says on stderr: $(cat err)" || ok

# A reader that goes away ends it.
status=0
printf 'hi' | "$toolwire" chat "${s[@]}" 2>err | true || status=$?
[ $status -ne 0 ] && ok || wrong 'nobody reads, and it does not say so'

# SIGTERM: the agent is gone when it has ended.
"$toolwire" chat "${s[@]}" hang </dev/null >out 2>err &
pid=$!
until grep -q 'One moment' out; do sleep 0.02; done
kill -TERM $pid
status=0
wait $pid || status=$?
[ $status = 1 ] && ok || wrong "SIGTERM: status $status"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
