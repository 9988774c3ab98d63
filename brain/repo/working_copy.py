"""The working copy: compare the folder with a bundle, store its files, and check files out."""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..digest import NO_DIGEST, blob_id, stream_blob_id
from ..errors import Conflict, InvalidInput, NotFound, printable_text
from ..folder import handles, read
from ..folder.handles import FolderHandles, open_root
from ..folder.read import CandidateFile
from ..objects.bundle import Edits
from ..objects.paths import folders_above
from ..objects.tree_node import LINK, TreeEntry
from ..results import Notice
from ..store.rows import LARGE_BLOB_BYTES
from ..store.writer import StoreTransaction
from ..util.progress import Progress, no_progress
from .derived_db import STAT_CACHE_PREFIX
from .session import BrainState, Session

if TYPE_CHECKING:
    from ..folder.ignore import IgnoreRules
    from ..folder.scan import Scan
    from ..folder.stat_cache import StatCache


NO_CONTENTS: Mapping[bytes, bytes] = {}
_BLOBS_PER_BATCH = 1024
"""Small blobs read from the store at once, a few megabytes."""
_MAX_NAMED_FILES = 5
_MAX_SKIPPED_NOTICES = 20
_LONE_SURROGATES = frozenset(map(chr, range(0xDC80, 0xDD00)))
"""Bytes of a name that is not UTF-8, as Python shows them."""


class FolderScan:
    """A scan of the folder, or of what is at and below the paths `only`.

    The candidates of `scan` may differ from `base_state`, other files do not.
    """

    def __init__(
        self, scan: Scan, base_state: BrainState, only: Sequence[str] | None = None
    ) -> None:
        self.scan = scan
        self.base_state = base_state
        self._session = base_state.session
        self._only = only
        self._read_fingerprints: dict[str, bytes] = {}

    @property
    def notices(self) -> list[Notice]:
        """What the scan noticed, and what was skipped until now."""
        return [*self.scan.notices, *skipped_notices(self.scan.skipped)]

    def read(
        self,
        tx: StoreTransaction | None = None,
        state: BrainState | None = None,
        progress: Progress = no_progress,
        among: Container[str] | None = None,
    ) -> Generator[TreeEntry, None, None]:
        """Yield the entries of the candidates, or of those `among` some paths; as `read_files`."""
        scan, known = self.scan, self._read_fingerprints
        wanted = [file for file in scan.changed if among is None or file.path in among]
        return read_files(self._session, wanted, tx, state, scan.skipped, known, progress)

    def diff(self, target: BrainState, entries: Iterable[TreeEntry] | None = None) -> Edits:
        """Return the edits from `target` to the folder; `entries` are by default read for it.

        What was skipped stays as it is in `target`. Cost: the candidates, and the differences of
        `target` from the cached state.
        """
        now: Edits = {}
        for place in self._only or ():
            now.update(dict.fromkeys(entry.path for entry in target.walk_below(place)))
        now.update((entry.path, entry) for entry in (self.read() if entries is None else entries))
        moved: Edits = {}
        if self._only is None:
            now.update(dict.fromkeys(self.scan.removed))
            differing = self.base_state.diff(target)
            moved = {path: cached for path, cached, _ in differing if path not in now}
        else:  # a folder above may have been a file
            for path in [path for path, entry in now.items() if entry]:
                now.update((folder, None) for folder in folders_above(path) if folder not in now)
        if target.sections:
            now = drop_unchanged_edits(target, now)
        else:
            for path in [path for path, entry in now.items() if entry is None]:
                del now[path]
        now.update(moved)  # not looked up again: these differ
        if self.scan.skipped:
            for path in [path for path in now if is_below(path, self.scan.skipped)]:
                del now[path]
        return now

    def save(self, state: BrainState, written: Mapping[str, bytes | None] | None = None) -> None:
        """Keep the stats for the next scan; the folder is now as in `state`.

        `written` are the fingerprints of what was written since, None for removed files.
        """
        kept = {
            entry.path
            for path in self.scan.skipped
            if path.isascii() or not _LONE_SURROGATES.intersection(path)
            for entry in state.walk_below(path)
        }
        file = stat_cache_file(self._session)
        self.scan.save_cache(
            self._session.root, file, state.id, self._read_fingerprints, kept, written
        )


