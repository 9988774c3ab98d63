"""Detect which kind of source is at a path, and read its files: homes and folders of skills."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path

from ..digest import blob_id
from ..errors import InvalidInput
from ..folder.handles import FolderHandles, open_root
from ..objects.tree_node import LINK
from ..ops.import_states import ImportSource
from ..skills.skill_layout import SKILL_FILES, slug_from_path
from ..skills.slug import fold_to_slug
from .layouts import (
    AGENTSKILLS,
    CLIENT_LAYOUTS,
    HOME_LAYOUTS,
    LETTA,
    LETTA_SYSTEM,
    PROJECT,
    REASON_OTHER,
    REASON_STATE,
    HomeLayout,
    PathRule,
)
from .publish_manifest import published_kinds
from .scan_home import scan_home
from .skill_search import MAX_SEARCHED, SkillSearch, add_skill_folders, search_skills
from .source_files import (
    INSTRUCTION_FILES,
    DetectedSource,
    FilesRead,
    SkipFile,
    SkippedFiles,
    SourceState,
    filter_unsafe,
    read_home_file,
    report_imports,
)

CERTAIN_CONFIDENCE = 50
"""Confidence for a place that can be nothing else."""
SURE_CONFIDENCE, LIKELY_CONFIDENCE = 30, 20
"""Confidence if a mark of a program exists, or only signs; each mark and sign adds 1."""


class HomeReader:
    """Recognises and reads the home of one kind of program."""

    def __init__(self, layout: HomeLayout) -> None:
        self.layout = layout
        self.kind = layout.kind
        self._searches: dict[Path, SkillSearch] = {}

    def detect(self, path: Path) -> DetectedSource | None:
        """Look for marks and signs of the program, without reading files."""
        layout, exists = self.layout, partial(path_exists, path)
        marks = list(filter(exists, layout.marks))
        signs = list(filter(exists, layout.signs))
        if layout.is_home(path) and not marks:
            marks = list(filter(exists, self._places()))
        is_other_kind = any(map(exists, layout.excluding_marks))
        if is_other_kind or (not marks and len(signs) < layout.min_signs):
            return None
        weight = (SURE_CONFIDENCE if marks else LIKELY_CONFIDENCE) + min(len(marks) + len(signs), 9)
        return DetectedSource(
            self.kind, path, ", ".join((marks + signs)[:3]), weight, self.in_place_folder(path)
        )

    def assume_kind(self, path: Path) -> DetectedSource | None:
        """Accept a folder as such a home because the user says so, if a rule matches anything."""
        evidence = next((place for place in self._places() if path_exists(path, place)), None)
        if evidence is None:
            return None
        folder = self.in_place_folder(path)
        return DetectedSource(self.kind, path, evidence, SURE_CONFIDENCE, folder)

    def _places(self) -> Iterator[str]:
        """Yield the files and folders that rules of the layout name."""
        places = (rule.home_pattern.partition("*")[0].rstrip("/") for rule in self.layout.rules)
        return filter(None, places)

    def in_place_folder(self, path: Path) -> Path | None:
        """Return the folder that can be adopted in place, None if there is none."""
        return path if self.layout.in_place else None

    def layout_at(self, path: Path, *, is_clone: bool = False) -> HomeLayout:
        """Return the layout of the home at `path`, with the skills found there."""
        return self.with_skills(self.layout, path)

    def with_skills(self, layout: HomeLayout, path: Path) -> HomeLayout:
        """Return a layout with the skills at `path` that its rules do not take."""
        return add_skill_folders(layout, self.search(path).folders, partial(_are_equal, path))

    def search(self, path: Path) -> SkillSearch:
        """Find the skills at `path`, once."""
        if path not in self._searches:
            self._searches[path] = search_skills(path, self._search_skip_reason)
        return self._searches[path]

    def has_skills_elsewhere(self, path: Path) -> bool:
        """Tell whether skills at `path` lie in folders of which the program knows nothing."""
        left_out = self.search(path).left_out
        return any(self._search_skip_reason(folder) == REASON_OTHER for folder in left_out)

    def _search_skip_reason(self, path: str) -> str:
        """Return why skills in a folder are not adopted; a hidden folder may have some."""
        reason = self.layout.skip_reason(path)
        if self.layout.skills_anywhere:
            return "" if reason == REASON_STATE else reason
        return reason or ("" if self.layout.may_contain(path) else REASON_OTHER)

    def read(self, detected: DetectedSource, allow: Collection[str]) -> SourceState:
        """Read the home.

        Files with certain secrets are skipped (code `secret`; the reason has rule, line and
        id), unless `allow` has the id of the finding.
        """
        skipped = SkippedFiles()
        source_paths: dict[str, str] = {}
        files = scan_home(
            detected.path,
            self.layout_at(detected.path, is_clone=bool(detected.origin)),
            skipped,
            self.search(detected.path).left_out,
        )

        def read_files() -> FilesRead:
            instructions = []
            for found in filter_unsafe(files, skipped, allow):
                home, brain, file = found
                source_paths[brain] = home
                is_text = file.kind != LINK and not brain.startswith("skills/")
                if is_text and home.rpartition("/")[2] in INSTRUCTION_FILES:
                    instructions.append(found)
                yield brain, file
            taken = frozenset(source_paths.values())
            for found in instructions:
                report_imports(detected, found, taken, skipped)
            if not self.search(detected.path).is_complete:
                reason = f"only {MAX_SEARCHED} files were searched for skills"
                skipped.add("not_searched", "", reason)
            skipped.finish()

        message = f"Adopt {self.layout.title} {detected.path.name}"
        return SourceState(read_files(), skipped, source_paths, message, skipped.is_unread)


_MAX_COMPARED_FILES = 1000


def _are_equal(root: Path, one: str, other: str) -> bool:
    """Tell whether two folders below `root` have the same files; False for very many."""
    found = [
        {
            path.relative_to(root / folder)
            for path in islice((root / folder).rglob("*"), _MAX_COMPARED_FILES)
            if path.is_symlink() or not path.is_dir()
        }
        for folder in (one, other)
    ]
    if found[0] != found[1] or len(found[0]) >= _MAX_COMPARED_FILES:
        return False
    with open_root(root) as fd, closing(FolderHandles(fd)) as folders, suppress(SkipFile):
        pairs = ((f"{one}/{name}", f"{other}/{name}") for name in found[0])
        return all(read_home_file(folders, a) == read_home_file(folders, b) for a, b in pairs)
    return False


def path_exists(root: Path, name: str) -> bool:
    """Tell whether a path below `root` exists, even as a broken link."""
    return os.path.lexists(root / name)


_USER_HOME_KINDS = frozenset(("hermes", "openclaw-state"))
"""Kinds whose folder, by its name, lies in the home of a user only and in no project."""
PLAIN_CONFIDENCE = 10
"""Confidence for skills without a sign of a program."""


class ProjectReader(HomeReader):
    """Recognises a project in which several programs are used, and reads the files of all."""

    def __init__(self, others: Sequence[HomeReader]) -> None:
        super().__init__(PROJECT)
        self._others = others

    def detect(self, path: Path) -> DetectedSource | None:
        """Look for the marks of at least two programs."""
        found = [detected for reader in self._others if (detected := reader.detect(path))]
        sure = [detected for detected in found if detected.confidence >= SURE_CONFIDENCE]
        if len(sure) < 2:
            return None
        evidence = ", ".join(detected.evidence for detected in sure)
        return DetectedSource(self.kind, path, evidence, SURE_CONFIDENCE, None)


class SkillFolderReader(HomeReader):
    """Recognises and reads folders of skills outside the home of a program."""

    def __init__(self, homes: Sequence[HomeReader] = ()) -> None:
        super().__init__(AGENTSKILLS)
        self._homes = homes

    def detect(self, path: Path) -> DetectedSource | None:
        """Look for SKILL.md at any depth, unless the folder contains the home of a program."""
        if not path.is_dir() or self._contains_home(path):
            return None
        folders = self.search(path).folders
        if not folders:
            return None
        folder = self.in_place_folder(path)
        evidence = "SKILL.md" if "" in folders else "skills/" if folder else f"{folders[0]}/"
        return DetectedSource(self.kind, path, evidence, PLAIN_CONFIDENCE, folder)

    def _contains_home(self, path: Path) -> bool:
        """Tell whether a folder, such as that of a user, contains the home of a program."""
        return any(
            (home.kind in _USER_HOME_KINDS and (path / home.layout.home_name).is_dir())
            or any(path_exists(path / home.layout.home_name, mark) for mark in home.layout.marks)
            for home in self._homes
        )

    def in_place_folder(self, path: Path) -> Path | None:
        """Return the folder if it contains `skills/` with skills."""
        folders = self.search(path).folders
        has_section = any(folder.startswith("skills/") for folder in folders)
        return path if has_section and "" not in folders else None

    def layout_at(self, path: Path, *, is_clone: bool = False) -> HomeLayout:
        """Return the layout for the places of the skills; all files of a cloned brain are taken."""
        layout, folders = AGENTSKILLS, self.search(path).folders
        if "" in folders:
            rule = PathRule("", f"skills/{slug_from_path(f'{path.name}/{SKILL_FILES[0]}')}/")
            hidden = (*layout.skipped_patterns, (".*", "hidden"))
            layout = replace(layout, rules=(rule,), reported_folders=(), skipped_patterns=hidden)
        elif not any(folder.startswith("skills/") for folder in folders):
            layout = replace(layout, rules=())
        if self._is_shared_brain(path):
            names = ("",) if is_clone else ("skills/", "memory/", "prompts/")
            layout = replace(layout, rules=tuple(PathRule(name, name) for name in names))
            if is_clone:
                layout = replace(layout, skipped_patterns=())
        return self.with_skills(layout, path)

    def _is_shared_brain(self, path: Path) -> bool:
        """Tell whether a repository holds the files of a brain, without its store."""
        names = ("manifest.yaml", "memory", "prompts")
        is_shared = path_exists(path, ".git") and any(path_exists(path, name) for name in names)
        return is_shared and self.in_place_folder(path) is not None


_LETTA_SECTION = b"[letta]"
_MAX_CONFIG_BYTES = 64 << 10


class MemFsReader(HomeReader):
    """Recognises one generation of Letta's MemFS, by the files of every agent or by its git config.

    In the older generation the files below `system/` are in every prompt; since 0.34 those at the
    top are, with an index called MEMORY.md.
    """

    def detect(self, path: Path) -> DetectedSource | None:
        """Look for the files of every agent, and for Letta's section in the git config."""
        signs = [sign for sign in self.layout.signs if path_exists(path, sign)]
        has_config = _has_letta_config(path)
        if (path / "system").is_dir() != (self.layout is LETTA_SYSTEM):
            return None
        if not has_config and len(signs) < self.layout.min_signs:
            return None
        evidence = ", ".join([*([".git of Letta"] if has_config else []), *signs][:3])
        return DetectedSource(self.kind, path, evidence, CERTAIN_CONFIDENCE, None)


