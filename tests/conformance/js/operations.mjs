// What a snapshot says was done.

import { ascending, compare, hex, isBytes, isText, need } from "./bytes.mjs";
import { blobId } from "./digest.mjs";
import { isPath } from "./paths.mjs";

const bytes = (size) => (value) => isBytes(value, size);
const text = (least, most) => (value) => isText(value, most) && Buffer.byteLength(value) >= least;
const id = bytes(32);
const slug = (value) => isText(value, 64) && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(value);
const version = (value) => isText(value) && /^(?!0$)(0|[1-9][0-9]{0,8})(\.[0-9]{1,9}){0,3}$/.test(value);
const versionOrNone = (value) => value === "" || version(value);
const list = (least, most, fits) => (value) =>
  Array.isArray(value) && value.length >= least && value.length <= most && value.every(fits);
const bases = (value) => list(1, Infinity, id)(value) && ascending(value.map(hex));
const isSkill = (value) => list(4, 4, (one) => isText(one))(value) && slug(value[0]) && value.slice(1).every(versionOrNone);
// Nothing in a skill sorts before U+0000, so that joined by it they sort field by field.
const skills = (value) =>
  list(0, 4096, isSkill)(value) && ascending(value.map((skill) => skill.join("\0")), (one, other) => compare(one, other) || -1);
const few = new Set([blobId(Buffer.of()), ...Array.from({ length: 256 }, (_, byte) => blobId(Buffer.of(byte)))]);
const blob = (value) => id(value) && !few.has(hex(value));
const verdict = [slug, versionOrNone, versionOrNone, id];
const binding = [id, text(1, 1024), id];

const KINDS = {
  genesis: [bytes(16), (origin) => isBytes(origin, 0) || id(origin)],
  snapshot: [],
  upsert: [slug, versionOrNone, version],
  delete: [slug, version],
  restore: [id],
  merge: [bases, skills],
  redact: [isPath, blob, text(1, 65_536)],
  task: [text(1, 1024), (outcome) => ["success", "failure", "cancelled", "unknown"].includes(outcome)],
  absorb: [slug, versionOrNone, version, slug, version],
  import: [text(1, 1024), text(1, 1024), text(0, 1024)],
  ...{ admit: verdict, reject: verdict, retire: verdict, reinstate: verdict, bind: binding, unbind: binding },
};
const PARENTS = { genesis: [0, 0], merge: [2, 2], import: [1, 16] };

/** Return the kind of an operation that so many parents allow; one of an unknown kind has any fields. */
export function readOperation(value, parents) {
  need(Array.isArray(value) && text(1, 64)(value[0]), "not an operation");
  const [kind, ...given] = value;
  const known = Object.hasOwn(KINDS, kind);
  const [least, most] = PARENTS[kind] ?? (known ? [1, 1] : [1, 16]);
  need(parents >= least && parents <= most, `${kind} has another number of parents`);
  if (!known) return kind;
  need(given.length === KINDS[kind].length, `${kind} has other fields`);
  need(KINDS[kind].every((fits, place) => fits(given[place])), `a field of ${kind} is not what it has to be`);
  return kind;
}
