#!/usr/bin/env bash
# The manual is well formed, and its SYNOPSIS and option list name the options that -h names.
#
#   test_manual.sh TOOLWIRE
set -euo pipefail
toolwire=${1:?TOOLWIRE}
page=$(cd "$(dirname "$0")/../.." && pwd)/docs/man/toolwire.1
if ! command -v mandoc >/dev/null; then
    echo "SKIPPED: mandoc is missing; scripts/setup test installs it"
    exit 77
fi

n_failed=0
fail() { echo "FAILED: $1"; n_failed=$((n_failed + 1)); }

mandoc -T lint -W warning "$page" || fail 'mandoc -T lint'

# Qq quotes to the end of its line; what is only a part of it stands between Qo and Qc.
too_far=$(grep -nE '(^\.| )Qq [^ ]+ .*[[:alnum:]]' "$page" || true)
[ -z "$too_far" ] || fail "these quotes reach too far: $too_far"

# Plain text, unwrapped, without overstriking; then one section of it.
text=$(mandoc -T ascii -O width=1000 "$page" | sed 's/.\x08//g')
section() { awk -v name="$1" '/^[A-Z]/ { inside = ($0 == name) } inside' <<<"$text"; }

# The option words of a text, sorted; -h and --help belong to every command and are left out.
options() { grep -oE -- '(^|[^A-Za-z0-9-])--?[A-Za-z][A-Za-z0-9-]*' | sed 's/^[^-]//' | sort -u | grep -vxE -- '-h|--help' || true; }

# compare WHAT EXPECTED FOUND
compare() {
    if [ "$2" != "$3" ]; then
        fail "$1:"
        diff <(echo "$2") <(echo "$3") || true
    fi
}

# The part of COMMANDS about one command.
subsection() { section COMMANDS | awk -v name="   $1" '/^   [^ ]/ { inside = ($0 == name) } inside'; }

n_options=0
# The names of commands in a help text; options begin with a dash.
commands_of() { sed -nE 's/^  ([a-z]+)  .*/\1/p'; }
commands=()
for command in $("$toolwire" -h | commands_of); do
    # A command that has commands of its own is described by them.
    mapfile -t subcommands < <("$toolwire" "$command" -h | commands_of)
    if [ ${#subcommands[@]} -eq 0 ]; then commands+=("$command"); else commands+=("${subcommands[@]/#/$command }"); fi
done
[ ${#commands[@]} -gt 0 ] || fail 'toolwire -h names no command'
for command in "${commands[@]}"; do
    # shellcheck disable=SC2086 # "template ls" is two words
    help=$("$toolwire" $command -h) || fail "toolwire $command -h does not exit with 0"
    in_help=$(options <<<"$help")
    n_options=$((n_options + $(wc -w <<<"$in_help")))
    [ -n "$in_help" ] || fail "toolwire $command -h names no option"
    compare "$command -h (<) and the SYNOPSIS of toolwire(1) (>) differ" "$in_help" \
        "$(section SYNOPSIS | grep "toolwire $command " | options)"
    # In the list, options stand at the beginning of their line, indented.
    compare "$command -h (<) and the options described in toolwire(1) (>) differ" "$in_help" \
        "$(subsection "$command" | grep -E '^ +-' | options)"
done

version=$("$toolwire" -V) || fail 'toolwire -V does not exit with 0'
[ "$("$toolwire" --version)" = "$version" ] || fail '-V and --version differ'

[ $n_failed -eq 0 ] && echo "manual: $n_options options agree"
[ $n_failed -eq 0 ]
