// Bytes, text and what is refused. Ids are lower-case hex wherever they are compared or kept.

/** What this reader does not take. Anything else that is thrown is a fault of the reader. */
export class Refused extends Error {}

export function need(truth, why) {
  if (!truth) throw new Refused(why);
}

/** Return what `read` returns, or `otherwise` if it refuses. */
export function tried(read, otherwise) {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refused) return otherwise(error);
    throw error;
  }
}

export const MAX_TIME = 253402300799999;
export const utf8 = (string) => Buffer.from(string, "utf8");
export const hex = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex");
export const unhex = (string) => Buffer.from(string, "hex");
export const isHex = (value, size) => typeof value === "string" && value.length === 2 * size && /^[0-9a-f]*$/.test(value);
export const isBytes = (value, size) => value instanceof Uint8Array && value.length === size;
export const isText = (value, most = Infinity) => typeof value === "string" && Buffer.byteLength(value) <= most;
// A number is a Number where that is exact, and a BigInt above it.
export const isNumber = (value, least, most) => ["number", "bigint"].includes(typeof value) && value >= least && value <= most;
export const number = (big) => (big <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(big) : big);
// Texts are ordered by their UTF-8 bytes, which JavaScript's `<` does not do.
export const compare = (one, other) => Buffer.compare(utf8(one), utf8(other));
export const ascending = (items, order = compare) => items.every((item, at) => at === 0 || order(items[at - 1], item) < 0);

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Return the text of well-formed UTF-8. */
export function text(bytes) {
  try {
    return strict.decode(bytes);
  } catch {
    return need(false, "text that is not UTF-8");
  }
}
