"""What follows from objects alone: skills, their cards, and what a snapshot changed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from .. import limits
from ..digest import NO_DIGEST
from ..errors import BrainError, InvalidInput, StoreError
from ..objects import bundle as bundles
from ..objects import operation, paths, tree
from ..objects.bundle import State
from ..objects.snapshot import Snapshot
from ..objects.tree import Difference
from ..objects.tree_node import LINK, NodeEntry, TreeEntry
from ..skills import SKILLS_SECTION, index_lines, skill_layout
from ..skills.skill_layout import FOLDER_SUFFIXES, address_group
from ..skills.skill_metadata import (
    SkillMetadata,
    decode_skill_metadata,
    encode_skill_metadata,
    read_skill_metadata,
)
from ..skills.skill_version import compare_versions
from ..skills.slug import is_slug, is_windows_device, slugify
from .derived_db import MERGES, CacheUnusable, DecisionRow, DerivedSnapshot, Fact, SkillHistoryRow
from .session import BrainState, Session

if TYPE_CHECKING:
    from ..verdicts.verdict import Verdict

ADDED, UPGRADED, CHANGED, REMOVED = range(4)
SKILL_CHANGE_NAMES = ("added", "upgraded", "changed", "removed")

MIN_BULK_PATHS = 500
"""Number of changed paths from which on all skills of a state are listed at once, and one
history row is written for all changes."""
_MAX_CARDS_TO_REMEMBER = 64
"""Most cards of one call that are kept in memory: those of a change, not those of a list."""
BULK_PATH = ""
"""The path of a history row about very many paths."""
CONTENT_UNREAD_FLAGS = ("redacted", "too_large")
"""Flags of placeholder cards, for content that was not read; these are never cached."""
_EMPTY_CARD = SkillMetadata("", "", "1", "")
_DECISIONS_IN_FORCE = ("admit", "retire", "reinstate")
"""Decisions that say which program may run; a rejected one is not part of the brain."""
_BATCH_SIZE = 4096
_SECTION_PREFIX = f"{SKILLS_SECTION}/"
_SKILL_PATH_ENDINGS = (
    f"/{skill_layout.SKILL_FILES[0]}",
    ".md",
    *(f"/{spelling}" for spelling in skill_layout.SKILL_FILES[1:]),
)
_NAME_ENDINGS = frozenset(name[-3:] for name in skill_layout.SKILL_FILES)

SkillPredicate = Callable[[str], bool]
"""Tells whether a full path is a skill."""
SkillPath = tuple[str, str, bytes]
"""A skill: its full path, the name its path gives it, and its blob."""
SkillWithCard = tuple[str, str, bytes, SkillMetadata]
"""A skill: its full path, the name its path gives it, its blob and its card."""


def may_be_skill(path: str) -> bool:
    """Tell cheaply whether a full path could be a skill; a superset of those that are."""
    return path.endswith(skill_layout.FOLDER_SUFFIXES) or (
        path.startswith(_SECTION_PREFIX) and path[-3:].lower() == ".md"
    )


def is_skill(state: BrainState, path: str) -> bool:
    """Tell whether the full `path` is a skill in `state`; O(log n)."""
    return may_be_skill(path) and find_skill_name(state, path) is not None


def find_skill_name(state: BrainState, path: str) -> str | None:
    """Return the name that its path gives the skill at a full path, None if it is none there."""
    section, slash, _ = path.partition("/")

    def has_any(others: Sequence[str]) -> bool:
        inner = [other[len(section + slash) :] for other in others]
        return tree.has_any_path(state.session.nodes, state.sections.get(section), inner)

    return skill_layout.match_skill_path(path, has_any)


def find_cards(session: Session, blobs: Iterable[bytes]) -> dict[bytes, SkillMetadata]:
    """Return the cards of SKILL.md blobs: from memory, the user's cache, or their content.

    Those that were read from content are staged for the cache.
    """
    wanted = list(dict.fromkeys(blobs))
    cache = session.cache  # drops what was redacted
    known = session.loaded_cards
    out = {blob: known[blob] for blob in wanted if blob in known}
    unknown = [blob for blob in wanted if blob not in out] if out else wanted
    if not unknown:
        return out
    data = {blob: session.new_cards[blob] for blob in unknown if blob in session.new_cards}
    try:
        data |= cache.read_metadata([blob for blob in unknown if blob not in data])
    except CacheUnusable as error:  # they are read from content
        if isinstance(error.__cause__, StoreError) and not cache.db.in_transaction:
            session.give_up_cache(error)
    found = {blob: decode_skill_metadata(card, "") for blob, card in data.items()}
    if absent := [blob for blob in unknown if blob not in found]:
        read = read_cards(session, absent)
        found.update(read)
        session.new_cards.update(
            (blob, encode_skill_metadata(card))
            for blob, card in read.items()
            if card.flags not in CONTENT_UNREAD_FLAGS
        )
    if len(found) <= _MAX_CARDS_TO_REMEMBER:
        for blob, card in found.items():
            session.loaded_cards[blob] = card
    return out | found


def read_cards(session: Session, blobs: list[bytes]) -> dict[bytes, SkillMetadata]:
    """Return the cards of SKILL.md blobs, from their content."""
    redacted_blobs = session.reader.find_redactions(blobs)
    contents = read_skill_contents(session, [blob for blob in blobs if blob not in redacted_blobs])
    out = {blob: read_skill_metadata(content, "") for blob, content in contents}
    redacted, too_large = CONTENT_UNREAD_FLAGS
    flags = {blob: redacted if blob in redacted_blobs else too_large for blob in blobs}
    return {blob: out.get(blob) or SkillMetadata("", "", "1", flag) for blob, flag in flags.items()}


def read_skill_contents(session: Session, blobs: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the content of SKILL.md blobs, in any order, but for those past the limit."""
    large = set(blobs)
    for blob, content in session.reader.read_small_blobs(blobs):
        large.discard(blob)
        yield blob, content
    for blob in large:
        if session.reader.blob_size(blob) <= limits.MAX_SKILL_BYTES:
            yield blob, session.reader.read_blob(blob)


