"""Scan for secrets, in what a snapshot records and in any revision on request.

A recorded secret stays in every copy of the brain, even after the file is removed. The
manifest lists the ids of accepted findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from .. import results
from ..errors import InvalidInput, NotFound, printable_text
from ..objects import bundle as bundles
from ..objects import lineage
from ..objects.paths import check_path
from ..objects.tree_node import LINK, TreeEntry
from ..results import Notice
from ..secrets import SecretFinding, find_secrets, find_secrets_in_each, mask_secrets
from ..util.progress import Progress, no_progress
from . import manifest
from .revisions import resolve_revision
from .session import Session

MAX_SCANNED_BYTES = 4 << 20
"""Most bytes that a snapshot scans, in about half a second; `scan` scans all."""

_WINDOW_BYTES = 4 << 20
"""Bytes of a large file that are scanned together, up to the end of a line."""
_BLOBS_PER_BATCH = 256

SecretLocation = tuple[str, bytes]
"""A path, and the snapshot it was recorded in."""


def scan_edits(
    session: Session, snapshot_id: bytes, edits: Mapping[str, TreeEntry | None]
) -> list[Notice]:
    """Return the notices of a snapshot about secrets in its edits.

    At most MAX_SCANNED_BYTES are read, small files first. A notice says how many files were not.
    """
    files = [(path, entry) for path, entry in edits.items() if entry and entry.kind != LINK]
    room = MAX_SCANNED_BYTES
    scanned_blobs: dict[str, bytes] = {}
    for path, entry in sorted(files, key=lambda file: file[1].size):
        room -= entry.size
        if room < 0:
            break
        scanned_blobs[path] = entry.blob
    unscanned_count = len(files) - len(scanned_blobs)
    found = dict(_scan_blobs(session, list(scanned_blobs.values()), no_progress))
    reported = [
        (path, here)
        for path, _ in files
        if path in scanned_blobs
        for here in found.get(scanned_blobs[path], ())
    ]
    notices = _build_notices(session, snapshot_id, reported)
    if unscanned_count:
        count = "1 file was" if unscanned_count == 1 else f"{unscanned_count} files were"
        message = (
            f"{count} not scanned for secrets: a snapshot scans {MAX_SCANNED_BYTES >> 20} MiB, and"
            " `brain secrets` all"
        )
        notices.append(Notice("secrets_not_sought", "", message))
    return notices


def scan_skill(session: Session, snapshot_id: bytes, path: str, content: bytes) -> list[Notice]:
    """Return the notices of the snapshot that wrote a skill about secrets in its text."""
    return _build_notices(session, snapshot_id, [(path, here) for here in find_secrets(content)])


def _build_notices(
    session: Session, snapshot_id: bytes, found: Sequence[tuple[str, SecretFinding]]
) -> list[Notice]:
    accepted = _load_accepted_ids(session, snapshot_id) if found else ()
    return [
        Notice("secret", path, describe_finding(path, here))
        for path, here in found
        if here.id not in accepted
    ]


def _load_accepted_ids(session: Session, snapshot_id: bytes) -> Sequence[str]:
    try:
        return manifest.load_manifest(session, snapshot_id).accepted
    except InvalidInput:  # a manifest that cannot be read accepts nothing
        return ()


def scan_text(session: Session, content: bytes) -> list[SecretFinding]:
    """Return the findings in a text that may be recorded, without accepted ones."""
    found = find_secrets(content)
    accepted = manifest.load_manifest(session).accepted if found else ()
    return [one for one in found if one.id not in accepted]


def mask_recorded_message(session: Session, message: str) -> str:
    """Return a message in which findings are masked, unless all of them are accepted."""
    data = message.encode("utf-8", "surrogatepass")
    found = find_secrets(data)
    accepted = _load_accepted_ids(session, session.head()) if found else ()
    if all(one.id in accepted for one in found):
        return message
    return mask_secrets(data)[0].decode("utf-8", "surrogatepass")


def masked_message_notices(was_masked: bool) -> list[Notice]:
    """Return the notice about a message that was recorded without a secret."""
    if not was_masked:
        return []
    text = "the message held what looks like a secret, and was recorded without it"
    return [Notice("secret", "", text)]


def describe_finding(path: str, found: SecretFinding) -> str:
    """Return where a secret seems to be, and how to remove it."""
    return (
        f"line {found.line} looks like a secret ({found.rule}, {found.grade}, id {found.id}): "
        f"{found.excerpt}; if it is one: "
        f"`brain redact {printable_text(path)} --history --reason TEXT`"
    )


def scan(
    session: Session,
    paths: Sequence[str] = (),
    rev: str = "@",
    *,
    history: bool = False,
    progress: Progress | None = None,
) -> results.SecretScan:
    """Scan the files of a revision, by default all, with `history` also of its ancestors.

    With `history`, the messages of snapshots are scanned, too, and reported at the path "".
    Findings that `secrets.accepted` of the manifest names are only counted. Raises `NotFound`
    (`no_path`) or `InvalidInput` (`bad_manifest`).
    """
    head = resolve_revision(session, rev)
    wanted = [check_path(path.rstrip("/")) for path in paths]
    places: dict[bytes, list[SecretLocation]] = {}
    files = 0
    for path, entry, where in (_iter_historical_files if history else _iter_current_files)(
        session, head
    ):
        is_wanted = any(path == name or path.startswith(name + "/") for name in wanted)
        if entry.kind != LINK and (is_wanted or not wanted):
            files += 1
            places.setdefault(entry.blob, []).append((path, where))
    if wanted and not files:
        raise NotFound(
            f"{wanted[0]} is not in this snapshot",
            code="no_path",
            hint="give a path relative to the brain; `brain show` lists what is there",
        )
    accepted = frozenset(manifest.load_manifest(session, head).accepted)
    rows = [
        _recorded_secret(path, found, where)
        for blob, findings in _scan_blobs(session, list(places), progress or no_progress)
        for found in findings
        for path, where in places[blob]
    ]
    if history and not wanted:
        rows += _scan_messages(session, head)
    reported = sorted(row for row in rows if row.id not in accepted)
    return results.SecretScan(not reported, head.hex(), files, reported, len(rows) - len(reported))


def _recorded_secret(path: str, found: SecretFinding, snapshot: bytes) -> results.RecordedSecret:
    return results.RecordedSecret(
        path=path,
        line=found.line,
        column=found.column,
        rule=found.rule,
        id=found.id,
        snapshot=snapshot.hex(),
        grade=found.grade,
        excerpt=found.excerpt,
    )


def _iter_current_files(session: Session, head: bytes) -> Iterator[tuple[str, TreeEntry, bytes]]:
    for entry in bundles.walk_entries(session.nodes, session.bundle_of(head)):
        yield entry.path, entry, head


def _iter_historical_files(session: Session, head: bytes) -> Iterator[tuple[str, TreeEntry, bytes]]:
    for here, snapshot in lineage.walk_ancestors(session.load_snapshot, head):
        before = session.parent_bundle(snapshot)
        after = session.load_bundle(snapshot.bundle)
        for path, _, entry in bundles.diff_bundles(session.nodes, before, after):
            if entry is not None:
                yield path, entry, here


def _scan_messages(session: Session, head: bytes) -> Iterator[results.RecordedSecret]:
    for here, snapshot in lineage.walk_ancestors(session.load_snapshot, head):
        if snapshot.message:
            for found in find_secrets(snapshot.message.encode("utf-8", "surrogatepass")):
                yield _recorded_secret("", found, here)


def _scan_blobs(
    session: Session, blobs: Sequence[bytes], progress: Progress
) -> Iterator[tuple[bytes, list[SecretFinding]]]:
    """Yield the findings in each blob once, without redacted blobs."""
    unique = list(dict.fromkeys(blobs))
    gone = session.reader.find_redactions(unique)
    unique = [blob for blob in unique if blob not in gone]
    for start in range(0, len(unique), _BLOBS_PER_BATCH):
        some = unique[start : start + _BLOBS_PER_BATCH]
        large = set(some)
        small = dict(session.reader.read_small_blobs(some))
        large -= small.keys()
        yield from zip(small, find_secrets_in_each(list(small.values())), strict=True)
        for blob in large:
            yield blob, list(_scan_stream(session.reader.stream_blob(blob)))
        progress("scanning", min(start + _BLOBS_PER_BATCH, len(unique)), len(unique))


def _scan_stream(pieces: Iterable[bytes]) -> Iterator[SecretFinding]:
    held = bytearray()
    lines = 0
    for piece in pieces:
        held += piece
        if len(held) < _WINDOW_BYTES:
            continue
        cut = held.rfind(b"\n") + 1 or len(held)
        yield from _offset_lines(find_secrets(bytes(held[:cut])), lines)
        lines += held.count(b"\n", 0, cut)
        del held[:cut]
    yield from _offset_lines(find_secrets(bytes(held)), lines)


def _offset_lines(found: Iterable[SecretFinding], lines: int) -> Iterator[SecretFinding]:
    return (one._replace(line=one.line + lines) for one in found)
