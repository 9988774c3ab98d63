"""A git repository of skills: every commit that says something about them is a state."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import InvalidInput, printable
from . import gitcommit
from .clients import SURE, Client
from .collections import PLAIN
from .gitcommit import Commit
from .gitfiles import Files, Wanted
from .gitrepo import Listed, Repository, folder_of
from .gittrees import Paths
from .layouts import COLLECTION, Layout
from .protocol import File, Found, Notice, Step, Taker, Taking
from .reading import MAX_BYTES
from .rules import Rule

CERTAIN = 50
"""Weight of what is surely a repository of skills, or of one agent's memory, whatever else
lies in it."""
WEIGHT = PLAIN + 1
"""A history weighs more than plain files, and less than what a program is known to read."""
MAX_COMMIT_BYTES = 1 << 20
_TOGETHER = 512

EVERYTHING = COLLECTION._replace(title="brain", rules=(Rule("", ""),), left=())
"""The layout of a repository that looks like a brain: files of skills, memory and prompts."""

Choose = Callable[[Path, Repository, str], Layout]
"""Tells where the files of a repository go, given its place and the commit at HEAD."""

_OWN = frozenset(("manifest.yaml", "memory", "prompts"))
_EMPTY_TREES = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
"""By the digits of an id: what git holds to be there always."""


class Git:
    """Recognises and reads repositories that hold skills, by what else is known of their place."""

    kind = "git"

    def __init__(self, others: Sequence[Taker]) -> None:
        self._others = others

    def detect(self, path: Path) -> Found | None:
        """Look for a repository, and at what else it is."""
        if folder_of(path) is None:
            return None
        seen = [found for taker in self._others if (found := taker.detect(path))]
        if any(_comes_first(found) for found in seen):
            weight = WEIGHT
        else:
            has_skills = any(found.weight == PLAIN and found.home for found in seen)
            weight = CERTAIN if has_skills else WEIGHT
        why = ", ".join([".git", *(found.why for found in seen if found.weight == PLAIN)])
        return Found(self.kind, path, why, weight, None)

    def take(self, found: Found, since: str | None, allow: Collection[str]) -> Taking:
        """Read the history of HEAD, from after the commit `since` on."""
        return read_history(found, since, allow, self._layout)

    def _layout(self, path: Path, repository: Repository, head: str) -> Layout:
        """Return where the files go: as a program says that the place is of, or by their names."""
        names = [name.decode("utf-8", "replace") for name in repository.names(head)]
        if not any(name.startswith("skills/") for name in names):
            clients = (taker for taker in self._others if isinstance(taker, Client))
            for client in clients:
                if client.kind != COLLECTION.kind and client.detect(path):
                    return client.shape(path)
        return by_names(names)


def _comes_first(found: Found) -> bool:
    """Tell whether a place is known that well, and a brain can be made around it, or is it."""
    return found.weight >= CERTAIN or (found.home is not None and found.weight >= SURE)


def read_history(found: Found, since: str | None, allow: Collection[str], layout: Choose) -> Taking:
    """Read the commits of a repository as states; `layout` says where its files go."""
    rows: list[Notice] = []
    placed: dict[str, str] = {}

    def steps() -> Iterator[Step]:
        folder = folder_of(found.path)
        if folder is None:
            raise InvalidInput(f"{printable(found.path)} is no repository", code="bad_repository")
        with Repository(folder) as repository:
            head = repository.head()
            Paths(repository).refuse_many([repository.tree(head)])
            chosen = layout(found.path, repository, head)
            files = Files(repository, chosen, rows, placed, allow)
            yield from _history(repository, head, chosen, since, files)
            files.close()
            there = {name.decode("utf-8", "surrogateescape") for name in repository.names(head)}
            for path in [path for path, name in placed.items() if name not in there]:
                del placed[path]

    return Taking(steps(), rows, placed)


def by_names(names: Iterable[str]) -> Layout:
    """Return the layout of a repository of skills that has files of these names.

    Raises `InvalidInput` (`unknown_source`) if no skill is among them.
    """
    tops: set[str] = set()
    holders: set[str] = set()
    for name in names:
        parts = name.split("/")
        tops.add(parts[0])
        if parts[-1].lower() == "skill.md" or (parts[0] == "skills" and name.endswith(".md")):
            holders.add(parts[0] if len(parts) > 1 else "")
    if "skills" in holders:
        return EVERYTHING if _OWN & tops else COLLECTION
    if not holders:
        raise InvalidInput(
            "there is no skill in the newest commit", code="unknown_source", hint="see `git log`"
        )
    if "" in holders:
        return COLLECTION._replace(rules=(Rule("", "skills/skill/"),), owned=())
    return COLLECTION._replace(rules=(Rule("", "skills/"),), tops=frozenset(holders))


class _State(NamedTuple):
    listed: Listed
    commit: Commit
    before: str


def _history(
    repository: Repository, head: str, layout: Layout, since: str | None, files: Files
) -> Iterator[Step]:
    """Yield a step for each commit that is not `since` and does not come before it."""
    paths = pathspecs(layout)
    listed = list(repository.commits(head, paths))
    known = _known(listed, since)
    states = list(_states(repository, listed, known))
    Paths(repository).refuse_many(state.commit.tree for state in states)
    pairs = ((state.before, state.commit.tree) for state in states)
    changes = repository.changes(pairs, paths)
    for group in _groups(zip(states, map(files.wanted, changes), strict=True)):
        found = repository.objects(
            (row.blob for _, rows in group for row in rows if row.blob), MAX_BYTES
        )
        for state, rows in group:
            taken = files.of(rows, found)
            yield _step(state, taken)
            for _ in taken:  # so that the next step finds its own objects
                pass


def _groups(
    states: Iterable[tuple[_State, list[Wanted]]],
) -> Iterator[list[tuple[_State, list[Wanted]]]]:
    """Yield states some at a time, so that their objects are asked for together."""
    group: list[tuple[_State, list[Wanted]]] = []
    count = 0
    for state, rows in states:
        group.append((state, rows))
        count += 1 + len(rows)
        if count >= _TOGETHER:
            yield group
            group, count = [], 0
    if group:
        yield group


def _step(state: _State, files: Iterator[tuple[str, File | None]]) -> Step:
    listed, commit = state.listed, state.commit
    return Step(
        files,
        not listed.parents,
        commit.message,
        listed.id,
        commit.author,
        commit.time,
        listed.parents,
    )


def _known(listed: Sequence[Listed], since: str | None) -> set[str]:
    """Return `since` and what comes before it; nothing if the history is another one by now."""
    parents = {commit.id: commit.parents for commit in listed}
    known: set[str] = set()
    waiting = [since] if since in parents else []
    while waiting:
        here = waiting.pop()
        if here is not None and here not in known:
            known.add(here)
            waiting.extend(parents.get(here, ()))
    return known


def _states(repository: Repository, listed: Sequence[Listed], known: set[str]) -> Iterator[_State]:
    """Yield the commits that are not known, each with the tree that it is a change of."""
    trees: dict[str, str] = {}
    objects = repository.objects((commit.id for commit in listed), MAX_COMMIT_BYTES)
    for commit, found in zip(listed, objects, strict=True):
        try:
            said = gitcommit.parse(found.content or b"")
        except ValueError as error:
            raise InvalidInput(
                f"commit {commit.id[:12]} cannot be read", code="bad_repository"
            ) from error
        trees[commit.id] = said.tree
        if commit.id not in known:
            first = trees[commit.parents[0]] if commit.parents else _EMPTY_TREES[len(said.tree)]
            yield _State(commit, said, first)


def pathspecs(layout: Layout) -> list[str]:
    """Return what of a repository a layout is about, as git's pathspecs; none for all."""
    if layout.tops:
        return [f":(literal){name}" for name in sorted(layout.tops)]
    homes = [rule.home for rule in layout.rules]
    if "" in homes:
        return []
    return [
        f":(glob){home}{'**' if home.endswith('/') else ''}" if "*" in home else f":(literal){home}"
        for home in homes
    ]