def note_declared_name(session: Session, path: str, blob: bytes, name: str) -> None:
    """Note a skill whose name leads to another slug than its place.

    The key is both path and blob: the same text at two places needs a note at one of them only.
    """
    if name and name != slug_from_full_path(path):
        session.declared_names[path, blob] = name


def slug_from_full_path(path: str) -> str:
    """Return the slug of the skill at a full path, by its folder or file."""
    plain = _plain_path_slug(path)
    return plain if plain else skill_layout.slug_from_path(path)


def _plain_path_slug(path: str) -> str:
    """Return the slug of a skill right below skills/ if its name is one, else ""."""
    if not path.startswith(_SECTION_PREFIX):
        return ""
    for ending in _SKILL_PATH_ENDINGS[:2]:
        if path.endswith(ending):
            name = path[len(_SECTION_PREFIX) : -len(ending)]
            return name if is_slug(name) and not is_windows_device(name) else ""
    return ""


def build_skill_rows(
    session: Session,
    snapshot_id: bytes,
    generation: int,
    changed: list[Difference],
    is_old: SkillPredicate,
    is_new: SkillPredicate,
    written: str = "",
) -> Iterator[SkillHistoryRow]:
    """Yield the history rows of a snapshot that changed the given full paths.

    A redacted skill has the version `written` by the operation, so that none is assigned twice.
    """
    pairs = [
        (path, was if was and is_old(path) else None, now if now and is_new(path) else None)
        for path, was, now in changed
    ]
    blobs = [e.blob for _, *both in pairs for e in both if e and e.kind != LINK]
    known = find_cards(session, blobs)
    new_blobs = {now.blob for _, _, now in pairs if now} if written else set()
    gone = [blob for blob in new_blobs & known.keys() if known[blob].flags == "redacted"]
    if len(gone) == 1:
        known[gone[0]] = known[gone[0]]._replace(version=written)
    for path, was, now in pairs:
        if was == now:
            continue
        old = known.get(was.blob, _EMPTY_CARD) if was else None
        new = known.get(now.blob, _EMPTY_CARD) if now else None
        card = new or old or _EMPTY_CARD
        slugs = nonstandard_slugs(path, card.name)
        change = ADDED if old is None else REMOVED if new is None else CHANGED
        if old and new and compare_versions(new.version, old.version) > 0:
            change = UPGRADED
        yield SkillHistoryRow(path, generation, snapshot_id, change, card.version, slugs)


def build_skill_predicates(
    before: BrainState, after: BrainState, changed: list[Difference]
) -> tuple[SkillPredicate, SkillPredicate]:
    """Return the skill predicates of both sides, which differ in `changed` only.

    Whether a path is a skill depends on the SKILL.md files around it. If none of these was
    added or removed, one predicate serves both sides.
    """
    was_skill = build_skill_predicate(before, changed)
    moved = any(path.endswith(skill_layout.SKILL_FILES) for path, _, _ in changed)
    if before.sections and after.sections and not moved and len(changed) < MIN_BULK_PATHS:
        return was_skill, was_skill
    return was_skill, build_skill_predicate(after, changed)


