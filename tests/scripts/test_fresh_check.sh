#!/usr/bin/env bash
# scripts/fresh-check with its tools replaced: which releases it makes, from where, and what its status says.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n_run=0
n_failed=0

tools=$work/tools
log=$work/log
mkdir -p "$tools" "$work/tmp" "$work/tree/scripts"
cp "$top/scripts/fresh-check" "$work/tree/scripts/"
stub() {
    printf '#!%s\n%s\n' "$(command -v bash)" "$2" >"$tools/$1"
    chmod +x "$tools/$1"
}

# reset: root, on a Debian 12 with repositories of others, where all that is tried succeeds.
reset() {
    : >"$log"
    stub id 'echo 0'
    # shellcheck disable=SC2016 # expanded by the stub
    stub apt-get 'printf "%s\n" "http://mirror.example/debian bookworm main" "http://mirror.example/debian bookworm main" \
        "http://mirror.example/debian bookworm-updates main" "http://mirror.example/debian bookworm-backports main" \
        "http://safe.example/security bookworm-security main"'
    stub apt-config 'exit 0'
    stub npm 'exit 1'
    stub git "[ \"\$1\" != clone ] || mkdir \"\${@: -1}\""
    stub debootstrap "echo \"debootstrap \$2 from \$4\" >>$log; mkdir -p \"\$3/etc/apt/apt.conf.d\" \"\$3/root\""
    # The root is the word before the command that is run in it.
    stub unshare "for word; do before=\${last-}; last=\$word; done
        case \$last in *update*) cat \"\$before/etc/apt/sources.list\" >>$log ;; esac
        case \$last in *FAIL*) exit 1 ;; esac
        echo \"in root: \${last##*&& }\" | head -n 1 >>$log"
}

# expect NAME STATUS OUTPUT LOG ARGUMENT…: OUTPUT and LOG are patterns.
expect() {
    local name=$1 wanted=$2 output_like=$3 log_like=$4 status=0 output called
    shift 4
    n_run=$((n_run + 1))
    output=$(PATH=$tools:$PATH TMPDIR=$work/tmp "$work/tree/scripts/fresh-check" "$@" 2>&1 </dev/null) || status=$?
    called=$(<"$log")
    # shellcheck disable=SC2053 # patterns are meant
    if [ $status -ne "$wanted" ] || [[ $output != $output_like ]] || [[ $called != $log_like ]]; then
        printf 'FAILED: %s: status %s instead of %s\noutput: %s\ncalled: %s\n' "$name" $status "$wanted" "$output" "$called"
        n_failed=$((n_failed + 1))
    fi
    n_run=$((n_run + 1))
    if [ -n "$(ls -A "$work/tmp")" ]; then
        printf 'FAILED: %s: a folder is left\n' "$name"
        n_failed=$((n_failed + 1))
    fi
    reset
}

# sources RELEASE: what apt is told inside: nothing of the other release, and nothing of others.
sources() {
    printf 'deb http://mirror.example/debian %s main\ndeb http://mirror.example/debian %s-updates main\n' "$1" "$1"
    printf 'deb http://safe.example/security %s-security main' "$1"
}
one() { printf 'debootstrap %s from http://mirror.example/debian\n%s\nin root: *make test*make run*' "$1" "$(sources "$1")"; }

reset
expect 'Debian 12' 0 '*results on bookworm*ok      make test*ok      make run' "$(one bookworm)" bookworm
expect 'Debian 13, from the mirror of 12' 0 '*results on trixie*ok      make test*ok      make run' "$(one trixie)" trixie
expect 'both unless one is named' 0 '*results on bookworm*results on trixie*' "$(one bookworm)*$(one trixie)"
expect 'an unknown release' 2 "*unknown argument 'buster'*" '' buster
expect 'an unknown option' 2 "*unknown argument '--fast'*" '' --fast
stub id 'echo 1000'
expect 'not root' 2 '*needs root*' ''
stub apt-get 'exit 0'
expect 'no repository' 2 "*knows no repository of Debian*" '' trixie
stub debootstrap 'echo "debootstrap $2" >>'"$log"'; exit 1'
expect 'the base system cannot be had' 1 '*' 'debootstrap trixie' trixie
stub unshare 'case "$*" in *"make test"*) exit 1 ;; esac'
expect 'tests that fail' 1 '*results on trixie*FAILED  make test*ok      make run' '*' trixie
stub debootstrap '[ "$2" = trixie ] || exit 1; mkdir -p "$3/etc/apt/apt.conf.d" "$3/root"'
expect 'one of two fails' 1 '*results on trixie*ok      make run' '*'

echo "fresh-check: $((n_run - n_failed))/$n_run cases"
[ $n_failed -eq 0 ]
