"""Readers of program homes and of folders of skills."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from ..skills.skill_layout import SKILL_FILES, slug_from_path
from .content_checks import filter_unsafe
from .home_layout import PathRule
from .layouts import AGENTSKILLS, HomeLayout
from .scan_home import scan_home
from .skipped import SkippedFiles
from .source_protocol import DetectedSource, ImportStep, SourceFile, SourceStates

SURE_CONFIDENCE, LIKELY_CONFIDENCE = 30, 20
"""Confidence if a mark of a program exists, or only signs; each mark and sign adds 1."""


class HomeReader:
    """Recognises and reads the home of one kind of program."""

    def __init__(self, layout: HomeLayout) -> None:
        self.layout = layout
        self.kind = layout.kind

    def detect(self, path: Path) -> DetectedSource | None:
        """Look for marks and signs of the program, without reading files."""
        layout = self.layout
        marks = [mark for mark in layout.marks if path_exists(path, mark)]
        signs = [sign for sign in layout.signs if path_exists(path, sign)]
        is_other_kind = any(path_exists(path, mark) for mark in layout.excluding_marks)
        if is_other_kind or (not marks and len(signs) < layout.min_signs):
            return None
        weight = (SURE_CONFIDENCE if marks else LIKELY_CONFIDENCE) + min(len(marks) + len(signs), 9)
        return DetectedSource(
            self.kind, path, ", ".join((marks + signs)[:3]), weight, self.in_place_folder(path)
        )

    def assume_kind(self, path: Path) -> DetectedSource | None:
        """Accept a folder as such a home because the user says so, if a rule matches anything."""
        places = (rule.home_pattern.partition("*")[0].rstrip("/") for rule in self.layout.rules)
        evidence = next((place for place in places if place and path_exists(path, place)), None)
        if evidence is None:
            return None
        folder = self.in_place_folder(path)
        return DetectedSource(self.kind, path, evidence, SURE_CONFIDENCE, folder)

    def in_place_folder(self, path: Path) -> Path | None:
        """Return the folder that can be adopted in place, None if there is none."""
        return path if self.layout.in_place else None

    def layout_at(self, path: Path) -> HomeLayout:
        """Return the layout of the home at `path`."""
        return self.layout

    def read_states(
        self, detected: DetectedSource, since: str | None, allow: Collection[str]
    ) -> SourceStates:
        """Read the home as a single complete state."""
        skipped = SkippedFiles()
        source_paths: dict[str, str] = {}
        step = ImportStep(
            _read_files(detected.path, self.layout_at(detected.path), skipped, source_paths, allow),
            is_complete=True,
            message=f"Adopt {self.layout.title} {detected.path.name}",
            keeps_path=skipped.is_unread,
        )
        return SourceStates(
            iter((step,)), skipped.notices, source_paths, skipped.skipped_paths, skipped.doubts
        )


def _read_files(
    root: Path,
    layout: HomeLayout,
    skipped: SkippedFiles,
    source_paths: dict[str, str],
    allow: Collection[str],
) -> Iterator[tuple[str, SourceFile | None]]:
    for home, brain, file in filter_unsafe(scan_home(root, layout, skipped), skipped, allow):
        source_paths[brain] = home
        yield brain, file
    if path_exists(root, ".git"):
        skipped.add("history", ".git", "a git history: adopt it with --as git")
    skipped.finish()


def path_exists(root: Path, name: str) -> bool:
    """Tell whether a path below `root` exists, even as a broken link."""
    return os.path.lexists(root / name)


PLAIN_CONFIDENCE = 10
"""Confidence for skills without a sign of a program. A git history of them counts more."""
_MAX_NAMES = 10_000
"""Names read from one folder."""
_SKILL_SUFFIX = f"/{SKILL_FILES[0]}"


class SkillFolderReader(HomeReader):
    """Recognises and reads folders of skills outside the home of a program."""

    def __init__(self) -> None:
        super().__init__(AGENTSKILLS)

    def detect(self, path: Path) -> DetectedSource | None:
        """Look for SKILL.md: in the folder, in `skills/`, or up to two folders below."""
        if _has_skill_file(path):
            return DetectedSource(self.kind, path, "SKILL.md", PLAIN_CONFIDENCE, None)
        if _skill_folders(path / "skills"):
            return DetectedSource(self.kind, path, "skills/", PLAIN_CONFIDENCE, path)
        skill_folders = _skill_folders(path)
        if skill_folders:
            return DetectedSource(self.kind, path, f"{min(skill_folders)}/", PLAIN_CONFIDENCE, None)
        return None

    def in_place_folder(self, path: Path) -> Path | None:
        """Return the folder if it contains `skills/`."""
        return path if not _has_skill_file(path) and _skill_folders(path / "skills") else None

    def layout_at(self, path: Path) -> HomeLayout:
        """Return the layout for the place of the skills in `path`."""
        if _has_skill_file(path):
            rule = PathRule("", f"skills/{slug_from_path(path.name + _SKILL_SUFFIX)}/")
            return replace(
                AGENTSKILLS,
                rules=(rule,),
                reported_folders=(),
                skipped_patterns=((".*", "hidden"),),
            )
        if _skill_folders(path / "skills"):
            return AGENTSKILLS
        return replace(
            AGENTSKILLS, rules=(PathRule("", "skills/"),), top_folders=_skill_folders(path)
        )


def _skill_folders(folder: Path) -> frozenset[str]:
    """Return the names of the skills and categories of skills in `folder`."""
    return frozenset(
        name
        for name, is_folder in _list_names(folder)
        if is_folder and _contains_skill(folder / name)
    )


def _contains_skill(folder: Path) -> bool:
    return _has_skill_file(folder) or any(
        is_folder and _has_skill_file(folder / name) for name, is_folder in _list_names(folder)
    )


def _has_skill_file(folder: Path) -> bool:
    return any(os.path.lexists(folder / name) for name in SKILL_FILES)


def _list_names(folder: Path) -> list[tuple[str, bool]]:
    """Return the names in `folder` that are not hidden, and whether each is a folder."""
    try:
        with os.scandir(folder) as entries:
            return [
                (entry.name, entry.is_dir(follow_symlinks=False))
                for entry in islice(entries, _MAX_NAMES)
                if not entry.name.startswith(".")
            ]
    except OSError:
        return []
