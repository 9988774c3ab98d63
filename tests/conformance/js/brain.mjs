// A whole brain, written out as a lineage file and files of objects.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { hex, need } from "./bytes.mjs";
import { blobId } from "./digest.mjs";
import { frames, readLineageFile } from "./lineage.mjs";
import { readRecord } from "./signatures.mjs";
import { readBundle, readNode, readTree } from "./trees.mjs";

const indexed = (items) => new Map(items.map((item) => [item.id, item]));

/** Return what is found in the brain whose files are in `folder`; refuses one that is not whole. */
export function checkBrain({ folder }) {
  const read = (name) => readFileSync(join(folder, name));
  const snapshots = readLineageFile(read("lineage"));
  const nodes = indexed(frames(read("nodes")).map(readNode));
  const bundles = indexed(frames(read("bundles")).map(readBundle));
  const blobs = indexed(frames(read("blobs")).map((content) => ({ id: blobId(content), content })));
  const redactions = [...snapshots.values()].filter(({ kind }) => kind === "redact");
  const redacted = new Set(redactions.map(({ operation }) => hex(operation[2])));
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
  for (const { bundle } of snapshots.values()) {
    for (const [name, tree] of load(bundle, bundles).sections) {
      for (const [, , blob, size] of files(name, tree)) {
        const id = hex(blob);
        if (blobs.has(id)) need(blobs.get(id).content.length === size, "a blob of another size");
        else need(redacted.has(id), "a blob is missing");
        if (!blobs.has(id)) gone.add(id);
      }
    }
  }
  const head = [...snapshots.values()].at(-1);
  const records = frames(read("signatures")).map(readRecord);
  return {
    ...{ brain: head.home, head: head.id, ids: [...snapshots.keys()].sort(), gone: [...gone].sort() },
    ...{ nodes: [...nodes.keys()].sort(), bundles: [...bundles.keys()].sort(), blobs: [...blobs.keys()].sort() },
  };
}
