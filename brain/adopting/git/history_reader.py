"""Read a git repository of skills as states: one for each commit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ...errors import InvalidInput
from ...objects import paths
from ..home_layout import PathRule
from ..home_readers import (
    PLAIN_CONFIDENCE,
    SURE_CONFIDENCE,
    HomeReader,
    skill_folder_layout,
)
from ..layouts import AGENTSKILLS, PROJECT, HomeLayout
from ..safe_read import MAX_ADOPTED_FILE_BYTES
from ..skill_search import add_skill_folders, find_skill_folders
from ..skipped import SkippedFiles
from ..source_protocol import (
    DetectedSource,
    ImportStep,
    SourceFile,
    SourceReader,
    SourceStates,
)
from . import commit_object
from .commit_object import GitCommit
from .file_filter import CommitFiles, WantedFile
from .repository import GitRepository, ListedCommit, find_git_folder
from .tree_limits import TreePathCounter

CERTAIN_CONFIDENCE = 50
"""Confidence for a repository that certainly holds skills or the memory of one agent."""
GIT_CONFIDENCE = PLAIN_CONFIDENCE + 1
"""A history counts more than plain files, and less than the home of a program."""
MAX_COMMIT_BYTES = 16 << 20
"""Size of a commit; the message of a squash may have megabytes, and is cut."""
_BATCH_ROWS = 512
_MAX_PATHSPECS = 200

BRAIN_LAYOUT = replace(AGENTSKILLS, title="brain", rules=(PathRule("", ""),), skipped_patterns=())
"""The layout of a repository with the folders of a brain: skills, memory and prompts."""

LayoutChooser = Callable[[Path, GitRepository, str], HomeLayout]
"""Returns the layout of a repository, from its path and the commit at HEAD."""

_BRAIN_NAMES = frozenset(("manifest.yaml", "memory", "prompts"))
_EMPTY_TREES = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
"""The id of the empty tree, by the digits of an id."""


class GitHistoryReader:
    """Recognises and reads git repositories of skills; asks other readers about the place."""

    kind = "git"

    def __init__(self, others: Sequence[SourceReader]) -> None:
        self._other_readers = others

    def detect(self, path: Path) -> DetectedSource | None:
        """Look for a repository, and ask the other readers about its files."""
        if find_git_folder(path) is None:
            return None
        sources = [found for reader in self._other_readers if (found := reader.detect(path))]
        if any(_prefers_program_home(found) for found in sources):
            confidence = GIT_CONFIDENCE
        else:
            has_skills = any(
                found.confidence == PLAIN_CONFIDENCE and found.in_place_folder for found in sources
            )
            confidence = CERTAIN_CONFIDENCE if has_skills else GIT_CONFIDENCE
        evidence = ", ".join(
            [".git", *(found.evidence for found in sources if found.confidence == PLAIN_CONFIDENCE)]
        )
        return DetectedSource(self.kind, path, evidence, confidence, None)

    def read_states(
        self, detected: DetectedSource, since: str | None, allow: Collection[str]
    ) -> SourceStates:
        """Read the history of HEAD after the commit `since`."""
        return read_history(detected, since, allow, self._choose_layout)

    def _choose_layout(self, path: Path, repository: GitRepository, head: str) -> HomeLayout:
        """Return the layout of the program whose home it is, else one by the file names."""
        names = [name.decode("utf-8", "surrogateescape") for name in repository.list_paths(head)]
        if not any(name.startswith("skills/") for name in names):
            is_bare = find_git_folder(path) == path
            there = {above for name in names for above in (name, *paths.folders_above(name))}
            clients = [
                reader
                for reader in self._other_readers
                if isinstance(reader, HomeReader)
                and reader.kind != AGENTSKILLS.kind
                and (
                    reader.detect_among(path, there.__contains__)
                    if is_bare
                    else reader.detect(path)
                )
            ]
            for client in sorted(clients, key=lambda reader: reader.kind != PROJECT.kind):
                return add_skill_folders(client.layout, find_skill_folders(names))
        return layout_from_names(names, path.name)


def _prefers_program_home(found: DetectedSource) -> bool:
    """Tell whether a place is certainly a program's home, or likely and adoptable in place."""
    return found.confidence >= CERTAIN_CONFIDENCE or (
        found.in_place_folder is not None and found.confidence >= SURE_CONFIDENCE
    )


def read_history(
    detected: DetectedSource, since: str | None, allow: Collection[str], choose: LayoutChooser
) -> SourceStates:
    """Read the commits of a repository as states; `choose` returns its layout."""
    skipped = SkippedFiles()
    source_paths: dict[str, str] = {}

    def steps() -> Iterator[ImportStep]:
        folder = find_git_folder(detected.path)
        if folder is None:
            raise InvalidInput(
                f"{detected.path} is not a git repository",
                code="bad_repository",
                hint="name the folder that holds .git, or adopt the files with --as agentskills",
            )
        with GitRepository(folder) as repository:
            head = repository.head_commit()
            TreePathCounter(repository).refuse_too_many([repository.commit_tree(head)])
            layout = choose(detected.path, repository, head)
            files = CommitFiles(layout, skipped, source_paths, allow)
            yield from _history_steps(repository, head, layout, since, files)
            skipped.finish()
            at_head = {
                name.decode("utf-8", "surrogateescape") for name in repository.list_paths(head)
            }
            for path in [path for path, name in source_paths.items() if name not in at_head]:
                del source_paths[path]

    return SourceStates(steps(), skipped.notices, source_paths, doubts=skipped.doubts)


