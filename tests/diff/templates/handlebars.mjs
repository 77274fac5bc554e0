// Handlebars as the other opinion: noEscape, the helpers of toolwire, a fixed time.
import Handlebars from 'handlebars';

export const TIME = '2025-01-15T10:30:00.123Z';

// With noEscape, Handlebars joins what tags print by "+", and where it begins with two numbers it adds
// them: {{a}}{{b}} of 1 and 2 prints 3. Here every tag prints text.
class Compiler extends Handlebars.JavaScriptCompiler {
    append() {
        if (this.isInline()) {
            this.replaceStack((current) => [' != null ? "" + ', current, ' : ""']);
            this.pushSource(this.appendToBuffer(this.popStack()));
            return;
        }
        const local = this.popStack();
        this.pushSource(['if (', local, ' != null) { ',
            this.appendToBuffer(['"" + ', local], undefined, true), ' }']);
        if (this.environment.isSimple) {
            this.pushSource(['else { ', this.appendToBuffer("''", undefined, true), ' }']);
        }
    }
}
Compiler.prototype.compiler = Compiler;

export const plain = Handlebars.create();
export const hb = Handlebars.create();
hb.JavaScriptCompiler = Compiler;
hb.logger.log = () => {};
hb.log = () => {};

const needText = (v) => {
    if (typeof v !== 'string') {
        throw new Error('needs text');
    }
    return v;
};
const lower = (s) => s.replace(/[A-Z]/g, (c) => c.toLowerCase());
const upper = (s) => s.replace(/[a-z]/g, (c) => c.toUpperCase());
const snake = (s) => lower(s.replace(/(?<=[^A-Z])[A-Z]/gsu, (c) => '_' + c)).replace(/[- ]/g, '_');
const capitals = (s) => s.replace(/(^|[-_ ])([a-z])/g, (all, before, c) => before + upper(c));

export const helpers = {
    snake_case: [1, (s) => snake(needText(s))],
    kebab_case: [1, (s) => snake(needText(s)).replace(/_/g, '-')],
    pascal_case: [1, (s) => capitals(needText(s)).replace(/[-_ ]/g, '')],
    upper: [1, (s) => upper(needText(s))],
    lower: [1, (s) => lower(needText(s))],
    title: [1, (s) => capitals(needText(s))],
    default: [2, (v, other) =>
        (v === undefined || v === null || v === '' || (Array.isArray(v) && v.length === 0) ? other : v)],
    join: [2, (list, separator) => {
        if (list === undefined || list === null) {
            return needText(separator) && '';
        }
        if (!Array.isArray(list)) {
            throw new Error('needs an array');
        }
        return list.join(needText(separator));
    }],
    current_year: [0, () => TIME.slice(0, 4)],
    current_date: [0, () => TIME.slice(0, 10)],
};
for (const [name, [n, call]] of Object.entries(helpers)) {
    hb.registerHelper(name, (...args) => {
        if (args.length - 1 !== n) {
            throw new Error(`${name} takes ${n}`);
        }
        return call(...args.slice(0, n));
    });
}

// { text } or { error }.
export function render(template, values) {
    try {
        const root = { ...values };
        // An own __proto__ of JSON.parse is lost by the line above, and is not used here.
        root.current_timestamp = TIME;
        return { text: hb.compile(template, { noEscape: true })(root) };
    } catch (error) {
        return { error: String(error.message) };
    }
}
