// Evidence that a snapshot was committed: to a log, to a contract, or to a log that is anchored in one.

import { readFileSync } from "node:fs";
import { hex, isNumber, need, unhex, utf8 } from "./bytes.mjs";
import { fields, id, list, parse } from "./json.mjs";
import { provenBy } from "./proofs.mjs";
import { MAX_NUMBER, readEntry, readInclusion, sha } from "./tlog.mjs";
import { keccak, lookUp, readRlp, rlpBytes, rlpList, rlpNumber } from "./tries.mjs";

const MAX_BYTES = 4_194_304;
const FIELDS = ["format", "brain", "snapshot", "claim", "proof", "descent", "committed", "log", "chain"];
const CHAIN = ["chain_id", "contract", "kind", "header", "account", "slots"];
const ARTIFACT = new URL("../../../brain/chain/contracts/BrainRegistry.json", import.meta.url);
const { hashes } = JSON.parse(readFileSync(ARTIFACT, "utf8"));
// The sizes of the fields of a header; null is a number, and undefined anything.
const HEADER = [32, 32, 20, 32, 32, 32, 256, null, null, null, null, null, undefined, 32, 8, null, 32, null, null, 32, 32];

const number = (value, least) => need(isNumber(value, least, MAX_NUMBER), "not a number") ?? value;
const word = (...parts) => Buffer.concat([Buffer.alloc(32), ...parts]).subarray(-32);
const unlessNull = (value, read) => (value === null ? null : read(value));
const isZero = (bytes) => bytes.every((byte) => byte === 0);
const toHex = (bytes) => `0x${hex(bytes)}`;

/** Return the bytes of hex after 0x: at least one, of one size or up to it. */
function bytes(value, most, size) {
  need(typeof value === "string" && /^0x([0-9a-f]{2})+$/.test(value), "not hex");
  const found = unhex(value.slice(2));
  return need(found.length <= most && found.length === (size ?? found.length), "hex of another length") ?? found;
}

const address = (value) => bytes(value, 20, 20);
const nodes = (value) => list(value, 64).map((node) => bytes(node, 1024));

/** Return what evidence shows to a reader who knows the hash of the block or the key of the log. */
export function readEvidence({ text, block_hash: known, log_key: key }) {
  const found = fields(parse(utf8(text), MAX_BYTES), FIELDS);
  need(found.format === "brain v1 evidence" && found.claim === "commitment", "another format");
  const [brain, snapshot] = [id(found.brain), id(found.snapshot)];
  const { snapshot: target, parent, seq } = fields(found.committed, ["snapshot", "parent", "seq"]);
  const after = unlessNull(parent, (value) => (isZero(unhex(id(value))) ? null : value));
  const committed = [id(target), after, number(seq, 1)];
  const path = unlessNull(found.proof, (proof) => shownPath(proof, brain, snapshot));
  need((found.descent === null) === (target === snapshot), "a descent that is missing, or not needed");
  if (found.descent !== null) checkDescent(found.descent, brain, target, snapshot);
  const has = { log: found.log !== null, chain: found.chain !== null };
  need((has.log || has.chain) && has.log === (parent !== null), "no ledger, or not its parent");
  need((has.chain || known === undefined) && (has.log || key === undefined), "nothing to compare");
  const log = unlessNull(found.log, (part) => readLog(part, found, key));
  const chain = unlessNull(found.chain, (part) => readChain(part, found, log, known));
  return { level: known === undefined ? "L0" : "L3", brain, snapshot, committed, path, log: log?.shown ?? null, chain };
}

function shownPath(proof, brain, snapshot) {
  const shown = provenBy(proof);
  need(proof.kind === "path" && shown.brain === brain && shown.snapshot === snapshot, "a path of another snapshot");
  return [shown.path, shown.blob];
}

function checkDescent(proof, brain, target, snapshot) {
  const shown = provenBy(proof);
  need(proof.kind === "descent" && shown.snapshot === target && shown.ancestor === snapshot, "another descent");
  need(shown.brain === brain && shown.from === brain, "a descent in another brain");
}

