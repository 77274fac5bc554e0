#!/usr/bin/env bash
# Checks four tool calls, one of them wrong on purpose, against the schema of their tool.
#
#   examples/validate/run.sh [TOOLWIRE]
set -euo pipefail
toolwire=$(realpath "${1:-build/release/toolwire}")
[ -x "$toolwire" ] || { echo "run.sh: there is no program $toolwire; run make" >&2; exit 1; }
cd "$(dirname "$0")"

# show STATUS ARGUMENT…: prints the command as a person would type it, runs it, and wants that status.
show() {
    local wanted=$1 status=0
    shift
    printf '\n$ toolwire %s\n' "$*"
    "$toolwire" "$@" || status=$?
    if [ $status -ne "$wanted" ]; then
        echo "run.sh: exit status $status, expected $wanted" >&2
        exit 1
    fi
}

echo "calls.ndjson holds four calls of the tool create_wall, one on each line; wall.schema.json says what"
echo "such a call looks like. The third is wrong twice: a coordinate is a string, the height is too small."
show 1 validate --frame ndjson --schema wall.schema.json calls.ndjson
printf '\nThe same for a program to read:\n'
show 1 validate --json --frame ndjson --schema wall.schema.json calls.ndjson
printf '\nWithout a schema, every line only has to be JSON, and is:\n'
show 0 validate --frame ndjson calls.ndjson
printf '\nExit status: 0 all valid, 1 something invalid, 2 wrong use. The manual: man docs/man/toolwire.1\n'
