#!/usr/bin/env bash
# Nothing outside the root is opened or changed by the file tools, whatever they are asked: seen by strace, from
# outside of the program. DRIVER has the tools and nothing else; TOOLWIRE is asked the same as an agent, by the script
# model.
#
#   files_trace.sh DRIVER [TOOLWIRE]
set -uo pipefail

driver=$1
toolwire=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "files_trace: $*"; exit 1; }

command -v strace >/dev/null || skip "there is no strace"
command -v perl >/dev/null || skip "there is no perl"
folder=$(mktemp -d "${TMPDIR:-/tmp}/tw-trace-XXXXXX") || fail "no folder for this test"
trap 'rm -rf "$folder"' EXIT
folder=$(cd "$folder" && pwd -P)
strace -f -o "$folder/probe" true 2>/dev/null || skip "processes may not be traced here"
# A leak check stops the program to look at it, which a traced one cannot be.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"

root=$folder/root
mkdir -p "$root/src" "$folder/root-evil"
echo 'int main(void);' >"$root/src/main.c"
echo outside-content >"$folder/secret"
echo outside-content >"$folder/root-evil/secret"
ln -s ../secret "$root/link"
ln -s .. "$root/up"
ln -s /etc "$root/etc"
ln -s /proc/self/root "$root/magic"
ln -s src "$root/inside"
ln -s ../new "$root/dangling"
mkfifo "$root/fifo"
truncate -s 50M "$root/large"

cat >"$folder/calls" <<CALLS
list_files {}
list_files {"path":"src"}
list_files {"path":".."}
list_files {"path":"up"}
list_files {"path":"/etc"}
list_files {"path":"etc"}
read_file {"path":"src/main.c"}
read_file {"path":"inside/main.c"}
read_file {"path":"$root/src/main.c"}
read_file {"path":"../secret"}
read_file {"path":"$folder/secret"}
read_file {"path":"$folder/root-evil/secret"}
read_file {"path":"../root-evil/secret"}
read_file {"path":"src/../../secret"}
read_file {"path":"link"}
read_file {"path":"up/secret"}
read_file {"path":"etc/passwd"}
read_file {"path":"/etc/passwd"}
read_file {"path":"magic/etc/passwd"}
read_file {"path":"/proc/self/environ"}
read_file {"path":"/proc/self/root/etc/passwd"}
read_file {"path":"fifo"}
read_file {"path":"large"}
write_file {"path":"src/new.c","content":"x"}
write_file {"path":"deep/er/new.c","content":"x"}
write_file {"path":"inside/main.c","content":"y"}
write_file {"path":"../new","content":"x"}
write_file {"path":"link","content":"x"}
write_file {"path":"dangling","content":"x"}
write_file {"path":"dangling/a","content":"x"}
write_file {"path":"up/new","content":"x"}
write_file {"path":"/tmp/toolwire-must-not-be-there","content":"x"}
search_files {"pattern":"**"}
search_files {"text":"outside-"}
search_files {"text":"root","path":"etc"}
search_files {"text":"root","path":".."}
search_files {"pattern":"../*"}
run_command {"command":"cat","args":["src/main.c"]}
run_command {"command":"cat","args":["/etc/passwd","../secret","link","magic/etc/passwd"]}
run_command {"command":"ls","args":["..","/","/home","/tmp"]}
run_command {"command":"echo","args":["hi; cat /etc/passwd; \$(id) > ../new"]}
run_command {"command":"sh","args":["-c","cat ../secret; echo x > ../new; rm -rf ../secret ..; mv src ..; ln ../secret s; chmod 777 ../secret; mkdir ../d; echo fine > in; rm in"]}
run_command {"command":"cat /etc/passwd"}
run_command {"command":"/bin/cat","args":["/etc/passwd"]}
CALLS

calls="%file,openat2,open_by_handle_at,unlinkat,renameat,renameat2,linkat,symlinkat,mkdirat,mknodat,fchmodat"

# What is outside is as it was.
check_outside() {
    [ "$(cat "$folder/secret")" = outside-content ] || fail "$1: the secret has changed"
    [ "$(ls "$folder" | grep -v '^state$')" = "$(printf '%s\n' answers calls probe root root-evil secret trace words)" ] ||
        fail "$1: something was made outside: $(ls "$folder")"
    [ ! -e /tmp/toolwire-must-not-be-there ] || fail "$1: something was made in /tmp"
}

