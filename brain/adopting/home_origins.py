"""Find the files of a home that the brain adopted, and where each of them lies there.

The branch of a source says which files were adopted, and the layout of the source where they
lie. A file that was removed from the home since is not one of its origins.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..digest import blob_id
from ..errors import InvalidInput, printable_text
from ..ops.import_states import BRAIN_OWNED_FILES, ImportSource
from ..results import FileInfo
from ..skills.skill_layout import FOLDER_SUFFIXES
from .brain_protocol import AdoptionBrain
from .layouts import AGENTSKILLS, PROJECT, HomeLayout
from .publish_manifest import PublishedFile, has_own_place, info_state
from .publish_plan import read_manifest_at
from .source_files import DetectedSource, real_place
from .sources import build_source, source_readers


class AdoptedOrigin(NamedTuple):
    """An adopted file as the head has adopted it last: `state` names what was imported then."""

    info: FileInfo
    snapshot: str

    @property
    def state(self) -> str:
        """The state of the file when it was adopted."""
        return info_state(self.info)


@dataclass(frozen=True, slots=True)
class HomeOrigins:
    """The adopted files of a home.

    `home_paths` maps paths of the brain to those of files in the home, and `adopted` paths of
    the home, also of removed files, to what was adopted there. `linked` are links to
    files: adoption reads such files, and publishing does not change them. `linked_folders` were
    adopted, and links of the home lead to them. `sources` are the kinds and branches of what
    was adopted from there. `waiting` are the branches of states that were read from there and
    are not merged yet.
    """

    home_paths: dict[str, str] = field(default_factory=dict)
    adopted: dict[str, AdoptedOrigin] = field(default_factory=dict)
    linked: set[str] = field(default_factory=set)
    sources: set[tuple[str, str]] = field(default_factory=set)
    linked_folders: set[Path] = field(default_factory=set)
    waiting: list[str] = field(default_factory=list)


def find_origins(
    brain: AdoptionBrain,
    folder: Path,
    target: HomeLayout,
    snapshot: str,
    rows: Mapping[str, PublishedFile],
    published: Collection[str] = (),
) -> HomeOrigins:
    """Return the adopted files of the home at `folder` that a client with `target` reads.

    `rows` are those of the record in the folder. A row counts only if adopting would take the
    file at its path in the home to its path in the brain. `published` are the paths of the
    snapshot that was published: of these, what has no row was left out, and never there.
    """
    finder = _OriginFinder(folder, target, rows, published)
    finder.add_published()
    for source, layout in _adopted_sources(brain, folder, target.kind):
        finder.origins.sources.add((source.kind, source.branch))
        merged = _last_merged_state(brain, source.branch, snapshot, finder.origins.waiting)
        finder.add_source(layout, source.branch, merged, brain.files.list(merged))
    for rule in target.rules:
        place = folder / rule.home_pattern
        if rule.brain_pattern == "skills/" and os.path.islink(place):
            _add_linked_source(brain, finder.origins, rule.home_pattern, place, snapshot)
    return finder.origins


def _add_linked_source(
    brain: AdoptionBrain, origins: HomeOrigins, prefix: str, place: Path, snapshot: str
) -> None:
    """Add the files of a folder of skills that is a link to a folder that was adopted."""
    real = Path(os.path.realpath(place))
    for source, layout in _adopted_sources(brain, real, "agentskills"):
        finder = _OriginFinder(real, layout, {}, ())
        merged = _last_merged_state(brain, source.branch, snapshot, origins.waiting)
        finder.add_source(layout, source.branch, merged, brain.files.list(merged))
        origins.linked_folders.add(real)
        for path, home in finder.origins.home_paths.items():
            origins.home_paths.setdefault(path, prefix + home)
        for home, origin in finder.origins.adopted.items():
            origins.adopted.setdefault(prefix + home, origin)


def own_path(branch: str, layout: HomeLayout, path: str) -> str:
    """Return the path of its own that a file of a source gets where another one has `path`."""
    is_system = path in map(layout.brain_path, layout.system) and path.endswith(".md")
    return f"prompts/{'fragments' if is_system else 'sources'}/{_source_name(branch)}/{path}"


def usual_path(branch: str, path: str) -> str:
    """Return the path that the layout gives a file of a source, for one with an own path too."""
    parts = path.split("/", 3)
    is_own = parts[0] == "prompts" and parts[1:2] in (["fragments"], ["sources"])
    return parts[3] if is_own and parts[2:3] == [_source_name(branch)] and parts[3:] else path


def _source_name(branch: str) -> str:
    return branch.rpartition("/")[2]


def find_sources(
    brain: AdoptionBrain, rev: str, paths: Collection[str], own: Collection[str]
) -> dict[str, set[tuple[str, str]]]:
    """Return the sources, by kind and branch, from which some files came; none but `own`: {}.

    A file that was edited in a folder after its publication there came from the brain.
    """
    found: dict[str, set[tuple[str, str]]] = {}
    listed = sorted(paths)
    names = [info.name for info in brain.branches.list().branches]
    branches = [name for name in names if name.startswith("adopted/")]
    if set(branches) <= set(own) and not read_manifest_at(brain, rev).home:
        return {}  # and the lineage need not be read
    for info in brain.history.log(rev, paths=listed) if listed else ():
        if info.operation["kind"] == "import":
            kind, name = info.operation["origin"], info.operation["name"]
            prefix = f"adopted/{kind}-{name[:64]}-"
            same = [one for one in branches if one.rpartition("-")[0] + "-" == prefix]
            if len(same) > 1:  # folders of one name
                check = brain.history.check_ancestry
                same = [one for one in same if check(info.snapshot, one).descends] or same
            for change in brain.history.diff_with_parent(info.snapshot, paths=listed).changes:
                if change.change in ("added", "renamed"):
                    here = ((kind, branch) for branch in same or [prefix])
                    found.setdefault(change.path, set()).update(here)
    return found


class _OriginFinder:
    """Collects origins; those of one source after the other.

    A file that lies in the place of another client is no origin: this client gets a copy.
    """

    def __init__(
        self,
        folder: Path,
        target: HomeLayout,
        rows: Mapping[str, PublishedFile],
        published: Collection[str],
    ) -> None:
        self._published = published
        self.origins = HomeOrigins()
        self._folder, self._target, self._rows = folder, target, rows
        self._used: set[str] = set()
        self._source, self._branch = target, ""
        self._skill_folders: dict[str, str] = {}

    def add_published(self) -> None:
        """Add the files that the record says were published where they were adopted from."""
        for home, row in self._rows.items():
            if has_own_place(row) and self._target.brain_path(home) == row.path:
                self._use(row.path, home)

    def add_source(
        self, layout: HomeLayout, branch: str, snapshot: str, infos: Iterable[FileInfo]
    ) -> None:
        """Add the adopted files of a source, as a snapshot of its branch has them."""
        self._source, self._branch = layout, branch
        places = layout.skill_folders.places
        self._skill_folders = {place: folder for folder, place in places.items()}
        for info in sorted(infos, key=lambda info: not info.path.endswith(FOLDER_SUFFIXES)):
            if info.path not in BRAIN_OWNED_FILES:
                self._add(AdoptedOrigin(info, snapshot))

    def _add(self, origin: AdoptedOrigin) -> None:
        """Add an adopted file, if it lies where the client reads it, or was removed there."""
        path = origin.info.path
        possible = [home for home in self._possible_homes(path) if self._may_hold(home, path)]
        existing = [real_place(self._folder, home) for home in possible if self._exists(home)]
        if path in self._published:
            possible = [home for home in possible if home in self._rows]
        for home in existing[:1] or possible:
            if self._is_read(home):
                self.origins.adopted.setdefault(home, origin)
                if existing:
                    self._use(path, home)
                    if path.endswith(FOLDER_SUFFIXES) and home.endswith(FOLDER_SUFFIXES):
                        folder = home.rpartition("/")[0]
                        self._skill_folders.setdefault(path.rpartition("/")[0], folder)
                    if _is_linked_copy(self._folder / home, origin.info):
                        self.origins.linked.add(home)

    def _use(self, path: str, home: str) -> None:
        if path not in self.origins.home_paths and home not in self._used:
            self.origins.home_paths[path] = home
            self._used.add(home)

    def _possible_homes(self, path: str) -> Iterator[str]:
        place = path
        while place := place.rpartition("/")[0]:
            if place in self._skill_folders:
                yield self._skill_folders[place] + path[len(place) :]
                return  # a skill lies in one place, with all its files
        yield from self._source.home_paths(usual_path(self._branch, path))

    def _may_hold(self, home: str, path: str) -> bool:
        row = self._rows.get(home)
        is_place = self._source.brain_path(home) == usual_path(self._branch, path)
        return is_place and (row is None or row.path == path)

    def _exists(self, home: str) -> bool:
        return home in self._rows or os.path.lexists(self._folder / home)

    def _is_read(self, home: str) -> bool:
        return (
            self._source.kind == self._target.kind
            or self._target.client == AGENTSKILLS.client
            or self._target.has_rule_for(home)
            or not PROJECT.has_rule_for(home)
        )


def _is_linked_copy(path: Path, info: FileInfo) -> bool:
    """Tell whether a path is a link to a file with the content that was adopted as a file."""
    return (
        info.kind != "link"
        and path.is_symlink()
        and path.is_file()
        and path.stat().st_size == info.size
        and blob_id(path.read_bytes()).hex() == info.blob
    )


def _adopted_sources(
    brain: AdoptionBrain, folder: Path, kind: str
) -> Iterator[tuple[ImportSource, HomeLayout]]:
    """Yield the sources at `folder` that were adopted, that of `kind` first, with their layouts."""
    known = {info.name for info in brain.branches.list().branches}
    for reader in sorted(source_readers(), key=lambda reader: reader.kind != kind):
        source = build_source(DetectedSource(reader.kind, folder, "", 0, None))
        if source.branch in known and folder.is_dir():
            yield source, reader.layout_at(folder)


def adopted_layout(brain: AdoptionBrain, folder: Path) -> HomeLayout:
    """Return the layout in which a folder was adopted. Raises `InvalidInput` (`bad_client`)."""
    found = [layout for _, layout in _adopted_sources(brain, folder, "")]
    if len(found) != 1:
        kinds = " and ".join(layout.kind for layout in found)
        raise InvalidInput(
            f"{printable_text(str(folder))} was adopted as {kinds}"
            if found
            else f"nothing was adopted from {printable_text(str(folder))}",
            code="bad_client",
            hint="say with --to which program reads it, such as `--to claude`",
        )
    return found[0]


def _last_merged_state(brain: AdoptionBrain, branch: str, snapshot: str, waiting: list[str]) -> str:
    """Return the newest state of a source that a snapshot holds; a newer one is `waiting`.

    A state that waits for conflicts is not adopted: its edits are nowhere but in the home.
    """
    for info in brain.history.log(branch):
        if brain.history.check_ancestry(info.snapshot, snapshot).descends:
            return info.snapshot
        if branch not in waiting:
            waiting.append(branch)
    return brain.id
