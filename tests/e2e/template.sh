#!/usr/bin/env bash
# `toolwire template`, run as a person would: exact output, exit status and files of each sub-command.
#
#   template.sh TOOLWIRE
set -euo pipefail
toolwire=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
# Nobody's own templates.
export XDG_CONFIG_HOME=$dir/config NO_COLOR=
passed=0
failed=0

ok() { passed=$((passed + 1)); }
fail() {
    failed=$((failed + 1))
    printf '%s\n' "$@"
}

# expect STATUS OUTPUT ARGUMENT…: runs `toolwire template` with the file `in` as standard input; OUTPUT is stdout and stderr.
expect() {
    local wanted_status=$1 wanted=$2 status=0 got
    shift 2
    got=$("$toolwire" template "$@" <in 2>&1) || status=$?
    if [ "$status" = "$wanted_status" ] && [ "$got" = "$wanted" ]; then
        ok
    else
        fail "toolwire template $*" " wanted $wanted_status: $wanted" "    got $status: $got"
    fi
}

# holds FILE CONTENT
holds() {
    if [ "$(cat "$1" 2>&1)" = "$2" ]; then ok; else fail "$1 holds: $(cat "$1" 2>&1)" " wanted: $2"; fi
}

# absent PATH…
absent() {
    local path
    for path in "$@"; do
        if [ -e "$path" ] || [ -L "$path" ]; then fail "$path is there"; else ok; fi
    done
}

: >in
mkdir -p own/toy
cat >own/toy/manifest.json <<'JSON'
{ "templates": [
    { "uri": "template://makefile/toy/cli", "name": "Toy Makefile", "description": "Builds a toy", "version": "2.0.0",
      "file": "makefile.hbs", "output": "Makefile", "mime_type": "text/x-makefile",
      "parameters": [
        { "name": "project_name", "type": "string", "required": true, "pattern": "^[a-z]+$", "description": "Its name" },
        { "name": "jobs", "type": "integer", "default": 2, "minimum": 1, "maximum": 8, "description": "At once" },
        { "name": "flags", "type": "array", "default": [], "description": "Flags" },
        { "name": "mode", "type": "choice", "choices": ["fast", "safe"], "default": "safe", "description": "Mode" } ] },
    { "uri": "template://script/toy/cli", "name": "Toy script", "description": "Runs a toy", "file": "script.hbs",
      "output": "bin/{{snake_case project_name}}.sh", "executable": true,
      "parameters": [
        { "name": "project_name", "type": "string", "required": true, "pattern": "^[a-z]+$", "description": "Its name" },
        { "name": "greeting", "type": "string", "required": true, "description": "What it says" } ] },
    { "uri": "template://notes/toy/long", "name": "Toy notes", "description": "Notes", "file": "notes.hbs",
      "output": "NOTES" },
    { "uri": "template://place/toy/cli", "name": "Toy place", "description": "Goes anywhere", "file": "notes.hbs",
      "output": "{{where}}",
      "parameters": [ { "name": "where", "type": "string", "required": true, "description": "Path" } ] } ] }
JSON
printf '# {{project_name}} {{jobs}} {{mode}}{{#each flags}} {{this}}{{/each}}\n' >own/toy/makefile.hbs
printf '#!/bin/sh\necho "{{greeting}}"\n' >own/toy/script.hbs
printf 'notes\n' >own/toy/notes.hbs

# ls
expect 0 'template://makefile/toy/cli  Toy Makefile  project_name, 3 optional
template://notes/toy/long    Toy notes
template://place/toy/cli     Toy place     where
template://script/toy/cli    Toy script    project_name, greeting' ls --toolchain toy --templates own
expect 0 'template://makefile/toy/cli  Toy Makefile  project_name, 3 optional' \
    ls --toolchain toy --category makefile --templates own
expect 0 'toolwire template ls: there are no such templates' ls --toolchain toy
expect 0 '{"templates":[{"uri":"template://notes/toy/long","name":"Toy notes","description":"Notes","category":"notes","toolchain":{"type":"toy"},"variant":"long","version":"1.0.0","output":"NOTES","mime_type":"text/plain","executable":false,"parameters":[],"parameters_schema":'"$("$toolwire" template show notes/toy --json --templates own | sed -E 's/.*"parameters_schema":(.*)\}$/\1/')"'}],"count":1,"total":1}' \
    ls --json --toolchain toy --category notes --templates own
