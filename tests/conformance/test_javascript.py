"""A second implementation, in JavaScript and from the specification, agrees with the vectors."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from tests.conformance import javascript
from tests.conformance.javascript import Peer, Question
from tests.conformance.reading import Vector, paths_of, read, title

ELSEWHERE = {"entry", "inclusion", "consistency", "evidence"}
"""Kinds of vectors that are none of its: what logs and chains record."""

VECTORS = [vector for vector in read() if vector.kind not in ELSEWHERE]


@pytest.fixture(scope="module")
def peer() -> Generator[Peer]:
    with javascript.running() as started:
        yield started


def questions(vector: Vector) -> list[Question]:
    """Return what to ask for a vector: more than one where it stands for many objects."""
    kind, _, many = vector.kind.partition("-")
    if many == "prefixes":
        return [(kind, _hex(vector.data[:end])) for end in range(len(vector.data))]
    if many == "flips":
        return [(kind, _hex(vector.data)), *((kind, _hex(data)) for data in _flipped(vector.data))]
    if vector.kind == "roles":
        contexts = [name for name in vector.expected if name != "blob"]
        asked = [("domain", {**_hex(vector.data), "context": name}) for name in contexts]
        return [("blob", _hex(vector.data)), *asked]
    if vector.kind == "tree":
        return [("tree", {"paths": paths_of(vector.input)})]
    if {"hex", "text", "parts"} & set(vector.input):
        return [(vector.kind, {**vector.input, **_hex(vector.data)})]
    return [(vector.kind, vector.input)]


def _hex(data: bytes) -> dict[str, str]:
    return {"hex": data.hex()}


def _flipped(data: bytes) -> Generator[bytes]:
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)


@pytest.mark.parametrize("vector", VECTORS, ids=title)
def test_it_gives_what_each_vector_says_or_refuses_it(peer: Peer, vector: Vector) -> None:
    answers = peer.ask(questions(vector))
    assert not [answer["fault"] for answer in answers if "fault" in answer]
    if vector.kind.endswith("-flips"):
        same = [answer for answer in answers if answer == answers[0]]
        assert len(same) == 1
    elif vector.kind == "roles":
        assert [answer["ok"]["id"] for answer in answers] == _roles(vector.expected)
    elif not vector.valid:
        assert all("refused" in answer for answer in answers)
    else:
        (answer,) = answers
        assert "ok" in answer
        assert not vector.expected or answer["ok"] == vector.expected


def _roles(expected: dict[str, Any]) -> list[Any]:
    return [expected["blob"], *(id for name, id in expected.items() if name != "blob")]


def test_every_kind_of_vector_is_checked_or_named_as_left_out(peer: Peer) -> None:
    kinds = {vector.kind for vector in read()}
    assert kinds >= ELSEWHERE
    asked = {kind for vector in VECTORS for kind, _ in questions(vector)}
    (kinds_known,) = peer.ask([("kinds", None)])
    assert asked <= set(kinds_known["ok"])
