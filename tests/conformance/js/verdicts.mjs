// Verdicts: canonical JSON in which no default is written.

import { ascending, hex, isText, need, unhex } from "./bytes.mjs";
import { blobId, digest as hashed } from "./digest.mjs";
import { anyCount, count, digest, oneOf, shaped, some, text } from "./documents.mjs";
import { canonical, parse } from "./json.mjs";
import { encode } from "./msgpack.mjs";
import { isPath } from "./paths.mjs";

const MAX_BYTES = 4_194_304;
const GATE_KINDS = ["held_out", "guard"];
const KINDS = ["author", "unseen", "stub", ...GATE_KINDS];

const named = (value) => isText(value, 1024) && value !== "";
const table = (fits) => (value) =>
  value !== null && typeof value === "object" && !Array.isArray(value) && isTable(Object.entries(value), fits);
const isTable = (rows, fits) =>
  rows.length >= 1 && rows.length <= 256 && rows.every(([name, item]) => /^[A-Za-z][A-Za-z0-9_.+-]{0,63}$/.test(name) && fits(item));
const slug = (value) => isText(value, 64) && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(value);
const ofProgram = (value) => isPath(value) && (["skill.py", "schema.json"].includes(value) || value.startsWith("tests/"));

const rounds = (value) => typeof value === "string" && /^[pfe]{1,12}$/.test(value);
const compared = ({ kind }) => GATE_KINDS.includes(kind);

const CASE = {
  ...{ kind: oneOf(...KINDS), name: named, outcome: oneOf("pass", "fail"), payload: digest, output: digest },
  ...{ detail: text(8192), took: count, document: digest, before: rounds, after: rounds, outputs: some(24, digest), scores: some(24, anyCount) },
};
const VERDICT = {
  ...{ format: oneOf("brain v1 verdict"), decision: oneOf("admit", "reject", "retire", "reinstate"), skill: slug },
  ...{ decider: oneOf("rule", "person"), decided_by: named, reason: text(8192), code_check: text(1024), sandbox: text(1024) },
  ...{ files: some(1024, shaped({ path: ofProgram, blob: digest }, ["path", "blob"])), findings: some(256, (value) => isText(value, 8192)) },
  ...{ limits: table(anyCount), numbers: table(anyCount), versions: table(named), seed: count },
  ...{ cases: some(4096, shaped(CASE, ["kind", "name", "outcome"])) },
  ...{ gate: oneOf("admit", "reject", "undecided"), base: digest, text: digest, runner: named, provisional: oneOf("yes", "no") },
  ...{ continues: digest, changes: some(64, shaped({ path: isPath, before: digest, after: digest }, ["path"])) },
};

const fits = (letter, score) => (letter === "p" ? score === 1000 : score < (letter === "f" ? 1000 : 1));

function checkGate({ decision, gate, base, text, runner, provisional, continues, changes, cases = [] }) {
  const words = continues === undefined ? ["admit", "reject"] : ["admit", "retire", "reinstate"];
  if (gate === undefined) need(!cases.some(compared) && [base, text, runner, provisional, continues].every((field) => field === undefined), "parts of no gate");
  else need(words.includes(decision) && text !== undefined && runner !== undefined, "half a gate");
  need(continues === undefined || (provisional !== undefined && changes === undefined), "half of what goes on");
  need(cases.filter(({ kind }) => kind === "held_out").length <= 256, "too many held-out cases");
  for (const row of cases) {
    const { document, before, after, outputs, scores } = row;
    const parts = [document, before, after, outputs].filter((part) => part !== undefined).length;
    if (!compared(row)) {
      need(parts === 0 && scores === undefined, "rounds of a case that has none");
      continue;
    }
    need(parts === 4 && row.payload === undefined && row.output === undefined, "the parts of a case");
    need(before.length === after.length && outputs.length === 2 * before.length, "rounds that do not pair");
    const letters = [...before].flatMap((letter, at) => [letter, after[at]]);
    need(!scores || (scores.length === letters.length && letters.every((letter, at) => fits(letter, scores[at]))), "other scores");
    need(isPath(row.name), "a case without a path");
  }
}

/** Return what a vector says of a verdict. */
export function readVerdict(data) {
  const verdict = parse(data, MAX_BYTES);
  shaped(VERDICT, ["format", "decision", "skill", "decider", "decided_by"])(verdict);
  need(data.equals(Buffer.from(canonical(verdict))), "not the canonical text");
  const { decision, skill, gate = "", files = [], cases = [] } = verdict;
  const paths = files.map(({ path }) => path);
  need(ascending(paths), "files that do not ascend");
  need(!files.length || paths.includes("skill.py"), "a program without code");
  checkGate(verdict);
  const { changes = [] } = verdict;
  need(ascending(changes.map(({ path }) => path)), "changes that do not ascend");
  need(changes.every(({ before, after }) => before !== after), "a change of nothing");
  need(!changes.length || ["admit", "reject"].includes(decision), "changes of nothing tried");
  need(files.length || cases.every(compared), "cases of nothing");
  need(new Set(cases.map(({ name }) => name)).size === cases.length, "two cases of one name");
  const rows = files.map(({ path, blob }) => [path, unhex(blob)]);
  const program = rows.length ? hex(hashed("brain v1 program", encode(rows))) : "";
  const tally = (wanted) => ["pass", "fail"].map((end) => cases.filter(({ kind, outcome }) => kind === wanted && outcome === end).length);
  return { id: blobId(data), decision, skill, gate, program, cases: Object.fromEntries(KINDS.map((kind) => [kind, tally(kind)])) };
}
