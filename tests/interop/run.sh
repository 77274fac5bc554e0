#!/usr/bin/env bash
# Runs a driver with what it needs: the npm packages, and a Node that is new enough, from npm or from PATH.
#
#   tests/interop/run.sh DRIVER [ARG…]      @node in an argument stands for that Node
#
# DRIVER is a script of this folder, or the path of a program.
#
# Exit 77, with the reason, where the npm packages are not installed: the test is skipped, not passed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
node_wanted=22.19 # the Inspector's wish

skip() { echo "SKIPPED: $*"; exit 77; }

# A package of ours for this machine, or else what is on PATH.
find_node() {
    local candidate version
    for candidate in "$top"/node_modules/node-linux-*/bin/node "$(command -v node || true)"; do
        [ -x "$candidate" ] || continue
        # One for another processor does not run.
        version=$("$candidate" --version 2>/dev/null) || continue
        version=${version#v}
        if [ "$(printf '%s\n' "$node_wanted" "$version" | sort -V | head -n 1)" = "$node_wanted" ]; then
            echo "$candidate"
            return
        fi
    done
}

for package in @modelcontextprotocol/{client,inspector,sdk,server,server-everything,server-filesystem} mcp-{proxy,remote}; do
    [ -f "$top/node_modules/$package/package.json" ] ||
        skip "the npm package $package is not installed; run scripts/setup test"
done
node=$(find_node)
[ -n "$node" ] || skip "no Node >= $node_wanted, neither from npm nor on PATH; run scripts/setup test"

driver=$1
shift
case $driver in
*.mjs) exec "$node" "$here/$driver" "${@//@node/$node}" ;;
*)     exec "$driver" "${@//@node/$node}" ;;
esac
