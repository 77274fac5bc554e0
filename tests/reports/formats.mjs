// Every format of a report, read back by readers that are not ours, says what its JSON says.
//
//   node formats.mjs REPORT_PROBE
import { spawnSync } from "node:child_process";
import { check, finish, probe, same } from "./support.mjs";

const json = JSON.parse(probe("json").toString("utf8"));
const violations = json.violations;

function checkJson() {
  same(json.totals, { violations: violations.length, functions: 144, files: 12, skipped: 11 }, "totals");
  same(json.top_files.requested, 5, "requested");
  same(json.top_files.rankings.map((row) => row.rank), [1, 2, 3, 4, 5], "ranks");
  check(violations.length > 100, "there are violations");
  const pages = [];

  for (let offset = 0; offset !== undefined; ) {
    const page = JSON.parse(probe("json", 50, offset).toString("utf8"));

    pages.push(...page.violations);
    offset = page.next_offset;
  }
  same(pages, violations, "the pages together");
}

/** As src/toolkit/shown.h has it: what cannot be shown is escaped. JSON has U+FFFD for a byte that is no letter. */
function shown(text, keep = "") {
  const hidden = "\\u0000-\\u001F\\u007F-\\u009F\\u061C\\u200E\\u200F\\u2028-\\u202E\\u2066-\\u2069\\uFFFE\\uFFFF";
  const hex = (c, n) => c.charCodeAt(0).toString(16).padStart(n, "0");

  return text
    .replace(new RegExp(`\\\\(?=[\\\\xu\uFFFD${hidden}])`, "g"), "\\\\")
    .replace(new RegExp(`[${hidden}]`, "g"), (c) =>
      keep.includes(c) ? c : c < "\u0080" ? `\\x${hex(c, 2)}` : `\\u${hex(c, 4)}`,
    );
}

/** What was read, with the bytes that are no letters as JSON has them. */
const asJsonHas = (text) => text.replace(/\\x[89a-f][0-9a-f]/g, "\uFFFD");

/** RFC 4180, strictly: CRLF, quotes where they must be, doubled inside. */
function readCsv(text) {
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;
  const rows = [[]];

  while (field.lastIndex < text.length) {
    const at = field.lastIndex;
    const match = field.exec(text);

    if (match === null) {
      throw new Error(`no field at ${at}: ${JSON.stringify(text.slice(at, at + 40))}`);
    }
    rows.at(-1).push(match[1]?.replaceAll('""', '"') ?? match[2]);
    if (match[3] === "\r\n") {
      rows.push([]);
    }
  }
  rows.pop();
  return rows;
}

function checkCsv() {
  const [header, ...rows] = readCsv(probe("csv").toString("utf8"));
  const column = (row, name) => row[header.indexOf(name)];

  check(rows.every((row) => row.length === header.length), "csv: every line has every field");
  same(
    rows.map((row) => [
      asJsonHas(column(row, "file")),
      asJsonHas(column(row, "function")),
      Number(column(row, "cyclomatic")),
    ]),
    json.functions.map((f) => [shown(f.file), shown(f.name), f.cyclomatic]),
    "csv",
  );
  same(
    rows.map((row) => [Number(column(row, "halstead_effort")), column(row, "parse_error")]),
    json.functions.map((f) => [f.halstead.effort, String(f.has_parse_error ?? false)]),
    "csv: effort",
  );
}

