// Nodes, trees and bundles.

import { MAX_COUNT, ascending, compare, hex, isBytes, isNumber, isText, need, number, utf8 } from "./bytes.mjs";
import { digest, root } from "./digest.mjs";
import { decode, encode } from "./msgpack.mjs";
import { joined, section, split } from "./paths.mjs";

const LEAF = 0;
const INNER = 1;

export const leafHash = (entry) => digest("brain v1 tree leaf", encode(entry));
export const lastHash = (last) => digest("brain v1 tree last", utf8(last));
export const innerHash = (last, node, files, bytes) =>
  digest("brain v1 tree inner", encode([last, node, files, bytes]));
export const sectionHash = (entry) => digest("brain v1 bundle section", encode(entry));

const hashes = {
  [LEAF]: leafHash,
  [INNER]: ([last, node, files, bytes]) => innerHash(lastHash(last), node, files, bytes),
};
const nodeId = (kind, entries) => root(entries.map(hashes[kind]));

const counted = (files, bytes) => isNumber(files, 1, MAX_COUNT) && isNumber(bytes, 0, MAX_COUNT);
const isEntry = {
  [LEAF]: ([path, kind, blob, size]) =>
    isText(path) && isNumber(kind, 0, 2) && isBytes(blob, 32) && isNumber(size, 0, MAX_COUNT),
  [INNER]: ([last, node, files, bytes]) =>
    isText(last) && isBytes(node, 32) && counted(files, bytes),
};

/** Return `{id, kind, entries}` of an encoded node. */
export function readNode(data) {
  const value = decode(data);
  need(Array.isArray(value) && value.length === 2, "not a node");
  const [kind, entries] = value;
  need(kind === LEAF || kind === INNER, "an unknown kind of node");
  need(Array.isArray(entries) && entries.length >= 1 && entries.length <= 162, "not 1 to 162 entries");
  for (const entry of entries) {
    need(Array.isArray(entry) && entry.length === 4 && isEntry[kind](entry), "not an entry");
  }
  need(ascending(entries.map((entry) => entry[0])), "entries out of order");
  return { id: hex(nodeId(kind, entries)), kind, entries };
}

/** Return the files and bytes of entries: of files, or of nodes and sections. */
export function totals(kind, entries) {
  let files = 0n;
  let bytes = 0n;
  for (const entry of entries) {
    files += kind === LEAF ? 1n : BigInt(entry[2]);
    bytes += BigInt(entry[3]);
  }
  return [number(files), number(bytes)];
}

/** Return whether a node may end at a name that is the `count`-th since the last cut. */
export function ends(level, name, count) {
  if (count < 24) return false;
  const bits = digest("brain v1 tree cut", Buffer.of(level), utf8(name)).readUIntBE(0, 3) >> 2;
  return bits < count ** 3;
}

/** Return the root of ascending files as `{id, files, bytes}`, and its nodes level by level from there. */
export function build(files) {
  const levels = [];
  for (let entries = files, kind = LEAF; ; kind = INNER) {
    const nodes = cut(levels.length, entries);
    levels.unshift(nodes);
    entries = nodes.map((run) => [run.at(-1)[0], nodeId(kind, run), ...totals(kind, run)]);
    if (nodes.length === 1) {
      const [[, id, count, bytes]] = entries;
      return { id: hex(id), files: count, bytes, levels };
    }
  }
}

function cut(level, entries) {
  const nodes = [];
  let run = [];
  for (const entry of entries) {
    run.push(entry);
    if (ends(level, entry[0], run.length)) {
      nodes.push(run);
      run = [];
    }
  }
  if (run.length) nodes.push(run);
  return nodes;
}

/**
 * Return the files of the section `name`, all rules checked. A tree is a function of its
 * files: so they are read in order, and what is built from them has to be the tree they stood in.
 */
export function readTree(name, { id, files, bytes }, load) {
  const found = [];
  const waiting = [id];
  while (waiting.length) {
    const node = load(waiting.pop());
    if (node.kind === INNER) {
      waiting.push(...node.entries.map((entry) => hex(entry[1])).reverse());
      continue;
    }
    for (const entry of node.entries) {
      need(!found.length || compare(found.at(-1)[0], entry[0]) < 0, "paths out of order");
      joined(name, entry[0]);
      found.push(entry);
    }
  }
  const built = build(found);
  need(built.id === id, "a tree that is not the one of its files");
  need(built.files === files && built.bytes === bytes, "a tree of other files or bytes than is said");
  return found;
}

/** Return the sections of an encoded bundle as `{id, sections: [[name, {id, files, bytes}], …]}`. */
export function readBundle(data) {
  const value = decode(data);
  need(Array.isArray(value) && value.length <= 4096, "not a bundle");
  for (const line of value) {
    need(Array.isArray(line) && line.length === 4, "not a section");
    const [name, node, files, bytes] = line;
    section(name);
    need(isBytes(node, 32) && counted(files, bytes), "not a section");
  }
  need(ascending(value.map((line) => line[0])), "sections out of order");
  const sections = value.map(([name, node, files, bytes]) => [name, { id: hex(node), files, bytes }]);
  return { id: hex(root(value.map(sectionHash))), sections };
}

/** Return the encoded bundle of entries with full paths. */
export function buildBundle(entries) {
  const sections = new Map();
  for (const [path, ...rest] of entries) {
    const [name, inner] = split(path);
    if (!sections.has(name)) sections.set(name, []);
    sections.get(name).push([inner, ...rest]);
  }
  const lines = [...sections].sort(([one], [other]) => compare(one, other)).map(([name, files]) => {
    const tree = build(files.sort(([one], [other]) => compare(one, other)));
    return [name, Buffer.from(tree.id, "hex"), tree.files, tree.bytes];
  });
  return encode(lines);
}