def _has_letta_config(path: Path) -> bool:
    try:
        with open(path / ".git" / "config", "rb", opener=_open_nonblocking) as config:
            return _LETTA_SECTION in config.read(_MAX_CONFIG_BYTES)
    except OSError:
        return False


def _open_nonblocking(path: str, flags: int) -> int:
    """Open a file that may be a pipe without a writer."""
    return os.open(path, flags | os.O_NONBLOCK)


_Found = tuple[HomeReader, DetectedSource]
_HOME_FOLDERS = (
    *(layout.home_name for layout in HOME_LAYOUTS if layout.home_name),
    ".agents",
)


def source_readers() -> list[HomeReader]:
    """Return new readers of all kinds."""
    clients = [HomeReader(layout) for layout in chain(*CLIENT_LAYOUTS.values())]
    homes = [client for client in clients if client.layout.home_name]
    projects = [client for client in clients if client.layout.skills_anywhere]
    letta = [MemFsReader(LETTA), MemFsReader(LETTA_SYSTEM)]
    return [*clients, ProjectReader(projects), SkillFolderReader(homes), *letta]


def detect_source(path: Path, kind: str | None = None) -> _Found:
    """Return the reader for the source at `path`, and the source.

    `kind` chooses among several; the name of a program means all its kinds. Raises
    `InvalidInput` (`no_source`, `unknown_source`, `ambiguous_source`, `bad_kind`).
    """
    if not path.exists():
        raise InvalidInput(
            f"{path} does not exist",
            code="no_source",
            hint="name the folder of a program, such as ~/.hermes, or the URL of a repository,"
            " such as https://github.com/OWNER/NAME",
        )
    readers = source_readers()
    if kind is not None and not any(_is_of_kind(reader, kind) for reader in readers):
        raise InvalidInput(
            f"there is no kind of source {kind}",
            code="bad_kind",
            hint=f"use one of: {', '.join(reader.kind for reader in readers)}",
        )
    chosen = [reader for reader in readers if kind is None or _is_of_kind(reader, kind)]
    found = [(reader, detected) for reader in chosen if (detected := reader.detect(path))]
    found = _leave_out_weak_homes(path, found)
    # the files that a brain published may be too few to detect the program
    published = published_kinds(path) - {reader.kind for reader, _ in found}
    for reader in sorted(chosen, key=lambda one: one.kind not in published):
        is_assumed = reader.kind in published or (kind is not None and not found)
        if is_assumed and (detected := reader.assume_kind(path)):
            found.append((reader, detected))
    named = [pair for pair in found if pair[0].layout.is_home(path)]
    likely = _most_likely(_prefer_collection(path, named or found))
    if not likely:
        raise _unknown_source_error(path, kind)
    if len(likely) > 1:
        kinds = [f"{detected.kind} ({detected.evidence})" for _, detected in likely]
        raise InvalidInput(
            f"{path} may be {' or '.join(kinds)}",
            code="ambiguous_source",
            hint=f"choose one, as with --as {likely[0][1].kind}; then adopt it again as the other",
        )
    return likely[0]


