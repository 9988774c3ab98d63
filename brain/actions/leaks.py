"""Secrets in what is recorded: noticed as it is recorded, and looked for when asked.

A secret that is recorded goes wherever the brain goes, also when the file is gone from
the folder. What is accepted stands in the manifest, by the ids of the findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from .. import manifest
from ..errors import InvalidInput, NotFound, printable
from ..objects import bundle as bundles
from ..objects import lineage, paths
from ..objects.entry import LINK, Entry
from ..results import Leak, Leaks, Notice
from ..secrets import Finding, find, find_each, masked
from ..session import Session
from .files import Progress, no_progress
from .revisions import resolve

LARGE = 256 << 10
"""Bytes of a file from which on a snapshot looks into it only after the small ones."""
MOST = 4 << 20
"""Bytes that a snapshot looks through at most: `leaks` looks through all."""

_WINDOW = 4 << 20
"""Bytes of a large file looked at together, to the end of a line."""
_TOGETHER = 256

Place = tuple[str, bytes]
"""A path, and the snapshot it was recorded in."""


def notices(
    session: Session, snapshot_id: bytes, edits: Mapping[str, Entry | None]
) -> list[Notice]:
    """Return what a snapshot, which made these edits, says of secrets in them.

    Time is bounded: at most `MOST` bytes are read, all of the small files or none, then
    large ones as far as there is room, and it is said how many were not.
    """
    room = MOST - sum(map(_weight, edits.values()))
    sought: dict[str, bytes] = {}
    left = 0
    for path, entry in edits.items():
        if entry is None or entry.kind == LINK:
            continue
        large = entry.size >= LARGE
        if room < large * entry.size:
            left += 1
            continue
        room -= large * entry.size
        sought[path] = entry.blob
    found = dict(_searched(session, list(sought.values()), no_progress))
    told = [(path, here) for path, blob in sought.items() for here in found.get(blob, ())]
    return [*_told(session, snapshot_id, told), *([_unsought(left)] if left else ())]


def in_skill(session: Session, snapshot_id: bytes, path: str, content: bytes) -> list[Notice]:
    """Return what the snapshot that wrote a skill says of secrets in its text."""
    return _told(session, snapshot_id, [(path, here) for here in find(content)])


def _told(
    session: Session, snapshot_id: bytes, found: Sequence[tuple[str, Finding]]
) -> list[Notice]:
    accepted = _accepted(session, snapshot_id) if found else ()
    return [
        Notice("secret", path, in_words(path, here))
        for path, here in found
        if here.id not in accepted
    ]


def _unsought(files: int) -> Notice:
    what = "1 file was" if files == 1 else f"{files} files were"
    message = f"{what} not looked through for secrets, being too much: run `brain secrets`"
    return Notice("secrets_not_sought", "", message)


def _accepted(session: Session, snapshot_id: bytes) -> Sequence[str]:
    try:
        return manifest.load(session, snapshot_id).accepted
    except InvalidInput:  # a manifest that cannot be read accepts nothing
        return ()


def _weight(entry: Entry | None) -> int:
    """Return the bytes of a small file, 0 for a large one or none."""
    if entry is None or entry.kind == LINK or entry.size >= LARGE:
        return 0
    return entry.size


def in_text(session: Session, content: bytes) -> list[Finding]:
    """Return what looks like a secret in a text that may be recorded, and is not accepted."""
    found = find(content)
    accepted = manifest.load(session).accepted if found else ()
    return [one for one in found if one.id not in accepted]


def kept_message(session: Session, message: str) -> str:
    """Return a message with what looks like a secret in it, and is not accepted, taken out."""
    data = message.encode("utf-8", "surrogatepass")
    found = find(data)
    accepted = _accepted(session, session.head()) if found else ()
    if all(one.id in accepted for one in found):
        return message
    return masked(data)[0].decode("utf-8", "surrogatepass")


def in_message(was_masked: bool) -> list[Notice]:
    """Return what is said of a message that was recorded without a secret."""
    if not was_masked:
        return []
    said = "the message held what looks like a secret, and was recorded without it"
    return [Notice("secret", "", said)]


def in_words(path: str, found: Finding) -> str:
    """Say where a secret seems to be, and how to be rid of it."""
    return (
        f"line {found.line} looks like a secret ({found.rule}, id {found.id}); "
        f"if it is one: `brain redact {printable(path)} --history --reason TEXT`"
    )


def leaks(
    session: Session,
    wanted: Sequence[str] = (),
    revision: str = "@",
    history: bool = False,
    progress: Progress = no_progress,
) -> Leaks:
    """Look for secrets in the files of a snapshot, or at and below the paths `wanted`.

    With `history` in all that was ever recorded up to it, and in the messages of snapshots,
    at the path "". Raises `NotFound` (`no_path`),
    `InvalidInput` (`bad_manifest`).
    """
    head = resolve(session, revision)
    wanted = [paths.check(path.rstrip("/")) for path in wanted]
    places: dict[bytes, list[Place]] = {}
    files = 0
    for path, entry, where in (_ever if history else _now)(session, head):
        if entry.kind != LINK and (not wanted or _is_below(path, wanted)):
            files += 1
            places.setdefault(entry.blob, []).append((path, where))
    if wanted and not files:
        raise NotFound(f"no file at {printable(wanted[0])}", code="no_path")
    accepted = frozenset(manifest.load(session, head).accepted)
    rows = [
        Leak(path, found.line, found.column, found.rule, found.id, where.hex())
        for blob, findings in _searched(session, list(places), progress)
        for found in findings
        for path, where in places[blob]
    ]
    if history and not wanted:
        rows += _in_messages(session, head)
    told = sorted(row for row in rows if row.id not in accepted)
    return Leaks(not told, head.hex(), files, told, len(rows) - len(told))


def _now(session: Session, head: bytes) -> Iterator[tuple[str, Entry, bytes]]:
    for entry in bundles.walk(session.nodes, session.bundle_of(head)):
        yield entry.path, entry, head


def _ever(session: Session, head: bytes) -> Iterator[tuple[str, Entry, bytes]]:
    """Yield each state of each file, with the snapshot that brought it."""
    for here, snapshot in lineage.history(session.load, head):
        before = session.bundle_of(snapshot.parents[0]) if snapshot.parents else bundles.EMPTY
        after = session.bundle(snapshot.bundle)
        for path, _, entry in bundles.compare(session.nodes, before, after):
            if entry is not None:
                yield path, entry, here


def _in_messages(session: Session, head: bytes) -> Iterator[Leak]:
    for here, snapshot in lineage.history(session.load, head):
        if snapshot.message:
            for found in find(snapshot.message.encode("utf-8", "surrogatepass")):
                yield Leak("", found.line, found.column, found.rule, found.id, here.hex())


def _is_below(path: str, wanted: Iterable[str]) -> bool:
    return any(path == name or path.startswith(name + "/") for name in wanted)


def _searched(
    session: Session, blobs: Sequence[bytes], progress: Progress
) -> Iterator[tuple[bytes, list[Finding]]]:
    """Yield what is found in each blob, once each; redacted ones have nothing any more."""
    unique = list(dict.fromkeys(blobs))
    gone = session.reader.redacted(unique)
    unique = [blob for blob in unique if blob not in gone]
    for start in range(0, len(unique), _TOGETHER):
        some = unique[start : start + _TOGETHER]
        large = set(some)
        small = dict(session.reader.read_blobs(some))
        large -= small.keys()
        yield from zip(small, find_each(list(small.values())), strict=True)
        for blob in large:
            yield blob, list(_streamed(session.reader.stream_blob(blob)))
        progress("looking", min(start + _TOGETHER, len(unique)), len(unique))


def _streamed(pieces: Iterable[bytes]) -> Iterator[Finding]:
    """Yield what is found in a large blob, some whole lines at a time."""
    held = bytearray()
    lines = 0
    for piece in pieces:
        held += piece
        if len(held) < _WINDOW:
            continue
        cut = held.rfind(b"\n") + 1 or len(held)
        yield from _moved(find(bytes(held[:cut])), lines)
        lines += held.count(b"\n", 0, cut)
        del held[:cut]
    yield from _moved(find(bytes(held)), lines)


def _moved(found: Iterable[Finding], lines: int) -> Iterator[Finding]:
    return (one._replace(line=one.line + lines) for one in found)