def scan_folder(
    session: Session, progress: Progress = no_progress, only: Sequence[str] | None = None
) -> FolderScan:
    """Scan the folder; with `only`, what is at and below some paths, and without the stat cache.

    Raises `InvalidInput` for what a brain cannot hold, and (`no_folder`) for a proposal.
    """
    if not session.has_folder:
        raise InvalidInput(
            "a proposal has no folder: what is changed in it is recorded at once",
            code="no_folder",
            hint="there is nothing left to record",
        )
    from ..folder.ignore import IgnoreRules
    from ..folder.scan import scan_files

    session.drop_collected()  # a loaded bundle may have been garbage-collected since
    base, cache = BrainState(session), None
    if only is None:
        rules, cache = _load_rules_and_stat_cache(session)
    else:
        rules = IgnoreRules.load(session.root)
    if cache is not None:
        try:
            base = session.load_state(cache.bundle)
        except NotFound:  # the cache is of another store
            cache = None
    return FolderScan(scan_files(session.root, rules, cache, progress, only), base, only)


def skipped_notices(skipped: Mapping[str, InvalidInput]) -> list[Notice]:
    """Return a notice for each file or folder that a scan skipped, of very many the first ones."""
    top = list_skipped(skipped)
    notices = [
        Notice(skipped[path].code, printable_text(path), f"left out: {skipped[path].message}")
        for path in top[:_MAX_SKIPPED_NOTICES]
    ]
    if len(top) > len(notices):
        more = f"left out: {len(top) - len(notices)} more files and folders"
        notices.append(Notice(notices[0].code, "", more))
    return notices


def list_skipped(skipped: Mapping[str, InvalidInput]) -> list[str]:
    """Return what a scan skipped, without what lies below another."""
    return [path for path in sorted(skipped) if not is_below(path.rpartition("/")[0], skipped)]


def is_below(path: str, places: Container[str]) -> bool:
    """Tell whether `path`, or a folder above it, is one of `places`."""
    while path and path not in places:
        path = path.rpartition("/")[0]
    return bool(path)


def refuse_skipped(skipped: Mapping[str, InvalidInput], paths: Iterable[str] | None = None) -> None:
    """Refuse if something was skipped, of `paths` at or above them. Raises its `InvalidInput`."""
    if skipped:
        above = [path for path in sorted(skipped) if paths is None or path in paths]
        below = [path for path in paths or () if is_below(path, skipped)]
        if above or below:
            errors = [skipped[path] for path in above or sorted(skipped)]
            message = "; ".join(error.message for error in errors[:_MAX_SKIPPED_NOTICES])
            if len(errors) > _MAX_SKIPPED_NOTICES:
                message += f"; and {len(errors) - _MAX_SKIPPED_NOTICES} more"
            raise InvalidInput(message, code=errors[0].code, hint=errors[0].hint)


def stat_cache_file(session: Session) -> str | None:
    """Return the file of the stat cache of this very folder, None without a cache folder."""
    folder = session.cache.folder
    if folder is None:
        return None
    here = os.path.realpath(session.root)
    place = f"{os.stat(here).st_ino} {here}".encode("utf-8", "surrogateescape")
    return os.path.join(folder, f"{STAT_CACHE_PREFIX}{blob_id(place).hex()[:32]}")


def read_cached_bundle_id(session: Session) -> bytes:
    """Return the bundle that the next scan will begin from, empty if from none."""
    _, cache = _load_rules_and_stat_cache(session)
    return cache.bundle if cache else NO_DIGEST


def _load_rules_and_stat_cache(session: Session) -> tuple[IgnoreRules, StatCache | None]:
    from ..folder.ignore import IgnoreRules
    from ..folder.stat_cache import StatCache

    rules = IgnoreRules.load(session.root)
    return rules, StatCache.load(stat_cache_file(session), rules.fingerprint)


def delete_stat_cache(session: Session) -> None:
    """Delete the stat cache, for its space; the next scan reads every file."""
    file = stat_cache_file(session)
    if file is not None:
        with suppress(OSError):
            os.unlink(file)


def find_candidate(session: Session, path: str) -> CandidateFile | None:
    """Return the file at a full path, or None if there is none.

    Raises `InvalidInput` (`not_regular`) for what a brain cannot hold.
    """
    stat_result = handles.lstat_or_none(os.path.join(session.root, path))
    if stat_result is None:
        return None
    if not stat.S_ISREG(stat_result.st_mode) and not stat.S_ISLNK(stat_result.st_mode):
        raise InvalidInput(
            f"{path} is neither a file nor a link",
            code="not_regular",
            hint="move it out of the way",
        )
    return CandidateFile(
        path,
        handles.entry_kind(stat_result.st_mode),
        stat_result.st_size,
        handles.fingerprint_of(stat_result),
    )