def _leave_out_weak_homes(path: Path, found: list[_Found]) -> list[_Found]:
    """Leave out homes that a folder of skills has but weak evidence of, and does not fit.

    One mark, such as `config.toml`, is weak beside another program, or if some skills lie where
    that program reads none. Signs alone are if all of the skills do.
    """
    if not any(isinstance(reader, SkillFolderReader) for reader, _ in found):
        return found
    sure = [
        reader
        for reader, detected in found
        if detected.confidence >= SURE_CONFIDENCE and not isinstance(reader, ProjectReader)
    ]

    def fits(reader: HomeReader, detected: DetectedSource) -> bool:
        is_home = not reader.layout.skills_anywhere
        if not is_home or reader.layout.is_home(path) or detected.confidence > SURE_CONFIDENCE + 1:
            return True
        if detected.confidence < SURE_CONFIDENCE:
            return bool(reader.search(path).folders)
        return sure == [reader] and not reader.has_skills_elsewhere(path)

    return [pair for pair in found if fits(*pair)]


def _prefer_collection(path: Path, found: list[_Found]) -> list[_Found]:
    """Leave out other programs, if a repository has skills at its top and is no program's home.

    Files such as CLAUDE.md are there for people who work on the repository, not for its users.
    """
    collections = [pair for pair in found if isinstance(pair[0], SkillFolderReader)]
    is_home = any(
        detected.confidence >= (SURE_CONFIDENCE if detected.in_place_folder else CERTAIN_CONFIDENCE)
        for _, detected in found
    )
    if is_home or not path_exists(path, ".git"):
        return found
    return [pair for pair in collections if pair[1].in_place_folder] or found


