// Trust files, and who had the right to sign what.

import { isNumber, isText, need, tried } from "./bytes.mjs";
import { fields, id, list, parse } from "./json.mjs";
import { reached } from "./lineage.mjs";
import { message, publicKey, verify } from "./signatures.mjs";

const MAX_BYTES = 524_288;
const isWords = (value, most) => isText(value, most) && !/[\u0000-\u001f\u007f-\u009f]|\p{Noncharacter_Code_Point}/u.test(value);
const idOrNone = (value) => (value === undefined ? "" : id(value));

function readRow(value) {
  const { name, key, from, until, revoked } = fields(value, ["name", "key"], ["from", "until", "revoked"]);
  need(isWords(name, 64) && name !== "", "not a name");
  const row = { name, key, from: idOrNone(from), until: idOrNone(until), revoked: null };
  if (revoked === undefined) return [publicKey(key), row];
  need(isWords(fields(revoked, ["reason"], ["since"]).reason, 256), "not a reason");
  return [publicKey(key), { ...row, revoked: [idOrNone(revoked.since), revoked.reason] }];
}

/** Return `{threshold, keys}` of a trust file; `keys` are its rows by the hex of the key. */
export function readTrust(data) {
  const { format, threshold, keys } = fields(parse(data, MAX_BYTES), ["format", "threshold", "keys"]);
  need(format === "brain v1 trust", "another format");
  const rows = new Map(list(keys, 256).map(readRow));
  const names = new Set([...rows.values()].map(({ name }) => name));
  need(rows.size === keys.length && names.size === keys.length, "a key or name twice");
  const going = [...rows.values()].filter(({ until, revoked }) => !until && !revoked);
  need(isNumber(threshold, 1, going.length), "not a threshold");
  return { threshold, keys: rows };
}

// A trust file, null for a broken one; and one whose content is gone, which gives nobody a right.
export const readIfGood = (data) => tried(() => readTrust(data), () => null);
export const UNREADABLE = { threshold: 1, keys: new Map() };

/**
 * Return how each snapshot of a brain stands, and what is found. `snapshots` are all by id, ancestors
 * first and the head last; `policies` has the trust file of those that have one, null for a broken one;
 * `signatures` are `[snapshot, key, signature]`.
 */
export function judge({ snapshots, policies, signatures, roots }) {
  const line = [...snapshots.values()];
  const head = line.at(-1);
  const past = new Map(line.map(({ id }) => [id, reached(id, (at) => snapshots.get(at).parents)]));
  const isFrom = (start, id) => past.get(id).has(start);
  const rows = [...policies.values()].flatMap((policy) => [...(policy?.keys ?? [])]).filter(([, { revoked }]) => revoked);
  const isRevoked = (key, id) => rows.some(([one, { revoked: [since] }]) => one === key && (!since || isFrom(since, id)));
  const hasRight = ({ keys }, key, id) => {
    const { from, until } = keys.get(key) ?? {};
    return keys.has(key) && (!from || isFrom(from, id)) && !(until && isFrom(until, id));
  };
  const [before, after] = [new Map(), new Map()];
  for (const { id, parents } of line) {
    before.set(id, [...new Set(parents.flatMap((parent) => after.get(parent)))]);
    after.set(id, !policies.has(id) ? [] : policies.get(id) ? [policies.get(id)] : before.get(id));
  }
  const isFirst = ({ id }) => before.get(id).length === 0 && after.get(id).length > 0;
  const isVouched = (id) => line.some((one) => isFirst(one) && isFrom(id, one.id));
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
    const held = inForce.length || ofRoots ? "trusted" : isVouched(id) ? "vouched" : "unsigned";
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
