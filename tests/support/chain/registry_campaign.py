"""A campaign of random calls against BrainRegistry, beside a model of it.

Run `python -m tests.support.chain.registry_campaign --seed 1 --budget 600`.

A sequence is 16 drawn steps on a registry with three brains: calls by four keys and two wallet
contracts, permits that are good, mangled, foreign, late or used before, and time that passes. The
answer to each call and its events, and after it every brain and every anchor, must be as the model
has them.
Sequence N of a seed is always the same. A difference is printed with the fewest steps that show
it, and the exit status is 1.
"""

import argparse
import itertools
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import eth_abi.abi
from eth_utils.crypto import keccak

from brain.chain import contracts
from tests.support import anvil_node
from tests.support.anvil_node import Anvil
from tests.support.chain import contract_compiler
from tests.support.chain.registry_contract import (
    RegistryContract,
    encode_error,
    encode_event,
    encode_words,
)
from tests.support.chain.registry_steps import (
    ACTOR_KEYS,
    BRAINS,
    LOGS,
    WALLET_KEYS,
    RegistryActors,
    RegistryCall,
    Step,
    draw_steps,
)

STEPS = 16
AT_ONCE = 25
"""Sequences that are sent to the node in one request."""
MANNER_DIRTY = 4
"""Of Wallet.sol: yes, with a wrong last byte."""


class RegistrySequences:
    """A registry on a node, two wallets, and a reader of everything; runs sequences there."""

    def __init__(self, node: Anvil, creation: bytes = contracts.creation_code()) -> None:
        self.node = node
        self.registry = RegistryContract(node, creation)
        wallet = _compile("Wallet")
        wallets = [node.deploy(wallet + encode_words([key.address])) for key in WALLET_KEYS]
        behave = keccak(text="behave(uint8)")[:4] + encode_words([MANNER_DIRTY])
        node.transact(node.accounts[0], wallets[1], behave)
        self.accounts = [key.address.lower() for key in ACTOR_KEYS] + wallets
        self.ids = [self.registry.call("idOf", self.accounts[n], salt)[0] for n, salt in BRAINS]
        self._reading = {
            "to": node.deploy(_compile("RegistryReader")),
            "data": "0x" + self._read_calldata().hex(),
        }
        self.outcome_counts: Counter[str] = Counter()
        """How often each function was called, by how it ended."""

    def find_difference(self, seed: int, numbers: range) -> str:
        """Return the fewest steps that tell the contract from the model, "" if none do."""
        for first in range(numbers.start, numbers.stop, AT_ONCE):
            drawn = [
                draw_sequence(seed, n) for n in range(first, min(first + AT_ONCE, numbers.stop))
            ]
            for number, difference in enumerate(self._run(drawn), first):
                if difference:
                    return f"seed {seed}, sequence {number}: {self._shorten(drawn[number - first])}"
        return ""

    def _shorten(self, steps: list[Step]) -> str:
        """Leave out one step after another while a difference stays; return it with the steps."""
        shorter = True
        while shorter:
            each_without = [steps[:n] + steps[n + 1 :] for n in range(len(steps))]
            tried = zip(each_without, self._run(each_without), strict=True)
            shorter = next((fewer for fewer, different in tried if different), [])
            steps = shorter or steps
        return "\n  ".join([self._run([steps])[0], *map(str, steps)])

    def _run(self, sequences: list[list[Step]]) -> list[str]:
        """Return what is different in each sequence, "" if nothing is."""
        wanted = [
            RegistryActors(self.node.chain, self.registry.address, self.accounts, self.ids).act(s)
            for s in sequences
        ]
        answers = self.node.batch_call(("eth_simulateV1", self._simulation(c)) for c in wanted)
        return [
            self._compare(calls, [got for block in answer for got in block["calls"]])
            for calls, answer in zip(wanted, answers, strict=True)
        ]

    def _simulation(self, calls: list[RegistryCall]) -> list[Any]:
        """Return the parameters: a block for each time, and a reading after what was done."""
        blocks = [
            {
                "blockOverrides": {"time": hex(now)},
                "calls": [request for call in same for request in self._requests(call)],
            }
            for now, same in itertools.groupby(calls, key=lambda call: call.time)
        ]
        return [{"blockStateCalls": blocks}, "latest"]

    def _requests(self, call: RegistryCall) -> list[dict[str, str]]:
        data = "0x" + call.calldata.hex()
        sent = {"from": call.sender, "to": self.registry.address, "data": data}
        return [sent] if call.refusal else [sent, self._reading]

    def _compare(self, calls: list[RegistryCall], answers: list[dict[str, Any]]) -> str:
        following = iter(answers)
        for call, answer in zip(calls, following, strict=False):
            ending = call.refusal[0] if call.refusal else "done"
            self.outcome_counts[f"{call.function} {ending}"] += 1
            if answer["status"] != ("0x0" if call.refusal else "0x1"):
                return f"{call.function}: not {ending}, but {answer['returnData'] or 'done'}"
            if call.refusal and answer["returnData"] != _hex(encode_error(*call.refusal)):
                return f"{call.function}: not {call.refusal}, but {answer['returnData']}"
            told = [(log["topics"], log["data"]) for log in answer["logs"]]
            if told != [([*map(_hex, t)], _hex(d)) for t, d in map(encode_event, call.events)]:
                return f"{call.function}: not {call.events}, but {told}"
            if call.refusal:
                continue
            read = bytes.fromhex(next(following)["returnData"][2:])
            if read != encode_words([32, len(call.words)]) + call.words:
                return f"{call.function}: {_describe_words(call.words, read[64:])}"
        return ""

    def _read_calldata(self) -> bytes:
        types = ["address", "bytes32[]", "address[]", "bytes32[]"]
        values = [self.registry.address, self.ids, self.accounts, LOGS]
        return keccak(text=f"read({','.join(types)})")[:4] + eth_abi.abi.encode(types, values)


