"""What the functions of BrainRegistry cost, measured on a real node.

`python -m tests.chain.gas` prints the table and writes it into docs/chain.md, between marks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from brain.chain import contracts
from tests import anvil
from tests.chain import rfc6962
from tests.chain.registry import ENOUGH, Registry, encoded, wallet, word
from tests.chain.signing import Commit, message, signature

PAGE = Path(__file__).parents[2] / "docs" / "chain.md"
BEGIN, END = "<!-- gas: python -m tests.chain.gas -->\n", "<!-- end of gas -->\n"

FLOOR = 29_731
"""The least that a transaction can cost which takes three words of calldata, changes one slot
from one value to another and logs four topics with a word: 21,000 + 1,600 + 5,000 + 2,131."""

BATCHES = (1, 10, 100, 1000)
LATER = 2**40


class Row(NamedTuple):
    what: str
    gas: float


def measured(registry: Registry) -> Iterator[Row]:
    """Yield the cost of each function, called in the order of a brain's life."""
    node = registry.node
    signer, stranger, relayer = node.accounts[:3]
    key = wallet("gas")
    with node.impersonating(key.address) as owner:
        S = [word(f"snapshot {n}") for n in range(6)]
        yield Row("`open`", spent(registry, owner, "open", S[0], S[0]))
        brain: bytes = registry.ask("idOf", owner, S[0])[0]
        yield Row("`commit` by the owner", spent(registry, owner, "commit", brain, S[1], S[0]))
        yield Row("`setSigner`, the first", spent(registry, owner, "setSigner", brain, stranger))
        yield Row("`setSigner`, another", spent(registry, owner, "setSigner", brain, signer))
        yield Row("`commit` by the signer", spent(registry, signer, "commit", brain, S[2], S[1]))
        commit = Commit(brain, S[3], S[2], 4, LATER)
        values = commit.values(signature(key, message(registry, commit)))
        yield Row("`commitFor`, by a key", spent(registry, relayer, "commitFor", *values))
        yield Row("`offerOwnership`", spent(registry, owner, "offerOwnership", brain, stranger))
    yield Row("`acceptOwnership`", spent(registry, stranger, "acceptOwnership", brain))


def batches(registry: Registry) -> Iterator[Row]:
    """Yield what batches cost: the anchor, a brain's part of it, and a proof checked on chain."""
    sender = registry.node.accounts[4]
    yield Row("`anchor`, the first of an account", spent(registry, sender, "anchor", word(1), 1))
    reused = spent(registry, sender, "anchor", word(2), 1000)
    yield Row("`anchor`, any later one", reused)
    for brains in BATCHES:
        yield Row(f"– per brain, {brains:,} in a batch", reused / brains)
    leaves = [rfc6962.leaf_hash(word(n)) for n in range(1000)]
    proof = rfc6962.path(613, leaves)
    claim = rfc6962.root(leaves), 613, 1000, leaves[613], proof
    checked = spent(registry, sender, "verifyInclusion", *claim)
    yield Row("`verifyInclusion` among 1,000, as a transaction", checked)


def spent(registry: Registry, sender: str, name: str, *values: object) -> int:
    data = encoded(name, *values)
    receipt = registry.node.transact(sender, registry.address, data, gas=ENOUGH)
    assert receipt["status"] == "0x1"
    return int(receipt["gasUsed"], 16)


def rows() -> list[Row]:
    """Measure on a node of its own."""
    with anvil.running() as node:
        registry = Registry(node)
        again = node.transact(node.accounts[0], None, contracts.creation())
        deployment = Row("deployment, once a chain", int(again["gasUsed"], 16))
        return [*measured(registry), *batches(registry), deployment]


def table(rows: list[Row]) -> str:
    """Return the rows in Markdown."""
    lines = ["| what | gas |", "|---|---:|"]
    lines += [f"| {row.what} | {shown(row.gas)} |" for row in rows]
    return "".join(f"{line}\n" for line in lines)


def shown(gas: float) -> str:
    return f"{gas:,.0f}" if gas >= 1000 else f"{gas:,.1f}"


def replaced(page: str, table: str) -> str:
    """Return the page with the table in its place."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin and end, f"{PAGE} has no place for the table"
    return f"{before}{begin}{table}{end}{after}"


def main() -> None:
    made = table(rows())
    PAGE.write_text(replaced(PAGE.read_text("utf-8"), made), "utf-8")
    sys.stdout.write(made)


if __name__ == "__main__":
    main()