[ "$("$toolwire" template ls | wc -l)" -ge 40 ] && ok || fail 'fewer than 40 templates are built in'
expect 2 "toolwire template ls: it takes no operand, but got 'x'" ls x
expect 2 'toolwire template ls: cannot read the folder of templates none: No such file or directory' ls --templates none

# --templates may be repeated; a later folder takes the place of an earlier one.
mkdir -p second
cat >second/manifest.json <<'JSON'
{ "templates": [
    { "uri": "template://notes/toy/long", "name": "Other notes", "description": "Notes", "file": "n", "output": "N" } ] }
JSON
: >second/n
expect 0 'template://notes/toy/long  Other notes' ls --toolchain toy --category notes --templates own --templates=second
mkdir -p config/toolwire/templates
cp -r own/toy config/toolwire/templates/
expect 0 'template://notes/toy/long  Toy notes' ls --toolchain toy --category notes
rm -r config

# show
expect 0 'template://makefile/toy/cli - Toy Makefile (2.0.0)

Builds a toy

Output: Makefile (text/x-makefile)

Parameters:
project_name  string   required        Its name
                                       pattern ^[a-z]+$
jobs          integer  default 2       At once
                                       1 to 8
flags         array    default []      Flags
mode          choice   default "safe"  Mode
                                       one of ["fast", "safe"]' show makefile/toy --templates own
expect 0 'template://notes/toy/long - Toy notes (1.0.0)

Notes

Output: NOTES (text/plain)

Parameters: none' show template://notes/toy/long --templates own
expect 0 '#!/bin/sh
echo "{{greeting}}"' show script/toy/cli --source --templates own
"$toolwire" template show script/toy --json --source --templates own >out
case $(cat out) in
'{"uri":"template://script/toy/cli",'*'"output":"bin/{{snake_case project_name}}.sh","mime_type":"application/x-sh","executable":true,'*'{"name":"project_name","type":"string","required":true,"description":"Its name","pattern":"^[a-z]+$"}'*'"source":"#!/bin/sh\necho \"{{greeting}}\"\n"}') ok ;;
*) fail "show --json: $(cat out)" ;;
esac
"$toolwire" validate out >/dev/null && ok || fail 'show --json is not JSON'
expect 1 "toolwire template show: there is no template 'makefile/tot'; did you mean 'template://makefile/toy/cli'?" \
    show makefile/tot --templates own
expect 1 "toolwire template show: there is no template 'template://makefile/toy/lib'; did you mean 'template://makefile/toy/cli'?" \
    show template://makefile/toy/lib --templates own
expect 1 "toolwire template show: there is no template 'zzzzzzzz'; 'toolwire template ls' lists them" show zzzzzzzz
for uri in template://../../etc/passwd template://%2e%2e/%2e%2e/etc template://a/b; do
    expect 2 "toolwire template show: '$uri' is no URI of a template: it has the form template://{category}/{toolchain}/{variant}" \
        show "$uri"
done
expect 2 'toolwire template show: which TEMPLATE?' show
expect 2 'toolwire template show: one TEMPLATE' show a b

# render
expect 0 '# demo 2 safe' render makefile/toy -p project_name=demo --templates own
expect 0 '# demo 4 fast -a -b' render makefile/toy -p project_name=demo -p jobs=4 -p mode=fast -p flags=-a,-b --templates own
expect 0 '# demo 3 safe a,b' render makefile/toy -p project_name=demo -p jobs:=3 -p 'flags:=["a,b"]' --templates own
printf '{"project_name": "filed", "jobs": 5}' >params.json
expect 0 '# filed 5 safe' render makefile/toy --params params.json --templates own
expect 0 '# filed 6 safe' render makefile/toy --params params.json -p jobs=6 --templates own
cp params.json in
expect 0 '# filed 5 safe' render makefile/toy --params - --templates own
: >in
expect 0 '{"template":"template://makefile/toy/cli","path":"Makefile","size":14,"checksum":"'"$(printf '# demo 2 safe\n' | sha256sum | cut -d' ' -f1)"'","executable":false,"content":"# demo 2 safe\n"}' \
    render makefile/toy -p project_name=demo --json --templates own
