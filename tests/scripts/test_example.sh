#!/usr/bin/env bash
# The examples show what they promise: examples/validate the wrong call and both of its errors, examples/tools
# the tools, a result, and the arguments that are refused.
#
#   test_example.sh TOOLWIRE
set -euo pipefail
toolwire=${1:?TOOLWIRE}
top=$(cd "$(dirname "$0")/../.." && pwd)

n_failed=0

# shows EXAMPLE TEXT…: the example runs through, and each text is in its output.
shows() {
    local example=$1 output
    shift
    output=$(bash "$top/examples/$example/run.sh" "$toolwire" 2>&1) || {
        echo "FAILED: examples/$example: $output"
        n_failed=1
        return
    }
    for text in "$@"; do
        if [[ $output != *"$text"* ]]; then
            echo "FAILED: examples/$example does not show $text:"
            echo "$output"
            n_failed=1
        fi
    done
}

shows validate '/arguments/end/1' '/arguments/height_mm'
shows tools 'count_words  read-only  Counts' '{"lines":1,"words":3,"bytes":18}' \
    'arguments/text: expected string, got number' '"args": ["serve", "--tools", "/'
exit $n_failed