def find_reclassified(
    before: State,
    after: State,
    changed: Iterable[Difference],
    known: Set[str],
) -> Iterator[Difference]:
    """Yield unchanged files that became or ceased to be skills as a SKILL.md came or went.

    See `skill_layout`. The paths that are `known` are left out. A new section has no such files.
    """
    found: dict[str, TreeEntry] = {}
    for path, was, now in changed:
        if (was and now) or path.partition("/")[0] not in before.sections:
            continue
        folder = path.rpartition("/")[0]
        if path.endswith(skill_layout.FOLDER_SUFFIXES) and folder != SKILLS_SECTION:
            for entry in after.walk_below(folder):
                is_flat = entry.path.count("/") == 2 and may_be_skill(entry.path)
                if is_flat or entry.path.endswith(skill_layout.FOLDER_SUFFIXES):
                    found[entry.path] = entry
    for path in sorted(found.keys() - known):
        yield Difference(path, found[path], found[path])


def build_skill_predicate(state: BrainState, changed: list[Difference]) -> SkillPredicate:
    """Return a predicate for the `changed` paths: whether they are skills in `state`."""
    if not state.sections:
        return lambda path: False
    if len(changed) < MIN_BULK_PATHS:
        return cache(lambda path: is_skill(state, path))
    entries = state.walk_section(SKILLS_SECTION)
    known = set(skill_layout.find_skill_paths(entry.path for entry in entries))
    is_elsewhere = cache(lambda path: is_skill(state, path))
    return lambda path: path in known if path.startswith(_SECTION_PREFIX) else is_elsewhere(path)


def standard_skill_paths(slug: str) -> tuple[str, ...]:
    """Return the full paths at which a skill of that slug is looked for in any case."""
    return tuple(f"skills/{slug}{ending}" for ending in _SKILL_PATH_ENDINGS)


def nonstandard_slugs(path: str, name: str) -> tuple[str, ...]:
    """Return the slugs a skill answers to but would not be looked for at its place.

    It answers to the slug of its place and to that of its name.
    """
    plain_slug = _plain_path_slug(path)
    if plain_slug and name in ("", plain_slug):
        return ()
    return tuple(
        slug
        for slug in skill_slugs(path, name)
        if not (path.startswith(f"skills/{slug}") and path[7 + len(slug) :] in _SKILL_PATH_ENDINGS)
    )


def skill_slugs(path: str, name: str) -> tuple[str, ...]:
    """Return the slugs that a skill answers to: that of its place, and that of its name."""
    path_slug = slug_from_full_path(path)
    try:
        name_slug = slugify(name) if name and name != path_slug else path_slug
    except InvalidInput:
        name_slug = path_slug
    return tuple(dict.fromkeys((path_slug, name_slug)))


def walk_skills(state: BrainState) -> Iterator[SkillWithCard]:
    """Yield all skills of a state, by section and path.

    Cards are read in batches, to bound memory.
    """
    for part in iter_skill_batches(state):
        cards = find_cards(state.session, [blob for _, _, blob in part])
        for path, name, blob in part:
            yield path, name, blob, cards[blob]


def iter_skill_batches(state: BrainState) -> Iterator[list[SkillPath]]:
    """Yield all skills, some at a time, without looking into them."""
    for section in state.sections:
        if section == SKILLS_SECTION:
            yield from _iter_section_skills(state)
        elif section != paths.TOP_SECTION:
            yield from _iter_skills_elsewhere(state, section)


def address_all(skill_paths: Iterable[str]) -> dict[str, str]:
    """Return the addresses of all skills of a state, given by their full paths."""
    groups: dict[str, list[str]] = {}
    for path in skill_paths:
        groups.setdefault(slug_from_full_path(path), []).append(path)
    return {
        path: address
        for slug, group in groups.items()
        for path, address in address_group(slug, group).items()
    }


def build_index_lines(session: Session, skills: Iterable[SkillWithCard]) -> dict[str, str]:
    """Return the index lines of all skills of a state, by path; see `format_index_lines`."""
    every = [(path, card) for path, _, _, card in skills]
    addresses = address_all(path for path, _ in every)
    lines: dict[str, str] = {}
    for start in range(0, len(every), _BATCH_SIZE):
        some = every[start : start + _BATCH_SIZE]
        lines |= format_index_lines([(path, addresses[path], card) for path, card in some])
        session.progress("index", len(lines), 0)
    return lines


