#!/usr/bin/env bash
# `toolwire analyze`, run as a person would, on a project made here: figures, exit status, files, a terminal.
#
#   analyze.sh TOOLWIRE
set -euo pipefail
toolwire=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
# Nobody's own state and settings.
export XDG_STATE_HOME=$dir/state HOME=$dir NO_COLOR= GIT_CONFIG_NOSYSTEM=1
unset GIT_DIR GIT_WORK_TREE
passed=0
failed=0

ok() { passed=$((passed + 1)); }
fail() {
    failed=$((failed + 1))
    printf '%s\n' "$@"
}

# analyze ARGUMENT…: its output, both streams, without the time that it took; the status is in $status.
analyze() {
    status=0
    got=$("$toolwire" analyze "$@" 2>&1 </dev/null) || status=$?
    got=$(sed -E 's/ in [0-9.]+ s$//' <<<"$got")
}

# expect STATUS OUTPUT ARGUMENT…
expect() {
    local wanted_status=$1 wanted=$2
    shift 2
    analyze "$@"
    if [ "$status" = "$wanted_status" ] && [ "$got" = "$wanted" ]; then
        ok
    else
        fail "toolwire analyze $*" " wanted $wanted_status: $wanted" "    got $status: $got"
    fi
}

# like STATUS PATTERN ARGUMENT…: a part of the output.
like() {
    local wanted_status=$1 wanted=$2
    shift 2
    analyze "$@"
    # shellcheck disable=SC2053 # a pattern is meant
    if [ "$status" = "$wanted_status" ] && [[ $got == *$wanted* ]]; then
        ok
    else
        fail "toolwire analyze $*" " wanted $wanted_status: …$wanted…" "    got $status: $got"
    fi
}

# unlike PATTERN ARGUMENT…
unlike() {
    local unwanted=$1
    shift
    analyze "$@"
    # shellcheck disable=SC2053
    if [[ $got != *$unwanted* ]]; then ok; else fail "toolwire analyze $*" " has: $unwanted" "$got"; fi
}

# ---- a project with a history ----

commit() {
    GIT_AUTHOR_DATE="$1 12:00 +0000" GIT_COMMITTER_DATE="$1 12:00 +0000" \
        git -C project -c user.name="$2" -c user.email=a@b -c commit.gpgsign=false commit -qam "$3"
}
mkdir -p project/src project/node_modules/x project/build
git -C project -c init.defaultBranch=main init -q
cat >project/src/knot.c <<'C'
int knot(int a, int b)
{
    if (a > 0) {
        for (int i = 0; i < a; i++) {
            if (b > i && b < a) {
                return 1;
            }
        }
    } else if (b) {
        return 2;
    }
    return 0;
}

int plain(void)
{
    return 1;
}
C
printf 'def one(x):\n    if x:\n        return 1\n    return 0\n' >project/src/one.py
printf 'function v() { return 1; }\n' >project/node_modules/x/index.js
printf 'build/\n' >project/.gitignore
printf 'int built(void)\n{\n    return 1;\n}\n' >project/build/out.c
git -C project add -f .gitignore src node_modules
commit 2026-03-01 Ada first
git -C project tag first
printf '\nint later(int x)\n{\n    return x ? 1 : 2;\n}\n' >>project/src/knot.c
commit 2026-03-10 Bob second
printf '# end\n' >>project/src/one.py
sed -i 's/return 2;/return 22;/' project/src/knot.c
commit 2026-03-11 Ada third

# ---- complexity ----

expect 0 'project: 2 files, 4 functions, 25 lines of code

            mean  median  90 %  99 %  max
cyclomatic   2.8       2     6     6    6
cognitive    2.5       1     8     8    8

0 errors (cyclomatic > 20, cognitive > 30), 0 warnings (> 10, > 15)

cognitive  functions
        0          1  ████████████
      1–5          2  ████████████████████████
     6–10          1  ████████████
    11–15          0
    16–22          0
    23–30          0
     > 30          0

The most complex functions
cognitive  cyclomatic  nesting  lines  function  place
        8           6        3     13  knot      src/knot.c:1
        1           2        0      4  later     src/knot.c:20
        1           2        1      4  one       src/one.py:1
        0           1        0      4  plain     src/knot.c:15

