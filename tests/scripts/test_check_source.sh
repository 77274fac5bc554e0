#!/usr/bin/env bash
# scripts/check-source must catch each kind of violation, and leave comments, strings and members alone.
set -euo pipefail
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check-source
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
n_run=0
n_failed=0

# put FILE TEXT: a file of the tree; TEXT is a printf format.
put() {
    mkdir -p "$(dirname "$tree/$1")"
    # shellcheck disable=SC2059 # the caller writes \n and \t
    printf "$2" >"$tree/$1"
}

# expect NAME STATUS TEXT: runs the check on the tree, compares, and empties the tree.
expect() {
    local status=0 output
    n_run=$((n_run + 1))
    output=$("$check" "$tree" 2>&1) || status=$?
    if [ $status -ne "$2" ] || [[ $output != *"$3"* ]]; then
        echo "FAILED: $1: status $status instead of $2, or no '$3' in:"
        echo "$output"
        n_failed=$((n_failed + 1))
    fi
    rm -rf "${tree:?}"/*
}

# refuses NAME FILE TEXT RULE, accepts NAME FILE TEXT.
refuses() { put "$2" "$3"; expect "$1" 1 "$2:$4"; }
accepts() { put "$2" "$3"; expect "$1" 0 ' ok'; }

for call in strcpy strcat sprintf gets strtok atoi alloca system rand localtime vsprintf strncpy; do
    refuses "$call" tests/x.c "int a;\n    b = $call(c);\n" "2: $call() is banned"
done
for call in malloc calloc realloc free strdup; do
    refuses "$call in src" src/json/x.c "    $call (p);\n" "1: $call() outside base/alloc.c"
done
accepts 'the heap has its door' src/base/alloc.c '    free(p);\n'
accepts 'tests use the heap' tests/x.c '    free(p);\n'
accepts 'a member' src/json/x.c '    p->free(q);\n    p.free(q);\n'
accepts 'a longer name' src/json/x.c '    p = mem_free(p);\n    my_system(1);\n    free_all(p);\n'
accepts 'a comment' src/json/x.c '/* like strcpy(a, b),\n * or free(p) */\nint a;\n'
accepts 'a string' src/json/x.c 'const char *a = "strcpy(a) \\" free(b) // no";\n'
accepts 'a character' src/json/x.c "char a = '\"'; /* \" */ char b = '/';\n"
refuses 'after a string' src/json/x.c 'a("\\\\"); strcpy(a, b);\n' '1: strcpy() is banned'
refuses 'popen in src' src/cli/x.c '    popen(a, b);\n' '1: popen() runs a shell string'
accepts 'popen in a benchmark' bench/x.c '    popen(a, b);\n'
refuses 'exit outside main' src/cli/x.c '    exit(1);\n' '1: exit() outside main'
accepts 'exit in main' src/cli/main.c '    exit(1);\n'
refuses 'printing in a pure layer' src/frame/x.c '    fprintf(stderr, "x");\n' '1: fprintf() in a pure layer'
refuses 'environment in a pure layer' src/base/x.c '    getenv("x");\n' '1: getenv() in a pure layer'
accepts 'printing in the program' src/cli/x.c '    fprintf(stderr, "x");\n'
accepts 'formatting in a pure layer' src/frame/x.c '    snprintf(a, n, "x");\n'
refuses 'a node that may be null' src/toolkit/complexity/lang_x.c '    ts_node_child(a, 0);\n' '1: ts_node_child() of a node'
accepts 'a node that may be null, asked for that' src/toolkit/complexity/lang_x.c '    ts_node_is_null(a);\n'
accepts 'a node of the walk' src/toolkit/complexity/walk.c '    ts_node_child(a, 0);\n'

refuses 'line comment' src/json/x.c 'int a;\nint b; // no\n' '2: a // comment'
accepts 'an address in a comment' src/json/x.c '/* see https://example.org */\nint a;\n'
refuses 'no pragma' src/json/x.h '/* what it is */\n\nint a;\n' '3: #pragma once'
refuses 'pragma after an include' src/json/x.h '/* what it is */\n#include <a.h>\n#pragma once\n' '2: #pragma once'
refuses 'no file comment' src/json/x.h '#pragma once\n' '1: a header begins with a comment'
accepts 'a header' src/json/x.h '/* what it is\n * and more */\n#pragma once\n\nint a;\n'
put src/json/x.h '/* what it is */\n#pragma once\n'
refuses 'own header second' src/json/x.c '/* a */\n#include <a.h>\n#include "json/x.h"\n' '2: a .c file includes its own'
put src/json/x.h '/* what it is */\n#pragma once\n'
accepts 'own header first' src/json/x.c '/* a */\n#include "json/x.h"\n#include <a.h>\n'

refuses 'tab in C' src/json/x.c '\tint a;\n' '1: a tab'
accepts 'tab in a Makefile' Makefile 'a:\n\tb\n'
accepts 'tab in a template of a Makefile' templates/c/makefile.hbs 'a:\n\tb\n'
refuses 'trailing space' README.md 'a\nb \n' '2: white space at the end'
refuses 'carriage return' README.md 'a\r\n' '1: a carriage return'
refuses 'no final newline' README.md 'a' '1: the file does not end'
refuses 'empty last line' README.md 'a\n\n' '3: the file does not end'
wide=$(printf '%0101d' 0)
narrow=${wide#0}
refuses '101 columns' src/json/x.c "$wide\n" '1: longer than 100'
accepts '100 columns' src/json/x.c "$narrow\n"
accepts '100 columns of two bytes each' src/json/x.c "${narrow//0/é}\n"
accepts 'wide text' README.md "$wide\n"
refuses 'glob' CMakeLists.txt 'file(GLOB files *.c)\n' '1: file(GLOB)'
refuses 'recursive glob' cmake/x.cmake 'FILE( GLOB_RECURSE files *.c)\n' '1: file(GLOB)'
accepts 'glob in a comment' CMakeLists.txt '# no file(GLOB) here\n'
word=TO
word+=DO
refuses 'work without a number' src/json/x.c "/* $word: later */\n" "1: a $word without"
accepts 'work with a number' src/json/x.c "/* $word(#12): later */\n"
for folder in Users home root; do
    refuses "machine path /$folder" docs/a.md "see /$folder/main\n" '1: a path of one machine'
done
# shellcheck disable=SC2016 # the dollar is meant
accepts 'a path that only looks like one' docs/a.md 'src/home/x and $HOME/work/y and framework/z\n'
host=registry.npm
refuses 'registry' package-lock.json "\"https://${host}js.org/a\"\n" '1: the address of one package registry'
refuses 'dead link' docs/a.md 'see [b](b.md)\n' '1: a link to a file that is not there: b.md'
put docs/b.md 'b\n'
accepts 'links' docs/a.md 'see [b](b.md#part), [folder](../docs), [web](https://example.org/x), [here](#part)\n'
accepts 'corpora are bytes' fuzz/corpus/json/a.c '\t// strcpy(a) '
accepts 'binary files' docs/a.png 'a\000 \t \n'

echo "check-source: $((n_run - n_failed))/$n_run cases"
[ $n_failed -eq 0 ]
