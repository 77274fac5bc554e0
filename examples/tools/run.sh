#!/usr/bin/env bash
# Two shell commands as MCP tools: starts the server on them, and uses them as a client would.
#
#   examples/tools/run.sh [TOOLWIRE]
set -euo pipefail
toolwire=$(realpath "${1:-build/release/toolwire}")
[ -x "$toolwire" ] || { echo "run.sh: there is no program $toolwire; run make" >&2; exit 1; }
cd "$(dirname "$0")"
folder=$PWD
# What the client starts must find the program by its name.
PATH=$(dirname "$toolwire"):$PATH
export PATH

# show STATUS ARGUMENT…: prints the command as a person would type it, runs it, and wants that status.
show() {
    local wanted=$1 status=0
    shift
    printf '\n$ toolwire'
    printf ' %q' "$@"
    printf '\n'
    "$toolwire" "$@" || status=$?
    if [ $status -ne "$wanted" ]; then
        echo "run.sh: exit status $status, expected $wanted" >&2
        exit 1
    fi
}

echo "tools.json describes two commands. 'toolwire serve --tools tools.json' is an MCP server that offers them;"
echo "'toolwire tools' and 'toolwire call' start it, as an agent would, and use it:"
show 0 tools --server 'toolwire serve --tools tools.json'
show 0 call --server 'toolwire serve --tools tools.json' count_words 'text=three small words'
printf '\nArguments are checked before the command sees them:\n'
show 1 call --server 'toolwire serve --tools tools.json' count_words text:=5

cat <<END

For an MCP client, such as an agent or an editor, this is the entry in its configuration:

  {"mcpServers": {"toolwire": {"command": "$toolwire",
                               "args": ["serve", "--tools", "$folder/tools.json"]}}}

With --toolkit it offers templates and code analysis, too. The manual: man docs/man/toolwire.1
END