# run NAME EXPECTED [STRACE OPTION…]: all calls, traced; the answers' first words must be as expected.
run() {
    local name=$1 expected=$2
    shift 2
    strace -f -y -s 4096 -o "$folder/trace" -e trace="$calls,landlock_create_ruleset" "$@" \
        "$driver" "$root" <"$folder/calls" >"$folder/answers" || fail "$name: the driver failed: $(cat "$folder/answers")"
    cut -d' ' -f1 "$folder/answers" | tail -n +2 | tr '\n' ' ' >"$folder/words"
    [ "$(cat "$folder/words")" = "$expected" ] ||
        { cat "$folder/answers"; fail "$name: other answers: $(cat "$folder/words")"; }
    grep -q 'root:x:0\|outside-content' "$folder/answers" && { cat "$folder/answers"; fail "$name: something outside was read"; }
    check_outside "$name"
    perl "$here/trace_check.pl" "$folder/trace" "$root" /files-driver-begins /files-driver-ends || fail "$name: see above"
    # The check can see: without the root as its bound everything is a finding.
    perl "$here/trace_check.pl" "$folder/trace" /nowhere /files-driver-begins /files-driver-ends >/dev/null &&
        fail "$name: the check sees nothing"
    echo "files_trace: $name: $(wc -l <"$folder/calls") of $(wc -l <"$folder/calls") calls stayed beneath the root"
}

# As this system is.
files="ok ok error error error error ok ok ok error error error error error error error error error error error error \
error error ok ok ok error error error error error error ok ok error error ok"
refused=" error error error error error error error "
if "$driver" "$root" </dev/null | grep -q "^commands are confined$"; then
    run "this system" "$files ok ok ok ok ok error error "
else
    echo "files_trace: $("$driver" "$root" </dev/null); only files are looked at"
    run "this system" "$files$refused"
fi

# As on one that has neither openat2 nor landlock: no link is followed, and no command is started.
files="ok ok error error error error ok error ok error error error error error error error error error error error error \
error error ok ok error error error error error error error ok ok error error ok"
run "old kernel" "$files$refused" -e inject=openat2:error=ENOSYS -e inject=landlock_create_ruleset:error=EOPNOTSUPP
grep -q "^commands are refused: this system has no landlock" "$folder/answers" || fail "old kernel: $(head -1 "$folder/answers")"

[ -n "$toolwire" ] || exit 0

# The agent, with its history beside the root. The first and the last call are the marks.
agent() {
    perl -e '
        use strict; use warnings;
        my $n = 0;
        my @calls = ("read_file {\"path\":\"trace-begins\"}", <STDIN>, "read_file {\"path\":\"trace-ends\"}");
        for (@calls) {
            chomp;
            s/([\\"])/\\$1/g;
            printf "{\"id\":\"r%d\",\"kind\":\"user_message\",\"message\":\"/call %s\"}\n", ++$n, $_;
        }' <"$folder/calls" >"$folder/words"
    XDG_STATE_HOME=$folder/state XDG_RUNTIME_DIR=$folder/state strace -f -y -s 4096 -o "$folder/trace" -e trace="$calls" \
        "$toolwire" agent --config none --alone --model script --root "$root" --state "$folder/state" --tool '*=allow' \
        --commands cat --commands echo --commands ls --commands sh --grace-ms 4m <"$folder/words" >"$folder/answers" ||
        fail "the agent failed: $(tail -3 "$folder/answers")"
}
mkdir "$folder/state"
chmod 700 "$folder/state"
agent
n=$(($(wc -l <"$folder/calls") + 2))
[ "$(grep -c '"type":"done"' "$folder/answers")" = "$n" ] || { cat "$folder/answers"; fail "agent: not $n answers"; }
[ "$(grep -c '"type":"tool_result"' "$folder/answers")" = "$n" ] || { cat "$folder/answers"; fail "agent: not $n results"; }
grep -q 'root:x:0\|outside-content' "$folder/answers" && { cat "$folder/answers"; fail "agent: something outside was read"; }
check_outside agent
perl "$here/trace_check.pl" "$folder/trace" "$root" trace-begins trace-ends "$folder/state" || fail "agent: see above"
echo "files_trace: agent: $n of $n calls stayed beneath the root"