def format_index_lines(skills: Sequence[tuple[str, str, SkillMetadata]]) -> dict[str, str]:
    """Return index lines by path, of skills given as (path, address, card).

    One that only its user may start has none. In place of the first ": " they have a NUL, which
    no line holds: so they sort by name, then by description. `show_lines` turns them into text.
    """
    shown = [skill for skill in skills if not skill[2].is_user_only]
    lines = index_lines.format_lines(
        [
            (
                address,
                index_lines.differing_name(slug_from_full_path(path), card.name),
                card.description,
            )
            for path, address, card in shown
        ]
    )
    return {
        path: line.replace(": ", "\0", 1) for (path, _, _), line in zip(shown, lines, strict=True)
    }


def load_indexed_state(session: Session, bundle_id: bytes) -> BrainState:
    """Return the state of an index by its bundle. Raises `NotFound` if it was collected."""
    if bundle_id == bundles.bundle_id({}):
        return BrainState(session)
    return session.load_state(bundle_id)


def diff_skills(before: State, after: State, most: int | None) -> list[Difference]:
    """Return the changes of files that may be skills, at most `most` of them."""
    differences = before.diff(after)
    return list(islice((pair for pair in differences if may_be_skill(pair.path)), most))


def find_new_skill_folder(state: BrainState) -> str:
    """Return the folder for new skills; see `skill_layout.new_skill_folder`."""
    if SKILLS_SECTION in state.sections:
        return SKILLS_SECTION
    every = (path for part in iter_skill_batches(state) for path, _, _ in part)
    return skill_layout.new_skill_folder(every)


def _iter_section_skills(state: BrainState) -> Iterator[list[SkillPath]]:
    for part in _iter_file_batches(state):
        entries = [(f"{SKILLS_SECTION}/{path}", kind, blob) for path, kind, blob, _ in part]
        names = skill_layout.find_skill_paths(path for path, _, _ in entries)
        # A link is not a skill, but may keep the files beside it from being skills.
        yield [
            (path, names[path], blob)
            for path, kind, blob in entries
            if path in names and kind != LINK
        ]


def _iter_file_batches(state: BrainState) -> Iterator[list[NodeEntry]]:
    part: list[NodeEntry] = []
    for node in tree.walk_leaves(state.session.nodes.peek, state.sections.get(SKILLS_SECTION)):
        part += node.entries
        if len(part) < _BATCH_SIZE:
            continue
        folder, slash, _ = part[-1][0].partition("/")
        cut = bisect_left(part, (folder + slash,)) if slash else len(part)
        if cut:
            yield part[:cut]
            del part[:cut]
    if part:
        yield part


def _iter_skills_elsewhere(state: BrainState, section: str) -> Iterator[list[SkillPath]]:
    texts: dict[str, tuple[int, bytes]] = {}
    for leaf in tree.walk_leaves(state.session.nodes.peek, state.sections.get(section)):
        for inner, kind, blob, _ in leaf.entries:
            # Most files there are no skills: the end of a name tells quickly.
            if inner[-3:] in _NAME_ENDINGS and inner.rpartition("/")[2] in skill_layout.SKILL_FILES:
                texts[f"{section}/{inner}"] = kind, blob
    names = skill_layout.find_skill_paths(texts)
    skills = [
        (path, names[path], blob)
        for path, (kind, blob) in texts.items()
        if kind != LINK and path in names
    ]
    for start in range(0, len(skills), _BATCH_SIZE):
        yield skills[start : start + _BATCH_SIZE]


class SkillHomes:
    """Finds the skills that files belong to, in the first of some states that has them."""

    def __init__(self, states: Sequence[BrainState]) -> None:
        self._states = states
        self._by_folder: dict[str, str] = {"": "", SKILLS_SECTION: ""}

    def find_home(self, path: str) -> str:
        """Return the path of the skill that a file is or belongs to, "" if there is none."""
        if may_be_skill(path) and self._is_skill(path):
            return path
        return self._find_folder_home(path.rpartition("/")[0])

    def _find_folder_home(self, folder: str) -> str:
        """Return the path of the nearest skill in a folder or above it."""
        home = self._by_folder.get(folder)
        if home is None:
            texts = [folder + ending for ending in FOLDER_SUFFIXES]
            found = (path for path in texts if self._is_skill(path))
            home = next(found, "") or self._find_folder_home(folder.rpartition("/")[0])
            self._by_folder[folder] = home
        return home

    def _is_skill(self, path: str) -> bool:
        return any(state.has(path) and is_skill(state, path) for state in self._states)


