// A whole brain, written out as files of its objects.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { hex, need } from "./bytes.mjs";
import { checkChange } from "./changes.mjs";
import { blobId } from "./digest.mjs";
import { byId, frames, readLineage, redactedBefore } from "./lineage.mjs";
import { checkFolder, joined } from "./paths.mjs";
import { publicKey, readRecord } from "./signatures.mjs";
import { readBundle, readNode, readTree } from "./trees.mjs";
import { UNREADABLE, judge, readIfGood } from "./trust.mjs";

/** Return what is found in the brain whose files are in `folder`; refuses one that is not whole. */
export function checkBrain({ folder, roots }) {
  const read = (name) => readFileSync(join(folder, name));
  const snapshots = readLineage(read("snapshots"));
  const nodes = byId(frames(read("nodes")).map(readNode));
  const bundles = byId(frames(read("bundles")).map(readBundle));
  const blobs = new Map(frames(read("blobs")).map((content) => [blobId(content), content]));
  const head = [...snapshots.values()].at(-1);
  const redacted = redactedBefore(head.id, snapshots);
  const files = (name, tree) => readTree(name, tree, (id) => nodes.get(id) ?? need(false, "a node is missing"));
  const held = new Map();
  const gone = new Set();
  for (const { id, bundle } of snapshots.values()) {
    need(bundles.has(bundle), "a bundle is missing");
    const entries = bundles.get(bundle).sections.flatMap(([name, tree]) =>
      files(name, tree).map(([inner, kind, blob, size]) => [joined(name, inner), [kind, hex(blob), size]]),
    );
    checkFolder(entries.map(([path, rest]) => [path, ...rest]), blobs);
    for (const [, [, blob, size]] of entries) {
      need(blobs.has(blob) ? blobs.get(blob).length === size : redacted.has(blob), "a blob is missing, or of another size");
      if (!blobs.has(blob)) gone.add(blob);
    }
    held.set(id, new Map(entries));
  }
  for (const { id, parents, operation } of snapshots.values()) {
    const source = operation[0] === "restore" ? held.get(hex(operation[1])) : undefined;
    if (parents.length) checkChange(operation, held.get(parents[0]), held.get(id), source);
  }
  const own = new Map([...snapshots].filter(([, { home }]) => home === head.home));
  const policy = ([kind, blob]) => (kind === 2 ? null : blobs.has(blob) ? readIfGood(blobs.get(blob)) : UNREADABLE);
  const trusting = [...own.keys()].filter((id) => held.get(id).has("trust.json"));
  const policies = new Map(trusting.map((id) => [id, policy(held.get(id).get("trust.json"))]));
  const records = frames(read("signatures")).map(readRecord);
  const signatures = records.flatMap(({ snapshot, signed }) => signed.map((one) => [snapshot, ...one]));
  const sorted = Object.entries({ ids: snapshots, gone, nodes, bundles, blobs }).map(([name, all]) => [name, [...all.keys()].sort()]);
  const judged = judge({ snapshots: own, policies, signatures, roots: roots.map(publicKey) });
  return { brain: head.home, head: head.id, ...Object.fromEntries(sorted), ...judged };
}
