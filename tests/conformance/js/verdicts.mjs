// Verdicts: canonical JSON in which no default is written.

import { ascending, hex, isText, need, unhex } from "./bytes.mjs";
import { blobId, digest as hashed } from "./digest.mjs";
import { anyCount, count, digest, oneOf, shaped, some, text } from "./documents.mjs";
import { canonical, parse } from "./json.mjs";
import { encode } from "./msgpack.mjs";
import { isPath } from "./paths.mjs";

const MAX_BYTES = 4_194_304;
const KINDS = ["author", "unseen", "stub"];

const named = (value) => isText(value, 1024) && value !== "";
const table = (fits) => (value) =>
  value !== null && typeof value === "object" && !Array.isArray(value) && isTable(Object.entries(value), fits);
const isTable = (rows, fits) =>
  rows.length >= 1 && rows.length <= 256 && rows.every(([name, item]) => /^[A-Za-z][A-Za-z0-9_.+-]{0,63}$/.test(name) && fits(item));
const slug = (value) => isText(value, 64) && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(value);
const ofProgram = (value) => isPath(value) && (["skill.py", "schema.json"].includes(value) || value.startsWith("tests/"));

const CASE = {
  ...{ kind: oneOf(...KINDS), name: named, outcome: oneOf("pass", "fail"), payload: digest, output: digest },
  ...{ detail: text(8192), took: count },
};
const VERDICT = {
  ...{ format: oneOf("brain v1 verdict"), decision: oneOf("admit", "reject", "retire", "reinstate"), skill: slug },
  ...{ decider: oneOf("rule", "person"), decided_by: named, reason: text(8192), code_check: text(1024), sandbox: text(1024) },
  ...{ files: some(1024, shaped({ path: ofProgram, blob: digest }, ["path", "blob"])), findings: some(256, (value) => isText(value, 8192)) },
  ...{ limits: table(anyCount), numbers: table(anyCount), versions: table(named), seed: count },
  ...{ cases: some(4096, shaped(CASE, ["kind", "name", "outcome"])) },
};

/** Return what a vector says of a verdict. */
export function readVerdict(data) {
  const verdict = parse(data, MAX_BYTES);
  shaped(VERDICT, ["format", "decision", "skill", "decider", "decided_by"])(verdict);
  need(data.equals(Buffer.from(canonical(verdict))), "not the canonical text");
  const { decision, skill, files = [], cases = [] } = verdict;
  const paths = files.map(({ path }) => path);
  need(ascending(paths), "files that do not ascend");
  need(!files.length || paths.includes("skill.py"), "a program without code");
  need(files.length || !cases.length, "cases of nothing");
  need(new Set(cases.map(({ name }) => name)).size === cases.length, "two cases of one name");
  const rows = files.map(({ path, blob }) => [path, unhex(blob)]);
  const program = rows.length ? hex(hashed("brain v1 program", encode(rows))) : "";
  const tally = (wanted) => ["pass", "fail"].map((end) => cases.filter(({ kind, outcome }) => kind === wanted && outcome === end).length);
  return { id: blobId(data), decision, skill, program, cases: Object.fromEntries(KINDS.map((kind) => [kind, tally(kind)])) };
}
