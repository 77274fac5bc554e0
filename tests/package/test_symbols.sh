#!/usr/bin/env bash
# Both libraries show what the list names, the headers declare the same, and nothing else is visible.
#
#   test_symbols.sh LIBTOOLWIRE.SO LIBTOOLWIRE.A
set -euo pipefail
shared=${1:?LIBTOOLWIRE.SO}
static=${2:?LIBTOOLWIRE.A}
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
list=$top/src/api/libtoolwire.symbols
n_failed=0

# same NAME FILE: FILE holds the names of the list.
same() {
    if ! diff "$list" "$2" >"$work/diff"; then
        echo "FAILED: $1 differs from src/api/libtoolwire.symbols:"
        cat "$work/diff"
        n_failed=$((n_failed + 1))
    fi
}

sort -uc "$list" || { echo "FAILED: the list is not sorted"; n_failed=1; }

# What a sanitizer or gcov adds is not ours; nor is the name of the version.
theirs='^(_|gcov|llvm_|TOOLWIRE_)'
nm -D --defined-only "$shared" | awk '{ sub(/@.*/, "", $3); print $3 }' | grep -Ev "$theirs" | sort -u >"$work/shared"
same "the shared library" "$work/shared"
nm -g --defined-only "$static" | awk 'NF == 3 { print $3 }' | grep -Ev "$theirs" | sort -u >"$work/static"
same "the static library" "$work/static"
cat "$top"/include/toolwire/*.h | tr '\n' ' ' | grep -o 'TW_API[^;]*;' | grep -o '\btw_[a-z0-9_]*(' |
    tr -d '(' | sort -u >"$work/headers"
same "what the headers declare" "$work/headers"

echo "$(wc -l <"$list") symbols, $n_failed differences"
[ $n_failed -eq 0 ]
