#!/usr/bin/env bash
# `toolwire queue` from outside, with a hub and without; hubs that cannot have their queue.
#
#   queue.sh TOOLWIRE
set -euo pipefail
toolwire=$(realpath "${1:?TOOLWIRE}")
work=$(mktemp -d)
hub=
waiter=
addin=
end() {
    for pid in $hub $waiter $addin; do
        kill -KILL "$pid" 2>/dev/null || true
    done
    chmod -R u+w "$work"
    rm -rf "$work"
}
trap end EXIT
cd "$work"
mkdir tmp run home
chmod 700 run
export TMPDIR=$work/tmp XDG_RUNTIME_DIR=$work/run HOME=$work/home XDG_STATE_HOME=$work/state
unset XDG_CONFIG_HOME NOTIFY_SOCKET
command -v curl >/dev/null || { echo 'SKIPPED: curl is missing; scripts/setup test installs it'; exit 77; }
n_run=0
n_failed=0

# expect STATUS WANTED COMMAND…: its status, and what it prints to both.
expect() {
    local wanted_status=$1 wanted=$2 got status=0
    shift 2
    n_run=$((n_run + 1))
    got=$("$@" 2>&1) || status=$?
    if [ "$status" != "$wanted_status" ] || [ "$got" != "$wanted" ]; then
        printf 'FAILED: %s\n wanted %s: %s\n    got %s: %s\n' "$*" "$wanted_status" "$wanted" "$status" "$got"
        n_failed=$((n_failed + 1))
    fi
}

# matches STATUS PATTERN COMMAND…
matches() {
    local wanted_status=$1 pattern=$2 got status=0
    shift 2
    n_run=$((n_run + 1))
    got=$("$@" 2>&1) || status=$?
    # shellcheck disable=SC2053 # a pattern
    if [ "$status" != "$wanted_status" ] || [[ $got != $pattern ]]; then
        printf 'FAILED: %s\n wanted %s: %s\n    got %s: %s\n' "$*" "$wanted_status" "$pattern" "$status" "$got"
        n_failed=$((n_failed + 1))
    fi
}

cat >tools.json <<'END'
[{"name":"echo","description":"d","input_schema":{"type":"object"},"output_schema":{"type":"object"},"command":["cat"]},
 {"name":"hold","description":"d","input_schema":{"type":"object"},"command":["sh","-c","echo >begun; cat go"]},
 {"name":"tell","description":"d","input_schema":{"type":"object"},"command":["sh","-c","echo what-it-told"]},
 {"name":"fail","description":"d","input_schema":{"type":"object"},"command":["false"]}]
END

run=() # what runs it
start() {
    mkfifo ready
    "${run[@]}" "$toolwire" up --json --http 127.0.0.1:0 --tools tools.json --no-toolkit --pipe "$work/pipe" "$@" >ready 2>log </dev/null &
    hub=$!
    IFS= read -r line <ready || { echo 'FAILED: the hub does not start'; cat log; exit 1; }
    rm ready
    url=http://$(sed 's/.*"http":{"address":"\([^"]*\)".*/\1/' <<<"$line")
}

stop() {
    kill "$hub"
    wait "$hub" || true
    hub=
}

die() {
    kill -KILL "$hub"
    wait "$hub" 2>/dev/null || true
    hub=
}

# enqueue BODY: the job's id.
enqueue() {
    curl -s "$url/enqueue" -H 'Content-Type: application/json' -d "$1" | sed 's/.*"jobId":"\([^"]*\)".*/\1/'
}

