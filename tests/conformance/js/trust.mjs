// Trust files, and who had the right to sign what.

import { isNumber, isText, need, tried } from "./bytes.mjs";
import { fields, id, list, parse } from "./json.mjs";
import { message, publicKey, verify } from "./signatures.mjs";

const MAX_BYTES = 524_288;

/** Return `{threshold, keys}` of a trust file; `keys` are lines by the hex of the key. */
export function readTrust(data) {
  const value = fields(parse(data, MAX_BYTES), ["format", "threshold", "keys"]);
  need(value.format === "brain v1 trust", "another format");
  const lines = list(value.keys, 256);
  const keys = new Map(lines.map((line) => [publicKey(fields(line, ["name", "key"], ["from", "until", "revoked"]).key), line]));
  need(keys.size === lines.length && new Set(lines.map(({ name }) => name)).size === lines.length, "a key or name twice");
  for (const { name, from, until, revoked } of lines) {
    need(isWords(name, 64) && name !== "", "not a name");
    for (const mark of [from, until]) if (mark !== undefined) id(mark);
    if (revoked === undefined) continue;
    need(isWords(fields(revoked, ["reason"], ["since"]).reason, 256), "not a reason");
    if (revoked.since !== undefined) id(revoked.since);
  }
  const going = lines.filter(({ until, revoked }) => until === undefined && revoked === undefined);
  need(isNumber(value.threshold, 1, going.length), "not a threshold");
  return { threshold: value.threshold, keys };
}

/** Return a trust file, or null for a bad one. */
export const readIfGood = (data) => tried(() => readTrust(data), () => null);

const isWords = (value, most) => isText(value, most) && !/[\u0000-\u001f\u007f-\u009f]|\p{Noncharacter_Code_Point}/u.test(value);

/** A trust file whose content is gone: it gives nobody a right. */
export const UNREADABLE = { threshold: 1, keys: new Map() };

/** Return what a vector says of a trust file. */
export function outlineTrust(data) {
  const { threshold, keys } = readTrust(data);
  const row = ({ name, key, from = "", until = "", revoked }) => {
    return { name, key, from, until, revoked: revoked ? [revoked.since ?? "", revoked.reason] : null };
  };
  return { threshold, keys: [...keys.values()].map(row) };
}

/**
 * Return how each snapshot of a brain stands, and what is found. `snapshots` are all by id, ancestors
 * first and the head last; `policies` has the trust file of those that have one, null for a bad one;
 * `signatures` are `[snapshot, key, signature]`.
 */
export function judge({ snapshots, policies, signatures, roots }) {
  const line = [...snapshots.values()];
  const since = new Map();
  const isFrom = (start, id) => {
    if (!since.has(start)) {
      const found = new Set([start]);
      for (const one of line) if (one.parents.some((parent) => found.has(parent))) found.add(one.id);
      since.set(start, found);
    }
    return since.get(start).has(id);
  };
  const revocations = [...policies.values()].flatMap((policy) => [...(policy?.keys ?? [])]).filter(([, { revoked }]) => revoked);
  const isRevoked = (key, id) =>
    revocations.some(([one, { revoked }]) => one === key && (!revoked.since || isFrom(revoked.since, id)));
  const hasRight = ({ keys }, key, id) => {
    const { from, until } = keys.get(key) ?? { from: "unlisted" };
    return keys.has(key) && (!from || isFrom(from, id)) && !(until && isFrom(until, id));
  };
  const [before, after] = [new Map(), new Map()];
  for (const { id, parents } of line) {
    before.set(id, [...new Set(parents.flatMap((parent) => after.get(parent)))]);
    after.set(id, !policies.has(id) ? [] : policies.get(id) ? [policies.get(id)] : before.get(id));
  }
  const isFirst = ({ id }) => before.get(id).length === 0 && after.get(id).length > 0;
  const vouched = new Set(line.filter(isFirst).flatMap(({ parents }) => parents));
  for (const { id, parents } of [...line].reverse()) if (vouched.has(id)) for (const parent of parents) vouched.add(parent);
  const head = line.at(-1);
  const isBroken = (id) => policies.get(id) === null;
  const standings = new Map();
  const findings = [];
  for (const snapshot of line) {
    const { id, parents, author, home } = snapshot;
    const tell = (code, severity = "error") => findings.push([id, code, severity]);
    const given = signatures.filter(([one]) => one === id);
    const fits = ([, key, signature]) => verify(key, message(home, id), signature);
    const fitting = [...new Set(given.filter(fits).map(([, key]) => key))];
    const unrevoked = fitting.filter((key) => !isRevoked(key, id));
    const ofRoots = roots.length > 0 && (isFirst(snapshot) || (snapshot === head && before.get(id).length === 0));
    const inForce = isFirst(snapshot) && !ofRoots ? after.get(id) : before.get(id);
    const counting = (policy) => unrevoked.filter((key) => hasRight(policy, key, id));
    const lacking = inForce.filter((policy) => counting(policy).length < policy.threshold);
    if (ofRoots) lacking.push(...roots.filter((key) => !unrevoked.includes(key)));
    const held = inForce.length || ofRoots ? "trusted" : vouched.has(id) ? "vouched" : "unsigned";
    standings.set(id, lacking.length ? "refused" : held);
    given.filter((one) => !fits(one)).forEach(() => tell("bad_signature"));
    for (const key of fitting.filter((key) => !inForce.some((policy) => counting(policy).includes(key)))) {
      const code = inForce.some(({ keys }) => keys.has(key)) ? "expired_rights" : "unknown_key";
      const severity = lacking.length ? "error" : "warning";
      if (!unrevoked.includes(key)) tell("revoked_key", severity);
      else if (inForce.length) tell(code, severity);
    }
    lacking.forEach(() => tell(given.length ? "below_threshold" : "unsigned"));
    if (author.startsWith("ed25519:") && !unrevoked.includes(author.slice(8))) tell("forged_author");
    if (isBroken(id) && !parents.some(isBroken)) tell("bad_trust", isBroken(head.id) ? "error" : "warning");
  }
  return { standings, findings };
}
