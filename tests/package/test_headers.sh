#!/usr/bin/env bash
# Every public header compiles alone, and twice, as C17 and as C++17, without a warning.
#
#   test_headers.sh CC
set -euo pipefail
cc=${1:?CC}
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n_run=0
n_failed=0

common=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wundef -Wcast-qual -Wformat=2
    -Wredundant-decls -Werror -fsyntax-only -I "$top/include")

check() {
    n_run=$((n_run + 1))
    if ! "$@" >"$work/out" 2>&1; then
        echo "FAILED: $*"
        cat "$work/out"
        n_failed=$((n_failed + 1))
    fi
}

cxx=()
for compiler in g++ clang++; do
    if command -v $compiler >/dev/null; then
        cxx+=("$compiler")
    fi
done
if [ ${#cxx[@]} -eq 0 ]; then
    echo "FAILED: there is no C++ compiler; scripts/setup test installs one"
    exit 1
fi

for header in "$top"/include/toolwire/*.h; do
    name=$(basename "$header")
    printf '#include <toolwire/%s>\n#include <toolwire/%s>\nextern int here;\n' "$name" "$name" >"$work/one.c"
    check "$cc" -std=c17 -Wstrict-prototypes -Wmissing-prototypes "${common[@]}" -x c "$work/one.c"
    for compiler in "${cxx[@]}"; do
        check "$compiler" -std=c++17 -Wold-style-cast "${common[@]}" -x c++ "$work/one.c"
    done
done
[ $n_run -gt 0 ] || { echo "FAILED: no header was found"; exit 1; }
echo "$n_run compilations, $n_failed failed"
[ $n_failed -eq 0 ]
