// What a snapshot says was done.

import { ascending, hex, isBytes, isText, need } from "./bytes.mjs";

const text = (value) => isText(value);
const id = (value) => isBytes(value, 32);
const noneOrId = (value) => id(value) || isBytes(value, 0);
const list = (value) => Array.isArray(value);

const KINDS = {
  genesis: [(nonce) => isBytes(nonce, 16), noneOrId],
  snapshot: [],
  upsert: [text, text, text],
  delete: [text, text],
  restore: [id],
  merge: [
    (bases) => list(bases) && bases.every(id) && ascending(bases.map(hex)),
    (skills) => list(skills) && skills.every((skill) => list(skill) && skill.length === 4 && skill.every(text)),
  ],
  redact: [text, id, text],
  task: [text, text],
  absorb: [text, text, text, text, text],
  import: [text, text, text],
};

/** Return the kind of an operation; one of an unknown kind has any fields. */
export function readOperation(value) {
  need(Array.isArray(value) && isText(value[0]) && value[0] !== "", "not an operation");
  const [kind, ...given] = value;
  if (Object.hasOwn(KINDS, kind)) {
    const wanted = KINDS[kind];
    need(given.length === wanted.length, `${kind} has other fields`);
    need(wanted.every((fits, place) => fits(given[place])), `a field of ${kind} is not what it has to be`);
  }
  return kind;
}
