#!/usr/bin/env bash
# examples/validate shows what it promises: the wrong call and both of its errors, and nothing else.
#
#   test_example.sh TOOLWIRE
set -euo pipefail
toolwire=${1:?TOOLWIRE}
top=$(cd "$(dirname "$0")/../.." && pwd)

output=$(bash "$top/examples/validate/run.sh" "$toolwire" 2>&1) || { echo "$output"; exit 1; }
n_failed=0
for text in '/arguments/end/1' '/arguments/height_mm'; do
    if [[ $output != *"$text"* ]]; then
        echo "FAILED: the example does not show $text:"
        echo "$output"
        n_failed=1
    fi
done
exit $n_failed
