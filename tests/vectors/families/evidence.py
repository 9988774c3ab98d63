"""Evidence: of every kind, altered in all places, and made to fit in all but one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from brain import check_evidence
from brain.chain.evidence.evidence import ANCHOR
from brain.errors import BrainError
from brain.results import Evidence
from tests.chain import made
from tests.chain.tries import keccak
from tests.chain.world import OWNER, SENDER, World, many
from tests.mutants import mutants, put

from .vector import Vector, refused, valid

Document = dict[str, Any]
BLOCK = made.state().block()["hash"]
STRANGER = keccak(b"stranger")


def vectors() -> Iterator[Vector]:
    """Yield the vectors of evidence."""
    good = made.documents()
    for name, document in good.items():
        given = {"text": json.dumps(document), **known(document)}
        yield valid(name, "evidence", given, **facts(given))
    bare = {**good["anchor"], "proof": None}  # those have vectors of their own
    for what, mutant in mutants(bare):
        altered = _refused(f"altered: {what}", mutant, known(bare))
        if altered and altered["error"] != "bad_field":
            yield altered
    for name, document in _forged(good):
        found = _refused(name, document, known(document))
        assert found is not None, name
        yield found


def known(document: Document) -> dict[str, str]:
    """Return what a reader brings: the hash of the block and the key of the log."""
    out = {"block_hash": BLOCK} if document["chain"] else {}
    return out | ({"log_key": str(made.KEY)} if document["log"] else {})


def facts(given: dict[str, str]) -> Document:
    """Return what evidence shows, without the words."""
    found = _checked(given)
    log, chain = found.log, found.chain
    return {
        "level": found.trust_level,
        "brain": found.brain,
        "snapshot": found.snapshot,
        "committed": [found.committed, found.parent, found.seq],
        "path": [found.path, found.blob] if found.path else None,
        "log": [log.origin, log.place, log.size, log.root, log.time] if log else None,
        "chain": [
            *(chain.block, chain.block_hash, chain.time, chain.contract),
            *(chain.owner, chain.signer, chain.sender),
        ] if chain else None,
    }  # fmt: skip


def _checked(given: dict[str, str]) -> Evidence:
    known = {name: value for name, value in given.items() if name != "text"}
    return check_evidence(given["text"].encode(), **known)  # type: ignore[arg-type]


def _refused(name: str, document: Any, known: dict[str, str]) -> Vector | None:
    """Return a vector of what is refused, None if it is not: a part may be left out."""
    given = {"text": json.dumps(document), **known}
    try:
        _checked(given)
    except BrainError as error:
        return refused(name, "evidence", given, error.code)
    return None


def _forged(good: dict[str, Document]) -> Iterator[tuple[str, Document]]:
    """Yield evidence in which one thing is another, and all that leads to it is made anew."""
    state = made.state()
    for name, world in {
        "another head": made.state(head=STRANGER),
        "another number": made.state(seq=3),
        "another owner": made.state(owner=SENDER),
        "other code": state._replace(code=STRANGER),
        "never opened": World(many()),
        "another time": state._replace(time=state.time + 1),
    }.items():
        yield name, put(good["brain"], ("chain",), made.on_chain(world))
    other = made.on_chain(state, salt=keccak(b"salt 1"))
    yield "another brain of the owner", put(good["brain"], ("chain",), other)
    yield "an anchor for a head", put(good["brain"], ("chain",), good["anchor"]["chain"])
    yield "a head for an anchor", put(good["anchor"], ("chain",), good["brain"]["chain"])
    empty = made.on_chain(state, ANCHOR, OWNER)
    yield "nothing anchored", put(good["anchor"], ("chain",), empty)
    yield "no descent", put(good["skipped"], ("descent",), None)
    yield "an older path", put(good["brain"], ("proof",), good["skipped"]["proof"])
    stranger = made.COMMITTED._replace(brain=STRANGER)
    entries = [*made.ENTRIES, stranger]
    yield "an entry of another brain", put(good["log"], ("log",), made.log_part(stranger, entries))
    yield (
        "an older checkpoint",
        put(good["log"], ("log", "checkpoint"), made.checkpoint(made.ENTRIES[:5])),
    )
    yield (
        "a longer log than is anchored",
        put(good["anchor"], ("log",), made.log_part(entries=entries)),
    )
