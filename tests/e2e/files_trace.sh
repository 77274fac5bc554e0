#!/usr/bin/env bash
# Nothing outside the root is opened or changed by the file tools, whatever they are asked: seen by strace, from
# outside of the program.
#
#   files_trace.sh DRIVER
set -uo pipefail

driver=$1
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
echo secret >"$folder/secret"
echo evil >"$folder/root-evil/secret"
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
search_files {"text":"secret"}
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

strace -f -y -s 4096 -o "$folder/trace" \
    -e trace=%file,openat2,open_by_handle_at,unlinkat,renameat,renameat2,linkat,symlinkat,mkdirat,mknodat,fchmodat \
    "$driver" "$root" <"$folder/calls" >"$folder/answers" || fail "the driver failed: $(cat "$folder/answers")"

# What it answers, in order: refusals where the path leads out, and the rest.
cut -d' ' -f1 "$folder/answers" | tail -n +2 | tr '\n' ' ' >"$folder/words"
expected="ok ok error error error error ok ok ok error error error error error error error error error error error error \
error error ok ok ok error error error error error error ok ok error error ok"
confined=$(head -1 "$folder/answers")
if [ "$confined" = "commands are confined" ]; then
    expected="$expected ok ok ok ok ok error error "
else
    echo "files_trace: $confined; only files are looked at"
    expected="$expected error error error error error error error "
fi
[ "$(cat "$folder/words")" = "$expected" ] || { cat "$folder/answers"; fail "other answers: $(cat "$folder/words")"; }
grep -q 'root:x:0\|^evil\|"secret' "$folder/answers" && { cat "$folder/answers"; fail "something outside was read"; }

# What is outside is as it was.
[ "$(cat "$folder/secret")" = secret ] || fail "the secret has changed"
[ "$(ls "$folder")" = "$(printf '%s\n' answers calls probe root root-evil secret trace words)" ] ||
    fail "something was made outside: $(ls "$folder")"
[ ! -e /tmp/toolwire-must-not-be-there ] || fail "something was made in /tmp"

perl "$here/trace_check.pl" "$folder/trace" "$root" /files-driver-begins /files-driver-ends || fail "see above"
# The check can see: without the root as its bound everything is a finding.
perl "$here/trace_check.pl" "$folder/trace" /nowhere /files-driver-begins /files-driver-ends >/dev/null &&
    fail "the check sees nothing"
echo "files_trace: $(wc -l <"$folder/calls") of $(wc -l <"$folder/calls") calls stayed beneath the root"