def drop_unchanged_edits(state: BrainState, edits: Mapping[str, TreeEntry | None]) -> Edits:
    """Return the edits that change something in `state`."""
    return {path: entry for path, entry in edits.items() if entry != state.get(path)}


def name_files(paths: Sequence[str]) -> str:
    """Return the first of `paths` for an error, and the number of the others."""
    names = ", ".join(map(printable_text, paths[:_MAX_NAMED_FILES]))
    unnamed_count = len(paths) - _MAX_NAMED_FILES
    return f"{names} and {unnamed_count} more" if unnamed_count > 0 else names


def describe_unrecorded(changed_paths: Iterable[str]) -> str:
    """Return the error message about files with changes that would be lost."""
    return f"files have unrecorded changes: {name_files(sorted(changed_paths))}"


def refuse_unsafe_parents(session: Session, path: str) -> None:
    """Refuse a path that leads through a link, or a file. Raises `InvalidInput` (`unsafe_path`)."""
    if not session.has_folder:
        return
    with open_root(session.root) as root_fd, closing(FolderHandles(root_fd)) as folders:
        folders.find_missing_folder(path.rpartition("/")[0])


def read_if_unchanged(target: BrainState, path: str) -> bytes | None:
    """Return the content of the small file at `path` if it is as in `target`, else None.

    Raises as `find_candidate`, and what reading raises.
    """
    session = target.session
    if not session.has_folder:
        recorded = target.get(path)
        return session.reader.read_blob(recorded.blob, recorded.size) if recorded else None
    entry, file = target.get(path), find_candidate(session, path)
    if not entry or not file or (file.kind, file.size) != (entry.kind, entry.size):
        return None
    for _, content in read.read_candidates(session.root, [file]):
        if isinstance(content, bytes) and blob_id(content) == entry.blob:
            return content
    return None


def store_edits_at(tx: StoreTransaction, target: BrainState, wanted: Iterable[str]) -> Edits:
    """Return the edits from `target` to the folder at the paths `wanted`; store their content.

    There are none if the session has no folder.
    """
    session = target.session
    if not session.has_folder:
        return {}
    candidates = []
    edits: Edits = {}
    was = {path: target.get(path) for path in wanted}
    for path, recorded in was.items():
        try:
            candidate = find_candidate(session, path)
        except InvalidInput:
            if not _has_only_recorded_files(target, path):
                raise
            candidate = None
        if candidate is not None:
            candidates.append(candidate)
        elif recorded is not None:
            edits[path] = None
    read = zip(candidates, read_files(session, candidates), strict=True)
    changed = [candidate for candidate, entry in read if entry != was[candidate.path]]
    for entry in read_files(session, changed, tx, target):
        if entry != was[entry.path]:
            edits[entry.path] = entry
    return edits


def _has_only_recorded_files(target: BrainState, path: str) -> bool:
    """Tell whether `path` is a folder of which `target` has every file.

    Then a file may take its place once these are removed. Raises `Conflict`
    (`unrecorded_changes`) for anything else inside.
    """
    session = target.session
    if not stat.S_ISDIR(os.lstat(os.path.join(session.root, path)).st_mode):
        return False
    for folder, _, names in os.walk(os.path.join(session.root, path)):
        for name in names:
            inner = os.path.relpath(os.path.join(folder, name), session.root)
            if target.get(inner) is None:
                raise Conflict(
                    f"{inner} is not recorded and blocks a file",
                    code="unrecorded_changes",
                    hint="record it with `brain snapshot`, or move it away",
                )
    return True


