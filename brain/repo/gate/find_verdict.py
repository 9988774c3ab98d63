"""Find the verdict of a gate by how people name it, and read the cases it names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import itemgetter

from ...digest import DIGEST_SIZE, NO_DIGEST, is_hex
from ...errors import BrainError, InvalidInput, NotFound
from ...gating.case_files import MAX_CASE_BYTES, Case, parse_case
from ...objects.operation import DECISION_KINDS, evidence_blob
from ...sandbox.sandbox_protocol import DEFAULT_LIMITS
from ...skills.slug import is_slug
from ...verdicts.verdict_types import Verdict, VerdictCase
from ..history.decisions import find_decisions, find_rejections
from ..open.session import Session
from ..read.case_paths import slug_of_case
from ..read.read_verdicts import read_verdict_state
from ..read.rejected_refs import REJECTED_REF_PREFIX
from ..read.revisions import resolve_revision

_MAX_OUTPUT_BYTES = DEFAULT_LIMITS.output_bytes
"""Size of an output that is judged; no sandbox gives more."""
_STATES = {
    "redacted": "was redacted",
    "missing": "is missing from the store",
    "foreign": "cannot be read: see `brain verify`",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundVerdict:
    """A verdict of a gate; `snapshot` is the one that it decides, after `parent`.

    Both are empty if no decision about the skill has this verdict.
    """

    blob: bytes
    verdict: Verdict
    snapshot: bytes = NO_DIGEST
    parent: bytes = NO_DIGEST


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCase:
    """What is stored of a case, and its outputs: None for each that cannot be read.

    `fault` says that the document is not what the verdict says, `missing` what cannot be read, each
    "" if all is well. `case` is None if the document cannot be read.
    """

    case: Case | None = None
    fault: str = ""
    missing: str = ""
    outputs: tuple[bytes | None, ...] = field(repr=False)


def find_gate_verdict(session: Session, target: str) -> FoundVerdict:
    """Return the verdict that `target` names.

    That is its blob id, an attempt as `SLUG/ID`, the slug of a skill for the last decision of a
    gate about it, or a revision. Raises `NotFound` (`no_verdict`), or as `resolve_revision`.
    """
    if is_hex(target) and len(target) == 2 * DIGEST_SIZE:
        blob = bytes.fromhex(target)
        state, verdict = read_verdict_state(session.reader, blob)
        if verdict is not None or state == "redacted":
            return _find_by_blob(session, blob)
    attempt = session.reader.read_ref(REJECTED_REF_PREFIX + target) if "/" in target else None
    if attempt is not None:
        return _find_by_snapshot(session, attempt)
    if is_slug(target) and (last := _find_last(session, target)) is not None:
        return last
    return _find_by_snapshot(session, _resolve(session, target))


def _resolve(session: Session, target: str) -> bytes:
    try:
        return resolve_revision(session, target)
    except InvalidInput as error:
        if error.code != "bad_revision" or not is_slug(target):
            raise
        raise _no_verdict_error(f"no gate has decided about {target} here") from error


def _find_by_blob(session: Session, blob: bytes) -> FoundVerdict:
    verdict = _require_verdict(session, blob, f"the verdict {blob.hex()[:12]}")
    decided = (here for _, here, named in _list_decisions(session, verdict.skill) if named == blob)
    here = next(decided, NO_DIGEST)
    return (
        _describe(session, blob, verdict, here)
        if here
        else FoundVerdict(blob=blob, verdict=verdict)
    )


def _find_by_snapshot(session: Session, here: bytes) -> FoundVerdict:
    operation = session.load_snapshot(here).operation
    if operation[0] not in DECISION_KINDS:
        raise _no_verdict_error(f"snapshot {here.hex()[:12]} decides about no skill")
    blob = evidence_blob(operation)
    verdict = _require_verdict(session, blob, f"the verdict of snapshot {here.hex()[:12]}")
    return _describe(session, blob, verdict, here)


def _describe(session: Session, blob: bytes, verdict: Verdict, here: bytes) -> FoundVerdict:
    parent = session.load_snapshot(here).parents[0]
    return FoundVerdict(blob=blob, verdict=verdict, snapshot=here, parent=parent)


def _find_last(session: Session, slug: str) -> FoundVerdict | None:
    """Return the last decision of a gate about a skill, None without one.

    Raises `NotFound` (`no_verdict`) if there are only verdicts that cannot be read.
    """
    unread: list[bytes] = []
    for _, here, blob in _list_decisions(session, slug):
        _, verdict = read_verdict_state(session.reader, blob)
        if verdict is None:
            unread.append(here)
        elif verdict.gate:
            return _describe(session, blob, verdict, here)
    return _find_by_snapshot(session, unread[0]) if unread else None


def _list_decisions(session: Session, slug: str) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield time, snapshot and verdict of the decisions about a skill, newest first."""
    found = [*find_decisions(session, slug), *find_rejections(session, slug)]
    rows = []
    for one in found:
        here = bytes.fromhex(one.snapshot)
        snapshot = session.load_snapshot(here)
        rows.append((snapshot.time, here, bytes.fromhex(one.blob)))
    yield from sorted(rows, key=itemgetter(0), reverse=True)


def _require_verdict(session: Session, blob: bytes, what: str) -> Verdict:
    state, verdict = read_verdict_state(session.reader, blob)
    if verdict is None:
        raise _no_verdict_error(f"{what} {_STATES[state]}")
    if not verdict.gate:
        raise _no_verdict_error(f"{what} is not one of a gate: no held-out case was tried")
    return verdict


def _no_verdict_error(message: str) -> NotFound:
    return NotFound(
        message,
        code="no_verdict",
        hint="`brain why SKILL` lists the decisions about a skill with their snapshots",
    )


def read_stored_case(session: Session, row: VerdictCase) -> StoredCase:
    """Return what the store has of a case that a verdict names."""
    outputs = tuple(_read_blob(session, blob, _MAX_OUTPUT_BYTES)[0] for blob in row.outputs)
    content, problem = _read_blob(session, row.document, MAX_CASE_BYTES)
    if content is None:
        return StoredCase(missing=f"its document {problem}", outputs=outputs)
    try:
        case = parse_case(slug_of_case(row.name), row.name, row.document, content)
    except BrainError as error:
        return StoredCase(fault=error.message, outputs=outputs)
    missing = ""
    if None in outputs:
        blob = row.outputs[outputs.index(None)]
        missing = f"an output {_read_blob(session, blob, _MAX_OUTPUT_BYTES)[1]}"
    fault = "" if case.is_held_out else "the hash of its input does not hold it out"
    return StoredCase(case=case, fault=fault, missing=missing, outputs=outputs)


def _read_blob(session: Session, blob: bytes, max_bytes: int) -> tuple[bytes | None, str]:
    """Return a content and "", or None and why there is none."""
    reader = session.reader
    if reader.find_redactions([blob]):
        return None, _STATES["redacted"]
    if reader.find_missing([blob]):
        return None, _STATES["missing"]
    if reader.blob_size(blob) > max_bytes:
        return None, f"has more than {max_bytes} bytes"
    return reader.read_blob(blob), ""
