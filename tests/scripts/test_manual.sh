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

help=$("$toolwire" validate -h) || fail 'toolwire validate -h does not exit with 0'
in_help=$(options <<<"$help")
[ -n "$in_help" ] || fail 'toolwire validate -h names no option'
compare 'validate -h (<) and the SYNOPSIS of toolwire(1) (>) differ' "$in_help" \
    "$(section SYNOPSIS | grep 'toolwire validate' | options)"
# In the list, an option stands at the beginning of its line, indented.
compare 'validate -h (<) and the options described in toolwire(1) (>) differ' "$in_help" \
    "$(section COMMANDS | grep -E '^ +-' | sed -E 's/^( +-[^ ]+(, -[^ ]+)?).*/\1/' | options)"

version=$("$toolwire" -V) || fail 'toolwire -V does not exit with 0'
[ "$("$toolwire" --version)" = "$version" ] || fail '-V and --version differ'
"$toolwire" -h | grep -qw validate || fail 'toolwire -h does not name the command validate'

[ $n_failed -eq 0 ] && echo "manual: $(wc -w <<<"$in_help") options agree"
[ $n_failed -eq 0 ]
