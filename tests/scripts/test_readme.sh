#!/usr/bin/env bash
# The sessions in README.md (```console blocks) are what the program prints today.
#
#   test_readme.sh TOOLWIRE            compares
#   test_readme.sh --update TOOLWIRE   writes the program's output into README.md
set -euo pipefail
update=no
if [ "${1:-}" = --update ]; then
    update=yes
    shift
fi
program=$(realpath "${1:?TOOLWIRE}")
[ -x "$program" ] || { echo "FAILED: there is no program $program"; exit 1; }
cd "$(dirname "$0")/../.."
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT

# Sessions call it by its name, and so does what they start.
PATH=$(dirname "$program"):$PATH

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
        n_commands=$((n_commands + 1))
        # A status other than 0 is part of some sessions; they show it with `echo $?`.
        eval "(exit $status); ${line#\$ }" 2>&1 </dev/null && status=0 || status=$? ;;
    yes:*) ;;
    *)
        echo "$line" ;;
    esac
done <README.md >"$fresh"

if [ $n_commands -eq 0 ]; then
    echo "FAILED: README.md shows no session"
    exit 1
fi
if [ $update = yes ]; then
    cat "$fresh" >README.md
elif ! diff -u --label README.md --label 'what the program prints' README.md "$fresh"; then
    echo "FAILED: README.md shows other output than the program prints; tests/scripts/test_readme.sh --update mends it"
    exit 1
fi
echo "readme: $n_commands commands shown as they are"