def derive_decision(session: Session, here: bytes, snapshot: Snapshot) -> DecisionRow | None:
    """Return the decision of a snapshot, None if it decides nothing about what may run.

    It has no program if its verdict has none, is missing, or is about something else.
    """
    kind = snapshot.operation[0]
    if kind not in _DECISIONS_IN_FORCE:
        return None
    _, slug, _, version, _ = snapshot.operation
    program, lets_live = NO_DIGEST, False
    if verdict := read_decision_verdict(session, snapshot):
        from ..programs.program import id_of_files
        from ..verdicts.verdict_rules import is_provisional

        program = id_of_files(verdict.files) if verdict.files else NO_DIGEST
        lets_live = verdict.provisional != "" and is_provisional(verdict)
    return DecisionRow(
        kind=kind,
        slug=slug,
        version=version,
        program=program,
        snapshot=here,
        generation=snapshot.generation,
        is_provisional=lets_live,
    )


def read_decision_verdict(session: Session, snapshot: Snapshot) -> Verdict | None:
    """Return the verdict of the decision of a snapshot, None if it is missing or not about it."""
    from ..verdicts.verdict import read_verdict

    if not (evidence := operation.evidence_blob(snapshot.operation)):
        return None
    kind, slug, *_ = snapshot.operation
    try:
        verdict = read_verdict(session.reader, evidence)
    except BrainError:  # reported by `brain verify`
        return None
    return verdict if (verdict.decision, verdict.skill) == (kind, slug) else None


def verdict_id(session: Session, here: bytes) -> bytes:
    """Return the blob id of the verdict of a decision, empty if the snapshot decides nothing."""
    return operation.evidence_blob(session.load_snapshot(here).operation)


def derive_snapshot(session: Session, here: bytes, brief: bool = False) -> DerivedSnapshot:
    """Derive the cache entry of a stored snapshot from its tree and its parent's.

    A `brief` one is quicker for very many changed skills, and then lacks their names.
    """
    staged = session.staged_updates.get(here)
    if staged is not None and not brief:
        return staged.derived
    snapshot = session.load_snapshot(here)
    if (snapshot.brain or here) != session.brain_id():  # of the brain that a fork came from
        return DerivedSnapshot(here, _merge_facts(here, snapshot))
    after = session.load_state(snapshot.bundle)
    before = session.parent_state(snapshot)
    changed = diff_skills(before, after, MIN_BULK_PATHS if brief else None)
    if not brief or len(changed) < MIN_BULK_PATHS:
        known = {path for path, _, _ in changed}
        changed += find_reclassified(before, after, changed, known)
        if len(changed) >= MIN_BULK_PATHS:
            note_declared_names(session, changed)
    return derive_from_changes(here, snapshot, before, after, changed)


def _merge_facts(here: bytes, snapshot: Snapshot) -> list[Fact]:
    return [Fact(MERGES, snapshot.generation, here)] if len(snapshot.parents) > 1 else []


def note_declared_names(session: Session, changed: list[Difference]) -> None:
    """Note the skills among the changed files whose names lead to another slug than their paths."""
    places = [(d.path, d.after.blob) for d in changed if d.after and d.after.kind != LINK]
    for start in range(0, len(places), _BATCH_SIZE):
        some = places[start : start + _BATCH_SIZE]
        cards = find_cards(session, [blob for _, blob in some])
        for path, blob in some:
            note_declared_name(session, path, blob, cards[blob].name)
        session.progress("skills", start + len(some), len(places))


def derive_from_changes(
    snapshot_id: bytes,
    snapshot: Snapshot,
    before: BrainState,
    after: BrainState,
    changed: list[Difference],
) -> DerivedSnapshot:
    """Derive a cache entry: a row for each changed skill, or one for very many.

    In the latter case the change of one skill is computed when its history is read.
    """
    session = after.session
    facts = _merge_facts(snapshot_id, snapshot)
    if decision := derive_decision(session, snapshot_id, snapshot):
        facts += decision.facts
    if len(changed) < MIN_BULK_PATHS:
        sides = build_skill_predicates(before, after, changed)
        written = operation.written_version(snapshot.operation)
        found = build_skill_rows(
            session, snapshot_id, snapshot.generation, changed, *sides, written
        )
        rows = list(found)
        names = {(slug, row.path) for row in rows for slug in row.slugs}
        return DerivedSnapshot(snapshot_id, facts + [row.fact for row in rows], names)
    bulk = Fact(BULK_PATH, snapshot.generation, snapshot_id)
    names = {
        (slug, path)
        for path, _, now in changed
        if now
        for slug in nonstandard_slugs(path, session.declared_names.get((path, now.blob), ""))
    }
    return DerivedSnapshot(snapshot_id, [*facts, bulk], names)
