#!/usr/bin/env bash
# `toolwire import`, run as a person would, in a home of its own.
#
#   import.sh TOOLWIRE
set -euo pipefail
toolwire=$(realpath "$1")
dir=$(realpath "$(mktemp -d)")
trap 'rm -rf "$dir"' EXIT
export HOME=$dir/home
unset XDG_CONFIG_HOME APPDATA CLAUDE_CONFIG_DIR CLINE_MCP_SETTINGS_PATH
mkdir -p "$HOME/.config/Claude" "$HOME/.cursor" "$HOME/.config/Code/User" "$HOME/.cline/data/settings" "$dir/app/.vscode"
cd "$dir/app"
passed=0
failed=0

ok() { passed=$((passed + 1)); }
wrong() { failed=$((failed + 1)); printf '%s\n' "$1"; }

# expect STATUS OUTPUT ARGUMENT…: OUTPUT is stdout and then stderr, blanks squeezed.
expect() {
    local wanted_status=$1 wanted=$2 status=0 got
    shift 2
    "$toolwire" import "$@" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
    got=$(cat "$dir/out" "$dir/err" | sed -E "s#$dir#DIR#g; s/  +/  /g; s/ +\$//" | grep -v '^server  state')
    if [ "$status" = "$wanted_status" ] && [ "$got" = "$wanted" ]; then
        ok
    else
        wrong "$(printf 'import %s\n wanted %s: %s\n    got %s: %s' "$*" "$wanted_status" "$wanted" "$status" "$got")"
    fi
}

# What is said where the first servers come: by default the toolkit is offered where nothing else is.
no_toolkit() {
    printf 'toolwire import: beside these servers the toolkit (templates, code analysis) is not offered; --toolkit, or "toolkit": true in %s, offers it, too' "$1"
}

expect 0 'toolwire import: no servers in 0 files'
expect 0 'toolwire import: no servers in 0 files; nothing is written' --write
[ ! -e toolwire.json ] && ok || wrong "settings without a server: $(cat toolwire.json)"
cat >"$HOME/.config/Claude/claude_desktop_config.json" <<'END'
{"mcpServers":{"github":{"command":"npx","args":["-y","gh"],"env":{"GITHUB_TOKEN":"ghp_secret"}},"tw":{"command":"toolwire","args":["serve"]}}}
END
cat >"$HOME/.cursor/mcp.json" <<'END'
{"mcpServers":{"github":{"command":"other"},"search":{"url":"https://search.example/mcp?key=hidden","headers":{"Authorization":"Bearer hidden"}}}}
END
cat >.vscode/mcp.json <<'END'
// Comments, and commas that nothing follows.
{ "servers": { "local": { "type": "stdio", "command": "${workspaceFolder}/run", "env": { "K": "${input:api-key}", }, }, },
  "inputs": [ { "id": "api-key", "type": "promptString", "password": true }, ], }
END
printf '{"mcpServers":{"old":{"command":"x","disabled":true}}}' >"$HOME/.cline/data/settings/cline_mcp_settings.json"
table='github  found  DIR/home/.config/Claude/claude_desktop_config.json  npx -y gh
tw  toolwire itself  DIR/home/.config/Claude/claude_desktop_config.json  toolwire serve
github  clash: one above has that name  DIR/home/.cursor/mcp.json  other
search  found  DIR/home/.cursor/mcp.json  https://search.example/mcp?key=***
local  asked for by VS Code: set API_KEY in the environment  DIR/app/.vscode/mcp.json  DIR/app/run
old  disabled  DIR/home/.cline/data/settings/cline_mcp_settings.json  x'
expect 0 "$table"
expect 0 'old  disabled  DIR/home/.cline/data/settings/cline_mcp_settings.json  x' --from cline
expect 0 'github  found  DIR/home/.cursor/mcp.json  other
search  found  DIR/home/.cursor/mcp.json  https://search.example/mcp?key=***' --from "$HOME/.cursor/mcp.json"
expect 1 'toolwire import: nowhere: No such file or directory
toolwire import: no servers in 0 files' --from nowhere
"$toolwire" import --json >"$dir/out"
grep -q hidden "$dir/out" || grep -q secret "$dir/out" && wrong 'a secret was printed' || ok

