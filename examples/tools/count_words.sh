#!/bin/sh
# A tool: one JSON object of arguments on standard input, one JSON object as the result on standard output.
# The text is taken out of the arguments with sed, so that the example needs nothing but a shell; a tool of
# your own will use a JSON library.
set -eu
text=$(sed -e 's/^[^:]*:[[:space:]]*"//' -e 's/"[[:space:]]*}[[:space:]]*$//')
printf '%b\n' "$text" | wc -lwc | {
    read -r lines words bytes
    printf '{"lines":%s,"words":%s,"bytes":%s}\n' "$lines" "$words" "$bytes"
}
