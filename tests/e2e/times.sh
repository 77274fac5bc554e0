#!/usr/bin/env bash
# Every option that takes a time, of every command, as the help lists them: one rule. A time has a unit, unless the
# option's name has one (--drain-ms).
#
#   times.sh TOOLWIRE
set -euo pipefail
toolwire=$(realpath "${1:?TOOLWIRE}")
work=$(realpath "$(mktemp -d)")
trap 'rm -rf "$work"' EXIT
export HOME=$work TMPDIR=$work
unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_RUNTIME_DIR
cd "$work"
n_run=0
n_failed=0
wrong() { n_failed=$((n_failed + 1)); printf 'FAILED: %s\n' "$1"; }

echo '[{"name": "x", "description": "d", "input_schema": {}, "command": ["true"]}]' >tools.json

# What a command needs beside the option, to come as far as reading it. Each ends by itself: its input is empty, its peer
# is not there, or it is given too much.
needs() {
    case $1 in
    bridge)                              echo "$work/no.sock $work/no.json" ;;
    host)                                echo "--tools $work/tools.json --socket $work/no/no.sock" ;;
    addin)                               echo "--tools $work/no.json" ;;
    up)                                  echo "--tools $work/no.json" ;;
    agent)                               echo '--model script' ;;
    tools | 'resources ls' | resources | prompts | 'prompts ls') echo '--server false' ;;
    call | 'resources read' | 'prompts get') echo 'x --server false' ;;
    chat)                                echo '--agent false hello' ;;
    'queue result')                      echo 00000000-0000-0000-0000-000000000000 ;;
    'auth login')                        echo 'http://127.0.0.1:1' ;;
    esac
}

# try COMMAND OPTION VALUE: its status, in $status; what it says, in $said.
try() {
    status=0
    # shellcheck disable=SC2046,SC2086 # several words are meant
    said=$(timeout 60 "$toolwire" $1 "--$2" "$3" $(needs "$1") </dev/null 2>&1) || status=$?
    n_run=$((n_run + 1))
}

# Every command, and every command of a command.
listed() { sed -nE '/^  toolwire /d; s/^  ([a-z]+) .*/\1/p'; }
commands() {
    "$toolwire" -h | listed | while read -r command; do
        if "$toolwire" "$command" -h | head -n 1 | grep -q "^usage: toolwire $command COMMAND "; then
            "$toolwire" "$command" -h | listed | sed "s/^/$command /"
        else
            echo "$command"
        fi
    done
}
n_options=0
while read -r command; do
    # shellcheck disable=SC2086 # two words are meant
    for option in $("$toolwire" $command -h | sed -nE 's/^ +--([a-z-]+) TIME .*/\1/p'); do
        n_options=$((n_options + 1))
        for value in 5x s 1.5s -1s ''; do
            try "$command" "$option" "$value"
            [ $status = 2 ] && [[ $said == *"--$option"* ]] || wrong "$command --$option '$value': $status: $said"
        done
        try "$command" "$option" 5000
        case $option in
        *-ms) [[ $said != *"--$option"* ]] || wrong "$command --$option 5000: $status: $said" ;;
        *)    [ $status = 2 ] && [[ $said == *"--$option is '5000'; it needs a number and a unit: 500ms, 30s, 5m" ]] ||
                  wrong "$command --$option 5000: $status: $said" ;;
        esac
        try "$command" "$option" 2s
        [[ $said != *"--$option"* ]] || wrong "$command --$option 2s: $status: $said"
    done
done < <(commands)
[ $n_options -ge 30 ] || wrong "only $n_options options were found"
printf 'times: %d options, %d/%d checks\n' "$n_options" "$((n_run - n_failed))" "$n_run"
[ "$n_failed" = 0 ]
