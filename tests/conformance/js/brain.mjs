// A whole brain, written out as a lineage file and files of objects.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { hex, need } from "./bytes.mjs";
import { blobId } from "./digest.mjs";
import { checkChange } from "./changes.mjs";
import { frames, readLineageFile, redactedBefore } from "./lineage.mjs";
import { joined } from "./paths.mjs";
import { publicKey } from "./proofs.mjs";
import { readRecord } from "./signatures.mjs";
import { judge, readIfGood } from "./trust.mjs";
import { readBundle, readNode, readTree } from "./trees.mjs";

const indexed = (items) => new Map(items.map((item) => [item.id, item]));

/** Return what is found in the brain whose files are in `folder`; refuses one that is not whole. */
export function checkBrain({ folder, roots }) {
  const read = (name) => readFileSync(join(folder, name));
  const snapshots = readLineageFile(read("lineage"));
  const nodes = indexed(frames(read("nodes")).map(readNode));
  const bundles = indexed(frames(read("bundles")).map(readBundle));
  const blobs = indexed(frames(read("blobs")).map((content) => ({ id: blobId(content), content })));
  const head = [...snapshots.values()].at(-1);
  const redacted = redactedBefore(head.id, snapshots);
  const load = (id, all) => {
    need(all.has(id), "an object is missing");
    return all.get(id);
  };
  const trees = new Map();
  const files = (name, tree) => {
    const key = `${name} ${tree.id} ${tree.files} ${tree.bytes}`;
    if (!trees.has(key)) trees.set(key, readTree(name, tree, (id) => load(id, nodes)));
    return trees.get(key);
  };
  const gone = new Set();
  const held = new Map();
  for (const { id: here, bundle } of snapshots.values()) {
    const entries = new Map();
    for (const [name, tree] of load(bundle, bundles).sections) {
      for (const [inner, kind, blob, size] of files(name, tree)) {
        const id = hex(blob);
        entries.set(joined(name, inner), [kind, blob, size]);
        if (blobs.has(id)) need(blobs.get(id).content.length === size, "a blob of another size");
        else need(redacted.has(id), "a blob is missing");
        if (!blobs.has(id)) gone.add(id);
      }
    }
    held.set(here, entries);
  }
  for (const { id, parents, operation } of snapshots.values()) {
    const source = operation[0] === "restore" ? held.get(hex(operation[1])) : undefined;
    if (parents.length) checkChange(operation, held.get(parents[0]), held.get(id), source);
  }
  const own = new Map([...snapshots].filter(([, { home }]) => home === head.home));
  const policy = ([kind, blob]) => (kind !== 2 && blobs.has(hex(blob)) ? readIfGood(blobs.get(hex(blob)).content) : null);
  const trusting = [...own.keys()].filter((id) => held.get(id).has("trust.json"));
  const policies = new Map(trusting.map((id) => [id, policy(held.get(id).get("trust.json"))]));
  const records = frames(read("signatures")).map(readRecord);
  const signatures = records.flatMap(({ snapshot, signed }) => signed.map((one) => [snapshot, ...one]));
  const { standings, findings } = judge({ snapshots: own, policies, signatures, roots: roots.map(publicKey) });
  return {
    ...{ brain: head.home, head: head.id, ids: [...snapshots.keys()].sort(), gone: [...gone].sort() },
    ...{ nodes: [...nodes.keys()].sort(), bundles: [...bundles.keys()].sort(), blobs: [...blobs.keys()].sort() },
    ...{ standings, findings },
  };
}
