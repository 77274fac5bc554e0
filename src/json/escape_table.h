/* json/escape_table.h: the eight two-byte escapes of JSON. Private to src/json. */
#pragma once

/* By the byte after the backslash: the character it stands for, 0 if it is none of the eight. */
static const char json_simple_escape[256] = {
    ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
    ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
};