The most complex files (cyclomatic: the highest in it; cognitive: the sum)
score                            cyclomatic  cognitive  functions  lines  file
 6.30  ████████████████████████           6          9          3     21  src/knot.c
 2.10  ████████                           2          1          1      4  src/one.py

skipped: 1 ignored, 1 vendored' complexity project
first=$got
expect 0 "$first" complexity project --no-cache --threads 1
# The second one came from what the first one kept.
[ -n "$(find "$dir/state" -type f)" ] && ok || fail 'nothing is kept in the state folder'
expect 0 "$first" complexity project
mkdir own
expect 0 "$first" complexity project --state own
[ -n "$(find own -type f)" ] && ok || fail '--state keeps nothing there'

like 0 'The most complex functions
cognitive  cyclomatic  nesting  lines  function  place
        8           6        3     13  knot      src/knot.c:1

src/knot.c:1 knot: cognitive 8
  line 3: +1 if
  line 4: +2 for (1 for nesting)
  line 5: +3 if (2 for nesting)
  line 5: +1 &&
  line 9: +1 else' complexity project --functions 1 --top 0 --why
unlike 'The most complex f' complexity project --functions 0 --top 0
like 0 '2 files, 4 functions' complexity project --include '*.c' --include '*.py'
like 0 '1 file, 3 functions' complexity project --include '*.c'
like 0 '1 file, 1 function,' complexity project --exclude '*.c'
like 0 '1 file, 1 function,' complexity project --toolchain python-uv
like 0 '3 files, 5 functions' complexity project --all
like 0 '3 files, 5 functions' complexity project --no-ignore
like 0 '1 file, 3 functions' complexity project/src/knot.c
like 0 'cyclomatic (modified)' complexity project --variant modified
like 0 '1 error (cyclomatic > 5, cognitive > 30), ' complexity project --max-cyclomatic 5
like 0 '"total_functions": 4' complexity project --json
like 0 '"$schema"' complexity project --format sarif
like 0 '<checkstyle' complexity project --format checkstyle
like 0 '# ' complexity project --format summary
like 0 '# ' complexity project --format full
like 0 '# ' complexity project --format markdown
[ "$("$toolwire" analyze complexity project --format csv | wc -l)" = 5 ] && ok || fail 'csv has not 5 lines'
(cd project/src && "$toolwire" analyze complexity | grep -q '^\.: 2 files') && ok || fail 'the working folder is not the default'

# Where there are no functions, nothing is said of them.
mkdir bare_header
printf '#define ONE 1\n' >bare_header/one.h
expect 0 'bare_header: 1 file, 0 functions, 1 line of code

There is no function to measure.' complexity bare_header

# The verdict, for CI.
expect 0 "$first" complexity project --fail-over 8
like 1 'toolwire analyze complexity: over the limit:
  src/knot.c:1: knot: cyclomatic 6, cognitive 8' complexity project --fail-over 7
like 1 'later: cyclomatic 2, cognitive 1' complexity project --fail-over 1
# The report is whole, and an error leaves none: status 1 means both.
[ "$("$toolwire" analyze complexity project --csv 2>/dev/null)" = '' ] && ok || fail 'wrong use prints something'
whole=$("$toolwire" analyze complexity project --format csv)
over=$("$toolwire" analyze complexity project --format csv --fail-over 7 2>err) && fail 'nothing is over 7'
[ "$over" = "$whole" ] && grep -q '^toolwire analyze complexity: over the limit:$' err && ok || fail '--fail-over' "$over"
lost=$("$toolwire" analyze complexity nowhere --fail-over 7 2>err) && fail 'there is a folder nowhere'
[ "$lost" = '' ] && ! grep -q 'over the limit' err && ok || fail 'an error with --fail-over' "$lost" "$(cat err)"
like 0 '' complexity project --fail-over error
like 0 '' complexity project --fail-over warning
like 1 'knot' complexity project --fail-over error --max-cognitive 7
like 0 '' complexity project --fail-over error --max-cognitive 8
like 1 'knot' complexity project --fail-over warning --max-cognitive 8

# What would be passed over in silence.
like 2 '--why is for tables and json; csv has no place for it' complexity project --why --format csv
like 0 '"increments"' complexity project --why --json
like 2 "include: 'src/[a' is no glob: a bracket has no end" complexity project --include 'src/[a'
like 2 "exclude: '*.{c,h' is no glob: a brace has no end" complexity project --exclude '*.{c,h'
like 2 "exclude: '*.{c,h' is no glob" hotspots project --exclude '*.{c,h'