def build_source(detected: DetectedSource) -> ImportSource:
    """Return the import source of a folder, a URL or an archive: its name, and a branch of its own.

    The branch ends with the place, so that a source is known by it, whatever is found there.
    """
    is_archive = os.path.isabs(detected.origin)
    path = Path(detected.origin) if is_archive else detected.path
    name = fold_to_slug(path.stem if is_archive else path.name) or detected.kind
    place = detected.origin or str(detected.path.resolve())
    place = blob_id(place.encode("utf-8", "surrogateescape")).hex()[:8]
    return ImportSource(detected.kind, name, f"adopted/{detected.kind}-{name[:64]}-{place}")


def _most_likely(
    candidates_found: list[_Found],
) -> list[_Found]:
    """Return the best source of each certain program, else the one of greatest confidence."""
    project = [pair for pair in candidates_found if isinstance(pair[0], ProjectReader)]
    if project:  # the programs of which it consists do not compete with it
        others = [pair for pair in candidates_found if not pair[0].layout.skills_anywhere]
        candidates_found = [*project, *others]
    best: dict[str, _Found] = {}
    for reader, detected in sorted(candidates_found, key=lambda pair: -pair[1].confidence):
        best.setdefault(reader.layout.client, (reader, detected))
    candidates = list(best.values())
    for threshold in (CERTAIN_CONFIDENCE, SURE_CONFIDENCE):
        if candidates and candidates[0][1].confidence >= threshold:
            return [pair for pair in candidates if pair[1].confidence >= threshold]
    return candidates[:1]


def _is_of_kind(reader: HomeReader, kind: str) -> bool:
    return kind in (reader.kind, reader.layout.client)


def _unknown_source_error(path: Path, kind: str | None) -> InvalidInput:
    expected = f"a home of kind {kind}" if kind else "anything that can be adopted"
    homes = [name for name in _HOME_FOLDERS if (path / name).is_dir()]
    hint = f"it contains {' and '.join(homes)}: name that folder" if homes else ""
    return InvalidInput(
        f"{path} does not look like {expected}",
        code="unknown_source",
        hint=hint or "see `brain adopt --help` for what can be adopted",
    )