def draw_sequence(seed: int, number: int) -> list[Step]:
    return draw_steps(random.Random(f"{seed} {number}"), STEPS)


def _describe_words(wanted: bytes, read: bytes) -> str:
    """Return where two readings begin to differ."""
    place = next(
        (n for n in range(0, len(wanted), 32) if wanted[n : n + 32] != read[n : n + 32]), 0
    )
    expected, found = wanted[place : place + 32].hex(), read[place : place + 32].hex()
    return f"word {place // 32} of what is read is not {expected}, but {found}"


def _compile(name: str) -> bytes:
    """Return the creation code of a contract of the tests."""
    source = Path(__file__).with_name(f"{name}.sol").read_text("utf-8")
    built = contract_compiler.compile_contract(f"{name}.sol", source)[name]
    return bytes.fromhex(built["evm"]["bytecode"]["object"])


def _hex(content: bytes) -> str:
    return "0x" + content.hex()


def make_parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m tests.support.chain.registry_campaign",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--first", type=int, default=0, metavar="N", help="begin with sequence N")
    made.add_argument("--sequences", type=int, default=sys.maxsize, metavar="COUNT")
    made.add_argument("--budget", type=float, default=60.0, metavar="SECONDS")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Go on until the sequences or the seconds are spent; print how often each call ended how."""
    options = make_parser().parse_args(arguments)
    began = time.monotonic()
    number, stop = options.first, options.first + options.sequences
    with anvil_node.run_anvil() as node:
        runner = RegistrySequences(node)
        while number < stop and time.monotonic() - began < options.budget:
            numbers = range(number, min(number + AT_ONCE, stop))
            if difference := runner.find_difference(options.seed, numbers):
                _print_line(difference)
                return 1
            number = numbers.stop
    for ending, times in sorted(runner.outcome_counts.items()):
        _print_line(f"{times:10,}  {ending}")
    _print_line(
        f"{number - options.first:,} sequences, {runner.outcome_counts.total():,} calls,"
        f" seed {options.seed}, {time.monotonic() - began:.0f} s, none wrong"
    )
    return 0


def _print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
