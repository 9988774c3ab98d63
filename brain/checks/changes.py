"""Whether a snapshot changed only what its operation says, against its first parent.

The rules are those of FORMAT.md, "What an operation may change". They cost what the
snapshot changed, but for a redaction, after which no file may hold the blob: for that
the tree after it is read, once for all redactions that are checked together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..objects import bundle as bundles
from ..objects import operation as operations
from ..objects import paths
from ..objects.bundle import Bundle
from ..objects.entry import Entry
from ..objects.node import LEAF
from ..results import Finding
from ..session import Session
from ..skills import layout
from ..trust.policy import PATH as TRUST
from .trees import Change

CODE = "false_operation"
_SKILLS = "skills"
_NOTHING = ("task", *operations.BINDINGS)
"""Kinds that leave the bundle of the parent as it is."""
_ONE_SKILL = ("upsert", "delete", "absorb", *operations.DECISIONS)
LIMITED = frozenset((*_NOTHING, *_ONE_SKILL, "restore", "redact"))
"""Kinds that may not change just anything."""


class Edge(NamedTuple):
    """A snapshot whose operation limits what it changes: what is gone and what is new, by path."""

    name: str
    operation: operations.Operation
    before: Bundle
    after: Bundle
    gone: dict[str, Entry]
    fresh: dict[str, Entry]

    @property
    def changed(self) -> list[str]:
        """All paths that were added, removed or changed."""
        return [*self.gone, *(path for path in self.fresh if path not in self.gone)]

    def wrong(self, paths_: list[str], what: str) -> Iterator[Finding]:
        """Yield one finding about `paths_`, if there are any."""
        if paths_:
            more = f", and {len(paths_) - 1} more" if len(paths_) > 1 else ""
            kind = self.operation[0]
            yield Finding(CODE, "error", self.name, paths_[0], f"says {kind}, but {what}{more}")


def edge(
    session: Session,
    name: str,
    operation: operations.Operation,
    before: Bundle,
    after: Bundle,
    changes: Iterable[Change],
) -> Edge:
    """Return an edge with its changes by full path; sections that are gone are read."""
    gone: dict[str, Entry] = {}
    fresh: dict[str, Entry] = {}
    for section, was, now in changes:
        for found, lines in ((gone, was), (fresh, now)):
            for line in lines:
                path = paths.join(section, line[0])
                found[path] = Entry(path, *line[1:])
    for section in before.keys() - after.keys():
        gone.update((e.path, e) for e in bundles.walk_section(session.nodes, before, section))
    return Edge(name, operation, before, after, gone, fresh)


def check(session: Session, edge: Edge) -> Iterator[Finding]:
    """Yield what an edge changed that its operation does not say; raises `BrainError`."""
    kind = edge.operation[0]
    if kind in _NOTHING:
        yield from edge.wrong(edge.changed, "the files are not those of its parent")
    elif kind == "restore":
        yield from _restored(session, edge)
    elif kind == "redact":
        yield from _redacted(edge)
    elif kind in _ONE_SKILL:
        yield from _of_skills(session, edge)


def _restored(session: Session, edge: Edge) -> Iterator[Finding]:
    """A source that is not here, or is without its files, tells nothing."""
    source = edge.operation[1]
    if not session.reader.has(source):
        return
    bundle_id = session.load(source).bundle
    if not session.reader.has(bundle_id):
        return
    then = session.bundle(bundle_id)
    other = [p for p in edge.changed if bundles.get(session.nodes, then, p) != edge.fresh.get(p)]
    yield from edge.wrong(other, f"this is not as it was in {source.hex()[:12]}")


def _redacted(edge: Edge) -> Iterator[Finding]:
    blob = edge.operation[2]
    yield from edge.wrong(list(edge.fresh), "this is new or changed")
    others = [path for path, was in edge.gone.items() if was.blob != blob]
    yield from edge.wrong(others, "this did not hold the blob")
    if TRUST in edge.gone:
        yield from edge.wrong([TRUST], "it took away who may sign")


def left(session: Session, edges: Iterable[Edge]) -> Iterator[Finding]:
    """Yield the files that still hold what redactions among `edges` destroyed."""
    redactions = [edge for edge in edges if edge.operation[0] == "redact"]
    holding = _held(session, redactions)
    for edge in redactions:
        blob = edge.operation[2]
        if blob in holding:
            found = [e.path for e in bundles.walk(session.nodes, edge.after) if e.blob == blob]
            yield from edge.wrong(found, "this still holds the blob")


def _held(session: Session, redactions: list[Edge]) -> set[bytes]:
    """Return which of the redacted blobs any of the trees after them holds."""
    wanted = {edge.operation[2] for edge in redactions}
    waiting = [root.node for edge in redactions for root in edge.after.values()]
    seen: set[bytes] = set()
    held: set[bytes] = set()
    while waiting:
        here = waiting.pop()
        if here in seen:
            continue
        seen.add(here)
        node = session.nodes.get(here)
        if node.kind == LEAF:
            held.update(wanted.intersection(line[2] for line in node.entries))
        else:
            waiting.extend(line[1] for line in node.entries)
    return held


def _of_skills(session: Session, edge: Edge) -> Iterator[Finding]:
    kind, slug = edge.operation[:2]
    owners = _Owners(session, edge)
    changed = edge.changed
    first = next(iter(edge.fresh), "") if kind == "absorb" else changed[0] if changed else ""
    left = []
    for own in owners.choices(slug, changed, first):
        others = [path for path in changed if path not in own]
        if kind == "absorb" and others:
            taken = owners.choices(edge.operation[4], others, others[0])
            gone = [path - edge.fresh.keys() for path in taken]
            others = min(([path for path in others if path not in g] for g in gone), key=len)
        left.append(others)
    yield from edge.wrong(min(left, key=len), f"this is no file of {slug}")
    if kind == "absorb" and not edge.fresh:
        yield from edge.wrong([f"{_SKILLS}/{slug}"], "nothing of it was written")
    if kind == "absorb" and not _texts(edge, edge.operation[4]):
        yield from edge.wrong([f"{_SKILLS}/{edge.operation[4]}"], "that skill is not gone with it")
    if kind == "delete":
        yield from _deleted(session, edge)


def _texts(edge: Edge, slug: str) -> list[str]:
    """Return the texts of skills with a slug that are gone, shortest first."""
    gone = (path for path in edge.gone if path not in edge.fresh)
    return sorted((path for path in gone if fits(text_name(path), slug)), key=len)


def _deleted(session: Session, edge: Edge) -> Iterator[Finding]:
    yield from edge.wrong(list(edge.fresh), "this is new or changed")
    texts = _texts(edge, edge.operation[1])
    folder = _folder(texts[0]) if texts else ""
    if not texts:
        yield from edge.wrong([f"{_SKILLS}/{edge.operation[1]}"], "that skill is not gone")
        return
    outside = [p for p in edge.gone if p != texts[0] and not (folder and p.startswith(folder))]
    yield from edge.wrong(outside, "this is of another skill")
    if folder:
        there = bundles.below(session.nodes, edge.after, folder.rstrip("/"))
        yield from edge.wrong([entry.path for entry in there], "this is left of it")


def text_name(path: str) -> str:
    """Return the name of the skill of which a full path would be the text, "" for no text."""
    inner = _inner(path)
    folder, slash, file = inner.rpartition("/")
    if slash and file in layout.SKILL_FILES:
        return folder.rpartition("/")[2]
    return file[:-3] if "/" not in folder and file[-3:].lower() == ".md" else ""


def fits(name: str, slug: str) -> bool:
    """Tell whether a skill of this name may have that slug.

    A name of other than ASCII letters may have any, for that would hang on a version of
    Unicode.
    """
    if not name.isascii():
        return True
    return name != "" and layout.slug_of(f"{name}/{layout.SKILL_FILES[0]}") == slug


class _Owners:
    """Tells to which skills the paths of an edge belong."""

    def __init__(self, session: Session, edge: Edge) -> None:
        self._session = session
        self._edge = edge
        self._skills: dict[str, bool] = {}

    def choices(self, slug: str, changed: Iterable[str], first: str) -> list[set[str]]:
        """Return those paths that may be the files of one skill with that slug.

        If none has an ASCII name with that slug, it may be any one name that `first` has.
        """
        names = {path: self._names(path) for path in changed}
        sure = {
            path
            for path, own in names.items()
            if any(name.isascii() and fits(name, slug) for name in own)
        }
        if sure or not first:
            return [sure]
        unsure = (name for name in dict.fromkeys(names[first]) if not name.isascii())
        return [{path for path, own in names.items() if name in own} for name in unsure] or [set()]

    def _names(self, path: str) -> list[str]:
        """Return the names of the skills that a path belongs to."""
        *folders, _ = _inner(path).split("/")
        names = [
            folders[depth - 1]
            for depth in range(1, len(folders) + 1)
            if self._is_skill("/".join(folders[:depth]))
        ]
        if len(folders) <= 1 and (name := text_name(path)):
            names.append(name)
        return names

    def _is_skill(self, folder: str) -> bool:
        """Tell whether a folder below skills/ holds a SKILL.md, before or after."""
        known = self._skills.get(folder)
        if known is None:
            edge, nodes = self._edge, self._session.nodes
            names = [f"{_SKILLS}/{folder}/{name}" for name in layout.SKILL_FILES]
            known = any(name in edge.gone or name in edge.fresh for name in names) or any(
                bundles.has(nodes, edge.after, name) for name in names
            )
            self._skills[folder] = known
        return known


def _inner(path: str) -> str:
    """Return a full path within the section of skills, "" if it is in another."""
    section, slash, inner = path.partition("/")
    return inner if slash and section == _SKILLS else ""


def _folder(path: str) -> str:
    """Return the folder of a SKILL.md with a `/` at its end, "" for a flat skill."""
    folder, _, file = path.rpartition("/")
    return folder + "/" if file in layout.SKILL_FILES and folder != _SKILLS else ""
