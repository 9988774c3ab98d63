// MessagePack in the one encoding the format allows. The library encodes; it decodes too
// generously (long forms, lone surrogates, keys in any order), so decoding is done here.

import { compare, need, number, text } from "./bytes.mjs";
import { Encoder } from "./packages.mjs";

const [MAX_BYTES, MAX_ITEMS, MAX_VALUES, MAX_DEPTH] = [1_048_576, 65_536, 100_000, 32];

// Tags that a length or number of so many bytes follows, and the least it may be.
const WIDE = new Map();
const widths = (kind, tag, width, ...leasts) =>
  leasts.forEach((least, place) => WIDE.set(tag + place, [kind, width << place, least]));
widths("bytes", 0xc4, 1, 0, 2 ** 8, 2 ** 16);
widths("number", 0xcc, 1, 2 ** 7, 2 ** 8, 2 ** 16, 2 ** 32);
widths("text", 0xd9, 1, 2 ** 5, 2 ** 8, 2 ** 16);
widths("array", 0xdc, 2, 2 ** 4, 2 ** 16);
widths("map", 0xde, 2, 2 ** 4, 2 ** 16);

/** Return the one value in `data`: numbers, strings, Buffers, arrays and Maps. */
export function decode(data) {
  need(data.length <= MAX_BYTES, "an object above the limit");
  const reader = new Reader(data);
  const value = reader.value(0);
  need(reader.at === data.length, "bytes after the value");
  return value;
}

class Reader {
  constructor(data) {
    Object.assign(this, { data, at: 0, values: 0 });
  }

  take(count) {
    need(count <= this.data.length - this.at, "bytes are missing");
    this.at += count;
    return this.data.subarray(this.at - count, this.at);
  }

  value(depth) {
    need(++this.values <= MAX_VALUES, "too many values");
    const tag = this.take(1)[0];
    if (tag < 0x80) return tag;
    if (tag < 0x90) return this.map(tag & 0x0f, depth + 1);
    if (tag < 0xa0) return this.array(tag & 0x0f, depth + 1);
    if (tag < 0xc0) return text(this.take(tag & 0x1f));
    need(WIDE.has(tag), "a type the format does not know");
    const [kind, width, least] = WIDE.get(tag);
    const bytes = this.take(width);
    const count = width === 8 ? number(bytes.readBigUInt64BE()) : bytes.readUIntBE(0, width);
    need(count >= least, "a longer form than needed");
    if (kind === "number") return count;
    if (kind === "text") return text(this.take(count));
    return kind === "bytes" ? this.take(count) : this[kind](count, depth + 1);
  }

  array(count, depth) {
    need(count <= MAX_ITEMS && depth <= MAX_DEPTH, "too many items or too deep");
    return Array.from({ length: count }, () => this.value(depth));
  }

  map(count, depth) {
    need(count <= MAX_ITEMS && depth <= MAX_DEPTH, "too many pairs or too deep");
    const pairs = new Map();
    for (let last; pairs.size < count; ) {
      const key = this.value(depth);
      need(typeof key === "string" && (last === undefined || compare(last, key) < 0), "not a key in order");
      pairs.set((last = key), this.value(depth));
    }
    return pairs;
  }
}

const encoder = new Encoder({ useBigInt64: true });

/** Return the encoding of arrays, texts, bytes and numbers. */
export const encode = (value) => Buffer.from(encoder.encode(narrow(value)));

/** The library writes a Number of 2^32 and more as a float, and a BigInt always in nine bytes. */
function narrow(value) {
  if (Array.isArray(value)) return value.map(narrow);
  if (typeof value !== "number" && typeof value !== "bigint") return value;
  return value < 2 ** 32 ? Number(value) : BigInt(value);
}
