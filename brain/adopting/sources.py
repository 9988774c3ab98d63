"""All kinds of sources that can be adopted, and the detection of the right one."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from ..digest import blob_id
from ..errors import InvalidInput
from ..ops.import_states import ImportSource
from ..skills.slug import fold_to_slug
from . import layouts, publish_manifest
from .home_readers import (
    CERTAIN_CONFIDENCE,
    SURE_CONFIDENCE,
    HomeReader,
    MemFsReader,
    ProjectReader,
    SkillFolderReader,
    path_exists,
)
from .source_files import DetectedSource

_HOME_FOLDERS = (
    *(layout.home_name for layout in layouts.HOME_LAYOUTS if layout.home_name),
    ".agents",
)


def source_readers() -> list[HomeReader]:
    """Return new readers of all kinds."""
    clients = [HomeReader(layout) for layout in chain(*layouts.CLIENT_LAYOUTS.values())]
    homes = [client for client in clients if client.layout.home_name]
    projects = [client for client in clients if client.layout.skills_anywhere]
    letta = [MemFsReader(layouts.LETTA), MemFsReader(layouts.LETTA_SYSTEM)]
    return [*clients, ProjectReader(projects), SkillFolderReader(homes), *letta]


def detect_source(path: Path, kind: str | None = None) -> tuple[HomeReader, DetectedSource]:
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
    assumed = [(reader, detected) for reader in chosen if (detected := reader.assume_kind(path))]
    # the files that a brain published may be too few to detect the program
    published_kinds = publish_manifest.published_kinds(path) - {reader.kind for reader, _ in found}
    found += [pair for pair in assumed if pair[0].kind in published_kinds]
    if kind is not None and not found:
        found = assumed[:1]
    likely = _most_likely(_prefer_collection(path, _prefer_named_home(path, found)))
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


def _prefer_named_home(
    path: Path, found: list[tuple[HomeReader, DetectedSource]]
) -> list[tuple[HomeReader, DetectedSource]]:
    """Leave out other programs, if the folder has the name of the home of one that was found."""
    named = [pair for pair in found if pair[0].layout.is_home(path)]
    return named or found


def _prefer_collection(
    path: Path, found: list[tuple[HomeReader, DetectedSource]]
) -> list[tuple[HomeReader, DetectedSource]]:
    """Leave out other programs, if a repository has skills at its top and is no program's home.

    What it has for the programs of those who work on it, such as CLAUDE.md, is not for others.
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
    """Return the import source of a folder: its name, and a branch unique to the folder.

    The kind of a repository at a URL is `git`, whatever is found in it.
    """
    kind = "git" if detected.origin else detected.kind
    name = fold_to_slug(detected.path.name) or kind
    place = detected.origin or str(detected.path.resolve())
    place = blob_id(place.encode("utf-8", "surrogateescape")).hex()[:8]
    return ImportSource(kind, name, f"adopted/{kind}-{name[:64]}-{place}")


def _most_likely(
    candidates_found: list[tuple[HomeReader, DetectedSource]],
) -> list[tuple[HomeReader, DetectedSource]]:
    """Return the best source of each certain program, else the one of greatest confidence."""
    project = [pair for pair in candidates_found if isinstance(pair[0], ProjectReader)]
    if project:  # the programs of which it consists do not compete with it
        others = [pair for pair in candidates_found if not pair[0].layout.skills_anywhere]
        candidates_found = [*project, *others]
    best: dict[str, tuple[HomeReader, DetectedSource]] = {}
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