def layout_from_names(names: Collection[str], folder_name: str) -> HomeLayout:
    """Return the layout of a repository of skills by the names of its files.

    Raises `InvalidInput` (`unknown_source`) if none of them belongs to a skill.
    """
    folders = find_skill_folders(names)
    has_section = any(name.startswith("skills/") and name.endswith(".md") for name in names)
    if has_section and "" not in folders:
        top_names = {name.partition("/")[0] for name in names}
        layout = BRAIN_LAYOUT if _BRAIN_NAMES & top_names else AGENTSKILLS
    elif folders:
        layout = skill_folder_layout(folders, folder_name)
    else:
        raise InvalidInput(
            f"the newest commit of {folder_name} has no skill",
            code="unknown_source",
            hint="commit the skills (files SKILL.md), or check out the branch that has them",
        )
    return add_skill_folders(layout, folders)


class _CommitState(NamedTuple):
    listed: ListedCommit
    commit: GitCommit
    before: str


def _history_steps(
    repository: GitRepository,
    head: str,
    layout: HomeLayout,
    since: str | None,
    commit_files: CommitFiles,
) -> Iterator[ImportStep]:
    """Yield a step for each commit that is neither `since` nor an ancestor of it."""
    paths = layout_pathspecs(layout)
    listed = list(repository.list_commits(head, paths))
    known_ids = _known_commits(listed, since)
    states = list(_unknown_commits(repository, listed, known_ids))
    TreePathCounter(repository).refuse_too_many(state.commit.tree for state in states)
    pairs = ((state.before, state.commit.tree) for state in states)
    changes = repository.list_changes(pairs, paths)
    for group in _batch_states(zip(states, map(commit_files.select_changes, changes), strict=True)):
        blobs = repository.read_objects(
            (file.blob for _, wanted in group for file in wanted if file.blob),
            MAX_ADOPTED_FILE_BYTES,
        )
        for state, wanted in group:
            step_files = commit_files.read_files(wanted, blobs)
            yield _commit_step(state, step_files)
            for _ in step_files:  # the next step must start at its own blobs
                pass


def _batch_states(
    states: Iterable[tuple[_CommitState, list[WantedFile]]],
) -> Iterator[list[tuple[_CommitState, list[WantedFile]]]]:
    """Yield states in batches, whose objects are read together."""
    group: list[tuple[_CommitState, list[WantedFile]]] = []
    count = 0
    for state, wanted in states:
        group.append((state, wanted))
        count += 1 + len(wanted)
        if count >= _BATCH_ROWS:
            yield group
            group, count = [], 0
    if group:
        yield group


def _commit_step(state: _CommitState, files: Iterator[tuple[str, SourceFile | None]]) -> ImportStep:
    listed, commit = state.listed, state.commit
    return ImportStep(
        files=files,
        is_complete=not listed.parents,
        message=commit.message,
        revision=listed.id,
        author=commit.author,
        time=commit.time,
        parents=listed.parents,
    )


def _known_commits(listed: Sequence[ListedCommit], since: str | None) -> set[str]:
    """Return `since` and its ancestors; nothing if the history does not contain it."""
    parents = {commit.id: commit.parents for commit in listed}
    known_ids: set[str] = set()
    waiting = [since] if since in parents else []
    while waiting:
        commit_id = waiting.pop()
        if commit_id is not None and commit_id not in known_ids:
            known_ids.add(commit_id)
            waiting.extend(parents.get(commit_id, ()))
    return known_ids


def _unknown_commits(
    repository: GitRepository, listed: Sequence[ListedCommit], known_ids: set[str]
) -> Iterator[_CommitState]:
    """Yield the commits that are not known, each with the tree of its first parent."""
    trees: dict[str, str] = {}
    objects = repository.read_objects((commit.id for commit in listed), MAX_COMMIT_BYTES)
    for commit, git_object in zip(listed, objects, strict=True):
        try:
            parsed = commit_object.parse_commit(git_object.content or b"")
        except ValueError as error:
            raise InvalidInput(
                f"commit {commit.id[:12]} of the repository cannot be read",
                code="bad_repository",
                hint="check it with `git fsck`; or adopt only the files with --as agentskills",
            ) from error
        trees[commit.id] = parsed.tree
        if commit.id not in known_ids:
            before = trees[commit.parents[0]] if commit.parents else _EMPTY_TREES[len(parsed.tree)]
            yield _CommitState(commit, parsed, before)


def layout_pathspecs(layout: HomeLayout) -> list[str]:
    """Return git's pathspecs for the files that a layout may take; none for all files."""
    homes = [rule.home_pattern for rule in layout.rules]
    if "" in homes:
        return []
    found = {folder.rpartition("/")[0] or folder for folder in layout.skill_folders.places}
    if len(found) > _MAX_PATHSPECS:
        found = {folder.partition("/")[0] for folder in found}
    return [
        f":(glob){home}{'**' if home.endswith('/') else ''}" if "*" in home else f":(literal){home}"
        for home in (*homes, *sorted(found))
    ]
