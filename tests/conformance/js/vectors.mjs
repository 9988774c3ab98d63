// What each kind of golden vector asks: its input to what is expected of it, or a refusal.
// Bytes come as `{"hex": …}`; the paths of a tree are all listed.

import { hex, need, text, unhex, utf8 } from "./bytes.mjs";
import { checkBrain } from "./brain.mjs";
import { checkChange } from "./changes.mjs";
import { blobId, digest, root } from "./digest.mjs";
import { readLineage, readLineageFile, readSnapshot, redactedBefore } from "./lineage.mjs";
import { decode, plain } from "./msgpack.mjs";
import { path } from "./paths.mjs";
import { checkContent, readEquivocation, readProof } from "./proofs.mjs";
import { outline } from "./receipts.mjs";
import { message, readRecord, verify } from "./signatures.mjs";
import { judge, outlineTrust, readIfGood } from "./trust.mjs";
import { build, buildBundle, ends, readBundle, readNode, readTree, totals } from "./trees.mjs";

const bytes = (input) => unhex(input.hex);

function tree(input) {
  const files = input.paths.map((name) => [name, 0, unhex(blobId(utf8(name))), utf8(name).length]);
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

function node(input) {
  const { id, kind, entries } = readNode(bytes(input));
  const [files, size] = totals(kind, entries);
  return { id, files, bytes: size };
}

function brain(input) {
  const bundle = buildBundle(input.entries.map(([name, kind, blob, size]) => [name, kind, unhex(blob), size]));
  return { bundle: hex(bundle), id: readBundle(bundle).id };
}

function change({ operation, before, after, source }) {
  const byPath = (entries) => entries && new Map(entries.map(([name, kind, blob, size]) => [name, [kind, unhex(blob), size]]));
  checkChange(decode(unhex(operation)), byPath(before), byPath(after), byPath(source));
  return {};
}

function rights({ snapshots: encoded, files, trust, signatures, roots }) {
  const snapshots = new Map(encoded.map(unhex).map(readSnapshot).map((one) => [one.id, one]));
  const ids = [...snapshots.keys()];
  const read = files.map((file) => readIfGood(utf8(file)));
  const policies = new Map(trust.map((place, number) => [ids[number], read[place]]).filter(([, policy]) => policy !== undefined));
  const signed = signatures.map(([place, key, signature]) => [ids[place], key, signature]);
  const { standings, findings } = judge({ snapshots, policies, signatures: signed, roots });
  const rows = findings.map(([id, ...rest]) => [ids.indexOf(id), ...rest]);
  return { standings: ids.map((id) => standings.get(id)), findings: rows.sort((one, other) => (`${one}` < `${other}` ? -1 : 1)) };
}

function record(input) {
  const { snapshot, signed } = readRecord(bytes(input));
  return { snapshot, keys: signed.map(([key]) => key) };
}

export const KINDS = {
  written: checkBrain,
  rights,
  kinds: () => Object.keys(KINDS),
  blob: (input) => ({ id: blobId(bytes(input)) }),
  domain: (input) => ({ id: hex(digest(input.context, bytes(input))) }),
  merkle: (input) => ({ root: hex(root(input.leaves.map(unhex))) }),
  msgpack: (input) => ({ value: plain(decode(bytes(input))) }),
  bundle: (input) => ({ id: readBundle(bytes(input)).id }),
  snapshot: (input) => ({ id: readSnapshot(bytes(input)).id }),
  operation: (input) => ({ id: hex(digest("brain v1 operation", unhex(input.previous), unhex(input.data))) }),
  "lineage-file": (input) => {
    const ids = [...readLineageFile(bytes(input)).keys()];
    return { head: ids.at(-1), snapshots: ids.length };
  },
  redactions: ({ snapshots, head, missing }) => {
    const gone = redactedBefore(head, new Map(snapshots.map(unhex).map(readSnapshot).map((one) => [one.id, one])));
    return { redacted: missing.filter((blob) => gone.has(blob)) };
  },
  trust: (input) => outlineTrust(bytes(input)),
  path: (input) => path(text(bytes(input))) && {},
  proof: (input) => readProof(bytes(input)),
  "proof-content": (input) => checkContent(bytes(input), unhex(input.content)) ?? { ok: true },
  equivocation: (input) => readEquivocation(bytes(input)),
  receipt: (input) => outline(bytes(input)),
  ...{ change, cut, node, tree, "tree-nodes": treeNodes, brain, lineage, signature, signatures: record },
};
