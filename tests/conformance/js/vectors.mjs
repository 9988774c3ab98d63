// What each kind of golden vector asks: its input to what is expected of it, or a refusal.
// Bytes come as `{"hex": …}`; the paths of a tree are all listed.

import { hex, need, text, unhex, utf8 } from "./bytes.mjs";
import { checkBrain } from "./brain.mjs";
import { checkChange } from "./changes.mjs";
import { blobId, digest, root } from "./digest.mjs";
import { readEvidence } from "./evidence.mjs";
import { byId, checkPlace, readSnapshot, redactedBefore } from "./lineage.mjs";
import { decode } from "./msgpack.mjs";
import { checkFolder, fold, path } from "./paths.mjs";
import { readProof } from "./proofs.mjs";
import { outline } from "./receipts.mjs";
import { decideGate, readContinuation, readScores, readSplit } from "./gates.mjs";
import { readVerdict } from "./verdicts.mjs";
import { message, readRecord, verify } from "./signatures.mjs";
import { readConsistency, readEntry, readInclusion } from "./tlog.mjs";
import { build, buildBundle, ends, readBundle, readNode, readTree, totals } from "./trees.mjs";
import { judge, readIfGood, readTrust } from "./trust.mjs";

const ofBytes = (read) => (input) => read(unhex(input.hex));
const snapshotsOf = (encoded) => byId(encoded.map(unhex).map(readSnapshot));

function tree({ paths }) {
  if (paths.length === 0) return { root: "", files: 0, bytes: 0, levels: [] };
  const { id, levels, ...built } = build(paths.map((name) => [name, 0, unhex(blobId(utf8(name))), utf8(name).length]));
  return { ...built, root: id, levels: levels.map((nodes) => nodes.map((run) => run.length)) };
}

function treeNodes({ root: id, files, bytes, nodes: encoded }) {
  const nodes = byId(encoded.map(unhex).map(readNode));
  const found = readTree("skills", { id, files, bytes }, (node) => nodes.get(node) ?? need(false, "a node is missing"));
  return checkFolder(found.map(([inner, ...rest]) => [`skills/${inner}`, ...rest]), new Map()) ?? {};
}

function lineage(input) {
  const snapshots = snapshotsOf(input.snapshots);
  const [genesis] = snapshots.keys();
  for (const one of snapshots.values()) need(one.home === genesis, "of another brain") ?? checkPlace(one, snapshots);
  const steps = [...snapshots.values()].map(({ depth, target }) => depth - (snapshots.get(target)?.depth ?? 0));
  return { brain: genesis, ids: [...snapshots.keys()], steps };
}

function cut({ level, path: name }) {
  for (let count = 1; ; count++) if (ends(level, name, count)) return { count };
}

function brain({ entries, targets = {} }) {
  const known = new Map(Object.entries(targets).map(([id, target]) => [id, unhex(target)]));
  checkFolder(entries.map(([name, ...rest]) => [path(name), ...rest]), known);
  const bundle = buildBundle(entries.map(([name, kind, blob, size]) => [name, kind, unhex(blob), size]));
  return { bundle: hex(bundle), id: readBundle(bundle).id };
}

function change({ operation, before, after, source }) {
  const byPath = (entries) => entries && new Map(entries.map(([name, ...rest]) => [name, rest]));
  return checkChange(decode(unhex(operation)), byPath(before), byPath(after), byPath(source)) ?? {};
}

function rights({ snapshots: encoded, files, trust, signatures, roots }) {
  const snapshots = snapshotsOf(encoded);
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
  msgpack: ofBytes((data) => ({ value: decode(data) })),
  node: ofBytes((data) => {
    const { id, kind, entries } = readNode(data);
    const [files, bytes] = totals(kind, entries);
    return { id, files, bytes };
  }),
  bundle: ofBytes((data) => ({ id: readBundle(data).id })),
  snapshot: ofBytes((data) => ({ id: readSnapshot(data).id })),
  operation: ({ previous, data }) => ({ id: hex(digest("brain v1 operation", unhex(previous), unhex(data))) }),
  redactions: ({ snapshots, head, missing }) => {
    const redacted = redactedBefore(head, snapshotsOf(snapshots));
    return { redacted: missing.filter((blob) => redacted.has(blob)) };
  },
  fold: ofBytes((data) => ({ folded: fold(text(data)) })),
  folder: ({ names }) => checkFolder(names.map((name) => [name, 0, "", 0]), new Map()) ?? {},
  path: ofBytes((data) => path(text(data)) && {}),
  proof: ofBytes(readProof),
  "proof-content": ({ hex: data, content }) => {
    const { blob, size } = readProof(unhex(data));
    need(blob === blobId(unhex(content)) && size === unhex(content).length, "another content");
    return { ok: true };
  },
  receipt: ofBytes(outline),
  verdict: ofBytes(readVerdict),
  evidence: readEvidence,
  ...{ consistency: readConsistency, entry: ofBytes(readEntry) },
  inclusion: (input) => {
    const { origin, size, root, witnesses } = readInclusion(input);
    return { origin, size, root, witnesses };
  },
  ...{ split: ofBytes(readSplit), score: ofBytes(readScores), gate: ofBytes(decideGate), continuation: readContinuation },
  trust: ofBytes((data) => ({ ...readTrust(data), keys: [...readTrust(data).keys.values()] })),
  signature: ({ brain, snapshot, key, signature }) => {
    need(verify(key, message(brain, snapshot), signature), "a signature that does not fit");
    return { message: hex(message(brain, snapshot)) };
  },
  signatures: ofBytes((data) => {
    const { snapshot, signed } = readRecord(data);
    return { snapshot, keys: signed.map(([key]) => key) };
  }),
  ...{ brain, change, cut, lineage, rights, tree, "tree-nodes": treeNodes, written: checkBrain },
};
