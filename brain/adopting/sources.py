"""All kinds of sources that can be adopted, and detection of the right one."""

from __future__ import annotations

from pathlib import Path

from ..errors import InvalidInput, printable_text
from . import layouts, publish_manifest
from .git.history_reader import CERTAIN_CONFIDENCE, GitHistoryReader
from .home_readers import SURE_CONFIDENCE, HomeReader, SkillFolderReader
from .letta import AgentFileReader, MemFsReader
from .source_protocol import DetectedSource, SourceReader

_HOME_FOLDERS = (".hermes", ".claude", ".codex", ".openclaw", ".agents")


def source_readers() -> list[SourceReader]:
    """Return the takers, each made anew."""
    clients = [
        HomeReader(layout) for layout in layouts.HOME_LAYOUTS if layout is not layouts.AGENTSKILLS
    ]
    files = [*clients, SkillFolderReader()]
    letta = [
        MemFsReader(layouts.LETTA),
        MemFsReader(layouts.LETTA_SYSTEM),
        AgentFileReader(layouts.LETTA_FILE),
    ]
    return [*files, *letta, GitHistoryReader([*files, *letta])]


def detect_source(path: Path, kind: str | None = None) -> tuple[SourceReader, DetectedSource]:
    """Return the taker that knows what is at `path`, and what it found.

    `kind` decides where several do; the name of a program stands for all its kinds. Raises
    `InvalidInput` (`no_source`, `unknown_source`, `ambiguous_source`, `bad_kind`).
    """
    if not path.exists():
        raise InvalidInput(
            f"nothing is at {printable_text(path)}",
            code="no_source",
            hint="name a folder that a program keeps, such as ~/.hermes",
        )
    every = source_readers()
    if kind is not None and not any(_is_of_kind(reader, kind) for reader in every):
        raise InvalidInput(
            f"no kind of source is called {printable_text(kind)}",
            code="bad_kind",
            hint=f"use one of: {', '.join(reader.kind for reader in every)}",
        )
    wanted = [reader for reader in every if kind is None or _is_of_kind(reader, kind)]
    found = [(reader, seen) for reader in wanted if (seen := reader.detect(path))]
    clients = [reader for reader in wanted if isinstance(reader, HomeReader)]
    written = publish_manifest.published_kinds(path) - {reader.kind for reader, _ in found}
    if written:  # what a brain wrote there may be too little to know the program by
        ours = [reader for reader in clients if reader.kind in written]
        found.extend([(reader, seen) for reader in ours if (seen := reader.assume_kind(path))])
    if kind is not None and not found:
        found.extend(
            [(reader, seen) for reader in clients if (seen := reader.assume_kind(path))][:1]
        )
    likely = _most_likely(found)
    if not likely:
        raise _unknown_source_error(path, kind)
    if len(likely) > 1:
        kinds = [f"{seen.kind} ({seen.evidence})" for _, seen in likely]
        raise InvalidInput(
            f"{printable_text(path)} may be {' or '.join(kinds)}",
            code="ambiguous_source",
            hint=f"say which with --as {likely[0][1].kind}; adopt it again as the other",
        )
    return likely[0]


def _most_likely(
    found: list[tuple[SourceReader, DetectedSource]],
) -> list[tuple[SourceReader, DetectedSource]]:
    """Return the best of each program that is surely there, else what has the most signs.

    The files of a program that lie in a repository of git are taken as its agent has them
    now; the history is taken of what no program claims, or if asked for.
    """
    best: dict[str, tuple[SourceReader, DetectedSource]] = {}
    for reader, seen in sorted(found, key=lambda pair: -pair[1].confidence):
        best.setdefault(_program_name(reader), (reader, seen))
    claims = list(best.values())
    for sure in (CERTAIN_CONFIDENCE, SURE_CONFIDENCE):
        if claims and claims[0][1].confidence >= sure:
            return [pair for pair in claims if pair[1].confidence >= sure]
    return claims[:1]


def _program_name(reader: SourceReader) -> str:
    return reader.layout.client if isinstance(reader, HomeReader) else reader.kind


def _is_of_kind(reader: SourceReader, kind: str) -> bool:
    return kind in (reader.kind, _program_name(reader))


def _unknown_source_error(path: Path, kind: str | None) -> InvalidInput:
    what = f"{kind}" if kind else "anything that can be adopted"
    there = [name for name in _HOME_FOLDERS if (path / name).is_dir()]
    inside = f"there is {' and '.join(there)} in it: name that folder" if there else ""
    return InvalidInput(
        f"{printable_text(path)} does not look like {what}",
        code="unknown_source",
        hint=inside or "see `brain adopt --help` for what can be",
    )
