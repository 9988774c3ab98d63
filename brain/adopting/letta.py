"""Read Letta's MemFS repositories and agent files.

MemFS has two generations. In the older one the files under `system/` are in every prompt;
since 0.34 the files at the top are, with an index called MEMORY.md.

Agent files have two forms: lists of agents, blocks and skills, or, older, a single agent
with its blocks inside. Either may be wrapped in a JSON string. Adopted are system prompts,
memory blocks and skills. Messages, tools, models, connections and secrets are skipped and
reported.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from ..errors import InvalidInput
from ..folder.read import read_bounded_file
from ..objects import paths
from ..objects.tree_node import FILE
from ..skills.slug import slugify
from ..util import strict_json
from . import home_layout, layouts
from .content_checks import check_home_content
from .git.history_reader import CERTAIN_CONFIDENCE, read_history
from .git.repository import find_git_folder
from .home_readers import HomeReader
from .scan_home import MAX_HOME_FILES
from .skipped import SkippedFiles, reason_without_path
from .source_protocol import DetectedSource, ImportStep, SourceFile, SourceStates

_LETTA_SECTION = b"[letta]"
_MAX_CONFIG_BYTES = 64 << 10
_SYSTEM_FOLDER = "system"


class MemFsReader(HomeReader):
    """Recognises and reads one generation of MemFS, as a repository or as a copy of its files."""

    def detect(self, path: Path) -> DetectedSource | None:
        """Look for the files of every agent, and for Letta's section in the git config."""
        signs = [sign for sign in self.layout.signs if os.path.lexists(path / sign)]
        has_config = _has_letta_config(path)
        is_older = (path / _SYSTEM_FOLDER).is_dir()
        if is_older != (self.layout is layouts.LETTA_SYSTEM):
            return None
        if not has_config and len(signs) < self.layout.min_signs:
            return None
        evidence = ", ".join([*([".git of Letta"] if has_config else []), *signs][:3])
        return DetectedSource(self.kind, path, evidence, CERTAIN_CONFIDENCE, None)

    def read_states(
        self, detected: DetectedSource, since: str | None, allow: Collection[str]
    ) -> SourceStates:
        """Read the git history, or the files alone if there is none."""
        if find_git_folder(detected.path) is None:
            return super().read_states(detected, since, allow)
        return read_history(detected, since, allow, lambda *_: self.layout)


def _has_letta_config(path: Path) -> bool:
    try:
        with open(path / ".git" / "config", "rb", opener=_open_nonblocking) as config:
            return _LETTA_SECTION in config.read(_MAX_CONFIG_BYTES)
    except OSError:
        return False


def _open_nonblocking(path: str, flags: int) -> int:
    """Open a file that may be a pipe without a writer."""
    return os.open(path, flags | os.O_NONBLOCK)


MAX_AGENT_FILE_BYTES = 64 << 20
_MAX_DEPTH = 200
_PLAIN_NAME = re.compile("[a-z0-9]+(?:[_-][a-z0-9]+)*")
_SUFFIX = ".af"
_SECRET_KEYS = ("tool_exec_environment_variables", "secrets", "mcp_servers", "identity_ids")
_SKIPPED_KEYS = {
    "messages": home_layout.REASON_SESSIONS,
    "tools": "code that runs at Letta, not a skill",
    "files": home_layout.REASON_OTHER,
    "sources": home_layout.REASON_OTHER,
    "groups": home_layout.REASON_OTHER,
    "llm_config": home_layout.REASON_SETTINGS,
    "embedding_config": home_layout.REASON_SETTINGS,
}

JsonObject = dict[str, Any]


class AgentFileReader(HomeReader):
    """Recognises and reads agent files."""

    def detect(self, path: Path) -> DetectedSource | None:
        """Check the suffix."""
        if path.suffix.lower() != _SUFFIX or not path.is_file():
            return None
        return DetectedSource(self.kind, path, _SUFFIX, CERTAIN_CONFIDENCE, None)

    def assume_kind(self, path: Path) -> DetectedSource | None:
        """Accept any file because the user says so."""
        return (
            DetectedSource(self.kind, path, "a file", CERTAIN_CONFIDENCE, None)
            if path.is_file()
            else None
        )

    def read_states(
        self, detected: DetectedSource, since: str | None, allow: Collection[str]
    ) -> SourceStates:
        """Read the file as one state. Raises `InvalidInput` (`bad_agent_file`, `too_large`)."""
        content = read_bounded_file(detected.path.parent, detected.path.name, MAX_AGENT_FILE_BYTES)
        if content is None:
            raise InvalidInput(
                f"{detected.path} has more than {MAX_AGENT_FILE_BYTES >> 20} MiB",
                code="too_large",
                hint="export the agent again, with fewer messages",
            )
        document = _parse_agent_file(detected.path, content)
        skipped = SkippedFiles()
        source_paths: dict[str, str] = {}
        files = _read_files(document, detected.path.name, skipped, source_paths, allow)
        message = f"Adopt {self.layout.title} {detected.path.name}"
        step = ImportStep(files=files, is_complete=True, message=message)
        return SourceStates(iter((step,)), skipped.notices, source_paths, doubts=skipped.doubts)


def _parse_agent_file(path: Path, content: bytes) -> JsonObject:
    value = _parse_json(path, content)
    if isinstance(value, str):
        value = _parse_json(path, value)
    if not isinstance(value, dict) or not ("agents" in value or "system" in value):
        raise _bad_agent_file(path, "it names no agent")
    return value


