"""A portable proof of equivocation, made from a lineage and checked from its text alone.

    {"format": "brain v1 equivocation", "brain": ID, "parent": ID, "key": KEY,
     "signed": [{"encoded": BASE64, "signature": HEX}, {…}]}

`encoded` are the two snapshots, the one of the lower id first. That neither descends from
the other has to show in what they say of themselves. A snapshot descends from another
through its parents, and generations rise on the way; so it is plain if the generations
differ by at most one and neither is a parent of the other. Where a merge lies much later
than its sibling it is not, and there is no such proof.

It shows that the key signed both; not which was first, nor that anybody was deceived.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from ..errors import FormatError, InvalidInput, ProofError
from ..objects import snapshot as snapshots
from ..objects.snapshot import Snapshot
from ..proofs import strict
from . import ed25519
from .equivocation import Equivocation
from .statement import key_text, message_of, parse_key

FORMAT = "brain v1 equivocation"

_SIGNATURE = re.compile(r"[0-9a-f]{128}", re.ASCII)


class Signed(NamedTuple):
    """An encoded snapshot and its signature."""

    encoded: bytes
    signature: bytes


class Accused(NamedTuple):
    """What a proof shows: `key` signed both snapshots, which continue `parent` in `brain`."""

    brain: bytes
    parent: bytes
    key: bytes
    snapshots: tuple[bytes, bytes]


def render(found: Equivocation, first: Signed, second: Signed) -> bytes:
    """Return the proof of an equivocation, a line of ASCII, from what was signed.

    Raises `InvalidInput` (`not_provable`) if the two snapshots alone do not show it.
    """
    both = sorted((first, second), key=lambda one: snapshots.snapshot_id(one.encoded))
    document = {
        "format": FORMAT,
        "brain": snapshots.decode(first.encoded).brain.hex(),
        "parent": found.parent.hex(),
        "key": key_text(found.key),
        "signed": [
            {"encoded": strict.as_text(one.encoded), "signature": one.signature.hex()}
            for one in both
        ],
    }
    text = json.dumps(document, separators=(",", ":")).encode() + b"\n"
    try:
        check(text)
    except ProofError as error:
        raise InvalidInput(
            f"there is no proof of this equivocation: {error.message}",
            code="not_provable",
            hint="hand over the lineage itself",
        ) from error
    return text


def check(text: bytes) -> Accused:
    """Return what a proof shows.

    Raises `ProofError`: those of `strict` for what is malformed, `bad_snapshot`,
    `no_equivocation`, `bad_signature`.
    """
    form, brain_text, parent_text, key_name, rows = strict.record(
        strict.parse(text), "format", "brain", "parent", "key", "signed"
    )
    if form != FORMAT:
        raise strict.bad(form, f"the format {FORMAT!r}")
    brain, parent = strict.digest(brain_text), strict.digest(parent_text)
    key = _key(key_name)
    both = [_signed(row) for row in strict.array(rows)]
    ids = [snapshots.snapshot_id(one.encoded) for one in both]
    if len(ids) != 2 or ids[0] >= ids[1]:
        raise strict.bad(rows, "two snapshots, the lower id first")
    known = [_decoded(one.encoded) for one in both]
    # 1. Both continue the same snapshot of the same brain.
    for snapshot in known:
        if snapshot.brain != brain or snapshot.parents[:1] != (parent,):
            raise _nothing("a snapshot does not continue the parent")
    # 2. Neither descends from the other.
    if ids[0] in known[1].parents or ids[1] in known[0].parents:
        raise _nothing("one snapshot is a parent of the other")
    if abs(known[0].generation - known[1].generation) > 1:
        raise _nothing("whether one snapshot descends from the other does not show")
    # 3. The key signed both.
    for here, one, snapshot in zip(ids, both, known, strict=True):
        if not ed25519.verify(key, message_of(here, snapshot), one.signature):
            raise ProofError("a signature does not fit", code="bad_signature")
    return Accused(brain, parent, key, (ids[0], ids[1]))


def _key(value: Any) -> bytes:
    try:
        return parse_key(value if type(value) is str else "")
    except InvalidInput as error:
        raise strict.bad(value, "a public key") from error


def _signed(value: Any) -> Signed:
    encoded, signature = strict.record(value, "encoded", "signature")
    if type(signature) is not str or not _SIGNATURE.fullmatch(signature):
        raise strict.bad(signature, "a signature")
    return Signed(strict.encoded(encoded), bytes.fromhex(signature))


def _decoded(data: bytes) -> Snapshot:
    try:
        return snapshots.decode(data)
    except FormatError as error:
        raise ProofError(f"not a snapshot: {error.message}", code="bad_snapshot") from error


def _nothing(what: str) -> ProofError:
    return ProofError(what, code="no_equivocation")