# Both ways to the queue say the same.
look() {
    matches 0 "$second  SUCCEEDED  20*Z  fail  ERROR
$first  SUCCEEDED  20*Z  echo" "$toolwire" queue ls
    matches 0 "$second  SUCCEEDED*there may be more; see --before and --limit" "$toolwire" queue ls --limit 1
    matches 0 "$first  SUCCEEDED*  echo" "$toolwire" queue ls --before "$second"
    matches 0 '{"ok":true,"jobs":\[{"ok":true,"jobId":"*"next":null}' "$toolwire" queue ls --json
    expect 0 'toolwire queue ls: there are no such jobs' "$toolwire" queue ls --only dead
    matches 0 "jobId             $first
method            echo
state             SUCCEEDED
*params_json       {\"n\":12345678901234567890.10}
result
{
  \"n\": 12345678901234567890.10,
*" "$toolwire" queue show "$first"
    matches 0 '{"ok":true,"jobId":"'"$first"'",*"result":{"jsonrpc":"2.0",*"result":{"n":12345678901234567890.10,"ok":true,*}}}' \
        "$toolwire" queue show "$first" --json
    matches 0 '{"n":12345678901234567890.10,"ok":true,"code":"OK",*}' "$toolwire" queue result "$first" --json
    matches 1 '{*"ok": false,*"code": "ERROR",*}' "$toolwire" queue result "$second"
    expect 1 'toolwire queue retry: the job has succeeded; only those that failed can be retried' \
        "$toolwire" queue retry "$first"
    expect 1 'toolwire queue cancel: the job has ended' "$toolwire" queue cancel "$first"
    matches 1 '{"ok":false,"code":"ALREADY_OVER",*}
toolwire queue cancel: the job has ended' "$toolwire" queue cancel "$first" --json
    expect 1 'toolwire queue show: jobId: that is no id of a job' "$toolwire" queue show 'no such/job'
    expect 1 'toolwire queue show: there is no such job' "$toolwire" queue show job-9-00000000000000000000000000000000
    expect 0 '0 jobs forgotten' "$toolwire" queue purge --older 1h
}

# ---- with a hub, and without ----

start
first=$(enqueue '{"method":"echo","params":{"n":12345678901234567890.10}}')
matches 0 '{*"ok":true,*' "$toolwire" queue result "$first" --json --wait 60s
second=$(enqueue '{"method":"fail"}')
matches 1 '{*"ok":false,*' "$toolwire" queue result "$second" --json --wait 60s
look
stop
look

# ---- changes ----

start
later=$(enqueue '{"method":"echo","delayMs":3600000}')
expect 1 'toolwire queue result: the job has not ended' "$toolwire" queue result "$later"
expect 0 "$later is CANCELLED" "$toolwire" queue cancel "$later"
expect 0 "$later is ENQUEUED" "$toolwire" queue retry "$later"
matches 0 '{*"ok":true,*' "$toolwire" queue result "$later" --json --wait 60s
expect 0 '{"ok":true,"purged":0}' "$toolwire" queue purge --only cancelled --only dead --json
expect 0 '3 jobs forgotten' "$toolwire" queue purge --only succeeded
later=$(enqueue '{"method":"echo","delayMs":3600000}')
matches 1 "*another process has the queue at $work/state/toolwire/queue.db" \
    "$toolwire" queue ls --queue "$work/state/toolwire/queue.db"
matches 1 "*another process has the queue at $work/state/toolwire/queue.db" \
    "$toolwire" up --http off --pipe "$work/pipe2" --state other --queue "$work/state/toolwire/queue.db"
expect 0 600 stat -c %a run/toolwire/hub-*-queue.sock
expect 0 600 stat -c %a state/toolwire/queue.db
stop
matches 0 "$later  ENQUEUED*" "$toolwire" queue ls
expect 1 'toolwire queue result: the job has not ended' "$toolwire" queue result "$later" --wait 1h
expect 0 "$later is CANCELLED" "$toolwire" queue cancel "$later"
expect 0 "$later is ENQUEUED" "$toolwire" queue retry "$later"
expect 0 "$later is CANCELLED" "$toolwire" queue cancel "$later"
expect 0 '1 job forgotten' "$toolwire" queue purge --all

# ---- hubs that go while somebody waits ----

# await JOB: asks for its result in the background, and returns when the hub has the question.
await() {
    "$toolwire" queue result "$1" --wait 1h >answer 2>&1 &
    waiter=$!
    # 03: the hub has accepted it; nobody else has come to a socket of this one.
    until grep -qE " 0001 03 +[0-9]+ $work/run/toolwire/" /proc/net/unix &&
        grep -q '^State:.S' "/proc/$waiter/status"; do :; done
}

# answered KIND STATUS WANTED: what it said then, by expect or matches.
answered() {
    answer_status=0
    wait "$waiter" || answer_status=$?
    waiter=
    "$@" said
}
said() {
    cat answer
    return $answer_status
}

mkfifo begun go
start
job=$(enqueue '{"method":"hold"}')
read -r _ <begun
await "$job"
kill "$hub"
until ! curl -s -o /dev/null "$url/healthz"; do :; done
echo 'at the end' >go
answered matches 0 '{*"result": "at the end*'
wait "$hub" || true
start
job=$(enqueue '{"method":"echo","delayMs":3600000}')
await "$job"
stop
gone='toolwire queue result: the hub has ended before the job did, which the next hub goes on with'
answered expect 1 "$gone"
start
await "$job"
die
answered expect 1 "$gone"
start
job=$(enqueue '{"method":"hold"}')
read -r _ <begun
await "$job"
die
answered matches 1 '{*"code": "INTERRUPTED",*'
echo 'too late' 1<>go

# ---- an application that comes later ----

echo '[{"name":"wall","description":"d","input_schema":{"type":"object"},"command":["cat"]}]' >walls.json
start --pipe-tools walls.json
job=$(enqueue '{"method":"wall","maxAttempts":1}')
matches 0 "$job  ENQUEUED  *  wall  UNAVAILABLE*" "$toolwire" queue ls --limit 1
matches 0 '*state             ENQUEUED
*attempts          0
*error_msg         nobody who has the command is there now: the job waits for it*' "$toolwire" queue show "$job"
"$toolwire" addin --pipe "$work/pipe" --tools walls.json 2>/dev/null &
addin=$!
matches 0 '{*"ok": true,*' "$toolwire" queue result "$job" --wait 60s
matches 0 '*attempts          1
*' "$toolwire" queue show "$job"
kill "$addin"
wait "$addin" || true
addin=
stop

# ---- bytes that the disk has changed ----

start
job=$(enqueue '{"method":"tell"}')
matches 0 '*what-it-told*' "$toolwire" queue result "$job" --wait 60s
stop
file=state/toolwire/queue.db
LC_ALL=C grep -q what-it-told "$file"
LC_ALL=C sed -i 's/what-it-told/what-it-sold/' "$file"
damaged="what the queue's file holds of this job is damaged (checksum): it is not given out"
matches 1 "{*\"ok\": false,*\"code\": \"RECORD_DAMAGED\",*$damaged*" "$toolwire" queue result "$job"
start
expect 0 500 curl -s -o /dev/null -w '%{http_code}' "$url/get_result?jobId=$job"
matches 0 '{"ok":false,"code":"RECORD_DAMAGED",*' curl -s "$url/get_result?jobId=$job"
expect 1 "toolwire queue result: $damaged" "$toolwire" queue result "$job"
matches 0 "*state             SUCCEEDED
*error_code        RECORD_DAMAGED
*$damaged*" "$toolwire" queue show "$job"
matches 0 "*$job  SUCCEEDED*" "$toolwire" queue ls --limit 1
for body in "$(curl -s "$url/job/$job")" "$("$toolwire" queue show "$job")" "$("$toolwire" queue result "$job" 2>&1)"; do
    n_run=$((n_run + 1))
    [[ $body != *what-it-sold* ]] || { echo 'FAILED: a damaged result is served'; n_failed=$((n_failed + 1)); }
done
expect 0 1 grep -c "$job: $damaged" log
expect 0 1 grep -c . log
stop

# Jobs that applications fetch: what is damaged is passed over, by method or not, and named in the log.
for query in '' '&methods=app.do'; do
    rm -rf spoilt
    printf '{"queue":{"pull":true}}' >pull.json
    start --state spoilt --config pull.json
    job=$(enqueue '{"method":"app.do","params":{"on":"first-of-two"}}')
    other=$(enqueue '{"method":"app.do","params":{"on":"second-of-two"}}')
    stop
    LC_ALL=C sed -i 's/first-of-two/f1rst-of-two/' spoilt/queue.db
    start --state spoilt --config pull.json
    expect 0 200 curl -s -w '%{http_code}' -o fetched "$url/pending_request?worker=me$query"
    matches 0 "*$other.1*second-of-two*" cat fetched
    expect 1 "toolwire queue result: $damaged" "$toolwire" queue result "$job" --state spoilt --wait 60s
    expect 0 1 grep -c "$job: $damaged" log
    expect 0 1 grep -c . log
    stop
done

# A copy of a queue that is in use, while jobs come: it is whole, and has what was acknowledged before.
if command -v sqlite3 >/dev/null; then
    start --state live
    job=$(enqueue '{"method":"tell"}')
    matches 0 '*what-it-told*' "$toolwire" queue result "$job" --state live --wait 60s
    (while :; do enqueue '{"method":"tell","delayMs":3600000}' >/dev/null; done) 2>/dev/null &
    waiter=$!
    expect 0 '' sqlite3 -cmd '.timeout 10000' live/queue.db '.backup backup.db'
    expect 0 '' sqlite3 -cmd '.timeout 10000' live/queue.db "VACUUM INTO 'vacuum.db'"
    kill "$waiter"
    wait "$waiter" 2>/dev/null || true
    waiter=
    for copy in backup.db vacuum.db; do
        expect 0 ok sqlite3 $copy 'PRAGMA integrity_check'
        matches 0 '*what-it-told*' "$toolwire" queue result "$job" --queue $copy
    done
    matches 0 '*database is locked*' bash -c '! sqlite3 live/queue.db "DELETE FROM job"'
    stop
else
    echo 'NOT TESTED: sqlite3 is missing, with which a queue is copied; scripts/setup test installs it'
fi

# A page that is damaged: the file and the remedy are named, by the hub, in its log, and without one.
start --state torn
first=$(enqueue "{\"method\":\"tell\",\"params\":{\"on\":\"the-page-before\",\"x\":\"$(printf '%03000d' 0)\"}}")
matches 0 '*what-it-told*' "$toolwire" queue result "$first" --state torn --wait 60s
command -v sqlite3 >/dev/null && expect 0 '' sqlite3 -cmd '.timeout 10000' torn/queue.db '.backup torn-copy.db'
job=$(enqueue "{\"method\":\"tell\",\"params\":{\"on\":\"this-very-page\",\"x\":\"$(printf '%03000d' 0)\"}}")
matches 0 '*what-it-told*' "$toolwire" queue result "$job" --state torn --wait 60s
last=$(enqueue "{\"method\":\"tell\",\"params\":{\"on\":\"the-page-behind\",\"x\":\"$(printf '%03000d' 0)\"}}")
matches 0 '*what-it-told*' "$toolwire" queue result "$last" --state torn --wait 60s
stop
at=$(LC_ALL=C grep -obUa this-very-page torn/queue.db | head -n 1 | cut -d: -f1)
[ "$at" -gt 4096 ]
head -c 64 /dev/zero | tr '\0' '\377' | dd of=torn/queue.db bs=1 seek=$((at / 4096 * 4096)) conv=notrunc status=none
start --state torn
matches 1 "toolwire queue show: *damaged*sqlite3 *torn/queue.db .dump*" "$toolwire" queue show "$job" --state torn
matches 0 '{"ok":false,"code":"QUEUE_DAMAGED",*stop the hub, move it aside*.dump*' curl -s "$url/job/$job"
expect 0 1 grep -c 'torn/queue.db is damaged: stop the hub, move it aside .* \.dump' log
stop
matches 1 "toolwire queue show: the queue at torn/queue.db is damaged (*): *sqlite3 torn/queue.db .dump*" "$toolwire" queue show "$job" --state torn
# The remedy.
if command -v sqlite3 >/dev/null; then
    mkdir damaged
    mv torn/queue.db* damaged/
    sqlite3 damaged/queue.db .dump >readable.sql 2>/dev/null || true
    expect 0 1 grep -c the-page-before readable.sql
    expect 1 0 grep -c this-very-page readable.sql
    expect 0 1 grep -c the-page-behind readable.sql
    expect 0 3 grep -c "INSERT INTO outcome .*what-it-told" readable.sql
    cp torn-copy.db torn/queue.db
    chmod 600 torn/queue.db
    start --state torn
    matches 0 '*what-it-told*' "$toolwire" queue result "$first" --state torn
    stop
    mv torn/queue.db* damaged/
    start --state torn
    job=$(enqueue '{"method":"tell"}')
    matches 0 '*what-it-told*' "$toolwire" queue result "$job" --state torn --wait 60s
    stop
fi

# ---- a disk that is full, and a queue that is ----

# No file of it grows beyond so many KiB.
limited() {
    ulimit -f "$1"
    exec "${@:2}"
}
put() {
    curl -s -o put.out -w '%{http_code}' "$url/enqueue" -H 'Content-Type: application/json' -d @big.json
}
printf '{"method":"tell","params":{"x":"%040000d"},"delayMs":3600000}' 0 >big.json
run=(limited 600)
start --state small
n_put=0
while [ "$(put)" = 200 ] && [ $n_put -lt 1000 ]; do
    n_put=$((n_put + 1))
done
for _ in 1 2 3 4 5 6 7 8 9 10; do
    expect 0 507 put
done
expect 0 '{"ok":false,"code":"DISK_FULL","msg":"the disk of the queue is full: nothing was recorded"' cut -d, -f1-3 put.out
expect 0 1 grep -c 'queue: the disk of .*small/queue.db is full' log
expect 0 1 grep -c . log
# What was taken is there, and can be read.
expect 0 "$n_put" bash -c '"$0" queue ls --state small --limit 1000 | grep -c ENQUEUED' "$toolwire"
stop
run=()
start --state small --max-waiting "$n_put"
expect 0 503 put
matches 0 '{"ok":false,"code":"QUEUE_FULL","msg":"as many jobs wait as may (max_waiting)"*' cat put.out
stop

# ---- wrong use ----

expect 1 'toolwire queue ls: there is no hub, and no queue at none.db' "$toolwire" queue ls --queue none.db
expect 1 'toolwire queue ls: there is no hub, and no queue at elsewhere/queue.db' "$toolwire" queue ls --state elsewhere
expect 1 'toolwire queue ls: there is no queue: the settings say off' "$toolwire" queue ls --queue off
expect 2 "toolwire queue show: which job? 'toolwire queue ls' lists them" "$toolwire" queue show
expect 2 "toolwire queue show: one job at a time, but got 'b', too" "$toolwire" queue show a b
expect 2 "toolwire queue ls: it takes no operand, but got 'x'" "$toolwire" queue ls x
expect 2 "toolwire queue ls: --only: there is no state 'lost'" "$toolwire" queue ls --only lost
expect 2 'toolwire queue ls: --limit: expected a number from 1 to 1000' "$toolwire" queue ls --limit 0
expect 2 "toolwire queue result: --wait is 'soon'; it needs a number and a unit: 500ms, 30s, 5m" "$toolwire" queue result a --wait soon
expect 2 'toolwire queue purge: which ones? give --only, --older or --all' "$toolwire" queue purge
expect 2 "toolwire queue purge: --only: 'running' is no state that a job ends in" "$toolwire" queue purge --only running
matches 2 "toolwire queue: unknown command 'list'*" "$toolwire" queue list

# ---- hubs without a queue ----

refused() {
    matches 1 "$1" timeout 60 "$toolwire" up --http off --pipe "$work/pipe2" "${@:2}"
}
echo 'this is no database, but it is longer than the head of one, which has a hundred bytes in the first of its pages.' >damaged.db
refused 'toolwire up: damaged.db is no queue: it is not a database; move it aside' --state other --queue damaged.db
refused 'toolwire up: cannot *the queue /proc/none/queue.db: No such file or directory;*' --state other --queue /proc/none/queue.db
# What is not ours is refused as it is: no byte of it changes, and nothing comes to lie beside it.
untouched() {
    local before after
    before=$(cksum "$1")
    refused "toolwire up: $2" --state other --queue "$1"
    matches 1 "toolwire queue ls: $2" "$toolwire" queue ls --queue "$1"
    after=$(cksum "$1"*)
    expect 0 "$before" echo "$after"
}
# A database of nobody in particular with a table: that of a queue without its number (byte 68).
cp state/toolwire/queue.db foreign.db
printf '\0\0\0\0' | dd of=foreign.db bs=1 seek=68 conv=notrunc status=none
printf '\1\1' | dd of=foreign.db bs=1 seek=18 conv=notrunc status=none # without a log
untouched foreign.db "foreign.db is no queue: it is another program's database; move it aside"
: >emptied.db
untouched emptied.db 'the queue at emptied.db is empty,*remove the file to begin a new queue'
cp state/toolwire/queue.db lost.db-wal
matches 1 'toolwire up: there is no queue at lost.db, but its log is (lost.db-wal): *' \
    timeout 60 "$toolwire" up --http off --pipe "$work/pipe2" --state other --queue lost.db
mkdir folder.db
refused 'toolwire up: *folder.db*' --state other --queue folder.db
cp state/toolwire/queue.db newer.db
# The version is at byte 60 of an SQLite file, 32 bits, big-endian.
printf '\x7f\xff\xff\xff' | dd of=newer.db bs=1 seek=60 conv=notrunc status=none
refused 'toolwire up: *newer.db*newer*' --state other --queue newer.db
if [ "$(id -u)" != 0 ]; then
    mkdir closed
    chmod 500 closed
    refused 'toolwire up: *closed/queue.db*' --state closed
    mkdir still
    cp state/toolwire/queue.db still
    chmod 400 still/queue.db
    chmod 500 still
    expect 1 'toolwire queue ls: the queue at still/queue.db, or the folder around it, cannot be written, which reading it needs, too: copy all files that begin so, and name the copy by --queue' \
        "$toolwire" queue ls --queue still/queue.db
fi
expect 2 'toolwire up: --queue: expected the path of a file, or off' "$toolwire" up --queue ''
start --queue off
expect 0 404 curl -s -o /dev/null -w '%{http_code}' "$url/jobs"
matches 0 '*"status":"ok"*' curl -s "$url/healthz"
stop

echo "$((n_run - n_failed)) passed, $n_failed failed"
[ $n_failed -eq 0 ]
