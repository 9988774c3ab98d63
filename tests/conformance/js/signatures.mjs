// Ed25519, strictly, and records of signatures.

import { ascending, hex, isBytes, isHex, need, unhex, utf8 } from "./bytes.mjs";
import { decode } from "./msgpack.mjs";
import { ed25519, sha512 } from "./packages.mjs";

const { Point } = ed25519;
const points = new Map();
const little = (bytes) => BigInt(`0x${hex(Uint8Array.from(bytes).reverse())}`);

/** Return the point of a key in hex, or null if it is not canonical or of small order. */
function point(key) {
  try {
    if (!points.has(key)) points.set(key, Point.fromHex(key, false));
  } catch {
    points.set(key, null); // no point of the curve
  }
  const found = points.get(key);
  return found && hex(found.toBytes()) === key && !found.isSmallOrder() ? found : null;
}

const isKey = (key) => point(key) !== null;

/** Return the hex of a public key in text. */
export function publicKey(value) {
  need(typeof value === "string" && value.startsWith("ed25519:") && isHex(value.slice(8), 32), "not a public key");
  need(isKey(value.slice(8)), "not a point of the curve, or one of small order");
  return value.slice(8);
}

export const message = (brain, snapshot) => Buffer.concat([utf8("brain v1 signature"), unhex(brain), unhex(snapshot)]);

/**
 * Return whether a signature fits. The library's own `verify` clears the cofactor, so the
 * equation is computed here, and R compared byte for byte.
 */
export function verify(key, signed, signature) {
  if (key.length !== 64 || signature.length !== 128 || !isKey(key)) return false;
  const [start, scalar] = [unhex(signature.slice(0, 64)), little(unhex(signature.slice(64)))];
  if (scalar >= Point.Fn.ORDER) return false;
  const k = little(sha512(Buffer.concat([start, unhex(key), signed]))) % Point.Fn.ORDER;
  return start.equals(Point.BASE.multiplyUnsafe(scalar).subtract(point(key).multiplyUnsafe(k)).toBytes());
}

/** Return `{snapshot, signed: [[key, signature], …]}` of a record of signatures, in hex. */
export function readRecord(data) {
  const value = decode(data);
  need(Array.isArray(value) && value.length === 2 && isBytes(value[0], 32), "not a record");
  const [snapshot, pairs] = value;
  need(Array.isArray(pairs) && pairs.length >= 1 && pairs.length <= 256, "not 1 to 256 signatures");
  const isPair = (pair) => Array.isArray(pair) && pair.length === 2 && isBytes(pair[0], 32) && isBytes(pair[1], 64);
  need(pairs.every((pair) => isPair(pair) && isKey(hex(pair[0]))), "not a key and a signature");
  const signed = pairs.map((pair) => pair.map(hex));
  need(ascending(signed.map(([key]) => key)), "keys out of order");
  return { snapshot: hex(snapshot), signed };
}
