// Nodes, trees and bundles.

import { ascending, compare, hex, isBytes, isNumber, isText, need, unhex, utf8 } from "./bytes.mjs";
import { digest, root } from "./digest.mjs";
import { decode, encode } from "./msgpack.mjs";
import { joined, section, split } from "./paths.mjs";

const [LEAF, INNER] = [0, 1];

export const lastHash = (last) => digest("brain v1 tree last", utf8(last));
export const leafHash = (entry) => digest("brain v1 tree leaf", encode(entry));
export const innerHash = (...entry) => digest("brain v1 tree inner", encode(entry));
export const sectionHash = (entry) => digest("brain v1 bundle section", encode(entry));
const entryHash = { [LEAF]: leafHash, [INNER]: ([last, ...rest]) => innerHash(lastHash(last), ...rest) };
const nodeId = (kind, entries) => root(entries.map(entryHash[kind]));

export const isSize = (value) => isNumber(value, 0, Number.MAX_SAFE_INTEGER);
export const isCount = (value) => isNumber(value, 1, Number.MAX_SAFE_INTEGER);
const isBelow = ([node, files, bytes]) => isBytes(node, 32) && isCount(files) && isSize(bytes);
const isFile = ([kind, blob, size]) => isNumber(kind, 0, 2) && isBytes(blob, 32) && isSize(size);

/** Require a list of `[name, …]` in the order of names, whose other three fields `fits` takes, and their sums. */
function lines(value, most, fits) {
  need(Array.isArray(value) && value.length <= most, "not a list, or too long");
  for (const line of value) {
    need(Array.isArray(line) && line.length === 4 && isText(line[0]) && fits(line.slice(1)), "not an entry");
  }
  need(ascending(value.map(([name]) => name)), "entries out of order");
  need(totals(fits === isFile ? LEAF : INNER, value).every(isSize), "sums above 2^53 - 1");
  return value;
}

/** Return `{id, kind, entries}` of an encoded node. */
export function readNode(data) {
  const value = decode(data);
  need(Array.isArray(value) && value.length === 2 && isNumber(value[0], LEAF, INNER), "not a node");
  const [kind, entries] = value;
  lines(entries, 162, kind === LEAF ? isFile : isBelow);
  need(entries.length >= 1, "no entry");
  return { id: hex(nodeId(kind, entries)), kind, entries };
}

/** Return the files and bytes of entries. */
export function totals(kind, entries) {
  const sum = (of) => entries.reduce((before, entry) => before + of(entry), 0);
  return [sum((entry) => (kind === LEAF ? 1 : entry[2])), sum((entry) => entry[3])];
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
    const nodes = [[]];
    entries.forEach((entry, place) => {
      nodes.at(-1).push(entry);
      if (place + 1 < entries.length && ends(levels.length, entry[0], nodes.at(-1).length)) nodes.push([]);
    });
    levels.unshift(nodes);
    entries = nodes.map((run) => [run.at(-1)[0], nodeId(kind, run), ...totals(kind, run)]);
    const [[, id, count, bytes]] = entries;
    if (nodes.length === 1) return { id: hex(id), files: count, bytes, levels };
  }
}

/** Return the files of the section `name`, which its tree is a function of: what they build has to be the same. */
export function readTree(name, { id, files, bytes }, load) {
  const found = [];
  for (const waiting = [id]; waiting.length; ) {
    const { kind, entries } = load(waiting.pop());
    if (kind === INNER) waiting.push(...entries.map((entry) => hex(entry[1])).reverse());
    else {
      need(!found.length || compare(found.at(-1)[0], entries[0][0]) < 0, "paths out of order");
      for (const [path] of entries) joined(name, path);
      found.push(...entries);
    }
  }
  const built = build(found);
  need(built.id === id, "a tree that is not the one of its files");
  need(built.files === files && built.bytes === bytes && isSize(bytes), "a tree of other files or bytes than is said");
  return found;
}

/** Return the sections of an encoded bundle as `{id, sections: [[name, {id, files, bytes}], …]}`. */
export function readBundle(data) {
  const value = lines(decode(data), 4096, isBelow);
  const sections = value.map(([name, node, files, bytes]) => [section(name), { id: hex(node), files, bytes }]);
  return { id: hex(root(value.map(sectionHash))), sections };
}

/** Return the encoded bundle of entries with full paths. */
export function buildBundle(entries) {
  const files = entries.map(([path, ...rest]) => [...split(path), ...rest]).sort(([, one], [, other]) => compare(one, other));
  const names = [...new Set(files.map(([name]) => name))].sort(compare);
  const trees = names.map((name) => build(files.filter(([one]) => one === name).map(([, ...file]) => file)));
  return encode(names.map((name, place) => [name, unhex(trees[place].id), trees[place].files, trees[place].bytes]));
}