# Since a revision: only what has come counts for the verdict.
like 0 'since first: 1 added, 0 removed, 0 worse, 0 better' complexity project --since first
like 0 'added      0 → 1       0 → 2  later     src/knot.c:20' complexity project --since first
like 0 '' complexity project --since first --fail-over 2
like 1 'over the limit:
  src/knot.c:20: later: cyclomatic 2, cognitive 1' complexity project --since first --fail-over 1
like 0 '"since": {' complexity project --since first --json
like 0 '"added": 1' complexity project --since first --json
like 0 'later' complexity project --since first --format markdown

# ---- churn ----

until='--until 2026-03-15'
# shellcheck disable=SC2086 # two words
expect 0 'project: 3 commits in 30 days, 4 files, +31 −1 lines

The files that change most
score                            commits   +  −  authors  owner      last        file
 1.00  ████████████████████████        3  24  1        2  67 % Ada   2026-03-11  src/knot.c
 0.48  ███████████▌                    2   5  0        1  100 % Ada  2026-03-11  src/one.py' churn project $until --top 2
like 0 '2 commits in 5 days' churn project --until 2026-03-14 --days 5
like 0 '3 commits, 4 files' churn project --days 0
like 0 '1 commit, 4 files, +24' churn project --days 0 --rev first
like 0 'No commit is in the window' churn project --until 2020-01-01
like 0 '2 commits, 1 file,' churn project --days 0 --path src/one.py
like 0 'Folders' churn project --days 0 --directories
like 0 'Files that change together
commits  of first  of second  first                    second
      2      67 %      100 %  src/knot.c               src/one.py' churn project --days 0 --co-changes
like 0 'No two files change together.' churn project --days 0 --co-changes --path src/one.py
unlike 'Folders' churn project --until 2020-01-01 --directories
# What a partial clone lacks is not counted, and not told as 0.
git -C project config uploadpack.allowFilter true
git clone -q --bare --filter=blob:none "file://$dir/project" partial.git
like 0 'partial.git: 3 commits, 4 files

The files that change most' churn partial.git --days 0
like 0 '    –  ' churn partial.git --days 0
like 0 '"total_commits": 3' churn project --days 0 --json
like 0 'file_path,commits' churn project --days 0 --format csv
like 0 '# ' churn project --days 0 --format markdown
like 1 'No git repository' churn own
like 1 'nowhere' churn project --rev nowhere

# ---- hotspots ----

expect 0 'project: 2 files of 2 have functions and have changed (3 commits)

Complicated and often changed
score                            commits  changed  authors  cognitive  cyclomatic  lines  file
 1.00  ████████████████████████        3       25        2          9           6     21  src/knot.c
 0.00                                  2        5        1          1           2      4  src/one.py

skipped: 1 ignored, 1 vendored' hotspots project --days 0
like 0 'project: 1 file of 2 has functions and has changed (2 commits); 1 did not change' hotspots project --days 0 --path src/one.py
like 0 'No commit is in the window.' hotspots project --until 2020-01-01
like 0 '"total_hotspots": 2' hotspots project --days 0 --json
like 0 '# Hotspots' hotspots project --days 0 --format markdown --top 1
like 0 'src: 2 files of 2' hotspots project/src --days 0
like 1 'No git repository' hotspots own

# ---- wrong use ----

like 2 "there is no format 'sarf'; did you mean 'sarif'?" complexity --format sarf
like 2 "there is no format 'sarif'" churn --format sarif
like 2 '--json and --format csv' complexity --json --format csv
like 2 "unknown toolchain 'cobol'" complexity project --toolchain cobol
like 2 "'b' is a second one" complexity a b
like 2 'a command is missing'
like 2 'did you mean' complexty
like 1 'no file or folder' complexity missing

# ---- pictures ----

like 0 'project: 2 files' complexity project --svg map.svg --html map.html
like 0 'project: 2 files of' hotspots project --days 0 --svg hot.svg
like 0 'project: 3 commits' churn project --days 0 --html churn.html
for file in map.svg hot.svg; do
    if [ "$(head -c 5 $file)" = '<?xml' ] && [ "$(tail -n 1 $file)" = '</svg>' ]; then ok; else fail "$file is not whole"; fi
