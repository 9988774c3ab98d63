// What each kind of golden vector asks: its input to what is expected of it, or a refusal.
// Bytes come as `{"hex": …}`; the paths of a tree are all listed.

import { hex, need, text, unhex, utf8 } from "./bytes.mjs";
import { checkBrain } from "./brain.mjs";
import { checkChange } from "./changes.mjs";
import { blobId, digest, root } from "./digest.mjs";
import { byId, readLineage, readLineageFile, readSnapshot, redactedBefore } from "./lineage.mjs";
import { decode, plain } from "./msgpack.mjs";
import { checkFolder, fold, path } from "./paths.mjs";
import { checkContent, readEquivocation, readProof } from "./proofs.mjs";
import { outline } from "./receipts.mjs";
import { message, readRecord, verify } from "./signatures.mjs";
import { build, buildBundle, ends, readBundle, readNode, readTree, totals } from "./trees.mjs";
import { judge, outlineTrust, readIfGood } from "./trust.mjs";

const ofBytes = (read) => (input) => read(unhex(input.hex));

function tree({ paths }) {
  if (paths.length === 0) return { root: "", files: 0, bytes: 0, levels: [] };
  const built = build(paths.map((name) => [name, 0, unhex(blobId(utf8(name))), utf8(name).length]));
  const levels = built.levels.map((nodes) => nodes.map((run) => run.length));
  return { root: built.id, files: built.files, bytes: built.bytes, levels };
}

function treeNodes({ root: id, files, bytes, nodes: encoded }) {
  const nodes = byId(encoded.map(unhex).map(readNode));
  const found = readTree("skills", { id, files, bytes }, (node) => nodes.get(node) ?? need(false, "a node is missing"));
  checkFolder(found.map(([inner, ...rest]) => [`skills/${inner}`, ...rest]), new Map());
  return {};
}

function lineage(input) {
  const snapshots = readLineage(input.snapshots.map(unhex));
  const steps = [...snapshots.values()].map(({ depth, target }) => depth - (snapshots.get(target)?.depth ?? 0));
  return { brain: [...snapshots.keys()][0], ids: [...snapshots.keys()], steps };
}

function cut({ level, path: name }) {
  for (let count = 1; ; count++) if (ends(level, name, count)) return { count };
}

function signature({ brain, snapshot, key, signature: given }) {
  need(verify(key, message(brain, snapshot), given), "a signature that does not fit");
  return { message: hex(message(brain, snapshot)) };
}

function node(data) {
  const { id, kind, entries } = readNode(data);
  const [files, bytes] = totals(kind, entries);
  return { id, files, bytes };
}

function brain({ entries, targets = {} }) {
  checkFolder(entries.map(([name, ...rest]) => [path(name), ...rest]), new Map(Object.entries(targets).map(([id, target]) => [id, unhex(target)])));
  const bundle = buildBundle(entries.map(([name, kind, blob, size]) => [name, kind, unhex(blob), size]));
  return { bundle: hex(bundle), id: readBundle(bundle).id };
}

function change({ operation, before, after, source }) {
  const byPath = (entries) => entries && new Map(entries.map(([name, ...rest]) => [name, rest]));
  checkChange(decode(unhex(operation)), byPath(before), byPath(after), byPath(source));
  return {};
}

function rights({ snapshots: encoded, files, trust, signatures, roots }) {
  const snapshots = byId(encoded.map(unhex).map(readSnapshot));
  const ids = [...snapshots.keys()];
  const read = files.map((file) => readIfGood(utf8(file)));
  const policies = new Map(trust.map((place, number) => [ids[number], read[place]]).filter(([, one]) => one !== undefined));
  const signed = signatures.map(([place, ...rest]) => [ids[place], ...rest]);
  const { standings, findings } = judge({ snapshots, policies, signatures: signed, roots });
  const rows = findings.map(([id, ...rest]) => [ids.indexOf(id), ...rest]);
  const order = ([one, ...rest], [other, ...others]) => one - other || (rest.join() < others.join() ? -1 : 1);
  return { standings: ids.map((id) => standings.get(id)), findings: rows.sort(order) };
}

export const KINDS = {
  kinds: () => Object.keys(KINDS),
  blob: ofBytes((data) => ({ id: blobId(data) })),
  domain: ({ context, hex: data }) => ({ id: hex(digest(context, unhex(data))) }),
  merkle: ({ leaves }) => ({ root: hex(root(leaves.map(unhex))) }),
  msgpack: ofBytes((data) => ({ value: plain(decode(data)) })),
  node: ofBytes(node),
  bundle: ofBytes((data) => ({ id: readBundle(data).id })),
  snapshot: ofBytes((data) => ({ id: readSnapshot(data).id })),
  operation: ({ previous, data }) => ({ id: hex(digest("brain v1 operation", unhex(previous), unhex(data))) }),
  "lineage-file": ofBytes((data) => {
    const ids = [...readLineageFile(data).keys()];
    return { head: ids.at(-1), snapshots: ids.length };
  }),
  redactions: ({ snapshots, head, missing }) => {
    const gone = redactedBefore(head, byId(snapshots.map(unhex).map(readSnapshot)));
    return { redacted: missing.filter((blob) => gone.has(blob)) };
  },
  fold: ofBytes((data) => ({ folded: fold(text(data)) })),
  folder: ({ names }) => checkFolder(names.map((name) => [name, 0, "", 0]), new Map()) ?? {},
  path: ofBytes((data) => path(text(data)) && {}),
  proof: ofBytes(readProof),
  "proof-content": ({ hex: data, content }) => checkContent(unhex(data), unhex(content)) ?? { ok: true },
  equivocation: ofBytes(readEquivocation),
  receipt: ofBytes(outline),
  trust: ofBytes(outlineTrust),
  signatures: ofBytes((data) => {
    const { snapshot, signed } = readRecord(data);
    return { snapshot, keys: signed.map(([key]) => key) };
  }),
  ...{ brain, change, cut, lineage, rights, signature, tree, "tree-nodes": treeNodes, written: checkBrain },
};
