// Answers questions over a pipe. A line asks `[[kind, input], …]`, and is answered by a line of
// `{"ok": …}`, `{"refused": why}`, or `{"fault": …}` where this reader itself failed, for each.

import { createInterface } from "node:readline";
import { tried, utf8 } from "./bytes.mjs";
import { canonical, parse } from "./json.mjs";
import { KINDS } from "./vectors.mjs";

function answer([kind, input]) {
  try {
    return tried(() => ({ ok: KINDS[kind](input) }), ({ message }) => ({ refused: message }));
  } catch ({ stack }) {
    return { fault: String(stack) };
  }
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  process.stdout.write(`${canonical(parse(utf8(line)).map(answer))}\n`);
}