done
for file in map.html churn.html; do
    if [ "$(head -n 1 $file)" = '<!DOCTYPE html>' ] && [ "$(tail -n 1 $file)" = '</html>' ]; then ok; else fail "$file is not whole"; fi
done
[ "$(grep -c 'class="m"' map.svg)" = 2 ] && ok || fail 'map.svg has not two rectangles'
[ "$(grep -c '<circle' hot.svg)" = 2 ] && ok || fail 'hot.svg has not two points'
grep -q '2 files, 4 functions, 25 code lines; 3 commits</p>' churn.html && ok || fail 'churn.html does not count the commits'
like 0 '' complexity bare_header --svg one.svg
grep -q '1 file, 0 functions, 1 code line<' one.svg && ok || fail 'one.svg does not say 1 file'
like 0 '' hotspots project --until 2026-03-01 --days 1 --svg one.svg
grep -q '; 1 commit in 1 day<' one.svg && ok || fail 'one.svg does not say 1 commit'
cp map.svg map.before
like 0 '' complexity project --svg map.svg
cmp -s map.svg map.before && ok || fail 'the same project gives another picture'

# Nothing to draw: no picture, and the reason.
git clone -q --bare project bare.git
like 1 "there is nothing to draw, and nothing was written: 'bare.git' has no lines of code" churn bare.git --days 0 --svg none.svg --html none.html
like 1 'bare.git: 3 commits' churn bare.git --days 0 --svg none.svg
like 1 'nothing to draw' hotspots bare.git --days 0 --svg none.svg
like 0 'The repository is bare' hotspots bare.git --days 0
like 1 "'own' has no lines of code" complexity own --svg -
[ ! -e none.svg ] && [ ! -e none.html ] && ok || fail 'there is a picture of nothing'

# Where a picture goes is looked at before the work: here git would be asked first, and is never.
mkdir -p no_git locked
printf '#!/bin/sh\n: >%s/asked\nexit 1\n' "$dir" >no_git/git
chmod +x no_git/git
# refused STATUS OUTPUT ARGUMENT…
refused() {
    local wanted_status=$1 wanted=$2
    shift 2
    PATH=$dir/no_git:$PATH like "$wanted_status" "$wanted" "$@"
    [ ! -e asked ] && ok || fail "toolwire analyze $*: was done before it was refused"
    rm -f asked
}
for what in complexity churn hotspots; do
    refused 1 "toolwire analyze $what: cannot write 'missing/map.svg': No such file or directory" $what project --svg missing/map.svg
    expect 1 "toolwire analyze $what: cannot write 'missing/map.svg': No such file or directory" $what project --svg missing/map.svg
    refused 1 'names no file' $what project --html own/
    refused 1 'locked is there and is no regular file' $what project --html locked
    refused 2 '--svg and --html cannot both go to standard output' $what project --svg - --html -
    refused 2 '--html - and --format json cannot both go to standard output' $what project --html - --json
    refused 2 "--svg and --html are the same file, 'same'" $what project --svg same --html ./own/../same
done
[ ! -e same ] && [ ! -e missing ] && ok || fail 'a refused picture is there'
if [ "$(id -u)" != 0 ]; then
    chmod 500 locked
    refused 1 "cannot write 'locked/map.svg'" churn project --svg locked/map.svg
fi
# Work that fails leaves neither a file nor a trace of the look.
like 1 'nowhere' churn project --rev nowhere --svg left.svg
like 1 'nowhere' churn project --rev nowhere --svg map.svg
[ ! -e left.svg ] && [ -z "$(find . -maxdepth 1 -name '.tw-*')" ] && ok || fail 'failed work leaves a file'
cmp -s map.svg map.before && ok || fail 'failed work has changed a picture'

