// Gates: which inputs are held out, and what the outcomes of cases say, in exact fractions.

import { need } from "./bytes.mjs";
import { blobId, digest } from "./digest.mjs";
import { readVerdict } from "./verdicts.mjs";

const THRESHOLD = 20n;

/** Return whether the input of a case is held out. */
export function readSplit(data) {
  return { held_out: digest("brain v1 case split", Buffer.from(canonical(JSON.parse(data))))[0] % 2 === 0 };
}

/** Return the scores of a case by its outcomes and what came out. */
export function readScores(data) {
  const { input, expect, outcomes, outputs } = JSON.parse(data);
  const isTask = Object.keys(input).sort().join() === "instruction,task" && canonical(expect) === '{"equals":{"score":1}}';
  const scores = [...outcomes].map((letter, at) => (letter === "p" ? 1000 : isTask && letter === "f" ? scoreOf(JSON.parse(outputs[at])) : 0));
  return { scores: scores.some((score) => score > 0 && score < 1000) ? scores : [] };
}

function scoreOf(output) {
  const x = !Array.isArray(output) && Object.keys(output).join() === "score" ? output.score : undefined;
  return typeof x === "number" && x >= 0 && x <= 1 ? Math.min(Math.floor(1000 * x + 0.5), 999) : 0;
}

/** Return what the outcomes of cases say. */
export function decideGate(data) {
  const { max_rounds, cases, asked = false, read_cases } = JSON.parse(data);
  need(max_rounds === 1 || max_rounds === 12 || (asked && max_rounds === 2), "the rounds of a runner");
  const rounds = cases.length ? cases[0][1].length : 0;
  need(cases.every(([, before, after]) => before.length === rounds && after.length === rounds), "whole rounds");
  need(rounds <= max_rounds, "too many rounds");
  need(max_rounds !== 2 || (rounds === 2 && cases.every(repeats)), "rounds that differ");
  const rows = cases.map(([kind, ...sides]) => ({ own: kind === "held_out", letters: sides[0] + sides[1], ...tally(...sides) }));
  const own = rows.filter((row) => row.own);
  const balances = own.map(({ balance }) => balance);
  const e = evidence(balances, 1000 * rounds);
  const [wins, losses] = ["won", "lost"].map((name) => own.reduce((sum, row) => sum + row[name], 0));
  const isWorse = ({ lost, gains }) =>
    lost > 0 && read_cases !== 0 && (max_rounds <= 2 || reaches(evidence(gains.map((gain) => -gain), 1000), THRESHOLD * BigInt(rows.length)));
  const worse = rows.flatMap((row, at) => (isWorse(row) ? [at] : []));
  const gate = word();
  const numbers = { cases: own.length, rounds, wins, losses, ties: own.length * rounds - wins - losses, max_rounds };
  const e_value_milli = Math.min(Number((1000n * e.over) / e.under), Number.MAX_SAFE_INTEGER);
  const more_cases = gate === "undecided" ? missing(own.length, rounds, wins, losses, e) : 0;
  if (!asked) return { gate, worse, numbers: { ...numbers, e_value_milli, more_cases } };
  const runs = highest(own.map(({ gains }) => gains), rounds);
  const e_of_runs_milli = Math.min(Number((1000n * runs.over) / runs.under), Number.MAX_SAFE_INTEGER);
  const found = { ...numbers, e_value_milli, more_cases, e_of_runs_milli };
  return { gate, worse, provisional: isProvisional(runs) ? "yes" : "no", numbers: read_cases === undefined ? found : { ...found, read_cases } };

  function isProvisional(runs) {
    if (gate === "reject" || read_cases === 0 || wins <= losses || isDoubtful() || balances.filter((balance) => balance > 0).length < 2) return false;
    return max_rounds <= 2 ? rounds === 2 : reaches(runs, THRESHOLD) && balances.reduce((sum, each) => sum + each, 0) > 0;
  }

  function isDoubtful() {
    return rows.some(({ balance }) => -2 * balance >= 1000 * rounds);
  }

  function word() {
    if (read_cases === 0) return "undecided";
    if (worse.length || reaches(evidence(balances.map((balance) => -balance), 1000 * rounds), THRESHOLD)) return "reject";
    if (own.length < 5 || !rounds || own.every(({ letters }) => /^e*$/.test(letters)) || (max_rounds === 12 && rounds < 5)) return "undecided";
    if (wins <= losses) return "reject";
    return reaches(e, THRESHOLD) && !isDoubtful() ? "admit" : "undecided";
  }
}

