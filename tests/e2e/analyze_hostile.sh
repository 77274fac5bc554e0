#!/usr/bin/env bash
# `toolwire analyze` and the server's tools in a repository whose settings name programs for everything that git can run one
# for: none of them runs, and git's index stays as it is, byte by byte.
#
#   analyze_hostile.sh TOOLWIRE
set -euo pipefail
toolwire=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
# Nobody's own state and settings.
export XDG_STATE_HOME=$dir/state HOME=$dir GIT_CONFIG_NOSYSTEM=1
unset GIT_DIR GIT_WORK_TREE
command -v git >/dev/null || { echo 'there is no git here'; exit 77; }
passed=0
failed=0

ok() { passed=$((passed + 1)); }
fail() {
    failed=$((failed + 1))
    printf '%s\n' "$@"
}

# ---- a repository with traps ----

commit() { git -C project -c user.name=Ada -c user.email=a@b -c commit.gpgsign=false commit -qm "$1"; }
git -c init.defaultBranch=main init -q project
printf 'int f(int a) { return a; }\n' | tee project/a.c >project/same.c
printf '* filter=x diff=x\n' >project/.gitattributes
git -C project add -A
commit one
printf 'int f(int a) { if (a) { return 1; } return 2; }\n' >project/a.c
git -C project add -A
commit two
canary=$dir/project/.git/hooks/canary
printf '#!/bin/sh\ntouch %s/ran\nexit 1\n' "$dir" >"$canary"
cp "$canary" project/.git/hooks/post-index-change
chmod 700 "$canary" project/.git/hooks/post-index-change
for key in filter.x.clean filter.x.smudge filter.x.process diff.x.textconv diff.x.command diff.external core.fsmonitor core.pager \
    pager.log core.editor core.sshCommand gpg.program core.alternateRefsCommand credential.helper core.askPass; do
    git -C project config "$key" "$canary"
done
git -C project config log.showSignature true
git -C project config diff.autoRefreshIndex true
# Another stamp than the index has: whoever looks at them as git does reads them, through the filter.
touch -d 2001-09-09 project/a.c project/same.c
cp project/.git/index index.before

# untouched WHAT
untouched() {
    if [ -e ran ]; then fail "$1: a program of the repository has run"; else ok; fi
    if cmp -s project/.git/index index.before; then ok; else fail "$1: the index was written"; fi
    rm -f ran
}

# ---- the command ----

# analyze ARGUMENT…: must tell of a.c.
analyze() {
    local got status=0
    got=$("$toolwire" analyze "$@" 2>&1 </dev/null) || status=$?
    if [ "$status" = 0 ] && [[ $got == *a.c* ]]; then ok; else fail "toolwire analyze $*" "    got $status: $got"; fi
    untouched "toolwire analyze $*"
}

analyze complexity project
analyze complexity project --since HEAD~1
analyze complexity project/a.c --format csv --no-cache
analyze churn project --days 0
analyze churn project --days 0 --directories --co-changes --no-renames --no-cache
analyze churn project --days 0 --rev HEAD~1..HEAD --path a.c
analyze hotspots project --days 0
analyze hotspots project --days 0 --format json
analyze hotspots project --days 0 --html map.html

# ---- the tools ----

# call TOOL ARGUMENTS: by a server, over MCP.
call() {
    local got status=0
    got=$("$toolwire" call --server "$toolwire serve" "$1" "$2" 2>&1 </dev/null) || status=$?
    if [ "$status" = 0 ] && [[ $got == *a.c* ]]; then ok; else fail "call $1 $2" "    got $status: $got"; fi
    untouched "call $1 $2"
}

call analyze_complexity '{"project_path":"project","format":"csv"}'
call analyze_complexity '{"project_path":"project","since":"HEAD~1","format":"json"}'
call analyze_code_churn '{"project_path":"project","directories":true,"co_changes":5,"format":"csv"}'
call analyze_code_churn '{"project_path":"project","rev":"HEAD~1..HEAD","format":"csv"}'
call analyze_hotspots '{"project_path":"project"}'

# ---- the trap is one ----

git -C project status >/dev/null 2>&1 || true
if [ -e ran ]; then ok; else fail 'git itself does not step into the trap'; fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
