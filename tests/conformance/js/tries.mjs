// RLP, and lists of nodes that lead to a value of a Merkle-Patricia trie.

import { hex, need } from "./bytes.mjs";
import { keccak_256 } from "./packages.mjs";

const MAX_LISTS = 8;
export const keccak = (...parts) => Buffer.from(keccak_256(Buffer.concat(parts)));
const EMPTY_ROOT = keccak(Buffer.of(0x80));

/** Return the one item in `data`: Buffers in arrays, each of which has its encoded `size`. */
export function readRlp(data) {
  const [item, end] = readItem(data, 0, data.length, MAX_LISTS);
  need(end === data.length, "bytes after the item");
  return item;
}

function readItem(data, at, limit, lists) {
  need(at < limit, "an item is missing");
  if (data[at] < 0x80) return [data.subarray(at, at + 1), at + 1];
  const base = data[at] < 0xc0 ? 0x80 : 0xc0;
  let [start, length] = [at + 1, data[at] - base];
  if (length > 55) {
    start += length - 55;
    need(start <= limit && data[at + 1] !== 0, "not a length in its shortest form");
    length = Number(BigInt(`0x${hex(data.subarray(at + 1, start))}`));
    need(length > 55, "not a length in its shortest form");
  }
  const end = start + length;
  need(end <= limit, "an item is cut short");
  if (base === 0x80) {
    need(length !== 1 || data[start] >= 0x80, "a byte with a length");
    return [data.subarray(start, end), end];
  }
  need(lists > 0, "lists too deep");
  const items = Object.assign([], { size: end - at });
  for (let next = start, item; next < end; items.push(item)) [item, next] = readItem(data, next, end, lists - 1);
  return [items, end];
}

export const rlpBytes = (item, size) => need(Buffer.isBuffer(item) && item.length === (size ?? item.length), "not bytes of that size") ?? item;
export const rlpList = (item, size) => need(Array.isArray(item) && item.length === size, "not a list of that size") ?? item;

/** Return the bytes of a number, big-endian, at most so many. */
export const rlpNumber = (item, most = 32) => need(rlpBytes(item).length <= most && item[0] !== 0, "not a number") ?? item;

/** Return what a trie has at a name, null for nothing; all nodes are used. */
export function lookUp(root, name, nodes) {
  const left = [...nodes];
  const found = root.equals(EMPTY_ROOT) ? null : walk(root, hex(keccak(name)), left);
  need(left.length === 0, "a node that is not needed");
  return found;
}

function walk(at, key, left) {
  if (Buffer.isBuffer(at)) {
    need(at.length === 32 && left.length > 0 && keccak(left[0]).equals(at), "another node");
    at = readRlp(left.shift());
  } else need(at.size < 32, "a long node inside another");
  if (Array.isArray(at) && at.length === 17) {
    need(key !== "" && at[16].length === 0 && Buffer.isBuffer(at[16]), "a branch where the key ends, or with a value");
    const next = at[parseInt(key[0], 16)];
    return Buffer.isBuffer(next) && next.length === 0 ? null : walk(next, key.slice(1), left);
  }
  const [path, item] = rlpList(at, 2);
  const [, odd, oddPart, even, evenPart] = /^(?:([13])(.*)|([02])0(.*))$/.exec(hex(rlpBytes(path))) ?? need(false, "not a path");
  const [isLeaf, part] = [(odd ?? even) >= "2", oddPart ?? evenPart];
  need(isLeaf ? part.length === key.length : part.length > 0 && part.length < key.length, "a path of another length");
  if (!key.startsWith(part)) return null;
  if (!isLeaf) return walk(item, key.slice(part.length), left);
  return need(rlpBytes(item).length > 0, "a leaf without a value") ?? item;
}
