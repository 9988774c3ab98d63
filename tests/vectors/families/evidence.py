"""Evidence: of every kind, altered in all places, and made to fit in all but one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from brain import check_evidence
from brain.chain.evidence.evidence_model import KIND_ANCHOR
from brain.errors import BrainError
from brain.results import Evidence
from brain.util.utc_time import epoch_ms
from tests.support.chain import synthetic_evidence
from tests.support.chain.merkle_patricia import keccak
from tests.support.chain.synthetic_chain import (
    OWNER_ADDRESS,
    SENDER_ADDRESS,
    ChainState,
    other_slots,
)
from tests.support.json_mutations import mutate_json, replace_at
from tests.vectors.families.vector import Vector, refused, valid

Document = dict[str, Any]
BLOCK = synthetic_evidence.make_chain_state().block()["hash"]
STRANGER = keccak(b"stranger")


def vectors() -> Iterator[Vector]:
    """Yield the vectors of evidence."""
    good = synthetic_evidence.make_all_evidence()
    for name, document in good.items():
        given = {"text": json.dumps(document), **known(document)}
        yield valid(name, "evidence", given, **facts(given))
    bare = {**good["anchor"], "proof": None}  # those have vectors of their own
    for what, mutant in mutate_json(bare):
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
    return out | ({"log_key": str(synthetic_evidence.LOG_KEY)} if document["log"] else {})


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
        "log": [log.origin, log.place, log.size, log.root, epoch_ms(log.time)] if log else None,
        "chain": [
            *(chain.block, chain.block_hash, epoch_ms(chain.time), chain.contract),
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
    state = synthetic_evidence.make_chain_state()
    for name, world in {
        "another head": synthetic_evidence.make_chain_state(head=STRANGER),
        "another number": synthetic_evidence.make_chain_state(seq=3),
        "another owner": synthetic_evidence.make_chain_state(owner=SENDER_ADDRESS),
        "other code": state._replace(code=STRANGER),
        "never opened": ChainState(other_slots()),
        "another time": state._replace(time=state.time + 1),
    }.items():
        yield (
            name,
            replace_at(good["brain"], ("chain",), synthetic_evidence.make_chain_field(world)),
        )
    other = synthetic_evidence.make_chain_field(state, salt=keccak(b"salt 1"))
    yield "another brain of the owner", replace_at(good["brain"], ("chain",), other)
    yield "an anchor for a head", replace_at(good["brain"], ("chain",), good["anchor"]["chain"])
    yield "a head for an anchor", replace_at(good["anchor"], ("chain",), good["brain"]["chain"])
    empty = synthetic_evidence.make_chain_field(state, KIND_ANCHOR, OWNER_ADDRESS)
    yield "nothing anchored", replace_at(good["anchor"], ("chain",), empty)
    yield "no descent", replace_at(good["skipped"], ("descent",), None)
    yield "an older path", replace_at(good["brain"], ("proof",), good["skipped"]["proof"])
    stranger = synthetic_evidence.COMMIT_ENTRY._replace(brain=STRANGER)
    entries = [*synthetic_evidence.LOG_ENTRIES, stranger]
    yield (
        "an entry of another brain",
        replace_at(good["log"], ("log",), synthetic_evidence.make_log_field(stranger, entries)),
    )
    yield (
        "an older checkpoint",
        replace_at(
            good["log"],
            ("log", "checkpoint"),
            synthetic_evidence.signed_checkpoint(synthetic_evidence.LOG_ENTRIES[:5]),
        ),
    )
    yield (
        "a longer log than is anchored",
        replace_at(good["anchor"], ("log",), synthetic_evidence.make_log_field(entries=entries)),
    )
