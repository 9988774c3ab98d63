"""Mutants of real evidence, all of which must be refused.

Run `python -m tests.support.chain.evidence_mutations`.

    python -m tests.support.chain.evidence_mutations --count 20000 --seed 7

A mutant may be taken only if it shows what the evidence shows that it was made of, with
or without the file: compared is all that is told, but for
`chain_id`, which evidence says of itself and cannot show. The reader brings the hash of the
block and the key of the log, for without them anybody can make evidence of anything. Who has
the hash of the block does not need the key of a log that is anchored there: such evidence is
tried without it, too.
"""

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from brain import check_evidence
from brain.chain.evidence import state_proof
from brain.errors import BrainError
from brain.results import Evidence
from tests.support import anvil_node
from tests.support.chain import captured_evidence, evidence_forgeries
from tests.support.chain.captured_evidence import EvidenceCase
from tests.support.chain.registry_contract import RegistryContract
from tests.support.json_mutations import JsonPath, replace_at

_HEX_DIGITS = "0123456789abcdef"


def check_or_none(data: bytes, known: Mapping[str, Any]) -> Evidence | None:
    """Return what is shown, without what is only said; None if it is refused."""
    try:
        result = check_evidence(data, **known)
    except BrainError:
        return None
    chain = result.chain and result.chain._replace(chain_id=0)
    return result._replace(claim="", missing=[], chain=chain)


def allowed_results(given: EvidenceCase) -> list[Evidence | None]:
    """Return what a mutant may show: the same, with or without the file."""
    documents = [{**given.document, **less} for less in ({}, {"proof": None})]
    return [check_or_none(json.dumps(one).encode(), given.known) for one in documents]


