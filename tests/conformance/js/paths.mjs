// Paths of a brain.

import { isText, need, tried } from "./bytes.mjs";

/** Require a path. */
export function path(value) {
  need(isText(value, 1024), "a path above 1,024 bytes");
  const parts = value.split("/");
  need(parts.length <= 64, "a path of more than 64 parts");
  need(!parts.some((part) => ["", ".", ".."].includes(part)), "an empty or dotted part");
  need(!/[\u0000-\u001f\u007f-\u009f\\]/.test(value), "a control character or backslash");
  need([...value.slice(0, 3)][1] !== ":", "a drive");
  return value;
}

export const isPath = (value) => tried(() => path(value) === value, () => false);

/** Return the section and the inner path of a path. */
export function split(value) {
  const slash = value.indexOf("/");
  return slash < 0 ? [".", value] : [value.slice(0, slash), value.slice(slash + 1)];
}

/** Return the path of an inner path, which has to be one of its section. */
export function joined(section, inner) {
  need(section !== "." || !inner.includes("/"), "a folder in the top section");
  return path(section === "." ? inner : `${section}/${inner}`);
}

/** Require the name of a section. */
export function section(value) {
  need(value === "." || (isText(value) && !value.includes("/") && isPath(value)), "not a section");
  return value;
}
