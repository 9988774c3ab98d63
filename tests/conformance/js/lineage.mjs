// Snapshots, and lineages of them.

import { MAX_TIME, hex, isBytes, isNumber, isText, need, utf8 } from "./bytes.mjs";
import { digest } from "./digest.mjs";
import { decode } from "./msgpack.mjs";
import { readOperation } from "./operations.mjs";

/** Return a snapshot with its id; ids are hex, and `home` is the brain, of a genesis its own id. */
export function readSnapshot(data) {
  const value = decode(data);
  need(Array.isArray(value) && value[0] === 1, "another format");
  need(value.length === 11, "not a snapshot");
  const [, brain, bundle, parents, generation, jump, author, time, operation, message, receipt] = value;
  need(isBytes(brain, 0) || isBytes(brain, 32), "not a brain id");
  need(isBytes(bundle, 32), "not a bundle id");
  need(Array.isArray(parents) && parents.length <= 16, "not 0 to 16 parents");
  need(parents.every((parent) => isBytes(parent, 32)), "a parent is not an id");
  need(new Set(parents.map(hex)).size === parents.length, "a parent twice");
  need(isNumber(generation, 0, 2 ** 48), "not a generation");
  need(Array.isArray(jump) && jump.length === 2 && isNumber(jump[0], 0, generation), "not a jump");
  need(isBytes(jump[1], 0) || isBytes(jump[1], 32), "not the target of a jump");
  need(isText(author, 1024) && isText(message, 65_536), "an author or message above its limit");
  need(isNumber(time, 0, MAX_TIME), "not a time");
  need(isBytes(receipt, 0) || isBytes(receipt, 32), "not a receipt");
  const kind = readOperation(operation, parents.length);
  const marks = [parents.length === 0, brain.length === 0, generation === 0, jump[0] === 0];
  marks.push(jump[1].length === 0, kind === "genesis");
  need(new Set(marks).size === 1, "neither a genesis nor another snapshot");
  const id = hex(digest("brain v1 snapshot", data));
  return {
    ...{ id, data, isGenesis: marks[0], home: marks[0] ? id : hex(brain), bundle: hex(bundle) },
    ...{ parents: parents.map(hex), generation, depth: jump[0], target: hex(jump[1]), author },
    ...{ operation, kind, origin: kind === "genesis" ? hex(operation[2]) : "", receipt: hex(receipt) },
  };
}

/** Require that a snapshot fits its parents, by what `get` returns (undefined for none) for an id. */
export function checkPlace(snapshot, get) {
  if (snapshot.isGenesis) return;
  const load = (id) => {
    const found = get(id);
    need(found !== undefined, "a snapshot is missing");
    return found;
  };
  const parents = snapshot.parents.map(load);
  for (const parent of parents) need(parent.home === snapshot.home, "a parent of another brain");
  need(snapshot.generation === 1 + Math.max(...parents.map((parent) => parent.generation)), "not its generation");
  const [first] = parents;
  need(snapshot.depth === first.depth + 1 && snapshot.target === target(first, load), "not its jump");
  if (snapshot.kind !== "merge") return;
  const bases = snapshot.operation[1].map(hex);
  need(bases.join() === commonAncestors(...snapshot.parents, load).join(), "not the bases of a merge");
}

/** Return the ids of best common ancestors: those that no other common one descends from. */
function commonAncestors(one, other, load) {
  const ancestors = (start) => {
    const found = new Set([start]);
    for (const id of found) for (const parent of load(id).parents) found.add(parent);
    return found;
  };
  const both = ancestors(other);
  const best = new Set([...ancestors(one)].filter((id) => both.has(id)));
  for (const id of [...best]) for (const parent of load(id).parents) best.delete(parent);
  return [...best].sort();
}

/** Return where a snapshot with this first parent jumps to. */
function target(parent, load) {
  if (parent.isGenesis) return parent.id;
  const jumped = load(parent.target);
  if (jumped.isGenesis) return parent.id;
  const again = load(jumped.target);
  return parent.depth - jumped.depth === jumped.depth - again.depth ? again.id : parent.id;
}

/** Return the depth that a snapshot of this depth jumps to. */
export function jumpDepth(depth) {
  let left = depth;
  let weight = 0;
  while (left > 0) {
    weight = 1;
    while (2 * weight + 1 <= left) weight = 2 * weight + 1;
    left -= weight;
  }
  return depth - weight;
}

/** Return encoded snapshots of one brain by their ids, all places checked; the first is the genesis. */
export function readLineage(encoded) {
  const snapshots = new Map(encoded.map(readSnapshot).map((snapshot) => [snapshot.id, snapshot]));
  const [genesis] = snapshots.values();
  need(genesis !== undefined && genesis.isGenesis, "no genesis");
  for (const snapshot of snapshots.values()) {
    need(snapshot.home === genesis.id, "a snapshot of another brain");
    checkPlace(snapshot, (id) => snapshots.get(id));
  }
  return snapshots;
}

const MAGIC = utf8("brain lineage 1\n");

/** Return the items of `data`, each behind its length in four bytes. */
export function frames(data) {
  const items = [];
  for (let at = 0; at < data.length; ) {
    need(data.length - at >= 4, "a length that is cut off");
    const size = data.readUInt32BE(at);
    need(size <= data.length - at - 4, "an item that is cut off");
    items.push(data.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  return items;
}

/** Return the snapshots of a lineage file by their ids, ancestors first; the last is the head. */
export function readLineageFile(data) {
  need(data.subarray(0, MAGIC.length).equals(MAGIC), "not a lineage file");
  const snapshots = new Map();
  const reached = new Set();
  for (const snapshot of frames(data.subarray(MAGIC.length)).map(readSnapshot)) {
    need(!snapshots.has(snapshot.id), "a snapshot twice");
    need(!snapshots.size || reached.has(snapshot.id), "a snapshot that nothing before it descends from");
    snapshots.set(snapshot.id, snapshot);
    for (const id of [...snapshot.parents, snapshot.origin]) reached.add(id);
  }
  need(snapshots.size > 0, "no snapshot");
  const known = new Map();
  for (const snapshot of [...snapshots.values()].reverse()) {
    checkPlace(snapshot, (id) => known.get(id));
    const origin = known.get(snapshot.origin);
    need(snapshots.has(snapshot.origin) === (origin !== undefined), "an origin before its fork");
    need(origin === undefined || origin.bundle === snapshot.bundle, "a fork with another bundle");
    known.set(snapshot.id, snapshot);
  }
  return known;
}

/** Return the blobs that the lineage of a snapshot, back through forks, says to be redacted. */
export function redactedBefore(head, snapshots) {
  const reached = new Set([head]);
  const blobs = new Set();
  for (const id of reached) {
    const { parents, origin, kind, operation } = snapshots.get(id) ?? { parents: [], origin: id };
    for (const next of [...parents, origin]) reached.add(next);
    if (kind === "redact") blobs.add(hex(operation[2]));
  }
  return blobs;
}
