#!/usr/bin/env bash
# The sessions in README.md, or another page (```console blocks), are what the program prints today.
#
#   test_readme.sh TOOLWIRE [PAGE]            compares
#   test_readme.sh --update TOOLWIRE [PAGE]   writes the program's output into the page
#
# A hub runs meanwhile, on a free port: commands that name 127.0.0.1:7410 get to it, and so do, but for those of
# README.md, commands that look for the user's hub. A command that is not complete goes on in the next line.
set -euo pipefail
update=no
if [ "${1:-}" = --update ]; then
    update=yes
    shift
fi
program=$(realpath "${1:?TOOLWIRE}")
[ -x "$program" ] || { echo "FAILED: there is no program $program"; exit 1; }
page=${2:-README.md}
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
fresh=$folder/page.md
hub=
trap '[ -z "$hub" ] || kill "$hub"; rm -rf "$folder"' EXIT
command -v curl >/dev/null || { echo "FAILED: $page shows curl, which is not installed; run scripts/setup test"; exit 1; }

# Sessions call it by its name, and so does what they start.
PATH=$(dirname "$program"):$PATH

state=$folder/state
if [ "$page" != README.md ]; then
    export XDG_STATE_HOME=$folder XDG_RUNTIME_DIR=$folder
    state=$folder/toolwire
fi
mkfifo "$folder/ready"
toolwire up --json --http 127.0.0.1:0 --tools examples/tools/tools.json --no-toolkit --state "$state" \
    --pipe "$folder/pipe" >"$folder/ready" </dev/null &
hub=$!
IFS= read -r ready <"$folder/ready" || { echo "FAILED: the hub does not start"; exit 1; }
address=$(sed 's/.*"http":{"address":"\([^"]*\)".*/\1/' <<<"$ready")

# Neither a quote that is open, nor a \ at the end.
is_complete() { [ "${1%\\}" = "$1" ] && bash -n <<<"$1" 2>/dev/null; }

n_commands=0
status=0
inside=no
while IFS= read -r line; do
    case $inside:$line in
    no:'```console')
        inside=yes
        echo "$line" ;;
    yes:'```')
        inside=no
        echo "$line" ;;
    yes:'$ '*)
        echo "$line"
        while ! is_complete "${line#\$ }" && IFS= read -r more; do
            echo "$more"
            line+=$'\n'$more
        done
        line=${line//127.0.0.1:7410/$address}
        n_commands=$((n_commands + 1))
        # A status other than 0 is part of some sessions; they show it with `echo $?`.
        eval "(exit $status); ${line#\$ }" 2>&1 </dev/null && status=0 || status=$? ;;
    yes:*) ;;
    *)
        echo "$line" ;;
    esac
done <"$page" >"$fresh"

if [ $n_commands -eq 0 ]; then
    echo "FAILED: $page shows no session"
    exit 1
fi
if [ $update = yes ]; then
    cat "$fresh" >"$page"
elif ! diff -u --label "$page" --label 'what the program prints' "$page" "$fresh"; then
    echo "FAILED: $page shows other output than the program prints; tests/scripts/test_readme.sh --update mends it"
    exit 1
fi
echo "$page: $n_commands commands shown as they are"
