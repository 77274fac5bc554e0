// Random templates and values, the same on every machine for a seed.

export class Random {
    constructor(seed) {
        this.state = seed >>> 0;
    }

    next() {
        this.state = (this.state + 0x9e3779b9) >>> 0;
        let z = this.state;
        z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
        z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
        return (z ^ (z >>> 16)) >>> 0;
    }

    below(n) { return this.next() % n; }
    oneOf(list) { return list[this.below(list.length)]; }
    chance(percent) { return this.below(100) < percent; }
}

const names = ['a', 'b', 'c', 'd', 'items', 'name', 'obj', 'list', 'flag', 'none', 'empty', 'n', '0', 'length'];
const texts = ['', ' ', '  ', '\n', '\n\n', ' \n ', '\t', '\r\n', 'x', 'x\n', '\ny', ' z ', 'all: ', '\n  ',
    'é\n', '\u00a0', '\u2028', '{', '}', '{ {', '\\', '$', '"', '\v\n', '\n\t\n  '];
const helperNames = ['upper', 'lower', 'title', 'snake_case', 'kebab_case', 'pascal_case'];
const scalars = [null, true, false, 0, 1, -1, 1.5, 1e21, 1e-7, '', 'text', 'TwoWords', 'a-b c', '0', '1', '5',
    ' 5 ', '0x10', '[object Object]', 'é', '😀x', 'a,b', 'a"\n', 123456789012, -0];

export function value(random, depth = 0) {
    const kind = depth > 3 ? 0 : random.below(7);
    if (kind < 4) {
        return random.oneOf(scalars);
    }
    if (kind === 4) {
        return Array.from({ length: random.below(4) }, () => value(random, depth + 1));
    }
    return object(random, depth + 1);
}

function object(random, depth) {
    const keys = [...names, '2', '10', '01', '-1', 'x y', 'k'];
    const result = {};
    for (let i = random.below(6); i > 0; i--) {
        result[random.oneOf(keys)] = value(random, depth);
    }
    return result;
}

export function values(random) {
    const result = object(random, 1);
    for (const name of ['a', 'items', 'list']) {
        if (random.chance(70)) {
            result[name] = Array.from({ length: random.below(4) }, () => value(random, 2));
        }
    }
    if (random.chance(70)) {
        result.name = random.oneOf(['my-project', 'MyProject', 'HTTPServer', '']);
    }
    if (random.chance(70)) {
        result.obj = object(random, 2);
    }
    return result;
}

const tilde = (random) => (random.chance(12) ? '~' : '');
const blank = (random) => random.oneOf(['', '', '', ' ', '  ', '\n']);

function path(random, scope) {
    const name = () => random.oneOf([...names, ...scope.params, ...scope.params]);
    switch (random.below(14)) {
    case 0: return 'this';
    case 1: return '.';
    case 2: return '../' + name();
    case 3: return random.oneOf(['..', '../..', '../../' + name(), '../this', '.././' + name()]);
    case 4: return './' + name();
    case 5: return 'this.' + name();
    case 6: return `${name()}.${name()}`;
    case 7: return `[${name()}]`;
    case 8: return random.oneOf(['@index', '@key', '@first', '@last', '@../index', '@../key', '@root', '@foo',
        '@../../index', '@index.x', '@../root.a', '@this', '@..']);
    case 9: return '@root.' + name();
    case 10: return `${name()}/${name()}.${name()}`;
    case 11: return random.oneOf(['[x y]', 'obj.[x y]', 'name.length', 'items.length', 'items.[0]', 'items.1',
        'current_timestamp', '"a"', "'x y'", '0', '1.5', 'true', 'null', 'athis', 'obj.[this]', '[a\\]b]']);
    default: return name();
    }
}

function argument(random, scope, depth = 0) {
    switch (random.below(depth > 2 ? 5 : 7)) {
    case 0: return random.oneOf(['"text"', "'q'", '"a\\"b"', '1', '0', '-1.5', 'true', 'false', 'null',
        'undefined', '""', '007']);
    case 5: return `(${call(random, scope, depth + 1)})`;
    default: return path(random, scope);
    }
}

function call(random, scope, depth) {
    const gap = random.oneOf([' ', ' ', '  ', '\n']);
    switch (random.below(5)) {
    case 0: return random.oneOf(['current_year', 'current_date']);
    case 1: return `default${gap}${argument(random, scope, depth)} ${argument(random, scope, depth)}`;
    case 2: return `join ${random.oneOf(['items', 'list', 'a'])}${gap}${random.oneOf(['","', '" - "', '""'])}`;
    default: return `${random.oneOf(helperNames)} ${random.oneOf(['name', 'name', '"Some text"',
        `(default ${argument(random, scope, depth)} "x")`, argument(random, scope, depth)])}`;
    }
}

