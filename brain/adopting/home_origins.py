"""Find the files of a home that the brain adopted, and where each of them lies there.

The branch of a source says which files were adopted, and the layout of the source where they
lie. A file that was removed from the home since is not one of its origins.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..repo.changes.import_source import BRAIN_OWNED_FILES
from ..results import FileInfo
from .brain_protocol import AdoptionBrain
from .home_readers import HomeReader, SkillFolderReader
from .layouts import AGENTSKILLS, PROJECT, HomeLayout
from .publish_manifest import PublishedFile, form_mode, info_state
from .source_protocol import DetectedSource, SourceReader
from .sources import build_source, source_readers

ADOPTED_FORM, RENAMED_FORM = "adopted", "renamed"
"""Forms of files that keep the bytes of the brain, all or with another name of the skill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptedOrigin:
    """An adopted file: as it was adopted, on which branch, and whether that was merged."""

    info: FileInfo
    branch: str
    is_merged: bool

    @property
    def state(self) -> str:
        """The state of the file when it was adopted."""
        return info_state(self.info)


@dataclass(frozen=True, slots=True)
class HomeOrigins:
    """The adopted files of a home.

    `home_paths` maps paths of the brain to those of files in the home, and `adopted` paths of
    the home, also of removed files, to what was adopted there.
    """

    home_paths: dict[str, str] = field(default_factory=dict)
    adopted: dict[str, AdoptedOrigin] = field(default_factory=dict)


def find_origins(
    brain: AdoptionBrain,
    folder: Path,
    target: HomeLayout,
    snapshot: str,
    rows: Mapping[str, PublishedFile],
) -> HomeOrigins:
    """Return the adopted files of the home at `folder` that a client with `target` reads.

    `rows` are those of the record in the folder. A row counts only if adopting would take the
    file at its path in the home to its path in the brain.
    """
    origins = HomeOrigins()
    for home, row in rows.items():
        is_own = form_mode(row.form) in (ADOPTED_FORM, RENAMED_FORM)
        if is_own and target.brain_path(home) == row.path:
            origins.home_paths.setdefault(row.path, home)
    used = set(origins.home_paths.values())
    for branch, layout in _adopted_branches(brain, folder, target.kind):
        places = _InverseLayout(layout, target)
        is_merged = brain.history.check_ancestry(branch, snapshot).descends
        for info in brain.files.list(branch):
            if info.path in BRAIN_OWNED_FILES:
                continue
            for home in places.home_paths(info.path):
                if home in rows and rows[home].path != info.path:
                    continue
                origin = AdoptedOrigin(info=info, branch=branch, is_merged=is_merged)
                origins.adopted.setdefault(home, origin)
                is_there = home in rows or os.path.lexists(folder / home)
                if is_there and info.path not in origins.home_paths and home not in used:
                    origins.home_paths[info.path] = home
                    used.add(home)
                    break
    return origins


def _adopted_branches(
    brain: AdoptionBrain, folder: Path, kind: str
) -> Iterator[tuple[str, HomeLayout]]:
    """Yield the branches of sources at `folder`, that of `kind` first, with their layouts."""
    known = {info.name for info in brain.branches.list().branches}
    for reader in sorted(source_readers(), key=lambda reader: reader.kind != kind):
        branch = build_source(DetectedSource(reader.kind, folder, "", 0, None)).branch
        if branch in known and folder.is_dir():
            yield branch, _source_layout(reader, folder)


def _source_layout(reader: SourceReader, folder: Path) -> HomeLayout:
    """Return the layout of a source; files of a git history lie as in a folder of skills."""
    found = reader if isinstance(reader, HomeReader) else SkillFolderReader()
    return found.layout_at(folder)


class _InverseLayout:
    """Tells where a file of the brain may have been adopted from, for a client.

    A file in the place of another client is no origin: it has to be published for this one.
    """

    def __init__(self, source: HomeLayout, target: HomeLayout) -> None:
        self._source, self._target = source, target
        self._folders = {place: folder for folder, place in source.skill_folders.places.items()}

    def home_paths(self, path: str) -> Iterator[str]:
        """Yield the possible paths in the home."""
        for home in (*self._in_skill_folders(path), *self._source.home_paths(path)):
            if self._is_read(home) and self._source.brain_path(home) == path:
                yield home

    def _in_skill_folders(self, path: str) -> Iterator[str]:
        place = path
        while place := place.rpartition("/")[0]:
            if place in self._folders:
                yield self._folders[place] + path[len(place) :]

    def _is_read(self, home: str) -> bool:
        return (
            self._source.kind == self._target.kind
            or self._target.client == AGENTSKILLS.client
            or self._target.has_rule_for(home)
            or not PROJECT.has_rule_for(home)
        )
