// Strict JSON (RFC 8259): no key twice, integers alone, well-formed text, a limit in bytes.

import { hex, isHex, need, number, text } from "./bytes.mjs";

const MAX_DEPTH = 32;
const TEXT = /"[^"\\\u0000-\u001f]*(\\(["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
const WORD = /-?(0|[1-9][0-9]*)(?![0-9.eE])|true|false|null/y;

/** Return the value of a text in UTF-8; objects have no prototype, so any key is a plain one. */
export function parse(bytes, limit = Infinity) {
  need(bytes.length <= limit, "a document above the limit");
  const reader = new Reader(text(bytes));
  const value = reader.value(0);
  need(reader.match(/[ \t\n\r]*$/y) !== null, "text after the document");
  return value;
}

class Reader {
  constructor(text) {
    Object.assign(this, { text, at: 0 });
  }

  /** Return what `pattern` (sticky) matches here and pass it, or null. */
  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found !== null) this.at = pattern.lastIndex;
    return found && found[0];
  }

  /** Pass white space, and then `sign` if it is there; return whether it was. */
  take(sign) {
    this.match(/[ \t\n\r]*/y);
    const there = this.text[this.at] === sign;
    if (there) this.at += 1;
    return there;
  }

  value(depth) {
    need(depth <= MAX_DEPTH, "too deep");
    const [items, fields] = [[], Object.create(null)];
    if (this.take("{")) return this.members("}", () => this.field(fields, depth + 1)) ?? fields;
    if (this.take("[")) return this.members("]", () => items.push(this.value(depth + 1))) ?? items;
    if (this.text[this.at] === '"') return this.string();
    const word = this.match(WORD);
    need(word !== null && word !== "-0", "not a value");
    return /^[a-z]/.test(word) ? JSON.parse(word) : number(BigInt(word));
  }

  /** Read what stands between a bracket and its `end`, with commas between. */
  members(end, read) {
    if (this.take(end)) return;
    do read();
    while (this.take(","));
    need(this.take(end), "a list or object that does not end");
  }

  field(fields, depth) {
    this.take("");
    const key = this.string();
    need(!(key in fields) && this.take(":"), "a key twice, or without a value");
    fields[key] = this.value(depth);
  }

  string() {
    const word = this.match(TEXT);
    need(word !== null, "not text");
    const value = JSON.parse(word);
    need(!/\p{Surrogate}/u.test(value), "half a character");
    return value;
  }
}

/** Return the canonical text of a value (RFC 8785); Maps count as objects, and bytes as `{"bin": hex}`. */
export function canonical(value) {
  if (value instanceof Uint8Array) return `{"bin":"${hex(value)}"}`;
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "bigint") return String(value);
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const pairs = value instanceof Map ? [...value] : Object.entries(value);
  pairs.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${pairs.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(",")}}`;
}

/** Require an object of these fields: all of `required`, any of `optional`. */
export function fields(value, required, optional = []) {
  need(value !== null && typeof value === "object" && !Array.isArray(value), "not an object");
  for (const name of required) need(name in value, `${name} is missing`);
  for (const name in value) need(required.includes(name) || optional.includes(name), `${name} is not a field`);
  return value;
}

// Require a list, of at most so many items; and an id or hash.
export const list = (value, most = Infinity) => need(Array.isArray(value) && value.length <= most, "not a list") ?? value;
export const id = (value) => need(isHex(value, 32), "not an id") ?? value;

/** Return the bytes of base64 with padding and without unused bits. */
export function base64(value) {
  const bytes = Buffer.from(typeof value === "string" ? value : "", "base64");
  return need(bytes.toString("base64") === value, "not base64") ?? bytes;
}
