#!/usr/bin/env bash
# Runs the tests of the Windows build under Wine, in a Wine of its own (BUILD/wine), and prints the counts.
#
#   tests/windows/run.sh BUILD [CTEST-OPTION…]
set -euo pipefail
build=$(realpath "${1:?BUILD}")
shift

export WINEPREFIX=$build/wine
# No words about what Wine cannot do, no window, no debugger that waits for somebody.
export WINEDEBUG=-all DISPLAY= WINEDLLOVERRIDES="winemenubuilder.exe,mscoree,mshtml=d;winedbg.exe=d"
# Wine reads arguments and file names in the encoding of the locale.
export LC_ALL=C.UTF-8

if [ ! -e "$WINEPREFIX/done" ]; then
    echo "run.sh: making $WINEPREFIX"
    wineboot --init >"$build/wineboot.log" 2>&1 || {
        cat "$build/wineboot.log" >&2
        exit 1
    }
    wineserver --wait
    touch "$WINEPREFIX/done"
fi
# One server for all tests, and what it starts with it: else they would be the first test's children, hold its output
# open, and let ctest wait for them.
wineserver --persistent=60 >/dev/null 2>&1 </dev/null
wine cmd.exe /c exit >/dev/null 2>&1 </dev/null
trap 'wineserver --kill' EXIT

status=0
ctest --test-dir "$build" --output-on-failure --parallel "$(nproc)" "$@" || status=$?
grep -hE '^[a-z]+: [0-9]+/[0-9]+ checks$' "$build/Testing/Temporary/LastTest.log" || true
exit $status
