"""Ask both implementations about mutants of the golden vectors.

    python -m tests.support.conformance.differential_campaign --seed 7 --count 100000

prints how many of each kind both took and both refused. For a disagreement it prints the
number of the mutant, which `--first N --count 1` asks again, and ends with status 1.
"""

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any, NamedTuple

from brain.digest import blob_id
from brain.errors import BrainError
from brain.objects import snapshot
from tests.conformance.test_vectors import take
from tests.support.conformance import (
    javascript_peer,
    random_mutations,
    random_rulings,
    relinked_objects,
)
from tests.support.conformance.golden_vectors import GoldenVector, read_vectors, vector_paths
from tests.support.conformance.javascript_peer import Answer, JavascriptPeer, Question
from tests.support.snapshot_graphs import SnapshotGraph

MAX_INPUT_SIZE = 12_000
"""Bytes of a vector that is worth changing; longer ones say no more and take longer."""

_OBJECT_KINDS = ("msgpack", "node", "bundle", "snapshot", "signatures")


class QuestionSource:
    """Draws questions; the same seed and number give the same question."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._vectors: dict[tuple[str, bool], list[GoldenVector]] = defaultdict(list)
        for vector in read_vectors():
            kind = vector.kind.removesuffix("-prefixes").removesuffix("-flips")
            if _input_size(vector) <= MAX_INPUT_SIZE:
                self._vectors[kind, vector.valid].append(vector)
        self._kinds: list[tuple[int, Callable[[Random], Question]]] = [
            *((4, _question_maker(self._object_question, kind)) for kind in _OBJECT_KINDS),
            (2, self._path_question),
            (1, self._small_question),
            (2, self._tree_question),
            (3, self._tree_nodes_question),
            (4, self._lineage_question),
            (10, self._proof_question),
            (6, self._receipt_question),
            (4, self._verdict_question),
            (2, self._signature_question),
            (4, self._trust_question),
            (3, lambda draw: ("rights", random_rulings.rights_question(draw))),
            (1, lambda draw: ("fold", random_rulings.folding_question(draw))),
            (3, lambda draw: ("brain", random_rulings.folder_question(draw))),
            (3, lambda draw: ("change", random_rulings.change_question(draw))),
        ]

    def question(self, number: int) -> Question:
        """Return the question of this number."""
        draw = Random(f"{self._seed}-{number}")
        weights = [weight for weight, _ in self._kinds]
        (chosen,) = draw.choices([make for _, make in self._kinds], weights)
        return chosen(draw)

    def _pick_vector(self, draw: Random, kind: str) -> GoldenVector:
        """Return a vector, mostly one that is taken: it has more to lose."""
        refused = self._vectors[kind, False]
        return draw.choice(
            refused if refused and draw.random() < 0.2 else self._vectors[kind, True]
        )

    def _object_question(self, draw: Random, kind: str) -> Question:
        return kind, _hex_input(
            relinked_objects.mutate_object(draw, kind, self._pick_vector(draw, kind).data)
        )

    def _path_question(self, draw: Random) -> Question:
        data = self._pick_vector(draw, "path").data
        text = data.decode("utf-8", "replace")
        changed = (
            random_mutations.mutate_bytes(draw, data)
            if draw.random() < 0.5
            else random_mutations.mutate_text(draw, text).encode()
        )
        return "path", _hex_input(changed)

    def _small_question(self, draw: Random) -> Question:
        data = draw.randbytes(draw.choice((0, 1, 63, 64, 65, 1_023, 1_024, 1_025, 5_000)))
        leaves = [draw.randbytes(32).hex() for _ in range(draw.randrange(40))]
        name = draw.choice(random_mutations.EDGE_TEXTS) + str(draw.random())
        return draw.choice(
            (
                ("blob", _hex_input(data)),
                ("domain", {**_hex_input(data), "context": "brain v1 tree leaf"}),
                ("merkle", {"leaves": leaves or ["00" * 32]}),
                ("cut", {"level": draw.randrange(256), "path": name}),
            )
        )

    def _tree_question(self, draw: Random) -> Question:
        vector = self._pick_vector(draw, "tree")
        paths = sorted(
            draw.sample(names := vector_paths(vector.input), draw.randint(0, min(600, len(names))))
        )
        return "tree", {"paths": paths}

    def _tree_nodes_question(self, draw: Random) -> Question:
        if draw.random() < 0.5:
            return "tree-nodes", relinked_objects.tree_nodes_question(
                draw, relinked_objects.random_entries(draw)
            )
        given = self._pick_vector(draw, "tree-nodes").input
        nodes = [bytes.fromhex(one) for one in given["nodes"]]
        changed, root = relinked_objects.mutate_and_relink_nodes(
            draw, nodes, bytes.fromhex(given["root"])
        )
        said = random_mutations.mutate_json_value(
            draw, {name: given[name] for name in ("files", "bytes")}
        )
        if draw.random() < 0.8 or not _is_count(said):
            said = {name: given[name] for name in ("files", "bytes")}
        return "tree-nodes", {**said, "root": root.hex(), "nodes": [one.hex() for one in changed]}

    def _lineage_question(self, draw: Random) -> Question:
        return "lineage", {"snapshots": [data.hex() for data in self._pick_lineage(draw)]}

    def _pick_lineage(self, draw: Random) -> list[bytes]:
        """Return encoded snapshots, genesis first: of a vector, or a line of any length."""
        if draw.random() < 0.5:
            given = self._pick_vector(draw, "lineage").input["snapshots"]
            line = [bytes.fromhex(one) for one in given]
        else:
            graph = SnapshotGraph()
            for number in range(draw.randint(1, 20) - 1):
                graph.add(number)
            line = [snapshot.encode_snapshot(graph.known[here]) for here in graph.ids]
        return relinked_objects.mutate_and_relink_lineage(draw, line)

    def _proof_question(self, draw: Random) -> Question:
        vector = self._pick_vector(draw, "proof")
        with suppress(ValueError, RecursionError):
            given = json.loads(vector.data)
            changed = (
                random_mutations.mutate_json_value(draw, given) if draw.random() < 0.9 else given
            )
            if draw.random() < 0.6:
                with suppress(*relinked_objects.BUILD_ERRORS):
                    changed = relinked_objects.relink_proof(draw, changed)
            return "proof", _hex_input(random_mutations.mutate_json_text(draw, changed, json.dumps))
        return "proof", _hex_input(random_mutations.mutate_bytes(draw, vector.data))

    def _receipt_question(self, draw: Random) -> Question:
        return self._document_question(draw, "receipt", _add_receipt_fields)

    def _verdict_question(self, draw: Random) -> Question:
        return self._document_question(draw, "verdict", _add_verdict_fields)

    def _document_question(
        self, draw: Random, kind: str, add_fields: Callable[[Random, Any], Any]
    ) -> Question:
        vector = self._pick_vector(draw, kind)
        with suppress(ValueError, RecursionError):
            changed = json.loads(vector.data)
            for _ in range(draw.choice((0, 1, 1, 2))):
                changed = random_mutations.mutate_json_value(draw, changed)
            changed = add_fields(draw, changed)
            return kind, _hex_input(
                random_mutations.mutate_json_text(draw, changed, random_mutations.canonical_json)
            )
        return kind, _hex_input(random_mutations.mutate_bytes(draw, vector.data))

    def _trust_question(self, draw: Random) -> Question:
        vector = self._pick_vector(draw, "trust")
        with suppress(ValueError, RecursionError):
            return "trust", _hex_input(
                random_rulings.mutate_trust_text(draw, json.loads(vector.data))
            )
        return "trust", _hex_input(random_mutations.mutate_bytes(draw, vector.data))

    def _signature_question(self, draw: Random) -> Question:
        given = dict(self._pick_vector(draw, "signature").input)
        if draw.random() < 0.4:
            given |= relinked_objects.key_with_torsion(draw, given)
        else:
            name = draw.choice(("brain", "snapshot", "key", "signature"))
            data = random_mutations.mutate_bytes(draw, bytes.fromhex(given[name]))
            if name in ("key", "signature") or len(data) == 32:
                given[name] = data.hex()
        return "signature", given


def _question_maker(
    make: Callable[[Random, str], Question], kind: str
) -> Callable[[Random], Question]:
    return lambda draw: make(draw, kind)


def _input_size(vector: GoldenVector) -> int:
    has_bytes = {"hex", "text", "parts"} & set(vector.input)
    return len(vector.data) if has_bytes else len(json.dumps(vector.input))


def _hex_input(data: bytes) -> dict[str, str]:
    return {"hex": data.hex()}


def _is_count(said: Any) -> bool:
    wanted = {"files", "bytes"}
    return (
        isinstance(said, dict)
        and said.keys() == wanted
        and all(type(n) is int for n in said.values())
    )


_STEP_FIELDS = {
    "at": 1, "took": 1, "name": "n", "version": "2", "from_version": "1", "error": "e",
    "tokens_in": 5, "tokens_out": 5, "omitted": 3, "writes": [{"path": "a/b"}, {"path": "c"}],
    "output": {"digest": blob_id(b"Go").hex(), "size": 2, "excerpt": "Go"},
}  # fmt: skip
_FIELDS = {
    "task": "t", "agent": "a", "model": "m", "started": 5, "ended": 4, "part": 2,
    "previous": "ab" * 32,
    "snapshot_before": "cd" * 32, "bundle_before": "cd" * 32, "bundle_after": "cd" * 32,
    "outcome": "failure", "reason": "r", "steps": [{"kind": "tool"}, {"kind": "memory_write"}],
    "source": {"format": "x", "digest": "ab" * 32, "records": 2, "unknown": 1},
}  # fmt: skip


def _add_receipt_fields(draw: Random, receipt: Any) -> Any:
    """Return a receipt with a field more, of it or of one of its steps."""
    if not isinstance(receipt, dict) or draw.random() < 0.4:
        return receipt
    steps = receipt.get("steps")
    if isinstance(steps, list) and steps and isinstance(steps[0], dict) and draw.random() < 0.5:
        name = draw.choice(sorted(_STEP_FIELDS))
        return {**receipt, "steps": [{**steps[0], name: _STEP_FIELDS[name]}, *steps[1:]]}
    for name in draw.sample(sorted(_FIELDS), draw.choice((1, 1, 2, 3))):
        receipt = {**receipt, name: _FIELDS[name]}
    return receipt


_CODE = {"path": "skill.py", "blob": "ab" * 32}
_VERDICT_FIELDS = {
    "decision": "admit", "decider": "person", "reason": "r", "code_check": "script", "seed": 9,
    "sandbox": "s", "findings": ["", "f"], "limits": {"b": 0, "A": 1}, "versions": {"p": "1"},
    "numbers": {"uses": 2**53 - 1}, "files": [_CODE, {"path": "tests/é", "blob": "cd" * 32}],
    "cases": [
        {"kind": "stub", "name": "s", "outcome": "fail", "detail": "d"},
        {"kind": "author", "name": "a", "outcome": "pass", "payload": "ab" * 32, "took": 3},
    ],
    "gate": "admit", "base": "ab" * 32, "text": "cd" * 32, "runner": "sandbox",
}  # fmt: skip
_GATE_FIELDS = {
    "decision": "reject", "gate": "undecided", "text": "cd" * 32, "runner": "é", "cases": [
        {
            "kind": "held_out", "name": "skills/a/cases/b.yaml", "outcome": "fail",
            "document": "ab" * 32, "before": "pfe", "after": "ffe", "outputs": ["cd" * 32] * 6,
        },
        {
            "kind": "guard", "name": "skills/c/cases/b.yaml", "outcome": "pass",
            "document": "ab" * 32, "before": "p", "after": "p", "outputs": ["cd" * 32] * 2,
        },
    ],
}  # fmt: skip


def _add_verdict_fields(draw: Random, verdict: Any) -> Any:
    """Return a verdict with some fields more."""
    if not isinstance(verdict, dict) or draw.random() < 0.4:
        return verdict
    if draw.random() < 0.3:
        return {**verdict, **_GATE_FIELDS}
    names = draw.sample(sorted(_VERDICT_FIELDS), draw.choice((1, 1, 2, 3)))
    return {**verdict, **{name: _VERDICT_FIELDS[name] for name in names}}


BATCH_SIZE = 200
MAX_SHOWN = 3
"""Disagreements of one kind that are printed."""


class Disagreement(NamedTuple):
    """A question that the two implementations answer in different ways."""

    number: int
    question: Question
    ours: Answer
    theirs: Answer


def answer_question(question: Question) -> Answer:
    """Return what this project answers."""
    kind, given = question
    try:
        if kind == "tree":
            given = {"paths": given["paths"]}
        vector = GoldenVector("", kind, True, given, {"anything": True}, "")
        return {"ok": json.loads(json.dumps(take(vector)))}
    except BrainError as error:
        return {"refused": error.code}
    except KeyError:
        if kind != "tree-nodes":
            raise
        return {"refused": "a node is missing from the dict that holds them"}


def run_campaign(
    peer: JavascriptPeer, seed: int, first: int, count: int
) -> Iterator[tuple[str, str, Disagreement | None]]:
    """Yield the kind of each mutant, what became of it, and the disagreement if there is one."""
    questions = QuestionSource(seed)
    for start in range(first, first + count, BATCH_SIZE):
        numbers = range(start, min(start + BATCH_SIZE, first + count))
        asked = [questions.question(number) for number in numbers]
        peer.send(asked)
        answers = [answer_question(question) for question in asked]
        rows = zip(numbers, asked, answers, peer.receive(), strict=True)
        for number, question, mine, theirs in rows:
            same = mine == theirs if "ok" in mine else "refused" in theirs
            outcome = "taken" if "ok" in mine else "refused"
            disagreement = None if same else Disagreement(number, question, mine, theirs)
            yield question[0], outcome, disagreement


def main() -> int:
    """Run a campaign and print what came of it."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.conformance.differential_campaign"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100_000)
    given = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    wrong: Counter[str] = Counter()
    began = time.monotonic()
    with javascript_peer.run_javascript_peer() as peer:
        for kind, outcome, found in run_campaign(peer, given.seed, given.first, given.count):
            counts[kind, outcome] += 1
            if found is not None:
                wrong[kind] += 1
                if wrong[kind] <= MAX_SHOWN:
                    _print_line(json.dumps(found._asdict())[:4_000])
    for kind in sorted({kind for kind, _ in counts}):
        _print_line(
            f"{kind:14} {counts[kind, 'taken']:8} taken {counts[kind, 'refused']:8} refused"
        )
    took = time.monotonic() - began
    _print_line(
        f"seed {given.seed}: {counts.total()} mutants, {wrong.total()} disagreements, {took:.0f} s"
    )
    return int(wrong.total() > 0)


def _print_line(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
