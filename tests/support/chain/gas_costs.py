"""Gas costs of BrainRegistry, measured on a real node: `python -m tests.support.chain.gas_costs`.

`python -m tests.support.chain.gas_costs` prints the table and writes it between the marks of
docs/chain/contract.md.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from brain.chain import contracts
from tests.support import anvil_node
from tests.support.chain import rfc6962
from tests.support.chain.eip712_signatures import (
    SignedCommit,
    commit_message,
    permit_message,
    sign_message,
)
from tests.support.chain.registry_contract import (
    ENOUGH_GAS,
    RegistryContract,
    encode_call,
    wallet_key,
    word_of,
)

COSTS_PAGE = Path(__file__).parents[3] / "docs" / "chain" / "contract.md"
TABLE_BEGIN, TABLE_END = (
    "<!-- gas: python -m tests.support.chain.gas_costs -->\n",
    "<!-- end of gas -->\n",
)

MIN_GAS = 29_731
"""The least that a transaction can cost which takes three words of calldata, changes one slot
from one value to another and logs four topics with a word: 21,000 + 1,600 + 5,000 + 2,131."""

BATCH_SIZES = (1, 10, 100, 1000)
FAR_DEADLINE = 2**40


class GasRow(NamedTuple):
    what: str
    gas: float


def measure_functions(registry: RegistryContract) -> Iterator[GasRow]:
    """Yield the cost of each function, called in the order of a brain's life."""
    node = registry.node
    signer, stranger, relayer = node.accounts[:3]
    key = wallet_key("gas")
    with node.impersonate(key.address) as owner:
        S = [word_of(f"snapshot {n}") for n in range(6)]
        yield GasRow("`open`", gas_used(registry, owner, "open", S[0], S[0]))
        fields = (owner, S[1], S[1], FAR_DEADLINE)
        permit = sign_message(key, permit_message(registry, "Open", *fields))
        yield GasRow("`openFor`", gas_used(registry, relayer, "openFor", *fields, permit))
        brain: bytes = registry.call("idOf", owner, S[0])[0]
        yield GasRow(
            "`commit` by the owner", gas_used(registry, owner, "commit", brain, S[1], S[0])
        )
        yield GasRow(
            "`setSigner`, the first", gas_used(registry, owner, "setSigner", brain, stranger)
        )
        yield GasRow("`setSigner`, another", gas_used(registry, owner, "setSigner", brain, signer))
        yield GasRow(
            "`commit` by the signer", gas_used(registry, signer, "commit", brain, S[2], S[1])
        )
        commit = SignedCommit(brain, S[3], S[2], 4, 2, FAR_DEADLINE)
        values = commit.call_arguments(sign_message(key, commit_message(registry, commit)))
        yield GasRow("`commitFor`, by a key", gas_used(registry, relayer, "commitFor", *values))
        signer_fields = (brain, relayer, 2, FAR_DEADLINE)
        permit = sign_message(key, permit_message(registry, "SetSigner", *signer_fields))
        yield GasRow(
            "`setSignerFor`",
            gas_used(registry, relayer, "setSignerFor", brain, relayer, FAR_DEADLINE, permit),
        )
        yield GasRow("`supersede`", gas_used(registry, owner, "supersede", brain, S[4], S[3], 4))
        yield GasRow(
            "`offerOwnership`",
            gas_used(registry, owner, "offerOwnership", brain, stranger, FAR_DEADLINE),
        )
    yield GasRow("`acceptOwnership`", gas_used(registry, stranger, "acceptOwnership", brain))


def measure_batches(registry: RegistryContract) -> Iterator[GasRow]:
    """Yield what batches cost: the anchor, a brain's part of it, and a proof checked on chain."""
    sender = registry.node.accounts[4]
    yield GasRow(
        "`anchor`, the first of a log",
        gas_used(registry, sender, "anchor", word_of("log"), word_of(1)),
    )
    reused = gas_used(registry, sender, "anchor", word_of("log"), word_of(2))
    yield GasRow("`anchor`, any later one", reused)
    for brains in BATCH_SIZES:
        yield GasRow(f"– per brain, {brains:,} in a batch", reused / brains)
    leaves = [rfc6962.leaf_hash(word_of(n)) for n in range(1000)]
    proof = rfc6962.inclusion_path(613, leaves)
    claim = rfc6962.merkle_root(leaves), 613, 1000, leaves[613], proof
    checked = gas_used(registry, sender, "verifyInclusion", *claim)
    yield GasRow("`verifyInclusion` among 1,000, as a transaction", checked)


def gas_used(registry: RegistryContract, sender: str, name: str, *values: object) -> int:
    data = encode_call(name, *values)
    receipt = registry.node.transact(sender, registry.address, data, gas=ENOUGH_GAS)
    assert receipt["status"] == "0x1"
    return int(receipt["gasUsed"], 16)


def measure_on_new_node() -> list[GasRow]:
    """Measure on a node of its own."""
    with anvil_node.run_anvil() as node:
        registry = RegistryContract(node)
        again = node.transact(node.accounts[0], None, contracts.creation_code())
        deployment = GasRow("deployment, once a chain", int(again["gasUsed"], 16))
        return [*measure_functions(registry), *measure_batches(registry), deployment]


def format_table(rows: list[GasRow]) -> str:
    """Return the rows in Markdown."""
    lines = ["| call | gas |", "|---|---:|"]
    lines += [f"| {row.what} | {format_gas(row.gas)} |" for row in rows]
    return "".join(f"{line}\n" for line in lines)


def format_gas(gas: float) -> str:
    return f"{gas:,.0f}" if gas >= 1000 else f"{gas:,.1f}"


def replace_table(page: str, table: str) -> str:
    """Return the page with the table in its place."""
    before, begin, rest = page.partition(TABLE_BEGIN)
    _, end, after = rest.partition(TABLE_END)
    assert begin and end, f"{COSTS_PAGE} has no place for the table"
    return f"{before}{begin}{table}{end}{after}"


def main() -> None:
    made = format_table(measure_on_new_node())
    COSTS_PAGE.write_text(replace_table(COSTS_PAGE.read_text("utf-8"), made), "utf-8")
    sys.stdout.write(made)


if __name__ == "__main__":
    main()