def _parse_json(path: Path, text: str | bytes) -> Any:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    if strict_json.nesting_depth(data, _MAX_DEPTH) > _MAX_DEPTH:
        raise _bad_agent_file(path, "it is nested too deeply")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _bad_agent_file(path, "it is not JSON") from error


def _read_files(
    document: JsonObject,
    name: str,
    skipped: SkippedFiles,
    source_paths: dict[str, str],
    allow: Collection[str],
) -> Iterator[tuple[str, SourceFile | None]]:
    next_numbers: dict[str, int] = {}
    for path, source, text in _extract_texts(document, skipped):
        if len(next_numbers) >= MAX_HOME_FILES:
            raise InvalidInput(
                f"{name} holds more than {MAX_HOME_FILES} texts",
                code="too_many",
                hint="export the agent again, with fewer blocks",
            )
        free = _free_path(path, next_numbers)
        try:
            paths.check_path(free)
            content = text.encode()
        except InvalidInput as error:
            skipped.add(error.code, source, reason_without_path(error))
            continue
        except UnicodeEncodeError as error:
            skipped.add("bad_path", source, str(error))
            continue
        refusal, doubt = check_home_content(content, allow)
        if refusal is not None:
            skipped.add(refusal[0], source, refusal[1])
            continue
        if doubt:
            skipped.add_doubt(source, doubt)
        source_paths[free] = f"{name}: {source}"
        yield free, SourceFile(FILE, content)
    skipped.finish()


def _free_path(path: str, next_numbers: dict[str, int]) -> str:
    """Return the path, with a number added if it is taken.

    `next_numbers` holds, for each taken path, the next number to try.
    """
    folded = paths.fold_name(path)
    stem, ending = posixpath.splitext(path)
    free, number = path, next_numbers.get(folded, 2)
    while paths.fold_name(free) in next_numbers:
        free = f"{stem}-{number}{ending}"
        number += 1
    next_numbers[folded] = number
    next_numbers.setdefault(paths.fold_name(free), 2)
    return free


def _extract_texts(document: JsonObject, skipped: SkippedFiles) -> Iterator[tuple[str, str, str]]:
    """Yield the files in a document: path in the brain, place in the document, text."""
    many = "agents" in document
    agents = _object_list(document.get("agents")) if many else [document]
    for number, agent in enumerate(agents):
        place = f"agents[{number}]" if many else ""
        yield from _agent_texts(agent, place, number == 0)
        _report_skipped(agent, place, skipped)
    if many:
        for number, block in enumerate(_object_list(document.get("blocks"))):
            yield from _block_texts(block, f"blocks[{number}]")
        _report_skipped(document, "", skipped)
    for number, skill in enumerate(_object_list(document.get("skills"))):
        yield from _skill_texts(skill, f"skills[{number}]")


def _agent_texts(agent: JsonObject, place: str, first: bool) -> Iterator[tuple[str, str, str]]:
    system = agent.get("system")
    if isinstance(system, str) and system:
        path = "prompts/system.md"
        if not first:
            path = f"prompts/agents/{_safe_name(agent.get('name'), 'agent')}.md"
        yield path, f"{place}.system".lstrip("."), system
    inside = agent.get("core_memory") or agent.get("memory_blocks") or agent.get("memory")
    if isinstance(inside, dict):
        inside = inside.get("blocks")
    for number, block in enumerate(_object_list(inside)):
        yield from _block_texts(block, f"{place}.memory[{number}]".lstrip("."))


def _block_texts(block: JsonObject, place: str) -> Iterator[tuple[str, str, str]]:
    value = block.get("value")
    if not isinstance(value, str):
        return
    label = _safe_name(block.get("label"), "block")
    description = block.get("description")
    head = ""
    if isinstance(description, str) and description.strip():
        head = f"---\ndescription: {json.dumps(description.strip())}\n---\n"
    yield f"memory/{label}.md", place, head + value


def _skill_texts(skill: JsonObject, place: str) -> Iterator[tuple[str, str, str]]:
    files = skill.get("files")
    if not isinstance(files, dict):
        return
    folder = f"skills/{_safe_name(skill.get('name'), 'skill')}"
    for path, text in files.items():
        if isinstance(text, str):
            yield f"{folder}/{path}", f"{place}.files", text


def _report_skipped(fields: JsonObject, place: str, skipped: SkippedFiles) -> None:
    """Report skipped fields with the number of their items, never with their content."""
    for key, reason in (
        *((key, home_layout.REASON_SECRETS) for key in _SECRET_KEYS),
        *_SKIPPED_KEYS.items(),
    ):
        value = fields.get(key)
        if value:
            count = f" ({len(value)})" if isinstance(value, (list, dict)) else ""
            skipped.add("left_out", f"{place}.{key}".lstrip("."), reason + count)


def _object_list(value: Any) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _safe_name(value: Any, otherwise: str) -> str:
    if isinstance(value, str) and _PLAIN_NAME.fullmatch(value):
        return value
    try:
        return slugify(value) if isinstance(value, str) else otherwise
    except InvalidInput:
        return otherwise


def _bad_agent_file(path: Path, reason: str) -> InvalidInput:
    return InvalidInput(
        f"{path} is not an agent file: {reason}",
        code="bad_agent_file",
        hint="export the agent again",
    )
