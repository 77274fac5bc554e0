#!/usr/bin/env bash
# scripts/setup with its tools replaced: what it installs, how, and when it leaves things alone.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n_run=0
n_failed=0

tree=$work/tree
tools=$work/tools
log=$work/log
mkdir -p "$tree/scripts" "$tree/grammars" "$tree/tests/conformance" "$tree/bench/peers" "$tools"
cp "$top/scripts/setup" "$tree/scripts/"
cp "$top/package.json" "$top/package-lock.json" "$tree/"
cp "$top/grammars/package.json" "$top/grammars/package-lock.json" "$tree/grammars/"
cp "$top/tests/conformance/package.json" "$top/tests/conformance/package-lock.json" "$tree/tests/conformance/"
cp "$top/bench/peers/package.json" "$top/bench/peers/package-lock.json" "$tree/bench/peers/"

# Nothing but these is on PATH, so that no tool of this machine can be called by accident.
for name in bash env dirname touch cat sleep mkdir; do
    ln -s "$(command -v $name)" "$tools/$name"
done
stub() {
    printf '#!%s\n%s\n' "$tools/bash" "$2" >"$tools/$1"
    chmod +x "$tools/$1"
}

# reset: a machine where everything is installed and the user is root.
reset() {
    rm -f "$tools/sudo" "$log"
    : >"$log"
    : >"$work/missing"
    # shellcheck disable=SC2016 # expanded by the stub
    stub dpkg-query 'missing=" $(cat '"$work"'/missing) "
        for a; do case $a in -*|*\$*) ;; *)
            [[ $missing == *" $a "* ]] || printf "installed:%s " "$a" ;; esac; done
        [[ $missing == "  " ]]'
    stub apt-get "echo \"apt-get \$*\" >>$log"
    stub apt-cache 'exit 0'
    stub id 'echo 0'
    stub node 'echo v18.0.0'
    stub npm "echo \"npm \$*\" >>$log; mkdir -p node_modules; touch node_modules/.package-lock.json"
    for folder in "$tree" "$tree/grammars" "$tree/tests/conformance" "$tree/bench/peers"; do
        mkdir -p "$folder/node_modules"
        touch -d '1 hour ago' "$folder/package-lock.json"
        touch "$folder/node_modules/.package-lock.json"
    done
}

# The release that the machine has, unless a case says otherwise.
echo 'VERSION_CODENAME=bookworm' >"$work/bookworm"
echo 'VERSION_CODENAME=trixie' >"$work/trixie"
echo 'NAME="Something else"' >"$work/other"
release=bookworm

# expect NAME STATUS OUTPUT LOG GROUP…: OUTPUT and LOG are patterns; an empty LOG means that nothing was called.
expect() {
    local name=$1 wanted=$2 output_like=$3 log_like=$4 status=0 output called
    shift 4
    n_run=$((n_run + 1))
    output=$(PATH=$tools SETUP_OS_RELEASE=$work/$release "$tools/bash" "$tree/scripts/setup" "$@" 2>&1 </dev/null) || status=$?
    called=$(<"$log")
    # shellcheck disable=SC2053 # patterns are meant
    if [ $status -ne "$wanted" ] || [[ $output != $output_like ]] || [[ $called != $log_like ]]; then
        printf 'FAILED: %s: status %s instead of %s\noutput: %s\ncalled: %s\n' "$name" $status "$wanted" "$output" "$called"
        n_failed=$((n_failed + 1))
    fi
    reset
}

reset
expect 'nothing missing' 0 'setup: nothing missing' '' build test
expect 'every group' 0 'setup: nothing missing' '' all
expect 'no group means build and test' 0 'setup: nothing missing' ''
expect 'unknown group' 2 "*there is no group 'sauna'*" '' sauna

echo 'libpcre2-dev' >"$work/missing"
expect 'one package' 0 '*installing Debian packages: libpcre2-dev*setup: done' \
    'apt-get*install -y --no-install-recommends libpcre2-dev' build
echo 'libpcre2-dev gcovr' >"$work/missing"
expect 'only what the group needs' 0 '*packages: libpcre2-dev?setup: done' '*recommends libpcre2-dev' build
echo 'cmake g++' >"$work/missing"
expect 'each package once' 0 '*packages: cmake g++?setup: done' '*recommends cmake g++' build bench
echo 'libcurl4-openssl-dev' >"$work/missing"
expect 'what is loaded at run time is declared at build time' 0 '*packages: libcurl4-openssl-dev?setup: done' \
    '*recommends libcurl4-openssl-dev' build
