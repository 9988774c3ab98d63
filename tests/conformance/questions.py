"""Questions for both implementations: golden vectors with something changed.

What hangs on a change is made anew where it can be (ids, order, the snapshot around a
bundle, signatures), so that it is judged by what it says and not by a digest that broke.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

from brain.digest import blob_id
from brain.objects import snapshot
from tests.conformance import alter, anew, rulings
from tests.conformance.javascript import Question
from tests.conformance.reading import Vector, paths_of, read
from tests.vectors.families.snapshots import first_parents

MOST = 12_000
"""Bytes of a vector that is worth changing; longer ones say no more and take longer."""

_OBJECTS = ("msgpack", "node", "bundle", "snapshot", "signatures")


class Questions:
    """Draws questions; the same seed and number give the same question."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._vectors: dict[tuple[str, bool], list[Vector]] = defaultdict(list)
        for vector in read():
            kind = vector.kind.removesuffix("-prefixes").removesuffix("-flips")
            if _size(vector) <= MOST:
                self._vectors[kind, vector.valid].append(vector)
        self._kinds: list[tuple[int, Callable[[Random], Question]]] = [
            *((4, _of_kind(self._object, kind)) for kind in _OBJECTS),
            (2, self._path),
            (1, self._small),
            (2, self._tree),
            (3, self._tree_nodes),
            (4, self._lineage),
            (3, self._lineage_file),
            (10, self._proof),
            (3, self._equivocation),
            (6, self._receipt),
            (2, self._signature),
            (4, self._trust),
            (3, lambda draw: ("rights", rulings.rights(draw))),
            (1, lambda draw: ("fold", rulings.folded(draw))),
            (3, lambda draw: ("brain", rulings.folder(draw))),
            (3, lambda draw: ("change", rulings.change(draw))),
        ]

    def number(self, number: int) -> Question:
        """Return the question of this number."""
        draw = Random(f"{self._seed}-{number}")
        weights = [weight for weight, _ in self._kinds]
        (chosen,) = draw.choices([make for _, make in self._kinds], weights)
        return chosen(draw)

    def _base(self, draw: Random, kind: str) -> Vector:
        """Return a vector, mostly one that is taken: it has more to lose."""
        refused = self._vectors[kind, False]
        return draw.choice(
            refused if refused and draw.random() < 0.2 else self._vectors[kind, True]
        )

    def _object(self, draw: Random, kind: str) -> Question:
        return kind, _hex(anew.changed_object(draw, kind, self._base(draw, kind).data))

    def _path(self, draw: Random) -> Question:
        data = self._base(draw, "path").data
        text = data.decode("utf-8", "replace")
        changed = (
            alter.data(draw, data) if draw.random() < 0.5 else alter.words(draw, text).encode()
        )
        return "path", _hex(changed)

    def _small(self, draw: Random) -> Question:
        data = draw.randbytes(draw.choice((0, 1, 63, 64, 65, 1_023, 1_024, 1_025, 5_000)))
        leaves = [draw.randbytes(32).hex() for _ in range(draw.randrange(40))]
        name = draw.choice(alter.TEXTS) + str(draw.random())
        return draw.choice(
            (
                ("blob", _hex(data)),
                ("domain", {**_hex(data), "context": "brain v1 tree leaf"}),
                ("merkle", {"leaves": leaves or ["00" * 32]}),
                ("cut", {"level": draw.randrange(256), "path": name}),
            )
        )

    def _tree(self, draw: Random) -> Question:
        vector = self._base(draw, "tree")
        paths = sorted(
            draw.sample(names := paths_of(vector.input), draw.randint(0, min(600, len(names))))
        )
        return "tree", {"paths": paths}

    def _tree_nodes(self, draw: Random) -> Question:
        if draw.random() < 0.5:
            return "tree-nodes", anew.nodes_of(draw, anew.entries(draw))
        given = self._base(draw, "tree-nodes").input
        nodes = [bytes.fromhex(one) for one in given["nodes"]]
        changed, root = anew.relinked_nodes(draw, nodes, bytes.fromhex(given["root"]))
        said = alter.document(draw, {name: given[name] for name in ("files", "bytes")})
        if draw.random() < 0.8 or not _is_count(said):
            said = {name: given[name] for name in ("files", "bytes")}
        return "tree-nodes", {**said, "root": root.hex(), "nodes": [one.hex() for one in changed]}

    def _lineage(self, draw: Random) -> Question:
        return "lineage", {"snapshots": [data.hex() for data in self._line(draw)]}

    def _line(self, draw: Random) -> list[bytes]:
        """Return encoded snapshots, genesis first: of a vector, or a line of any length."""
        if draw.random() < 0.5:
            given = self._base(draw, "lineage").input["snapshots"]
            line = [bytes.fromhex(one) for one in given]
        else:
            line = [snapshot.encode(one) for one in first_parents(draw.randint(1, 20))]
        return anew.relinked_line(draw, line)

    def _lineage_file(self, draw: Random) -> Question:
        line = self._line(draw)[::-1]
        genesis = snapshot.snapshot_id(line[-1])
        if draw.random() < 0.5:
            with suppress(*anew.UNFIT):
                line += anew.with_origin(draw, line, genesis)
        if draw.random() < 0.3:
            line = list(alter.shuffled(draw, line))
        data = b"brain lineage 1\n" + b"".join(len(one).to_bytes(4, "big") + one for one in line)
        return "lineage-file", _hex(alter.data(draw, data) if draw.random() < 0.1 else data)

    def _proof(self, draw: Random) -> Question:
        vector = self._base(draw, "proof")
        with suppress(ValueError, RecursionError):
            given = json.loads(vector.data)
            changed = alter.document(draw, given) if draw.random() < 0.9 else given
            if draw.random() < 0.6:
                with suppress(*anew.UNFIT):
                    changed = anew.healed(draw, changed)
            return "proof", _hex(alter.text(draw, changed, json.dumps))
        return "proof", _hex(alter.data(draw, vector.data))

    def _equivocation(self, draw: Random) -> Question:
        given = json.loads(self._base(draw, "equivocation").data)
        with suppress(*anew.UNFIT):
            for row in given["signed"]:
                if draw.random() < 0.6:
                    anew.signed_anew(draw, given, row)
        if draw.random() < 0.2:
            given = alter.document(draw, given)
        if draw.random() < 0.8:
            with suppress(*anew.UNFIT):
                given["signed"].sort(
                    key=lambda row: snapshot.snapshot_id(anew.decoded(row["encoded"]))
                )
        return "equivocation", _hex(alter.text(draw, given, json.dumps))

    def _receipt(self, draw: Random) -> Question:
        vector = self._base(draw, "receipt")
        with suppress(ValueError, RecursionError):
            changed = json.loads(vector.data)
            for _ in range(draw.choice((0, 1, 1, 2))):
                changed = alter.document(draw, changed)
            changed = _with_fields(draw, changed)
            return "receipt", _hex(alter.text(draw, changed, alter.compact))
        return "receipt", _hex(alter.data(draw, vector.data))

    def _trust(self, draw: Random) -> Question:
        vector = self._base(draw, "trust")
        with suppress(ValueError, RecursionError):
            return "trust", _hex(rulings.trust_text(draw, json.loads(vector.data)))
        return "trust", _hex(alter.data(draw, vector.data))

    def _signature(self, draw: Random) -> Question:
        given = dict(self._base(draw, "signature").input)
        if draw.random() < 0.4:
            given |= anew.mixed_key(draw, given)
        else:
            name = draw.choice(("brain", "snapshot", "key", "signature"))
            data = alter.data(draw, bytes.fromhex(given[name]))
            if name in ("key", "signature") or len(data) == 32:
                given[name] = data.hex()
        return "signature", given


def _of_kind(make: Callable[[Random, str], Question], kind: str) -> Callable[[Random], Question]:
    return lambda draw: make(draw, kind)


def _size(vector: Vector) -> int:
    has_bytes = {"hex", "text", "parts"} & set(vector.input)
    return len(vector.data) if has_bytes else len(json.dumps(vector.input))


def _hex(data: bytes) -> dict[str, str]:
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


def _with_fields(draw: Random, receipt: Any) -> Any:
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
