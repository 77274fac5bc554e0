// Writes a tiny language model in the GGUF format: the llama architecture, two layers, 354 tokens, random weights. It
// says nothing that means anything; it is there so that a real inference engine has something to run.
import { writeFileSync } from 'node:fs';

const WIDTH = 64, HIDDEN = 128, HEADS = 4, LAYERS = 2, CONTEXT = 512, ALIGN = 32;
const TYPE = { u32: 4, f32: 6, string: 8, array: 9, i32: 5 };

/** Bytes one after the other. */
class Out {
    parts = [];
    n = 0;
    raw(bytes) { this.parts.push(bytes); this.n += bytes.length; return this; }
    u32(v) { const b = Buffer.alloc(4); b.writeUInt32LE(v); return this.raw(b); }
    i32(v) { const b = Buffer.alloc(4); b.writeInt32LE(v); return this.raw(b); }
    u64(v) { const b = Buffer.alloc(8); b.writeBigUInt64LE(BigInt(v)); return this.raw(b); }
    f32(v) { const b = Buffer.alloc(4); b.writeFloatLE(v); return this.raw(b); }
    string(s) { const b = Buffer.from(s); return this.u64(b.length).raw(b); }
    pad() { return this.raw(Buffer.alloc((ALIGN - (this.n % ALIGN)) % ALIGN)); }
    bytes() { return Buffer.concat(this.parts); }
}

/** The tokens: marks, every byte, and every printable character of ASCII. (A blank is U+2581 here.) */
function vocabulary() {
    const tokens = [['<unk>', 2], ['<s>', 3], ['</s>', 3]];
    for (let i = 0; i < 256; i++) tokens.push([`<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`, 6]);
    for (let i = 32; i < 127; i++) tokens.push([i === 32 ? '\u2581' : String.fromCharCode(i), 1]);
    return tokens;
}

function tensors(n) {
    const list = [['token_embd.weight', [WIDTH, n]], ['output_norm.weight', [WIDTH]], ['output.weight', [WIDTH, n]]];
    for (let i = 0; i < LAYERS; i++) {
        const add = (name, dims) => list.push([`blk.${i}.${name}.weight`, dims]);
        for (const name of ['attn_norm', 'ffn_norm']) add(name, [WIDTH]);
        for (const name of ['attn_q', 'attn_k', 'attn_v', 'attn_output']) add(name, [WIDTH, WIDTH]);
        for (const name of ['ffn_gate', 'ffn_up']) add(name, [WIDTH, HIDDEN]);
        add('ffn_down', [HIDDEN, WIDTH]);
    }
    return list;
}

export function writeModel(path) {
    const tokens = vocabulary();
    const list = tensors(tokens.length);
    const keys = [];
    const put = (name, type, write) => keys.push((out) => write(out.string(name).u32(type)));
    const number = (name, value) => put(name, TYPE.u32, (out) => out.u32(value));
    const text = (name, value) => put(name, TYPE.string, (out) => out.string(value));
    const array = (name, type, values, each) => put(name, TYPE.array, (out) => {
        out.u32(type).u64(values.length);
        for (const value of values) each(out, value);
    });
    text('general.architecture', 'llama');
    text('general.name', 'tiny');
    number('llama.context_length', CONTEXT);
    number('llama.embedding_length', WIDTH);
    number('llama.block_count', LAYERS);
    number('llama.feed_forward_length', HIDDEN);
    number('llama.attention.head_count', HEADS);
    number('llama.attention.head_count_kv', HEADS);
    number('llama.rope.dimension_count', WIDTH / HEADS);
    put('llama.attention.layer_norm_rms_epsilon', TYPE.f32, (out) => out.f32(1e-5));
    text('tokenizer.ggml.model', 'llama');
    array('tokenizer.ggml.tokens', TYPE.string, tokens, (out, [token]) => out.string(token));
    array('tokenizer.ggml.scores', TYPE.f32, tokens, (out) => out.f32(0));
    array('tokenizer.ggml.token_type', TYPE.i32, tokens, (out, [, type]) => out.i32(type));
    number('tokenizer.ggml.bos_token_id', 1);
    number('tokenizer.ggml.eos_token_id', 2);

    const out = new Out();
    out.raw(Buffer.from('GGUF')).u32(3).u64(list.length).u64(keys.length);
    for (const key of keys) key(out);
    let offset = 0;
    const data = [];
    let seed = 1;
    for (const [name, dims] of list) {
        const n = dims.reduce((a, b) => a * b);
        const values = new Float32Array(n);
        for (let i = 0; i < n; i++) {
            seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0; // the same model every time
            values[i] = name.includes('norm') ? 1 : (seed / 2 ** 32 - 0.5) * 0.4;
        }
        out.string(name).u32(dims.length);
        for (const dim of dims) out.u64(dim);
        out.u32(0).u64(offset); // 0: 32-bit floats
        const bytes = Buffer.from(values.buffer);
        data.push(bytes);
        offset += Math.ceil(bytes.length / ALIGN) * ALIGN;
    }
    out.pad();
    for (const bytes of data) out.raw(bytes).pad();
    writeFileSync(path, out.bytes());
}
