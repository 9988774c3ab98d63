// Receipts: canonical JSON in which no default is written.

import { MAX_TIME, ascending, isNumber, isText, need } from "./bytes.mjs";
import { blobId } from "./digest.mjs";
import { anyCount, count, digest, oneOf, shaped, some, text } from "./documents.mjs";
import { canonical, parse } from "./json.mjs";
import { isPath } from "./paths.mjs";

const [MAX_BYTES, MAX_WRITES] = [33_554_432, 4096];

const anyText = (value) => isText(value);
const time = (value) => isNumber(value, 1, MAX_TIME);
const isWhole = ({ digest, size, excerpt = "" }) =>
  excerpt === "" || size > 2048 || (Buffer.byteLength(excerpt) === size && blobId(Buffer.from(excerpt)) === digest);
const mayWrite = ({ kind, writes = [], omitted = 0 }) =>
  ["skill_create", "memory_write"].includes(kind) ? ascending(writes.map(({ path }) => path)) : !writes.length && !omitted;

const isSource = shaped({ format: anyText, digest, records: anyCount, unknown: count }, ["format", "digest", "records"]);
const isTextObject = shaped({ digest, size: anyCount, excerpt: text(2048), redacted: count }, ["digest", "size"], isWhole);
const isWrite = shaped({ path: isPath, blob: digest }, ["path"]);
const STEP = {
  kind: oneOf("llm", "tool", "skill_load", "skill_create", "memory_read", "memory_write"),
  ...{ at: time, took: count, name: text(1024), version: text(1024), from_version: text(1024) },
  ...{ input: isTextObject, output: isTextObject, error: text(2048), tokens_in: count, tokens_out: count },
  ...{ writes: some(MAX_WRITES, isWrite), omitted: count },
};
const RECEIPT = {
  ...{ format: oneOf("brain v1 receipt"), run: text(1024), task: text(8192), agent: text(1024), model: text(1024) },
  ...{ started: time, ended: time, snapshot_before: digest, bundle_before: digest, bundle_after: digest },
  ...{ part: count, previous: digest, steps: some(50_000, shaped(STEP, ["kind"], mayWrite)), source: isSource },
  ...{ outcome: oneOf("success", "failure", "cancelled", "unknown"), reason: text(8192) },
};

/** Return what a vector says of a receipt. */
export function outline(data) {
  const receipt = parse(data, MAX_BYTES);
  const { run, part = 0, steps = [] } = shaped(RECEIPT, ["format", "run"])(receipt) && receipt;
  need(data.equals(Buffer.from(canonical(receipt))), "not the canonical text");
  const has = (name) => name in receipt;
  need(has("snapshot_before") === has("bundle_before"), "a start by half");
  need(has("previous") === has("part"), "a part and what it follows do not fit");
  need(has("outcome") || !(has("ended") || has("reason")), "an end without an outcome");
  need(steps.flatMap(({ writes = [] }) => writes).length <= MAX_WRITES, "too many writes");
  const named = (of) => steps.filter(({ kind }) => kind === of);
  const tools = new Map();
  for (const { name = "" } of named("tool")) tools.set(name, (tools.get(name) ?? 0) + 1);
  const skills = (kind) => [...new Set(named(kind).map(({ name = "", version = "" }) => [name, version].filter(Boolean).join("@")))];
  const [loaded, created] = [skills("skill_load"), skills("skill_create")];
  return { id: blobId(data), run, part, steps: steps.length, tools, skills_loaded: loaded, skills_created: created };
}