def read_files(
    session: Session,
    candidates: list[CandidateFile],
    tx: StoreTransaction | None = None,
    state: BrainState | None = None,
    skipped: dict[str, InvalidInput] | None = None,
    fingerprints: dict[str, bytes] | None = None,
    progress: Progress = no_progress,
) -> Generator[TreeEntry, None, None]:
    """Yield the entries of files as they are read; with `tx`, put their content into the store.

    `state` is the one before: a large file may begin with its content there. `fingerprints` gets
    what each file looked like while it was read. `skipped` is as for `read.read_candidates`,
    which raises the same. Close the generator if it is not used up.
    """
    batch = BlobBatch(session)
    done = 0
    for candidate, content in read.read_candidates(session.root, candidates, skipped):
        path, done = candidate.path, done + 1
        if fingerprints is not None:
            fingerprints[path] = candidate.fingerprint
        if isinstance(content, read.LargeFile):
            was = state.get(path) if state else None
            if tx is None:
                blob = stream_blob_id(content.raw)
            else:
                blob = tx.put_blob_stream(content.raw, content.size, was.blob if was else None)
            content.verify_unchanged()
            yield TreeEntry(path, candidate.kind, blob, content.size)
            continue
        blob = blob_id(content) if tx is None else batch.add(path, content)
        yield TreeEntry(path, candidate.kind, blob, len(content))
        if tx is not None and batch.is_full():
            batch.store(tx)
            progress("reading", done, len(candidates))
    if tx is not None:
        batch.store(tx)


def write_files(
    session: Session,
    writes: Mapping[str, TreeEntry | None],
    progress: Progress = no_progress,
    contents: Mapping[bytes, bytes] = NO_CONTENTS,
    root: Path | None = None,
    fingerprints: dict[str, bytes] | None = None,
) -> None:
    """Write the entries to their paths in the folder, or in `root`; None removes the file.

    `contents` has blobs in memory; the others are read from the store. `fingerprints` gets those
    of what was written, as far as a scan may trust them.
    """
    from ..folder import write

    root = root or session.root
    for path, entry in writes.items():
        if entry is None:
            write.remove_working_file(root, path)
    entries = sorted(entry for entry in writes.values() if entry is not None)
    items = _stream_contents(session, entries, contents)
    write.write_working_files(root, items, progress, fingerprints)


def _stream_contents(
    session: Session, entries: list[TreeEntry], contents: Mapping[bytes, bytes]
) -> Iterator[tuple[str, int, bytes | Iterator[bytes]]]:
    """Yield path, kind and content in the order of paths.

    Small blobs are fetched some at a time, large ones streamed.
    """
    for start in range(0, len(entries), _BLOBS_PER_BATCH):
        batch = entries[start : start + _BLOBS_PER_BATCH]
        small = {e.blob for e in batch if e.size < LARGE_BLOB_BYTES or e.kind == LINK}
        fetched = {blob: contents[blob] for blob in small if blob in contents}
        if missing := [*small.difference(fetched)]:
            fetched.update(session.store.read_small_blobs(missing))
        for entry in batch:
            content = fetched.get(entry.blob)
            if content is None:  # large, whatever its entry says
                yield entry.path, entry.kind, session.store.stream_blob(entry.blob, entry.size)
            else:
                yield entry.path, entry.kind, content


def find_redacted_paths(session: Session, entries: Iterable[TreeEntry | None]) -> set[str]:
    """Return the paths of those `entries` whose content was redacted."""
    wanted = [entry for entry in entries if entry is not None]
    gone = session.reader.find_redactions([entry.blob for entry in wanted])
    return {entry.path for entry in wanted if entry.blob in gone}


_MAX_BATCH_BYTES = 1 << 20


class BlobBatch:
    """Blobs and skill cards to store; each is a row of id and data."""

    def __init__(self, session: Session) -> None:
        self.blobs: list[tuple[bytes, bytes]] = []
        self.cards: list[tuple[bytes, bytes]] = []
        self._session = session
        self._size = 0

    def add(self, path: str, content: bytes) -> bytes:
        """Add the content of the file at the full `path`; return its blob id."""
        from . import derive, lineage_cache  # which what only compares the folder does not need

        blob = blob_id(content)
        self.blobs.append((blob, content))
        self._size += len(content)
        if derive.may_be_skill(path):
            self.cards.append(lineage_cache.build_card_row(self._session, path, blob, content))
        return blob

    def is_full(self) -> bool:
        """Tell whether the batch should be stored before more is added."""
        return self._size >= _MAX_BATCH_BYTES

    def store(self, tx: StoreTransaction) -> None:
        """Put the blobs into the store and the cards into the cache, and start anew."""
        from . import lineage_cache

        tx.put_blobs(self.blobs)
        lineage_cache.stage_cards(self._session, self.cards)
        self.blobs, self.cards, self._size = [], [], 0