# Without settings, and with settings in which nothing is, --dry-run shows the file that would be written.
whole='--- toolwire.json
+++ toolwire.json
+{
+  "mcpServers": {
+    "github": {"command":"other"},
+    "search": {"url":"https://search.example/mcp?key=***","headers":{"Authorization":"***"}}
+  }
+}
github  added  DIR/home/.cursor/mcp.json  other
search  added  DIR/home/.cursor/mcp.json  https://search.example/mcp?key=***'
sed -E 's/  +/  /g' <<<"$whole" >"$dir/whole"
expect 0 "$(cat "$dir/whole"; no_toolkit toolwire.json)" --dry-run --from cursor
[ ! -e toolwire.json ] && ok || wrong '--dry-run wrote the settings'
: >toolwire.json
expect 0 "$(cat "$dir/whole"; no_toolkit toolwire.json)" --dry-run --from cursor
# Comments stay where they are, and are not shown: a server that was taken out may have its secrets in one.
cat >toolwire.json <<'END'
// mine
{ /* SECRET1 */ }
END
"$toolwire" import --dry-run --from cursor >"$dir/out" 2>&1
grep -q 'SECRET1\|out of memory' "$dir/out" && wrong "a comment is shown: $(cat "$dir/out")" || ok
"$toolwire" import --write --from cursor >/dev/null
wanted='// mine
{ /* SECRET1 */
  "mcpServers": {
    "github": {"command":"other"},
    "search": {"url":"https://search.example/mcp?key=hidden","headers":{"Authorization":"Bearer hidden"}}
  }
}'
[ "$(cat toolwire.json)" = "$wanted" ] && ok || wrong "written: $(cat toolwire.json)"
cat >toolwire.json <<'END'
{
  "mcpServers": {
    "a": { "command": "x" }, // "b": "SECRET1"
  },
  /* the end */
}
END
"$toolwire" import --dry-run --from cursor >"$dir/out" 2>&1
grep -q 'SECRET1\|hidden' "$dir/out" && wrong "a secret is shown: $(cat "$dir/out")" || ok
grep -q '^+    "github": {"command":"other"},$' "$dir/out" && ok || wrong "no diff: $(cat "$dir/out")"
"$toolwire" import --write --from cursor >/dev/null
wanted='{
  "mcpServers": {
    "a": { "command": "x" },
    "github": {"command":"other"},
    "search": {"url":"https://search.example/mcp?key=hidden","headers":{"Authorization":"Bearer hidden"}}, // "b": "SECRET1"
  },
  /* the end */
}'
[ "$(cat toolwire.json)" = "$wanted" ] && ok || wrong "written: $(cat toolwire.json)"
"$toolwire" serve --alone --no-toolkit </dev/null >/dev/null 2>"$dir/err" && ok || wrong "refused: $(cat "$dir/err")"
printf '// none yet' >toolwire.json
"$toolwire" import --write --from cursor >/dev/null
[ "$(sed -n 1,2p toolwire.json)" = $'// none yet\n{' ] && ok || wrong "written: $(cat toolwire.json)"
printf '{} /* ' >toolwire.json
expect 1 'github  found  DIR/home/.cursor/mcp.json  other
search  found  DIR/home/.cursor/mcp.json  https://search.example/mcp?key=***
toolwire import: toolwire.json:1:4: a comment that does not end' --write --from cursor

# Written into settings that are there: all else stays, the file is the user's alone.
printf '{\n  "tools" : "t.json",\n\n  "limits": { "rate_burst": 5 } }\n' >toolwire.json
chmod 644 toolwire.json
cp toolwire.json before.json
"$toolwire" import --dry-run --from cursor >"$dir/out"
cmp -s toolwire.json before.json && ok || wrong '--dry-run changed the file'
grep -q '^+    "search": {"url":"https://search.example/mcp?key=\*\*\*","headers":{"Authorization":"\*\*\*"}}' "$dir/out" && ok ||
    wrong "no diff: $(cat "$dir/out")"
"$toolwire" import --write --from claude-desktop --from vscode >"$dir/out" 2>"$dir/err"
grep -q 'local: asked for by VS Code: set API_KEY' "$dir/err" && ok || wrong 'the note was lost'
wanted='{
  "tools" : "t.json",

  "limits": { "rate_burst": 5 },
  "mcpServers": {
    "github": {"command":"npx","args":["-y","gh"],"env":{"GITHUB_TOKEN":"ghp_secret"}},
    "local": {"command":"'$dir'/app/run","env":{"K":"${API_KEY}"}}
  } }'
