// Paths of a brain, and which of them a folder can hold.

import { readFileSync } from "node:fs";
import { isText, need, text, tried } from "./bytes.mjs";
import { parse } from "./json.mjs";

const TABLE = parse(readFileSync(new URL("../../../brain/objects/folding.json", import.meta.url)));
const MARKS = new RegExp(`[${Object.keys(TABLE.class).join("")}]+`, "gu");
const HIDDEN = "ad 34f 61c 115f-1160 17b4-17b5 180e 200b 200e-200f 2028-202e 2060-206f 3164 feff ffa0 fff0-fffb";
const INVISIBLE = new RegExp(
  `[${`${HIDDEN} 1bca0-1bca3 1d173-1d17a e0000-e00ff`.replace(/[0-9a-f]+/g, "\\u{$&}").replaceAll(" ", "")}]`, "u",
);
const RESERVED = /^(\.git|git~1|\.brain|brain~1|\.brain\.new|\.brain-tmp-.*)$/s;
const folded = new Map();

function unfolded(char) {
  const at = char.codePointAt(0) - 0xac00;
  if (at < 0 || at >= 11172) return TABLE.fold[char] ?? char;
  const parts = [0x1100 + Math.floor(at / 588), 0x1161 + Math.floor((at % 588) / 28), 0x11a7 + (at % 28)];
  return String.fromCodePoint(...parts.slice(0, at % 28 ? 3 : 2));
}

/** Return the one text for all names that some system takes for one. */
export function fold(value) {
  const byClass = (run) => [...run].sort((one, other) => TABLE.class[one] - TABLE.class[other]).join("");
  if (!folded.has(value)) {
    folded.set(value, [...value].map(unfolded).join("").replace(MARKS, byClass).replaceAll("\u0345", "\u03b9"));
  }
  return folded.get(value);
}

const isReserved = (name) => RESERVED.test(fold(name).split(":")[0].replace(/[. ]+$/, ""));
const isPlain = (value) => !/[\u0000-\u001f\u007f-\u009f\\]/.test(value) && [...value.slice(0, 3)][1] !== ":";

/** Require a path. */
export function path(value) {
  need(isText(value, 1024) && isPlain(value) && !INVISIBLE.test(value), "a path too long, or with what no path has");
  const parts = value.split("/");
  need(parts.length <= 64 && parts.every((part) => isText(part, 255)), "too many parts, or one too long");
  need(!parts.some((part) => ["", ".", ".."].includes(fold(part)) || isReserved(part)), "an empty, dotted or reserved part");
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
export const section = (value) => need(value === "." || (isPath(value) && !value.includes("/")), "not a section") ?? value;

/** Require that a folder can hold files, `[path, kind, blob, size]`; `targets` has blobs, if they are there. */
export function checkFolder(files, targets) {
  need(files.length <= 1_000_000, "too many files");
  const names = new Map();
  for (const [path, kind, blob, size] of files) {
    need(size <= 2 ** 32, "a file above 2^32 bytes");
    const parts = path.split("/");
    parts.forEach((name, depth) => {
      const place = `${parts.slice(0, depth).join("/")}/${fold(name)}`;
      const isFile = depth + 1 === parts.length;
      const [known, wasFile] = names.get(place) ?? [name, false];
      need(known === name && !wasFile && !(isFile && names.has(place)), "two names for one, or a file and a folder");
      names.set(place, [name, isFile]);
    });
    const target = targets.get(blob);
    if (kind === 2) need(target ? isGoodTarget(target, parts.length - 1) : size >= 1 && size <= 4095, "a link that leads out");
  }
}

function isGoodTarget(data, depth) {
  const target = tried(() => text(data), () => "");
  const parts = target.split("/").filter((part) => !["", "."].includes(fold(part)));
  const up = parts.filter((part) => fold(part) === "..").length;
  const isWithin = up <= depth && parts.slice(0, up).every((part) => fold(part) === "..");
  return data.length <= 4095 && target !== "" && isPlain(target) && target[0] !== "/" && isWithin && !parts.some(isReserved);
}
