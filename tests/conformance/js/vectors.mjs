// What each kind of golden vector asks: its input to what is expected of it, or a refusal.

import { Refused, hex, need, text, unhex, utf8 } from "./bytes.mjs";
import { blobId, digest, root } from "./digest.mjs";
import { readLineage, readSnapshot } from "./lineage.mjs";
import { decode, encode, plain } from "./msgpack.mjs";
import { path } from "./paths.mjs";
import { checkContent, readEquivocation, readProof } from "./proofs.mjs";
import { outline } from "./receipts.mjs";
import { message, readRecord, verify } from "./signatures.mjs";
import { build, buildBundle, ends, readBundle, readNode, readTree, totals } from "./trees.mjs";

/** Return the bytes that a vector gives as hex, as text, or as parts that repeat. */
function bytes(input) {
  if ("text" in input) return utf8(input.text);
  if ("hex" in input) return unhex(input.hex);
  return Buffer.concat(input.parts.flatMap(([part, times]) => Array(Number(times)).fill(unhex(part))));
}

const IDS = {
  msgpack: (data) => decode(data) && "",
  node: (data) => readNode(data).id,
  bundle: (data) => readBundle(data).id,
  snapshot: (data) => readSnapshot(data).id,
  signatures: (data) => readRecord(data).snapshot,
};

/** Return what `read` returns, or null if it refuses. */
function tried(read, data) {
  try {
    return read(data);
  } catch (error) {
    if (error instanceof Refused) return null;
    throw error;
  }
}

const prefixes = (read) => (input) => {
  const data = bytes(input);
  read(data);
  for (let end = 0; end < data.length; end++) {
    if (tried(read, data.subarray(0, end)) !== null) return {};
  }
  throw new Refused("every proper prefix");
};

const flips = (read) => (input) => {
  const data = bytes(input);
  const id = read(data);
  for (let bit = 0; bit < 8 * data.length; bit++) {
    const flipped = Buffer.from(data);
    flipped[bit >> 3] ^= 1 << (bit & 7);
    need(tried(read, flipped) !== id, "another object of the same id");
  }
  return {};
};

function listed({ paths, numbered: rule }) {
  if (paths !== undefined) return paths;
  const numbers = Array.from({ length: rule.count }, (_, place) => String(place).padStart(rule.digits, "0"));
  return numbers.map((digits) => rule.before + digits + rule.after);
}

function tree(input) {
  const files = listed(input).map((name) => [name, 0, unhex(blobId(utf8(name))), utf8(name).length]);
  if (files.length === 0) return { root: "", files: 0, bytes: 0, levels: [] };
  const { id, files: count, bytes: size, levels } = build(files);
  return { root: id, files: count, bytes: size, levels: levels.map((nodes) => nodes.map((run) => run.length)) };
}

function treeNodes(input) {
  const nodes = new Map(input.nodes.map((data) => readNode(unhex(data))).map((node) => [node.id, node]));
  const load = (id) => {
    need(nodes.has(id), "a node is missing");
    return nodes.get(id);
  };
  readTree("skills", { id: input.root, files: input.files, bytes: input.bytes }, load);
  return {};
}

function lineage(input) {
  const snapshots = readLineage(input.snapshots.map(unhex));
  const ids = [...snapshots.keys()];
  const steps = [...snapshots.values()].map(({ depth, target }) => depth - (snapshots.get(target)?.depth ?? 0));
  return { brain: ids[0], ids, steps };
}

function cut({ level, path: name }) {
  for (let count = 1; ; count++) if (ends(level, name, count)) return { count };
}

function signature(input) {
  const signed = message(input.brain, input.snapshot);
  need(verify(input.key, signed, input.signature), "a signature that does not fit");
  return { message: hex(signed) };
}

const CONTEXTS = ["tree leaf", "tree inner", "tree last", "merkle join", "tree cut", "bundle section", "snapshot", "operation"];

function roles(input) {
  const data = bytes(input);
  const all = CONTEXTS.map((name) => [`brain v1 ${name}`, hex(digest(`brain v1 ${name}`, data))]);
  return { blob: blobId(data), ...Object.fromEntries(all) };
}

function node(input) {
  const { id, kind, entries } = readNode(bytes(input));
  const [files, size] = totals(kind, entries);
  return { id, files, bytes: size };
}

function brain(input) {
  const bundle = buildBundle(input.entries.map(([name, kind, blob, size]) => [name, kind, unhex(blob), size]));
  return { bundle: hex(bundle), id: readBundle(bundle).id };
}

function record(input) {
  const { snapshot, signed } = readRecord(bytes(input));
  return { snapshot, keys: signed.map(([key]) => key) };
}

export const KINDS = {
  blob: (input) => ({ id: blobId(bytes(input)) }),
  domain: (input) => ({ id: hex(digest(input.context, bytes(input))) }),
  merkle: (input) => ({ root: hex(root(input.leaves.map(unhex))) }),
  msgpack: (input) => ({ value: plain(decode(bytes(input))) }),
  bundle: (input) => ({ id: IDS.bundle(bytes(input)) }),
  snapshot: (input) => ({ id: IDS.snapshot(bytes(input)) }),
  operation: (input) => ({ id: hex(digest("brain v1 operation", unhex(input.previous), unhex(input.data))) }),
  path: (input) => path(text(bytes(input))) && {},
  proof: (input) => readProof(bytes(input)),
  "proof-content": (input) => checkContent(bytes(input), unhex(input.content)) ?? { ok: true },
  equivocation: (input) => readEquivocation(bytes(input)),
  receipt: (input) => outline(bytes(input)),
  ...{ cut, node, tree, "tree-nodes": treeNodes, brain, lineage, roles, signature, signatures: record },
  ...Object.fromEntries(Object.entries(IDS).map(([kind, read]) => [`${kind}-prefixes`, prefixes(read)])),
  ...Object.fromEntries(Object.entries(IDS).map(([kind, read]) => [`${kind}-flips`, flips(read)])),
};
