// Receipts: canonical JSON in which no default is written.

import { MAX_TIME, ascending, isHex, isNumber, isText, need } from "./bytes.mjs";
import { blobId } from "./digest.mjs";
import { canonical, fields, parse } from "./json.mjs";
import { path } from "./paths.mjs";

const [MAX_BYTES, MAX_WRITES] = [33_554_432, 4096];

// What a field may be if it is there: never its default, for that is left out.
const anyText = (value) => isText(value);
const text = (most) => (value) => isText(value, most) && value !== "";
const anyCount = (value) => isNumber(value, 0, Number.MAX_SAFE_INTEGER);
const count = (value) => anyCount(value) && value > 0;
const time = (value) => isNumber(value, 1, MAX_TIME);
const digest = (value) => isHex(value, 32);
const some = (most) => (value) => Array.isArray(value) && value.length >= 1 && value.length <= most;
const oneOf = (...values) => (value) => values.includes(value);
const anything = () => true;
const RECEIPT = {
  ...{ format: oneOf("brain v1 receipt"), run: text(1024), task: text(8192), agent: text(1024), model: text(1024) },
  ...{ started: time, ended: time, snapshot_before: digest, bundle_before: digest, bundle_after: digest },
  ...{ part: count, previous: digest, steps: some(50_000), reason: text(8192), source: anything },
  outcome: oneOf("success", "failure", "cancelled", "unknown"),
};
const STEP = {
  kind: oneOf("llm", "tool", "skill_load", "skill_create", "memory_read", "memory_write"),
  ...{ at: time, took: count, name: text(1024), version: text(1024), from_version: text(1024) },
  ...{ input: anything, output: anything, error: text(2048), tokens_in: count, tokens_out: count },
  ...{ writes: some(MAX_WRITES), omitted: count },
};
const TEXT = { digest, size: anyCount, excerpt: text(2048), redacted: count };
const SOURCE = { format: anyText, digest, records: anyCount, unknown: count };
const WRITE = { path: anyText, blob: digest };

/** Return an object whose fields are all as `shape` says; those of `required` are there. */
function shaped(value, shape, required) {
  fields(value, required, Object.keys(shape));
  for (const name in value) need(shape[name](value[name]), `${name} is not what it has to be`);
  return value;
}

function readReceipt(data) {
  const receipt = shaped(parse(data, MAX_BYTES), RECEIPT, ["format", "run"]);
  need(data.equals(Buffer.from(canonical(receipt))), "not the canonical text");
  const has = (name) => name in receipt;
  need(has("snapshot_before") === has("bundle_before"), "a start by half");
  need(has("previous") === has("part"), "a part and what it follows do not fit");
  need(has("outcome") || !(has("ended") || has("reason")), "an end without an outcome");
  if (has("source")) shaped(receipt.source, SOURCE, ["format", "digest", "records"]);
  const writes = (receipt.steps ?? []).flatMap(checkStep);
  need(writes.length <= MAX_WRITES, "too many writes");
  return receipt;
}

/** Return what a step wrote. */
function checkStep(step) {
  const { kind, writes = [], input, output } = shaped(step, STEP, ["kind"]);
  const mayWrite = kind === "skill_create" || kind === "memory_write";
  need(mayWrite || !("writes" in step || "omitted" in step), `${kind} that writes`);
  for (const value of [input, output].filter((one) => one !== undefined)) {
    const { digest, size, excerpt } = shaped(value, TEXT, ["digest", "size"]);
    const isWhole = () => Buffer.byteLength(excerpt) === size && blobId(Buffer.from(excerpt)) === digest;
    need(excerpt === undefined || size > 2048 || isWhole(), "an excerpt that is not the whole");
  }
  const paths = writes.map((write) => path(shaped(write, WRITE, ["path"]).path));
  need(ascending(paths), "writes out of order");
  return paths;
}

/** Return what a vector says of a receipt. */
export function outline(data) {
  const { run, part = 0, steps = [] } = readReceipt(data);
  const named = (of) => steps.filter(({ kind }) => kind === of);
  const tools = new Map();
  for (const { name = "" } of named("tool")) tools.set(name, (tools.get(name) ?? 0) + 1);
  const skills = (kind) => [...new Set(named(kind).map(({ name = "", version = "" }) => `${name}@${version}`))];
  const [loaded, created] = [skills("skill_load"), skills("skill_create")];
  return { id: blobId(data), run, part, steps: steps.length, tools, skills_loaded: loaded, skills_created: created };
}