function readLog(log, { brain, committed }, known) {
  const { checkpoint, key, index, entry, path } = fields(log, ["checkpoint", "key", "index", "entry", "path"]);
  need(typeof checkpoint === "string" && [...checkpoint].length <= 65_536, "not a checkpoint");
  need(key === (known ?? key), "another key");
  list(path, 63);
  const encoded = bytes(typeof entry === "string" && `0x${entry}`, 122);
  const { origin, size, root, text } = readInclusion({ checkpoint, key, index: number(index, 0), entry: hex(encoded), path });
  const { time, ...logged } = readEntry(encoded);
  const isSame = ["seq", "snapshot", "parent"].every((name) => logged[name] === committed[name]);
  need(logged.brain === brain && isSame, "another entry");
  return { id: sha(utf8(key)), word: sha(utf8(text)), shown: [origin, index, size, root, time] };
}

function readChain(chain, { brain, committed }, log, known) {
  const isBrain = chain.kind === "brain";
  need(isBrain || chain.kind === "anchor", "an unknown kind");
  need(isBrain === (log === null), "the kind of another ledger");
  const by = isBrain ? "creator" : "sender";
  const { chain_id, contract, header, account, slots } = fields(chain, [...CHAIN, by]);
  const [place, from, encoded] = [number(chain_id, 1) && address(contract), address(chain[by]), bytes(header, 16_384)];
  const block = readHeader(encoded);
  const hash = toHex(keccak(encoded));
  need(hash === (known ?? hash), "another block");
  const stored = lookUp(block.root, place, nodes(account));
  need(stored !== null, "no account");
  const [nonce, balance, storage, code] = rlpList(readRlp(stored), 4);
  need(rlpNumber(nonce) && rlpNumber(balance) && toHex(rlpBytes(code, 32)) === hashes.runtime, "other code");
  const names = isBrain ? brainSlots(from, brain) : [keccak(log.id, keccak(word(from), word(Buffer.of(1))))];
  const words = readSlots(slots, names, rlpBytes(storage, 32));
  const end = [block.number, hash, block.time, contract];
  if (!isBrain) {
    need(words[0].equals(log.word) && !isZero(words[0]), "another checkpoint is anchored");
    return [...end, null, null, null, chain.sender];
  }
  const [[owner, seq, repairs], head, [signer, , rest]] = [parts(words[0]), hex(words[1]), parts(words[2])];
  need(!isZero(owner) && seq > 0n && rest === 0n, "not the words of a brain");
  need(head === committed.snapshot && seq === BigInt(committed.seq), "another head");
  return [...end, toHex(owner), isZero(signer) ? null : toHex(signer), Number(repairs), null];
}

const big = (raw) => BigInt(`0x${hex(raw)}`);
/** Return the address in a word, the number in 64 bits above it, and the number above that. */
const parts = (raw) => [raw.subarray(12), big(raw.subarray(4, 12)), big(raw.subarray(0, 4))];

function brainSlots(creator, brain) {
  const first = big(keccak(keccak(word(creator), unhex(brain)), word()));
  return [0n, 1n, 2n].map((place) => unhex(((first + place) % 2n ** 256n).toString(16).padStart(64, "0")));
}

function readSlots(slots, names, storage) {
  need(list(slots).length === names.length, "not as many slots");
  return names.map((name, place) => {
    const { slot, value, proof } = fields(slots[place], ["slot", "value", "proof"]);
    need(bytes(slot, 32, 32).equals(name), "another slot");
    const stored = lookUp(storage, name, nodes(proof));
    const found = stored === null ? word() : word(rlpNumber(readRlp(stored)));
    return need(bytes(value, 32, 32).equals(found), "another value") ?? found;
  });
}

function readHeader(encoded) {
  const items = readRlp(encoded);
  need(Array.isArray(items) && (items.length > 20 ? items.length <= 32 : [15, 16, 17, 20].includes(items.length)), "not a header");
  items.forEach((item, place) => (HEADER[place] === null ? rlpNumber(item) : rlpBytes(item, HEADER[place])));
  const [at, time] = [items[8], items[11]].map((item) => BigInt(`0x0${hex(rlpNumber(item, 8))}`));
  need(time <= 253402300799n, "a time past the year 9999");
  return { root: items[3], number: at, time: time * 1000n };
}
