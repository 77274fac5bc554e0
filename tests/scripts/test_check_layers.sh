#!/usr/bin/env bash
# scripts/check-layers must catch each kind of violation, and nothing else.
set -euo pipefail
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check-layers
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
n_run=0
n_failed=0

# write FILE LINE…: a source file of the tree, one line an argument.
write() {
    mkdir -p "$(dirname "$tree/src/$1")"
    printf '%s\n' "${@:2}" >"$tree/src/$1"
}

# expect NAME STATUS TEXT: runs the check on the tree, compares, and empties the tree.
expect() {
    local status=0 output
    n_run=$((n_run + 1))
    output=$("$check" "$tree" 2>&1) || status=$?
    if [ $status -ne "$2" ] || [[ $output != *"$3"* ]]; then
        echo "FAILED: $1: status $status instead of $2, or no '$3' in:"
        echo "$output"
        n_failed=$((n_failed + 1))
    fi
    rm -rf "$tree/src"
}

# refuses NAME FILE LINE TEXT: one include in one file is refused, and the place is named.
refuses() {
    write "$2" '/* a file */' "$3"
    expect "$1" 1 "src/$2:2: $4"
}

# accepts NAME FILE LINE: one include in one file is fine.
accepts() {
    write "$2" '/* a file */' "$3"
    expect "$1" 0 'check-layers: ok'
}

refuses 'upward include' base/x.c '#include "json/json.h"' 'base may not include json'
refuses 'json may not see the schema' json/x.c '#include "json/schema/schema.h"' 'json may not include json/schema'
refuses 'neighbour layer' frame/x.c '#include "json/json.h"' 'frame may not include json'
refuses 'spaces in the directive' frame/x.c ' #  include "json/json.h"' 'frame may not include json'
refuses 'layer skips upward' router/x.c '#include "dialect/mcp/session.h"' 'router may not include dialect'
refuses 'app from below' providers/x.c '#include "app/config.h"' 'providers may not include app'
refuses 'siblings' dialect/mcp/x.c '#include "dialect/pipe/session.h"' 'siblings do not include each other'
refuses 'family from the common part' toolkit/x.c '#include "toolkit/churn/churn.h"' 'siblings do not'
refuses 'include without a folder' json/x.c '#include "json.h"' '"json.h" is not written from the src/ root'
refuses 'include with dots' json/x.c '#include "../base/bytes.h"' '"../base/bytes.h" is not written'
refuses 'dots inside' json/x.c '#include "json/../base/bytes.h"' '"json/../base/bytes.h" is not written'
refuses 'socket in pure code' frame/x.c '#include <sys/socket.h>' 'frame is pure: it may not include <sys/socket.h>'
refuses 'unistd in pure code' json/schema/x.c '#include <unistd.h>' 'json/schema is pure'
refuses 'clock in pure code' base/x.c '#include <time.h>' 'base is pure'
refuses 'threads in pure code' router/x.h '#include <pthread.h>' 'router is pure'
refuses 'an exception is one file' base/clock.c '#include <unistd.h>' 'base is pure'
refuses 'libuv outside io' providers/x.c '#include <uv.h>' '<uv.h> belongs to: io'
refuses 'pcre2 outside the schema' json/x.c '#include <pcre2.h>' '<pcre2.h> belongs to: json/schema'
refuses 'computed include' base/x.c '#include HEADER' 'an include that is neither'
write other/x.c '/* a file */'
expect 'unknown folder' 1 'src/other/x.c:1: lies in no layer'
write x.c '/* a file */'
expect 'file outside every layer' 1 'src/x.c:1: lies in no layer'
write base/bytes.h '/* a file */'
write json/x.c '#include <base/bytes.h>'
expect 'ours in angle brackets' 1 '<base/bytes.h> is ours'
write base/x.c '#include "json/json.h"' '#include "frame/len32.h"'
expect 'every violation is counted' 1 'check-layers: 2 violations'
expect 'no src folder' 2 'there is no folder'

accepts 'itself' json/x.c '#include "json/json.h"'
accepts 'downward' json/schema/x.c '#include "json/json.h"'
accepts 'own family' dialect/mcp/x.c '#include "dialect/mcp/session.h"'
accepts 'common part of the layer' dialect/mcp/x.c '#include "dialect/session.h"'
accepts 'C headers' base/x.c '#include <string.h>'
accepts 'exception' base/clock.c '#include <time.h>'
accepts 'third party at home' json/schema/x.c '#include <pcre2.h>'
accepts 'libuv at home' io/x.c '#include <uv.h>'
accepts 'system headers in io' io/x.c '#include <sys/socket.h>'
accepts 'everything from cli' cli/x.c '#include "app/config.h"'

echo "check-layers: $((n_run - n_failed))/$n_run cases"
[ $n_failed -eq 0 ]
