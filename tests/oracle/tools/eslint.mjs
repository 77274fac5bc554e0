// JavaScript and TypeScript: cyclomatic complexity by eslint's rule, cognitive complexity by sonarjs' (1.0.4: the
// last one that counts || and has no exceptions for operators in conditions).
// ORACLE_NODE: the folder whose node_modules hold eslint, eslint-plugin-sonarjs, @typescript-eslint/parser, typescript.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { extname, join } from "node:path";
import { files, row } from "./support.mjs";

const need = createRequire(join(process.env.ORACLE_NODE ?? process.cwd(), "package.json"));
const { Linter } = need("eslint");
const { builtinRules } = need("eslint/use-at-your-own-risk");
const parser = need("@typescript-eslint/parser");
const cyclomatic = builtinRules.get("complexity");
const cognitive = need("eslint-plugin-sonarjs").rules["cognitive-complexity"];

// What is reported is the place of an arrow or of a name; we want the function itself. So the rules are given a
// context that tells us of which function they speak.
let now;

function contextOf(context, options, report) {
    return Object.create(context, { options: { value: options }, report: { value: report } });
}

function startOf(node) {
    const owner = node.parent;
    const outer = node.type === "FunctionExpression" && owner && owner.value === node &&
        (owner.type === "MethodDefinition" || (owner.type === "Property" && (owner.method || owner.kind !== "init")));
    return outer ? owner : node;
}

function nameOf(node) {
    const owner = node.parent;
    const key = node.id ?? (owner?.type === "VariableDeclarator" ? owner.id : owner?.value === node ? owner.key : null);
    return key?.name ?? (key?.value === undefined ? "" : String(key.value));
}

function put(node, metric, value, points) {
    const { line, column } = startOf(node).loc.start;
    row({ file: now, line, column: column + 1, name: nameOf(node), metric, value, points });
}

const wrapped = {
    cyclomatic: {
        meta: { schema: false },
        create: (context) => cyclomatic.create(contextOf(context, [0], ({ node, data }) => {
            // A class field that is a function is reported twice: once as the field.
            if (/Function/.test(node.type) && !data.name.startsWith("Class ")) {
                put(node, "cyclomatic", data.complexity);
            }
        })),
    },
    cognitive: {
        meta: { schema: false },
        create(context) {
            let said = null;
            const visitor = cognitive.create(contextOf(context, [0, "sonar-runtime"], ({ data }) => {
                said = data;
            }));
            const leave = visitor[":function:exit"];
            visitor[":function:exit"] = (node) => {
                said = null;
                leave(node);
                const found = said && JSON.parse(said.sonarRuntimeData).secondaryLocations;
                const points = (found ?? []).map(({ line, column, message }) =>
                    [line, column + 1, "", Number(message.match(/\d+/)[0])]);
                put(node, "cognitive", said ? said.complexityAmount : 0, points);
            };
            return visitor;
        },
    },
};

const linter = new Linter();
for (const file of files()) {
    now = file;
    const messages = linter.verify(readFileSync(file, "utf8"), [{
        files: ["**/*.{js,mjs,cjs,jsx,ts,mts,cts,tsx}"],
        languageOptions: { parser, parserOptions: { ecmaFeatures: { jsx: !/\.[cm]?ts$/.test(file) } } },
        plugins: { oracle: { rules: wrapped } },
        rules: { "oracle/cyclomatic": 2, "oracle/cognitive": 2 },
    }], { filename: `file${extname(file)}`, allowInlineConfig: false });
    for (const message of messages.filter((one) => one.fatal)) {
        row({ file, failed: message.message });
    }
}
