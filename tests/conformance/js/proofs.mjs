// Proofs: of a path, a section, a descent.

import { isHex, need, unhex } from "./bytes.mjs";
import { join } from "./digest.mjs";
import { base64, fields, id, list, parse } from "./json.mjs";
import { jumpDepth, readSnapshot } from "./lineage.mjs";
import { path, section, split } from "./paths.mjs";
import { innerHash, isCount, isSize, leafHash, sectionHash } from "./trees.mjs";

const MAX_BYTES = 4_194_304;
const HEAD = ["format", "kind", "brain", "snapshot", "bundle", "encoded"];
const FILE = ["path", "type", "blob", "size", "climb"];
const SECTION = ["section", "root", "files", "bytes", "steps"];
const TYPES = ["file", "executable", "link"];
const KINDS = { path: pathProof, section: sectionProof, descent: descentProof };

/** Return what the text of a proof shows. */
export const readProof = (data) => provenBy(parse(data, MAX_BYTES));

/** Return what a parsed proof shows. */
export function provenBy(proof) {
  need(proof?.format === "brain v1 proof", "another format");
  need(typeof proof.kind === "string" && Object.hasOwn(KINDS, proof.kind), "an unknown kind of proof");
  return KINDS[proof.kind](proof);
}

/** Return what the head of a proof shows; the digest that its ways lead to has to be that of the bundle. */
function head({ brain, snapshot, bundle, encoded }, led) {
  const found = readSnapshot(base64(encoded));
  need(found.id === id(snapshot) && found.bundle === id(bundle), "another snapshot or bundle");
  need(found.home === id(brain) && led.equals(unhex(bundle)), "another brain, or it leads elsewhere");
  return { brain, snapshot, bundle };
}

const counts = ({ files, bytes }) => need(isCount(files) && isSize(bytes), "not files and bytes") ?? [files, bytes];
/** Return the hash that steps lead to from one; a climb has openings among them. */
function walk(from, steps, isClimb = false) {
  return list(steps).reduce((at, value) => {
    if (isClimb && typeof value !== "string") {
      return innerHash(unhex(id(fields(value, ["last", "files", "bytes"]).last)), at, ...counts(value));
    }
    need(typeof value === "string" && "lr".includes(value[0]) && isHex(value.slice(1), 32), "not a step");
    const sibling = unhex(value.slice(1));
    return value[0] === "l" ? join(sibling, at) : join(at, sibling);
  }, from);
}

/** Return the digest of the bundle that a section's root leads to by `tree`. */
const toBundle = (name, node, tree) =>
  walk(sectionHash([name, node, ...counts(fields(tree, ["files", "bytes", "steps"]))]), tree.steps);

function fileHash(file) {
  need(TYPES.includes(file.type) && isSize(file.size), "not a type and size");
  return leafHash([split(path(file.path))[1], TYPES.indexOf(file.type), unhex(id(file.blob)), file.size]);
}

const hashOfSection = (value) => sectionHash([section(value.section), unhex(id(value.root)), ...counts(value)]);

function pathProof(proof) {
  const { path, type, blob, size, climb, tree } = fields(proof, [...HEAD, ...FILE, "tree"]);
  const node = walk(fileHash(proof), climb, true);
  return { ...head(proof, toBundle(split(path)[0], node, tree)), path, type: TYPES.indexOf(type), blob, size };
}

function sectionProof(proof) {
  const { section, root, files, bytes, steps } = fields(proof, [...HEAD, ...SECTION]);
  return { ...head(proof, walk(hashOfSection(proof), steps)), section, root, files, bytes };
}

function descentProof(proof) {
  fields(proof, ["format", "kind", "brain", "snapshot", "ancestor", "chain"]);
  const chain = list(proof.chain).map((encoded) => readSnapshot(base64(encoded)));
  need(chain.length >= 1, "an empty chain");
  const [first, last] = [chain[0], chain.at(-1)];
  need(first.id === id(proof.snapshot) && first.home === id(proof.brain), "another snapshot or brain");
  need(last.id === id(proof.ancestor), "another ancestor");
  chain.slice(1).forEach((to, place) => need(isLink(chain[place], to), "snapshots that are not linked"));
  return { brain: first.home, snapshot: first.id, ancestor: last.id, from: last.home };
}

function isLink(from, to) {
  if (from.isGenesis) return from.origin === to.id && from.bundle === to.bundle;
  if (from.home !== to.home || to.generation >= from.generation) return false;
  const isFirst = from.parents[0] === to.id;
  if (from.parents.includes(to.id) && (!isFirst || to.depth === from.depth - 1)) return true;
  return from.target === to.id && to.depth === jumpDepth(from.depth);
}