/** XML 1.0 as far as the format goes: declaration, elements with attributes, no text but blanks. Fails on anything else. */
function readXml(text) {
  const forbidden = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/;
  const token =
    /\s+|<\?xml version="1\.0" encoding="UTF-8"\?>|<\/([a-z]+)>|<([a-z]+)((?: [a-z]+="(?:[^<&"]|&(?:lt|gt|amp|quot|#\d+);)*")*)(\/?)>/y;
  const root = { children: [] };
  const open = [root];
  const decode = (s) =>
    s.replace(/&(lt|gt|amp|quot|#(\d+));/g, (_, name, code) =>
      code !== undefined ? String.fromCodePoint(Number(code)) : { lt: "<", gt: ">", amp: "&", quot: '"' }[name],
    );

  if (forbidden.test(text)) {
    throw new Error("a character that XML does not have");
  }
  while (token.lastIndex < text.length) {
    const at = token.lastIndex;
    const match = token.exec(text);

    if (match === null) {
      throw new Error(`not XML at ${at}: ${JSON.stringify(text.slice(at, at + 60))}`);
    }
    const [, end, name, attributes, empty] = match;
    if (end !== undefined && open.pop().name !== end) {
      throw new Error(`</${end}> closes another element`);
    }
    if (name !== undefined) {
      const element = { name, children: [], attributes: {} };

      for (const [, key, value] of attributes.matchAll(/ ([a-z]+)="([^"]*)"/g)) {
        // A reader turns white space that is not escaped into blanks.
        element.attributes[key] = decode(value.replace(/[\t\r\n]/g, " "));
      }
      open.at(-1).children.push(element);
      if (empty === "") {
        open.push(element);
      }
    }
  }
  if (open.length !== 1) {
    throw new Error("something is not closed");
  }
  return root.children[0];
}

function checkCheckstyle() {
  const bytes = probe("checkstyle");
  const files = readXml(bytes.toString("utf8")).children;
  const sayable = (s) => shown(s, "\t\n\r");
  const key = (row) => JSON.stringify(row);
  const expected = violations.map((v) => [sayable(v.file), v.line, v.severity, `${sayable(v.function)}: ${v.message}`]);
  const got = files.flatMap((file) =>
    file.children.map(({ attributes: e }) => [
      asJsonHas(file.attributes.name),
      Number(e.line),
      e.severity,
      asJsonHas(e.message),
    ]),
  );
  const lint = spawnSync("xmllint", ["--noout", "-"], { input: bytes });

  same(got.map(key).sort(), expected.map(key).sort(), "checkstyle");
  same(files.length, new Set(violations.map((v) => v.file)).size, "checkstyle: one element a file");
  if (lint.error === undefined) {
    check(lint.status === 0, `xmllint: ${lint.stderr}`);
  } else {
    console.log("xmllint is not installed: read by this script alone");
  }
}

/** The rows of the table below a heading, each cell as it is shown. */
function readTable(text, heading) {
  const lines = text.split(`\n## ${heading}\n\n`)[1].split("\n");
  const end = lines.findIndex((line) => !line.startsWith("|"));

  // A row is one line, and has as many cells as the rule below the header.
  return lines.slice(2, end).map((line) => {
    const parts = line.replace(/^\| /, "").replace(/ \|$/, "").split(" | ");

    check(parts.length === lines[1].split("|").length - 2, `markdown: cells of ${JSON.stringify(line)}`);
    return parts;
  });
}

function checkMarkdown() {
  const text = probe("markdown").toString("utf8");
  const rows = readTable(text, "Functions");

  same(rows.length, json.functions.length, "markdown: functions");
  same(
    rows.map((row) => row.slice(3, 5).map(Number)),
    json.functions.map((f) => [f.cyclomatic, f.cognitive]),
    "markdown: values",
  );
  check(rows.every((row) => /^(`+) ?[^]* ?\1$/.test(row[0])), "markdown: names are code");
  check(!/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u2028\u2029]/.test(text), "markdown: no control characters");
  same(readTable(text, "Violations").length, violations.length, "markdown: violations");
  same(readTable(text, "Not Measured").length, json.skipped.length, "markdown: skipped");
}

// The objects of SARIF that we write, with the members that the standard gives them as far as we use them: an object's
// members are named, a list's elements are in brackets, "?" is for what may be missing. (The whole schema: sarif_schema.mjs.)
const message = { text: "string" };
const artifactLocation = { uri: "string", "uriBaseId?": "string" };
const bag = "object";
const sarif = {
  $schema: "string",
  version: "string",
  runs: [
    {
      tool: {
        driver: {
          name: "string",
          "version?": "string",
          rules: [
            {
              id: "string",
              name: "string",
              shortDescription: message,
              fullDescription: message,
              help: { text: "string", markdown: "string" },
              defaultConfiguration: { level: "string", parameters: bag },
              properties: bag,
            },
          ],
        },
      },
      invocations: [
        {
          executionSuccessful: "boolean",
          toolExecutionNotifications: [
            {
              level: "string",
              message,
              locations: [{ physicalLocation: { artifactLocation, "region?": { startLine: "number" } } }],
            },
          ],
        },
      ],
      originalUriBaseIds: { "%SRCROOT%": { description: message } },
      columnKind: "string",
      results: [
        {
          ruleId: "string",
          ruleIndex: "number",
          level: "string",
          message,
          locations: [
            {
              physicalLocation: {
                artifactLocation,
                region: { startLine: "number", startColumn: "number", endLine: "number", endColumn: "number" },
              },
              logicalLocations: [{ name: "string", fullyQualifiedName: "string", kind: "string" }],
            },
          ],
          partialFingerprints: bag,
          properties: bag,
        },
      ],
      "properties?": bag,
    },
  ],
};

/** What is wrong with a value's shape: a list of places. */
function misshapen(value, shape, where) {
  if (Array.isArray(shape)) {
    return Array.isArray(value)
      ? value.flatMap((element, i) => misshapen(element, shape[0], `${where}/${i}`))
      : [where];
  }
  if (typeof shape === "string") {
    return typeof value === shape && value !== null && !Array.isArray(value) ? [] : [where];
  }
  const names = Object.keys(shape).map((name) => name.replace(/\?$/, ""));

  return [
    ...Object.keys(value ?? {}).filter((name) => !names.includes(name)).map((name) => `${where}/${name}`),
    ...Object.entries(shape).flatMap(([name, inside]) => {
      const key = name.replace(/\?$/, "");

      return key !== name && value?.[key] === undefined ? [] : misshapen(value?.[key], inside, `${where}/${key}`);
    }),
  ];
}

function checkSarifShape() {
  for (const args of [[], [1], [3, 2], [1000, 1000]]) {
    const log = JSON.parse(probe("sarif", ...args).toString("utf8"));

    same(misshapen(log, sarif, ""), [], `sarif ${args}: shape`);
    same(log.version, "2.1.0", "sarif: version of the format");
    same(log.runs[0].properties?.next_offset, args.length > 0 && args[0] < 100 ? args[0] + (args[1] ?? 0) : undefined, "next");
    for (const { level } of [...log.runs[0].results, ...log.runs[0].invocations[0].toolExecutionNotifications]) {
      check(["note", "warning", "error"].includes(level), `sarif: level ${level}`);
    }
  }
}

function checkSarif() {
  const run = JSON.parse(probe("sarif").toString("utf8")).runs[0];
  const { rules } = run.tool.driver;
  const ids = new Set();

  same(run.tool.driver.version, "1.2.3", "sarif: version");
  same(
    run.results.map((r) => [r.ruleId, r.level, r.message.text, r.locations[0].logicalLocations[0].fullyQualifiedName]),
    violations.map((v) => [v.rule, v.severity, v.message, v.function]),
    "sarif: results",
  );
  same(
    run.results.map((r) => decodeBytes(r.locations[0].physicalLocation.artifactLocation.uri)),
    violations.map((v) => v.file),
    "sarif: paths",
  );
  for (const result of run.results) {
    const { region, artifactLocation } = result.locations[0].physicalLocation;

    same(rules[result.ruleIndex].id, result.ruleId, "sarif: index of the rule");
    check(/^[A-Za-z0-9._~/%-]+$/.test(artifactLocation.uri), `sarif: ${artifactLocation.uri}`);
    check(run.originalUriBaseIds[artifactLocation.uriBaseId] !== undefined, "sarif: the base is declared");
    check(
      region.startLine < region.endLine || (region.startLine === region.endLine && region.startColumn < region.endColumn),
      "sarif: the region ends behind its beginning",
    );
    ids.add(Object.values(result.partialFingerprints)[0]);
  }
  same(ids.size, run.results.length, "sarif: fingerprints differ");
  check(rules.every((rule) => rule.help.text && rule.help.markdown && rule.defaultConfiguration.level), "sarif: help");
  same(run.invocations[0].toolExecutionNotifications.length, json.skipped.length + 1, "sarif: notifications");
}

/** A URI's bytes as the JSON of the report shows them. */
function decodeBytes(uri) {
  const bytes = [];

  for (let i = 0; i < uri.length; i++) {
    bytes.push(uri[i] === "%" ? parseInt(uri.slice(i + 1, (i += 2) + 1), 16) : uri.charCodeAt(i));
  }
  return Buffer.from(bytes).toString("utf8");
}

checkJson();
checkCsv();
checkCheckstyle();
checkMarkdown();
checkSarifShape();
checkSarif();
finish();
