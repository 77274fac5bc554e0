#!/usr/bin/env bash
# examples/shell-node, with an agent that follows orders (support/fake_agent.mjs).
#
#   shell_node.sh
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
if ! command -v node >/dev/null; then
    echo 'SKIPPED: node is missing; scripts/setup test installs it'
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
shell=$top/examples/shell-node/shell.mjs
failed=0

# expect NAME OUTPUT INPUT COMMAND…: what stands on stdout, then on stderr without the prompts.
expect() {
    local name=$1 wanted=$2 input=$3 got status=0
    shift 3
    printf '%s' "$input" | timeout 60 node "$shell" "$@" >out 2>err || status=$?
    got="$(cat out; sed 's/\(> \)*//' err; echo "status $status")"
    if [ "$got" != "$wanted" ]; then
        failed=$((failed + 1))
        printf 'FAILED: %s\n wanted: %s\n    got: %s\n' "$name" "$wanted" "$got"
    fi
}
agent=(node "$top/tests/support/fake_agent.mjs" log)

expect 'messages, a tool, one that is not allowed, noise' 'You said: hello
There is one file.
Not written.
ok
[list_files {"path":"src"}]
[write_file {"path":"a\u001b[2J"}]
[write_file failed: refused]
agent: "\u001b[31mnot a message\u001b[0m"
status 0' $'hello\n\ntool\nask\nnoise\n' "${agent[@]}"
grep -q '"kind":"tool_approval","toolId":"t2","approved":false' log || { failed=$((failed + 1)); cat log; }
expect 'an error; and the next message' 'Half an ansYou said: hi

rate limit exceeded
status 0' $'error\nhi\n' "${agent[@]}"
expect 'an agent that dies is started again' 'You said: hi

the agent ended (3)
status 0' $'die\nhi\n' "${agent[@]}"
expect 'no such agent' 'cannot start /no/such/agent: spawn /no/such/agent ENOENT
status 1' '' /no/such/agent

# A line of more than 10 MiB is dropped, and what follows is read.
cat >long <<'END'
read -r line
id=${line#*'"id":"'}
id=${id%%'"'*}
head -c 11000000 /dev/zero | tr '\0' x
printf '\n{"type":"token","id":"%s","token":"behind it"}\n{"type":"done","id":"%s"}\n' "$id" "$id"
cat >/dev/null
END
expect 'a long line' 'behind it
status 0' $'hi\n' sh long

# What its README promises.
lines=$(wc -l <"$shell")
[ "$lines" -le 60 ] || { failed=$((failed + 1)); echo "FAILED: it has $lines lines, more than 60"; }

[ $failed -eq 0 ] && echo 'shell-node: ok'
[ $failed -eq 0 ]