# Standard output instead of the tables; a file whose name is a dash has a folder before it.
"$toolwire" analyze complexity project --svg - >out.svg
cmp -s out.svg map.svg && ok || fail '--svg - is not the picture alone'
"$toolwire" analyze complexity project --svg ./- --html - >out.html
cmp -s ./- map.svg && cmp -s out.html map.html && ok || fail '--svg ./- --html - is not two pictures'
analyze hotspots project --days 0 --html -
[ $status = 0 ] && [[ $got == '<!DOCTYPE html>'*'</html>' ]] && ok || fail 'hotspots --html -' "$got"
analyze churn project --days 0 --svg -
[ $status = 0 ] && [[ $got == '<?xml'*'</svg>' ]] && ok || fail 'churn --svg -' "$got"
like 1 'over the limit' complexity project --svg - --fail-over 7

# ---- a terminal ----

# on_terminal COLUMNS ARGUMENT…: what a terminal of that width gets.
on_terminal() {
    local columns=$1
    shift
    script -qec "stty cols $columns; $(printf '%q ' "$toolwire" analyze "$@")" /dev/null </dev/null | tr -d '\r'
}
if command -v script >/dev/null && command -v stty >/dev/null; then
    coloured=$(NO_COLOR='' on_terminal 100 complexity project --max-cognitive 7)
    [[ $coloured == *$'\033[31m8'* ]] && ok || fail 'a value over its threshold is not red on a terminal' "$coloured"
    plain=$(NO_COLOR=1 on_terminal 100 complexity project --max-cognitive 7)
    [[ $plain != *$'\033['[0-9]* ]] && ok || fail 'NO_COLOR is not honoured' "$plain"
    mkdir -p project/src/a_rather_long_folder_name/and_another_one
    cp project/src/one.py project/src/a_rather_long_folder_name/and_another_one/一二三四五六七八.py
    git -C project add src
    commit 2026-03-12 'Somebody With A Very Long Name' fourth
    for columns in 80 60 40; do
        for what in 'complexity project' 'churn project --days 0 --directories --co-changes' 'hotspots project --days 0'; do
            # shellcheck disable=SC2086 # several words
            narrow=$(NO_COLOR=1 on_terminal $columns $what)
            # Sentences have no gaps: the terminal breaks them.
            widest=$(perl -CS -lne 'next unless /  /; $n = length($_) + (() = /[\x{4E00}-\x{9FFF}]/g); $m = $n if $n > $m; END { print $m }' <<<"$narrow")
            if [ "$widest" -le $columns ] && [[ $narrow == *…*八.py* ]]; then ok; else fail "$what: lines of $widest columns on $columns" "$narrow"; fi
        done
    done
    rm -r project/src/a_rather_long_folder_name
else
    echo 'not tried: a terminal (no script or stty)'
fi

# How far it is, on a terminal: a git that waits until it is told to go on stands for long work.
mkdir -p fake
mkfifo release
printf '#!/bin/sh\nread _ <%s/release\nexit 1\n' "$dir" >fake/git
chmod +x fake/git
if command -v script >/dev/null; then
    exec 3< <(PATH=$dir/fake:$PATH timeout 60 script -qec "$(printf '%q ' "$toolwire") analyze churn project" /dev/null </dev/null)
    shown=
    while [[ $shown != *'reading the history'* ]] && IFS= read -r -u 3 -n 1 -d '' letter; do shown+=$letter; done
    if [[ $shown == *'reading the history'* ]]; then
        ok
        echo >release
        # The line has gone when the result is printed.
        [[ $(cat <&3) == *$'\r\033[K'* ]] && ok || fail 'the line of progress stays'
    else
        fail 'there is no progress on a terminal' "$shown"
    fi
    exec 3<&-
fi

# ---- Ctrl-C ----

# A git that never ends stands for a long history; it says when it has been started.
mkfifo started
printf '#!/bin/sh\necho >%s/started\nexec sleep 600\n' "$dir" >fake/git
chmod +x fake/git
for signal in INT TERM; do
    # A job of a shell that reads no terminal would ignore SIGINT.
    PATH=$dir/fake:$PATH setsid bash -c 'trap - INT; exec "$@"' - "$toolwire" analyze churn project >said 2>&1 &
    job=$!
    read -r _ <started
    kill -s "$signal" "$job"
    status=0
    wait "$job" || status=$?
    if [ $status = 130 ] && [ "$(cat said)" = 'toolwire analyze churn: interrupted' ]; then
        ok
    else
        fail "SIG$signal: status $status: $(cat said)"
    fi
done

echo "analyze: $passed passed, $failed failed"
[ $failed -eq 0 ]
