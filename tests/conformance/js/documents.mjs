// Fields of canonical documents: what each may be if it is there, never its default, for that is left out.

import { isHex, isNumber, isText, need } from "./bytes.mjs";
import { fields } from "./json.mjs";

export const text = (most) => (value) => isText(value, most) && value !== "";
export const anyCount = (value) => isNumber(value, 0, Number.MAX_SAFE_INTEGER);
export const count = (value) => anyCount(value) && value > 0;
export const digest = (value) => isHex(value, 32);
export const some = (most, fits) => (value) => Array.isArray(value) && value.length >= 1 && value.length <= most && value.every(fits);
export const oneOf = (...values) => (value) => values.includes(value);

/** Return a check of an object whose fields are all as `shape` says, with those of `required` there, and of `more`. */
export const shaped = (shape, required, more = () => true) => (value) => {
  fields(value, required, Object.keys(shape));
  for (const name in value) need(shape[name](value[name]), `${name} is not what it has to be`);
  return more(value);
};
