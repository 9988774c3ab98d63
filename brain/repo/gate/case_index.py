"""The held-out cases of a brain and the words of its skills, kept up to date with its snapshots.

A session has one index. It follows from one bundle, and is brought to another one by what differs
between the two; a document is read once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import NamedTuple
from weakref import WeakKeyDictionary

from ...cache.case_facts import CaseFactsCache
from ...errors import BrainError
from ...gating.case_document import is_case_name, may_be_held_out, parse_case
from ...gating.case_types import MAX_CASE_BYTES, case_text
from ...objects import bundle as bundles
from ...objects.bundle import Bundle
from ...objects.tree_diff import Difference
from ...objects.tree_entry import LINK, TreeEntry
from ...programs import PROGRAM_FILE
from ...programs.python_code import MAX_CODE_BYTES
from ...search.bm25 import FIELD_WEIGHTS
from ...search.change_ranking import ChangeIndex
from ...search.session_cache import SearchCache
from ...store.full_text_index import open_memory_full_text
from ..open.session import Session
from ..read.case_paths import CASE_SUFFIX, slug_of_case
from ..search.search_index import update_catalogue

_BATCH = 1000
"""Documents that are read between two looks at the clock."""

_CODE_SUFFIX = f"/{PROGRAM_FILE}"

Interrupt = Callable[[], None]
"""Raises if the work takes too long."""


class HeldOutCase(NamedTuple):
    """A held-out case by its document; `query` are the stems of the words of its input."""

    skill: str
    path: str
    blob: bytes
    source: str
    is_object: bool
    query: tuple[str, ...]


class _CaseFacts(NamedTuple):
    """What is known of a held-out case by its document alone."""

    source: str
    is_object: bool
    query: tuple[str, ...]


def _encode_facts(facts: _CaseFacts | None) -> bytes:
    """Return facts as bytes, empty if it is no held-out case."""
    if facts is None:
        return b""
    return json.dumps([facts.source, facts.is_object, *facts.query]).encode()


def _decode_facts(data: bytes) -> _CaseFacts | None:
    if not data:
        return None
    source, is_object, *query = json.loads(data)
    return _CaseFacts(source, is_object, tuple(query))


class CaseIndex:
    """Held-out cases by skill and by the stems of their inputs, and the ranking of all skills.

    `codes` are the blobs of all skill.py that can be read, by path; `cases` are by path too.
    `epoch` is the one of removals from the store at which it was made.
    """

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self._search = SearchCache()
        self.ranking = ChangeIndex(open_memory_full_text(FIELD_WEIGHTS).stem_words)
        self._search.catalogue.subscribe(self.ranking)
        self._bundle: Bundle = {}
        self._facts: dict[bytes, _CaseFacts | None] = {}
        self.codes: dict[str, bytes] = {}
        self.cases: dict[str, HeldOutCase] = {}
        self._by_skill: dict[str, set[str]] = {}
        self._by_stem: dict[str, set[str]] = {}

    def update(self, session: Session, bundle: Bundle, interrupt: Interrupt) -> None:
        """Bring the index to a bundle. What was read stays known if `interrupt` raises."""
        if bundle != self._bundle:
            changes = list(bundles.diff_bundles(session.nodes, self._bundle, bundle))
            cases = [change for change in changes if slug_of_case(change.path)]
            added = [case.after for case in cases if case.after and _is_readable(case.after)]
            self._read_facts(session, added, interrupt)
            for case in cases:
                self._remove(case.path)
            for entry in added:
                self._add(entry)
            self._note_codes(change for change in changes if change.path.endswith(_CODE_SUFFIX))
            self._bundle = bundle
        update_catalogue(session, self._search, bundle)

    def list_cases(self, slug: str) -> list[HeldOutCase]:
        """Return the held-out cases of a skill, by path."""
        return [self.cases[path] for path in sorted(self._by_skill.get(slug, ()))]

    def find_sharing(self, stems: Iterable[str]) -> list[HeldOutCase]:
        """Return the cases whose input has one of some stems, by path."""
        paths = set[str]().union(*(self._by_stem.get(stem, ()) for stem in stems))
        return [self.cases[path] for path in sorted(paths)]

    def _note_codes(self, changes: Iterable[Difference]) -> None:
        for path, _, after in changes:
            self.codes.pop(path, None)
            if after is not None and after.kind != LINK and after.size <= MAX_CODE_BYTES:
                self.codes[path] = after.blob

    def _read_facts(
        self, session: Session, entries: Iterable[TreeEntry], interrupt: Interrupt
    ) -> None:
        unread = {one.blob: one.path for one in entries if one.blob not in self._facts}
        if not unread:
            return
        kept = CaseFactsCache(session.cache.folder)
        self._facts.update((blob, _decode_facts(data)) for blob, data in kept.read(unread).items())
        wanted = [blob for blob in unread if blob not in self._facts]
        for start in range(0, len(wanted), _BATCH):
            interrupt()
            session.report_progress("reading cases", start, len(wanted))
            batch = wanted[start : start + _BATCH]
            gone = session.reader.find_redactions(batch)
            readable = [blob for blob in batch if blob not in gone]
            read = {
                blob: self._read_one(unread[blob], blob, content)
                for blob, content in session.reader.read_small_blobs(readable)
            }
            self._facts.update(dict.fromkeys(gone) | read)
            kept.put({blob: _encode_facts(facts) for blob, facts in read.items()})

    def _read_one(self, path: str, blob: bytes, content: bytes) -> _CaseFacts | None:
        """Return what is known of a document, None if it is no held-out case."""
        if not may_be_held_out(content):
            return None
        try:
            case = parse_case("", path, blob, content)
        except BrainError:
            return None
        if not case.is_held_out:
            return None
        query = self.ranking.read_query(case_text(case))
        return _CaseFacts(case.source, not isinstance(case.input, str), query)

    def _add(self, entry: TreeEntry) -> None:
        facts = self._facts.get(entry.blob)
        if facts is None:
            return
        skill = slug_of_case(entry.path)
        case = HeldOutCase(
            skill=skill,
            path=entry.path,
            blob=entry.blob,
            source=facts.source,
            is_object=facts.is_object,
            query=facts.query,
        )
        self.cases[entry.path] = case
        self._by_skill.setdefault(skill, set()).add(entry.path)
        for stem in facts.query:
            self._by_stem.setdefault(stem, set()).add(entry.path)

    def _remove(self, path: str) -> None:
        case = self.cases.pop(path, None)
        if case is None:
            return
        self._by_skill[case.skill].discard(path)
        for stem in case.query:
            self._by_stem[stem].discard(path)


_indexes: WeakKeyDictionary[Session, CaseIndex] = WeakKeyDictionary()
"""The index of each session."""


def _is_readable(entry: TreeEntry) -> bool:
    name = entry.path.rpartition("/")[2].removesuffix(CASE_SUFFIX)
    return entry.kind != LINK and entry.size <= MAX_CASE_BYTES and is_case_name(name)


def open_case_index(
    session: Session, snapshot: bytes, interrupt: Interrupt = lambda: None
) -> CaseIndex:
    """Return the index of a session, brought to a snapshot.

    It is made anew after something was removed from the store, by a redaction or as garbage.
    """
    epoch = session.reader.removal_epoch()
    index = _indexes.get(session)
    if index is None or index.epoch != epoch:
        index = _indexes[session] = CaseIndex(epoch)
    index.update(session, session.bundle_of(snapshot), interrupt)
    return index
