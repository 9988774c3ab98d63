"""Scan for secrets, in what a snapshot records and in any revision on request.

A recorded secret stays in every copy of the brain, even after the file is removed. The
manifest lists the ids of accepted findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain

from .. import results
from ..errors import InvalidInput, NotFound, printable_text
from ..objects import lineage
from ..objects.paths import check_path
from ..objects.tree_node import LINK, TreeEntry
from ..results import Notice
from ..secrets import SecretFinding, find_secrets, mask_secrets
from ..util.progress import Progress, no_progress
from .session import Session

MAX_SCANNED_BYTES = 4 << 20
"""Most bytes that a snapshot scans, in about half a second; `scan` scans all."""
MASKED_MESSAGE = "the message held what looks like a secret, and was recorded without it"
_WINDOW_BYTES = 4 << 20
"""Bytes of a large file that are scanned together, up to the end of a line."""
_BLOBS_PER_BATCH = 256


def scan_edits(
    session: Session,
    snapshot_id: bytes,
    edits: Mapping[str, TreeEntry | None],
    contents: Mapping[bytes, bytes],
) -> list[Notice]:
    """Return the notices of a snapshot about secrets in its edits; `contents` are in memory.

    At most MAX_SCANNED_BYTES are read, small files first. A notice says how many files were not.
    """
    files = {path: entry for path, entry in edits.items() if entry and entry.kind != LINK}
    by_size = sorted(files, key=lambda path: files[path].size)
    sizes = accumulate(files[path].size for path in by_size)
    sought = {
        path: files[path].blob
        for path, size in zip(by_size, sizes, strict=True)
        if size <= MAX_SCANNED_BYTES
    }
    found = {blob: find_secrets(contents[blob]) for blob in sought.values() if blob in contents}
    if unread := [blob for blob in sought.values() if blob not in found]:
        found |= _scan_blobs(session, unread, no_progress)
    reported = [
        (path, here) for path in files if path in sought for here in found.get(sought[path], ())
    ]
    accepted = _load_accepted_ids(session, snapshot_id) if reported else ()
    notices = [
        Notice(
            "secret",
            path,
            f"line {here.line} looks like a secret ({here.rule}, {here.grade}, id {here.id}): "
            f"{here.excerpt}; if it is one: "
            f"`brain redact {printable_text(path)} --history --reason TEXT`",
        )
        for path, here in reported
        if here.id not in accepted
    ]
    if unscanned_count := len(files) - len(sought):
        count = "1 file was" if unscanned_count == 1 else f"{unscanned_count} files were"
        message = (
            f"{count} not scanned for secrets: a snapshot scans {MAX_SCANNED_BYTES >> 20} MiB, and"
            " `brain secrets` all"
        )
        notices.append(Notice("secrets_not_sought", "", message))
    return notices


def _load_accepted_ids(session: Session, snapshot_id: bytes) -> Sequence[str]:
    from .manifest import load_manifest  # most texts hold no secret

    try:
        return load_manifest(session, snapshot_id).accepted
    except InvalidInput:  # a manifest that cannot be read accepts nothing
        return ()


def scan_text(session: Session, content: bytes) -> list[SecretFinding]:
    """Return the findings in a text that may be recorded, without accepted ones."""
    from .manifest import load_manifest

    found = find_secrets(content)
    accepted = load_manifest(session).accepted if found else ()
    return [one for one in found if one.id not in accepted]


def mask_recorded_message(session: Session, message: str) -> str:
    """Return a message in which findings are masked, unless all of them are accepted."""
    data = message.encode("utf-8", "surrogatepass")
    found = find_secrets(data)
    accepted = _load_accepted_ids(session, session.head()) if found else ()
    if all(one.id in accepted for one in found):
        return message
    return mask_secrets(data)[0].decode("utf-8", "surrogatepass")


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
    from .manifest import load_manifest

    head = session.resolve(rev)
    wanted = [check_path(path.rstrip("/")) for path in paths]
    places: dict[bytes, list[tuple[str, bytes]]] = {}
    files = 0
    for entry, where in _iter_files(session, head, history):
        is_wanted = any(entry.path == name or entry.path.startswith(f"{name}/") for name in wanted)
        if entry.kind != LINK and (is_wanted or not wanted):
            files += 1
            places.setdefault(entry.blob, []).append((entry.path, where))
    if wanted and not files:
        raise NotFound(
            f"{wanted[0]} is not in this snapshot",
            code="no_path",
            hint="give a path relative to the brain; `brain show` lists what is there",
        )
    accepted = frozenset(load_manifest(session, head).accepted)
    rows = [
        _recorded_secret(path, found, where)
        for blob, findings in _scan_blobs(session, list(places), progress or no_progress)
        for found in findings
        for path, where in places[blob]
    ]
    if history and not wanted:
        rows += (
            _recorded_secret("", found, here)
            for here, snapshot in lineage.walk_ancestors(session.load_snapshot, head)
            for found in find_secrets(snapshot.message.encode("utf-8", "surrogatepass"))
        )
    reported = sorted(row for row in rows if row.id not in accepted)
    return results.SecretScan(not reported, head.hex(), files, reported, len(rows) - len(reported))


def _recorded_secret(path: str, found: SecretFinding, snapshot: bytes) -> results.RecordedSecret:
    place = (path, found.line, found.column)
    return results.RecordedSecret(
        *place, found.rule, found.id, snapshot.hex(), found.grade, found.excerpt
    )


def _iter_files(session: Session, head: bytes, history: bool) -> Iterator[tuple[TreeEntry, bytes]]:
    """Yield the files of a snapshot, with `history` as each of its ancestors changed them."""
    if not history:
        for entry in session.state_of(head).walk():
            yield entry, head
        return
    for here, snapshot in lineage.walk_ancestors(session.load_snapshot, head):
        before = session.parent_state(snapshot)
        for _, _, changed in before.diff(session.load_state(snapshot.bundle)):
            if changed is not None:
                yield changed, here


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
        yield from ((blob, find_secrets(content)) for blob, content in small.items())
        for blob in large:
            yield blob, list(_scan_stream(session.reader.stream_blob(blob)))
        progress("scanning", min(start + _BLOBS_PER_BATCH, len(unique)), len(unique))


def _scan_stream(pieces: Iterable[bytes]) -> Iterator[SecretFinding]:
    held, lines = bytearray(), 0
    for piece in chain(pieces, [None]):
        held += piece or b""
        cut = len(held)
        if piece is not None:
            if cut < _WINDOW_BYTES:
                continue
            cut = held.rfind(b"\n") + 1 or cut
        for found in find_secrets(bytes(held[:cut])):
            yield found._replace(line=found.line + lines)
        lines += held.count(b"\n", 0, cut)
        del held[:cut]