const OF_GATE = ["held_out", "guard"];
const alike = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** Return what the last verdict about a skill says, which goes on with the one before. */
export function readContinuation({ verdicts }) {
  for (const text of verdicts) readVerdict(Buffer.from(text));
  const [earlier, last] = verdicts.slice(-2).map((text) => JSON.parse(text));
  const [old, cases] = [earlier, last].map(({ cases = [] }) => cases.filter(({ kind }) => OF_GATE.includes(kind)));
  const added = cases.slice(old.length);
  const same = [[old, cases.slice(0, old.length)], ...["skill", "base", "text", "runner"].map((name) => [earlier[name], last[name]])];
  same.push(...["max_rounds", "attempt"].map((name) => [earlier.numbers?.[name], last.numbers?.[name]]));
  need(last.continues === blobId(Buffer.from(verdicts.at(-2))) && same.every(([one, other]) => alike(one, other)), "another change or verdict");
  need(last.decision === "reinstate" || alike(earlier.files, last.files), "another program");
  need(earlier.decision === "admit" && earlier.decider === "rule" && earlier.gate === "undecided" && earlier.changes === undefined, "nothing to go on with");
  need(earlier.provisional === "yes" || earlier.continues, "nothing provisional");
  need(added.length && added.every(({ kind, document }) => kind === "held_out" && old.every((one) => one.document !== document)), "no new cases");
  const { max_rounds, read_cases, cases: count, e_value_milli, e_of_runs_milli } = last.numbers;
  const rows = cases.map(({ kind, before, after, scores }) => [kind, before, after, ...(scores ? [scores] : [])]);
  const found = decideGate(Buffer.from(JSON.stringify({ max_rounds, read_cases, cases: rows, asked: true })));
  need([found.gate, found.provisional].every((word, at) => word === [last.gate, last.provisional][at]), "other words");
  need((last.decision === "admit") !== (last.gate === "reject"), "another decision");
  need(Object.entries(found.numbers).every(([name, value]) => last.numbers[name] === value), "other numbers");
  need(cases.every(({ outcome }, at) => (outcome === "fail") === found.worse.includes(at)), "other outcomes");
  return { gate: last.gate, cases: count, e_value_milli, e_of_runs_milli };
}

function tally(before, after, scores) {
  const given = scores ?? [...before].flatMap((letter, at) => [letter, after[at]].map((one) => (one === "p" ? 1000 : 0)));
  const gains = [...before].map((_, at) => given[2 * at + 1] - given[2 * at]);
  const balance = gains.reduce((sum, gain) => sum + gain, 0);
  return { gains, balance, won: gains.filter((gain) => gain > 0).length, lost: gains.filter((gain) => gain < 0).length };
}

const repeats = ([, before, after, scores = [0, 0, 0, 0]]) =>
  before[0] === before[1] && after[0] === after[1] && scores[0] === scores[2] && scores[1] === scores[3];

/** Return the highest product over the runs of the first rounds, five or more. */
function highest(gains, rounds) {
  const part = gains.length < 13 ? 2n : 1n;
  let [over, under, found] = [1n, 1n, { over: 1n, under: 1n }];
  for (let number = 0; number < rounds; number += 1) {
    for (const each of gains) {
      over *= 5000n + part * BigInt(each[number]);
      under *= 5000n;
    }
    if (number >= 4 && over * found.under > found.over * under) found = { over, under };
  }
  return found;
}

/** Return E as a fraction: the coefficients of prod(rounds + balance x) are summed, and integrated. */
function evidence(balances, rounds) {
  let powers = [1n];
  let scale = 1n;
  for (const balance of balances.filter((each) => each !== 0)) {
    scale *= BigInt(rounds);
    powers = [...powers, 0n].map((part, at) => BigInt(rounds) * part + (at ? BigInt(balance) * powers[at - 1] : 0n));
  }
  const common = powers.reduce((product, _, at) => (product * BigInt(at + 1)) / gcd(product, BigInt(at + 1)), 1n);
  const sum = powers.reduce((total, part, at) => total + part * (common + common / BigInt(at + 1)), 0n);
  return { over: sum, under: 2n * common * scale };
}

const gcd = (a, b) => (b ? gcd(b, a % b) : a);
const reaches = ({ over, under }, bar) => over >= bar * under;

function missing(count, rounds, wins, losses, e) {
  const least = Math.max(5 - count, 0);
  if (!count || !rounds || reaches(e, THRESHOLD)) return least;
  const total = rounds === 1 && !losses ? byWins(count, wins) : byGrowth(count, (1000n * e.over) / e.under);
  return total && total <= 256 ? Math.max(total - count, least) : 0;
}

function byWins(count, wins) {
  if (!wins) return 0;
  let enough = wins;
  while (!reaches(evidence(Array(enough).fill(1), 1), THRESHOLD)) enough += 1;
  return Math.ceil((enough * count) / wins);
}

function byGrowth(count, milli) {
  if (milli <= 1000n) return 0;
  for (let total = count + 1; total <= 256; total += 1)
    if (milli ** BigInt(total) >= THRESHOLD ** BigInt(count) * 1000n ** BigInt(total)) return total;
  return 0;
}

function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)}}`;
}