function print(random, scope) {
    const what = random.chance(25) ? call(random, scope, 0) : path(random, scope);
    const [open, close] = random.oneOf([['{{', '}}'], ['{{', '}}'], ['{{', '}}'], ['{{{', '}}}'], ['{{&', '}}']]);
    const left = open === '{{{' ? '{{' + tilde(random) + '{' : '{{' + tilde(random) + open.slice(2);
    const right = close === '}}}' ? '}' + tilde(random) + '}}' : tilde(random) + '}}';
    return left + blank(random) + what + blank(random) + right;
}

// The name and argument of a block, and the names that its body sees.
function blockHead(random, scope, inverted) {
    const kind = random.oneOf(['if', 'if', 'unless', 'each', 'each', 'each', 'with', 'plain']);
    if (kind === 'plain') {
        const name = random.oneOf(['a', 'flag', 'obj', 'items', 'name', 'none', 'n', 'this', 'obj.a', '../a', '@root.a']);
        return { text: name, name, scope };
    }
    const what = kind === 'each' && random.chance(60)
        ? random.oneOf(['items', 'list', 'a', 'obj', 'this', '../items', '@root'])
        : argument(random, scope);
    if ((kind === 'each' || kind === 'with') && !inverted && random.chance(30)) {
        const params = [random.oneOf(['p', 'x', 'a', 'index']), random.oneOf(['k', 'i', 'key', 'name'])]
            .slice(0, 1 + random.below(2));
        return { text: `${kind} ${what} as |${params.join(' ')}|`, name: kind,
            scope: { params: [...scope.params, ...params] } };
    }
    return { text: `${kind} ${what}`, name: kind, scope };
}

function block(random, scope, depth) {
    const inverted = random.chance(12);
    const head = blockHead(random, scope, inverted);
    const mark = inverted ? '^' : '#';
    let text = `{{${tilde(random)}${mark}${head.text}${tilde(random)}}}` + body(random, inverted ? scope : head.scope, depth + 1);
    for (let i = inverted ? 0 : random.below(3); i > 0; i--) {
        if (random.chance(50)) {
            const chained = blockHead(random, scope, false);
            text += `{{${tilde(random)}${blank(random)}else ${chained.text}${tilde(random)}}}` +
                body(random, chained.scope, depth + 1);
        }
    }
    if (random.chance(40)) {
        text += random.oneOf([`{{${tilde(random)}else${tilde(random)}}}`, `{{${tilde(random)}^${tilde(random)}}}`,
            '{{ else }}']) + body(random, scope, depth + 1);
    }
    return text + `{{${tilde(random)}/${head.name}${tilde(random)}}}`;
}

function comment(random) {
    return random.oneOf(['{{! c }}', '{{!-- c }} --}}', '{{~! c ~}}', '{{~!-- x --~}}', '{{!}}', '{{!--}}', '{{!-}}']);
}

function body(random, scope, depth) {
    let text = '';
    for (let i = random.below(depth === 0 ? 7 : 4); i > 0; i--) {
        const kind = random.below(20);
        if (kind < 8) {
            text += random.oneOf(texts);
        } else if (kind < 13) {
            text += print(random, scope);
        } else if (kind < 18) {
            text += depth < 4 ? block(random, scope, depth) : '';
        } else if (kind === 18) {
            text += comment(random);
        } else {
            text += random.oneOf(['\\{{a}}', '\\\\{{a}}', '\\{{a}} \\{{b}}', '\\\\\\{{a}}', '\\{{{a}}}']);
        }
    }
    return text;
}

export const template = (random) => body(random, { params: [] }, 0);

const faults = ['{{', '}}', '{{{', '}}}', '~', '#', '/', '^', '!', '--', '(', ')', '|', '"', "'", '[', ']', '@', '.',
    '..', '=', ' ', '\n', '\\', 'else', 'if', 'as |', '{{/if}}', '{{else}}', '{{#if a}}', '*', '>', '&', 'this', '1',
    '\u00a0', 'x'];

// A piece put in, taken out, doubled or cut off.
export function damage(random, text) {
    const at = random.below(text.length + 1);
    switch (random.below(4)) {
    case 0: return text.slice(0, at) + text.slice(at + 1 + random.below(3));
    case 1: return text.slice(0, at) + random.oneOf(faults) + text.slice(at);
    case 2: return text.slice(0, at) + text.slice(at - 2 < 0 ? 0 : at - 2);
    default: return text.slice(0, at);
    }
}
