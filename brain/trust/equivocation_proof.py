"""A portable proof that one key signed two continuations of a snapshot.

    {"format": "brain v1 equivocation", "brain": ID, "parent": ID, "key": KEY,
     "signed": [{"encoded": BASE64, "signature": HEX}, {…}]}

`encoded` are the two snapshots, the one of the lower id first. The snapshots themselves
must show that neither descends from the other. Generations rise from parent to child, so
this is certain if the generations differ by at most one and neither is a parent of the
other. A merge that is much later than its sibling does not show it and has no such proof.

The proof shows that the key signed both snapshots; not which was first, nor that anybody
was deceived.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ..errors import InvalidInput, ProofError
from ..objects import snapshot as snapshots
from ..proofs import json_fields
from ..proofs.recompute_root import INVALID_PROOF_HINT, decode_proof_snapshot
from ..results import EquivocationResult
from . import ed25519
from .equivocation import EquivocationPair
from .signature_format import format_key, is_signature_text, parse_key, snapshot_message

EQUIVOCATION_FORMAT = "brain v1 equivocation"


class SignedSnapshot(NamedTuple):
    """An encoded snapshot and its signature."""

    encoded: bytes
    signature: bytes


class ProvenEquivocation(NamedTuple):
    """A verified proof: `key` signed both snapshots, which continue `parent` in `brain`."""

    brain: bytes
    parent: bytes
    key: bytes
    snapshots: tuple[bytes, bytes]


def render_equivocation_proof(
    found: EquivocationPair, first: SignedSnapshot, second: SignedSnapshot
) -> bytes:
    """Return the proof of an equivocation, a line of ASCII, from what was signed.

    Raises `InvalidInput` (`not_provable`) if it does not follow from the two snapshots.
    """
    both = sorted((first, second), key=lambda one: snapshots.snapshot_id(one.encoded))
    document = {
        "format": EQUIVOCATION_FORMAT,
        "brain": snapshots.decode_snapshot(first.encoded).brain.hex(),
        "parent": found.parent.hex(),
        "key": format_key(found.key),
        "signed": [
            {"encoded": json_fields.to_base64(one.encoded), "signature": one.signature.hex()}
            for one in both
        ],
    }
    text = json.dumps(document, separators=(",", ":")).encode() + b"\n"
    try:
        verify_equivocation_proof(text)
    except ProofError as error:
        raise InvalidInput(
            f"a proof of this equivocation is not possible: {error.message}",
            code="not_provable",
            hint="hand over a copy of the brain itself",
        ) from error
    return text


def verify_equivocation_proof(text: bytes) -> ProvenEquivocation:
    """Return what a proof shows.

    Raises `ProofError`: the codes of `json_fields` if malformed, `bad_snapshot`,
    `no_equivocation`, `bad_signature`.
    """
    with json_fields.name_document("the proof of equivocation"):
        format_name, brain_text, parent_text, key_name, rows = json_fields.read_record(
            json_fields.parse_untrusted_json(text), "format", "brain", "parent", "key", "signed"
        )
        if format_name != EQUIVOCATION_FORMAT:
            raise json_fields.bad_field_error(format_name, f'the format "{EQUIVOCATION_FORMAT}"')
        brain, parent = json_fields.read_digest(brain_text), json_fields.read_digest(parent_text)
        key = json_fields.read_parsed(key_name, parse_key, "a public key")
        both = [_read_signed_snapshot(row) for row in json_fields.read_array(rows)]
        ids = [snapshots.snapshot_id(one.encoded) for one in both]
        if len(ids) != 2 or ids[0] >= ids[1]:
            raise json_fields.bad_field_error(rows, "two snapshots, the lower id first")
    decoded_snapshots = [decode_proof_snapshot(one.encoded) for one in both]
    # 1. Both continue the same snapshot of the same brain.
    for snapshot in decoded_snapshots:
        if snapshot.brain != brain or snapshot.parents[:1] != (parent,):
            raise _no_equivocation_error("one of its snapshots does not continue the parent")
    # 2. Neither descends from the other.
    if ids[0] in decoded_snapshots[1].parents or ids[1] in decoded_snapshots[0].parents:
        raise _no_equivocation_error("one of its snapshots is a parent of the other")
    if abs(decoded_snapshots[0].generation - decoded_snapshots[1].generation) > 1:
        raise _no_equivocation_error(
            "its snapshots do not show whether one descends from the other"
        )
    # 3. The key signed both.
    for here, one, snapshot in zip(ids, both, decoded_snapshots, strict=True):
        if not ed25519.verify_signature(key, snapshot_message(here, snapshot), one.signature):
            raise ProofError(
                f"the proof does not hold: the signature of snapshot {here.hex()} is invalid",
                code="bad_signature",
                hint=INVALID_PROOF_HINT,
            )
    return ProvenEquivocation(brain, parent, key, (ids[0], ids[1]))


def _read_signed_snapshot(value: Any) -> SignedSnapshot:
    encoded, signature = json_fields.read_record(value, "encoded", "signature")
    if not is_signature_text(signature):
        raise json_fields.bad_field_error(signature, "a signature")
    return SignedSnapshot(json_fields.read_base64(encoded), bytes.fromhex(signature))


def _no_equivocation_error(what: str) -> ProofError:
    return ProofError(
        f"the proof does not hold: {what}", code="no_equivocation", hint=INVALID_PROOF_HINT
    )


def is_equivocation_proof(data: bytes) -> bool:
    """Tell whether a text claims to be a proof of equivocation."""
    if EQUIVOCATION_FORMAT.encode() not in data:  # avoids parsing other proofs twice
        return False
    try:
        document = json_fields.parse_untrusted_json(data)
    except ProofError:
        return False
    return type(document) is dict and document.get("format") == EQUIVOCATION_FORMAT


def check_equivocation(data: bytes, *, brain: str = "", snapshot: str = "") -> EquivocationResult:
    """Verify a proof of equivocation without access to the brain; return what it shows.

    `brain` and `snapshot` are full ids that the proof must be about; the snapshot may be
    either one or their parent. Raises `ProofError` (`not_this_brain`, `not_this_snapshot`,
    and as `verify_equivocation_proof`) or `InvalidInput` (`bad_id`).
    """
    expected_ids = json_fields.parse_expected_ids(brain, snapshot)
    proven = verify_equivocation_proof(data)
    proven_ids = {"brain": [proven.brain], "snapshot": [*proven.snapshots, proven.parent]}
    for name, id in expected_ids.items():
        if id not in proven_ids[name]:
            raise ProofError(
                f"the proof is not about the {name} {id.hex()}",
                code=f"not_this_{name}",
                hint=f"compare the id, or ask for a proof about that {name}",
            )
    return EquivocationResult(
        True,
        "equivocation",
        proven.brain.hex(),
        proven.parent.hex(),
        format_key(proven.key),
        [one.hex() for one in proven.snapshots],
    )
