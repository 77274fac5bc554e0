#!/usr/bin/env bash
# `toolwire validate`, run as a person would: exact output and exit status for each kind of input.
#
#   validate.sh TOOLWIRE
set -euo pipefail
toolwire=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
passed=0
failed=0

# expect STATUS OUTPUT ARGUMENT…: runs with the file `in` as standard input; OUTPUT is stdout and stderr.
expect() {
    local wanted_status=$1 wanted=$2 status=0 got
    shift 2
    got=$("$toolwire" "$@" <in 2>&1) || status=$?
    # The time of a log line is the only thing that differs from run to run.
    got=$(sed -E 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/TIME/' <<<"$got")
    if [ "$status" = "$wanted_status" ] && [ "$got" = "$wanted" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'toolwire %s\n wanted %s: %s\n    got %s: %s\n' "$*" "$wanted_status" "$wanted" "$status" "$got"
    fi
}

# One document.
printf '{"a":[1,2.5e3,"\\u00e9"]}\n' >in
expect 0 '1 message: 1 valid, 0 invalid' validate
expect 0 '1 message: 1 valid, 0 invalid' validate -
expect 0 '{"type":"summary","messages":1,"valid":1,"invalid":0}' validate --json
printf '{"a":1,\n "b":tru}' >in
expect 1 "-: byte 16 (line 2, column 9): expected true, false or null, found '}'
1 message: 0 valid, 1 invalid" validate
expect 1 '{"type":"broken","file":"-","message":1,"offset":16,"line":2,"column":9,"error":"expected true, false or null, found '"'}'"'"}
{"type":"summary","messages":1,"valid":0,"invalid":1}' validate --json
: >in
expect 1 '-: byte 0 (line 1, column 1): expected a value, found the end of the text
1 message: 0 valid, 1 invalid' validate
printf '12345' >in
expect 0 '1 message: 1 valid, 0 invalid' validate --max-bytes 5
expect 1 '-: longer than the 4 bytes allowed
1 message: 0 valid, 1 invalid' validate --max-bytes 4
head -c 100000 /dev/zero | tr '\0' '[' >in
expect 1 '-: byte 512 (line 1, column 513): nested deeper than 512 levels
1 message: 0 valid, 1 invalid' validate

# The densest text that a limit allows has an index within the limit's memory.
{ printf '[1'; printf ',1%.0s' $(seq 1 131070); printf ']'; } >dense.json
printf '1' >in
expect 0 '2 messages: 2 valid, 0 invalid' validate --max-bytes 262143 dense.json -

# A schema.
printf '{"type":"object","properties":{"p":{"items":{"type":"number"}}},"required":["p"]}' >schema.json
printf '{"p":[1,"x"]}\r\n\n{"p":[]}\n{}\nnot json\n{"p":[2]}' >in
expect 1 "-: message 1: /p/1: expected number, got string
-: message 3: missing property \"p\"
-: message 4: byte 1 (line 1, column 2): expected true, false or null, found 'o'
5 messages: 2 valid, 3 invalid" validate --frame ndjson --schema schema.json
printf '[1,2,3]\n[1]\n[1,2,3,4,5]' >lines
expect 1 'lines: message 1: longer than the 4 bytes allowed
lines: message 3: longer than the 4 bytes allowed
3 messages: 1 valid, 2 invalid' validate --frame ndjson --max-bytes 4 lines
printf '{"format":"date"}' >format.json
printf '"2026-02-30"' >in
expect 0 '1 message: 1 valid, 0 invalid' validate --schema format.json
status=0
"$toolwire" validate --schema format.json --format-check <in >out 2>&1 || status=$?
[ $status = 1 ] && grep -q date out && passed=$((passed + 1)) || { failed=$((failed + 1)); cat out; }

printf '{"pattern":"^(a+)+$"}' >slow.json
printf '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"' >in
expect 1 '-: too deep or too costly to be checked against the schema
1 message: 0 valid, 1 invalid' validate --schema slow.json
expect 1 '{"type":"undecided","file":"-","message":1,"error":"too deep or too costly to be checked against the schema"}
{"type":"summary","messages":1,"valid":0,"invalid":1}' validate --json --schema slow.json

# Frames.
printf '\3\0\0\000123\0\0\0\0\2\0\0\0[]' >in
expect 1 '-: message 2: byte 0 (line 1, column 1): expected a value, found the end of the text
3 messages: 2 valid, 1 invalid' validate --frame len32le
printf '\0\0\0\2[]\0\0\0\5[1' >in
expect 1 '-: message 2: the input ends inside a frame, after 6 bytes of it
2 messages: 1 valid, 1 invalid' validate --frame len32be
printf '\0\0\0\2[]\377\377\377\377[]' >in
expect 1 '-: message 2: the frame declares 4294967295 bytes, more than the 16777216 allowed; what follows it cannot be read
2 messages: 1 valid, 1 invalid' validate --frame len32be

# Wrong use.
expect 2 "toolwire: unknown command 'validat'; did you mean 'validate'?
toolwire: 'toolwire -h' lists the commands" validat
expect 2 "toolwire validate: --frame is 'xml'; it can be json, ndjson, len32le or len32be" validate --frame xml
expect 2 "toolwire validate: --max-bytes is '0'; it can be 1 to 1GiB" validate --max-bytes 0
expect 2 "toolwire validate: cannot read the schema 'none.json': No such file or directory" validate --schema none.json
printf '{"type":"strnig"}' >bad.json
status=0
"$toolwire" validate --schema bad.json <in >out 2>&1 || status=$?
[ $status = 2 ] && grep -q '/type' out && passed=$((passed + 1)) || { failed=$((failed + 1)); cat out; }

# Inputs that cannot be read: said, and the others are still checked.
printf '1' >good.json
expect 1 "TIME error validate: cannot read 'none.json': No such file or directory
1 message: 1 valid, 0 invalid" validate none.json good.json
expect 1 '{"time":"TIME","level":"error","area":"validate","message":"cannot read '"'.'"': Is a directory"}
0 messages: 0 valid, 0 invalid' validate --log-format json .
if [ -w /dev/full ]; then
    status=0
    "$toolwire" validate good.json >/dev/full 2>out || status=$?
    [ $status = 1 ] && grep -q 'standard output' out && passed=$((passed + 1)) || failed=$((failed + 1))
fi

# A peer's control characters do not reach the terminal.
printf '{"additionalProperties":false}' >closed.json
printf '{"\\u001b[31m\\u009b31m\\u007f":1}' >in
"$toolwire" validate --schema closed.json <in >out 2>&1 || true
if LC_ALL=C grep -q $'\033\|\302\233\|\177' out; then
    failed=$((failed + 1))
    echo 'an escape sequence of the input reached the output'
else
    passed=$((passed + 1))
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
