// BLAKE3: the id of a blob, digests in a context, and Merkle trees of them.

import { hex } from "./bytes.mjs";
import { blake3 } from "./packages.mjs";

const contexts = new Map();

/** Return the digest of `parts`, joined, in a context. */
export function digest(context, ...parts) {
  if (!contexts.has(context)) contexts.set(context, blake3.create({ context }));
  return Buffer.from(contexts.get(context).clone().update(Buffer.concat(parts)).digest());
}

export const blobId = (content) => hex(blake3(content));
export const join = (left, right) => digest("brain v1 merkle join", left, right);

/** Return the Merkle root of digests; of none, that of the empty bundle. */
export function root(leaves) {
  if (leaves.length === 0) return digest("brain v1 merkle join");
  if (leaves.length === 1) return leaves[0];
  let half = 1;
  while (2 * half < leaves.length) half *= 2;
  return join(root(leaves.slice(0, half)), root(leaves.slice(half)));
}
