#!/usr/bin/env bash
# Settings and tools files as people write them: with comments and "$schema"; commands whose arguments are files beside
# the tools file, for every program that reads one, in whatever folder it was started.
#
#   settings.sh TOOLWIRE
set -euo pipefail
toolwire=$(realpath "${1:?TOOLWIRE}")
work=$(realpath "$(mktemp -d)")
pids=()
end() {
    for pid in "${pids[@]}"; do
        kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap end EXIT
mkdir -p "$work/mine" "$work/elsewhere" "$work/tmp"
export HOME=$work TMPDIR=$work/tmp
unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_RUNTIME_DIR
cd "$work/elsewhere"
n_run=0
n_failed=0

# is NAME WANTED GOT
is() {
    n_run=$((n_run + 1))
    if [ "$2" != "$3" ]; then
        printf 'FAILED: %s\n wanted: %s\n    got: %s\n' "$1" "$2" "$3"
        n_failed=$((n_failed + 1))
    fi
}

# until_there WHAT COMMAND…: the command succeeds at last, within a minute.
until_there() {
    local what=$1 deadline=$((SECONDS + 60))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $deadline ] || { echo "FAILED: $what did not come"; cat "$work"/*.log; exit 1; }
        sleep 0.05
    done
}

# ---- the settings ----

cat >"$work/mine/settings.json" <<'END'
{
  // What an editor completes by.
  "$schema": "https://example.org/toolwire.json", /* any address, or a file:
     "tools": "not.json" */
  "tools": "tools.json", // beside this file
  "limits": { "page_size": 5, },
}
END
cat >"$work/mine/tools.json" <<'END'
[{ "name": "add", "description": "d", "input_schema": { "type": "object" }, "command": ["sh", "add.sh"] },
 { "name": "below", "description": "d", "input_schema": { "type": "object" }, "command": ["sh", "pwd.sh"], "cwd": "sub" },
 { "name": "above", "description": "d", "input_schema": { "type": "object" }, "command": ["pwd"], "cwd": ".." }]
END
mkdir "$work/mine/sub"
echo 'cat >/dev/null; cat number.txt' >"$work/mine/add.sh"
echo 'pwd' >"$work/mine/sub/pwd.sh"
echo 42 >"$work/mine/number.txt"
is 'comments and $schema are accepted' 42 \
    "$("$toolwire" call add --server "$toolwire serve --no-toolkit --config $work/mine/settings.json" 2>&1)"

# refused NAME TEXT ERROR: these settings are refused, with the right place.
refused() {
    printf '%s' "$2" >"$work/bad.json"
    is "$1" "toolwire serve: $work/bad.json:$3" \
        "$("$toolwire" serve --config "$work/bad.json" </dev/null 2>&1)"
}
refused 'the line behind comments' $'// one\n/* two\n three */\n{"tols": "x"}' "4: tols: unknown key; did you mean 'tools'?"
refused 'the column behind a comment' '{/* x */ "tools" 5}' "1:18: expected ':' after the key, found '5'"
refused 'a comment without an end' $'{\n  /* "tools": "x"}' '2:3: a comment that does not end'
refused '$schema is no text' '{"$schema": 5}' '1: $schema: expected a string'
refused 'a near miss of $schema' '{"$shema": "x"}' "1: \$shema: unknown key; did you mean '\$schema'?"

# ---- a command's arguments beside the tools file ----

tools=$work/mine/tools.json
is 'serve' 42 "$("$toolwire" call add --server "$toolwire serve --no-toolkit --tools $tools" 2>&1)"
is 'serve, from the root' 42 "$(cd / && "$toolwire" call add --server "$toolwire serve --no-toolkit --tools $tools" 2>&1)"
is 'serve, by a relative path' 42 "$("$toolwire" call add --server "$toolwire serve --no-toolkit --tools ../mine/tools.json" 2>&1)"
is 'cwd below the file' "$work/mine/sub" "$("$toolwire" call below --server "$toolwire serve --no-toolkit --tools $tools" 2>&1)"
is 'cwd above the file' "$work" "$("$toolwire" call above --server "$toolwire serve --no-toolkit --tools $tools" 2>&1)"

"$toolwire" host --tools "$tools" --socket "$work/demo.sock" 2>"$work/host.log" &
pids+=($!)
until_there 'the socket' test -S "$work/demo.sock"
is 'host' 42 "$("$toolwire" call add --server "$toolwire bridge $work/demo.sock $work/demo.json" 2>&1)"

"$toolwire" up --no-toolkit --http 127.0.0.1:0 --state "$work/state" --pipe first_settings >"$work/up.log" 2>&1 &
pids+=($!)
"$toolwire" addin --pipe first_settings --tools "$tools" 2>"$work/addin.log" &
pids+=($!)
until_there 'the add-in' "$toolwire" call add --state "$work/state"
is 'addin' 42 "$("$toolwire" call add --state "$work/state" 2>&1)"
"$toolwire" up --no-toolkit --http 127.0.0.1:0 --state "$work/state2" --tools "$tools" >"$work/up2.log" 2>&1 &
pids+=($!)
until_there 'the hub' "$toolwire" tools --state "$work/state2"
is 'up' 42 "$("$toolwire" call add --state "$work/state2" 2>&1)"
is 'agent' 1 "$(echo '/call add {}' | "$toolwire" chat --model script --alone --state "$work/state3" --root "$work/elsewhere" \
    --tools "$tools" --yes 2>&1 | grep -c 42)"

# A tools file that lies in no folder has the commands started where we are.
is 'a tools file from a pipe' "$work/elsewhere" "$("$toolwire" call x --server \
    "bash -c \"exec $toolwire serve --no-toolkit --tools <(sed -e '1s/add/x/;1s/\\\"sh\\\", \\\"add.sh\\\"/\\\"pwd\\\"/' $tools)\"" 2>&1)"

printf 'settings: %d/%d checks\n' "$((n_run - n_failed))" "$n_run"
[ "$n_failed" = 0 ]