[ "$(cat toolwire.json)" = "$wanted" ] && ok || wrong "written: $(cat toolwire.json)"
[ "$(stat -c %a toolwire.json)" = 600 ] && ok || wrong 'others can read the secrets'
# Twice is once; another server of a name is left alone, unless it is to be replaced.
cp toolwire.json before.json
"$toolwire" import --write --from claude-desktop >/dev/null
cmp -s toolwire.json before.json && ok || wrong 'the second import changed something'
expect 1 'github  clash: another one has the name; --replace  DIR/home/.cursor/mcp.json  other
search  added  DIR/home/.cursor/mcp.json  https://search.example/mcp?key=***
toolwire import: toolwire.json has another server '"'github'"'; --replace takes the one that was found' --write --from cursor
cmp -s toolwire.json before.json && ok || wrong 'a clash changed something'
"$toolwire" import --write --replace --env-refs --from cursor >"$dir/out" 2>"$dir/err"
grep -q '"github": {"command":"other"}' toolwire.json && ok || wrong "not replaced: $(cat toolwire.json)"
grep -q '"Authorization":"${SEARCH_AUTHORIZATION}"' toolwire.json && ok || wrong 'the secret was written'
# The toolkit: who had it by default is told, and may keep it.
cursor='github  added  DIR/home/.cursor/mcp.json  other
search  added  DIR/home/.cursor/mcp.json  https://search.example/mcp?key=***'
expect 0 "$cursor
$(no_toolkit first.json)" --write --from cursor first.json
expect 0 "${cursor//added/unchanged}" --write --from cursor first.json
"$toolwire" tools --server "'$toolwire' serve --alone --config first.json" </dev/null 2>/dev/null | grep -q '^generate_template ' && wrong 'it is there' || ok
expect 0 "${cursor//added/unchanged}" --write --toolkit --from cursor first.json
[ "$(sed -n 2p first.json)" = '  "toolkit": true,' ] && ok || wrong "written: $(cat first.json)"
"$toolwire" tools --server "'$toolwire' serve --alone --config first.json" </dev/null 2>/dev/null | grep -q '^generate_template ' && ok || wrong 'it is not there'
expect 0 "$cursor" --write --toolkit --from cursor second.json
[ "$(head -n 3 second.json)" = '{
  "toolkit": true,
  "mcpServers": {' ] && ok || wrong "written: $(cat second.json)"
for before in '{}' '{ "limits": {} }' '{ "toolkit": false }' '{ "tools": "t.json" }'; do
    printf '%s' "$before" >third.json
    "$toolwire" import --write --toolkit --from cursor third.json >"$dir/out" 2>"$dir/err" && [ ! -s "$dir/err" ] && ok || wrong "$before: $(cat "$dir/err")"
    case $before in *toolkit*) word=false ;; *) word=true ;; esac
    [ "$(grep -o '"toolkit": *[a-z]*' third.json)" = "\"toolkit\": $word" ] && ok || wrong "$before: $(cat third.json)"
done
# Nothing is said where it was not there, or was spoken of.
for before in '{ "tools": "t.json" }' '{ "toolkit": false }' '{ "toolkit": true }' '{ "templates": "t" }'; do
    printf '%s' "$before" >third.json
    "$toolwire" import --write --from cursor third.json >"$dir/out" 2>"$dir/err" && [ ! -s "$dir/err" ] && ok || wrong "$before: $(cat "$dir/err")"
done
expect 2 'toolwire import: --toolkit needs --write or --dry-run' --toolkit
# A new file, through a link.
mkdir "$dir/far"
ln -s "$dir/far/settings.json" link.json
printf '{}' >"$dir/far/settings.json"
"$toolwire" import --write --from cursor link.json >/dev/null 2>&1
[ -L link.json ] && grep -q search "$dir/far/settings.json" && ok || wrong 'the link was replaced'
printf '{"mcpServers":' >bad.json
expect 1 'github  found  DIR/home/.cursor/mcp.json  other
search  found  DIR/home/.cursor/mcp.json  https://search.example/mcp?key=***
toolwire import: bad.json:1:15: expected a value, found the end of the text' --write --from cursor bad.json
# Only what a hub takes is written: the file that comes of it starts one, with a server that wants a variable, too.
long=$(printf 'n%.0s' {1..129})
cat >odd.json <<END
{"mcpServers":{"":{"command":"x"},"a\u0007b":{"command":"x"},"$long":{"command":"x"},"nul":{"command":"x\u0000y"},"texts":{"command":"x","args":{}},
 "unset":{"command":"x","env":{"K":"\${TW_TEST_UNSET}"}},"db":{"command":"x","args":"postgresql://u:SECRET@h/db","timeout":60},
 "open":{"command":"x","args":["\${file}"]}}}