# Every fault at once, and the nearest name.
expect 2 "toolwire template render: Parameter 'project_name' does not match pattern: ^[a-z]+\$; got \"Demo\"
toolwire template render: Parameter 'jobs' must be 1 to 8; got 9
toolwire template render: Parameter 'mode' must be one of: fast, safe; got \"slow\"
toolwire template render: Unknown parameter: falgs; did you mean 'flags'?" \
    render makefile/toy -p project_name=Demo -p jobs=9 -p mode=slow -p falgs=x --templates own
# Never asked for where standard input is no terminal.
expect 2 "toolwire template render: parameter 'project_name' is required (string)
toolwire template render: parameter 'greeting' is required (string)" render script/toy --templates own
status=0
"$toolwire" template render script/toy --json --templates own <in >out 2>err || status=$?
holds out '{"errors":[{"template":"template://script/toy/cli","error":"'"$(sed -E 's/.*"error":"([^"]*)".*/\1/' out)"'","errors_total":2}],"faults":[{"parameter":"project_name","code":"missing","message":"project_name - required parameter missing","expected":"string"},{"parameter":"greeting","code":"missing","message":"greeting - required parameter missing","expected":"string"}]}'
[ $status = 2 ] && ok || fail "faults as JSON: status $status"
"$toolwire" template render makefile/toy -p project_name=demo -p jobs=9 -p "falgs=$(printf 'x%.0s' {1..200})" --json --templates own \
    <in >out 2>err || true
grep -q '"faults":\[{"parameter":"jobs","code":"range","message":"Parameter .jobs. must be 1 to 8","expected":"1 to 8","got":9},{"parameter":"falgs","code":"unknown","message":"Unknown parameter: falgs","expected":"flags","got":"\\"xxx*\.\.\."}\]}$' out &&
    ok || fail "faults as JSON: $(cat out)"
expect 2 "toolwire template render: 'x' is no parameter: write NAME=VALUE, or NAME:=JSON" render makefile/toy -p x --templates own
expect 2 "toolwire template render: 'jobs' is not JSON: x" render makefile/toy -p jobs:=x --templates own
expect 2 "toolwire template render: 'jobs' is given twice" render makefile/toy -p jobs=1 -p jobs:=2 --templates own
expect 2 "toolwire template render: cannot read the parameters 'none.json': No such file or directory" \
    render makefile/toy --params none.json --templates own
printf '[1]' >list.json
expect 2 "toolwire template render: the parameters 'list.json' cannot be used: not a JSON object" \
    render makefile/toy --params list.json --templates own
# To a file, which is never replaced unasked.
expect 0 '' render makefile/toy -p project_name=demo --output made --templates own
holds made '# demo 2 safe'
expect 0 '' render makefile/toy -p project_name=demo --output made --templates own
expect 1 "toolwire template render: 'made' is there already, and differs (+1 -1); --overwrite replaces it" \
    render makefile/toy -p project_name=other --output made --templates own
holds made '# demo 2 safe'
expect 0 '' render makefile/toy -p project_name=other --output "$dir/made" --overwrite --templates own
holds made '# other 2 safe'
ln -s secret link
printf 'secret\n' >secret
for overwrite in --json --overwrite; do
    "$toolwire" template render makefile/toy -p project_name=demo --output link "$overwrite" --templates own \
        >out 2>&1 && fail "a link was written through ($overwrite): $(cat out)" || ok
    holds secret 'secret'
done
rm link

# search
expect 0 'template://makefile/toy/cli  8  Toy Makefile  Builds a toy
template://script/toy/cli    8  Toy script    Runs a toy
template://notes/toy/long    5  Toy notes     Notes
template://place/toy/cli     5  Toy place     Goes anywhere' search toy --toolchain toy --templates own
expect 0 '{"templates":[{"uri":"template://script/toy/cli","name":"Toy script","description":"Runs a toy","category":"script","toolchain":{"type":"toy"},"variant":"cli","relevance":16}],"query":"toy script runs","count":1,"total":1}' \
    search toy script runs --json --toolchain toy --templates own
expect 1 'toolwire template search: no template has these words' search qqqqqqqq
expect 2 'toolwire template search: which words?' search

# scaffold
expect 2 'toolwire template scaffold: which TOOLCHAIN?' scaffold
expect 1 "toolwire template scaffold: there is no toolchain 'tooy'; did you mean 'toy'?" scaffold tooy --templates own
expect 1 "toolwire template scaffold: toolchain 'toy' has no template 'makefil'; did you mean 'makefile'?" \
    scaffold toy makefil --templates own
expect 1 "toolwire template scaffold: toolchain 'toy' has no template 'zzzz'" scaffold toy --without zzzz --templates own
expect 2 'toolwire template scaffold: nothing is left to be made' scaffold toy notes --without notes --templates own
# What is wrong is said once for all templates, and nothing is written.
expect 2 "toolwire template scaffold: parameter 'project_name' is required (string)
toolwire template scaffold: parameter 'greeting' is required (string)
toolwire template scaffold: Unknown parameter: job; did you mean 'jobs'?" \
    scaffold toy --without place -p job=1 --templates own
# The guess of any template will do.
expect 2 "toolwire template scaffold: parameter 'greeting' is required (string)
toolwire template scaffold: Unknown parameter: greting; did you mean 'greeting'?" \
    scaffold toy makefile script -p project_name=demo -p greting=hi --templates own
absent project demo
toy=(scaffold toy --without place -p project_name=demo -p greeting=hi --templates own)
tree() {
    printf '%s/\n├── Makefile  %s\n├── NOTES  %s\n└── bin/\n    └── demo.sh  %s\n\n%s' "$@"
}
expect 0 "$(tree demo new new new '3 files: 3 new, 0 same, 0 differs')" "${toy[@]}" --dry-run
absent demo
expect 0 "$(tree demo new new new '3 files: 3 new, 0 same, 0 replaced')" "${toy[@]}"
holds demo/Makefile '# demo 2 safe'
holds demo/bin/demo.sh '#!/bin/sh
echo "hi"'
[ -x demo/bin/demo.sh ] && [ ! -x demo/Makefile ] && ok || fail 'the script is to be executable, and nothing else'
[ "$(demo/bin/demo.sh)" = hi ] && ok || fail 'the script does not run'
expect 0 "$(tree demo same same same '3 files: 0 new, 3 same, 0 replaced')" "${toy[@]}"
printf 'mine\nall mine\n' >demo/NOTES
expect 0 "$(tree demo same 'differs +1 -2' same '3 files: 0 new, 2 same, 1 differs')" "${toy[@]}" --dry-run
rm demo/Makefile
expect 1 "toolwire template scaffold: 'NOTES' is there already, and differs (+1 -2); --overwrite replaces it
toolwire template scaffold: nothing was written" "${toy[@]}"
absent demo/Makefile
holds demo/NOTES 'mine
all mine'
expect 0 "$(tree demo new 'replaced +1 -2' same '3 files: 1 new, 1 same, 1 replaced')" "${toy[@]}" --overwrite
holds demo/NOTES notes
# What is replaced keeps who may use it; a script that cannot be run is not the same.
printf 'key\n' >demo/NOTES
chmod 600 demo/NOTES demo/bin/demo.sh
expect 0 "$(tree demo same 'replaced +1 -1' 'replaced +0 -0' '3 files: 0 new, 1 same, 2 replaced')" "${toy[@]}" --overwrite
[ "$(stat -c %a demo/NOTES demo/bin/demo.sh | tr '\n' ' ')" = '600 700 ' ] && ok || fail "$(stat -c '%a %n' demo/NOTES demo/bin/demo.sh)"
printf 'key\n' >demo/NOTES
"$toolwire" template render notes/toy --templates own --output demo/NOTES --overwrite && [ "$(stat -c %a demo/NOTES)" = 600 ] && ok ||
    fail "render: $(stat -c %a demo/NOTES)"
expect 0 '{"toolchain":{"type":"toy"},"folder":"fresh/er","dry_run":true,"files":[{"template":"template://notes/toy/long","path":"NOTES","size":6,"checksum":"'"$(printf 'notes\n' | sha256sum | cut -d' ' -f1)"'","executable":false,"state":"new"}],"skipped":[]}' \
    scaffold toy notes/long --into fresh/er --dry-run --json --templates own
absent fresh
# --into: folders that are missing are made; without project_name the project has a name all the same.
expect 0 'fresh/er/
└── NOTES  new

1 file: 1 new, 0 same, 0 replaced' scaffold toy notes --into fresh/er --templates own
holds fresh/er/NOTES notes
expect 0 'project/
└── NOTES  new

1 file: 1 new, 0 same, 0 replaced' scaffold toy template://notes/toy/long --templates own
holds project/NOTES notes
expect 0 "$dir/fresh/
└── NOTES  new

1 file: 1 new, 0 same, 0 replaced" scaffold toy notes --into "$dir/fresh" --templates own
printf 'x' >file
"$toolwire" template scaffold toy notes --into file --templates own >out 2>&1 && fail 'a file is no folder' || ok
holds file x

# Attacks: nothing leaves the folder, whatever names, templates and links say.
mkdir outside
printf 'secret\n' >outside/NOTES
for name in ../outside .. . a/b /tmp/x 'a\b' ''; do
    status=0
    "$toolwire" template scaffold toy makefile -p "project_name=$name" --templates own <in >out 2>&1 || status=$?
    [ $status = 2 ] && grep -q "'project_name'" out && ok || fail "project_name '$name': $status: $(cat out)"
done
for where in ../outside/NEW /tmp/tw-never a/../../outside/NEW .. a//b 'a/./b' '..\x'; do
    status=0
    "$toolwire" template scaffold toy place -p "where=$where" --into fresh --overwrite --templates own <in >out 2>&1 || status=$?
    [ $status != 0 ] && ok || fail "where '$where' was taken: $(cat out)"
done
absent outside/NEW /tmp/tw-never a
# The folder of the project, a folder in it, and a file in it are links that lead out.
ln -s outside linked
printf '{"templates":[{"uri":"template://notes/free/cli","name":"N","description":"d","file":"n","output":"NOTES","parameters":[{"name":"project_name","type":"string","required":true,"description":"d"}]}]}' >second/manifest.json
status=0
"$toolwire" template scaffold free notes -p project_name=linked --overwrite --templates second <in >out 2>&1 || status=$?
[ $status = 1 ] && ok || fail "a link in the place of the project: $status: $(cat out)"
holds outside/NOTES secret
mkdir trap
ln -s ../outside trap/bin
status=0
"$toolwire" "template" "${toy[@]}" --into trap --overwrite <in >out 2>&1 || status=$?
[ $status = 1 ] && ok || fail "a folder that is a link: $status: $(cat out)"
absent outside/demo.sh trap/Makefile trap/NOTES
rm trap/bin
ln -s ../outside/NOTES trap/NOTES
status=0
"$toolwire" "template" "${toy[@]}" --into trap --overwrite <in >out 2>&1 || status=$?
[ $status = 1 ] && ok || fail "a file that is a link: $status: $(cat out)"
holds outside/NOTES secret
ln -s nowhere dangling
status=0
"$toolwire" template scaffold toy notes --into dangling/deep --templates own <in >out 2>&1 || status=$?
[ $status = 1 ] && ok || fail "a link that leads nowhere: $status: $(cat out)"
absent nowhere
status=0
"$toolwire" template scaffold toy notes --into none/../../outside2 --templates own <in >out 2>&1 || status=$?
[ $status = 1 ] && ok || fail "dots behind a folder that is not there: $status: $(cat out)"
absent none ../outside2

# lint
expect 0 '4 templates: 0 errors, 0 warnings' lint own
expect 0 '4 templates: 0 errors, 0 warnings' lint own/toy/
expect 0 '{"problems":[],"templates":4,"errors":0,"warnings":0}' lint own --json
mkdir -p bad/a bad/b bad/c
cat >bad/a/manifest.json <<'JSON'
{ "templates": [
    { "uri": "template://x/y", "name": "A", "file": "a.hbs", "output": "a" },
    { "uri": "template://x/y/good", "name": "B", "description": "d", "file": "b.hbs", "output": "b",
      "parameters": [
        { "name": "used", "type": "string", "description": "d" },
        { "name": "spare", "type": "string", "description": "d" } ] },
    { "uri": "template://x/y/gone", "name": "C", "description": "d", "file": "gone.hbs", "output": "c" },
    { "uri": "template://x/y/syntax", "name": "D", "description": "d", "file": "d.hbs", "outptu": "d" } ] }
JSON
printf 'one\n{{used}} {{usde}}\n' >bad/a/b.hbs
printf '{"templates":[{"uri":"template://x/y/good","name":"B","description":"d","file":"e.hbs","output":"b"},' >bad/b/manifest.json
printf '{"uri":"template://x/y/linked","name":"L","description":"d","file":"l.hbs","output":"l"}]}' >>bad/b/manifest.json
printf 'a\nb {{#if x}}\n' >bad/b/e.hbs
ln -s ../../secret bad/b/l.hbs
printf '{"templates":' >bad/c/manifest.json
status=0
"$toolwire" template lint bad >out 2>&1 || status=$?
[ $status = 1 ] && ok || fail "lint of a bad folder: status $status"
# says SEVERITY PLACE WORDS
says() {
    if grep -E "^$1: $2: .*$3" out >/dev/null; then ok; else fail "lint does not say $1 $2 $3:" "$(cat out)"; fi
}
says error bad/a/manifest.json:2 uri
says warning bad/a/manifest.json:2 description
says error bad/a/manifest.json:8 'outptu.*"output"'
says error bad/a/b.hbs:2 '"usde" is no parameter; did you mean "used"'
says warning bad/a/b.hbs '"spare" is never used'
says error bad/a/gone.hbs 'cannot be read: No such file'
says error bad/b/e.hbs:2 ''
says error bad/b/l.hbs 'cannot be read'
says error bad/c/manifest.json:1 ''
tail -1 out | grep -Eq '^[0-9]+ templates: [0-9]+ errors, [0-9]+ warnings$' && ok || fail "no summary: $(tail -1 out)"
# As many as the JSON form has.
n_errors=$(grep -c '^error: ' out)
"$toolwire" template lint bad --json >json 2>&1 && fail 'lint --json of a bad folder exits with 0' || ok
grep -q "\"errors\":$n_errors," json && ok || fail "lint --json has another number than $n_errors: $(cat json)"
grep -q '{"severity":"error","file":"bad/a/b.hbs","line":2,"column":12,"field":"usde","message":"\\"usde\\" is no parameter; did you mean \\"used\\"?"}' json &&
    ok || fail "lint --json: $(cat json)"
"$toolwire" validate json >/dev/null && ok || fail 'lint --json is not JSON'
cp -r own twice
cp -r own/toy twice/zoo
expect 0 'warning: twice/zoo/manifest.json: template://makefile/toy/cli is in an earlier folder, too, and takes its place
warning: twice/zoo/manifest.json: template://script/toy/cli is in an earlier folder, too, and takes its place
warning: twice/zoo/manifest.json: template://notes/toy/long is in an earlier folder, too, and takes its place
warning: twice/zoo/manifest.json: template://place/toy/cli is in an earlier folder, too, and takes its place
8 templates: 0 errors, 4 warnings' lint twice
# What two templates share is said once.
mkdir shared
printf '{"templates":[{"uri":"template://a/toy/cli","name":"A","description":"d","file":"n","output":"a","parameters":[{"name":"q","type":"string","description":"d"}]},' >shared/manifest.json
printf '{"uri":"template://b/toy/cli","name":"B","description":"d","file":"n","output":"b","parameters":[{"name":"q","type":"string","description":"d"}]}]}' >>shared/manifest.json
printf 'notes\n' >shared/n
expect 0 'warning: shared/n: parameter "q" is never used
2 templates: 0 errors, 1 warning' lint shared
"$toolwire" template lint shared --json | grep -q '"warnings":1}$' && ok || fail 'lint --json counts what is said once'
mkdir empty
expect 1 "error: empty/manifest.json: there is none, nor one in a folder of 'empty'
0 templates: 1 error, 0 warnings" lint empty
expect 2 "toolwire template lint: cannot read the folder 'none': No such file or directory" lint none
expect 2 'toolwire template lint: which DIR?' lint

# A file whose condition is false is not made, and that is said; alone it is.
expect 0 'x/
└── Makefile  new

1 file: 1 new, 0 same, 0 differs
tests: not made, since has_tests is false' scaffold c makefile tests -p project_name=x -p has_tests=no --dry-run
expect 2 'toolwire template scaffold: nothing is left to be made: has_tests is false' scaffold c tests -p project_name=x -p has_tests=no
[ "$("$toolwire" template scaffold c makefile tests -p project_name=x -p has_tests=no --dry-run --json | sed 's/.*"skipped"/"skipped"/')" = \
    '"skipped":[{"template":"template://tests/c/cli","when":"has_tests"}]}' ] && ok || fail 'scaffold --json: skipped'
"$toolwire" template render tests/c -p project_name=x -p has_tests=no | grep -q '^#!' && ok || fail 'render of a file alone'
"$toolwire" template show tests/c | grep -qx 'Output: tests/test_cli.sh (application/x-sh, executable) where has_tests is true' &&
    ok || fail 'show: the condition'

# Words that are reserved: the first ones are said, and all by show.
expect 2 "toolwire template render: Parameter 'project_name' is a reserved word; it must be none of: build, deps, examples, incremental; got \"deps\"" \
    render tests/rust -p project_name=deps
"$toolwire" template render tests/python -p project_name=zlib >out 2>&1 && fail 'zlib is taken' || ok
grep -q 'none of: and, as, .*, in and [1-9][0-9]* more; got' out && ok || fail "a long list of words: $(cat out)"
"$toolwire" template show tests/python | grep -q '; none of and, as, .*, zlib, .*, typing_extensions$' && ok || fail 'show: reserved words'
expect 2 "toolwire template render: Parameter 'features[1]' must be an element that differs from those before it; got \"json\"" \
    render build/rust -p project_name=x -p features=json,json

# More faults than are told.
options=()
for i in $(seq 60); do options+=(-p "a$i=1"); done
printf '{"b0":1' >many
for i in $(seq 80); do printf ',"b%d":1' "$i" >>many; done
printf '}' >>many
"$toolwire" template render tests/c -p project_name=x "${options[@]}" --params many >out 2>&1 && fail 'unknown parameters' || ok
[ "$(wc -l <out)" = 101 ] && [ "$(tail -1 out)" = 'toolwire template render: and 41 more' ] && ok || fail "many faults: $(tail -2 out)"

# The sub-commands themselves.
expect 2 "toolwire template: unknown command 'sho'; did you mean 'show'?
toolwire template: 'toolwire template -h' lists the commands" sho
expect 2 "toolwire template: a command is missing; 'toolwire template -h' lists them"
expect 2 "toolwire template ls: unknown option '--tolchain'; did you mean '--toolchain'?" ls --tolchain x
for command in ls show render scaffold search lint; do
    "$toolwire" template -h | grep -q "^  $command  " && ok || fail "template -h does not name $command"
    "$toolwire" template "$command" -h | grep -q "^usage: toolwire template $command \[OPTION" && ok || fail "template $command -h"
done

# The examples of the help do what they say, without questions.
mkdir examples
"$toolwire" template -h | sed -n 's/^  toolwire //p' >examples/list
[ "$(wc -l <examples/list)" -ge 2 ] && ok || fail "the help has no examples: $("$toolwire" template -h)"
while read -r example; do
    # shellcheck disable=SC2086 # words of a command
    (cd examples && "$toolwire" $example </dev/null >../out 2>&1) && ok || fail "toolwire $example: $(cat out)"
done <examples/list
[ -f examples/demo/Makefile ] && ok || fail 'the example of scaffold wrote nothing'

# What is built in makes whole projects, without questions, from the parameters that it says are required.
for toolchain in rust deno python-uv c cpp go node python; do
    "$toolwire" template scaffold "$toolchain" -p project_name=demo -p description='A demo' --into "built/$toolchain" \
        <in >out 2>&1 && ok || fail "scaffold $toolchain: $(cat out)"
    grep -q ' new, 0 same, 0 replaced' out && ok || fail "scaffold $toolchain: $(cat out)"
done

# A template's control characters do not reach the terminal through tables.
printf '{"templates":[{"uri":"template://notes/free/cli","name":"N\\u009b31m","description":"d\\u007f","file":"n","output":"NOTES"}]}' >second/manifest.json
for words in 'ls --toolchain free' 'show notes/free' 'search n --toolchain free' 'lint second'; do
    "$toolwire" template $words $([ "$words" = 'lint second' ] || echo --templates second) >out 2>&1 || true
    if LC_ALL=C grep -q $'\033\|\302\233\|\177' out; then fail "$words: a control character: $(cat -v out)"; else ok; fi
done

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