def walk_json(value: Any, way: JsonPath = ()) -> Iterator[tuple[JsonPath, Any]]:
    """Yield every value in a document and where it stands."""
    yield way, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from walk_json(item, (*way, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from walk_json(item, (*way, place))


class EvidenceMutator:
    """Makes mutants of some evidence, by chance."""

    def __init__(self, cases: Sequence[EvidenceCase], seed: int) -> None:
        self._chance = random.Random(seed)
        self._others = [value for one in cases for _, value in walk_json(one.document)]
        self._log_seeds = {
            one.document["log"]["key"]: one.log_seed for one in cases if one.document["log"]
        }

    def mutant(self, document: Any) -> tuple[str, bytes]:
        """Return how it was made, and a mutant that differs as bytes."""
        how = self._chance.choice(_MUTATIONS)
        return how.__name__, how(self, document)

    def flip_bit(self, document: Any) -> bytes:
        data = bytearray(json.dumps(document).encode())
        for _ in range(self._chance.choice((1, 1, 1, 2, 5))):
            data[self._chance.randrange(len(data))] ^= 1 << self._chance.randrange(8)
        return bytes(data)

    def cut_bytes(self, document: Any) -> bytes:
        data = json.dumps(document).encode()
        start = self._chance.randrange(len(data))
        size = self._chance.choice((1, 2, 64, 66, 200, len(data)))
        return data[:start] + data[start + size :]

    def splice_bytes(self, document: Any) -> bytes:
        data = json.dumps(document).encode()
        start, to = (self._chance.randrange(len(data)) for _ in range(2))
        return data[:to] + data[start : start + self._chance.choice((1, 64, 200))] + data[to:]

    def change_digit(self, document: Any) -> bytes:
        """Change one hex digit."""
        way, text = self._pick_place(document, lambda value: type(value) is str and len(value) > 3)
        place = self._chance.randrange(2, len(text))
        new = self._chance.choice(_HEX_DIGITS.replace(text[place], ""))
        return _json_text(replace_at(document, way, text[:place] + new + text[place + 1 :]))

    def change_number(self, document: Any) -> bytes:
        way, value = self._pick_place(document, lambda value: type(value) is int)
        by = self._chance.choice((-value, 1, -1, 2, 256, 1 << 32, 1 << 64))
        return _json_text(replace_at(document, way, value + by))

    def swap_values(self, document: Any) -> bytes:
        """Let two values change places."""
        way, value = self._pick_place(document, lambda value: True)
        others = [one for one in walk_json(document) if type(one[1]) is type(value)]
        other, second = self._chance.choice(others)
        if way[: len(other)] == other or other[: len(way)] == way:
            return self.change_digit(document)
        return _json_text(replace_at(replace_at(document, way, second), other, value))

    def transplant_value(self, document: Any) -> bytes:
        """Put something of other evidence in the place of something alike."""
        way, value = self._pick_place(document, lambda value: True)
        alike = [other for other in self._others if type(other) is type(value)]
        return _json_text(replace_at(document, way, self._chance.choice(alike)))

    def insert_anything(self, document: Any) -> bytes:
        """Put anything at all in the place of anything."""
        way, _ = self._pick_place(document, lambda value: True)
        odd = [None, True, 0, -1, 1.5, "", "0x", [], {}, self._chance.choice(self._others)]
        return _json_text(replace_at(document, way, self._chance.choice(odd)))

    def change_list(self, document: Any) -> bytes:
        """Drop, repeat, or move an item of a list."""
        way, value = self._pick_place(document, lambda value: type(value) is list and value)
        copy = list(value)
        item = copy.pop(self._chance.randrange(len(copy)))
        for _ in range(self._chance.randrange(3)):
            copy.insert(self._chance.randrange(len(copy) + 1), item)
        return _json_text(replace_at(document, way, copy))

    def change_fields(self, document: Any) -> bytes:
        """Drop or add a field."""
        way, value = self._pick_place(document, lambda value: type(value) is dict)
        copy = dict(value)
        if self._chance.random() < 0.7:
            copy.pop(self._chance.choice(list(copy)))
        else:
            copy[self._chance.choice(("note", "kind", "owner", ""))] = 0
        return _json_text(replace_at(document, way, copy))

    def change_encoded(self, document: Any) -> bytes:
        """Change a header or a node in what it encodes, and encode it anew."""
        way, text = self._pick_place(document, lambda value: type(value) is str and len(value) > 70)
        try:
            item = state_proof.decode_rlp(bytes.fromhex(text[2:]))
        except (BrainError, ValueError):
            return self.change_digit(document)
        places = [one for one in walk_json(item) if type(one[1]) is bytes]
        place, old = self._chance.choice(places)
        new = self._chance.choice(
            (b"", bytes(32), old + b"\1", old[1:], self._chance.randbytes(32))
        )
        return _json_text(
            replace_at(
                document, way, "0x" + state_proof.encode_rlp(replace_at(item, place, new)).hex()
            )
        )

    def forge_log(self, document: Any) -> bytes:
        """Change what the log signs, and sign it, or else change its chain."""
        if document["log"] is None:
            return self.forge_word(document)
        return _json_text(evidence_forgeries.forge_log(self._chance, document, self._log_seeds))

    def forge_word(self, document: Any) -> bytes:
        """Change what the chain stores, and hash it anew, or else change a digit."""
        if document["chain"] is None:
            return self.change_digit(document)
        return _json_text(evidence_forgeries.forge_word(self._chance, document))

    def _pick_place(self, document: Any, wanted: Callable[[Any], object]) -> tuple[JsonPath, Any]:
        return self._chance.choice(
            [one for one in walk_json(document) if one[0] and wanted(one[1])]
        )


_MUTATIONS = (
    EvidenceMutator.flip_bit, EvidenceMutator.cut_bytes, EvidenceMutator.splice_bytes,
    EvidenceMutator.change_digit, EvidenceMutator.change_number, EvidenceMutator.swap_values,
    EvidenceMutator.transplant_value, EvidenceMutator.insert_anything,
    EvidenceMutator.change_list, EvidenceMutator.change_fields, EvidenceMutator.change_encoded,
    EvidenceMutator.forge_log, EvidenceMutator.forge_log, EvidenceMutator.forge_word,
)  # fmt: skip


def _json_text(document: Any) -> bytes:
    return json.dumps(document).encode()


def run_campaign(given: Mapping[str, EvidenceCase], count: int, seed: int) -> Counter[str]:
    """Try `count` mutants; return how many were refused, and how many shown the same.

    Raises `AssertionError` with the mutant for one that shows anything else.
    """
    anchored = given["anchor"]
    block_alone = {name: anchored.known[name] for name in ("block_hash", "owner")}
    alone = {"anchor, unknown key": anchored._replace(known=block_alone)}
    given = {**given, **alone}
    maker = EvidenceMutator([*given.values()], seed)
    may = {name: allowed_results(one) for name, one in given.items()}
    names = sorted(given)
    tally: Counter[str] = Counter()
    for number in range(count):
        name = names[number % len(names)]
        how, data = maker.mutant(given[name].document)
        result = check_or_none(data, given[name].known)
        assert result is None or result in may[name], f"{name}, {how}: {data.decode()}"
        tally["refused" if result is None else "the same"] += 1
    return tally


def main() -> None:
    """Run the campaign on evidence of a node and a log that are made for it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    wanted = parser.parse_args()
    with anvil_node.run_anvil() as node, tempfile.TemporaryDirectory() as folder:
        given = captured_evidence.capture_all_kinds(RegistryContract(node), Path(folder))
    tally = run_campaign(given, wanted.count, wanted.seed)
    counts = ", ".join(f"{number} {what}" for what, number in tally.most_common())
    sys.stdout.write(f"seed {wanted.seed}: {wanted.count} mutants, {counts}, 0 other claims\n")


if __name__ == "__main__":
    main()
