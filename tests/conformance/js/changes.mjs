// What a snapshot may have changed, by its operation; versions, which front matter says, are left out.

import { hex, need } from "./bytes.mjs";
import { blobId } from "./digest.mjs";

const isAscii = (name) => /^[\0-\x7f]*$/.test(name);
/** Return the slug of a name that is ASCII throughout. */
function slugOf(name) {
  const made = name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 64).replace(/-$/, "");
  return /^(con|prn|aux|nul|(com|lpt)[0-9]|)$/.test(made) ? `skill-${blobId(Buffer.from(name)).slice(0, 8)}` : made;
}

// The folder of a `SKILL.md`, and the name of the skill whose text is at a path, or undefined.
const folderOf = (path) => /^(?!skills\/[^/]*$)(.+)\/(SKILL\.md|skill\.md|Skill\.md|SKILL\.MD)$/.exec(path)?.[1];
const textName = (path) => folderOf(path)?.split("/").at(-1) ?? /^skills\/(?:[^/]+\/)?([^/]+)\.[mM][dD]$/.exec(path)?.[1];

/** Require that `operation` may change what differs between two bundles: `[kind, blob, size]` by path, blobs in hex. */
export function checkChange(operation, before, after, source) {
  const [kind, ...fields] = operation;
  const same = (one, other) => one?.join() === other?.join();
  const paths = [...new Set([...before.keys(), ...after.keys()])];
  const changed = paths.filter((path) => !same(before.get(path), after.get(path)));
  const removed = changed.filter((path) => !after.has(path));
  const folders = new Set(paths.map(folderOf));
  const names = (path) => {
    const above = path.split("/").filter((_, end, parts) => folders.has(parts.slice(0, end + 1).join("/")));
    return [textName(path), ...above].filter((name) => name !== undefined);
  };
  // A name beyond ASCII may have any slug, but only where no ASCII name has it, and only one such name.
  const readings = (slug, among = changed) => {
    const fits = (name) => isAscii(name) && slugOf(name) === slug;
    const all = among.flatMap(names);
    return all.some(fits) ? [fits] : [...new Set(all)].filter((name) => !isAscii(name)).map((one) => (name) => name === one);
  };
  const isTextOf = (fits) => (path) => textName(path) !== undefined && fits(textName(path));
  const isWhole = (text) => {
    const folder = folderOf(text) ?? text;
    const below = (path) => path === text || path.startsWith(`${folder}/`);
    return changed.every(below) && removed.length === changed.length && ![...after.keys()].some(below);
  };
  const nothing = () => changed.length === 0;
  const ofSkill = () => nothing() || readings(fields[0]).some((fits) => changed.every((path) => names(path).some(fits)));
  const rules = {
    ...{ task: nothing, bind: nothing, unbind: nothing },
    ...{ upsert: ofSkill, admit: ofSkill, reject: ofSkill, retire: ofSkill, reinstate: ofSkill },
    restore: () => !source || changed.every((path) => same(after.get(path), source.get(path))),
    redact: () => {
      const held = (entry) => entry[1] === hex(fields[1]);
      const gone = (path) => !after.has(path) && held(before.get(path)) && path !== "trust.json";
      return changed.every(gone) && ![...after.values()].some(held);
    },
    delete: () => readings(fields[0]).some((fits) => removed.filter(isTextOf(fits)).some(isWhole)),
    absorb: () => {
      const isWritten = (own) => changed.some((path) => after.has(path) && names(path).some(own));
      const isAbsorbed = (own) => {
        const rest = changed.filter((path) => !names(path).some(own));
        const isGone = (other) => rest.every((path) => !after.has(path) && names(path).some(other));
        return rest.length === 0 || readings(fields[3], rest).some(isGone);
      };
      return removed.some(isTextOf((name) => !isAscii(name) || slugOf(name) === fields[3])) && readings(fields[0]).filter(isWritten).some(isAbsorbed);
    },
  };
  need(!Object.hasOwn(rules, kind) || rules[kind](), `${kind} changed what it may not`);
}