echo 'cmake' >"$work/missing"
stub apt-cache 'exit 100'
expect 'lists are fetched when absent' 0 '*fetching the package lists*' '*update*install*cmake' build
echo 'cmake' >"$work/missing"
stub apt-get "echo \"apt-get \$*\" >>$log; [[ \$* != *install* ]]"
expect 'apt-get fails' 1 '*could not install: cmake' '*install*update*install*' build

echo 'cmake' >"$work/missing"
stub id 'echo 1000'
expect 'no root and no sudo' 1 '*missing: cmake; run this as root, or install sudo*' '' build
echo 'cmake' >"$work/missing"
stub id 'echo 1000'
stub sudo "echo \"sudo \$*\" >>$log"
expect 'sudo, which may not ask without a terminal' 0 '*done' 'sudo -n env*apt-get*install*cmake' build

# What differs between the releases.
differs='node-llhttp libllhttp-dev libclang-rt-14-dev libclang-rt-19-dev llvm-14 llvm-19 clang-format-14'
both() {
    echo "$differs" >"$work/missing"
    release=$1
    expect "$2 on $1" "$3" "$4" "$5" "$2"
    release=bookworm
}
both bookworm build 0 '*packages: node-llhttp?setup: done' '*recommends node-llhttp'
both trixie build 0 '*packages: libllhttp-dev?setup: done' '*recommends libllhttp-dev'
both other build 0 '*packages: libllhttp-dev?setup: done' '*recommends libllhttp-dev'
both none build 0 '*packages: libllhttp-dev?setup: done' '*recommends libllhttp-dev'
both bookworm fuzz 0 '*packages: node-llhttp libclang-rt-14-dev llvm-14?setup: done' '*llvm-14'
both trixie fuzz 0 '*packages: libllhttp-dev libclang-rt-19-dev llvm-19?setup: done' '*llvm-19'
both bookworm check 0 '*packages: clang-format-14?setup: done' '*clang-format-14'
both trixie check 0 'setup: nothing missing' ''
both bookworm windows 0 '*packages: node-llhttp?setup: done' '*recommends node-llhttp'
both trixie windows 1 '*only Debian 12 has (node-llhttp)' ''
both trixie all 0 '*packages: libllhttp-dev libclang-rt-19-dev llvm-19?setup: done' '*llvm-19'

rm "$tools/node"
echo 'nodejs npm' >"$work/missing"
expect 'no node, which brings the grammars' 0 '*packages: nodejs npm?setup: done' '*recommends nodejs npm' build
stub node 'echo v16.20.1'
echo 'nodejs npm' >"$work/missing"
expect 'node is too old' 0 '*packages: nodejs npm?setup: done' '*recommends nodejs npm' test

rm -r "$tree/node_modules"
expect 'no npm packages' 0 '*installing npm packages*' 'npm ci --ignore-scripts --no-audit --no-fund*' test
touch -d '1 hour ago' "$tree/node_modules/.package-lock.json"
touch "$tree/package-lock.json"
expect 'lock file is newer' 0 '*installing npm packages*' 'npm ci*' bench
rm -r "$tree/node_modules"
expect 'packages of tests are not for the build' 0 'setup: nothing missing' '' build
rm -r "$tree/grammars/node_modules"
expect 'no grammars' 0 '*npm packages of grammars/package-lock.json*done' 'npm ci*' build
rm -r "$tree/tests/conformance/node_modules"
expect 'no conformance suites' 0 '*npm packages of tests/conformance/package-lock.json*done' 'npm ci*' test
rm -r "$tree/tests/conformance/node_modules"
stub npm 'exit 1'
expect 'conformance suites that cannot be had' 0 '*suites cannot be had; their tests are skipped*' '' test
rm -r "$tree/bench/peers/node_modules"
expect 'no gateways of others' 0 '*npm packages of bench/peers/package-lock.json*done' 'npm ci*' bench
rm -r "$tree/bench/peers/node_modules"
expect 'gateways of others are not for the tests' 0 'setup: nothing missing' '' build test
rm -r "$tree/bench/peers/node_modules"
stub npm 'exit 1'
expect 'gateways of others that cannot be had' 0 '*gateways of others cannot be had; they are not measured*' '' bench
rm -r "$tree/node_modules"
stub npm 'exit 1'
expect 'npm fails' 1 '*npm ci failed' '' test

echo "setup: $((n_run - n_failed))/$n_run cases"
[ $n_failed -eq 0 ]