END
expect 0 "  a name has 1 to 128 bytes  DIR/app/odd.json  x
a\\x07b  a name with a control character  DIR/app/odd.json  x
$long  a name has 1 to 128 bytes  DIR/app/odd.json  x
nul  mcpServers.nul.command: a string with a NUL byte  DIR/app/odd.json  x\\x00y
texts  args is no list  DIR/app/odd.json  x
unset  added  DIR/app/odd.json  x
db  added  DIR/app/odd.json  x postgresql://***@h/db
open  \${file} means nothing here  DIR/app/odd.json  x \${file}
$(no_toolkit new.json)
toolwire import: db: args is a text, and taken as one argument; not taken over: timeout" --write --from odd.json new.json
"$toolwire" serve --alone --config new.json --no-toolkit </dev/null >/dev/null 2>"$dir/err" && ok || wrong "what was written is refused: $(cat "$dir/err")"
grep -q '"db": {"command":"x","args":\["postgresql://u:SECRET@h/db"\]}' new.json && ok || wrong "written: $(cat new.json)"
# 250 servers, of which 200 may be.
{ printf '{"mcpServers":{'; for i in {1..250}; do printf '%s"s%d":{"command":"x"}' "${comma-}" "$i"; comma=,; done; printf '}}'; } >many.json
"$toolwire" import --write --from many.json most.json >"$dir/out" 2>/dev/null
[ "$(grep -c 'left out: there are 200 servers' "$dir/out")" = 50 ] && ok || wrong 'nobody said that 50 are left out'
"$toolwire" serve --alone --config most.json --no-toolkit </dev/null >/dev/null 2>&1 && ok || wrong 'too many were written'
# No output shows a secret: neither one that is found nor one that is there.
printf '{"mcpServers":{"db":{"command":"y","args":["--key","SECRET2"],"env":{"K":"SECRET3"}}},"http":{"token":"SECRET4"}}' >there.json
for how in '' --json '--dry-run --replace' '--dry-run --replace --json' '--write --replace'; do
    # shellcheck disable=SC2086
    "$toolwire" import $how --from odd.json $([ "$how" = '' ] || [ "$how" = --json ] || echo there.json) >"$dir/out" 2>&1
    grep -q SECRET "$dir/out" && wrong "import $how shows a secret: $(cat "$dir/out")" || ok
done
# What is no file is not waited for; a link to one is followed.
mkfifo pipe
expect 1 'toolwire import: pipe: it is not a regular file
toolwire import: no servers in 0 files' --from pipe
expect 1 'toolwire import: /dev/zero: it is not a regular file
toolwire import: no servers in 0 files' --from /dev/zero
expect 1 'old  disabled  DIR/home/.cline/data/settings/cline_mcp_settings.json  x
toolwire import: pipe: it is not a regular file' --write --from cline pipe
mv "$HOME/.cline/data/settings/cline_mcp_settings.json" "$dir/far/cline.json"
ln -s "$dir/far/cline.json" "$HOME/.cline/data/settings/cline_mcp_settings.json"
expect 0 'old  disabled  DIR/home/.cline/data/settings/cline_mcp_settings.json  x' --from cline
# Claude Code keeps beside the project what is switched off in it.
mkdir .claude
printf '{"mcpServers":{"one":{"command":"x"},"two":{"command":"x"}}}' >.mcp.json
printf '{"disabledMcpjsonServers":["two"]}' >.claude/settings.local.json
expect 0 'one  found  DIR/app/.mcp.json  x
two  disabled in Claude Code  DIR/app/.mcp.json  x' --from claude-code
expect 2 "toolwire import: a FILE needs --write or --dry-run" x.json
printf 'import: %d/%d checks\n' "$passed" "$((passed + failed))"
[ "$failed" = 0 ]
