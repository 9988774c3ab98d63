// Snapshots, and lineages of them.

import { MAX_TIME, hex, isBytes, isNumber, isText, need } from "./bytes.mjs";
import { digest } from "./digest.mjs";
import { decode } from "./msgpack.mjs";
import { readOperation } from "./operations.mjs";

const isId = (value) => isBytes(value, 32);
const isIdOrNone = (value) => isId(value) || isBytes(value, 0);

/** Return a snapshot with its id; ids are hex, and `home` is the brain, of a genesis its own id. */
export function readSnapshot(data) {
  const value = decode(data);
  need(Array.isArray(value) && value[0] === 1, "another format");
  need(value.length === 11, "not a snapshot");
  const [, brain, bundle, parents, generation, jump, author, time, operation, message, receipt] = value;
  need(isIdOrNone(brain) && isId(bundle) && isIdOrNone(receipt), "not an id");
  need(Array.isArray(parents) && parents.length <= 16 && parents.every(isId), "not 0 to 16 parents");
  need(new Set(parents.map(hex)).size === parents.length, "a parent twice");
  need(isNumber(generation, 0, 2 ** 48), "not a generation");
  need(Array.isArray(jump) && jump.length === 2 && isNumber(jump[0], 0, generation) && isIdOrNone(jump[1]), "not a jump");
  need(isText(author, 1024) && isText(message, 65_536), "an author or message above its limit");
  need(isNumber(time, 0, MAX_TIME), "not a time");
  const kind = readOperation(operation, parents.length);
  const marks = [parents.length, brain.length, generation, jump[0], jump[1].length].map((one) => one === 0);
  need(new Set([...marks, kind === "genesis"]).size === 1, "neither a genesis nor another snapshot");
  const id = hex(digest("brain v1 snapshot", data));
  return {
    ...{ id, isGenesis: marks[0], home: marks[0] ? id : hex(brain), bundle: hex(bundle), parents: parents.map(hex) },
    ...{ generation, depth: jump[0], target: hex(jump[1]), author, operation, kind },
    origin: marks[0] ? hex(operation[2]) : "",
  };
}

export const byId = (items) => new Map(items.map((item) => [item.id, item]));

/** Require that a snapshot fits its parents; `known` has all snapshots by id. */
export function checkPlace(snapshot, known) {
  if (snapshot.isGenesis) return;
  need(snapshot.parents.every((id) => known.has(id)), "a snapshot is missing");
  const parents = snapshot.parents.map((id) => known.get(id));
  for (const parent of parents) need(parent.home === snapshot.home, "a parent of another brain");
  need(snapshot.generation === 1 + Math.max(...parents.map((parent) => parent.generation)), "not its generation");
  const [first] = parents;
  need(snapshot.depth === first.depth + 1 && snapshot.target === target(first, known), "not its jump");
  const bases = () => commonAncestors(...snapshot.parents, known).join();
  need(snapshot.kind !== "merge" || snapshot.operation[1].map(hex).join() === bases(), "not the bases of a merge");
}

/** Return where a snapshot with this first parent jumps to. */
function target(parent, known) {
  const jumped = known.get(parent.target) ?? parent;
  const again = known.get(jumped.target) ?? jumped;
  return again !== jumped && parent.depth - jumped.depth === jumped.depth - again.depth ? again.id : parent.id;
}

/** Return a snapshot and all that `before` leads back to from there. */
export function reached(start, before) {
  const found = new Set([start]);
  for (const id of found) for (const next of before(id)) found.add(next);
  return found;
}

/** Return the ids of best common ancestors: those that no other common one descends from. */
function commonAncestors(one, other, known) {
  const [mine, yours] = [one, other].map((id) => reached(id, (at) => known.get(at).parents));
  const best = new Set([...mine].filter((id) => yours.has(id)));
  for (const id of [...best]) for (const parent of known.get(id).parents) best.delete(parent);
  return [...best].sort();
}

/** Return the depth that a snapshot of this depth, above 0, jumps to. */
export function jumpDepth(depth, left = depth) {
  let weight = 1;
  while (2 * weight + 1 <= left) weight = 2 * weight + 1;
  return left === weight ? depth - weight : jumpDepth(depth, left - weight);
}

/** Return the items of `data` from `at` on, each behind its length in four bytes. */
export function frames(data) {
  const items = [];
  for (let at = 0; at < data.length; at += 4 + items.at(-1).length) {
    need(data.length - at >= 4 && data.readUInt32BE(at) <= data.length - at - 4, "an item that is cut off");
    items.push(data.subarray(at + 4, at + 4 + data.readUInt32BE(at)));
  }
  return items;
}


/** Return the snapshots of a file, the head first in it, by their ids, ancestors first. */
export function readLineage(data) {
  const all = frames(data).map(readSnapshot);
  const ids = new Set(all.map(({ id }) => id));
  need(ids.size === all.length && all.length >= 1 && all.length <= 10_000_000, "a snapshot twice, or none, or too many");
  const named = new Set([all[0].id]);
  for (const { id, parents, origin } of all) {
    need(named.has(id), "a snapshot that nothing before it descends from");
    for (const next of [...parents, origin]) named.add(next);
  }
  const known = new Map();
  for (const snapshot of all.reverse()) {
    checkPlace(snapshot, known);
    const origin = known.get(snapshot.origin);
    need(ids.has(snapshot.origin) === (origin !== undefined), "an origin before its fork");
    need(origin === undefined || origin.bundle === snapshot.bundle, "a fork with another bundle");
    known.set(snapshot.id, snapshot);
  }
  return known;
}

/** Return the blobs that the lineage of a snapshot, back through forks, says to be redacted. */
export function redactedBefore(head, known) {
  const all = reached(head, (id) => [...(known.get(id)?.parents ?? []), known.get(id)?.origin]);
  const redactions = [...all].map((id) => known.get(id)).filter((one) => one?.kind === "redact");
  return new Set(redactions.map(({ operation }) => hex(operation[2])));
}
