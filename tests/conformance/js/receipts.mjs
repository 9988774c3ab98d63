// Receipts: canonical JSON in which no default is written.

import { MAX_TIME, ascending, isHex, isNumber, isText, need } from "./bytes.mjs";
import { blobId } from "./digest.mjs";
import { canonical, fields, list, parse } from "./json.mjs";
import { path } from "./paths.mjs";

const MAX_BYTES = 33_554_432;
const MAX_WRITES = 4096;

const text = (most) => (value) => isText(value, most) && value !== "";
const anyText = (most) => (value) => isText(value, most);
const count = (value) => isNumber(value, 1, Number.MAX_SAFE_INTEGER);
const anyCount = (value) => isNumber(value, 0, Number.MAX_SAFE_INTEGER);
const time = (value) => isNumber(value, 1, MAX_TIME);
const digest = (value) => isHex(value, 32);
const some = (most) => (value) => Array.isArray(value) && value.length >= 1 && value.length <= most;
const oneOf = (...values) => (value) => values.includes(value);

// What a field may be if it is there: never its default, for that is left out.
const RECEIPT = {
  ...{ format: oneOf("brain v1 receipt"), run: text(1024), task: text(8192), agent: text(1024), model: text(1024) },
  ...{ started: time, ended: time, snapshot_before: digest, bundle_before: digest, bundle_after: digest },
  ...{ part: count, previous: digest, steps: some(50_000), reason: text(8192), source: () => true },
  outcome: oneOf("success", "failure", "cancelled", "unknown"),
};
const STEP = {
  kind: oneOf("llm", "tool", "skill_load", "skill_create", "memory_read", "memory_write"),
  ...{ at: time, took: count, name: text(1024), version: text(1024), from_version: text(1024) },
  ...{ input: () => true, output: () => true, error: text(2048), tokens_in: count, tokens_out: count },
  ...{ writes: some(MAX_WRITES), omitted: count },
};
const TEXT = { digest, size: anyCount, excerpt: text(2048), redacted: count };
const SOURCE = { format: anyText(), digest, records: anyCount, unknown: count };
const WRITE = { path: anyText(1024), blob: digest };

/** Return an object whose fields are all as `shape` says; those of `required` are there. */
function shaped(value, shape, required) {
  fields(value, required, Object.keys(shape));
  for (const name in value) need(shape[name](value[name]), `${name} is not what it has to be`);
  return value;
}

/** Return a receipt. */
export function readReceipt(data) {
  const receipt = shaped(parse(data, MAX_BYTES), RECEIPT, ["format", "run"]);
  need(data.equals(Buffer.from(canonical(receipt))), "not the canonical text");
  const has = (name) => name in receipt;
  need(has("snapshot_before") === has("bundle_before"), "a start by half");
  need(has("previous") === has("part"), "a part and what it follows do not fit");
  need(has("outcome") || !(has("ended") || has("reason")), "an end without an outcome");
  if (has("source")) shaped(receipt.source, SOURCE, ["format", "digest", "records"]);
  const steps = receipt.steps ?? [];
  steps.forEach(checkStep);
  const writes = steps.reduce((sum, step) => sum + (step.writes ?? []).length, 0);
  need(writes <= MAX_WRITES, "too many writes");
  return receipt;
}

function checkStep(step) {
  shaped(step, STEP, ["kind"]);
  if (step.kind !== "skill_create" && step.kind !== "memory_write") {
    need(!("writes" in step) && !("omitted" in step), `${step.kind} that writes`);
  }
  for (const value of [step.input, step.output].filter((one) => one !== undefined)) checkText(value);
  const writes = list(step.writes ?? []);
  for (const write of writes) path(shaped(write, WRITE, ["path"]).path);
  need(ascending(writes.map((write) => write.path)), "writes out of order");
}

function checkText(value) {
  const { digest, size, excerpt } = shaped(value, TEXT, ["digest", "size"]);
  if (excerpt === undefined || size > 2048) return;
  const whole = Buffer.from(excerpt);
  need(whole.length === size && blobId(whole) === digest, "an excerpt that is not the whole");
}

/** Return what a vector says of a receipt. */
export function outline(data) {
  const receipt = readReceipt(data);
  const steps = receipt.steps ?? [];
  const named = (kind) => steps.filter((step) => step.kind === kind);
  const tools = new Map();
  for (const { name = "" } of named("tool")) tools.set(name, (tools.get(name) ?? 0) + 1);
  const skills = (kind) => named(kind).map(({ name = "", version = "" }) => `${name}@${version}`);
  return {
    ...{ id: blobId(data), run: receipt.run, part: receipt.part ?? 0, steps: steps.length, tools },
    ...{ skills_loaded: skills("skill_load"), skills_created: skills("skill_create") },
  };
}
