// Answers questions over a pipe. Each line asks `{"kind": …, "input": …}`; the answer is a
// line of `{"ok": …}`, `{"refused": why}`, or `{"fault": …}` where this reader itself failed.

import { createInterface } from "node:readline";
import { Refused, utf8 } from "./bytes.mjs";
import { canonical, parse } from "./json.mjs";
import { KINDS } from "./vectors.mjs";

function answer(line) {
  const { kind, input } = parse(utf8(line));
  try {
    return { ok: KINDS[kind](input) };
  } catch (error) {
    return error instanceof Refused ? { refused: error.message } : { fault: String(error.stack) };
  }
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  process.stdout.write(`${canonical(answer(line))}\n`);
}
