// The transparency log: entries, signed notes, checkpoints, and paths of RFC 9162, over SHA-256.

import { hex, isBytes, isNumber, MAX_TIME, need, unhex, utf8 } from "./bytes.mjs";
import { base64, id, list } from "./json.mjs";
import { decode } from "./msgpack.mjs";
import { sha256 } from "./packages.mjs";
import { publicKey, verify } from "./signatures.mjs";

export const MAX_NUMBER = 2n ** 63n - 1n;
const NAME = /^[^\p{White_Space}+\u0000-\u001f\u007f]{1,256}$/u;
const [LOG, WITNESS] = [1, 4];

/** Return SHA-256 over `parts`, joined. */
export const sha = (...parts) => Buffer.from(sha256(Buffer.concat(parts)));
const nodeHash = (left, right) => sha(Buffer.of(1), left, right);
const leafHash = (data) => sha(Buffer.of(0), data);
const name = (value) => need(NAME.test(value), "not the name of a key") ?? value;

/** Return the entry that `data` encodes, with ids in hex. */
export function readEntry(data) {
  need(data.length <= 122, "an entry above the limit");
  const value = decode(data);
  need(Array.isArray(value) && value.length === 6, "not an entry");
  const [format, brain, seq, snapshot, parent, time] = value;
  const isIds = [brain, snapshot, parent].every((one) => isBytes(one, 32));
  need(format === 1 && isIds && isNumber(seq, 1, MAX_NUMBER) && isNumber(time, 0, MAX_TIME), "not the fields of an entry");
  need(snapshot.some(Boolean) && parent.some(Boolean) === (seq !== 1), "zeros");
  return { brain: hex(brain), seq, snapshot: hex(snapshot), parent: hex(parent), time, leaf: hex(leafHash(data)) };
}

function readKey(value, algorithm) {
  const [named, keyId, ...rest] = typeof value === "string" ? value.split("+") : [];
  const data = base64(rest.join("+"));
  need(data.length === 33 && data[0] === algorithm, "a key of another algorithm");
  need(hex(sha(utf8(`${name(named)}\n`), data).subarray(0, 4)) === keyId, "not the id of the key");
  return { name: named, id: keyId, key: publicKey(`ed25519:${hex(data.subarray(1))}`) };
}

function readSignature(line) {
  const [dash, named, value, ...more] = line.split(" ");
  const data = base64(value);
  need(dash === "\u2014" && more.length === 0 && data.length > 4, "not the line of a signature");
  return { name: name(named), id: hex(data.subarray(0, 4)), signature: data.subarray(4) };
}

function readNote(note) {
  need(typeof note === "string" && utf8(note).length <= 262_144 && !/[\u0000-\u0009\u000b-\u001f]/.test(note), "not a note");
  const end = note.lastIndexOf("\n\n");
  need(end >= 0 && note.endsWith("\n"), "a note without an empty line");
  const lines = note.slice(end + 2, -1).split("\n");
  need(lines.length <= 100, "more than 100 signatures");
  return { text: note.slice(0, end + 1), signatures: lines.map(readSignature) };
}

/** Return a checkpoint that `key` signed: origin, size, root, its text, and those of `witnesses` that signed it. */
export function readCheckpoint(note, key, witnesses = []) {
  const { text, signatures } = readNote(note);
  const of = (by) => signatures.find((line) => line.name === by.name && line.id === by.id)?.signature;
  const by = readKey(key, LOG);
  const said = text.slice(0, -1).split("\n");
  need(said.length >= 3 && said.every((line) => line !== "") && said[0] === by.name, "not the lines of the log");
  need(/^(0|[1-9][0-9]{0,18})$/.test(said[1]) && BigInt(said[1]) <= MAX_NUMBER, "not a size");
  const [size, root] = [BigInt(said[1]), base64(said[2])];
  need(root.length === 32 && (size > 0n || root.equals(sha())), "not a root");
  need(of(by) && verify(by.key, utf8(text), hex(of(by))), "the log has not signed it");
  const signed = [...new Set(witnesses)].map((value) => {
    const witness = readKey(value, WITNESS);
    const signature = of(witness);
    if (signature === undefined) return [];
    need(signature.length === 72 && signature.readBigUInt64BE() <= MAX_NUMBER, "not a cosignature");
    const time = signature.readBigUInt64BE();
    const message = utf8(`cosignature/v1\ntime ${time}\n${text}`);
    need(verify(witness.key, message, hex(signature.subarray(8))), "a witness has not signed it");
    return [[witness.name, time]];
  });
  return { origin: by.name, size, root: hex(root), text, witnesses: signed.flat() };
}

const hashes = (path) => list(path).map((value) => unhex(id(value)));

/** Call `step` with each hash of a path, and whether it is on the left; the path has to fit the two numbers. */
function climb(path, index, last, step) {
  for (const hash of path) {
    need(last > 0n, "a path that is too long");
    const isLeft = Boolean(index & 1n) || index === last;
    step(hash, isLeft);
    while (isLeft && !(index & 1n) && index) [index, last] = [index >> 1n, last >> 1n];
    [index, last] = [index >> 1n, last >> 1n];
  }
  need(last === 0n, "a path that is too short");
}

/** Return the checkpoint that holds an entry at an index, by a path. */
export function readInclusion({ checkpoint, key, witnesses, index, entry, path }) {
  const found = readCheckpoint(checkpoint, key, witnesses);
  need(isNumber(index, 0, found.size - 1n), "not an index");
  let at = unhex(readEntry(unhex(entry)).leaf);
  climb(hashes(path), BigInt(index), found.size - 1n, (hash, isLeft) => (at = isLeft ? nodeHash(hash, at) : nodeHash(at, hash)));
  need(hex(at) === found.root, "another root");
  return found;
}

/** Return the sizes of two checkpoints, of which the second extends the first. */
export function readConsistency({ old: first, new: second, key, path: values }) {
  const [old, extended] = [first, second].map((note) => readCheckpoint(note, key));
  const path = hashes(values);
  need(old.size > 0n && old.size <= extended.size, "not sizes");
  if (old.size === extended.size) need(path.length === 0 && old.root === extended.root, "two roots of one size");
  else {
    let [index, last] = [old.size - 1n, extended.size - 1n];
    while (index & 1n) [index, last] = [index >> 1n, last >> 1n];
    const start = index === 0n ? unhex(old.root) : path.shift();
    need(start !== undefined, "an empty path");
    let [from, to] = [start, start];
    climb(path, index, last, (hash, isLeft) => {
      if (isLeft) from = nodeHash(hash, from);
      to = isLeft ? nodeHash(hash, to) : nodeHash(to, hash);
    });
    need(hex(from) === old.root && hex(to) === extended.root, "another root");
  }
  return { old: old.size, new: extended.size };
}
