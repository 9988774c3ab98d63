// Statements that bind keys to accounts, as docs/format/accounts.md defines them.

import { hex, isHex, isNumber, need, unhex, utf8 } from "./bytes.mjs";
import { fields, id, list, parse } from "./json.mjs";
import { secp256k1 } from "./packages.mjs";
import { publicKey, verify } from "./signatures.mjs";
import { keccak } from "./tries.mjs";

const MAX_BYTES = 524_288;
const MAX_TIME = 253402300799;
const MAX_CHAIN = 2n ** 63n - 1n;
const FIELDS = ["brain", "key", "account", "chain_id", "created", "expires", "public_key", "key_signature", "account_signature"];
const TYPE = "AccountStatement(bytes32 brain,bytes32 key,address account,uint64 chainId,uint64 created,uint64 expires)";
const DOMAIN = keccak(keccak(utf8("EIP712Domain(string name,string version)")), keccak(utf8("brain account statement")), keccak(utf8("1")));

const bytesOf = (value, size) => unhex(BigInt(value ?? 0).toString(16).padStart(2 * size, "0"));
const isHexUpTo = (value, most) => typeof value === "string" && /^([0-9a-f]{2})+$/.test(value) && value.length <= 2 * most;

function readStatement(value) {
  const row = fields(value, FIELDS);
  const { chain_id: chain, created, expires } = row;
  const key = publicKey(row.key);
  need(id(row.brain) && typeof row.account === "string" && row.account.startsWith("0x") && isHex(row.account.slice(2), 20), "not an account");
  need(isNumber(created, 1, MAX_TIME) && (expires === null || isNumber(expires, created + 1, MAX_TIME)), "not a time");
  need(isHex(row.key_signature, 64), "not a signature of a key");
  if (chain === null) need(isHex(row.public_key, 64) && isHex(row.account_signature, 64), "not a signature of an account");
  else need(isNumber(chain, 1, MAX_CHAIN) && row.public_key === null && isHexUpTo(row.account_signature, 2048), "not one of a contract");
  return { ...row, key };
}

function signedByAccount({ account, public_key: key, account_signature: signature }, struct) {
  const digest = keccak(utf8("\u0019\u0001"), DOMAIN, keccak(struct));
  if (hex(keccak(unhex(key)).subarray(12)) !== account.slice(2)) return false;
  try {
    return secp256k1.verify(unhex(signature), digest, unhex(`04${key}`), { lowS: true, prehash: false });
  } catch {
    return false; // no point of the curve, or numbers out of range
  }
}

function standing(row, brain, now) {
  if (row.brain !== brain) return "other_brain";
  const numbers = [row.chain_id, row.created, row.expires];
  const ids = [unhex(brain), unhex(row.key)];
  const account = unhex(row.account.slice(2));
  const message = Buffer.concat([utf8("brain v1 account"), ...ids, account, ...numbers.map((one) => bytesOf(one, 8))]);
  if (!verify(row.key, message, row.key_signature)) return "bad_key_signature";
  const words = [Buffer.concat([Buffer.alloc(12), account]), ...numbers.map((one) => bytesOf(one, 32))];
  const struct = Buffer.concat([keccak(utf8(TYPE)), ...ids, ...words]);
  if (row.chain_id === null && !signedByAccount(row, struct)) return "bad_account_signature";
  if (row.expires !== null && BigInt(row.expires) <= BigInt(now)) return "expired";
  return row.chain_id === null ? "valid" : "unchecked";
}

/** Return key, account, chain and standing of each statement of accounts.json, at a time in seconds. */
export function readAccounts(data, brain, now) {
  const { format, statements } = fields(parse(data, MAX_BYTES), ["format", "statements"]);
  need(format === "brain v1 accounts", "another format");
  const rows = list(statements, 64).map(readStatement);
  const subjects = new Set(rows.map((row) => [row.brain, row.key, row.account, row.chain_id].join()));
  need(rows.length > 0 && subjects.size === rows.length, "no statement, or two about the same");
  return rows.map((row) => [`ed25519:${row.key}`, row.account, row.chain_id, standing(row, brain, now)]);
}
