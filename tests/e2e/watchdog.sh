#!/usr/bin/env bash
# Every program that runs until it is told to end starts the watchdog: its thread is there, by name.
#
#   watchdog.sh TOOLWIRE
set -euo pipefail
toolwire=$(realpath "${1:?TOOLWIRE}")
if [ ! -r "/proc/$$/task/$$/comm" ]; then
    echo 'SKIPPED: there is no /proc/PID/task'
    exit 77
fi
work=$(mktemp -d)
pids=()
end() {
    local pid
    for pid in "${pids[@]}"; do
        kill -KILL "$pid" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap end EXIT
cd "$work"
mkdir tmp run
chmod 700 run
export TMPDIR=$work/tmp XDG_RUNTIME_DIR=$work/run HOME=$work XDG_STATE_HOME=$work/state
unset XDG_CONFIG_HOME NOTIFY_SOCKET
mkfifo input
exec 3<>input # an input that does not end
n_run=0
n_failed=0

has_watchdog() { cat "/proc/$1/task"/*/comm 2>/dev/null | grep -qx watchdog; }

# watches ARGUMENT…: the program has a watchdog, and ends on SIGTERM; gives up after a minute.
watches() {
    local pid is_there=false _
    n_run=$((n_run + 1))
    "$toolwire" "$@" <input >"$1.out" 2>"$1.log" &
    pid=$!
    pids+=("$pid")
    for _ in $(seq 1 1200); do
        if has_watchdog "$pid"; then
            is_there=true
            break
        fi
        sleep 0.05
    done
    if ! $is_there; then
        printf 'FAILED: %s has no watchdog\n' "$1"
        cat "$1.out" "$1.log"
        n_failed=$((n_failed + 1))
    fi
    kill -TERM "$pid" 2>/dev/null || true
    wait "$pid" || true
}

watches up --config none --http off --queue off --no-toolkit
watches serve --alone --config none --diagnostics --no-toolkit
watches host --diagnostics --socket "$work/host.sock"
watches addin --diagnostics --pipe nobody
watches agent --config none --alone --model script --history off --no-toolkit
watches chat --agent 'sleep 1000' hello

echo "$((n_run - n_failed)) of $n_run passed"
[ $n_failed -eq 0 ]
